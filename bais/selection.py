"""Which trials are meant: by an id, by as much of its beginning as no other has, or by a condition in SQL."""

import contextlib
from collections.abc import Iterator

from bais.warehouse import is_text, tables_in, values
from ingest.warehouse import UserError, explain, is_of_the_file, printable, warehouse_path

MOST_LISTED = 10

PUBLIC = "select * from marts.trials"
REREAD = """
select every.*, 'reread as ' || reread.response || ' by ' || who || ' on ' || reread_at::date || ': ' || why as reread
from ({every}) as every left join ({reread}) as reread using (trial_id)
"""
AUDITED = """
select *, null::varchar as held_back from marts.trials
union all by name
select *, 'quarantined' as reason, 'quarantined: ' || flag_reasons as held_back from marts.quarantined_trials
"""
ALL = """
{audited}
union all by name
select
    trial_id, landed.batch_id, landed.study, llm, domain, landed.vignette, landed.technique, landed.anchor_direction,
    landed.anchor_value, landed.temperature, readings.paradigm, readings.arm, readings.item, readings.role,
    readings.judged, status_if_{source} as status,
    case when status = 'answered' then number_if_{source} end as response,
    case when status = 'answered' then label_read end as response_label, landed.response_recorded,
    landed.first_response, landed.response_text, landed.asked_at, landed.source, landed.source_file, landed.source_line,
    case
        when withdrawn.trial_id is not null then 'withdrawn'
        when fate in ('superseded', 'gone') then fate
        else 'not_published'
    end as reason,
    case reason
        when 'withdrawn' then 'withdrawn by ' || who || ' on ' || withdrawn_at::date || ': ' || why
        when 'superseded' then 'superseded by ' || superseded_by[:10] || ' of version ' || version
        when 'gone' then 'version ' || version || ' of its source lacks it'
        when 'not_published' then case
            when is_older then 'its version was imported as an older one'
            else 'its batch is not published, or not built yet'
        end
    end as held_back
from raw.trials as landed inner join intermediate.int_trials_read as readings using (trial_id)
left join ({withdrawn}) as withdrawn using (trial_id)
left join ({fates}) as fates using (trial_id)
left join (select batch_id, is_older from ({verdicts})) as verdicts on landed.batch_id = verdicts.batch_id
anti join marts.trials as public using (trial_id)
anti join marts.quarantined_trials as quarantined using (trial_id)
"""
OUTDATED = """
select * exclude (vignette_version, highest_of_vignette, technique_version, highest_of_technique) replace (
    case
        when reason = 'not_published' and highest_of_vignette is not null then 'older_version'
        else reason
    end as reason,
    case
        when reason != 'not_published' or highest_of_vignette is null then held_back
        when vignette_version < highest_of_vignette
            then concat('version ', vignette_version, ' of its vignette; the tables count ', highest_of_vignette)
        else concat('version ', technique_version, ' of its technique; the tables count ', highest_of_technique)
    end as held_back
)
from ({every}) left join intermediate.int_prompts_outdated using (batch_id, technique)
"""
OF_SCORES = """
select 1 from raw.batches
where source = 'scored' and (
    starts_with(batch_id, $asked) or starts_with(batch_id, concat(study, '/', $asked))
    or starts_with(batch_id || '/', concat(study, '/', $of_batch, '/'))
)
limit 1
"""


def all_trials(warehouse) -> str:
    """Return the query of every landed trial, why each is held back as far as that is built, and who reread it."""
    from ingest.land.fates import fates, rereadings
    from ingest.land.models import project_variable, query_of

    every = ALL.format(
        audited=AUDITED, source=project_variable("response_source"), withdrawn=query_of("stg_withdrawn_trials"),
        fates=fates(), verdicts=query_of("stg_batch_verdicts"),
    )  # fmt: skip
    if "int_prompts_outdated" in tables_in(warehouse, "intermediate"):
        every = OUTDATED.format(every=every)
    return REREAD.format(every=every, reread=rereadings(warehouse))


def find_trial(warehouse, beginning: str) -> str:
    """Return the id that begins as asked, if it is the only one."""
    if not beginning or not is_text(beginning):
        raise UserError("say which trial: `bais trials` lists them")
    beginning, _, _ = beginning.partition("@")  # in which version of its study is another question
    ids = values(
        warehouse,
        "select trial_id from raw.trials where starts_with(trial_id, $asked) order by trial_id limit $most",
        {"asked": beginning, "most": MOST_LISTED + 1},
    )
    if not ids:
        _refuse_scores(warehouse, beginning)
        raise UserError(f"there is no trial {printable(beginning)}: `bais trials` lists them")
    if len(ids) > 1 and ids[0] != beginning:
        several = ", ".join([*map(printable, ids[:MOST_LISTED]), *["and more"] * (len(ids) > MOST_LISTED)])
        raise UserError(f"{printable(beginning)} begins several trials: {several}")
    return ids[0]


def _refuse_scores(warehouse, name):
    """Say of a score, a scoring or a batch of scores what takes it out of the tables, since it is no trial."""
    of_batch = name.rsplit("/", 2)[0]  # a score is called by its scoring, variation, anchor and target
    if values(warehouse, OF_SCORES, {"asked": name, "of_batch": of_batch}):
        raise UserError(
            f"{printable(name)} is of scores, which nobody answered, so that there is no such trial: `bais check "
            "--json` lists their batches, and `bais reject BATCH` takes one out of the tables"
        )


def refuse_unreadable(condition: str | None) -> None:
    """Refuse a condition that is no text."""
    if condition is not None and not is_text(condition):
        raise UserError("the condition is not UTF-8 text")


def meeting(relation, conditions: list[str]):
    """Return the rows that meet conditions; DuckDB reads each by itself, so that it can only be a condition."""
    for condition in conditions:
        relation = relation.filter(condition)
    return relation


@contextlib.contextmanager
def conditions_explained() -> Iterator[None]:
    """Keep the first line of what DuckDB says of a condition, and say what a condition is where it is none."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise UserError(_explain(error)) from None


def _explain(error):
    if is_of_the_file(error):
        return explain(error, warehouse_path())
    message = printable(str(error).strip().splitlines()[0])
    if "modifiers" in message or "expression list" in message or "single expression" in message:
        return f"the condition must be one SQL expression, without order by, limit or a second statement ({message})"
    if "disabled by configuration" in message:
        return f"the condition reads the warehouse and no other file ({message})"
    return f"the condition is not understood: {message}; `bais tables trials` lists the columns"
