-- By maximum likelihood, a fit that contains another is not less likely.
with fits as (
    pivot (
        select distinct study, domain, row_set, baseline_scope, fit, log_likelihood
        from {{ ref('mixed_effects') }}
        where estimation = 'ML'
    )
    on fit in ('intercept', 'direction', 'interaction', 'slopes')
    using max(log_likelihood)
)

select * from fits
where direction < intercept - 1e-6 or interaction < direction - 1e-6 or slopes < intercept - 1e-6
