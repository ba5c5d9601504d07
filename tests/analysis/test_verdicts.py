"""What a decision may be called: each row of the table, from rows of which an interval has decided."""

import pytest

from analysis.engine.verdicts import verdicts

ROW = {
    "domain": "d", "goal": "gap", "technique": "calm", "control": "no_technique", "comparison": "control", "llm": None,
    "decision": "use", "gain": 10.0, "leads": True, "n_vendors": 5, "n_cases": 2, "reason": None, "family_reason": None,
}  # fmt: skip
OF_PLACEBO = {"control": "again", "comparison": "placebo"}
CONFOUNDED = {"comparison": "confounded", "decision": None}
GAIN = {"use", "asking_again_helps", "helps_its_own_prompt", "better_than_asking_again"}


def called(*changes, placebos=("again",)):
    """What rows are called, how sure that is, and the codes of each: of rows that differ from `ROW` in some columns."""
    found = list(verdicts([ROW | of for of in changes], set(placebos)))
    return [
        (row["decision"], row.get("certainty"), set(filter(None, (row["reason"] or "").split("; ")))) for row in found
    ]


def test_a_gain_is_use_without_a_placebo_and_says_that_none_was_asked():
    assert called({}) == [("use", "established", {"placebo_not_asked"})]


@pytest.mark.parametrize(
    ("of_placebo", "word", "against", "codes"),
    [
        ("use", "use", "better_than_asking_again", set()),
        ("no_evidence", "no_evidence", "no_evidence", {"not_shown_over_placebo"}),
        ("equivalent", "no_evidence", "equivalent", {"not_shown_over_placebo"}),
        ("avoid", "no_evidence", "worse_than_asking_again", {"not_shown_over_placebo"}),
    ],
)
def test_a_gain_is_use_only_over_a_placebo_that_was_asked_with_the_same_prompt(of_placebo, word, against, codes):
    (of_control, certainty, found), (of_other, *_) = called({}, OF_PLACEBO | {"decision": of_placebo})
    assert (of_control, of_other, found) == (word, against, codes)
    assert certainty == ("established" if word == "use" else "no_evidence")


def test_only_the_placebo_of_the_same_llm_and_place_counts():
    alone = {"llm": "a", "n_vendors": 1}
    elsewhere = [OF_PLACEBO | of | {"decision": "avoid"} for of in ({"domain": "e"}, {"goal": "error"}, {"llm": "b"})]
    assert called(alone, *elsewhere)[0] == ("use", "one_llm", {"placebo_not_asked"})
    assert called(alone, OF_PLACEBO | alone | {"decision": "avoid"})[0][0] == "no_evidence"


def test_that_an_llm_gains_on_a_placebo_is_part_of_use_and_no_decision_of_its_own():
    alone = {"llm": "a", "n_vendors": 1}
    (of_control, *_), against = called(alone, OF_PLACEBO | alone)
    assert (of_control, against) == ("use", (None, None, {"part_of_use"}))
    over, _, beside, _ = verdicts(
        [ROW | of for of in ({"n_llms": 1}, alone, OF_PLACEBO | {"n_llms": 1}, OF_PLACEBO | alone)], {"again"}
    )
    assert (over["n_helped"], over["n_harmed"]) == (1, 0)
    assert "n_helped" not in beside, "of a placebo nobody is counted"


def test_a_placebo_is_never_used_even_where_nothing_was_asked_beside_it():
    assert called({"technique": "again"})[0][0] == "asking_again_helps"
    assert called({"technique": "again", "decision": "avoid"})[0][0] == "avoid"
    assert called({"technique": "again"}, placebos=())[0][0] == "use"


@pytest.mark.parametrize(
    ("confounded", "word"),
    [
        ({"gain": -3.0}, "helps_its_own_prompt"),
        ({"gain": 3.0}, "use"),
        ({"gain": None}, "use"),
        ({"gain": -3.0, "technique": "other"}, "use"),
        ({"gain": -3.0, "domain": "e"}, "use"),
        ({"gain": -3.0, "arm": "low"}, "use"),
        ({"gain": -3.0, "goal": "error", "leads": False}, "use"),
    ],
)
def test_a_gain_on_ones_own_first_answers_is_compared_with_a_plain_prompt_by_the_goal_that_leads(confounded, word):
    own = {"control": "calm_initial"}
    codes = {"before_after"} | ({"placebo_not_asked"} if word == "use" else set())
    assert called(own, CONFOUNDED | confounded)[0] == (word, "supported", codes)
    beside = own | {"goal": "displacement", "leads": False}
    ((found, *_), _) = called(beside, CONFOUNDED | {"gain": -3.0})
    assert found == "helps_its_own_prompt", "by the goal that leads, whichever goal is decided on"


@pytest.mark.parametrize("decision", ["use", "avoid", "equivalent"])
def test_what_is_before_and_after_within_the_same_trial_is_supported_and_never_established(decision):
    codes = {"before_after"} | ({"placebo_not_asked"} if decision == "use" else set())
    assert called({"control": "calm_initial", "decision": decision}) == [(decision, "supported", codes)]
    of_another_prompt = OF_PLACEBO | {"decision": None, "reason": "confounded_prompt"}
    assert called({"control": "calm_initial", "decision": decision}, of_another_prompt)[0][2] == codes
    nothing = {"control": "calm_initial", "decision": "no_evidence"}
    assert called(nothing) == [("no_evidence", "no_evidence", set())]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"family_reason": "family_not_frozen"}, "family_not_frozen"),
        ({"n_cases": 1}, "one_case"),
        ({"reason": "attrition_could_reverse"}, "attrition_could_reverse"),
        ({"reason": "thin; attrition_could_change"}, "attrition_could_change"),
        ({"reason": "reading_would_change"}, "reading_would_change"),
    ],
)
@pytest.mark.parametrize("decision", ["use", "avoid", "equivalent"])
def test_each_thing_that_keeps_a_decision_from_being_established_is_named(decision, changes, code):
    assert called({"decision": decision})[0][1] == "established"
    ((word, certainty, codes),) = called({"decision": decision} | changes)
    assert (word, certainty, code in codes) == (decision, "supported", True)


def test_below_five_vendors_and_of_one_llm_nothing_is_supported():
    assert called({"decision": "no_evidence", "n_vendors": 4})[0][1] == "too_few_vendors"
    assert called({"llm": "a", "n_vendors": 1})[0][1] == "one_llm"
    assert called({"decision": "no_evidence"})[0][1] == "no_evidence"
    assert called({"decision": "no_evidence", "certainty": "withheld"})[0][1] == "withheld"
    assert called(CONFOUNDED)[0][:2] == (None, None)


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ({}, {"decision": "avoid"}),
        ({"technique": "again"}, {"technique": "again", "decision": "avoid"}),
        (OF_PLACEBO, OF_PLACEBO | {"decision": "avoid"}),
        ({"control": "calm_initial"}, {"decision": "avoid"}),
    ],
)
def test_opposite_decisions_in_two_domains_contradict_each_other(here, there):
    one, other = called(here, there | {"domain": "e"})
    assert one[1] == other[1] == "contradicted_elsewhere"
    assert (one[0] in GAIN, other[0] in GAIN) == (True, False)


@pytest.mark.parametrize(
    "there",
    [{"decision": "equivalent"}, {"decision": "avoid", "technique": "other"}, {"decision": "avoid", "goal": "error"},
     {"decision": "avoid", "llm": "a", "n_vendors": 1}, OF_PLACEBO | {"decision": "avoid"}],
)  # fmt: skip
def test_nothing_else_contradicts_a_decision(there):
    assert called({}, there | {"domain": "e"})[0][1] == "established"


def test_what_verdicts_alone_need_is_in_no_row():
    (row,) = verdicts([ROW], set())
    assert not {"leads", "family_reason"} & row.keys()
