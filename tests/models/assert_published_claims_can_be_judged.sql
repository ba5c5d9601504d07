-- noqa: disable=LT02
-- What is wrong with a row of the seed that would not be judged, or not as it is meant: one row per claim and fault.
{% set allowed = {
    'anchor_direction': ['none', 'low', 'high', 'both', 'all'],
    'row_set': ['accepted', 'without_suspects', 'as_recorded'],
    'weighting': ['trial', 'llm'],
    'direction_weighting': ['trial', 'balanced'],
    'baseline_pooling': ['llm', 'domain'],
    'estimator': ['mean_of_ratios', 'ratio_of_means', 'ratio_of_file_means', 'repeated_cell_means'],
    'non_null': ['final', 'both'],
    'inputs_are': ['printed'],
} %}
with claims as (
    select * from {{ ref('published_claims') }}
),

llms as (
    select llm from {{ ref('llms') }}
),

techniques as (
    select technique from {{ ref('techniques') }}
),

checks as (
    select claim_id, part from {{ ref('claim_checks') }}
),

faults as (
    {% for column, values in allowed.items() -%}
        select claim_id, part, '{{ column }} is {{ values | join(", ") }} or empty' as fault from claims
        where {{ column }} not in ('{{ values | join("', '") }}')
        union all
    {% endfor -%}
    select claim_id, part, 'inputs need a derivation, and a derivation inputs' as fault from claims
    where (inputs is null) != (derivation is null)
    union all
    select claim_id, part, 'recommended inputs need printed inputs' as fault from claims
    where recommended_inputs is not null and inputs_are is distinct from 'printed'
    union all
    select claim_id, part, 'a claim needs a quantity, a derivation, or a sentence in not_derivable' as fault from claims
    where coalesce(quantity, derivation, not_derivable) is null
    union all
    select claim_id, part, 'a claim without a study derives from printed numbers or is not derivable' as fault
    from claims
    where study is null and inputs_are is null and not_derivable is null
    union all
    select claim_id, part, 'a printed number needs its decimals, from -9 to 300' as fault from claims
    where comparison = '=' and not coalesce(decimals between -9 and 300, false)
    union all
    select claim_id, part, 'a sentence is true if a number is < or > a limit, not = one' as fault from claims
    where kind = 'sentence' and comparison = '='
    union all
    select claim_id, part, 'the LLM is not in seeds/llms.csv' as fault
    from claims
    anti join llms on claims.llm = llms.llm
    where claims.llm is not null
    union all
    select claim_id, part, 'the technique is not in seeds/techniques.csv' as fault
    from claims
    anti join techniques on coalesce(claims.technique, 'all') = techniques.technique
    where claims.technique is not null and claims.technique != 'all'
    union all
    select claim_id, part, 'it is missing from claim_checks' as fault
    from claims
    anti join checks on claims.claim_id = checks.claim_id and claims.part is not distinct from checks.part
)

select * from faults
