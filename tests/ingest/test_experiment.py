"""Story 001's strict answers: what is one, what is none, and why."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.ask.experiment import EVALUATIONS, KEYS, MEANINGS, InvalidAnswer, Run, parse_answer
from ingest.studies.design import Cell, Design, Trial
from ingest.studies.study import load_study

GOOD = {
    "prosecutorRecommendationMonths": 3,
    "prosecutorEvaluation": "too low",
    "defenseAttorneyEvaluation": "just right",
    "sentenceMonths": 4,
}
VALID = (0, 12)


def text(**changes):
    return json.dumps({**GOOD, **changes})


def code(said, **options):
    with pytest.raises(InvalidAnswer) as raised:
        parse_answer(said, valid=VALID, anchor=3, **options)
    return raised.value.args[0]


INVALID = {
    "an empty reply": ("", "no_text"),
    "blanks": (" \n\t", "no_text"),
    "no reply": (None, "no_text"),
    "prose": ("I would say 4 months.", "not_json_only"),
    "a fence": (f"```json\n{text()}\n```", "not_json_only"),
    "prose before": (f"Here it is: {text()}", "not_json_only"),
    "prose after": (f"{text()}\nI hope this helps.", "not_json_only"),
    "two objects": (f"{text()}{text()}", "invalid_json"),
    "a cut object": (text()[:-1], "invalid_json"),
    "single quotes": (str(GOOD), "invalid_json"),
    "a list": (f"[{text()}]", "not_an_object"),
    "a number": ("4", "not_an_object"),
    "null": ("null", "not_an_object"),
    "a key twice": (text()[:-1] + ', "sentenceMonths": 5}', "duplicate_key"),
    "a key twice with one value": (text()[:-1] + ', "sentenceMonths": 4}', "duplicate_key"),
    "a missing key": (json.dumps({k: v for k, v in GOOD.items() if k != "sentenceMonths"}), "missing_key"),
    "an extra key": (text(reason="because"), "unknown_key"),
    "a wrong case": (json.dumps({k.lower(): v for k, v in GOOD.items()}), "missing_key"),
    "true": (text(sentenceMonths=True), "not_an_integer"),
    "a string": (text(sentenceMonths="4"), "not_an_integer"),
    "a fraction": (text(sentenceMonths=4.5), "not_an_integer"),
    "a whole float": (text(sentenceMonths=4.0), "not_an_integer"),
    "a null": (text(sentenceMonths=None), "not_an_integer"),
    "an exponent": (text().replace(": 4}", ": 4e0}"), "not_an_integer"),
    "NaN": (text().replace(": 4}", ": NaN}"), "invalid_json"),
    "Infinity": (text().replace(": 4}", ": Infinity}"), "invalid_json"),
    "below the range": (text(sentenceMonths=-1), "out_of_range"),
    "above the range": (text(sentenceMonths=13), "out_of_range"),
    "another evaluation": (text(prosecutorEvaluation="fair"), "invalid_evaluation"),
    "a capital": (text(defenseAttorneyEvaluation="Too low"), "invalid_evaluation"),
    "a number for an evaluation": (text(defenseAttorneyEvaluation=1), "invalid_evaluation"),
    "the other condition": (text(prosecutorRecommendationMonths=9), "condition_mismatch"),
    "the demand as a string": (text(prosecutorRecommendationMonths="3"), "not_an_integer"),
    "a huge number": (text().replace(": 4}", f": {'9' * 5000}}}"), "invalid_json"),
    "deep nesting": ("[" * 100_000, "invalid_json"),
}


@pytest.mark.parametrize("case", INVALID)
def test_what_breaks_the_schema_has_a_code_with_a_meaning(case):
    said, expected = INVALID[case]
    assert code(said) == expected
    assert expected in MEANINGS


@given(
    st.integers(0, 12), st.sampled_from(EVALUATIONS), st.sampled_from(EVALUATIONS), st.permutations(KEYS),
    st.sampled_from(["", " ", "\n", "\t"]),
)  # fmt: skip
def test_what_keeps_the_schema_is_read_whatever_the_order_of_keys_and_blanks_around(months, one, two, keys, blank):
    answer = {
        "prosecutorRecommendationMonths": 3,
        "prosecutorEvaluation": one,
        "defenseAttorneyEvaluation": two,
        "sentenceMonths": months,
    }
    said = json.dumps({key: answer[key] for key in keys}, indent=2)
    assert parse_answer(blank + said + blank, valid=VALID, anchor=3) == answer


@given(st.text(max_size=200), st.booleans())
def test_any_text_is_an_answer_or_has_a_code(said, is_lenient):
    judge, of = run_of("", is_lenient), trial(3)
    assert judge.error(of, 0, said) in (None, *MEANINGS)


@pytest.mark.parametrize("case", ["a fence", "prose before", "prose after"])
def test_lenient_takes_one_object_out_of_what_surrounds_it(case):
    assert parse_answer(INVALID[case][0], valid=VALID, anchor=3, is_lenient=True) == GOOD


@pytest.mark.parametrize("case", ["an extra key", "a fraction", "the other condition", "a cut object", "a key twice"])
def test_lenient_is_not_lenient_with_the_object_itself(case):
    said, expected = INVALID[case]
    assert code(f"```json\n{said}\n```", is_lenient=True) in (expected, "not_json_only")


def run_of(ending, is_lenient=False):
    return Run(load_study(f"anchoring-prosecutor-sentencing{ending}"), is_lenient, on_line=None)


def trial(anchor):
    return Trial("t" * 32, Cell("a/b", "shoplifting", "no_technique", "low", anchor, None), 0, "anchored", 0)


def test_three_turns_are_compared_with_their_own_keys_and_put_together():
    judge, of = run_of("-three-turn"), trial(3.0)
    parts = [json.dumps({key: GOOD[key] for key in keys}) for keys in (KEYS[:2], KEYS[2:3], KEYS[3:])]
    assert [judge.error(of, turn, part) for turn, part in enumerate(parts)] == [None] * 3
    assert judge.error(of, 0, text()) == "unknown_key"
    assert judge.error(of, 2, parts[1]) == "missing_key"
    assert judge.result(of, parts) == GOOD
    assert judge.response(of, parts) == 4


@pytest.mark.parametrize("name", ["", "-three-turn"])
def test_prompts_say_what_the_document_prescribes(name):
    design = Design(load_study(f"anchoring-prosecutor-sentencing{name}"))
    (low, high) = design.anchored_cells(design.anchors_from({}))
    for cell, months in ((low, 3), (high, 9)):
        script, replies = design.script(cell), []
        while script.next_turn(replies):
            replies.append("{}")
        said = "\n".join(message["content"] for message in turn_messages(script, replies))
        for words in (
            "Lena M., has been convicted of shoplifting", "12th shoplifting offense", "randomly determined",
            "does not reflect any judicial expertise", f"Lena M. {months} months on probation",
            "Lena M. 1 month on probation", "too low, too high, or just right", "from 0 to 12", "JSON only",
        ):  # fmt: skip
            assert words in said
        assert said.count("too low, too high, or just right") == 2
        assert len(replies) == (3 if name else 1)


def turn_messages(script, replies):
    return [m for m in script.next_turn(replies[:-1]).messages if m["role"] == "user"]
