"""What became of landed trials, and scores, as later versions of their source came."""

from ingest.land.models import query_of

# What versions of a source speak of: trials, and variations of scorings, of which each holds `n` scores.
RECORDS = """
select trial_id, batch_id, 1 as n from raw.trials
union all
select concat_ws('/', scoring, variation) as trial_id, batch_id, count(*) as n from raw.attribution_scores
group by all
"""

# A trial that waits in a batch which is not published is no superseded one: what stands in its place is older.
FATES = """
with resolved as ({resolved}),

versions as (
    select version_id, coalesce(label, version_id[:8]) as version, imported_at, ordinal from raw.source_versions
),

landed as (
    select
        trial_id,
        records.batch_id,
        coalesce(versions.ordinal, batches.ordinal) as landed_as
    from ({records}) as records
    semi join resolved using (trial_id)
    left join raw.batches as batches using (batch_id)
    left join versions using (version_id)
),

entries as ({entries}),

last_said as (
    select study, archive, source_name, entry, arg_max(struct_pack(record_id, version_id), ordinal) as word
    from entries
    where not is_older
    group by all
),

lacking as (
    select entries.record_id as trial_id, max(last_said.word['version_id']) as version_id from entries
    inner join last_said using (study, archive, source_name, entry)
    where entries.record_id is not null and last_said.word['record_id'] is null
    group by all
)

select
    trial_id,
    case
        when is_held and resolved.batch_id != landed.batch_id then 'taken_over'
        when is_held and lacking.trial_id is not null then 'lacking'
        when is_held then null
        when later.ordinal is null or later.ordinal <= landed_as then null
        when superseded_by is not null then 'superseded'
        else 'gone'
    end as fate,
    resolved.batch_id as published_batch_id,
    superseded_by,
    coalesce(resolved.superseded_by_version, case when is_held then lacking.version_id end) as version_id,
    coalesce(later.version, lacks.version) as version,
    coalesce(later.imported_at, lacks.imported_at) as imported_at
from resolved
inner join landed using (trial_id)
left join lacking using (trial_id)
left join versions as later on resolved.superseded_by_version = later.version_id
left join versions as lacks on lacking.version_id = lacks.version_id
"""


def rereadings(warehouse) -> str:
    """Return the query of the numbers that people have reread; a warehouse that an older bais wrote last has none."""
    is_kept = warehouse.execute(
        "select 1 from duckdb_columns() where database_name = current_database() "
        "and (schema_name, table_name, column_name) = ('raw', 'gate_acts', 'response')"
    ).fetchall()
    none = "select '' as trial_id, null::double as response, '' as who, '' as why, now() as reread_at where false"
    return query_of("stg_reread_trials") if is_kept else none


def fates() -> str:
    """Return the query of what became of each record of which versions speak, as a connection to the warehouse runs it.

    `superseded` (another trial took its place), `gone` (a version that is the whole of its source lacks it), `lacking`
    (the newest version lacks it, and it stays), `taken_over` (published by the batch of a later version), or null.
    """
    resolved, entries = query_of("int_versions_resolved"), query_of("stg_version_entries")
    return FATES.format(resolved=resolved, entries=entries, records=RECORDS)


def replaced() -> str:
    """Return the query of the records in whose place later versions have others, or none."""
    return f"select trial_id from ({fates()}) where fate in ('superseded', 'gone')"
