-- Nobody is lost: every trial that was asked was answered or is counted under the reason why not, and all are there.
with per_cell as (
    select study, n_asked, n_answered + n_refused + n_unparsed + n_out_of_range + n_failed as n_accounted
    from {{ ref('attrition') }}
),

per_study as (
    select study, sum(n_asked) as n_asked, sum(n_accounted) as n_accounted from per_cell
    group by all
),

landed as (
    select study, count(*) as n_landed from {{ source('raw', 'trials') }}
    group by all
)

select *
from per_study
full join landed using (study)
where n_asked is distinct from n_landed or n_accounted is distinct from n_landed
