-- One row per study, paradigm and contrast that it has now: the arm whose values count, and the one whose values are
-- taken off (null = the reference of the measure is). What was stated last counts.
with source as (
    select * from {{ source('raw', 'paradigm_contrasts') }}
    qualify rank() over (partition by study, paradigm order by ordinal desc) = 1
)

select study, paradigm, position, arm, arm_b from source
-- a pair that an older study names twice stands here once
qualify row_number() over (partition by study, paradigm, arm, arm_b order by position) = 1
