"""Read spool files with DuckDB, and the numbers in their answers by the one rule that the models use."""

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from ingest.models import macros
from ingest.study import Cell, Design

if TYPE_CHECKING:
    import duckdb

TRIAL_FIELDS = {
    "trial_id": "varchar", "session": "varchar", "study": "varchar", "source": "varchar", "llm": "varchar",
    "vignette": "varchar", "technique": "varchar", "anchor_direction": "varchar", "anchor_value": "double",
    "temperature": "double", "replicate": "bigint", "phase": "varchar", "order_index": "bigint",
    "attempt_of": "varchar", "prompt_version": "varchar", "anchor_rule": "json", "anchor_baseline": "double",
    "anchor_n_trials": "bigint", "status": "varchar", "reason": "varchar", "text": "varchar", "first_text": "varchar",
    "iterations": "bigint", "n_calls": "bigint", "llm_returned": "varchar", "asked_at": "timestamptz",
    "finished_at": "timestamptz", "response": "double",
}  # fmt: skip


class Summary(NamedTuple):
    """The answers of a cell: how many, their mean and their SD (ddof 1; None below two)."""

    n: int
    mean: float | None
    sd: float | None


@contextlib.contextmanager
def spooled(paths: list[Path], fields: dict[str, str], kind: str) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Open a relation `spooled` over the lines of one kind in spool files; `fields` gives the type of each."""
    import duckdb

    settings = {"memory_limit": "256MB", "threads": 1, "preserve_insertion_order": False}
    with contextlib.closing(duckdb.connect(config=settings)) as connection:
        connection.execute("set TimeZone = 'UTC'; set autoinstall_known_extensions = false")
        columns = ", ".join(f"'{name}': '{type_}'" for name, type_ in {"kind": "varchar", **fields}.items())
        files = ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)
        connection.execute(
            f"create view spooled as select * exclude (kind) from read_json([{files}], format = 'newline_delimited', "
            f"columns = {{{columns}}}, ignore_errors = true) where kind = '{kind}'"
        )
        yield connection


@contextlib.contextmanager
def read_trials(path: Path, design: Design) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Open a relation `answers` over the trials of a design: each with its `status` and its `response`."""
    ranges = pa.table(
        {
            "vignette": pa.array(list(design.vignettes), pa.string()),
            "response_unit": pa.array([v["response_unit"] for v in design.vignettes.values()], pa.string()),
            "valid_min": pa.array([v.get("valid_min") for v in design.vignettes.values()], pa.float64()),
            "valid_max": pa.array([v.get("valid_max") for v in design.vignettes.values()], pa.float64()),
        }
    )
    versions = {
        design.version(vignette, technique)[0]
        for vignette in design.vignettes
        for technique in [*design.techniques, "no_technique"]
    }
    versions = pa.table({"prompt_version": pa.array(sorted(versions), pa.string())})
    with spooled([path], TRIAL_FIELDS, "trial") as connection:
        connection.register("ranges", ranges)
        connection.register("versions", versions)
        status = macros()["trial_status"](
            "status", "found.status", "coalesce(response, found.response)", "valid_min", "valid_max"
        )
        connection.execute(f"""
            create view answers as
            with readings as (
                select *, {macros()["read_response"]("text", "response_unit")} as found
                from spooled
                semi join versions using (prompt_version)
                left join ranges using (vignette)
            )
            select * replace (
                {status} as status, case when status is null then coalesce(response, found.response) end as response
            )
            from readings
        """)
        yield connection


def cell_summaries(path: Path, design: Design, n_first: int) -> dict[Cell, Summary]:
    """Summarise the answers in a spool file by cell, among its first replicates."""
    with read_trials(path, design) as connection:
        rows = connection.execute(
            """
            select
                llm, vignette, technique, anchor_direction, anchor_value, temperature,
                count(*) filter (status = 'answered'),
                avg(response) filter (status = 'answered'),
                stddev_samp(response) filter (status = 'answered')
            from answers
            where replicate < ? and attempt_of is null
            group by all
            """,
            [n_first],
        ).fetchall()
    return {Cell(*row[:6]): Summary(*row[6:]) for row in rows}


def ended_trials(path: Path, design: Design, statuses: Collection[str]) -> list[tuple[Cell, int, str]]:
    """List the trials, as planned, that ended in certain statuses and were not asked again: cell, replicate, id."""
    with read_trials(path, design) as connection:
        rows = connection.execute(
            """
            select llm, vignette, technique, anchor_direction, anchor_value, temperature, replicate, trial_id
            from answers
            anti join (select attempt_of as trial_id from spooled) using (trial_id)
            where list_contains($statuses, status) and attempt_of is null
            order by phase = 'top-ups', phase = 'anchored', order_index, trial_id
            """,
            {"statuses": list(statuses)},
        ).fetchall()
    return [(Cell(*row[:6]), *row[6:]) for row in rows]
