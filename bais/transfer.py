"""`bais import` and `bais export`: recorded trials into the warehouse, and its tables into files for others."""

import contextlib
import csv
import fcntl
import io
import json
import os
import re
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
    RAW_TABLES,
    VERSION,
    quoted,
    read_manifest,
    sha256_of,
)
from ingest.run import import_options, land_archive
from ingest.warehouse import ROOT, UserError, explain, printable, warehouse_path

ORDERED_BY = {"trial_id", "call_id"}
DOC_BLOCK = re.compile(r"{% docs (\w+) %}\s*(.*?)\s*{% enddocs %}", flags=re.DOTALL)
DOC_CALL = re.compile(r"""{{\s*doc\(\s*["'](\w+)["']\s*\)\s*}}""")

SOURCES = {
    "voder-bais": {
        "title": "bAIs: recorded trials of the study of debiasing techniques in LLMs (document A)",
        "author": "Voder AI",
        "year": 2026,
        "url": "https://github.com/voder-ai/bAIs",
        "licence": "MIT",
    }
}

RAW_COLUMNS = {
    "act": "`accept` or `reject` a batch, `release` a trial",
    "act_id": "Identifies an act",
    "acted_at": "When it was decided (UTC)",
    "anchor_baseline": "The baseline that the anchor was derived from",
    "anchor_n_trials": "How many trials that baseline stands on",
    "anchor_rule": "How the anchor follows from the baseline, as JSON",
    "archive": "The format that the trial was recorded in; null for collected trials",
    "attempt": "Counts the attempts at one turn, from 1",
    "attempt_of": "The trial that this one was asked in place of",
    "batch_checks.level": "`warn` or `fail`: what it means when the expectation is not met",
    "batch_verdicts.n_failed": "Expectations that fail the batch",
    "call_id": "Identifies a call: trial, turn and attempt",
    "check_name": "What was expected, as ingest/gate.yaml calls it",
    "checked_at": "When the batch was audited (UTC)",
    "cost_source": "Who said what the call cost",
    "cost_usd": "Price of the call, in US dollars",
    "definition": "The study file, as JSON; null for recorded archives",
    "detail": "What is wrong, in words",
    "error": "What kept the call from an answer, as a word",
    "error_detail": "The endpoint's own words for it",
    "finish_reason": "Why the answer ended, in the endpoint's word",
    "finished_at": "When the trial ended (UTC)",
    "first_text": "The answer of SACD before debiasing, whole",
    "flagged_at": "When it was flagged (UTC)",
    "flagged_trials.reason": "What is wrong with the trial, a word of seeds/flag_reasons.csv",
    "git_revision": "The commit of the collector",
    "http_status": "Status of the response",
    "is_passed": "Whether the expectation is met",
    "iterations": "Rounds of SACD",
    "latency_s": "Seconds until the answer was there",
    "line": "The recorded line, whole",
    "line_number": "The line, from 1; null where the file as a whole could not be read",
    "llm_recorded": "The LLM as the recording or the study names it",
    "llm_returned": "The model that the endpoint says has answered",
    "loaded_at": "When the batch was loaded (UTC)",
    "logprobs": "Log-probabilities, as JSON, where they were asked for",
    "measure": "The number that is held against the threshold",
    "n_messages": "Messages in the request",
    "n_offending": "Trials (or cells) that are not as expected",
    "n_warnings": "Expectations that are not met and only warn",
    "object": "`batch` or `trial`",
    "object_id": "The batch_id or trial_id",
    "observed_value": "What was found; null if the check itself failed",
    "order_index": "Place in the order in which trials were asked",
    "parameters": "Sampling parameters of the request, as JSON",
    "phase": "Part of the collection: baselines, anchored or top-ups",
    "prompt_hash": "Names a text of raw.prompts",
    "prompt_kind": "`message` or `template`",
    "protocol": "What asked: the recorded methodology, or bais and its version",
    "quarantine_id": "Identifies a line that could not be read",
    "quarantined_at": "When it was set apart (UTC)",
    "quarantined_lines.reason": "Why the line is no trial",
    "reason_recorded": "Why there is no answer, as the collector or the log says",
    "refusal": "The endpoint's own refusal field",
    "replicate": "Counts the trials of one condition",
    "request_id": "The endpoint's id of the request",
    "requested_model": "The model that was asked for",
    "returned_model": "The model that the endpoint says has answered",
    "round": "Round of SACD",
    "rule_version": "Version of the gate's rules",
    "sample": "Some of the offending trial_ids",
    "session_id": "One run of the collector",
    "severity": "`quarantined` (left out of the public tables) or `suspect`",
    "software_version": "Version of bais",
    "status_recorded": "What became of the trial, where it was recorded; null if the number tells",
    "step": "The technique's name for the turn",
    "system_fingerprint": "The endpoint's fingerprint of its system",
    "text": "The text, whole (of a very long line its beginning)",
    "threshold": "The most that is allowed",
    "tokens_in": "Tokens of the request",
    "tokens_out": "Tokens of the answer",
    "turn": "Counts the turns of a trial, from 1",
    "upstream_provider": "Who served the model, where a router says it",
    "valid_max": "The largest answer that is possible",
    "valid_min": "The smallest answer that is possible",
    "verdict": "`passed`, `passed_with_warnings` or `failed`",
    "verdict_id": "Identifies an audit of a batch; the last one counts",
    "who": "Who decided",
    "why": "The reason given",
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
    grains, descriptions, blocks = _documented()
    comments = dict(
        warehouse.execute(
            "select schema_name || '.' || table_name, comment from duckdb_tables() where comment is not null "
            "union all select schema_name || '.' || view_name, comment from duckdb_views() where comment is not null"
        ).fetchall()
    )
    tables = []
    for schema, name in [*public, *(("raw", name) for name in RAW_TABLES if (name,) in in_raw)]:
        found = warehouse.execute(
            "select column_name, data_type, comment from duckdb_columns() where database_name = current_database() "
            "and schema_name = ? and table_name = ? and column_name != '_dlt_load_id' order by column_index",
            [schema, name],
        ).fetchall()
        columns = []
        for column, kind, comment in found:
            said = comment or descriptions.get((name, column))
            if schema == "raw":
                said = said or RAW_COLUMNS.get(f"{name}.{column}") or RAW_COLUMNS.get(column)
            columns.append({"name": column, "type": kind, "description": one_line(said or blocks.get(column) or "")})
        grain = comments.get(f"{schema}.{name}") or grains.get(name) or ""
        tables.append({"table": f"{schema}.{name}", "grain": one_line(grain), "columns": columns})
    return tables


def _documented():
    """Read the descriptions of tables and columns beside the models, and the glossary that they quote."""
    import yaml

    blocks, grains, descriptions = {}, {}, {}
    for path in sorted((ROOT / "models").rglob("*.md")):
        blocks |= dict(DOC_BLOCK.findall(path.read_text(encoding="utf-8")))
    for path in sorted((ROOT / "models").rglob("*.yml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        sources = [table for source in content.get("sources", []) for table in source.get("tables", [])]
        for table in [*content.get("models", []), *sources]:
            grains[table["name"]] = _resolved(table.get("description"), blocks)
            for column in table.get("columns", []):
                descriptions[table["name"], column["name"]] = _resolved(column.get("description"), blocks)
    return grains, descriptions, blocks


def _resolved(text, blocks):
    return DOC_CALL.sub(lambda call: blocks.get(call[1], ""), text) if text else text


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
