"""Losses and gains: worked by hand, in order of size as they must be, and off by no more than is said."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from analysis.engine.domain_losses import DomainLosses
from analysis.engine.losses import COMPATIBLE, GOALS, Goal, Moments, bias_bounds, folding_excess, losses
from tests.tools.counts import counts_of

# of the control and of a technique, with a baseline of 100: answers under a low and under a high anchor
CONTROL, TECHNIQUE = ([60, 80], [140, 180]), ([90, 100], [110, 130])


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
    # 20 and 40; high enters with 1/2 and 1/2, low with -1/2: 1 * 9 + 1/4 * 4
    assert (found.loss, found.variance) == (pytest.approx(30), pytest.approx(10))
    assert found.variance_per_df == pytest.approx((9**2 + 1**2) / 10)
    # to a baseline that rises by 1 % the one is 1.2 nearer, the other .4
    assert found.slope == pytest.approx((-120 - 40) / 2)
    # where the second is turned round, high enters with 1/2 and -1/2
    turned = losses(Goal(contrasts=(("high", "none"), ("low", "high"))), moments)
    assert (turned.loss, turned.variance, turned.slope) == (found.loss, found.variance, found.slope)
    apart = losses(Goal(contrasts=(("high", "none"), ("none", "low"))), moments)
    assert (apart.loss, apart.variance) == (pytest.approx(20), pytest.approx((9 + 4) / 4))
    assert losses(Goal(distance_of=("high",)), moments).loss == pytest.approx(24)


def test_what_overshoots_does_not_make_up_for_what_undershoots():
    rows = [both(), rows_of({"no_technique": CONTROL, "sacd": ([85, 85], [85, 85])}, llm="b")]
    rows.append(rows_of({"no_technique": CONTROL, "sacd": ([115, 115], [115, 115])}, llm="c"))
    gains = DomainLosses(counts_of(pd.concat(rows))).compared("displacement", "sacd", "no_technique", among=["b", "c"])
    assert gains.loss == pytest.approx([15, 15])
    assert gains.loss_control - gains.loss == pytest.approx([30, 30])


def test_the_noise_of_a_gain_is_that_of_its_trials_and_of_the_shared_baseline():
    gains = DomainLosses(counts_of(both())).compared("gap", "sacd", "no_technique")
    # variances of means of two answers: 100 and 400 of the control, 25 and 100 of the technique
    relative = 10 * 100 / 9 / 10 / 100**2
    assert gains.variances == pytest.approx([100 + 400 + 25 + 100 + (90 - 25) ** 2 * relative])
    displacement = DomainLosses(counts_of(both())).compared("displacement", "sacd", "no_technique")
    # slopes by the logarithm of the baseline: (70 - 160) / 2 of the control, (95 - 120) / 2 of the technique
    assert displacement.variances == pytest.approx([(100 + 400 + 25 + 100) / 4 + (-45 + 12.5) ** 2 * relative])


def test_techniques_with_one_control_share_its_noise():
    rows = rows_of({"no_technique": CONTROL, "sacd": TECHNIQUE, "premortem": CONTROL})
    domain = DomainLosses(counts_of(rows))
    first, second = (domain.compared("gap", name, "no_technique") for name in ("sacd", "premortem"))
    relative = 10 * 100 / 9 / 10 / 100**2
    assert first.covariances(second) == pytest.approx([100 + 400 + (90 - 25) * 0 * relative])
    assert first.covariances(first) == pytest.approx(first.variances)


def test_vignettes_of_an_llm_weigh_the_same_whatever_their_trials():
    other = rows_of({"no_technique": CONTROL, "sacd": ([100, 100] * 4, [100, 100] * 4)}, vignette="w")
    gains = DomainLosses(counts_of(pd.concat([both(), other]))).compared("displacement", "sacd", "no_technique")
    assert gains.loss == pytest.approx([(12.5 + 0) / 2])
    assert gains.loss_control == pytest.approx([45])


def test_two_conditions_are_compared_where_both_were_asked():
    other = rows_of({"no_technique": ([10, 20], [300, 310])}, vignette="w")
    with_other = DomainLosses(counts_of(pd.concat([both(), other]))).compared("gap", "sacd", "no_technique")
    assert (with_other.loss_control, with_other.n_trials) == (pytest.approx([90]), 8)


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


def test_what_has_no_standard_error_is_not_corrected_and_says_so():
    steady = {"no_technique": ([80] * 3, [120] * 3), "sacd": ([95] * 3, [105] * 3)}
    gains = DomainLosses(counts_of(rows_of(steady, baseline=(100,) * 10))).compared(
        "displacement", "sacd", "no_technique"
    )
    assert (gains.values, gains.uncorrected) == (pytest.approx([15]), True)
    assert gains.asked_bounds(level=0.025) == pytest.approx((15, 15))
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


@pytest.mark.parametrize("value", [-3, 0, 0.4, 2])
def test_what_noise_adds_to_an_absolute_value_is_its_integral(value):
    folded, _ = integrate.quad(lambda x: abs(x) * stats.norm.pdf(x, value, 1.5), -20, 20, points=[0], limit=200)
    assert folding_excess(value, 1.5) == pytest.approx(folded - abs(value), abs=1e-7)
    assert folding_excess(value, 0) == folding_excess(value, np.nan) == 0


@pytest.mark.parametrize("estimate", np.arange(2.6, 3.2, 0.05))
def test_the_most_bias_is_that_of_a_true_value_as_far_away_as_is_possible(estimate):
    truth, noise = estimate - COMPATIBLE, np.linspace(-8, 8, 16001)
    left = np.abs(truth + noise) - folding_excess(np.abs(truth + noise), np.ones_like(noise))
    density = stats.norm.pdf(noise)
    assert bias_bounds(estimate, 1.0)[1] == pytest.approx(left @ density / density.sum() - truth, abs=2e-5)


@pytest.mark.parametrize("truth", [0, 0.5, 1, 2, 3.5])
def test_the_bias_that_is_left_lies_within_its_bounds(truth):
    def left(x):
        return abs(x) - folding_excess(x, 1.0)

    mean, _ = integrate.quad(
        lambda x: left(x) * stats.norm.pdf(x, truth, 1), truth - 9, truth + 9, points=[0], limit=400
    )
    for estimate in np.linspace(max(truth - COMPATIBLE, 0), truth + COMPATIBLE, 7)[1:-1]:
        low, high = bias_bounds(3 * estimate, 3.0)
        assert low - 0.02 <= 3 * (mean - truth) <= high + 0.02
    if truth == 0:
        # what a plug-in leaves: 59 % of the excess
        assert mean / np.sqrt(2 / np.pi) == pytest.approx(0.586, abs=0.001)


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
    low, high = domain.compared("displacement", "sacd", "no_technique").attrition_bounds()
    assert (low, high) == (pytest.approx([45 - 82.5]), pytest.approx([45 - 2.5]))
    least, most = (bound[0, 0, 1] for bound in domain.attrition_bounds("gap"))
    assert (least, most) == pytest.approx((0, 260 - 95))
    least, most = (bound[0, 0, 1] for bound in domain.attrition_bounds("error"))
    # 10 and 30 away as they were answered, 0 to 300 the others
    assert (least, most) == pytest.approx(((5 + 10) / 2, (5 + (40 + 600) / 4) / 2))
    unbounded = DomainLosses(counts_of(both(), missing.assign(valid_max=np.nan))).compared(
        "gap", "sacd", "no_technique"
    )
    assert unbounded.attrition_bounds()[0] == [-np.inf]


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


def test_bounds_of_an_llm_that_answers_far_from_its_baseline_are_those_of_a_t_interval():
    rng = np.random.default_rng(5)
    cells = {
        name: tuple(rng.normal(mean, 5, 30) for mean in means)
        for name, means in (("no_technique", (40, 190)), ("sacd", (60, 150)))
    }
    gains = DomainLosses(counts_of(rows_of(cells, baseline=(100,) * 30))).compared(
        "displacement", "sacd", "no_technique"
    )
    samples = [side for sides in cells.values() for side in sides]
    parts = np.array([np.var(sample, ddof=1) / 30 / 4 for sample in samples])
    df = parts.sum() ** 2 / (parts**2 / 29).sum()
    expected = stats.t.interval(0.95, df, gains.values[0], np.sqrt(parts.sum()))
    assert gains.asked_bounds(level=0.025) == pytest.approx(expected)
    low, high = gains.bounds_of_llms(level=0.025)
    assert (low[0], high[0]) == pytest.approx(expected)
