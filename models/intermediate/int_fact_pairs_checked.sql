-- One row per pair of an authentic and a falsified item, llm, vignette, technique, temperature and repetition: what was
-- said of each. The first reply on the one goes with the first on the other; half a pair is not complete.
with replies as (
    select
        *,
        row_number() over (
            partition by study, paradigm, llm, vignette, technique, temperature, item
            order by asked_at nulls last, trial_id
        ) as repetition
    from {{ ref('int_facts_checked') }}
    where has_reply and is_true is not null and not is_quarantined
)

select
    study,
    paradigm,
    llm,
    vignette,
    technique,
    temperature,
    pair,
    repetition,
    min(trial_id) filter (where is_true) as trial_id,
    coalesce(min(period) filter (where is_true), min(period)) as period,
    count(*) filter (where is_true) = 1 and count(*) filter (where not is_true) = 1 as is_complete,
    count(*) = count(says_true) as is_valid,
    coalesce(bool_and(is_right) filter (where is_true), false) as is_authentic_right,
    coalesce(bool_and(is_right) filter (where not is_true), false) as is_falsified_right,
    count(says_true) as n_verdicts,
    count(*) filter (where says_true) as n_says_true,
    {% for confidence in ('high', 'low') %}
    count(*) filter (where confidence = '{{ confidence }}') as n_{{ confidence }},
    count(*) filter (where confidence = '{{ confidence }}' and is_right) as n_{{ confidence }}_right,
    {% endfor %}
    count(says_true) filter (where is_true) as n_authentic_verdicts,
    count(*) filter (where is_true and confidence = 'high') as n_authentic_high,
    count(*) filter (where is_true and confidence = 'low') as n_authentic_low,
    count(*) as n_replies
from replies
group by all
