-- Both of a pair are right at most as often as either, and at least as often as the two shares leave no choice; what is
-- never told apart has no d'.
with fact_checks as (
    select * from {{ ref('fact_checks') }}
    where n_pairs > 0
)

select *
from fact_checks
where
    strict_accuracy > least(authentic_accuracy, falsified_accuracy) + 1e-9
    or strict_accuracy < greatest(0, informedness) - 1e-9
    or (abs(informedness) < 1e-9 and abs(d_prime) > 1e-6)
    or sign(round(informedness, 9)) * d_prime < -1e-6
