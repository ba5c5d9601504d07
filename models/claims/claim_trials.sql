-- One row per published claim and part that rests on trials or on scores: the SQL that lists them, its own or those of
-- the claims that it is derived from.
{% set ranked = 'technique in (select technique from seeds.techniques where is_ranked)' %}
with scored as (
    select distinct study from {{ ref('stg_attribution_scores') }}
),

claims as (
    select
        claims.*,
        scored.study is not null as is_of_scores,
        coalesce(studies.cited_study, claims.study) as study_asked,
        {{ claim_key() }} as claim_key,
        coalesce(quantity in ('bias_index', 'sensitivity_percent'), false) as is_of_paradigm,
        coalesce(quantity = 'sensitivity_percent', false) as is_of_counts,
        regexp_matches(quantity, '^(baseline|sd_population$|sd_response)|_with_baseline$') as is_of_baseline,
        regexp_matches(
            quantity,
            '^(rank_by|range_by|nothing_beats|metrics_disagree|n_temperatures_ranked|slope|residual_reduction'
            || '|direction_effect)'
        )
        or (technique is null and method is not null) as compares_techniques
    from {{ ref('published_claims') }} as claims
    left join {{ ref('int_studies_cited') }} as studies using (document, study)
    left join scored using (study)
),

conditions as (
    select
        claim_key as basis_key,
        row_set,
        [
            'study = ' || {{ quoted('study_asked') }},
            case
                when llm_b is not null then format('llm in ({}, {})', {{ quoted('llm') }}, {{ quoted('llm_b') }})
                else 'llm = ' || {{ quoted('llm') }}
            end,
            coalesce('variation = ' || {{ quoted('variation') }}, 'variation != ''V0'''),
            'anchor_direction = ' || {{ quoted('anchor_direction') }}
        ] as conditions
    from claims
    where inputs is null and is_of_scores
    union all
    select
        claim_key as basis_key,
        row_set,
        [
            'study = ' || {{ quoted('study_asked') }},
            'domain = ' || {{ quoted('domain') }},
            'llm = ' || {{ quoted('llm') }},
            'llm not in (' || replace({{ quoted('excluded_llm') }}, ' ', ''', ''') || ')',
            case
                when is_of_baseline then 'technique = ''no_technique'''
                when technique_b is not null
                    then format('technique in ({}, {})', {{ quoted('technique') }}, {{ quoted('technique_b') }})
                when compares_techniques and contains(quantity, 'no_technique')
                    then '({{ ranked }} or technique = ''no_technique'')'
                when compares_techniques then '{{ ranked }}'
                when quantity = 'spread_change_percent' or starts_with(quantity, 'gain_by')
                    then format('technique in ({}, ''no_technique'')', {{ quoted('technique') }})
                when technique = 'sacd_initial' then 'technique = ''sacd'''
                when technique != 'all' then 'technique = ' || {{ quoted('technique') }}
            end,
            case
                when is_of_baseline then 'anchor_direction = ''none'''
                when anchor_direction = 'both' then 'anchor_direction in (''low'', ''high'')'
                when anchor_direction != 'all' then 'anchor_direction = ' || {{ quoted('anchor_direction') }}
            end,
            case when temperature_scope != 'pooled' then 'temperature = ' || temperature_scope end,
            case
                when regexp_matches(quantity, '^(iterations|calls)') then null
                when row_set = 'accepted' then 'status = ''answered'''
                when technique = 'sacd_initial' then 'first_response is not null'
                else 'response_recorded is not null'
            end,
            case
                when
                    non_null = 'both'
                    and (technique_b is not null or regexp_matches(quantity, '^(gain_by|spread_change)'))
                    then '(technique != ''sacd'' or first_response is not null)'
                when non_null = 'both' and technique = 'sacd' then 'first_response is not null'
            end,
            -- a ratio of means takes every LLM in
            case
                when baseline_scope is not null and not coalesce(starts_with(estimator, 'ratio'), false)
                    then 'baseline is not null'
            end
        ] as conditions
    from claims
    where inputs is null and study is not null and not is_of_scores and not is_of_paradigm
    union all
    -- an index of readings takes what is held back in; counts stand there once for each assumed design effect
    select
        claim_key as basis_key,
        case when is_of_counts then row_set else 'as_recorded' end as row_set,
        [
            'study = ' || {{ quoted('study_asked') }},
            'paradigm = ' || {{ quoted('domain') }},
            'llm = ' || {{ quoted('llm') }},
            'technique = ' || {{ quoted('technique') }},
            case
                when is_of_counts
                    then 'row_set = ''accepted'' and coalesce(instrument, ''design_effect_1'') = ''design_effect_1'''
            end
        ] as conditions
    from claims
    where inputs is null and study is not null and is_of_paradigm
),

-- in the order in which a claim names what it rests on
alternatives as (
    select
        bases.claim_key,
        list_filter(conditions.conditions, lambda condition: condition is not null) as conditions,
        min(bases.place) as place,
        bool_or(conditions.row_set = 'as_recorded') as counts_quarantined
    from ({{ claim_bases() }}) as bases
    inner join conditions using (basis_key)
    inner join claims using (claim_key)
    where coalesce(claims.inputs_are, 'trials') = 'trials'
    group by bases.claim_key, conditions.conditions
),

together as (
    select
        claim_key,
        list(conditions order by place) as alternatives,
        coalesce(bool_or(counts_quarantined), false) as counts_quarantined
    from alternatives
    group by all
),

-- a condition that all alternatives share is there once
parted as (
    select
        *,
        list_filter(
            alternatives[1],
            lambda condition: len(list_filter(alternatives, lambda other: not list_contains(other, condition))) = 0
        ) as shared,
        list_transform(
            alternatives, lambda other: list_filter(other, lambda condition: not list_contains(shared, condition))
        ) as rests,
        list_transform(
            rests,
            lambda rest: case when len(rest) > 1 then '(' else '' end || array_to_string(rest, ' and ')
            || case when len(rest) > 1 then ')' else '' end
        ) as worded,
        case
            when list_contains(rests, []) then []
            else [e'(\n        ' || array_to_string(worded, e'\n        or ') || e'\n    )']
        end as either
    from together
)

select
    claims.claim_id,
    claims.part,
    claims.study,
    case
        when claims.is_of_scores
            then 'select llm, variation, anchor_direction, anchor, target, log_probability, banzhaf_anchor'
        when claims.is_of_counts then 'select llm, technique, item, arm, sum_of_values, n_trials'
        when claims.is_of_paradigm
            then 'select trial_id, llm, technique, item, arm, status, response, response_label, response_text'
        else
            'select trial_id, llm, technique, anchor_direction, temperature, status, response, response_recorded, '
            || 'first_response, baseline'
    end
    || e'\nfrom '
    || case
        when claims.is_of_scores then 'intermediate.int_scores_accepted'
        when claims.is_of_counts then 'marts.counts'
        when parted.counts_quarantined then '(from marts.trials union all by name from marts.quarantined_trials)'
        else 'marts.trials'
    end
    || e'\nwhere\n    ' || array_to_string(list_concat(parted.shared, parted.either), e'\n    and ')
    || e'\norder by llm, '
    || case
        when claims.is_of_scores then 'variation, anchor, target;'
        when claims.is_of_paradigm then 'technique, item, arm;'
        else 'technique, anchor_direction;'
    end
        as trials_query
from claims
inner join parted using (claim_key)
