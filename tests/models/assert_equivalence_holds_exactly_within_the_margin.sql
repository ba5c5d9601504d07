-- A difference is equivalent where its 90 % interval lies within the margin and nowhere else; where there is no test,
-- the status is the reason.
select *
from {{ ref('equivalence_tests') }}
where
    equivalent is distinct from case when reason is null then smallest_margin_pp < margin_pp end
    or status is distinct from case
        when equivalent then 'equivalent'
        when not equivalent then 'not_established'
        else reason
    end
