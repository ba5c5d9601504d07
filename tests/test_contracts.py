"""The tables that tests make of what the project declares (tests/tools/contracts.py), against those that dbt makes."""

import collections

import duckdb
import pytest

from analysis.report.queries import PUBLIC
from ingest.land.models import model_relations
from ingest.warehouse import PUBLIC_SCHEMAS, ROOT
from tests.tools.contracts import insert, make_tables

COLUMNS = """
select schema_name || '.' || table_name, column_name, data_type
from duckdb_columns() where not internal order by 1, column_index
"""


def tables(connection):
    """The columns of each table, in their order, with their types."""
    found = collections.defaultdict(list)
    for relation, *column in connection.sql(COLUMNS).fetchall():
        found[relation].append(tuple(column))
    return found


def is_declared(relation):
    """Whether it is public or given, or a query over such; what Python makes for other models is declared nowhere."""
    schema, name = relation.split(".")
    of_python = name in ("int_claims_recommended", "int_human_effects_derived")  # they read such a table
    return schema != "intermediate" or (any((ROOT / "models").rglob(f"{name}.sql")) and not of_python)


def test_tables_have_the_columns_and_types_that_a_build_gives_them(simulated):
    with duckdb.connect(str(simulated.path), read_only=True) as warehouse:
        built = {relation: columns for relation, columns in tables(warehouse).items() if is_declared(relation)}
    assert len(built) > 100
    with duckdb.connect() as memory:
        make_tables(memory, *built)
        assert tables(memory) == built


def test_a_row_says_only_what_its_reader_reads():
    with duckdb.connect() as memory:
        make_tables(memory, "raw.batches", "marts.technique_costs")
        insert(memory, "raw.batches", study="s")
        insert(memory, "marts.technique_costs", study="s", cost_usd_per_trial=0.5)
        assert memory.sql("select llm, cost_usd_per_trial from marts.technique_costs").fetchall() == [(None, 0.5)]


@pytest.mark.parametrize("relation", ["marts.gone", "inference.trials", "intermediate.decided"])
def test_what_the_project_does_not_declare_is_refused(relation):
    with duckdb.connect() as memory, pytest.raises(KeyError, match=relation):
        make_tables(memory, relation)


def test_which_schemas_are_public_is_said_alike_by_the_project_its_macros_and_the_page():
    schemas = {relation.partition(".")[0] for relation in model_relations().values()}
    assert schemas - {"staging", "intermediate"} == set(PUBLIC_SCHEMAS)
    assert tuple(PUBLIC.split("|")) == PUBLIC_SCHEMAS
    assert repr(PUBLIC_SCHEMAS) in (ROOT / "macros" / "require_contracts.sql").read_text(encoding="utf-8")
