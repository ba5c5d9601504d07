-- One row per document and study where the claims of the document name the version that they are about: its label, and
-- the study that is that version; null where the study itself is, or has nothing better.
with on_their_own as (
    select distinct cited_study from {{ ref('int_trials_cited') }}
)

select cited.document, cited.study, cited.label, on_their_own.cited_study
from {{ ref('int_versions_cited') }} as cited
left join on_their_own using (cited_study)
