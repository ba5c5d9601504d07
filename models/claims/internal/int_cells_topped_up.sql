-- One row per cell (technique, LLM, vignette and temperature; `method` says whether each direction of the anchor is a
-- cell, or both are one) and row set, of domains with a stopping rule: whether the cell got more trials than the rule
-- starts with, and whether the SD of those first ones (of a population, as the paper's) allowed that.
with rules as (
    -- what a document says of a study it says of the version of it that it cites
    select study, domain, n_first, sd_above from {{ ref('stopping_rules') }}
    union all
    select studies.cited_study as study, stated.domain, stated.n_first, stated.sd_above
    from {{ ref('stopping_rules') }} as stated
    inner join {{ ref('int_studies_cited') }} as studies using (document, study)
    where studies.cited_study is not null
),

by_grain as (
    select
        trials.* exclude (anchor_direction),
        grains.method,
        case when grains.method = 'by_direction' then trials.anchor_direction else 'both' end as anchor_direction
    from {{ ref('int_trials_claimed') }} as trials
    cross join (values ('by_direction'), ('both_directions')) as grains (method)
    where trials.technique != 'no_technique'
),

in_order as (
    select *, row_number() over within_cell as place from by_grain
    window within_cell as (
        partition by study, domain, vignette, llm, technique, anchor_direction, temperature, row_set, method
        order by asked_at, trial_id
    )
)

select
    study,
    domain,
    vignette,
    llm,
    technique,
    anchor_direction,
    temperature,
    row_set,
    method,
    count(*) as n_trials,
    stddev_pop(response) filter (where place <= n_first) as sd_of_first,
    count(*) > any_value(n_first) as is_topped_up,
    sd_of_first > any_value(sd_above) as has_qualified
from in_order
inner join rules using (study, domain)
group by all
