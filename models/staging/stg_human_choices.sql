-- One row per study of people, participant and pair of products; who is excluded, and why, as it was said last.
with decided as (
    select * from {{ ref('stg_excluded_participants') }}
)

select
    choices.* exclude (key_check, _dlt_load_id)
    replace (case when decided.participant is null then choices.excluded else decided.excluded end as excluded)
from {{ source('raw', 'human_choices') }} as choices
left join decided on choices.participant = decided.participant
