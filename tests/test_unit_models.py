"""dbt's unit tests, each in a DuckDB of its own; `make test-all` has dbt run them too."""

import collections
import re
import shutil

import pytest

from tests.tools.unit_models import differences, unit_tests

TYPES = "select table_name, column_name, data_type from duckdb_columns() where not internal order by column_index"


@pytest.fixture(scope="module")
def types(simulated):
    """The columns of each relation of a warehouse, with their types."""
    columns = collections.defaultdict(dict)
    for table, column, kind in simulated.query(TYPES):
        columns[table][column] = kind
    return columns


@pytest.mark.parametrize("test", [pytest.param(test, id=test["name"]) for test in unit_tests()])
def test_the_given_rows_come_to_the_expected_ones(test, types):
    assert differences(test, types) == []


def test_a_row_that_is_not_expected_and_one_that_is_missing_are_told_apart(types):
    test = next(of for of in unit_tests() if of["name"].startswith("unit_post_hoc_changes"))
    expected = test["expect"]["rows"]
    other = [{**expected[0], "n_trials": 77}, *expected[1:]]
    found = differences(test | {"expect": {"rows": other}}, types)
    assert {sign: 77 in row for sign, *row in found} == {"-": True, "+": False}


@pytest.mark.slow("dbt starts each of them")
def test_dbt_runs_each_of_them_and_finds_the_same(simulated, warehouse_in, tmp_path):
    copied = warehouse_in(tmp_path)
    shutil.copy(simulated.path, copied.path)
    printed = copied.dbt("test", "--resource-type", "unit_test")
    (n_passed,) = re.findall(r"PASS=(\d+) WARN=0 ERROR=0 SKIP=0", printed)
    assert int(n_passed) >= sum(1 for _ in unit_tests())  # hooks are counted too
