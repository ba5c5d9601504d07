-- One row per participant of whom Prolific said something else after the choices had landed: why they do not count now,
-- null where they do. What was said last holds.
select object_id as participant, case when act = 'leave_out' then why end as excluded
from {{ source('raw', 'gate_acts') }}
where object = 'participant'
qualify row_number() over (partition by object_id order by ordinal desc) = 1
