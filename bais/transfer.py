"""`bais import` and `bais export`: recorded trials into the warehouse, and its tables into files for others."""

import contextlib
import csv
import fcntl
import io
import json
import os
import shutil
import time
from importlib.metadata import version
from pathlib import Path

import click

from bais.options import PATH, only_study
from bais.terminal import one_line, say
from bais.warehouse import marts, public_tables, records, unknown
from ingest.archives.bais_export import (
    FORMAT,
    FORMULA,
    MANIFEST,
    VERSION,
    quoted,
    read_manifest,
    sha256_of,
)
from ingest.raw import LOAD_ID, TABLES, glossary, resolved
from ingest.run import import_options, land_archive
from ingest.warehouse import ROOT, UserError, explain, printable, warehouse_path

ORDERED_BY = {"trial_id", "call_id"}

SOURCES = {
    "voder-bais": {
        "title": "bAIs: recorded trials of the study of debiasing techniques in LLMs (document A)",
        "author": "Voder AI",
        "year": 2026,
        "url": "https://github.com/voder-ai/bAIs",
        "licence": "MIT",
    }
}


@click.command("import")
@click.argument("archive", required=False, metavar="[PATH]", type=PATH, help="a file of recorded trials, or a folder")
@import_options
def import_(
    archive: Path | None, form: str | None, mapping: Path | None, of_study: str | None, download: Path | None
) -> int:
    """Land recorded trials in `raw`, as `python ingest/run.py` does."""
    if not archive and not download:
        raise UserError("there is nothing to import: name a file or a folder of recorded trials, or give --download")
    if archive and download:
        raise UserError("give a path or --download, not both")
    return land_archive(archive, form, mapping, of_study, download)


@click.command()
@click.argument("folder", metavar="DIR", type=PATH, help="the folder to write; it is made")
@click.option("--format", "form", type=click.Choice(("parquet", "csv", "jsonl")), default="parquet")
@only_study
@click.option("--force", is_flag=True, help="replace an earlier export in DIR")
def export(folder: Path, form: str, study: str | None, force: bool) -> None:
    """Write the public tables, and the raw ones that they are derived from, into a folder."""
    started = time.monotonic()
    target = folder.resolve()
    _refuse_other_files(target, force)
    with marts() as warehouse:
        studies = _studies(warehouse, study)
        with _unfinished(target) as unfinished:
            manifest = write_export(warehouse, unfinished, form, studies, study)
            _put_in_place(unfinished, target)
    n_bytes = sum(of["bytes"] for of in manifest["tables"])
    n_rows = sum(of["rows"] for of in manifest["tables"])
    say(
        f"{target}: {len(manifest['tables'])} tables, {n_rows:,} rows, {n_bytes / 1e6:.1f} MB as {form}; "
        f"{time.monotonic() - started:.1f} s"
    )
    for of in studies:
        marked = ", SIMULATED respondents, no LLM was asked" if of["is_simulated"] else ""
        say(f"  study {of['study']}: {of['n_trials']:,} trials ({of['source']}{marked})")


def _refuse_other_files(target, is_forced):
    """Let through a folder that is not there or is empty, and, if forced, one that holds nothing but an export."""
    try:
        if not target.exists() or (target.is_dir() and not any(target.iterdir())):
            return
    except OSError as error:
        raise UserError(f"{printable(target)} cannot be read: {error.strerror}") from None
    if not target.is_dir():
        raise UserError(f"{printable(target)} is a file: name a folder")
    if not is_forced:
        raise UserError(f"{printable(target)} is not empty: choose another folder, or replace an export with --force")
    _written_files(target)


def _written_files(target):
    """Return the files of an earlier export, its manifest first."""
    try:
        manifest = read_manifest(target)
    except UserError:
        raise UserError(f"{printable(target)} is not an export of bais, so that --force does not replace it") from None
    ours = [target / MANIFEST, *(target / of["file"] for of in [*manifest["tables"], *manifest["files"]])]
    others = sorted({path for path in target.rglob("*") if not path.is_dir()} - set(ours))
    if others:
        raise UserError(
            f"{printable(others[0])} is no part of the export that --force would replace: move it away, and try again"
        )
    return ours


@contextlib.contextmanager
def _unfinished(target):
    """Lend an empty folder beside the target to one process; it is gone afterwards, unless it was put in place."""
    folder = target.with_name(f"{target.name}.unfinished")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(f"another process is exporting to {printable(target)}: wait until it is done") from None
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UserError(f"{printable(target)} cannot be written: {error.strerror}") from None


def _put_in_place(folder, target):
    """Rename; a folder that is there already gets its manifest last, so that what is not whole never looks so."""
    if not target.exists():
        folder.rename(target)
        return
    if any(target.iterdir()):
        for path in _written_files(target):
            path.unlink(missing_ok=True)
        for path in [path for path in target.iterdir() if path.is_dir()]:
            shutil.rmtree(path)
    for path in sorted(folder.iterdir(), key=lambda path: path.name == MANIFEST):
        path.rename(target / path.name)


def _studies(warehouse, only):
    found = records(
        warehouse,
        """
        select
            study, string_agg(distinct source, ' and ' order by source) as source,
            bool_or(source = 'simulated') as is_simulated, count(*) as n_trials
        from raw.trials group by study order by study
        """,
    )
    names = [of["study"] for of in found]
    if only is not None and only not in names:
        raise unknown("study", only, names, " in this warehouse")
    return [_sourced(of) for of in found if only in (None, of["study"])]


def _sourced(of):
    """Say where the trials of a study come from, and under which licence."""
    known = SOURCES.get(of["study"])
    if of["is_simulated"]:
        return {
            **of,
            "licence": "MIT",
            "cite": "SIMULATED: no LLM was asked; generated by bais, not evidence on any LLM",
        }
    if known:
        return {
            **of,
            "licence": known["licence"],
            "cite": f"{known['author']} ({known['year']}). {known['title']}. {known['url']}, commit {_commit()}",
        }
    said = "whoever collected them says" if "collected" in of["source"] else "the source of the recording says"
    return {**of, "licence": f"not known to bais: {said}", "cite": f"not known to bais: {said}"}


def _commit():
    from ingest.download import COMMIT

    return COMMIT


def write_export(warehouse, folder, form, studies, only=None):
    """Write an export into an empty folder, its manifest last."""
    tables = _tables(warehouse)
    written = [write_table(warehouse, folder, form, table, only) for table in tables]
    dictionary = [
        {"table": table["table"], "grain": table["grain"], "column": of["name"]} | of
        for table in tables
        for of in table["columns"]
    ]
    texts = {
        "data_dictionary.csv": _csv(["table", "grain", "column", "type", "description"], dictionary),
        "data_dictionary.md": _written("data_dictionary.md", tables=tables),
        "studies.csv": _csv(["study", "source", "is_simulated", "n_trials", "licence", "cite"], studies),
        "README.md": _written(
            "README.md", version=version("bais"), form=form, only=only, studies=studies, written=written,
            simulated=[of["study"] for of in studies if of["is_simulated"]],
            grains={table["table"]: table["grain"] for table in tables},
        ),
        "CITATION.cff": citation(studies),
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    manifest = {
        "format": FORMAT,
        "format_version": VERSION,
        "bais": version("bais"),
        "file_format": form,
        "study": only,
        "studies": studies,
        "tables": written,
        "files": [{"file": name, "sha256": sha256_of(folder / name)} for name in texts],
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return manifest


def _tables(warehouse):
    """List what is exported: name, grain and columns, each with type and description."""
    public = [(schema, name) for schema, name, _ in public_tables(warehouse)]
    in_raw = warehouse.execute("select table_name from duckdb_tables() where schema_name = 'raw'").fetchall()
    grains, descriptions, definitions = _documented()
    comments = dict(
        warehouse.execute(
            "select schema_name || '.' || table_name, comment from duckdb_tables() where comment is not null "
            "union all select schema_name || '.' || view_name, comment from duckdb_views() where comment is not null"
        ).fetchall()
    )
    tables = []
    for schema, name in [*public, *(("raw", name) for name in TABLES if (name,) in in_raw)]:
        found = warehouse.execute(
            "select column_name, data_type, comment from duckdb_columns() where database_name = current_database() "
            "and schema_name = ? and table_name = ? and column_name != ? order by column_index",
            [schema, name, LOAD_ID],
        ).fetchall()
        of_raw = TABLES[name] if schema == "raw" else None
        columns = []
        for column, kind, comment in found:
            if of_raw and column in of_raw.columns:
                comment = of_raw.columns[column]["description"]
            said = comment or descriptions.get((name, column)) or definitions.get(column) or ""
            columns.append({"name": column, "type": kind, "description": one_line(said)})
        grain = of_raw.description if of_raw else comments.get(f"{schema}.{name}") or grains.get(name) or ""
        tables.append({"table": f"{schema}.{name}", "grain": one_line(grain), "columns": columns})
    return tables


def _documented():
    """Read the descriptions of tables and columns beside the models, and the glossary that they quote."""
    import yaml

    definitions, grains, descriptions = glossary(), {}, {}
    for path in sorted((ROOT / "models").rglob("*.yml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        for table in content.get("models", []):
            grains[table["name"]] = resolved(table.get("description", ""), definitions)
            for column in table.get("columns", []):
                descriptions[table["name"], column["name"]] = resolved(column.get("description", ""), definitions)
    return grains, descriptions, definitions


def write_table(warehouse, folder, form, table, only):
    """Write one table in the order of its key."""
    import duckdb

    schema, name = table["table"].split(".")
    path = folder / schema / f"{name}.{form}"
    path.parent.mkdir(exist_ok=True)
    columns = table["columns"]
    selected = ", ".join(f'{_in_file(of, form)} as "{of["name"]}"' for of in columns)
    order = f'"{columns[0]["name"]}"' if columns[0]["name"] in ORDERED_BY and name != "flagged_trials" else "all"
    of_study = f" where {_of_study(table, only)}" if only is not None else ""
    settings = {
        "parquet": "format parquet, compression zstd",
        "csv": "format csv, header true, nullstr ''",
        "jsonl": "format json",
    }[form]
    query = f'select {selected} from "{schema}"."{name}"{of_study} order by {order}'
    try:
        ((n_rows,),) = warehouse.execute(f"copy ({query}) to {quoted(path)} ({settings})").fetchall()
    except duckdb.IOException as error:
        raise UserError(f"the export cannot be written: {printable(str(error).splitlines()[0])}") from None
    except duckdb.Error as error:
        raise UserError(explain(error, warehouse_path())) from None
    return {
        "table": table["table"],
        "file": f"{schema}/{path.name}",
        "rows": n_rows,
        "bytes": path.stat().st_size,
        "sha256": sha256_of(path),
        "columns": [{"name": of["name"], "type": of["type"]} for of in columns],
    }


def _in_file(column, form):
    """Write the expression for a column as a format holds it; see `readme`."""
    name, kind = f'"{column["name"]}"', column["type"]
    if kind.startswith("TIMESTAMP"):
        return name if form == "parquet" else f"strftime({name}, '%Y-%m-%dT%H:%M:%S.%fZ')"
    if kind in ("VARCHAR", "JSON"):
        text = f"{name}::varchar"
        return (
            f"case when regexp_matches({text}, '{FORMULA}') then '''' || {text} else {text} end"
            if form == "csv"
            else text
        )
    if kind.endswith("[]") and form == "csv":
        return f"to_json({name})::varchar"
    if kind == "DOUBLE" and form == "jsonl":
        return f"case when isfinite({name}) then {name} end"
    return name


def _of_study(table, study):
    """Write the condition that keeps one study's rows."""
    if any(of["name"] == "study" for of in table["columns"]):
        return f"study = {quoted(study)}"
    batches = f"select batch_id from raw.batches where study = {quoted(study)}"
    return {
        "marts.claim_checks": "claim_id in (select claim_id from seeds.published_claims "
        f"where study = {quoted(study)})",
        "raw.batch_checks": f"batch_id in ({batches})",
        "raw.gate_acts": f"object_id in ({batches} union all select trial_id from raw.trials "
        f"where study = {quoted(study)})",
    }.get(table["table"], "true")


def _written(name: str, **given) -> str:
    """Write a text of an export from its template."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = lambda text: printable(text).replace("|", "\\|")
    return environment.get_template(name).render(given)


def _csv(head: list[str], rows: list[dict]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, head, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: str(row[name]).lower() if isinstance(row[name], bool) else row[name] for name in head})
    return text.getvalue()


def citation(studies):
    """Write a CITATION.cff of the project and of the recorded data in an export."""
    import yaml

    references = [
        {
            "type": "data",
            "title": of["title"],
            "authors": [{"name": of["author"]}],
            "year": of["year"],
            "url": of["url"],
            "commit": _commit(),
            "license": of["licence"],
            "notes": f"The study {study}.",
        }
        for study, of in SOURCES.items()
        if study in [found["study"] for found in studies]
    ]
    content = {
        "cff-version": "1.2.0",
        "message": "Cite bais, and the source of the recorded data that you use.",
        "title": "bais",
        "abstract": "A warehouse for experiments on anchoring and other cognitive biases in LLMs.",
        "type": "software",
        "version": version("bais"),
        "license": "MIT",
        "authors": [{"name": "the bais authors"}],
    }
    if references:
        content["references"] = references
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)
