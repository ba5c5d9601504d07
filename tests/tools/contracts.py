"""The project's tables in any DuckDB connection, without rows: each with the columns that the project says it has."""

import functools
import re
from pathlib import Path

import duckdb

from ingest.land.models import declarations, model_relations, sql_files
from ingest.land.raw import TABLES
from ingest.land.seeds import seeds
from ingest.warehouse import PUBLIC_SCHEMAS, ROOT
from tests.tools.unit_models import render

MODELS = ROOT / "models"
MODEL_NAME = re.compile(r"^  - name: (\w+)$", re.MULTILINE)


def make_tables(connection, *relations):
    """Make tables such as `marts.trials`; a row may leave out every column, since no `not null` is taken over.

    Beside trials stand counts, since what was asked is told by both.
    """
    beside = ["marts.counts"] if "marts.trials" in relations else []
    statements = "".join(map(_statements, dict.fromkeys([*relations, *beside])))
    connection.execute(f"begin; {statements} commit")  # a file is written once, and not for each of them


def insert(connection, relation, **values):
    """Insert a row; a column that it leaves out is null."""
    marks = ", ".join("?" * len(values))
    connection.execute(f"insert into {relation} ({', '.join(values)}) values ({marks})", list(values.values()))


def fill(connection, tables):
    """Make the tables that `tables` has the rows of, and insert these; a column that a row leaves out is null."""
    make_tables(connection, *tables)
    connection.begin()
    try:
        for relation, rows in tables.items():
            for row in rows:
                insert(connection, relation, **row)
    except duckdb.Error:
        connection.rollback()
        raise
    connection.commit()


def relation_of(name: str) -> str:
    """Return where dbt makes a model or seed."""
    return _relations()[name]


@functools.cache
def columns_of(relation: str) -> dict[str, str]:
    """Return the columns of a table of the project with their types."""
    schema, _, name = relation.partition(".")
    if not name:
        raise KeyError(f"name {relation} with its schema, as in marts.{relation}")
    if schema == "raw":
        return {column: of["data_type"] for column, of in TABLES[name].columns.items()}
    if schema == "seeds":
        return seeds()[name].types
    if _relations().get(name) != relation:
        raise KeyError(f"the project makes no {relation}")
    if schema in PUBLIC_SCHEMAS:
        return _contract(name)
    if name not in sql_files():
        raise KeyError(f"{relation} is made by Python, and its columns are declared nowhere")
    return _columns_of_query(name)


@functools.cache
def _statements(relation):
    typed = ", ".join(f'"{column}" {kind}' for column, kind in columns_of(relation).items())
    return f"create schema if not exists {relation.split('.')[0]}; create table {relation} ({typed});"


@functools.cache
def _relations() -> dict[str, str]:
    """Return where dbt makes each model and seed, by its name."""
    return {name: f"seeds.{name}" for name in seeds()} | model_relations()


@functools.cache
def _files() -> dict[str, Path]:
    """Return the file that declares each model; few of them are parsed, which takes much longer than to look."""
    files = {path: path.read_text(encoding="utf-8") for path in MODELS.rglob("*.yml")}
    return {name: path for path, text in files.items() for name in MODEL_NAME.findall(text)}


def _contract(name):
    (model,) = (of for of in declarations(_files()[name])["models"] if of["name"] == name)
    return {column["name"]: column["data_type"] for column in model["columns"]}


def _columns_of_query(name):
    inputs = set()

    def add(relation):
        inputs.add(relation)
        return relation

    query = render(
        name,
        ref=lambda of: add(relation_of(of)),
        source=lambda schema, table: add(f"{schema}.{table}"),
        is_incremental=lambda: False,
    )
    with duckdb.connect() as scratch:
        make_tables(scratch, *inputs)
        scratch.execute(f"create table scratch as {query}")
        return dict(scratch.sql("select column_name, column_type from (describe scratch)").fetchall())
