-- One row per distinct text and unit, with what is read in it: a text is read once, however many trials ended with it,
-- and again only when the reader has changed. No number is read from a choice, a label or a text.
{{ config(
    materialized='table' if target.type == 'spark' else 'incremental',
    incremental_strategy='append',
    on_schema_change='append_new_columns',
    pre_hook="{% if is_incremental() %}delete from {{ this }} where reader_version != '{{ reader_version() }}'{% endif %}",
) }}
with vignettes as (
    select * from {{ ref('int_vignettes_defined') }}
),

trials as (
    select * from {{ ref('stg_trials') }}
    where answer_kind = 'number'
),

said as (
    select study, vignette, response_text as text from trials
    where is_look_back is not true
    union all
    select study, vignette, first_text as text from trials
),

texts as (
    select distinct said.text, coalesce(vignettes.response_unit, 'unknown') as response_unit
    from said
    left join vignettes using (study, vignette)
    where said.text is not null
),

unread as (
    select * from texts
    {% if is_incremental() %}
    anti join {{ this }} using (text, response_unit)
    {% endif %}
),

readings as (
    select *, {{ number_reading('text', "nullif(response_unit, 'unknown')") }} as reading from unread
)

select
    text,
    response_unit,
    '{{ reader_version() }}' as reader_version,
    reading['response'] as number_read,
    reading['status'] as status_read,
    reading['reason'] as reason_read,
    reading['note'] as note_read,
    reading['said'] as said,
    reading['if_decimal'] as number_if_decimal,
    reading['if_grouped'] as number_if_grouped
from readings
