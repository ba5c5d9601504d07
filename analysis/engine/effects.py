"""`int_losses`: how large the loss of each LLM and case is with each technique, and could be had all answered."""

import numpy as np

from analysis.counts import QUESTION
from analysis.engine.domain_losses import case_of
from analysis.methods.small_samples import FEW_BASELINE, FEWEST_BASELINE
from analysis.tables import columns, reasons

LOSSES = columns(
    f"varchar: {QUESTION} llm vignette item technique",
    "boolean: leads",
    "double: loss signed signed_shift shift half_gap log_ratio base_loss loss_least loss_most",
    "bigint: n_asked n_missing n_trials n_base",
    "varchar: reason",
)


def loss_rows(questions):
    """Say how large losses are as they were observed, under the recommended specification.

    Parameters
    ----------
    questions : iterable of analysis.engine.questions.Question

    Yields
    ------
    dict
        Rows of `LOSSES`, in the unit of the loss. `signed` is the contrast as it points, of a goal that is one;
        `signed_shift`, `shift`, `half_gap` and `log_ratio` are those of `DomainLosses.apart`, which are shown and
        decide nothing; `base_loss`, of a goal that is a distance, that of the answers in the base; `n_base` how many
        these are, null where nothing is in percent of them. Ends that are not known are null.
    """
    for question in questions:
        losses, goal = question.basis.losses, question.basis.goal
        n_of_arms = losses.in_arms(goal, np.nan_to_num(losses.moments.n))
        is_whole = (n_of_arms > 0).all(axis=-1)
        least, most = losses.attrition_bounds(goal)
        n_asked, n_missing = losses.n_put(goal)
        parts = {
            "loss": losses.by_goal(goal).loss, "signed": losses.signed(goal), "base_loss": losses.base_loss(goal),
            "loss_least": least, "loss_most": most, "n_asked": n_asked, "n_missing": n_missing,
            "n_trials": n_of_arms.sum(axis=-1), **losses.apart(goal),
        }  # fmt: skip
        parts = {name: values for name, values in parts.items() if values is not None}
        for i, j, k in np.argwhere(n_asked > 0):
            row = {name: values[i, j, k] for name, values in parts.items()}
            vignette, item = case_of(losses.vignettes[j])
            places = {"llm": losses.llms[i], "vignette": vignette, "item": item, "technique": losses.techniques[k]}
            codes = [None if is_whole[i, j, k] else losses.incomplete]
            if losses.has_base:
                row["n_base"] = losses.n_baseline[i, j]
                codes.append(_of_base(row["n_base"], is_whole[i, j, k] and np.isnan(row["loss"])))
            yield question.keys | places | row | {"leads": question.leads, "reason": reasons(*codes)}


def _of_base(n_base, is_nothing):
    """Return the code of a base of too few answers, or of none that anything can be in percent of."""
    if n_base == 0 or is_nothing:
        return "no_baseline"
    return "baseline_below_10" if n_base < FEWEST_BASELINE else "baseline_below_30" if n_base < FEW_BASELINE else None
