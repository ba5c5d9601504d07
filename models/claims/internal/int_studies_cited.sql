-- One row per document and study where the claims of the document name the version that they are about: its label, and
-- the study that is that version; null where the study itself is, or has nothing better.
select
    document, study, label,
    case when cited_study in (select cited_study from {{ ref('int_trials_cited') }}) then cited_study end as cited_study
from {{ ref('int_versions_cited') }}
