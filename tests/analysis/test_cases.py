"""Items that are cases: what as many vignettes written out would be, a sample of cases, and worked by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.counts import RESPONSES, compared
from analysis.engine.answers import answer_rows
from analysis.engine.domain_losses import DomainLosses, case_of
from analysis.engine.effects import loss_rows
from analysis.engine.losses import GOALS
from analysis.engine.questions import questions_on_goals
from analysis.engine.verdicts import ONE_CASE
from analysis.methods.crossed_effects import Arm, crossed_contrast
from tests.tools.families import frozen

GIVEN = {
    "valid_min": 0.0, "valid_max": 5000.0, "study": "s", "paradigm": "anchoring", "measure": None, "domain": "d",
    "row_set": "accepted", "vignette": "v", "response_source": "reparsed", "temperature": None, "n_asked": 1,
    "n_trials": 1,
}  # fmt: skip
ARMS = ("none", "low", "high")
BASE = [80, 120] * 5  # a mean of 100
NOT_STATED = pd.DataFrame(columns=["study", "paradigm", "measure", "relative_to", "goals"])
CONTROLS = pd.DataFrame(
    [(None, None, None, "no_technique", "control")],
    columns=["study", "domain", "technique", "control", "comparison"],
)
COMPARED = [("premortem", "no_technique", "control")]
FROZEN = frozen(COMPARED, [{"domain": "d", "goal": goal} for goal in GOALS])


def answers_of(cases):
    """Rows of `marts.counts`: by LLM, vignette, item, technique and arm the answers."""
    keys = ("llm", "vignette", "item", "technique", "arm")
    rows = [GIVEN | dict(zip(keys, key, strict=True)) | {"value": one} for key, of in cases.items() for one in of]
    return pd.DataFrame(rows).astype({"value": float})


def case(llm, item, low, high, technique="no_technique", *, level=1.0, base=BASE, vignette="v"):
    """Answers to one case: a base of mean 100, and two answers 2 apart on either side of a mean, times its level."""
    pair = {"low": [low - 1, low + 1], "high": [high - 1, high + 1]}
    found = {(llm, vignette, item, technique, arm): [level * one for one in of] for arm, of in pair.items()}
    return found | {(llm, vignette, item, "no_technique", "none"): [level * one for one in base]}


def written_out(rows):
    """The same answers, with a vignette for each item."""
    return rows.assign(vignette=rows["vignette"] + "-" + rows["item"], item=None)


def decided(rows, families=FROZEN):
    found = questions_on_goals(rows, NOT_STATED, {}, margin=5, response_source="reparsed")
    return [
        {name: value for name, value in row.items() if name != "seed"}
        for row in answer_rows(found, {"premortem"}, CONTROLS, families, n_draws=50, seed=1)
        if row["part"] == "decisions"
    ]


def test_a_loss_is_taken_of_each_item_in_percent_of_its_own_baseline_and_then_averaged():
    # item a: low 60 % and high 130 % of its 100; item b: low 90 % and high 120 % of its 1,000
    rows = answers_of(case("l", "a", 60, 130) | case("l", "b", 90, 120, level=10))
    losses = DomainLosses(rows, cases="items")
    assert [case_of(name) for name in losses.vignettes] == [("v", "a"), ("v", "b")]
    assert losses.by_goal("gap").loss[0, :, 0] == pytest.approx([70, 30])
    assert losses.by_goal("displacement").loss[0, :, 0] == pytest.approx([(40 + 30) / 2, (10 + 20) / 2])
    assert losses.by_goal("error").loss[0, :, 0] == pytest.approx([(40 + 30) / 2, (10 + 20) / 2])
    (gap,) = (row for row in found_of(rows) if row["goal"] == "gap" and row["item"] == "b")
    assert (gap["vignette"], gap["loss"]) == ("v", pytest.approx(30))


def found_of(rows):
    return [*loss_rows(questions_on_goals(rows, NOT_STATED, {}, margin=5, response_source="reparsed"))]


def test_opposite_pulls_on_two_items_do_not_cancel_and_averaged_first_they_would():
    rows = answers_of(case("l", "a", 80, 120) | case("l", "b", 120, 80))
    assert DomainLosses(rows, cases="items").by_goal("gap").loss[0, :, 0] == pytest.approx([40, 40])
    assert DomainLosses(rows).by_goal("gap").loss[0, 0, 0] == pytest.approx(0)


numbers = st.floats(20, 200)


@settings(max_examples=15)
@given(st.lists(st.tuples(numbers, numbers, numbers, numbers, st.floats(0.2, 30)), min_size=2, max_size=4))
def test_items_that_are_cases_are_what_vignettes_written_out_are(cases):
    answers = {}
    for llm, factor in (("l1", 1.0), ("l2", 1.1)):
        for n, (low, high, low_t, high_t, level) in enumerate(cases):
            answers |= case(llm, f"i{n}", factor * low, high, level=level)
            answers |= case(llm, f"i{n}", low_t, factor * high_t, "premortem", level=level)
    rows = answers_of(answers)
    of_items, of_vignettes = DomainLosses(rows, cases="items"), DomainLosses(written_out(rows))
    for goal in GOALS:
        for one, other in zip(*(vars(of.by_goal(goal)).values() for of in (of_items, of_vignettes)), strict=True):
            np.testing.assert_array_equal(one, other)
        gains = [of.compared(goal, "premortem", "no_technique") for of in (of_items, of_vignettes)]
        for name in ("values", "control", "variances", "df"):
            np.testing.assert_array_equal(*(getattr(of, name) for of in gains))


def test_a_vignette_without_items_is_as_ever_whatever_cases_are():
    rows = written_out(answers_of(case("l", "a", 60, 130) | case("l", "a", 90, 110, "premortem")))
    as_ever, with_cases = DomainLosses(rows), DomainLosses(rows, cases="items")
    assert not with_cases.has_cases
    for goal in GOALS:
        for one, other in zip(*(vars(of.by_goal(goal)).values() for of in (as_ever, with_cases)), strict=True):
            np.testing.assert_array_equal(one, other)


def many(n_llms, items, gains):
    """Answers of LLMs of a vendor each to items: what premortem leaves of a gap of 60 differs by item."""
    answers = {}
    for llm in range(n_llms):
        for item, gain in zip(items, gains, strict=True):
            half = 30 + llm * 0.3
            left = half - gain - llm * 0.1
            answers |= case(f"v{llm}/l", item, 100 - half, 100 + half)
            answers |= case(f"v{llm}/l", item, 100 - left, 100 + left, "premortem")
    return answers_of(answers)


def test_a_decision_is_about_other_items_too_where_they_differ_by_more_than_vendors():
    rows = many(6, "abcdef", (0.2, 28, 2, 25, 1, 20))
    (gap,) = (row for row in decided(rows) if (row["goal"], row["technique"], row["llm"]) == ("gap", "premortem", None))
    assert gap["method"] == "t_over_vendors_and_items"
    assert gap["n_cases"] == 6
    # by hand: the gain of each vendor and item is the control's square less the technique's, noise off both
    losses = DomainLosses(rows, cases="items").by_goal("gap").criterion
    by_item = losses[..., 0] - losses[..., 1]
    mean = crossed_contrast(Arm(np.ones(by_item.shape), by_item))
    assert gap["gain_squared"] == pytest.approx(by_item.mean())
    half = (gap["gain_squared_high"] - gap["gain_squared_low"]) / 2
    assert half == pytest.approx(mean.both.standard_error * t_quantile(mean.both.df))
    over_vendors = written_out(rows)
    (fixed,) = (
        row
        for row in decided(over_vendors)
        if (row["goal"], row["technique"], row["llm"]) == ("gap", "premortem", None)
    )
    assert (fixed["method"], fixed["n_cases"]) == ("t_over_vendors", 6)
    assert (fixed["gain_squared_high"] - fixed["gain_squared_low"]) / 2 < half


def t_quantile(df):
    from scipy import stats

    return stats.t.ppf(0.975, df)


@pytest.mark.parametrize(("items", "certainty"), [("a", "supported"), ("ab", "established")])
def test_two_items_can_be_established_and_one_cannot(items, certainty):
    rows = many(6, items, (25, 24)[: len(items)])
    (gap,) = (row for row in decided(rows) if (row["goal"], row["technique"], row["llm"]) == ("gap", "premortem", None))
    assert (gap["decision"], gap["n_cases"], gap["certainty"]) == ("use", len(items), certainty)
    assert (ONE_CASE in gap["reason"]) == (len(items) == 1)


def test_an_item_with_too_few_answers_in_its_base_enters_no_gain():
    answers = case("l", "a", 60, 140) | case("l", "b", 60, 140, base=BASE[:4])
    answers |= case("l", "a", 80, 120, "premortem") | case("l", "b", 99, 101, "premortem", base=BASE[:4])
    gains = DomainLosses(answers_of(answers), cases="items").compared("gap", "premortem", "no_technique")
    alone = DomainLosses(answers_of({key: of for key, of in answers.items() if key[2] == "a"}), cases="items")
    assert gains.refused
    assert gains.values == pytest.approx(alone.compared("gap", "premortem", "no_technique").values)


def test_methods_of_document_a_take_an_item_for_a_vignette_with_a_baseline_of_its_own():
    assert "concat_ws('/', vignette, item) as vignette" in RESPONSES
    rows = answers_of(case("l", "a", 50, 150) | case("l", "b", 50, 150, level=10))
    named = {"arm": "anchor_direction", "value": "response"}
    rows = rows.assign(vignette=rows["vignette"] + "/" + rows["item"]).rename(columns=named)
    of_items = compared(rows).groupby(["vignette", "anchor_direction"])["percent_of_baseline"].mean()
    assert of_items.to_dict() == pytest.approx(
        {(f"v/{item}", arm): percent for item in "ab" for arm, percent in (("low", 50), ("high", 150))}
    )
