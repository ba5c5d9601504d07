"""Read spool files with DuckDB, and the numbers in their answers by the one rule that the models use."""

import contextlib
import itertools
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from ingest.models import macros
from ingest.raw import TABLES
from ingest.study import Cell, Design
from ingest.warehouse import in_memory

if TYPE_CHECKING:
    import duckdb

# What a line of the spool calls otherwise than `raw` does, by the table that it goes to.
SPOOLED_AS = {
    "trials": {
        "llm_recorded": "llm", "status_recorded": "status", "reason_recorded": "reason",
        "response_recorded": "response", "response_text": "text", "prompt_hash": "prompt_version",
        "session_id": "session",
    },
    "calls": {"session_id": "session", "response_text": "text"},
    "prompts": {},
    "items": {},
}  # fmt: skip
RANGES = pa.schema(
    {
        "vignette": pa.string(), "response_unit": pa.string(), "valid_min": pa.float64(), "valid_max": pa.float64(),
        "labels": pa.list_(pa.string()), "reading": pa.string(),
    }
)  # fmt: skip
TEMPLATES = pa.schema(
    {
        "vignette": pa.string(), "technique": pa.string(), "is_anchored": pa.bool_(), "treatment": pa.string(),
        "prompt_version": pa.string(),
    }
)  # fmt: skip
IS_NUMBER = "coalesce(answer_kind, 'number') = 'number'"
OF_A_CELL = ", ".join(Cell._fields)


class Summary(NamedTuple):
    """The answers of a cell: how many, their mean and their SD (ddof 1; None below two)."""

    n: int
    mean: float | None
    sd: float | None


@contextlib.contextmanager
def spooled(paths: list[Path], table: str) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Open a relation `spooled` over the lines of spool files that go to a table of `raw`, with their own names."""
    columns = {"kind": "varchar", "session": "varchar"} | {
        SPOOLED_AS[table].get(name, name): column["data_type"] for name, column in TABLES[table].columns.items()
    }
    with contextlib.closing(in_memory(memory_limit="256MB", threads=1, preserve_insertion_order=False)) as connection:
        connection.read_json(
            list(map(str, paths)), columns=columns, format="newline_delimited", ignore_errors=True
        ).filter(f"kind = '{table.removesuffix('s')}'").create_view("spooled")
        yield connection


@contextlib.contextmanager
def read_trials(path: Path, design: Design) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Open a relation `answers` over the trials of a design: each with its `status` and its `response`."""
    answers = {name: of.answer.model_dump(include={"labels", "reading"}) for name, of in design.paradigms.items()}
    ranges = [vignette | answers.get(vignette.get("paradigm"), {}) for vignette in design.vignettes.values()]
    asked_with = [
        (vignette, technique, is_anchored, arm)
        for vignette, technique in itertools.product(design.vignettes, {*design.techniques, "no_technique"})
        for is_anchored, arm in design.treatments(vignette)
    ]
    if design.judges:
        ranges.append({"vignette": design.judges.paradigm} | design.judges.model_dump(include={"labels", "reading"}))
        asked_with += [(design.judges.paradigm, "no_technique", False, role) for role in design.judges.roles]
    templates = pa.Table.from_pylist(
        [
            dict(zip(TEMPLATES.names, (*key[:3], key[3] or "", prompt_hash), strict=True))
            for key in asked_with
            for prompt_hash in design.prompt_hashes(*key)
        ],
        TEMPLATES,
    )
    with spooled([path], "trials") as connection:
        connection.register("ranges", pa.Table.from_pylist(ranges, RANGES))
        connection.register("templates", templates)
        status = macros()["trial_status"](
            "status", "found.status", "coalesce(response, found.response)", "valid_min", "valid_max"
        )
        named = macros()["read_label"]("text", "labels", "reading", "options") if design.paradigms else "null"
        status = f"""case
            when {IS_NUMBER} then {status}
            when answer_kind = 'text' then coalesce(status, if(trim(text) != '', 'answered', 'unparsed'))
            else coalesce(status, named ->> 'status')
        end"""
        connection.execute(f"""
            create view answers as
            with readings as (
                select
                    *,
                    {macros()["read_response"]("text", "response_unit")} as found,
                    to_json({named}) as named
                from (
                    select
                        * replace ({macros()["answer_in"]("text", "answer_after")} as text),
                        coalesce(arm, role, '') as treatment,
                        anchor_value is not null as is_anchored,
                        from_json(option_order, '["varchar"]') as options
                    from spooled
                )
                semi join templates using ({", ".join(TEMPLATES.names)})
                left join ranges using (vignette)
            )
            select * replace (
                {status} as status,
                case when status is null and {IS_NUMBER} then coalesce(response, found.response) end as response
            )
            from readings
        """)
        yield connection


def cell_summaries(path: Path, design: Design, n_first: int) -> dict[Cell, Summary]:
    """Summarise the answers in a spool file by cell, among its first replicates."""
    with read_trials(path, design) as connection:
        rows = connection.execute(
            f"""
            select
                {OF_A_CELL},
                count(*) filter (status = 'answered'),
                avg(response) filter (status = 'answered'),
                stddev_samp(response) filter (status = 'answered')
            from answers
            where replicate < ? and attempt_of is null
            group by all
            """,
            [n_first],
        ).fetchall()
    n_columns = len(Cell._fields)
    return {Cell(*row[:n_columns]): Summary(*row[n_columns:]) for row in rows}


def distinct_answers(path: Path, design: Design) -> Iterator[tuple[str, str | None, str]]:
    """Yield the distinct texts that answer each item: the first trial, by its id, that gave one, the item, the text."""
    with read_trials(path, design) as connection:
        found = connection.execute(
            """
            select min(trial_id) as trial_id, item, text
            from answers
            where answer_kind = 'text' and status = 'answered' and role is null
            group by item, text
            order by item, trial_id
            """
        )
        while rows := found.fetchmany(1_000):
            yield from rows


def ended_trials(path: Path, design: Design, statuses: Collection[str]) -> list[tuple[Cell, int, str]]:
    """List the trials, as planned, that ended in certain statuses and were not asked again: cell, replicate, id."""
    with read_trials(path, design) as connection:
        rows = connection.execute(
            f"""
            select {OF_A_CELL}, replicate, trial_id
            from answers
            anti join (select attempt_of as trial_id from spooled) using (trial_id)
            where list_contains($statuses, status) and attempt_of is null
            order by phase = 'top-ups', phase = 'anchored', order_index, trial_id
            """,
            {"statuses": list(statuses)},
        ).fetchall()
    n_columns = len(Cell._fields)
    return [(Cell(*row[:n_columns]), *row[n_columns:]) for row in rows]


def count_unparsed(path: Path, design: Design) -> tuple[int, int]:
    """Count the trials of a design that cannot be read as an answer, and all, less those that were asked again."""
    with read_trials(path, design) as connection:
        (counts,) = connection.execute(
            """
            select count(*) filter (status = 'unparsed'), count(*) from answers
            anti join (select attempt_of as trial_id from spooled) using (trial_id)
            """
        ).fetchall()
    return counts


def last_call(path: Path, trial_id: str) -> dict[str, str | None]:
    """Return the error of the last call of a trial that failed, and what was said with it."""
    with spooled([path], "calls") as connection:
        found = connection.execute(
            "select error, error_detail from spooled where trial_id = ? order by turn desc, attempt desc limit 1",
            [trial_id],
        ).fetchall()
    error, detail = found[0] if found else ("no call on record", None)
    return {"error": error, "error_detail": detail}
