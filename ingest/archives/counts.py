"""A table of counts (CSV): how many runs gave a value under each condition, as many publish it without the answers."""

import contextlib
import hashlib
import json
import math
import re
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from ingest.archives import Archive
from ingest.land.families import IMPORT, freeze
from ingest.land.load import land, landed_ids
from ingest.land.models import query_of
from ingest.land.raw import TABLES
from ingest.land.seeds import place_of, seed_rows, unknown_names
from ingest.land.versions import Version, refuse_version
from ingest.paradigms.paradigm import load_paradigm, paradigm_names, paradigms_of
from ingest.studies.families import families_recorded
from ingest.texts.csv_text import header_of, read_csv
from ingest.texts.lines import walk
from ingest.warehouse import UserError, connect, in_memory, perhaps, printable, quoted

NEEDED = ("llm", "paradigm", "arm", "technique", "value", "n")
MOST_RUNS = 1 << 53  # a double holds each whole number up to it
NUMBERS = {
    "value": "a number", "n": f"a whole number from 0 to {MOST_RUNS:,}, in digits alone",
    "n_clusters": "a whole number from 1, in digits alone", "design_effect": "a number from 1",
}  # fmt: skip
LEAST = {"n_clusters": 1, "design_effect": 1}
CONDITION = ("llm", "paradigm", "measure", "vignette", "item", "technique", "arm")
COLUMNS = (*NEEDED, "measure", "vignette", "item", "n_clusters", "design_effect")
LANDED = (
    "llm_recorded", "paradigm", "measure", "vignette", "item", "technique", "arm", "value", "n", "n_clusters",
    "design_effect",
)  # fmt: skip
NOTHING = "nothing was landed"
WITHDRAWN = (
    "\n  counts of {study} were withdrawn, so that no public table holds these either: "
    "`bais restore --counts {study} --why TEXT` brings them back"
)


def import_counts(folder: Path, version: Version, archive: Archive, select: str | None = None) -> tuple[str, int]:
    """Land the counts of a file or folder, all or none, and say what came of them.

    They are the rows that a SELECT makes of `source (filename, record)`, else those of CSV as they are.
    """
    refuse_version(version, "counts have no versions, and those that were imported last count:")
    started, folder = time.monotonic(), Path(folder).resolve()
    files = [path for path in walk(folder)[0] if archive.has_ending(path)]
    if not files:
        raise archive.unusable(folder, "no file", [])
    rows, ignored = _read(files, select)
    paradigms = _paradigms(rows, archive)
    study, now = archive.study or folder.name.partition(".")[0], datetime.now(UTC)
    rows = [_checked(row, paradigms) for row in rows]
    _refuse_conditions(rows)
    techniques = Counter(printable(row["technique"]) for row in rows)
    for row in seed_rows("techniques"):
        del techniques[row["technique"]]
    rows = [{name: row.get(name) for name in (*LANDED, "source_file")} for row in rows]
    digest = hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:32]
    _refuse_beside_answers(study, paradigms)
    there = landed_ids(study, "counts", "archive", "version", "ordinal", "n").to_pylist()
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
    outcome = _outcome(is_new, newest, there, study)
    unknown = f"\n{unknown_names('techniques', techniques, 'counts', place_of('techniques'))}" if techniques else ""
    if ignored:
        unknown += f"\n  columns that are none of counts, and are not read: {printable(', '.join(ignored))}"
    withdrawn = WITHDRAWN.format(study=printable(study)) if _are_withdrawn(study) else ""
    return (
        f"{printable(folder)}: {len(files):,} files\n  study {study}: {len(rows):,} counts of {n_runs:,} runs, "
        f"{len(llms)} LLMs, {len(paradigms)} paradigms, {outcome}; counts have no answers, and nothing of them is "
        f"audited; {time.monotonic() - started:.1f} s{unknown}{withdrawn}"
    ), 0


def _refuse_beside_answers(study, paradigms):
    """Refuse counts of a paradigm to which the study has answers: nothing would say which of the two counts."""
    if both := set(landed_ids(study, "trials", "paradigm").column("paradigm").unique().to_pylist()) & set(paradigms):
        raise UserError(
            f"study {printable(study)} already has answers to {', '.join(sorted(both))}, and counts of the same study "
            f"would count them twice: give another --study; {NOTHING}"
        )


def _outcome(is_new, newest, there, study):
    """Say whether counts are new, and what of this study they take the place of."""
    if not is_new:
        return "as they were"
    before = [row["n"] for row in there if newest and row["ordinal"] == newest["ordinal"]]
    place = f", in the place of {len(before):,} counts of {sum(before):,} runs of study {printable(study)}"
    return f"new{place if before else ''}"


def _are_withdrawn(study):
    with contextlib.closing(connect()) as warehouse:
        withdrawn = f"select count(*) from ({query_of('stg_withdrawn_counts')}) where study = $study"
        return warehouse.execute(withdrawn, {"study": study}).fetchone() != (0,)


def _id(study, digest, now, number):
    return hashlib.sha256(f"{study}\n{digest}\n{now.isoformat()}\n{number}".encode()).hexdigest()[:32]


def _read(files, select):
    """Return the rows of counts, each with its file and place, and the columns that are none of counts."""
    rows, ignored = (_selected(files, select), []) if select else _tabled(files)
    if not rows:
        raise UserError(
            f"{printable(files[0].name)} holds no count: `bais withdraw --counts STUDY` takes those of a study out; "
            f"{NOTHING}"
        )
    return rows, ignored


def _selected(files, select):
    listed = f"[{', '.join(quoted(path) for path in files)}]"
    reader = f"read_json_objects({listed}, format = 'unstructured', filename = true)"
    with in_memory() as memory:
        try:
            memory.execute(f"create view source as (select filename, json as record from {reader})")
            rows = memory.sql(select).to_arrow_table().to_pylist()
        except duckdb.Error as error:
            why = printable(str(error).splitlines()[0])
            raise UserError(f"{printable(files[0].name)} cannot be read as counts: {why}; {NOTHING}") from None
    n_rows = Counter()
    for row in rows:
        row["source_file"] = Path(row["filename"]).name
        n_rows[row["filename"]] += 1
        row["place"] = f"{row['source_file']}, row {n_rows[row['filename']]:,}"
    return rows


def _tabled(files):
    rows, ignored = [], {}
    for path in files:
        name = printable(path.name)
        try:
            there, _ = header_of(path, name)
            ignored |= dict.fromkeys(_unknown(there, name))
            columns = [column for column in COLUMNS if column in there]
            for row in read_csv(path, name, may_be_empty=True):
                place = f"{path.name}:{row.line}"
                cells = {column: _cell(row[column], column, place) for column in columns}
                rows.append(cells | {"source_file": path.name, "place": place})
        except ValueError as error:
            raise UserError(f"{error}; {NOTHING}") from None
    return rows, list(ignored)


def _unknown(there, name):
    """Return the columns that are none of counts; one that is nearly such a column is refused, as is one that lacks."""
    unknown = [column for column in there if column not in COLUMNS]
    for column in unknown:
        if near := perhaps(column.strip(), COLUMNS, 0.8):
            raise ValueError(f"{name}:1: {printable(column)} is no column of counts{near}: mend its name")
    if lacking := [column for column in NEEDED if column not in there]:
        raise ValueError(f"{name} lacks the column {lacking[0]}: counts have {', '.join(NEEDED)}")
    return unknown


def _cell(text, column, place):
    """Return what a cell says without the blanks around it, None where it is empty."""
    text = (text or "").strip() or None
    if text and not text.isprintable() and re.search(r"[\x00-\x1f\x7f]", text):
        raise ValueError(f"{printable(place)}: {column} is {printable(text)}, which holds a control character: mend it")
    return text


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
    """Return a row with its values as numbers and its place, or say which of them cannot be."""
    paradigm = paradigms[row["paradigm"]]
    vignettes = {vignette.vignette: vignette for vignette in paradigm.vignettes}
    usual = {"measure": next(iter(paradigm.measures)), "vignette": next(iter(vignettes))}
    row = usual | {name: value for name, value in row.items() if value is not None and value != ""}
    for name, known in {"arm": paradigm.arms, "measure": paradigm.measures, "vignette": vignettes}.items():
        if row.get(name) not in known:
            raise _wrong(row, name, f"one of {', '.join(known)}")
    for name in NEEDED:
        if row.get(name) is None:
            raise _wrong(row, name, NUMBERS.get(name, "there"))
    given = row | {name: _number(name, row[name]) for name in NUMBERS if name in row}
    for name, should in NUMBERS.items():
        if name in row and given[name] is None:
            raise _wrong(row, name, should)
    of = vignettes[row["vignette"]]
    if paradigm.answer.kind in ("choice", "label"):
        if given["value"] not in (0, 1):
            raise _wrong(row, "value", "0 or 1, since the measure is a share")
    elif not (of.valid_min is None or of.valid_min <= given["value"]):
        raise _wrong(row, "value", f"{of.valid_min:g} or more")
    elif not (of.valid_max is None or given["value"] <= of.valid_max):
        raise _wrong(row, "value", f"{of.valid_max:g} or less")
    return given | {"llm_recorded": row["llm"]}


def _number(name, given):
    """Return the number that a cell holds, None where it holds none that the column may have."""
    text = str(given).strip()
    if name in ("n", "n_clusters"):
        number = int(text) if re.fullmatch("[0-9]{1,16}", text) else math.inf
        return number if LEAST.get(name, 0) <= number <= MOST_RUNS else None
    try:
        number = math.nan if "_" in text else float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= LEAST.get(name, -math.inf) else None


def _refuse_conditions(rows):
    """Refuse a condition that has a value twice, no run, or clusters that cannot be."""
    llms = {row["alias"]: row["llm"] for row in seed_rows("llm_aliases")}
    conditions = {}
    for row in rows:
        key = tuple(llms.get(row[name], row[name]) if name == "llm" else row.get(name) for name in CONDITION)
        conditions.setdefault(key, []).append(row)
    for of_condition in conditions.values():
        first, places, n_runs = of_condition[0], {}, sum(row["n"] for row in of_condition)
        for row in of_condition:
            if row["value"] in places:
                raise _wrong(row, "value", f"in its condition once, and is in {printable(places[row['value']])} too")
            places[row["value"]] = row["place"]
            for name in ("n_clusters", "design_effect"):
                if row.get(name) != first.get(name):
                    raise _wrong(row, name, f"the same in the whole condition, as in {printable(first['place'])}")
        if not n_runs:
            raise _wrong(first, "n", "above 0 in one row of the condition")
        for name in LEAST:
            if first.get(name, 0) > n_runs:
                raise _wrong(first, name, f"at most the {n_runs:,} runs of the condition")


def _wrong(row, name, should):
    said = f"{name} is {printable(str(row.get(name, 'empty')))} in a count of {printable(row['paradigm'])}"
    return UserError(f"{printable(row['place'])}: {said}, and should be {should}: mend it and import again; {NOTHING}")


ARCHIVE = Archive(
    name="counts",
    suffix=".csv",
    header=NEEDED,
    names_study=True,
    tables=("counts", "paradigms", "paradigm_contrasts"),
    expected=f"CSV with the columns {', '.join(NEEDED)}",
    take=import_counts,
)
