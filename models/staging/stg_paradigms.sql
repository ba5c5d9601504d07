-- One row per study, paradigm and measure that it has now: how answers of the study become values, and which are
-- better; of a share, values are 1 and 0 (`int_outcomes_measured`). What was stated last counts.
select
    * exclude (measure_of, stated_at, ordinal, _dlt_load_id) replace (
        coalesce(pairing, 'item') as pairing,
        from_json(labels::json, '["varchar"]') as labels,
        coalesce(measured_from, 'answer') as measured_from,
        coalesce(is_unsigned, false) as is_unsigned,
        coalesce(is_leading, measured_from is distinct from 'measurement') as is_leading
    ),
    from_json(measure_of::json, '["varchar"]') as counted_labels,
    answer_kind in ('choice', 'label') as is_share
from {{ source('raw', 'paradigms') }}
qualify rank() over (partition by study, paradigm order by ordinal desc) = 1
