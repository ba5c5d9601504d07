-- A technique's effect is its mean less the grand mean, and the effects sum to zero.
with terms as (
    select
        study,
        domain,
        row_set,
        baseline_scope,
        fit,
        estimation,
        sum(estimate) filter (where term like 'effect:%') as effects,
        avg(estimate) filter (where term like 'mean:%') as means,
        max(estimate) filter (where term = 'grand_mean') as grand_mean
    from {{ ref('mixed_effects') }}
    group by all
)

select * from terms
where abs(effects) > 1e-6 or abs(means - grand_mean) > 1e-6
