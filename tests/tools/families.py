"""Families of decisions as rows of `int_families`."""

import pandas as pd

FAMILY = {
    "study": "s", "paradigm": "anchoring", "domain": "d", "goal": "gap", "n_families": 1, "is_frozen": True,
    "is_exploratory": False, "error_at_most": 0.05, "reason": None, "compared": (), "margin": None,
}  # fmt: skip
NOT_DECLARED = pd.DataFrame(columns=list(FAMILY))


def frozen(compared, places, **changes):
    """Return families that were frozen before the first call: of some comparisons, each a technique, control and kind.

    `places` are what tells the families from `FAMILY`, and `changes` what is otherwise of all.
    """
    return pd.DataFrame([FAMILY | {"compared": compared} | place | changes for place in places])
