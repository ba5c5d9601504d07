-- One row per technique of the seed, and per other one that a collected study defines. The last batch of a study that
-- defines a technique says whether that is ranked; one study that says so is enough.
with seeded as (
    select
        technique,
        display_name,
        is_ranked,
        description,
        case
            when not is_ranked
                then coalesce(
                        nullif(regexp_extract(description, 'unranked because (.*)', 1), ''),
                        description,
                        'its seed says so'
                    )
        end as not_ranked_because
    from {{ ref('techniques') }}
),

defined as (
    select
        study,
        ordinal,
        unnest(from_json(definition -> '$.techniques', '[{"technique": "varchar", "ranked": "boolean"}]')) as said
    from {{ ref('stg_batches') }}
    where definition is not null
),

said_last as (
    select
        defined.study,
        defined.said.technique,
        arg_max(coalesce(defined.said.ranked, false), defined.ordinal) as is_ranked
    from defined
    where defined.said.technique is not null
    group by all
),

own as (
    select
        technique,
        technique as display_name,
        bool_or(is_ranked) as is_ranked,
        null::varchar as description,
        case when not bool_or(is_ranked) then 'the study does not say ranked: true' end as not_ranked_because
    from said_last
    group by technique
)

select * from seeded
union all
select own.* from own
anti join seeded on own.technique = seeded.technique
