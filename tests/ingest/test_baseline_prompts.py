"""Whether a prompt without an anchor is the anchored one less the anchor, and what else differs, in words."""

import contextlib

import pytest
import yaml

from bais.main import main
from ingest.ask.collected import load_collected
from ingest.bring.mapping import Vignette
from ingest.studies.baseline import NOT_ASKED, OF_BASELINES, baseline_prompt
from ingest.studies.study import load_study, parse_study
from ingest.warehouse import connect, warehouse_path

RESPONDENT = {"llm": "sim/a", "simulated": {"baselines": {"rent": 800, "shoplifting": 24, "burglary": 30}}}
ANCHORING = {
    "study": "s", "llms": [RESPONDENT], "techniques": ["no_technique"], "vignettes": ["shoplifting"],
    "anchors": {"proportional": {"low": 0.5, "high": 1.5}}, "stopping_rule": {"minimum": 2},
}  # fmt: skip
RENT = {
    "vignette": "rent", "domain": "housing", "response_unit": "euros", "case": "A flat is to let.",
    "anchor": "A neighbour pays {anchor}.", "question": "What is a fair rent?",
}  # fmt: skip
PARADIGM = {
    "paradigm": "rents", "answer": {"kind": "number"}, "relative_to": "none",
    "arms": {"none": None, "low": {"anchor": {"of": "none", "times": 0.5}}, "high": {"anchor": {"between": [9, 12]}}},
    "goals": {"away": {"contrasts": [["low", "none"], ["high", "none"]], "leads": "same"},
              "pull": {"contrasts": [["high", "low"]], "leads": "differs"}},
}  # fmt: skip


def both(treatment):
    """The same treatment in both arms that have an anchor."""
    return {"low": treatment, "high": treatment}


def said_of(content):
    """What is said of each vignette of a study."""
    study = parse_study(yaml.safe_dump(content, sort_keys=False)).model_dump(mode="json", exclude_none=True)
    return {vignette["vignette"]: baseline_prompt(study, vignette) for vignette in study["vignettes"]}


def of_rent(**changes):
    vignette = RENT | changes
    return said_of({
        "study": "s", "llms": [RESPONDENT], "techniques": ["no_technique"],
        "paradigm": PARADIGM | {"vignettes": [vignette]},
    })["rent"]  # fmt: skip


@pytest.mark.parametrize("name", ["judicial", "multi-domain", "simulated"])
def test_shipped_studies_ask_without_an_anchor_what_they_ask_with_one(name):
    study = load_study(name).model_dump(mode="json", exclude_none=True)
    assert {baseline_prompt(study, vignette) for vignette in study["vignettes"]} == {("same", None)}


def test_a_second_demand_is_a_difference_and_what_is_not_asked_is_no_baseline():
    second = "The defense attorney demands as a sentence for the accused Lena M. 1 month on probation."
    differs = f"anchored prompts also say “{second}”, which the unanchored prompt does not"
    assert said_of(ANCHORING | {"second_anchor": 1}) == {"shoplifting": ("differs", differs)}
    fixed = {"anchors": {"fixed": {"low": 3, "high": 9}}, "baselines": False}
    assert said_of(ANCHORING | fixed) == {"shoplifting": ("differs", NOT_ASKED)}


def test_a_bias_without_goals_has_no_baseline_to_differ():
    study = load_study("biases-simulated").model_dump(mode="json", exclude_none=True)
    assert {baseline_prompt(study, vignette) for vignette in study["vignettes"]} == {(None, None)}


SAID = both({"words": {"said": "that it costs {anchor} euros"}})
ARM_WORDS = {"none": {"words": {"seen": "A flat is to let."}}}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"anchor": "Chance drew this.\n\nA neighbour pays {anchor}. So it says."},
        {"anchor": "A neighbour says {said}.", "arms": SAID},
        # of the words and turns of an arm the sentence that says the anchor is its part
        {"anchor": "{anchor}", "case": "{seen}", "arms": {
            **ARM_WORDS, **both({"words": {"seen": "It costs {anchor}. A flat is to let."}}),
        }},
        {"anchor": "{anchor}", "arms": {
            "none": {"turns": ["Be fair. {opening}"]},
            **both({"turns": ["Be fair. It costs {anchor}! {opening}"]}),
        }},
    ],
)  # fmt: skip
def test_a_prompt_less_the_part_that_holds_the_anchor_is_the_same(changes):
    assert of_rent(**changes) == ("same", None)


@pytest.mark.parametrize(
    ("changes", "differs_by"),
    [
        ({"arms": {"low": {"turns": ["Think hard.\n\n{opening}"]}}},
         "anchored prompts also say “Think hard.”, which the unanchored prompt does not"),
        ({"arms": {"none": {"turns": ["Take your time. {opening}"]}}},
         "the unanchored prompt also says “Take your time.”, which anchored prompts do not"),
        ({"question": "What is a {kind} rent?", "words": {"kind": "fair"},
          "arms": both({"words": {"kind": "usual"}})},
         "anchored prompts say “What is a usual rent?” where the unanchored prompt says “What is a fair rent?”"),
        ({"arms": {"none": {"turns": ["Hello.", "{opening}"]}}},
         "anchored prompts have 1 turn, the unanchored prompt has 2 turns"),
        # another demand that hides in the part of the anchor
        ({"anchor": "A neighbour pays {anchor}. Others offer 300."},
         "with their anchor, anchored prompts name another number: “A neighbour pays {anchor}. Others offer 300.”"),
    ],
)  # fmt: skip
def test_what_differs_beside_the_anchor_is_said(changes, differs_by):
    assert of_rent(**changes) == ("differs", differs_by)


def test_the_words_of_a_studys_own_plain_technique_are_those_that_are_compared():
    told = {
        "technique": "no_technique",
        "turns": ["{case_text}\n\n{anchor_text}\n\nNo more is known.\n\n{question_text}"],
    }
    assert said_of(ANCHORING | {"techniques": [told]}) == {"shoplifting": ("same", None)}


def stated():
    with contextlib.closing(connect(warehouse_path())) as warehouse:
        return warehouse.sql("select vignette, baseline_prompt, n_trials from raw.batches order by ordinal").fetchall()


def test_it_lands_with_the_trials_and_comes_after_those_that_landed_without_it(warehouse, tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(yaml.safe_dump(ANCHORING, sort_keys=False), encoding="utf-8")
    assert main(["collect", str(path)]) == 0
    assert stated() == [("shoplifting", "same", 6)]
    load_collected("s")
    assert len(stated()) == 1
    with contextlib.closing(connect(warehouse_path(), read_only=False)) as writing:
        writing.execute("update raw.batches set baseline_prompt = null")
    load_collected("s")
    assert stated() == [("shoplifting", None, 6), ("shoplifting", "same", 0)]


def test_a_table_declares_it_with_what_differs():
    def read(**declared):
        found = Vignette.model_validate({"domain": "salary", "response_unit": "USD"} | declared).model_dump()
        return tuple(found[name] for name in OF_BASELINES)

    assert read() == (None, None)
    assert read(baseline_prompt="same") == ("same", None)
    assert read(baseline_prompt="differs", differs_by="a second demand") == ("differs", "a second demand")
    for wrong in ({"baseline_prompt": "differs"}, {"baseline_prompt": "same", "differs_by": "x"}):
        with pytest.raises(ValueError, match="say `differs` and in differs_by what differs"):
            read(**wrong)
