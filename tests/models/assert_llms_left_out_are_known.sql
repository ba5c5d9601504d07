-- A claim leaves out only LLMs that the project knows: another id would leave nothing out, in silence.
with left_out as (
    select claim_id, unnest(string_split(excluded_llm, ' ')) as llm from {{ ref('published_claims') }}
    where excluded_llm is not null
)

select * from left_out
anti join {{ ref('llms') }} using (llm)
