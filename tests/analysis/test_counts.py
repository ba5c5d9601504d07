"""Counted responses: numpy and statsmodels as oracles on expanded rows, and percentages worked by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.weightstats import DescrStatsW

from analysis.counts import CELL, Summary, baseline_rows, compared, selected

COLUMNS = [*CELL, "anchor_value", "row_set", "response_source", "response", "n_trials"]
counted = st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(1, 40)), min_size=2, max_size=8)


def responses_of(*rows):
    """Answers to anchors from (llm, technique, anchor direction, temperature, response, number of trials)."""
    return pd.DataFrame(
        [
            ("s", "d", "v", llm, technique, direction, temperature, 1.0, "accepted", "recorded", float(response), n)
            for llm, technique, direction, temperature, response, n in rows
        ],
        columns=COLUMNS,
    )


def percents_of(frame):
    return dict(zip(frame["llm"], frame["percent_of_baseline"], strict=True))


@settings(max_examples=30)
@given(counted)
def test_summaries_are_those_of_the_expanded_rows(pairs):
    values, counts = np.array([v for v, _ in pairs]), np.array([n for _, n in pairs])
    rows, weighted = np.repeat(values, counts), DescrStatsW(values, weights=counts, ddof=1)
    scale = 1 + np.abs(values).max()
    found = Summary.of(values, counts)
    assert found.n_trials == len(rows)
    assert found.mean == pytest.approx(rows.mean(), rel=1e-12, abs=1e-12 * scale)
    assert found.mean == pytest.approx(weighted.mean, rel=1e-12, abs=1e-12 * scale)
    assert found.variance == pytest.approx(rows.var(ddof=1), rel=1e-12, abs=1e-12 * scale**2)
    assert found.variance == pytest.approx(weighted.var, rel=1e-12, abs=1e-12 * scale**2)


@settings(max_examples=30)
@given(counted, st.randoms(use_true_random=False))
def test_order_and_splitting_of_counts_do_not_matter(pairs, random):
    split = [part for v, n in pairs for part in ((v, n - n // 2), (v, n // 2))]
    random.shuffle(split)
    whole, parts = (Summary.of(*zip(*some, strict=True)) for some in (pairs, split))
    assert parts.n_trials == whole.n_trials
    assert parts.mean == pytest.approx(whole.mean, rel=1e-12, abs=1e-6)
    assert parts.variance == pytest.approx(whole.variance, rel=1e-9, abs=1e-6)


def test_a_large_offset_leaves_the_variance():
    assert Summary.of([1e9, 1e9 + 1, 1e9 + 2], [5, 7, 3]).variance == pytest.approx(
        np.repeat([0, 1, 2], [5, 7, 3]).var(ddof=1), rel=1e-12
    )


def test_a_hundred_million_trials_are_summarised_exactly():
    n = 10**8
    found = Summary.of([1, 2], [n, n])
    assert (found.n_trials, found.mean) == (2 * n, 1.5)
    assert found.variance == pytest.approx(0.5 * n / (2 * n - 1), rel=1e-12)


def test_equal_values_vary_by_exactly_0():
    assert Summary.of([0.1, 0.1, 0.1], [3, 1, 7]).variance == 0
    assert Summary.of([0.1, 5], [3, 0]).variance == 0


def test_one_trial_has_no_variance():
    assert math.isnan(Summary.of([4], [1]).variance)


@pytest.mark.parametrize(
    ("values", "counts"), [([], []), ([1], [0]), ([1, 2], [1]), ([1, 2], [3, -1]), ([np.nan], [1])]
)
def test_nothing_counted_or_nothing_countable_is_an_error(values, counts):
    with pytest.raises(ValueError, match="need"):
        Summary.of(values, counts)


def test_percent_of_baseline_worked_by_hand():
    # baseline of a: (3 * 10 + 1 * 30) / 4 = 15
    responses = responses_of(
        ("a", "no_technique", "none", 0.0, 10, 3),
        ("a", "no_technique", "none", 1.0, 30, 1),
        ("a", "no_technique", "high", 1.0, 30, 2),
        ("a", "sacd", "low", 0.0, 12, 5),
    )
    found = compared(responses)
    assert found["baseline"].tolist() == [15, 15]
    assert dict(zip(found["technique"], found["percent_of_baseline"], strict=True)) == {"no_technique": 200, "sacd": 80}
    assert dict(zip(found["technique"], found["n_trials"], strict=True)) == {"no_technique": 2, "sacd": 5}


@pytest.mark.parametrize(("scope", "percent"), [("pooled", 80), ("t=0", 120), ("t=1", 40)])
def test_a_scope_says_which_trials_make_the_baseline(scope, percent):
    responses = responses_of(
        ("a", "no_technique", "none", 0.0, 10, 3),
        ("a", "no_technique", "none", 1.0, 30, 1),
        ("a", "sacd", "low", 0.7, 12, 5),
    )
    assert percents_of(compared(responses, baseline_scope=scope)) == {"a": pytest.approx(percent)}


def test_only_unanchored_trials_without_a_technique_make_a_baseline():
    responses = responses_of(
        ("a", "no_technique", "none", 0.0, 10, 1),
        ("a", "no_technique", "low", 0.0, 5, 9),
        ("a", "sacd", "none", 0.0, 90, 9),
    )
    assert percents_of(compared(responses)) == {"a": 50}
    assert baseline_rows(responses)["response"].tolist() == [10]


def test_an_llm_without_a_baseline_or_with_one_of_0_has_no_percent():
    responses = responses_of(
        ("known", "no_technique", "none", 0.0, 10, 2),
        ("known", "sacd", "low", 0.0, 5, 1),
        ("unknown", "sacd", "low", 0.0, 5, 1),
        ("zero", "no_technique", "none", 0.0, 0, 3),
        ("zero", "sacd", "low", 0.0, 5, 1),
    )
    found = percents_of(compared(responses))
    assert found.pop("known") == 50
    assert set(found) == {"unknown", "zero"}
    assert all(math.isnan(percent) for percent in found.values())


def test_rows_that_differ_in_the_anchor_value_alone_are_merged():
    responses = responses_of(
        ("a", "no_technique", "none", 0.0, 10, 2), ("a", "sacd", "low", 0.0, 5, 3), ("a", "sacd", "low", 0.0, 5, 4)
    ).assign(anchor_value=[None, 3.0, 4.0])
    assert compared(responses)["n_trials"].tolist() == [7]


def test_trials_without_a_temperature_are_kept_and_have_no_baseline_of_one():
    responses = responses_of(("a", "no_technique", "none", None, 10, 2), ("a", "sacd", "low", None, 5, 3))
    pooled = compared(responses)
    assert (pooled["percent_of_baseline"].tolist(), pooled["n_trials"].tolist()) == ([50], [3])
    assert compared(responses, baseline_scope="t=1")["percent_of_baseline"].isna().all()


def test_baselines_are_of_one_study_and_vignette():
    of_v = responses_of(("a", "no_technique", "none", 0.0, 10, 2), ("a", "sacd", "low", 0.0, 5, 3))
    of_w = of_v.assign(vignette="w", response=of_v["response"] + 40)
    of_t = of_v.assign(study="t", response=of_v["response"] + 90)
    found = compared(pd.concat([of_v, of_w, of_t]))
    assert found[["study", "vignette", "baseline"]].values.tolist() == [
        ["s", "v", 10],
        ["s", "w", 50],
        ["t", "v", 100],
    ]


def test_row_sets_and_sources_are_never_pooled():
    rows = responses_of(("a", "sacd", "low", 0, 5, 3))
    others = [rows.assign(row_set="as_recorded", n_trials=4), rows.assign(response_source="reparsed", n_trials=5)]
    both = pd.concat([rows, *others])
    assert selected(rows)["n_trials"].tolist() == [3]
    assert selected(both, row_set="as_recorded")["n_trials"].tolist() == [4]
    assert selected(others[1])["n_trials"].tolist() == [5]
    with pytest.raises(ValueError, match=r"recorded.*reparsed"):
        selected(both)


def test_selected_temperatures_are_numbers():
    found = selected(responses_of(("a", "sacd", "low", None, 5, 3), ("a", "sacd", "low", 1, 5, 3)))
    assert found["temperature"].dtype == float
    assert found["temperature"].isna().tolist() == [True, False]


@pytest.mark.parametrize("scope", ["pooled", "t=1"])
def test_no_responses_have_no_percentages(scope):
    rows = responses_of(("a", "sacd", "low", 0, 5, 3))
    assert compared(rows[:0], baseline_scope=scope).empty
    assert compared(rows, row_set="as_recorded", baseline_scope=scope).empty
