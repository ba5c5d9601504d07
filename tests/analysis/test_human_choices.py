"""Effects on people: the published test, models of a simulated study, and their coverage in small."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.methods.linear_mixed_model import NotFittedError
from analysis.papers.human_choices import (
    chi_square,
    gee_effect,
    human_choice_effects,
    participants_needed,
    payment_effect,
)
from analysis.words.people import WHY, stars
from tests.tools.human_coverage import coverage, simulated_choices

DOCUMENT_C = {"n_summary": 350, "k_summary": 293, "n_original": 350, "k_original": 183}


@pytest.fixture(scope="module")
def choices():
    """A study of 70 people."""
    return simulated_choices(70, np.random.default_rng(7)).assign(study="s", is_counted=True)


@pytest.mark.parametrize(("yates", "expected"), [(True, 78.0), (False, 79.44)])
def test_document_c_s_chi_square_is_that_of_its_counts_with_yates_correction(yates, expected):
    statistic, p_value = chi_square(**DOCUMENT_C, yates=yates)
    assert statistic == pytest.approx(expected, abs=0.05)
    assert p_value < 0.001


def test_each_products_chi_square_is_scipys_of_its_own_table(choices):
    rows = [row for row in human_choice_effects(choices) if row.get("product")]
    found = {(row["product"], row["method"]): (row["statistic"], row["p_value"], row["n_choices"]) for row in rows}
    expected = {}
    for product, of_product in choices.groupby("product"):
        counts = pd.crosstab(of_product["format"], of_product["is_target_chosen"])
        for method, correction in (("chi_square_yates", True), ("chi_square", False)):
            test = stats.chi2_contingency(counts, correction=correction)
            expected[product, method] = (pytest.approx(test.statistic), pytest.approx(test.pvalue), len(of_product))
    assert found == expected
    assert len(found) == 20


def test_a_product_that_everybody_chose_has_a_reason_and_no_chi_square(choices):
    alike = choices.assign(is_target_chosen=choices["is_target_chosen"] | (choices["product"] == "product-01"))
    (row,) = [
        row for row in human_choice_effects(alike)
        if (row.get("product"), row["method"]) == ("product-01", "chi_square_yates")
    ]  # fmt: skip
    assert (row["reason"], row["estimate"]) == ("zero_variance", 0)


@pytest.mark.parametrize(
    ("p_value", "marks"), [(0.05, ""), (0.0499, "*"), (0.01, "*"), (0.0099, "**"), (0.001, "**"), (0.0009, "***")]
)
def test_stars_are_those_of_document_c(p_value, marks):
    assert stars(p_value) == marks
    assert stars(None) == ""


@pytest.mark.slow("counts on thousands of answers")
def test_in_a_small_coverage_study_both_intervals_hold_the_truth_about_as_often_as_they_say():
    found = coverage(12, seed=3)
    assert all(share >= 75 for share, _ in found.values())
    assert 0.5 < found["gee"][1] < 0.9  # an interval that is too wide holds it too
    assert 0.02 < found["mixed_model"][1] < 0.06


def test_a_participant_who_answers_twice_as_often_does_not_make_the_effect_surer(choices):
    doubled = choices.loc[choices.index.repeat(2)]
    assert gee_effect(doubled)["std_error"] == pytest.approx(gee_effect(choices)["std_error"], rel=0.05)


def test_a_study_in_which_everyone_chose_alike_after_a_summary_has_a_reason_and_no_odds_ratio(choices):
    alike = choices.assign(is_target_chosen=choices["is_target_chosen"] | (choices["format"] == "summary"))
    with pytest.raises(NotFittedError, match="separated"):
        gee_effect(alike)
    rows = {row["method"]: row for row in human_choice_effects(alike)}
    assert rows["gee_exchangeable"]["reason"] == "separated"
    assert rows["linear_mixed_model"]["estimate"] == pytest.approx(payment_effect(alike)["estimate"])


@pytest.mark.filterwarnings("error")
def test_a_study_in_which_each_person_always_chooses_alike_has_a_reason_in_words_and_no_warning(choices):
    of_a_kind = choices.assign(is_target_chosen=choices["participant"].str[-1].isin(list("02468")))
    with pytest.raises(NotFittedError, match="not_converged"):
        gee_effect(of_a_kind)
    assert "not_converged" in WHY


def test_who_is_excluded_enters_no_effect(choices):
    out = choices.assign(is_counted=choices["participant"] != "person-001")
    assert {row["n_participants"] for row in human_choice_effects(out)} == {69}


def test_an_effect_of_half_the_size_needs_about_four_times_as_many_participants():
    of_whole = participants_needed(0.2, 0.1, 70, 11)
    assert 3.6 < participants_needed(0.1, 0.1, 70, 11) / of_whole < 4
    assert participants_needed(0.0, 0.1, 70, 11) is None
