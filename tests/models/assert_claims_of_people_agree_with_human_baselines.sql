-- noqa: disable=LT02
-- What document B prints of its human study is what the seed of human baselines holds, number by number.
with claims as (
    select distinct quantity, published_value from {{ ref('published_claims') }}
    where document = 'B' and derivation is distinct from 'difference' and quantity != 'human_p'
),

facts as (
    unpivot (
        select
            {% for column in [
                'low_mean', 'high_mean', 't', 'df', 'n_participants', 'n_judges', 'n_prosecutors', 'mean_experience_years',
            ] -%}
                {{ column }}::double as human_{{ column }}{{ ', ' if not loop.last }}
            {%- endfor %}
        from {{ ref('human_baselines') }}
        where human_study = 'englich-2006-study-2'
    )
    on columns(*) into name quantity value value
)

select * from claims
full join facts using (quantity)
where published_value is distinct from value
