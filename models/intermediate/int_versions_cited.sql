-- One row per document and study where the claims of the document name the version of the study's source that they are
-- about: which version that is in this warehouse (the one that was imported first, null where it is not here), and what
-- the study is called when that version is run on its own.
with versions as (
    select study, digest, arg_min(version_id, ordinal) as version_id from {{ source('raw', 'source_versions') }}
    group by all
)

select cited.document, cited.study, cited.label, versions.version_id, cited.study || '@' || cited.label as cited_study
from {{ ref('papers') }} as cited
left join versions using (study, digest)
where cited.digest is not null
