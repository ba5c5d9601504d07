-- One row per study and vignette, with its domain, unit and valid range. A collected study says itself what its
-- vignettes are (its last word counts); for recorded ones a seed does.
select study, vignette, domain, response_unit, valid_min, valid_max, baseline_prompt, differs_by
from {{ ref('vignettes') }}
anti join {{ ref('int_vignettes_stated') }} using (study, vignette)
union all
select study, vignette, domain, response_unit, valid_min, valid_max, baseline_prompt, differs_by
from {{ ref('int_vignettes_stated') }}
