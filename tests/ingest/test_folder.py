"""Trials in a folder of Parquet: the rows are those of tables, of a load all or none, and damage is named."""

import json
import os
import shutil
from contextlib import closing

import duckdb
import pytest

from bais.built import build_on_copy
from bais.main import main as bais
from ingest.gate.acts import decide_of_trials
from ingest.land import folder as kept
from ingest.land import load
from ingest.land.raw import ORDERED, TABLES, number_rows, prepare_raw
from ingest.run import main
from ingest.warehouse import UserError, connect, in_memory, quoted, transaction

pytestmark = pytest.mark.slow("imports again and again")

AGAIN = pytest.mark.slow("imports again and again")

APART = sorted(kept.APART)
OF_LOADS = {
    "_dlt_load_id",
    "batch_id",
    "imported_at",
    "frozen_at",
    "loaded_at",
    "quarantined_at",
    "version_id",
    "compared_with",
    "ordinal",
}


@pytest.fixture
def to(tmp_path):
    return tmp_path / "raw"


@pytest.fixture
def into(archive, to):
    """Import the archive into the folder; the exit code."""
    return lambda *more: main(["--archive", str(archive), "--to", str(to), *more])


@pytest.fixture
def first(archive, make, into):
    """Two trials of judicial and one of loan, in the folder."""
    make.file(archive / "a.jsonl", make.baseline(), make.baseline(runIndex=1))
    make.file(archive / "b.jsonl", make.vignette())
    assert into() == 0


def manifest(to):
    return json.loads((to / kept.MANIFEST).read_text(encoding="utf-8"))


def files(to):
    return sorted(str(path.relative_to(to)) for path in to.rglob("*.parquet"))


def named(to):
    return sorted(of["file"] for load_ in manifest(to)["loads"] for of in load_["files"])


def without_a_folder(path, archive, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(path))
        main(["--archive", str(archive)])
    return path


def said_of_tables(path, of):
    with closing(duckdb.connect(str(path), read_only=True)) as connection:
        rows = {}
        for name in of:
            columns = [column for column in TABLES[name].columns if column not in OF_LOADS]
            rows[name] = sorted(map(repr, connection.sql(f"select {', '.join(columns)} from raw.{name}").fetchall()))
        described = connection.sql(
            "select table_name, column_name, data_type from duckdb_columns() "
            "where schema_name = 'raw' order by table_name, column_index"
        ).fetchall()
    return rows, described


def test_rows_columns_types_and_definitions_are_those_of_tables(
    archive, make, into, to, warehouse, monkeypatch, tmp_path
):
    turns = [{"biasDetected": True, "rawResponse": "18 months"}]
    make.file(archive / "a.jsonl", make.baseline(), make.low_anchor(), make.full_sacd(iterationDetails=turns), "{")
    make.file(archive / "b.jsonl", make.vignette(raw="Ä 'quoted'\n\n**96**"))
    assert into() == 3
    plain = without_a_folder(tmp_path / "plain.duckdb", archive, monkeypatch)
    assert said_of_tables(warehouse, TABLES) == said_of_tables(plain, TABLES)
    with closing(connect(warehouse)) as connection:
        views = connection.sql("select view_name from duckdb_views() where schema_name = 'raw' order by all").fetchall()
        assert [name for (name,) in views] == APART
        meanings = connection.sql(
            "select table_name, column_name, comment from duckdb_columns() where schema_name = 'raw' and comment != ''"
        ).fetchall()
        assert {(name, column): meaning for name, column, meaning in meanings} == {
            (name, column): of["description"] for name in APART for column, of in TABLES[name].columns.items()
        }
    assert files(to) == named(to)
    assert {path.split("/")[1] for path in files(to)} == {"by_study=voder-bais"}
    of_trials = [of for of in manifest(to)["loads"][0]["files"] if of["table"] == "trials"]
    assert sorted(of["rows"] for of in of_trials) == [1, 3]  # a file for each batch, which is of one vignette
    for of in of_trials:
        assert (to / of["file"]).stat().st_size == of["bytes"]
        there = duckdb.execute(f"select count(*) from read_parquet({quoted(to / of['file'])})").fetchall()
        assert there == [(of["rows"],)]


@pytest.mark.parametrize("name", ["量刑" * 40, "🏛" * 60, "a b'c%ü=/\\..", "x" * 300])
def test_a_vignette_may_have_any_name(name, archive, make, into, to, query):
    make.file(archive / "a.jsonl", make.vignette(vignetteId=name))
    make.file(archive / "b.jsonl", make.vignette(vignetteId=f"{name}2"))
    assert into() == 0
    assert files(to) == named(to)
    assert query("select vignette from raw.trials order by length(vignette)") == [(name,), (f"{name}2",)]


def test_a_later_load_adds_what_is_new_and_changes_no_file(first, archive, make, into, to, query):
    before = {path: (to / path).read_bytes() for path in files(to)}
    make.file(archive / "c.jsonl", make.baseline(runIndex=2))
    assert into() == 0
    assert main(["--archive", str(archive)]) == 0  # from now on it needs no --to
    assert {path: (to / path).read_bytes() for path in before} == before
    assert [load_id["files"] and len(load_id["load_id"]) for load_id in manifest(to)["loads"]] == [32, 32]
    assert query("select count(*), count(distinct trial_id) from raw.trials") == [(4, 4)]


def test_what_a_warehouse_has_already_moves_into_the_folder(archive, make, into, to, query, warehouse):
    make.file(archive / "a.jsonl", make.baseline(), make.baseline(runIndex=1))
    assert main(["--archive", str(archive)]) == 0
    before = said_of_tables(warehouse, TABLES)
    assert into() == 0
    assert said_of_tables(warehouse, TABLES) == before
    assert query("select count(*) from duckdb_views() where schema_name = 'raw'") == [(len(APART),)]
    assert sum(of["rows"] for of in manifest(to)["loads"][0]["files"] if of["table"] == "trials") == 2


@pytest.mark.parametrize("where", ["written", "named"])
@pytest.mark.slow("programs killed")
def test_a_load_that_is_killed_is_there_wholly_or_not_at_all_and_lands_once(
    first, where, archive, make, into, to, query, warehouse, monkeypatch
):
    def dies(*_):
        raise SystemExit("killed")

    make.file(archive / "c.jsonl", make.baseline(runIndex=2))
    with monkeypatch.context() as patch:
        if where == "written":
            patch.setattr(kept.Folder, "_name", dies)
        else:
            patch.setattr(load, "take_in", dies)
        with pytest.raises(SystemExit):
            into()
    assert query("select count(*) from raw.trials") == [(3,)]
    if where == "written":
        assert set(files(to)) > set(named(to))
    else:
        prepare_raw(warehouse)  # as every command does that writes
        assert query("select count(*) from raw.trials") == [(4,)]
        assert query("select count(*) from raw.batches") == [(3,)]
    assert into() == 0
    assert files(to) == named(to)
    assert query("select count(*), count(distinct trial_id) from raw.trials") == [(4, 4)]
    assert query("select count(*), count(distinct batch_id) from raw.batches") == [(3, 3)]


def test_a_build_takes_in_first_what_a_killed_import_left(first, archive, make, into, monkeypatch, warehouse):
    seen = []

    def looks(copy, *_):
        with closing(connect(warehouse)) as connection:
            seen.append(connection.execute("select count(*) from raw.trials").fetchone())
        return 0

    make.file(archive / "c.jsonl", make.baseline(runIndex=2))
    with monkeypatch.context() as patch:
        patch.setattr(load, "take_in", lambda *_: (_ for _ in ()).throw(SystemExit()))
        with pytest.raises(SystemExit):
            into()
    monkeypatch.setattr("bais.built.build_on_copy", looks)
    assert bais(["build"]) == 0
    assert seen == [(4,)]


@AGAIN
def test_what_lands_in_the_folder_while_a_build_runs_is_in_the_warehouse_that_is_put_in_place(
    archive, make, into, query, warehouse
):
    make.file(archive / "a.jsonl", make.baseline())
    assert main(["--archive", str(archive)]) == 0

    def build(copy):
        assert into() == 0  # the trials move into the folder, and one comes
        make.file(archive / "c.jsonl", make.baseline(runIndex=2))
        assert into() == 0
        return 0

    assert build_on_copy(warehouse, build) == 0
    assert query("select count(*), count(distinct trial_id) from raw.trials") == [(2, 2)]
    assert query("select count(*) from duckdb_views() where schema_name = 'raw'") == [(len(APART),)]
    assert into() == 0
    assert query("select count(*) from raw.trials") == [(2,)]


def test_a_folder_that_was_moved_is_named_anew(first, archive, make, to, tmp_path, query, capsys, golden):
    to.rename(tmp_path / "elsewhere")
    assert main(["--archive", str(archive)]) == 2
    said = capsys.readouterr().err
    golden(said, str(to))
    golden(said, "--to")
    assert main(["--archive", str(archive), "--to", str(tmp_path / "elsewhere")]) == 0
    assert query("select count(*) from raw.trials") == [(3,)]


def test_a_query_says_which_file_is_gone_and_a_command_that_writes_does_nothing(first, to, warehouse, capsys):
    lost = next(path for path in files(to) if path.startswith("trials/"))
    (to / lost).unlink()
    assert bais(["sql", "select count(*) from raw.trials where response_text is null"]) == 2
    assert f"{to / lost}, in which the warehouse {warehouse} keeps trials" in capsys.readouterr().err
    before = warehouse.read_bytes()
    assert bais(["build"]) == 2
    assert f"{to / lost}, which the manifest of {to} names" in capsys.readouterr().err
    assert warehouse.read_bytes() == before


def test_the_doctor_looks_for_the_files(first, to, capsys):
    bais(["doctor"])
    assert f"ok trials in {to} " in " ".join(capsys.readouterr().out.split())
    (to / next(path for path in files(to) if path.startswith("trials/"))).unlink()
    assert bais(["doctor"]) == 2
    assert "put it back from a copy" in capsys.readouterr().out


def cut(to):
    path = to / next(path for path in files(to) if path.startswith("trials/"))
    os.truncate(path, 100)
    return "has 100 bytes and was written with"


def no_manifest(to):
    (to / kept.MANIFEST).unlink()
    return "is not there, or has no manifest: put the folder back"


def not_ours(to):
    (to / kept.MANIFEST).write_text('{"a": 1}')
    return "is not what bais wrote there"


def of_another(to):
    text = (to / kept.MANIFEST).read_text()
    (to / kept.MANIFEST).write_text(text.replace(manifest(to)["folder_id"], "0" * 32))
    return "holds the trials of another warehouse: name another folder"


def later(to):
    (to / kept.MANIFEST).write_text(json.dumps(manifest(to) | {"format_version": kept.VERSION + 1}))
    return "was written by a later version of bais: upgrade"


def fewer(to):
    (to / kept.MANIFEST).write_text(json.dumps(manifest(to) | {"loads": []}))
    return "lacks 1 of its loads: put the folder back"


@pytest.mark.parametrize("fault", [cut, no_manifest, not_ours, of_another, later, fewer])
def test_a_folder_that_is_not_as_it_was_written_is_refused_with_what_is_wrong(first, fault, archive, make, to, capsys):
    said = fault(to)
    make.file(archive / "c.jsonl", make.baseline(runIndex=2))
    assert main(["--archive", str(archive)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    [
        "full",
        "file",
        "file/raw",
        "a*b",
        "s3://bucket/raw",
    ],
)
def test_a_folder_that_cannot_be_one_is_refused_before_anything_is_read(
    archive, make, tmp_path, warehouse, capsys, name, golden
):
    make.file(archive / "a.jsonl", make.baseline())
    make.file(tmp_path / "full" / "mine.txt", "mine")
    make.file(tmp_path / "file", "mine")
    assert main(["--archive", str(archive), "--to", name if "://" in name else str(tmp_path / name)]) == 2
    golden(capsys.readouterr().err)
    assert not warehouse.exists()


def test_a_second_warehouse_cannot_take_the_folder_and_another_folder_is_no_second_one(
    first, archive, to, tmp_path, monkeypatch, capsys, golden
):
    assert main(["--archive", str(archive), "--to", str(tmp_path / "second")]) == 2
    golden(capsys.readouterr().err, "--to", str(to))
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "other.duckdb"))
    assert main(["--archive", str(archive), "--to", str(to)]) == 2
    golden(capsys.readouterr().err, str(to))
    assert not (tmp_path / "other.duckdb").exists()


def test_an_import_that_comes_to_nothing_leaves_neither_folder_nor_warehouse(archive, to, warehouse, capsys):
    assert main(["--archive", str(archive / "nowhere"), "--to", str(to)]) == 2
    assert "there is no" in capsys.readouterr().err
    assert not to.exists()
    assert not warehouse.exists()


def test_an_import_that_the_disk_has_no_room_for_leaves_nothing_and_says_so(
    archive, make, into, to, warehouse, monkeypatch, capsys
):
    def full(folder, *_):
        (folder.path / "trials" / "by_study=some").mkdir(parents=True)
        (folder.path / "trials" / "by_study=some" / "a.parquet").write_text("half")
        raise duckdb.IOException('Async write failed: "Could not write file: No space left on device"')

    make.file(archive / "a.jsonl", make.baseline())
    monkeypatch.setattr(kept.Folder, "_write", full)
    assert into() == 2
    assert f"{to} cannot be written: No space left on device: " in capsys.readouterr().err
    assert not to.exists()
    assert not warehouse.exists()


def test_to_goes_with_an_archive_alone(to, capsys, golden):
    assert main(["--to", str(to)]) == 2
    golden(capsys.readouterr().err, "--to", "--archive", "--download")


def test_a_copy_of_warehouse_and_folder_is_complete(first, to, warehouse, tmp_path, monkeypatch):
    """After a move of both, as on another machine."""
    shutil.copy(warehouse, tmp_path / "moved.duckdb")
    to.rename(tmp_path / "moved")
    with closing(connect(tmp_path / "moved.duckdb", read_only=False)) as connection:
        connection.execute("begin")
        kept.keep_in(connection, tmp_path / "moved")
        kept.take_in(connection, TABLES, number_rows)
        connection.execute("commit")
        assert connection.execute("select count(*) from raw.trials").fetchall() == [(3,)]


def test_who_reads_the_warehouse_reaches_its_folder_and_no_other_file(first, to, warehouse, tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    for is_sealed in (True, False):
        with closing(connect(warehouse, is_sealed=is_sealed)) as connection:
            assert connection.execute("select count(*) from raw.trials where response_text is null").fetchall() == [
                (2,)
            ]
            with pytest.raises(duckdb.Error, match="disabled by configuration"):
                connection.sql(f"from read_csv({quoted(tmp_path / 'secret.csv')})")


def test_a_copy_of_both_is_told_its_own_folder_and_leaves_the_first_alone(
    first, archive, make, to, warehouse, tmp_path, monkeypatch, query
):
    shutil.copy(warehouse, tmp_path / "copy.duckdb")
    shutil.copytree(to, tmp_path / "copy")
    make.file(archive / "c.jsonl", make.baseline(runIndex=2))
    with monkeypatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(tmp_path / "copy.duckdb"))
        assert main(["--archive", str(archive), "--to", str(tmp_path / "copy")]) == 0
    assert [len(manifest(of)["loads"]) for of in (to, tmp_path / "copy")] == [1, 2]
    assert query("select count(*) from raw.trials") == [(3,)]


@AGAIN
def test_a_copy_of_the_warehouse_takes_in_loads_in_the_order_in_which_they_were_made_whatever_it_had_of_its_own(
    first, archive, make, into, to, warehouse, tmp_path, monkeypatch, query
):
    copy = shutil.copy(warehouse, tmp_path / "copy.duckdb")
    for number in (21, 31):
        make.file(archive / "a.jsonl", make.baseline(sentenceMonths=number), make.baseline(runIndex=1))
        assert into() == 0
    in_order = query("select version_id from raw.source_versions order by ordinal")
    with monkeypatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(copy))
        trials = [trial for (trial,) in query("select trial_id from raw.trials")]
        with transaction(copy) as connection:
            connection.execute("update raw.batches set ordinal = 1000")
        decide_of_trials("withdraw", trials[:1], "a decision of its own", "me")
    with closing(connect(copy)) as connection:
        assert connection.execute("select version_id from raw.source_versions order by ordinal").fetchall() == in_order
        assert connection.execute("select min(ordinal) > 1000 from raw.gate_acts").fetchall() == [(True,)]


@pytest.mark.parametrize("n_loads_before", [1, 2])
@AGAIN
def test_loads_of_an_older_bais_have_no_numbers_and_come_before_those_of_this_one(
    n_loads_before, archive, make, into, to, warehouse, tmp_path, query
):
    empty = tmp_path / "empty.duckdb"
    for number in range(3):
        make.file(archive / "a.jsonl", make.baseline(sentenceMonths=number))
        assert into() == 0
        if number == n_loads_before - 1:
            said = json.loads((to / kept.MANIFEST).read_text(encoding="utf-8"))
            for of in (of for load_ in said["loads"] for of in load_["files"] if of["table"] in ORDERED):
                path = to / of["file"]
                with closing(in_memory()) as memory:
                    rows = f"select * exclude (ordinal) from read_parquet({quoted(path)}, hive_partitioning = false)"
                    memory.execute(f"create table rows as {rows}; copy rows to {quoted(path)} (format parquet)")
                of["bytes"] = path.stat().st_size
            (to / kept.MANIFEST).write_text(json.dumps(said), encoding="utf-8")
    prepare_raw(empty)
    with closing(connect(warehouse)) as connection:
        folder, *_ = kept.folder_of(connection)
    with transaction(empty) as connection:
        kept._record(connection, folder, [], "")
    prepare_raw(empty)
    in_order = query("select version_id from raw.source_versions order by ordinal")
    assert len(in_order) == 3
    with closing(connect(empty)) as connection:
        assert connection.execute("select version_id from raw.source_versions order by ordinal").fetchall() == in_order


@AGAIN
def test_what_another_copy_has_named_meanwhile_is_not_written_again(
    first, archive, make, into, to, warehouse, tmp_path, query
):
    before = shutil.copy(warehouse, tmp_path / "before.duckdb")
    make.file(archive / "c.jsonl", make.baseline(runIndex=2))
    assert into() == 0
    shutil.copy(before, warehouse)
    said = f"another warehouse has just written to {to}: try again"
    with pytest.raises(UserError, match=said), transaction(warehouse) as connection:
        kept.folder_of(connection)[0].write_load(connection, TABLES, {"trials": "from raw.trials"})
    assert main(["--archive", str(archive)]) == 0
    assert query("select count(*), count(distinct trial_id) from raw.trials") == [(4, 4)]


def test_a_warehouse_that_somebody_made_opens_no_folder_but_its_own(first, to, warehouse, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    with closing(connect(warehouse, read_only=False)) as connection:
        connection.execute(f"update {kept.RECORD} set path = '/'")
        connection.execute(
            f"create view raw.theirs as select content from read_text({quoted(tmp_path / 'secret.txt')})"
        )
    for is_sealed in (True, False):
        with closing(connect(warehouse, is_sealed=is_sealed)) as connection, pytest.raises(duckdb.Error):
            connection.execute("from raw.theirs").fetchall()


def test_two_loads_at_once_are_refused_with_who_is_at_work(first, to, archive, make, into, capsys):
    make.file(archive / "c.jsonl", make.baseline(runIndex=2))
    with kept.alone(to / kept.LOCK, lambda who: who):
        assert into() == 2
    assert f"is importing into {to}: wait" in capsys.readouterr().err
    with in_memory() as memory, pytest.raises(UserError):
        kept.Folder(to, "0" * 32).write_load(memory, TABLES, {})
