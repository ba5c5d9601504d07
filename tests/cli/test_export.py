"""`bais export`, and the way back into a warehouse."""

import csv
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bais import exported as files
from bais.main import main
from bais.warehouse import opened
from ingest.archives.bais_export import VERSION, reading
from ingest.land.raw import OF_THE_GATE, TABLES
from ingest.warehouse import ROOT
from tests.tools.contracts import relation_of

FORMATS = ("parquet", "csv", "jsonl")
pytestmark = pytest.mark.slow("whole warehouses there and back")

STUDY = """
study: small
llms: [sim/anchored, sim/refuser]
vignettes: [burglary]
techniques: [sacd]
anchors: {proportional: {low: 0.5, high: 1.5}}
stopping_rule: {minimum: 4}
"""
NASTY = [
    '=HYPERLINK("http://x")', "+1", "-2 months", "@SUM(A1)", "\tcell", "'quoted'", 'a,"b"\r\nc', "", "NULL",
    "ünïcödé 12", "\uff1d1+1", None, "\x1b[31m 7",
]  # fmt: skip
MARTS = ("trials", "counts", "conditions", "effects", "technique_effects")
KILLED = """
import os, signal
from bais import exported
from bais.main import main

real, n = exported.write_table, []
def write_table(*arguments):
    n.append(1)
    if len(n) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments)
exported.write_table = write_table
main(["export", {folder!r}, "--format", "csv"])
"""


def recorded(i, text):
    return {
        "vignetteId": "loan", "model": "openai/o3", "technique": "baseline", "anchorType": "none", "anchor": None,
        "temperature": 0, "response": 100 + i, "raw": text, "timestamp": f"2026-01-02T03:04:{i:02}.25Z",
    }  # fmt: skip


def build(warehouse):
    """Derive the marts that are compared."""
    selected = [f"+{name}" for name in MARTS]
    warehouse.dbt("--quiet", "build", "--exclude-resource-type", "test", "unit_test", "--select", *selected)


@pytest.fixture(scope="module")
def built(tmp_path_factory, warehouse_in):
    """A warehouse with a simulated study and a recorded one, one batch rejected and one accepted, and its marts."""
    folder = tmp_path_factory.mktemp("built")
    path = warehouse_in(folder).path
    (folder / "study.yaml").write_text(STUDY)
    lines = [json.dumps(recorded(i, text)) for i, text in enumerate(NASTY)]
    (folder / "loan.jsonl").write_text("\n".join([*lines, "{torn", ""]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(path))
        patch.setenv("BAIS_USER", "ada")
        assert main(["collect", str(folder / "study.yaml")]) in (0, 6)
        assert main(["import", str(folder / "loan.jsonl")]) in (3, 6)
        batches = dict(rows(path, "select study, batch_id from raw.batches"))
        assert main(["accept", batches["voder-bais"], "--why", "looked at"]) == 0
        assert main(["accept", batches["small"], "--why", "looked at"]) == 0
    build(warehouse_in(folder))
    return path


@pytest.fixture
def warehouse(built, monkeypatch):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(built))
    return built


def rows(path, sql):
    with closing(duckdb.connect(str(path), read_only=True)) as connection:
        connection.execute("set TimeZone = 'UTC'")
        return connection.sql(sql).fetchall()


def all_of(path, table):
    schema, name = table.split(".")
    columns = rows(
        path,
        "select column_name from duckdb_columns() where column_name != '_dlt_load_id' "
        f"and (schema_name, table_name) = ('{schema}', '{name}') order by column_index",
    )
    return rows(path, f"select {', '.join(column for (column,) in columns)} from {table} order by all")


def same(value, other):
    """Equal; numbers but for the last digits, which depend on the order in which DuckDB's threads sum."""
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=1e-12, abs_tol=1e-9)
    return value == other


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text())


@pytest.mark.parametrize("form", FORMATS)
def test_every_public_table_is_one_file_with_all_its_rows(warehouse, tmp_path, form):
    folder = tmp_path / "out"
    assert main(["export", str(folder), "--format", form]) == 0
    tables = {of["table"]: of for of in manifest_of(folder)["tables"]}
    assert set(tables) >= {relation_of(name) for name in MARTS} | {f"raw.{name}" for name in TABLES}
    for table, of in tables.items():
        ((n,),) = rows(warehouse, f"select count(*) from {table}")
        assert of["rows"] == n
        reader = f"select count(*) from ({reading(folder / of['file'], form, of['columns'])})"
        assert duckdb.sql(reader).fetchall() == [(n,)]
    assert set(files_of(folder)) == {of["file"] for of in tables.values()} | {
        "README.md", "CITATION.cff", "data_dictionary.csv", "data_dictionary.md", "studies.csv", "manifest.json",
    }  # fmt: skip


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_warehouse_gives_the_same_bytes(warehouse, tmp_path, form):
    for name in ("one", "two"):
        assert main(["export", str(tmp_path / name), "--format", form]) == 0
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_the_dictionary_has_grain_type_and_description_of_every_column(warehouse, tmp_path):
    assert main(["export", str(tmp_path / "out")]) == 0
    with open(tmp_path / "out" / "data_dictionary.csv", newline="", encoding="utf-8") as file:
        entries = list(csv.DictReader(file))
    columns = [(of["table"], c["name"]) for of in manifest_of(tmp_path / "out")["tables"] for c in of["columns"]]
    assert [(entry["table"], entry["column"]) for entry in entries] == columns
    assert [entry for entry in entries if not all(entry.values())] == []
    assert not [entry for entry in entries if "{{" in entry["description"]]
    of_effects = {entry["column"]: entry for entry in entries if entry["table"] == "papers.technique_effects"}
    percent = of_effects["percent_of_baseline"]
    assert percent["type"] == "DOUBLE"
    assert "baseline" in percent["description"]
    assert percent["description"] in (tmp_path / "out" / "data_dictionary.md").read_text(encoding="utf-8")


def test_csv_tells_nulls_from_empty_texts_and_disarms_what_a_spreadsheet_would_compute(warehouse, tmp_path):
    assert main(["export", str(tmp_path / "out"), "--format", "csv"]) == 0
    text = (tmp_path / "out" / "raw" / "trials.csv").read_bytes().decode()
    reader = csv.DictReader(text.splitlines(keepends=True))
    by_number = {row["response_recorded"]: row for row in reader if row["study"] == "voder-bais"}
    found = [by_number[f"{100 + i}.0"]["response_text"] for i in range(len(NASTY))]
    armed = {0, 1, 2, 3, 4, 5, 10}
    assert found == [f"'{text}" if i in armed else text or "" for i, text in enumerate(NASTY)]
    assert by_number["100.0"]["asked_at"] == "2026-01-02T03:04:00.250000Z"
    lines = {i: line for line in text.splitlines() for i in (7, 11) if f",{100 + i}.0," in line}
    assert ',"",' in lines[7]
    assert ',"",' not in lines[11]


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=15)
@given(
    texts=st.lists(st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]))), min_size=1),
    numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1),
)
def test_what_is_written_is_read_again_to_the_last_digit_and_character(form, texts, numbers):
    columns = [{"name": "i", "type": "BIGINT"}, {"name": "s", "type": "VARCHAR"}, {"name": "x", "type": "DOUBLE"}]
    columns += [{"name": "l", "type": "VARCHAR[]"}, {"name": "t", "type": "TIMESTAMP WITH TIME ZONE"}]
    with closing(duckdb.connect()) as memory, tempfile.TemporaryDirectory() as folder:
        memory.execute("set TimeZone = 'UTC'; create schema raw")
        memory.execute("create table raw.t (i bigint, s varchar, x double, l varchar[], t timestamptz)")
        memory.executemany(
            "insert into raw.t values (?, ?, ?, ?, make_timestamptz(?))",
            [
                (i, text, numbers[i % len(numbers)], [t for t in texts if t] if i % 2 else None, i * 1_000_001)
                for i, text in enumerate(texts)
            ],
        )
        of = files.write_table(memory, Path(folder), form, {"table": "raw.t", "columns": columns}, None)
        memory.execute(f"create table back as {reading(Path(folder) / of['file'], form, columns)}")
        assert memory.sql("from back order by i").fetchall() == memory.sql("from raw.t order by i").fetchall()
        if form == "csv":
            written = {repr(x) for (x,) in memory.sql("select x from raw.t").fetchall()}
            with open(Path(folder) / of["file"], newline="", encoding="utf-8") as file:
                assert {row["x"] for row in csv.DictReader(file)} == written


def test_simulated_data_is_marked_in_every_place_that_names_the_study(warehouse, tmp_path, capsys, golden):
    assert main(["export", str(tmp_path / "out")]) == 0
    golden(capsys.readouterr().out, "24 trials", "SIMULATED")
    readme = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    golden(readme, "`small`", "SIMULATED")
    assert "| small | **SIMULATED** |" in readme
    with open(tmp_path / "out" / "studies.csv", newline="", encoding="utf-8") as file:
        marked = {row["study"]: row["is_simulated"] for row in csv.DictReader(file)}
    assert marked == {"small": "true", "voder-bais": "false"}


def test_recorded_data_comes_with_its_licence_its_source_and_how_to_cite_it(warehouse, tmp_path):
    assert main(["export", str(tmp_path / "out"), "--study", "voder-bais"]) == 0
    readme = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "SIMULATED" not in readme
    assert "| voder-bais | recorded | 13 | 0 | MIT | Voder AI (2026)." in readme
    cited = yaml.safe_load((tmp_path / "out" / "CITATION.cff").read_text(encoding="utf-8"))
    assert (cited["cff-version"], cited["title"], cited["license"]) == ("1.2.0", "bais", "MIT")
    (source,) = cited["references"]
    assert (source["authors"], source["license"]) == ([{"name": "Voder AI"}], "MIT")


def test_one_study_brings_its_rows_alone(warehouse, tmp_path):
    on_counts = "'counts' as object, study as object_id, act_id || study as act_id"
    with closing(duckdb.connect(str(warehouse))) as made:
        made.execute(
            f"insert into raw.gate_acts by name select * exclude (study) replace ({on_counts}) "
            "from (from raw.gate_acts limit 1), (values ('small'), ('voder-bais')) as t (study)"
        )
        made.execute(
            "update intermediate.nodes set content = (select count(*) from raw.gate_acts)::varchar "
            "where relation = 'raw.gate_acts'"
        )
    assert main(["export", str(tmp_path / "out"), "--study", "small", "--format", "jsonl"]) == 0
    for of in manifest_of(tmp_path / "out")["tables"]:
        lines = [json.loads(line) for line in (tmp_path / "out" / of["file"]).read_text().splitlines()]
        assert {line.get("study", "small") for line in lines} <= {"small"}
        assert not [line for line in lines if "voder-bais" in str(line.get("batch_id"))]
    acts = (tmp_path / "out" / "raw" / "gate_acts.jsonl").read_text().splitlines()
    assert [json.loads(act)["object_id"].split("/")[0] for act in acts] == ["small", "small"]
    assert {json.loads(act)["object"] for act in acts} == {"batch", "counts"}


def test_a_study_that_is_not_there_is_answered_with_those_that_are(warehouse, tmp_path, capsys, golden):
    assert main(["export", str(tmp_path / "out"), "--study", "smal"]) == 2
    said = capsys.readouterr().err
    golden(said, "smal", "small, voder-bais")
    assert not (tmp_path / "out").exists()


def test_force_replaces_an_export_and_nothing_else(warehouse, tmp_path, capsys, golden):
    folder = tmp_path / "out"
    folder.mkdir()
    assert main(["export", str(folder), "--format", "csv"]) == 0
    before = files_of(folder)
    assert main(["export", str(folder)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert files_of(folder) == before
    assert main(["export", str(folder), "--force"]) == 0
    assert not [name for name in files_of(folder) if name.startswith("marts") and name.endswith(".csv")]
    (folder / "marts" / "notes.txt").write_text("mine")
    before = files_of(folder)
    assert main(["export", str(folder), "--force"]) == 2
    golden(capsys.readouterr().err)
    assert files_of(folder) == before
    (folder / "manifest.json").unlink()
    assert main(["export", str(folder), "--force"]) == 2
    golden(capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == [folder]


def test_a_full_disk_leaves_nothing_and_is_one_sentence(warehouse, tmp_path, monkeypatch, capsys):
    real, n_written = files.write_table, []

    def write_table(*arguments):
        n_written.append(1)
        if len(n_written) == 5:
            raise OSError(28, "No space left on device")
        return real(*arguments)

    monkeypatch.setattr(files, "write_table", write_table)
    assert main(["export", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    why = r"No space left on device: [\d,]+ bytes are free on the disk at \S+"
    assert re.fullmatch(f"bais: {tmp_path}/out cannot be written: {why}\n", said)
    assert list(tmp_path.iterdir()) == []


def test_a_killed_export_does_not_look_whole_and_the_next_one_clears_it_away(warehouse, tmp_path, capsys, golden):
    folder = tmp_path / "out"
    done = subprocess.run([sys.executable, "-c", KILLED.format(folder=str(folder))], cwd=ROOT, capture_output=True)
    assert done.returncode == -9
    (left,) = tmp_path.iterdir()
    assert left.name == "out.unfinished"
    assert main(["import", str(left), "--format", "bais-export"]) == 2
    golden(capsys.readouterr().err, "manifest.json")
    assert main(["export", str(folder), "--format", "csv"]) == 0
    assert list(tmp_path.iterdir()) == [folder]


def test_a_warehouse_without_marts_says_what_to_run(tmp_path, monkeypatch, capsys, golden):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "w.duckdb"))
    duckdb.connect(str(tmp_path / "w.duckdb")).close()
    assert main(["export", str(tmp_path / "out")]) == 2
    golden(capsys.readouterr().err, "`bais build`")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("form", FORMATS)
def test_an_import_back_has_the_same_rows_and_a_second_adds_nothing(warehouse, tmp_path, monkeypatch, capsys, form):
    assert main(["export", str(tmp_path / "out"), "--format", form]) == 0
    back = tmp_path / "back" / "w.duckdb"
    monkeypatch.setenv("BAIS_WAREHOUSE", str(back))
    for added, said in ((37, []), (0, ["--format", "bais-export"])):
        capsys.readouterr()
        assert main(["import", str(tmp_path / "out"), *said]) == 0
        assert f"{added} trials added, {37 - added} already" in capsys.readouterr().out
        for name in TABLES:
            assert all_of(back, f"raw.{name}") == all_of(warehouse, f"raw.{name}")
    monkeypatch.setenv("BAIS_WAREHOUSE", str(back))
    capsys.readouterr()
    assert main(["check", "--json"]) == 0
    verdicts = json.loads(capsys.readouterr().out)
    assert {verdict["study"]: (verdict["act"], verdict["is_published"]) for verdict in verdicts} == {
        "small": ("accept", True),
        "voder-bais": ("accept", True),
    }


def test_an_import_back_and_a_build_give_the_same_marts(warehouse, warehouse_in, tmp_path, monkeypatch):
    assert main(["export", str(tmp_path / "out"), "--format", "csv"]) == 0
    back = warehouse_in(tmp_path / "back").path
    monkeypatch.setenv("BAIS_WAREHOUSE", str(back))
    assert main(["import", str(tmp_path / "out"), "--format", "bais-export"]) == 0
    build(warehouse_in(back.parent))
    for name in MARTS:
        mine, theirs = (all_of(path, relation_of(name)) for path in (back, warehouse))
        assert len(mine) == len(theirs) > 0
        for row, other in zip(mine, theirs, strict=True):
            assert all(map(same, row, other)), (name, row, other)


def test_trials_that_are_there_under_another_batch_stay_and_their_second_verdict_does_not_come(
    warehouse, tmp_path, monkeypatch
):
    assert main(["export", str(tmp_path / "out"), "--study", "voder-bais"]) == 0
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "back" / "w.duckdb"))
    assert main(["import", str(warehouse.parent / "loan.jsonl")]) in (3, 6)
    before = {name: all_of(tmp_path / "back" / "w.duckdb", f"raw.{name}") for name in ("trials", *OF_THE_GATE)}
    assert main(["import", str(tmp_path / "out"), "--format", "bais-export"]) == 0
    for name, of in before.items():
        after = all_of(tmp_path / "back" / "w.duckdb", f"raw.{name}")
        # what was decided of the study's counts is of no batch, and comes
        assert [row for row in after if name != "gate_acts" or "counts" not in row] == of


def edit_row(folder):
    path = folder / "raw" / "trials.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("ünïcödé 12", "ünïcödé 13"), encoding="utf-8")


def change_manifest(**changes):
    def change(folder):
        path = folder / "manifest.json"
        path.write_text(json.dumps(manifest_of(folder) | changes))

    return change


def leave_out(folder, *tables):
    manifest = manifest_of(folder)
    change_manifest(tables=[of for of in manifest["tables"] if of["table"] not in tables])(folder)


def as_before_versions(folder):
    """Make of an export what a bais wrote that knew no versions of sources."""
    leave_out(folder, "raw.source_versions", "raw.version_files", "raw.version_entries")
    manifest = manifest_of(folder)
    (batches,) = (of for of in manifest["tables"] if of["table"] == "raw.batches")
    batches["columns"] = [of for of in batches["columns"] if of["name"] not in ("version_id", "content")]
    path = folder / batches["file"]
    with open(path, newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [of["name"] for of in batches["columns"]], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(read)
    batches["sha256"] = files.sha256_of(path)
    change_manifest(format_version=1, tables=manifest["tables"])(folder)


def test_an_export_of_before_there_were_versions_is_imported(warehouse, exported, tmp_path, monkeypatch):
    folder = tmp_path / "out"
    shutil.copytree(exported, folder)
    as_before_versions(folder)
    back = tmp_path / "back" / "w.duckdb"
    monkeypatch.setenv("BAIS_WAREHOUSE", str(back))
    assert main(["import", str(folder)]) == 0
    for name in ("trials", "calls", "prompts", *OF_THE_GATE):
        assert all_of(back, f"raw.{name}") == all_of(warehouse, f"raw.{name}")
    assert rows(back, "select count(*), count(version_id) from raw.batches") == [(2, 0)]
    assert main(["import", str(warehouse.parent / "loan.jsonl")]) in (3, 6)
    assert rows(back, "select count(*) from raw.trials") == rows(warehouse, "select count(*) from raw.trials")


def lie_about_rows(folder):
    manifest = manifest_of(folder)
    for of in manifest["tables"]:
        of["rows"] += of["table"] == "raw.trials"
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "damage",
    [
        edit_row,
        lambda folder: (folder / "marts" / "trials.csv").unlink(),
        lambda folder: (folder / "manifest.json").unlink(),
        lambda folder: (folder / "manifest.json").write_text("{"),
        lambda folder: (folder / "manifest.json").write_text("[]"),
        change_manifest(format_version=VERSION + 1),
        change_manifest(format="other"),
        change_manifest(tables=[]),
        lambda folder: leave_out(folder, "raw.version_entries"),
        change_manifest(files=[{"file": "../study.yaml", "sha256": ""}]),
        lie_about_rows,
        shutil.rmtree,
    ],
    ids=[
        "another row", "a table missing", "no manifest", "no JSON", "a list", "a later version", "another format",
        "no tables", "a table not listed", "a file outside", "another number of rows", "no folder",
    ],
)  # fmt: skip
def test_an_export_that_was_changed_is_one_sentence_and_nothing_is_imported(
    exported, tmp_path, monkeypatch, capsys, damage, golden
):
    folder = tmp_path / "out"
    shutil.copytree(exported, folder)
    damage(folder)
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "back" / "w.duckdb"))
    assert main(["import", str(folder), "--format", "bais-export"]) == 2
    said = capsys.readouterr().err
    golden(said)
    assert said.count("\n") == 1
    assert not (tmp_path / "back" / "w.duckdb").exists()


@pytest.fixture(scope="module")
def exported(built, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(built))
        assert main(["export", str(folder), "--format", "csv"]) == 0
    return folder


@pytest.mark.parametrize("form", FORMATS)
def test_families_go_there_and_back_as_they_were_frozen_and_a_second_time_adds_none(form, tmp_path, monkeypatch):
    path, back, folder = (tmp_path / name for name in ("here.duckdb", "back.duckdb", "out"))
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    for techniques in ("[no_technique, sacd]", "[no_technique, sacd, premortem]"):
        (tmp_path / "small.yaml").write_text(STUDY.replace("[sacd]", techniques))
        assert main(["collect", str(tmp_path / "small.yaml")]) in (0, 6)
    folder.mkdir()
    with opened(writes_files=True) as warehouse:
        files.write_export(warehouse, folder, form, files.studies_of(warehouse, None))
    frozen = all_of(path, "raw.families")
    assert [row[7] for row in frozen].count(True) == len(frozen) / 2 == 3  # before the first call, and after it
    monkeypatch.setenv("BAIS_WAREHOUSE", str(back))
    for _ in range(2):
        assert main(["import", str(folder)]) == 0
        assert all_of(back, "raw.families") == frozen
    with closing(duckdb.connect(str(back))) as warehouse:
        warehouse.execute("update raw.families set frozen_at = frozen_at + interval 1 day")
    assert main(["import", str(folder)]) == 0
    assert rows(back, "select count(*) from raw.families") == [(6,)]


def test_an_export_of_before_families_were_frozen_is_imported_without_any(exported, tmp_path, monkeypatch):
    folder, back = tmp_path / "out", tmp_path / "back" / "w.duckdb"
    shutil.copytree(exported, folder)
    leave_out(folder, "raw.families")
    change_manifest(format_version=7)(folder)
    monkeypatch.setenv("BAIS_WAREHOUSE", str(back))
    assert main(["import", str(folder)]) == 0
    assert rows(back, "select count(*) from raw.families") == [(0,)]
