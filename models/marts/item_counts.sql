-- One row per study, measure, instrument, llm, vignette, technique, arm, item and row set: how many values, and their
-- sums.
with outcomes as (
    select *, {{ a_row_each(["'accepted'", "'without_suspects'"]) }} as row_set from {{ ref('int_outcomes_measured') }}
    where not is_quarantined
)

select
    study,
    paradigm,
    measure,
    instrument,
    llm,
    vignette,
    technique,
    arm,
    item,
    row_set,
    count(*) as n_asked,
    count(value) as n_trials,
    -- in an order, so that a sum has the same last digit in each build
    coalesce({{ sum_in_order('value', 'value') }}, 0) as sum_of_values,
    coalesce({{ sum_in_order('power(value, 2)', 'value') }}, 0) as sum_of_squares
from outcomes
where row_set = 'accepted' or not is_flagged
group by all
