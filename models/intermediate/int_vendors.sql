-- One row per LLM that any study asked or scored: who made it, and whether somebody listed that.
with asked as (
    select llm from {{ ref('attrition') }}
    union
    select llm from {{ ref('int_scores_accepted') }}
),

vendors as (
    {{ vendors_of('asked', ref('llms'), ref('llm_aliases'), ref('routers')) }}
)

select llm, vendor, is_listed from vendors
