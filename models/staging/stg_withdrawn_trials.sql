-- One row per trial that a person has withdrawn and nobody restored since: by whom, why and when.
select object_id as trial_id, who, why, acted_at as withdrawn_at from {{ source('raw', 'gate_acts') }}
where object = 'trial' and act in ('withdraw', 'restore')
qualify row_number() over (partition by object_id order by ordinal desc) = 1 and act = 'withdraw'
