-- One row per paradigm, whether its LLMs are simulated, measure, instrument, arm, technique and llm (null = all): the
-- mean over data sets, in which each LLM in each data set weighs the same, as in document C. A data set is a study. The
-- mean of all LLMs is of those that were asked with each of the data sets.
{% set of = ['paradigm', 'is_simulated', 'measure', 'instrument', 'arm', 'technique'] %}
with of_items as (
    select
        {{ of | join(', ') | replace('is_simulated', "llm like 'sim/%' as is_simulated") }},
        llm,
        study,
        vignette,
        item,
        avg(value) as value
    from {{ ref('outcomes') }}
    where value is not null
    group by all
),

of_data_sets as (
    select {{ of | join(', ') }}, llm, study, avg(value) as value
    from of_items
    group by all
),

of_llms as (
    select {{ of | join(', ') }}, llm, avg(value) as value, count(*) as n_data_sets
    from of_data_sets
    group by all
),

data_sets as (
    select {{ of | join(', ') }}, count(distinct study) as n_in_all
    from of_data_sets
    group by all
),

compared as (
    select of_llms.*, data_sets.n_in_all, of_llms.n_data_sets = data_sets.n_in_all as has_all
    from of_llms
    inner join data_sets on {{ same_in('of_llms', 'data_sets', of) }}
)

select
    {{ of | join(', ') }},
    llm,
    value,
    n_data_sets,
    1::bigint as n_llms,
    0::bigint as n_llms_left_out,
    null::varchar as reason
from compared
union all
select
    {{ of | join(', ') }},
    null as llm,
    avg(value) filter (where has_all) as value,
    any_value(n_in_all) as n_data_sets,
    count(*) filter (where has_all) as n_llms,
    count(*) filter (where not has_all) as n_llms_left_out,
    case when not bool_or(has_all) then 'no_shared_llm' end as reason
from compared
group by {{ of | join(', ') }}
