-- The trials behind response_counts, of the source that the marts are made of, are the trials that attrition counts
-- as answered, cell by cell.
with counted as (
    select study, llm, vignette, technique, anchor_direction, sum(n_trials) as n_counted
    from {{ ref('response_counts') }}
    where
        row_set = 'accepted'
        and response_source = '{{ var("response_source") }}'
        and technique != 'sacd_initial'
    group by all
),

answered as (
    select study, llm, vignette, technique, anchor_direction, n_answered
    from {{ ref('attrition') }}
    where n_answered > 0 and paradigm = 'anchoring'
)

select *
from counted
full join answered using (study, llm, vignette, technique, anchor_direction)
where n_counted is distinct from n_answered
