{# The numbers that are written in a text: also `12th` is one, `2,400` is one, and `7,8` begins with one. #}
{% macro numbers_in(text) -%}
    list_transform(
        regexp_extract_all({{ text }}, '(?:^|[^\pL\pN_.,])(\d+(?:,\d+)*(?:\.\d+)?)', 1),
        lambda digits: case
            when regexp_full_match(digits, '\d{1,3}(?:,\d{3})+(?:\.\d+)?') then replace(digits, ',', '')
            else split_part(digits, ',', 1)
        end::double
    )
{%- endmacro %}
