"""`inference.rank_probabilities`: constructed cases whose order is known, and the decision rule at its boundaries."""

from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.bootstrap import DomainDraws
from analysis.intervals import recommended_draws
from analysis.ranks import COLUMNS, LOSSES, decide, gain_interval, rank_rows
from analysis.small_samples import expanded_level
from analysis.tables import TYPES, table

FIELDS = [
    *("study", "domain", "vignette", "llm", "technique", "anchor_direction", "temperature"),
    *("anchor_value", "row_set", "response_source", "response", "n_trials"),
]
RANKED = {"good", "bad", "other"}
METRICS = list(LOSSES)
bound = st.one_of(st.just(0.0), st.floats(-50, 50))
edge = st.tuples(bound, bound).map(sorted)
seeds = st.integers(0, 10_000)


def designed(techniques, *, n_llms=8, noise=2.0, between=1.0, n=20):
    """Responses of LLMs with a baseline of 100 from {technique: (deviation, spread)} in pp, alike but for `between`.

    Half of the trials lie `noise` above, half below the mean of their cell.
    """
    rows = []
    for i in range(n_llms):
        cells = {("no_technique", "none"): 100.0}
        for j, (technique, (deviation, spread)) in enumerate(techniques.items()):
            shift = between * ((i + 3 * j) % n_llms - (n_llms - 1) / 2)
            cells[technique, "low"] = 100 + deviation + shift - spread / 2
            cells[technique, "high"] = 100 + deviation + shift + spread / 2
        for (technique, direction), mean in cells.items():
            is_anchored = direction != "none"
            for response in {mean - noise * is_anchored, mean + noise * is_anchored}:
                rows.append(
                    ("s", "d", "v", f"llm{i}", technique, direction, 0.7, 1.0, "accepted", "recorded", response, n)
                )
    return pd.DataFrame(rows, columns=FIELDS)


def rank_probabilities(responses, *, ranked=RANKED, n_resamples=400, seed=1, **options):
    drawn = recommended_draws(responses, n_resamples=n_resamples, seed=seed)
    rows = [row for _, draws in drawn for row in rank_rows(draws, ranked, **{"margin_pp": 5} | options)]
    return table(rows, COLUMNS)


def found_in(responses, **options):
    found = rank_probabilities(responses, **options).to_pandas()
    return found.assign(llm=found["llm"].astype(object).where(found["llm"].notna(), None))


def signed_draws(draws, technique, metric, weighting="llm"):
    """Draws of a signed statistic over all LLMs, as a loss is the distance from 0 of."""
    of, none = LOSSES[metric]
    return draws.draws(technique, of, "both", weighting, llms=np.full(len(draws.llms), True)) - none


def over_llms(found, technique=None, *, weighting="llm"):
    kept = found[found["llm"].isna() & (found["weighting"] == weighting)]
    return kept if technique is None else kept[kept["technique"] == technique].set_index("metric")


CLEAR = {"no_technique": (-30, 40), "good": (-10, 10), "bad": (-60, 80)}


@pytest.fixture(scope="module")
def clear():
    return found_in(designed(CLEAR))


def test_what_is_best_in_every_llm_is_used(clear):
    good = over_llms(clear, "good")
    assert set(good.index) == set(METRICS)
    assert set(good["decision"]) == {"use"}
    assert good[["p_best", "p_worst", "p_worse_than_nothing"]].drop_duplicates().to_numpy().tolist() == [[1, 0, 0]]
    assert good[["rank_low", "rank_high"]].drop_duplicates().to_numpy().tolist() == [[1, 1]]
    assert (good["gain_low"] > 0).all()
    assert good["reason"].isna().all()


def test_what_is_worse_in_every_llm_is_avoided(clear):
    bad = over_llms(clear, "bad")
    assert set(bad["decision"]) == {"avoid"}
    assert bad[["p_best", "p_worst", "p_worse_than_nothing"]].drop_duplicates().to_numpy().tolist() == [[0, 1, 1]]
    assert bad[["rank_low", "rank_high"]].drop_duplicates().to_numpy().tolist() == [[2, 2]]
    assert (bad["gain_high"] < 0).all()


def test_the_control_has_no_rank_and_no_decision(clear):
    control = over_llms(clear, "no_technique")
    assert control[["decision", "gain", "rank_low", "rank_high", "p_worse_than_nothing"]].isna().all(axis=None)
    assert set(control["reason"]) == {"control"}
    assert control[["p_best", "p_worst"]].to_numpy().tolist() == [[0, 0]] * 3


def test_the_control_is_best_where_nothing_beats_it_and_worst_where_all_do():
    best = over_llms(found_in(designed({"no_technique": (0, 0), "good": (-20, 40), "bad": (-40, 80)})), "no_technique")
    worst = over_llms(
        found_in(designed({"no_technique": (-60, 80), "good": (-2, 4), "bad": (-20, 40)})), "no_technique"
    )
    assert best[["p_best", "p_worst"]].to_numpy().tolist() == [[1, 0]] * 3
    assert worst[["p_best", "p_worst"]].to_numpy().tolist() == [[0, 1]] * 3


def test_losses_are_distances_worked_by_hand(clear):
    # no trial of no technique lies above the baseline (-30 + 40 / 2 + 2 + 3.5 < 0), so its MADB is its deviation; of
    # good, half of the high trials of one of 8 LLMs do, by 0.5 (-10 + 10 / 2 + 2 + 3.5): its MADB is 2 * 0.5 / 32 more
    none, good = (over_llms(clear, name) for name in ("no_technique", "good"))
    assert none["loss"].to_dict() == pytest.approx({"deviation": 30, "susceptibility": 40, "madb": 30})
    assert good["loss"].to_dict() == pytest.approx({"deviation": 10, "susceptibility": 10, "madb": 10 + 1 / 32})
    assert good["gain"].to_dict() == pytest.approx({"deviation": 20, "susceptibility": 30, "madb": 20 - 1 / 32})


def test_probabilities_and_bounds_are_those_of_the_draws():
    responses = designed({"no_technique": (-12, 20), "good": (-10, 20), "bad": (-13, 19)}, between=3)
    found = found_in(responses, alpha=0.1)
    draws = DomainDraws(responses, n_resamples=400, seed=1)
    level = expanded_level(0.1, 8)
    for weighting, metric in product(("llm", "trial"), METRICS):
        signed = {name: signed_draws(draws, name, metric, weighting) for name in ("no_technique", "good", "bad")}
        losses = {name: np.abs(values) for name, values in signed.items()}
        row = over_llms(found, "good", weighting=weighting).loc[metric]
        gain = losses["no_technique"] - losses["good"]
        behind = np.round(losses["good"] - losses["bad"], 9)[1:]
        is_best = (behind < 0) + (behind == 0) / 2
        assert row["method"] == "cluster"
        assert row["level"] == pytest.approx(level)
        assert (row["loss"], row["gain"]) == pytest.approx((losses["good"][0], gain[0]))
        bounds = gain_interval(signed["good"][1:], signed["no_technique"][1:], level=level)
        assert (row["gain_low"], row["gain_high"]) == pytest.approx(bounds)
        rank = 1 + (behind > 0)
        of_rank = np.quantile(rank, [level, 1 - level], method="inverted_cdf")
        assert (row["rank_low"], row["rank_high"]) == tuple(of_rank)
        assert row["p_worse_than_nothing"] == (np.round(gain[1:], 9) < 0).mean()
        assert (row["p_best"], row["p_worst"]) == pytest.approx((is_best.mean(), 1 - is_best.mean()))
    assert over_llms(found, "good")["p_best"].between(0.01, 0.99).any()


def test_places_are_certain_to_somebody():
    found = found_in(designed({"no_technique": (-12, 20), "good": (-10, 20), "bad": (-13, 19), "other": (-9, 21)}))
    of_ranked = found[found["technique"] != "no_technique"]
    sums = of_ranked.groupby(["llm", "metric", "weighting"], dropna=False)[["p_best", "p_worst"]].sum()
    assert len(sums) == (8 + 1) * 3 * 2
    assert sums.to_numpy() == pytest.approx(np.ones(sums.shape))
    assert of_ranked["rank_low"].between(1, of_ranked["rank_high"]).all()
    assert of_ranked["rank_high"].max() == 3


def test_ties_share_a_place():
    responses = designed({"no_technique": (-30, 40), "good": (-10, 20), "bad": (-10, 20)}, noise=0, between=0)
    found = over_llms(found_in(responses))
    of_ranked = found[found["technique"] != "no_technique"]
    assert set(of_ranked["p_best"]) == set(of_ranked["p_worst"]) == {0.5}
    assert set(of_ranked["rank_low"]) == set(of_ranked["rank_high"]) == {1}
    assert set(found["p_metrics_disagree"]) == {0}


def test_what_changes_nothing_is_equivalent():
    responses = designed({"no_technique": (-30, 40)}, between=4)
    copied = responses[responses["anchor_direction"] != "none"].assign(technique="good")
    found = over_llms(found_in(pd.concat([responses, copied])), "good")
    assert set(found["decision"]) == {"equivalent"}
    assert found["gain"].to_numpy() == pytest.approx(np.zeros(3))


def test_a_wide_margin_makes_all_equivalent_and_a_margin_of_0_none(clear):
    assert set(over_llms(found_in(designed(CLEAR), margin_pp=100), "bad")["decision"]) == {"equivalent"}
    assert "equivalent" not in set(found_in(designed(CLEAR), margin_pp=0)["decision"])


def test_wide_noise_is_no_evidence():
    responses = designed({"no_technique": (-30, 40), "good": (-31, 41)}, noise=60, between=8, n=4)
    found = over_llms(found_in(responses), "good")
    assert set(found["decision"]) == {"no_evidence"}
    assert found["p_worse_than_nothing"].between(0.1, 0.9).all()


@pytest.mark.parametrize(
    ("gain_low", "gain_high", "decision"),
    [
        (6, 9, "use"),
        (1e-6, 9, "use"),
        (1, 5, "use"),
        (0, 9, "no_evidence"),
        (1e-12, 9, "no_evidence"),
        (-9, -6, "avoid"),
        (-9, -1e-6, "avoid"),
        (-5, -1, "avoid"),
        (-9, 0, "no_evidence"),
        (-9, -1e-12, "no_evidence"),
        (-9, 9, "no_evidence"),
        (-5, 5, "no_evidence"),
        (-4.9, 4.9, "equivalent"),
        (1, 4.9, "equivalent"),
        (-4.9, -1, "equivalent"),
        (0, 0, "equivalent"),
    ],
)
def test_the_rule_at_its_boundaries(gain_low, gain_high, decision):
    assert decide(gain_low, gain_high, margin_pp=5) == decision


@settings(max_examples=60)
@given(edge, edge)
def test_the_bounds_of_a_gain_are_the_extremes_of_all_pairs_of_statistics(d, s):
    # draws whose differences and sums fill the rectangle from corner to corner
    differences, sums = (np.array(values, float) for values in zip(*product(d, s), strict=True))
    low, high = gain_interval((sums - differences) / 2, (sums + differences) / 2, level=0)
    differences, sums = np.meshgrid(np.linspace(*d, 201), np.linspace(*s, 201))
    gains = np.abs(sums + differences) / 2 - np.abs(sums - differences) / 2
    step = max(d[1] - d[0], s[1] - s[0]) / 200  # by no more than it does a gain differ between neighbours
    assert low <= gains.min() + 1e-9
    assert high >= gains.max() - 1e-9
    assert (low, high) == pytest.approx((gains.min(), gains.max()), abs=step + 1e-9)


@pytest.mark.parametrize(
    ("d", "s", "bounds"),
    [
        ((2, 3), (5, 9), (2, 3)),
        ((-3, -2), (5, 9), (-3, -2)),
        ((-3, -2), (-9, -5), (2, 3)),
        ((-1, 3), (5, 9), (-1, 3)),
        ((-1, 3), (-2, 9), (-2, 3)),
        ((-4, 3), (-2, 1), (-2, 2)),
        ((0, 0), (-2, 1), (0, 0)),
        ((0, 1), (0, 2), (0, 1)),
    ],
)
def test_bounds_of_gains_worked_by_hand(d, s, bounds):
    differences, sums = (np.array(values, float) for values in zip(*product(d, s), strict=True))
    assert gain_interval((sums - differences) / 2, (sums + differences) / 2, level=0) == pytest.approx(bounds)


def drawn_pair(seed):
    """Draws of two statistics near or far from 0, more or less alike, and a level."""
    rng = np.random.default_rng(seed)
    middles, sds = rng.choice([-15, -14, 0, 1, 15], 2), rng.choice([0.2, 1, 5], 2)
    shared = rng.normal(size=200)
    technique, nothing = (m + sd * (shared + rng.normal(size=200)) for m, sd in zip(middles, sds, strict=True))
    return technique, nothing, float(rng.choice([0.01, 0.05, 0.2]))


@settings(max_examples=30)
@given(seeds)
def test_the_bounds_of_a_gain_do_not_depend_on_signs(seed):
    technique, nothing, level = drawn_pair(seed)
    bounds = gain_interval(technique, nothing, level=level)
    for signs in ((-1, -1), (-1, 1), (1, -1)):
        flipped = gain_interval(signs[0] * technique, signs[1] * nothing, level=level)
        assert flipped == pytest.approx(bounds, abs=1e-9)


@settings(max_examples=30)
@given(seeds)
def test_exchanging_technique_and_nothing_negates_the_bounds_of_the_gain(seed):
    technique, nothing, level = drawn_pair(seed)
    low, high = gain_interval(technique, nothing, level=level)
    assert gain_interval(nothing, technique, level=level) == pytest.approx((-high, -low), abs=1e-9)
    assert low <= high


@settings(max_examples=30)
@given(seeds)
def test_a_change_of_unit_moves_the_bounds_of_a_gain_with_it(seed):
    technique, nothing, level = drawn_pair(seed)
    low, high = gain_interval(technique, nothing, level=level)
    assert gain_interval(8 * technique, 8 * nothing, level=level) == pytest.approx((8 * low, 8 * high))


def test_a_gain_that_is_on_the_other_side_of_0_is_none():
    rng = np.random.default_rng(1)
    technique, nothing = 15 + rng.normal(size=1000), -15 + rng.normal(size=1000)
    low, high = gain_interval(technique, nothing, level=0.025)
    assert low < 0 < high
    assert decide(low, high, margin_pp=5) == "equivalent"
    assert decide(low, high, margin_pp=1) == "no_evidence"


def shares_of_decisions(means, sds, *, n_llms=10, n_datasets=2000, n_resamples=1000):
    """Simulate how often each decision falls, in %: means and SDs over LLMs of a technique and of nothing."""
    rng = np.random.default_rng(20260222)
    level = expanded_level(0.025, n_llms)
    decisions = Counter()
    for _ in range(n_datasets // 100):
        drawn = rng.multinomial(n_llms, np.full(n_llms, 1 / n_llms), size=n_resamples) / n_llms
        pair = [drawn @ rng.normal(m, sd, size=(n_llms, 100)) for m, sd in zip(means, sds, strict=True)]
        for technique, nothing in zip(*(draws.T for draws in pair), strict=True):
            decisions[decide(*gain_interval(technique, nothing, level=level), margin_pp=5)] += 1
    return {decision: 100 * n / n_datasets for decision, n in decisions.items()}


def standard_error(share, n_datasets=2000):
    return np.sqrt(share * (100 - share) / n_datasets)


def test_at_a_gain_of_0_far_from_the_baseline_use_and_avoid_are_wrong_as_often_as_their_level_says():
    shares = shares_of_decisions((-15, -15), (3, 20))
    for decision in ("use", "avoid"):
        assert 1.5 < shares[decision] < 3.5
    assert shares.get("equivalent", 0) < 1


def test_at_the_baseline_use_and_avoid_are_wrong_no_more_often_than_a_two_sided_test():
    # a steady technique cannot be avoided there, so that `use` alone has the 5 % of both
    shares = shares_of_decisions((0, 0), (3, 30))
    assert shares["use"] < 5 + 2 * standard_error(5)
    assert "avoid" not in shares


@pytest.mark.parametrize(("means", "size"), [((-15, -20), 2.5), ((0, -5), 5)])
def test_equivalence_at_a_gain_of_the_margin_is_wrong_at_its_level_or_at_twice_that_beside_the_baseline(means, size):
    # on the baseline both the difference and the sum are at the margin, and either may fall within
    assert shares_of_decisions(means, (1, 1)).get("equivalent", 0) == pytest.approx(size, abs=3 * standard_error(size))


def test_one_stray_answer_of_fifty_is_no_evidence():
    cells = {("no_technique", "none"): {18: 50}, ("no_technique", "low"): {18: 50}, ("good", "low"): {18: 49, 180: 1}}
    rows = [
        ("s", "d", "v", "llm0", technique, direction, 0.7, 1.0, "accepted", "recorded", float(response), n)
        for (technique, direction), counts in cells.items()
        for response, n in counts.items()
    ]
    found = found_in(pd.DataFrame(rows, columns=FIELDS))
    of_good = found[found["technique"] == "good"]
    assert of_good["p_worse_than_nothing"].between(0.5, 0.75).all()
    assert set(of_good["decision"]) == {"no_evidence"}


def test_metrics_disagree_where_each_has_its_own_winner():
    found = found_in(designed({"no_technique": (-30, 40), "good": (-5, 60), "bad": (-50, 10)}))
    assert set(found["p_metrics_disagree"]) == {1}


def test_metrics_agree_where_one_wins_both(clear):
    assert set(clear["p_metrics_disagree"]) == {0}


def test_metrics_agree_where_a_technique_is_not_drawn_in_every_resample():
    responses = designed({**CLEAR, "other": (-50, 60)}, n_llms=10)
    lacks = (responses["technique"] == "other") & responses["llm"].isin([f"llm{i}" for i in range(5)])
    found = found_in(responses[~lacks], n_resamples=6000)
    assert set(over_llms(found)["p_metrics_disagree"]) == {0}
    assert set(over_llms(found, "good")["p_best"]) == {1}
    draws = DomainDraws(responses[~lacks], n_resamples=6000, seed=1)
    assert np.isnan(signed_draws(draws, "other", "susceptibility")).any()


def test_below_five_llms_the_decision_is_of_those_llms():
    few = found_in(designed(CLEAR, n_llms=4))
    rows = over_llms(few, "good")
    assert set(rows["method"]) == {"trial"}
    assert set(rows["reason"]) == {"too_few_llms"}
    assert set(rows["decision"]) == {"use"}
    assert set(rows["level"]) == {0.025}
    assert set(over_llms(few, "no_technique")["reason"]) == {"too_few_llms; control"}
    five = over_llms(found_in(designed(CLEAR, n_llms=5)), "good")
    assert set(five["method"]) == {"cluster"}
    assert set(five["level"]) == {expanded_level(0.025, 5)}


def test_each_llm_has_rows_of_its_own(clear):
    own = clear[clear["llm"].notna()]
    assert len(own) == 8 * 3 * 3 * 2
    assert (set(own["method"]), set(own["n_llms"]), set(own["level"])) == ({"trial"}, {1}, {0.025})
    assert set(own["reason"]) == {"one_llm", "one_llm; control"}
    by_weighting = [own[own["weighting"] == name].drop(columns="weighting").reset_index() for name in ("llm", "trial")]
    assert by_weighting[0].drop(columns="index").equals(by_weighting[1].drop(columns="index"))
    deviation = own[(own["metric"] == "deviation") & (own["technique"] == "good")].set_index("llm")["loss"]
    assert deviation["llm0"].tolist() == pytest.approx([10.5, 10.5])
    assert deviation["llm4"].tolist() == pytest.approx([6.5, 6.5])


def test_the_own_rows_of_an_llm_do_not_depend_on_other_llms():
    of_v = designed(CLEAR, n_llms=2)
    of_w = designed(CLEAR, n_llms=2, between=9).assign(vignette="w")
    whole = pd.concat([of_v, of_w])
    without = whole[(whole["llm"] != "llm1") | (whole["vignette"] == "v")]
    own, same = (rows[rows["llm"] == "llm0"].reset_index(drop=True) for rows in map(found_in, (whole, without)))
    pd.testing.assert_frame_equal(own, same)


def test_without_a_high_anchor_there_is_no_susceptibility():
    responses = designed(CLEAR)
    found = found_in(responses[responses["anchor_direction"] != "high"])
    assert set(found["metric"]) == {"deviation", "madb"}
    assert found["p_metrics_disagree"].isna().all()
    assert found["reason"].str.contains("no_low_or_no_high_anchor").all()
    assert over_llms(found, "good").loc["deviation", "decision"] == "use"


def test_without_no_technique_there_are_places_but_no_decision():
    responses = designed(CLEAR)
    is_control = (responses["technique"] == "no_technique") & (responses["anchor_direction"] != "none")
    found = over_llms(found_in(responses[~is_control]))
    assert set(found["technique"]) == {"good", "bad"}
    assert found[["decision", "gain", "gain_low", "gain_high", "p_worse_than_nothing"]].isna().all(axis=None)
    assert set(found["reason"]) == {"no_technique_not_asked"}
    assert set(found.loc[found["technique"] == "good", "p_best"]) == {1}


def test_without_baselines_nothing_is_ranked():
    responses = designed(CLEAR)
    assert found_in(responses[responses["anchor_direction"] != "none"]).empty


def test_one_technique_is_first_and_last():
    found = over_llms(found_in(designed({"no_technique": (-30, 40), "good": (-10, 10)})), "good")
    assert set(found["p_best"]) == set(found["p_worst"]) == set(found["rank_low"]) == set(found["rank_high"]) == {1}
    assert set(found["decision"]) == {"use"}


def test_the_control_alone_has_no_rows():
    assert found_in(designed({"no_technique": (-30, 40)})).empty


def test_a_technique_that_some_llms_lack_is_judged_over_the_others():
    responses = designed(CLEAR)
    lacks = (responses["technique"] == "bad") & responses["llm"].isin(["llm0", "llm1"])
    found = over_llms(found_in(responses[~lacks]))
    n_llms = found.groupby("technique")["n_llms"].unique().map(list).to_dict()
    assert n_llms == {"bad": [6], "good": [8], "no_technique": [8]}
    assert set(found["level"]) == {expanded_level(0.025, 6)}
    assert found[["p_best", "p_worst"]].to_numpy().min() >= 0
    of_ranked = found[found["technique"] != "no_technique"]
    assert of_ranked.groupby("metric")["p_best"].sum().to_numpy() == pytest.approx(np.ones(3))


def lacking(responses, technique, n_llms, direction=("low", "high")):
    """The responses without those of the first LLMs to a technique."""
    few = responses["llm"].isin([f"llm{i}" for i in range(n_llms)])
    return responses[~(few & (responses["technique"] == technique) & responses["anchor_direction"].isin(direction))]


def test_a_technique_that_too_few_llms_were_asked_with_is_not_ranked_with_the_others():
    responses = lacking(designed({**CLEAR, "other": (-5, 5)}), "other", 4)
    found = found_in(responses)
    other = over_llms(found, "other")
    assert set(other.index) == set(METRICS)
    assert set(other["reason"]) == {"too_few_llms; not_ranked_with_the_others"}
    assert other["n_llms"].tolist() == [4, 4, 4]
    assert (set(other["method"]), set(other["level"])) == ({"trial"}, {0.025})
    nulls = ["p_best", "p_worst", "rank_low", "rank_high", "gain", "gain_low", "decision", "p_metrics_disagree"]
    assert other[nulls].isna().all(axis=None)
    of_four = found_in(responses[~responses["llm"].isin([f"llm{i}" for i in range(4)])])
    assert other["loss"].to_dict() == pytest.approx(over_llms(of_four, "other")["loss"].to_dict())
    others = found[found["technique"] != "other"]
    without = found_in(responses[responses["technique"] != "other"])
    of_all, same = (rows[rows["llm"].isna()].reset_index(drop=True) for rows in (others, without))
    pd.testing.assert_frame_equal(of_all, same)
    assert "not_ranked" not in " ".join(found.loc[found["llm"].notna(), "reason"])


def test_what_is_not_ranked_with_the_others_comes_in_the_order_of_techniques():
    names = ["a", "b", "c", "d", "e"]
    responses = designed({**CLEAR, **dict.fromkeys(names, (-5, 5))})
    for name in names:
        responses = lacking(responses, name, 4)
    found = found_in(responses, ranked={*RANKED, *names}, n_resamples=20)
    is_out = found["reason"].fillna("").str.contains("not_ranked") & (found["weighting"] == "llm")
    assert found.loc[is_out & (found["metric"] == "madb"), "technique"].tolist() == names


def test_five_llms_are_enough_to_be_ranked_with_the_others():
    found = over_llms(found_in(lacking(designed({**CLEAR, "other": (-5, 5)}), "other", 3)))
    assert found["rank_low"].notna().sum() == 9
    assert set(found["level"]) == {expanded_level(0.025, 5)}


def test_where_the_control_has_too_few_llms_trials_alone_are_drawn_for_all():
    found = over_llms(found_in(lacking(designed(CLEAR), "no_technique", 4)))
    assert set(found["method"]) == {"trial"}
    assert set(found["reason"]) == {"too_few_llms", "too_few_llms; control"}
    assert found.loc[found["technique"] != "no_technique", "decision"].notna().all()


def test_each_metric_counts_its_own_llms():
    responses = designed(CLEAR)
    for technique in CLEAR:
        responses = lacking(responses, technique, 4, direction=["high"])
    found = found_in(responses)
    over = over_llms(found)[["metric", "method", "n_llms"]].drop_duplicates().to_numpy().tolist()
    assert sorted(over) == [["deviation", "cluster", 8], ["madb", "cluster", 8], ["susceptibility", "trial", 4]]


def test_llms_are_drawn_among_those_that_have_the_metric_under_a_ranked_technique():
    plain = designed({**CLEAR, "outside_view": (0, 0), "other": (-5, 5)}, n_llms=9)
    elsewhere = plain["llm"] == "llm8"
    is_baseline = plain["anchor_direction"] == "none"
    has_no_baseline = plain[~(elsewhere & is_baseline)]
    not_ranked = plain[~elsewhere | is_baseline | (plain["technique"] == "outside_view")]
    too_few = plain[(elsewhere == (plain["technique"] == "other")) | is_baseline]
    without = plain[~elsewhere]
    expected = over_llms(found_in(without)).reset_index(drop=True)
    for responses in (has_no_baseline, not_ranked):
        pd.testing.assert_frame_equal(over_llms(found_in(responses)).reset_index(drop=True), expected)
    expected = over_llms(found_in(without[without["technique"] != "other"])).reset_index(drop=True)
    found = over_llms(found_in(too_few))
    pd.testing.assert_frame_equal(found[found["technique"] != "other"].reset_index(drop=True), expected)


def test_techniques_that_are_not_ranked_do_not_compete():
    responses = designed({**CLEAR, "outside_view": (0, 0)})
    found = found_in(responses)
    assert set(found["technique"]) == {"no_technique", "good", "bad"}
    assert set(over_llms(found, "good")["p_best"]) == {1}


def test_no_variance_anywhere_has_no_decision():
    found = found_in(designed(CLEAR, noise=0, between=0))
    of_ranked = found[found["technique"] != "no_technique"]
    assert of_ranked["decision"].isna().all()
    assert of_ranked["reason"].str.contains("zero_variance").all()
    assert over_llms(found, "good").loc["deviation", "gain"] == pytest.approx(20)


def test_one_trial_in_every_cell_has_no_decision_for_one_llm():
    responses = designed(CLEAR).drop_duplicates(["llm", "technique", "anchor_direction"]).assign(n_trials=1)
    found = found_in(responses)
    own = found[found["llm"].notna() & (found["technique"] != "no_technique")]
    assert set(own["reason"]) == {"one_llm; zero_variance"}
    assert own["decision"].isna().all()
    assert set(over_llms(found, "good")["decision"]) == {"use"}


def test_every_null_has_a_reason(clear):
    assert clear.loc[clear.isna().drop(columns=["llm", "reason"]).any(axis=1), "reason"].notna().all()


def test_a_shuffle_of_the_rows_and_a_change_of_unit_leave_the_table(clear):
    responses = designed(CLEAR)
    shuffled = responses.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(found_in(shuffled), clear)
    pd.testing.assert_frame_equal(found_in(responses.assign(response=8 * responses["response"])), clear)


def test_an_empty_frame_gives_no_rows_with_the_same_types():
    found = rank_probabilities(designed(CLEAR)[:0])
    assert (found.num_rows, found.column_names) == (0, list(COLUMNS))
    assert found.schema.types == [TYPES[kind] for kind in COLUMNS.values()]


def test_equivalence_is_two_one_sided_tests_at_the_level_of_a_decision():
    responses = designed({"no_technique": (-12, 20), "good": (-10, 20)}, between=3)
    draws = DomainDraws(responses, n_resamples=400, seed=1)
    good, nothing = (signed_draws(draws, name, "susceptibility")[1:] for name in ("good", "no_technique"))
    level = expanded_level(0.025, 8)
    needed = min(
        np.abs(np.quantile(contrast, [level, 1 - level])).max() for contrast in (nothing - good, nothing + good)
    )
    decisions = [
        over_llms(found_in(responses, margin_pp=needed + step), "good").loc["susceptibility", "decision"]
        for step in (-1e-6, 1e-6)
    ]
    assert decisions == ["no_evidence", "equivalent"]


@pytest.mark.parametrize("seed", range(12))
def test_whatever_was_not_asked_probabilities_are_probabilities_and_nulls_have_reasons(seed):
    rng = np.random.default_rng(seed)
    responses = pd.concat([designed(CLEAR, n_llms=6), designed(CLEAR, n_llms=6, noise=0).assign(vignette="w")])
    cells = responses.groupby(["llm", "vignette", "technique", "anchor_direction"]).ngroup()
    asked = rng.random(cells.max() + 1) < rng.choice([0.2, 0.6, 0.9])
    found = found_in(responses[asked[cells]], n_resamples=30)
    nullable = ["gain", "gain_low", "p_worse_than_nothing", "p_metrics_disagree", "rank_low", "decision", "p_best"]
    assert found.loc[found[nullable].isna().any(axis=1), "reason"].notna().all()
    assert found["loss"].notna().all()
    is_ranked = ~found["reason"].fillna("").str.contains("not_ranked_with_the_others")
    assert found.loc[is_ranked, ["p_best", "p_worst"]].notna().all(axis=None)
    of_ranked = found[is_ranked & (found["technique"] != "no_technique")]
    sums = of_ranked.groupby(["llm", "metric", "weighting"], dropna=False)["p_best"].sum()
    assert sums.to_numpy() == pytest.approx(np.ones(len(sums)))
