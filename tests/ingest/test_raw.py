"""`raw` is what models/staging/sources.yml declares, also in a warehouse that an older version made."""

import contextlib

import duckdb
import pyarrow as pa
import pytest
from jinja2 import Environment

from ingest.land.raw import TABLES, prepare_raw, raw_statements
from ingest.warehouse import ROOT

MACRO = ROOT / "macros" / "create_raw_tables.sql"
MACROS = Environment(autoescape=False).from_string(MACRO.read_text("utf-8")).module


def described(connection):
    return connection.execute(
        "select table_name, column_name, data_type, is_nullable from duckdb_columns() "
        "where schema_name = 'raw' order by table_name, column_index"
    ).fetchall()


@pytest.fixture
def declared():
    with duckdb.connect() as memory:
        memory.execute(raw_statements())
        yield described(memory)


def test_every_column_says_in_one_sentence_what_it_means():
    meanings = {
        (table.name, name): of["description"] for table in TABLES.values() for name, of in table.columns.items()
    }
    assert [place for place, meaning in meanings.items() if not meaning.endswith(".") or "{{" in meaning] == []


@pytest.mark.parametrize("name", TABLES)
def test_types_in_arrow_are_those_in_duckdb(declared, name):
    with duckdb.connect() as memory:
        memory.register("rows", TABLES[name].schema.empty_table())
        of_arrow = {column: kind for column, kind, *_ in memory.execute("describe rows").fetchall()}
    in_duckdb = {column: kind.replace("JSON", "VARCHAR") for table, column, kind, *_ in declared if table == name}
    assert of_arrow == {column: kind for column, kind in in_duckdb.items() if column != "_dlt_load_id"}


def test_a_warehouse_of_an_older_version_gets_what_came_since_and_keeps_its_rows(tmp_path, declared):
    path = tmp_path / "w.duckdb"
    prepare_raw(path)
    with contextlib.closing(duckdb.connect(str(path))) as older:
        older.execute("drop table raw.gate_acts")
        older.execute("alter table raw.prompts drop column text")
        older.execute("alter table raw.batches drop column definition")
        older.execute("alter table raw.quarantined_lines alter column line_number set not null")
        older.execute("insert into raw.prompts values ('s', 'hash', 'message', 'a load')")
    prepare_raw(path)
    with contextlib.closing(duckdb.connect(str(path))) as migrated:
        assert migrated.execute("from raw.prompts").fetchall() == [("s", "hash", "message", "a load", None)]
        now = described(migrated)
    may_be_null = ("prompts", "text", "VARCHAR", True)
    expected = [column for column in declared if column[:2] != ("prompts", "text")] + [may_be_null]
    assert sorted(now) == sorted(expected)


def test_where_nothing_is_lacking_nothing_is_said(declared):
    there = [f"{table} {column}{'' if is_nullable else ' not null'}" for table, column, _, is_nullable in declared]
    assert raw_statements(there).strip() == ""
    assert raw_statements(there[1:]).strip().startswith("alter table raw.")
    assert raw_statements(there[1:]).count(";") == 1


def test_rows_get_the_columns_of_their_table_and_no_null_where_none_may_be():
    rows = pa.table({"study": ["s"], "text": ["hello"], "unknown": [1], "prompt_hash": ["hash"]})
    with pytest.raises(ValueError, match="prompt_kind"):
        TABLES["prompts"].conform(rows)
    conformed = TABLES["prompts"].conform(rows.append_column("prompt_kind", pa.array(["message"])))
    assert conformed.to_pylist() == [{"study": "s", "prompt_hash": "hash", "prompt_kind": "message", "text": "hello"}]


def test_meanings_are_written_once_and_anew_where_they_changed():
    def names(query):
        return [name for (name,) in memory.execute(str(query())).fetchall()]

    def lacking():
        return str(MACROS.raw_meanings(TABLES.values(), names(MACROS.raw_meanings_there), ["prompts"])).strip()

    with duckdb.connect() as memory:
        memory.execute(raw_statements())
        memory.execute("drop table raw.prompts; create view raw.prompts as select 's' as study")
        memory.execute(lacking())
        assert lacking() == ""
        memory.execute("comment on column raw.batches.study is 'what it once meant'")
        meaning = TABLES["batches"].columns["study"]["description"]
        assert lacking() == f"comment on column raw.batches.study is '{meaning}';"
