-- One row per study, domain and llm: where a high anchor without a technique leaves it against its own baseline.
with classified as (
    select
        *,
        estimate as percent_of_baseline,
        case
            when high < 100 then 'compression'
            when low > 100 then 'inflation'
            when low is not null then 'none'
            when reason like '%baseline_below_10%' then null
            -- every answer and every unanchored answer was the same
            when estimate < 100 then 'compression'
            when estimate > 100 then 'inflation'
            when estimate = 100 then 'none'
        end as pattern
    from {{ ref('intervals') }}
    left join {{ ref('llms') }} using (llm)
    where
        technique = 'no_technique' and anchor_direction = 'high' and metric = 'percent_of_baseline'
        and weighting = 'llm' and row_set = 'accepted' and baseline_scope = 'pooled' and method = 'headline'
        and llm is not null
)

select {{ declared_columns() }} from classified
