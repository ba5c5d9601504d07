-- noqa: disable=LT02
-- One row per cell of trials with a number (vignette, technique, LLM, anchor direction and temperature), row set and
-- method (what a cell is: `by_direction`, or `both_directions` of a technique as one), of the studies that claims are
-- about: how many trials it has, what its anchors were, and whether the stopping rule was followed.
with rules as (
    -- what a document says of a study it says of the version of it that it cites
    select stated.domain, n_first, sd_above, unnest([stated.study, studies.cited_study]) as study
    from {{ ref('stopping_rules') }} as stated
    left join {{ ref('int_studies_cited') }} as studies using (document, study)
),

calls as (
    select distinct trial_id from {{ ref('stg_calls') }}
    where request_id is not null
),

trials as (
    select
        *,
        unnest(case
            when response_recorded is null then ['accepted']
            when status = 'answered' and not is_quarantined and response is not null then ['as_recorded', 'accepted']
            else ['as_recorded']
        end) as row_set
    from {{ ref('int_trials_directed') }}
    semi join {{ ref('int_claim_specifications') }} using (study)
    where response_recorded is not null or (status = 'answered' and not is_quarantined and response is not null)
),

-- anchors in baselines as whoever asked could know them: the mean of the valid numbers that were recorded
known as (
    select
        trials.* replace (case when row_set = 'accepted' then response else response_recorded end as response),
        calls.trial_id is not null as has_request_id,
        llms.vendor,
        median(case when anchor_direction in ('low', 'high') then anchor_value / baseline end) over (
            partition by study, vignette, llm, anchor_direction, row_set
        ) as anchor_factor,
        unnest(case when technique = 'no_technique' then ['by_direction'] else ['by_direction', 'both_directions'] end)
            as method
    from trials
    left join {{ ref('int_baselines_read') }} using (study, vignette, llm)
    left join {{ ref('llms') }} as llms using (llm)
    -- a trial of a cited version is called otherwise than the trial that its calls are of
    left join {{ ref('int_trials_cited') }} as cited on trials.trial_id = cited.cited_trial_id
    left join calls on coalesce(cited.trial_id, trials.trial_id) = calls.trial_id
),

in_order as (
    select
        * replace (case when method = 'by_direction' then anchor_direction else 'both' end as anchor_direction),
        row_number() over (
            partition by
                study, vignette, llm, technique, temperature, row_set, method,
                case when method = 'by_direction' then anchor_direction end
            order by asked_at, trial_id
        ) as place
    from known
)

select
    in_order.study, in_order.domain, vignette, llm, vendor, technique, anchor_direction, temperature, row_set, method,
    count(*) as n_trials,
    count(*) filter (where technique != 'sacd' or first_response is not null) as n_with_all_answers,
    count(*) filter (where has_request_id) as n_with_request_id,
    count(anchor_value) as n_anchored,
    any_value(anchor_factor) as anchor_factor,
    stddev_pop(response) filter (where place <= n_first) as sd_of_first,
    count(*) > any_value(n_first) as is_topped_up,
    sd_of_first > any_value(sd_above) as has_qualified
from in_order
left join rules
    on in_order.study = rules.study and in_order.domain = rules.domain and technique != 'no_technique'
group by all
