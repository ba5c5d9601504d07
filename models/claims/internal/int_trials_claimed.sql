-- One row per trial with a number, and row set that it is in, of the studies that claims are about.
with trials as (
    select *, unnest(['as_recorded', 'accepted']) as row_set from {{ ref('int_trials_directed') }}
    semi join {{ ref('int_claim_specifications') }} using (study)
),

numbered as (
    select
        * replace (
            case
                when row_set = 'as_recorded' then response_recorded
                when status = 'answered' and not is_quarantined then response
            end as response
        )
    from trials
)

select * from numbered
where response is not null
