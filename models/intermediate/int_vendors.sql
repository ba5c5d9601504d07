-- One row per LLM that any study asked, scored or counted: who made it, and whether somebody listed that.
with asked as (
    select llm from {{ ref('attrition') }}
    union
    select llm from {{ ref('int_scores_accepted') }}
    union
    select llm from {{ ref('stg_counts') }}
),

vendors as (
    {{ vendors_of('asked', ref('llms'), ref('llm_aliases'), ref('routers')) }}
)

select llm, vendor, is_listed from vendors
