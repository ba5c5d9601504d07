"""Any table of trials: as it is, where its columns are called as ours, or by a mapping, which is a SELECT."""

import contextlib
import gzip
import json
import os
import re
import sqlite3
import sys
from types import ModuleType, SimpleNamespace

import duckdb
import pytest

from ingest.bring import mapping
from ingest.bring.columns import FILENAME, KNOWN
from ingest.gate.audit import audit
from ingest.land.load import _cause
from ingest.run import main
from ingest.warehouse import ROOT, UserError

pytestmark = pytest.mark.slow("imports a table in nearly each test")

AGAIN = pytest.mark.slow("imports again and again")
HEADER = "llm,vignette,technique,anchor_direction,anchor_value,text"
MAP = """
select filename, model as llm, scene as vignette, answer as number, case when anchor is null then 'none' end as
anchor_direction, anchor as anchor_value, 'months' as response_unit, 'judicial' as domain
from source
"""
FOREIGN = "model,scene,anchor,answer\na/b,theft,,12\na/b,theft,5,9\n"


def row(number=12, **changes):
    return {"model": "a/b", "scene": "theft", "anchor": None, "answer": number} | changes


@pytest.fixture
def bring(archive, monkeypatch):
    """Import a file, written first where its text is given, with a mapping, written first where its text is given."""
    monkeypatch.chdir(archive.parent)

    def run(content, select=None, *more, name="results.csv"):
        path = archive / name
        if isinstance(content, str | bytes):
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        elif content is not None:
            path = content
        if select is not None:
            (archive.parent / "map.sql").write_text(select)
            more = ("--map", "map.sql", *more)
        return main(["--archive", str(path), *map(str, more)])

    return run


@pytest.fixture
def refused(bring, warehouse, capsys):
    """Have an import refused in one sentence, after which nothing has landed; return the sentence."""

    def run(*what, **how):
        assert bring(*what, **how) == 2
        said = capsys.readouterr().err
        assert said.startswith("bais: ")
        assert said.count("\n") == 1
        assert "Traceback" not in said
        assert not warehouse.exists()
        return said

    return run


def test_a_table_whose_columns_are_called_as_ours_is_imported_as_it_is(bring, query, capsys):
    lines = [
        HEADER,
        "a/b,fever,no_technique,none,,Answer: 12",
        "a/b,fever,no_technique,low,5,",
        "a/b,fever,sacd,low,5,x",
    ]
    assert bring("\n".join(lines), name="My Results.csv") == 0
    assert query(
        "select study, archive, source_file, source_line, llm_recorded, vignette, technique, anchor_direction, "
        "anchor_value, response_recorded, response_text from raw.trials order by source_line"
    ) == [
        ("my-results", "table", "My Results.csv", 1, "a/b", "fever", "no_technique", "none", None, 12.0, "Answer: 12"),
        ("my-results", "table", "My Results.csv", 2, "a/b", "fever", "no_technique", "low", 5.0, None, None),
        ("my-results", "table", "My Results.csv", 3, "a/b", "fever", "sacd", "low", 5.0, None, "x"),
    ]
    assert "3 rows in 1 files, each of them taken" in capsys.readouterr().out


def test_quotes_crlf_a_byte_order_mark_and_empty_cells_are_read_as_spreadsheets_write_them(bring, query):
    rows = ['a/b;fever;"He said ""7"";\r\n\r\nso 7.";', 'a/b;fever;;"it; broke"', 'a/b;fever;"";']
    text = "\r\n".join(["\ufeffllm;vignette;text;error", *rows, ""])
    assert bring(text) == 0
    assert query(
        "select response_text, response_recorded, status_recorded, reason_recorded from raw.trials order by source_line"
    ) == [
        ('He said "7";\r\n\r\nso 7.', 7.0, None, None),
        (None, None, "failed", "it; broke"),
        (None, None, None, None),
    ]


def test_columns_that_are_none_of_ours_stay_in_the_line(bring, query):
    assert bring("llm,vignette,number,mood\na/b,fever,3,glad\n") == 0
    ((line,),) = query("select line from raw.trials")
    assert json.loads(line) == {"llm": "a/b", "vignette": "fever", "number": "3", "mood": "glad"}


def test_records_of_json_are_kept_once(bring, query):
    record = {"llm": "a/b", "vignette": "fever", "number": 3, "mood": {"is": "glad"}}
    assert bring(json.dumps(record), name="results.jsonl") == 0
    ((line,),) = query("select line from raw.trials")
    assert json.loads(line) == record


def test_a_file_that_changes_while_it_is_read_lands_nothing(refused, monkeypatch):
    digests = iter("ab")
    monkeypatch.setattr("ingest.bring.importer._digest", lambda path: next(digests))
    assert "results.csv was changed while it was read" in refused(FOREIGN, MAP)


WITHOUT = {
    "foreign": FOREIGN,
    "no answer": "llm,vignette\na/b,fever\n",
    "may be meant": "llm,vignette,text,anchor\na/b,fever,x,5\n",
    "may be misspelt": "llm,vignette,text,temprature\na/b,fever,x,5\n",
    "twice": "llm,vignette,text,text\na/b,fever,x,y\n",
    "twice in other letters": "llm,vignette,text,Text\na/b,fever,x,y\n",
    "NUL": b"llm,vignette,text\na/b,fever,x\0y\n",
    "an open quote": 'llm,vignette,text\na/b,fever,"x\na/b,fever,y\n',
    "no header": "\n\n",
}


@pytest.mark.parametrize("content", WITHOUT.values(), ids=WITHOUT)
def test_a_table_that_is_none_of_trials_is_refused_in_one_sentence(refused, content, golden):
    golden(refused(content))


def test_a_mapping_makes_trials_of_any_table(bring, query, capsys):
    assert bring(FOREIGN, MAP, "--study", "thefts") == 0
    columns = "study, llm_recorded, vignette, anchor_direction, anchor_value, response_recorded"
    assert query(f"select {columns} from raw.trials order by source_line") == [
        ("thefts", "a/b", "theft", "none", None, 12.0), ("thefts", "a/b", "theft", None, 5.0, 9.0),
    ]  # fmt: skip
    assert query("select vignette, domain, response_unit, n_trials from raw.batches") == [
        ("theft", "judicial", "months", 2)
    ]
    ((mapping,),) = query("select mapping from raw.source_versions")
    assert mapping == MAP.strip()


CHOICES = """llm,paradigm,vignette,arm,choice,number,domain,response_unit,technique,anchor_direction
a/b,framing,plans,gain,sure,,health,,no_technique,
a/b,anchoring,rent,,,800,housing,EUR,no_technique,none
"""


def test_a_vignette_that_asks_for_a_choice_needs_no_unit_beside_one_that_has_one(bring, query):
    assert bring(CHOICES) in (0, 6)  # the gate wants more than a trial of each
    found = query("select vignette, response_unit from raw.batches order by vignette")
    assert found == [("plans", None), ("rent", "EUR")]


def test_a_vignette_that_asks_for_a_number_needs_a_unit(refused):
    assert "vignette rent: response_unit is empty: say in which unit" in refused(CHOICES.replace("EUR", ""))


@pytest.mark.parametrize("kind", ["jsonl", "json", "document", "parquet", "sqlite", "duckdb", "csv.gz", "tsv"])
def test_a_table_is_read_in_each_of_its_forms(archive, bring, query, kind):
    rows = [row(12), row(9, anchor=5)]
    path = archive / f"results.{'json' if kind == 'document' else kind}"
    if kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    elif kind == "json":
        path.write_text(json.dumps(rows, indent=1))
    elif kind == "document":
        path.write_text(json.dumps({"answers": rows}))
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(FOREIGN.encode()))
    elif kind == "tsv":
        path.write_text(FOREIGN.replace(",", "\t"))
    else:
        values = [tuple(one.values()) for one in rows]
        made = "(model varchar, scene varchar, anchor bigint, answer double)"
        if kind == "sqlite":
            with sqlite3.connect(path) as database:
                database.execute(f"create table answers {made}")
                database.executemany("insert into answers values (?, ?, ?, ?)", values)
            database.close()
        else:
            with duckdb.connect(str(path) if kind == "duckdb" else ":memory:") as database:
                database.execute(f"create table answers {made}")
                database.executemany("insert into answers values (?, ?, ?, ?)", values)
                if kind == "parquet":
                    database.execute(f"copy answers to '{path}'")
    select = MAP
    if kind == "document":
        select = MAP.replace("from source", "from (select filename, unnest(answers, recursive := true) from source)")
    assert bring(path, select) == 0
    assert query("select source_file, anchor_value, response_recorded from raw.trials order by source_line") == [
        (path.name, None, 12.0), (path.name, 5.0, 9.0),
    ]  # fmt: skip


def test_what_another_program_has_written_to_sqlite_is_read_while_it_has_the_file_open(archive, bring, query):
    path = archive / "results.sqlite"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("pragma journal_mode = wal")
        database.execute("create table answers (model text, scene text, anchor real, answer real)")
        database.execute("insert into answers values ('a/b', 'theft', null, 12)")
        assert bring(path, MAP) == 0
    assert query("select response_recorded from raw.trials") == [(12.0,)]


def test_the_columns_of_the_page_are_those_that_an_import_knows():
    page = (ROOT / "docs" / "importing.md").read_text(encoding="utf-8").partition("\n## Any table\n")[2]
    rows = [line.split("|")[1] for line in page.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    assert sorted(re.findall("`([a-z_]+)`", "".join(rows))) == sorted([*KNOWN, FILENAME])


def test_a_file_of_sqlite_without_a_table_is_refused(archive, refused):
    path = archive / "results.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("create table answers (model text)")
    for select in (None, MAP):
        assert "results.sqlite: there is no table with a row in it" in refused(path, select)


def test_of_several_tables_in_a_file_each_is_called_as_it_is(archive, bring, query, refused):
    path = archive / "study.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("create table answers (id bigint, who bigint, said text)")
        database.execute("create table models (who bigint, name text)")
        database.execute("insert into answers values (1, 7, 'Answer: 3')")
        database.execute("insert into models values (7, 'a/b')")
    database.close()
    assert "source.answers, source.models" in refused(path, "select * from source")
    select = (
        "select answers.filename, name as llm, 'v' as vignette, said as text from source.answers "
        "join source.models using (who)"
    )
    assert bring(path, select) == 0
    assert query("select llm_recorded, response_recorded from raw.trials") == [("a/b", 3.0)]


def excel(monkeypatch, rows, results=None):
    """Have a file of Excel hold one sheet of some rows, of which the formulas have results, or have none."""

    def book(of_sheet):
        sheet = SimpleNamespace(title="answers", iter_rows=lambda values_only, min_row=1: iter(of_sheet[min_row - 1 :]))
        return SimpleNamespace(worksheets=[sheet], close=lambda: None)

    module = ModuleType("openpyxl")
    module.load_workbook = lambda path, read_only, data_only: book(results or rows if data_only else rows)
    monkeypatch.setitem(sys.modules, "openpyxl", module)


def test_excel_is_read_with_what_reads_it_and_named_where_that_is_not_there(
    archive, bring, refused, query, monkeypatch
):
    path = archive / "results.xlsx"
    path.write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert "pip install 'bais[excel]'" in refused(path, MAP)

    excel(monkeypatch, [("model", "scene", "anchor", "answer"), ("a/b", "theft", None, 12.0), (None,) * 4])
    assert bring(path, MAP) == 0
    assert query("select vignette, response_recorded from raw.trials") == [("theft", 12.0)]


def test_another_table_stands_beside_the_first(archive, bring, refused, query):
    (archive / "names.csv").write_text("model,vendor\na/b,Lab/B\n")
    select = MAP.replace("model as llm", "vendor as llm").replace("from source", "from source join names using (model)")
    path = archive / "one" / "results.csv"
    path.parent.mkdir()
    path.write_text(FOREIGN)
    assert "--with names: there is no file" in refused(path, select, "--with", "names=nowhere.csv")
    assert "--with source=x.csv" in refused(path, select, "--with", "source=x.csv")
    assert bring(path, select, "--with", f"names={archive / 'names.csv'}") == 0
    assert query("select distinct llm_recorded from raw.trials") == [("Lab/B",)]
    assert "names.csv" in query("select mapping from raw.source_versions")[0][0]


REFUSED = {
    "writes": "copy (select 1) to 'results.csv' (use_tmp_file false)",
    "inserts": "with t as (insert into source values (1) returning *) select * from t",
    "attaches": "attach 'other.duckdb'",
    "two statements": f"{MAP}; select 1",
    "nothing": "-- to do",
    "another file": MAP.replace("from source", "from read_csv('other.csv')"),
    "a file by its name": MAP.replace("from source", "from 'other.csv'"),
    "another file in its folder": MAP.replace("from source", "from glob('*')"),
    "a setting": "select * from enable_logging(storage = 'file', storage_path = 'log.csv')",
    "an unknown column": MAP.replace("as vignette", "as vignete"),
    "a column of another tool": MAP.replace("answer as number", "answer as response_text"),
    "a column that nothing is like": MAP.replace("answer as number", "answer as number, 1 as xyz"),
    "no llm": "select scene as vignette, answer as number from source",
    "a column twice": MAP.replace("answer as number", "answer as number, answer as Number"),
    "no such column": MAP.replace("answer as", "reply as"),
    "no SQL": "select from from",
    "not a number": MAP.replace("answer as number", "scene::double as number"),
    "one id twice": MAP.replace("answer as number", "answer as number, 'x' as own_id"),
    "two units": MAP.replace("'months'", "'month' || anchor"),
    "two studies": MAP.replace("answer as number", "answer as number, 'study-' || answer as study"),
    "no study": MAP.replace("answer as number", "answer as number, 'A Study' as study"),
    "half a vignette": MAP.replace(", 'judicial' as domain", ""),
    "a range turned round": MAP.replace("answer as number", "answer as number, 9 as valid_min, 3 as valid_max"),
    "a misspelt unit": MAP.replace("'months'", "'mnoths'"),
    "no filename": MAP.replace("filename", "null as filename"),
    "another filename": MAP.replace("filename", "'x.csv' as filename"),
    "a function of chance": MAP.replace("answer as", "(select uuid()) as item, answer as"),
    "the time of the import": MAP.replace("answer as", "current_timestamp as asked_at, answer as"),
    "an age today": MAP.replace("answer as", "age(timestamp '2020-01-01') as item, answer as"),
    "a sample of a table": MAP.replace("from source", "from source tablesample 1 rows"),
    "a sample of all": MAP.replace("from source", "from (from source using sample 1 rows)"),
    "a NUL": MAP.replace("answer as number", "'x' || chr(0) as text"),
}


@pytest.mark.parametrize("select", REFUSED.values(), ids=REFUSED)
def test_a_mapping_that_cannot_be_is_one_sentence_and_nothing_is_lost(archive, refused, select, golden):
    (archive / "other.csv").write_text("a\n1\n")
    golden(refused(FOREIGN, select))
    assert (archive / "results.csv").read_text() == FOREIGN
    assert sorted(path.name for path in archive.iterdir()) == ["other.csv", "results.csv"]


def test_a_mapping_that_never_ends_is_ended(refused, golden):
    select = "with recursive n as (select 1 as i union all select i + 1 from n where i > 0) select * from n"
    select = f"select 'a/b' as llm, 'v' as vignette, sum(i) as number from ({select})"
    golden(refused(FOREIGN, select, "--timeout", "1"))


@pytest.mark.parametrize(
    "text",
    ["repeat('x', 2000000000)", "(select string_agg(repeat('x', 1000000), '') from range(5000))"],
    ids=["at once", "by and by"],
)
def test_a_mapping_that_fills_memory_is_ended(refused, text, golden):
    golden(refused(FOREIGN, f"select 'a/b' as llm, 'v' as vignette, {text} as text from source"))


def test_what_is_no_line_of_csv_is_set_apart_with_its_number_and_the_others_land(bring, query, capsys):
    lines = [
        "model,scene,anchor,answer",
        "a/b,theft,,1",
        "a/b",
        "a/b,theft,,2",
        'a/b,"th"eft,,3',
        "a/b,\xff,,4",
        "",
        "a/b,theft,5,6,7",
        "a/b,theft,,8",
    ]
    assert bring("\r\n".join(lines).encode("latin-1"), MAP) == 3
    assert query("select line_number, text, reason[:40] from raw.quarantined_lines order by all") == [
        (3, "a/b", "this line has 1 value, and the header na"),
        (5, 'a/b,"th"eft,,3', "a quote is opened here and not closed wh"),
        (6, "a/b,\\xff,,4", "this line is not UTF-8: save the file as"),
        (8, "a/b,theft,5,6,7", "this line has 5 values, and the header n"),
    ]
    assert query("select response_recorded from raw.trials order by all") == [(1.0,), (2.0,), (8.0,)]
    assert (
        "7 lines read: 3 new, 0 unchanged, 0 changed, 0 duplicates, 4 quarantined, 0 skipped" in capsys.readouterr().out
    )


def test_one_line_that_is_none_keeps_no_other_from_being_read(bring, query):
    lines = [f"a/b,theft,5,{n}" for n in range(600)]
    content = "\n".join(["model,scene,anchor,answer", *lines[:300], "a/b,theft,5,7,one,more", *lines[300:]])
    assert bring(content, None, "--map", "new") == 0
    assert bring(content, MAP) == 3
    assert query("select line_number from raw.quarantined_lines") == [(302,)]
    assert query("select count(*) from raw.trials") == [(600,)]


def test_a_line_that_is_none_in_a_file_beside_is_told_with_its_number(refused, archive):
    (archive.parent / "models.csv").write_text("model,llm\na/b,x/y\nc/d,e,f\n")
    more = ("--with", f"models={archive.parent / 'models.csv'}")
    assert "--with models.csv:3: " in refused(
        FOREIGN, MAP.replace("from source", "from source join models using (model)"), *more
    )


def test_what_is_no_record_of_json_is_set_apart_with_its_number_and_the_others_land(bring, query, capsys):
    lines = [
        b"\xef\xbb\xbf" + json.dumps(row(1)).encode(),
        b"",
        b"{torn",
        b"[1]",
        b'{"model": 1, "model": 2}',
        b'{"scene": "\xff"}',
        json.dumps(row(2)).encode(),
    ]
    assert bring(b"\r\n".join(lines), MAP, name="results.jsonl") == 3
    assert query("select line_number, reason[:20] from raw.quarantined_lines order by all") == [
        (3, "not valid JSON: Expe"), (4, "not a JSON object bu"), (5, "a key is there twice"),
        (6, "not UTF-8: byte 0xff"),
    ]  # fmt: skip
    assert query("select response_recorded from raw.trials order by all") == [(1.0,), (2.0,)]
    assert (
        "7 lines read: 2 new, 0 unchanged, 0 changed, 0 duplicates, 4 quarantined, 1 skipped" in capsys.readouterr().out
    )


def test_a_row_of_which_a_condition_cannot_be_read_is_set_apart_with_the_reason(bring, query):
    whole = row("7", anchor="5", side="low", run="1", time="2026-01-02T03:04:05Z", how="sacd")
    wrong = {
        "there is no llm": {"model": None},
        "anchor_value is no number: high": {"anchor": "high"},
        "anchor_value is no number: inf": {"anchor": "inf"},
        "number is no finite number: 1e999": {"answer": "1e999"},
        "anchor_direction is not none, low or high: up": {"side": "up"},
        "replicate is no whole number: 1.5": {"run": "1.5"},
        "asked_at is no time: yesterday": {"time": "yesterday"},
        "there is no technique": {"how": None},
    }
    select = (
        "select filename, model as llm, scene as vignette, how as technique, anchor as anchor_value, side as "
        "anchor_direction, run as replicate, time as asked_at, answer as number from source"
    )
    rows = [whole, *(whole | changes for changes in wrong.values())]
    assert bring("\n".join(map(json.dumps, rows)), select, name="results.jsonl") == 3
    found = query("select source_file, line_number, reason from raw.quarantined_lines order by line_number")
    assert found == [("results.jsonl", n, f"no trial of this format: {reason}") for n, reason in enumerate(wrong, 2)]
    assert query("select technique, replicate, (asked_at::varchar)[:19] from raw.trials") == [
        ("sacd", 1, "2026-01-02 03:04:05")
    ]


def test_what_is_wrong_in_one_way_is_one_line_and_a_technique_of_another_name_is_told(bring, capsys):
    rows = [f"a/b,fever,{technique},{side},,Answer: 3" for technique, side in (
        ("SACD", "none"), ("none", "none"), *[("sacd", "control")] * 3, ("outside_view", "none"), ("sacd", "control"),
    )]  # fmt: skip
    assert bring("\n".join([HEADER, *rows])) == 3
    said = capsys.readouterr().out
    assert (
        "\n    results.csv, rows 3-5, 7: no trial of this format: anchor_direction is not none, low or high: control\n"
        in said
    )
    assert "SACD (1 trials) (perhaps sacd)" in said
    assert "none (1 trials) (perhaps no_technique)" in said


def test_rows_in_and_out_are_told_of_each_file(archive, bring, query, capsys, golden):
    folder = archive / "answers"
    for name, n in (("one.csv", 3), ("deep/two.csv", 2), ("none.csv", 1)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("model,scene,anchor,answer\n" + "".join(f"a/b,{path.stem},,{i}\n" for i in range(n)))
    (folder / "notes.txt").write_text("x")
    assert bring(folder, f"{MAP} where answer::int > 0 and filename != 'none.csv'") == 0
    golden(capsys.readouterr().out, "rows")
    assert query("select source_file, source_line, response_recorded from raw.trials order by all") == [
        ("deep/two.csv", 1, 1.0), ("one.csv", 1, 1.0), ("one.csv", 2, 2.0),
    ]  # fmt: skip
    assert query("select path, n_lines, n_trials from raw.version_files order by all") == [
        ("deep/two.csv", 1, 1), ("none.csv", 0, 0), ("one.csv", 2, 2),
    ]  # fmt: skip


def test_a_folder_of_several_files_needs_their_names(archive, refused):
    for name in ("one.csv", "two.csv"):
        (archive / name).write_text(FOREIGN)
    assert "add filename of source" in refused(archive, MAP.replace("filename,", ""))


@AGAIN
def test_the_same_rows_again_are_unchanged_whatever_their_order_and_equal_ones_stay_apart(
    archive, bring, query, capsys, monkeypatch
):
    lines = [f"a/b,theft,,{i % 50}" for i in range(5000)]
    assert bring("\n".join(["model,scene,anchor,answer", *lines]), MAP) == 0
    assert query("select count(*), count(distinct trial_id) from raw.trials") == [(5000, 5000)]
    capsys.readouterr()
    for order, n_threads in (("", 1), ("", 8), (" order by hash(answer)", 8)):
        monkeypatch.setattr(mapping, "THREADS", n_threads)
        assert bring(None, MAP + order) == 0
        assert "0 new, 5,000 unchanged, 0 changed" in capsys.readouterr().out
    assert query("select count(*) from raw.trials") == [(5000,)]
    assert query("select n_new, n_unchanged, n_changed from raw.source_versions order by ordinal") == [
        (5000, 0, 0), (0, 5000, 0),
    ]  # fmt: skip


@AGAIN
def test_a_mapping_that_says_something_else_is_a_version_of_what_it_changes(bring, query, capsys):
    rows = "".join(f"a/b,theft,,{i}\n" for i in range(4))
    assert bring("model,scene,anchor,answer\n" + rows, MAP) == 0
    other = MAP.replace("answer as number", "case when answer::int = 2 then '20' else answer end as number")
    capsys.readouterr()
    assert bring(None, other) == 0
    assert "0 new, 3 unchanged, 1 changed" in capsys.readouterr().out
    assert bring(None, other) == 0
    assert "nothing has changed" in capsys.readouterr().out
    assert query("select count(*) from raw.source_versions") == [(2,)]


@AGAIN
def test_trials_with_an_id_of_their_own_are_known_by_it(bring, query, capsys):
    select = MAP.replace("answer as number", "answer as number, id as own_id")
    assert bring("id,model,scene,anchor,answer\nx,a/b,theft,,1\ny,a/b,theft,,2\n", select) == 0
    capsys.readouterr()
    assert bring("id,model,scene,anchor,answer\nz,a/b,theft,,3\ny,a/b,theft,,5\nx,a/b,theft,,1\n", select) == 0
    assert "1 new, 1 unchanged, 1 changed" in capsys.readouterr().out


def test_a_choice_is_read_as_the_paradigm_says_and_its_statement_lands_with_it(bring, query):
    lines = [
        "llm,paradigm,vignette,arm,item,choice,text",
        "a/b,framing,two_plans,gain,i1,sure,I take the sure one",
        "a/b,framing,two_plans,loss,i1,risky,",
    ]
    assert bring("\n".join(lines)) == 0
    columns = "paradigm, arm, item, anchor_direction, answer_kind, option_order, response_text"
    assert query(f"select {columns} from raw.trials order by source_line") == [
        ("framing", "gain", "i1", "none", "choice", '["sure", "risky"]', "sure"),
        ("framing", "loss", "i1", "none", "choice", '["sure", "risky"]', "risky"),
    ]  # fmt: skip
    assert query("select paradigm, measure, answer_kind from raw.paradigms") == [("framing", "chose_sure", "choice")]
    assert query("select arm, arm_b from raw.paradigm_contrasts") == [("gain", "loss")]


@pytest.mark.parametrize("column", ["choice", "label"])
def test_what_answers_a_paradigm_that_nobody_knows_here_is_kept_as_a_text_and_passes_the_gate(bring, query, column):
    lines = [f"a/b,mine,drinks,cold,{said}" for said in ("tea", "milk") * 12]
    assert bring("\n".join([f"llm,paradigm,vignette,arm,{column}", *lines])) == 0
    assert query("select distinct answer_kind, response_text from raw.trials order by all") == [
        ("text", "milk"), ("text", "tea"),
    ]  # fmt: skip
    assert [verdict.verdict for verdict in audit()] == ["passed_with_warnings"]


def test_prompts_that_differ_by_the_item_that_is_put_in_are_no_other_version_of_it(bring, query):
    lines = [
        f"a/b,sunk_cost,repairs,{arm},item-{n},stop,What of {n} after {arm}?"
        for arm in ("nothing_spent", "much_spent")
        for n in range(12)
        for _ in range(3)
    ]
    assert bring("\n".join(["llm,paradigm,vignette,arm,item,choice,prompt", *lines])) == 0
    assert [verdict.n_trials for verdict in audit()] == [72]
    assert query("select count(*) from raw.flagged_trials where severity = 'quarantined'") == [(0,)]


def test_what_an_answer_took_is_a_call(bring, query):
    assert bring("llm,vignette,number,tokens,cost\na/b,fever,3,120,0.004\na/b,fever,4,,\n") == 0
    assert query("select turn, attempt, tokens_out, cost_usd, cost_source from raw.calls "
        "semi join raw.trials using (trial_id)") == [
        (1, 1, 120, 0.004, "reported")
    ]  # fmt: skip


def test_a_new_mapping_names_columns_and_values_and_is_a_mapping_once_it_is_filled_in(
    archive, bring, query, capsys, golden
):
    assert bring(FOREIGN, None, "--map", "new") == 0
    golden(capsys.readouterr().out)
    path = archive.parent / "map.sql"
    golden(path.read_text())
    assert bring(None, None, "--map", "new") == 2
    assert "map.sql is there already" in capsys.readouterr().err
    assert bring(None, path.read_text().replace("null as vignette", "scene as vignette")) == 0
    assert query("select vignette, anchor_value, response_text from raw.trials order by source_line") == [
        ("theft", None, "12"), ("theft", 5.0, "9"),
    ]  # fmt: skip


def test_a_mapping_in_yaml_is_told_what_one_is_now(refused, golden):
    golden(refused(FOREIGN, None, "--map", "map.yaml"))


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "jsonl"])
def test_a_name_that_looks_like_a_pattern_is_that_of_one_file(archive, bring, query, kind):
    folder = archive / "study[ab]"
    names = [
        f"{name}.{kind}" for name in ("run[1]", "run1", "a*", "ab", "q?", "it's é [x]", "[*]/deep", "**/deep", "SHOUT")
    ]
    names.append("loud" + f".{kind}".upper())
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "jsonl":
            path.write_text(json.dumps(row(number)))
        elif kind == "parquet":
            duckdb.sql(f"select 'a/b' as model, 'theft' as scene, null as anchor, {number} as answer").write_parquet(
                str(path)
            )
        else:
            text = f"model,scene,anchor,answer\na/b,theft,,{number}\n".encode()
            path.write_bytes(gzip.compress(text) if kind == "csv.gz" else text)
    assert bring(folder, MAP) == 0
    found = query("select source_file, response_recorded from raw.trials order by response_recorded")
    assert found == [(name, float(number)) for number, name in enumerate(names)]


def test_a_table_beside_is_the_file_that_is_named(archive, bring, query):
    for name in ("b[1].csv", "b1.csv"):
        (archive.parent / name).write_text(f"model,llm\na/b,{name}\n")
    select = MAP.replace("model as llm", "llm").replace("from source", "from source join names using (model)")
    assert bring(FOREIGN, select, "--with", f"names={archive.parent / 'b[1].csv'}") == 0
    assert query("select distinct llm_recorded from raw.trials") == [("b[1].csv",)]


def test_folders_of_two_kinds_are_told_apart(archive, refused, bring, query):
    (archive / "a.csv").write_text(FOREIGN)
    (archive / "b.jsonl").write_text(json.dumps(row()))
    assert "name one file" in refused(archive, MAP)
    (archive / "c.csv").write_text(FOREIGN)
    assert bring(archive, MAP) == 0
    assert query("select distinct source_file from raw.trials order by all") == [("a.csv",), ("c.csv",)]


def test_values_of_several_kinds_are_texts_without_quotes_and_long_numbers_are_not_rounded(bring, query):
    rows = [
        {
            "model": "openai/gpt-4.1",
            "scene": "theft",
            "answer": 'so "7"',
            "id": 12345678901234567,
            "more": {"x": "low"},
        },
        {"model": 4, "scene": "theft", "answer": 7, "id": 1.5, "more": {"x": None}},
        {"model": "a/b", "scene": "theft", "answer": True, "id": 2, "more": {"x": "low"}},
    ]
    rows[1]["list"], rows[2]["list"] = [{"n": 3}], [{"n": "four"}]
    select = (
        "select filename, model as llm, scene as vignette, answer as text, id as own_id, more.x as anchor_direction, "
        "list[1].n as item, 'v' as domain, 'months' as response_unit from source"
    )
    assert bring("\n".join(map(json.dumps, rows)), select, name="results.jsonl") == 0
    assert query(
        "select llm_recorded, response_text, line ->> '$.own_id', anchor_direction, item from raw.trials "
        "order by source_line"
    ) == [
        ("openai/gpt-4.1", 'so "7"', "12345678901234567", "low", None),
        ("4", "7", "1.5", "none", "3"),
        ("a/b", "true", "2", "low", "four"),
    ]


def test_what_is_text_here_and_a_list_there_stays_json(bring, query):
    rows = [row(), row(answer=[{"text": "9"}]), row(answer="8")]
    select = MAP.replace("answer as number", "coalesce(answer ->> '$[0].text', answer ->> '$') as number")
    assert bring("\n".join(map(json.dumps, rows)), select, name="results.jsonl") == 0
    assert query("select response_recorded from raw.trials order by all") == [(8.0,), (9.0,), (12.0,)]


def test_records_that_are_nested_too_deeply_are_refused(refused, golden):
    deep = '{"a": ' + "[" * 5000 + "]" * 5000 + "}"
    golden(refused("\n".join([json.dumps(row()), deep]), MAP, name="results.jsonl"))
    golden(refused(f"[{json.dumps(row())}, {deep}]", MAP, name="results.json"))


@pytest.mark.parametrize("damage", ["cut off", "overwritten", "its beginning"])
def test_a_damaged_file_of_duckdb_is_named_and_no_warehouse_is(archive, refused, damage):
    path = archive / "results.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute(
            "create table t as select 'a/b' as llm, 'v' as vignette, hash(range) as text from range(50000)"
        )
    content = bytearray(path.read_bytes())
    if damage == "cut off":
        content = content[: len(content) // 4]
    else:
        begins, ends = (4096, 12288) if damage == "its beginning" else (len(content) // 4, len(content) // 2)
        content[begins:ends] = b"x" * (ends - begins)
    said = refused(bytes(content), name="results.duckdb")
    assert "results.duckdb" in said
    assert "import a copy of it that is whole" in said
    assert "warehouse.duckdb" not in said


def test_what_is_said_of_a_file_stays_so_where_dlt_hands_it_on(tmp_path):
    handed_on = RuntimeError("a step failed")
    try:
        try:
            raise OSError('Could not read enough bytes from file "results.duckdb"')
        except OSError:
            raise UserError("results.duckdb cannot be read") from None
    except UserError as error:
        handed_on.__cause__ = error
    assert str(_cause(handed_on, tmp_path / "warehouse.duckdb")) == "results.duckdb cannot be read"


def test_what_makes_the_rows_has_ended_when_one_of_them_is_refused(refused, monkeypatch):
    started, popen = [], mapping.subprocess.Popen

    def start(*arguments, **options):
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(mapping.subprocess, "Popen", start)
    monkeypatch.setattr("ingest.bring.importer.CHUNK_BYTES", 1 << 20)
    rows = "".join(f"a/b,fever,{'x' * 200},{max(n, 1)}\n" for n in range(100_000))
    assert "two trials of results.csv with the own_id 1" in refused(f"llm,vignette,text,own_id\n{rows}")
    assert [process.poll() is not None for process in started] == [True]


def test_rows_of_excel_are_as_long_as_its_first(archive, bring, refused, query, monkeypatch):
    path = archive / "results.xlsx"
    path.write_bytes(b"PK")
    header = ("model", "scene", "answer", "anchor")
    excel(monkeypatch, [header, ("a/b", "theft", 12), ("a/b", "theft", 12, None, "so")])
    assert "results.xlsx, sheet answers, row 3: it has more values than the first row" in refused(path, MAP)
    excel(monkeypatch, [header, ("a/b", "theft", 12), ("a/b", "theft", 9, 5, None)])
    assert bring(path, MAP) == 0
    assert query("select anchor_value, response_recorded from raw.trials order by all") == [(5.0, 9.0), (None, 12.0)]


def test_a_formula_of_excel_without_its_result_is_named_with_its_place(
    archive, bring, refused, query, monkeypatch, golden
):
    path = archive / "results.xlsx"
    path.write_bytes(b"PK")
    header = ("model", "scene", "anchor", "answer")
    rows = [header, ("a/b", "theft", None, 12), ("a/b", "theft", None, "=SUM(D2:D2)")]
    excel(monkeypatch, rows, [*rows[:2], ("a/b", "theft", None, None)])
    golden(refused(path, MAP))
    excel(monkeypatch, rows, [*rows[:2], ("a/b", "theft", None, 24)])
    assert bring(path, MAP) == 0
    assert query("select response_recorded from raw.trials order by all") == [(12.0,), (24.0,)]


def test_a_line_of_blanks_is_no_row(bring, query):
    assert bring("llm,vignette,text\na/b,fever,1\n\n  \na/b,fever,2\n\t ") == 0
    assert query("select response_recorded from raw.trials order by all") == [(1.0,), (2.0,)]
    assert query("select count(*) from raw.quarantined_lines") == [(0,)]


def test_a_row_that_is_too_long_is_set_apart_with_its_line(bring, query):
    assert bring(f"llm,vignette,text\na/b,fever,{'x' * 30_000_000}\na/b,fever,2\n") == 3
    assert query("select line_number, reason, length(text) from raw.quarantined_lines") == [
        (2, "this row is longer than 8 MB; only its first 1 MB is kept", 1 << 20)
    ]
    assert query("select response_recorded from raw.trials") == [(2.0,)]


def test_what_is_no_table_that_can_be_read_is_said_in_a_sentence(archive, refused, golden):
    path = archive / "pipe.csv"
    os.mkfifo(path)
    golden(refused(path))
    golden(refused(path, None, "--format", "table"))
    (archive.parent / "names.csv").write_text("model\na/b\n")
    beside = ("--with", f"names={archive.parent / 'names.csv'}")
    golden(refused(FOREIGN, MAP, *beside, *beside))
    golden(refused(",".join(["llm,vignette,text", *(f"x{n}" for n in range(2000))]) + "\n"))


def test_a_column_that_may_say_the_technique_and_is_not_used_is_told(bring, capsys):
    header, rows = "model,scene,anchor,answer,debias_mode,prompt", "a/b,theft,,12,sacd,p1\na/b,theft,5,9,plain,p1\n"
    told = "no use was made of the column debias_mode (plain, sacd)"
    assert bring(f"{header}\n{rows}", MAP) == 0
    said = capsys.readouterr().out
    assert told in said
    assert "column prompt" not in said
    assert bring(None, MAP.replace("answer as", "debias_mode as technique, answer as"), "--complete") == 0
    assert told not in capsys.readouterr().out
    assert bring(None, MAP + "where debias_mode != 'x'", "--complete") == 0
    assert told not in capsys.readouterr().out


def test_a_new_mapping_takes_no_run_for_a_replicate_and_no_structure_for_a_text(archive, bring):
    record = {"model": "a/b", "scenario": "v", "run_id": "run-7", "response": {"text": "12"}, "answer": "12"}
    assert bring(json.dumps(record), None, "--map", "new", name="results.jsonl") == 0
    lines = [line.split("--")[0].strip() for line in (archive.parent / "map.sql").read_text().splitlines()]
    assert {"answer as text,", "model as llm,", "scenario as vignette,"} <= {*lines}
    assert not [line for line in lines if line.startswith(("run_id as", "response as"))]


def test_what_looks_like_a_key_in_a_row_is_told_and_kept(bring, query, capsys):
    key = "sk-or-v1-" + "0a1b2c3d" * 6
    rows = [
        "a/b,fever,3,",
        f"a/b,fever,,Error 401: {key}",
        f"a/b,fever,,Bearer {key}",
        "a/b,fever,4,ask-nicely-about-this",
    ]
    assert bring("\n".join(["llm,vignette,number,error", *rows])) == 0
    said = capsys.readouterr().out
    assert "results.csv: 2 rows hold what looks like an API key (first row 2)" in said
    assert key not in said
    assert query(f"select count(*) from raw.trials where contains(reason_recorded, '{key}')") == [(2,)]


def test_an_import_says_once_how_all_of_it_is_taken_out_again(bring, capsys):
    assert bring(FOREIGN, MAP, "--study", "thefts") == 0
    assert "`bais withdraw --where \"study = 'thefts'\" --why TEXT`" in capsys.readouterr().out
    assert bring(FOREIGN + "a/b,theft,,7\n", MAP, "--study", "thefts") == 0
    assert "bais withdraw" not in capsys.readouterr().out
