-- One row per trial of any batch, published or not, before flags: its canonical LLM, its vignette's domain, unit and
-- range, what its texts say, and the number that counts with its status. With response source `recorded` an archive
-- keeps the number that it recorded, and where it has none its text still tells a refusal; with `reparsed` what a whole
-- text states counts, and a cut one can tell a refusal, but no number. A collected text is always read. A choice or a
-- label has no number, and a text is its own answer.
with trials as (
    select
        {{ all_but([
            'session_id', 'llm_returned', 'anchor_baseline', 'anchor_n_trials', 'replicate', 'prompt_hash', 'finished_at', 'line',
            'order_index',
        ]) }}
    from {{ ref('stg_trials') }}
),

aliases as (
    select alias, llm from {{ ref('llm_aliases') }}
),

vignettes as (
    select * from {{ ref('int_vignettes_defined') }}
),

texts as (
    select * from {{ ref('int_texts_read') }}
),

labels as (
    select * from {{ ref('int_labels_read') }}
),

joined as (
    select
        trials.*,
        coalesce(aliases.llm, trials.llm_recorded) as llm,
        coalesce(vignettes.domain, 'unknown') as domain,
        coalesce(vignettes.response_unit, 'unknown') as response_unit,
        vignettes.valid_min,
        vignettes.valid_max,
        trials.source != 'recorded' as is_read,
        case when trials.answer_kind = 'text' and trials.response_text is not null then 'answered' end as status_of_text
    from trials
    left join aliases on trials.llm_recorded = aliases.alias
    left join vignettes on trials.study = vignettes.study and trials.vignette = vignettes.vignette
)

select
    {{ all_but(['first_text', 'first_response_recorded', 'status_of_text'], of='joined') }},
    last_texts.number_read,
    coalesce(last_texts.status_read, labels.status_read, joined.status_of_text) as status_read,
    coalesce(last_texts.reason_read, labels.reason_read) as reason_read,
    labels.label_read,
    last_texts.note_read,
    case when joined.text_kept != 'cut' then last_texts.said end as said,
    coalesce(joined.first_response_recorded, first_texts.number_read) as first_response,
    case
        when joined.is_read and joined.status_recorded is null
            then coalesce(joined.number_recorded, last_texts.number_read)
        else joined.number_recorded
    end as number_if_recorded,
    case
        when joined.status_recorded is not null or last_texts.status_read is null then joined.number_recorded
        when joined.text_kept = 'cut' then case when last_texts.status_read != 'refused' then joined.number_recorded end
        else last_texts.number_read
    end as number_if_reparsed,
    {% for source in ('recorded', 'reparsed') %}
    case
        when joined.answer_kind in ('choice', 'label', 'text')
            then coalesce(joined.status_recorded, labels.status_read, joined.status_of_text, 'unparsed')
        else {{ trial_status(
            'status_recorded', 'last_texts.status_read', 'number_if_' ~ source, 'valid_min', 'valid_max'
        ) }}
    end as status_if_{{ source }},
    {% endfor %}
    first_response not between coalesce(valid_min, '-inf') and coalesce(valid_max, 'inf') as is_first_out_of_range
from joined
left join texts as last_texts
    on
        joined.response_text = last_texts.text
        and joined.response_unit = last_texts.response_unit
        and joined.is_look_back is not true
        and joined.answer_kind = 'number'
left join labels
    on
        joined.study = labels.study
        and joined.paradigm = labels.paradigm
        and joined.response_text = labels.response_text
        and joined.answer_kind = labels.answer_kind
        and joined.options_shown is not distinct from labels.options_shown
        and joined.answer_reading = labels.answer_reading
left join texts as first_texts
    on joined.first_text = first_texts.text and joined.response_unit = first_texts.response_unit
