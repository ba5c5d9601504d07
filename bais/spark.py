"""`bais build --engine spark`: what touches every trial is built on Spark, all else in DuckDB, which sees the files."""

import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from bais import age, dbt, project
from bais.terminal import complain, say
from bais.warehouse import values
from ingest.land.folder import files_of
from ingest.warehouse import UserError, connect, explain, parquet_folder, quoted, transaction

SELECTOR, BEFORE, AFTER = "spark", "spark_inputs", "beside_spark"  # of selectors.yml
UNIT_TESTS = ("--exclude-resource-type", "unit_test")
INPUTS, DATABASES = "inputs", "databases"  # folders that only a build needs: what Spark reads, and its empty databases
SMALL = 16 << 20  # what has fewer bytes of Parquet is copied into the warehouse
NOT_TABLES = ("ephemeral", "view")


def build(copy: Path, files: Path, is_tested: bool, variables: Iterable[str] = ()) -> int:
    """Build a copy of a warehouse, half of it on Spark; the exit code is that of the first dbt that failed.

    A copy of which Spark could not make its half is removed, so that it takes no warehouse's place.
    """
    if code := build_on_spark(copy, files, is_tested, variables):
        copy.unlink(missing_ok=True)
        complain("Spark did not make its half: the warehouse stays as it was")
        return code
    return _dbt_build(copy, "in DuckDB, the rest", "--selector", AFTER, *UNIT_TESTS, *variables)


def build_on_spark(path: Path, files: Path, is_tested: bool, variables: Iterable[str] = ()) -> int:
    """Build on Spark what touches every trial, into a folder among `files`, and let the warehouse at `path` have it.

    What fails leaves the warehouse as it was. Files of earlier builds stay: `remove_unused`.
    """
    with _new_folder(files) as folder:
        if code := _dbt_build(path, "in DuckDB, what Spark needs", "--selector", BEFORE, *UNIT_TESTS, *variables):
            return code
        manifest = _manifest(path, "--selector", SELECTOR, *variables)
        _write_inputs(path, folder, manifest)
        label = f"on Spark, what touches every trial{' (and its tests)' if is_tested else ''}"
        if code := _on_spark(label, folder, is_tested, variables):
            return code
        made = _made(folder)
        try:
            _take_over(path, folder, manifest, made)
        except Exception:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return 0


def refuse_without_spark() -> None:
    """Say what is missing for a build on Spark."""
    missing = [name for name in ("pyspark", "dbt.adapters.spark") if not _is_installed(name)]
    if missing:
        raise UserError(f"a build on Spark needs {' and '.join(missing)}: run `make spark` in a checkout of bais")
    if not os.environ.get("SPARK_REMOTE") and not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        raise UserError(
            "a build on Spark needs Java 17 (such as Debian's openjdk-17-jre-headless), or a Spark server that "
            "SPARK_REMOTE names"
        )


def _is_installed(name):
    return importlib.util.find_spec(name) is not None


@contextlib.contextmanager
def _new_folder(parent: Path) -> Iterator[Path]:
    """Make a folder for one build, which is gone if it comes to nothing."""
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="build_", dir=parent.resolve()))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        for needed_once in (INPUTS, DATABASES):
            shutil.rmtree(folder / needed_once, ignore_errors=True)
        if not _made(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _dbt_build(path, label, *arguments):
    return dbt.build(*arguments, more_environment={"BAIS_WAREHOUSE": str(path)}, label=f"{label}: ")


def _manifest(path, *arguments) -> dict:
    """Return the project as dbt sees it in DuckDB, with the SQL of the models that are named."""
    settings = {"BAIS_WAREHOUSE": str(path), "DBT_WRITE_JSON": "true"}
    if dbt.ended(dbt.start("compile", *arguments, more_environment=settings)):
        raise UserError("dbt cannot read the project: what it says is above")
    return json.loads((dbt.notes_folder() / "manifest.json").read_text(encoding="utf-8"))


def _selected(manifest):
    """Return the models that Spark is to make, each after those that it reads."""
    from graphlib import TopologicalSorter

    chosen = {name: node for name, node in manifest["nodes"].items() if node.get("compiled_code")}
    models = {name: node for name, node in chosen.items() if node["resource_type"] == "model"}
    order = TopologicalSorter({name: set(node["depends_on"]["nodes"]) & set(models) for name, node in models.items()})
    return [models[name] for name in order.static_order()]


def _write_inputs(path, folder, manifest):
    """Write what Spark's models read, or what that is made of, to Parquet: raw tables, seeds, models of DuckDB.

    Of what is Parquet already, the files are linked to, beside one without rows that has all the columns.
    """
    import duckdb

    own = {model["unique_id"] for model in _selected(manifest)}
    seen, queue = set(), [*own]
    while queue:
        if (name := queue.pop()) not in seen:
            seen.add(name)
            queue += manifest["nodes"].get(name, {}).get("depends_on", {}).get("nodes", [])
    nodes = [manifest["sources"].get(name) or manifest["nodes"][name] for name in sorted(seen - own)]
    with contextlib.closing(connect(path, read_only=True, writes_files=True)) as warehouse:
        kept = {("raw", name): files for name, files in files_of(warehouse).items()}
        for node in nodes:
            schema, name = node["schema"], node.get("identifier") or node["name"]
            target = folder / INPUTS / schema / name
            target.mkdir(parents=True)
            try:
                described = warehouse.execute(f'describe {schema}."{name}"').fetchall()
                as_text = ", ".join(
                    f'"{column}"::varchar as "{column}"' for column, kind, *_ in described if kind == "JSON"
                )
                columns = f"* replace ({as_text})" if as_text else "*"
                rows = "where false" if (schema, name) in kept else ""
                query = f'select {columns} from {schema}."{name}" {rows}'
                warehouse.execute(f"copy ({query}) to {quoted(target)} (format parquet, per_thread_output true)")
                for file in kept.get((schema, name), []):
                    (target / file.name).symlink_to(file)
            except duckdb.Error as error:
                raise UserError(explain(error, path)) from None


def _on_spark(label, folder, is_tested, variables):
    """Run dbt in a process with a session; what dbt itself keeps there stays apart from what it keeps of DuckDB."""
    target = dbt.notes_folder() / "spark"
    schema = f"bais_{folder.name.removeprefix('build_')}"
    own = {"DBT_TARGET_PATH": str(target), "BAIS_SPARK_FOLDER": str(folder), "BAIS_SPARK_SCHEMA": schema}
    results = dbt.Results(target)
    tests = () if is_tested else ("--exclude-resource-type", "unit_test", "test")
    arguments = ["--quiet", "build", "--target", "spark", "--selector", SELECTOR, *tests, *variables]
    command = [sys.executable, "-m", "bais.on_spark", schema, str(folder / INPUTS), json.dumps(arguments)]
    log = folder.parent / "spark.log"
    with open(log, "wb") as file:
        code = dbt.ended(subprocess.Popen(command, cwd=project.update(), env=dbt.environment(own), stderr=file))
    if code:
        say(f"what Spark itself said is in {log}")
    return results.ended(code, f"{label}: ")


def _made(folder: Path) -> dict[tuple[str, str], Path]:
    """Return the folders of the tables that Spark wrote, by schema and name."""
    done = [path.parent for path in folder.glob("*/*/_SUCCESS")]
    return {(path.parent.name, path.name): path for path in done if path.parent.name != INPUTS}


def _take_over(path, folder, manifest, made):
    """Put views of Spark's Parquet in the place of models, small ones as tables, and DuckDB's own views beside them.

    Types, order of columns and definitions are those that the model has in DuckDB.
    """
    with transaction(path) as warehouse:
        for model in _selected(manifest):
            schema, name, sql = model["schema"], model["alias"], model["compiled_code"]
            if (kept := made.get((schema, name))) is None:
                if model["config"]["materialized"] not in NOT_TABLES:
                    raise UserError(f"Spark has not written {schema}.{name}: nothing in the warehouse was changed")
                _replace(warehouse, schema, name, "view", sql)
                continue
            columns = _columns(warehouse, model)
            files = f"select {columns} from read_parquet({quoted(kept / '*.parquet')})"
            is_small = sum(file.stat().st_size for file in kept.glob("*.parquet")) < SMALL
            kind = _replace(warehouse, schema, name, "table" if is_small else "view", files)
            _describe(warehouse, model, kind)
            if is_small:
                shutil.rmtree(kept)
        age.mark(warehouse, [model["unique_id"] for model in _selected(manifest)])


def _columns(warehouse, model):
    """Return what to select of a table of Spark's: with the types of DuckDB, in the order that a contract declares."""
    kinds = {name: kind for name, kind, *_ in warehouse.execute(f"describe {model['compiled_code']}").fetchall()}
    order = model["columns"] if model["config"]["contract"]["enforced"] else kinds
    return ", ".join(f'"{name}"::{kinds[name]} as "{name}"' for name in order)


def _replace(warehouse, schema, name, kind, sql):
    query = "select table_type from information_schema.tables where (table_catalog, table_schema, table_name) = "
    if there := warehouse.execute(f"{query}(current_database(), ?, ?)", [schema, name]).fetchone():
        warehouse.execute(f'drop {"view" if there[0] == "VIEW" else "table"} {schema}."{name}"')
    warehouse.execute(f'create schema if not exists {schema}; create {kind} {schema}."{name}" as {sql}')
    return kind


def _describe(warehouse, model, kind):
    """Give a table the definitions that dbt persists of it."""
    relation, persisted = f'{model["schema"]}."{model["alias"]}"', model["config"].get("persist_docs") or {}
    if persisted.get("relation") and model["description"]:
        warehouse.execute(f"comment on {kind} {relation} is {quoted(model['description'])}")
    for column in model["columns"].values() if persisted.get("columns") else ():
        if column["description"]:
            warehouse.execute(f'comment on column {relation}."{column["name"]}" is {quoted(column["description"])}')


def remove_unused(path: Path) -> None:
    """Remove what earlier builds on Spark left, and what no view of the warehouse reads any more."""
    folders = list(parquet_folder(path).resolve().glob("build_*"))
    if not folders:
        return
    with contextlib.closing(connect(path, read_only=True)) as warehouse:
        views = values(warehouse, "select sql from duckdb_views() where not internal")
    for folder in folders:
        if not any(f"{folder}/" in sql for sql in views):
            shutil.rmtree(folder, ignore_errors=True)
