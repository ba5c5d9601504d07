-- One row per trial, measure and instrument: what an instrument measured of the text of an answer, in the version of
-- the instrument that measured last.
select study, trial_id, measure, instrument, value, reason from {{ source('raw', 'measurements') }}
qualify
    row_number() over (
        partition by trial_id, measure, instrument
        -- in files that an older version of bais wrote, rows have the clock's order alone
        order by ordinal desc nulls last, measured_at desc, instrument_version asc
    ) = 1
