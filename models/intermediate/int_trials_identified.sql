-- One row per trial of a published batch, with its canonical LLM, its domain, its number and what became of it. The
-- number in a collected answer is read here; a recorded archive keeps the number that it recorded, unless the var
-- `response_source` says `reparsed`: then a text that is there is read anew.
{% set unit = "nullif(response_unit, 'unknown')" %}
{% set is_reparsed = var('response_source') == 'reparsed' %}
with trials as (
    select * from {{ ref('stg_trials') }}
),

published as (
    select batch_id from {{ ref('stg_batch_verdicts') }}
    where is_published
),

flags as (
    select * from {{ ref('stg_flagged_trials') }}
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

joined as (
    select
        trials.*,
        coalesce(aliases.llm, trials.llm_recorded) as llm,
        coalesce(vignettes.domain, 'unknown') as domain,
        coalesce(vignettes.response_unit, 'unknown') as response_unit,
        vignettes.valid_min,
        vignettes.valid_max,
        coalesce(flags.is_quarantined, false) as is_quarantined,
        flags.trial_id is not null as is_flagged,
        flags.flag_reasons,
        trials.source != 'recorded' as is_read
    from trials
    semi join published using (batch_id)
    left join aliases on trials.llm_recorded = aliases.alias
    left join vignettes on trials.study = vignettes.study and trials.vignette = vignettes.vignette
    left join flags on trials.trial_id = flags.trial_id
),

readings as (
    select
        *,
        case when response_text is not null then {{ read_response('response_text', unit) }} end as reading,
        case when first_text is not null then {{ read_response('first_text', unit) }} end as first_reading
    from joined
),

numbers as (
    select
        * exclude (response_recorded),
        response_recorded as number_recorded,
        struct_extract(reading, 'response') as number_read,
        struct_extract(reading, 'status') as status_read,
        case
            when status_recorded is not null then response_recorded
            {% if is_reparsed -%}
            when response_text is not null then struct_extract(reading, 'response')
            {% endif -%}
            when is_read then coalesce(response_recorded, struct_extract(reading, 'response'))
            else response_recorded
        end as response_recorded,
        coalesce(first_response_recorded, struct_extract(first_reading, 'response')) as first_response
    from readings
),

judged as (
    select
        *,
        {{ trial_status(
            'status_recorded', 'status_read' if is_reparsed else 'case when is_read then status_read end',
            'response_recorded', 'valid_min', 'valid_max'
        ) }} as status,
        first_response not between
        coalesce(valid_min, '-inf') and coalesce(valid_max, 'inf') as is_first_out_of_range
    from numbers
)

select
    * exclude (reading, first_reading, first_text, first_response_recorded),
    case when status = 'answered' then response_recorded end as response,
    case
        when status = 'answered' then null
        when status = 'unparsed' and reason_recorded is not null then reason_recorded
        when status = 'unparsed' and response_text is null then 'no_text'
        when status = 'unparsed' then 'no_number'
        when status in ('failed', 'refused') then coalesce(reason_recorded, status)
        else status
    end as reason
from judged
