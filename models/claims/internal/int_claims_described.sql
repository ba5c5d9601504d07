-- noqa: disable=LT02
-- One row per published claim and part: what it describes, what it rests on, with what it is confounded, how far off it
-- may be, and in how many places of its document the same is printed.
{% set printed = estimate_keys() + [
    'published_value', 'decimals', 'unit', 'comparison', 'kind', 'derivation', 'inputs_are',
] %}
with techniques as (
    select * from {{ ref('techniques') }}
),

cited as (
    select * from {{ ref('int_studies_cited') }}
),

claims as (
    select *, {{ claim_key() }} as claim_key from {{ ref('published_claims') }}
),

quantities as (
    select quantity, describes from {{ ref('claim_quantities') }}
),

scored as (
    select distinct study from {{ ref('stg_attribution_scores') }}
),

controls as (
    select * from {{ ref('controls') }}
),

margins as (
    select study, domain, value as margin_in_units from {{ ref('estimates') }}
    where quantity = 'margin_in_units' and row_set = 'accepted' and temperature_scope = 'pooled'
),

response_units as (
    select distinct response_unit as unit from {{ ref('vignettes') }}
),

basis_claims as (
    select
        bases.claim_key,
        bases.place,
        basis.study,
        basis.domain,
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
    from {{ ref('int_claim_bases') }} as bases
    inner join claims as basis on bases.basis_key = basis.claim_key
    inner join claims on bases.claim_key = claims.claim_key
    left join quantities on basis.quantity = quantities.quantity
    left join quantities as own_quantities on claims.quantity = own_quantities.quantity
    left join scored on basis.study = scored.study
),

described as (
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
comparing as (
    select
        claims.claim_key,
        case
            when claims.derivation in ('mean', 'sum') then []
            when claims.technique is null then described.techniques
            else list_filter([claims.technique, claims.technique_b], lambda named: named is not null)
        end as named,
        list_concat(
            described.techniques,
            list_concat(
                named,
                case
                    when regexp_matches(
                        coalesce(claims.recommended_quantity, claims.quantity), '^(gain_by|spread_change)'
                    ) then ['no_technique']
                    else []
                end
            )
        ) as compared
    from claims
    inner join described using (claim_key)
),

-- a technique with a control of its own was asked with other prompts than the rest of its study
own_controls as (
    select * from controls
    where comparison = 'control' and technique is not null and study is not null
),

-- a technique that is neither ranked nor what others are held against is unranked for its prompts
unranked as (
    select technique, regexp_extract(description, 'unranked because (.*)', 1) as because
    from techniques
    anti join controls on techniques.technique = controls.control
    where not is_ranked
),

confounded as (
    select
        claims.claim_key,
        any_value(own_controls.because) as other_prompts,
        any_value(unranked.because) as other_question
    from claims
    inner join comparing using (claim_key)
    left join own_controls
        on
            claims.study = own_controls.study
            and coalesce(claims.domain, own_controls.domain) = own_controls.domain
            and list_contains(comparing.named, own_controls.technique)
            and (
                claims.unit = 'rank' and claims.technique = own_controls.technique
                or len(list_filter(
                    comparing.compared,
                    lambda other: other not in (own_controls.technique, own_controls.control, 'all')
                )) > 0
            )
    left join unranked on list_contains(comparing.named, unranked.technique)
    group by all
)

select
    claims.claim_id,
    claims.part,
    described.describes,
    case
        when coalesce(claims.study, claims.derivation) is null then null
        when claims.inputs_are = 'printed' then 'printed numbers'
        when described.is_of_scores then 'scores'
        else 'trials'
    end as rests_on,
    case
        when described.describes = 'effect'
            then coalesce(claims.confounded_by, confounded.other_prompts, confounded.other_question)
    end as confounded_by,
    case
        when claims.quantity = 'icc' then {{ var('equivalence_margin_pp') }} / 100
        when claims.unit in ('pp', '%') then {{ var('equivalence_margin_pp') }}
        when claims.unit = 'SD' then 0.2  -- a small effect (Cohen 1988)
        when claims.unit = 'rank' then 0
        when response_units.unit is not null then margins.margin_in_units
    end as margin,
    count(*) over same as n_places,
    row_number() over (same order by claims.claim_id, claims.part) = 1 as is_first_place
from claims
inner join described using (claim_key)
inner join confounded using (claim_key)
left join response_units on claims.unit = response_units.unit
left join cited on claims.document = cited.document and claims.study = cited.study
left join margins on coalesce(cited.cited_study, claims.study) = margins.study and claims.domain = margins.domain
window same as (
    partition by
        claims.document, claims.kind, claims.unit, claims.comparison, claims.published_value, claims.decimals,
        claims.study, claims.domain, claims.technique, claims.derivation, claims.input_decimals, claims.inputs_are,
        claims.recommended_quantity, claims.not_derivable, described.signature
)
