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

trials as (
    select study, vignette, llm, technique, trial_id, not is_new as was_published, true as is_published
    from {{ ref('gate_trials') }} as trials
    anti join {{ ref('gate_flags') }} as flags on trials.trial_id = flags.trial_id and flags.severity = 'quarantined'
    where (study, vignette) in (select (study, vignette) from {{ source('gate', 'taken_out') }})
    union all by name
    select *, true as was_published, false as is_published from {{ source('gate', 'taken_out') }}
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

found as (
    select
        batch_id,
        cell,
        unnest([  -- noqa: AL03
            {
                'reason': 'removed_rows',
                'value': sum(n_removed) / sum(n_before),
                'n': sum(n_removed)::bigint,
                'sample': flatten(list(sample order by llm))[:5],
                'detail': format(
                    'of {:,} published rows {:,} are removed: {}', sum(n_before)::bigint, sum(n_removed)::bigint,
                    string_agg(format('{:,} of {}', n_removed::bigint, llm), ', ' order by llm)
                    filter (where n_removed > 0)
                )
            },
            {
                'reason': 'removed_llms',
                'value': count(*) filter (where is_gone)::double,
                'n': count(*) filter (where is_gone),
                'sample': flatten(list(sample order by llm) filter (where is_gone))[:5],
                'detail': 'no row is left of ' || string_agg(llm, ', ' order by llm) filter (where is_gone)
            }
        ], max_depth := 2)
    from llms
    inner join batches
        on
            {{ same_in('llms', 'batches', ['study', 'vignette']) }}
            -- an older bais has one batch for all LLMs
            and coalesce(llms.llm = batches.batch_llm, true)
    group by batch_id, cell
)

select batch_id, reason, value, n, sample, detail, cell from found
where n > 0
