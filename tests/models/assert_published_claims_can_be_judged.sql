-- What is wrong with a claim that would not be judged, or not as it is meant: one row per claim and fault.
with claims as (
    select * from {{ ref('published_claims') }}
),

of_llms as (
    select claim_id, part, unnest(list_concat([llm, llm_b], string_split(coalesce(excluded_llm, ''), ' '))) as llm
    from claims
),

faults as (
    select claim_id, part, 'the LLM is not in seeds/llms.csv: ' || llm as fault from of_llms
    anti join {{ ref('llms') }} using (llm)
    where llm != ''
    union all
    select claim_id, part, 'the technique is not in seeds/techniques.csv: ' || technique as fault
    from claims
    anti join {{ ref('techniques') }} using (technique)
    where technique != 'all'
    union all
    select claim_id, part, 'it is missing from claim_checks' as fault
    from claims
    anti join {{ ref('claim_checks') }} as checks
        on claims.claim_id = checks.claim_id and claims.part is not distinct from checks.part
)

select * from faults
