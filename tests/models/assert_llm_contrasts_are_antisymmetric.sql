-- Exchanged LLMs have the negative difference and the same p value, below 0.05 where the interval leaves out 0.
with contrasts as (
    select * from {{ ref('llm_contrasts') }}
)

select contrasts.*
from contrasts
left join contrasts as exchanged
    on
        contrasts.llm_a = exchanged.llm_b
        and contrasts.llm_b = exchanged.llm_a
        and {{ same_in('contrasts', 'exchanged', question_keys() + ['technique']) }}
where
    exchanged.study is null
    or abs(contrasts.difference + exchanged.difference) > 1e-9
    or abs(contrasts.low + exchanged.high) > 1e-9
    or contrasts.p_holm is distinct from exchanged.p_holm
    or contrasts.p_holm < contrasts.p_value - 1e-9
    or (contrasts.low > 0 or contrasts.high < 0) is distinct from (contrasts.p_value < 0.05)
