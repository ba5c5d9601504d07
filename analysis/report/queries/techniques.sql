select technique, display_name, is_ranked, description from seeds.techniques
union all
select distinct technique, technique as display_name, true as is_ranked, null as description
from inference.decisions anti join seeds.techniques using (technique)
order by technique
