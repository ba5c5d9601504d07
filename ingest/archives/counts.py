"""A table of counts (CSV): how many runs gave a value under each condition, as many publish it without the answers."""

import hashlib
import json
import time
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from ingest.archives import Archive
from ingest.land.families import IMPORT, freeze
from ingest.land.load import land, landed_ids
from ingest.land.raw import TABLES
from ingest.land.versions import Version, refuse_version
from ingest.paradigms.paradigm import load_paradigm, paradigm_names, paradigms_of
from ingest.studies.families import families_recorded
from ingest.texts.lines import walk
from ingest.warehouse import UserError, in_memory, printable, quoted

NEEDED = ("llm", "paradigm", "arm", "technique", "value", "n")
NUMBERS = {"value": float, "n": int, "n_clusters": int, "design_effect": float}
LANDED = (
    "llm_recorded", "paradigm", "measure", "vignette", "item", "technique", "arm", "value", "n", "n_clusters",
    "design_effect",
)  # fmt: skip
NOTHING = "nothing was landed"


def import_counts(folder: Path, version: Version, archive: Archive, select: str | None = None) -> tuple[str, int]:
    """Land the counts of a file or folder, all or none, and say what came of them.

    They are the rows that a SELECT makes of `source (filename, record)`, else those of CSV as they are.
    """
    refuse_version(version, "counts have no versions, and those that were imported last count:")
    started, folder = time.monotonic(), Path(folder).resolve()
    files = [path for path in walk(folder)[0] if archive.has_ending(path)]
    if not files:
        raise archive.unusable(folder, "no file", [])
    rows = _read(files, select)
    paradigms = _paradigms(rows, archive)
    study, now = archive.study or folder.name.partition(".")[0], datetime.now(UTC)
    rows = [_checked(row, paradigms) for row in rows]
    digest = hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:32]
    there = landed_ids(study, "counts", "archive", "version", "ordinal").to_pylist()
    newest = max((row for row in there if row["archive"] == archive.name), key=lambda row: row["ordinal"], default=None)
    is_new = newest is None or newest["version"] != digest
    if is_new:
        shared = {"study": study, "archive": archive.name, "counted_at": now, "version": digest, "ordinal": 1}
        made = [row | shared | {"count_id": _id(study, digest, now, number)} for number, row in enumerate(rows)]
        stamp = {"study": study, "stated_at": now, "ordinal": 1}
        stated = {
            "paradigms": [stamp | row for paradigm in paradigms.values() for row in paradigm.rows()],
            "paradigm_contrasts": [stamp | row for paradigm in paradigms.values() for row in paradigm.contrast_rows()],
        }
        tables = {"counts": made} | stated

        def conclude(warehouse):
            families = [family.record() for family in families_recorded(warehouse, study)]
            freeze(warehouse, study, [{"frozen_at": now, "before_first_call": False, "families": families}], IMPORT)

        land(conclude, **{name: [pa.Table.from_pylist(some, TABLES[name].schema)] for name, some in tables.items()})
    n_runs, llms = sum(row["n"] for row in rows), {row["llm_recorded"] for row in rows}
    became = "new" if is_new else "as they were"
    return (
        f"{printable(folder)}: {len(files):,} files\n  study {study}: {len(rows):,} counts of {n_runs:,} runs, "
        f"{len(llms)} LLMs, {len(paradigms)} paradigms, {became}; counts have no answers, and nothing of them is "
        f"audited; {time.monotonic() - started:.1f} s"
    ), 0


def _id(study, digest, now, number):
    return hashlib.sha256(f"{study}\n{digest}\n{now.isoformat()}\n{number}".encode()).hexdigest()[:32]


def _read(files, select):
    listed = f"[{', '.join(quoted(path) for path in files)}]"
    if select:
        reader = f"read_json_objects({listed}, format = 'unstructured', filename = true)"
        source = f"(select filename, json as record from {reader})"
    else:
        source = f"read_csv({listed}, all_varchar = true, header = true, filename = true, union_by_name = true)"
    with in_memory() as memory:
        try:
            memory.execute(f"create view source as from {source}")
            table = memory.sql(select or "from source").to_arrow_table()
        except duckdb.Error as error:
            why = printable(str(error).splitlines()[0])
            raise UserError(f"{printable(files[0].name)} cannot be read as counts: {why}; {NOTHING}") from None
    if lacking := [name for name in NEEDED if name not in table.column_names]:
        raise UserError(
            f"{printable(files[0].name)} lacks the column {lacking[0]}: counts have {', '.join(NEEDED)}; {NOTHING}"
        )
    return table.to_pylist()


def _paradigms(rows, archive):
    """Return the paradigms that counts name, which have to be known."""
    names = {name: name for name in paradigm_names()}
    names |= {load_paradigm(file, None).paradigm: file for file in paradigms_of(archive.name).values()}
    paradigms = {}
    for name in dict.fromkeys(row["paradigm"] for row in rows):
        if name not in names:
            raise UserError(f"{printable(str(name))} is no paradigm: counts are of {', '.join(names)}; {NOTHING}")
        paradigms[name] = load_paradigm(names[name], None)
    return paradigms


def _checked(row, paradigms):
    """Return a row as it lands, or say which value of it is none."""
    paradigm, file = paradigms[row["paradigm"]], Path(row["filename"]).name
    usual = {"measure": next(iter(paradigm.measures)), "vignette": paradigm.vignettes[0].vignette}
    row = usual | {name: value for name, value in row.items() if value is not None}
    known = {"arm": paradigm.arms, "measure": paradigm.measures}
    for name in (*NEEDED, *NUMBERS, *known):
        value, is_right = row.get(name), True
        try:
            row[name] = NUMBERS[name](value) if name in NUMBERS and value is not None else value
            is_right = value is not None or name not in NEEDED
        except ValueError:
            is_right = False
        if not is_right or (name == "n" and row["n"] < 0) or value not in known.get(name, (value,)):
            said = f"{name} is {printable(str(value or 'empty'))} in a count of {printable(row['paradigm'])}"
            raise UserError(f"{printable(file)}: {said}: mend it and import again; {NOTHING}")
    row["llm_recorded"] = row["llm"]
    return {name: row.get(name) for name in LANDED} | {"source_file": file}


ARCHIVE = Archive(
    name="counts",
    suffix=".csv",
    header=NEEDED,
    names_study=True,
    tables=("counts", "paradigms", "paradigm_contrasts"),
    expected=f"CSV with the columns {', '.join(NEEDED)}",
    take=import_counts,
)
