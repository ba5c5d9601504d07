"""The analysis of an experiment with two anchors: what each condition answered, high against low, LLM against human.

Everything returned is JSON without NaN or Infinity. A statistic that the data cannot support is null and its reason
(`no_answers`, `one_trial`, `zero_variance`) stands under its name in the sibling `reasons`.
"""

import math
import statistics
from collections import Counter
from decimal import Decimal

import numpy as np

from analysis.methods.bootstrap import Resampled, resampled_counts
from analysis.methods.effect_sizes import approximate_hedges_factor
from analysis.methods.small_samples import ALPHA, CONFIDENCE
from analysis.methods.t_and_f_tests import satterthwaite_df, t_bounds, tost_p, two_sided_p

QUARTILE_METHOD = "linear, Hyndman & Fan type 7"
NULL_HYPOTHESIS = "The LLM exhibits the same anchoring bias as human legal professionals."
DECISIONS = {"LESS": "rejected", "GREATER": "rejected", "SIMILAR": "not_rejected", "INCONCLUSIVE": "undecidable"}
INTERPRETATIONS = {
    "rejected": "the null hypothesis is rejected: the anchoring bias of the LLM is {} than the human bias",
    "not_rejected": (
        "the null hypothesis is not rejected: the anchoring bias of the LLM is {} to the human bias, that is, "
        "equivalent within the margin"
    ),
    "undecidable": (
        "the null hypothesis can be neither rejected nor upheld: the comparison of the LLM with the human bias is {}"
    ),
}


def analyze(experiment, config, lines, human, *, n_resamples=10_000, seed=20_060_201, margin=0.5):
    """Analyse the results of an experiment with one low and one high anchor and compare them with a human study.

    Parameters
    ----------
    experiment : dict
        `id`, `name`, `anchorDerivation`, `responseUnit`, `validMin`, `validMax` and `conditions`, the one with the
        low anchor first.
    config : dict
        How the trials were run; it stands in the analysis as it is, so it must be JSON.
    lines : list of dict
        `conditionId`, `runIndex`, `result` with `sentenceMonths`, and `error`, a code or an object with one; in any
        order.
    human : dict or None
        A row of `seeds/human_baselines.csv`; numbers may still be text. None if no human study is known.
    n_resamples, seed : int
        Of the bootstrap.
    margin : float
        Largest difference between LLM and human, in the response unit, that still counts as SIMILAR.

    Returns
    -------
    dict
        `experiment`, `config`, `totals`, `conditions`, `comparison`, `humanBaseline`, `humanComparison` (both null
        without a human study); the same for the same input, whatever the order of the lines.

    Raises
    ------
    ValueError
        If a trial is of no condition, occurs twice, or answers with anything but a whole number in the valid range.
    """
    outcomes = _outcomes(experiment, lines)
    low, high = conditions = [describe(each, outcomes[each["id"]]) for each in experiment["conditions"]]
    comparison = compare(low, high, n_resamples=n_resamples, seed=seed)
    baseline = human_baseline(human) if human else None
    return {
        "experiment": experiment,
        "config": config,
        "totals": {name: low[name] + high[name] for name in ("nTrials", "nOk", "nError")},
        "conditions": conditions,
        "comparison": comparison,
        "humanBaseline": baseline,
        "humanComparison": compare_with_human(comparison, baseline, margin=margin) if baseline else None,
    }


def describe(condition, outcomes):
    """Count the trials of one condition and summarise its answers.

    Standard deviation with n - 1; quartiles by linear interpolation (Hyndman & Fan 1996, type 7).

    Parameters
    ----------
    condition : dict
        `id`, `anchorDirection`, `anchorValue`.
    outcomes : list of int or str
        The answers and the codes of errors, in the order of their `runIndex`.

    Returns
    -------
    dict
    """
    values = [outcome for outcome in outcomes if not isinstance(outcome, str)]
    errors = sorted(outcome for outcome in outcomes if isinstance(outcome, str))
    n = len(values)
    # of whole numbers this is exact, so that equal answers give exactly zero
    variance = statistics.variance(values) if n > 1 else None
    # `inclusive` is type 7; a single answer is each of its own quartiles.
    q1, median, q3 = statistics.quantiles(values, method="inclusive") if n > 1 else (values or [None]) * 3
    described = {
        "conditionId": condition["id"],
        "anchorDirection": condition["anchorDirection"],
        "anchorValue": condition["anchorValue"],
        "nTrials": len(outcomes),
        "nOk": n,
        "nError": len(errors),
        "errors": dict(Counter(errors)),
        "values": values,
        "n": n,
        "mean": statistics.fmean(values) if n else None,
        "standardDeviation": None if variance is None else math.sqrt(variance),
        "standardError": None if variance is None else math.sqrt(variance / n),
        "min": min(values, default=None),
        "q1": q1,
        "median": median,
        "q3": q3,
        "max": max(values, default=None),
        "quartileMethod": QUARTILE_METHOD,
    }
    return _with_reasons(described, "one_trial" if n else "no_answers")


def compare(low, high, *, n_resamples, seed):
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

    Returns
    -------
    dict

    References
    ----------
    Hedges (1981), Journal of Educational Statistics 6(2). Efron & Tibshirani (1993), chapter 13.
    """
    conditions = low, high
    fewest = min(low["n"], high["n"])
    compared = {
        "lowConditionId": low["conditionId"],
        "highConditionId": high["conditionId"],
        "direction": "high - low",
        "difference": _minus(high["mean"], low["mean"]) if fewest else None,
        "standardError": None,
        "test": "Welch t-test, two-sided",
        **dict.fromkeys(("t", "df", "pValue", "cohensD", "hedgesG", "welchInterval", "confidenceInterval")),
        "confidenceIntervalMethod": {
            "method": "percentile bootstrap, each condition resampled on its own",
            "confidence": CONFIDENCE,
            "nResamples": n_resamples,
            "rngSeed": seed,
            "generator": "numpy PCG64",
        },
    }
    if fewest > 1:
        difference, dfs = compared["difference"], [each["n"] - 1 for each in conditions]
        variances = [statistics.variance(each["values"]) for each in conditions]
        squares = [variance / each["n"] for variance, each in zip(variances, conditions, strict=True)]
        error = compared["standardError"] = math.sqrt(sum(squares))
        compared["confidenceInterval"] = _bootstrap(conditions, n_resamples, seed)
        if error > 0:
            df = satterthwaite_df(squares, dfs)
            d = difference / math.sqrt(np.dot(dfs, variances) / sum(dfs))
            compared |= {
                "t": difference / error,
                "df": df,
                "pValue": two_sided_p(difference / error, df),
                "cohensD": d,
                "hedgesG": d * approximate_hedges_factor(sum(dfs)),
                "welchInterval": _t_interval(difference, error, df),
            }
    return _with_reasons(compared, {0: "no_answers", 1: "one_trial"}.get(fewest, "zero_variance"))


def human_baseline(human):
    """Complete a published human result: standard error, p value and interval follow from t, df and the difference.

    Parameters
    ----------
    human : dict
        A row of `seeds/human_baselines.csv`.

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
    citation = "{authors} ({year}). {title}. {journal}, {volume}({issue}), {pages}. https://doi.org/{doi}"
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
        "confidenceInterval": _t_interval(difference, error, df),
        "derivation": "standard error = difference / t; two-sided p value and interval from the t distribution",
        "reference": {"citation": citation.format(**reference), **reference},
    }


def compare_with_human(comparison, baseline, *, margin):
    """Say whether the LLM is anchored LESS than, SIMILAR to or GREATER than humans, or that this is INCONCLUSIVE.

    SIMILAR if two one-sided tests (TOST) at `ALPHA` show that LLM less human lies within the margin, which is when
    the interval with twice that error does. Otherwise LESS or GREATER if the interval with `CONFIDENCE` lies wholly
    below or above zero. Otherwise INCONCLUSIVE; a difference that is not significant is never SIMILAR.

    `fixedHuman` takes the human difference as a given number; its label is the headline. `uncertainHuman` adds the
    human standard error, with Satterthwaite's degrees of freedom for the sum.

    Parameters
    ----------
    comparison, baseline : dict
        As `compare` and `human_baseline` return them.
    margin : float

    Returns
    -------
    dict

    References
    ----------
    Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15(6).
    """
    error, df, human_error = comparison["standardError"], comparison["df"], baseline["standardError"]
    difference = total = total_df = None
    if comparison["difference"] is not None:
        difference = _minus(comparison["difference"], baseline["difference"])
    if error is not None:
        total = math.hypot(error, human_error)
        total_df = satterthwaite_df([error**2, human_error**2], [df or 1, baseline["df"]])

    def against(error, df, method, preface):
        label, tost, equivalence, interval = "INCONCLUSIVE", None, None, None
        if error is not None:
            equivalence, interval = (_t_interval(difference, error, df or 1, c) for c in (1 - 2 * ALPHA, CONFIDENCE))
            tost = tost_p(difference, error, df, margin) if error else None
            if tost < ALPHA if error else abs(difference) < margin:
                label = "SIMILAR"
            elif interval["high"] < 0 or interval["low"] > 0:
                label = "LESS" if interval["high"] < 0 else "GREATER"
        sentence = preface + INTERPRETATIONS[DECISIONS[label]].format(label)
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
        return _with_reasons(compared, comparison["reasons"].get("standardError", "zero_variance"))

    uncertainty = "with the uncertainty of the human difference, "
    fixed = against(error, df, "Welch t and TOST; human difference taken as fixed", "")
    added = against(total, total_df, "Welch-Satterthwaite t and TOST; human standard error added", uncertainty)
    return {
        "direction": "LLM - human",
        "margin": margin,
        "alpha": ALPHA,
        "nullHypothesis": NULL_HYPOTHESIS,
        "label": fixed["label"],
        "decision": fixed["decision"],
        "fixedHuman": fixed,
        "uncertainHuman": added,
    }


def _outcomes(experiment, lines):
    """Return by condition what its runs came to, in their order: each a number of months, or the code of an error."""
    outcomes = {condition["id"]: {} for condition in experiment["conditions"]}
    for line in lines:
        name, run, error = line["conditionId"], line["runIndex"], line.get("error")
        if name not in outcomes:
            raise ValueError(f"a trial is of the condition {name!r}, which the experiment has not")
        if run in outcomes[name]:
            raise ValueError(f"run {run} of {name!r} occurs twice")
        code = error.get("code") if isinstance(error, dict) else error
        answer = (line.get("result") or {}).get("sentenceMonths")
        if code or answer is None:
            answer = str(code or "no_result")
        elif type(answer) is not int or not experiment["validMin"] <= answer <= experiment["validMax"]:
            raise ValueError(f"run {run} of {name!r} answers {answer!r}, which is no valid whole number")
        outcomes[name][run] = answer
    return {name: [runs[run] for run in sorted(runs)] for name, runs in outcomes.items()}


def _bootstrap(conditions, n_resamples, seed):
    rng = np.random.default_rng(seed)
    drawn = []
    for condition in conditions:
        distinct, counts = np.unique(condition["values"], return_counts=True)
        drawn.append(Resampled(distinct, resampled_counts(counts, n_resamples, rng)).mean[1:])
    low, high = np.quantile(drawn[1] - drawn[0], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]).tolist()
    is_degenerate = all(condition["min"] == condition["max"] for condition in conditions)
    return {"confidence": CONFIDENCE, "low": low, "high": high, "isDegenerate": is_degenerate}


def _t_interval(estimate, error, df, confidence=CONFIDENCE):
    low, high = t_bounds(estimate, error, df, confidence)
    return {"confidence": confidence, "low": low, "high": high}


def _minus(a, b):
    """Subtract as people do: 6.05 - 4.00 is 2.05."""
    return float(Decimal(str(a)) - Decimal(str(b)))


def _with_reasons(summary, reason):
    return summary | {"reasons": {name: reason for name, value in summary.items() if value is None}}
