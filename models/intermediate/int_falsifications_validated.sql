-- One row per falsified text: how many people validated it, and whether it can be asked about. Two people at least have
-- to say that it is a negation, and nobody that it is none.
{% set fewest_validators = 2 %}
with counted as (
    select falsification_id, count(*) as n_validators, count(*) filter (where is_negation) as n_negations
    from {{ ref('stg_falsification_verdicts') }}
    group by all
)

select
    falsifications.*,
    coalesce(counted.n_validators, 0) as n_validators,
    coalesce(counted.n_negations, 0) as n_negations,
    case
        when counted.n_validators is null then 'not_validated'
        when counted.n_negations < counted.n_validators then 'no_negation'
        when counted.n_validators < {{ fewest_validators }} then 'too_few_validators'
    end as reason
from {{ ref('stg_falsifications') }} as falsifications
left join counted using (falsification_id)
