"""Read spool files with DuckDB, and the numbers in their answers by the one rule that the models use."""

import contextlib
import itertools
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from ingest.land.fates import rereadings
from ingest.land.models import macros, query_of
from ingest.land.raw import TABLES
from ingest.paradigms.paradigm import NO_TECHNIQUE
from ingest.studies.design import Cell, Design
from ingest.warehouse import connect, patiently, quoted, same, scratch, warehouse_path

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
        "vignette": pa.string(), "asked_as": pa.string(), "response_unit": pa.string(), "valid_min": pa.float64(),
        "valid_max": pa.float64(), "labels": pa.list_(pa.string()), "reading": pa.string(),
    }
)  # fmt: skip
TEMPLATES = pa.schema(
    {
        "vignette": pa.string(), "technique": pa.string(), "is_anchored": pa.bool_(), "treatment": pa.string(),
        "prompt_version": pa.string(),
    }
)  # fmt: skip
NO_ACTS = (
    pa.schema({"trial_id": pa.string()}).empty_table(),
    pa.schema({"trial_id": pa.string(), "number_reread": pa.float64()}).empty_table(),
)
IS_NUMBER = "coalesce(answer_kind, 'number') = 'number'"
OF_PARADIGM = "paradigm is not distinct from asked_as"  # of the paradigm that the vignette is of now
OF_A_CELL = ", ".join(Cell._fields)
NOTHING_READ = pa.schema({"hash_read": pa.string(), "unit_read": pa.string()}).empty_table()
READ: list[pa.Table] = []  # what this process found in texts, by their hash and unit, as long as it is not much
MOST_READ = 100_000
IS_READING = "text_hash is not distinct from hash_read and response_unit is not distinct from unit_read"


class Summary(NamedTuple):
    """The answers of a cell: how many, their mean and their SD (ddof 1; None below two)."""

    n: int
    mean: float | None
    sd: float | None


class Offence(NamedTuple):
    """What is wrong with `n` of the `n_of_cell` answers of a place (an LLM and vignette) without a technique."""

    place: tuple
    check_name: str
    n: int
    n_of_cell: int
    trial_ids: list[str]
    text: str | None
    usual_number: float | None


@contextlib.contextmanager
def spooled(paths: list[Path], table: str) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Open a relation `spooled` over the lines of spool files that go to a table of `raw`, with their own names."""
    columns = {"kind": "varchar", "session": "varchar"} | {
        SPOOLED_AS[table].get(name, name): column["data_type"] for name, column in TABLES[table].columns.items()
    }
    with scratch() as connection:
        connection.execute(
            f"""
            create temp view spooled as
            from read_json(
                [{", ".join(map(quoted, paths))}], columns = {columns},
                format = 'newline_delimited', ignore_errors = true
            )
            where kind = '{table.removesuffix("s")}'
            """
        )
        yield connection


@contextlib.contextmanager
def read_trials(path: Path, design: Design) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Open a relation `answers` over the trials of a design: each with its `status` and its `response`."""
    judges, vignettes = design.judges, [*design.vignettes.values()]
    answers = {name: paradigm.answer for name, paradigm in design.paradigms.items()}
    if judges:
        answers[judges.paradigm] = judges
        vignettes.append({"vignette": judges.paradigm, "paradigm": judges.paradigm})
    readings = {name: answer.model_dump(include={"labels", "reading"}) for name, answer in answers.items()}
    ranges = [
        vignette | readings.get(vignette.get("paradigm"), {}) | {"asked_as": vignette.get("paradigm")}
        for vignette in vignettes
    ]
    asked_with = [
        (vignette["vignette"], technique, *treatment)
        for vignette, technique in itertools.product(vignettes, {*design.techniques, NO_TECHNIQUE})
        for treatment in design.treatments(vignette["vignette"])
    ]
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
        _take_acts(connection)
        connection.execute(f"""
            create temp table trials as
            select *, md5(text) as text_hash
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
        """)
        _read(connection)
        _scale(connection)
        told = macros()["number_in_cell"](
            "found.if_decimal", "found.if_grouped", "usual_number", "valid_min", "valid_max"
        )
        number = f"coalesce(number_reread, response, found.response, {told})"
        status = macros()["trial_status"](
            "case when number_reread is null then status end", "found.status", number, "valid_min", "valid_max"
        )
        named = macros()["read_label"]("text", "labels", "reading", "options") if design.paradigms else "null"
        status = f"""case
            when withdrawn.trial_id is not null then 'withdrawn'
            when {IS_NUMBER} then {status}
            when answer_kind = 'text' then coalesce(status, if(trim(text) != '', 'answered', 'unparsed'))
            else coalesce(status, named ->> 'status')
        end"""
        connection.execute(f"""
            create temp view answers as
            with labelled as (
                select *, to_json({named}) as named
                from trials left join readings on {IS_READING}
            )
            select labelled.* replace (
                {status} as status,
                case when (status is null or number_reread is not null) and {IS_NUMBER} then {number} end as response
            )
            from labelled
            left join reread on labelled.trial_id = reread.trial_id
            left join withdrawn on labelled.trial_id = withdrawn.trial_id
            left join cells on {same("labelled", "cells", ("llm", "vignette", "item"))}
        """)
        yield connection


def _take_acts(connection):
    """Copy from the warehouse which trials people have withdrawn, and which number they have reread in others."""
    withdrawn, reread = NO_ACTS
    if warehouse_path().exists():
        with contextlib.closing(patiently(connect)) as warehouse:
            there = "select 1 from duckdb_tables() where (schema_name, table_name) = ('raw', 'gate_acts')"
            if warehouse.execute(there).fetchall():
                withdrawn = warehouse.sql(f"select trial_id from ({query_of('stg_withdrawn_trials')})").to_arrow_table()
                of_reread = f"select trial_id, response as number_reread from ({rereadings(warehouse)})"
                reread = warehouse.sql(of_reread).to_arrow_table()
    connection.register("withdrawn", withdrawn)
    connection.register("reread", reread)


def _read(connection):
    """Make `readings`: what is found in the texts of `trials`. What this process read before is not read again.

    To plan the query that reads takes a tenth of a second, whatever it reads.
    """
    earlier = READ[0] if READ else NOTHING_READ
    connection.register("earlier", earlier)
    connection.execute(
        f"""
        create temp table new_texts as
        select distinct text_hash as hash_read, response_unit as unit_read, text
        from trials anti join earlier on {IS_READING}
        where {IS_NUMBER}
        """
    )
    ((n_new,),) = connection.execute("select count(*) from new_texts").fetchall()
    if earlier is not NOTHING_READ and not n_new:
        connection.execute("create temp view readings as from earlier")
        return
    reading = macros()["read_response"]("text", "unit_read")
    connection.execute(
        f"""
        create temp table new_readings as select hash_read, unit_read, {reading} as found from new_texts;
        create temp view readings as from earlier union all by name from new_readings
        """
    )
    if n_new <= MOST_READ:
        has_room = earlier.num_rows + n_new <= MOST_READ
        READ[:] = [connection.sql(f"from {'readings' if has_room else 'new_readings'}").to_arrow_table()]


def _scale(connection):
    """Make `cells`: what is usual where a dot may group thousands, as the model `int_cells_scaled` has it."""
    connection.execute(
        f"""
        create temp view cells as
        select llm, vignette, item, median(coalesce(number_reread, response, found.response)) as usual_number
        from trials
        left join readings on {IS_READING}
        anti join withdrawn using (trial_id)
        left join reread using (trial_id)
        where {IS_NUMBER}
        group by all
        having usual_number is not null and bool_or({macros()["may_group_by_dots"]("text")})
        """
    )


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
            where replicate < ? and attempt_of is null and {OF_PARADIGM}
            group by all
            """,
            [n_first],
        ).fetchall()
    n_columns = len(Cell._fields)
    return {Cell(*row[:n_columns]): Summary(*row[n_columns:]) for row in rows}


def baseline_offences(path: Path, design: Design, n_first: int) -> list[Offence]:
    """List what the gate would say of the answers without anchor and technique, by place and check."""
    bases = pa.table({"vignette": [*design.vignettes], "arm": [design.base_of(name) for name in design.vignettes]})
    with read_trials(path, design) as connection:
        connection.register("bases", bases.cast(pa.schema({"vignette": pa.string(), "arm": pa.string()})))
        rows = connection.execute(
            f"""
            with baselines as (
                select
                    llm, vignette, item, trial_id, text, status, response,
                    found.if_grouped is not null as is_dotted
                from answers inner join bases using (vignette)
                where technique = 'no_technique' and anchor_value is null and judged is null
                    and coalesce(answers.arm, anchor_direction) = bases.arm and {OF_PARADIGM}
                    and replicate < ? and attempt_of is null and status not in ('withdrawn', 'failed')
            ),

            judged as (
                select
                    *,
                    median(response) filter (status = 'answered') over place as usual_number,
                    response / nullif(usual_number, 0) as factor,
                    count(*) over place as n_of_cell,
                    case
                        when status = 'unparsed' and is_dotted then 'unclear_dot'
                        when {macros()["is_a_thousand_off"]("factor")} then 'factor_1000'
                        when status in ('out_of_range', 'refused', 'unparsed') then status
                    end as check_name
                from baselines
                window place as (partition by llm, vignette, item)
            )

            select
                llm, vignette, item, check_name, count(*), any_value(n_of_cell),
                list(trial_id order by trial_id), first(text order by trial_id), any_value(usual_number)
            from judged where check_name is not null
            group by all order by all
            """,
            [n_first],
        ).fetchall()
    return [Offence((llm, vignette, item), *rest) for llm, vignette, item, *rest in rows]


def distinct_answers(path: Path, design: Design) -> Iterator[tuple[str, str | None, str]]:
    """Yield the distinct texts that answer each item: the first trial, by its id, that gave one, the item, the text."""
    with read_trials(path, design) as connection:
        cursor = connection.execute(
            """
            select min(trial_id) as trial_id, item, text
            from answers
            where answer_kind = 'text' and status = 'answered' and role is null
            group by item, text
            order by item, trial_id
            """
        )
        while rows := cursor.fetchmany(1_000):
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
        rows = connection.execute(
            "select error, error_detail from spooled where trial_id = ? order by turn desc, attempt desc limit 1",
            [trial_id],
        ).fetchall()
    error, detail = rows[0] if rows else ("no call on record", None)
    return {"error": error, "error_detail": detail}
