-- One row per trial of any batch, published or not, before flags: its canonical LLM, its vignette's domain, unit and
-- range, what its texts say, and the number that counts with its status. With response source `recorded` an archive
-- keeps the number that it recorded, and where it has none its text still tells a refusal; with `reparsed` what a whole
-- text states counts, and a cut one can tell a refusal, but no number. A collected text is always read. What a person
-- has reread counts before all that. A choice or a label has no number, and a text is its own answer.
with joined as (
    select
        {{ all_but([
            'session_id', 'llm_returned', 'anchor_baseline', 'anchor_n_trials', 'replicate', 'prompt_hash', 'finished_at', 'line',
            'order_index', 'llm_named', 'read_as',
        ], of='trials') }},
        coalesce(aliases.llm, trials.llm_recorded) as llm,
        coalesce(vignettes.domain, 'unknown') as domain,
        coalesce(vignettes.response_unit, 'unknown') as response_unit,
        vignettes.valid_min,
        vignettes.valid_max,
        trials.source != 'recorded' as is_read,
        case when trials.answer_kind = 'text' and trials.response_text is not null then 'answered' end as status_of_text
    from {{ ref('stg_trials') }} as trials
    left join {{ ref('llm_aliases') }} as aliases on trials.llm_recorded = aliases.alias
    left join {{ ref('int_vignettes_defined') }} as vignettes using (study, vignette)
),

told as (
    select
        joined.*,
        rereadings.response as number_reread,
        case when rereadings.response is null then joined.status_recorded end as status_told,
        coalesce(
            rereadings.response,
            texts.number_read,
            {{ number_in_cell(
                'texts.number_if_decimal', 'texts.number_if_grouped', 'cells.usual_number', 'joined.valid_min', 'joined.valid_max'
            ) }}
        ) as number_told,
        case when number_told is not null then 'answered' else texts.status_read end as status_of_number,
        case when number_told is null then texts.reason_read end as reason_of_number,
        case when rereadings.response is null then texts.note_read else 'reread' end as note_read,
        case when joined.text_kept != 'cut' then texts.said end as said
    from joined
    left join {{ ref('int_texts_read') }} as texts
        on
            joined.response_text = texts.text
            and joined.response_unit = texts.response_unit
            and joined.is_look_back is not true
            and joined.answer_kind = 'number'
    left join {{ ref('int_cells_scaled') }} as cells
        on {{ same_in('joined', 'cells', ['study', 'vignette', 'llm_recorded', 'item']) }}
    left join {{ ref('stg_reread_trials') }} as rereadings on joined.trial_id = rereadings.trial_id
)

select
    {{ all_but([
        'first_text', 'first_response_recorded', 'status_of_text', 'number_reread', 'status_told', 'status_of_number',
        'reason_of_number', 'number_told', 'label_recorded',
    ], of='told') }},
    told.number_told as number_read,
    coalesce(told.status_of_number, labels.status_read, told.status_of_text) as status_read,
    coalesce(told.reason_of_number, labels.reason_read) as reason_read,
    labels.label_read,
    coalesce(told.first_response_recorded, first_texts.number_read) as first_response,
    case
        when told.number_reread is not null then told.number_reread
        when told.is_read and told.status_recorded is null then coalesce(told.number_recorded, told.number_told)
        else told.number_recorded
    end as number_if_recorded,
    case
        when told.number_reread is not null then told.number_reread
        when told.status_recorded is not null or told.status_of_number is null then told.number_recorded
        when told.text_kept = 'cut' then case when told.status_of_number != 'refused' then told.number_recorded end
        else told.number_told
    end as number_if_reparsed,
    {% for source in ('recorded', 'reparsed') %}
    case
        when told.answer_kind in ('choice', 'label', 'text')
            then coalesce(told.status_recorded, labels.status_read, told.status_of_text, 'unparsed')
        else {{ trial_status(
            'status_told', 'told.status_of_number', 'number_if_' ~ source, 'valid_min', 'valid_max'
        ) }}
    end as status_if_{{ source }},
    {% endfor %}
    first_response not between coalesce(valid_min, '-inf') and coalesce(valid_max, 'inf') as is_first_out_of_range
from told
left join {{ ref('int_labels_read') }} as labels
    on
        told.study = labels.study
        and told.paradigm = labels.paradigm
        and coalesce(told.label_recorded, told.response_text) = labels.response_text
        and told.answer_kind = labels.answer_kind
        and told.options_shown is not distinct from labels.options_shown
        and told.answer_reading = labels.answer_reading
left join {{ ref('int_texts_read') }} as first_texts
    on told.first_text = first_texts.text and told.response_unit = first_texts.response_unit
