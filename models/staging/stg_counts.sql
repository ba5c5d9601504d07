-- One row per condition and value that a source publishes as a count, without the answers: what was imported last of a
-- study and source, unless a person has withdrawn the counts of the study.
with aliases as (
    select * from {{ ref('llm_aliases') }}
),

withdrawn as (
    select * from {{ ref('stg_withdrawn_counts') }}
),

counts as (
    select counts.* exclude (_dlt_load_id), coalesce(aliases.llm, counts.llm_recorded) as llm
    from {{ source('raw', 'counts') }} as counts
    left join aliases on counts.llm_recorded = aliases.alias
    anti join withdrawn on counts.study = withdrawn.study
)

select * from counts
qualify rank() over (partition by study, archive order by ordinal desc) = 1
