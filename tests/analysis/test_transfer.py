"""Does a gain carry over: worked by hand, laws, what noise does, and how often intervals hold what was planted."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.engine.questions import questions_on_goals
from analysis.engine.transfer import COLUMNS, transfer
from analysis.methods.attenuation import Moments, disattenuated_correlation, moments_within
from analysis.tables import table
from analysis.words import transfer as words
from tests.tools import transfer_coverage
from tests.tools.counts import NOTHING_STATED, counts_of
from tests.tools.transfer_coverage import Design, simulate

seeds = st.integers(0, 10_000)


def data_set(seed, n_llms=8, n_techniques=5, r=0.6):
    """Gains in two domains, with a noise of variance .3 of each and .2 of the control that they share."""
    rng = np.random.default_rng(seed)
    gains = rng.standard_normal((n_llms, n_techniques, 2)) @ np.linalg.cholesky([[1, r], [r, 1]]).T
    noise = np.broadcast_to((0.3 * np.eye(n_techniques) + 0.2)[..., None], (n_llms, n_techniques, n_techniques, 2))
    return gains + np.sqrt(0.3) * rng.standard_normal(gains.shape), noise


def correlated(gains, noise):
    return np.array(disattenuated_correlation(moments_within(gains, noise)))


def test_moments_are_those_about_the_means_of_an_llm_less_the_noise_that_is_not_shared():
    gains = np.array([[[1.0, 0.0], [2.0, 3.0], [6.0, 3.0]]])  # deviations -2, -1, 3 and -2, 1, 1
    noise = np.zeros((1, 3, 3, 2))
    noise[..., 0] = np.diag([3.0, 3.0, 6.0]) + 100  # the control's 100 falls out, and of 4 in the mean nothing else
    of = moments_within(gains, noise)
    assert (of.first, of.second, of.common) == (pytest.approx([7 - 4]), pytest.approx([3]), pytest.approx([3]))


def test_the_interval_holds_each_correlation_that_students_t_does_not_reject():
    first, second, common = np.array([3.0, 5, 4, 6, 2]), np.array([12.0, 18, 20, 30, 20]), np.array([3.0, 6, 8, 9, 4])
    r, low, high = disattenuated_correlation(Moments(first, second, common))
    a, b, c = first / 4, second / 20, common / np.sqrt(80)
    both = (a + b) / 2 * (1 + np.var(a - b, ddof=1) / 5 / 8)
    assert r == pytest.approx(c.mean() / both.mean())
    assert [stats.ttest_1samp(c - end * both, 0).pvalue for end in (low, high)] == pytest.approx([0.05, 0.05])


def test_gains_that_noise_explains_are_correlated_with_nothing():
    gains, noise = data_set(1)
    assert np.isnan(correlated(gains, 20 * noise)).all()
    r, low, high = correlated(gains, 3 * noise)  # some is left, and not told from none
    assert np.isfinite(r)
    assert np.isnan([low, high]).all()


@given(seeds, st.floats(0.1, 10), st.floats(-50, 50))
def test_units_and_what_is_common_to_an_llm_change_nothing(seed, scale, shift):
    gains, noise = data_set(seed)
    moved = gains * [scale, 1] + shift * np.arange(8)[:, None, None]
    assert correlated(moved, noise * [scale**2, 1] + 9) == pytest.approx(
        correlated(gains, noise), abs=1e-6, nan_ok=True
    )


@given(seeds)
def test_the_two_places_are_alike_and_the_other_sign_turns_all_round(seed):
    gains, noise = data_set(seed)
    r, low, high = correlated(gains, noise)
    assert correlated(gains[..., ::-1], noise) == pytest.approx([r, low, high], nan_ok=True)
    assert correlated(gains * [1, -1], noise) == pytest.approx([-r, -high, -low], nan_ok=True)


def test_noise_draws_a_correlation_to_0_and_without_it_the_planted_one_comes_back():
    gains, noise = data_set(2, n_llms=4000)
    (r, low, high), (seen, *_) = correlated(gains, noise), correlated(gains, np.zeros(noise.shape))
    assert seen == pytest.approx(0.6 / 1.3, abs=0.02)
    assert low < 0.6 < high
    assert r == pytest.approx(0.6, abs=0.03)


def answers(llm, domain, technique, gap, n=30):
    """Answers 50 and 150 percent of a baseline of 100 without a technique, and with one a gap of so much."""
    rng = np.random.default_rng([ord(llm[-1]), len(domain), len(technique)])
    half = {"low": 100 - gap / 2, "high": 100 + gap / 2}
    arms = {**half, "none": 100.0} if technique == "no_technique" else half
    return [
        {
            "study": "s", "domain": domain, "llm": llm, "vignette": domain, "technique": technique,
            "anchor_direction": arm, "temperature": 1.0, "row_set": "accepted", "response_source": "recorded",
            "response": float(answer), "n_trials": 1,
        }
        for arm, mean in arms.items()
        for answer in mean + 3 * stats.zscore(rng.standard_normal(n))
    ]  # fmt: skip


CONTROLS = pd.DataFrame(
    [{"study": None, "domain": None, "technique": None, "control": "no_technique", "comparison": "control"}]
)
TECHNIQUES = ("a", "bb", "ccc", "dddd")
DRAWN = {f"x/{name}": np.random.default_rng(i) for i, name in enumerate("abcdef")}
PATTERNS = {llm: rng.permutation([20, 45, 70, 95]) + rng.uniform(-5, 5, 4) for llm, rng in DRAWN.items()}


def found(gaps, llms=PATTERNS, techniques=TECHNIQUES):
    """Rows of the table, where the gap of each LLM, technique and domain is as `gaps` has it of its pattern."""
    rows = []
    for llm in llms:
        for domain, of_pattern in gaps.items():
            rows += answers(llm, domain, "no_technique", 100)
            for technique, gap in zip(techniques, PATTERNS["x/" + llm[-1]], strict=False):
                rows += answers(llm, domain, technique, of_pattern(gap))
    counts = counts_of(pd.DataFrame(rows))
    asked = questions_on_goals(counts, NOTHING_STATED, {}, margin=5.0, response_source="recorded")
    return table(transfer(asked, set(techniques), CONTROLS), COLUMNS).to_pandas().set_index("goal")


def test_what_works_in_one_domain_works_in_the_other_or_harms_there():
    alike = found({"here": lambda gap: gap, "elsewhere": lambda gap: gap / 2 + 5 * np.sin(gap)}).loc["gap"]
    assert (alike["domain"], alike["other_domain"]) == ("elsewhere", "here")
    assert alike["r"] > 0.95
    assert 0.9 < alike["low"] < alike["high"] <= 1
    assert (alike["vendors_low"], alike["vendors_high"]) == (alike["low"], alike["high"])  # each LLM is of its own
    assert (alike["n_llms"], alike["n_techniques"], alike["n_pairs"]) == (6, 4, 24)
    against = found({"here": lambda gap: gap, "elsewhere": lambda gap: 100 - gap + 10 * np.sin(gap)}).loc["gap"]
    assert against["high"] < -0.8


def test_few_llms_or_techniques_or_vendors_and_equal_gains_have_a_reason_in_place_of_bounds():
    same = {"here": lambda gap: gap, "elsewhere": lambda gap: gap}
    few = found(same, llms=[*PATTERNS][:4]).loc["gap"]
    assert (few["n_llms"], few["reason"]) == (4, "too_few_llms")
    assert pd.isna(few[["r", "low", "high"]]).all()
    two = found(same, llms=[*PATTERNS][:4], techniques=TECHNIQUES[:2]).loc["gap"]
    assert (two["n_techniques"], two["reason"]) == (2, "too_few_techniques")
    assert found(same).loc["gap", "reason"] == "beyond_1"  # the same answers twice: no noise tells them apart
    flat = found({"here": lambda gap: gap, "elsewhere": lambda gap: 60}).loc["gap"]
    assert flat["reason"] == "within_noise"
    assert pd.isna(flat[["low", "high"]]).all()


def test_simulated_respondents_are_not_put_together_with_llms():
    same = {"here": lambda gap: gap, "elsewhere": lambda gap: gap}
    mixed = found(same, llms=[*PATTERNS, "sim/a", "sim/b"]).loc["gap"]
    assert (mixed["n_llms"], mixed["is_simulated"]) == (6, False)
    alone = found(same, llms=[f"sim/{name}" for name in "abcdef"]).loc["gap"]
    assert (alone["n_llms"], alone["is_simulated"]) == (6, True)


@pytest.mark.parametrize("r", transfer_coverage.PLANTED)
def test_intervals_hold_what_was_planted(r):
    held, shown = simulate(Design(10, 8, r, 0.5), n_datasets=500)
    assert 92 <= held <= 98
    assert shown > 98


def told(low, high, **more):
    """A row of two domains of one study whose gains correlate between these bounds."""
    places = {f"{other}{name}": "s" for other in ("", "other_") for name in ("study", "paradigm")}
    places |= {"instrument": None, "other_instrument": None}
    row = places | {"domain": "loan", "other_domain": "salary", "r": 0.5, "low": low, "high": high, "reason": None}
    return row | {"n_techniques": 4, "n_llms": 6, "n_vendors": 3, "is_simulated": False} | more


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            told(0.1, 0.8),
            "A technique that helps more here also helps more in salary: over 4 techniques within 6 LLMs, their gains "
            "correlate at 0.50, without noise (95 % interval 0.10 to 0.80).",
        ),
        (
            told(-0.9, -0.1, r=-0.5, reason="too_few_vendors"),
            "A technique that helps more here helps less in salary: over 4 techniques within 6 LLMs, their gains "
            "correlate at −0.50, without noise (95 % interval −0.90 to −0.10; of 3 vendors alone).",
        ),
        (
            told(-0.1, 0.8, is_simulated=True, other_study="t"),
            "Whether a technique that helps more here also helps more in salary (t) is unclear: over 4 techniques "
            "within 6 respondents, their gains correlate at 0.50, without noise (95 % interval −0.10 to 0.80).",
        ),
        (
            told(
                None,
                None,
                other_domain=None,
                other_paradigm="sunk_cost",
                other_instrument="judge",
                reason="within_noise",
            ),
            "Whether a gain here carries over to sunk cost (judge) cannot be told: in one of them, the gains of "
            "techniques differ by no more than noise.",
        ),
    ],
)
def test_a_sentence_says_what_a_gain_here_foretells_elsewhere(row, sentence):
    assert list(words.elsewhere([row])) == [sentence]


def test_places_of_which_nothing_can_be_told_are_named_together_by_the_reason():
    few = {"low": None, "high": None, "reason": "too_few_llms"}
    of_t = [told(**few, other_domain=name, other_study="t") for name in ("loan", "medical")]
    assert "carries over to salary; loan and medical (all t) cannot" in next(words.elsewhere([told(**few), *of_t]))
    rows = [told(**few), told(**few, other_domain="medical"), told(0.2, 0.4, domain="medical")]
    why = "cannot be told: fewer than five LLMs were asked in both with the same techniques."
    over = "Whether a gain of a technique carries over between"
    assert list(words.between(rows)) == [f"{over} loan and salary or medical {why}"]
    rows[2] |= few
    assert list(words.between(rows)) == [f"{over} any two of loan, medical and salary {why}"]
    assert list(words.between(rows[:1])) == [f"{over} loan and salary {why}"]


def test_a_title_says_what_all_intervals_say():
    above, unclear = told(0.2, 0.4), told(-0.2, 0.4)
    for rows, which in (([above] * 2, "all"), ([above, unclear], "some"), ([unclear], "none")):
        assert words.title(rows) == words.TITLES[which]


def test_of_assumed_design_effects_the_widest_interval_is_told_and_of_other_instruments_each():
    runs = {"instrument": "design_effect_1", "other_instrument": "design_effect_1"}
    clusters = {"instrument": "design_effect_10", "other_instrument": "design_effect_10"}
    judges = [told(0.2, 0.4, instrument=name, other_instrument=name) for name in ("one", "two")]
    sure, unsure = told(0.9, 1.0, **clusters), told(0.2, 1.0, **runs)
    untold = told(None, None, **clusters)
    assert words.cautious([unsure, sure, *judges]) == [unsure, *judges]
    assert words.cautious([sure, unsure]) == [unsure]
    assert words.cautious([untold, unsure]) == words.cautious([unsure, untold]) == [untold]
    assert words.place(sure) == words.place(told(0.2, 0.4))
