-- One row per study, llm, technique, instrument and alpha: how many answers would count as nearer to the beginning,
-- or to the end, of their text than to its middle, were that the alpha of the instrument.
with similarities as (
    select
        trial_id,
        instrument,
        max(value) filter (where measure = 'similarity_beginning') as beginning,
        max(value) filter (where measure = 'similarity_middle') as middle,
        max(value) filter (where measure = 'similarity_end') as ending
    from {{ ref('stg_measurements') }}
    group by all
)

select
    trials.study,
    trials.paradigm,
    trials.llm,
    trials.technique,
    similarities.instrument,
    alphas.alpha,
    avg((similarities.beginning - similarities.middle > alphas.alpha)::integer) as primacy,
    avg((similarities.ending - similarities.middle > alphas.alpha)::integer) as recency,
    count(*) as n_trials
from {{ ref('int_trials_identified') }} as trials
inner join similarities on trials.trial_id = similarities.trial_id
cross join (select unnest(range(0, 31)) / 100 as alpha) as alphas
where
    trials.role is null and not trials.is_quarantined
    and similarities.beginning is not null and similarities.middle is not null and similarities.ending is not null
group by all
