"""Killed, locked out, out of space: nothing is lost, doubled or half done, and one sentence says what to do."""

import os
import re
import subprocess
import sys

import duckdb
import pyarrow as pa
import pytest

from ingest.land import load
from ingest.run import main
from tests.ingest.faults import damage

NEEDS = ("dlt",)
pytestmark = pytest.mark.slow("programs killed, starved and locked out")
HOLDER = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "reader")
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def trials(archive, make):
    """An archive of six trials in two files, and one bad line."""
    make.file(archive / "a.jsonl", make.baseline(), make.baseline(), make.baseline(runIndex=1), "{")
    make.file(archive / "b.jsonl", make.full_sacd(), make.premortem(), make.vignette())
    return archive


@pytest.mark.parametrize(
    ("when", "step"),
    [
        ("before", "normalize"),
        ("before", "load"),
        ("after", "load"),
        ("before", "insert into raw.trials"),
        ("after", "insert into raw.trials"),
        ("after", "insert into raw.batches"),
        ("before", "commit"),
        ("after", "commit"),
    ],
)
def test_after_a_kill_the_same_import_lands_every_trial_once(trials, warehouse, query, forks, when, step):
    forks.start("import", trials, dies=(when, step))
    assert forks.ended() == -9, forks.complaint
    if warehouse.exists() and query("select 1 from duckdb_tables() where table_name = 'trials'"):
        counts = "select (select count(*) from raw.trials), (select count(*) from raw.batches)"
        assert query(f"{counts}, (select count(*) from raw.quarantined_lines)") in ([(0, 0, 0)], [(6, 2, 1)])
    assert main(["--archive", str(trials)]) == 3
    assert query("select count(*), count(distinct trial_id) from raw.trials") == [(6, 6)]
    assert query("select count(*) from raw.quarantined_lines") == [(1,)]
    whole = "select vignette, n_trials, count(*) from raw.batches full join raw.trials using (batch_id, vignette)"
    assert sorted(query(f"{whole} group by all")) == [("loan", 1, 1), ("shoplifting", 5, 5)]
    assert main(["--archive", str(trials)]) == 3
    assert query("select count(*) from raw.trials") == [(6,)]


def test_a_deleted_warehouse_is_filled_again(trials, query, warehouse):
    assert main(["--archive", str(trials)]) == 3
    warehouse.unlink()
    assert main(["--archive", str(trials)]) == 3
    assert query("select count(*), count(distinct trial_id) from raw.trials") == [(6, 6)]


def test_what_lies_in_the_work_folder_is_of_no_consequence(trials, query, warehouse):
    for name in ("bais", "junk"):
        folder = warehouse.parent / "dlt" / warehouse.name / name
        folder.mkdir(parents=True)
        (folder / "state.json").write_text("{ half")
    assert main(["--archive", str(trials)]) == 3
    assert query("select count(*) from raw.trials") == [(6,)]
    assert [path.name for path in (warehouse.parent / "dlt").iterdir()] == [f"{warehouse.name}.lock"]


@pytest.mark.parametrize("role", ["writer", "reader"])
def test_a_warehouse_in_use_is_one_sentence_that_names_the_process(trials, make, warehouse, query, capsys, role):
    assert main(["--archive", str(trials)]) == 3
    make.file(trials / "c.jsonl", make.baseline(runIndex=3))
    capsys.readouterr()
    command = [sys.executable, "-c", HOLDER, str(warehouse), role]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"ready\n"
        assert main(["--archive", str(trials)]) == 2
        holder.stdin.close()
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert f"process {holder.pid} " in captured.err
    assert query("select count(*) from raw.trials") == [(6,)]
    assert main(["--archive", str(trials)]) == 3
    assert query("select count(*) from raw.trials") == [(7,)]


def test_one_import_at_a_time_and_the_second_says_who_is_at_it(trials, warehouse, capsys):
    with load.work_folder(warehouse):
        assert main(["--archive", str(trials)]) == 2
    assert re.fullmatch(
        rf"bais: process {os.getpid()} is importing into \S+: wait until it has finished, and try again\n",
        capsys.readouterr().err,
    )
    assert main(["--archive", str(trials)]) == 3


@pytest.mark.parametrize("limit", [0, 4096, 500_000])
def test_a_full_disk_is_one_sentence_and_a_later_import_is_whole(archive, make, warehouse, query, forks, limit):
    make.file(archive / "a.jsonl", *(make.baseline(runIndex=i, note=str(hash(i))) for i in range(3000)))
    # a limit on the size of files fails in the same places as a disk without space
    forks.start("import", archive, file_size=limit)
    assert (forks.ended(), forks.complaint.count("\n")) == (2, 1), forks.complaint
    assert str(warehouse) in forks.complaint
    assert main(["--archive", str(archive)]) == 0
    assert query("select count(*), count(distinct trial_id) from raw.trials") == [(3000, 3000)]


def test_a_folder_that_cannot_be_made_is_one_sentence(trials, tmp_path, monkeypatch, capsys):
    (tmp_path / "a file").touch()
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "a file" / "warehouse.duckdb"))
    assert main(["--archive", str(trials)]) == 2
    assert main([]) == 2
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == ["bais", "bais"]


def test_a_file_that_is_no_warehouse_is_one_sentence_and_stays_as_it_is(trials, warehouse, capsys, golden):
    warehouse.parent.mkdir()
    warehouse.write_bytes(b"not a database" * 1000)
    assert main(["--archive", str(trials)]) == 2
    golden(capsys.readouterr().err)
    assert warehouse.read_bytes() == b"not a database" * 1000


def test_an_import_into_a_damaged_warehouse_is_one_sentence(trials, make, warehouse, capsys):
    assert main(["--archive", str(trials)]) == 3
    make.file(trials / "c.jsonl", make.baseline(runIndex=3))
    damage(warehouse, "raw.trials")
    capsys.readouterr()
    assert main(["--archive", str(trials)]) == 2
    said = capsys.readouterr().err
    assert ("is damaged" in said, said.count("\n")) == (True, 1)


def test_a_defect_of_ours_is_not_dressed_up_as_a_sentence(trials, monkeypatch):
    def fails(*_):
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("ingest.bring.importer.split_blocks", fails)
    with pytest.raises(Exception, match="a defect"):
        main(["--archive", str(trials)])


def test_landing_the_same_rows_twice_keeps_the_first(warehouse, query):
    keys = ("trial_id", "study", "source", "batch_id", "llm_recorded", "vignette", "technique")

    def rows(llm):
        return pa.table({key: [f"{key} {n}" for n in range(3)] for key in keys} | {"llm_recorded": llm})

    load.land(trials=[rows(["first"] * 3)])
    load.land(trials=[rows(["other"] * 3)])
    assert query("select count(*), any_value(llm_recorded) from raw.trials group by llm_recorded") == [(3, "first")]


def test_ids_of_a_study_are_none_where_there_is_no_warehouse_or_no_table(warehouse):
    assert load.landed_ids("voder-bais").num_rows == 0
    warehouse.parent.mkdir()
    duckdb.connect(str(warehouse)).close()
    assert load.landed_ids("voder-bais").num_rows == 0
