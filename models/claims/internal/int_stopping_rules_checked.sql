-- One row per study and domain with a stopping rule, method (what a cell is) and row set: how many cells went by it.
select
    study,
    domain,
    row_set,
    method,
    sum(n_trials)::bigint as n_trials,
    count(*) as n_cells,
    count(*) filter (where is_topped_up) as n_cells_topped_up,
    count(*) filter (where is_topped_up and not has_qualified) as n_cells_topped_up_without_cause,
    count(*) filter (where has_qualified and not is_topped_up) as n_cells_qualified_not_topped_up
from {{ ref('int_cells_topped_up') }}
group by all
