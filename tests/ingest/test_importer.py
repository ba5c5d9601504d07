"""What a readable archive becomes in `raw`."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from ingest.archives.voder_bais import ARCHIVE
from ingest.bring import importer
from ingest.land.load import land
from ingest.land.raw import LANDED, raw_statements
from ingest.run import main
from ingest.warehouse import ROOT, UserError, connect
from tests.tools.stand_ins import load_without_dlt

NEEDS = ("dlt",)
ASKED_AT = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
JUDICIAL = {
    "vignette": "shoplifting",
    "technique": "no_technique",
    "anchor_direction": None,
    "anchor_value": None,
    "temperature": 0.0,
    "replicate": 0,
    "response_recorded": None,
    "first_response": None,
    "iterations": None,
    "response_text": None,
    "prompt_hash": "0a1b2c3d",
    "protocol": "invented-baseline",
    "llm_recorded": "openai/o3",
    "llm_returned": "openai/o3-of-that-day",
    "asked_at": ASKED_AT,
}
SHAPES = {
    "baseline": JUDICIAL | {"anchor_direction": "none", "response_recorded": 17.0},
    "low_anchor": JUDICIAL | {"anchor_direction": "low", "anchor_value": 8.0, "response_recorded": 11.0},
    "premortem": JUDICIAL | {"technique": "premortem", "anchor_value": 26.0, "response_recorded": 19.0},
    "full_sacd": JUDICIAL
    | {"technique": "sacd", "anchor_value": 26.0, "response_recorded": 18.0, "first_response": 23.0, "iterations": 2}
    | {"asked_at": datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC)},
    "vignette": dict.fromkeys(JUDICIAL)
    | {"vignette": "loan", "technique": "no_technique", "anchor_direction": "low", "anchor_value": 70.0}
    | {"temperature": 0.7, "response_recorded": 96.0, "response_text": "I would approve **96**."}
    | {"llm_recorded": "anthropic/claude-opus-4-6"}
    | {"asked_at": datetime(2026, 1, 2, 3, 4, 7, 500000, tzinfo=UTC)},
}


def test_each_of_the_five_shapes_lands_with_typed_columns_and_the_whole_line(archive, make, query):
    lines = {name: json.dumps(getattr(make, name)()) for name in SHAPES}
    for name, line in lines.items():
        make.file(archive / f"{name}.jsonl", line)
    assert main(["--archive", str(archive)]) == 0
    for name, expected in SHAPES.items():
        (row,) = query(f"select {', '.join(expected)} from raw.trials where source_file = '{name}.jsonl'")
        assert dict(zip(expected, row, strict=True)) == expected
    assert dict(query("select split_part(source_file, '.', 1), line from raw.trials")) == lines
    assert query("select distinct study, source, archive, source_line, status_recorded from raw.trials") == [
        ("voder-bais", "recorded", "voder_bais", 1, None)
    ]


@pytest.fixture
def small_study(tmp_path):
    """A study file that asks a simulated respondent nine times."""
    path = tmp_path / "small.yaml"
    path.write_text(
        "{study: small, llms: [sim/steady], vignettes: [fever], techniques: [sacd], anchors: {proportional: {}}, "
        "stopping_rule: {minimum: 3}}"
    )
    return path


OF_PARADIGMS = {"paradigms", "paradigm_contrasts", "items", "measurements"}
OF_OTHERS = {"counts", "news", "news_fetches", "falsifications", "falsification_verdicts", "human_choices"}


@pytest.mark.parametrize("first", ["collected", "imported"])
def test_columns_and_types_are_those_of_the_tables_that_dbt_makes_first(archive, make, query, small_study, first):
    make.file(archive / "a.jsonl", make.baseline(), "{")
    runs = [([str(small_study)], 0), (["--archive", str(archive)], 3)]
    for arguments, code in runs if first == "collected" else reversed(runs):
        assert main(arguments) == code
    with duckdb.connect() as empty:
        empty.execute(raw_statements())
        # nothing was scored, of entries a first version of trials has none, and anchoring is no paradigm in a file,
        # and neither counts nor news nor people are among these
        for table in set(LANDED) - {
            "version_entries",
            "attribution_scores",
            "target_scores",
            *OF_PARADIGMS,
            *OF_OTHERS,
        }:
            assert query(f"describe raw.{table}") == empty.sql(f"describe raw.{table}").fetchall(), table
            assert query(f"select count(*) > 0 from raw.{table}") == [(True,)], table


def test_collected_trials_land_in_the_empty_tables_that_dbt_made_first(query, warehouse, small_study):
    warehouse.parent.mkdir()
    with duckdb.connect(str(warehouse)) as empty:
        empty.execute(raw_statements())
    assert main([str(small_study)]) == 0
    assert query("select phase, count(*) from raw.trials group by all order by all") == [
        ("anchored", 6),
        ("baselines", 3),
    ]


def test_trials_land_in_the_empty_tables_that_dbt_made_first(archive, make, query, warehouse):
    warehouse.parent.mkdir()
    with duckdb.connect(str(warehouse)) as empty:
        empty.execute(raw_statements())
    make.file(archive / "a.jsonl", make.baseline(), "{", make.full_sacd())
    assert main(["--archive", str(archive)]) == 3
    assert query("select count(*), count(distinct trial_id) from raw.trials") == [(2, 2)]
    assert query("select line_number from raw.quarantined_lines") == [(2,)]


def test_a_second_import_adds_nothing_and_ten_more_lines_add_ten(archive, make, read, query, capsys, golden):
    lines = [make.baseline(runIndex=i) for i in range(5)]
    make.file(archive / "a.jsonl", *lines)
    assert main(["--archive", str(archive)]) == 0
    before = query("from raw.trials order by trial_id")
    assert main(["--archive", str(archive)]) == 0
    assert query("from raw.trials order by trial_id") == before
    golden(capsys.readouterr().out, "0 new", "5 unchanged", "0 duplicates")
    assert read(archive).trials == []
    make.file(archive / "a.jsonl", *lines, *(make.baseline(runIndex=i) for i in range(5, 15)))
    assert main(["--archive", str(archive)]) == 0
    assert "10 new, 5 unchanged" in capsys.readouterr().out
    assert query("select count(*), count(distinct trial_id) from raw.trials") == [(15, 15)]


def test_a_moved_folder_and_a_copy_of_a_subfolder_inside_it_add_nothing(archive, make, query, tmp_path, capsys, golden):
    make.file(archive / "high-anchor" / "a.jsonl", make.low_anchor(), make.low_anchor(runIndex=1))
    make.file(archive / "b.jsonl", make.baseline())
    assert main(["--archive", str(archive)]) == 0
    ids = query("select trial_id from raw.trials order by all")
    moved = tmp_path / "elsewhere" / "results"
    shutil.copytree(archive, moved)
    shutil.copytree(archive / "high-anchor", moved / "copy" / "high-anchor")
    assert main(["--archive", str(moved)]) == 0
    golden(capsys.readouterr().out, "0 new", "3 unchanged", "2 duplicates")
    assert query("select trial_id from raw.trials order by all") == ids


def test_a_copy_of_a_file_brings_only_the_lines_that_the_first_has_not(archive, make, read):
    make.file(archive / "a.jsonl", make.baseline(), make.baseline())
    make.file(archive / "copy" / "a.jsonl", make.baseline(), make.baseline(), make.baseline(), make.full_sacd())
    result = read(archive)
    assert len({trial["trial_id"] for trial in result.trials}) == len(result.trials) == 4
    assert (result.summary.n_new, result.summary.n_duplicates) == (4, 2)


def test_equal_lines_of_one_file_are_trials_of_their_own(archive, make, read):
    make.file(archive / "a.jsonl", *[make.baseline()] * 3, make.full_sacd())
    make.file(archive / "b.jsonl", make.baseline())
    result = read(archive)
    assert len({trial["trial_id"] for trial in result.trials}) == len(result.trials) == 5
    assert result.summary.n_duplicates == 0


def test_an_llm_vignette_or_technique_without_a_seed_row_loads_and_is_reported(archive, make, query, capsys, golden):
    unknown = make.vignette(vignetteId="parking", technique="hindsight")
    make.file(archive / "a.jsonl", make.baseline(model="nobody/knows-it"), unknown)
    assert main(["--archive", str(archive)]) == 0
    out = capsys.readouterr().out
    golden(out, "nobody/knows-it", "1 trials")
    golden(out, "parking", "1 trials")
    golden(out, "hindsight", "1 trials")
    assert query("select llm_recorded from raw.trials order by all") == [
        ("anthropic/claude-opus-4-6",),
        ("nobody/knows-it",),
    ]


def test_ids_and_aliases_of_the_seeds_are_known(archive, make, read):
    make.file(archive / "a.jsonl", make.baseline(), make.vignette())
    assert not read(archive).summary.unknown_llms
    assert not read(archive).summary.unknown_vignettes


def test_what_is_not_of_the_study_is_skipped_and_named_with_the_reason(archive, make, read):
    make.file(archive / "a.jsonl", make.baseline())
    make.file(archive / "other.jsonl", {"experimentId": "framing", "model": "a/b", "conditionId": "gain", "params": {}})
    make.file(archive / "scores.jsonl", {"score": 3, "by": "nobody"})
    make.file(archive / "old.jsonl.bak", make.baseline(runIndex=5))
    make.file(archive / "report.json", {"mean": 17})
    summary = read(archive).summary
    assert summary.skipped == {
        "other.jsonl": "other data: runs of story 001's tool",
        "scores.jsonl": "other data: JSON objects with the fields [score, by]",
        "old.jsonl.bak": "not a .jsonl file",
        "report.json": "not a .jsonl file",
    }
    assert (sum(summary.rows.values()), summary.exit_code) == (1, 0)


FIELDS = "[experimentId, model, actualModel, condition, anchor, temperature, promptHash, sentenceMonths, methodology, "


def test_a_line_like_a_trial_is_quarantined_with_its_fields_whatever_else_its_file_holds(archive, make, read):
    other, foreign = make.baseline(experimentId="six-turns"), {"llm": "a/b", "Answer": 5}
    make.file(archive / "a.jsonl", make.baseline(), other, foreign)
    make.file(archive / "b.jsonl", other, foreign)
    result = read(archive)
    other_said = f"no trial of this format: experiment six-turns with the fields {FIELDS}runIndex, collectedAt]"
    foreign_said = "no trial of this format: JSON objects with the fields [llm, Answer]"
    assert result.reasons == {
        ("a.jsonl", 2): other_said,
        ("a.jsonl", 3): foreign_said,
        ("b.jsonl", 1): other_said,
        ("b.jsonl", 2): foreign_said,
    }
    assert result.summary.exit_code == 3
    assert not result.summary.skipped


def test_shapes_that_the_format_names_are_counted_and_skipped_among_trials_too(archive, make, read):
    run = {"experimentId": "framing", "model": "a/b", "conditionId": "gain", "params": {}, "result": {"choice": "a"}}
    spot = {"timestamp": "2026-01-02", "model": "a/b", "condition": "low", "response": 5, "raw": "5"}
    make.file(archive / "a.jsonl", make.baseline(), run, run, spot)
    make.file(archive / "b.jsonl", spot)
    summary = read(archive).summary
    assert summary.skipped_lines == {
        "other data: runs of story 001's tool": 2,
        "other data: spot checks of the judicial vignette": 2,
    }
    assert summary.skipped == {"b.jsonl": "other data: spot checks of the judicial vignette"}
    assert (summary.exit_code, summary.n_lines, summary.n_accounted) == (0, 5, 5)


@pytest.mark.parametrize("field", ["model", "sentenceMonths"])
def test_a_trial_without_a_field_that_makes_it_one_is_quarantined(archive, make, read, field, golden):
    broken = make.baseline()
    del broken[field]
    make.file(archive / "a.jsonl", make.baseline(), broken)
    make.file(archive / "b.jsonl", broken)
    result = read(archive)
    assert set(result.reasons) == {("a.jsonl", 2), ("b.jsonl", 1)}
    for reason in result.reasons.values():
        golden(reason)


def test_a_line_with_a_key_twice_is_quarantined_and_the_key_named(archive, make, read):
    line = json.dumps(make.baseline())
    repeated = {
        "temperature": ('"temperature": 0', '"temperature": 0, "temperature": 1'),
        "model": ('"model": "openai/o3"', '"model": "openai/o3", "mod\\u0065l": "openai/o4"'),
        "condition": ('"condition": "no-anchor"', '"condition": "no-anchor", "condition": "no-anchor"'),
    }
    make.file(archive / "a.jsonl", *(line.replace(*texts) for texts in repeated.values()), make.full_sacd())
    result = read(archive)
    assert result.reasons == {("a.jsonl", i): f"a key is there twice: {key}" for i, key in enumerate(repeated, 1)}
    assert [trial["source_line"] for trial in result.trials] == [4]


def test_a_missing_answer_is_a_trial_without_a_response(archive, make, read):
    make.file(archive / "a.jsonl", make.baseline(sentenceMonths=None), make.vignette(response=None, raw="I refuse."))
    assert [(t["response_recorded"], t["response_text"]) for t in read(archive).trials] == [
        (None, None),
        (None, "I refuse."),
    ]


@pytest.mark.parametrize(
    ("recorded", "response", "text"),
    [
        ("12", 12.0, None),
        ('"12"', 12.0, None),
        ('"twelve"', None, "twelve"),
        ('"nan"', None, "nan"),
        ('"-inf"', None, "-inf"),
        ("true", None, "true"),
        ("[1]", None, "[1]"),
        ("-3.5", -3.5, None),
    ],
)
def test_a_response_is_a_finite_number_or_null_with_its_text(archive, make, read, recorded, response, text):
    make.file(archive / "a.jsonl", json.dumps(make.baseline()).replace("17", recorded))
    (trial,) = read(archive).trials
    assert trial["response_recorded"] == response
    assert text is None or trial["response_text"] == text
    assert recorded in trial["line"]


NO_NUMBERS = ["true", '"warm"', '""', "NaN", "-Infinity", "1e400", f"1{'0' * 400}", "[]", "{}"]


def test_a_field_that_cannot_be_read_is_named_and_never_null_in_silence(archive, make, read):
    lines, reasons = [make.baseline()], {}
    for shape, field, kind in [
        ("low_anchor", "temperature", "number"),
        ("low_anchor", "anchor", "number"),
        ("low_anchor", "runIndex", "whole number"),
        ("full_sacd", "iterations", "whole number"),
        ("full_sacd", "initial", "number"),
        ("full_sacd", "timestamp", "time"),
        ("low_anchor", "collectedAt", "time"),
    ]:
        for value in NO_NUMBERS:
            lines.append(json.dumps(getattr(make, shape)(**{field: "VALUE"})).replace('"VALUE"', value))
            said = value.strip('"')[:100]
            reasons["a.jsonl", len(lines)] = f"no trial of this format: {field} is no {kind}: {said}"
    make.file(archive / "a.jsonl", *lines)
    result = read(archive)
    assert result.reasons == reasons
    assert [trial["source_line"] for trial in result.trials] == [1]


def test_a_run_is_a_whole_number_and_not_rounded_to_one(archive, make, read):
    make.file(archive / "a.jsonl", *(make.baseline(runIndex=run) for run in (2.5, 3.0, "4")))
    result = read(archive)
    assert result.reasons == {("a.jsonl", 1): "no trial of this format: runIndex is no whole number: 2.5"}
    assert [trial["replicate"] for trial in result.trials] == [3, 4]


def test_a_condition_that_is_null_or_not_recorded_is_null(archive, make, read):
    less = make.baseline(temperature=None, runIndex=None, collectedAt=None)
    del less["anchor"]
    make.file(archive / "a.jsonl", less)
    (trial,) = read(archive).trials
    assert [trial[name] for name in ("temperature", "replicate", "asked_at", "anchor_value")] == [None] * 4


def test_an_answer_that_is_a_number_without_end_is_quarantined(archive, make, read):
    lines, reasons = [make.baseline()], {}
    for shape, field in [("baseline", "sentenceMonths"), ("full_sacd", "final"), ("vignette", "response")]:
        for value in ("NaN", "Infinity", "1e400", f"1{'0' * 400}"):
            lines.append(json.dumps(getattr(make, shape)(**{field: "VALUE"})).replace('"VALUE"', value))
            reasons["a.jsonl", len(lines)] = f"no trial of this format: {field} is no finite number: {value[:100]}"
    make.file(archive / "a.jsonl", *lines)
    result = read(archive)
    assert result.reasons == reasons
    assert [trial["source_line"] for trial in result.trials] == [1]


@pytest.mark.slow("starts the script as a user does")
def test_the_script_imports_as_its_help_says(archive, make, query, warehouse, golden):
    make.file(archive / "a.jsonl", make.baseline(), "{")
    done = subprocess.run(
        [sys.executable, str(ROOT / "ingest" / "run.py"), "--archive", archive.name],
        cwd=archive.parent,
        env={**os.environ, "BAIS_WAREHOUSE": str(warehouse)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (3, "")
    golden(done.stdout, "1 new", "1 quarantined")
    assert query("select count(*) from raw.trials") == [(1,)]
    assert not Path(archive.parent, ".tmp").exists()


@pytest.mark.slow("imports again and again")
def test_two_warehouses_side_by_side_do_not_mix(archive, make, query, warehouse, monkeypatch):
    other = warehouse.with_name("other.duckdb")
    make.file(archive / "a.jsonl", make.baseline())
    assert main(["--archive", str(archive)]) == 0
    monkeypatch.setenv("BAIS_WAREHOUSE", str(other))
    make.file(archive / "b.jsonl", make.full_sacd())
    assert main(["--archive", str(archive)]) == 0
    assert query("select count(*) from raw.trials") == [(1,)]
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse))
    assert main(["--archive", str(archive)]) == 0
    assert query("select count(*), count(distinct trial_id) from raw.trials") == [(2, 2)]


def test_what_stands_for_dlt_in_other_tests_lands_the_same(archive, make, tmp_path, monkeypatch):
    make.file(archive / "a.jsonl", make.baseline(), make.full_sacd(), '{"cut": ')
    landed = {}
    with monkeypatch.context() as patch:
        patch.setattr(importer, "land", lambda _, **tables: landed.update((n, list(t)) for n, t in tables.items()))
        importer.import_archive(archive, ARCHIVE)
    found = []
    for folder in ("by_dlt", "by_hand"):
        monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / folder / "warehouse.duckdb"))
        land(**landed)
        with closing(connect()) as warehouse:
            rows = "select * exclude (_dlt_load_id) from raw.{} order by all"
            found.append({name: warehouse.execute(rows.format(name)).fetchall() for name in landed})
        monkeypatch.setattr("ingest.land.load._load", load_without_dlt)
    assert found[0] == found[1]
    assert (len(found[0]["trials"]), len(found[0]["quarantined_lines"])) == (2, 1)


def test_an_import_that_fails_while_it_reads_ahead_says_why(archive, make, monkeypatch, capsys):
    def land_one(_, trials, **others):
        next(trials)
        time.sleep(0.2)  # what is next is being made
        raise UserError("the disk is full")

    def slow(found):
        yield 1
        found.memory.execute("select sum(hash(range)) from range(50_000_000)")

    make.file(archive / "a.jsonl", make.baseline())
    monkeypatch.setattr(importer, "land", land_one)
    monkeypatch.setattr(importer._Import, "_trials", slow)
    assert main(["--archive", str(archive)]) == 2
    assert capsys.readouterr().err == "bais: the disk is full\n"
