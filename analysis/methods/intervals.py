"""`inference.intervals`: every headline metric with what may be believed of it, by four methods."""

from dataclasses import replace

import numpy as np
from scipy import special

from analysis.counts import CONTROL, SMALLEST_SPREAD_PP, study_without_version
from analysis.methods.bootstrap import CELL_METRICS, DIRECTIONS, SPREADS, DomainDraws
from analysis.methods.small_samples import (
    CONFIDENCE,
    FEWEST_BASELINE,
    FEWEST_LLMS,
    Interval,
    cr2_interval,
    expanded_level,
    fieller_interval,
)
from analysis.tables import declared, reasons

COLUMNS = declared("intervals")
AS_DOCUMENT_A = (("as_recorded", "t=1"), ("as_recorded", "pooled"))
CHANGE = "spread_change_percent"
METRICS = (*CELL_METRICS, *SPREADS)
WEIGHED_BY_LLM = (*SPREADS, "median_percent_of_baseline")  # no mean over LLMs is one over trials
OVER_BASELINE = {*CELL_METRICS, "spread_pp", CHANGE} - {"mean_response", "deviation"}  # divided by the baseline
UNDIVIDED = ("mean_response", "spread")  # the same whatever the baseline is
METHODS = ("trial", "cluster", "headline")
FIXED = ("trial_fixed_baseline",)
WITH_BASELINE, WITHOUT_BASELINE = ((False, METHODS), (True, FIXED)), ((False, METHODS + FIXED),)
RANGES = {"madb_percent": (0, np.inf), "share_within_10_percent": (0, 1)}
PROCEDURES = {
    "trial": "percentile bootstrap of trials and of unanchored trials, stratified by LLM and anchor direction",
    "trial_fixed_baseline": "percentile bootstrap of trials, stratified by LLM and anchor direction; baseline as known",
    "trial_unstratified": "limit of the percentile bootstrap of all trials together; baseline as known (as document A)",
    "cluster": "percentile bootstrap of LLMs, of trials within them and of their unanchored trials",
    "headline": "CR2 variance over LLMs, t with Satterthwaite df",
    CHANGE: "Fieller interval of two mean spreads over LLMs, t with G - 1 df",
    "llm": "expanded percentile bootstrap of trials and of unanchored trials",
}


def intervals(responses, *, n_resamples, seed, published=(), confidence=CONFIDENCE):
    """Draw each study and domain once, and give every headline metric with its intervals.

    Parameters
    ----------
    responses : pandas.DataFrame
        As of `analysis.counts.responses_to_anchors`, of one response source.
    n_resamples, seed : int
    published : collection of str
        Studies whose intervals were published: they have percent of baseline also as document A did it
        (`trial_unstratified`, row set `as_recorded`).
    confidence : float in (0, 1)

    Yields
    ------
    dict
        Rows of `COLUMNS`.
    """
    alpha = (1 - confidence) / 2
    for (study, _), of_domain in responses.groupby(["study", "domain"], observed=True, sort=True):
        draws = DomainDraws(of_domain, n_resamples=n_resamples, seed=seed)
        if not draws.llms:
            continue
        keys = draws.keys | {"confidence": confidence, "seed": seed, "n_resamples": n_resamples}
        for row in _of_domain(draws, alpha):
            yield keys | row
            if row["metric"] == "percent_of_baseline":
                yield keys | _as_deviation(row)
        for row_set, baseline_scope in AS_DOCUMENT_A if study_without_version(study) in published else ():
            draws = DomainDraws(of_domain, n_resamples=0, seed=0, row_set=row_set, baseline_scope=baseline_scope)
            yield from (draws.keys | {"confidence": confidence} | row for row in _of_trials_alone(draws, alpha))


def percentile_interval(draws, *, alpha):
    """Interval between the quantiles `alpha` and 1 - `alpha` of resamples.

    Parameters
    ----------
    draws : numpy.ndarray, shape (1 + n_resamples,)
        The observed value first. Resamples that are NaN are left out.
    alpha : float in (0, 0.5)

    Returns
    -------
    Interval
        Without bounds where no resample differs from the others (`zero_variance`).
    """
    return percentile_intervals(draws, alphas=[alpha])[0]


def percentile_intervals(draws, *, alphas):
    """Intervals at several levels from one pass over the resamples; see `percentile_interval`."""
    resamples, estimate = draws[1:], float(draws[0])
    if np.isnan(resamples.sum()):
        resamples = resamples[~np.isnan(resamples)]
    least, most = (resamples.min(), resamples.max()) if len(resamples) else (0.0, 0.0)
    if most - least <= 1e-12 * max(1.0, -least, most):
        return [Interval(estimate, None, None, reason="zero_variance")] * len(alphas)
    bounds = np.quantile(resamples, [(alpha, 1 - alpha) for alpha in alphas])
    return [Interval(estimate, *of_level) for of_level in bounds.tolist()]


def spread_change(spread, reference):
    """Change of a spread against that of no technique in percent of the latter's size, for arrays of draws."""
    with np.errstate(divide="ignore", invalid="ignore"):
        change = 100 * (spread - reference) / np.abs(reference)
    return np.where(np.isfinite(change), change, np.nan)


def _of_domain(draws, alpha):
    for technique in draws.techniques:
        for metric in METRICS:
            for direction in ("both",) if metric in SPREADS else DIRECTIONS:
                keys = {"technique": technique, "anchor_direction": direction, "metric": metric}
                weightings = ("llm",) if metric in WEIGHED_BY_LLM else ("llm", "trial")
                for baseline_is_known, methods in WITHOUT_BASELINE if metric in UNDIVIDED else WITH_BASELINE:
                    options = {"baseline_is_known": baseline_is_known}
                    before = None
                    for weighting in weightings:
                        statistic = draws.statistic(technique, metric, direction, weighting, **options)
                        if before is None or not statistic.is_same(before):
                            llms = np.array(draws.llms)[statistic.has_it]
                            rows = _over_llms(draws, statistic, keys, methods, alpha)
                            rows = [_with_enough_baseline(draws, row, llms) for row in rows]
                        yield from (row | {"weighting": weighting} for row in rows)
                        before = statistic
                    own = draws.statistic(technique, metric, direction, "own", **options)
                    yield from _of_llms(draws, own, keys, methods, alpha, weightings)
        if technique != CONTROL and CONTROL in draws.techniques:
            yield from _of_change(draws, technique, alpha)


def _of_trials_alone(draws, alpha):
    """Rows of percent of baseline where neither LLM nor direction is held: every trial is drawn from all."""
    for technique in draws.techniques:
        for direction in DIRECTIONS:
            for llm in (None, *draws.llms):
                values, counts, n_llms = draws.percents(technique, direction, llm)
                if len(values):
                    keys = {"technique": technique, "anchor_direction": direction, "llm": llm}
                    keys |= {"metric": "percent_of_baseline", "weighting": "trial"}
                    keys |= {"n_trials": counts.sum(), "n_llms": n_llms}
                    interval = bootstrap_limit(values, counts, alpha=alpha)
                    yield _interval_row(keys, "trial_unstratified", PROCEDURES["trial_unstratified"], interval)


def bootstrap_limit(values, counts, *, alpha):
    """What the percentile bootstrap interval of a mean tends to as resamples grow, without drawing any.

    Parameters
    ----------
    values, counts : array_like, shape (k,)
    alpha : float in (0, 0.5)

    Returns
    -------
    Interval
        By the Cornish-Fisher expansion of the resampling distribution to its third cumulant.

    References
    ----------
    Hall (1992), The Bootstrap and Edgeworth Expansion, section 2.5; Cornish & Fisher (1938).
    """
    n = counts.sum()
    mean = counts @ values / n
    centred = values - mean
    variance, third = counts @ centred**2 / n, counts @ centred**3 / n
    if variance <= (1e-12 * max(1.0, abs(mean))) ** 2:
        return Interval(float(mean), None, None, reason="zero_variance" if n > 1 else "one_trial")
    skewness = third / variance**1.5 / np.sqrt(n)
    quantiles = special.ndtri([alpha, 1 - alpha])
    low, high = mean + np.sqrt(variance / n) * (quantiles + (quantiles**2 - 1) * skewness / 6)
    return Interval(float(mean), float(low), float(high))


def _over_llms(draws, statistic, keys, methods, alpha):
    """One row per method of a statistic over LLMs."""
    n_llms = int(statistic.has_it.sum())
    if not n_llms:
        return
    keys = keys | {"llm": None, "n_trials": statistic.n_trials.sum(), "n_llms": n_llms}
    drawn = statistic.over_llms()
    of_trials = percentile_interval(drawn, alpha=alpha) if {"trial", *FIXED} & {*methods} else None
    for method in methods:
        if method == "headline":
            interval = cr2_interval(statistic.values[:, 0], statistic.weights, confidence=1 - 2 * alpha)
            interval = _within_range(interval, keys["metric"])
        elif method == "cluster" and n_llms < FEWEST_LLMS:
            interval = Interval(float(drawn[0]), None, None, reason="too_few_llms")
        elif method == "cluster":
            interval = percentile_interval(statistic.over_drawn_llms(*draws.picks(statistic.has_it)), alpha=alpha)
        else:
            interval = of_trials
        yield _interval_row(keys, method, PROCEDURES[method], interval)


def _of_llms(draws, statistic, keys, methods, alpha, weightings):
    """The rows of each LLM, which are the same whatever weighs in a mean over LLMs."""
    for place, llm in enumerate(draws.llms):
        of_llm = keys | {"llm": llm, "n_trials": statistic.n_trials[place], "n_llms": 1}
        if statistic.has_it[place]:
            rows = _of_llm(draws, statistic.values[place], of_llm, methods, alpha)
        else:
            rows = _without_baseline(draws, of_llm, methods)
        for row in rows:
            yield from (row | {"weighting": weighting} for weighting in weightings)


def _without_baseline(draws, keys, methods):
    """The rows of an LLM that answered but cannot be compared with itself."""
    answered = "spread" if keys["metric"] in SPREADS else "mean_response"
    direction = keys["anchor_direction"]
    answers = draws.statistic(keys["technique"], answered, direction, "own")
    place = draws.llms.index(keys["llm"])
    if keys["metric"] != answered and answers.has_it[place]:
        keys = keys | {"n_trials": answers.n_trials[place]}
        nothing = Interval(None, None, None, reason="no_baseline")
        yield from (
            _interval_row(keys, method, PROCEDURES[method], nothing) for method in methods if method != "cluster"
        )


def _of_change(draws, technique, alpha):
    spread, reference = (draws.statistic(name, "spread_pp") for name in (technique, CONTROL))
    both = spread.has_it & reference.has_it
    if not both.any():
        return
    spread, reference = spread.among(both), reference.among(both)
    keys = {"technique": technique, "anchor_direction": "both", "metric": CHANGE, "weighting": "llm"}
    over_llms = {"llm": None, "n_trials": spread.n_trials.sum(), "n_llms": both.sum()}
    for method in METHODS:
        of_llms = method == "cluster"
        change = spread_change(
            *(one.over_drawn_llms(*draws.picks(both)) if of_llms else one.over_llms() for one in (spread, reference))
        )
        if abs(reference.over_llms()[0]) < SMALLEST_SPREAD_PP:
            interval = Interval(None, None, None, reason="no_spread_to_change")
        elif method == "headline":
            numerators, denominators = (
                (one.values[:, 0] * one.weights)[both] * both.sum() for one in (spread, reference)
            )
            interval = _as_change(fieller_interval(numerators, denominators, confidence=1 - 2 * alpha), denominators)
        elif of_llms and both.sum() < FEWEST_LLMS:
            interval = Interval(float(change[0]), None, None, reason="too_few_llms")
        else:
            interval = percentile_interval(change, alpha=alpha)
        row = _interval_row(keys | over_llms, method, PROCEDURES[CHANGE if method == "headline" else method], interval)
        yield _with_enough_baseline(draws, row, np.array(draws.llms)[both])
    spread, reference = (draws.statistic(name, "spread_pp", weighting="own") for name in (technique, CONTROL))
    for place in np.flatnonzero(both):
        of_llm = {"llm": draws.llms[place], "n_trials": spread.n_trials[place], "n_llms": 1}
        change = spread_change(spread.values[place], reference.values[place])
        for row in _of_llm(draws, change, keys | of_llm, METHODS, alpha):
            if abs(reference.values[place, 0]) < SMALLEST_SPREAD_PP:
                row |= {"estimate": None, "low": None, "high": None, "reason": "no_spread_to_change"}
            yield row


def _of_llm(draws, values, keys, methods, alpha):
    """The rows of one LLM, whose trials are all there is to draw from."""
    methods = [method for method in methods if method != "cluster"]
    n_smallest = max(2, draws.smallest_cell(keys["llm"], keys["technique"]))
    alphas = [expanded_level(alpha, n_smallest) if method == "headline" else alpha for method in methods]
    for method, interval in zip(methods, percentile_intervals(values, alphas=alphas), strict=True):
        row = _interval_row(keys, method, PROCEDURES["llm" if method == "headline" else method], interval)
        yield _with_enough_baseline(draws, row, [keys["llm"]])


def _with_enough_baseline(draws, row, llms):
    """The row, without headline bounds where it divides by a baseline of few answers: their mean ratio is biased."""
    if row["method"] != "headline" or row["metric"] not in OVER_BASELINE:
        return row
    if draws.fewest_baseline(row["technique"], llms) >= FEWEST_BASELINE:
        return row
    return row | {"low": None, "high": None, "df": None, "reason": reasons(row["reason"], "baseline_below_10")}


def _as_deviation(row):
    """The same row in pp from the baseline."""
    shifted = {name: None if row[name] is None else row[name] - 100 for name in ("estimate", "low", "high")}
    return row | shifted | {"metric": "deviation_pp"}


def _within_range(interval, metric):
    if interval.low is None or metric not in RANGES:
        return interval
    least, most = RANGES[metric]
    return replace(interval, low=max(interval.low, least), high=min(interval.high, most))


def _as_change(ratio, denominators):
    """From the ratio of two spreads to the change in percent of the size of the second."""
    if ratio.estimate is None:
        return ratio
    sign = 100 * np.sign(denominators.mean())
    bounds = sorted(sign * (bound - 1) for bound in (ratio.low, ratio.high) if bound is not None) or (None, None)
    return Interval(sign * (ratio.estimate - 1), *bounds, ratio.df, ratio.reason)


def _interval_row(keys, method, procedure, interval):
    if procedure in (PROCEDURES["headline"], PROCEDURES[CHANGE]):
        keys = keys | {"n_resamples": None, "seed": None}
    if interval.reason == "zero_variance" and keys["n_trials"] == 1:
        interval = replace(interval, reason="one_trial")
    return keys | {"method": method, "procedure": procedure, **vars(interval)}
