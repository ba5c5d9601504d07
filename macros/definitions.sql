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


{# What a bound of the 95 % percentile bootstrap interval of a mean tends to as resamples grow, from the central moments
   over n values: the Cornish-Fisher expansion to the third cumulant (Hall 1992, section 2.5), as `bootstrap_limit` in
   analysis/intervals.py. Null where all values are the same. #}
{% macro bootstrap_bound(side, mean, variance, third_moment, n) -%}
    {%- set z = normal_quantile_975() | float -%}
    case
        when {{ variance }} > 0
            then
                {{ mean }} {{ '-' if side == 'low' else '+' }} {{ z }} * sqrt({{ variance }} / {{ n }})
                + {{ (z ** 2 - 1) / 6 }} * {{ third_moment }} / {{ variance }} / {{ n }}
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


{# The anchoring index between two anchors (Jacowitz & Kahneman 1995, of means): by which share of the way from the low to
   the high anchor the answers move. #}
{% macro index_between_anchors(difference, low_anchor, high_anchor) -%}
    ({{ difference }}) / nullif({{ high_anchor }} - {{ low_anchor }}, 0)
{%- endmacro %}


{# Standard error of Cohen's d of two groups for large samples (Hedges & Olkin 1985, chapter 5), as `standardised` in
   analysis/effect_sizes.py has it. #}
{% macro error_of_d(d, n_low, n_high) -%}
    sqrt(1.0 / ({{ n_low }}) + 1.0 / ({{ n_high }}) + ({{ d }}) ** 2 / (2 * (({{ n_low }}) + ({{ n_high }}))))
{%- endmacro %}


{# Quantile of the normal distribution at a probability between 1e-10 and 1 - 1e-10, to 7 digits (Wichura 1988, Applied
   Statistics 37(3), algorithm AS 241, PPND7). #}
{% macro normal_quantile(probability) -%}
    {%- set centred = '((' ~ probability ~ ') - 0.5)' -%}
    {%- set near = '(0.180625 - ' ~ centred ~ ' ** 2)' -%}
    {%- set far = '(sqrt(-ln(least(' ~ probability ~ ', 1 - (' ~ probability ~ ')))) - 1.6)' -%}
    case
        when abs({{ centred }}) <= 0.425
            then
                {{ centred }}
                * (((59.10937472 * {{ near }} + 159.29113202) * {{ near }} + 50.434271938) * {{ near }} + 3.3871327179)
                / (((67.18756360 * {{ near }} + 78.757757664) * {{ near }} + 17.895169469) * {{ near }} + 1)
        else
            sign({{ centred }})
            * (((0.17023821103 * {{ far }} + 1.3067284816) * {{ far }} + 2.7568153900) * {{ far }} + 1.4234372777)
            / ((0.12021132975 * {{ far }} + 0.73700164250) * {{ far }} + 1)
    end
{%- endmacro %}

{# Whether an item enters a contrast of two arms: where each arm has items of its own, always; else if it is in both. #}
{% macro item_enters(pairing, n_a, n_b) -%}
    any_value({{ pairing }}) = 'between' or ({{ n_a }} > 0 and {{ n_b }} > 0)
{%- endmacro %}

{# Whether a text was published before or after the texts end that an LLM was trained on; the last day itself is before. #}
{% macro knowledge_period(published_at, cutoff) -%}
case
    when {{ cutoff }} is null or {{ published_at }} is null then 'unknown'
    when {{ day_of(published_at) }} <= {{ cutoff }} then 'pre'
    else 'post'
end
{%- endmacro %}

{# A bound of the 95 % interval of a share of which k in n were seen (Wilson 1927, JASA 22(158), 209-212); `side` is - or +. #}
{% macro wilson_bound(side, k, n) -%}
    ({{ k }} + {{ normal_quantile_975() }} ** 2 / 2
    {{ side }} {{ normal_quantile_975() }} * sqrt(({{ k }}) * ({{ n }} - ({{ k }})) / nullif({{ n }}, 0) + {{ normal_quantile_975() }} ** 2 / 4))
    / nullif({{ n }} + {{ normal_quantile_975() }} ** 2, 0)
{%- endmacro %}
