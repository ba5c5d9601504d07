"""The analysis of an experiment with two anchors: what each condition answered, high against low, LLM against human.

Everything returned is JSON without NaN or Infinity. A statistic that the data cannot support is null and its reason
(`no_answers`, `one_trial`, `zero_variance`) stands under its name in the sibling `reasons`.
"""

import json
import math
import statistics
from decimal import Decimal
from numbers import Integral

import numpy as np

from analysis.methods.effect_sizes import approximate_hedges_factor
from analysis.methods.small_samples import CONFIDENCE
from analysis.methods.t_and_f_tests import satterthwaite_df, t_bounds, tost_p, two_sided_p

QUARTILE_METHOD = "linear, Hyndman & Fan type 7"
NULL_HYPOTHESIS = "The LLM exhibits the same anchoring bias as human legal professionals."
DECISIONS = {"LESS": "rejected", "GREATER": "rejected", "SIMILAR": "not_rejected", "INCONCLUSIVE": "undecidable"}
INTERPRETATIONS = {
    "LESS": "the null hypothesis is rejected: the anchoring bias of the LLM is LESS than the human bias",
    "GREATER": "the null hypothesis is rejected: the anchoring bias of the LLM is GREATER than the human bias",
    "SIMILAR": (
        "the null hypothesis is not rejected: the anchoring bias of the LLM is SIMILAR to the human bias, that is, "
        "equivalent within the margin"
    ),
    "INCONCLUSIVE": (
        "the null hypothesis can be neither rejected nor upheld: the comparison of the LLM with the human bias is "
        "INCONCLUSIVE"
    ),
}


def analyze(
    experiment, config, trials, human, *, n_resamples=10_000, seed=20_060_201, confidence=CONFIDENCE, margin=0.5
):
    """Analyse the trials of an experiment with one low and one high anchor and compare them with a human study.

    Parameters
    ----------
    experiment : dict
        `id`, `name`, `anchorDerivation`, `responseUnit`, `validMin`, `validMax` and `conditions`, of which one has
        the `anchorDirection` low and one high.
    config : dict
        How the trials were run; copied as it is, so it must be JSON.
    trials : list of dict
        `conditionId`, `runIndex`, and either `sentenceMonths` or `errorCode`; in any order.
    human : dict or None
        A row of `seeds/human_baselines.csv`; numbers may still be text. None if no human study is known.
    n_resamples, seed : int
        Of the bootstrap.
    confidence : float in (0, 1)
        Of every interval; equivalence is tested at `1 - confidence`.
    margin : float
        Largest difference between LLM and human, in the response unit, that still counts as SIMILAR.

    Returns
    -------
    dict
        `experiment`, `config`, `totals`, `conditions`, `comparison`, `humanBaseline`, `humanComparison` (both null
        without a human study); the same for the same input, whatever the order of the trials.

    Raises
    ------
    ValueError
        If the conditions are not one low and one high, or a trial is of no condition, occurs twice, has both an
        answer and an error or neither, or answers with anything but a whole number in the valid range.
    """
    if not 0 < confidence < 1 or not margin > 0 or n_resamples < 1:
        raise ValueError(f"need confidence in (0, 1), margin > 0, resamples, got {confidence}, {margin}, {n_resamples}")
    directions = sorted(condition["anchorDirection"] for condition in experiment["conditions"])
    if directions != ["high", "low"]:
        raise ValueError(f"need one low and one high condition, got {directions}")

    grouped = _by_condition(experiment, trials)
    conditions = [describe(condition, grouped[condition["id"]]) for condition in experiment["conditions"]]
    low, high = sorted(conditions, key=lambda condition: condition["anchorDirection"], reverse=True)
    comparison = compare(low, high, n_resamples=n_resamples, seed=seed, confidence=confidence)
    baseline = human_baseline(human, confidence=confidence) if human else None
    compared = compare_with_human(comparison, baseline, confidence=confidence, margin=margin) if baseline else None
    return {
        "experiment": _json_copy(experiment),
        "config": _json_copy(config),
        "totals": {name: sum(condition[name] for condition in conditions) for name in ("nTrials", "nOk", "nError")},
        "conditions": conditions,
        "comparison": comparison,
        "humanBaseline": baseline,
        "humanComparison": compared,
    }


def describe(condition, trials):
    """Count the trials of one condition and summarise its answers.

    Standard deviation with n - 1; quartiles by linear interpolation (Hyndman & Fan 1996, type 7).

    Parameters
    ----------
    condition : dict
        `id`, `anchorDirection`, `anchorValue`.
    trials : list of dict
        Those of this condition, in the order of their `runIndex`.

    Returns
    -------
    dict
    """
    values = [int(trial["sentenceMonths"]) for trial in trials if trial["errorCode"] is None]
    codes = sorted(trial["errorCode"] for trial in trials if trial["errorCode"] is not None)
    n = len(values)
    variance = _variance(values)
    # `inclusive` is type 7; a single answer is each of its own quartiles.
    q1, median, q3 = statistics.quantiles(values, method="inclusive") if n > 1 else (values or [None]) * 3
    described = {
        "conditionId": condition["id"],
        "anchorDirection": condition["anchorDirection"],
        "anchorValue": condition["anchorValue"],
        "nTrials": len(trials),
        "nOk": n,
        "nError": len(codes),
        "errors": {code: codes.count(code) for code in dict.fromkeys(codes)},
        "values": values,
        "n": n,
        "mean": sum(values) / n if n else None,
        "standardDeviation": None if variance is None else math.sqrt(variance),
        "standardError": None if variance is None else math.sqrt(variance / n),
        "min": min(values, default=None),
        "q1": q1,
        "median": median,
        "q3": q3,
        "max": max(values, default=None),
        "quartileMethod": QUARTILE_METHOD,
    }
    return described | {"reasons": _reasons(described, "one_trial" if n else "no_answers")}


def compare(low, high, *, n_resamples, seed, confidence):
    """Compare the high with the low condition: Welch test, effect sizes, and a bootstrap interval of the difference.

    Welch's t with Satterthwaite's degrees of freedom, two-sided. Cohen's d divides the difference by the pooled
    standard deviation; Hedges' g multiplies d by 1 - 3 / (4m - 1) with m = n_low + n_high - 2, the usual
    approximation of the correction with gamma functions. The interval is the percentile bootstrap, each condition
    resampled on its own.

    If only one condition varies, this is still a Welch test. If neither does, there is no test and no effect size
    (`zero_variance`), and the interval, which has no width, is marked `isDegenerate`.

    Parameters
    ----------
    low, high : dict
        As `describe` returns them.
    n_resamples, seed : int
    confidence : float

    Returns
    -------
    dict

    References
    ----------
    Hedges (1981), Journal of Educational Statistics 6(2). Efron & Tibshirani (1993), chapter 13.
    """
    n_low, n_high = low["n"], high["n"]
    reason = {0: "no_answers", 1: "one_trial"}.get(min(n_low, n_high), "zero_variance")
    difference = None if reason == "no_answers" else _minus(high["mean"], low["mean"])
    error = df = t = p_value = d = g = interval = bootstrap = None
    if min(n_low, n_high) > 1:
        squares = _variance(low["values"]) / n_low, _variance(high["values"]) / n_high
        error = math.sqrt(sum(squares))
        bootstrap = _bootstrap(low["values"], high["values"], n_resamples, seed, confidence)
        if error > 0:
            df = satterthwaite_df(squares, [n_low - 1, n_high - 1])
            t = difference / error
            p_value = two_sided_p(t, df)
            interval = _t_interval(difference, error, df, confidence)
            m = n_low + n_high - 2
            pooled = ((n_low - 1) * squares[0] * n_low + (n_high - 1) * squares[1] * n_high) / m
            d = difference / math.sqrt(pooled)
            g = d * approximate_hedges_factor(m)
    compared = {
        "lowConditionId": low["conditionId"],
        "highConditionId": high["conditionId"],
        "direction": "high - low",
        "difference": difference,
        "standardError": error,
        "test": "Welch t-test, two-sided",
        "t": t,
        "df": df,
        "pValue": p_value,
        "cohensD": d,
        "hedgesG": g,
        "welchInterval": interval,
        "confidenceInterval": bootstrap,
        "confidenceIntervalMethod": {
            "method": "percentile bootstrap, each condition resampled on its own",
            "confidence": confidence,
            "nResamples": n_resamples,
            "rngSeed": seed,
            "generator": "numpy PCG64",
        },
    }
    return compared | {"reasons": _reasons(compared, reason)}


def human_baseline(human, *, confidence):
    """Complete a published human result: standard error, p value and interval follow from t, df and the difference.

    Parameters
    ----------
    human : dict
        A row of `seeds/human_baselines.csv`.
    confidence : float

    Returns
    -------
    dict
        `reference` holds the citation and its parts, as text.

    Raises
    ------
    ValueError
        If the difference and t have not the same sign, or are zero: no standard error follows from them then.
    """
    low, high, t, df = (float(human[name]) for name in ("low_mean", "high_mean", "t", "df"))
    difference = _minus(high, low)
    if not difference * t > 0:
        raise ValueError(f"no standard error follows from the difference {difference} and t = {t}")
    error = difference / t
    parts = ("authors", "year", "title", "journal", "volume", "issue", "pages", "doi")
    reference = {name: str(human[name]) for name in parts}
    return {
        "study": human["human_study"],
        "location": human["location"],
        "unit": human["response_unit"],
        "n": int(human["n_participants"]),
        "nJudges": int(human["n_judges"]),
        "nProsecutors": int(human["n_prosecutors"]),
        "meanExperienceYears": float(human["mean_experience_years"]),
        "lowMean": low,
        "highMean": high,
        "difference": difference,
        "t": t,
        "df": df,
        "standardError": error,
        "pValue": two_sided_p(t, df),
        "confidenceInterval": _t_interval(difference, error, df, confidence),
        "derivation": "standard error = difference / t; two-sided p value and interval from the t distribution",
        "reference": {
            "citation": (
                "{authors} ({year}). {title}. {journal}, {volume}({issue}), {pages}. https://doi.org/{doi}"
            ).format(**reference),
            **reference,
        },
    }


def compare_with_human(comparison, baseline, *, confidence, margin):
    """Say whether the LLM is anchored LESS than, SIMILAR to or GREATER than humans, or that this is INCONCLUSIVE.

    SIMILAR if two one-sided tests (TOST) at `1 - confidence` show that LLM less human lies within the margin, which
    is when the interval with twice that error does. Otherwise LESS or GREATER if the interval with `confidence` lies
    wholly below or above zero. Otherwise INCONCLUSIVE; a difference that is not significant is never SIMILAR.

    `fixedHuman` takes the human difference as a given number; its label is the headline. `uncertainHuman` adds the
    human standard error, with Satterthwaite's degrees of freedom for the sum.

    Parameters
    ----------
    comparison, baseline : dict
        As `compare` and `human_baseline` return them.
    confidence, margin : float

    Returns
    -------
    dict

    References
    ----------
    Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15(6).
    """
    error, df, human_error = comparison["standardError"], comparison["df"], baseline["standardError"]
    total = total_df = None
    if error is not None:
        total = math.hypot(error, human_error)
        total_df = satterthwaite_df([error**2, human_error**2], [df or 1, baseline["df"]])

    def against(error, df, method, preface):
        difference = reason = low = high = equivalence = interval = tost = None
        label, alpha = "INCONCLUSIVE", _minus(1, confidence)
        if comparison["difference"] is not None:
            difference = _minus(comparison["difference"], baseline["difference"])
        if error is None:
            reason = comparison["reasons"]["standardError"]
        else:
            equivalence = _t_interval(difference, error, df, _minus(confidence, alpha))
            interval = _t_interval(difference, error, df, confidence)
            if error:
                tost = tost_p(difference, error, df, margin)
                is_similar = tost < alpha
            else:
                reason, is_similar = "zero_variance", abs(difference) < margin
            low, high = interval["low"], interval["high"]
            label = "SIMILAR" if is_similar else "LESS" if high < 0 else "GREATER" if low > 0 else "INCONCLUSIVE"
        sentence = preface + INTERPRETATIONS[label]
        compared = {
            "label": label,
            "difference": difference,
            "standardError": error,
            "df": df,
            "tostPValue": tost,
            "equivalenceInterval": equivalence,
            "confidenceInterval": interval,
            "isExact": error == 0,
            "method": "exact: no answer varies, so the intervals have no width" if error == 0 else method,
            "decision": DECISIONS[label],
            "interpretation": sentence[0].upper() + sentence[1:] + ".",
        }
        return compared | {"reasons": _reasons(compared, reason)}

    fixed = against(error, df, "Welch t and TOST; human difference taken as fixed", "")
    uncertain = against(
        total,
        total_df,
        "Welch-Satterthwaite t and TOST; human standard error added",
        "with the uncertainty of the human difference, ",
    )
    return {
        "direction": "LLM - human",
        "margin": margin,
        "alpha": _minus(1, confidence),
        "nullHypothesis": NULL_HYPOTHESIS,
        "label": fixed["label"],
        "decision": fixed["decision"],
        "fixedHuman": fixed,
        "uncertainHuman": uncertain,
    }


def _by_condition(experiment, trials):
    grouped = {condition["id"]: {} for condition in experiment["conditions"]}
    for trial in trials:
        name, run, answer = trial["conditionId"], trial["runIndex"], trial["sentenceMonths"]
        if name not in grouped:
            raise ValueError(f"a trial is of the condition {name!r}, which the experiment has not")
        if run in grouped[name]:
            raise ValueError(f"run {run} of {name!r} occurs twice")
        if (answer is None) == (trial["errorCode"] is None):
            raise ValueError(f"run {run} of {name!r} needs either an answer or an error code")
        if answer is not None and (
            not isinstance(answer, Integral)
            or isinstance(answer, bool)
            or not experiment["validMin"] <= answer <= experiment["validMax"]
        ):
            raise ValueError(f"run {run} of {name!r} answers {answer!r}, which is no valid whole number")
        grouped[name][run] = trial
    return {name: [runs[run] for run in sorted(runs)] for name, runs in grouped.items()}


def _bootstrap(low, high, n_resamples, seed, confidence):
    # Resampling answers is a multinomial draw on their counts, so the cost does not grow with the trials.
    rng = np.random.Generator(np.random.PCG64(seed))
    means = []
    for values in (low, high):
        distinct, counts = np.unique(values, return_counts=True)
        means.append(rng.multinomial(len(values), counts / len(values), size=n_resamples) @ distinct / len(values))
    tail = (1 - confidence) / 2
    low_bound, high_bound = np.quantile(means[1] - means[0], [tail, 1 - tail])
    return {
        "confidence": confidence,
        "low": float(low_bound),
        "high": float(high_bound),
        "isDegenerate": len(set(low)) == len(set(high)) == 1,
    }


def _t_interval(estimate, error, df, confidence):
    low, high = t_bounds(estimate, error, df, confidence) if error else (estimate, estimate)
    return {"confidence": confidence, "low": low, "high": high}


def _variance(values):
    """Of whole numbers, with n - 1; exact until the last division, so that equal answers give exactly zero."""
    n = len(values)
    return (n * sum(v * v for v in values) - sum(values) ** 2) / (n * (n - 1)) if n > 1 else None


def _minus(a, b):
    """Subtract as people do: 6.05 - 4.00 is 2.05."""
    return float(Decimal(str(a)) - Decimal(str(b)))


def _reasons(summary, reason):
    return {name: reason for name, value in summary.items() if value is None}


def _json_copy(value):
    return json.loads(json.dumps(value, allow_nan=False))
