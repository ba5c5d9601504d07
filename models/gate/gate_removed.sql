-- One row per audited batch and way in which its version of the source takes rows out of publication: the share of
-- the published rows of its vignette and LLM, and the LLM if no row is left of it. A row that has another in its place
-- (of the same LLM and technique) is changed and not removed.
with batches as (
    select
        batches.batch_id,
        batches.study,
        batches.vignette,
        coalesce(aliases.llm, batches.llm_recorded) as batch_llm,
        min(cells.cell) as cell
    from {{ ref('gate_batches') }} as batches
    left join {{ ref('llm_aliases') }} as aliases on batches.llm_recorded = aliases.alias
    left join {{ ref('gate_cells') }} as cells using (batch_id)
    where batches.is_new
    group by all
),

taken_out as (
    select taken_out.* exclude (llm_recorded), coalesce(aliases.llm, taken_out.llm_recorded) as llm
    from {{ source('gate', 'taken_out') }} as taken_out
    left join {{ ref('llm_aliases') }} as aliases on taken_out.llm_recorded = aliases.alias
),

trials as (
    select study, vignette, llm, technique, trial_id, not is_new as was_published, true as is_published
    from {{ ref('gate_trials') }} as trials
    anti join {{ ref('gate_flags') }} as flags on trials.trial_id = flags.trial_id and flags.severity = 'quarantined'
    where (study, vignette) in (select (taken_out.study, taken_out.vignette) from taken_out)
    union all by name
    select *, true as was_published, false as is_published from taken_out
),

conditions as (
    select
        study,
        vignette,
        llm,
        count(*) filter (where was_published) as n_before,
        count(*) filter (where is_published) as n_after,
        greatest(n_before - n_after, 0) as n_removed,
        min(trial_id, 5) filter (where not is_published) as sample
    from trials
    group by study, vignette, llm, technique
),

llms as (
    select
        study,
        vignette,
        llm,
        sum(n_before) as n_before,
        sum(n_removed) as n_removed,
        sum(n_after) = 0 as is_gone,
        flatten(list(sample order by n_removed desc, sample asc) filter (where n_removed > 0))[:5] as sample
    from conditions
    group by all
    having sum(n_before) > 0
),

-- an older bais has one batch for all LLMs
batches_short as (
    select
        batch_id,
        any_value(cell) as cell,
        sum(n_before) as n_before,
        sum(n_removed) as n_removed,
        count(*) filter (where is_gone) as n_gone,
        flatten(list(sample order by llm))[:5] as sample_removed,
        flatten(list(sample order by llm) filter (where is_gone))[:5] as sample_gone,
        string_agg(format('{:,} of {}', n_removed::bigint, llm), ', ' order by llm) filter (where n_removed > 0)
            as removed,
        string_agg(llm, ', ' order by llm) filter (where is_gone) as gone
    from llms
    inner join batches
        on
            {{ same_in('llms', 'batches', ['study', 'vignette']) }}
            and coalesce(llms.llm = batches.batch_llm, true)
    group by all
),

found as (
    select
        batch_id,
        cell,
        unnest([  -- noqa: AL03
            {
                'reason': 'removed_rows',
                'value': n_removed / n_before,
                'n': n_removed::bigint,
                'sample': sample_removed,
                'detail': format(
                    'of {:,} published rows {:,} are removed: {}', n_before::bigint, n_removed::bigint, removed
                )
            },
            {
                'reason': 'removed_llms',
                'value': n_gone::double,
                'n': n_gone,
                'sample': sample_gone,
                'detail': 'no row is left of ' || gone
            }
        ], max_depth := 2)
    from batches_short
)

select batch_id, reason, value, n, sample, detail, cell from found
where n > 0
