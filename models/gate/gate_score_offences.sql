-- One row per audited batch of scores, thing that is wrong and what it is wrong with: a score, a cell that lacks
-- targets (`n` of them), or another scoring that scored the same differently.
with versions as (
    select * from {{ ref('stg_version_entries') }}
    where record_id is not null or is_complete
),

counting as (
    select batch_id from {{ ref('stg_batch_verdicts') }}
    where is_published
    union
    select batch_id from {{ source('gate', 'audited_batches') }}
),

scores as (
    select scores.* exclude (batch_id), coalesce(aliases.llm, scores.llm_recorded) as llm
    from {{ ref('int_scores_landed') }} as scores
    left join {{ ref('llm_aliases') }} as aliases on scores.llm_recorded = aliases.alias
),

new as (
    select versions.batch_id, scores.* from scores
    inner join versions using (record_id)
    semi join {{ source('gate', 'audited_batches') }} using (batch_id)
),

-- what is published or becomes so with this audit: of each entry of a source, the last scoring, which replaced others
last_words as (
    select arg_max(struct_pack(record_id), ordinal)['record_id'] as record_id from versions
    semi join counting using (batch_id)
    where not is_older
    group by study, archive, source_name, entry
),

held as (
    select * from scores
    semi join last_words using (record_id)
),

cells as (
    select
        batch_id,
        anchor,
        any_value(variation) as variation,
        count(distinct target) as n_scored,
        count(*) over (partition by batch_id) as n_anchors
    from new
    group by batch_id, anchor
),

-- a dtype, or the words of a prompt, that were not recorded may be the same as any
disagreements as (
    select
        new.batch_id,
        new.anchor,
        new.scoring,
        others.scoring as other_scoring,
        any_value(new.llm) as llm,
        any_value(new.question) as question,
        any_value(new.dtype) as dtype,
        any_value(others.dtype) as other_dtype,
        min(new.score_id) as score_id,
        count(*) as n,
        max(abs(new.log_probability - others.log_probability)) as furthest
    from new
    semi join held on new.record_id = held.record_id
    inner join held as others using (llm, prompt, target)
    where
        new.scoring != others.scoring
        and greatest(new.log_probability, others.log_probability) <= 0
        and coalesce(new.dtype = others.dtype, true)
        and coalesce(new.prompt_hash = others.prompt_hash, true)
        and abs(new.log_probability - others.log_probability) > getvariable('disagreement')
    group by all
)

select
    batch_id,
    null as score_id,
    'missing_target' as reason,
    getvariable('n_targets') - n_scored as n,
    format('{} under anchor {}: {} of {} targets', variation, anchor, n_scored, getvariable('n_targets')) as detail
from cells
where n_scored != getvariable('n_targets')
union all by name
select
    batch_id,
    null as score_id,
    'missing_target' as reason,
    getvariable('n_targets') as n,
    format('{} has no other anchor than {}', variation, anchor) as detail
from cells
where n_anchors = 1
union all by name
select
    batch_id,
    score_id,
    if(log_probability is null, 'not_finite', 'above_zero') as reason,
    1 as n,
    format('{}% under anchor {}: ', target, anchor)
    || coalesce(
        format('{} is above 0, as no log-probability is', log_probability), error, 'no finite log-probability'
    ) as detail
from new
where coalesce(log_probability > 0, true)
union all by name
select
    batch_id,
    score_id,
    'scorings_disagree' as reason,
    n,
    concat(
        format(
            '{}, {} under anchor {}: {} between {} and {}, by up to {:.3g} nats',
            llm, question, anchor, n || if(n = 1, ' target differs', ' targets differ'),
            scoring, other_scoring, furthest
        ),
        '; no dtype is recorded of ' || nullif(
            concat_ws(' and ', if(dtype is null, scoring, null), if(other_dtype is null, other_scoring, null)), ''
        )
    ) as detail
from disagreements
