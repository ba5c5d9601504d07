-- Exchanged LLMs have the negative difference and the same p value.
with contrasts as (
    select * from {{ ref('llm_contrasts') }}
),

exchanged as (
    select
        * exclude (llm_a, llm_b),
        llm_a as llm_b,
        llm_b as llm_a
    from {{ ref('llm_contrasts') }}
)

select contrasts.*
from contrasts
left join exchanged using (study, domain, technique, metric, llm_a, llm_b)
where
    exchanged.study is null
    or abs(contrasts.difference + exchanged.difference) > 1e-9
    or abs(contrasts.low + exchanged.high) > 1e-9
    or contrasts.p_holm is distinct from exchanged.p_holm
