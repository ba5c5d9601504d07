-- Each row has its twin of the other response source, unless its study has numbers recorded beside a text; every study
-- has both.
with studies as (
    select study
    from {{ ref('int_trials_directed') }}
    group by study
    having bool_or(number_recorded is not null and response_text is not null and status_recorded is null)
),

counts as (
    select * from {{ ref('counts') }}
    where paradigm = 'anchoring' and n_trials > 0
),

rows_by_source as (
    select {{ all_but(['response_source']) }}, count(*) as n_sources
    from counts
    group by all
),

without_twin as (
    select study, row_set, n_sources
    from rows_by_source
    anti join studies using (study)
    where n_sources != 2
),

of_one_source as (
    select study, row_set, count(distinct response_source) as n_sources
    from counts
    group by all
    having count(distinct response_source) != 2
)

select * from without_twin
union all
select * from of_one_source
