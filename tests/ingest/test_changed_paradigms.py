"""A paradigm that changes after trials were collected: what is measured follows the file, what is asked is agreed."""

import contextlib
import json
import re
import sys

import pytest
import yaml

from bais.main import main
from ingest.ask.collected import load_collected
from ingest.ask.collector import Collector, collect
from ingest.ask.history import of_study, render_asked
from ingest.ask.plan import plan_of
from ingest.ask.spool import COLLECTED, records_of, spool_folder
from ingest.land.models import query_of
from ingest.studies.design import Design
from ingest.studies.study import parse_study
from ingest.warehouse import UserError, connect

pytestmark = pytest.mark.slow("collects again and again")

ROWS = [
    {"item": "morning", "hour": "8", "note": "first", "drink": "tea"},
    {"item": "night", "hour": "11", "note": "last", "drink": "milk"},
]
VIGNETTE = {
    "vignette": "drink",
    "case": "It is {hour} o'clock.{praise}\n{options}",
    "options": {"tea": "a cup of tea", "milk": "a glass of milk", "water": "water"},
    "arms": {"plain": {"words": {"praise": ""}}, "praised": {"words": {"praise": " Tea is wonderful."}}},
}
PARADIGM = {
    "paradigm": "cups",
    "answer": {"kind": "choice"},
    "arms": ["plain", "praised"],
    "contrasts": [["praised", "plain"]],
    "measures": {"took_tea": {"of": ["tea"], "better": "lower", "margin": 0.05}},
    "items": {"rows": ROWS, "correct": "drink"},
    "vignettes": [VIGNETTE],
}
STUDY = {"study": "cups", "llms": ["sim/steady"], "techniques": ["no_technique"], "stopping_rule": {"minimum": 3}}
N_TRIALS = 12


def study(paradigm=None, **changes):
    return parse_study(yaml.safe_dump(STUDY | {"paradigm": PARADIGM | (paradigm or {})} | changes, sort_keys=False))


def items(change):
    return {"items": PARADIGM["items"] | {"rows": [change(dict(row)) for row in ROWS]}}


@pytest.fixture
def query(warehouse):
    """Load the study, and ask for rows of a staging model."""

    def ask(model, columns):
        load_collected("cups")
        with contextlib.closing(connect()) as raw:
            return raw.execute(f"select {columns} from ({query_of(model)}) order by all").fetchall()

    return ask


def notes(of):
    return "\n".join(render_asked(of_study(of)))


def test_another_measure_margin_and_contrast_are_those_of_the_tables_and_nothing_is_asked_again(query, golden):
    collect(study())
    assert query("stg_paradigms", "measure, better, margin") == [("took_tea", "lower", 0.05)]
    changed = study(
        {
            "measures": {
                "took_tea": {"of": ["tea"], "better": "higher", "margin": 0.2},
                "took_milk": {"of": ["milk"], "better": "lower"},
            },
            "contrasts": [["plain", "praised"]],
        }
    )
    said = notes(changed)
    golden(said, "cups")
    assert "(took_tea, took_milk, contrasts)" in said
    golden(said, "asked again")
    assert plan_of(changed)["collected"]["notes"] == said.splitlines()
    assert (collect(changed).n_before, notes(changed)) == (N_TRIALS, "")
    assert query("stg_paradigms", "measure, better, margin") == [
        ("took_milk", "lower", None),
        ("took_tea", "higher", 0.2),
    ]
    assert query("stg_paradigm_contrasts", "arm, arm_b") == [("plain", "praised")]


TWO = {**PARADIGM["measures"], "took_milk": {"of": ["milk"], "better": "lower"}}


def test_another_measure_that_leads_is_that_of_the_tables_and_no_part_of_what_was_asked(query, golden):
    def ids(of):
        design = Design(of)
        return [trial.trial_id for trial in design.trials(design.first_cells(), "answers", range(3))]

    collect(study({"measures": TWO}))
    assert query("stg_paradigms", "measure, is_leading") == [("took_milk", False), ("took_tea", True)]
    changed = study({"measures": TWO, "leading": "took_milk"})
    assert ids(changed) == ids(study({"measures": TWO}))
    assert "(took_tea, took_milk)" in notes(changed)
    golden(notes(changed), "asked again")
    assert (of_study(changed).n_again, collect(changed).n_before) == (0, N_TRIALS)
    assert query("stg_paradigms", "measure, is_leading") == [("took_milk", True), ("took_tea", False)]


def test_in_a_spool_and_a_warehouse_that_say_of_no_measure_that_it_leads_each_that_is_decided_on_does(query):
    collect(study({"measures": TWO}))
    query("stg_paradigms", "measure")
    path = spool_folder("cups") / COLLECTED
    path.write_text(re.sub(r', ?"is_leading": ?(true|false)', "", path.read_text(encoding="utf-8")), encoding="utf-8")
    assert "is_leading" not in path.read_text(encoding="utf-8")
    with contextlib.closing(connect(read_only=False)) as raw:
        raw.execute("alter table raw.paradigms drop column is_leading")
    assert notes(study()) != ""
    assert query("stg_paradigms", "measure, is_leading") == [("took_milk", True), ("took_tea", True)]
    collect(study())
    assert query("stg_paradigms", "measure, is_leading") == [("took_tea", True)]


def test_a_spool_from_before_a_measure_led_is_not_said_to_have_measured_otherwise(warehouse):
    collect(study())
    path = spool_folder("cups") / COLLECTED
    path.write_text(re.sub(r', ?"is_leading": ?(true|false)', "", path.read_text(encoding="utf-8")), encoding="utf-8")
    assert notes(study()) == ""


def test_a_measure_that_is_taken_back_leaves_the_tables_and_what_was_stated_before_stays_in_raw(query):
    both = {**PARADIGM["measures"], "took_milk": {"of": ["milk"], "better": "lower"}}
    collect(study({"measures": both}))
    query("stg_paradigms", "measure")
    collect(study())
    assert query("stg_paradigms", "measure") == [("took_tea",)]
    collect(study())
    collect(study({"measures": both}))
    assert query("stg_paradigms", "measure") == [("took_milk",), ("took_tea",)]
    with contextlib.closing(connect()) as raw:
        stated = raw.execute("select count(*) from raw.paradigms group by stated_at order by stated_at").fetchall()
    assert stated == [(2,), (1,), (2,)]


def test_what_an_older_version_of_bais_landed_counts_until_something_else_is_stated(query):
    collect(study())
    query("stg_paradigms", "measure")
    with contextlib.closing(connect(read_only=False)) as raw:
        for table in ("paradigms", "paradigm_contrasts", "items"):
            raw.execute(f"alter table raw.{table} drop column stated_at")
    assert query("stg_paradigms", "measure, margin") == [("took_tea", 0.05)]
    collect(study({"measures": {"took_tea": PARADIGM["measures"]["took_tea"] | {"margin": 0.3}}}))
    assert query("stg_paradigms", "measure, margin") == [("took_tea", 0.3)]
    assert query("stg_items", "item") == [("morning",), ("night",)]


@pytest.mark.parametrize(
    "change",
    [
        {"paradigm": {"paradigm": "mugs"}},
        {"order_seed": 2},
        {"paradigm": {"options": {"order": "as_written"}}},
        {"paradigm": {"options": {"same_across_arms": False}}},
    ],
    ids=str,
)
def test_another_name_or_order_is_asked_about_and_once_it_is_agreed_to_it_is_asked_anew(
    warehouse, tmp_path, capsys, monkeypatch, change, golden
):
    collect(study())
    path = tmp_path / "cups.yaml"
    content = STUDY | {"paradigm": PARADIGM | change.get("paradigm", {})}
    path.write_text(
        yaml.safe_dump(content | {key: of for key, of in change.items() if key != "paradigm"}, sort_keys=False)
    )
    changed = study(**change)
    n_again = of_study(changed).n_again
    assert 0 < n_again <= N_TRIALS
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: False, raising=False)
    assert main(["collect", str(path), "--no-load"]) == 2
    told = capsys.readouterr().err
    assert f"{n_again:,} answers" in told
    golden(told)
    assert main(["collect", str(path), "--no-load", "--orphan"]) == 0
    assert f"{n_again:,} now" in capsys.readouterr().out
    assert of_study(changed).n_again == 0
    assert collect(changed).n_calls == 0
    assert collect(study()).n_calls == 0
    assert of_study(study()).n_again == 0


def test_answers_under_a_new_name_of_the_paradigm_land_beside_the_old_ones(query):
    collect(study())
    Collector(Design(study({"paradigm": "mugs"}))).collect()
    names = [record["paradigm"] for record in records_of(spool_folder("cups") / COLLECTED) if record["kind"] == "trial"]
    assert sorted(names) == ["cups"] * N_TRIALS + ["mugs"] * N_TRIALS
    assert len(query("stg_trials", "trial_id")) == 2 * N_TRIALS


def test_options_that_are_written_in_another_order_are_another_order_where_they_are_shown_as_written(warehouse):
    as_written = {"options": {"order": "as_written"}}
    collect(study(as_written))
    turned = VIGNETTE | {"options": dict(reversed(VIGNETTE["options"].items()))}
    assert of_study(study(as_written | {"vignettes": [turned]})).n_again == N_TRIALS
    assert of_study(study({"vignettes": [turned]})).n_orphans > 0
    assert of_study(study(as_written)).n_orphans == 0


def test_a_field_that_nobody_is_shown_may_come_change_and_be_measured(query):
    collect(study({"items": {"rows": ROWS}}))
    changed = study(items(lambda row: row | {"note": "another", "more": "new"}))
    assert plan_of(changed)["lacking"] is None
    assert collect(changed).n_before == N_TRIALS
    assert query("stg_items", "item, correct, fields ->> '$.note', fields ->> '$.more'") == [
        ("morning", "tea", "another", "new"),
        ("night", "milk", "another", "new"),
    ]
    n_lines = sum(record["kind"] == "item" for record in records_of(spool_folder("cups") / COLLECTED))
    collect(changed)
    assert sum(record["kind"] == "item" for record in records_of(spool_folder("cups") / COLLECTED)) == n_lines


def test_the_plan_says_of_a_field_that_is_shown_what_collect_refuses_with_its_exit_code(warehouse, tmp_path, capsys):
    collect(study())
    change = items(lambda row: row | {"hour": "7"} if row["item"] == "night" else row)
    sentence = "item night of study cups has changed since it was asked, in hour: give what it says now"
    with pytest.raises(UserError, match=sentence):
        collect(study(change))
    path = tmp_path / "cups.yaml"
    path.write_text(yaml.safe_dump(STUDY | {"paradigm": PARADIGM | change}))
    assert main(["plan", str(path)]) == 2
    assert sentence in " ".join(capsys.readouterr().out.split())
    path.write_text(yaml.safe_dump(STUDY | {"paradigm": PARADIGM}))
    assert main(["plan", str(path)]) == 0


def test_a_wrong_label_of_an_item_is_corrected_by_the_file_and_nothing_is_asked_again(query, golden):
    collect(study())
    assert query("stg_items", "item, correct") == [("morning", "tea"), ("night", "milk")]
    changed = study(items(lambda row: row | {"drink": "water"} if row["item"] == "night" else row))
    said = notes(changed)
    golden(said, "`correct`", "1 item")
    assert plan_of(changed)["lacking"] is None
    assert (collect(changed).n_done, notes(changed)) == (0, "")
    assert query("stg_items", "item, correct") == [("morning", "tea"), ("night", "water")]


def test_a_new_column_of_the_items_that_nobody_is_shown_is_said_to_change_nothing(warehouse, golden):
    collect(study())
    said = notes(study(items(lambda row: row | {"more": "new"})))
    golden(said, "more")
    golden(said, "changes nothing")
    assert len(said.splitlines()) == 1


def test_the_plan_says_that_a_limit_of_cost_has_no_price_and_that_there_is_no_key(warehouse, monkeypatch, golden):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    llm = {"llm": "someone/new", "base_url": "http://127.0.0.1:9/v1"}
    priceless = study(llms=[llm], limits={"max_cost_usd": 1})
    said = plan_of(priceless)["lacking"]
    golden(said, "http://127.0.0.1:9/v1", "OPENAI_API_KEY")
    golden(said, "someone/new", "seeds/prices.csv")
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-many-signs")
    with pytest.raises(UserError, match=r"someone/new has none in seeds/prices\.csv"):
        collect(priceless)
    in_address = study(llms=[llm | {"extra": {"user": "a-key-of-many-signs"}}])
    with pytest.raises(UserError, match="holds the key itself"):
        collect(in_address)
    golden(plan_of(in_address)["lacking"])
    assert json.loads(json.dumps(plan_of(study())["lacking"])) is None


@pytest.fixture
def judged_study():
    """Return a function that makes a study of texts with judges, of which a part may be another one."""

    def make(**judges):
        text = {
            "answer": {"kind": "text"},
            "measures": {"is_polite": {"from": "judgement", "better": "higher"}},
            "vignettes": [{key: of for key, of in VIGNETTE.items() if key != "options"} | {"case": "{hour}.{praise}"}],
            "items": {"rows": ROWS},
        }
        of_judges = {
            "llms": [{"llm": "sim/judge", "simulated": {"accuracy": 1}}], "paradigm": "tone", "labels": ["good", "bad"],
            "text": "{note}", "question": "What is the tone?\n\n{text}", "roles": ["original", "answer"],
        }  # fmt: skip
        return study(text, judges=of_judges | judges)

    return make


RENAMED = {
    "arm": {"paradigm": {
        "arms": ["plain", "lauded"], "contrasts": [["lauded", "plain"]],
        "vignettes": [VIGNETTE | {"arms": {"plain": VIGNETTE["arms"]["plain"], "lauded": VIGNETTE["arms"]["praised"]}}],
    }},
    "vignette": {"paradigm": {"vignettes": [VIGNETTE | {"vignette": "beverage"}]}},
    "item": {"paradigm": {"items": PARADIGM["items"] | {"rows": [ROWS[0], ROWS[1] | {"item": "midnight"}]}}},
    "temperature": {"temperatures": [0.5]},
    "technique": {"techniques": [{"technique": "plainly", "turns": ["{opening}"]}]},
}  # fmt: skip


@pytest.mark.parametrize("what", RENAMED)
def test_what_is_named_otherwise_now_is_counted_and_asked_about_before_it_is_asked_again(warehouse, what, golden):
    collect(study())
    changed = study(**RENAMED[what])
    n_aside = N_TRIALS // (2 if what in ("arm", "item") else 1)
    before = plan_of(changed)["collected"]
    assert before["trials_of_other_plans"] == before["orphaned"] == before["asked_again_for_other_words"] == n_aside
    said = notes(changed)
    golden(said, f"{n_aside} answers were given")
    assert f"    -{what} " in said
    assert f"    +{what} " in said
    assert "nothing is asked again for it." not in said
    assert collect(changed, orphaned=of_study(changed).pairs).n_done == n_aside
    assert of_study(changed).n_again == of_study(study()).n_again == 0


def test_judgements_under_another_name_are_asked_about(warehouse, judged_study):
    n_judged = collect(judged_study()).judgements["n_done"]
    changed = judged_study(paradigm="mood")
    assert of_study(changed).n_again == n_judged > 0
    assert "    -judgements tone\n    +judgements mood" in notes(changed)


@pytest.mark.parametrize(
    "change",
    [
        {"llms": ["sim/anchored"]},
        {"stopping_rule": {"minimum": 2}},
        {"paradigm": {"items": PARADIGM["items"] | {"limit": 1}}},
    ],
    ids=str,
)
def test_what_is_asked_no_more_is_counted_and_nobody_is_asked_about_it(warehouse, change, golden):
    collect(study())
    asked = of_study(study(**change))
    assert asked.n_orphans == plan_of(study(**change))["collected"]["trials_of_other_plans"] > 0
    assert asked.n_again == 0
    golden("\n".join(render_asked(asked)))


def test_an_llm_under_another_name_is_the_same_one_if_the_same_is_sent(warehouse):
    def of(name, **more):
        return {"llm": name, "base_url": "http://127.0.0.1:9/v1", "model": "one-and-the-same"} | more

    design = Design(study(llms=[of("someone/old")]))
    stated = design.study.model_dump(mode="json")
    lines = [{"kind": "session", "session": "s", "started_at": "2026-01-01", "study": stated}]
    lines += [
        {
            "kind": "trial", "trial_id": design.trial_id(cell, 0), "status": "replied", "llm": cell.llm,
            "vignette": cell.vignette, "technique": cell.technique, "anchor_direction": "none", "arm": cell.arm,
            "item": cell.item, "replicate": 0, "paradigm": "cups", "session": "s",
            "prompt_version": design.version(*cell.asked_with)[0],
            "option_order": json.dumps(design.option_order(cell, 0)),
        }
        for cell in design.first_cells()
    ]  # fmt: skip
    path = spool_folder("cups") / COLLECTED
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert of_study(study(llms=[of("someone/old")])).n_orphans == 0
    assert of_study(study(llms=[of("someone/new")])).n_again == 4
    other = of_study(study(llms=[of("someone/new", model="another")]))
    assert (other.n_orphans, other.n_again) == (4, 0)


def test_another_reading_asks_nothing_and_reads_all_replies_so(query, monkeypatch, golden):
    monkeypatch.setattr("ingest.providers.simulated.CHOICES", ("{said}. It is good. I like it.",))
    collect(study())
    begins = study({"answer": {"kind": "choice", "reading": "first_word"}})
    assert [trial.trial_id for trial in _trials_of(begins)] == [trial.trial_id for trial in _trials_of(study())]
    said = notes(begins)
    golden(said, "first_word")
    assert len(said.splitlines()) == 1
    assert query("stg_paradigms", "answer_reading") == [("strict",)]
    assert query("int_labels_read", "distinct status_read") == [("unparsed",)]
    assert (collect(begins).n_calls, notes(begins)) == (0, "")
    assert query("stg_paradigms", "answer_reading") == [("first_word",)]
    assert query("int_labels_read", "distinct status_read") == [("answered",)]


def test_the_session_that_was_written_down_last_counts_whatever_its_clock_said(query):
    collect(study())
    path = spool_folder("cups") / COLLECTED
    path.write_text(re.sub(r'"started_at": ?"[^"]*"', '"started_at": "2999-01-01T00:00:00+00:00"', path.read_text()))
    collect(study({"answer": {"kind": "choice", "reading": "first_word"}}))
    assert query("stg_paradigms", "answer_reading") == [("first_word",)]


def test_what_was_asked_in_the_words_that_hung_on_a_reading_keeps_them_whatever_the_reading_is_now(warehouse):
    collect(study({"answer": {"kind": "choice", "asked": "Begin your reply with the letter of your choice."}}))
    for reading in ("first_word", "strict"):
        now = study({"answer": {"kind": "choice", "reading": reading}})
        assert of_study(now).n_orphans == 0
        assert (collect(now).n_before, collect(now).n_calls) == (N_TRIALS, 0)


def _trials_of(of):
    design = Design(of)
    return [*design.trials(design.first_cells(), "answers", range(3))]
