"""Typed tables: their types do not depend on their rows, and no number in them is not finite."""

import numpy as np
import pyarrow as pa
import pytest

from analysis.tables import CASTS, columns, declared, first_reason, table

COLUMNS = {"name": "varchar", "value": "double", "n": "bigint", "holds": "boolean"}
TYPES = [pa.string(), pa.float64(), pa.int64(), pa.bool_()]


@pytest.mark.parametrize("rows", [[], [{}], [{"name": None, "value": 1, "n": np.int64(2), "holds": np.True_}]])
def test_types_do_not_depend_on_rows(rows):
    found = table(rows, COLUMNS)
    assert (found.column_names, found.schema.types, found.num_rows) == (list(COLUMNS), TYPES, len(rows))


def test_values_are_those_of_the_rows():
    rows = [{"name": "a", "value": np.float64(1.5), "n": 2.0, "holds": np.False_}, {"value": 3}]
    assert table(iter(rows), COLUMNS).to_pylist() == [
        {"name": "a", "value": 1.5, "n": 2, "holds": False},
        {"name": None, "value": 3.0, "n": None, "holds": None},
    ]


@pytest.mark.parametrize("value", [float("nan"), np.float64("nan"), float("inf"), -np.inf])
@pytest.mark.parametrize("column", ["value", "n"])
def test_a_number_that_is_not_finite_is_null(value, column):
    assert table([{column: value}], COLUMNS)[column].to_pylist() == [None]


def test_single_precision_is_a_number_too():
    found = table([{"value": np.float32(0.5)}, {"value": np.float32("nan")}], COLUMNS)
    assert found["value"].to_pylist() == [0.5, None]


def test_a_key_that_is_no_column_is_an_error():
    with pytest.raises(KeyError, match="valeu"):
        table([{"name": "a"}, {"valeu": 1}], COLUMNS)


def test_columns_are_declared_by_type_in_their_order():
    by_type = columns("varchar: name", "double: value", "bigint: n", "boolean: holds", "double: low high")
    assert list(by_type.items()) == [*COLUMNS.items(), ("low", "double"), ("high", "double")]


def test_columns_of_a_table_are_those_of_its_properties():
    power, both = declared("power"), declared("anchor_sensitivities", "sensitivity_trends")
    assert (next(iter(power)), power["needed_llms"], power["gain"]) == ("study", "bigint", "double")
    assert (both["n_questions"], both["slope"]) == ("bigint", "double")
    assert set(power.values()) | set(both.values()) <= CASTS.keys()


def test_the_first_reason_that_holds_is_the_one():
    assert first_reason(one_llm=False, one_technique=True, zero_variance=True) == "one_technique"
    assert first_reason(one_llm=False) is None


def test_what_arrow_does_not_take_as_it_is_is_cast_one_by_one():
    rows = [{"name": 3, "value": "1.5", "n": 2.7, "holds": 1}, {"name": np.nan, "n": np.inf, "holds": None}]
    assert table(rows, COLUMNS).to_pylist() == [
        {"name": "3", "value": 1.5, "n": 2, "holds": True},
        {"name": None, "value": None, "n": None, "holds": None},
    ]
