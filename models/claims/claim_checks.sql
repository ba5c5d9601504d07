-- noqa: disable=LT02
-- One row per published claim and part: the printed number, ours under the paper's specification and under the
-- recommended one.
{% set keys = estimate_keys() %}
with claims as (
    select *, {{ claim_key() }} as claim_key from {{ ref('published_claims') }}
),

specifications as (
    select *, {{ claim_key() }} as claim_key from {{ ref('int_claim_specifications') }}
),

estimates as (
    select * from {{ ref('estimates') }}
),

studies as (
    select distinct study from {{ ref('stg_batches') }}
),

looked_up as (
    select
        asked.claim_key,
        any_value(estimates.value) filter (where asked.purpose = 'published') as published_specification_value,
        any_value(estimates.value) filter (where asked.purpose = 'recommended') as recommended_value,
        any_value(estimates.low) filter (where asked.purpose = 'recommended') as recommended_low,
        any_value(estimates.high) filter (where asked.purpose = 'recommended') as recommended_high,
        any_value(estimates.n_llms) filter (where asked.purpose = 'recommended') as n_llms,
        any_value(estimates.n_trials) filter (where asked.purpose = 'published') as n_trials
    from specifications as asked
    inner join estimates
        on
            {% for key in keys -%}
                asked.{{ key }} is not distinct from estimates.{{ key }}{{ ' and ' if not loop.last }}
            {%- endfor %}
    group by all
),

-- claims that are derived from other claims, in rounds: each round derives what the rounds before have the inputs of
values_0 as (
    select claims.claim_key, looked_up.published_specification_value as value, looked_up.recommended_value
    from claims
    inner join looked_up using (claim_key)
),

inputs as (
    select
        claim_key,
        derivation,
        input_decimals,
        recommended_quantity,
        unnest(string_split(inputs, ' ')) as input_key,
        generate_subscripts(string_split(inputs, ' '), 1) as position,
        len(string_split(inputs, ' ')) as n_inputs
    from claims
    where derivation is not null
),

{% for round in range(1, 4) %}
derived_{{ round }} as (
    select
        inputs.claim_key,
        inputs.derivation,
        inputs.recommended_quantity,
        inputs.n_inputs,
        list(
            case
                when inputs.input_decimals is null then known.value
                else round(known.value, inputs.input_decimals::integer)
            end order by inputs.position
        ) as published_inputs,
        list(known.recommended_value order by inputs.position) as recommended_inputs
    from inputs
    inner join values_{{ round - 1 }} as known on inputs.input_key = known.claim_key
    where
        known.value is not null
        and inputs.claim_key not in (
            select values_{{ round - 1 }}.claim_key from values_{{ round - 1 }}
            where values_{{ round - 1 }}.value is not null
        )
    group by all
    having count(*) = inputs.n_inputs
),

values_{{ round }} as (
    select
        coalesce(known.claim_key, derived.claim_key) as claim_key,
        coalesce(known.value, {{ derive('derived.derivation', 'derived.published_inputs') }}) as value,
        coalesce(
            known.recommended_value,
            case
                when
                    derived.recommended_quantity is null
                    and list_count(derived.recommended_inputs) = len(derived.recommended_inputs)
                    then {{ derive('derived.derivation', 'derived.recommended_inputs') }}
            end
        ) as recommended_value
    from values_{{ round - 1 }} as known
    full join derived_{{ round }} as derived using (claim_key)
),
{% endfor %}

compared as (
    select
        claims.*,
        studies.study is not null as is_loaded,
        case when claims.not_derivable is null then known.value end as recomputed_value,
        known.recommended_value,
        looked_up.recommended_low,
        looked_up.recommended_high,
        looked_up.n_trials,
        looked_up.n_llms,
        -- a value on the border belongs to both digits, whatever the last bit of a double says
        (0.5 + 1e-8) * 10.0 ** (-claims.decimals) as half_a_digit
    from claims
    left join studies using (study)
    left join values_3 as known using (claim_key)
    left join looked_up using (claim_key)
),

judged as (
    select
        *,
        case comparison
            when '=' then abs(recomputed_value - published_value) <= half_a_digit
            when '<' then recomputed_value < published_value
            when '>' then recomputed_value > published_value
        end as holds,
        case comparison
            when '=' then abs(recommended_value - published_value) <= half_a_digit
            when '<' then recommended_value < published_value
            when '>' then recommended_value > published_value
        end as holds_as_recommended,
        -- what the whole interval, or the probability, says of a sentence; null where it has none
        case
            when unit = 'probability' then recommended_value >= published_value
            when comparison = '<' then recommended_high < published_value
            when comparison = '>' then recommended_low > published_value
        end as is_established,
        case
            when unit = 'probability' then recommended_value <= 1 - published_value
            when comparison = '<' then recommended_low > published_value
            when comparison = '>' then recommended_high < published_value
        end as is_contradicted
    from compared
),

worded as (
    select
        *,
        case
            when not_derivable is not null then 'not_derivable'
            when not is_loaded or recomputed_value is null then 'not_checked'
            when kind = 'sentence' and is_contradicted then 'contradicted'
            when kind = 'sentence' and not is_established then 'not_established'
            when kind = 'sentence' then case when holds then 'stands' else 'contradicted' end
            when holds then 'reproduces'
            else 'differs'
        end as status,
        {{ shown('published_value', 'decimals') }} as shown_published,
        {{ shown('recomputed_value', 'decimals') }} as shown_recomputed,
        {{ shown('recommended_value', 'decimals') }} as shown_recommended,
        {{ shown('recommended_low', 'decimals') }} || ' to ' || {{ shown('recommended_high', 'decimals') }}
            as shown_interval,
        case
            when llm is null and n_llms < {{ fewest_llms() }}
                then 'This speaks only of the ' || n_llms || ' LLMs that were asked.'
        end as scope_note,
        concat_ws(
            ', ',
            case when baseline_scope != 'pooled' then 'over the ' || baseline_scope || ' baseline' end,
            case when weighting != 'llm' and llm is null then 'weighing trials rather than LLMs' end,
            case when direction_weighting = 'balanced' then 'weighing both directions the same' end,
            case when baseline_pooling = 'domain' then 'over one baseline for all LLMs' end,
            case when estimator != 'mean_of_ratios' then 'as a ' || replace(estimator, '_', ' ') end,
            case when non_null = 'both' then 'of trials with a first and a last answer' end,
            case
                when derivation is not null
                    then 'as the ' || replace(derivation, '_', ' ') || ' of other printed numbers'
            end,
            case when recommended_quantity is not null then 'where we recommend ' || recommended_quantity end,
            case
                when recommended_method != method
                    then 'by method ' || method || ' where we recommend ' || recommended_method
            end
        ) as specification
    from judged
)

select
    claim_id,
    document,
    location,
    statement,
    coalesce(quantity, derivation) as quantity,
    part,
    unit,
    kind,
    comparison,
    published_value,
    recomputed_value,
    status,
    case
        when status = 'not_derivable' then not_derivable
        when not is_loaded then 'The study ' || study || ' is not in this warehouse: import its archive.'
        when status = 'not_checked' then 'The warehouse holds no trials for this quantity.'
        when kind = 'sentence' and unit = 'probability'
            then
                concat_ws(
                    ' ',
                    note,
                    'Its probability is ' || {{ shown('recommended_value', '2') }}
                    || '; it stands from ' || published_value || '.',
                    scope_note
                )
        when status = 'not_established'
            then
                concat_ws(
                    ' ',
                    note,
                    'It is ' || shown_recommended || ', but the interval is ' || shown_interval
                    || ', not all ' || comparison || ' ' || shown_published || '.',
                    scope_note
                )
        when kind = 'sentence' and shown_interval is not null
            then
                concat_ws(
                    ' ',
                    note,
                    'It is ' || shown_recommended || ', the interval ' || shown_interval
                    || ', for ' || comparison || ' ' || shown_published || '.',
                    scope_note
                )
        when status in ('differs', 'contradicted')
            then
                concat_ws(
                    ' ',
                    note,
                    'The trials give ' || shown_recomputed || ', not '
                    || case comparison when '=' then '' else comparison || ' ' end || shown_published || '.'
                )
        when not holds_as_recommended
            then
                concat_ws(
                    ' ',
                    note,
                    'It holds only ' || coalesce(nullif(specification, ''), 'with every number that was recorded')
                    || '; as recommended it is ' || shown_recommended || '.'
                )
        else note
    end as reason,
    recommended_value,
    recommended_low,
    recommended_high,
    n_trials
from worded
