-- High and low cannot be farther apart than they are from 100 together, nor a mean farther off than single answers are.
with losses as (
    select
        study,
        llm,
        vignette,
        item,
        technique,
        any_value(loss) filter (where goal = 'displacement') as displacement,
        any_value(loss) filter (where goal = 'gap') as gap,
        any_value(loss) filter (where goal = 'error') as error
    from {{ ref('effects') }}
    where paradigm = 'anchoring' and vignette is not null
    group by all
)

select * from losses
where gap > 2 * displacement + 1e-9 or displacement > error + 1e-9
