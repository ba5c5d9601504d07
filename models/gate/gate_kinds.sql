-- One row per kind of trial that an audit looks at: what the `n` trials of the kind share, what their batch declares,
-- the LLM's own baseline, and what is usual in the cell. Cells are numbered in their order.
with grouped as (
    select
        kind,
        count(*) as n,
        any_value(columns([
            'batch_id', 'study', 'vignette', 'domain', 'valid_min', 'valid_max', 'llm', 'llm_recorded', 'llm_returned',
            'llm_named', 'technique', 'anchor_value', 'anchor_baseline', 'anchor_n_trials', 'arm', 'role', 'source',
            'phase', 'paradigm', 'answer_kind', 'temperature', 'prompt_hash', 'status', 'note_read', 'is_quarantined',
            'item_of_anchors'
        ])),
        any_value(anchor_direction) as direction,
        coalesce(any_value(item_of_anchors), '') as of_item
    from {{ ref('gate_treated') }}
    group by kind
),

baselines as (
    select * exclude (item), coalesce(item, '') as of_item from {{ ref('int_baselines_read') }}
),

answers as not materialized (
    select kind, number from {{ ref('gate_answers') }}
),

batches as (
    select * exclude (ends, models, techniques, case_text, written_numbers, case_numbers) from {{ ref('gate_batches') }}
),

kinds as (
    select
        * exclude (technique_versions),
        case direction when 'low' then rule_low when 'high' then rule_high end as by_rule,
        direction in ('low', 'high') as is_anchored,
        case when is_anchored and baseline > 0 then round(anchor_value / baseline / 0.05) * 0.05 end as anchor_at,
        struct_pack(
            study, vignette, llm, technique, direction, version := coalesce(technique_versions[technique], 1), arm,
            role, item_of_anchors
        ) as in_cell
    from grouped
    inner join batches using (batch_id, study, vignette)
    left join baselines using (study, vignette, llm, of_item)
),

numbered as (
    select
        * exclude (in_cell),
        dense_rank() over (order by in_cell) as cell,
        dense_rank() over (order by in_cell, anchor_value) as anchored_cell
    from kinds
),

weighed as (
    select
        *,
        sum(n) over (partition by cell, anchor_value) as n_with_anchor,
        sum(n) over (partition by cell, prompt_hash) as n_with_prompt,
        count(distinct technique) over (
            partition by study, vignette, llm, of_item, direction, anchor_value
        ) as n_techniques,
        abs(anchor_value - by_rule * baseline) as off,
        off > getvariable('baseline_share') * by_rule * baseline as is_off
    from numbered
    where not is_quarantined
),

most_frequent as (
    select
        cell,
        first(anchor_value order by n_with_anchor desc, anchor_value asc) filter (where anchor_value is not null)
            as most_frequent_anchor,
        first(prompt_hash order by n_with_prompt desc, prompt_hash asc) filter (where prompt_hash is not null)
            as usual_prompt
    from weighed
    group by cell
),

usual_numbers as (
    select numbered.cell, median(answers.number) as usual_number from answers
    inner join numbered using (kind)
    where numbered.status = 'answered' and not numbered.is_quarantined
    group by all
),

-- of the anchors that an archive gave an LLM, and of those as good as what its factor makes of the LLM's baseline, the
-- one that most techniques have, else the nearest
anchors_by_protocol as (
    select
        study,
        vignette,
        llm,
        of_item,
        direction,
        first(anchor_value order by is_off, if(is_off, 0, -n_techniques), off, anchor_value) as anchor_by_protocol
    from weighed
    where rule is null and anchor_value is not null and off is not null
    group by all
)

select *, coalesce(anchor_by_protocol, most_frequent_anchor) as usual_anchor from numbered
left join most_frequent using (cell)
left join usual_numbers using (cell)
left join anchors_by_protocol using (study, vignette, llm, of_item, direction)
