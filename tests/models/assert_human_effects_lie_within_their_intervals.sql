-- An effect on people lies within its interval, and has its source, or names the study that it is derived from.
select * from {{ ref('int_human_effects_derived') }}
where (low < estimate and estimate < high) is not true or source is null or doi is null
