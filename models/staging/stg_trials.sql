-- One row per trial, as it was landed. Document A's archive keeps the turns of SACD in its lines, each cut at 500
-- signs: the last of them is the text, and where it finds no bias it only looks back at the answer of the turn before.
-- Where the answer stands after a marker, the text is what follows the last one; a reply without it is unparsed. An
-- error message that a recording keeps in the place of an answer is none: the trial has failed. Where a recording has
-- the option or the label beside the text, the text stays the text.
with source as (
    select
        *,
        case
            when source = 'recorded' and technique = 'sacd' and response_text is null
                then {{ json_last('line', 'iterationDetails') }}
        end as last_turn,
        case
            when
                source = 'recorded' and answer_kind in ('choice', 'label')
                and {{ json_text('line', 'text') }} is not null
                and response_text = coalesce({{ json_text('line', 'choice') }}, {{ json_text('line', 'label') }})
                then response_text
        end as label_recorded,
        case
            when label_recorded is not null then {{ json_text('line', 'text') }}
            else coalesce(response_text, {{ json_text('last_turn', 'rawResponse') }})
        end as kept_text,
        coalesce(not contains(response_text, answer_after), false) as is_without_marker,
        source = 'recorded' and response_text like 'ERROR: %' and status_recorded is null as is_error_text
    from {{ source('raw', 'trials') }}
)

select
    {{ all_but([
        'archive', 'anchor_direction', 'anchor_rule', 'status_recorded', 'reason_recorded', 'response_recorded', 'first_response',
        'response_text', 'first_text', 'paradigm', 'option_order', 'answer_kind', 'answer_reading', 'answer_after', 'attempt_of',
        '_dlt_load_id', 'last_turn', 'kept_text', 'is_without_marker', 'is_error_text',
    ]) }},
    anchor_direction as anchor_direction_recorded,
    coalesce(
        status_recorded, case when is_error_text then 'failed' when is_without_marker then 'unparsed' end
    ) as status_recorded,
    case
        when is_error_text then 'error_as_answer'
        when is_without_marker and status_recorded is null then 'no_marker'
        -- as an endpoint says it, and an older bais did
        when reason_recorded = 'length' then 'cut_off'
        else reason_recorded
    end as reason_recorded,
    response_recorded as number_recorded,
    first_response as first_response_recorded,
    nullif({{ trimmed(answer_in('kept_text', 'answer_after')) }}, '') as response_text,
    case
        when kept_text is null then 'none'
        when last_turn is not null and length(kept_text) >= 500 then 'cut'
        else 'whole'
    end as text_kept,
    coalesce(({{ json_text('last_turn', 'biasDetected') }}) = 'false', false) as is_look_back,
    nullif({{ trimmed('first_text') }}, '') as first_text,
    coalesce(paradigm, 'anchoring') as paradigm,
    {{ json_texts('option_order') }} as options_shown,
    coalesce(answer_kind, 'number') as answer_kind,
    coalesce(answer_reading, 'strict') as answer_reading
from source
