"""Rows of statistics as typed tables: a statistic that cannot be computed is null, and its reason says why."""

import math
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import yaml

_PACKAGES = Path(__file__).resolve().parents[1]
# what comes with bais beside its Python: a wheel has it in a folder of a package (pyproject.toml)
SHIPPED = _PACKAGES if (_PACKAGES / "models").is_dir() else _PACKAGES / "bais" / "shipped"
MODELS = SHIPPED / "models"
CASTS = {"varchar": str, "double": float, "integer": int, "bigint": int, "boolean": bool}
NOT_FINITE = (math.inf, -math.inf)  # beside NaN, which equals nothing
TYPES = {
    "varchar": pa.string(), "double": pa.float64(), "integer": pa.int32(), "bigint": pa.int64(), "boolean": pa.bool_(),
}  # fmt: skip


def columns(*declared):
    """Return the type of each column from lines such as `double: low high`.

    Parameters
    ----------
    *declared : str
        A type and the columns that have it, in the order of the table.

    Returns
    -------
    dict of str to {'varchar', 'double', 'bigint', 'boolean'}
    """
    lines = (line.split(": ") for line in declared)
    return {name: kind for kind, names in lines for name in names.split()}


@cache
def declared(*models):
    """Return the type of each column of tables, as their properties beside the models declare them.

    Parameters
    ----------
    *models : str
        Names, such as `power`; of several, the columns that any of them has.

    Returns
    -------
    dict of str to {'varchar', 'double', 'bigint', 'boolean'}
        In the order of their properties.

    Raises
    ------
    KeyError
        If a model is not declared.
    """
    naming = (text for text in _properties() if any(f"- name: {model}\n" in text for model in models))
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    properties = {model["name"]: model for text in naming for model in yaml.load(text, loader).get("models", [])}
    return {column["name"]: column["data_type"] for model in models for column in properties[model]["columns"]}


@cache
def _properties():
    return [path.read_text(encoding="utf-8") for path in sorted(MODELS.rglob("*.yml"))]


def table(rows, columns):
    """Return rows as a table whose types do not depend on them.

    Parameters
    ----------
    rows : iterable of dict
        A key that is no column is an error; a column without a key is null, as is a number that is not finite.
    columns : dict of str to {'varchar', 'double', 'bigint', 'boolean'}
        In the order of the table.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    KeyError
        If a row has a key that is no column.
    """
    rows = list(rows)
    for row in rows:
        if unknown := row.keys() - columns.keys():
            raise KeyError(f"no column {sorted(unknown)}")
    arrays = [_array([row.get(name) for row in rows], kind) for name, kind in columns.items()]
    return pa.table(arrays, names=list(columns))


def reasons(*words):
    """Return the words that say why something is null or limited as one text, or None where there are none."""
    return "; ".join(filter(None, words)) or None


def first_reason(**holds):
    """Return the first word that holds, or None: `first_reason(one_llm=n_llms < 2, one_technique=n_techniques < 2)`."""
    return next((word for word, it_holds in holds.items() if it_holds), None)


def _array(values, kind):
    try:
        array = pa.array(values, type=TYPES[kind], from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return _cast(values, kind)
    # what is left are numbers that are not finite
    return pc.if_else(pc.is_finite(array), array, None) if kind == "double" else array


def _cast(values, kind):
    """One by one, where Arrow does not take values as they are."""
    cast = CASTS[kind]
    return pa.array(
        [None if value is None or value in NOT_FINITE or value != value else cast(value) for value in values],
        type=TYPES[kind],
    )
