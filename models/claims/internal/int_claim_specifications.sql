-- noqa: disable=LT02
-- One row per claim and part that is looked up, purpose (published, recommended) and version of the source (cited,
-- newest): the estimate it is compared with. The cited version is a study of its own where the study has gone on.
{% set columns = 'claim_id, part, purpose, of_version, ' ~ estimate_keys() | join(', ') %}
with claims as (
    select claims.* replace (coalesce(studies.cited_study, claims.study) as study), 'cited' as of_version
    from {{ ref('published_claims') }} as claims
    left join {{ ref('int_studies_cited') }} as studies using (document, study)
    union all
    select *, 'newest' as of_version from {{ ref('published_claims') }}
),

-- scores that were computed here are nobody's published ones; of an LLM that several sources hold, those of the source
-- that was imported first
scored as (
    select scores.study, scores.llm, arg_min(scores.scoring_set, batches.ordinal) as scoring_set
    from {{ ref('int_scores_accepted') }} as scores
    inner join (select distinct scoring, batch_id from {{ ref('stg_attribution_scores') }}) as landed using (scoring)
    inner join {{ ref('stg_batches') }} as batches on landed.batch_id = batches.batch_id
    group by all
),

published as (
    select *, 'published' as purpose from claims
    where quantity is not null
),

-- the tables of inference have methods where marts have estimators
claims_by_source as (
    select *, coalesce(recommended_method, method) is not null as is_of_inference from claims
),

recommended as (
    select
        * replace (
            {{ recommended_quantity_of_claim() }} as quantity,
            case when derivation is null then anchor_direction else 'both' end as anchor_direction,
            -- a claim that leaves LLMs out is compared with the same; one that names what is recommended, with all
            case when recommended_quantity is null then excluded_llm end as excluded_llm,
            case
                when is_of_inference then null
                when derivation is null then temperature_scope
                else 'pooled'
            end as temperature_scope,
            {% for column, value in recommended_specification().items() -%}
                case
                    {% if column == 'weighting' -%}
                        when is_of_inference and recommended_quantity is not null then null
                    {% elif column not in ['row_set', 'baseline_scope'] -%}
                        when is_of_inference then null
                    {% endif -%}
                    when derivation is not null or {{ column }} is not null then '{{ value }}'
                end as {{ column }},
            {% endfor -%}
            coalesce(recommended_method, method) as method
        ),
        'recommended' as purpose
    from claims_by_source
    where quantity is not null or recommended_quantity is not null
),

together as (
    select {{ columns }} from published
    union all
    select {{ columns }} from recommended
)

select together.*, scored.scoring_set, others.scoring_set as scoring_set_b
from together
left join scored using (study, llm)
left join scored as others on together.study = others.study and together.llm_b = others.llm
