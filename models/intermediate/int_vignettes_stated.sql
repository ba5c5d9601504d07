-- One row per study and vignette that the study itself defines, with its last word on the domain, unit and valid range,
-- and the batch with which that came: its last batch, with trials or with the word alone. What is not said is null.
select study, vignette, batch_id, domain, response_unit, valid_min, valid_max, baseline_prompt, differs_by
from {{ ref('stg_batches') }}
where domain is not null
qualify row_number() over (partition by study, vignette order by ordinal desc, batch_id desc) = 1
