"""Exports of bais itself, imported back: the landed rows with their ids, and what the gate and people said of them.

The rest of an export is derived, and `bais build` derives it anew.
"""

import contextlib
import json
import time
from pathlib import Path

import pyarrow as pa

from ingest.archives import Archive
from ingest.archives.human_choices import ANSWERED
from ingest.gate.acts import replace_answers
from ingest.land.load import land, landed_ids
from ingest.land.raw import LANDED, LOAD_ID, OF_THE_GATE, ORDERED, TABLES, next_ordinal, number_rows, raw_transaction
from ingest.land.versions import Version, refuse_version
from ingest.people.sheets import UNFINISHED
from ingest.warehouse import UserError, in_memory, printable, quoted, sha256_of, warehouse_path

FORMAT, VERSION = "bais-export", 9
NEW_TABLES = {
    2: ("source_versions", "version_files", "version_entries"),
    3: ("attribution_scores", "target_scores"),
    4: ("paradigms", "paradigm_contrasts", "items"),
    5: ("measurements",),
    6: ("news", "news_fetches", "falsifications", "falsification_verdicts", "human_choices"),
    7: ("unread_lines",),
    8: ("families",),
    9: ("counts",),
}
# the other tables came with version 1
CAME_WITH = {name: version for version, names in NEW_TABLES.items() for name in names}
MANIFEST = "manifest.json"
SCORES = ("attribution_scores", "target_scores")
FILE_FORMATS = ("parquet", "csv", "jsonl")
# the records that versions of a source speak of: trials, and variations of scorings
RECORDS = {"trials": "trial_id", "attribution_scores": "concat_ws('/', scoring, variation)"}
OF_VERSIONS = ("source_versions", "version_files", "unread_lines", "version_entries")
OF_BATCHES = ("batches", "batch_verdicts", "batch_checks", "flagged_trials")
EMPTY = pa.table({"trial_id": pa.array([], pa.string()), "batch_id": pa.array([], pa.string())})
LONGEST_ROW = 128 << 20
SETTINGS = {"memory_limit": "2GB", "threads": 1}

FROZEN_TOGETHER = """
select study, source, before_first_call, frozen_at, list(family order by family) as frozen from {} group by all
"""
# What has no records in its batches here, since they are there in others, is dropped. A version that brought none stays
# if those that it speaks of are in their batches, and one that says nothing new if another of its source stays.
DROP_WHAT_HAS_NO_RECORDS = f"""
create table records as
{" union all ".join(f"select distinct {record} as trial_id, batch_id from {name}" for name, record in RECORDS.items())}
union all
select concat_ws('/', definition ->> '$.scoring', vignette), batch_id from batches
where source = 'scored' and json_exists(definition, '$.cells');

create table here as
select trial_id, batch_id from records anti join known using (trial_id)
union all
select trial_id, batch_id from records semi join known using (trial_id, batch_id);

create table brought as
select version_id, trial_id, batch_id from records inner join batches using (batch_id)
where version_id is not null;

create table kept as
select version_id from brought semi join here using (trial_id, batch_id)
union
select version_id from version_entries inner join here on coalesce(record_id, entry) = trial_id
where version_id not in (select version_id from brought);

insert into kept
select version_id from source_versions
semi join (from source_versions semi join kept using (version_id)) using (study, archive, source_name)
where version_id not in (select version_id from brought union all select version_id from version_entries);

{";".join(f"delete from {name} where version_id not in (from kept)" for name in OF_VERSIONS)};

create table batches_there as
select batch_id from known
union
select batch_id from here
union
select batch_id from batches semi join kept using (version_id)
union
-- what a study said of a vignette when it asked nothing
select batch_id from batches
where n_trials = 0 and version_id is null and source != 'scored'
    and study in (select study from batches semi join here using (batch_id));

{";".join(f"delete from {name} where batch_id not in (from batches_there)" for name in OF_BATCHES)};

delete from gate_acts
where object_id not in (from batches_there)
    and object_id not in (select trial_id from flagged_trials)
    and object not in ('counts', 'participant', 'answers')
    and not (act in ('withdraw', 'restore', 'leave_out', 'count') and object_id in (select trial_id from trials))
"""


DROP_FAMILIES = f"""
delete from families where (study, source, frozen_at) in (
    select (study, source, frozen_at) from ({FROZEN_TOGETHER.format("families")})
    semi join ({FROZEN_TOGETHER.format("known")}) using (study, source, before_first_call, frozen)
)
"""


def import_export(folder: Path, version: Version, archive: Archive) -> tuple[str, int]:
    """Land what an export holds and the warehouse does not, all or nothing, and say what came of it."""
    refuse_version(version, "an export says itself which versions it holds:")
    started = time.monotonic()
    folder = Path(folder).resolve()
    manifest = read_manifest(folder)
    _verify(folder, manifest)
    with _opened(folder, manifest) as memory:
        named = " union ".join(f"select study from {name}" for name in LANDED)
        studies = [study for (study,) in memory.execute(f"{named} order by study").fetchall()]
        n_whole = sum(_replace_half_answers(memory, study) for study in studies)
        counts = _keep_what_is_new(memory, studies)
        _drop_families_there(memory)
        n_gone_up, n_acts = _land_gate(memory)
        if any(n_new for n_new, _ in counts.values()):
            land(**{name: _batches_of(memory, name, n_gone_up) for name in LANDED})
    lines = [f"{printable(folder)}: an export of {_listed(manifest['studies'])}"]
    lines += [f"  {name:<18}{added:>10,} added {there:>10,} already there" for name, (added, there) in counts.items()]
    n_scores, n_scores_there = (sum(numbers) for numbers in zip(*(counts[name] for name in SCORES), strict=True))
    totals = [("trials", *counts["trials"])]
    totals += [("scores", n_scores, n_scores_there)] if n_scores + n_scores_there else []
    lines += [f"  {added:,} {what} added, {there:,} already there" for what, added, there in totals]
    lines[-1] += f"; {time.monotonic() - started:.1f} s"
    if n_whole:
        lines.append(f"  {n_whole:,} choices take the place of those of people who had stopped before the end")
    if n_acts:
        lines.append(
            f"  decisions of the export that are new here: {n_acts:,}; where this warehouse had decided otherwise on "
            "the same trials, batch or participant, the export's hold, even if they are older"
        )
    return "\n".join(lines), 0


def _listed(studies):
    named = [f"{study['study']}{' (SIMULATED)' if study['is_simulated'] else ''}" for study in studies]
    return printable(", ".join(named)) or "no study"


def read_manifest(folder: Path) -> dict:
    """Read what an export says of itself, or say why it is none of this version of bais."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT or manifest["file_format"] not in FILE_FORMATS:
            raise ValueError
        if manifest["format_version"] > VERSION:
            raise UserError(f"{printable(folder)} was written by a later version of bais: upgrade, then import it")
        for entry in [*manifest["tables"], *manifest["files"]]:
            Path(entry["file"]), entry["sha256"]
        columns = {table["table"]: [(c["name"], c["type"]) for c in table["columns"]] for table in manifest["tables"]}
        [(study["study"], study["is_simulated"]) for study in manifest["studies"]]
    except FileNotFoundError:
        raise UserError(
            f"{printable(folder)} has no {MANIFEST}: it is no export of bais, or one that was broken off"
        ) from None
    except OSError as error:
        raise UserError(f"{printable(path)} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{printable(path)} is not the manifest of an export: write the export again") from None
    needed = [f"raw.{name}" for name in TABLES if CAME_WITH.get(name, 1) <= manifest["format_version"]]
    missing = [name for name in needed if name not in columns]
    if missing:
        raise UserError(f"{printable(path)} lists no {missing[0]}, without which nothing can be imported")
    return manifest


def _verify(folder, manifest):
    for entry in [*manifest["tables"], *manifest["files"]]:
        path = folder / entry["file"]
        if not path.resolve().is_relative_to(folder):
            raise UserError(
                f"{printable(folder / MANIFEST)} names a file outside the export: {printable(entry['file'])}"
            )
        try:
            digest = sha256_of(path)
        except FileNotFoundError:
            raise UserError(
                f"{printable(path)} is missing: nothing was imported; copy or write the export again"
            ) from None
        except OSError as error:
            raise UserError(f"{printable(path)} cannot be read: {error.strerror}; nothing was imported") from None
        if digest != entry["sha256"]:
            raise UserError(
                f"{printable(path)} is not what was exported (its SHA-256 differs from the manifest's): "
                "nothing was imported; copy or write the export again"
            )


@contextlib.contextmanager
def _opened(folder, manifest):
    """Open an in-memory DuckDB with the raw tables of an export, typed."""
    import duckdb

    spill = str(warehouse_path().with_name(f"{warehouse_path().name}.import-spill"))
    with contextlib.closing(in_memory(**SETTINGS, temp_directory=spill)) as memory:
        of_name = {other["table"]: other for other in manifest["tables"]}
        for name, table in TABLES.items():
            entry = of_name.get(f"raw.{name}")
            if not entry:
                memory.from_arrow(table.schema.empty_table()).create(name)
                continue
            path = folder / entry["file"]
            try:
                memory.execute(f"create table {name} as {reading(path, manifest['file_format'], entry['columns'])}")
                ((n_rows,),) = memory.execute(f"select count(*) from {name}").fetchall()
            except duckdb.Error as error:
                message = printable(str(error).splitlines()[0])
                raise UserError(f"{printable(path)} cannot be read: {message}; nothing was imported") from None
            if n_rows != entry["rows"]:
                raise UserError(
                    f"{printable(path)} has {n_rows:,} rows, and the manifest says {entry['rows']:,}: nothing was "
                    "imported"
                )
            for column, declared in table.columns.items():
                if column != LOAD_ID:
                    memory.execute(f"alter table {name} add column if not exists {column} {declared['data_type']}")
        number_rows(memory, "main")
        yield memory


def reading(path: Path, form: str, columns: list[dict]) -> str:
    """Write the SQL that reads a file of an export with the types that its columns had, as the manifest has them."""
    if form == "parquet":
        return f"select * from read_parquet({quoted(path)})"
    longest = min(LONGEST_ROW, max(path.stat().st_size, 1 << 20))
    named = ", ".join(f"{quoted(column['name'])}: {quoted(_type_in_file(column['type'], form))}" for column in columns)
    if form == "jsonl":
        rows = (
            f"read_json({quoted(path)}, format = 'newline_delimited', columns = {{{named}}}, "
            f"maximum_object_size = {longest})"
        )
    else:
        rows = (
            f"read_csv({quoted(path)}, auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', "
            f"nullstr = '', allow_quoted_nulls = false, columns = {{{named}}}, parallel = false, "
            f"max_line_size = {longest}, buffer_size = {2 * longest})"
        )
    return f"select {', '.join(_typed(column, form) for column in columns)} from {rows}"


def _type_in_file(kind, form):
    if kind in ("BIGINT", "DOUBLE", "BOOLEAN"):
        return kind
    return kind if kind.endswith("[]") and form == "jsonl" else "VARCHAR"


def _typed(column, form):
    name, kind = f'"{column["name"]}"', column["type"]
    if kind.startswith("TIMESTAMP"):
        return f"{name}::timestamptz as {name}"
    if kind.endswith("[]"):
        return f"{name}::json::{kind} as {name}" if form == "csv" else name
    if kind in ("VARCHAR", "JSON") and form == "csv":
        return f"case when {name}[1] = '''' then {name}[2:] else {name} end as {name}"
    return name


def _replace_half_answers(memory, study):
    """Put whole answers of people in the place of what is here from before they went on, and return how many."""
    key = ", ".join(TABLES["human_choices"].key)
    memory.register("known", landed_ids(study, "human_choices", *TABLES["human_choices"].key, "excluded"))
    whole = memory.execute(
        f"from human_choices where excluded is distinct from $half "
        f"and ({key}) in (select ({key}) from known where excluded = $half)",
        {"half": UNFINISHED},
    ).to_arrow_table()
    memory.unregister("known")
    if whole.num_rows:
        replace_answers(whole, ANSWERED)
    return whole.num_rows


def _keep_what_is_new(memory, studies):
    """Drop what the warehouse has, and count by table what is new and what is there."""
    there = [
        landed_ids(study, name, record, "batch_id").rename_columns(EMPTY.column_names)
        for study in studies
        for name, record in RECORDS.items()
    ]
    memory.register("known", pa.concat_tables([*there, EMPTY]))
    memory.execute(DROP_WHAT_HAS_NO_RECORDS)
    memory.unregister("known")
    counts = {}
    for name, table in LANDED.items():
        key = [column for column in table.key if column != "study"]
        typed = ", ".join(f"{column}::{table.columns[column]['data_type']}" for column in key)
        n_there = 0
        for study in studies:
            memory.register("known", landed_ids(study, name, *key))
            ((n,),) = memory.execute(
                f"delete from {name} where study = ? and ({', '.join(key)}) in (select ({typed}) from known)",
                [study],
            ).fetchall()
            memory.unregister("known")
            n_there += n
        ((n_new,),) = memory.execute(f"select count(*) from {name}").fetchall()
        counts[name] = (n_new, n_there)
    return counts


def _drop_families_there(memory):
    """Drop the families that the warehouse has, whenever they were frozen: all that were written down together."""
    studies = [study for (study,) in memory.execute("select distinct study from families").fetchall()]
    names = ("study", "source", "before_first_call", "frozen_at", "family")
    for study in studies:
        memory.register("known", landed_ids(study, "families", *names))
        memory.execute(DROP_FAMILIES)
        memory.unregister("known")


def _batches_of(memory, name, n_gone_up):
    """Yield the rows of a table for dlt: numbered among themselves as if the gate's had not come before them."""
    numbered = f" replace (ordinal - {n_gone_up} as ordinal)" if name in ORDERED else ""
    for rows in memory.sql(f"select *{numbered} from {name}").to_arrow_reader(50_000):
        if rows.num_rows:
            yield pa.Table.from_batches([rows])


def _land_gate(memory):
    """Land verdicts, checks, flags, acts and families, all or none: before the trials, so that none is audited again.

    They come after what is there, in the order that they have in the export; return by how much the numbers went up,
    and how many acts were new.
    """
    path = warehouse_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with raw_transaction(path) as warehouse:
        first, acts = next_ordinal(warehouse), "select count(*) from raw.gate_acts"
        ((n_before,),) = warehouse.execute(acts).fetchall()
        for name, table in OF_THE_GATE.items():
            numbered = f" replace (ordinal + {first - 1} as ordinal)" if name in ORDERED else ""
            warehouse.register(f"made_{name}", memory.sql(f"select *{numbered} from {name}").to_arrow_table())
            warehouse.execute(
                f"insert into raw.{name} by name from made_{name} anti join raw.{name} using ({', '.join(table.key)})"
            )
        ((n_now,),) = warehouse.execute(acts).fetchall()
        return next_ordinal(warehouse) - first, n_now - n_before


ARCHIVE = Archive(
    name="bais_export",
    suffix=MANIFEST,
    mark=f"line ->> 'format' = '{FORMAT}'",
    tables=tuple(TABLES),
    expected="the folder that `bais export` wrote",
    is_folder=True,
    take=import_export,
)
