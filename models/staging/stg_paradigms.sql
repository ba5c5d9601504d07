-- One row per study, paradigm and measure that it has now: how answers of the study become values, and which are
-- better; of a share, values are 1 and 0 (`int_outcomes_measured`). What was stated last counts.
select
    study,
    paradigm,
    measure,
    from_json(measure_of::json, '["varchar"]') as counted_labels,
    better,
    reference,
    margin,
    coalesce(pairing, 'item') as pairing,
    answer_kind,
    answer_kind in ('choice', 'label') as is_share,
    answer_reading,
    from_json(labels::json, '["varchar"]') as labels,
    coalesce(measured_from, 'answer') as measured_from,
    coalesce(is_leading, measured_from is distinct from 'measurement') as is_leading,
    text_field,
    relative_to,
    goals
from {{ source('raw', 'paradigms') }}
qualify rank() over (partition by study, paradigm order by ordinal desc) = 1
