-- What is recommended in the multiverse is what decides, once for each decision, whatever that may then be called; what
-- changes an analysis and who is left out are counted apart.
{% set keys = question_keys() + ['technique', 'control'] %}
with rows_counted as (
    select
        *,
        coalesce(excluded_llm, excluded_vendor) is not null as is_without,
        any_value(interval_decision) filter (where is_recommended)
            over (partition by {{ keys | join(', ') }}) as recommended
    from {{ ref('multiverse') }}
),

headlines as (
    select
        {{ keys | join(', ') }},
        count(*) filter (where is_recommended) as n_recommended,
        any_value(recommended) as recommended,
        any_value(gain_low) filter (where is_recommended) as recommended_low,
        any_value(n_llms) filter (where is_recommended) as recommended_llms,
        any_value(n_vendors) filter (where is_recommended) as recommended_vendors,
        any_value(n_specifications) as n_specifications,
        any_value(n_same_decision) as n_same_decision,
        any_value(n_left_out) as n_left_out,
        any_value(n_left_out_same) as n_left_out_same,
        any_value(carried_by) as carried_by,
        count(*) filter (where not is_without) as n_analyses,
        count(*) filter (where not is_without and interval_decision = recommended) as n_analyses_same,
        count(*) filter (where is_without) as n_without,
        count(*) filter (where is_without and n_vendors >= {{ fewest_llms() }}) as n_without_of_enough
    from rows_counted
    group by all
),

decided as (
    select * from {{ ref('decisions') }}
    where llm is null and control is not null and decision is not null
)

select *
from decided
full join headlines on {{ same_in('decided', 'headlines', keys) }}
where
    decided.study is null
    or headlines.study is null
    or not case
        when decided.comparison = 'placebo' and headlines.recommended = 'use'
            then decided.decision = 'better_than_asking_again'
        when decided.comparison = 'placebo' and headlines.recommended = 'avoid'
            then decided.decision = 'worse_than_asking_again'
        when headlines.recommended = 'use'
            then
                decided.decision in ('use', 'helps_its_own_prompt', 'asking_again_helps')
                or (decided.decision = 'no_evidence' and contains(decided.reason, 'not_shown_over_placebo'))
        else decided.decision = headlines.recommended
    end
    or headlines.recommended_llms is distinct from decided.n_llms
    or headlines.recommended_vendors is distinct from decided.n_vendors
    or abs(coalesce(headlines.recommended_low, 0) - coalesce(decided.gain_low, 0)) > 1e-9
    or headlines.n_recommended is distinct from 1
    or headlines.n_specifications is distinct from headlines.n_analyses
    or headlines.n_same_decision is distinct from headlines.n_analyses_same
    or headlines.n_left_out is distinct from case
        when headlines.recommended_vendors >= {{ fewest_llms() }} then headlines.n_without_of_enough
        else headlines.n_without
    end
    or (headlines.carried_by is null) is distinct from (headlines.n_left_out = headlines.n_left_out_same)
