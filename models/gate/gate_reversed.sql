-- One row per audited anchored trial of an LLM whose high anchors go with lower answers than its low ones in nearly all
-- techniques that tell, by the correlation of answer and direction, where those of others do not: a finding may look
-- like that, and so do labels that are exchanged.
{% set of_llm = 'study, vignette, llm' %}
with trials as not materialized (
    select * from {{ ref('gate_trials') }}
    where is_anchored and is_archive
),

techniques as (
    select {{ of_llm }}, technique, corr(number, if(direction = 'high', 1, 0)) as pull from trials
    where {{ is_countable() }}
    group by all
    having count(*) >= 2 * getvariable('fewest') and abs(pull) * sqrt(count(*) - 1) > getvariable('reversed_z')
),

llms as (
    select {{ of_llm }}, count(*) as n_told, count(*) filter (where pull < 0) as n_reversed from techniques
    group by all
),

reversed as (
    select * from llms
    window of_vignette as (partition by study, vignette)
    qualify
        n_reversed >= getvariable('reversed_least') and n_reversed >= getvariable('reversed_share') * n_told
        -- of all others together
        and sum(n_told) over of_vignette > n_told
        and sum(n_reversed) over of_vignette - n_reversed < 0.5 * (sum(n_told) over of_vignette - n_told)
)

select
    trials.trial_id,
    concat(
        'high anchors go with lower answers than low ones in ', n_reversed, ' of ', n_told, ' techniques'
    ) as detail
from trials
inner join reversed using ({{ of_llm }})
where trials.is_new
