-- One row per condition and value that a source publishes as a count, without the answers: what was imported last of a
-- study and source.
with counts as (
    select counts.* exclude (_dlt_load_id), coalesce(aliases.llm, counts.llm_recorded) as llm
    from {{ source('raw', 'counts') }} as counts
    left join {{ ref('llm_aliases') }} as aliases on counts.llm_recorded = aliases.alias
)

select * from counts
qualify rank() over (partition by study, archive order by ordinal desc) = 1
