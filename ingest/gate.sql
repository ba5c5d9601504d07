-- What the gate computes, in DuckDB in memory beside the warehouse. Rendered by ingest/gate.py with Jinja: the reading of
-- a number and the status of a trial are the models' own macros, the thresholds come from gate.yaml.

-- What an audited batch is compared with: the published batches of its study and vignette that were loaded before it.
create table published as
with all_published as (
    {{ published_batches('warehouse.raw.batch_verdicts', 'warehouse.raw.gate_acts') }}
)

select loaded.batch_id
from all_published
inner join warehouse.raw.batches as loaded on all_published.batch_id = loaded.batch_id
inner join batches on loaded.study = batches.study and loaded.vignette = batches.vignette
where is_published and (loaded.loaded_at, loaded.batch_id) < (batches.loaded_at, batches.batch_id);

-- Every trial of the studies and vignettes that the audited batches are of, as the models would have it.
create table readings as
with defined as (
    select
        study,
        vignette,
        arg_max(domain, loaded_at) as domain,
        arg_max(response_unit, loaded_at) as response_unit,
        arg_max(valid_min, loaded_at) as valid_min,
        arg_max(valid_max, loaded_at) as valid_max
    from warehouse.raw.batches
    where domain is not null
    group by all
),

vignettes as (
    select study, vignette, domain, response_unit, valid_min::double as valid_min, valid_max::double as valid_max
    from seeded_vignettes
    anti join defined using (study, vignette)
    union all
    select * from defined
),

landed as (
    select
        raw.trial_id,
        raw.batch_id,
        raw.study,
        raw.vignette,
        raw.source,
        raw.session_id,
        raw.llm_recorded,
        raw.llm_returned,
        coalesce(aliases.llm, raw.llm_recorded) as llm,
        raw.technique,
        raw.anchor_direction,
        raw.anchor_value,
        raw.anchor_baseline,
        raw.anchor_n_trials,
        raw.temperature,
        raw.replicate,
        raw.phase,
        raw.attempt_of,
        raw.prompt_hash,
        raw.asked_at,
        raw.finished_at,
        raw.status_recorded,
        raw.response_recorded,
        -- of document A's SACD only the beginning of the last reply is kept; its first paragraph states the answer
        case
            when raw.response_text is not null then raw.response_text
            when
                raw.source = 'recorded' and raw.technique = 'sacd'
                and (raw.line ->> '$.iterationDetails[#-1].biasDetected') = 'true'
                then nullif(split_part(raw.line ->> '$.iterationDetails[#-1].rawResponse', chr(10) || chr(10), 1), '')
        end as response_text,
        raw.line,
        vignettes.domain,
        vignettes.response_unit,
        vignettes.valid_min,
        vignettes.valid_max
    from warehouse.raw.trials as raw
    semi join batches on raw.study = batches.study and raw.vignette = batches.vignette
    left join aliases on raw.llm_recorded = aliases.alias
    left join vignettes on raw.study = vignettes.study and raw.vignette = vignettes.vignette
),

-- one text is read once, however many answered it
texts as (
    select distinct response_text, response_unit from landed
    where response_text is not null
),

texts_read as (
    select *, {{ read_response('response_text', 'response_unit') }} as found from texts
),

read as (
    select landed.*, texts_read.found
    from landed
    left join texts_read
        on landed.response_text = texts_read.response_text
        and landed.response_unit is not distinct from texts_read.response_unit
),

numbers as (
    select
        * exclude (found, response_text, line),
        md5(response_text) as text_hash,
        case
            when source = 'recorded' or status_recorded is not null then response_recorded
            else coalesce(response_recorded, struct_extract(found, 'response'))
        end as number,
        struct_extract(found, 'response') as number_read,
        struct_extract(found, 'status') as status_read,
        struct_extract(found, 'note') as note_read,
        case when source = 'recorded' then try_cast(line ->> '$.originalResponse' as double) end as number_before,
        case when source = 'recorded' then try_cast(line ->> '$.outOfRange' as boolean) end as flag_out_of_range,
        case when source = 'recorded' then try_cast(line ->> '$.validRange.min' as double) end as flag_min,
        case when source = 'recorded' then try_cast(line ->> '$.validRange.max' as double) end as flag_max
    from read
)

select
    *,
    {{ trial_status('status_recorded', "case when source != 'recorded' then status_read end", 'number', 'valid_min', 'valid_max') }}
        as status
from numbers;

-- An LLM's own baseline; where trials have phases, from the one that the anchors were derived from.
create table baselines as
select study, vignette, llm, avg(number) as baseline, stddev_samp(number) as sd_baseline
from readings
where
    technique = 'no_technique' and anchor_value is null and status = 'answered'
    and (phase is null or phase = 'baselines')
group by all;

create table trials as
with directed as (
    select
        readings.*,
        baselines.baseline,
        baselines.sd_baseline,
        batches.batch_id is not null as is_new,
        readings.batch_id in (select batch_id from published) as is_published,
        batches.is_archive,
        batches.rule,
        batches.rule_low,
        batches.rule_high,
        batches.minimum,
        batches.llms,
        batches.loaded_at,
        case
            when anchor_direction in ('none', 'low', 'high') then anchor_direction
            when anchor_value is null then 'none'
            when anchor_value < baseline then 'low'
            when anchor_value > baseline then 'high'
            else 'unknown'
        end as direction
    from readings
    left join batches using (batch_id)
    left join baselines on
        readings.study = baselines.study and readings.vignette = baselines.vignette and readings.llm = baselines.llm
),

cells as (
    select
        study,
        vignette,
        llm,
        technique,
        direction,
        mode(anchor_value) as usual_anchor,
        mode(prompt_hash) as usual_prompt,
        median(number) filter (where status = 'answered') as usual_number
    from directed
    group by all
)

select directed.*, cells.usual_anchor, cells.usual_prompt, cells.usual_number
from directed
inner join cells using (study, vignette, llm, technique, direction);

drop table readings;

create view new_trials as
select * from trials where is_new;

-- What is wrong with which trial, in words.
create table offences (trial_id varchar, reason varchar, detail varchar);

insert into offences
select
    trial_id,
    'missing_field',
    'without ' || concat_ws(
        ', ',
        case when trim(vignette) = '' then 'vignette' end,
        case when trim(technique) = '' then 'technique' end,
        case when trim(llm) = '' then 'llm' end,
        case when source != 'recorded' and prompt_hash is null then 'prompt_hash' end,
        case when source != 'recorded' and asked_at is null then 'asked_at' end,
        case when direction in ('low', 'high') and anchor_value is null then 'anchor_value' end
    )
from new_trials
where
    trim(vignette) = '' or trim(technique) = '' or trim(llm) = ''
    or (source != 'recorded' and (prompt_hash is null or asked_at is null))
    or (direction in ('low', 'high') and anchor_value is null);

-- a study says which LLMs it asks; an archive does not, but a few rows of an LLM that nobody knows do not belong to it
insert into offences
with shares as (
    select batch_id, llm, count(*) / sum(count(*)) over (partition by batch_id) as share from new_trials
    group by batch_id, llm
)

select
    trial_id,
    case when is_archive and share >= {{ stray_share }} then 'new_llm' else 'unknown_llm' end,
    llm || case when is_archive then ' is not in seeds/llms.csv' else ' is not in the study' end
from new_trials
inner join shares using (batch_id, llm)
where case when is_archive then llm not in (select llm from known_llms) else not list_contains(llms, llm_recorded) end;

insert into offences
select trial_id, 'unknown_vignette', vignette || ' has neither a unit nor a range' from new_trials
where domain is null;

insert into offences
select trial_id, 'unknown_technique', technique || ' is not in seeds/techniques.csv' from new_trials
where technique not in (select technique from known_techniques);

insert into offences
select trial_id, 'temperature_out_of_range', 'temperature ' || temperature from new_trials
where temperature < 0 or temperature > 2 or isnan(temperature);

insert into offences
select
    trial_id,
    'out_of_range',
    number || ' is not between ' || coalesce(valid_min::varchar, 'any') || ' and ' || coalesce(valid_max::varchar, 'any')
from new_trials
where status = 'out_of_range';

-- the median may be wrong by the same factor where most of a cell is; the baseline is not
insert into offences
select trial_id, 'factor_1000', number || ' where ' || coalesce(baseline, usual_number) || ' is usual' from new_trials
where
    number / nullif(coalesce(baseline, usual_number), 0) between 300 and 3000
    or number / nullif(coalesce(baseline, usual_number), 0) between 1 / 3000.0 and 1 / 300.0;

-- a half that is no exact binary number may have been rounded either way
insert into offences
with ruled as (
    select *, case direction when 'low' then rule_low else rule_high end as by_rule
    from new_trials
    where rule is not null and direction in ('low', 'high') and anchor_value is not null
),

expected as (
    select
        *,
        case rule when 'fixed' then by_rule else coalesce(anchor_baseline, baseline) * by_rule end as exact_anchor,
        case rule when 'fixed' then by_rule else floor(exact_anchor + 0.5) end as expected_anchor
    from ruled
)

select
    trial_id,
    'wrong_anchor',
    'anchor ' || anchor_value
    || coalesce(' is ' || round(anchor_value / nullif(baseline, 0), 2) || ' of the baseline ' || round(baseline, 2), '')
    || '; the rule for ' || direction || ' says ' || by_rule || coalesce(' (' || expected_anchor || ')', '')
from expected
where
    case rule
        when 'fixed' then anchor_value != by_rule
        else anchor_value != floor(anchor_value) or coalesce(abs(anchor_value - exact_anchor) > 0.5 + 1e-9, true)
    end
    -- the baseline may have been the mean of fewer answers
    or (
        rule = 'proportional'
        and abs(anchor_baseline - baseline)
        > greatest({{ baseline_share }} * abs(baseline), coalesce({{ baseline_se }} * sd_baseline / sqrt(anchor_n_trials), 0))
    );

-- an archive declares no rule: what most of its trials have is the yardstick, for a warning
insert into offences
with factors as (
    select trial_id, study, direction, round(anchor_value / baseline / 0.05) * 0.05 as factor, is_new from trials
    where rule is null and direction in ('low', 'high') and baseline > 0
),

usual as (
    select study, direction, mode(factor) as usual_factor from factors
    group by all
)

select
    trial_id,
    'anchor_factor',
    direction || ' anchor at ' || round(factor, 2) || ' of the baseline; most of the study at ' || round(usual_factor, 2)
from factors
inner join usual using (study, direction)
where is_new and abs(factor - usual_factor) > 0.051;

insert into offences
select trial_id, 'other_anchor', 'anchor ' || anchor_value || '; most of its cell have ' || usual_anchor from new_trials
where rule is null and direction in ('low', 'high') and anchor_value != usual_anchor;

insert into offences
select trial_id, 'baseline_with_anchor', 'called unanchored, with the anchor ' || anchor_value from new_trials
where direction = 'none' and anchor_value is not null;

insert into offences
select trial_id, 'other_prompt', 'prompt ' || prompt_hash || '; most of its cell have ' || usual_prompt from new_trials
where prompt_hash != usual_prompt;

insert into offences
select trial_id, 'other_model', llm_returned || ' answered' from new_trials
left join asked using (batch_id, llm_recorded)
where
    llm_returned is not null
    and not list_has_all(
        string_split_regex(lower(llm_returned), '[^a-z0-9]+'),
        list_filter(
            string_split_regex(lower(split_part(coalesce(asked.model, llm), '/', -1)), '[^a-z0-9]+'), lambda word: word != ''
        )
    );

insert into offences
with ordered as (
    select
        trial_id,
        is_new,
        source,
        row_number() over (
            partition by
                study, vignette, llm, technique, direction, anchor_value, temperature, asked_at, text_hash, number, replicate
            order by trial_id
        ) as nth_copy,
        row_number() over (
            partition by
                study, vignette, llm, technique, direction, anchor_value, temperature, replicate, prompt_hash, session_id
            order by asked_at, trial_id
        ) as nth_replicate
    from trials
    where source != 'recorded' or asked_at is not null
)

select
    trial_id,
    'duplicate',
    case when nth_copy > 1 then 'copy number ' || nth_copy else 'its replicate is there ' || nth_replicate || ' times' end
from ordered
where is_new and (nth_copy > 1 or (source != 'recorded' and nth_replicate > 1));

insert into offences
select trial_id, 'in_the_future', 'asked at ' || asked_at || ' and loaded at ' || loaded_at from new_trials
where greatest(asked_at, finished_at) > loaded_at + to_seconds({{ late_s }});

insert into offences
select trial_id, 'backwards', 'asked at ' || asked_at || ' and finished at ' || finished_at from new_trials
where finished_at < asked_at;

insert into offences
select trial_id, 'stale_flag', 'outOfRange is ' || flag_out_of_range || ' beside ' || number from new_trials
where flag_out_of_range is distinct from (number < flag_min or number > flag_max) and flag_min < flag_max and number is not null;

insert into offences
select trial_id, 'mended_by_source', 'the source has replaced ' || number_before || ' by ' || number from new_trials
where number_before is distinct from number and number_before is not null;

insert into offences
select
    trial_id,
    'reading_differs',
    'recorded ' || coalesce(number::varchar, 'nothing') || ', the text says ' || coalesce(number_read::varchar, status_read)
from new_trials
where
    source = 'recorded' and number is distinct from number_read
    -- a first paragraph without a number says nothing of what follows it
    and case when technique = 'sacd' then status_read in ('answered', 'refused') else status_read is not null end;

insert into offences
select trial_id, 'range_midpoint', 'the midpoint ' || number from new_trials
where source != 'recorded' and note_read = 'range_midpoint' and status = 'answered';

{#- More frequent than elsewhere, also where chance made the few answers of a small cell agree. -#}
{% macro exceeds(n_equal, elsewhere) -%}
    {{ n_equal }} >= {{ fewest }}
    and {{ n_equal }} / n - coalesce({{ elsewhere }}, 0) - {{ excess_se }} * sqrt({{ n_equal }} / n * (1 - {{ n_equal }} / n) / n)
    > {{ excess }}
{%- endmacro %}
-- Answers that are suspicious by how frequent they are in their cell, against the LLM's other answers.
create table answers as
select trials.*, coalesce(case_numbers.numbers, []) as case_numbers
from trials
left join case_numbers using (study, vignette)
where status = 'answered';

create table frequent as
with counted as (
    select study, vignette, llm, technique, direction, anchor_value, case_numbers, number, is_new, count(*) as n
    from answers
    group by all
),

cells as (
    select
        study,
        vignette,
        llm,
        technique,
        direction,
        anchor_value,
        sum(n) as n,
        sum(n) filter (where number = anchor_value) as n_anchor,
        sum(n) filter (where list_contains(case_numbers, number)) as n_case,
        sum(n) filter (where number <= 1) as n_one
    from counted
    where is_new
    group by all
),

-- the same number among the answers of that LLM that were given another anchor, or none
others as (
    select
        cells.study,
        cells.vignette,
        cells.llm,
        cells.technique,
        cells.direction,
        cells.anchor_value,
        sum(counted.n) filter (where counted.number = cells.anchor_value) / sum(counted.n) as anchor_share,
        sum(counted.n) filter (where list_contains(counted.case_numbers, counted.number)) / sum(counted.n) as case_share
    from cells
    inner join counted on
        cells.study = counted.study and cells.vignette = counted.vignette and cells.llm = counted.llm
        and (cells.technique != counted.technique or cells.direction != counted.direction)
        and counted.anchor_value is distinct from cells.anchor_value
    group by all
),

usual as (
    select study, vignette, llm, quantile_disc(number, 0.5) as usual_number from answers
    group by all
)

select
    cells.study,
    cells.vignette,
    cells.llm,
    cells.technique,
    cells.direction,
    cells.anchor_value,
    coalesce({{ exceeds('n_anchor', 'anchor_share') }}, false) as has_anchors,
    coalesce({{ exceeds('n_case', 'case_share') }}, false) as has_case_numbers,
    coalesce(n_one > 0 and usual_number > 5, false) as has_ones
from cells
left join others
    on
        cells.study = others.study and cells.vignette = others.vignette and cells.llm = others.llm
        and cells.technique = others.technique and cells.direction = others.direction
        and cells.anchor_value is not distinct from others.anchor_value
left join usual on cells.study = usual.study and cells.vignette = usual.vignette and cells.llm = usual.llm
where n >= {{ fewest }};

insert into offences
with marked as (
    select answers.*, has_anchors, has_case_numbers, has_ones
    from answers
    inner join frequent
        on
            answers.study = frequent.study and answers.vignette = frequent.vignette and answers.llm = frequent.llm
            and answers.technique = frequent.technique and answers.direction = frequent.direction
            and answers.anchor_value is not distinct from frequent.anchor_value
    where is_new
)

select trial_id, 'equals_anchor', 'the anchor, ' || anchor_value from marked
where has_anchors and number = anchor_value
union all
select trial_id, 'equals_case_number', number || ' is a number of the case text' from marked
where has_case_numbers and list_contains(case_numbers, number)
union all
select trial_id, 'at_most_one', number || ' where ' || usual_number || ' is usual' from marked
where has_ones and number <= 1;

-- A cell's mean against its earlier published answers.
create table drifts as
with halves as (
    select
        study,
        vignette,
        llm,
        technique,
        direction,
        count(*) filter (where is_new) as n_new,
        count(*) filter (where not is_new) as n_old,
        avg(number) filter (where is_new) as mean_new,
        avg(number) filter (where not is_new) as mean_old,
        coalesce(var_samp(number) filter (where is_new), 0) as variance_new,
        coalesce(var_samp(number) filter (where not is_new), 0) as variance_old
    from answers
    where is_new or is_published
    group by all
)

select
    *,
    -- rounding alone has a variance of 1/12
    abs(mean_new - mean_old)
    / sqrt(greatest(variance_new, variance_old, 1 / 12.0) * (1 / n_new + 1 / n_old)) as z
from halves
where n_new >= {{ fewest }} and n_old >= {{ fewest }};

insert into offences
select trial_id, 'drift', 'a mean of ' || round(mean_new, 2) || ' after ' || round(mean_old, 2) || ', z ' || round(z, 1)
from new_trials
inner join drifts using (study, vignette, llm, technique, direction)
where z > {{ drift_z }} and abs(mean_new - mean_old) > {{ drift_share }} * abs(mean_old);

-- What is wrong with a cell as a whole: its trials stand for it.
create table cells as
select
    batch_id,
    study,
    vignette,
    llm,
    technique,
    direction,
    count(*) as n_trials,
    count(*) filter (where status = 'answered') as n_answered,
    count(*) filter (where status = 'refused') as n_refused,
    count(*) filter (where status = 'unparsed') as n_unparsed,
    count(*) filter (where status = 'failed') as n_failed,
    any_value(minimum) as minimum,
    any_value(is_archive) as is_archive,
    bool_or(phase = 'anchored' or phase = 'baselines' or phase is null) as is_complete_phase
from new_trials
group by all;

create table cell_offences (
    batch_id varchar, llm varchar, technique varchar, direction varchar, reason varchar, value double, n double,
    detail varchar
);

insert into cell_offences
select batch_id, llm, technique, direction, 'refused', n_refused / n_trials, n_refused, n_refused || ' of ' || n_trials
from cells
where n_trials >= {{ fewest }} and n_refused > 0
union all
select batch_id, llm, technique, direction, 'unparsed', n_unparsed / n_trials, n_unparsed, n_unparsed || ' of ' || n_trials
from cells
where n_trials >= {{ fewest }} and n_unparsed > 0
union all
select batch_id, llm, technique, direction, 'failed', n_failed / n_trials, n_failed, n_failed || ' of ' || n_trials
from cells
where n_trials >= {{ fewest }} and n_failed > 0
union all
select
    batch_id, llm, technique, direction, 'rerun_until_enough', n_trials / n_answered, n_trials - n_answered,
    n_trials || ' asked until ' || n_answered || ' answered'
from cells
where is_archive and n_answered between {{ minimum }} and {{ minimum }} + 10 and n_trials >= {{ rerun }} * n_answered;

-- together with what earlier batches brought of the cell
insert into cell_offences
with together as (
    select study, vignette, llm, technique, direction, count(*) as n_together, count(distinct temperature) as n_temperatures
    from trials
    group by all
)

select batch_id, llm, technique, direction, 'below_minimum', 1, n_together, n_together || ' trials'
from cells
inner join together using (study, vignette, llm, technique, direction)
where is_complete_phase and n_together < coalesce(minimum * greatest(n_temperatures, 1), {{ minimum }});

insert into cell_offences
with upstreams as (
    select trials.batch_id, trials.llm, trials.technique, trials.direction, count(distinct upstream_provider) as n
    from new_trials as trials
    inner join warehouse.raw.calls as calls on trials.trial_id = calls.trial_id
    where calls.error is null
    group by all
)

select batch_id, llm, technique, direction, 'upstream_providers', n, n, n || ' upstream providers'
from upstreams
where n > 1;

insert into cell_offences
select distinct batch_id, llm, null, null, 'no_baseline', 1, 1, llm || ' has anchored trials and no baseline'
from new_trials
where direction in ('low', 'high') and baseline is null and coalesce(rule, 'proportional') = 'proportional';
