-- One row per study whose counts a person has withdrawn and nobody restored since.
select object_id as study from {{ source('raw', 'gate_acts') }}
where object = 'counts'
qualify row_number() over (partition by object_id order by ordinal desc) = 1 and act = 'withdraw'
