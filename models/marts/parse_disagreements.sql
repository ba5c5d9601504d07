-- One row per recorded trial whose number is not the one that its whole text states, or whose cut text refuses, read by
-- the same expression as collected answers.
with placed as (
    select
        *,
        number_recorded as response_recorded,
        number_read as response_reparsed,
        status_read as status_reparsed,
        strpos(response_text, regexp_replace(coalesce(number_recorded, number_read)::varchar, '\.0$', '')) as place,
        case
            when place > 0 then substr(response_text, greatest(place - 40, 1)::bigint, 100)
            else right(response_text, 100)
        end as text_around
    from {{ ref('int_trials_directed') }}
    where
        source = 'recorded'
        and (text_kept != 'cut' or status_read = 'refused')
        and status_read is not null
        and number_recorded is distinct from number_read
)

select {{ declared_columns() }} from placed
