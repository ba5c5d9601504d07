with landed as (
    select study, source from raw.batches
    union all
    select study, 'counted' as source from marts.counts
    anti join marts.trials using (study)
    where study not like '%@%'
)

select study, bool_or(source = 'simulated') as is_simulated, bool_and(source = 'scored') as is_scored
from landed
group by study
order by is_simulated, study
