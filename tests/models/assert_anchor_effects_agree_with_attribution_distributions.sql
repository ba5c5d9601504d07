-- What the anchor contributes more where it is high is the difference of the means of its two distributions, by Banzhaf
-- values as by Shapley values.
with means as (
    select
        study,
        scoring,
        variation,
        specification,
        max(mean) filter (where anchor_direction = 'high')
        - max(mean) filter (where anchor_direction = 'low') as difference
    from {{ ref('attribution_distributions') }}
    where field = 'anchor'
    group by all
)

select study, scoring, variation, specification
from {{ ref('anchor_effects') }}
inner join means using (study, scoring, variation, specification)
where abs(delta_attribution - difference) > 1e-9 or (delta_attribution is null) != (difference is null)
