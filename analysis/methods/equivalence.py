"""Two one-sided tests: whether two techniques, or a domain's spread and none, differ by less than a margin."""

from dataclasses import replace

import numpy as np

from analysis.counts import CONTROL, Summary, baseline_rows, selected
from analysis.methods.contrasts import SPECIFICATIONS, domains, over_llms, over_trials, pairs
from analysis.methods.small_samples import ALPHA, FEWEST_LLMS
from analysis.methods.t_and_f_tests import satterthwaite_df, tost_p
from analysis.tables import declared

COLUMNS = declared("equivalence_tests")


def equivalence_tests(responses, techniques, *, margin_pp, specifications=SPECIFICATIONS):
    """Test whether differences lie within a margin, by two one-sided t tests at 5 %.

    Percent of baseline of each pair of ranked techniques and of each technique beside no technique; and the spread
    without a technique beside zero. A difference is `equivalent` only where both tests reject; a difference that is
    not significant is never called equivalent, and one that is not equivalent is `not_established`, not different.

    Levels are those of `contrasts`: `trial` speaks only for the LLMs that were asked. The spread has a third test,
    `delta_with_baseline`, which adds what the baselines' own trials leave uncertain.

    Parameters
    ----------
    responses : pandas.DataFrame
        As of `analysis.counts.responses_to_anchors`.
    techniques : pandas.DataFrame
        `technique`, `is_ranked`.
    margin_pp : float
        The largest difference that still counts as none, in percentage points.
    specifications : iterable of (row_set, baseline_scope)

    Returns
    -------
    list of dict
        Keys are those of `COLUMNS`.

    Raises
    ------
    ValueError
        If the margin is not positive.

    References
    ----------
    Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15(6).
    """
    if not margin_pp > 0:
        raise ValueError(f"need a positive margin, got {margin_pp}")
    rows = []
    for domain in domains(responses, specifications):
        compared = [
            (a, b, "percent_of_baseline", compare(domain, a, b, "percent_of_baseline"))
            for a, b in pairs(domain.techniques, techniques)
            for compare in (over_trials, over_llms)
        ]
        spread, of_llms = (compare(domain, CONTROL, None, "spread_pp") for compare in (over_trials, over_llms))
        with_baseline = spread and _with_baseline(domain, spread, responses)
        compared += [(CONTROL, None, "spread_pp", comparison) for comparison in (spread, with_baseline, of_llms)]
        rows += [_equivalence_row(domain, *of_pair, margin_pp) for of_pair in compared if of_pair[-1]]
    return rows


def _equivalence_row(domain, a, b, metric, comparison, margin):
    speaks_for = "; these_llms_only" if comparison.level == "trial" and comparison.n_llms < FEWEST_LLMS else ""
    method = {"welch_t": "tost_welch", "paired_t": "tost_paired" if b else "tost_one_sample"}
    row = comparison.row(domain, a, b, metric) | {
        "method": method.get(comparison.method, comparison.method) + speaks_for,
        "margin_pp": margin,
        "alpha": ALPHA,
        "status": comparison.reason,
    }
    if comparison.reason:
        return row
    p_value = tost_p(comparison.difference, comparison.error, comparison.df, margin)
    low, high = comparison.interval(1 - 2 * ALPHA)
    return row | {
        "standard_error": comparison.error,
        "df": comparison.df,
        "low_90": low,
        "high_90": high,
        "p_value": p_value,
        "smallest_margin_pp": max(abs(low), abs(high)),
        "equivalent": p_value < ALPHA,
        "status": "equivalent" if p_value < ALPHA else "not_established",
    }


def _with_baseline(domain, spread, responses):
    """Add the variance of each unit's mean baseline to that of the spread, by the delta method.

    The spread is sum((w_high P_high - w_low P_low)) over units, with P a unit's mean percent of its baseline and w its
    share of the trials of that direction. P changes by -P / baseline for each unit of the baseline.
    """
    spread = replace(spread, method="tost_welch; delta_with_baseline")
    if spread.reason:
        return spread
    (low,), (high,) = domain.of(CONTROL, "low"), domain.of(CONTROL, "high")
    slopes = sum(sign * cells.n / cells.n.sum() * np.nan_to_num(cells.mean) for sign, cells in ((-1, low), (1, high)))
    keys = domain.keys
    rows = baseline_rows(selected(responses, row_set=keys["row_set"]), keys["baseline_scope"])
    rows = rows[(rows["study"] == keys["study"]) & (rows["domain"] == keys["domain"])]
    squares, dfs = [spread.error**2], [spread.df]
    of_units = dict(list(rows.groupby(["vignette", "llm"])))
    for vignette, llm, slope in zip(domain.vignettes, domain.llms, slopes, strict=True):
        unanchored = of_units[vignette, llm]
        baseline = Summary.of(unanchored["response"], unanchored["n_trials"])
        if slope and baseline.n_trials < 2:
            return replace(spread, error=np.nan, df=np.nan, reason="one_baseline_trial")
        if slope and baseline.variance > 0:
            squares.append((slope / baseline.mean) ** 2 * baseline.variance / baseline.n_trials)
            dfs.append(baseline.n_trials - 1)
    return replace(spread, error=float(np.sqrt(sum(squares))), df=satterthwaite_df(squares, dfs))
