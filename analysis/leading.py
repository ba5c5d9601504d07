"""Which goals of a paradigm lead, in a domain whose unanchored prompts are as the anchored ones or differ."""

from functools import cache
from pathlib import Path

SAME, DIFFERS = "same", "differs"
ANCHORING = Path(__file__).resolve().parents[1] / "ingest/paradigms/anchoring.yaml"


@cache
def shipped():
    """Return what the paradigm of a study that names none says of itself.

    Returns
    -------
    dict
        As its file says it: `paradigm, arms, relative_to, goals` and more.
    """
    import yaml

    return yaml.safe_load(ANCHORING.read_text(encoding="utf-8"))


def leads(goal, baseline_prompt):
    """Say whether a goal leads where the unanchored prompts of a domain are so.

    Parameters
    ----------
    goal : dict
        As a paradigm states it: it leads always (`leads` is true), never, or in the case that `leads` names.
    baseline_prompt : {'same', 'differs'}

    Returns
    -------
    bool
    """
    stated = goal.get("leads")
    return stated is True or stated == baseline_prompt


def of_domain(baseline_prompts):
    """Return what holds for a domain, given what holds for its vignettes.

    Parameters
    ----------
    baseline_prompts : iterable of {'same', 'differs'}

    Returns
    -------
    {'same', 'differs'}
        `differs` where any vignette does, and where nothing is known of any.
    """
    return SAME if {*baseline_prompts} == {SAME} else DIFFERS
