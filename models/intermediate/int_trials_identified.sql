-- One row per trial, with its canonical LLM, its domain, and what became of it.
with trials as (
    select * from {{ ref('stg_trials') }}
),

aliases as (
    select alias, llm from {{ ref('llm_aliases') }}
),

-- A collected study says itself what its vignettes are (its last word counts); for recorded ones a seed does.
defined as (
    select
        study,
        vignette,
        arg_max(domain, loaded_at) as domain,
        arg_max(response_unit, loaded_at) as response_unit,
        arg_max(valid_min, loaded_at) as valid_min,
        arg_max(valid_max, loaded_at) as valid_max
    from {{ ref('stg_batches') }}
    where domain is not null
    group by all
),

vignettes as (
    select study, vignette, domain, response_unit, valid_min, valid_max from {{ ref('vignettes') }}
    anti join defined using (study, vignette)
    union all
    select study, vignette, domain, response_unit, valid_min, valid_max from defined
),

identified as (
    select
        trials.*,
        coalesce(aliases.llm, trials.llm_recorded) as llm,
        coalesce(vignettes.domain, 'unknown') as domain,
        coalesce(vignettes.response_unit, 'unknown') as response_unit,
        case
            when trials.status_recorded is not null then trials.status_recorded
            when trials.response_recorded is null then 'unparsed'
            when trials.response_recorded < vignettes.valid_min then 'out_of_range'
            when trials.response_recorded > vignettes.valid_max then 'out_of_range'
            else 'answered'
        end as status,
        trials.first_response not between
        coalesce(vignettes.valid_min, '-inf') and coalesce(vignettes.valid_max, 'inf') as is_first_out_of_range
    from trials
    left join aliases on trials.llm_recorded = aliases.alias
    left join vignettes on trials.study = vignettes.study and trials.vignette = vignettes.vignette
),

explained as (
    select
        *,
        case when status = 'answered' then response_recorded end as response,
        case
            when status = 'answered' then null
            when status = 'unparsed' and reason_recorded is not null then reason_recorded
            when status = 'unparsed' and response_text is null then 'no_text'
            when status = 'unparsed' then 'no_number'
            when status in ('failed', 'refused') then coalesce(reason_recorded, status)
            else status
        end as reason
    from identified
)

select * from explained
