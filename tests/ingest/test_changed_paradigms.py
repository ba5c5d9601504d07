"""A paradigm that changes after trials were collected: what is measured follows the file, what is asked is agreed."""

import contextlib
import json
import sys

import pytest
import yaml

from bais.main import main
from ingest.asked import of_study, render_asked
from ingest.collected import load_collected
from ingest.collector import Collector, collect
from ingest.models import query_of
from ingest.plan import plan_of
from ingest.spool import COLLECTED, records_of, spool_folder
from ingest.study import Design, parse_study
from ingest.warehouse import UserError, connect

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


def test_another_measure_margin_and_contrast_are_those_of_the_tables_and_nothing_is_asked_again(query):
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
    assert "What is measured or compared in cups is not what it was" in said
    assert "(took_tea, took_milk, contrasts)" in said
    assert "nothing is asked again for it" in said
    assert plan_of(changed)["collected"]["notes"] == said.splitlines()
    assert (collect(changed).n_before, notes(changed)) == (N_TRIALS, "")
    assert query("stg_paradigms", "measure, better, margin") == [
        ("took_milk", "lower", None),
        ("took_tea", "higher", 0.2),
    ]
    assert query("stg_paradigm_contrasts", "arm, arm_b") == [("plain", "praised")]


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
    ("change", "said"),
    [
        ({"paradigm": {"paradigm": "mugs"}}, "-paradigm cups\n    +paradigm mugs"),
        ({"order_seed": 2}, "with order_seed 1: milk, tea, water\n    +options shuffled with order_seed 2"),
        ({"paradigm": {"options": {"order": "as_written"}}}, "+options as written: tea, milk, water"),
        ({"paradigm": {"options": {"same_across_arms": False}}}, "+options shuffled for each arm"),
    ],
)
def test_another_name_or_order_is_asked_about_and_once_it_is_agreed_to_it_is_asked_anew(
    warehouse, tmp_path, capsys, monkeypatch, change, said
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
    assert said in told
    assert f"nothing was asked: {n_again:,} answers would be asked again" in told
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


@pytest.mark.parametrize(("field", "named"), [("hour", "hour"), ("drink", "correct")])
def test_the_plan_says_of_a_field_that_counts_what_collect_refuses(warehouse, field, named):
    collect(study())
    changed = study(items(lambda row: row | {field: "7"} if row["item"] == "night" else row))
    sentence = f"item night of study cups has changed since it was asked, in {named}: give what it says now"
    with pytest.raises(UserError, match=sentence):
        collect(changed)
    assert sentence in plan_of(changed)["lacking"]


def test_the_plan_says_that_a_limit_of_cost_has_no_price_and_that_there_is_no_key(warehouse, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    llm = {"llm": "someone/new", "base_url": "http://127.0.0.1:9/v1"}
    priceless = study(llms=[llm], limits={"max_cost_usd": 1})
    said = plan_of(priceless)["lacking"]
    assert "there is no key for http://127.0.0.1:9/v1: set the environment variable OPENAI_API_KEY" in said
    assert "someone/new has none in seeds/prices.csv" in said
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-many-signs")
    with pytest.raises(UserError, match=r"someone/new has none in seeds/prices\.csv"):
        collect(priceless)
    in_address = study(llms=[llm | {"extra": {"user": "a-key-of-many-signs"}}])
    with pytest.raises(UserError, match="holds the key itself"):
        collect(in_address)
    assert "holds the key itself" in plan_of(in_address)["lacking"]
    assert json.loads(json.dumps(plan_of(study())["lacking"])) is None
