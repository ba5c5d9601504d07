-- Decisions are over vendors: an LLM of the counts without one would be left out of them, and nobody would notice.
select distinct llm from {{ ref('counts') }}
anti join {{ ref('int_vendors') }} using (llm)
