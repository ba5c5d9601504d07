-- The column that a row solves for is filled or the row has a reason, and needed trials have a cost or a reason.
select *
from {{ ref('power') }}
where
    reason is null
    and (
        case quantity
            when 'power' then power
            when 'effect' then effect
            when 'needed_trials' then needed_trials
            when 'needed_vendors' then needed_vendors
            when 'needed_llms' then needed_llms
            when 'needed_items' then needed_items
            when 'half_width' then half_width
        end is null
        or (quantity in ('needed_trials', 'needed_vendors', 'needed_llms', 'needed_items') and cost_usd is null)
        or (
            design in ('wanted', 'to_settle') and quantity = 'needed_trials'
            and (coalesce(between_variance, between_vendors_variance) is null or within_variance is null)
        )
    )
