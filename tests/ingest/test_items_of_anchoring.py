"""Items of a vignette of anchoring: what is said of each, which anchors it gets, what is kept, and what is refused."""

import collections
import json

import pytest
import yaml

from bais.main import main
from ingest.ask.collector import collect
from ingest.ask.history import of_study
from ingest.ask.plan import plan_of
from ingest.ask.responses import read_trials
from ingest.ask.spool import COLLECTED, records_of, spool_folder
from ingest.gate.audit import audit
from ingest.run import load_study_trials
from ingest.studies.design import Design
from ingest.studies.families import differences, families_declared
from ingest.studies.study import load_study
from ingest.warehouse import UserError

ITEMS = "item,size,usual,least,most\nsmall,20,300,90,500\nlarge,80,900,200,1500\n"
RENT = {
    "vignette": "rent",
    "domain": "housing",
    "response_unit": "EUR",
    "valid_min": 0,
    "valid_max": 9000,
    "case": "A flat of {size} square metres is to let.",
    "anchor": "A neighbour says {anchor}.",
    "question": "Which rent is fair for {size} square metres?",
    "words": {"outcome": "rent of {size}"},
    "items": "rents.csv",
}
STUDY = {
    "study": "rents",
    "llms": [{"llm": "sim/one", "simulated": {"baselines": {"rent": "usual"}, "pull": 0.5, "noise": 0.01}}],
    "vignettes": [RENT],
    "techniques": ["no_technique", {"technique": "twice", "turns": ["{opening}", "Which {outcome}? {size}?"]}],
    "anchors": {"proportional": {"low": 0.5, "high": 1.5}},
    "stopping_rule": {"minimum": 3},
}  # fmt: skip


@pytest.fixture
def study(tmp_path):
    """Write the study with changes, and its items, and read it."""

    def read(items=ITEMS, rent=None, **changes):
        (tmp_path / "rents.csv").write_text(items)
        content = STUDY | {"vignettes": [RENT | (rent or {})]} | changes
        (tmp_path / "rents.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
        return load_study(tmp_path / "rents.yaml")

    return read


def spooled(kind):
    return [record for record in records_of(spool_folder("rents") / COLLECTED) if record["kind"] == kind]


def test_the_columns_of_an_item_fill_the_slots_of_case_question_words_and_techniques(study):
    design = Design(study())
    cell = design.cell("sim/one", "rent", "twice", "low", "large", value=450.0)
    script = design.script(cell)
    assert script.next_turn([]).prompt.startswith(
        "A flat of 80 square metres is to let.\n\nA neighbour says 450.\n\nWhich rent is fair for 80 square metres?"
    )
    assert script.next_turn(["500"]).prompt == "Which rent of 80? 80?"
    template = json.loads(design.version("rent", "twice", True)[1])
    assert "A flat of {size} square metres" in template["turns"][0]


def test_what_an_item_says_in_braces_stays_as_it_is(study):
    design = Design(study(ITEMS.replace("small,20", "small,{anchor} {question_text}")))
    cell = design.cell("sim/one", "rent", "no_technique", "low", "small", value=7.0)
    assert "A flat of {anchor} {question_text} square metres" in design.script(cell).next_turn([]).prompt


def test_each_item_has_a_baseline_and_anchors_of_its_own_and_they_stay(study):
    collect(study())
    anchors = {record["item"]: record for record in spooled("anchor")}
    means = collections.defaultdict(list)
    with read_trials(spool_folder("rents") / COLLECTED, Design(study())) as answers:
        for item, response in answers.execute(
            "select item, response from answers where anchor_value is null"
        ).fetchall():
            means[item].append(response)
    for item, usual in (("small", 300), ("large", 900)):
        mean = sum(means[item]) / 3
        assert anchors[item]["baseline"] == pytest.approx(mean)
        assert mean == pytest.approx(usual, rel=0.05)
        for direction, times in (("low", 0.5), ("high", 1.5)):
            assert abs(anchors[item][direction] - times * mean) <= 0.5 + 1e-9
    collect(study(stopping_rule={"minimum": 5}))
    assert len(spooled("anchor")) == 2
    asked = {(trial["item"], trial["anchor_direction"], trial["anchor_value"]) for trial in spooled("trial")}
    assert asked == {
        (item, direction, None if direction == "none" else anchors[item][direction])
        for item in ("small", "large")
        for direction in ("none", "low", "high")
    }


def test_anchors_may_stand_in_columns_and_need_no_baseline(study):
    of = study(anchors={"columns": {"low": "least", "high": "most"}}, baselines=False)
    design = Design(of)
    anchors = design.anchors_from({})
    assert anchors == {
        ("sim/one", "rent", "small"): {"low": 90, "high": 500},
        ("sim/one", "rent", "large"): {"low": 200, "high": 1500},
    }
    assert collect(of).n_done == 2 * 2 * 2 * 3
    assert {trial["anchor_value"] for trial in spooled("trial")} == {90, 500, 200, 1500}


def test_an_item_is_part_of_an_id_and_a_vignette_without_items_keeps_the_id_of_ever(study):
    design = Design(study())
    small, large = (design.cell("sim/one", "rent", "no_technique", "none", item) for item in ("small", "large"))
    assert design.trial_id(small, 0) != design.trial_id(large, 0)
    assert small.key == ("sim/one", "rent", "no_technique", "none", None, None, None, "small")
    plain = design.cell("sim/one", "rent", "no_technique", "none")
    assert plain.key == ("sim/one", "rent", "no_technique", "none", None, None)


def test_a_plan_counts_every_item(study, capsys, golden, tmp_path):
    planned = plan_of(study())
    # one LLM, two items: a baseline and two techniques under two anchors each, three times
    assert planned["trials"]["low"] == 2 * (1 + 2 * 2) * 3
    assert planned["grid"]["items"] == {"rent": 2}
    assert main(["plan", str(tmp_path / "rents.yaml")]) == 0
    golden(capsys.readouterr().out)


def test_what_was_asked_of_an_item_stays_and_its_other_columns_may_change(study):
    collect(study())
    assert of_study(study(ITEMS.replace("900", "950"))).n_orphans == 0
    assert of_study(study(ITEMS.replace("1500", "1600"))).n_orphans == 0
    with pytest.raises(UserError, match="item large of study rents has changed since it was asked, in size"):
        collect(study(ITEMS.replace("large,80", "large,90")))
    with pytest.raises(UserError, match="item large of study rents has changed since it was asked, in most"):
        collect(study(ITEMS.replace("1500", "1600"), anchors={"columns": {"low": "least", "high": "most"}}))
    fewer = of_study(study(ITEMS.rpartition("large")[0]))
    assert (fewer.n_orphans, fewer.n_again) == (15, 0)
    more = collect(study(ITEMS + "middle,50,600,150,1000\n"))
    assert (more.n_before, more.n_done) == (30, 15)


def test_other_items_are_other_cases_and_so_another_family(study):
    before, now = (
        {family.goal: family for family in families_declared(study(items, techniques=["no_technique", "premortem"],
         rent={"words": RENT["words"] | dict.fromkeys(("decision", "whom", "setting", "overturned"), "x")}))}
        for items in (ITEMS, ITEMS.replace("large", "huge"))
    )  # fmt: skip
    assert before["gap"].content["cases"]["rent"].startswith("2 items, ")
    assert before["gap"].family != now["gap"].family
    assert differences(before["gap"].content, now["gap"].content) == ["other items as cases"]


def test_the_gate_holds_an_anchor_against_the_baseline_of_its_item(study, query):
    collect(study(stopping_rule={"minimum": 12}))
    load_study_trials("rents")
    (verdict,) = audit()
    assert (verdict.verdict, dict(verdict.n_flagged)) == ("passed", {})
    assert query("select item, fields ->> 'size' from raw.items order by all") == [("large", "80"), ("small", "20")]
    assert query("select count(distinct item), count(*) filter (item is null) from raw.trials") == [(2, 0)]


@pytest.mark.slow("audits again and again")
def test_anchors_that_are_those_of_another_item_are_held_back(study, monkeypatch):
    right = Design.anchors_from

    def exchanged(self, *arguments):
        anchors = right(self, *arguments)
        items = {"small": "large", "large": "small"}
        return {(*place[:2], items[place[2]]): of for place, of in anchors.items()}

    monkeypatch.setattr(Design, "anchors_from", exchanged)
    collect(study(stopping_rule={"minimum": 12}))
    load_study_trials("rents")
    (verdict,) = audit()
    assert verdict.n_flagged["quarantined"] == 2 * 2 * 2 * 12


@pytest.mark.parametrize(
    "changes",
    [
        {"rent": {"case": "A flat of {rooms} rooms."}},
        {"rent": {"case": "A flat.", "question": "Which rent?", "words": {"outcome": "rent"}}},
        {"rent": {"words": {"outcome": "rent", "size": "big"}}},
        {"rent": {"items": "no.csv"}},
        {"rent": {"items": {"file": "rents.csv", "fields": ["usual"]}}},
        {"items": ITEMS.replace("large,80", "large,")},
        {"items": ITEMS.replace("large", "small")},
        {"items": ITEMS.replace("900", "dear")},
        {"anchors": {"columns": {"low": "least", "high": "dearest"}}},
        {"items": ITEMS.replace("1500", ""), "anchors": {"columns": {"low": "least", "high": "most"}}},
        {"anchors": {"columns": {"low": "most", "high": "least"}}},
        {"anchors": {"columns": {"low": "least", "high": "most"}, "fixed": {"low": 1, "high": 2}}},
        {"vignettes": ["burglary"], "llms": ["sim/anchored"], "techniques": ["no_technique"],
         "anchors": {"columns": {"low": "least", "high": "most"}}},
        {"vignettes": ["burglary"], "techniques": ["no_technique"],
         "llms": [{"llm": "sim/one", "simulated": {"baselines": {"burglary": "usual"}}}]},
        {"vignettes": [RENT, RENT | {"vignette": "rent_again"}],
         "llms": [{"llm": "sim/one", "simulated": {"baselines": {"rent": 1, "rent_again": 1}}}]},
    ],
)  # fmt: skip
def test_a_mistake_in_items_is_one_sentence_with_its_line(study, changes, tmp_path, golden):
    with pytest.raises(UserError) as refused:
        study(**changes)
    golden(str(refused.value).replace(str(tmp_path), "<folder>"))
