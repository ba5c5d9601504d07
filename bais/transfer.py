"""`bais import` and `bais export`: recorded trials into the warehouse, and its tables into files for others."""

import contextlib
import csv
import hashlib
import io
import json
import os
import shutil
import tempfile
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
from ingest.lock import alone
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
@click.argument("archive", required=False, metavar="[PATH]", type=PATH)
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
@click.argument("folder", metavar="DIR", type=PATH)
@click.option(
    "--format", "form", type=click.Choice(("parquet", "csv", "jsonl")), default="parquet", help="default: parquet"
)
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
    lock = Path(tempfile.gettempdir(), f"bais-export-{hashlib.sha256(os.fsencode(target)).hexdigest()[:16]}.lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with alone(lock, lambda who: f"another process is exporting to {printable(target)}: wait until it is done"):
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
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
    texts = {
        "data_dictionary.csv": dictionary_csv(tables),
        "data_dictionary.md": dictionary_md(tables),
        "studies.csv": _csv([["study", "source", "is_simulated", "n_trials", "licence", "cite"]], studies),
        "README.md": readme(form, studies, tables, written, only),
        "CITATION.cff": citation(studies),
    }
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


def dictionary_csv(tables):
    """Write the data dictionary, one row per column."""
    head = ["table", "grain", "column", "type", "description"]
    rows = [
        dict(zip(head, (table["table"], table["grain"], of["name"], of["type"], of["description"]), strict=True))
        for table in tables
        for of in table["columns"]
    ]
    return _csv([head], rows)


def _csv(head, rows):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(head)
    writer.writerows(
        ["true" if of[name] is True else "false" if of[name] is False else of[name] for name in head[0]] for of in rows
    )
    return text.getvalue()


def dictionary_md(tables):
    """Write the data dictionary for people."""
    parts = ["# Data dictionary\n"]
    for table in tables:
        parts.append(f"## {table['table']}\n\n{table['grain']}\n\n| column | type | description |\n| --- | --- | --- |")
        parts += [f"| {of['name']} | {of['type'].lower()} | {_cell(of['description'])} |" for of in table["columns"]]
        parts.append("")
    return "\n".join(parts)


def _cell(text):
    return text.replace("|", "\\|")


HOW = {
    "parquet": "Parquet with zstd; times are UTC, JSON is text.",
    "csv": """CSV (RFC 4180, UTF-8, a header, lines end in LF). An empty cell is a null, an empty text is `""`. Times
are ISO 8601 in UTC, numbers have all their digits, lists and objects are JSON.

**Text that a spreadsheet would take for a formula** (it begins with `=`, `+`, `-`, `@`, their full-width forms, a tab
or a line break, or with an apostrophe already) has an apostrophe put before it: answers of LLMs are untrusted text.
Take one leading apostrophe off a text to have it back as it was; the import does. Numbers are never touched.""",
    "jsonl": """JSON lines (UTF-8), one object a row with every column, nulls too. Times are ISO 8601 in UTC, numbers
have all their digits, recorded JSON is text as it was recorded. JSON has no infinity and no NaN: such a number is
null.""",
}


def readme(form, studies, tables, written, only):
    """Write what an export is, for whoever finds it."""
    simulated = [of["study"] for of in studies if of["is_simulated"]]
    warning = ""
    if simulated:
        names = ", ".join(f"`{_cell(printable(name))}`" for name in simulated)
        warning = (
            f"\n> **SIMULATED DATA**: in the study {names} no LLM was asked. Rows with that `study` say nothing "
            "about any LLM. Leave them out of every statement on LLMs.\n"
        )
    of_studies = "\n".join(
        f"| {_cell(printable(of['study']))} | {'**SIMULATED**' if of['is_simulated'] else _cell(of['source'])} "
        f"| {of['n_trials']:,} | {_cell(of['licence'])} | {_cell(of['cite'])} |"
        for of in studies
    )
    grains = {table["table"]: table["grain"] for table in tables}
    of_tables = "\n".join(f"| `{of['file']}` | {of['rows']:,} | {_cell(grains[of['table']])} |" for of in written)
    limited = f" Only the study `{printable(only)}`." if only is not None else ""
    return f"""# An export of bais {version("bais")}
{warning}
Trials on anchoring and other cognitive biases in LLMs, and what was derived from them.{limited} `marts` are the public
tables, `inference` holds intervals and tests, `raw` is what was landed and what the gate and people decided, from which
everything else is derived. `data_dictionary.csv` and `.md` define every column; `manifest.json` has rows and SHA-256 of
every file. Names of those who accepted or rejected a batch are in `raw/gate_acts.{form}`.

## Studies

Trials of different studies are never pooled; `studies.csv` is this table.

| study | source | trials | licence | cite |
| --- | --- | --- | --- | --- |
{of_studies}

bais itself is MIT; `CITATION.cff` says how to cite it and its sources.

## How to read the files

{HOW[form]}

## Import it again

`bais import DIR --format bais-export`, then `bais build`: the same version of bais derives the same tables, but for the
last digits of sums. Nothing is imported from a folder in which a file is missing or was changed.

## Tables

| file | rows | grain |
| --- | --- | --- |
{of_tables}
"""


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
