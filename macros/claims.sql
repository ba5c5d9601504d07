{# What tells one estimate from another: its keys and the specification under which it was computed. #}
{% macro estimate_keys() %}
    {{ return([
        'quantity', 'study', 'domain', 'technique', 'technique_b', 'llm', 'llm_b', 'variation', 'excluded_llm',
        'anchor_direction', 'temperature_scope', 'row_set', 'baseline_scope', 'weighting', 'direction_weighting', 'baseline_pooling',
        'estimator', 'non_null', 'method',
    ]) }}
{% endmacro %}


{# The specification that we recommend (docs/methodology.md says why). #}
{% macro recommended_specification() %}
    {{ return({
        'row_set': 'accepted', 'baseline_scope': 'pooled', 'weighting': 'llm', 'direction_weighting': 'trial',
        'baseline_pooling': 'llm', 'estimator': 'mean_of_ratios', 'non_null': 'final',
    }) }}
{% endmacro %}


{# The columns of the recommended specification, each with its value. #}
{% macro as_recommended() -%}
    {% for column, value in recommended_specification().items() -%}
        '{{ value }}' as {{ column }}{{ ', ' if not loop.last }}
    {%- endfor %}
{%- endmacro %}


{# The columns of a specification under which trials themselves are counted. #}
{% macro specification_keys() -%}
    study, domain, temperature_scope, row_set, baseline_scope, weighting, direction_weighting, baseline_pooling,
    estimator, non_null, excluded_llm
{%- endmacro %}


{# Whether an LLM is among those that a specification leaves out, whose ids a space separates. #}
{% macro is_left_out(llm, excluded_llm) -%}
    coalesce(list_contains(string_split({{ excluded_llm }}, ' '), {{ llm }}), false)
{%- endmacro %}


{# The quantity that is recommended in place of another: by a goal where it is by one of the papers' metrics, in whose
   means errors cancel. #}
{% macro recommended_in_place_of(quantity) -%}
    case
        when {{ quantity }} = 'metrics_disagree' then 'goals_disagree'
        {%- for name, goal in [('deviation', 'displacement'), ('susceptibility', 'gap')] %}
            when regexp_matches({{ quantity }}, '_by_{{ name }}(_with_no_technique)?$')
                then replace({{ quantity }}, '_by_{{ name }}', '_by_{{ goal }}')
        {%- endfor %}
        else {{ quantity }}
    end
{%- endmacro %}


{# The quantity that a claim is compared with as recommended; nothing else ranks by a goal without one of the LLMs. #}
{% macro recommended_quantity_of_claim() -%}
    case
        when excluded_llm is null then {{ recommended_in_place_of('coalesce(recommended_quantity, quantity)') }}
        else coalesce(recommended_quantity, quantity)
    end
{%- endmacro %}


{# A claim as other claims name it among their inputs: by its id, or `id/part` where it has several parts. #}
{% macro claim_key() -%}
    concat_ws('/', claim_id, part)
{%- endmacro %}


{# Each claim that is derived from others and what it rests on in the end, with its place among these: the position of the
   input, then of that one's input, and so on. A claim that is derived from nothing rests on itself. #}
{% macro claim_bases() -%}
    with recursive nodes as (
        select {{ claim_key() }} as claim_key, inputs from {{ ref('published_claims') }}
    ),

    inputs as (
        select
            claim_key,
            unnest(regexp_split_to_array(trim(inputs), '\s+')) as input_key,
            generate_subscripts(regexp_split_to_array(trim(inputs), '\s+'), 1) as position
        from nodes
        where inputs is not null
    ),

    -- a claim that derives from itself stops the build (`published_claims`); here it must not go round for ever
    rests_on as (
        select claim_key, claim_key as basis_key, []::bigint[] as place, [claim_key] as on_the_way from nodes
        union all
        select
            rests_on.claim_key,
            inputs.input_key as basis_key,
            list_append(rests_on.place, inputs.position) as place,
            list_append(rests_on.on_the_way, inputs.input_key) as on_the_way
        from rests_on
        inner join inputs on rests_on.basis_key = inputs.claim_key
        where not list_contains(rests_on.on_the_way, inputs.input_key)
    )

    select rests_on.claim_key, rests_on.basis_key, rests_on.place
    from rests_on
    anti join inputs on rests_on.basis_key = inputs.claim_key
{%- endmacro %}


{# A text as a literal of SQL. #}
{% macro quoted(text) -%}
    ('''' || replace({{ text }}, '''', '''''') || '''')
{%- endmacro %}


{# Does some value from low to high agree with what is printed, or lie below or above it as it says; on a border it has both digits. #}
{% macro could_print(low, high, published, decimals, comparison) -%}
    case {{ comparison }}
        when '='
            then
                {{ low }} <= {{ published }} + (0.5 + 1e-8) * 10.0 ** (-{{ decimals }})
                and {{ high }} >= {{ published }} - (0.5 + 1e-8) * 10.0 ** (-{{ decimals }})
        when '<' then {{ low }} < {{ published }}
        when '>' then {{ high }} > {{ published }}
    end
{%- endmacro %}


{# The column `numbers`: a list with the name of each quantity (columns in braces), its value and the bounds of its interval. #}
{% macro numbers(quantities) -%}
    [
        {%- for name, number in (quantities.items() if quantities is mapping else zip(quantities, quantities)) -%}
        {%- set value, low, high = (number, 'null', 'null') if number is string else number -%}
        {
            'quantity': '{{ name | replace('{', "' || ") | replace('}', " || '") }}',
            'value': ({{ value }})::double, 'low': ({{ low }})::double, 'high': ({{ high }})::double
        }{{ ', ' if not loop.last }}
        {%- endfor -%}
    ] as numbers
{%- endmacro %}


{# What a bound of the 95 % percentile bootstrap interval of a mean tends to as resamples grow, from the central moments
   over n values: the Cornish-Fisher expansion to the third cumulant (Hall 1992, section 2.5), as `bootstrap_limit` in
   analysis/methods/intervals.py. Null where all values are the same. #}
{% macro bootstrap_bound(side, mean, variance, third_moment, n) -%}
    {%- set z = normal_quantile_975() | float -%}
    case
        when {{ variance }} > 0
            then
                {{ mean }} {{ '-' if side == 'low' else '+' }} {{ z }} * sqrt({{ variance }} / {{ n }})
                + {{ (z ** 2 - 1) / 6 }} * {{ third_moment }} / {{ variance }} / {{ n }}
    end
{%- endmacro %}


{# Quantile .975 of the normal distribution. #}
{% macro normal_quantile_975() -%} 1.959963984540054 {%- endmacro %}


{# Quantile .975 of Student's t: exact for one and two degrees of freedom, else the expansion of Fisher & Cornish (1960) to
   its fourth term, within 0.2 %. #}
{% macro t_quantile_975(df) -%}
    case {{ df }}
        when 1 then 12.706204736174698
        when 2 then 4.302652729749464
        else {{ normal_quantile_975() }} + (2.372271 + (2.822499 + (2.555850 + 1.589534 / {{ df }}) / {{ df }}) / {{ df }}) / {{ df }}
    end
{%- endmacro %}
