-- noqa: disable=LT02
-- One row per quantity, study, domain (the paradigm), technique and llm: the indices of papers that publish answers
-- with what they read in them, or counts. A bias index is the mean over items of how far the share of the answer
-- that the bias predicts lies apart in the two arms or, of numbers, of how far the means do in parts of the way to the
-- anchor: whichever way, and of what the source itself read. A sensitivity is the percentage of runs that differ.
-- Beside a bias index stands the contrast of the two arms as we estimate it, with its sign, where there is one of all
-- the items that the index is of: not where answers to some of them are held back. Its
-- interval reaches as far below the least value that missing answers allow, and above the most, as that of the answers
-- does below its value and above it; two shares differ by 1 at most.
with studies as (
    select distinct study from {{ ref('int_claim_specifications') }}
),

aliases as (
    select alias, llm from {{ ref('llm_aliases') }}
),

paradigms as (
    select study, paradigm, counted_labels, is_share from {{ ref('stg_paradigms') }}
),

shares as (
    select study, paradigm, measure from {{ ref('stg_paradigms') }}
    where is_share and not is_unsigned
),

counts as (
    select * from {{ ref('stg_counts') }}
),

estimates as (
    select
        contrasts.* exclude (low, high),
        case when low is not null then greatest(low - coalesce(value - value_least, 0), -1) end as low,
        case when high is not null then least(high + coalesce(value_most - value, 0), 1) end as high
    from {{ ref('outcome_contrasts') }} as contrasts
    semi join studies using (study)
    semi join shares using (study, paradigm, measure)
    where
        llm is not null and arm_b is not null and level = 'items' and row_set = 'accepted' and weighting = 'llm'
        and value is not null
),

trials as (
    select * from {{ ref('stg_trials') }}
    where read_as is not null
),

readings as (
    select
        trials.study,
        trials.paradigm,
        coalesce(aliases.llm, trials.llm_recorded) as llm,
        trials.technique,
        trials.item,
        trials.anchor_value,
        trials.arm,
        paradigms.is_share,
        case
            when not paradigms.is_share then try_cast(trials.read_as as double)
            when length(trials.read_as) = 1
                then array_contains(paradigms.counted_labels, trials.options_shown[ascii(trials.read_as) - 64])::integer
        end as value
    from trials
    semi join studies using (study)
    inner join paradigms using (study, paradigm)
    left join aliases on trials.llm_recorded = aliases.alias
),

means as (
    select study, paradigm, llm, technique, item, is_share, arm, avg(value) as mean, any_value(anchor_value) as anchor
    from readings
    group by all
),

indices as (
    select
        study, paradigm, llm, technique, item,
        (max(mean) - min(mean))
        / case
            when bool_or(is_share) then 1
            else nullif(abs(max(anchor) - max(mean) filter (where anchor is null)), 0)
        end as bias_index
    from means
    group by all
    having count(mean) = 2
),

items as (
    select study, paradigm, llm, technique, count(bias_index) as n_indexed from indices
    group by all
)

select
    'bias_index' as quantity,
    study,
    paradigm as domain,
    technique,
    llm,
    avg(bias_index) as value,
    null::double as low,
    null::double as high
from indices
group by all
having value is not null
union all
select 'bias_contrast' as quantity, study, paradigm as domain, technique, llm, value, low, high from estimates
left join items using (study, paradigm, technique, llm)
where not coalesce(n_items < n_indexed, false)
union all
select
    'sensitivity_percent' as quantity,
    study,
    paradigm as domain,
    technique,
    llm,
    100 * sum(n * value) / sum(n) as value,
    null as low,
    null as high
from counts
semi join studies using (study)
group by all
