-- One row per study, llm, vignette and temperature scope.
with summarised as (
    select * exclude (row_set) from {{ ref('int_baselines_summarised') }}
    where row_set = 'accepted'
)

select
    *,
    {{ reasons([("sd_response is null", "one_trial")]) }} as reason
from summarised
