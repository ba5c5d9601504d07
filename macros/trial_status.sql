{# What became of a trial: as the collector knows it, else what reading its text says, else whether its number is in range.
   Pure Jinja: the models and the gate render it alike. #}
{% macro trial_status(status_recorded, reading_status, response, valid_min, valid_max) -%}
    case
        when {{ status_recorded }} is not null then {{ status_recorded }}
        when {{ response }} is null then coalesce(nullif({{ reading_status }}, 'answered'), 'unparsed')
        when {{ response }} < {{ valid_min }} or {{ response }} > {{ valid_max }} then 'out_of_range'
        else 'answered'
    end
{%- endmacro %}
