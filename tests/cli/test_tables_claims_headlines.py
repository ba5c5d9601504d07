import contextlib
import csv
import io
import json
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import duckdb
import pytest

from bais.ask import QUESTIONS
from bais.main import main
from bais.terminal import size_of
from ingest.bring.mapping import Given
from ingest.land.raw import raw_statements
from ingest.land.versions import Version
from ingest.warehouse import ROOT
from tests.tools.contracts import columns_of, insert, make_tables, relation_of
from tests.tools.stand_ins import SAID_OF_UNREAD, leave_unread
from tests.tools.unit_models import render

CLAIMS = {
    # claim_id: what differs from a claim about the percentage of one technique in study `s`, domain `d`
    "reproduced": {},
    "differing": {
        "recomputes": "no", "holds": "contradicted", "recomputed": 57.128, "recommended": 77.822,
        "note": "Old \x1b[31m data.", "n_places": 2,
    },
    "again": {
        "recomputes": "no", "holds": "contradicted", "recomputed": 57.128, "recommended": 77.822, "n_places": 2,
        "is_first_place": False,
    },
    "underivable": {"recomputes": "not_derivable", "holds": None, "recomputed": None, "not_derivable": "Older data."},
    "standing": {"kind": "sentence", "comparison": "<", "document": "B", "recommended": 50.0, "ends": (45.0, 55.0)},
    "contradicted": {
        "holds": "contradicted", "kind": "sentence", "comparison": ">", "document": "B", "recommended": 50.0,
        "ends": (45.0, 55.0),
    },
    "counted": {
        "quantity": "n_trials", "unit": "trials", "decimals": 0, "published": 1234.0, "recomputed": 1234.0,
        "describes": "record", "holds": "not_applicable",
    },
    "derived": {
        "quantity": None, "technique": None, "direction": None, "row_set": None, "baseline_scope": None,
        "derivation": "difference", "inputs": "reproduced of_baseline",
    },
    "of_baseline": {
        "quantity": "baseline", "technique": None, "direction": None, "baseline_scope": None, "unit": "months",
        "llm": "vendor/it's",
    },
}  # fmt: skip

WHY = {
    "holds": "as_printed", "weaker": "no_interval", "contradicted": "outside_interval", "other_way": "estimate_alone",
    "confounded": "unlike_conditions",
}  # fmt: skip
RANKINGS = [
    # study, domain, technique, reason
    *(
        ("s", domain, technique, None)
        for domain in ("split", "agreed", "few")
        for technique in ("no_technique", "sacd")
    ),
    ("s", "bare", "sacd", "no_baseline; nothing_to_rank"),
    ("made-up", "split", "sacd", None),
]

DECIDED = [
    # study, domain, technique, goal, n LLMs, decision, that of each LLM, loss
    *(("s", domain, "no_technique", goal, n, None, None, loss)
      for domain, n in (("split", 6), ("agreed", 6), ("few", 2))
      for goal, loss in (("displacement", 20.0), ("gap", 30.0), ("error", 25.0))),
    ("s", "split", "sacd", "displacement", 6, "avoid", "avoid", 30.1),
    ("s", "split", "sacd", "gap", 6, "use", "use", 4.2),
    ("s", "split", "sacd", "error", 6, "no_evidence", "no_evidence", 33.3),
    ("s", "agreed", "sacd", "displacement", 6, "use", "use", 10.1),
    ("s", "agreed", "sacd", "gap", 6, "use", "use", 11.2),
    ("s", "agreed", "sacd", "error", 6, "use", "use", 12.3),
    ("s", "few", "sacd", "displacement", 2, "no_evidence", "use", 5.0),
    ("made-up", "split", "sacd", "displacement", 6, "use", "use", 1.0),
]  # fmt: skip

COLUMNS = (
    "trial_id", "study", "domain", "llm", "technique", "anchor_direction", "temperature", "status", "response",
    "baseline", "source",
)  # fmt: skip
TRIALS = [
    ("t1", "s", "d", "vendor/a", "sacd", "low", 0.0, "answered", 1.0, 2.0, "recorded"),
    ("t2", "s", "d", "vendor/a", "sacd", "high", 0.7, "out_of_range", 99.0, 2.0, "recorded"),
    ("t3", "s", "d", "vendor/a", "sacd", "high", 0.0, "unparsed", None, 2.0, "recorded"),
    ("t4", "s", "d", "vendor/new", "sacd", "high", 0.0, "answered", 3.0, None, "recorded"),
    ("t5", "s", "d", "vendor/a", "no_technique", "low", 0.0, "answered", 2.0, 2.0, "recorded"),
    ("t6", "s", "d", "vendor/it's", "no_technique", "none", 0.0, "answered", 2.0, 2.0, "recorded"),
    ("t7", "s", "d", "vendor/a", "no_technique", "none", 0.0, "answered", 2.0, 2.0, "recorded"),
    ("t8", "s", "other", "vendor/a", "sacd", "low", 0.0, "answered", 1.0, 2.0, "recorded"),
    ("t9", "made-up", "split", "vendor/a", "sacd", "low", 0.0, "answered", 1.0, 2.0, "simulated"),
    *(
        (f"in {domain}", "s", domain, "vendor/a", "premortem", "none", 0.0, "answered", 1.0, None, "recorded")
        for domain in ("agreed", "bare", "few", "split")
    ),
]

RELATIONS = (
    "staging.stg_attribution_scores", "intermediate.int_versions_cited", "intermediate.int_studies_cited",
    "seeds.techniques", "claims.published_claims", "claims.papers", "marts.trials", "marts.quarantined_trials",
    "marts.effects", "marts.claim_checks", "inference.decisions", "inference.outcome_contrasts",
    "staging.stg_paradigms",
)  # fmt: skip
OTHERS = """
create table intermediate.hidden (a integer);
create table marts.conditions (llm varchar, baseline double);
insert into marts.conditions values ('a', 1), ('b', 2), ('c', 3);
comment on table marts.conditions is 'One row per
llm. More is said here.';
comment on column marts.conditions.baseline is 'Mean response with no anchor.';
"""


def insert_claim(warehouse, claim_id, **differing):
    claim = {
        "document": "A", "kind": "value", "comparison": "=", "quantity": "percent_of_baseline",
        "unit": "%", "decimals": 1, "published": 57.7, "recomputed": 57.7, "recommended": 57.7, "note": None,
        "technique": "sacd", "llm": None, "direction": "both", "row_set": "as_recorded", "baseline_scope": "pooled",
        "not_derivable": None, "derivation": None, "inputs": None, "inputs_are": None, "study": "s",
        "recomputes": "yes", "holds": "holds",
        "ends": (None, None), "describes": "effect", "rests_on": "trials", "n_places": 1, "is_first_place": True,
    } | differing  # fmt: skip
    both = {
        "claim_id": claim_id, "location": "Table 8", "statement": f"What is {claim_id}",
        "published_value": claim["published"],
    } | {name: claim[name] for name in ("document", "kind", "unit", "comparison")}  # fmt: skip
    insert(
        warehouse, "claims.published_claims", **both, domain="d", anchor_direction=claim["direction"],
        **{name: claim[name] for name in ("decimals", "quantity", "technique", "llm", "row_set", "baseline_scope")},
        **{name: claim[name] for name in ("derivation", "inputs", "inputs_are", "study", "note", "not_derivable")},
    )  # fmt: skip
    insert(
        warehouse, "marts.claim_checks", **both, quantity=claim["quantity"] or claim["derivation"],
        recomputed_value=claim["recomputed"], recommended_value=claim["recommended"],
        recommended_low=claim["ends"][0], recommended_high=claim["ends"][1], n_trials=42, margin=5.0,
        why=WHY.get(claim["holds"]), how_sure="estimate", recommended_as=claim["quantity"], is_of_few_llms=False,
        **{name: claim[name] for name in ("recomputes", "holds", "describes", "rests_on")},
        **{name: claim[name] for name in ("n_places", "is_first_place")},
    )  # fmt: skip


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    """The path of the warehouse that each test gets a copy of."""
    path = tmp_path_factory.mktemp("made") / "some.duckdb"
    with contextlib.closing(duckdb.connect(str(path))) as made:
        made.execute(raw_statements())
        make_tables(made, *RELATIONS)
        made.execute(OTHERS)
        query = render("claim_trials", ref=relation_of)
        made.execute(f"create schema if not exists claims; create view claims.claim_trials as {query}")
        for technique, name in (("sacd", "SACD"), ("devils_advocate", "Devil's Advocate")):
            insert(made, "seeds.techniques", technique=technique, display_name=name, is_ranked=True)
        insert(made, "claims.papers", document="A", title="Of anchors", authors="J. F. Doe and others")
        for claim_id, differing in CLAIMS.items():
            insert_claim(made, claim_id, **differing)
        for study, domain, technique, reason in RANKINGS:
            for llm, vignette, goal in product((None, "vendor/a"), (None, "v"), ("displacement", "gap", "error")):
                insert(
                    made, "marts.effects", study=study, paradigm="anchoring", domain=domain, goal=goal, llm=llm,
                    vignette=vignette, technique=technique, reason=reason,
                )  # fmt: skip
        for study, domain, technique, goal, n_llms, decision, asked, loss in DECIDED:
            control, comparison = (None, None) if technique == "no_technique" else ("no_technique", "control")
            for llm in (None, *(f"vendor/{n}" for n in range(n_llms))):
                insert(
                    made, "inference.decisions", study=study, paradigm="anchoring", domain=domain, llm=llm,
                    technique=technique, goal=goal, control=control, comparison=comparison,
                    loss=-1 if llm else loss, decision=asked if llm else decision,
                    certainty=decision and ("one_llm" if llm else "established" if n_llms > 4 else "too_few_vendors"),
                    margin=5, n_llms=n_llms, n_vendors=n_llms, n_cases=1, is_primary=goal == "displacement",
                )  # fmt: skip
        for values in TRIALS:
            trial = dict(zip(COLUMNS, values, strict=True))
            insert(made, "marts.trials", **trial, response_recorded=trial["response"], paradigm="anchoring")
    return path


@pytest.fixture
def warehouse(made_once, tmp_path, monkeypatch):
    path = shutil.copy(made_once, tmp_path / "some.duckdb")
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    return path


@pytest.fixture
def change(warehouse):
    """Run SQL that changes the warehouse before a command reads it."""

    def run(statements):
        with contextlib.closing(duckdb.connect(str(warehouse))) as made:
            made.execute(statements)

    return run


def ask(capsys, *arguments):
    code = main([*arguments])
    out, err = capsys.readouterr()
    assert (code, err) == (0, ""), err
    return out


def asked_as_json(capsys, *arguments):
    return json.loads(ask(capsys, *arguments, "--format", "json"))


def refused(capsys, *arguments):
    code = main([*arguments])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("bais: ")
    assert err.count("\n") == 1
    return err


def test_tables_lists_by_question_what_is_there_with_its_rows_and_grain(warehouse, capsys):
    rows = {row["table"]: row for row in asked_as_json(capsys, "tables")}
    question = "What was answered?"
    assert rows["marts.conditions"] == {
        "question": question, "table": "marts.conditions", "rows": 3, "grain": "One row per llm.",
    }  # fmt: skip
    assert rows["marts.trials"] == {"question": question, "table": "marts.trials", "rows": len(TRIALS), "grain": None}
    assert list(rows)[:2] == ["inference.decisions", "marts.effects"]
    assert all(row["question"] for row in rows.values())


def test_at_most_25_tables_answer_a_question_and_each_is_one_of_the_project():
    named = [table for tables in QUESTIONS.values() for table in tables]
    assert len(named) == len(set(named)) <= 25
    assert all(columns_of(table) for table in named)


def test_tables_lists_the_others_where_all_are_asked_for(change, capsys):
    change("create table inference.z as select 1; create schema a; create table a.b as select 1")
    assert "inference.z" not in ask(capsys, "tables").split()
    rows = asked_as_json(capsys, "tables", "--all")
    assert {"question": None, "table": "inference.z", "rows": 1, "grain": None} in rows
    assert "a.b" not in {row["table"] for row in rows}


def test_the_table_of_tables_says_a_question_once_and_how_many_there_are_besides(change, capsys, golden):
    change("create table inference.z as select 1; comment on table inference.z is 'One row per day; of what? More.'")
    golden(ask(capsys, "tables"))
    golden(ask(capsys, "tables", "--all"))


@pytest.mark.parametrize("name", ["conditions", "marts.conditions", "Marts.Conditions"])
def test_tables_with_a_name_defines_the_columns(warehouse, capsys, name, golden):
    out = ask(capsys, "tables", name)
    golden(out.splitlines()[0])
    assert out.splitlines()[-2:] == ["llm       varchar", "baseline  double   Mean response with no anchor."]
    assert list(csv.DictReader(io.StringIO(ask(capsys, "tables", name, "--format", "csv"))))[1] == {
        "column": "baseline", "type": "double", "definition": "Mean response with no anchor.",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("n_bytes", "said"), [(2_340_000, "2.3 MB"), (999_999, "1,000.0 kB"), (40_100, "40.1 kB"), (3, "0.1 kB")]
)
def test_a_size_is_never_said_to_be_nothing(n_bytes, said):
    assert size_of(n_bytes) == said


def test_definitions_that_are_piped_are_whole_and_no_wider_than_a_page(warehouse, capsys):
    out = ask(capsys, "tables", "raw.trials")
    assert max(map(len, out.splitlines())) <= 80
    definitions = [row["definition"] for row in asked_as_json(capsys, "tables", "raw.trials")]
    words = set(out.split())
    assert all(words.issuperset(of.split()) for of in definitions if of)


@pytest.mark.parametrize("name", ["hidden", "intermediate.hidden", "raw.nothing"])
def test_tables_does_not_define_what_is_not_public(warehouse, capsys, name):
    assert "no public table" in refused(capsys, "tables", name)


def test_a_column_of_raw_that_nobody_declared_is_there_too(change, capsys):
    change("alter table raw.trials add column extra integer; comment on column raw.trials.extra is 'Of my own.'")
    rows = asked_as_json(capsys, "tables", "raw.trials")
    assert rows[-1] == {"column": "extra", "type": "integer", "definition": "Of my own."}


@pytest.mark.parametrize("name", ["raw.calls", "RAW.Calls", "calls"])
def test_tables_defines_the_columns_of_what_was_landed_too(warehouse, capsys, name, golden):
    out = ask(capsys, "tables", name)
    golden(out.splitlines()[0])
    (latency,) = [line for line in out.splitlines() if line.startswith("latency_s")]
    assert latency.split()[1] == "double"


def test_a_public_table_goes_before_a_landed_one_of_the_same_name(warehouse, capsys, golden):
    assert ask(capsys, "tables", "trials").startswith("marts.trials, ")
    golden(ask(capsys, "tables", "raw.trials").splitlines()[0])


def test_landed_tables_are_defined_before_anything_is_built(change, capsys):
    change("drop schema marts cascade; drop schema inference cascade; drop schema claims cascade")
    assert ask(capsys, "tables", "raw.trials").startswith("raw.trials, ")
    assert "run `bais build`" in refused(capsys, "tables", "conditions")


def test_an_unknown_table_is_answered_with_similar_names(warehouse, capsys):
    assert "marts.conditions" in refused(capsys, "tables", "condi\x1btions")


@pytest.mark.parametrize("command", ["tables", "claims", "headlines"])
def test_a_warehouse_without_marts_is_told_to_be_built(tmp_path, monkeypatch, capsys, command):
    duckdb.connect(str(tmp_path / "new.duckdb")).close()
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "new.duckdb"))
    message = refused(capsys, command)
    assert "no marts yet" in message
    assert "`bais build`" in message


@pytest.mark.parametrize(
    ("command", "statement"),
    [
        ("claims", "drop table marts.claim_checks"),
        ("headlines", "alter table marts.effects drop column domain"),
        ("claims", "drop table claims.published_claims"),
    ],
)
def test_a_warehouse_of_another_version_is_told_to_be_built(change, capsys, command, statement):
    change(statement)
    message = refused(capsys, command)
    assert "`bais build`" in message
    assert statement.split()[-1].split(".")[-1] in message


def test_claims_count_each_quantity_once_and_say_both_things_of_it(warehouse, capsys, golden):
    out = ask(capsys, "claims").splitlines()
    counted = {first: numbers for first, *numbers in (re.split("  +", line) for line in out[: out.index("")])}
    assert counted["claims"] == ["of all", "holds", "contradicted", "LLMs", "judged"]
    assert counted["A: Doe"] == ["4 of 6", "3", "1", "1", "1"]
    assert counted["document B"] == ["2 of 2", "1", "1", "0", "0"]
    golden("\n".join(out))
    of_a_value = {"document": "A", "kind": "value", "recomputes": "no", "holds": "contradicted"}
    assert of_a_value | {"n_places": 2, "n_distinct": 1} in asked_as_json(capsys, "claims")


def test_claims_fit_a_screen_whatever_is_wrong_with_them(warehouse, monkeypatch, capsys):
    codes = {
        "recomputes": ("yes", "no", "not_derivable"),
        "holds": ("holds", "weaker", "contradicted", "other_way", "confounded"),
    }
    with contextlib.closing(duckdb.connect(str(warehouse))) as made:
        for column, each in codes.items():
            for kind in ("value", "sentence"):
                for code in each:
                    insert_claim(made, f"{column}-{kind}-{code}", kind=kind, **{column: code})
    for module in ("terminal", "claims"):
        monkeypatch.setattr(f"bais.{module}.terminal_width", lambda: 80)
    shown = ask(capsys, "claims").splitlines()
    assert (len(shown) <= 15, max(map(len, shown)) <= 80) == (True, True), shown
    at = next(i for i, line in enumerate(shown) if line.startswith("Contradicted"))
    said = [line.partition(":")[0] for line in shown[at + 1 :]]
    assert "contradicted" in said[:2], "the worst of each paper comes first"
    assert len(said) == len(set(said)) >= 2


def test_many_papers_are_rows_of_one_table_on_a_screen_and_in_a_pipe(change, monkeypatch, capsys):
    copied = "* exclude (n) replace (claim_id || n as claim_id, 'P' || n as document)"
    for table in ("claims.published_claims", "marts.claim_checks"):
        change(f"insert into {table} by name select {copied} from {table}, range(8) as t (n)")
    for width in (None, 80):
        monkeypatch.setattr("bais.claims.terminal_width", lambda width=width: width)
        lines = ask(capsys, "claims").splitlines()
        assert [line.split()[1] for line in lines if line.startswith("document P")] == [f"P{n}" for n in range(8)]


def test_claims_from_printed_numbers_say_so_and_have_no_trials(warehouse, capsys, golden):
    with contextlib.closing(duckdb.connect(str(warehouse))) as made:
        insert_claim(
            made, "printed", document="C", study=None, inputs_are="printed", rests_on="printed numbers",
            derivation="difference", inputs="reproduced of_baseline", quantity=None, describes="record",
            holds="not_applicable",
        )  # fmt: skip
        made.execute("create or replace table claims.listed as from claims.claim_trials where claim_id != 'printed'")
        made.execute("drop view claims.claim_trials; alter table claims.listed rename to claim_trials")
    golden(ask(capsys, "claims", "--document", "C"), "1 recomputes")
    out = ask(capsys, "claims", "printed")
    golden(out, "difference of")
    golden(out.splitlines()[-1])
    assert asked_as_json(capsys, "claims", "printed")[0]["query"] is None


def test_claims_of_one_document_leaves_out_the_others(warehouse, capsys):
    assert {row["document"] for row in asked_as_json(capsys, "claims", "--document", "B")} == {"B"}
    assert "only of A, B" in refused(capsys, "claims", "--document", "Z")


def test_differs_lists_what_is_wrong_once_what_matters_first(warehouse, capsys, golden):
    rows = asked_as_json(capsys, "claims", "--differs")
    assert [row["claim_id"] for row in rows] == ["contradicted", "differing", "underivable"]
    assert rows[1]["recomputed_value"] == 57.128
    listed = ask(capsys, "claims", "--differs")
    golden(listed)
    assert re.findall("^ {4}(\\w+): (?:document B|Doe),", listed, re.MULTILINE) == [row["claim_id"] for row in rows]


def test_a_list_stops_at_its_limit_and_says_what_is_left(warehouse, capsys, golden):
    lines = ask(capsys, "claims", "--differs", "--limit", "1").splitlines()
    assert "  What is contradicted" in lines
    assert "  What is differing" not in lines
    golden("\n".join(lines))
    assert len(asked_as_json(capsys, "claims", "--differs", "--limit", "2")) == 2
    golden(ask(capsys, "claims", "--differs", "--limit", "0"), "3 claims", "0 of")


def test_claims_are_listed_by_either_of_the_two_things_said_of_them(warehouse, capsys):
    def listed(*options):
        return [row["claim_id"] for row in asked_as_json(capsys, "claims", *options)]

    assert listed("--recomputes", "not_derivable") == ["underivable"]
    assert listed("--holds", "contradicted") == ["contradicted", "differing"]
    assert listed("--holds", "contradicted", "--recomputes", "yes") == ["contradicted"]
    assert listed("--holds", "holds", "--document", "B") == ["standing"]
    assert listed("--recomputes", "not_derivable", "--document", "B") == []
    assert sorted(listed("--all", "--document", "B")) == sorted(
        {*listed("--differs", "--document", "B"), *listed("--holds", "holds", "--document", "B")}
    )


def test_a_whole_number_is_shown_without_decimals(warehouse, capsys, golden):
    golden(ask(capsys, "claims", "--recomputes", "yes"), "1,234 trials")


def test_what_is_so_or_not_so_is_no_number(change, capsys, golden):
    change(
        "update claims.published_claims set unit = 'yes or no', published_value = 0 where claim_id = 'standing';"
        "update marts.claim_checks set unit = 'yes or no', published_value = 0, recomputed_value = 1, "
        "recommended_value = 0 where claim_id = 'standing'",
    )
    golden(ask(capsys, "claims", "standing").split("\n\n")[1])


def test_a_p_value_that_is_not_0_is_not_shown_as_0(change, capsys):
    change("update marts.claim_checks set unit = '1', recomputed_value = 2e-9 where claim_id = 'standing'")
    assert "below 0." in ask(capsys, "claims", "standing")


def test_claims_that_cannot_be_checked_say_how_to_import_their_trials(change, capsys):
    change("update marts.claim_checks set recomputes = 'not_checked', holds = null where recomputes != 'not_derivable'")
    out = ask(capsys, "claims")
    assert "None of the 8 published claims can be checked" in out
    assert "study s." in out
    assert "bais import" in out


def test_claims_that_could_not_be_checked_are_counted_beside_those_that_could(change, capsys):
    change("update marts.claim_checks set recomputes = 'not_checked' where claim_id = 'counted'")
    rows = [re.split("  +", line) for line in ask(capsys, "claims").splitlines()]
    assert {row[0]: row[1] for row in rows if re.search("[0-9] of [0-9]", " ".join(row))} == {
        "A: Doe": "3 of 6",
        "document B": "2 of 2",
    }


GONE_ON = """
insert into intermediate.int_versions_cited by name
select 'A' as document, 's' as study, 'v1' as label, 'some-version' as version_id;
update marts.claim_checks set version = 'v1', newest_recomputes = recomputes, newest_holds = holds,
    newest_value = recomputed_value
where document = 'A';
"""
CHANGED = """
update marts.claim_checks set newest_recomputes = 'no', newest_holds = 'weaker', newest_value = 61.25
where claim_id = 'reproduced';
update marts.claim_checks set newest_holds = 'weaker' where claim_id = 'derived';
update marts.claim_checks set newest_recomputes = 'yes' where claim_id in ('differing', 'again');
"""


def test_claims_say_beside_it_how_many_would_change_on_the_newest_version(change, capsys, golden):
    before = ask(capsys, "claims")
    change(GONE_ON)
    lines = ask(capsys, "claims").splitlines()
    (said,) = [line for line in lines if "v1 of s" in line]
    golden(said)
    change(CHANGED)
    lines = ask(capsys, "claims").splitlines()
    (said,) = [line for line in lines if "v1 of s" in line]
    assert "3 of 6 claims" in said
    golden(said)
    assert [line for line in lines if line != said] == before.splitlines()


def test_claims_as_json_count_what_would_be_on_the_newest_version(change, capsys):
    whole = {"document": "A", "kind": "value", "recomputes": "yes", "holds": "holds", "n_places": 3, "n_distinct": 3}
    assert whole in asked_as_json(capsys, "claims")
    change(GONE_ON + CHANGED)
    rows = asked_as_json(capsys, "claims")
    assert whole | {"version": "v1", "n_on_newest_version": 1} in rows
    assert [row["n_on_newest_version"] for row in rows if row["document"] == "B"] == [None, None]


def test_one_claim_says_what_it_would_be_on_the_newest_version(change, capsys, golden):
    change(GONE_ON + CHANGED)
    golden(ask(capsys, "claims", "reproduced"), "61.25 %")
    assert asked_as_json(capsys, "claims", "reproduced")[0]["newest_holds"] == "weaker"


def test_a_version_that_is_not_there_is_said_to_be_missing(change, capsys, golden):
    change("update marts.claim_checks set version = 'v1' where document = 'A'")
    golden(ask(capsys, "claims"), "v1")
    golden(ask(capsys, "claims"), "To compare them")
    assert "version v1" not in ask(capsys, "claims", "--document", "B")


def test_the_version_that_claims_are_about_is_no_study_of_its_own(change, capsys, golden):
    before = ask(capsys, "headlines")
    change(
        "insert into marts.trials from marts.trials select * replace ('s@v1' as study); "
        "insert into marts.effects from marts.effects select * replace ('s@v1' as study)"
    )
    assert ask(capsys, "headlines") == before
    golden(refused(capsys, "headlines", "--study", "s@v1"))


def test_one_claim_shows_its_values_and_only_the_specification_that_it_has(warehouse, capsys):
    blocks = ask(capsys, "claims", "differing").split("\n\n")
    assert blocks[0].splitlines() == ["differing", "Doe, Table 8. What is differing"]
    assert [re.split("  +", line) for line in blocks[1].splitlines()] == [
        ["printed", "57.7 %"],
        ["by the paper's method", "57.13 %"],
        ["recommended", "77.82 %"],
        ["recomputes", "no"],
        ["holds", "contradicted"],
        ["why", "Old \\x1b[31m data. The trials give 57.13 %, not 57.7 %. As recommended it is 77.82 %."],
        ["trials", "42"],
        ["printed in", "2 places"],
    ]
    assert [line.split() for line in blocks[2].splitlines()] == [
        ["specification"],
        ["quantity", "percent_of_baseline"],
        ["study", "s"],
        ["domain", "d"],
        ["technique", "sacd"],
        ["anchor_direction", "both"],
        ["row_set", "as_recorded"],
        ["baseline_scope", "pooled"],
    ]
    assert "\nselect " in blocks[3]


def test_a_derived_claim_shows_its_inputs(warehouse, capsys, golden):
    out = ask(capsys, "claims", "derived")
    golden(out, "difference of")
    inputs = [line.split() for line in out.splitlines() if line.startswith(("reproduced ", "of_baseline "))]
    assert inputs == [
        ["reproduced", "57.7", "%", "57.70", "%", "57.70", "%"],
        ["of_baseline", "57.7", "months", "57.70", "months", "57.70", "months"],
    ]


@pytest.mark.parametrize(
    ("claim_id", "trials"),
    [
        ("reproduced", ["t1", "t2"]),
        ("counted", ["t1", "t2"]),
        ("of_baseline", ["t6"]),
        ("derived", ["t1", "t2", "t6"]),
    ],
)
def test_the_query_of_a_claim_lists_its_trials(warehouse, capsys, claim_id, trials):
    (claim,) = asked_as_json(capsys, "claims", claim_id)
    assert claim["query"] in ask(capsys, "claims", claim_id)
    main(["sql", claim["query"], "--format", "json"])
    assert sorted(row["trial_id"] for row in json.loads(capsys.readouterr().out)) == trials


@pytest.mark.parametrize(
    ("differing", "trials"),
    [
        ({"row_set": "accepted"}, ["t1"]),
        ({"temperature_scope": "0.7"}, ["t2"]),
        ({"anchor_direction": "low"}, ["t1"]),
        ({"excluded_llm": "vendor/a"}, []),
        ({"estimator": "ratio_of_file_means"}, ["t1", "t2", "t4"]),
        ({"quantity": "rank_by_deviation"}, ["t1", "t2"]),
        ({"quantity": "rank_by_deviation_with_no_technique"}, ["t1", "t2", "t5"]),
        ({"quantity": "spread_change_percent"}, ["t1", "t2", "t5"]),
        ({"quantity": "gain_by_deviation"}, ["t1", "t2", "t5"]),
        ({"quantity": "metrics_disagree", "technique": None}, ["t1", "t2"]),
        ({"quantity": "range_by_deviation", "technique": None}, ["t1", "t2"]),
        ({"quantity": "n_temperatures_ranked_otherwise", "technique": None}, ["t1", "t2"]),
        ({"quantity": "percent_of_baseline_difference", "technique_b": "no_technique"}, ["t1", "t2", "t5"]),
        ({"quantity": "interaction_f", "technique": None, "method": "wald_f_residual_df"}, ["t1", "t2"]),
        ({"quantity": "nothing_beats_no_technique_by_deviation", "technique": "no_technique"}, ["t1", "t2", "t5"]),
        ({"technique": "all", "anchor_direction": "all"}, ["t1", "t2", "t5", "t6", "t7"]),
        ({"domain": None}, ["t1", "t2", "t8"]),
        ({"non_null": "both"}, []),
    ],
)
def test_each_column_of_a_specification_narrows_the_trials_down(warehouse, capsys, differing, trials):
    with contextlib.closing(duckdb.connect(str(warehouse))) as opened:
        for name, value in differing.items():
            opened.execute(f"update claims.published_claims set {name} = $1 where claim_id = 'reproduced'", [value])
    (claim,) = asked_as_json(capsys, "claims", "reproduced")
    assert main(["sql", claim["query"], "--format", "json"]) == 0
    assert sorted(row["trial_id"] for row in json.loads(capsys.readouterr().out)) == trials


def test_a_claim_with_parts_is_asked_for_by_each(change, capsys):
    change("update claims.published_claims set part = 'b' where claim_id = 'standing'")
    change("update marts.claim_checks set part = 'b' where claim_id = 'standing'")
    (claim,) = asked_as_json(capsys, "claims", "standing/b")
    assert (claim["part"], claim["holds"]) == ("b", "holds")
    assert "perhaps standing/b" in refused(capsys, "claims", "standing")


def test_an_unknown_claim_is_answered_with_similar_ones(warehouse, capsys):
    assert "perhaps reproduced" in refused(capsys, "claims", "reproduce")


def test_headlines_show_each_technique_with_the_decision_by_the_leading_goal(warehouse, capsys):
    lines = ask(capsys, "headlines", "--study", "s").splitlines()
    rows = [line.split()[:2] for line in lines if line.startswith("SACD  ")]
    assert rows == [["SACD", "use"], ["SACD", "avoid"]]
    assert [line.split()[:4] for line in lines if "by average answer" in line] == [
        ["agreed", "by", "average", "answer"], ["split", "by", "average", "answer"]
    ]  # fmt: skip


def test_headlines_say_what_to_use_and_avoid_and_what_is_unclear(warehouse, capsys, golden):
    golden(ask(capsys, "headlines", "--study", "s"))


def test_headlines_of_a_domain_of_too_few_vendors_establish_nothing_and_say_nothing_of_the_mean_of_those_tested(
    warehouse, capsys, golden
):
    out = ask(capsys, "headlines", "--study", "s")
    golden(out, "few (one case)", "2 LLMs")
    assert "on average" not in out


def test_headlines_say_what_recommend_says(change, warehouse, capsys):
    with contextlib.closing(duckdb.connect(str(warehouse))) as made:
        make_tables(made, "intermediate.int_baseline_prompts", "seeds.llms", "seeds.llm_aliases", "seeds.routers")
    change("update marts.trials set vignette = 'v'")
    change("update marts.trials set domain = 'split', llm = 'vendor/0' where trial_id = 't1'")
    change("update marts.trials set domain = 'few', llm = 'vendor/0' where trial_id = 't2'")
    *lines, _ = ask(capsys, "headlines", "--study", "s").splitlines()
    *said, _ = ask(capsys, "recommend", "--study", "s").splitlines()
    assert said == lines


def test_headlines_say_of_a_study_what_could_not_be_read(warehouse, capsys):
    leave_unread(warehouse, "s")
    assert SAID_OF_UNREAD.search(ask(capsys, "headlines"))


def test_headlines_show_simulated_studies_with_all_and_where_no_llm_was_asked(change, capsys, golden):
    assert "SIMULATED" not in ask(capsys, "headlines")
    out = ask(capsys, "headlines", "--all")
    titles = [line for line in out.splitlines() if line.startswith("Study ")]
    assert [("SIMULATED" in title, "(recorded)" in title) for title in titles] == [(False, True), (True, False)]
    golden(out)
    change("update marts.trials set source = 'simulated'")
    assert ask(capsys, "headlines") == ask(capsys, "headlines", "--all")


def test_headlines_say_what_the_scores_of_a_study_show(warehouse, capsys, golden):
    assert "nobody answered" not in ask(capsys, "headlines")
    of = {"study": "d", "evidence_from": "scores"}
    with contextlib.closing(duckdb.connect(str(warehouse))) as made:
        make_tables(
            made, "papers.anchor_effects", "papers.anchor_calls", "papers.anchor_sensitivities",
            "papers.sensitivity_trends", "papers.soft_expectations",
        )  # fmt: skip
        for variation in ("V1-S", "V1-D"):
            insert(
                made, "papers.anchor_effects", **of, specification="published", llm="v/a", variation=variation,
                question="V1", delta_ev=3.0, call_behaviour="B+", stars_behaviour="***",
            )  # fmt: skip
        insert(
            made, "papers.anchor_calls", **of, n_calls=2, n_specifications=12, share=1.0, n_standing_always=2,
            n_standing_never=0,
        )  # fmt: skip
        insert(
            made, "papers.anchor_sensitivities", **of, scoring_set="archive/a", llm="v/a", comparison="anchors",
            specification="published", metric="delta_ev", has_v0=False, estimate=3.0, n_questions=1,
            reason="one_question",
        )  # fmt: skip
    out = ask(capsys, "headlines", "--study", "d")
    golden(out, "1 question", "2 pairs", "1 LLM")
    golden(out, "2 cases", "LLM")
    golden(ask(capsys, "headlines"), "high anchor")
    assert "nobody answered" not in ask(capsys, "headlines", "--study", "s")


def test_who_asks_for_trials_of_a_study_of_scores_is_told_that_nobody_answered(change, capsys, golden):
    change(
        "insert into raw.batches by name "
        "select 'd/V0' as batch_id, 'd' as study, 'V0' as vignette, 'scored' as source, 1 as n_trials, "
        "now() as loaded_at, '1' as _dlt_load_id"
    )
    for command in (["recommend"], ["trials"], ["paper"]):
        said = refused(capsys, *command, "--study", "d")
        golden(said)
        golden(said, "`bais headlines --study d`", "`bais build`")


def test_headlines_count_judgements_apart_from_trials(change, capsys, golden):
    change("update marts.trials set role = 'answer' where trial_id in ('t1', 't2', 't3')")
    golden(ask(capsys, "headlines", "--all"), "9 trials", "3 judgements")


def test_headlines_of_one_study_leaves_out_the_others(warehouse, capsys):
    assert "agreed" in ask(capsys, "headlines", "--study", "s")
    assert "agreed" not in ask(capsys, "headlines", "--study", "made-up")
    assert "there is s, made-up" in refused(capsys, "headlines", "--study", "t")


def test_headlines_of_an_empty_warehouse_say_that_there_is_nothing(change, capsys, golden):
    change("delete from marts.trials; delete from marts.effects; delete from marts.claim_checks")
    out = ask(capsys, "headlines")
    golden(out)
    assert "Study" not in out


LANDED = """
insert into raw.trials by name
select 'x' || n as trial_id, 'new' as study, 'recorded' as source, 'b1' as batch_id, 'm' as llm_recorded,
    'v' as vignette,
    'no_technique' as technique, 'load' as _dlt_load_id
from range(3) as t (n);
"""
VERDICT = """
insert into raw.batch_verdicts by name
select 'v1' as verdict_id, 'b1' as batch_id, 'new' as study, 'v' as vignette, '{verdict}' as verdict, 3 as n_trials,
    0 as n_failed, 0 as n_warnings, 1 as rule_version, now() as checked_at, 1 as ordinal
"""


@pytest.mark.parametrize("verdict", [None, "failed", "passed"], ids=str)
@pytest.mark.parametrize(
    "command", [["headlines"], ["trials"], ["paper"], ["recommend", "--domain", "d"]], ids=" ".join
)
def test_a_study_that_is_landed_and_not_public_is_no_unknown_study(change, capsys, verdict, command, golden):
    change(LANDED + (VERDICT.format(verdict=verdict) if verdict else ""))
    golden(refused(capsys, *command, "--study", "new"), "3 trials of new")


def test_headlines_say_which_landed_studies_are_not_public(change, capsys, golden):
    change(LANDED + VERDICT.format(verdict="failed"))
    golden(ask(capsys, "headlines"), "3 trials")
    change("delete from marts.trials; delete from marts.effects; delete from marts.claim_checks")
    out = ask(capsys, "headlines")
    golden(out, "3 trials")
    assert "holds no trials" not in out


@pytest.fixture
def dbt(monkeypatch):
    """Stand in for the dbt process: note how it was started, and leave with the code asked for."""
    calls = []

    class Started:
        code = 0
        stdout = ()

        def __init__(self, command, **options):
            calls.append((command, options))

        def wait(self):
            return self.code

    Started.calls = calls
    monkeypatch.setattr(subprocess, "Popen", Started)
    return Started


def test_build_runs_dbt_here_on_a_copy_of_the_warehouse_with_all_its_arguments(tmp_path, monkeypatch, dbt):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BAIS_WAREHOUSE", "folder/relative.duckdb")
    assert main(["build", "--select", "marts.trials+", "--full-refresh"]) == 0
    ((command, options),) = dbt.calls
    said = ["--quiet", "build", "--select", "marts.trials+", "--full-refresh", "--exclude-resource-type", "unit_test"]
    assert command[-len(said) :] == said
    assert options["cwd"] == ROOT
    copy = Path(options["env"]["BAIS_WAREHOUSE"])
    assert copy.is_relative_to(tmp_path / "folder")
    assert copy.name == "relative.duckdb"  # views name the database, which is named as its file
    assert (tmp_path / "folder").is_dir()


@pytest.mark.parametrize(("code", "passed_on"), [(1, 1), (2, 2), (-15, 143)])
def test_build_passes_on_how_dbt_ended(warehouse, dbt, code, passed_on):
    dbt.code = code
    assert main(["build"]) == passed_on
    assert len(dbt.calls) == 1


def test_build_waits_for_dbt_to_stop_when_interrupted(warehouse, dbt, capsys):
    waits = []

    def wait(self):
        waits.append(self)
        if len(waits) == 1:
            raise KeyboardInterrupt

    dbt.wait = wait
    assert main(["build"]) == 130
    assert len(waits) == 2
    assert capsys.readouterr().err == "bais: interrupted\n"


def test_import_does_what_the_script_does(tmp_path, monkeypatch):
    imported = []
    monkeypatch.setattr("ingest.run.import_folder", lambda *asked: imported.append(asked) or 3)
    assert main(["import", str(tmp_path)]) == 3
    assert imported == [(tmp_path, None, Given(), None, Version())]


def test_import_of_a_folder_that_is_not_there_is_one_sentence(warehouse, tmp_path, capsys):
    assert "there is no" in refused(capsys, "import", str(tmp_path / "nowhere"))


def test_import_of_nothing_is_one_sentence_that_says_what_to_name(warehouse, capsys, golden):
    golden(refused(capsys, "import"))
