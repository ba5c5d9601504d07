-- What was answered is one of the ways in which all could have been, and where nothing is missing it is the only one.
select * from {{ ref('outcome_contrasts') }}
where
    value not between value_least - 1e-9 and value_most + 1e-9
    or (n_missing = 0 and value_most - value_least > 1e-9)
