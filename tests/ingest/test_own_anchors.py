"""A paradigm of one's own plants anchors: what is said, what is asked when, what is kept, and what is refused."""

import collections
import contextlib
import json

import pytest
import yaml

from analysis.methods.small_samples import FEWEST_BASELINE
from bais.main import main
from ingest.ask.collector import collect
from ingest.ask.history import of_study
from ingest.ask.plan import plan_of
from ingest.ask.spool import COLLECTED, records_of, spool_folder
from ingest.gate.audit import audit
from ingest.gate.mended import hanging
from ingest.paradigms.paradigm import ArmAnchor, Paradigm, paradigm_text
from ingest.prompts import shipped
from ingest.studies.design import Design
from ingest.studies.study import FEWEST_IN_BASE, load_study, parse_study
from ingest.warehouse import UserError, connect

RENT = {
    "vignette": "rent",
    "domain": "housing",
    "response_unit": "euros",
    "valid_min": 0,
    "case": "A flat is to let.",
    "anchor": "Somebody says {anchor} euros.",
    "question": "What is fair?",
}
ARMS = {
    "none": None,
    "low": {"anchor": {"of": "none", "times": 0.5}},
    "middle": {"anchor": {"of": "none", "times": 1.1}},
    "high": {"anchor": {"of": "none", "times": 2}},
}
GOALS = {"pull": {"contrasts": [["high", "low"]], "leads": True}, "off": {"distance_of": ["low", "high"]}}
PARADIGM = {
    "paradigm": "rents", "answer": {"kind": "number"}, "arms": ARMS, "relative_to": "none", "goals": GOALS,
    "vignettes": [RENT],
}  # fmt: skip
LLMS = [
    {"llm": f"sim/{name}", "simulated": {"baselines": {"rent": rent}, "pull": 0.5, "noise": 0.1}}
    for name, rent in (("first", 800), ("second", 640))
]
STUDY = {"study": "rents", "llms": LLMS, "techniques": ["no_technique"], "stopping_rule": {"minimum": 10}}
TWICE = {
    "technique": "twice",
    "turns": ["{opening}", "Once more: {anchor_text} {question_text} {answer_format}"],
}


def study(paradigm=None, **changes):
    named = PARADIGM | (paradigm or {})
    return parse_study(yaml.safe_dump(STUDY | {"paradigm": named} | changes, sort_keys=False))


@pytest.fixture
def warehouse(tmp_path, monkeypatch):
    path = tmp_path / "w.duckdb"
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    return path


def opening(of, arm, value=None, item=None):
    design = Design(of)
    cell = next(cell for cell in _cells(design) if (cell.arm, cell.item) == (arm, item))
    return design.script(cell._replace(anchor_value=value) if value is not None else cell).next_turn([]).prompt


def _cells(design):
    bases = dict.fromkeys(design.anchor_places(), 800.0)
    return [*design.first_cells(), *design.anchored_cells(design.anchors_from(bases))]


def test_the_anchor_is_said_between_case_and_question_in_the_arms_that_have_one():
    of = study()
    assert opening(of, "none").startswith("A flat is to let.\n\nWhat is fair?")
    assert opening(of, "low").startswith("A flat is to let.\n\nSomebody says 400 euros.\n\nWhat is fair?")
    assert "says 880 euros" in opening(of, "middle")


@pytest.mark.parametrize(
    ("anchor", "said", "number"),
    [
        (12, "12", 12),
        ("far more", "far more", None),
        ({"between": [10, 14]}, "10 to 14", 12),
        ({"of": "none", "times": 0.25}, "10", 10),
        ({"of": "none", "times": [0.8, 1.2]}, "32 to 48", 40),
        ({"of": "none", "times": [0.5, 1]}, "20 to 40", 30),
        ({"of": "none", "times": [0.51, 0.61]}, "20 to 24", pytest.approx(22.4)),
    ],
)
def test_an_anchor_is_a_number_a_range_or_words(anchor, said, number):
    of = Paradigm.model_validate(PARADIGM | {"arms": ARMS | {"high": {"anchor": anchor}}}).anchors["high"]
    assert of.number(40.0) == number
    assert of.text(of.number(40.0)) == said


def test_words_that_do_not_fit_the_sentence_of_the_others_are_words_of_the_arm():
    says = "Somebody says {said}."
    arms = {"low": {"words": {"said": "{anchor} euros"}}, "high": {"words": {"said": "that it is {anchor}"}}}
    of = study(
        {
            "arms": {"none": None, "low": ARMS["low"], "high": {"anchor": "dear"}},
            "vignettes": [RENT | {"anchor": says, "arms": arms}],
        }
    )
    assert "Somebody says that it is dear." in opening(of, "high")
    assert "Somebody says 400 euros." in opening(of, "low")


def test_a_vignette_without_a_question_or_a_word_of_the_items_is_told_before_anything_is_asked():
    rent = {key: of for key, of in RENT.items() if key != "question"}
    of = study({"vignettes": [rent], "items": {"rows": [{"item": "a", "size": "20"}, {"item": "b", "size": "30"}]}})
    said = " ".join(of.cautions)
    assert "rent of rents has no `question`" in said
    assert "says nothing of the 2 items, and is asked once for each of them" in said
    assert "question" not in " ".join(study().cautions)


def test_the_end_of_a_range_that_falls_on_a_half_is_rounded_up():
    anchor = ArmAnchor.model_validate({"of": "none", "times": [0.1, 1.3]})
    assert anchor.text(anchor.number(95.0)) == "10 to 124", "9.5 and 123.5"


def test_the_template_of_a_range_says_what_of_the_slot_it_is_so_that_another_range_is_asked_anew():
    ranges = [ArmAnchor.model_validate({"of": "none", "times": of}) for of in ([0.8, 1.2], [0.6, 1.4])]
    assert [of.text("{anchor}") for of in ranges] == [
        "(0.8 to 1.2 times the mean answer in none)",
        "(0.6 to 1.4 times the mean answer in none)",
    ]


def test_all_that_is_relative_to_an_arm_waits_for_it_and_techniques_are_not_asked_in_it():
    design = Design(study(techniques=["no_technique", TWICE]))
    first = collections.Counter((cell.technique, cell.arm) for cell in design.first_cells())
    assert first == {("no_technique", "none"): 2}
    anchors = design.anchors_from({("sim/first", "rent", None): 801.0})
    assert anchors == {("sim/first", "rent", None): {"low": 401, "middle": 881, "high": 1602}}
    then = {(cell.llm, cell.technique, cell.arm, cell.anchor_value) for cell in design.anchored_cells(anchors)}
    assert then == {
        ("sim/first", technique, arm, value)
        for technique in ("no_technique", "twice")
        for arm, value in anchors["sim/first", "rent", None].items()
    }


def test_the_base_is_asked_without_a_technique_where_the_study_names_others_alone():
    design = Design(study(techniques=[TWICE]))
    assert {(cell.technique, cell.arm) for cell in design.first_cells()} == {("no_technique", "none")}
    assert plan_of(design.study)["trials"] == {"low": 2 * 10 * 4, "high": 2 * 10 * 4}


def test_anchors_that_do_not_hang_on_answers_are_asked_at_once():
    of = study({"arms": {"none": None, "low": {"anchor": 300}, "high": {"anchor": "far too much"}}})
    cells = {(cell.arm, cell.anchor_value) for cell in Design(of).first_cells()}
    assert cells == {("none", None), ("low", 300), ("high", None)}
    assert "Somebody says far too much euros." in opening(of, "high")


def test_arms_that_come_to_the_same_anchor_are_not_asked():
    place = ("sim/first", "rent", None)
    assert Design(study()).anchors_from({place: 0.2}) == {}, "low and high are 0"
    assert Design(study()).anchors_from({place: 0.0}) == {}, "nothing is a multiple of 0"
    assert Design(study()).anchors_from({place: 1.0})[place] == {"low": 1, "middle": 1, "high": 2}, (
        "no goal holds low against middle"
    )
    arms = ARMS | {"high": {"anchor": {"of": "none", "times": [1.1, 1.2]}}}
    assert Design(study({"arms": arms})).anchors_from({place: 1.0}) == {}, "1 to 1 is no range"


def test_a_base_that_is_answered_too_seldom_is_told_before_anything_is_asked():
    said = " ".join(study(stopping_rule={"minimum": 4}, temperatures=[0, 1]).cautions)
    assert "The arm none of rents is answered 8 times for each LLM, vignette and item" in said
    assert FEWEST_IN_BASE == FEWEST_BASELINE
    assert "answered" not in " ".join(study(stopping_rule={"minimum": 5}, temperatures=[0, 1]).cautions)


def test_two_arms_with_the_same_number_in_other_words_are_asked():
    arms = {arm: {"words": {"who": who}} for arm, who in (("low", "A clerk"), ("high", "A judge"), ("middle", "A cat"))}
    same = {arm: {"anchor": {"of": "none", "times": 2}} for arm in arms}
    rent = RENT | {"anchor": "{who} says {anchor} euros.", "arms": arms}
    design = Design(study({"arms": {"none": None} | same, "vignettes": [rent]}))
    assert design.anchors_from({("sim/first", "rent", None): 10.0}) == {
        ("sim/first", "rent", None): {"low": 20, "high": 20, "middle": 20}
    }


def test_each_item_has_anchors_of_its_own_and_words_may_name_its_fields():
    items = {"rows": [{"item": "hut", "size": "20", "guess": "90"}, {"item": "villa", "size": "300", "guess": "2,000"}]}
    rent = RENT | {"case": "A flat of {size} square metres is to let."}
    of = study({"items": items, "vignettes": [rent], "arms": ARMS | {"high": {"anchor": "more than {guess}"}}})
    design = Design(of)
    assert design.anchors_from({("sim/first", "rent", "hut"): 100.0}) == {
        ("sim/first", "rent", "hut"): {"low": 50, "middle": 110}
    }
    assert "20 square metres is to let.\n\nSomebody says 50 euros" in opening(of, "low", 50.0, "hut")
    assert "Somebody says more than 2,000 euros." in opening(of, "high", item="villa")


def test_collection_decides_each_anchor_once_and_goes_on_with_it(warehouse):
    outcome = collect(study())
    assert (outcome.n_planned, outcome.n_done, outcome.no_anchors) == (80, 80, [])
    path = spool_folder("rents") / COLLECTED
    decided = [record for record in records_of(path) if record["kind"] == "anchor"]
    trials = [record for record in records_of(path) if record["kind"] == "trial"]
    assert [(record["llm"], record["n_trials"]) for record in decided] == [("sim/first", 10), ("sim/second", 10)]
    for record in decided:
        answers = {trial["anchor_value"] for trial in trials if (trial["llm"], trial["arm"]) == (record["llm"], "low")}
        assert answers == {record["arms"]["low"]}
        assert record["arms"]["low"] == pytest.approx(record["baseline"] / 2, abs=0.5)
    again = collect(study(stopping_rule={"minimum": 12}))
    assert (again.n_before, again.n_done) == (80, 16)
    assert len([record for record in records_of(path) if record["kind"] == "anchor"]) == 2


def test_another_multiple_asks_anew_and_says_which_answers_it_leaves(warehouse, tmp_path, capsys):
    path = tmp_path / "rents.yaml"
    path.write_text(yaml.safe_dump(STUDY | {"paradigm": PARADIGM}, sort_keys=False), encoding="utf-8")
    assert main(["collect", str(path)]) == 0
    other = PARADIGM | {"arms": ARMS | {"low": {"anchor": {"of": "none", "times": 0.4}}}}
    path.write_text(yaml.safe_dump(STUDY | {"paradigm": other}, sort_keys=False), encoding="utf-8")
    capsys.readouterr()
    main(["plan", str(path)])
    said = capsys.readouterr()
    assert "anchors by another rule" in said.out + said.err
    assert main(["collect", str(path)]) == 2, "nothing is asked anew before somebody agrees"


def asked_after(path, n_before):
    """What was asked since there were so many trials: arm, item and anchor."""
    trials = [record for record in records_of(path) if record["kind"] == "trial"]
    return collections.Counter((trial["arm"], trial["item"], trial["anchor_value"]) for trial in trials[n_before:])


@pytest.mark.usefixtures("warehouse")
@pytest.mark.parametrize(("before", "after"), [(300, "a lot"), ("a lot", 300)])
def test_an_anchor_that_becomes_words_or_a_number_is_told_as_the_same_arm_asked_otherwise(before, after):
    collect(study({"arms": ARMS | {"high": {"anchor": before}}}))
    history = of_study(study({"arms": ARMS | {"high": {"anchor": after}}}))
    is_number = before == 300
    assert {change.was for change in history.orphans} == {
        f"arm high {'with' if is_number else 'without'} a number as its anchor"
    }
    assert history.n_again == collect(study({"arms": ARMS | {"high": {"anchor": after}}})).n_done


def test_an_item_that_is_taken_out_is_asked_no_more(warehouse):
    rows = [{"item": "hut", "size": "20"}, {"item": "villa", "size": "300"}]
    rent = RENT | {"case": "A flat of {size} square metres is to let."}
    both, one = (study({"items": {"rows": items}, "vignettes": [rent]}) for items in (rows, rows[:1]))
    assert collect(both).n_done == 160
    more = study({"items": {"rows": rows[:1]}, "vignettes": [rent]}, stopping_rule={"minimum": 11})
    assert collect(one).n_done == 0
    assert collect(more).n_done == 8
    assert {item for _, item, _ in asked_after(spool_folder("rents") / COLLECTED, 160)} == {"hut"}


def test_an_arm_that_is_added_leaves_the_anchors_of_the_others(warehouse):
    first = study(llms=LLMS[:1])
    assert collect(first).n_done == 40
    path = spool_folder("rents") / COLLECTED
    before = asked_after(path, 0)
    more = {"arms": ARMS | {"extreme": {"anchor": {"of": "none", "times": 5}}}}
    assert collect(study(more, llms=LLMS[:1])).n_done == 10
    ((new, n),) = asked_after(path, 40).items()
    assert (new[0], n) == ("extreme", 10)
    assert not before.keys() & {new}


def test_an_arm_that_would_be_told_what_another_one_was_told_is_not_asked(warehouse):
    def llms(rent):
        return [{"llm": "sim/first", "simulated": {"baselines": {"rent": rent}, "pull": 0.5, "noise": 0}}]

    arms = {"none": None, "low": ARMS["low"]}
    goals = {"pull": {"contrasts": [["low", "none"]]}}
    assert collect(study({"arms": arms, "goals": goals}, llms=llms(800))).n_done == 20
    # two more answers of 1040 bring the mean to 840, of which low would be 420, had it not been decided as 400
    more = {"arms": arms | {"middle": {"anchor": {"of": "none", "times": 400 / 840}}}}
    more["goals"] = {"pull": {"contrasts": [["middle", "low"]]}}
    outcome = collect(study(more, llms=llms(1040), stopping_rule={"minimum": 12}))
    assert outcome.no_anchors == ["sim/first on rent"]
    asked = asked_after(spool_folder("rents") / COLLECTED, 20)
    assert asked == {("none", None, None): 2, ("low", None, 400.0): 2}


def test_another_name_or_other_words_have_anchors_of_their_own(warehouse):
    assert collect(study(llms=LLMS[:1])).n_done == 40
    other = [{"llm": "sim/first", "simulated": LLMS[0]["simulated"] | {"baselines": {"rent": 400}}}]
    assert collect(study({"paradigm": "mine"}, llms=other)).n_done == 40
    path = spool_folder("rents") / COLLECTED
    decided = [record for record in records_of(path) if record["kind"] == "anchor"]
    assert [record["paradigm"] for record in decided] == ["rents", "mine"]
    assert [round(record["baseline"], -2) for record in decided] == [800, 400]


def test_top_ups_are_of_what_is_asked_now_and_each_anchor_says_where_it_is_from(warehouse):
    rule = {"minimum": 4, "maximum": 6, "sd_above": 0.1}
    arms = ARMS | {"middle": {"anchor": 700}}
    assert collect(study({"arms": arms}, llms=LLMS[:1], temperatures=[0, 1], stopping_rule={"minimum": 4})).n_done == 32
    assert collect(study({"arms": arms}, llms=LLMS[:1], temperatures=[0], stopping_rule=rule)).n_done == 4 * 2
    trials = [of for of in records_of(spool_folder("rents") / COLLECTED) if of["kind"] == "trial"]
    rules = {(trial["arm"], str(trial["anchor_rule"]), trial["anchor_baseline"] is None) for trial in trials}
    assert rules == {
        ("none", "None", True), ("low", str({"of": "none", "times": 0.5}), False),
        ("middle", str({"value": 700.0}), True), ("high", str({"of": "none", "times": 2.0}), False),
    }  # fmt: skip


def test_what_is_landed_names_arm_and_anchor_and_passes_the_gate(warehouse, tmp_path):
    path = tmp_path / "rents.yaml"
    content = STUDY | {"paradigm": PARADIGM, "techniques": ["no_technique", TWICE]}
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    assert main(["collect", str(path)]) == 0
    assert [of.verdict for of in audit()] == ["passed"]
    with contextlib.closing(connect(warehouse)) as raw:
        arms = raw.execute(
            "select arm, count(distinct anchor_value) from raw.trials group by arm order by arm"
        ).fetchall()
        ((base, goals),) = raw.execute("select distinct relative_to, goals from raw.paradigms").fetchall()
        flagged = raw.execute("select distinct reason from raw.flagged_trials").fetchall()
    assert arms == [("high", 2), ("low", 2), ("middle", 2), ("none", 0)]
    assert base == "none"
    assert [(goal["goal"], goal["leads"]) for goal in json.loads(goals)] == [("pull", True), ("off", False)]
    assert flagged == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"relative_to": "calm"}, "relative_to: calm is not among the arms"),
        ({"relative_to": "low"}, "only the arm under `relative_to` may be called none"),
        ({"relative_to": None}, "goals: say under `relative_to` of which arm they are in per cent"),
        ({"goals": {}}, "relative_to: say under `goals` what techniques should make small"),
        ({"goals": {"pull": {"contrasts": ["high", "low"]}}}, "a list of pairs of arms, each in brackets of its own"),
        ({"goals": {"pull": {}}}, "should hold one of contrasts and distance_of, and holds neither"),
        (
            {"arms": ARMS | {"low": {"anchor": {"of": "none", "times": "half"}}}},
            "arms: low: times: should be a factor such as 0.5",
        ),
        (
            {"arms": ARMS | {"low": {"anchor": {"of": "none", "times": [1.2, 0.8]}}}},
            "should rise, and 1.2 is not below",
        ),
        ({"arms": ARMS | {"low": {"anchor": {"of": "none", "times": 0}}}}, "should be above 0, not 0"),
        ({"vignettes": [RENT | {"valid_max": -1}]}, "valid_min at or below valid_max"),
        ({"goals": {"pull": {"contrasts": [["high", "top"]]}}}, "goals: pull is of top, which is not among the arms"),
        ({"goals": {"pull": {"contrasts": [["high", "high"]]}}}, "goals: pull holds high against itself"),
        ({"goals": {"off": {"distance_of": ["none"]}}}, "goals: off is a distance of none from itself"),
        ({"goals": {"pull": {"contrasts": [["high", "low"]], "distance_of": ["low"]}}}, "should hold one of contrasts"),
        (
            {"goals": {"a": GOALS["pull"], "b": GOALS["pull"]}},
            "goals: one of a, b should say `leads: true`, and a and b do",
        ),
        (
            {"goals": {"off": {"distance_of": ["low"], "guards": ["moved"]}}},
            "guards: they are for a goal of one contrast",
        ),
        (
            {"arms": ARMS | {"low": {"anchor": {"of": "nobody", "times": 2}}}},
            "a multiple of nobody, which is not among",
        ),
        ({"arms": ARMS | {"low": {"anchor": {"of": "middle", "times": 2}}}}, "say `relative_to: middle` too"),
        ({"arms": ARMS | {"low": {"anchor": {"times": 2}}}}, "`of` and `times` go together"),
        ({"arms": ARMS | {"low": {"anchor": {"between": [3, 3]}}}}, "should rise, and 3 is not below 3"),
        ({"arms": ARMS | {"low": {"anker": 3}}}, "arms: low should hold `anchor` or nothing"),
        ({"arms": ARMS | {"none": {"anchor": 3}}}, "relative_to: none has an anchor, and others hang on it"),
        ({"answer": {"kind": "text"}}, "nothing is in per cent of answers that are no numbers"),
        ({"pairing": "between"}, "pairing: each item is compared with its own answers"),
        ({"paradigm": "anchoring"}, "paradigm: anchoring is that of a study that names none"),
        ({"vignettes": ["rent"]}, "rent is not a shipped vignette"),
        ({"vignettes": [RENT | {"anchor": "Somebody says a sum."}]}, "rent says no {anchor} in arm low, which has one"),
        (
            {"vignettes": [{key: of for key, of in RENT.items() if key != "anchor"}]},
            "vignettes: rent says no {anchor} in arm low, which has one",
        ),
        ({"vignettes": [RENT | {"question": "What is fair beside {anchor}?"}]}, "says {anchor} in arm none"),
    ],
)
def test_a_mistake_is_one_sentence(changes, sentence):
    paradigm = {key: of for key, of in (PARADIGM | changes).items() if of is not None}
    with pytest.raises(UserError) as raised:
        parse_study(yaml.safe_dump(STUDY | {"paradigm": paradigm}, sort_keys=False), "rents.yaml")
    said = str(raised.value)
    assert said.startswith("rents.yaml:")
    assert sentence in said


def test_the_shipped_paradigm_under_another_name_asks_what_anchoring_asks(tmp_path):
    (tmp_path / "mine.yaml").write_text(paradigm_text("anchoring").replace("paradigm: anchoring", "paradigm: mine"))
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(STUDY | {"llms": ["sim/steady"], "paradigm": "mine.yaml"}))
    own = Design(load_study(tmp_path / "s.yaml"))
    names = list(shipped("vignettes"))
    content = STUDY | {"llms": ["sim/steady"], "vignettes": names, "anchors": {"proportional": {}}}
    anchoring = Design(parse_study(yaml.safe_dump(content)))
    assert [*own.vignettes] == names
    baselines = {("sim/steady", name, None): 25.0 for name in names}
    anchors = anchoring.anchors_from(baselines)
    assert own.anchors_from(baselines) == anchors

    def said(design, cells):
        # all but the last paragraph, which says the form of the answer
        turns = (design.script(cell).next_turn([]).prompt.rpartition("\n\n")[0] for cell in cells)
        return {
            (cell.vignette, cell.arm or cell.anchor_direction): turn for cell, turn in zip(cells, turns, strict=True)
        }

    assert said(own, [*own.first_cells(), *own.anchored_cells(anchors)]) == said(
        anchoring, [*anchoring.baseline_cells(), *anchoring.anchored_cells(anchors)]
    )
    assert own.paradigms["mine"].leading_goal("same") == "displacement"
    assert own.paradigms["mine"].leading_goal("differs") == "gap"


def test_show_prints_the_shipped_paradigm_as_it_is_written(capsys):
    assert main(["show", "anchoring"]) == 0
    assert capsys.readouterr().out == paradigm_text("anchoring")
    assert main(["show", "framing", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["paradigm"] == "framing"


def test_an_answer_in_the_base_names_the_anchors_that_hang_on_it(warehouse, tmp_path):
    path = tmp_path / "rents.yaml"
    path.write_text(yaml.safe_dump(STUDY | {"paradigm": PARADIGM}, sort_keys=False), encoding="utf-8")
    assert main(["collect", str(path)]) == 0
    with contextlib.closing(connect(warehouse)) as raw:
        of_first = "select trial_id from raw.trials where arm = '{}' and llm_recorded = 'sim/first' limit 1"
        ((base,),), ((low,),) = (raw.execute(of_first.format(arm)).fetchall() for arm in ("none", "low"))
        (anchors,) = hanging(raw, [base])
        assert hanging(raw, [low]) == []
    assert (anchors.llm, anchors.vignette, anchors.n_trials, len(anchors.anchors)) == ("sim/first", "rent", 30, 3)


def test_a_plan_says_what_each_anchor_is_and_which_goal_leads(tmp_path, capsys):
    path = tmp_path / "rents.yaml"
    arms = ARMS | {"middle": {"anchor": "a fair sum"}, "high": {"anchor": {"of": "none", "times": [1.5, 2.5]}}}
    paradigm = PARADIGM | {"arms": arms}
    path.write_text(yaml.safe_dump(STUDY | {"paradigm": paradigm}, sort_keys=False), encoding="utf-8")
    assert main(["plan", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "rents: none, low (0.5 times none), middle (“a fair sum”), high (1.5 to 2.5 times none)" in said
    assert "goals pull, off (pull leads)" in said
