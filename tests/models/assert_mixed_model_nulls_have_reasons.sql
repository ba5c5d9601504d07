-- No statistic of the mixed models and their tests is null without a reason, and none is NaN or infinite.
with statistics as (
    {% for table, names in {
        'mixed_effects': ['estimate', 'std_error', 'std_error_over_llms', 'df', 'low', 'high', 'log_likelihood'],
        'variance_components': ['variance', 'sd', 'icc', 'residual_reduction_percent'],
        'random_effects': ['estimate', 'observed'],
        'model_tests': ['statistic', 'df1', 'p_value', 'partial_eta_squared'],
    }.items() -%}
    {% for name in names -%}
    select '{{ table }}.{{ name }}' as statistic, {{ name }}::double as value, reason from {{ ref(table) }}
    {% if not loop.last %}union all{% endif %}
    {% endfor %}
    {% if not loop.last %}union all{% endif %}
    {% endfor %}
)

select * from statistics
where (value is null and reason is null) or not isfinite(value)
