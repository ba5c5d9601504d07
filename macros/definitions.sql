{# The label of one temperature as a scope: 0, 0.7, 1. #}
{% macro temperature_scope(temperature) -%}
    regexp_replace({{ temperature }}::varchar, '\.0$', '')
{%- endmacro %}


{# Percent of baseline of one response; null without a baseline other than 0. #}
{% macro percent_of_baseline(response, baseline) -%}
    100 * {{ response }} / nullif({{ baseline }}, 0)
{%- endmacro %}


{# The reasons that apply, in one text beside the nulls they explain; null where nothing is null. #}
{% macro reasons(cases) -%}
    nullif(concat_ws('; '
        {%- for condition, reason in cases -%}
            , case when {{ condition }} then '{{ reason }}' end
        {%- endfor -%}
    ), '')
{%- endmacro %}


{# Median of values that stand for many equal ones, from the running total of their numbers in order of value. #}
{% macro weighted_median(value, n_up_to, n_all) -%}
    (
        min({{ value }}) filter (where 2 * {{ n_up_to }} >= {{ n_all }})
        + min({{ value }}) filter (where 2 * {{ n_up_to }} >= {{ n_all }} + 1)
    ) / 2
{%- endmacro %}


{# Sample SD from the variance over n values (ddof 0); exactly 0 where they are all the same. #}
{% macro sample_sd(variance, n, is_constant) -%}
    case
        when {{ n }} > 1 and {{ is_constant }} then 0
        when {{ n }} > 1 then sqrt({{ variance }} * {{ n }} / ({{ n }} - 1))
    end
{%- endmacro %}


{# Adjusted Fisher-Pearson coefficient from the central moments over n values. #}
{% macro skewness(third_moment, variance, n, is_constant) -%}
    case
        when {{ n }} > 2 and not {{ is_constant }} and {{ variance }} > 0
            then sqrt({{ n }} * ({{ n }} - 1.0)) / ({{ n }} - 2) * {{ third_moment }} / {{ variance }} ** 1.5
    end
{%- endmacro %}


{# Change of a spread against that of no technique; null where there is (almost) no spread to change. #}
{% macro spread_change_percent(spread_pp, spread_pp_no_technique) -%}
    case
        when abs({{ spread_pp_no_technique }}) >= 1
            then 100 * ({{ spread_pp }} - {{ spread_pp_no_technique }}) / abs({{ spread_pp_no_technique }})
    end
{%- endmacro %}


{# Rank on the absolute value among the rows that meet a condition, 1 is smallest; ties (to 1e-9) share a rank. #}
{% macro rank_among(value, condition, within='study, domain, llm') -%}
    case
        when {{ condition }} and {{ value }} is not null
            then rank() over (
                partition by {{ within }}, {{ condition }} and {{ value }} is not null
                order by round(abs({{ value }}), 9)
            )
    end
{%- endmacro %}


{# Below so many LLMs nothing is inferred over LLMs: the constant of the statistics, which the model of this name hands on. #}
{% macro fewest_llms() %}(select n_llms from {{ ref('fewest_llms') }}){% endmacro %}


{# The share of an LLM's probability, and of the trials of a condition, that may be unread where a mean is of the rest. #}
{% macro most_missing() -%} 0.2 {%- endmacro %}


{# How near to 0 the values of an interval come. #}
{% macro least_distance(low, high) -%}
    case when {{ low }} * {{ high }} < 0 then 0 else least(abs({{ low }}), abs({{ high }})) end
{%- endmacro %}


{# Whether a text was published before or after the texts end that an LLM was trained on; the last day itself is before. #}
{% macro knowledge_period(published_at, cutoff) -%}
case
    when {{ cutoff }} is null or {{ published_at }} is null then 'unknown'
    when {{ day_of(published_at) }} <= {{ cutoff }} then 'pre'
    else 'post'
end
{%- endmacro %}


{# What tells one question from another: by how much techniques make one loss of one study smaller. #}
{% macro question_keys() %}
    {{ return(['study', 'paradigm', 'domain', 'goal', 'measure', 'instrument', 'arm', 'arm_b']) }}
{% endmacro %}
