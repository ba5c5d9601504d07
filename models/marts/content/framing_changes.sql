-- One row per study, llm (null = all) and technique: how often an answer has another framing than its source (phi), had
-- the answers of which it is not known kept it (phi_min) or changed it (phi_max), and with the errors of the judges
-- taken off.
with corrected as (
    select * from {{ ref('framings_corrected') }}
),

of_items as (
    select
        study,
        paradigm,
        llm,
        technique,
        vignette,
        item,
        count(*) as n_trials,
        -- neither a text nor an answer without a label says whether the framing changed
        count(is_changed) as n_labelled,
        count(*) filter (where is_changed) as n_changed
    from {{ ref('int_framings_judged') }}
    where not is_quarantined
    group by all
),

of_llms as (
    select
        study,
        paradigm,
        llm,
        technique,
        avg(n_changed / n_labelled) filter (where n_labelled > 0) as phi,
        avg(n_changed / n_trials) as phi_min,
        avg((n_changed + n_trials - n_labelled) / n_trials) as phi_max,
        sum(columns('^n_'))::bigint
    from of_items
    group by all
),

summed as (
    select
        study,
        paradigm,
        llm,
        technique,
        avg(columns('^phi')),
        sum(columns('^n_'))::bigint,
        count(phi) as n_llms
    from of_llms
    group by grouping sets ((study, paradigm, llm, technique), (study, paradigm, technique))
)

select
    summed.*,
    corrected.* exclude (study, paradigm, technique, llm, phi, n_llms) replace (
        coalesce(corrected.n_items, 0) as n_items,
        coalesce(corrected.n_known_texts, 0) as n_known_texts,
        coalesce(corrected.n_identity_pairs, 0) as n_identity_pairs,
        case when summed.phi is null then 'no_label' else corrected.reason end as reason
    )
from summed
left join corrected
    on {{ same_in('summed', 'corrected', ['study', 'paradigm', 'technique', 'llm']) }}
