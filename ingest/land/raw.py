"""`raw` as `models/staging/sources.yml` declares it: its tables, their keys and columns, and what each column means."""

import contextlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pyarrow as pa
import yaml

from ingest.land.folder import take_in
from ingest.warehouse import ROOT, kept_path, number_after, transaction

DECLARED = ROOT / "models" / "staging" / "sources.yml"
LOAD_ID = "_dlt_load_id"
ARROW_TYPES = {
    "varchar": pa.string(),
    "json": pa.string(),
    "double": pa.float64(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "timestamp with time zone": pa.timestamp("us", tz="UTC"),
    "varchar[]": pa.list_(pa.string()),
}
DOC_BLOCK = re.compile(r"{% docs (\w+) %}\s*(.*?)\s*{% enddocs %}", flags=re.DOTALL)
DOC_CALL = re.compile(r"""{{\s*doc\(\s*["'](\w+)["']\s*\)\s*}}""")


@dataclass(frozen=True)
class Table:
    """A table of `raw`; `columns` maps each name to what is declared of it, among others its `data_type`."""

    name: str
    description: str
    key: tuple[str, ...]
    columns: dict[str, dict]

    @property
    def is_landed(self) -> bool:
        """Whether dlt lands its rows; those of the other tables are the gate's, and families."""
        return LOAD_ID in self.columns

    @property
    def json_columns(self) -> list[str]:
        """The columns that hold JSON."""
        return [name for name, column in self.columns.items() if column["data_type"] == "json"]

    @cached_property
    def schema(self) -> pa.Schema:
        """What is landed in it, in Arrow's terms."""
        return pa.schema(
            pa.field(name, ARROW_TYPES[column["data_type"]], nullable="constraints" not in column)
            for name, column in self.columns.items()
            if name != LOAD_ID
        )

    def conform(self, rows: pa.Table) -> pa.Table:
        """Give rows the columns of this table, in its types; those that they lack are null."""
        columns = [
            rows[field.name] if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
            for field in self.schema
        ]
        return pa.table(columns, self.schema.names).cast(self.schema)


def glossary() -> dict[str, str]:
    """Return the definitions that descriptions of columns quote, by name."""
    texts = (path.read_text(encoding="utf-8") for path in sorted((ROOT / "models").rglob("*.md")))
    return {name: definition for text in texts for name, definition in DOC_BLOCK.findall(text)}


def resolved(text: str, definitions: dict[str, str]) -> str:
    """Put definitions in where a description quotes them, as dbt does."""
    return DOC_CALL.sub(lambda call: definitions.get(call[1], ""), text)


def key_of(table: dict) -> list[str]:
    """Return the columns that no two rows of a declared table share together, or none where it has no such test."""
    tests = [test["columns_are"] for test in table.get("data_tests", []) if "columns_are" in test]
    return next((test["arguments"]["unique"] for test in tests if "unique" in test["arguments"]), [])


def read_tables(path: Path = DECLARED) -> dict[str, Table]:
    """Read the declarations, by the name of the table."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    (source,) = yaml.load(path.read_text(encoding="utf-8"), loader)["sources"]
    definitions = glossary()
    tables = {}
    for table in source["tables"]:
        columns = {
            column["name"]: column | {"description": resolved(column["description"], definitions)}
            for column in table["columns"]
        }
        tables[table["name"]] = Table(table["name"], table["description"].strip(), tuple(key_of(table)), columns)
    return tables


TABLES = read_tables()
LANDED = {name: table for name, table in TABLES.items() if table.is_landed}
ORDERED = [name for name, table in TABLES.items() if "ordinal" in table.columns]
OF_THE_GATE = {name: table for name, table in TABLES.items() if not table.is_landed}


def raw_statements(there: Collection[str] = (), views: Collection[str] = ()) -> str:
    """Write the SQL that makes what is not there, with the macro that dbt uses."""
    return str(_macros().raw_statements(TABLES.values(), there, views))


def number_rows(warehouse, schema: str = "raw") -> None:
    """Number the rows that an older version of bais wrote, if there are any, with the macro that dbt uses."""
    views = _names(warehouse, _macros().raw_views_there)
    if _are_unnumbered(warehouse, schema, views):
        warehouse.execute(str(_macros().raw_ordinals(views, schema)))


def _are_unnumbered(warehouse, schema="raw", views=()):
    tables = [name for name in ORDERED if name not in views]
    unnumbered = " union all ".join(f"select 1 from {schema}.{name} where ordinal is null" for name in tables)
    return bool(warehouse.execute(f"select 1 from ({unnumbered}) limit 1").fetchall())


def next_ordinal(warehouse) -> int:
    """Return the number of what is written next: it is higher than that of all that is there."""
    return number_after(warehouse, ORDERED)


def prepare_raw(path: Path) -> None:
    """Make the tables of `raw` that a warehouse lacks, and the columns that came since it was made, as dbt does.

    What a folder keeps for it is taken in.
    """
    with raw_transaction(path):
        pass


@contextlib.contextmanager
def raw_transaction(path: Path):
    """Open the warehouse, make what `raw` lacks, and write that and all of what follows, or none."""
    with transaction(path) as warehouse:
        if lacking := _lacking(warehouse):
            warehouse.execute(lacking)
        take_in(warehouse, TABLES, number_rows)
        number_rows(warehouse)
        yield warehouse


def lacks_nothing(warehouse) -> bool:
    """Whether `prepare_raw` would change nothing; of a warehouse that keeps trials in a folder that is not known."""
    return not (_lacking(warehouse) or kept_path(warehouse) or _are_unnumbered(warehouse))


def _lacking(warehouse):
    """Write the SQL that makes what a warehouse lacks; empty where it lacks nothing."""
    there, views = (_names(warehouse, query) for query in (_macros().raw_columns_there, _macros().raw_views_there))
    return raw_statements(there, views).strip()


def _names(warehouse, query):
    """Return what a query of the macros finds: columns of `raw` with their meaning, or its views."""
    return {name for (name,) in warehouse.execute(str(query())).fetchall()}


@cache
def _macros():
    from jinja2 import Environment

    text = (ROOT / "macros" / "create_raw_tables.sql").read_text(encoding="utf-8")
    return Environment().from_string(text).module
