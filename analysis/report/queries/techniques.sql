with shipped as (
    select technique, display_name, is_ranked, description from seeds.techniques
),

own as (
    select distinct technique from inference.decisions
    anti join shipped using (technique)
)

select technique, display_name, is_ranked, description from shipped
union all
select technique, technique as display_name, true as is_ranked, null as description from own
order by technique
