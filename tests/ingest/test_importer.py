"""What a readable archive becomes in `raw`."""

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from ingest.raw import LANDED, raw_statements
from ingest.run import main
from ingest.warehouse import ROOT

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


@pytest.mark.parametrize("first", ["collected", "imported"])
def test_columns_and_types_are_those_of_the_tables_that_dbt_makes_first(archive, make, query, small_study, first):
    make.file(archive / "a.jsonl", make.baseline(), "{")
    runs = [([str(small_study)], 0), (["--archive", str(archive)], 3)]
    for arguments, code in runs if first == "collected" else reversed(runs):
        assert main(arguments) == code
    with duckdb.connect() as empty:
        empty.execute(raw_statements())
        for table in set(LANDED) - {"version_entries"}:  # of which a first version has none
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


def test_a_second_import_adds_nothing_and_ten_more_lines_add_ten(archive, make, read, query, capsys):
    lines = [make.baseline(runIndex=i) for i in range(5)]
    make.file(archive / "a.jsonl", *lines)
    assert main(["--archive", str(archive)]) == 0
    before = query("from raw.trials order by trial_id")
    assert main(["--archive", str(archive)]) == 0
    assert query("from raw.trials order by trial_id") == before
    assert "0 new, 5 unchanged, 0 changed, 0 gone, 0 duplicates" in capsys.readouterr().out
    assert read(archive).trials == []
    make.file(archive / "a.jsonl", *lines, *(make.baseline(runIndex=i) for i in range(5, 15)))
    assert main(["--archive", str(archive)]) == 0
    assert "10 added, 5 already there" in capsys.readouterr().out
    assert query("select count(*), count(distinct trial_id) from raw.trials") == [(15, 15)]


def test_a_moved_folder_and_a_copy_of_a_subfolder_inside_it_add_nothing(archive, make, query, tmp_path, capsys):
    make.file(archive / "high-anchor" / "a.jsonl", make.low_anchor(), make.low_anchor(runIndex=1))
    make.file(archive / "b.jsonl", make.baseline())
    assert main(["--archive", str(archive)]) == 0
    ids = query("select trial_id from raw.trials order by all")
    moved = tmp_path / "elsewhere" / "results"
    shutil.copytree(archive, moved)
    shutil.copytree(archive / "high-anchor", moved / "copy" / "high-anchor")
    assert main(["--archive", str(moved)]) == 0
    assert "0 new, 3 unchanged, 0 changed, 0 gone, 2 duplicates" in capsys.readouterr().out
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


def test_an_llm_vignette_or_technique_without_a_seed_row_loads_and_is_reported(archive, make, query, capsys):
    unknown = make.vignette(vignetteId="parking", technique="hindsight")
    make.file(archive / "a.jsonl", make.baseline(model="nobody/knows-it"), unknown)
    assert main(["--archive", str(archive)]) == 0
    out = capsys.readouterr().out
    assert "unknown LLM ids, loaded under their own names: nobody/knows-it (1 trials)" in out
    assert "unknown vignettes, loaded under their own names: parking (1 trials)" in out
    assert "unknown techniques, loaded under their own names: hindsight (1 trials)" in out
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
    make.file(archive / "other.jsonl", make.baseline(experimentId="anchoring-of-something-else"))
    make.file(archive / "scores.jsonl", {"score": 3, "by": "nobody"})
    make.file(archive / "old.jsonl.bak", make.baseline(runIndex=5))
    make.file(archive / "report.json", {"mean": 17})
    summary = read(archive).summary
    assert summary.skipped == {
        "other.jsonl": "other data: experiment anchoring-of-something-else",
        "scores.jsonl": "other data: JSON objects with the fields [score, by]",
        "old.jsonl.bak": "not a .jsonl file",
        "report.json": "not a .jsonl file",
    }
    assert (sum(summary.rows.values()), summary.exit_code) == (1, 0)


def test_a_line_of_another_study_among_trials_is_quarantined(archive, make, read):
    make.file(archive / "a.jsonl", make.baseline(), make.baseline(experimentId="something-else"))
    result = read(archive)
    assert result.reasons == {("a.jsonl", 2): "no trial of this format: experiment something-else"}
    assert result.summary.exit_code == 3


@pytest.mark.parametrize("field", ["model", "sentenceMonths"])
def test_a_trial_without_a_field_that_makes_it_one_is_quarantined(archive, make, read, field):
    broken = make.baseline()
    del broken[field]
    make.file(archive / "a.jsonl", make.baseline(), broken)
    assert read(archive).reasons == {("a.jsonl", 2): "no trial of this format: experiment baseline"}


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
        ("NaN", None, None),
        ("1e999", None, None),
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


@pytest.mark.parametrize("value", ["true", '"warm"', "NaN", "1e999", "[]", "{}", "null"])
def test_a_temperature_or_anchor_that_is_no_number_is_null_or_finite(archive, make, read, value):
    line = json.dumps(make.low_anchor()).replace('"temperature": 0', f'"temperature": {value}')
    make.file(archive / "a.jsonl", line.replace('"anchor": 8', f'"anchor": {value}'))
    (trial,) = read(archive).trials
    assert trial["temperature"] in (None, 1.0)
    assert trial["anchor_value"] in (None, 1.0)


def test_the_script_imports_as_its_help_says(archive, make, query, warehouse):
    make.file(archive / "a.jsonl", make.baseline(), "{")
    done = subprocess.run(
        [sys.executable, str(ROOT / "ingest" / "run.py"), "--archive", archive.name],
        cwd=archive.parent,
        env={**os.environ, "BAIS_WAREHOUSE": str(warehouse)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (3, "")
    assert "1 new, 0 unchanged, 0 changed, 0 gone, 0 duplicates, 1 quarantined" in done.stdout
    assert query("select count(*) from raw.trials") == [(1,)]
    assert not Path(archive.parent, ".tmp").exists()


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
