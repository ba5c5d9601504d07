-- noqa: disable=LT02
-- One row per published claim and part: whether the paper's own method gives it again, and whether it holds under the
-- analysis that we recommend, on the version of the source that the paper used; and both on the newest version. What is
-- said of it in words is made of these codes and numbers (analysis/words/claims.py).
{% set printed = estimate_keys() + [
    'published_value', 'decimals', 'unit', 'comparison', 'kind', 'derivation', 'inputs_are',
] %}
with loaded as (
    select study from {{ ref('stg_batches') }}
    union
    select study from {{ ref('stg_counts') }}
),

claims as (
    select
        *,
        {{ claim_key() }} as claim_key,
        {{ recommended_quantity_of_claim() }} as recommended_as,
        coalesce(study in (from loaded) or inputs_are = 'printed', false) as is_loaded
    from {{ ref('published_claims') }}
),

derived as (
    select * from {{ ref('int_claims_derived') }}
),

quantities as (
    select quantity, describes from {{ ref('quantities') }}
    where describes is not null
),

scored as (
    select distinct study from {{ ref('stg_attribution_scores') }}
),

response_units as (
    select distinct response_unit as unit from {{ ref('vignettes') }}
),

cited as (
    select * from {{ ref('int_studies_cited') }}
),

-- a technique with a control of its own was asked with other prompts than the rest of its study
own_controls as (
    select * from {{ ref('controls') }}
    where comparison = 'control' and technique is not null and study is not null
),

-- a technique that is neither ranked nor what others are compared with is unranked for its prompts
unranked as (
    select technique, regexp_extract(description, 'unranked because (.*)', 1) as because
    from {{ ref('techniques') }}
    where not is_ranked and technique not in (select control from {{ ref('controls') }})
),

margins as (
    select study, domain, {{ var('equivalence_margin_pp') }} * avg(mean) / 100 as margin_in_units
    from {{ ref('conditions') }}
    where
        paradigm = 'anchoring' and is_baseline and n_trials > 0
        and row_set = 'accepted' and temperature_scope = 'pooled'
    group by all
),

bases as (
    {{ claim_bases() }}
),

-- what a claim rests on: itself, where it is derived from nothing else
basis_claims as (
    select
        claims.claim_key,
        bases.place,
        basis.technique,
        basis.technique_b,
        coalesce(
            own_quantities.describes,
            quantities.describes,
            case when basis.study is null and basis.llm is null then 'record' end,
            'effect'
        ) as describes,
        scored.study is not null as is_of_scores,
        concat_ws(
            '|',
            {% for column in printed -%}
                coalesce(basis.{{ column }}::varchar, ''){{ ',' if not loop.last }}
            {% endfor %}
        ) as signature
    from claims
    left join bases on claims.claim_key = bases.claim_key
    inner join claims as basis on coalesce(bases.basis_key, claims.claim_key) = basis.claim_key
    left join quantities on basis.quantity = quantities.quantity
    left join quantities as own_quantities on claims.quantity = own_quantities.quantity
    left join scored on basis.study = scored.study
),

bases_summed_up as (
    select
        claim_key,
        case
            when bool_or(describes = 'effect') then 'effect'
            when bool_and(describes = 'protocol') then 'protocol'
            else 'record'
        end as describes,
        bool_or(is_of_scores) as is_of_scores,
        string_agg(signature, '; ' order by place) as signature,
        list_distinct(flatten(list([technique, technique_b]))) as techniques
    from basis_claims
    group by all
),

-- the techniques that a claim is about, and all that it compares: what it rests on too, and no technique where it is
-- a change or a gain
described as (
    select
        claims.*,
        bases_summed_up.* exclude (claim_key),
        case
            when coalesce(claims.study, claims.derivation) is null then null
            when claims.inputs_are = 'printed' then 'printed numbers'
            when bases_summed_up.is_of_scores then 'scores'
            else 'trials'
        end as rests_on,
        case
            when claims.derivation in ('mean', 'sum') then []
            when claims.technique is null then bases_summed_up.techniques
            else list_filter([claims.technique, claims.technique_b], lambda named: named is not null)
        end as named,
        case
            when regexp_matches(coalesce(claims.recommended_quantity, claims.quantity), '^(gain_by|spread_change)')
                then list_concat(bases_summed_up.techniques, named, ['no_technique'])
            else list_concat(bases_summed_up.techniques, named)
        end as compared
    from claims
    inner join bases_summed_up on claims.claim_key = bases_summed_up.claim_key
),

confounded as (
    select
        described.claim_key,
        coalesce(any_value(own_controls.because), any_value(unranked.because)) as because
    from described
    left join own_controls
        on
            described.study = own_controls.study
            and coalesce(described.domain, own_controls.domain) = own_controls.domain
            and list_contains(described.named, own_controls.technique)
            and (
                described.unit = 'rank' and described.technique = own_controls.technique
                or len(list_filter(
                    described.compared,
                    lambda other: other not in (own_controls.technique, own_controls.control, 'all')
                )) > 0
            )
    left join unranked on list_contains(described.named, unranked.technique)
    group by all
),

compared as (
    select
        described.* exclude (confounded_by),
        derived.* exclude (claim_id, part)
            replace (case when described.not_derivable is null then derived.recomputed_value end as recomputed_value),
        cited.label as version,
        cited.cited_study,
        case
            when described.describes = 'effect' then coalesce(described.confounded_by, confounded.because)
        end as confounded_by,
        case
            when described.quantity = 'icc' then {{ var('equivalence_margin_pp') }} / 100
            when described.unit in ('pp', '%') then {{ var('equivalence_margin_pp') }}
            when described.unit = 'SD' then 0.2  -- a small effect (Cohen 1988)
            when described.unit = 'rank' then 0
            when described.unit in (select unit from response_units) then margins.margin_in_units
        end as margin,
        described.llm is null and described.rests_on != 'scores'
        and coalesce(derived.n_llms < {{ fewest_llms() }}, false) as is_of_few_llms,
        count(*) over same as n_places,
        row_number() over (same order by described.claim_id, described.part) = 1 as is_first_place
    from described
    inner join derived
        on described.claim_id = derived.claim_id and described.part is not distinct from derived.part
    inner join confounded on described.claim_key = confounded.claim_key
    left join cited on described.document = cited.document and described.study = cited.study
    left join margins
        on coalesce(cited.cited_study, described.study) = margins.study and described.domain = margins.domain
    window same as (
        partition by
            derived.of_version, described.document, described.kind, described.unit, described.comparison,
            described.published_value, described.decimals, described.study, described.domain, described.technique,
            described.derivation, described.input_decimals, described.inputs_are, described.recommended_quantity,
            described.not_derivable, described.signature
    )
),

-- what the recomputed value, the recommended one and its whole interval say of the comparison
compared_with as (
    select
        *,
        {{ could_print(
            'coalesce(recomputed_low, recomputed_value)', 'coalesce(recomputed_high, recomputed_value)',
            'published_value', 'decimals', 'comparison'
        ) }} as agrees_as_published,
        {{ could_print(
            'recommended_value', 'recommended_value', 'published_value', 'decimals', 'comparison'
        ) }} as agrees_as_recommended,
        case comparison
            when '=' then
                {{ could_print('recommended_low', 'recommended_high', 'published_value', 'decimals', 'comparison') }}
            when '<' then recommended_high < published_value
            when '>' then recommended_low > published_value
        end as is_within,
        case comparison
            when '=' then not is_within
            when '<' then recommended_low >= published_value
            when '>' then recommended_high <= published_value
        end as is_excluded,
        -- a value that the interval allows; without one, a value that is off by no more than the margin
        comparison = '='
        and coalesce(is_within, abs(recommended_value - published_value) <= margin, false) as is_near,
        -- an interval that confirms what is printed: of a number, if it is narrow too
        is_within
        and (
            comparison != '='
            or greatest(recommended_high - recommended_value, recommended_value - recommended_low) <= margin
        ) as is_confirmed,
        -- the end of an interval; it says how sure something is, as a p value does
        coalesce(rests_on = 'trials' and regexp_matches(quantity, '_(low|high)$'), false) as is_bound,
        -- scores are not drawn; a bound and a p value say themselves how sure something is: chance has no part in it
        recommended_low is null
        and coalesce(is_bound or rests_on = 'scores' or regexp_matches(quantity, '(^|_)p(_|$)'), false) as is_exact
    from compared
),

explained as (
    select
        *,
        case
            when not_derivable is not null then 'not_derivable'
            when not is_loaded or recomputed_value is null then 'not_checked'
            when agrees_as_published then 'yes'
            else 'no'
        end as recomputes,
        case
            when not is_loaded and study is not null then 'study_not_loaded'
            when describes != 'effect' or not is_loaded or recommended_value is null then
                case
                    when recomputes = 'not_derivable' then 'not_derivable'
                    when recomputes = 'not_checked' then 'not_recorded'
                    when describes = 'effect' then 'not_recommended'
                end
            -- a p value itself says how sure something is: fewer stars are weaker evidence, none to the contrary, and
            -- more are stronger evidence; but no star, or a sentence that there are few, says that there is none
            when unit = 'stars' and agrees_as_recommended then 'as_many_stars'
            when unit = 'stars' and comparison != '<' and recommended_value < published_value then 'fewer_stars'
            when unit = 'stars' and comparison = '=' and published_value > 0 then 'more_stars'
            when unit = 'stars' then 'denied_stars'
            when confounded_by is not null then 'unlike_conditions'
            when not agrees_as_recommended and not is_near then
                case
                    when is_excluded then 'outside_interval'
                    when recommended_low is not null then 'interval_allows_both'
                    when is_bound then 'another_bound'
                    when is_exact then 'read_otherwise'
                    else 'estimate_alone'
                end
            -- the printed number is the one that we would print; a place is one only if no other is possible
            when kind = 'value' and comparison = '=' and unit != 'rank' and agrees_as_recommended then 'as_printed'
            when rests_on = 'scores' and recommended_low is null then 'read_off'
            when is_of_few_llms and recommended_low is not null then 'few_llms'
            when is_confirmed then 'whole_interval'
            when not is_of_few_llms and kind = 'value' and comparison != '=' and is_within is null then 'as_printed'
            when recommended_low is not null then 'wide_interval'
            else 'no_interval'
        end as why
    from compared_with
),

judged as (
    select
        *,
        case
            when describes != 'effect' then 'not_applicable'
            {%- for code, whys in {
                'holds': ['as_printed', 'as_many_stars', 'more_stars', 'read_off', 'whole_interval'],
                'weaker': ['few_llms', 'fewer_stars', 'no_interval', 'wide_interval'],
                'contradicted': ['another_bound', 'denied_stars', 'outside_interval', 'read_otherwise'],
                'other_way': ['estimate_alone', 'interval_allows_both'],
                'confounded': ['unlike_conditions'],
            }.items() %}
            when why in ('{{ whys | join("', '") }}')
                then '{{ code }}'
            {%- endfor %}
        end as holds,
        case
            when coalesce(holds in ('confounded', 'not_applicable'), true) then null
            when unit = 'stars' or is_exact and holds in ('holds', 'contradicted') then 'exact'
            when holds = 'contradicted' or (holds = 'holds' and is_confirmed and not is_of_few_llms) then 'interval'
            else 'estimate'
        end as how_sure
    from explained
),

beside_newest as (
    select
        * replace (coalesce(quantity, derivation) as quantity),
        {% for name, column in {
            'newest_value': 'recomputed_value', 'newest_recomputes': 'recomputes', 'newest_holds': 'holds',
        }.items() -%}
            case
                when cited_study is not null
                    then any_value({{ column }}) filter (where of_version = 'newest') over one_claim
            end as {{ name }}{{ ',' if not loop.last }}
        {% endfor %}
    from judged
    window one_claim as (partition by claim_id, part)
    qualify of_version = 'cited'
)

select {{ declared_columns() }} from beside_newest
