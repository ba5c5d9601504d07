"""The bootstrap from counts: scipy and expanded rows as oracles, and what may not change a draw."""

from itertools import product
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.methods.bootstrap import (
    CELL_METRICS,
    SPREADS,
    DomainDraws,
    Resampled,
    Statistic,
    resampled_counts,
    weighted_median,
)

COLUMNS = [
    *("study", "domain", "vignette", "llm", "technique", "anchor_direction", "temperature"),
    *("anchor_value", "row_set", "response_source", "response", "n_trials"),
]
WAYS = {"multinomial": 0, "one by one": 10**9}  # by the trials per response up to which they are drawn one by one
counted = st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 9)), min_size=1, max_size=8)


def responses_of(cells):
    """Answers to anchors from {(llm, vignette, technique, anchor direction): {response: number of trials}}."""
    rows = [
        ("s", "d", vignette, llm, technique, direction, 0.7, 1.0, "accepted", "recorded", float(response), n)
        for (llm, vignette, technique, direction), counts in cells.items()
        for response, n in counts.items()
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


# Two LLMs, two vignettes, both anchors, unequal numbers of trials. Percentages of baseline in the comments.
UNEQUAL = responses_of(
    {
        ("a", "v", "no_technique", "none"): {5: 1, 15: 1},  # baseline 10
        ("a", "v", "sacd", "low"): {5: 3, 8: 1},  # 50 50 50 80
        ("a", "v", "sacd", "high"): {9: 1, 12: 1},  # 90 120
        ("b", "v", "no_technique", "none"): {20: 4},  # baseline 20
        ("b", "v", "sacd", "low"): {20: 2},  # 100 100
        ("b", "v", "sacd", "high"): {30: 1, 22: 1},  # 150 110
        ("a", "w", "no_technique", "none"): {80: 1, 120: 1},  # baseline 100
        ("a", "w", "sacd", "low"): {60: 1},  # 60
        ("a", "w", "sacd", "high"): {130: 3},  # 130 130 130
        ("b", "w", "no_technique", "none"): {50: 2},  # baseline 50
        ("b", "w", "sacd", "low"): {45: 5, 35: 1},  # 90 * 5, 70
        ("b", "w", "sacd", "high"): {60: 5, 80: 1},  # 120 * 5, 160
    }
)
# sums over trials: of v, a 440 over 6, b 460 over 4; of w, a 450 over 4, b 1280 over 12
WORKED = {
    ("percent_of_baseline", "both", "llm"): ((440 / 6 + 460 / 4) / 2 + (450 / 4 + 1280 / 12) / 2) / 2,
    ("percent_of_baseline", "both", "trial"): ((440 + 460) / 10 + (450 + 1280) / 16) / 2,
    ("percent_of_baseline", "low", "llm"): ((57.5 + 100) / 2 + (60 + 520 / 6) / 2) / 2,
    ("percent_of_baseline", "high", "trial"): ((2 * 105 + 2 * 130) / 4 + (3 * 130 + 760) / 9) / 2,
    ("madb_percent", "both", "llm"): ((200 / 6 + 60 / 4) / 2 + (130 / 4 + 240 / 12) / 2) / 2,
    ("madb_percent", "both", "trial"): ((200 + 60) / 10 + (130 + 240) / 16) / 2,
    ("share_within_10_percent", "both", "llm"): ((1 / 6 + 3 / 4) / 2 + (0 + 5 / 12) / 2) / 2,
    ("share_within_10_percent", "both", "trial"): (4 / 10 + 5 / 16) / 2,
    ("median_percent_of_baseline", "both", "llm"): ((65 + 105) / 2 + (130 + 105) / 2) / 2,
    ("median_percent_of_baseline", "low", "llm"): ((50 + 100) / 2 + (60 + 90) / 2) / 2,
    ("mean_response", "low", "llm"): ((5.75 + 20) / 2 + (60 + 260 / 6) / 2) / 2,
    ("deviation", "low", "trial"): ((4 * -4.25 + 2 * 0) / 6 + (1 * -40 + 6 * (260 / 6 - 50)) / 7) / 2,
    ("spread_pp", "both", "llm"): ((47.5 + 30) / 2 + (70 + 760 / 6 - 520 / 6) / 2) / 2,
    ("spread", "both", "llm"): ((4.75 + 6) / 2 + (70 + 380 / 6 - 260 / 6) / 2) / 2,
}


def designed(n_llms=6, techniques=("no_technique", "premortem", "sacd"), n=3):
    """Responses by formula: LLMs, techniques and directions differ, as do numbers of trials."""
    cells = {}
    for i in range(n_llms):
        cells[f"llm{i}", "v", "no_technique", "none"] = {20 + i: n, 22 + 2 * i: 2 * n, 30: n}
        for (j, technique), (k, direction) in product(enumerate(techniques), enumerate(["low", "high"])):
            middle = 12 + i + 3 * j + (8 - 2 * j) * k
            cells[f"llm{i}", "v", technique, direction] = {middle - 3: n, middle: 2 * n + i, middle + 5: n}
    return responses_of(cells)


def draws_of(responses, n_resamples=50, seed=1, **options):
    return DomainDraws(responses, n_resamples=n_resamples, seed=seed, **options)


def drawn(draws, technique, metric, llms=None):
    statistic = draws.statistic(technique, metric)
    return statistic.over_llms() if llms is None else statistic.over_drawn_llms(*draws.picks(llms))


def over_llms(draws, technique, metric):
    return drawn(draws, technique, metric, np.full(len(draws.llms), True))


def widths(draws, technique="sacd", metrics=CELL_METRICS):
    return [np.ptp(np.quantile(drawn(draws, technique, metric)[1:], [0.025, 0.975])) for metric in metrics]


def drawn_by(way, counts, n_resamples, seed):
    """Resamples by one of the two ways to draw, whatever the number of trials."""
    with patch("analysis.methods.bootstrap.FEW_PER_RESPONSE", WAYS[way]):
        return resampled_counts(counts, n_resamples, np.random.default_rng(seed))


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=20)
@given(counts=st.lists(st.integers(0, 50), min_size=1, max_size=6).filter(any), seed=st.integers(0, 99))
def test_a_resample_has_as_many_trials_and_no_response_that_nobody_gave(way, counts, seed):
    found = drawn_by(way, counts, 20, seed)
    assert found.shape == (21, len(counts))
    assert found.dtype == float
    assert found[0].tolist() == counts
    assert (found.sum(axis=1) == sum(counts)).all()
    assert (found[:, np.array(counts) == 0] == 0).all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("counts", [[60, 30, 10], [6, 3, 1]])
def test_resamples_have_the_mean_and_covariance_of_the_multinomial(way, counts):
    counts, r = np.array(counts), 20_000
    found = drawn_by(way, counts, r, 1)[1:]
    n = counts.sum()
    expected = n * (np.diag(counts / n) - np.outer(counts, counts) / n**2)
    assert np.abs(found.mean(axis=0) - counts).max() < 4 * np.sqrt(expected.max() / r)
    assert np.cov(found.T) == pytest.approx(expected, abs=4 * expected.max() * np.sqrt(2 / r))


@pytest.mark.parametrize("way", WAYS)
def test_every_resample_is_as_frequent_as_the_multinomial_says(way):
    counts, r = np.array([2, 1, 0, 2]), 20_000
    outcomes, frequencies = np.unique(drawn_by(way, counts, r, 3)[1:], axis=0, return_counts=True)
    expected = r * stats.multinomial.pmf(outcomes, 5, counts / 5)
    assert len(outcomes) == 21
    assert expected.sum() == pytest.approx(r)
    assert stats.chisquare(frequencies, expected).pvalue > 0.01


@pytest.mark.parametrize(("counts", "way"), [([4, 4], "one by one"), ([5, 4], "multinomial"), ([9], "multinomial")])
def test_up_to_four_trials_per_response_are_drawn_one_by_one(counts, way):
    found = resampled_counts(counts, 50, np.random.default_rng(1))
    assert found.tolist() == drawn_by(way, counts, 50, 1).tolist()


def test_bounds_hang_on_the_way_to_draw_by_no_more_than_resampling_leaves_open():
    counts, months = np.array([3, 9, 20, 11, 7]), np.array([6.0, 9, 12, 18, 24])
    ways = [[drawn_by(way, counts, 10_000, seed) @ months / counts.sum() for seed in range(4)] for way in WAYS]
    bounds = np.quantile(ways, [0.025, 0.975], axis=2)
    # the standard error of such a quantile is 0.027 standard deviations
    assert np.ptp(bounds, axis=(1, 2)).max() < 6 * 0.027 * np.std(ways[0][0])
    assert len(np.unique(bounds)) > 2


@settings(max_examples=60)
@given(
    counted.filter(lambda pairs: any(n for _, n in pairs)),
    st.lists(st.one_of(st.integers(-60, 60), st.just(np.nan)), min_size=11, max_size=11),
)
def test_distances_from_a_baseline_are_those_of_the_expanded_rows(pairs, baseline):
    values, counts = np.array([float(v) for v, _ in pairs]), np.array([n for _, n in pairs])
    baseline = np.array([1.0, *baseline[1:]])
    baseline[baseline == 0] = np.nan
    cell = Resampled(values, resampled_counts(counts, 10, np.random.default_rng(1)))
    for divisor in (baseline, np.array([20.0]), np.array([-7.0])):
        madb, share = cell.madb(divisor), cell.share_within(divisor, 10)
        for r, row in enumerate(cell.counts):
            distances = np.abs(100 * np.repeat(values, row.astype(int)) / divisor[r % len(divisor)] - 100)
            expected = distances.mean(), np.where(np.isnan(distances), np.nan, distances <= 10).mean()
            assert (madb[r], share[r]) == pytest.approx(expected, nan_ok=True)


def test_the_same_statistic_is_told_from_one_that_is_weighed_otherwise():
    draws = draws_of(designed(n_llms=3))
    by_llm, by_trial = (draws.statistic("sacd", "madb_percent", "low", weighting) for weighting in ("llm", "trial"))
    assert by_llm.values is by_trial.values
    assert not by_llm.is_same(by_trial)  # LLMs have unequal numbers of trials
    alike = draws_of(UNEQUAL[(UNEQUAL["vignette"] == "v") & (UNEQUAL["anchor_direction"] != "low")])
    first, second = (alike.statistic("sacd", "madb_percent", "high", weighting) for weighting in ("llm", "trial"))
    assert first.is_same(second)
    assert not first.is_same(alike.statistic("sacd", "percent_of_baseline", "high"))


def test_the_two_ways_to_draw_differ():
    ways = [drawn_by(way, [4, 4], 50, 1).tolist() for way in WAYS]
    assert ways[0] != ways[1]


@settings(max_examples=30)
@given(counted.filter(lambda pairs: any(n for _, n in pairs)), st.integers(0, 99))
def test_weighted_medians_are_those_of_the_expanded_rows(pairs, seed):
    values, counts = np.array([float(v) for v, _ in pairs]), np.array([n for _, n in pairs])
    rows = resampled_counts(counts, 10, np.random.default_rng(seed))
    expected = [np.median(np.repeat(values, row.astype(int))) for row in rows]
    assert weighted_median(values, rows).tolist() == expected


@pytest.mark.parametrize(("key", "expected"), WORKED.items(), ids=["-".join(key) for key in WORKED])
def test_statistics_worked_by_hand(key, expected):
    metric, direction, weighting = key
    draws = draws_of(UNEQUAL)
    statistic = draws.statistic("sacd", metric, direction, weighting)
    assert statistic.over_llms()[0] == pytest.approx(expected)
    assert statistic.over_drawn_llms(*draws.picks(statistic.has_it))[0] == pytest.approx(expected)
    assert statistic.weights.sum() == pytest.approx(1)


def test_a_side_is_weighed_by_trials_and_a_spread_is_not():
    draws = draws_of(UNEQUAL)
    low = draws.statistic("sacd", "percent_of_baseline", "low", "trial").over_llms()
    assert low[0] == pytest.approx(((4 * 57.5 + 2 * 100) / 6 + (60 + 520) / 7) / 2)
    with pytest.raises(ValueError, match="weighed by LLM"):
        draws.statistic("sacd", "spread_pp", weighting="trial")


@pytest.mark.parametrize(
    ("metric", "of_a", "of_b"),
    [
        ("percent_of_baseline", (440 / 6 + 450 / 4) / 2, (460 / 4 + 1280 / 12) / 2),
        ("madb_percent", (200 / 6 + 130 / 4) / 2, (60 / 4 + 240 / 12) / 2),
        ("spread_pp", (47.5 + 70) / 2, (30 + 40) / 2),
    ],
)
def test_the_own_statistic_of_an_llm_is_the_mean_of_its_vignettes(metric, of_a, of_b):
    assert draws_of(UNEQUAL).statistic("sacd", metric, weighting="own").values[:, 0] == pytest.approx([of_a, of_b])
    without = UNEQUAL[(UNEQUAL["llm"] != "b") | (UNEQUAL["vignette"] == "v")]
    assert draws_of(without).statistic("sacd", metric, weighting="own").values[0, 0] == pytest.approx(of_a)


def test_a_statistic_among_some_llms_is_that_of_those_llms():
    responses = designed(n_llms=4)
    few = draws_of(responses[responses["llm"].isin(["llm1", "llm2"])]).statistic("sacd", "spread_pp")
    among = draws_of(responses).statistic("sacd", "spread_pp").among(np.array([False, True, True, False]))
    assert among.over_llms() == pytest.approx(few.over_llms())
    assert (among.n_trials.sum(), among.has_it.tolist()) == (few.n_trials.sum(), [False, True, True, False])


@pytest.mark.parametrize("metric", CELL_METRICS)
@pytest.mark.parametrize("direction", ["low", "high", "both"])
def test_every_resample_is_the_statistic_of_its_trials(metric, direction):
    # the same draws, expanded: of one LLM and vignette
    responses = designed(n_llms=1)
    draws = draws_of(responses, n_resamples=15)
    found = draws.statistic("sacd", metric, direction).values[0]
    of_cell = responses[(responses["technique"] == "sacd") & (responses["anchor_direction"] != "none")]
    unanchored = responses[responses["anchor_direction"] == "none"]
    baseline = resampled_counts(unanchored["n_trials"], 15, draws.stream("llm0", "v"))
    rows = [[] for _ in found]
    for side in ("low", "high") if direction == "both" else (direction,):
        cell = of_cell[of_cell["anchor_direction"] == side].sort_values("response")
        for r, counts in enumerate(resampled_counts(cell["n_trials"], 15, draws.stream("llm0", "v", "sacd", side))):
            rows[r].extend(np.repeat(cell["response"], counts.astype(int)))
    for value, counts, trials in zip(found, baseline, rows, strict=True):
        divisor = np.repeat(unanchored["response"], counts.astype(int)).mean()
        percents = 100 * np.array(trials) / divisor
        expected = {
            "mean_response": np.mean(trials),
            "percent_of_baseline": percents.mean(),
            "deviation": np.mean(trials) - divisor,
            "madb_percent": np.abs(percents - 100).mean(),
            "median_percent_of_baseline": np.median(percents),
            "share_within_10_percent": (np.abs(percents - 100) <= 10 + 1e-9).mean(),
        }
        assert value == pytest.approx(expected[metric])


def test_the_stratified_bootstrap_agrees_with_scipys():
    responses = designed(n_llms=2)
    draws = draws_of(responses, n_resamples=4000)
    statistic = draws.statistic("sacd", "percent_of_baseline", "both", "trial", baseline_is_known=True)
    found = np.quantile(statistic.over_llms()[1:], [0.025, 0.975])
    cells = responses[(responses["technique"] == "sacd") & (responses["anchor_direction"] != "none")]
    samples = [
        np.repeat(100 * cell["response"] / draws.baselines[llm, "v"][0], cell["n_trials"])
        for (llm, _), cell in cells.groupby(["llm", "anchor_direction"])
    ]

    def mean(*parts, axis):
        return sum(part.sum(axis=axis) for part in parts) / sum(part.shape[axis] for part in parts)

    expected = stats.bootstrap(
        samples, mean, n_resamples=4000, method="percentile", vectorized=True, rng=np.random.default_rng(2)
    )
    bounds = expected.confidence_interval
    assert found == pytest.approx([bounds.low, bounds.high], abs=0.2 * expected.standard_error)
    assert statistic.over_llms()[1:].std() == pytest.approx(expected.standard_error, rel=0.07)


def test_techniques_share_the_resampled_baseline():
    constant = {("a", "v", technique, "low"): {level: 9} for technique, level in (("sacd", 30), ("premortem", 45))}
    draws = draws_of(responses_of({("a", "v", "no_technique", "none"): {10: 5, 20: 5}, **constant}))
    sacd, premortem = (drawn(draws, technique, "percent_of_baseline") for technique in ("sacd", "premortem"))
    assert np.ptp(sacd) > 20
    assert premortem / sacd == pytest.approx(np.full(51, 1.5))
    known = draws.statistic("sacd", "percent_of_baseline", baseline_is_known=True).values
    assert known == pytest.approx(np.full((1, 51), 200))


def test_techniques_share_the_drawn_llms():
    draws = draws_of(designed(n=10**6), n_resamples=200)  # so many trials that LLMs alone vary
    picks, _ = draws.picks(np.full(6, True))
    for technique in ("premortem", "sacd"):
        of_llms = draws.statistic(technique, "percent_of_baseline").values[:, 0]
        found = over_llms(draws, technique, "percent_of_baseline")[1:]
        assert found == pytest.approx(of_llms[picks].mean(axis=1), abs=0.1)
        assert np.ptp(found) > 3


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_drawn_llms_are_averaged_as_a_loop_does(seed):
    rng = np.random.default_rng(seed)
    values, weights = rng.normal(size=(4, 8)), rng.choice([0, 0, 1.0, 2.0, 3.0], size=4)
    weights[0] += 1
    values[weights == 0] = np.nan
    picks, rows = rng.integers(4, size=(7, 4)), rng.integers(1, 8, size=(7, 4))
    found = Statistic(values, weights / weights.sum(), np.ones(4, int)).over_drawn_llms(picks, rows)
    kept = [i for i in range(4) if weights[i]]
    assert found[0] == pytest.approx(sum(weights[i] * values[i, 0] for i in kept) / sum(weights[i] for i in kept))
    for r in range(7):
        drawn = [(weights[i], values[i, row]) for i, row in zip(picks[r], rows[r], strict=True) if weights[i]]
        expected = sum(w * v for w, v in drawn) / sum(w for w, _ in drawn) if drawn else np.nan
        assert found[1 + r] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("among", [(0, 1, 2), (0, 2), (1,)])
def test_picks_are_of_the_llms_asked_for_and_of_resamples_alone(among):
    picks, rows = draws_of(designed(n_llms=3), n_resamples=600).picks(np.isin(range(3), among))
    assert picks.shape == rows.shape == (600, len(among))
    assert set(picks.ravel()) == set(among)
    assert (rows.min(), rows.max()) == (1, 600)
    assert np.bincount(picks.ravel())[list(among)] == pytest.approx(np.full(len(among), 600), rel=0.15)


def test_the_same_llms_have_the_same_picks_whoever_else_was_asked():
    few, more = draws_of(designed(n_llms=3)), draws_of(designed(n_llms=5))
    of_few, of_more = few.picks(np.full(3, True)), more.picks(np.array([True, True, True, False, False]))
    assert [part.tolist() for part in of_more] == [part.tolist() for part in of_few]
    assert few.picks(np.full(3, True)) is of_few
    assert more.picks(np.full(5, True))[0].shape == (50, 5)
    shifted = draws_of(designed(n_llms=3).replace({"llm": {"llm0": "llm9"}}))  # now the last of three
    assert set(shifted.picks(np.array([True, True, False]))[0].ravel()) == {0, 1}


def test_llms_are_drawn_among_those_asked_for():
    draws = draws_of(designed(n_llms=5), n_resamples=300)
    among = np.array([True, False, True, True, False])
    statistic = draws.statistic("sacd", "madb_percent")
    found = drawn(draws, "sacd", "madb_percent", llms=among)
    picks, rows = draws.picks(among)
    assert found[0] == pytest.approx(statistic.over_llms()[0])
    assert found[1:] == pytest.approx(statistic.values[picks, rows].mean(axis=1))
    assert drawn(draws, "sacd", "madb_percent") == pytest.approx(statistic.over_llms())


def test_a_draw_without_an_llm_that_has_the_metric_is_no_number():
    responses = designed(n_llms=3)
    lacks = (responses["technique"] == "sacd") & (responses["llm"] != "llm0")
    draws = draws_of(responses[~lacks], n_resamples=200)
    found = over_llms(draws, "sacd", "madb_percent")
    nobody = (draws.picks(np.full(3, True))[0] != 0).all(axis=1)
    assert 30 < nobody.sum() < 90
    assert (np.isnan(found[1:]) == nobody).all()


def test_one_more_technique_or_llm_leaves_the_draws_of_the_others():
    few = draws_of(designed(n_llms=3, techniques=("no_technique", "premortem")))
    more = draws_of(designed(n_llms=4, techniques=("no_technique", "premortem", "sacd")))
    for metric in (*CELL_METRICS, *SPREADS):
        before, after = (draws.statistic("premortem", metric).values for draws in (few, more))
        assert np.ptp(before, axis=1).min() > 0
        assert after[:3] == pytest.approx(before, rel=1e-12)
    alone = draws_of(designed(n_llms=3, techniques=("no_technique", "premortem", "sacd")))
    before, after = (over_llms(one, "premortem", "madb_percent") for one in (few, alone))
    assert after.tolist() == before.tolist()


def test_the_seed_decides_the_draws():
    first, again, other = (drawn(draws_of(designed(), seed=seed), "sacd", "spread_pp") for seed in (1, 1, 2))
    assert first.tolist() == again.tolist()
    assert first[0] == other[0]
    assert (first[1:] != other[1:]).any()


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_order_of_rows_and_splitting_of_counts_leave_every_draw(seed):
    responses = designed(n_llms=3)
    half = responses.assign(n_trials=responses["n_trials"] // 2)
    rest = responses.assign(n_trials=responses["n_trials"] - half["n_trials"], temperature=0.0)
    split = pd.concat([half, rest]).sample(frac=1, random_state=seed)
    whole, parts = draws_of(responses, 20), draws_of(split, 20)
    for metric in (*CELL_METRICS, *SPREADS):
        before, after = (over_llms(one, "sacd", metric) for one in (whole, parts))
        assert after.tolist() == before.tolist()


@pytest.mark.parametrize("scale", [10, 0.5])
def test_change_of_unit_leaves_percentages_draw_for_draw_and_scales_responses(scale):
    responses = designed()
    plain, scaled = (draws_of(responses.assign(response=unit * responses["response"])) for unit in (1, scale))
    for metric in (*CELL_METRICS, *SPREADS):
        before, after = (over_llms(one, "sacd", metric) for one in (plain, scaled))
        factor = scale if metric in ("mean_response", "deviation", "spread") else 1
        assert after == pytest.approx(factor * before)


def test_doubling_of_all_counts_leaves_estimates_and_narrows_resamples_by_the_root_of_2():
    once, twice = designed(), designed()
    twice["n_trials"] *= 2
    once, twice = (draws_of(one, n_resamples=3000) for one in (once, twice))
    metrics = ["mean_response", "percent_of_baseline", "deviation", "madb_percent", *SPREADS]
    for metric in metrics:
        assert drawn(twice, "sacd", metric)[0] == pytest.approx(drawn(once, "sacd", metric)[0])
    ratios = np.array(widths(once, metrics=metrics)) / widths(twice, metrics=metrics)
    assert ratios == pytest.approx(np.full(len(metrics), np.sqrt(2)), rel=0.1)


def test_relabelling_of_llms_leaves_estimates_and_moves_resamples_by_chance_alone():
    plain = designed()
    renamed = plain.assign(llm=plain["llm"].map(lambda name: f"other{9 - int(name[-1])}"))
    plain, renamed = (draws_of(one, n_resamples=3000) for one in (plain, renamed))
    for metric, llms in product((*CELL_METRICS, *SPREADS), (None, np.full(6, True))):
        before, after = (drawn(one, "sacd", metric, llms=llms) for one in (plain, renamed))
        assert after[0] == pytest.approx(before[0], rel=1e-12)
        assert after[1:].mean() == pytest.approx(before[1:].mean(), abs=6 * before.std() / np.sqrt(3000))
        assert after[1:].std() == pytest.approx(before[1:].std(), rel=0.1)


def test_a_resampled_baseline_of_0_leaves_no_percentage():
    draws = draws_of(
        responses_of({("a", "v", "no_technique", "none"): {0: 2, 10: 1}, ("a", "v", "sacd", "low"): {4: 5}}), 200
    )
    is_zero = np.isnan(draws.baselines["a", "v"])
    assert 30 < is_zero.sum() < 90
    for metric in set(CELL_METRICS) - {"mean_response"}:
        assert (np.isnan(drawn(draws, "sacd", metric)) == is_zero).all(), metric


def test_percentages_are_of_llms_with_a_baseline_that_is_not_0():
    cells = {("a", "v", "sacd", "low"): {4: 5}, ("b", "v", "sacd", "low"): {4: 5}, ("c", "v", "sacd", "low"): {4: 5}}
    cells |= {("a", "v", "no_technique", "none"): {8: 2}, ("b", "v", "no_technique", "none"): {0: 2}}
    draws = draws_of(responses_of(cells))
    assert draws.statistic("sacd", "percent_of_baseline").has_it.tolist() == [True, False, False]
    assert draws.statistic("sacd", "mean_response").has_it.all()
    assert not draws.statistic("sacd", "spread_pp").has_it.any()
    assert drawn(draws, "sacd", "percent_of_baseline")[0] == 50


def test_percents_are_the_trials_of_every_llm_with_a_baseline():
    values, counts, n_llms = draws_of(UNEQUAL).percents("sacd", "low")
    assert sorted(np.repeat(values, counts)) == [50, 50, 50, 60, 70, 80, 90, 90, 90, 90, 90, 100, 100]
    assert n_llms == 2
    values, counts, n_llms = draws_of(UNEQUAL).percents("sacd", "both", "a")
    assert sorted(np.repeat(values, counts)) == [50, 50, 50, 60, 80, 90, 120, 130, 130, 130]
    assert n_llms == 1
    assert [len(part) for part in draws_of(UNEQUAL).percents("premortem", "both")[:2]] == [0, 0]


def test_the_smallest_cell_is_of_the_llm_and_technique():
    draws = draws_of(UNEQUAL)
    assert (draws.smallest_cell("a", "sacd"), draws.smallest_cell("b", "sacd")) == (1, 2)


@pytest.mark.parametrize("scope", ["pooled", "t=0.7", "t=1"])
def test_a_scope_says_which_trials_make_the_baseline(scope):
    responses = designed(n_llms=2)
    is_warm = (responses["anchor_direction"] == "none") & (responses["response"] == 30)
    responses.loc[is_warm, "temperature"] = 1.0
    baselines = draws_of(responses, baseline_scope=scope).baselines
    expected = {"pooled": (20 * 3 + 22 * 6 + 30 * 3) / 12, "t=0.7": (20 * 3 + 22 * 6) / 9, "t=1": 30}
    assert baselines["llm0", "v"][0] == pytest.approx(expected[scope])


def test_no_responses_have_no_draws():
    draws = draws_of(designed()[:0])
    assert (draws.llms, draws.techniques, draws.baselines) == ([], [], {})


def test_a_baseline_is_as_thin_as_that_of_the_vignette_with_the_fewest_answers():
    cells = {("a", vignette, "sacd", "low"): {10: 5} for vignette in "vw"}
    cells |= {("a", "v", "no_technique", "none"): {20: 12}, ("a", "w", "no_technique", "none"): {20: 3, 30: 1}}
    draws = draws_of(responses_of(cells | {("b", "v", "sacd", "low"): {10: 5}}))
    assert draws.fewest_baseline("sacd", ["a"]) == 4
    assert draws.fewest_baseline("sacd", ["a", "b"]) == 4
    assert draws.fewest_baseline("sacd", ["b"]) == np.inf
