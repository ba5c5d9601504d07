-- One row per study and vignette, with its domain, unit and valid range. A collected study says itself what its
-- vignettes are (its last word counts); for recorded ones a seed does.
with batches as (
    select * from {{ ref('stg_batches') }}
    where domain is not null
),

recorded as (
    select * from {{ ref('vignettes') }}
),

defined as (
    select
        study,
        vignette,
        arg_max(domain, ordinal) as domain,
        arg_max(response_unit, ordinal) as response_unit,
        arg_max(valid_min, ordinal) as valid_min,
        arg_max(valid_max, ordinal) as valid_max
    from batches
    group by all
)

select study, vignette, domain, response_unit, valid_min, valid_max from recorded
anti join defined using (study, vignette)
union all
select study, vignette, domain, response_unit, valid_min, valid_max from defined
