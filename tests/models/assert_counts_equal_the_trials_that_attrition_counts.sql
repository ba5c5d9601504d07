-- The trials behind counts of answers to anchors, of the source that the marts are made of, are the trials that
-- attrition counts as asked and as answered, cell by cell.
with counted as (
    select study, llm, vignette, technique, arm as anchor_direction, sum(n_asked) as n_put, sum(n_trials) as n_counted
    from {{ ref('counts') }}
    where
        paradigm = 'anchoring'
        and row_set = 'accepted'
        and response_source = '{{ var("response_source") }}'
        and technique != 'sacd_initial'
    group by all
),

answered as (
    select study, llm, vignette, technique, anchor_direction, n_asked, n_answered
    from {{ ref('attrition') }}
    where paradigm = 'anchoring'
)

select *
from counted
full join answered using (study, llm, vignette, technique, anchor_direction)
where n_counted is distinct from n_answered or n_put is distinct from n_asked
