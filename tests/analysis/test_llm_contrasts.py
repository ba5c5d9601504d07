"""Differences between LLMs: worked by hand, antisymmetric, of the size that they promise, and ranks that follow."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from analysis.engine.llm_contrasts import COLUMNS, differences, holm, llm_contrasts, ranks
from analysis.engine.losses import GOALS, Moments, losses
from analysis.engine.questions import questions_on_goals
from analysis.tables import table
from tests.tools.counts import NOTHING_STATED, counts_of


def cell(llm, direction, answers, *, technique="no_technique", vignette="v"):
    return [
        {
            "study": "s",
            "domain": "d",
            "llm": llm,
            "vignette": vignette,
            "technique": technique,
            "anchor_direction": direction,
            "temperature": 1.0,
            "row_set": "accepted",
            "response_source": "recorded",
            "response": float(answer),
            "n_trials": answers.count(answer),
        }
        for answer in sorted(set(answers))
    ]


def responses_of(llms, n_baseline=10):
    """Unanchored answers of 100 exactly, and those of each LLM under a low and a high anchor."""
    rows = []
    for llm, (low, high) in llms.items():
        rows += cell(llm, "none", [100] * n_baseline) + cell(llm, "low", low) + cell(llm, "high", high)
    return pd.DataFrame(rows)


def made(responses, ranked=()):
    asked = questions_on_goals(counts_of(responses), NOTHING_STATED, {}, margin=5.0, response_source="recorded")
    found = table(llm_contrasts(asked, ranked), COLUMNS).to_pandas()
    return found.set_index(["goal", "llm_a", "llm_b"]).sort_index()


ANCHORED, STEADY = ([50, 60, 70, 60], [140, 160, 150, 150]), ([90, 80, 85, 85], [110, 120, 115, 115])


def of_square(d, c):
    """The criterion of a contrast d of variance c, and its variance."""
    return d**2 - c, 4 * (d**2 * c - c**2) + 2 * c**2


def test_losses_differ_by_what_the_answers_say():
    found = made(responses_of({"a": ANCHORED, "b": STEADY}))
    # sums of squares 200 (of a's cells) and 50 (of b's) over 3 · 4 trials: variances of the means, of two in a contrast
    own, other = 400 / 12, 100 / 12
    (square_a, variance_a), (square_b, variance_b) = of_square(90, own), of_square(30, other)
    gap, size = found.loc["gap", "a", "b"], np.sqrt(square_a) + np.sqrt(square_b)
    assert (gap["loss_a"], gap["loss_b"]) == pytest.approx((np.sqrt(square_a), np.sqrt(square_b)))
    assert gap["difference"] == pytest.approx(np.sqrt(square_a) - np.sqrt(square_b))
    half = stats.t.ppf(0.975, 3) * np.sqrt(variance_a + variance_b)
    bounds = [(square_a - square_b + side * half) / size for side in (-1, 1)]
    assert (gap["low"], gap["high"], gap["df"]) == pytest.approx((*bounds, 3))
    assert gap["p_value"] == pytest.approx(2 * stats.t.sf((square_a - square_b) / np.sqrt(variance_a + variance_b), 3))
    assert tuple(gap[["rank_a", "rank_a_low", "rank_a_high"]]) == (2, 2, 2)
    assert tuple(found.loc["gap", "b", "a"][["rank_a", "rank_a_low", "rank_a_high"]]) == (1, 1, 1)
    # two contrasts of 40 and 50, and of 15 each, each with a cell of its own
    displacement = found.loc["displacement", "a", "b"]
    squares = (40**2 + 50**2) / 2 - own / 2, 15**2 - other / 2
    assert (displacement["loss_a"], displacement["loss_b"]) == pytest.approx(tuple(np.sqrt(squares)))


def test_the_baseline_of_each_llm_is_part_of_its_noise():
    responses = responses_of({"a": ANCHORED, "b": STEADY})
    noisy = responses[responses["anchor_direction"] != "none"]
    rows = [row for llm in "ab" for row in cell(llm, "none", [90] * 5 + [110] * 5)]
    gap = made(pd.concat([noisy, pd.DataFrame(rows)])).loc["gap", "a", "b"]
    relative = 10 * 100 / 9 / 10 / 100**2  # variance of the mean baseline over its square
    parts = [
        (of_square(d, c), d**2 * relative, (2 * d**2) ** 2 * relative) for d, c in ((90, 400 / 12), (30, 100 / 12))
    ]
    (square_a, square_b), variance = (
        [of[0] - noise for of, noise, _ in parts],
        sum(of[1] + of_b for of, _, of_b in parts),
    )
    assert gap["p_value"] == pytest.approx(2 * stats.t.sf((square_a - square_b) / np.sqrt(variance), 3))


@pytest.mark.parametrize(
    ("llms", "n_baseline", "reason"),
    [
        ({"a": ANCHORED, "b": STEADY}, 9, "baseline_below_10"),
        ({"a": ANCHORED, "b": ([], STEADY[1])}, 10, "no_common_vignette"),
        ({"a": ([80] * 3, [120] * 3), "b": ([90] * 3, [110] * 3)}, 10, "zero_variance"),
        ({"a": ([80], [120]), "b": ([90], [110])}, 10, "one_trial"),
    ],
)
def test_what_cannot_be_compared_says_why(llms, n_baseline, reason):
    found = made(responses_of(llms, n_baseline))
    assert set(found["reason"]) == {reason}
    assert found[["low", "high", "df", "p_value", "p_holm"]].isna().all(axis=None)
    assert found["difference"].isna().all() == (reason in ("baseline_below_10", "no_common_vignette"))


def test_two_llms_are_compared_on_the_vignettes_that_both_have():
    rows = responses_of({"a": ANCHORED, "b": STEADY})
    other = responses_of({"a": ([10, 20], [190, 200])}).assign(vignette="w")
    with_other, without = made(pd.concat([rows, other])), made(rows)
    assert with_other.equals(without)


def test_an_llm_without_a_loss_takes_no_place():
    rows = responses_of({"a": ANCHORED, "b": ANCHORED, "c": ([], STEADY[1])})
    found = made(rows).loc["displacement"]
    assert tuple(found.loc["a", "b"][["rank_a", "rank_a_low", "rank_a_high"]]) == (1, 1, 2)
    assert found.loc["c", ["rank_a", "rank_a_low", "rank_a_high"]].isna().all(axis=None)


def test_ranked_techniques_have_rows_and_others_have_none():
    rows = responses_of({"a": ANCHORED, "b": STEADY})
    anchored = rows[rows["anchor_direction"] != "none"]
    others = [anchored.assign(technique=name) for name in ("sacd", "outside_view")]
    asked = questions_on_goals(
        counts_of(pd.concat([rows, *others])), NOTHING_STATED, {}, margin=5.0, response_source="recorded"
    )
    found = table(llm_contrasts(asked, {"sacd"}), COLUMNS).to_pandas()
    assert set(found["technique"]) == {"no_technique", "sacd"}
    assert set(found["goal"]) == set(GOALS)


cells = st.lists(st.integers(10, 300), min_size=2, max_size=6)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(cells, cells), min_size=2, max_size=4))
def test_exchanged_llms_have_the_negative_difference_and_ranks_hold_the_estimates(llms):
    found = made(responses_of({f"llm{i}": answers for i, answers in enumerate(llms)}))
    turned = found.swaplevel("llm_a", "llm_b").sort_index()
    assert found["difference"].to_numpy() == pytest.approx(-turned["difference"].to_numpy(), abs=1e-9)
    assert found["low"].to_numpy() == pytest.approx(-turned["high"].to_numpy(), abs=1e-9, nan_ok=True)
    for name in ("p_value", "p_holm", "df"):
        assert found[name].to_numpy() == pytest.approx(turned[name].to_numpy(), nan_ok=True)
    known = found.dropna(subset="low")
    assert ((known["low"] <= known["difference"] + 1e-9) & (known["difference"] <= known["high"] + 1e-9)).all()
    excluded = (known["low"] > 1e-9) | (known["high"] < -1e-9)
    assert (excluded == (known["p_value"] < 0.05)).all()
    assert ((found["rank_a_low"] <= found["rank_a"]) & (found["rank_a"] <= found["rank_a_high"])).all()


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_holm_is_statsmodels_over_both_directions_of_every_pair(values):
    p = np.full((3, 3), np.nan)
    p[np.triu_indices(3, 1)] = values
    p.T[np.triu_indices(3, 1)] = values
    one_sided = np.concatenate([np.array(values) / 2, 1 - np.array(values) / 2])
    expected = multipletests(one_sided, method="holm")[1][:3]
    adjusted, n = holm(p)
    assert n == 3
    assert adjusted[np.triu_indices(3, 1)] == pytest.approx(np.minimum(expected, 1), abs=1e-12)


def drawn(rng, shape, shift, *, n, n_baseline, sd=30.0):
    """Moments of LLMs whose means lie `shift` percent to either side of the baseline, from trials drawn one by one."""
    baseline = rng.normal(100, sd, (*shape, n_baseline))
    mean = baseline.mean(axis=-1)
    low, high = (rng.normal(100 + side * np.asarray(shift)[..., None], sd, (*shape, n)) for side in (-1, 1))
    percent = 100 * np.stack([low, high], axis=-2) / mean[..., None, None]
    distance = np.abs(percent - 100)
    slope = (-np.sign(percent - 100) * percent).mean(axis=-1)
    return Moments(
        percent.mean(axis=-1),
        percent.var(axis=-1, ddof=1) / n,
        np.full((*shape, 2), n),
        distance.mean(axis=-1),
        distance.var(axis=-1, ddof=1) / n,
        slope,
        baseline.var(axis=-1, ddof=1) / n_baseline / mean**2,
        np.full(shape, n_baseline),
    )


def p_of(moments, goal):
    usable = np.ones(moments.baseline_variance.shape, bool)
    return differences(losses(GOALS[goal], moments), usable, moments.baseline_variance, moments.n_baseline)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("shift", [0.0, 3.0, 6.0, 25.0])
def test_equally_anchored_llms_differ_in_at_most_5_percent_of_data_sets(goal, shift):
    rng = np.random.default_rng(7)
    for n in (15, 90):
        moments = drawn(rng, (2000, 2, 1), shift, n=n, n_baseline=30)
        rejected = (p_of(moments, goal).p[:, 0, 1] < 0.05).mean()
        assert rejected <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000), n


def test_places_of_all_llms_hold_the_truth_at_once():
    rng = np.random.default_rng(8)
    shift = np.array([10.0, 10.0, 15.0, 30.0, 30.0])
    found = p_of(drawn(rng, (1000, 5, 1), shift[:, None], n=30, n_baseline=60), "displacement")
    missed, told = 0, 0
    for i in range(1000):
        one = type(found)(*(values[i] for values in vars(found).values()))
        _, first, last = ranks(one, holm(one.p)[0])
        least, most = 1 + (shift[:, None] > shift).sum(axis=1), (shift[:, None] >= shift).sum(axis=1)
        missed += (first > least).any() or (last < most).any()
        told += first[4] > 1
    assert missed <= 65
    assert told > 500
