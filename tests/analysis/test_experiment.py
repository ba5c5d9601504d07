"""The analysis of story 001: golden numbers, scipy and statsmodels as oracles, and laws that hold for all trials."""

import csv
import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_ind

from analysis.papers.experiment import analyze

ROOT = Path(__file__).resolve().parents[2]
LOW = [3, 4, 5, 4, 3, 5, 4, 4, 3, 5]
HIGH = [6, 7, 5, 6, 8, 6, 7, 5, 6, 7]
EXPERIMENT = {
    "id": "anchoring-prosecutor-sentencing",
    "name": "Anchoring Bias - Prosecutor Sentencing Recommendation",
    "anchorDerivation": "randomly determined",
    "responseUnit": "months on probation",
    "validMin": 0,
    "validMax": 12,
    "conditions": [
        {"id": "low-anchor-3mo", "anchorDirection": "low", "anchorValue": 3},
        {"id": "high-anchor-9mo", "anchorDirection": "high", "anchorValue": 9},
    ],
}
with open(ROOT / "seeds" / "human_baselines.csv", encoding="utf-8", newline="") as file:
    HUMAN = next(csv.DictReader(file))

answers = st.lists(st.none() | st.integers(0, 12), max_size=12)
two_or_more = st.lists(st.integers(0, 12), min_size=2, max_size=25)


def line(condition, run, months, error=None):
    return {"conditionId": condition, "runIndex": run, "result": {"sentenceMonths": months}, "error": error}


def trials_of(low, high):
    return [
        line(name, run, v, {"code": "invalid_json"} if v is None else None)
        for name, values in (("low-anchor-3mo", low), ("high-anchor-9mo", high))
        for run, v in enumerate(values)
    ]


def analysis_of(low, high, **options):
    return analyze(EXPERIMENT, {"model": "gpt-5.2"}, trials_of(low, high), HUMAN, **{"n_resamples": 200, **options})


def nulls_and_reasons(value):
    """Yield the names that are null and the names that have a reason, of each part that states reasons."""
    for part in value.values():
        if isinstance(part, dict):
            yield from nulls_and_reasons(part)
    if "reasons" in value:
        yield {name for name, item in value.items() if item is None}, set(value["reasons"])


def test_golden_vector():
    analysis = analysis_of(LOW, HIGH)
    compared = analysis["comparison"]
    assert compared["t"] == pytest.approx(5.81084825535898, abs=1e-9)
    assert compared["df"] == pytest.approx(17.60938883968, abs=1e-9)
    assert compared["cohensD"] == pytest.approx(2.59869034118375, abs=1e-9)
    assert compared["hedgesG"] == pytest.approx(2.48888652395065, abs=1e-9)
    assert [condition["median"] for condition in analysis["conditions"]] == [4, 6]
    assert compared["difference"] == 2.3


def test_the_human_error_p_value_and_interval_follow_from_what_is_printed():
    human = analysis_of(LOW, HIGH)["humanBaseline"]
    assert human["difference"] == 2.05
    assert human["standardError"] == pytest.approx(2.05 / 2.10, rel=1e-12)
    assert human["pValue"] == pytest.approx(2 * stats.t.sf(2.10, 37), rel=1e-9)
    low, high = stats.t.interval(0.95, 37, 2.05, 2.05 / 2.10)
    assert human["confidenceInterval"] == pytest.approx({"confidence": 0.95, "low": low, "high": high}, rel=1e-7)
    assert human["reference"]["citation"] == (
        "Englich, B., Mussweiler, T., & Strack, F. (2006). Playing dice with criminal sentences: The influence of "
        "irrelevant anchors on experts' judicial decision making. Personality and Social Psychology Bulletin, 32(2), "
        "188\u2013200. https://doi.org/10.1177/0146167205282152"
    )


@given(two_or_more, two_or_more)
def test_the_welch_test_and_its_interval_are_those_of_scipy(low, high):
    compared = analysis_of(low, high, n_resamples=10)["comparison"]
    if len(set(low)) == len(set(high)) == 1:
        assert compared["t"] is None
        return
    oracle = stats.ttest_ind(high, low, equal_var=False)
    bounds = oracle.confidence_interval(0.95)
    assert compared["t"] == pytest.approx(oracle.statistic, rel=1e-9, abs=1e-9)
    assert compared["df"] == pytest.approx(oracle.df, rel=1e-9)
    assert compared["pValue"] == pytest.approx(oracle.pvalue, rel=1e-6, abs=1e-12)
    assert compared["welchInterval"]["low"] == pytest.approx(bounds.low, rel=1e-6, abs=1e-6)
    assert compared["welchInterval"]["high"] == pytest.approx(bounds.high, rel=1e-6, abs=1e-6)
    pooled = CompareMeans(DescrStatsW(high), DescrStatsW(low)).std_meandiff_pooledvar
    pooled /= math.sqrt(1 / len(low) + 1 / len(high))
    assert compared["cohensD"] == pytest.approx((np.mean(high) - np.mean(low)) / pooled, rel=1e-9, abs=1e-9)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=40))
def test_summaries_are_those_of_numpy(values):
    described = analysis_of(values, [1, 2], n_resamples=10)["conditions"][0]
    names = ("min", "q1", "median", "q3", "max")
    assert [described[name] for name in names] == pytest.approx(list(np.quantile(values, [0, 0.25, 0.5, 0.75, 1])))
    assert described["mean"] == pytest.approx(np.mean(values))
    if len(values) > 1:
        assert described["standardDeviation"] == pytest.approx(np.std(values, ddof=1), abs=1e-12)
        assert described["standardError"] == pytest.approx(stats.sem(values), abs=1e-12)


@given(two_or_more, two_or_more)
def test_similar_is_what_tost_says_and_the_other_labels_follow_the_interval(low, high):
    fixed = analysis_of(low, high, n_resamples=10)["humanComparison"]["fixedHuman"]
    if len(set(low)) == len(set(high)) == 1:
        return
    p_value = ttost_ind(np.array(high), np.array(low), 2.05 - 0.5, 2.05 + 0.5, usevar="unequal")[0]
    assert fixed["tostPValue"] == pytest.approx(p_value, abs=1e-9)
    inner, outer = fixed["equivalenceInterval"], fixed["confidenceInterval"]
    assert (fixed["label"] == "SIMILAR") == (p_value < 0.05) == (inner["low"] > -0.5 and inner["high"] < 0.5)
    if fixed["label"] != "SIMILAR":
        assert (fixed["label"] == "LESS") == (outer["high"] < 0)
        assert (fixed["label"] == "GREATER") == (outer["low"] > 0)


@given(answers, answers)
def test_with_human_uncertainty_nothing_is_similar_at_half_a_month(low, high):
    compared = analysis_of(low, high, n_resamples=10)["humanComparison"]["uncertainHuman"]
    assert compared["label"] != "SIMILAR"
    if compared["standardError"] is not None:
        assert compared["standardError"] >= 2.05 / 2.10


def test_human_uncertainty_adds_variances_and_satterthwaite_degrees_of_freedom():
    analysis = analysis_of(LOW, HIGH)
    a, b = analysis["comparison"]["standardError"] ** 2, (2.05 / 2.10) ** 2
    uncertain = analysis["humanComparison"]["uncertainHuman"]
    assert uncertain["standardError"] == pytest.approx(math.sqrt(a + b))
    assert uncertain["df"] == pytest.approx((a + b) ** 2 / (a**2 / analysis["comparison"]["df"] + b**2 / 37))


@pytest.mark.parametrize(
    ("low", "high", "label", "decision"),
    [
        ([4] * 30, [4] * 30, "LESS", "rejected"),
        ([4] * 30, [6] * 30, "SIMILAR", "not_rejected"),
        ([4] * 30, [7] * 30, "GREATER", "rejected"),
        ([3, 5] * 100, [5, 7] * 100, "SIMILAR", "not_rejected"),
        ([3, 5] * 100, [8, 10] * 100, "GREATER", "rejected"),
        ([6, 7] * 100, [6, 7] * 100, "LESS", "rejected"),
        (LOW, HIGH, "INCONCLUSIVE", "undecidable"),
        ([4], [6], "INCONCLUSIVE", "undecidable"),
        ([None], [6, 6], "INCONCLUSIVE", "undecidable"),
    ],
)
def test_labels_and_what_they_mean_for_the_null_hypothesis(low, high, label, decision):
    compared = analysis_of(low, high)["humanComparison"]
    assert (compared["label"], compared["decision"]) == (label, decision)
    assert label in compared["fixedHuman"]["interpretation"]


def test_a_difference_just_at_the_margin_is_not_similar():
    assert analysis_of([4] * 3, [6] * 3, margin=0.05)["humanComparison"]["label"] == "LESS"
    assert analysis_of([4] * 3, [6] * 3, margin=0.0501)["humanComparison"]["label"] == "SIMILAR"


def test_sixty_sixes_have_no_test_but_an_exact_difference_to_the_fixed_human_value():
    analysis = analysis_of([6] * 30, [6] * 30)
    compared = analysis["comparison"]
    assert compared["difference"] == 0
    for name in ("t", "df", "pValue", "cohensD", "hedgesG", "welchInterval"):
        assert (compared[name], compared["reasons"][name]) == (None, "zero_variance")
    assert compared["confidenceInterval"] == {"confidence": 0.95, "low": 0.0, "high": 0.0, "isDegenerate": True}
    fixed = analysis["humanComparison"]["fixedHuman"]
    assert fixed["isExact"]
    assert fixed["confidenceInterval"]["low"] == fixed["confidenceInterval"]["high"] == -2.05
    assert fixed["reasons"]["tostPValue"] == "zero_variance"


def test_zero_variance_in_one_group_is_still_a_welch_test():
    compared = analysis_of([4, 4, 4], [5, 6, 8])["comparison"]
    assert compared["df"] == 2
    assert compared["t"] == pytest.approx((19 / 3 - 4) / math.sqrt((7 / 3) / 3))


@pytest.mark.parametrize(
    ("low", "high", "reason"), [([], [1], "no_answers"), ([None], [None], "no_answers"), ([3], [4, 5], "one_trial")]
)
def test_what_too_few_answers_cannot_support_has_a_typed_reason(low, high, reason):
    analysis = analysis_of(low, high)
    for name in ("t", "pValue", "hedgesG", "confidenceInterval", "standardError"):
        assert analysis["comparison"]["reasons"][name] == reason
    assert analysis["humanComparison"]["fixedHuman"]["reasons"]["confidenceInterval"] == reason


@given(answers, answers, st.randoms(use_true_random=False))
def test_every_analysis_is_json_with_a_reason_per_null_whatever_the_order(low, high, shuffle):
    analysis = analysis_of(low, high, n_resamples=10)
    text = json.dumps(analysis, allow_nan=False)
    assert json.loads(text) == analysis
    for part in (analysis, *analysis["conditions"]):
        for nulls, reasons in nulls_and_reasons(part):
            assert nulls == reasons
    trials = trials_of(low, high)
    shuffle.shuffle(trials)
    again = analyze(EXPERIMENT, {"model": "gpt-5.2"}, trials, HUMAN, n_resamples=10)
    assert json.dumps(again) == text


@settings(max_examples=25)
@given(two_or_more, two_or_more, st.integers(0, 2**32))
def test_swapping_the_conditions_turns_the_comparison_round(low, high, seed):
    one, other = (analysis_of(*pair, seed=seed)["comparison"] for pair in ((low, high), (high, low)))
    for name in ("difference", "t", "cohensD", "hedgesG"):
        assert one[name] is other[name] is None or one[name] == pytest.approx(-other[name])
    assert one["pValue"] is other["pValue"] is None or one["pValue"] == pytest.approx(other["pValue"])


def test_the_bootstrap_agrees_with_scipy_and_with_itself():
    interval = analysis_of(LOW, HIGH, n_resamples=20_000)["comparison"]["confidenceInterval"]
    oracle = stats.bootstrap(
        (HIGH, LOW),
        lambda a, b, axis: a.mean(axis) - b.mean(axis),
        method="percentile",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert [interval["low"], interval["high"]] == pytest.approx([oracle.low, oracle.high], abs=0.1)
    assert interval == analysis_of(LOW, HIGH, n_resamples=20_000)["comparison"]["confidenceInterval"]
    assert interval["low"] < 2.3 < interval["high"]


def test_errors_are_counted_by_code_and_left_out():
    trials = trials_of([3, 4], [6, 7])
    trials += [
        line("low-anchor-3mo", run, None, error)
        for run, error in ((7, {"code": "timeout"}), (5, "invalid_json"), (6, {"code": "timeout"}))
    ]
    random.Random(1).shuffle(trials)
    low = analyze(EXPERIMENT, {}, trials, HUMAN, n_resamples=10)["conditions"][0]
    assert (low["nTrials"], low["nOk"], low["nError"], low["mean"]) == (5, 2, 3, 3.5)
    assert low["errors"] == {"invalid_json": 1, "timeout": 2}
    assert low["values"] == [3, 4]


def test_a_line_without_an_answer_is_an_error_and_an_error_outweighs_an_answer():
    trials = [
        *trials_of([3, 4], [6, 7]),
        line("low-anchor-3mo", 2, None),
        {"conditionId": "low-anchor-3mo", "runIndex": 3, "result": None},
        line("low-anchor-3mo", 4, 5, {"code": "timeout"}),
        line("low-anchor-3mo", 5, 5, {}),
    ]
    low = analyze(EXPERIMENT, {}, trials, HUMAN, n_resamples=10)["conditions"][0]
    assert low["errors"] == {"no_result": 2, "timeout": 1}
    assert low["values"] == [3, 4, 5]


@pytest.mark.parametrize(
    "trial",
    [
        line("no-such", 9, 3),
        line("low-anchor-3mo", 0, 3),
        line("low-anchor-3mo", 9, 13),
        line("low-anchor-3mo", 9, math.nan),
        line("low-anchor-3mo", 9, True),
        line("low-anchor-3mo", 9, "3"),
    ],
)
def test_a_trial_that_makes_no_sense_is_refused(trial):
    with pytest.raises(ValueError, match=r"condition|run"):
        analyze(EXPERIMENT, {}, [*trials_of([3], [4]), trial], HUMAN)
