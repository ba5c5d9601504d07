"""The ledger of claims: papers as folders (`papers`), where a quantity is looked up (`quantities`), how a number is
derived (`derivations`), and what printed numbers say of each other (`consistency`)."""

import os
from pathlib import Path

KEYS = ("domain", "technique", "technique_b", "llm", "llm_b", "variation", "anchor_direction")  # which say of what
OWN = "BAIS_PAPERS"  # names folders of papers of one's own, as PATH names folders


def own_folders():
    """Return the folders of papers that `BAIS_PAPERS` names.

    Returns
    -------
    list of pathlib.Path
    """
    return [Path(name).expanduser().absolute() for name in os.environ.get(OWN, "").split(os.pathsep) if name]
