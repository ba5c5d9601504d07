-- One row per audited trial whose LLM, or whose cell of it, answers at another level than it should, in logarithms of
-- medians: than the same technique and direction of other LLMs, of a cell also once what its LLM has in all its cells
-- is taken off. Of two that differ the one is wrong that is also far beyond its own anchors and, of a cell, far from
-- its own other cells: who follows an anchor is not. Where the distance is a factor between units it is another unit,
-- else unexplained.
with answers as (
    select * from {{ ref('gate_asked') }}
    where number is not null and direction is not null
),

cells as (
    select
        study, vignette, llm, technique, direction, temperature, item,
        ln(median(number)) as level,
        ln(median(case when anchor_value > 0 then number / anchor_value end)) as from_anchor
    from answers
    group by all
    having count(*) >= getvariable('fewest') and median(number) > 0
),

compared as (
    select
        cells.*,
        any_value(cells.level) - median(others.level) as above,
        -- with one or two others, who is the exception is not known
        count(distinct others.llm) > 2 as is_told
    from cells
    left join cells as others
        on
            {{ same_in('cells', 'others', ['study', 'vignette', 'technique', 'direction', 'item']) }}
            and cells.llm != others.llm
    group by all
),

llms as (
    select
        study,
        vignette,
        llm,
        median(level) as level_of_llm,
        median(above) as llm_above,
        median(from_anchor) as from_anchors
    from compared
    group by all
    having count(above) > 0
),

far_llms as (
    select *, llm_above as above, count(*) over of_vignette as n_llms from llms
    window of_vignette as (partition by study, vignette)
    qualify
        -- the median of a few is moved by the one that is wrong
        abs(llm_above) > greatest(
            getvariable('level_least'),
            if(n_llms > 3, getvariable('level_spreads') * 1.4826 * mad(llm_above) over of_vignette, 0)
        )
        and abs(llm_above) >= getvariable('level_exception') * max(abs(llm_above)) over of_vignette
        and coalesce(from_anchors * sign(llm_above) >= getvariable('level_beyond') * abs(llm_above), n_llms > 3)
),

-- of the other LLMs, what is left of a cell
residuals as (
    select * replace (above - llm_above as above), above as above_others from compared
    inner join llms using (study, vignette, llm)
    anti join far_llms using (study, vignette, llm)
),

far as (
    select study, vignette, llm, technique, direction, temperature, item, above, is_told from residuals
    qualify
        abs(above) > greatest(
            if(is_told, 1, getvariable('few_llms')) * getvariable('level_least'),
            getvariable('cell_spreads') * 1.4826 * mad(above) over (partition by study, vignette)
        )
        and least(
            (level - level_of_llm) * sign(above), above_others * sign(above), coalesce(from_anchor * sign(above), 1e9)
        ) >= getvariable('level_beyond') * abs(above)
    union all by name
    select study, vignette, llm, above from far_llms
),

explained as (
    select
        *,
        -- that a technique works four times as well in one LLM is no error
        list_filter(
            [4.35, 10, 12, 30, 100, 1000],
            lambda unit: abs(abs(above) - ln(unit))
            <= if(technique is null, getvariable('level_factor'), getvariable('cell_factor'))
            and (technique is null or (is_told and unit > 5))
        ) as units,
        list_transform(units, lambda unit: concat(if(above < 0, '1/', ''), format('{:g}', unit::double))) as factors,
        len(units) > 0 as is_unit
    from far
)

select
    answers.trial_id,
    answers.batch_id,
    answers.study,
    if(explained.is_unit, 'another_unit', 'far_off') as reason,
    explained.technique is null as is_of_llm,
    concat(
        concat_ws(' ', explained.llm, explained.technique, explained.direction), ': ', format('{:.2g}', exp(above)),
        ' times what its other cells and other LLMs lead one to expect',
        ', as by a factor of ' || nullif(array_to_string(factors, ' or '), '')
    ) as detail
from answers
inner join explained
    on
        {{ same_in('answers', 'explained', ['study', 'vignette', 'llm']) }}
        and (
            explained.technique is null
            or {{ same_in('answers', 'explained', ['technique', 'direction', 'temperature', 'item']) }}
        )
where answers.is_new
