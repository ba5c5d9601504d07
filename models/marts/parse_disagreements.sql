-- One row per recorded trial whose number, or what its source itself read in it, is not what its whole text states, or
-- whose cut text refuses, read by the same expression as collected answers.
with compared as (
    select
        {{ all_but(['response_recorded'], of='trials') }},
        coalesce(number_by_source, number_recorded) as response_recorded,
        number_read as response_reparsed,
        label_by_source as label_recorded,
        response_label as label_reparsed,
        status_read as status_reparsed
    from {{ ref('int_trials_treated') }} as trials
    left join {{ ref('int_readings_recorded') }} as readings using (trial_id)
),

placed as (
    select
        *,
        strpos(response_text, regexp_replace(coalesce(response_recorded, number_read)::varchar, '\.0$', '')) as place,
        case
            when place > 0 then substr(response_text, greatest(place - 40, 1)::bigint, 100)
            else right(response_text, 100)
        end as text_around
    from compared
    where
        source = 'recorded'
        and left_out_because is null
        and (text_kept != 'cut' or status_read = 'refused')
        and status_read is not null
        and (
            response_recorded is distinct from response_reparsed
            or (label_recorded is not null and label_recorded is distinct from label_reparsed)
        )
)

select {{ declared_columns() }} from placed
