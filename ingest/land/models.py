"""The project's models outside of dbt: rendered with what dbt would give them, and made in any DuckDB connection."""

import functools
import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
import yaml

from ingest.land.seeds import read_seed, seeds
from ingest.warehouse import ROOT

if TYPE_CHECKING:
    import duckdb

MACROS = (
    "read_response", "read_label", "number_in_cell", "numbers_in", "trial_status", "answer_in", "is_countable",
    "vendors_of", "engines",
)  # fmt: skip
ENGINE = {"target": {"type": "duckdb"}, "zip": zip}  # what dbt would give macros/engines.sql
EMPTY = {"papers": "document varchar, study varchar, label varchar, digest varchar"}  # no batch is of a version cited
PROJECT = ROOT / "dbt_project.yml"


@functools.cache
def macros() -> dict[str, Callable[..., str]]:
    """Return by name the macros that read an answer and judge it; each gives a SQL expression."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    environment.globals["local_md5"] = lambda text: hashlib.md5(text.encode()).hexdigest()
    environment.globals.update(ENGINE)
    files = (ROOT / "macros" / f"{name}.sql" for name in MACROS)
    return vars(environment.from_string("".join(file.read_text(encoding="utf-8") for file in files)).module)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    environment.globals.update(ENGINE | macros())
    return environment


@functools.cache
def _template(path: Path) -> jinja2.Template:
    return _environment().from_string(path.read_text(encoding="utf-8"))


@functools.cache
def sql_files() -> dict[str, Path]:
    """Return the models that are SQL, by name."""
    return {path.stem: path for path in (ROOT / "models").rglob("*.sql")}


@functools.cache
def model_relations() -> dict[str, str]:
    """Return where dbt makes each model, such as `marts.trials`, by its name: as the innermost of its folders says."""
    relations = {}
    for path in (ROOT / "models").rglob("*"):
        schema, settings = None, declarations(PROJECT)["models"]["bais"]
        for part in (*path.relative_to(ROOT / "models").parent.parts, path.stem):
            settings = settings.get(part, {})
            schema = settings.get("+schema", schema)
        if schema and path.suffix in (".sql", ".py"):
            relations[path.stem] = f"{schema}.{path.stem}"
    return relations


def project_variable(name: str) -> str:
    """Return the value that `dbt_project.yml` gives a var."""
    return declarations(PROJECT)["vars"][name]


def query_of(name: str, raw: str = "raw") -> str:
    """Return the SQL of a model or seed that comes from nothing but `raw` and seeds, as the warehouse runs it."""
    models = _InOneQuery(None, {"raw": raw}, {})
    return read_seed(name) if name in seeds() else models.render(name)


class Models:
    """Models and seeds in a DuckDB connection, each made when first referred to; `views` as views, unlike in dbt."""

    def __init__(
        self,
        connection: "duckdb.DuckDBPyConnection | None",
        sources: dict[str, str],
        variables: dict,
        views: Iterable[str] = (),
    ):
        self.connection = connection
        self.views = set(views)
        self.sources = sources
        self.variables = variables
        self.made: set[str] = set()
        self.files = sql_files()

    def ref(self, name: str) -> str:
        """Return the relation of a model or seed, which is made if it is not there yet."""
        if name not in self.made:
            self.made.add(name)
            if name in seeds():
                self.connection.execute(f"create table {name} as {read_seed(name)}")
            elif name in EMPTY:
                self.connection.execute(f"create table {name} ({EMPTY[name]})")
            else:
                self.connection.execute(f"create {self._kind(name)} {name} as {self.render(name)}")
        return name

    def make_anew(self, *names: str) -> None:
        """Make tables of models, also where they are there: what they read has changed."""
        for name in names:
            if name in self.made:
                self.connection.execute(f"drop table {name}")
            self.made.discard(name)
            self.ref(name)

    def source(self, name: str, table: str) -> str:
        """Return the relation of a source's table."""
        return f"{self.sources[name]}.{table}"

    def render(self, name: str) -> str:
        """Return the SQL of a model; what it refers to is made on the way."""
        return _template(self.files[name]).render(
            ref=self.ref,
            source=self.source,
            var=self.variables.__getitem__,
            config=lambda **_: "",
            is_incremental=lambda: False,
        )

    def _kind(self, name: str) -> str:
        if name in self.views:
            return "view"
        folder = declarations(PROJECT)["models"]["bais"][self.files[name].parent.name]
        kind = folder.get(name, {}).get("+materialized", folder["+materialized"])
        return "view" if kind == "view" else "table"


class _InOneQuery(Models):
    """Models of which none is made: each stands within the query of the one that refers to it."""

    def ref(self, name: str) -> str:
        """Return the query of a model or seed, as a relation."""
        return f"({read_seed(name) if name in seeds() else self.render(name)})"


@functools.cache
def declarations(path: Path) -> dict:
    """Return what a YAML file of the project declares."""
    return yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
