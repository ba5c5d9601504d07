select study, bool_or(source = 'simulated') as is_simulated, bool_and(source = 'scored') as is_scored
from raw.batches
group by study
order by is_simulated, study
