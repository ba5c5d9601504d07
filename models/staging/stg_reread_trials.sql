-- One row per trial in whose text a person has read another number, and nobody took that back since: which, by whom,
-- why and when.
select object_id as trial_id, response, who, why, acted_at as reread_at from {{ source('raw', 'gate_acts') }}
where object = 'trial' and act in ('reread', 'restore_reading')
qualify row_number() over (partition by object_id order by ordinal desc) = 1 and act = 'reread'
