-- One row per trial that its study asks no more, and that nobody kept in: what the study does not name now. A trial is
-- left out and counts again in turns, so that the number of acts says which of the two holds.
select object_id as trial_id, why from {{ source('raw', 'gate_acts') }}
where object = 'trial' and act in ('leave_out', 'count')
group by object_id, why
having sum(case when act = 'leave_out' then 1 else -1 end) > 0
