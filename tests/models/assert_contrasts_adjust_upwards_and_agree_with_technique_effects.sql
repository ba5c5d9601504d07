-- Adjusted p values are not below the p value nor Holm's above Bonferroni's; bounds enclose the difference; and the
-- estimates of all trials are those of technique_effects, where a domain has one vignette.
with contrasts as (
    select * from {{ ref('contrasts') }}
),

out_of_order as (
    select study, domain, technique_a, metric, estimate_a, null as expected from contrasts
    where
        p_holm < p_value or p_bonferroni < p_holm or difference not between low and high
        or cohens_d not between cohens_d_low and cohens_d_high
),

effects as (
    select
        study,
        domain,
        technique as technique_a,
        anchor_direction,
        row_set,
        baseline_scope,
        percent_of_baseline,
        madb_percent
    from {{ ref('technique_effects') }}
    where llm is null and weighting = 'trial' and temperature_scope = 'pooled'
    qualify count(distinct vignette) over (partition by study, domain) = 1
),

compared as (
    select
        contrasts.*,
        case
            when metric = 'percent_of_baseline' then effects.percent_of_baseline
            when metric = 'madb_percent' then effects.madb_percent
        end as expected
    from contrasts
    inner join effects using (study, domain, technique_a, anchor_direction, row_set, baseline_scope)
    where contrasts.level = 'trial' and contrasts.is_recommended
)

select * from out_of_order
union all by name
select study, domain, technique_a, metric, estimate_a, expected from compared
where abs(estimate_a - expected) > 1e-6
