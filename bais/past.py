"""What a warehouse knew when a version of a source had been imported and audited, as another warehouse."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from bais.built import attach
from bais.exported import unfinished_beside
from bais.sources import find_version, known_versions
from bais.warehouse import opened, records, tables_in, values
from ingest.land.load import DUCKDB_SETTINGS
from ingest.land.raw import TABLES, prepare_raw
from ingest.warehouse import UserError, connect, printable, quoted, warehouse_path

# An audit follows its import: what was decided or flagged later was not known then.
MOMENT = """
with first_verdicts as (
    select min(ordinal) as ordinal from now_known.raw.batch_verdicts
    semi join (from now_known.raw.batches where version_id = $version_id) using (batch_id)
    group by batch_id
)

select greatest($ordinal, (select max(ordinal) from first_verdicts)) as moment
"""

# In this order: a condition may ask what of other tables is there.
KNOWN_THEN = {
    "source_versions": "ordinal <= $ordinal",
    "version_files": "version_id in (select version_id from raw.source_versions)",
    "unread_lines": "version_id in (select version_id from raw.source_versions)",
    "version_entries": "version_id in (select version_id from raw.source_versions)",
    "batches": "ordinal <= $ordinal",
    "trials": "batch_id in (select batch_id from raw.batches)",
    "attribution_scores": "batch_id in (select batch_id from raw.batches)",
    "target_scores": "scoring in (select definition ->> '$.scoring' from raw.batches where source = 'scored')",
    "measurements": "trial_id in (select trial_id from raw.trials)",
    "calls": "trial_id in (select trial_id from raw.trials)",
    "prompts": "study in (select study from raw.batches)",
    "paradigms": "study in (select study from raw.batches union all select study from raw.counts)",
    "paradigm_contrasts": "study in (select study from raw.batches union all select study from raw.counts)",
    "items": "study in (select study from raw.batches)",
    "counts": "ordinal <= $ordinal",
    "quarantined_lines": "ordinal <= $ordinal",
    "news": "ordinal <= $ordinal",
    "news_fetches": "ordinal <= $ordinal",
    "falsifications": "ordinal <= $ordinal",
    "falsification_verdicts": "ordinal <= $ordinal",
    "human_choices": "true",  # of when people chose nothing is kept, and no version of trials hangs on it
    "batch_verdicts": "batch_id in (select batch_id from raw.batches) and ordinal <= $moment",
    "batch_checks": "verdict_id in (select verdict_id from raw.batch_verdicts)",
    "flagged_trials": "verdict_id in (select verdict_id from raw.batch_verdicts) and ordinal <= $moment",
    "gate_acts": "ordinal <= $moment",
    "families": "study in (select study from raw.batches) and ordinal <= $moment",
}

HELD = """
select (select count(*) from raw.trials) as n_trials, (select count(*) from raw.batches) as n_batches,
    (select count(*) from raw.attribution_scores) + (select count(*) from raw.target_scores) as n_scores,
    (select count(*) from raw.source_versions) as n_versions, (select count(*) from raw.gate_acts) as n_acts
"""


def version_asked(name: str) -> dict:
    """Return the version that is meant."""
    with opened() as warehouse:
        return find_version(known_versions(warehouse), name)


def refuse_to_replace(target: Path, is_forced: bool) -> None:
    """Let through a file that is not there and, if forced, one that is a warehouse but not the one that is read."""
    if target.resolve() == warehouse_path().resolve():
        raise UserError(f"{printable(target)} is the warehouse itself, which stays as it is: name another file")
    if target.is_dir():
        raise UserError(f"{printable(target)} is a folder: name a file")
    if not target.exists():
        return
    if not is_forced:
        raise UserError(f"{printable(target)} is there already: name another file, or replace it with --force")
    with contextlib.closing(connect(target)) as other:
        if not tables_in(other, "raw"):
            raise UserError(f"{printable(target)} is no warehouse of bais, so that --force does not replace it")


@contextlib.contextmanager
def warehouse_as_of(version: dict, target: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Lend a warehouse beside the target with what was known then, and a function that puts it in its place.

    It has the name of the target: views name the database that they are in.
    """
    with unfinished_beside(target, "is building") as folder:
        path = folder / target.name
        copy_known(version, path)
        yield path, lambda: path.replace(target)


def copy_known(version: dict, path: Path) -> None:
    """Copy what was known at a version's import and the audit that followed into a new warehouse."""
    prepare_raw(path)
    with contextlib.closing(connect(path, read_only=False)) as warehouse:
        for name, value in DUCKDB_SETTINGS.items():
            warehouse.execute(f"set {name} = {quoted(str(value))}")
        attach(warehouse, warehouse_path(), "now_known (read_only)")
        moment = {"version_id": version["version_id"], "ordinal": version["ordinal"]}
        moment |= records(warehouse, MOMENT, moment)[0]
        for name, condition in KNOWN_THEN.items():
            _copy(warehouse, name, condition, moment)
            if "stated_at" in TABLES[name].key:
                warehouse.execute(f"delete from raw.{name} where ordinal > ?", [moment["ordinal"]])


def _copy(warehouse, name, condition, moment):
    """Copy the rows of a table; of one that an older version of bais made, the columns that it has."""
    there = values(
        warehouse,
        "select column_name from duckdb_columns() "
        "where (database_name, schema_name, table_name) = ('now_known', 'raw', $name)",
        {"name": name},
    )
    if columns := ", ".join(column for column in TABLES[name].columns if column in there):
        query = f"select {columns} from now_known.raw.{name} where {condition}"
        values(warehouse, f"insert into raw.{name} by name {query}", moment)


def held(path: Path) -> dict:
    """Count what a warehouse holds."""
    with contextlib.closing(connect(path)) as warehouse:
        return records(warehouse, HELD)[0]
