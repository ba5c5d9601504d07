-- One row per published effect of a bias on people, with its interval: as its source prints it, or derived from the
-- means, t and df that a study prints. The sizes of the two groups are printed nowhere; they are taken to be equal.
with studies as (
    select *, format('{} ({}), {}, {} {}({}), {}', authors, year, title, journal, volume, issue, pages) as citation
    from {{ ref('human_baselines') }}
)

select
    effects.* exclude (human_study) replace (
        coalesce(effects.estimate, derived.estimate) as estimate,
        coalesce(effects.low, derived.estimate - derived.half_width) as low,
        coalesce(effects.high, derived.estimate + derived.half_width) as high,
        coalesce(effects.n_participants, studies.n_participants) as n_participants,
        coalesce(effects.source, studies.citation) as source,
        coalesce(effects.doi, studies.doi) as doi
    )
from {{ ref('human_effects') }} as effects
left join studies using (human_study)
left join {{ ref('int_human_studies_derived') }} as derived using (human_study, measure)
