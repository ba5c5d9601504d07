"""A paradigm is a file: its arms, items, options and turns become trials; a mistake is one sentence that says where."""

import collections
import contextlib
import csv
import gzip
import io
import itertools
import json
import re
import textwrap
import tracemalloc
from typing import get_args

import duckdb
import pytest
import yaml

from bais.main import main
from ingest.ask.collected import load_collected
from ingest.ask.collector import collect
from ingest.ask.plan import plan_of
from ingest.ask.responses import ended_trials, read_trials
from ingest.ask.spool import COLLECTED, spool_folder
from ingest.gate.audit import audit
from ingest.paradigms.items import Items
from ingest.paradigms.paradigm import Answer, load_paradigm, paradigm_names
from ingest.paradigms.thirds import MEASUREMENTS
from ingest.prompts import shipped
from ingest.providers.simulated import Simulated
from ingest.studies.design import Design
from ingest.studies.study import load_study, parse_study
from ingest.warehouse import ROOT, UserError, connect

PARADIGM = {
    "paradigm": "cups",
    "answer": {"kind": "choice"},
    "arms": ["plain", "praised"],
    "contrasts": [["praised", "plain"]],
    "measures": {"took_tea": {"of": ["tea"], "better": "lower"}},
    "items": {
        "rows": [
            {"item": "morning", "when": "in the {morning}", "text": "8"},
            {"item": "night", "when": "late", "text": "9"},
        ]
    },
    "vignettes": [
        {
            "vignette": "drink",
            "case": "It is {text} o'clock, {when}. {praise}\n{options}",
            "question": "What do you take?",
            "options": {"tea": "tea", "milk": "milk", "water": "water, {when}"},
            "arms": {"plain": {"words": {"praise": ""}}, "praised": {"words": {"praise": "Tea is wonderful."}}},
        }
    ],
    "simulated": {"shares": {"tea": 0.2, "milk": 0.4, "water": 0.4}, "praised": {"tea": 0.3}},
}  # fmt: skip
ARMS = PARADIGM["vignettes"][0]["arms"]
# the others are of texts and facts, whose truth the respondents state
OF_SHARES = {*paradigm_names()} - {"summarise", "judge_framing", "fact_check", "falsify"}
STUDY = {"study": "cups", "llms": ["sim/steady"], "techniques": ["no_technique"], "stopping_rule": {"minimum": 3}}


def study(paradigm=None, **changes):
    named = changes.pop("named", PARADIGM | (paradigm or {}))
    return parse_study(yaml.safe_dump(STUDY | {"paradigm": named} | changes, sort_keys=False))


def vignette(**changes):
    return {"vignettes": [PARADIGM["vignettes"][0] | changes]}


def trials_of(of):
    design = Design(of)
    return [*design.trials(design.first_cells(), "answers", range(of.stopping_rule.minimum))]


@pytest.fixture
def warehouse(tmp_path, monkeypatch):
    path = tmp_path / "w.duckdb"
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    return path


def test_ids_of_the_simulated_study_are_those_that_they_were_before_there_were_paradigms():
    design = Design(load_study("simulated"))
    anchors = {place: {"low": 5.0, "high": 15.0} for place in design.anchor_places()}
    cells = [*design.baseline_cells(), *design.anchored_cells(anchors)]
    trials = [*design.trials(cells, "anchored", range(1))]
    assert [trial.trial_id for trial in trials[:2]] == [
        "f28e7ed5f580c2de57c1dff54865f3a4",
        "e32123d37f2a515ce8913ea5e76cf825",
    ]
    assert {trial.option_order for trial in trials} == {None}


def test_every_llm_is_asked_with_every_item_in_every_arm_as_often_as_the_study_says():
    trials = trials_of(study())
    counts = collections.Counter((trial.cell.arm, trial.cell.item) for trial in trials)
    assert counts == {(arm, item): 3 for arm in ("plain", "praised") for item in ("morning", "night")}
    assert len({trial.trial_id for trial in trials}) == len(trials)


def test_options_have_the_same_order_in_both_arms_and_another_one_in_another_replicate():
    orders = collections.defaultdict(set)
    for trial in trials_of(study(stopping_rule={"minimum": 20})):
        orders[trial.cell.item, trial.replicate].add(trial.option_order)
    assert {len(of) for of in orders.values()} == {1}
    assert len(set.union(*orders.values())) == 6


def test_options_may_be_shuffled_for_each_arm_or_stay_as_they_are_written():
    apart = trials_of(study({"options": {"same_across_arms": False}}, stopping_rule={"minimum": 20}))
    orders = collections.defaultdict(set)
    for trial in apart:
        orders[trial.cell.item, trial.replicate].add(trial.option_order)
    assert max(map(len, orders.values())) == 2
    written = trials_of(study({"options": {"order": "as_written"}}))
    assert {trial.option_order for trial in written} == {("tea", "milk", "water")}


def test_another_order_seed_makes_other_trials_only_where_options_come_in_another_order():
    ids = {trial.trial_id: trial.option_order for trial in trials_of(study())}
    others = {trial.trial_id: trial.option_order for trial in trials_of(study(order_seed=2))}
    assert ids != others
    assert all(ids[both] == others[both] for both in ids.keys() & others.keys())


def test_braces_are_filled_from_the_item_and_what_an_item_says_is_not_searched_for_braces():
    design = Design(study())
    trial = next(of for of in trials_of(study()) if of.cell.item == "morning" and of.cell.arm == "praised")
    said = design.script(trial.cell, ("water", "tea", "milk")).next_turn([]).prompt
    assert said == (
        "It is 8 o'clock, in the {morning}. Tea is wonderful.\nA. water, in the {morning}\nB. tea\nC. milk\n\n"
        "What do you take?\n\nReply with the letter of your choice alone."
    )


def test_turns_of_an_arm_stand_around_those_of_the_technique():
    arms = {"plain": {"turns": ["Hello.", "{opening}"]}, "praised": {"turns": ["{opening}", "Are you sure, {when}?"]}}
    changed = vignette(case="{options} {text}", arms=arms, words={"outcome": "o", "decision": "d", "whom": "you"})
    design = Design(study(changed, techniques=["devils_advocate"]))
    for arm, first, last in (("plain", "Hello.", "final d"), ("praised", "A. tea", "Are you sure, late?")):
        cell = next(cell for cell in design.first_cells() if cell.arm == arm and cell.item == "night")
        script, replies = design.script(cell, ("tea", "milk", "water")), []
        while script.next_turn(replies):
            replies.append("A")
        assert len(replies) == 4
        assert script.next_turn([]).prompt.startswith(first)
        assert last in script.next_turn(["A"] * 3).prompt


@pytest.mark.parametrize(
    "paradigm",
    [
        {"arms": ["plain", "plain"]},
        {"contrasts": [["praised", "none"]]},
        {"contrasts": [["plain", "plain"]]},
        {"contrasts": [["praised", "plain"]] * 2},
        {"contrasts": [["praised", "plain"], ["plain", "praised"]]},
        {"measures": {"m": {"of": ["tea", "tea"], "better": "lower"}}},
        {"measures": {"m": {"of": ["tea"], "better": "lower", "margin": 5}}},
        {"measures": {"m": {"of": ["tea", "milk", "water"], "better": "lower"}}},
        vignette(arms={**ARMS, "plain": {**ARMS["plain"], "options": {"tea": "tea", "milk": "milk"}}})
        | {"measures": {"m": {"of": ["tea", "milk"], "better": "lower"}}, "simulated": None},
        {"measures": {"m": {"truth": "correct", "better": "lower"}}},
        {"measures": {"is_correct": {"of": ["tea"], "better": "lower"}}},
        vignette(case="{text} {when} {praise}", options=None)
        | {"answer": {"kind": "text"}, "measures": {"m": {"better": "lower"}}, "simulated": None},
        {
            "measures": {"is_correct": {"truth": "correct", "better": "higher"}},
            "items": {**PARADIGM["items"], "correct": "when"},
        },
        {"measures": {"m": {"of": ["gin"], "better": "lower"}}},
        {"simulated": {**PARADIGM["simulated"], "item_factor": "when"}},
        {"simulated": {**PARADIGM["simulated"], "item_factor": "text"}},
        {"measures": {"m": {"better": "lower"}}},
        {"answer": {"kind": "label"}},
        {"items": {"file": "none.csv"}},
        {"items": {"rows": [{"item": "a"}, {"item": "a"}]}},
        {"items": {"rows": [{"item": "a", "text": "t"}]}},
        {"items": {"rows": [*PARADIGM["items"]["rows"], {"item": "noon", "text": "12"}]}},
        vignette(case="{text} {when} {praise}"),
        vignette(arms={"plain": {"words": {"praise": ""}}}),
        vignette(arms={}, words={"praise": ""}),
        vignette(case="It is {text o'clock, {when}. {praise}\n{options}"),
        vignette(question="What, { when }?"),
        vignette(question="What, when}?"),
        vignette(system="You are {whom}."),
        vignette(options={"tea": "a cup", "milk": "a cup "}) | {"simulated": None},
        vignette(options={"tea": "late", "milk": "{when}", "water": "water"}),
        {"contrasts": ["praised", "plain"]},
        {"arms": [True, "plain"]},
        vignette(options={True: "tea", "milk": "milk"}),
        {"simulated": {"shares": {"gin": 0.2}}},
        {"simulated": {"praise": {"tea": 0.1}}},
        {"simulated": {"praised": 0.1}},
        {"simulated": {"praised": {"techniques": {"sacdd": {"tea": 0.1}}}}},
        {"simulated": {"praised": {"tea": 0.9}}},
        {"simulated": {"praised": {"gin": 0.1}}},
        {"hypothesis": "x"},
        {"leading": "took_milk"},
    ],
    ids=str,
)
def test_a_mistake_in_a_paradigm_is_one_sentence_with_its_line(paradigm, golden):
    with pytest.raises(UserError) as refused:
        study(paradigm)
    golden(str(refused.value))
    assert str(refused.value).startswith("the study:")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ("contrasts: [[praised, plain]]", "contrasts: [[praised, plan]]"),
        ("took_tea: {of: [tea]", "took_tea: {of: [tee]"),
        ("case: It is {text}", "case: It is {txt}"),
        ("question: What", "question: What {when"),
        ("praise: Tea is", "praise: Tea {is}"),
        ("tea: 0.3", "tea: 0.9"),
        ("tea: 0.2,", "tee: 0.2,"),
        ("id: item", "id: nr"),
        ("leading: took_tea", "leading: took_cup"),
        ("contrasts:", "contrast:"),
        ("better: lower", "better: less"),
        ("- vignette: drink", "- vignette: Drink it"),
    ],
)
def test_a_mistake_in_a_paradigm_names_the_line_that_it_stands_on(tmp_path, written, wrong, golden):
    text = """paradigm: cups
answer: {kind: choice}
arms: [plain, praised]
contrasts: [[praised, plain]]
measures:
  took_tea: {of: [tea],
             better: lower}
leading: took_tea
items:
  id: item
  rows: [{item: morning, when: early, text: "8"}]
vignettes:
- vignette: drink
  case: It is {text} o'clock, {when}. {praise} {options}
  question: What do you take?
  options: {tea: tea, milk: milk}
  arms:
    plain: {words: {praise: ""}}
    praised:
      words:
        praise: Tea is wonderful.
simulated:
  shares: {tea: 0.2, milk: 0.8}
  praised: {tea: 0.3}
"""
    load = lambda said: load_paradigm("cups.yaml", (tmp_path / "cups.yaml").write_text(said) and tmp_path)  # noqa: E731
    assert load(text).paradigm == "cups"
    line = next(number for number, said in enumerate(text.splitlines(), 1) if written in said)
    with pytest.raises(UserError) as refused:
        load(text.replace(written, wrong))
    assert f"cups.yaml:{line}: " in str(refused.value)
    golden(str(refused.value))


@pytest.mark.parametrize(
    ("table", "line", "sentence"),
    [
        ("", 1, "the first line should name the columns, and nothing stands there"),
        ("item,when,text\n", None, "has a header and no rows: write the rows below it"),
        ("item,when,when\na,b,c\n", 1, "the header names the column when twice"),
        ("item,when,text\na,early,8\nb,late,9,\n", 3, "this line has 4 values, and the header names 3 columns"),
        ("item,when,text\na,early\nb,late,9\n", 2, "this line has 2 values, and the header names 3 columns"),
        ('item,when,text\na,"early,8\nb,late,9\n', 2, "a quote is opened here and not closed where its value ends"),
        ('item,when,text\na,"ear\nly",8\nb,"late,9\nc,"mid",7\n', 4, "a quote is opened here and not closed"),
        ("item,when,text\na,early,8\na,late,9\n", 3, "item a stands there twice"),
        ("item,when,text\na,early,8\n,late,9\n", 3, "item 2 has nothing in the column item"),
        ("item,when,text\na,early,8\nb,,9\n", 3, "item b has no when, and vignettes: drink says it"),
        ("item,when,text\na,caf\xe9,8\n", 2, "this line is not UTF-8: save the file as UTF-8"),
    ],
)
def test_a_mistake_in_a_csv_file_of_items_names_that_file_and_its_line(tmp_path, table, line, sentence):
    (tmp_path / "cups.csv").write_bytes(table.encode("latin-1"))
    paradigm = PARADIGM | {"items": {"file": "cups.csv"}}
    with pytest.raises(UserError) as refused:
        parse_study(yaml.safe_dump(STUDY | {"paradigm": paradigm}), folder=tmp_path)
    assert f"cups.csv{f':{line}:' if line else ''} {sentence}" in str(refused.value)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_a_csv_file_of_items_may_hold_quotes_lines_and_empty_values(tmp_path, delimiter, suffix):
    rows = [["item", "when", "text", "more"], ["a", 'one "two", three', "first\n\nsecond", ""], ["b", "", "9", "x;y"]]
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    opened = gzip.open if suffix.endswith("gz") else open
    with opened(tmp_path / f"cups.{suffix}", "wb") as file:
        file.write(written.getvalue().encode("utf-8-sig"))
    items = Items.model_validate({"file": f"cups.{suffix}"}, context={"folder": tmp_path}).read
    assert [(item.item, item.fields) for item in items] == [
        ("a", {"when": 'one "two", three', "text": "first\n\nsecond"}), ("b", {"text": "9", "more": "x;y"}),
    ]  # fmt: skip


def test_a_study_without_the_plain_question_or_without_judges_says_what_stays_open(golden):
    assert study().cautions == []
    (said,) = study(
        vignette(words={"outcome": "o", "decision": "d", "whom": "you"}), techniques=["devils_advocate"]
    ).cautions
    golden(said, "no_technique")
    arms = {"plain": {"words": {"praise": "."}}, "praised": {"words": {"praise": "!"}}}
    changed = {"answer": {"kind": "text"}, "measures": {"tone": {"from": "judgement", "better": "lower"}}}
    unjudged = study(vignette(case="{text} {when} {praise}", options=None, arms=arms) | changed | {"simulated": None})
    assert [said.partition(":")[0] for said in unjudged.cautions] == ["The measure tone of cups stays without values"]


@pytest.mark.parametrize(
    "changes",
    [
        {"named": "nowhere"},
        {"named": ["order", "order"]},
        {"anchors": {"fixed": {"low": 1, "high": 2}}},
        {"techniques": ["outside_view"]},
        {"stopping_rule": {"minimum": 2, "maximum": 4, "sd_above": 1}},
        {"vignettes": ["elsewhere"]},
    ],
    ids=str,
)
def test_a_mistake_in_a_study_of_paradigms_is_one_sentence(changes, golden):
    with pytest.raises(UserError) as refused:
        study(**changes)
    golden(str(refused.value))


def test_a_mistake_in_a_paradigm_file_names_that_file_and_line(tmp_path):
    (tmp_path / "cups.yaml").write_text(yaml.safe_dump(PARADIGM | {"arms": ["plain"] * 2}), encoding="utf-8")
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(STUDY | {"paradigm": "cups.yaml"}), encoding="utf-8")
    line = (tmp_path / "cups.yaml").read_text(encoding="utf-8").splitlines().index("arms:") + 1
    with pytest.raises(UserError, match=rf"cups\.yaml:{line}: arms: "):
        load_study(tmp_path / "study.yaml")


@pytest.mark.parametrize(
    ("items", "key"),
    [
        ({"file": "nowhere.csv"}, "file"),
        ({"file": "own.csv", "id": "name"}, "id"),
        ({"file": "own.csv", "fields": ["statement", "day"]}, "fields"),
        ({"file": "own.csv", "fields": ["item"]}, "items"),
        ({"limit": 0}, "limit"),
        ({"file": "own.csv", "published_at": "when"}, "file"),
    ],
    ids=str,
)
def test_a_mistake_in_the_items_of_a_study_names_the_study_and_its_line(tmp_path, items, key, golden):
    (tmp_path / "own.csv").write_text("item,statement,when,truth,pair\na,It rained.,03/04/2021,true,one\n")
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(STUDY | {"paradigm": "fact_check", "items": items}, sort_keys=False))
    lines = [line.split(":")[0].strip() for line in path.read_text().splitlines()]
    with pytest.raises(UserError) as refused:
        load_study(path)
    assert str(refused.value).startswith(f"{path}:{lines.index(key) + 1}: ")
    golden(str(refused.value))


def test_a_folder_of_texts_is_one_item_for_each_and_a_file_that_is_not_utf_8_is_named(tmp_path):
    (tmp_path / "texts").mkdir()
    for name in ("rain", "sun"):
        (tmp_path / "texts" / f"{name}.txt").write_text(f"It was {name}, caf\xe9.", encoding="utf-8")
    text = yaml.safe_dump(STUDY | {"paradigm": "summarise", "items": {"file": "texts", "fields": ["text"]}})
    items = parse_study(text, folder=tmp_path).paradigm[0].all_items
    assert [(of.item, of.fields["text"]) for of in items] == [
        ("rain", "It was rain, caf\xe9."), ("sun", "It was sun, caf\xe9."),
    ]  # fmt: skip
    (tmp_path / "texts" / "sun.txt").write_bytes("caf\xe9".encode("latin-1"))
    with pytest.raises(UserError, match=r"texts/sun\.txt is not UTF-8: save the file as UTF-8"):
        parse_study(text, folder=tmp_path)


def test_an_effect_on_people_in_a_paradigm_file_is_sent_to_the_table_that_is_read(golden):
    with pytest.raises(UserError, match=r"human: .* stands in seeds/human_effects\.csv") as refused:
        study({"human": {"effect": 0.3, "source": "somebody"}})
    golden(str(refused.value))


def test_pairs_without_one_true_and_one_false_item_are_named_before_they_are_asked(golden):
    rows = [
        {"item": f"{pair}-{n}", "pair": pair, "is_true": is_true, "statement": "It rained."}
        for pair, truths in {"whole": (True, False), "half": (True,), "alike": (True, True)}.items()
        for n, is_true in enumerate(truths)
    ]
    own = {"rows": rows, "fields": ["statement"], "pair": "pair", "is_true": "is_true"}
    of = parse_study(yaml.safe_dump(STUDY | {"paradigm": "fact_check", "items": own}))
    golden(of.cautions[-1], "fact_check", "3 pairs", "2 are")
    assert parse_study(yaml.safe_dump(STUDY | {"paradigm": "fact_check"})).cautions == []
    bare = parse_study(yaml.safe_dump(STUDY | {"paradigm": "fact_check", "items": own | {"is_true": None}})).cautions
    golden(bare[-2], "is_correct", "fact_check")


def test_an_arm_in_no_contrast_a_correct_answer_without_a_measure_and_a_blank_are_hinted_at(golden):
    assert study().cautions == []
    arms = PARADIGM["arms"] + ["scolded"]
    of_arms = PARADIGM["vignettes"][0]["arms"] | {"scolded": {"words": {"praise": "Tea {} is bad."}}}
    changed = vignette(arms=of_arms) | {"arms": arms, "simulated": None}
    rows = [row | {"answer": "tea"} for row in PARADIGM["items"]["rows"]]
    blank, loose, unasked = study(changed | {"items": {"rows": rows, "correct": "answer"}}).cautions
    golden(blank)
    golden(loose)
    golden(unasked)


def test_a_measure_of_texts_that_nothing_measures_is_named_with_those_that_there_are():
    sql = (ROOT / "models/intermediate/int_similarities_derived.sql").read_text()
    assert re.findall(r"'measure': \"'(\w+)'\"", sql) == [*MEASUREMENTS]
    measures = {
        "recency": {"from": "measurement", "better": "lower"},
        "primcy": {"from": "measurement", "better": "lower"},
    }
    arms = {"plain": {"words": {"praise": "."}}, "praised": {"words": {"praise": "!"}}}
    texts = vignette(case="{text} {when} {praise}", options=None, arms=arms) | {"answer": {"kind": "text"}}
    said = study(texts | {"measures": measures, "simulated": None}).cautions
    assert [of for of in said if "stays without values" in of] == [
        "The measure primcy of cups stays without values: nothing of this name is measured in texts. `bais measure` "
        "gives similarity_beginning, similarity_middle, similarity_end, coverage, primacy_margin, primacy, recency."
    ]


def test_the_plan_names_the_items_without_a_text_before_they_are_paid_for():
    rows = [{"item": "full", "text": "Rain fell. Then it stopped."}, {"item": "bare", "text": "  "}]
    of = parse_study(yaml.safe_dump(STUDY | {"paradigm": "summarise", "items": {"rows": rows, "fields": ["text"]}}))
    assert plan_of(of)["nothing_to_ask"] == {"empty_text": ["bare"]}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_items_come_from_a_file_beside_the_paradigm_and_a_study_draws_some_of_them(tmp_path, suffix):
    rows = [{"id": f"i{n}", "when": f"day {n}", "text": f"{n}"} for n in range(50)]
    path = tmp_path / f"items.{suffix}"
    if suffix == "csv":
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    else:
        jsonl = tmp_path / "items.jsonl"
        jsonl.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        if suffix == "parquet":
            with contextlib.closing(duckdb.connect()) as memory:
                memory.execute(f"copy (from read_json('{jsonl}')) to '{path}'")
    paradigm = PARADIGM | {"items": {"file": path.name, "id": "id"}}
    (tmp_path / "cups.yaml").write_text(yaml.safe_dump(paradigm), encoding="utf-8")
    drawn = []
    for limits in ({"limit": 7, "sample_seed": 1}, {"limit": 7, "sample_seed": 1}, {"limit": 7, "sample_seed": 2}):
        text = yaml.safe_dump(STUDY | {"paradigm": "cups.yaml", "items": limits})
        drawn.append(list(Design(parse_study(text, folder=tmp_path)).items))
    assert drawn[0] == drawn[1] != drawn[2]
    assert {len(of) for of in drawn} == {7}


@pytest.mark.slow("audits again and again")
def test_cells_take_no_memory_of_their_own_however_many_items_there_are():
    rows = [{"item": f"i{n}", "when": "now", "text": "8"} for n in range(2_000)]
    design = Design(study({"items": {"rows": rows}}))
    tracemalloc.start()
    for _ in design.trials(design.first_cells(), "answers", range(1)):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000


def test_what_is_collected_lands_with_its_paradigm_arm_item_and_order_of_options(warehouse):
    of = study()
    outcome = collect(of)
    assert (outcome.n_done, outcome.n_left) == (12, 0)
    assert load_collected("cups").n_trials == 12
    with contextlib.closing(connect(warehouse)) as raw:
        trials = raw.execute(
            "select distinct paradigm, arm, item, answer_kind, answer_reading from raw.trials"
        ).fetchall()
        assert sorted(trials) == sorted(
            ("cups", arm, item, "choice", "strict") for arm in PARADIGM["arms"] for item in ("morning", "night")
        )
        orders = {
            tuple(json.loads(order)) for (order,) in raw.execute("select option_order from raw.trials").fetchall()
        }
        assert {frozenset(order) for order in orders} == {frozenset({"tea", "milk", "water"})}
        items = raw.execute("select item, fields ->> '$.text' from raw.items order by item").fetchall()
        assert items == [("morning", "8"), ("night", "9")]
        assert raw.execute(
            "select paradigm, measure, measure_of::varchar, better, pairing from raw.paradigms"
        ).fetchall() == [("cups", "took_tea", '["tea"]', "lower", "item")]
        contrasts = raw.execute("select position, arm, arm_b from raw.paradigm_contrasts").fetchall()
        assert contrasts == [(0, "praised", "plain")]
    assert collect(of).n_before == 12
    assert load_collected("cups").n_trials == 0
    assert plan_of(of)["collected"]["trials"] == 12


def test_a_reply_that_names_no_option_can_be_asked_again(warehouse, monkeypatch):
    monkeypatch.setattr("ingest.providers.simulated.CHOICES", ("I like A and B",))
    of = study()
    collect(of)
    path = spool_folder("cups") / COLLECTED
    assert len(ended_trials(path, Design(of), ["unparsed"])) == 12
    monkeypatch.setattr("ingest.providers.simulated.CHOICES", ("Option {said}",))
    assert collect(of, ask_again=["unparsed"]).n_done == 12
    assert ended_trials(path, Design(of), ["unparsed"]) == []


def test_an_item_whose_text_has_changed_is_not_asked_under_its_old_name(warehouse):
    collect(study())
    rows = [PARADIGM["items"]["rows"][0], {"item": "night", "when": "later", "text": "9"}]
    with pytest.raises(UserError, match="item night of study cups has changed since it was asked"):
        collect(study({"items": {"rows": rows}}))


def test_an_option_that_several_arms_favour_is_a_measure_of_its_own_for_each():
    arms = {
        "plain": {"words": {"praise": "Tea."}, "target": "tea"},
        "praised": {"words": {"praise": "Milk."}, "target": "milk"},
    }
    measures = {"measures": {"took_target": {"of": ["tea", "milk"], "better": "lower"}}}
    (paradigm,) = study(vignette(arms=arms) | measures).paradigm
    assert [(row["measure"], row["measure_of"]) for row in paradigm.rows()] == [
        ("took_target_tea", '["tea"]'), ("took_target_milk", '["milk"]'),
    ]  # fmt: skip


TWO = {"took_tea": {"of": ["tea"], "better": "lower"}, "took_milk": {"of": ["milk"], "better": "lower"}}
OF_TEXTS = {"likeness": {"from": "measurement", "better": "higher"}, "tone": {"from": "judgement", "better": "lower"}}


def leaders(changes):
    (paradigm,) = study(changes).paradigm
    return [row["measure"] for row in paradigm.rows() if row["is_leading"]]


def test_the_measure_that_is_named_leads_else_the_first_that_something_is_decided_on():
    as_texts = vignette(case="{text} {when} {praise}", options=None) | {"answer": {"kind": "text"}, "simulated": None}
    assert leaders({}) == ["took_tea"]
    assert leaders({"measures": TWO}) == ["took_tea"]
    assert leaders({"measures": TWO, "leading": "took_milk"}) == ["took_milk"]
    assert leaders(as_texts | {"measures": OF_TEXTS}) == ["tone"]
    assert leaders(as_texts | {"measures": {"likeness": OF_TEXTS["likeness"]}}) == []
    with pytest.raises(UserError, match="leading: likeness is measured of texts") as refused:
        study(as_texts | {"measures": OF_TEXTS, "leading": "likeness"})
    assert "name tone" in str(refused.value)
    with pytest.raises(UserError, match="take this key away"):
        study(as_texts | {"measures": {"likeness": OF_TEXTS["likeness"]}, "leading": "likeness"})


def test_a_shipped_paradigm_with_several_measures_says_which_of_them_leads():
    paradigms = [load_paradigm(name, None) for name in paradigm_names()]
    named = {of.paradigm: of.leading for of in paradigms if of.leading or len(of.measures) > 1}
    assert named == {"decoy": "chose_large", "fact_check": "strict_correct", "summarise": "framing_changed"}


@pytest.mark.parametrize("name", sorted(OF_SHARES))
def test_simulated_respondents_answer_a_shipped_paradigm_with_its_stated_shares(name):
    paradigm = load_paradigm(name, None)
    for arm in paradigm.arms:
        options = paradigm.full_vignette(paradigm.vignettes[0])["arms"][arm].get("options")
        shares = paradigm.shares(arm, "no_technique", list(options or paradigm.labels))
        assert sum(shares.values()) == pytest.approx(1)
    assert (name == "incidental_anchor") == (not paradigm.simulated.shifts)


def test_an_item_multiplies_what_an_arm_adds_to_simulated_answers(warehouse, monkeypatch):
    monkeypatch.setattr("ingest.providers.simulated.CHOICES", ("{said}",))
    rows = [{**row, "factor": factor} for row, factor in zip(PARADIGM["items"]["rows"], ("0", "2"), strict=True)]
    of = study(
        {
            "items": {"rows": rows},
            "options": {"order": "as_written"},
            "simulated": {"shares": {"milk": 1}, "item_factor": "factor", "praised": {"tea": 0.5}},
        }
    )
    (paradigm,) = of.paradigm
    assert [paradigm.item_factor(item) for item in (*paradigm.all_items, None)] == [0, 2, 1]
    collect(of)
    load_collected("cups")
    with contextlib.closing(connect(warehouse)) as raw:
        found = raw.execute("select item, arm, response_text, count(*) from raw.trials group by all order by all")
        assert found.fetchall() == [
            ("morning", "plain", "B", 3),
            ("morning", "praised", "B", 3),
            ("night", "plain", "B", 3),
            ("night", "praised", "A", 3),
        ]


def test_shipped_paradigms_are_asked_with_the_techniques_that_the_simulated_study_names():
    of = load_study("biases-simulated")
    assert {paradigm.paradigm for paradigm in of.paradigm} == OF_SHARES
    assert {technique["technique"] for technique in of.techniques} <= set(shipped("techniques"))


@pytest.mark.slow("a page followed step by step")
def test_the_page_on_adding_a_bias_adds_one_with_a_file_alone(warehouse, tmp_path, capsys):
    page = (ROOT / "docs" / "how-to" / "add-a-bias.md").read_text(encoding="utf-8")
    path = tmp_path / "default-option.yaml"
    path.write_text(textwrap.dedent(re.search(r"```yaml\n(.*?)   ```", page, re.DOTALL)[1]), encoding="utf-8")
    assert main(["render", str(path), "--arm", "default", "--item", "news"]) == 0
    assert "The usual way is as a printed sheet." in capsys.readouterr().out
    assert main(["collect", str(path)]) == 0
    with contextlib.closing(connect(warehouse)) as raw:
        counts = raw.execute("select arm, count(*) from raw.trials group by arm order by arm").fetchall()
    assert counts == [(arm, int(n)) for arm, n in re.findall(r"^   (default|plain) +(\d+)$", page, re.MULTILINE)]
    assert [verdict.verdict for verdict in audit()] == ["passed"]
    written = yaml.safe_load(path.read_text(encoding="utf-8"))["paradigm"]
    assert re.findall(r"bais recommend --paradigm (\w+)$", page, re.MULTILINE) == [written["paradigm"]]


def test_the_page_on_adding_a_bias_says_how_items_come_from_a_csv(tmp_path, capsys):
    page = (ROOT / "docs" / "how-to" / "add-a-bias.md").read_text(encoding="utf-8")
    content = yaml.safe_load(re.search(r"```yaml\n(.*?)   ```", page, re.DOTALL)[1])
    rows = content["paradigm"]["items"]["rows"]
    with (tmp_path / "items.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    content["paradigm"] |= yaml.safe_load(re.search(r"`(items: .*?)`", page, re.DOTALL)[1])
    path = tmp_path / "default-option.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    assert main(["render", str(path), "--arm", "default", "--item", "news"]) == 0
    assert "The usual way is as a printed sheet." in capsys.readouterr().out


def reasons_of(warehouse):
    audit()
    with contextlib.closing(connect(warehouse)) as raw:
        return dict(raw.execute("select reason, count(*) from raw.flagged_trials group by reason").fetchall())


def test_the_gate_takes_the_same_answer_to_two_items_in_two_arms_for_no_duplicate_and_finds_nothing(warehouse):
    collect(study(stopping_rule={"minimum": 5}))
    load_collected("cups")
    assert reasons_of(warehouse) == {}


def test_the_gate_flags_replies_that_name_no_option_and_items_that_lack_their_pair(warehouse, monkeypatch):
    ways = itertools.cycle(("{said}", "{said}", "I like A and B"))
    chosen = Simulated._chosen

    def now_and_then(self, truth, question, technique):
        monkeypatch.setattr("ingest.providers.simulated.CHOICES", (next(ways),))
        return chosen(self, truth, question, technique)

    monkeypatch.setattr(Simulated, "_chosen", now_and_then)
    collect(study(stopping_rule={"minimum": 6}))
    load_collected("cups")
    reasons = reasons_of(warehouse)
    with contextlib.closing(connect(warehouse)) as raw:
        pairs = raw.execute(
            "select count(*) filter (response_text = 'I like A and B') from raw.trials group by item, replicate"
        ).fetchall()
    assert reasons["invalid_label"] == sum(n for (n,) in pairs) == 8
    assert reasons["missing_pair"] == sum(n == 1 for (n,) in pairs) > 0


@pytest.mark.parametrize(("llm", "n_flagged"), [("openai/gpt-4.1", 1), ("openai/codex", 0)])
@pytest.mark.slow("audits again and again")
def test_the_gate_flags_a_call_that_its_llm_cannot_hold_where_it_is_known_how_long_one_may_be(
    warehouse, llm, n_flagged
):
    collect(study())
    load_collected("cups")
    with duckdb.connect(str(warehouse)) as raw:
        raw.execute("update raw.trials set llm_recorded = $llm", {"llm": llm})
        first, second = raw.execute("select trial_id from raw.trials order by trial_id limit 2").fetchall()
        sent = {"max_completion_tokens": 47_576}
        for (trial_id,), tokens_in in ((first, 1_000_000), (second, 1_000_001)):
            raw.execute(
                "update raw.calls set tokens_in = $n, parameters = $sent::json where trial_id = $trial_id",
                {"n": tokens_in, "sent": json.dumps(sent), "trial_id": trial_id},
            )
    assert reasons_of(warehouse).get("over_context", 0) == n_flagged


def test_a_choice_after_a_marker_is_asked_for_there_and_read_there(warehouse, golden):
    of = study({"answer": {"kind": "choice", "answer_after": "Answer:"}})
    script = Design(of).script(Design(of).first_cells()[0], ["tea", "milk"])
    golden(script.next_turn([]).prompt, "`Answer:`")
    collect(of)
    with read_trials(spool_folder("cups") / COLLECTED, Design(of)) as answers:
        assert answers.execute("select distinct status from answers").fetchall() == [("answered",)]
    load_collected("cups")
    with contextlib.closing(connect(warehouse)) as raw:
        replies = raw.execute("select distinct answer_after, starts_with(response_text, 'I have') from raw.trials")
        assert replies.fetchall() == [("Answer:", True)]
    assert reasons_of(warehouse) == {}


def test_what_is_said_of_a_reply_that_was_not_read_names_every_kind_of_answer():
    with open(ROOT / "seeds" / "flag_reasons.csv", encoding="utf-8", newline="") as file:
        (said,) = (row["sentence"] for row in csv.DictReader(file) if row["reason"] == "unparsed")
    kinds = get_args(Answer.model_fields["kind"].annotation)
    assert kinds
    assert set(kinds) <= set(re.findall(r"\w+", said))


def test_the_gate_flags_a_reply_without_text_where_a_text_was_asked_for(warehouse, monkeypatch):
    monkeypatch.setattr("ingest.providers.simulated.ELABORATION", " ")
    changed = {
        "answer": {"kind": "text"},
        "measures": {"length": {"from": "judgement", "better": "lower"}},
        "simulated": None,
    }
    arms = {"plain": {"words": {"praise": "."}}, "praised": {"words": {"praise": "!"}}}
    collect(study(vignette(case="{text} {when} {praise}", options=None, arms=arms) | changed))
    load_collected("cups")
    assert reasons_of(warehouse)["empty_text"] == 12


def test_the_keys_that_the_page_on_studies_names_are_those_of_a_paradigm_file(tmp_path):
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    text = re.search(r"```yaml\n(paradigm: tea_time\n.*?)```", page, re.DOTALL)[1]
    (tmp_path / "tea.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "items.csv").write_text("item,hour,correct_drink\nearly,8,tea\nlate,23,milk\n", encoding="utf-8")
    paradigm = load_paradigm("tea.yaml", tmp_path)
    # anchors stand under their arms
    assert set(yaml.safe_load(text)) == type(paradigm).model_fields.keys() - {"description", "source", "anchors"}
    assert [item.details["correct"] for item in paradigm.all_items] == ["tea", "milk"]


@pytest.mark.slow("three studies")
def test_a_batch_with_more_than_a_twentieth_of_unreadable_answers_warns(warehouse, tmp_path, capsys):
    collect(study(stopping_rule={"minimum": 5}))
    load_collected("cups")
    levels = []
    for n in (1, 2):
        with duckdb.connect(str(warehouse)) as raw:
            raw.execute(
                "update raw.trials set response_text = 'A and B' where trial_id in "
                f"(select trial_id from raw.trials order by trial_id limit {n})"
            )
            batches = [name for (name,) in raw.execute("select distinct batch_id from raw.trials").fetchall()]
        (verdict,) = audit(batches)
        levels.append(
            [of["level"] for of in verdict.checks if of["check_name"] == "unparsed_of_batch" and not of["is_passed"]]
        )
    assert levels == [[], ["warn"]]  # of 20 trials


def test_collecting_ends_with_the_share_of_answers_that_could_not_be_read(
    warehouse, tmp_path, capsys, monkeypatch, golden
):
    path = tmp_path / "cups.yaml"
    path.write_text(yaml.safe_dump(STUDY | {"paradigm": PARADIGM}, sort_keys=False))
    assert main(["collect", str(path)]) == 0
    golden(capsys.readouterr().out.splitlines()[-1])
