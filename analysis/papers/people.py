"""Effects on LLMs in the measures in which effects on people are published, and the intervals of the latter."""

import numpy as np
from scipy import special

from analysis.counts import ANCHORING, Summary
from analysis.engine.grid import Grid, by_measure, or_none
from analysis.methods.crossed_effects import entering
from analysis.methods.small_samples import CONFIDENCE
from analysis.methods.t_and_f_tests import satterthwaite_df
from analysis.tables import columns, reasons

SIDES = ("low", "high")
MEASURES_OF_SHARES = ("risk_difference", "log_odds_ratio", "d")
TAIL = (1 + CONFIDENCE) / 2
NORMAL = special.ndtri(TAIL)
ROUNDING = 5e-16  # a variance of shares below it is none
EFFECTS = columns(
    "varchar: study paradigm domain outcome instrument arm arm_b llm vignette measure",
    "bigint: n_trials n_items",
    "double: estimate half_width",
    "varchar: reason",
)
HUMAN_EFFECTS = columns("varchar: human_study measure", "double: estimate half_width")


def effects_on_llms(responses, counts, paradigms, contrasts):
    """Measure what anchors and the arms of other biases do to each LLM that is asked with no technique.

    Parameters
    ----------
    responses : pandas.DataFrame
        As of `analysis.counts.responses_to_anchors`: accepted, with a low or a high anchor and no technique, of one
        response source.
    counts : pandas.DataFrame
        Rows of `marts.counts`: accepted, with no technique.
    paradigms, contrasts : pandas.DataFrame
        As of `analysis.engine.grid.by_measure`; those of shares alone.

    Yields
    ------
    dict
        Rows of `EFFECTS`: of anchoring `anchoring_index`, by which share of the way from the low to the high anchor
        answers move, with Welch's t interval, `d` and `rank_transformed_d`, the same of the ranks of the answers; of
        shares `risk_difference`, `log_odds_ratio` and `d`, with the interval over items or, where a vignette has one,
        over trials. The interval of a d is that for large samples.

    References
    ----------
    Jacowitz & Kahneman (1995), Measures of anchoring in estimation tasks, Personality and Social Psychology Bulletin
    21(11). Hedges & Olkin (1985), Statistical Methods for Meta-Analysis, chapter 5.
    """
    for (study, domain, vignette, llm), rows in responses.groupby(["study", "domain", "vignette", "llm"], sort=True):
        keys = {"study": study, "paradigm": ANCHORING, "domain": domain, "vignette": vignette, "llm": llm}
        yield from (keys | row for row in _of_anchors(rows))
    for _, of_paradigm in by_measure(counts, paradigms, contrasts):
        for measured in of_paradigm:
            grid = Grid(measured.counts, answered_alone=False)
            keys = {"study": measured.keys["study"], "paradigm": measured.keys["paradigm"]}
            keys |= {"outcome": measured.keys["measure"], "instrument": measured.keys["instrument"]}
            for contrast in measured.contrasts:
                arms = {"arm": contrast.arm, "arm_b": or_none(contrast.arm_b)}
                yield from (keys | arms | row for row in _of_shares(grid, contrast))


def index_between_anchors(difference, low_anchor, high_anchor):
    """Return by which share of the way from the low to the high anchor answers move, NaN where there is no way."""
    return difference / (high_anchor - low_anchor) if high_anchor != low_anchor else np.nan


def error_of_d(d, n_low, n_high):
    """Return the standard error of Cohen's d of two groups for large samples."""
    return np.sqrt(1 / n_low + 1 / n_high + d**2 / (2 * (n_low + n_high)))


def human_effects(studies):
    """Derive effects on people from the means, t and df that a study prints, its groups taken to be equally large.

    Parameters
    ----------
    studies : pandas.DataFrame
        Rows of `seeds.human_baselines`.

    Yields
    ------
    dict
        Rows of `HUMAN_EFFECTS`.
    """
    for study in studies.itertuples():
        anchors = float(study.low_anchor), float(study.high_anchor)
        difference, df = float(study.high_mean) - float(study.low_mean), float(study.df)
        error = index_between_anchors(difference / float(study.t), *anchors)
        d, n = 2 * float(study.t) / np.sqrt(study.n_participants), study.n_participants / 2
        for measure, estimate, half_width in (
            ("anchoring_index", index_between_anchors(difference, *anchors), special.stdtrit(df, TAIL) * error),
            ("d", d, NORMAL * error_of_d(d, n, n)),
        ):
            row = {"measure": measure, "estimate": estimate, "half_width": half_width}
            yield {"human_study": study.human_study, **row}


def _mean_of_known(values, counts):
    """The mean of values so often, without those that are not known; NaN where none is."""
    is_known = np.isfinite(values)
    return np.average(values[is_known], weights=counts[is_known]) if is_known.any() else np.nan


def _of_anchors(rows):
    """The three measures of one LLM and vignette."""
    answers, counts = rows["response"].to_numpy(float), rows["n_trials"].to_numpy(float)
    is_side = [(rows["anchor_direction"] == side).to_numpy() for side in SIDES]
    n = np.array([counts[side].sum() for side in is_side])
    has_both = (n > 0).all()
    anchor_values = rows["anchor_value"].to_numpy(float)
    anchors = [_mean_of_known(anchor_values[side], counts[side]) for side in is_side]
    (low, high), variances = _means_and_variances(answers, counts, is_side)
    codes = {
        "no_low_anchor": not n[0], "no_high_anchor": not n[1], "equal_anchors": anchors[0] == anchors[1],
        "no_anchor_value": has_both and not np.isfinite(anchors).all(),
        "one_trial": n[n > 0].min() == 1, "zero_variance": variances == (0, 0),
    }  # fmt: skip
    shared = {"n_trials": n.sum(), "reason": reasons(*(code for code, holds in codes.items() if holds))}
    errors = np.array(variances) / np.where(n > 0, n, np.nan)
    error = np.sqrt(errors.sum()) if errors.sum() > 0 else np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        df = satterthwaite_df(errors, n - 1)
    width = abs(index_between_anchors(error, *anchors)) * special.stdtrit(df, TAIL)
    index = index_between_anchors(high - low, *anchors)
    yield shared | {"measure": "anchoring_index", "estimate": index, "half_width": width}
    for measure, values in (("d", answers), ("rank_transformed_d", _midranks(answers, counts))):
        (low, high), variances = _means_and_variances(values, counts, is_side)
        squares = (n - 1) @ np.array(variances)
        d = (high - low) / np.sqrt(squares / (n.sum() - 2)) if squares > 0 else np.nan
        half_width = NORMAL * error_of_d(d, *n) if has_both else None
        yield shared | {"measure": measure, "estimate": d, "half_width": half_width}


def _means_and_variances(values, counts, groups):
    """Mean of the counted values of each group and their variance with n - 1; NaN where there are none."""
    nothing = Summary(0, np.nan, np.nan)
    summaries = [Summary.of(values[group], counts[group]) if group.any() else nothing for group in groups]
    return zip(*((summary.mean, summary.variance) for summary in summaries), strict=True)


def _midranks(values, counts):
    """Ranks of counted values, equal ones with the mean of theirs."""
    distinct, place = np.unique(values, return_inverse=True)
    n = np.bincount(place, counts, len(distinct))
    return (n.cumsum() - (n - 1) / 2)[place]


def _of_shares(grid, contrast):
    """The three measures of one contrast of arms, of each LLM and vignette that was asked."""
    arms = [grid.arm(contrast.arm), grid.arm(or_none(contrast.arm_b))]  # what was never put has no trials
    for technique, _ in enumerate(grid.techniques):
        for row, llm in enumerate(grid.llms):
            for vignette, items in zip(grid.vignettes, grid.of_vignette, strict=True):
                here = [one.at((technique, row, items)) for one in arms]
                if n_asked := int(sum(one.n.sum() for one in here)):
                    measures = _measures_of_shares(here, contrast.pairing, n_asked)
                    yield from ({"llm": llm, "vignette": vignette} | measure for measure in measures)


def _measures_of_shares(arms, pairing, n_asked):
    used = entering([one.n[None] for one in arms], pairing)
    used = [n[0] for n in used]
    values = [one.means[n > 0] for one, n in zip(arms, used, strict=True)]
    n_items, n = min(map(len, values)), np.array([of_arm.sum() for of_arm in used])
    row = {"n_trials": int(n.sum()) or n_asked, "n_items": n_items}
    if not n_items:
        has_arms = all(one.n.any() for one in arms)
        reason = "missing_pair" if has_arms else "missing_arm"
        yield from (row | {"measure": measure, "reason": reason} for measure in MEASURES_OF_SHARES)
        return
    shares = np.array([of_arm.mean() for of_arm in values])
    spreads, difference = shares * (1 - shares), shares[0] - shares[1]
    errors, quantile = spreads / n, NORMAL
    if n_items > 1:
        errors = np.array([of_arm.var(ddof=1) / len(of_arm) for of_arm in values])
        quantile = special.stdtrit(n_items - 1, TAIL)
    common = np.cov(*values)[0, 1] / n_items if pairing == "item" and n_items > 1 else 0.0
    squared = errors.sum() - 2 * common
    error = np.sqrt(squared) if squared > ROUNDING else np.nan
    with np.errstate(divide="ignore", invalid="ignore"):  # what is divided by no spread is not finite
        odds, pooled = np.subtract(*special.logit(shares)), n @ spreads / (n.sum() - 2)
        of_odds = (errors / spreads**2).sum() - 2 * common / spreads.prod()
        d = difference / np.sqrt(pooled)
        d_error = np.sqrt(error**2 / pooled + d**2 / (2 * n.sum())) if n_items > 1 else error_of_d(d, *n)
    halves = error, np.sqrt(of_odds) if of_odds > 0 else np.nan, d_error
    for measure, estimate, half in zip(MEASURES_OF_SHARES, (difference, odds, d), halves, strict=True):
        is_known = np.isfinite(estimate) and np.isfinite(half)
        yield row | {
            "measure": measure, "estimate": estimate, "half_width": quantile * half,
            "reason": None if is_known else "zero_variance",
        }  # fmt: skip
