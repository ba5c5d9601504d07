import contextlib
import csv
import io
import json
import math
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from bais import terminal
from bais.ask import MOST_ROWS
from bais.main import main
from bais.terminal import lay_out
from ingest.land.models import PROJECT
from ingest.warehouse import NAMES_TAKEN, ROOT

COMMAND = [sys.executable, "-m", "bais"]
NASTY = 'a "quoted", text\r\nof two lines; \x1b[31mred\x07 \u202eback é'


@pytest.fixture
def warehouse(tmp_path, monkeypatch):
    path = tmp_path / "some.duckdb"
    with contextlib.closing(duckdb.connect(str(path))) as made:
        made.execute("create schema marts; create table marts.answers (id integer, ratio double, answer varchar)")
        made.execute("create schema intermediate; create table intermediate.int_hidden (id integer)")
        made.execute(
            "insert into marts.answers values (1, 0.1, ?), (2, 1 / 3, ''), (3, 'nan', null), (4, '-inf', 'x')", [NASTY]
        )
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    return path


@pytest.fixture
def writer(warehouse):
    """Hold the warehouse's write lock in another process, which says when it has it and lets go when its stdin ends."""
    code = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(warehouse)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.communicate(timeout=60)


def ask(capsys, *arguments):
    """Run `bais sql`, which must succeed, and return its stdout."""
    code = main(["sql", *arguments])
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


def test_a_limit_holds_where_a_left_join_finds_nothing(warehouse, capsys):
    none = "(select * from marts.answers where id > 100)"
    out = ask(capsys, f"select a.id from marts.answers a left join {none} b using (id) limit 2", "--format", "csv")
    assert len(out.splitlines()) == 3


def refused(capsys, *arguments):
    """Run a command, which must fail without any output but a message, and return the message."""
    code = main([*arguments])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("bais: ")
    assert "Traceback" not in err
    return err.removeprefix("bais: ").rstrip("\n")


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-cmd", "@SUM(A1)", "\t=1", "-1+cmd|' /C calc'!A0", "\uff1d1"])
def test_csv_holds_no_text_that_a_spreadsheet_would_run(warehouse, capsys, text):
    ((_,), (cell,)) = csv.reader(io.StringIO(ask(capsys, f"select $${text}$$ as n", "--format", "csv"), newline=""))
    assert cell == f"'{text}"
    assert json.loads(ask(capsys, f"select $${text}$$ as n", "--format", "json")) == [{"n": text}]


@pytest.mark.parametrize("value", ["-3.5", "'-3.5'", "'+1,000'", "-1e-9", "'a=b'", "'-inf'::double"])
def test_numbers_in_a_csv_stay_as_they_are(warehouse, capsys, value):
    assert "'" not in ask(capsys, f"select {value} as n", "--format", "csv")


def test_csv_ends_lines_as_unix_does_and_loses_neither_digits_nor_the_difference_of_null_and_empty(
    warehouse, capsys, tmp_path
):
    out = ask(capsys, "from marts.answers order by id", "--format", "csv")
    assert out.startswith('id,ratio,answer\n1,0.1,"a ""quoted"", text\r\nof two lines')
    assert list(csv.reader(io.StringIO(out, newline="")))[1] == ["1", "0.1", NASTY]
    (tmp_path / "out.csv").write_bytes(out.encode())
    read = f"read_csv('{tmp_path}/out.csv', allow_quoted_nulls = false)"
    with duckdb.connect() as own:
        back = own.execute(f"select id, ratio, answer from {read}").fetchall()
    assert [row[:2] for row in back[:2]] == [(1, 0.1), (2, 1 / 3)]
    assert math.isnan(back[2][1])
    assert back[3][1] == -math.inf
    assert [row[2] for row in back] == [NASTY, "", None, "x"]


def test_json_loads_with_every_digit_and_null_where_no_number_is_finite(warehouse, capsys):
    def no_constant(name):
        raise AssertionError(f"{name} is not JSON")

    out = ask(capsys, "from marts.answers order by id", "--format", "json")
    rows = json.loads(out, parse_constant=no_constant)
    assert rows == [
        {"id": 1, "ratio": 0.1, "answer": NASTY},
        {"id": 2, "ratio": 1 / 3, "answer": ""},
        {"id": 3, "ratio": None, "answer": None},
        {"id": 4, "ratio": None, "answer": "x"},
    ]


def test_json_holds_iso_times_nested_values_and_exact_decimals(warehouse, capsys):
    query = (
        "select timestamptz '2026-01-02 03:04:05+00' as at, date '2026-01-02' as day, [1.5, 'inf'::double] as list, "
        "{'a': true} as struct, 0.1 as tenth, 1.00000000000000000001::decimal(30, 20) as fine, "
        "170141183460469231731687303715884105727::hugeint as huge, 'ab'::blob as bytes"
    )
    (row,) = json.loads(ask(capsys, query, "--format", "json"))
    assert datetime.fromisoformat(row["at"]) == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert row["day"] == "2026-01-02"
    assert row["list"] == [1.5, None]
    assert row["struct"] == {"a": True}
    assert row["tenth"] == 0.1
    assert Decimal(row["fine"]) == Decimal("1.00000000000000000001")
    assert row["huge"] == 2**127 - 1
    assert row["bytes"] == "6162"


def test_json_of_no_rows_is_an_empty_array(warehouse, capsys):
    assert json.loads(ask(capsys, "from marts.answers where false", "--format", "json")) == []


def test_json_keeps_columns_that_share_a_name_apart(warehouse, capsys):
    out = ask(capsys, "select 1 as a, 2 as a, 3 as a_1", "--format", "json")
    assert sorted(json.loads(out)[0].values()) == [1, 2, 3]


def test_parquet_comes_back_as_it_was(warehouse):
    done = subprocess.run(
        [*COMMAND, "sql", "from marts.answers order by id", "--format", "parquet"], capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")
    table = pq.read_table(io.BytesIO(done.stdout))
    assert table.column("id").to_pylist() == [1, 2, 3, 4]
    assert table.column("ratio").to_pylist()[:2] == [0.1, 1 / 3]
    assert table.column("answer").to_pylist() == [NASTY, "", None, "x"]


def test_what_parquet_cannot_hold_is_said_in_a_sentence(warehouse, capsys):
    assert "interval" in refused(capsys, "sql", "select interval 1 day", "--format", "parquet")


@pytest.mark.parametrize("form", ["table", "json"])
def test_nothing_that_acts_on_a_terminal_leaves_a_table_or_json(warehouse, capsys, form):
    out = ask(capsys, "from marts.answers", "--format", form)
    assert "red" in out
    assert all(c.isprintable() or c == "\n" for c in out)


def test_a_column_name_is_no_way_to_the_terminal_either(warehouse, capsys):
    out = ask(capsys, 'select 1 as "a\x1b[31mb"')
    assert out.startswith("a\\x1b[31mb\n")


def test_a_newline_in_a_cell_is_shown_as_such(warehouse, capsys):
    lines = ask(capsys, "select 'one\ntwo' as text").splitlines()
    assert lines == ["text", "────────", "one\\ntwo"]


def test_a_table_aligns_numbers_right_and_shows_nulls(warehouse, capsys):
    lines = ask(capsys, "select * from (values ('a', 1000, 2.5), (null, 1, null)) as t (text, n, x)").splitlines()
    assert lines == ["text     n     x", "────  ────  ────", "a     1000   2.5", "NULL     1  NULL"]


def test_no_row_is_left_out_where_there_is_no_terminal_and_long_cells_are_cut_in_a_table_alone(warehouse, capsys):
    query = "select repeat('long ', 2000) || range as text, 1 as one from range(700)"
    out = ask(capsys, query)
    assert len(out.splitlines()) == 2 + 700
    assert out.splitlines()[-1] == ("long " * 2000)[: terminal.MOST_CHARACTERS - 1] + "…    1"
    assert ask(capsys, "--format", "csv", query).splitlines()[-1] == "long " * 2000 + "699,1"


def test_the_number_of_rows_goes_to_stderr(warehouse, capsys):
    main(["sql", "from range(3)"])
    out, err = capsys.readouterr()
    assert err == "3 rows\n"
    assert out.split() == ["range", "─────", "0", "1", "2"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (57.128588855299895, "57.1286"),
        (0.1 + 0.2, "0.3"),
        (11.0, "11"),
        (1234567.891, "1234568"),
        (123456789012.3, "123456789012"),
        (0.000123456789, "0.000123457"),
        (-2.5e-9, "-2.5e-09"),
        (1e20, "1e+20"),
    ],
)
def test_a_table_shows_six_digits_and_an_exponent_only_where_numbers_are_extreme(value, shown):
    assert lay_out(["x"], [[value]]).splitlines()[-1].strip() == shown


@pytest.mark.parametrize(
    "statement",
    [
        "drop table marts.answers",
        "insert into marts.answers values (5, 5, '5')",
        "delete from marts.answers",
        "create table marts.more as select 1",
        "create temp table more as select 1",
        "copy marts.answers to '{file}'",
        "explain analyze copy marts.answers to '{file}'",
        "/* harmless */ explain analyze copy marts.answers to '{file}'",
        "attach '{file}' as other",
        "export database '{file}'",
        "select 1; drop table marts.answers",
        "with x as (copy (select 1) to '{file}') select 1",
        "with x as (copy (select 1) to '{warehouse}.wal') select 1",
        "with x as (copy (select 1) to '{warehouse}' (use_tmp_file false)) select 1",
        "explain analyze with x as (copy (select 1) to '{warehouse}.wal') select 1",
        "with x as (insert into marts.answers values (5, 5, '5') returning id) from x",
        "with x as (delete from marts.answers returning id) from x",
        "explain analyze delete from marts.answers",
        "explain drop table marts.answers",
        "set enable_external_access = true",
        "pragma enable_profiling",
        "call enable_logging()",
    ],
)
def test_a_statement_that_would_write_is_refused_in_one_sentence(warehouse, capsys, tmp_path, statement):
    before = warehouse.read_bytes()
    said = refused(capsys, "sql", statement.format(file=tmp_path / "written", warehouse=warehouse))
    assert "only reads" in said
    assert "\n" not in said
    assert warehouse.read_bytes() == before
    assert list(tmp_path.iterdir()) == [warehouse]


@pytest.mark.parametrize(
    "query",
    [
        "from read_csv('{file}')",
        "from read_text('{file}')",
        "from read_blob('{warehouse}')",
        "from '{file}'",
        "from glob('{folder}/*')",
        "from sniff_csv('{file}')",
        "explain analyze from read_text('{file}')",
        "from read_csv('https://example.org/a.csv')",
        "from read_json('s3://bucket/a.json')",
        "select (select content from read_text('{file}'))",
        "from read_duckdb('{warehouse}', table_name = 'answers')",
        "attach '{warehouse}' as again",
        "attach ':memory:' as other",
        "install httpfs",
        "load httpfs",
        "from duckdb_extensions()",
        "from kept.outside",
    ],
)
def test_a_query_reaches_no_file_no_network_and_no_extension(warehouse, capsys, tmp_path, query):
    secret = tmp_path / "secret.csv"
    secret.write_text("said\nhidden\n")
    with contextlib.closing(duckdb.connect(str(warehouse))) as made:
        made.execute(f"create schema kept; create view kept.outside as from read_csv('{secret}')")
    said = refused(capsys, "sql", query.format(file=secret, folder=tmp_path, warehouse=warehouse))
    assert "only reads the warehouse" in said
    assert "hidden" not in said
    assert "\n" not in said


def test_what_a_query_may_not_do_is_said(warehouse, capsys, golden):
    for query in ("install httpfs", "from read_csv('other.csv')"):
        assert main(["sql", query]) == 2
        golden(capsys.readouterr().err)


def test_a_view_on_a_file_outside_is_opened_by_no_command(warehouse, capsys, tmp_path, golden):
    secret = tmp_path / "secret.csv"
    secret.write_text("said\nhidden\n")
    with contextlib.closing(duckdb.connect(str(warehouse))) as made:
        made.execute(f"create view marts.outside as from read_csv('{secret}')")
    said = refused(capsys, "tables", "--all")
    golden(said)
    assert "\n" not in said


def test_what_a_killed_writer_left_in_the_log_is_read_too(warehouse, capsys):
    code = (
        "import duckdb, os, sys; made = duckdb.connect(sys.argv[1]); "
        "made.execute(\"insert into marts.answers values (5, 5, 'five')\"); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(warehouse)]).returncode == 9
    assert Path(f"{warehouse}.wal").exists()
    assert ask(capsys, "select count(*) as n from marts.answers", "--format", "csv").split() == ["n", "5"]


def test_a_query_that_needs_more_memory_than_there_is_says_so(warehouse, capsys, monkeypatch):
    real = duckdb.connect
    monkeypatch.setattr(
        "duckdb.connect", lambda path, read_only, config: real(path, read_only, config | {"memory_limit": "40MB"})
    )
    said = refused(
        capsys, "sql", "select t from (select repeat(range::varchar, 99) as t from range(999_999)) order by t"
    )
    assert "more memory" in said
    assert "\n" not in said
    assert list(warehouse.parent.iterdir()) == [warehouse]


@pytest.mark.parametrize(
    "query",
    [
        "with a as (select 1) from a",
        "describe marts.answers",
        "summarize marts.answers",
        "explain analyze from marts.answers",
        "-- why\nexplain from marts.answers",
        "pivot marts.answers on id using count(*)",
        "show all tables",
    ],
)
def test_whatever_reads_is_answered(warehouse, capsys, query):
    assert len(ask(capsys, query).splitlines()) > 1


def test_a_mistake_is_shown_with_its_place_and_without_a_traceback(warehouse, capsys):
    message = refused(capsys, "sql", "select nothing_such from marts.answers").splitlines()
    assert "nothing_such" in message[0]
    line, caret = message[-2:]
    assert line[caret.index("^") :].startswith("nothing_such")


def test_a_mistake_that_quotes_an_answer_does_not_act_on_the_terminal(warehouse, capsys):
    message = refused(capsys, "sql", "select answer::integer from marts.answers where id = 1")
    assert "red" in message
    assert "\x1b" not in message


def test_a_missing_table_points_to_the_list_of_tables(warehouse, capsys):
    assert "`bais tables`" in refused(capsys, "sql", "from marts.conditions")


def test_a_missing_table_points_to_the_build_if_there_are_no_marts(warehouse, capsys):
    with contextlib.closing(duckdb.connect(str(warehouse))) as made:
        made.execute("drop table marts.answers")
    message = refused(capsys, "sql", "from marts.conditions")
    assert "`bais build`" in message
    assert "`bais tables`" not in message


def test_several_statements_give_several_tables_but_never_one_file(warehouse, capsys):
    assert ask(capsys, "select 1 as a; select 2 as b").split() == ["a", "─", "1", "b", "─", "2"]
    for form in ("csv", "json", "parquet"):
        assert "2 statements" in refused(capsys, "sql", "select 1; select 2", "--format", form)


def test_the_query_may_come_on_stdin(warehouse, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("select 6 * 7\nas answer;\n"))
    assert ask(capsys, "--format", "csv") == "answer\n42\n"


@pytest.mark.parametrize("query", ["", " \n", ";", "-- nothing"])
def test_no_query_is_bad_usage(warehouse, capsys, monkeypatch, query):
    monkeypatch.setattr("sys.stdin", io.StringIO(query))
    assert "there is no" in refused(capsys, "sql")


def test_a_query_that_is_not_text_is_bad_usage(warehouse):
    done = subprocess.run([*COMMAND, "sql"], input=b"select '\xff'", capture_output=True)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"bais: the query is not UTF-8 text\n"


def test_a_missing_warehouse_is_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "none.duckdb"))
    message = refused(capsys, "sql", "select 1")
    assert "none.duckdb" in message
    assert "\n" not in message
    assert not (tmp_path / "none.duckdb").exists()


def test_a_file_that_is_no_database_is_one_sentence(tmp_path, monkeypatch, capsys):
    (tmp_path / "text.duckdb").write_text("no database at all, but long enough to be looked at" * 200)
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "text.duckdb"))
    message = refused(capsys, "sql", "select 1")
    assert "not a DuckDB database" in message
    assert "\n" not in message


@pytest.mark.parametrize("command", [["sql", "select 1"], ["tables"], ["claims"], ["headlines"], ["build"]])
def test_who_locks_the_warehouse_is_said_in_one_sentence_and_dbt_is_not_run(writer, capsys, monkeypatch, command):
    real = subprocess.Popen
    monkeypatch.setattr("subprocess.Popen", lambda *a, **k: pytest.fail("dbt was run"))
    message = refused(capsys, *command)
    monkeypatch.setattr("subprocess.Popen", real)
    assert f"process {writer.pid} " in message
    assert "in use" in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["raw.duckdb", "Main.db", "temp", "marts.2026.duckdb"])
@pytest.mark.parametrize("command", [["sql", "select 1"], ["build"], ["collect", "simulated"], ["doctor"]])
def test_a_warehouse_whose_name_duckdb_or_a_schema_has_is_refused_before_anything_is_asked(
    tmp_path, monkeypatch, capsys, command, name
):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / name))
    message = refused(capsys, *command)
    assert name in message
    assert str(tmp_path / "bais.duckdb") in message
    assert list(tmp_path.iterdir()) == []


def test_the_names_of_all_schemas_of_dbt_are_taken():
    schemas = set(re.findall(r"\+schema: (\w+)", PROJECT.read_text(encoding="utf-8")))
    assert schemas
    assert schemas <= NAMES_TAKEN


@contextlib.contextmanager
def running(*arguments):
    """Run the command beside the test, and end it whatever becomes of the test."""
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_module_of_the_command_runs_as_the_command_does(warehouse):
    asked = [sys.executable, "-m", "bais.main", "sql", "select 41 + 1 as n", "--format", "csv"]
    assert subprocess.run(asked, capture_output=True, text=True).stdout.split() == ["n", "42"]


def test_a_reader_that_leaves_early_is_no_error(warehouse):
    with running("sql", "from range(2_000_000)", "--format", "csv") as process:
        assert process.stdout.readline() == b"range\n"
        process.stdout.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said_in_one_sentence(warehouse, golden):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, "sql", "from range(9)"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    golden(done.stderr.splitlines()[-1])
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see that the query is running")
def test_an_interrupt_ends_a_query_with_130(warehouse):
    def ticks():
        return sum(map(int, Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]))

    with running(
        "sql", "select 1; select count(*) from range(1_000_000_000_000) as r (a) where hash(a) = 1"
    ) as process:
        assert process.stdout.readline() == b"1\n"
        started, deadline = ticks(), time.monotonic() + 60
        while ticks() < started + os.sysconf("SC_CLK_TCK") / 2:  # half a second of work: it is in the second query
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert (process.wait(60), process.stderr.read()) == (130, b"1 row\nbais: interrupted\n")


def test_help_does_not_wait_for_libraries_that_it_does_not_need():
    code = """if True:
        import sys
        from bais.main import main
        code = main(["--help"])
        heavy = {"dbt", "dlt", "duckdb", "numpy", "pandas", "pyarrow", "rich", "yaml"}
        print(code, sorted(heavy & set(sys.modules)))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert "headlines" in done.stdout
    assert done.stdout.splitlines()[-1] == "0 []"


def test_the_version_is_that_of_the_package(capsys):
    from importlib.metadata import version

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"bais {version('bais')}\n"


@pytest.mark.parametrize("arguments", [["sql", "select 1", "and more"], ["nothing"], ["collect"], ["tables", "--bad"]])
def test_bad_usage_leaves_with_2(arguments, capsys):
    assert main(arguments) == 2
    complained = capsys.readouterr().err
    assert "Usage: bais" in complained
    assert "Error: " in complained


def test_no_command_shows_the_help_and_leaves_with_2(capsys):
    assert main([]) == 2
    assert "headlines" in capsys.readouterr().out


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *command, columns=80):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            # readline, which pytest imports, puts COLUMNS into the environment behind the back of os.environ
            environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": "dumb"}
            import fcntl
            import termios

            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.execve(command[0], command, environment)

    def type(self, text):
        os.write(self.master, text.encode())

    def read_until(self, text, seconds=60):
        """Read until the last thing on the terminal is `text`; a minute without it is an error."""
        import select

        seen, deadline = "", time.monotonic() + seconds
        while not seen.endswith(text):
            ready, _, _ = select.select([self.master], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise TimeoutError(f"waited for {text!r}, saw {seen!r}")
            try:
                seen += os.read(self.master, 65536).decode()
            except OSError:
                raise AssertionError(f"it ended before {text!r}, saw {seen!r}") from None
        return seen.replace("\r\n", "\n")

    def interrupt(self, text):
        """Press Ctrl-C until `text` comes: Python misses one in the moment before it waits for a key."""
        for _ in range(60):
            self.type("\x03")
            with contextlib.suppress(TimeoutError):
                return self.read_until(text, seconds=1)
        raise AssertionError(f"Ctrl-C does not lead to {text!r}")

    def leave(self):
        """Read to the end; return what was seen, and the exit code."""
        seen = b""
        with contextlib.suppress(OSError):
            while more := os.read(self.master, 65536):
                seen += more
        os.close(self.master)
        return seen.decode().replace("\r\n", "\n"), os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def prompt(warehouse):
    terminal = Terminal(*COMMAND, "sql")
    assert str(warehouse) in terminal.read_until("bais> ").replace("\n", "")
    return terminal


def test_the_prompt_waits_for_the_semicolon_and_answers(prompt):
    prompt.type("select ';' as mark,\n")
    prompt.read_until("  ... ")
    prompt.type("6 * 7 as answer -- not yet;\n")
    prompt.read_until("  ... ")
    prompt.type(";\n")
    answer = prompt.read_until("bais> ")
    assert "mark  answer\n────  ──────\n;         42\n1 row\n" in answer
    prompt.type(".quit\n")
    assert prompt.leave()[1] == 0


def test_a_mistake_does_not_end_the_prompt(prompt, warehouse):
    for wrong, said in (
        ("selec 1;", "syntax error"),
        ("drop table marts.answers;", "only reads"),
        (f"with x as (copy (select 1) to '{warehouse}.wal') select 1;", "only reads"),
        (f"from read_text('{warehouse}');", "only reads"),
        (".nothing", "there is no .nothing"),
        ("from nowhere;", "does not exist"),
    ):
        prompt.type(f"{wrong}\n")
        assert said in prompt.read_until("bais> ")
    assert not Path(f"{warehouse}.wal").exists()
    prompt.type("select 6 * 7;\n")
    assert "42" in prompt.read_until("bais> ")
    prompt.type("\x04")
    assert prompt.leave()[1] == 0


def test_ctrl_c_clears_what_was_typed_and_ctrl_d_leaves(prompt):
    prompt.type("select 1 +\n")
    prompt.read_until("  ... ")
    prompt.interrupt("bais> ")
    prompt.type("select 40 + 2 as answer;\n")
    prompt.read_until("answer\r\n──────\r\n    42\r\n1 row\r\nbais> ")
    prompt.type("\x04")
    seen, code = prompt.leave()
    assert code == 0
    assert "Traceback" not in seen


def test_dot_tables_lists_the_public_tables(prompt):
    prompt.type(".tables\n")
    listed = prompt.read_until("bais> ")
    assert "marts.answers" in listed
    assert "int_hidden" not in listed
    prompt.type(".quit\n")
    assert prompt.leave()[1] == 0


def test_an_open_prompt_does_not_keep_others_from_writing(prompt, warehouse):
    prompt.type("select count(*) as n from marts.answers;\n")
    assert "4\n1 row" in prompt.read_until("bais> ")
    with contextlib.closing(duckdb.connect(str(warehouse))) as other:
        other.execute("insert into marts.answers values (5, 5, 'five')")
    prompt.type("select count(*) as n from marts.answers;\n")
    assert "5\n1 row" in prompt.read_until("bais> ")
    prompt.type(".quit\n")
    assert prompt.leave()[1] == 0


def test_the_prompt_remembers_beside_the_warehouse_what_was_typed(prompt, warehouse):
    prompt.type("select 'remember me';\n")
    prompt.read_until("bais> ")
    prompt.type("\x04")
    assert prompt.leave()[1] == 0
    assert "select 'remember me';" in warehouse.with_name(".sql_history").read_text()


def on_a_terminal(*arguments, columns=80):
    seen, code = Terminal(*COMMAND, *arguments, columns=columns).leave()
    assert "Traceback" not in seen
    return seen.splitlines(), code


@pytest.mark.parametrize("columns", [40, 80, 140])
def test_a_table_fits_the_terminal(warehouse, columns):
    query = "select 'an_identifier' as id, repeat('many words ', 20) as text, 123456789 as n, 1.5 as x"
    lines, code = on_a_terminal("sql", query, columns=columns)
    assert code == 0
    assert max(map(len, lines)) <= columns
    assert "".join(lines).count("many") == 20
    assert any("123456789" in line for line in lines)


def test_rows_that_cannot_fit_the_terminal_become_blocks(warehouse):
    lines, code = on_a_terminal("sql", f"select {', '.join(f'{i} as number_{i}' for i in range(20))}", columns=60)
    assert code == 0
    assert max(map(len, lines)) <= 60
    assert re.fullmatch(r"number_19 +19", lines[-2])


def test_a_table_that_is_too_wide_leaves_out_spare_columns_in_their_order_and_names_them(golden):
    names, row = ["name", "much", "less", "least"], ["a" * 20, "b" * 20, "c" * 20, "d" * 20]
    laid = {width: lay_out(names, [row], width=width, spare=(3, 2)) for width in (86, 85, 60, 40)}
    assert {width: text.splitlines()[0].split() for width, text in laid.items() if width > 40} == {
        86: names, 85: names[:3], 60: names[:2],
    }  # fmt: skip
    golden(laid[60], "Not shown")
    assert laid[40].startswith("── 1 ─")  # without a column to spare, records are stacked
    assert all(len(line) <= width for width, text in laid.items() for line in text.splitlines())


def test_a_terminal_gets_the_first_rows_and_is_told_that_there_are_more(warehouse):
    lines, code = on_a_terminal("sql", "from range(100_000)")
    assert code == 0
    assert len(lines) == 2 + MOST_ROWS + 1
    assert lines[-1].startswith(f"the first {MOST_ROWS} rows")


def test_csv_does_not_act_on_a_terminal(warehouse):
    lines, code = on_a_terminal("sql", "from marts.answers where id = 1", "--format", "csv")
    assert code == 0
    assert "red" in lines[-1]
    assert all(line.isprintable() for line in lines)


def test_parquet_is_not_poured_into_a_terminal(warehouse, golden):
    lines, code = on_a_terminal("sql", "select 1", "--format", "parquet")
    assert code == 2
    golden(" ".join(lines), "a file")


def test_the_sentence_about_a_lock_is_one_line_whatever_the_holder_was_started_with(warehouse):
    hold = f"import duckdb; c = duckdb.connect({str(warehouse)!r}); print('held', flush=True); input()\n# \x1b[31m\nred"
    holder = subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
        done = subprocess.run([*COMMAND, "sql", "select 1"], capture_output=True, text=True)
    finally:
        holder.communicate(b"\n")
    assert done.returncode == 2
    assert str(holder.pid) in done.stderr
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr


def test_no_bar_of_a_slow_query_stands_in_the_output_of_a_python_that_runs_no_file(warehouse):
    code = "from bais.main import main; main(['sql', 'select current_setting($$enable_progress_bar$$) as bar'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split()[-1] == "false"
