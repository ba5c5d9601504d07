-- One row per trial in whose text a person has read another number, and nobody took that back since: which, by whom,
-- why and when.
with acts as (
    select object_id as trial_id, act, response, who, why, acted_at, ordinal from {{ source('raw', 'gate_acts') }}
    where object = 'trial' and act in ('reread', 'restore_reading')
),

last_acts as (
    select trial_id, arg_max(struct_pack(act, response, who, why, acted_at), ordinal) as last_act from acts
    group by trial_id
)

select
    trial_id,
    last_act['response'] as response,
    last_act['who'] as who,
    last_act['why'] as why,
    last_act['acted_at'] as reread_at
from last_acts
where last_act['act'] = 'reread'
