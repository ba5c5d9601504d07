-- where the expected answer to a prompt from which the number is removed lies, beside those under the two anchors
with sides as (
    select
        study, scoring, variation,
        any_value(soft_ev) filter (where anchor_direction = 'none') as without_number,
        any_value(soft_ev) filter (where anchor_direction = 'low') as low,
        any_value(soft_ev) filter (where anchor_direction = 'high') as high
    from papers.soft_expectations
    where evidence_from = 'scores' and specification = 'recommended'
    group by study, scoring, variation
)

select
    study, count(*) as n,
    count(*) filter (where without_number between least(low, high) and greatest(low, high)) as n_between,
    avg(abs(low - without_number)) as moved_by_low, avg(abs(high - without_number)) as moved_by_high
from sides
where without_number is not null and low is not null and high is not null
group by study
order by study
