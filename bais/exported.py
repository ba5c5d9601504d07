"""What an export consists of: tables, dictionary, README, citation and manifest, and how it gets into its place."""

import contextlib
import json
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from analysis.writing.documents import written
from bais.terminal import one_line
from bais.texts import csv_of, writing
from bais.warehouse import IS_A_STUDY, columns_of, public_tables, records, refuse_unknown, tables_in
from ingest.archives.bais_export import CAME_WITH, FORMAT, MANIFEST, read_manifest
from ingest.bring.download import COMMIT
from ingest.land.lock import alone
from ingest.land.memory import memory_limit, needs_more
from ingest.land.raw import LOAD_ID, TABLES
from ingest.texts.csv_text import FORMULA
from ingest.warehouse import UserError, printable, quoted, sha256_of, why_not_written

TEMPLATES = Path(__file__).with_name("templates")
MOST_MEMORY = 1_500_000_000  # bytes; to put rows in order needs little more than to read them
ORDERED_BY = {"trial_id", "call_id"}
SETTINGS = {
    "parquet": "format parquet, compression zstd", "csv": "format csv, header true, nullstr ''", "jsonl": "format json",
}  # fmt: skip

SOURCES = {
    "voder-bais": {
        "type": "data",
        "title": "bAIs: recorded trials of the study of debiasing techniques in LLMs (document A)",
        "authors": [{"name": "Voder AI"}],
        "year": 2026,
        "url": "https://github.com/voder-ai/bAIs",
        "commit": COMMIT,
        "license": "MIT",
        "notes": "The study voder-bais.",
    },
    "anchoring-llms": {
        "type": "data",
        "title": "Anchoring-LLMs: log-probabilities of answers under anchors (document D)",
        "authors": [{"name": "Felipe Valencia-Clavijo"}],
        "year": 2025,
        "url": "https://github.com/felipevalencla/Anchoring-LLMs",
        "commit": "c52b81d32181739abb757b31e19ef18a07e87504",
        "license": "CC-BY-4.0",
        "notes": "The study anchoring-llms.",
    },
}

ONLY_ASKED = {"notes": "The source of the questions: nothing that it recorded is in this export."}

# What a table of `raw` holds of each study, by where it comes from.
LANDED_FROM = {
    "trials": "select study, source, count(*) as n_trials, 0 as n_scores from raw.trials group by all",
    "attribution_scores": "select study, 'recorded scores', 0, count(*) from raw.attribution_scores group by all",
    "target_scores": "select study, 'computed scores', 0, count(*) from raw.target_scores group by all",
    "human_choices": "select distinct study, 'choices of people', 0, 0 from raw.human_choices",
}
RECORDED = ("recorded", "recorded scores")
WHO_KNOWS = {
    "collected": "whoever collected them",
    "computed scores": "whoever computed them",
    "choices of people": "whoever asked them",
}


def refuse_other_files(target: Path, is_forced: bool) -> None:
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
    ours = [target / MANIFEST, *(target / entry["file"] for entry in [*manifest["tables"], *manifest["files"]])]
    others = sorted({path for path in target.rglob("*") if not path.is_dir()} - set(ours))
    if others:
        raise UserError(
            f"{printable(others[0])} is no part of the export that --force would replace: move it away, and try again"
        )
    return ours


def unfinished_folder(target: Path) -> Path:
    """Return where something is written before it is put in its place."""
    return target.with_name(f"{target.name}.unfinished") / "export"


@contextlib.contextmanager
def unfinished_beside(target: Path, who_does_so: str = "is exporting to") -> Iterator[Path]:
    """Lend an empty folder beside the target to one process; it is gone afterwards, unless it was put in place."""
    folder = unfinished_folder(target)
    unfinished = folder.parent
    with writing(target):
        unfinished.mkdir(parents=True, exist_ok=True)
        with alone(unfinished / "lock", lambda who: f"{who} {who_does_so} {printable(target)}: wait until it is done"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            try:
                yield folder
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)


def put_in_place(folder: Path, target: Path) -> None:
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


def studies_of(warehouse, only: str | None) -> list[dict]:
    """Say of each study where its trials and its scores come from, and under which licence."""
    there = tables_in(warehouse, "raw")
    landed = " union all ".join(query for table, query in LANDED_FROM.items() if table in there)
    studies = records(
        warehouse,
        f"""
        select study, list(distinct source order by source) as sources, bool_or(source = 'simulated') as is_simulated,
            sum(n_trials)::bigint as n_trials, sum(n_scores)::bigint as n_scores
        from ({landed}) group by study order by study
        """,
    )
    refuse_unknown("study", only, [study["study"] for study in studies], " in this warehouse")
    return [_sourced(study) for study in studies if only in (None, study["study"])]


def _sourced(study):
    """Say where what a study holds comes from, and under which licence; what bais computed is not its source's."""
    sources = study.pop("sources")
    study["source"] = " and ".join(sources)
    if study["is_simulated"]:
        cite = "SIMULATED: no LLM was asked; generated by bais, not evidence on any LLM"
        return study | {"licence": "MIT", "cite": cite}
    licences, cites = zip(*(_licence_and_cite(study["study"], source) for source in sources), strict=True)
    return study | {"licence": _of_each(sources, licences), "cite": _of_each(sources, cites)}


def _licence_and_cite(study, source):
    """Say under which licence what comes from one source is, and how to cite it."""
    unknown = f"not known to bais: {WHO_KNOWS.get(source, 'the source of the recording')} says"
    if not (publication := SOURCES.get(study)):
        return unknown, unknown
    (author,) = publication["authors"]
    cite = (
        f"{author['name']} ({publication['year']}). {publication['title']}. {publication['url']}, "
        f"commit {publication['commit']}"
    )
    return (publication["license"], cite) if source in RECORDED else (unknown, f"the questions are of {cite}")


def _of_each(sources, texts):
    """Join what is said of each source, and of which one if there are several."""
    if len(sources) == 1:
        return texts[0]
    return "; ".join(f"{source}: {text}" for source, text in zip(sources, texts, strict=True))


def write_export(warehouse, folder, form, studies, only=None):
    """Write an export into an empty folder, its manifest last; what does not fit into memory waits beside it."""
    warehouse.execute(f"set memory_limit = {quoted(memory_limit(MOST_MEMORY))}")
    warehouse.execute(f"set temp_directory = {quoted(folder.with_name('spill'))}")
    tables = _tables(warehouse)
    exported = [write_table(warehouse, folder, form, table, only) for table in tables]
    dictionary = [
        {"table": table["table"], "grain": table["grain"], "column": column["name"]} | column
        for table in tables
        for column in table["columns"]
    ]
    texts = {
        "data_dictionary.csv": csv_of(["table", "grain", "column", "type", "description"], dictionary),
        "data_dictionary.md": written("data_dictionary", {"cell": _cell}, TEMPLATES, tables=tables),
        "studies.csv": csv_of(["study", "source", "is_simulated", "n_trials", "n_scores", "licence", "cite"], studies),
        "README.md": written(
            "README", {"cell": _cell}, TEMPLATES, version=version("bais"), form=form, only=only, studies=studies,
            written=exported, simulated=[study["study"] for study in studies if study["is_simulated"]],
            grains={table["table"]: table["grain"] for table in tables},
        ),
        "CITATION.cff": citation(studies),
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    manifest = {
        "format": FORMAT,
        "format_version": max(CAME_WITH.get(table["table"].removeprefix("raw."), 1) for table in exported),
        "bais": version("bais"),
        "file_format": form,
        "study": only,
        "studies": studies,
        "tables": exported,
        "files": [{"file": name, "sha256": sha256_of(folder / name)} for name in texts],
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return manifest


def _tables(warehouse):
    """List what is exported: name, grain and columns, each with type and description."""
    in_raw = tables_in(warehouse, "raw")
    raw = [("raw", name, declaration.description) for name, declaration in TABLES.items() if name in in_raw]
    return [
        {
            "table": f"{schema}.{name}",
            "grain": one_line(grain or ""),
            "columns": [
                column | {"description": one_line(column["description"] or "")}
                for column in columns_of(warehouse, schema, name)
                if column["name"] != LOAD_ID
            ],
        }
        for schema, name, grain in [*public_tables(warehouse), *raw]
    ]


def write_table(warehouse, folder, form, table, only):
    """Write one table in the order of its key."""
    import duckdb

    schema, name = table["table"].split(".")
    path = folder / schema / f"{name}.{form}"
    path.parent.mkdir(exist_ok=True)
    columns = table["columns"]
    selected = ", ".join(f'{_in_file(column, form)} as "{column["name"]}"' for column in columns)
    order = f'"{columns[0]["name"]}"' if columns[0]["name"] in ORDERED_BY and name != "flagged_trials" else "all"
    is_study = IS_A_STUDY if any(column["name"] == "study" for column in columns) else "true"
    which = f"{is_study} and {'true' if only is None else _of_study(table, only)}"
    query = f'select {selected} from "{schema}"."{name}" where {which} order by {order}'
    try:
        ((n_rows,),) = warehouse.execute(f"copy ({query}) to {quoted(path)} ({SETTINGS[form]})").fetchall()
    except duckdb.OutOfMemoryException:
        raise needs_more("an export", memory_limit(MOST_MEMORY)) from None
    except duckdb.IOException as error:
        raise UserError(f"the export cannot be written: {why_not_written(error, path)}") from None
    return {
        "table": table["table"],
        "file": f"{schema}/{path.name}",
        "rows": n_rows,
        "bytes": path.stat().st_size,
        "sha256": sha256_of(path),
        "columns": [{"name": column["name"], "type": column["type"]} for column in columns],
    }


def _in_file(column, form):
    """Write the expression for a column as a format holds it; see `readme`."""
    name, kind = f'"{column["name"]}"', column["type"]
    if kind.startswith("TIMESTAMP"):
        return name if form == "parquet" else f"strftime({name}, '%Y-%m-%dT%H:%M:%S.%fZ')"
    if kind in ("VARCHAR", "JSON"):
        text = f"{name}::varchar"
        escaped = f"case when regexp_matches({text}, {quoted(FORMULA)}) then '''' || {text} else {text} end"
        return escaped if form == "csv" else text
    if kind.endswith("[]") and form == "csv":
        return f"to_json({name})::varchar"
    if kind == "DOUBLE" and form == "jsonl":
        return f"case when isfinite({name}) then {name} end"
    return name


def _of_study(table, study):
    """Write the condition that keeps one study's rows."""
    of_study = f"study = {quoted(study)}"
    if any(column["name"] == "study" for column in table["columns"]):
        return of_study
    batches = f"select batch_id from raw.batches where {of_study}"
    return {
        "marts.claim_checks": f"claim_id in (select claim_id from seeds.published_claims where {of_study})",
        "raw.batch_checks": f"batch_id in ({batches})",
        "raw.gate_acts": f"object_id in ({batches} union all select trial_id from raw.trials where {of_study})",
    }.get(table["table"], "true")


def _cell(text):
    return printable(text).replace("|", "\\|")


def citation(studies):
    """Write a CITATION.cff of the project and of the recorded data in an export."""
    import yaml

    references = [
        SOURCES[study["study"]] | ({} if {*RECORDED} & {*study["source"].split(" and ")} else ONLY_ASKED)
        for study in studies
        if study["study"] in SOURCES
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
