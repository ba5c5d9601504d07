-- One row per audited trial and thing that is wrong with it, in words. Each column of `wrong` is a check of
-- ingest/gate.yaml, a reason of seeds/flag_reasons.csv, or both, null where all is well: of most this table says when
-- something is wrong, and what.
{% set offences = [
    ('missing_field', "true", "'without ' || nullif(concat_ws(', ',
        case when trim(vignette) = '' then 'vignette' end,
        case when trim(technique) = '' then 'technique' end,
        case when trim(llm) = '' then 'llm' end,
        case when source != 'recorded' and prompt_hash is null then 'prompt_hash' end,
        case when source != 'recorded' and asked_at is null then 'asked_at' end,
        case when is_anchored and anchor_value is null then 'anchor_value' end
    ), '')"),
    ('new_llm', "is_archive and llm not in (select llm from llms)", "llm || ' is not in seeds/llms.csv'"),
    ('unknown_llm', "not is_archive and not map_contains(models, llm_recorded)", "llm || ' is not in the study'"),
    ('error_as_answer', "is_error_text", "'an error message in the place of an answer'"),
    ('unknown_vignette', "domain = 'unknown'", "vignette || ' has neither a unit nor a range'"),
    ('unknown_technique',
        "technique not in (select technique from techniques)
        and not coalesce(list_contains(techniques, technique), false)",
        "technique || ' is neither in the study nor in seeds/techniques.csv'"),
    ('temperature_out_of_range', "isnan(temperature) or temperature not between 0 and 2",
        "'temperature ' || temperature"),
    ('out_of_range', "status = 'out_of_range' and not coalesce(is_of_llm, false)",
        "concat(
            number, ' is not between ', coalesce(valid_min::varchar, 'any'),
            ' and ', coalesce(valid_max::varchar, 'any')
        )"),
    ('factor_1000', is_a_thousand_off('factor') ~ " and not coalesce(is_another_unit, false)",
        "number || ' where ' || usual || ' is usual'"),
    ('wrong_anchor', "is_anchored and anchor_value is not null and case rule
        when 'fixed' then anchor_value != by_rule
        when 'proportional'
            then
                anchor_value != floor(anchor_value)
                or coalesce(abs(anchor_value - exact_anchor) > 0.5 + 1e-9, true)
                -- the baseline may have been the mean of fewer answers
                or abs(anchor_baseline - baseline) > greatest(
                    getvariable('baseline_share') * abs(baseline),
                    coalesce(getvariable('baseline_se') * sd_baseline / sqrt(anchor_n_trials), 0)
                )
    end", "concat(
        'anchor ' || anchor_value,
        ' is ' || round(anchor_value / nullif(baseline, 0), 2) || ' of the baseline ' || round(baseline, 2),
        '; the rule for ' || direction || ' says ' || by_rule, ' (' || expected_anchor || ')'
    )"),
    ('other_anchor', "rule is null and is_anchored and anchor_value != usual_anchor",
        "'anchor ' || anchor_value || '; '
        || if(anchor_by_protocol is null, 'most of its cell have ', 'by the protocol its LLM gets ') || usual_anchor"),
    ('baseline_with_anchor', "direction = 'none' and arm is null and anchor_value is not null",
        "'called unanchored, with the anchor ' || anchor_value"),
    ('other_prompt', "not coalesce(is_another_question, false) and prompt_hash != usual_prompt
        and (item_of_anchors is not null or item is null or source != 'recorded')",
        "'prompt ' || prompt_hash || '; most of its cell have ' || usual_prompt"),
    ('in_the_future', "greatest(asked_at, finished_at) > loaded_at + to_seconds(getvariable('late_s'))",
        "concat('asked at ', asked_at, ' and loaded at ', loaded_at)"),
    ('backwards', "finished_at < asked_at", "'asked at ' || asked_at || ' and finished at ' || finished_at"),
    ('stale_flag', "is_flag_stale", "concat('outOfRange is ', flag_out_of_range, ' beside ', number)"),
    ('mended_by_source', "is_mended", "concat('the source has replaced ', number_before, ' by ', number)"),
    ('reading_differs', "is_read_otherwise",
        "coalesce('the source read ' || coalesce(label_by_source, number_by_source::varchar),
            'recorded ' || coalesce(number::varchar, 'nothing'))
        || coalesce(', the text says ' || coalesce(label_said, number_said::varchar), ', the text is ' || status_said)"),
    ('range_midpoint', "source != 'recorded' and note_read = 'range_midpoint' and status = 'answered'",
        "concat('the midpoint ', number)"),
    ('equals_anchor', "status = 'answered' and has_anchors and number = anchor_value",
        "'the anchor, ' || anchor_value"),
    ('equals_case_number', "status = 'answered' and has_case_numbers and list_contains(case_numbers, number)",
        "number || ' is a number of the case text'"),
    ('at_most_one', "status = 'answered' and has_ones and number <= 1",
        "number || ' where ' || usual_number || ' is usual'"),
    ('invalid_label', "answer_kind in ('choice', 'label') and status = 'unparsed'",
        "'the reply names none of the answers that were offered, or two'"),
    ('missing_pair', "n_lacking > 0",
        "n_lacking || if(n_lacking = 1, ' other arm has', ' other arms have') || ' no answer to the item'"),
    ('empty_text', "answer_kind = 'text' and status = 'unparsed'", "'the reply holds no text'"),
    ('over_context', "tokens_of_call > window_tokens",
        "tokens_of_call || ' tokens of question and answer, where ' || window_tokens || ' fit'"),
    ('drift', "z is not null",
        "'a mean of ' || round(mean_new, 2) || ' after ' || round(mean_old, 2) || ', z ' || round(z, 1)"),
    ('unreadable', "n_unread > getvariable('unreadable') * n_replies",
        "concat_ws(' ', llm, technique, coalesce(arm, direction), item)
        || ': ' || n_unread || ' of ' || n_replies || ' answers cannot be read'"),
] %}
with batches as (
    select batch_id, models, techniques, case_numbers from {{ ref('gate_batches') }}
),

paired as (
    select (study, paradigm) from {{ ref('stg_paradigms') }}
    where pairing = 'item'
),

-- what is wrong with an LLM or a cell of it, and what its prompts tell
told_together as (
    select * from {{ source('gate', 'culprits') }}
    {% for reason, model in {
        'changed_midway': 'gate_changes', 'same_answers': 'gate_same_answers', 'reversed': 'gate_reversed',
        'cut_off': 'gate_cut', 'collapsed_repeats': 'gate_collapsed',
    }.items() %}
    union all by name
    select *, '{{ reason }}' as reason from {{ ref(model) }}
    {% endfor %}
),

{% for model in 'llms llm_aliases techniques gate_kinds gate_copies gate_lines gate_frequent_answers'.split() %}
{{ model }} as (
    select * from {{ ref(model) }}
),
{% endfor %}

-- not put together for all trials at once: each query takes the few columns that it needs
trials as not materialized (
    select
        *,
        -- the median may be wrong by the same factor where most of a cell is; the baseline is not
        coalesce(baseline, usual_number) as usual,
        number / nullif(usual, 0) as factor,
        -- a half that is no exact binary number may have been rounded either way
        case rule when 'fixed' then by_rule else coalesce(anchor_baseline, baseline) * by_rule end as exact_anchor,
        case rule when 'fixed' then by_rule else floor(exact_anchor + 0.5) end as expected_anchor
    from {{ ref('gate_trials') }}
),

-- of each trial the longest call, where it is known how long one may be
longest_calls as (
    select
        trials.trial_id,
        any_value(context_windows.tokens) as window_tokens,
        max(
            calls.tokens_in + coalesce(
                try_cast(calls.parameters ->> '$.max_completion_tokens' as bigint),
                try_cast(calls.parameters ->> '$.max_tokens' as bigint),
                calls.tokens_out,
                0
            )
        ) as tokens_of_call
    from trials
    inner join {{ ref('context_windows') }} as context_windows using (llm)
    inner join {{ ref('stg_calls') }} as calls using (trial_id)
    where trials.is_new
    group by all
),

arms as (
    select study, vignette, technique, count(distinct arm) as n_arms from gate_kinds
    where (study, paradigm) in (from paired)
    group by all
),

-- items that an LLM answered in some arms of a comparison and not in all of them
unpaired as (
    select unnest(list(trial_id)) as trial_id, any_value(n_arms) - count(distinct arm) as n_lacking from trials
    inner join arms using (study, vignette, technique)
    where status = 'answered' and role is null
    group by study, vignette, llm, technique, temperature, item, replicate
    having n_lacking > 0
),

-- a trial is read with its item in its cell, where these have shares, else with what is left of the cell, or its LLM
{% for smaller, larger, what in [('items', 'trials', 'item'), ('cells', 'items', 'cell')] %}
{{ smaller }} as (
    select
        * exclude ({{ what }}),
        if(
            count_if(status != 'failed') over (partition by batch_id, cell, item) >= getvariable('fewest'), {{ what }},
            null
        ) as {{ what }}
    from {{ larger }} as trials
    semi join gate_kinds as kinds on kinds.status = 'unparsed' and {{ same_in('trials', 'kinds', ['batch_id', 'llm']) }}
    where trials.is_new
),

{% endfor %}
unreadable as (
    select
        trial_id, count_if(status = 'unparsed') over same as n_unread,
        count_if(status != 'failed') over same as n_replies
    from cells
    window same as (partition by batch_id, llm, cell, item)
),

-- where nobody knows the protocol of an archive, what most trials of the vignette have is the yardstick, for a warning
asked_with as (
    select
        study, vignette, direction, anchor_at, anchor_value,
        sum(n) over (partition by study, vignette, direction, anchor_at) as n_at,
        sum(n) over (partition by study, vignette, direction, anchor_value) as n_with
    from gate_kinds as kinds
    where rule is null and by_rule is null
),

most_frequent as (
    select
        study, vignette, direction,
        first(anchor_at order by n_at desc, anchor_at asc) filter (where anchor_at is not null) as usually_at,
        first(anchor_value order by n_with desc, anchor_value asc) filter (where anchor_value is not null)
            as usual_for_all
    from asked_with
    group by all
),

-- one factor of each LLM's baseline, or one anchor for all, whichever explains more trials
usual_anchors as (
    select
        study, vignette, direction, usually_at, usual_for_all,
        coalesce(sum(n) filter (where anchor_value = usual_for_all), 0)
        > coalesce(sum(n) filter (where abs(anchor_at - usually_at) <= 0.051), 0) as is_for_all
    from gate_kinds as kinds
    inner join most_frequent using (study, vignette, direction)
    group by all
),

other_models as (
    select kind, llm_returned || ' answered' as other_model from gate_kinds as kinds
    inner join batches using (batch_id)
    where
        not list_has_all(
            string_split_regex(lower(llm_returned), '[^a-z0-9]+'),
            list_filter(
                string_split_regex(
                    lower(split_part(coalesce(models[llm_recorded], llm), '/', -1)), '[^a-z0-9]+'
                ),
                lambda word: word != ''
            )
        )
),

-- an LLM that its source keeps under the name of another one
other_names as (
    select kinds.kind, kinds.llm_named || ' in the source, where ' || kinds.llm_recorded || ' was asked' as other_name
    from gate_kinds as kinds
    left join llm_aliases on kinds.llm_named = llm_aliases.alias
    where coalesce(llm_aliases.llm, kinds.llm_named) != kinds.llm
),

-- who is held back for one reason is not blamed for what that reason explains
blamed as (
    select
        trial_id,
        bool_or(reason = 'another_question') as is_another_question,
        bool_or(reason = 'another_unit') as is_another_unit,
        bool_or(reason = 'another_unit' and is_of_llm) as is_of_llm
    from told_together
    group by trial_id
),

-- whose baseline may be another than the one that its anchors were made of
unsteady_llms as (
    select distinct trials.study, trials.vignette, trials.llm, true as is_unsteady from trials
    inner join told_together using (trial_id)
    where told_together.reason in ('changed_midway', 'cut_off')
),

-- means that differ by more than chance (rounding alone has a variance of 1/12) and a share of the earlier one
drifts as (
    select
        cell,
        count(*) filter (where is_new) as n_new,
        count(*) filter (where not is_new) as n_old,
        avg(number) filter (where is_new) as mean_new,
        avg(number) filter (where not is_new) as mean_old,
        greatest(var_samp(number) filter (where is_new), var_samp(number) filter (where not is_new), 1 / 12.0)
            as variance,
        abs(mean_new - mean_old) as difference,
        difference / sqrt(variance * (1 / n_new + 1 / n_old)) as z
    from trials
    where {{ is_countable() }}
    group by cell
    having
        least(n_new, n_old) >= getvariable('fewest') and z > getvariable('drift_z')
        and difference > getvariable('drift_share') * abs(mean_old)
),

wrong as (
    select
        trial_id, batch_id, study, cell, is_new,
        {% for check, condition, words in offences %}
        case when {{ condition }} then {{ words }} end as {{ check }},
        {% endfor %}
        case
            when is_unsteady then null
            when
                rule is null and by_rule is not null
                and abs(anchor_value - exact_anchor)
                > greatest(0.5, getvariable('baseline_share') * exact_anchor) + 1e-9
                then
                    direction || ' anchor at ' || round(anchor_value / baseline, 2)
                    || ' of the baseline; the archive''s at ' || by_rule
            when is_anchored and is_for_all
                then 'anchor ' || nullif(anchor_value, usual_for_all) || '; most of the vignette have ' || usual_for_all
            when abs(anchor_at - usually_at) > 0.051
                then
                    direction || ' anchor at ' || round(anchor_at, 2)
                    || ' of the baseline; most of the vignette at ' || round(usually_at, 2)
        end as anchor_factor,
        other_model, other_name, duplicate
    from trials
    inner join batches using (batch_id)
    left join usual_anchors using (study, vignette, direction)
    left join other_models using (kind)
    left join other_names using (kind)
    left join gate_copies using (trial_id)
    left join gate_lines using (trial_id)
    left join gate_frequent_answers using (anchored_cell)
    left join drifts using (cell)
    left join unreadable using (trial_id)
    left join unpaired using (trial_id)
    left join longest_calls using (trial_id)
    left join blamed using (trial_id)
    left join unsteady_llms using (study, vignette, llm)
    where is_new or (rule is null and anchor_value != usual_anchor)
),

found as (
    select *, coalesce(*columns(* exclude (trial_id, batch_id, study, cell, is_new))) as first_detail from wrong
    where first_detail is not null
)

-- which of two anchors is the other one must not depend on which was loaded first
select trial_id, batch_id, study, cell, reason, detail from found
unpivot (detail for reason in (columns(* exclude (trial_id, batch_id, study, cell, is_new, first_detail))))
where is_new or reason = 'other_anchor'
union all by name
select trial_id, trials.batch_id, trials.study, trials.cell, reason, told_together.detail from told_together
inner join trials using (trial_id)
