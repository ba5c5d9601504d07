-- One row per trial that a person has withdrawn and nobody restored since: by whom, why and when.
with acts as (
    select object_id as trial_id, act, who, why, acted_at, ordinal from {{ source('raw', 'gate_acts') }}
    where object = 'trial' and act in ('withdraw', 'restore')
),

last_acts as (
    select trial_id, arg_max(struct_pack(act, who, why, acted_at), ordinal) as last_act from acts
    group by trial_id
)

select trial_id, last_act['who'] as who, last_act['why'] as why, last_act['acted_at'] as withdrawn_at from last_acts
where last_act['act'] = 'withdraw'
