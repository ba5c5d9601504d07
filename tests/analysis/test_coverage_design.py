"""What `make coverage` simulates: the LLMs, their true values, and the variance components behind them."""

import numpy as np
import pandas as pd
import pytest

from analysis.methods.intervals import _over_llms, intervals
from tests.tools import coverage as simulation
from tests.tools import decision_coverage


def test_true_values_of_llms_that_always_say_the_same_are_those_of_document_a():
    chances = np.zeros((3, 1, len(simulation.MONTHS)))
    for cell, months in enumerate((20, 15, 30)):
        chances[cell, 0, months] = 1
    true = {key: float(value[0]) for key, value in simulation.true_values(chances).items()}
    assert true["percent_of_baseline", "low"] == pytest.approx(75)
    assert true["percent_of_baseline", "both"] == pytest.approx(112.5)
    assert true["deviation", "low"] == pytest.approx(-5)
    assert true["madb_percent", "both"] == pytest.approx(37.5)
    assert true["spread_pp", "both"] == pytest.approx(75)


@pytest.mark.parametrize("is_skewed", [False, True])
def test_the_drawn_llms_have_the_declared_means_and_covariance(is_skewed):
    design = simulation.DECLARED["premortem"]
    rng = np.random.default_rng(1)
    months = simulation.drawn_llms(design, 20_000, rng, is_skewed=is_skewed) @ simulation.MONTHS
    values = np.vstack([months[0], 100 * months[1:] / months[0]])
    assert values.mean(axis=1) == pytest.approx(design.means, rel=0.02)  # no response is below 0
    assert np.sqrt(np.diag(np.cov(values))) == pytest.approx(np.sqrt(np.diag(design.covariance)), rel=0.07)
    assert np.corrcoef(values)[1, 2] == pytest.approx(0.5, abs=0.05)


def test_the_variance_components_come_back_from_simulated_responses():
    design = simulation.DECLARED["random_control"]
    rng = np.random.default_rng(2)
    chances = simulation.drawn_llms(design, 1000, rng)
    responses = simulation.as_responses(simulation.counted_trials(chances, 8, (8, 8), rng), "random_control")
    found = simulation.recorded_designs(responses, ("random_control",))["random_control"]
    months = chances @ simulation.MONTHS
    own = np.vstack([months[0], 100 * months[1:] / months[0]])
    assert np.diag(found.covariance) == pytest.approx(np.diag(np.cov(own)), rel=0.1)
    with_trials = np.cov(_means(responses))
    assert (np.diag(with_trials) > 1.1 * np.diag(np.cov(own))).all()
    assert found.within == pytest.approx(design.within, rel=0.1)
    assert set(found.n_trials) == {8}


def _means(responses):
    rows = responses.assign(total=responses["response"] * responses["n_trials"])
    sums = rows.groupby(["anchor_direction", "llm"])[["total", "n_trials"]].sum()
    months = (sums["total"] / sums["n_trials"]).unstack("llm").loc[["none", "low", "high"]].to_numpy()
    return np.vstack([months[0], 100 * months[1:] / months[0]])


def test_a_fast_headline_interval_is_the_one_of_the_table():
    n_trials = np.array([20, 30, 25, 60, 40, 35])
    rng = np.random.default_rng(3)
    chances = simulation.drawn_llms(simulation.DECLARED["sacd"], 6, rng)
    counts = np.stack(
        [rng.multinomial(30, chances[0])]
        + [[rng.multinomial(n, p) for n, p in zip(n_trials, cell, strict=True)] for cell in chances[1:]]
    )
    table = pd.DataFrame(intervals(simulation.as_responses(counts, "sacd"), n_resamples=2, seed=1))
    table = table[(table["method"] == "headline") & table["llm"].isna() & (table["technique"] == "sacd")]
    by_llm = counts.transpose(1, 0, 2)[:, :, None]
    seen = 0
    for named, statistic in simulation.statistics_of_datasets(by_llm, n_trials):
        (fast,) = _over_llms(None, statistic, {"metric": named["metric"]}, ("headline",), 0.025)
        is_it = (table["metric"] == named["metric"]) & (table["weighting"] == named["weighting"])
        (row,) = table[is_it & (table["anchor_direction"] == named["direction"])].to_dict("records")
        assert (fast["low"], fast["high"]) == pytest.approx((row["low"], row["high"]))
        seen += 1
    assert seen == 13


@pytest.mark.parametrize(("n_llms", "n_small"), [(5, None), (10, None), (10, 15)])
def test_the_bootstraps_of_a_data_set_are_tallied_over_llms_and_for_each_llm(n_llms, n_small, monkeypatch):
    monkeypatch.setattr(simulation, "N_TRUE_LLMS", 200)
    monkeypatch.setattr(simulation, "N_RESAMPLES", 40)
    simulation.population.cache_clear()
    sums = simulation.bootstrap_task("sacd", n_llms, False, n_small, 0, 1)
    simulation.population.cache_clear()
    over_llms, of_llms = (
        {keys: of for keys, of in sums.items() if dict(keys)["is_of_llm"] is is_of_llm} for is_of_llm in (False, True)
    )
    methods = [{dict(keys)["method"] for keys in part} for part in (over_llms, of_llms)]
    assert methods[0] == ({"trial", "cluster", "trial_fixed_baseline"} if n_small is None else set())
    assert methods[1] == ({"trial", "headline", "trial_fixed_baseline"} if n_llms == 10 else set())
    assert all(n + null == 1 for n, _, _, null in over_llms.values())
    assert all(n + null == n_llms for n, _, _, null in of_llms.values())


def test_a_tally_counts_what_was_held_what_was_wide_and_what_was_null():
    tally = simulation.Tally()
    for low, high in ((0, 2), (3, 5), (None, None), (1, 2)):
        tally.add(simulation.keys_of(method="headline", n_llms=5), {"low": low, "high": high}, 1)
    held, error, width, null = tally.of({"method": "headline"})
    assert (held, width, null) == pytest.approx((200 / 3, 5 / 3, 25))
    assert error == pytest.approx(100 * np.sqrt(2 / 27))
    assert tally.of({"method": "trial"}) == (None, None, None, None)


def test_the_verdict_names_what_lies_outside_and_leaves_out_what_has_no_interval():
    found = {("a", 2): (None, None, None, 100), ("a", 5): (92.9, 0.4, 1, 0), ("b", 5, "sacd", "low"): (95, 0.4, 1, 0)}
    assert simulation.verdict(found) == "no, 1 of 2 (92.9 to 95.0)\n    92.9 ± 0.4  a, 5 LLMs"
    assert simulation.verdict({("b", 5): (93, 0.4, 1, 0)}) == "yes, 1 of 1 (93.0 to 93.0)"


def test_nothing_that_gains_is_decided_on_as_seldom_as_is_said_whatever_vendors_share():
    for name, design in decision_coverage.NOTHING.items():
        assert decision_coverage.simulate(design, n_datasets=500)["any"] <= 8, name


def test_a_technique_on_the_baseline_gains_nothing_on_a_control_that_is_there_too():
    for name, design in decision_coverage.NEAR.items():
        assert decision_coverage.simulate(design, n_datasets=300)["any"] <= 8, name


def test_a_gain_of_six_is_seldom_called_equivalent_and_one_of_fifteen_is_found():
    for root in (6.0, 10.0, 40.0):
        design = decision_coverage.true_gain(root, 6.0)
        assert decision_coverage.simulate(design, n_datasets=300)["equivalent"] <= 3, root
    found = decision_coverage.simulate(decision_coverage.gaining(decision_coverage.TEN_OF_EIGHT), n_datasets=300)
    assert found["use"] > 70


def test_rare_llms_far_off_break_what_is_decided_on_the_others():
    design = decision_coverage.BREAKS["1 LLM in 10 at +80 pp"]
    assert decision_coverage.simulate(design, n_datasets=300)["any"] > 25


@pytest.mark.parametrize("distance", [0, 40])
def test_no_llm_is_said_to_be_helped_or_harmed_where_nothing_is_changed(distance):
    for n_trials in (15, 30):
        assert decision_coverage.panel(distance, n_trials, n_datasets=500) <= 6
