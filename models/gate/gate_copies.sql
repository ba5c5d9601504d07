-- One row per trial that is in its study a second time, with what it is a copy of in words. Whoever copies gives new
-- ids and run numbers, so that neither tells one call from another: a copy agrees with an earlier trial in all that was
-- recorded but these. Equal answers of different calls may agree too, where a recording keeps nothing by which calls
-- differ: without a sign that it does, these are no copies.
with trials as not materialized (
    select * from {{ ref('gate_trials') }}
),

landed as (
    select trial_id, source_file, source_line from {{ ref('stg_trials') }}
),

-- a hash is counted first, as few trials are alike
hashed as not materialized (
    select
        trial_id, source,
        hash(anchored_cell, item, judged, temperature, asked_at, text_hash, number, said_hash) as call_hash,
        hash(anchored_cell, item, judged, repeat, temperature, replicate, prompt_hash, session_id) as place_hash
    from trials
),

called_alike as (
    select call_hash from hashed
    group by all
    having count(*) > 1
),

asked_alike as (
    select place_hash from hashed
    where source != 'recorded'
    group by all
    having count(*) > 1
),

alike as (
    select trial_id from hashed
    where call_hash in (from called_alike) or place_hash in (from asked_alike)
),

-- what an archive tells of its calls is only looked for where some are alike
recorded as (
    select trials.*, hashed.call_hash, landed.source_file from trials
    inner join hashed using (trial_id)
    inner join landed using (trial_id)
    where trials.source = 'recorded' and exists (select 1 from called_alike)
),

asked_at_once as (
    select study, vignette, count(*) as n, count(distinct asked_at) as n_times, count(distinct call_hash) as n_calls
    from recorded
    where asked_at is not null
    group by study, vignette, source_file, anchored_cell, item, temperature
),

-- calls that differ have other times, and most have a time of their own: it is not that of the file
timed as (
    select
        study, vignette,
        sum(n_times) >= sum(n) / 2
        and sum(n_times - 1) >= getvariable('distinct_times') * sum(n_calls - 1) as is_timed,
        sum(n_calls - 1) = 0 as is_unknown
    from asked_at_once
    group by all
),

answered_alike as (
    select study, vignette, count(*) as n, count(distinct call_hash) as n_calls from recorded
    group by study, vignette, source_file, anchored_cell, item, temperature, text_hash, number
),

-- equal answers to one question differ in what else their lines say, such as how long they took
told_apart as (
    select study, vignette, sum(n_calls - 1) > getvariable('distinct_lines') * sum(n - 1) as is_told_apart
    from answered_alike
    group by all
),

weighed as (
    select
        trials.*,
        trials.source != 'recorded'
        or (trials.asked_at is not null and timed.is_timed and (not timed.is_unknown or trials.temperature > 0))
        or told_apart.is_told_apart
        or (trials.temperature > 0 and trials.text_length >= getvariable('long_text')) as is_known_again
    from trials
    semi join alike using (trial_id)
    left join timed using (study, vignette)
    left join told_apart using (study, vignette)
),

numbered as (
    select
        trial_id, source,
        row_number() over (
            partition by
                anchored_cell, item, judged, temperature, asked_at, text_hash, number, said_hash,
                -- the same run at the same time is a copy, whatever else is known
                case
                    when is_known_again then 'any run'
                    when asked_at is not null then coalesce(replicate::varchar, trial_id)
                    else trial_id
                end
            order by is_new, source_file, source_line, replicate, trial_id
        ) as nth_copy,
        row_number() over (
            partition by anchored_cell, item, judged, repeat, temperature, replicate, prompt_hash, session_id
            order by is_new, asked_at, trial_id
        ) as nth_replicate
    from weighed
    inner join landed using (trial_id)
)

select
    trial_id,
    case
        when nth_copy > 1 then 'copy number ' || nth_copy
        else 'its replicate is there ' || nth_replicate || ' times'
    end as duplicate
from numbered
where nth_copy > 1 or (source != 'recorded' and nth_replicate > 1)
