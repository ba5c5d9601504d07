"""Losses, what decides of them, and gains: worked by hand, in order of size, and unbiased where answers are drawn."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.engine.domain_losses import DomainLosses
from analysis.engine.losses import GOALS, Goal, Moments, losses, squares
from tests.tools.counts import counts_of

# of the control and of a technique, with a baseline of 100: answers under a low and under a high anchor
CONTROL, TECHNIQUE = ([60, 80], [140, 180]), ([90, 100], [110, 130])
RELATIVE = 10 * 100 / 9 / 10 / 100**2  # of ten answers of 90 and 110: variance of their mean over its square


def rows_of(cells, *, llm="a", vignette="v", baseline=(90, 110) * 5):
    """Answers of one LLM and vignette to anchors: unanchored answers, and those of each technique by direction."""
    answers = {("no_technique", "none"): baseline}
    for technique, sides in cells.items():
        answers |= {(technique, side): said for side, said in zip(("low", "high"), sides, strict=True)}
    return pd.DataFrame(
        [
            {
                "study": "s", "domain": "d", "llm": llm, "vignette": vignette, "technique": technique,
                "anchor_direction": side, "temperature": 1.0, "row_set": "accepted", "response_source": "reparsed",
                "response": float(answer), "n_trials": 1,
            }
            for (technique, side), said in answers.items() for answer in said
        ]
    )  # fmt: skip


def both(**changes):
    return rows_of({"no_technique": CONTROL, "sacd": TECHNIQUE}, **changes)


def loss(domain, goal, technique, of="loss"):
    return getattr(domain.by_goal(goal), of)[0, 0, domain.techniques.index(technique)]


def test_losses_worked_by_hand():
    domain = DomainLosses(counts_of(both()))
    # means 70 and 160 of 100; single answers are 40, 20, 40 and 80 away
    assert loss(domain, "displacement", "no_technique") == pytest.approx((30 + 60) / 2)
    assert loss(domain, "gap", "no_technique") == pytest.approx(90)
    assert loss(domain, "error", "no_technique") == pytest.approx((30 + 60) / 2)
    # means 95 and 120
    assert loss(domain, "displacement", "sacd") == pytest.approx((5 + 20) / 2)
    assert loss(domain, "gap", "sacd") == pytest.approx(25)
    assert loss(domain, "error", "sacd") == pytest.approx((5 + 20) / 2)


def test_what_decides_is_the_mean_square_less_what_noise_adds_to_it():
    domain = DomainLosses(counts_of(both()))
    # variances of means of two answers: 100 and 400 of the control, 25 and 100 of the technique; the means are in
    # percent of the baseline, whose noise adds their squares times its own
    square = 90**2 - (100 + 400) - 90**2 * RELATIVE
    assert loss(domain, "gap", "no_technique", "criterion") == pytest.approx(square)
    noise = (100 + 400 + (70**2 + 160**2) * RELATIVE) / 2
    assert loss(domain, "displacement", "no_technique", "noise") == pytest.approx(noise)
    assert loss(domain, "displacement", "no_technique", "criterion") == pytest.approx((30**2 + 60**2) / 2 - noise)
    # how far single answers are is not squared, and noise is part of it
    assert loss(domain, "error", "no_technique", "criterion") == pytest.approx(45)
    gains = domain.compared("gap", "sacd", "no_technique")
    assert gains.control == pytest.approx([square])
    assert gains.values == pytest.approx([square - (25**2 - 125 - 25**2 * RELATIVE)])


def test_a_goal_of_ones_own_is_a_list_of_contrasts_and_an_arm_in_two_of_them_counts_in_both():
    # means 80 and 120, of 11 answers each, with standard errors of 2 and 3
    columns = {"percent": [80, 120], "variance": [4, 9], "n": [11, 11], "distance": [20, 24]}
    columns |= {"distance_variance": [4, 9], "distance_slope": [80, -120]}
    moments = Moments(
        **{name: np.array([of], float) for name, of in columns.items()},
        baseline_variance=np.zeros(1),
        n_baseline=np.array([50.0]),
    )
    found = losses(Goal(contrasts=(("high", "none"), ("high", "low"))), moments)
    # 20 and 40, of variances 9 and 13 that have the 9 of high in common
    assert (found.loss, found.criterion) == (pytest.approx(30), pytest.approx((400 + 1600) / 2 - (9 + 13) / 2))
    fourth = 9**2 + 13**2 + 2 * 9**2
    first = 400 * 9 + 1600 * 13 + 2 * 20 * 40 * 9 - fourth
    assert found.variance == pytest.approx((4 * first + 2 * fourth) / 4)
    assert found.df == 10
    # to a baseline that rises by 1 % the one is 1.2 nearer, the other .4
    assert found.slope == pytest.approx((2 * 20 * -120 + 2 * 40 * -40) / 2)
    turned = losses(Goal(contrasts=(("high", "none"), ("low", "high"))), moments)
    for name in ("loss", "criterion", "variance", "slope"):
        assert getattr(turned, name) == pytest.approx(getattr(found, name)), f"{name} has no direction"
    apart = losses(Goal(contrasts=(("high", "none"), ("none", "low"))), moments)
    assert (apart.loss, apart.criterion) == (pytest.approx(20), pytest.approx(400 - (9 + 4) / 2))
    assert losses(Goal(distance_of=("high",)), moments).criterion == pytest.approx(24)


def drawn(rng, n_sets, means, *, n, sd=30.0, n_baseline=30, baseline_sd=20.0):
    """Moments of many conditions whose answers are drawn: `means` by technique and side, in percent of the baseline."""
    baseline = rng.normal(100, baseline_sd, (n_sets, n_baseline))
    mean = baseline.mean(axis=1)
    answers = rng.normal(np.array(means, float)[None, None, ..., None], sd, (n_sets, 1, *np.shape(means), n))
    percent = 100 * answers / mean[:, None, None, None, None]
    nothing, shape = np.zeros(percent.shape[:-1]), (n_sets, 1, len(means))
    relative = baseline.var(axis=1, ddof=1) / n_baseline / mean**2
    return Moments(
        percent.mean(axis=-1), percent.var(axis=-1, ddof=1) / n, np.full(nothing.shape, float(n)), nothing, nothing,
        nothing, np.broadcast_to(relative[:, None, None], shape), np.full(shape, n_baseline),
    )  # fmt: skip


@pytest.mark.parametrize("n", [2, 20])
@pytest.mark.parametrize("means", [(100, 100), (98, 104), (60, 150), (130, 110)])
def test_what_decides_is_unbiased_from_two_answers_on_wherever_the_means_lie(means, n):
    moments = drawn(np.random.default_rng(3), 40_000, [means], n=n)
    low, high = means
    for goal, truth in (("gap", (high - low) ** 2), ("displacement", ((low - 100) ** 2 + (high - 100) ** 2) / 2)):
        found = losses(GOALS[goal], moments)
        error = found.criterion.std() / np.sqrt(found.criterion.size)
        noise = found.noise.mean()
        # a ratio is off by the relative variance of the baseline, which is 1 in 750
        assert found.criterion.mean() == pytest.approx(truth, abs=4 * error + 0.01 * truth + 0.02 * noise), goal
        if not truth:
            assert (found.loss**2).mean() > 0.6 * noise > 10 * error, "what the square would be without"


@pytest.mark.parametrize("signed", [(0.0, 0.0), (25.0, -10.0), (40.0, 40.0)])
def test_the_variance_of_a_mean_square_is_that_of_a_quadratic_form_of_normals(signed):
    covariance = np.array([[30.0, 12.0], [12.0, 50.0]])
    rng, n = np.random.default_rng(4), 200_000
    estimates = rng.multivariate_normal(signed, covariance, n)
    found = squares(estimates, np.broadcast_to(covariance, (n, 2, 2)), np.zeros((n, 2)), np.zeros(n), np.ones(n))
    d = np.array(signed)
    expected = (4 * d @ covariance @ d + 2 * np.trace(covariance @ covariance)) / 4
    assert found.criterion.var() == pytest.approx(expected, rel=0.02)
    assert found.criterion.mean() == pytest.approx(np.mean(d**2), abs=5 * np.sqrt(expected / n))
    if any(signed):
        assert found.variance.mean() == pytest.approx(expected, rel=0.02)
    else:
        assert (found.variance >= expected - 1e-9).all(), "at the fold it is never said to be surer than it is"


def test_the_baseline_that_two_conditions_share_counts_once_in_the_variance_of_a_gain():
    moments = drawn(np.random.default_rng(5), 8000, [(60, 160), (85, 140)], n=30)
    domain = DomainLosses.of_moments([f"l{i}" for i in range(8000)], ["v"], ["no_technique", "sacd"], moments)
    for goal in ("gap", "displacement"):
        gains = domain.compared(goal, "sacd", "no_technique")
        assert gains.variances.mean() == pytest.approx(gains.values.var(), rel=0.06), goal
    # of the gap, 100 and 55 squared, the baseline alone moves the gain by 2 (100² - 55²) log: not by both apart
    shared = (2 * (100**2 - 55**2)) ** 2 * 20**2 / 30 / 100**2
    own = sum(4 * d**2 * 60 + 2 * 60**2 for d in (100, 55))
    gap = domain.compared("gap", "sacd", "no_technique")
    assert gap.variances.mean() == pytest.approx(own + shared, rel=0.06)


def test_what_overshoots_does_not_make_up_for_what_undershoots():
    rows = [both(), rows_of({"no_technique": CONTROL, "sacd": ([85, 85], [85, 85])}, llm="b")]
    rows.append(rows_of({"no_technique": CONTROL, "sacd": ([115, 115], [115, 115])}, llm="c"))
    gains = DomainLosses(counts_of(pd.concat(rows))).compared("displacement", "sacd", "no_technique", among=["b", "c"])
    lost = gains.control - gains.values
    assert lost == pytest.approx([15**2 - 85**2 * RELATIVE, 15**2 - 115**2 * RELATIVE])


def test_the_noise_of_a_gain_is_that_of_its_trials_and_of_the_shared_baseline():
    gains = DomainLosses(counts_of(both())).compared("gap", "sacd", "no_technique")
    # 4 d² C + 2 C² of the control (d = 90, C = 500) and the technique (25, 125), where d² is taken less C
    own = sum(4 * (d**2 * c - c**2) + 2 * c**2 for d, c in ((90, 500), (25, 125)))
    assert gains.variances == pytest.approx([own + (2 * 90**2 - 2 * 25**2) ** 2 * RELATIVE])
    assert gains.df == [1]


def test_techniques_with_one_control_share_its_noise():
    rows = rows_of({"no_technique": CONTROL, "sacd": TECHNIQUE, "premortem": CONTROL})
    domain = DomainLosses(counts_of(rows))
    first, second = (domain.compared("gap", name, "no_technique") for name in ("sacd", "premortem"))
    # premortem is as the control is, so that nothing of the baseline is left in its gain
    assert first.covariances(second) == pytest.approx([4 * (90**2 * 500 - 500**2) + 2 * 500**2])
    assert first.covariances(first) == pytest.approx(first.variances)


def test_vignettes_of_an_llm_weigh_the_same_whatever_their_trials():
    other = rows_of({"no_technique": CONTROL, "sacd": ([100, 100] * 4, [100, 100] * 4)}, vignette="w")
    both_vignettes, first, second = (
        DomainLosses(counts_of(rows)).compared("displacement", "sacd", "no_technique")
        for rows in (pd.concat([both(), other]), both(), other)
    )
    assert both_vignettes.values == pytest.approx((first.values + second.values) / 2)
    assert both_vignettes.variances == pytest.approx((first.variances + second.variances) / 4)


def test_two_conditions_are_compared_where_both_were_asked():
    other = rows_of({"no_technique": ([10, 20], [300, 310])}, vignette="w")
    with_other, without = (
        DomainLosses(counts_of(rows)).compared("gap", "sacd", "no_technique")
        for rows in (pd.concat([both(), other]), both())
    )
    assert (with_other.control, with_other.n_trials) == (pytest.approx(without.control), 8)


def test_a_condition_without_a_direction_has_no_loss():
    domain = DomainLosses(counts_of(rows_of({"no_technique": CONTROL, "sacd": ([90, 95], [])})))
    assert np.isnan(loss(domain, "displacement", "sacd"))
    assert domain.why_not("sacd") == "missing_direction"
    assert domain.compared("error", "sacd", "no_technique").llms == []


def test_a_baseline_of_fewer_than_ten_answers_is_left_out_of_gains():
    rows = pd.concat([both(), both(llm="b", baseline=(100,) * 9), both(llm="c", baseline=(100,) * 29)])
    domain = DomainLosses(counts_of(rows))
    gains = domain.compared("gap", "sacd", "no_technique")
    assert (gains.llms, gains.refused, gains.thin) == (["a", "c"], True, True)
    assert not np.isnan(domain.by_goal("gap").loss).any()
    many = DomainLosses(counts_of(both(baseline=(90, 110) * 15))).compared("gap", "sacd", "no_technique")
    assert (many.refused, many.thin) == (False, False)


@pytest.mark.parametrize(
    ("answers", "is_near"),
    # means of ten with their 95 % intervals (t of 9 is 2.262): 5 ± 71.6, 10 ± 12.1 and 10 ± 9.8
    [((-90, 100), True), ((-6, 26), True), ((-3, 23), False)],
)
def test_a_baseline_that_is_not_told_from_0_is_left_out_of_gains(answers, is_near):
    rows = pd.concat([both(), both(llm="b", baseline=answers * 5)])
    gains = DomainLosses(counts_of(rows)).compared("gap", "sacd", "no_technique")
    assert (gains.llms, gains.near_zero, gains.refused) == (["a"] if is_near else ["a", "b"], is_near, False)
    assert not DomainLosses(counts_of(both())).compared("gap", "sacd", "no_technique").near_zero
    below = both(baseline=(-90, -110) * 5)
    assert DomainLosses(counts_of(below.assign(response=-below["response"].abs()))).compared(
        "gap", "sacd", "no_technique"
    ).llms == ["a"]


def test_what_has_no_variance_is_not_corrected_and_has_no_bounds():
    steady = {"no_technique": ([80] * 3, [120] * 3), "sacd": ([95] * 3, [105] * 3)}
    gains = DomainLosses(counts_of(rows_of(steady, baseline=(100,) * 10))).compared(
        "displacement", "sacd", "no_technique"
    )
    assert (gains.values, gains.uncorrected) == (pytest.approx([20**2 - 5**2]), True)
    assert np.isnan(gains.bounds_of_llms(level=0.025)).all()
    of_baseline = DomainLosses(counts_of(rows_of(steady))).compared("displacement", "sacd", "no_technique")
    assert of_baseline.variances > 0
    assert np.isnan(of_baseline.bounds_of_llms(level=0.025)).all(), "the noise of the baseline makes nothing sure"
    one_varies = steady | {"sacd": TECHNIQUE}
    found = DomainLosses(counts_of(rows_of(one_varies))).compared("displacement", "sacd", "no_technique")
    assert np.isfinite(found.bounds_of_llms(level=0.025)).all()
    assert not DomainLosses(counts_of(both())).compared("displacement", "sacd", "no_technique").uncorrected


answers = st.lists(st.integers(1, 400), min_size=1, max_size=6)
sides = st.tuples(answers, answers)


@settings(max_examples=100, deadline=None)
@given(
    cells=st.fixed_dictionaries({"no_technique": sides, "sacd": sides}),
    baseline=st.lists(st.integers(1, 400), min_size=1),
)
def test_a_gap_is_at_most_twice_a_displacement_and_that_at_most_the_error(cells, baseline):
    domain = DomainLosses(counts_of(rows_of(cells, baseline=baseline)))
    displacement, gap, error = (domain.by_goal(goal).loss for goal in GOALS)
    assert (gap <= 2 * displacement + 1e-6).all()
    assert (displacement <= error + 1e-6).all()


@settings(max_examples=50, deadline=None)
@given(cells=st.fixed_dictionaries({"no_technique": sides, "sacd": sides}), unit=st.sampled_from([0.001, 1000]))
def test_the_unit_of_the_answers_changes_nothing(cells, unit):
    rows = rows_of(cells)
    gains = [
        DomainLosses(counts_of(rows.assign(response=rows["response"] * factor))).compared("gap", "sacd", "no_technique")
        for factor in (1, unit)
    ]
    assert gains[1].values == pytest.approx(gains[0].values, rel=1e-6, abs=1e-6)
    assert gains[1].variances == pytest.approx(gains[0].variances, rel=1e-6, abs=1e-6)


def test_answers_that_are_missing_could_have_been_at_either_end():
    missing = pd.DataFrame(
        [
            {
                "llm": "a",
                "vignette": "v",
                "technique": "sacd",
                "anchor_direction": "high",
                "n_missing": 2,
                "valid_min": 0,
                "valid_max": 400,
            }
        ]
    )
    domain = DomainLosses(counts_of(both(), missing))
    # two of four answers under the high anchor: their mean lies between (240 + 0) / 4 and (240 + 800) / 4
    least, most = (bound[0, 0, 1] for bound in domain.attrition_bounds("displacement"))
    assert (least, most) == pytest.approx(((5 + 0) / 2, (5 + 160) / 2))
    # squared where it decides, less the noise of the answers that were given
    gains = domain.compared("displacement", "sacd", "no_technique")
    noise = gains.control - (30**2 + 60**2) / 2 + loss(domain, "displacement", "sacd", "noise")
    ends = (30**2 + 60**2) / 2 - (5**2 + 160**2) / 2, (30**2 + 60**2) / 2 - (5**2 + 0) / 2
    assert np.ravel(gains.had_all_answered()) == pytest.approx(np.array(ends) + noise)
    least, most = (bound[0, 0, 1] for bound in domain.attrition_bounds("gap"))
    assert (least, most) == pytest.approx((0, 260 - 95))
    least, most = (bound[0, 0, 1] for bound in domain.attrition_bounds("error"))
    # 10 and 30 away as they were answered, 0 to 300 the others
    assert (least, most) == pytest.approx(((5 + 10) / 2, (5 + (40 + 600) / 4) / 2))
    unbounded = DomainLosses(counts_of(both(), missing.assign(valid_max=np.nan))).compared(
        "gap", "sacd", "no_technique"
    )
    assert unbounded.had_all_answered()[0] == [-np.inf]


def test_an_arm_that_nobody_answered_could_have_been_anywhere_in_the_valid_range():
    rows = both()
    rows = rows[(rows["technique"] != "sacd") | (rows["anchor_direction"] != "high")]
    missing = {
        "llm": "a", "vignette": "v", "technique": "sacd", "anchor_direction": "high", "n_missing": 3, "valid_min": 50,
        "valid_max": 400,
    }  # fmt: skip
    domain = DomainLosses(counts_of(rows, pd.DataFrame([missing])))
    # 95 % under the low anchor, 50 % to 400 % under the high one
    expected = {"displacement": (5 / 2, (5 + 300) / 2), "gap": (0, 400 - 95), "error": (5 / 2, (5 + 300) / 2)}
    for goal, ends in expected.items():
        assert np.isnan(loss(domain, goal, "sacd"))
        assert tuple(bound[0, 0, 1] for bound in domain.attrition_bounds(goal)) == pytest.approx(ends), goal
    unbounded = DomainLosses(counts_of(rows, pd.DataFrame([missing | {"valid_max": np.nan}])))
    assert [bound[0, 0, 1] for bound in unbounded.attrition_bounds("displacement")] == [5 / 2, np.inf]


def test_bounds_of_an_llm_are_of_t_with_the_fewest_degrees_of_freedom():
    rng = np.random.default_rng(5)
    cells = {
        name: tuple(rng.normal(mean, 5, n) for mean, n in zip(means, (30, 12), strict=True))
        for name, means in (("no_technique", (40, 190)), ("sacd", (60, 150)))
    }
    gains = DomainLosses(counts_of(rows_of(cells, baseline=(100,) * 30))).compared(
        "displacement", "sacd", "no_technique"
    )
    variance = 0
    for name in cells:
        d = [np.mean(side) - 100 for side in cells[name]]
        c = [np.var(side, ddof=1) / len(side) for side in cells[name]]
        variance += sum(4 * (d**2 * c - c**2) + 2 * c**2 for d, c in zip(d, c, strict=True)) / 4
    expected = stats.t.interval(0.95, 11, gains.values[0], np.sqrt(variance))
    assert np.ravel(gains.bounds_of_llms(level=0.025)) == pytest.approx(expected)


@pytest.mark.parametrize("n", [15, 30])
def test_of_an_llm_without_a_gain_bounds_leave_out_0_in_no_more_than_is_said(n):
    moments = drawn(np.random.default_rng(6), 20_000, [(90, 130), (90, 130)], n=n, n_baseline=n)
    domain = DomainLosses.of_moments([f"l{i}" for i in range(20_000)], ["v"], ["no_technique", "sacd"], moments)
    for goal in ("gap", "displacement"):
        low, high = domain.compared(goal, "sacd", "no_technique").bounds_of_llms(level=0.025)
        assert 0.01 < ((low > 0) | (high < 0)).mean() < 0.055, goal
