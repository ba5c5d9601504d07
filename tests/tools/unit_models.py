"""dbt's unit tests of models that are SQL, run without dbt: rows in, rows out, in a DuckDB of their own."""

import csv
import functools
import hashlib
import io
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import duckdb
import jinja2

from bais.sql_functions import register
from ingest.land.models import ENGINE, PROJECT, declarations, sql_files
from ingest.warehouse import ROOT

MACRO = re.compile(r"{%-?\s*macro\s+(\w+).*?{%-?\s*endmacro\s*-?%}", re.DOTALL)
GIVEN = re.compile(r"""(?:ref|source)\((?:['"]raw['"]\s*,\s*)?['"](\w+)['"]\)|(this)""")
BARE_NAMES = {"ref": lambda name: name, "source": lambda schema, table: table}
MEANT = dict(BARE_NAMES)  # in the model that is being rendered: macros keep the words that they were made with
NO_MACROS = ROOT / "macros" / "tests"  # what these render is dbt's own


class Returned(Exception):
    """What a macro gives its caller where that is no text."""

    def __init__(self, value):
        super().__init__()
        self.value = value


def unit_tests() -> Iterator[dict]:
    """Yield every unit test of the project as its file declares it."""
    for path in sorted((ROOT / "models").rglob("*.yml")):
        yield from declarations(path).get("unit_tests", [])


def differences(test: dict, types: dict[str, dict[str, str]]) -> list[tuple]:
    """Run a unit test, and return the rows that are missing (`-`) and those that are too many (`+`).

    `types` has the columns of each relation with their types, which rows that lack some are filled up by.
    """
    with duckdb.connect() as connection:
        register(connection)
        for given in test["given"]:
            name = next(filter(None, GIVEN.search(given["input"]).groups()))
            name = test["model"] if name == "this" else name
            connection.execute(f"create table {name} as {_rows(given, types[name])}")
        connection.execute(f"create table found as {_render(test)}")
        columns = dict(connection.sql("select column_name, column_type from (describe found)").fetchall())
        expected = _rows(test["expect"], columns)
        compared = ", ".join(_columns(test["expect"], columns))
        sides = {"-": f"from ({expected})", "+": "from found"}
        return [
            (sign, *row)
            for sign, other in (("-", "+"), ("+", "-"))
            for row in connection.sql(
                f"select {compared} {sides[sign]} except all select {compared} {sides[other]}"
            ).fetchall()
        ]


def render(model: str, variables: Mapping = MappingProxyType({}), **words: Any) -> str:
    """Return the SQL of a model, for which `words` such as `ref` mean what they do for dbt."""
    environment = _environment()
    environment.globals["var"] = (declarations(PROJECT)["vars"] | variables).__getitem__
    MEANT.update(BARE_NAMES | {name: word for name, word in words.items() if name in BARE_NAMES})
    return environment.from_string(sql_files()[model].read_text(encoding="utf-8")).render(words)


def _render(test):
    overrides = test.get("overrides", {})
    is_incremental = overrides.get("macros", {}).get("is_incremental", False)
    return render(test["model"], overrides.get("vars", {}), is_incremental=lambda: is_incremental, this=test["model"])


@functools.cache
def _environment():
    """Return what renders models: the macros, each of which knows all others, and dbt's words for relations."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, extensions=["jinja2.ext.do"])

    def give(value):
        raise Returned(value)

    environment.globals.update(
        ENGINE,
        local_md5=lambda text: hashlib.md5(text.encode()).hexdigest(),
        ref=lambda name: MEANT["ref"](name),
        source=lambda schema, table: MEANT["source"](schema, table),
        config=lambda **_: "",
        model={"columns": []},  # a unit test declares none
        **{"return": give},
    )
    for path in (ROOT / "macros").glob("*.sql"):
        for found in MACRO.finditer(path.read_text(encoding="utf-8")):
            environment.globals[found[1]] = _macro(environment, found[0], found[1])
    return environment


def _macro(environment, text, name) -> Callable[..., Any]:
    made = functools.cache(lambda: getattr(environment.from_string(text).module, name))

    def call(*given, **named):
        try:
            return made()(*given, **named)
        except Returned as returned:
            return returned.value

    return call


def _rows(block, types):
    """Return the query of the rows of a block, each value as its column holds it, and null where none is said."""
    if block.get("format") == "sql":
        return block["rows"]
    rows = _parsed(block)
    if unknown := {name for row in rows for name in row} - types.keys():
        raise KeyError(f"no column {', '.join(sorted(unknown))}")
    casts = ", ".join(f'cast("{name}" as {kind}) as "{name}"' for name, kind in types.items())
    names = ", ".join(f'"{name}"' for name in types)
    if not rows:
        nothing = ", ".join(f'null as "{name}"' for name in types)
        return f"select {casts} from (select {nothing}) where false"
    values = ", ".join(f"({', '.join(_literal(row.get(name)) for name in types)})" for row in rows)
    return f"select {casts} from (values {values}) as of ({names})"


def _parsed(block):
    if block.get("format") == "csv":
        read = csv.DictReader(io.StringIO(block["rows"].strip()), skipinitialspace=True)
        return [{name.strip(): value.strip() or None for name, value in row.items()} for row in read]
    return block["rows"]


def _columns(block, types):
    """Return the columns that are compared: those that any expected row names, or of a query all that it has."""
    if block.get("format") == "sql":
        with duckdb.connect() as connection:
            return [f'"{name}"' for name in connection.sql(block["rows"]).columns]
    named = {name for row in _parsed(block) for name in row}
    return [f'"{name}"' for name in types if name in named]


def _literal(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        value = str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(name)}: {_literal(of)}" for name, of in value.items()) + "}"
    escaped = str(value).replace("'", "''")
    return f"'{escaped}'"
