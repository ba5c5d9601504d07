"""Families of decisions of a study that is collected: frozen in its spool, and what a plan says of them."""

import contextlib
import json
from datetime import UTC, datetime
from pathlib import Path

from ingest.ask.spool import State, read_state, spool_files
from ingest.land.families import PLACE, STUDY, TABLE, freeze
from ingest.land.load import landed_ids
from ingest.land.models import query_of
from ingest.land.raw import ORDERED, TABLES
from ingest.studies.families import differences, families_declared
from ingest.warehouse import in_memory, patiently


def stated_families(study, path: Path, state: State) -> dict:
    """Return what a session states, before its first call, of the families of a study whose spool it has opened."""
    return {
        "families": [family.record() for family in families_declared(study)],
        "before_first_call": not has_begun(study.study, {path: state}),
    }


def families_in(session: dict) -> dict | None:
    """Return what a session states of families, as `ingest.land.families.freeze` takes it; None of an older bais."""
    if "families" not in session:
        return None
    of_session = {name: session[name] for name in ("families", "before_first_call")}
    return of_session | {"frozen_at": datetime.fromisoformat(session["started_at"])}


def has_begun(study: str, known: dict[Path, State]) -> bool:
    """Tell whether there is any trial or call of a study, in its spools, of which some are read, or the warehouse."""
    if any(state.closed or state.n_calls for state in known.values()):
        return True
    others = (read_state(path) for path in spool_files(study) if path not in known)
    if any(state.closed or state.n_calls for state in others):
        return True
    return any(n for n in patiently(lambda: landed_ids(study, "batches", "n_trials"))["n_trials"].to_pylist())


def families_planned(study, path: Path, state: State) -> list[dict]:
    """Return what `int_families` would say of the families of a study if it were collected now.

    Each has its `content`, and where another one was frozen before it `differs` says what is different.
    """
    now = stated_families(study, path, state)
    sessions = [session for file in spool_files(study.study) for session in read_state(file).sessions]
    stated_at = datetime.now(UTC)
    statements = [*filter(None, map(families_in, sessions)), now | {"frozen_at": stated_at}]
    with contextlib.closing(in_memory()) as memory:
        memory.execute("create schema raw")
        memory.register("landed", _landed(study.study))
        memory.execute("create table raw.families as from landed")
        for table in ORDERED:
            if table != TABLE:
                memory.execute(f"create table raw.{table} (ordinal bigint)")
        freeze(memory, study.study, statements, STUDY)
        said = memory.sql(query_of("int_families")).to_arrow_table().to_pylist()
    of_place = {tuple(row[name] for name in PLACE): row for row in said}
    planned = [of_place[tuple(record[name] for name in PLACE)] for record in now["families"]]
    for row in planned:
        row["content"], first = json.loads(row["content"]), json.loads(row.pop("first_content"))
        row["differs"] = differences(first, row["content"])
        row["is_new"] = row["frozen_at"] == stated_at
    return planned


def _landed(study):
    """Return what the warehouse has of `raw.families` for a study."""
    names = TABLES[TABLE].schema.names
    rows = patiently(lambda: landed_ids(study, TABLE, *names))
    return rows.cast(TABLES[TABLE].schema) if rows.num_rows else TABLES[TABLE].schema.empty_table()
