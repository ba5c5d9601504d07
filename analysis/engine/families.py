"""What the frozen families of a study let its decisions be called."""

from dataclasses import dataclass

FAMILY_ERROR = 0.05  # of one family: how often any of its decisions is false, at most
NOT_FROZEN = "family_not_frozen"
OUTSIDE = "outside_the_family"


@dataclass(frozen=True)
class Standing:
    """What is known of the family that a question belongs to.

    Attributes
    ----------
    n_families : int
        Families that there have been of it; one where none was ever frozen, since decisions are made all the same.
    is_frozen : bool
        Whether it was frozen before the first call, and is the only one.
    is_exploratory : bool
    error_at_most : float
        Of all families together, a share.
    reason : str or None
        The code that says why nothing in it is established.
    compared : frozenset of tuple of str
        Technique, control and kind of each comparison that was frozen; empty where none was.
    margin : float or None
        The margin that was frozen, in the unit of the loss; None where none was, or each measure has its own.
    """

    n_families: int = 1
    is_frozen: bool = False
    is_exploratory: bool = False
    error_at_most: float = FAMILY_ERROR
    reason: str | None = NOT_FROZEN
    compared: frozenset = frozenset()
    margin: float | None = None


COLUMNS = """paradigm, domain, goal, n_families, is_frozen, is_exploratory, error_at_most, reason, compared, margin"""


def of_studies(families, counts):
    """Return the families of each study that has counts; versions of a study have those of the study.

    Parameters
    ----------
    families, counts : duckdb.DuckDBPyRelation
        `intermediate.int_families` and `marts.counts`.

    Returns
    -------
    duckdb.DuckDBPyRelation
        `study` and `COLUMNS`.
    """
    studies = counts.project("study as named, split_part(study, '@', 1) as study").distinct()
    return studies.join(families.project(f"study, {COLUMNS}"), "study").project(f"named as study, {COLUMNS}")


def standing(families, *, study, paradigm, domain, goal):
    """Return how the family of a question stands.

    Parameters
    ----------
    families : pandas.DataFrame
        As of `of_studies`; without any, as in a warehouse of an older version, nothing was frozen.
    study, paradigm, goal : str
    domain : str or None

    Returns
    -------
    Standing
    """
    for row in families.to_dict("records"):
        place = row["study"], row["paradigm"], row["domain"] if isinstance(row["domain"], str) else None, row["goal"]
        if place == (study, paradigm, domain, goal):
            return Standing(
                int(row["n_families"]), bool(row["is_frozen"]), bool(row["is_exploratory"]),
                float(row["error_at_most"]), row["reason"] if isinstance(row["reason"], str) else None,
                frozenset(map(tuple, row["compared"])), _number(row["margin"]),
            )  # fmt: skip
    return Standing()


def why_not_established(family, compared, *, margin):
    """Return the code that keeps decisions from being established for the family's sake, or None.

    Parameters
    ----------
    family : Standing
    compared : iterable of (str, str, str)
        Technique, control and kind of each comparison that is decided on now.
    margin : float
        In the unit of the loss.

    Returns
    -------
    str or None
        `family_not_frozen`, `family_changed`, or `outside_the_family`: what is decided now is more than was frozen, or
        is compared with another margin, as when a seed has changed since.
    """
    if family.reason:
        return family.reason
    is_within = set(map(tuple, compared)) <= family.compared and family.margin in (None, margin)
    return None if is_within else OUTSIDE


def _number(value):
    return None if value is None or value != value else float(value)
