-- The difference of two techniques over LLMs is that of their losses, LLM by LLM.
with differences as (
    select * from {{ ref('int_claims_recommended') }}
    where quantity = 'displacement_difference'
),

losses as (
    select study, domain, technique, llm, avg(loss) as loss from {{ ref('effects') }}
    where
        paradigm = 'anchoring' and goal = 'displacement' and vignette is not null and loss is not null
        and not contains(coalesce(reason, ''), 'baseline_below_10')
    group by all
),

pairs as (
    select
        of_a.study,
        of_a.domain,
        of_a.technique,
        of_b.technique as technique_b,
        avg(of_a.loss - of_b.loss) as value,
        count(*) as n_llms
    from losses as of_a
    inner join losses as of_b on of_a.study = of_b.study and of_a.domain = of_b.domain and of_a.llm = of_b.llm
    group by all
)

select differences.*, pairs.value as value_of_losses
from differences
left join pairs using (study, domain, technique, technique_b)
where
    pairs.value is null or abs(differences.value - pairs.value) > 1e-9 or differences.n_llms != pairs.n_llms
