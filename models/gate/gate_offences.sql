-- One row per audited trial and thing that is wrong with it, in words. Each select is a check of ingest/gate.yaml, a
-- reason of seeds/flag_reasons.csv, or both. Columns are named by the first. -- noqa: disable=AL03
with settings as (
    select * from {{ source('gate', 'settings') }}
),

batches as (
    select batch_id, llms, models, case_numbers from {{ ref('gate_batches') }}
),

all_trials as (
    select * from {{ ref('gate_trials') }}
),

all_lines as (
    select * from {{ ref('gate_lines') }}
),

known_llms as (
    select llm from {{ ref('llms') }}
),

known_techniques as (
    select technique from {{ ref('techniques') }}
),

frequent_answers as (
    select * from {{ ref('gate_frequent_answers') }}
),

drifts as (
    select * from {{ ref('gate_drifts') }}
),

trials as (
    select * from all_trials
    where is_new
),

lines as (
    select trials.*, all_lines.* exclude (trial_id)
    from trials
    inner join all_lines using (trial_id)
),

lacking as (
    select
        trial_id,
        concat_ws(
            ', ',
            case when trim(vignette) = '' then 'vignette' end,
            case when trim(technique) = '' then 'technique' end,
            case when trim(llm) = '' then 'llm' end,
            case when source != 'recorded' and prompt_hash is null then 'prompt_hash' end,
            case when source != 'recorded' and asked_at is null then 'asked_at' end,
            case when direction in ('low', 'high') and anchor_value is null then 'anchor_value' end
        ) as fields
    from trials
),

-- a study says which LLMs it asks; an archive does not, but a few rows of an LLM that nobody knows do not belong to it
strangers as (
    select
        trials.*,
        count(*) over (partition by trials.batch_id, trials.llm)
        / count(*) over (partition by trials.batch_id) as share,
        case
            when trials.is_archive then trials.llm not in (select known_llms.llm from known_llms)
            else not list_contains(batches.llms, trials.llm_recorded)
        end as is_stranger
    from trials
    inner join batches using (batch_id)
),

-- the median may be wrong by the same factor where most of a cell is; the baseline is not
scaled as (
    select *, coalesce(baseline, usual_number) as usual, number / nullif(usual, 0) as factor from trials
),

-- a half that is no exact binary number may have been rounded either way
ruled as (
    select
        *,
        case direction when 'low' then rule_low else rule_high end as by_rule,
        case rule when 'fixed' then by_rule else coalesce(anchor_baseline, baseline) * by_rule end as exact_anchor,
        case rule when 'fixed' then by_rule else floor(exact_anchor + 0.5) end as expected_anchor
    from trials
    where rule is not null and direction in ('low', 'high') and anchor_value is not null
),

-- an archive declares no rule: what most of its trials have is the yardstick, for a warning
factors as (
    select trial_id, study, direction, round(anchor_value / baseline / 0.05) * 0.05 as factor, is_new from all_trials
    where rule is null and direction in ('low', 'high') and baseline > 0
),

usual_factors as (
    select study, direction, mode(factor) as usual_factor from factors
    group by all
),

ordered as (
    select
        trial_id,
        is_new,
        source,
        row_number() over (
            partition by
                study,
                vignette,
                llm,
                technique,
                direction,
                anchor_value,
                temperature,
                asked_at,
                text_hash,
                number,
                replicate
            order by trial_id
        ) as nth_copy,
        row_number() over (
            partition by
                study,
                vignette,
                llm,
                technique,
                direction,
                anchor_value,
                temperature,
                replicate,
                prompt_hash,
                session_id
            order by asked_at, trial_id
        ) as nth_replicate
    from all_trials
    where source != 'recorded' or asked_at is not null
),

frequent as (
    select trials.*, frequent_answers.* exclude (study, vignette, llm, technique, direction, anchor_value)
    from trials
    inner join frequent_answers
        on
            trials.study = frequent_answers.study and trials.vignette = frequent_answers.vignette
            and trials.llm = frequent_answers.llm and trials.technique = frequent_answers.technique
            and trials.direction = frequent_answers.direction
            and trials.anchor_value is not distinct from frequent_answers.anchor_value
    where trials.status = 'answered'
)

select trial_id, 'missing_field' as reason, 'without ' || fields as detail from lacking
where fields != ''
union all
select
    trial_id,
    case when is_archive and share >= stray_share then 'new_llm' else 'unknown_llm' end,
    llm || case when is_archive then ' is not in seeds/llms.csv' else ' is not in the study' end
from strangers
cross join settings
where is_stranger
union all
select trial_id, 'unknown_vignette', vignette || ' has neither a unit nor a range' from trials
where domain = 'unknown'
union all
select trial_id, 'unknown_technique', technique || ' is not in seeds/techniques.csv' from trials
where technique not in (select known_techniques.technique from known_techniques)
union all
select trial_id, 'temperature_out_of_range', 'temperature ' || temperature from trials
where temperature < 0 or temperature > 2 or isnan(temperature)
union all
select
    trial_id,
    'out_of_range',
    number
    || ' is not between '
    || coalesce(valid_min::varchar, 'any')
    || ' and '
    || coalesce(valid_max::varchar, 'any')
from trials
where status = 'out_of_range'
union all
select trial_id, 'factor_1000', number || ' where ' || usual || ' is usual' from scaled
where factor between 300 and 3000 or factor between 1 / 3000.0 and 1 / 300.0
union all
select
    trial_id,
    'wrong_anchor',
    'anchor ' || anchor_value
    || coalesce(' is ' || round(anchor_value / nullif(baseline, 0), 2) || ' of the baseline ' || round(baseline, 2), '')
    || '; the rule for ' || direction || ' says ' || by_rule || coalesce(' (' || expected_anchor || ')', '')
from ruled
cross join settings
where
    case rule
        when 'fixed' then anchor_value != by_rule
        else anchor_value != floor(anchor_value) or coalesce(abs(anchor_value - exact_anchor) > 0.5 + 1e-9, true)
    end
    -- the baseline may have been the mean of fewer answers
    or (
        rule = 'proportional'
        and abs(anchor_baseline - baseline)
        > greatest(baseline_share * abs(baseline), coalesce(baseline_se * sd_baseline / sqrt(anchor_n_trials), 0))
    )
union all
select
    trial_id,
    'anchor_factor',
    direction
    || ' anchor at '
    || round(factor, 2)
    || ' of the baseline; most of the study at '
    || round(usual_factor, 2)
from factors
inner join usual_factors using (study, direction)
where is_new and abs(factor - usual_factor) > 0.051
union all
select trial_id, 'other_anchor', 'anchor ' || anchor_value || '; most of its cell have ' || usual_anchor from trials
where rule is null and direction in ('low', 'high') and anchor_value != usual_anchor
union all
select trial_id, 'baseline_with_anchor', 'called unanchored, with the anchor ' || anchor_value from trials
where direction = 'none' and anchor_value is not null
union all
select trial_id, 'other_prompt', 'prompt ' || prompt_hash || '; most of its cell have ' || usual_prompt from trials
where prompt_hash != usual_prompt
union all
select trial_id, 'other_model', llm_returned || ' answered'
from trials
inner join batches using (batch_id)
where
    llm_returned is not null
    and not list_has_all(
        string_split_regex(lower(llm_returned), '[^a-z0-9]+'),
        list_filter(
            string_split_regex(lower(split_part(coalesce(models[llm_recorded], llm), '/', -1)), '[^a-z0-9]+'),
            lambda word: word != ''
        )
    )
union all
select
    trial_id,
    'duplicate',
    case
        when nth_copy > 1 then 'copy number ' || nth_copy else 'its replicate is there ' || nth_replicate || ' times'
    end
from ordered
where is_new and (nth_copy > 1 or (source != 'recorded' and nth_replicate > 1))
union all
select trial_id, 'in_the_future', 'asked at ' || asked_at || ' and loaded at ' || loaded_at
from trials
cross join settings
where greatest(asked_at, finished_at) > loaded_at + to_seconds(late_s)
union all
select trial_id, 'backwards', 'asked at ' || asked_at || ' and finished at ' || finished_at from trials
where finished_at < asked_at
union all
select trial_id, 'stale_flag', 'outOfRange is ' || flag_out_of_range || ' beside ' || number from lines
where
    flag_out_of_range is distinct from (number < flag_min or number > flag_max)
    and flag_min < flag_max and number is not null
union all
select trial_id, 'mended_by_source', 'the source has replaced ' || number_before || ' by ' || number from lines
where number_before is distinct from number and number_before is not null
union all
select
    trial_id,
    'reading_differs',
    'recorded '
    || coalesce(number::varchar, 'nothing')
    || ', the text says '
    || coalesce(number_said::varchar, status_said)
from lines
where number is distinct from number_said and status_said is not null
union all
select trial_id, 'range_midpoint', 'the midpoint ' || number from trials
where source != 'recorded' and note_read = 'range_midpoint' and status = 'answered'
union all
select trial_id, 'equals_anchor', 'the anchor, ' || anchor_value from frequent
where has_anchors and number = anchor_value
union all
select trial_id, 'equals_case_number', number || ' is a number of the case text'
from frequent
inner join batches using (batch_id)
where has_case_numbers and list_contains(case_numbers, number)
union all
select trial_id, 'at_most_one', number || ' where ' || usual_number || ' is usual' from frequent
where has_ones and number <= 1
union all
select trial_id, 'drift', 'a mean of ' || round(mean_new, 2) || ' after ' || round(mean_old, 2) || ', z ' || round(z, 1)
from trials
inner join drifts using (study, vignette, llm, technique, direction)
