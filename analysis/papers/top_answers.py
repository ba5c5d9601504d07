"""The mean answer under the few most likely tokens that an endpoint reports where its LLM writes the number."""

import numpy as np

from analysis.papers.anchor_effects import MEASURED
from analysis.papers.attribution import DRAWS, TARGETS, exact_band


def top_answer_rows(conditions):
    """Rows of `soft_expectations` with `evidence_from` `api_top_k`: each condition with its band.

    Parameters
    ----------
    conditions : pandas.DataFrame
        One row per condition: columns of `MEASURED`, and `numbers` with their `probabilities`, which add up to
        1; both are null where the condition has a `reason`.

    Yields
    ------
    dict
        With columns of `MEASURED`. The band is that of the scores of 101 targets; where a number is
        none of the targets it is missing, and `reason` is `not_on_targets`.

    References
    ----------
    Valencia-Clavijo (2025), Anchors in the Machine, section 3.2, steps 4 and 5.
    """
    for condition in conditions.to_dict("records"):
        row = {name: value for name, value in condition.items() if name in MEASURED}
        row |= {"part": "soft_expectations", "method": f"exact distribution of the mean of {DRAWS} draws"}
        if not isinstance(row["reason"], str):
            low, high = _band(np.asarray(condition["numbers"]), np.asarray(condition["probabilities"]))
            row |= {"band_low": low, "band_high": high, "reason": "not_on_targets" if low is None else None}
        yield row


def _band(numbers, probabilities):
    if not np.isin(numbers, TARGETS).all():
        return None, None
    of_targets = np.zeros(len(TARGETS))
    of_targets[numbers.astype(int)] = probabilities
    with np.errstate(divide="ignore"):
        return exact_band(np.log(of_targets))
