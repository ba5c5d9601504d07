"""`bais build` works on a copy: who reads keeps reading, nothing that is landed is lost, and a kill changes nothing."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest
import yaml
from filelock import FileLock
from jinja2 import Environment

from bais import age, built, dbt, unchanged
from bais.built import build_on_copy
from bais.main import main
from ingest.land.models import ENGINE
from ingest.land.raw import next_ordinal, prepare_raw
from ingest.warehouse import ROOT, UserError, connect, transaction

READS = """
import duckdb, sys
with duckdb.connect(sys.argv[1], read_only=True) as warehouse:
    is_asked = True
    while is_asked:
        print(*warehouse.sql("from marts.answers").fetchall(), flush=True)
        is_asked = sys.stdin.readline()
"""
WRITES = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute(sys.argv[2])"
WRITES_AND_IS_KILLED = """
import duckdb, os, sys
warehouse = duckdb.connect(sys.argv[1])
warehouse.execute(sys.argv[2])
os.kill(os.getpid(), 9)
"""
IS_KILLED_WHILE_IT_PUTS_IN_PLACE = """
import os, sys
from pathlib import Path
from bais.built import build_on_copy

os.replace = lambda *_: os.kill(os.getpid(), 9)
build_on_copy(Path(sys.argv[1]), lambda copy: 0)
"""


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    path = tmp_path_factory.mktemp("build") / "some.duckdb"
    prepare_raw(path)
    write(path, "create schema intermediate; create schema marts; create table marts.answers as select 1 as n")
    decide(path, "before")
    return path


@pytest.fixture
def warehouse(made_once, tmp_path):
    return shutil.copy(made_once, tmp_path / "some.duckdb")


def write(path, sql):
    with contextlib.closing(duckdb.connect(str(path))) as warehouse:
        warehouse.execute(sql)


def decide(path, act_id):
    """Have a person decide something, as the gate keeps it."""
    with transaction(path) as warehouse:
        act = [act_id, "batch", "b", "accept", "me", "I looked.", datetime.now(UTC), None, next_ordinal(warehouse)]
        warehouse.execute("insert into raw.gate_acts values (?, ?, ?, ?, ?, ?, ?, ?, ?)", act)


def rows(path, sql):
    with contextlib.closing(connect(path)) as warehouse:
        return [row[0] for row in warehouse.execute(sql).fetchall()]


def answers(path):
    return rows(path, "from marts.answers")


def acts(path):
    return rows(path, "select act_id from raw.gate_acts order by act_id")


def builds(copy):
    write(copy, "create or replace table marts.answers as select 2 as n")
    return 0


def other(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_who_reads_keeps_reading_what_was_there_until_it_opens_the_warehouse_anew(warehouse):
    reader = subprocess.Popen(
        [sys.executable, "-c", READS, str(warehouse)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def read():
        reader.stdin.write("\n")
        reader.stdin.flush()
        return reader.stdout.readline()

    with reader:
        assert reader.stdout.readline() == "(1,)\n"

        def build(copy):
            assert read() == "(1,)\n"
            return builds(copy)

        assert build_on_copy(warehouse, build) == 0
        assert read() == "(1,)\n"
        assert answers(warehouse) == [2]
        reader.stdin.close()


def test_what_is_landed_and_decided_while_a_build_runs_is_there_once_afterwards(warehouse):
    def build(copy):
        decide(warehouse, "meanwhile")
        assert acts(copy) == ["before"]
        return builds(copy)

    build_on_copy(warehouse, build)
    assert (answers(warehouse), acts(warehouse)) == ([2], ["before", "meanwhile"])


def test_a_warehouse_that_is_first_made_while_it_is_built_keeps_what_was_landed(made_once, tmp_path):
    path = tmp_path / "new.duckdb"

    def build(copy):
        shutil.copy(made_once, copy)
        shutil.copy(made_once, path)
        decide(path, "meanwhile")
        return builds(copy)

    build_on_copy(path, build)
    assert (answers(path), acts(path)) == ([2], ["before", "meanwhile"])
    assert sorted(of.name for of in tmp_path.iterdir()) == ["new.duckdb"]


@pytest.mark.parametrize(("code", "found"), [(0, [2]), (1, [2]), (2, [1]), (-9, [1])])
def test_what_dbt_could_build_is_put_in_place_unless_it_was_stopped(warehouse, code, found, capsys):
    assert build_on_copy(warehouse, lambda copy: builds(copy) + code) == code
    assert answers(warehouse) == found
    assert ("stays as it was" in capsys.readouterr().err) == (found == [1])
    assert [of.name for of in warehouse.parent.iterdir()] == ["some.duckdb"]


def test_an_interrupted_build_leaves_every_byte_as_it_was(warehouse):
    before = warehouse.read_bytes()

    def build(copy):
        builds(copy)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_on_copy(warehouse, build)
    assert warehouse.read_bytes() == before
    assert [of.name for of in warehouse.parent.iterdir()] == ["some.duckdb"]


def test_a_build_that_is_killed_leaves_the_warehouse_and_the_next_one_drops_its_copy(warehouse):
    before = warehouse.read_bytes()
    assert other(IS_KILLED_WHILE_IT_PUTS_IN_PLACE, warehouse).returncode == -signal.SIGKILL
    assert warehouse.read_bytes() == before
    (left,) = (of for of in warehouse.parent.rglob("*.duckdb") if of != warehouse)
    assert build_on_copy(warehouse, builds) == 0
    assert answers(warehouse) == [2]
    assert not left.exists()


def test_what_a_killed_writer_left_in_the_log_is_in_what_is_built(warehouse):
    said = other(WRITES_AND_IS_KILLED, warehouse, "update marts.answers set n = 3")
    assert said.returncode == -signal.SIGKILL
    assert warehouse.with_name("some.duckdb.wal").exists()
    assert build_on_copy(warehouse, lambda copy: 0) == 0
    assert answers(warehouse) == [3]


def test_nobody_writes_while_the_copy_is_taken_and_put_in_place(warehouse, monkeypatch):
    refusals = []

    def tried(function):
        def call(*arguments):
            done = other(WRITES, warehouse, "create table lost (n integer)")
            refusals.append("Could not set lock" in done.stderr)
            return function(*arguments)

        return call

    monkeypatch.setattr(built, "state_of", tried(built.state_of))
    monkeypatch.setattr(os, "replace", tried(os.replace))
    build_on_copy(warehouse, builds)
    assert refusals == [True, True, True]


def test_who_opened_the_file_that_is_being_replaced_writes_to_the_new_one(warehouse, tmp_path, monkeypatch):
    new = shutil.copy(warehouse, tmp_path / "new.duckdb")
    write(new, "update marts.answers set n = 2")
    opened = duckdb.connect

    def connect_too_early(*arguments, **settings):
        connection = opened(*arguments, **settings)
        if new.exists():
            os.replace(new, warehouse)
        return connection

    monkeypatch.setattr(duckdb, "connect", connect_too_early)
    with contextlib.closing(connect(warehouse, read_only=False)) as writer:
        assert writer.sql("from marts.answers").fetchall() == [(2,)]


def test_a_second_build_is_refused_while_one_runs(warehouse):
    def build(copy):
        with pytest.raises(UserError, match=f"^process {os.getpid()} is building .*: wait until it is done$"):
            build_on_copy(warehouse, builds)
        return 0

    assert build_on_copy(warehouse, build) == 0


def test_a_build_of_another_warehouse_in_the_same_project_waits_until_the_first_is_through(tmp_path, monkeypatch):
    monkeypatch.setenv("DBT_TARGET_PATH", str(tmp_path))
    first, said, began = FileLock(tmp_path / dbt.LOCK), [], []

    def start(*_, **__):
        began.append(first.is_locked)
        return SimpleNamespace(stdout=[], wait=lambda: 0)

    monkeypatch.setattr(dbt, "start", start)
    monkeypatch.setattr(dbt, "complain", lambda sentence: (said.append(sentence), first.release()))
    first.acquire()
    assert dbt.build() == 0
    assert began == [False]
    (sentence,) = said
    assert "this one waits until it is through" in sentence


def test_a_copy_on_which_dbt_works_although_its_command_was_killed_is_left_to_it(warehouse, monkeypatch):
    left = built.unfinished_folder(warehouse) / warehouse.name
    left.parent.mkdir(parents=True)
    shutil.copy(warehouse, left)
    code = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(left)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as orphan:
        assert orphan.stdout.readline() == "held\n"
        with pytest.raises(UserError, match=f"in use by process {orphan.pid} "):
            build_on_copy(warehouse, builds)
        orphan.stdin.close()
    assert build_on_copy(warehouse, builds) == 0


@pytest.mark.slow("it starts a build, and kills it")
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="only Linux says which processes are whose")
def test_dbt_ends_with_a_build_that_is_killed(warehouse, tmp_path):
    notes = dict.fromkeys(("DBT_TARGET_PATH", "DBT_LOG_PATH"), str(tmp_path / "notes"))
    environment = {**os.environ, **notes, "BAIS_WAREHOUSE": str(warehouse)}
    with subprocess.Popen([sys.executable, "-m", "bais", "build"], cwd=ROOT, env=environment) as command:
        of_command = Path(f"/proc/{command.pid}/task/{command.pid}/children")
        children = eventually(lambda: of_command.read_text().split())
        command.kill()
    assert children
    (status,) = (Path(f"/proc/{child}/stat") for child in children)
    # what nobody has waited for is left as a zombie
    assert eventually(lambda: not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z")


def eventually(is_so, seconds=10):
    """Return what holds in the end, or the last that did not."""
    until = time.monotonic() + seconds
    while not (found := is_so()) and time.monotonic() < until:
        time.sleep(0.05)
    return found


def test_a_disk_without_room_for_the_copy_is_said_before_anything_is_built(warehouse, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9, 1000))
    with pytest.raises(UserError, match=r"takes 0\.0 GB beside it, and 0\.0 GB are free there: make room"):
        build_on_copy(warehouse, lambda copy: pytest.fail("it was built"))


FULL = "No space left on device"
NAMES_THE_DISK = rf"{FULL}: [\d,]+ bytes are free on the disk at /"
DBT_ON_A_FULL_DISK = f"""
import sys
print("Traceback (most recent call last):", file=sys.stderr)
print("OSError: [Errno 28] {FULL}", flush=True)
sys.exit(2)
"""


def of_duckdb(*_):
    raise duckdb.IOException(f'FATAL Error: database has been invalidated: Could not write file "a.duckdb": {FULL}')


def of_the_system(*_):
    raise OSError(28, FULL)


@pytest.mark.parametrize(
    ("step", "fails"),
    [("_copy_bytes", of_the_system), ("bring_over", of_duckdb), ("_rename", of_the_system), (None, of_duckdb)],
)
def test_a_disk_that_a_build_fills_is_named_and_the_warehouse_stays_as_it_was(warehouse, monkeypatch, step, fails):
    def build(copy):
        builds(copy)
        decide(warehouse, "meanwhile")  # so that there is something to bring over
        return 0 if step else fails()

    if step:
        monkeypatch.setattr(built, step, fails)
    with pytest.raises(UserError, match=NAMES_THE_DISK):
        build_on_copy(warehouse, build)
    assert answers(warehouse) == [1]
    assert not built.unfinished_folder(warehouse).parent.exists()


@pytest.mark.parametrize("is_watched", [True, False])
def test_what_dbt_says_of_a_full_disk_is_one_sentence(warehouse, monkeypatch, capfd, is_watched):
    monkeypatch.setattr(dbt, "RUN", DBT_ON_A_FULL_DISK)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_watched, raising=False)
    with pytest.raises(UserError, match=NAMES_THE_DISK):
        build_on_copy(warehouse, lambda copy: dbt.build(more_environment={"BAIS_WAREHOUSE": str(copy)}))
    assert "Traceback" not in "".join(capfd.readouterr())
    assert answers(warehouse) == [1]


def test_what_a_library_did_not_free_is_no_news_of_a_build(warehouse, monkeypatch, capfd):
    said = ["nanobind: leaked 2 instances!", ' - leaked instance 0x7f of type "x"', " - ... skipped remainder"]
    monkeypatch.setattr(dbt, "RUN", f"print(*{[*said, 'dbt says this']}, sep=chr(10))")
    assert build_on_copy(warehouse, lambda copy: dbt.build(more_environment={"BAIS_WAREHOUSE": str(copy)})) == 0
    assert capfd.readouterr().out == "dbt says this\n"


def test_a_warehouse_behind_a_link_is_replaced_where_it_lies(warehouse, tmp_path):
    link = tmp_path / "link.duckdb"
    link.symlink_to(warehouse)
    assert build_on_copy(link, builds) == 0
    assert link.is_symlink()
    assert answers(warehouse) == [2]


def record(path, n_run, *made, all_of=("a", "b")):
    """Record a run of dbt as its hook does: `b` is made of `a`."""
    with contextlib.closing(duckdb.connect(str(path))) as copy:
        copy.execute(f"create table if not exists {age.RECORD} (node varchar, kind varchar, relation varchar, "
                     "inputs varchar[], content varchar, made_in bigint, changed_in bigint)")  # fmt: skip
        for node in all_of:
            inputs = ["a"] if node == "b" else []
            if not copy.execute(f"select 1 from {age.RECORD} where node = ?", [node]).fetchall():
                row = [node, "table", f"marts.{node}", inputs, None, None, None]
                copy.execute(f"insert into {age.RECORD} values (?, ?, ?, ?, ?, ?, ?)", row)
            if node in made:
                copy.execute(f"update {age.RECORD} set made_in = $n, changed_in = $n where node = $node",
                             {"n": n_run, "node": node})  # fmt: skip


def said_of_age(path):
    with contextlib.closing(connect(path)) as opened:
        return age.old(opened)


@pytest.mark.parametrize("variable", ["DBT_TARGET", "DBT_RESOURCE_TYPES", "DBT_ENGINE_TARGET", "DBT_PROFILES_DIR"])
def test_dbt_takes_no_option_from_our_environment(monkeypatch, variable):
    monkeypatch.setenv(variable, "another")
    monkeypatch.setenv("DBT_TARGET_PATH", "notes")
    monkeypatch.setenv("BAIS_RESAMPLES", "7")
    given = dbt.environment()
    assert given.get(variable) in (None, str(ROOT / "profiles"))
    assert (given["DBT_TARGET_PATH"], given["BAIS_RESAMPLES"]) == ("notes", "7")


def test_a_table_made_before_what_it_is_made_of_is_old_until_it_is_made_again(warehouse, golden):
    assert said_of_age(warehouse) is None
    record(warehouse, 1, "a", "b")
    assert said_of_age(warehouse) is None
    record(warehouse, 2, "a")
    said, _ = said_of_age(warehouse)
    golden(said)
    record(warehouse, 3, "b")
    assert said_of_age(warehouse) is None


def test_a_build_that_left_something_out_or_was_made_elsewhere_is_not_recorded(warehouse):
    record(warehouse, 1, "a", "b")
    for since, made, is_kept in ((1, (), False), (1, ("a",), False), (2, ("a", "b"), True)):
        if made:
            record(warehouse, since + 1, *made)
        unchanged.keep(warehouse, "source", since)
        kept = rows(warehouse, "select table_name from duckdb_tables() where table_name = 'last_build'")
        assert bool(kept) == is_kept


@pytest.fixture
def build(warehouse, monkeypatch, capsys):
    """Run `bais build` with a dbt that builds and ends as asked; return whether dbt ran, and what was said."""
    started = []
    code = 0

    def start(*arguments, more_environment, **_):
        started.append(arguments)
        copy = more_environment["BAIS_WAREHOUSE"]
        builds(copy)
        write(copy, f"drop table if exists {unchanged.RECORD}")  # as dbt does when it begins
        n_before = age.n_runs_of(Path(copy))
        record(copy, n_before + 1, *(("a",) if code or "--select" in arguments else ("a", "b")))
        return SimpleNamespace(wait=lambda: code, stdout=[])

    def run(*arguments, ends=0):
        nonlocal code
        code = ends
        started.clear()
        assert main(["build", *arguments]) == ends
        return bool(started), capsys.readouterr().out

    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse))
    monkeypatch.setattr("bais.dbt.start", start)
    monkeypatch.setattr(unchanged, "source", lambda: "source")
    return run


def test_a_build_stops_at_once_where_nothing_changed_since_one_that_passed_and_can_be_forced(build, golden):
    assert build() == (True, "")
    did_run, said = build()
    assert not did_run
    golden(said)
    assert build("--full-refresh") == (True, "")
    assert not build()[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda path, patch: decide(path, "since"),
        lambda path, patch: write(path, "drop table marts.answers"),
        lambda path, patch: patch.setattr(unchanged, "source", lambda: "another source"),
    ],
)
def test_a_build_runs_where_anything_changed(build, warehouse, monkeypatch, change):
    build()
    change(warehouse, monkeypatch)
    assert build()[0]


def test_a_build_runs_after_one_that_failed_and_after_one_of_a_part(build, warehouse):
    assert build(ends=1)[0]
    assert build("--select", "trials")[0]
    assert build()[0]


def test_what_is_landed_while_a_build_runs_is_built_by_the_next(build, warehouse, monkeypatch):
    put_in_place = built.put_in_place

    def put_in_place_late(*arguments):
        decide(warehouse, "meanwhile")
        put_in_place(*arguments)

    monkeypatch.setattr(built, "put_in_place", put_in_place_late)
    assert build()[0]
    monkeypatch.setattr(built, "put_in_place", put_in_place)
    assert build()[0]
    assert not build()[0]


@pytest.mark.parametrize(
    "of",
    ["models/a.sql", "seeds/b.csv", "analysis/c.py", "claims/d/claims.csv", "own/claims.csv", "setting", "library"],
)
def test_the_source_of_a_build_changes_with_each_of_its_parts(tmp_path, monkeypatch, of):
    monkeypatch.setattr("bais.project.home", lambda: tmp_path)
    monkeypatch.setattr(unchanged, "OF_BAIS", (tmp_path / "claims", tmp_path / "analysis"))
    (tmp_path / "profiles").mkdir()
    (tmp_path / "dbt_project.yml").write_text("{{ env_var('A_SETTING', 1) }} {{ env_var('BAIS_WAREHOUSE') }}")
    monkeypatch.setenv("BAIS_PAPERS", str(tmp_path / "own"))
    before = unchanged.source()
    monkeypatch.setenv("BAIS_WAREHOUSE", "another.duckdb")
    assert unchanged.source() == before
    if of == "setting":
        monkeypatch.setenv("A_SETTING", "2")
    elif of == "library":
        monkeypatch.setattr(unchanged, "library_versions", lambda: "numpy==0")
    else:
        (tmp_path / of).parent.mkdir(parents=True)
        (tmp_path / of).write_text("changed")
    assert unchanged.source() != before


def test_dbt_forgets_the_last_build_whenever_it_begins():
    assert "{{ forget_last_build() }}" in yaml.safe_load((ROOT / "dbt_project.yml").read_text())["on-run-start"]
    text = (ROOT / "macros" / "forget_last_build.sql").read_text(encoding="utf-8")
    with contextlib.closing(duckdb.connect()) as memory:
        memory.execute(f"create schema intermediate; create table {unchanged.RECORD} (a integer)")
        memory.execute(str(Environment().from_string(text, globals=ENGINE).module.forget_last_build()))
        assert memory.sql("from duckdb_tables()").fetchall() == []


@pytest.mark.parametrize("asked", [["--target", "dev"], ["--target=dev"], ["-t", "dev"]])
def test_a_build_of_another_target_is_left_to_dbt(warehouse, monkeypatch, asked):
    started = []

    def start(*arguments, more_environment, **_):
        started.append((arguments[1 : 1 + len(asked)], more_environment))
        return SimpleNamespace(wait=lambda: 0, stdout=[])

    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse))
    monkeypatch.setattr("bais.dbt.start", start)
    assert main(["build", *asked]) == 0
    assert started == [(tuple(asked), None)]
