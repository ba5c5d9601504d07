"""What the paper is made of: the rows of one query for each of its tables."""

from bais.claims import CHECKED
from bais.warehouse import IN_ANCHORING, IS_A_STUDY

# of a study that asks about no anchors
OTHER_PARADIGMS = f"""
select distinct paradigm from marts.attrition
where study = $study and role is null
qualify not bool_or({IN_ANCHORING}) over () order by all
"""
STUDIES = f"""
select study, bool_or(source = 'simulated') as is_simulated, list(distinct source order by source) as sources,
    count(*) as n_trials, list(distinct llm order by llm) filter (where role is null) as llms
from marts.trials where {IS_A_STUDY} and left_out_because is null group by study order by study
"""

# What a paper may say: the recommended specification, over all LLMs of the study.
PAPER = {
    "techniques": "select technique, display_name from seeds.techniques",
    "rankings": """
        from marts.technique_rankings where study = $study and llm is null
        order by domain, technique != 'no_technique', rank_by_displacement nulls last, technique
    """,
    "decisions": """
        from inference.decisions
        where paradigm = 'anchoring' and study = $study and llm is null and comparison is not null
        order by domain, goal, technique, control
    """,
    "predictions": """
        from inference.predictions where paradigm = 'anchoring' and study = $study and llm is null
        order by domain, goal, technique, control
    """,
    "baselines": """
        from marts.baselines
        left join (select study, vignette, any_value(response_unit) as response_unit from marts.trials group by all)
            using (study, vignette)
        where study = $study and temperature_scope = 'pooled' order by domain, llm, vignette
    """,
    "conditions": """
        select domain, llm, vignette, anchor_direction, mean_response, n_trials from marts.anchored_conditions
        where study = $study and technique = 'no_technique' and temperature_scope = 'pooled'
            and mean_response is not null
        order by domain, llm, vignette, anchor_direction desc
    """,
    "spreads": """
        from marts.spreads where study = $study and technique = 'no_technique' order by domain, llm, vignette
    """,
    "attrition": f"""
        select domain, vignette, sum(columns('n_.*'))::bigint from marts.attrition
        where study = $study and {IN_ANCHORING} group by all order by all
    """,
    "changes": f"""
        select domain, change, why, sum(n_trials)::bigint as n_trials from marts.post_hoc_changes
        where study = $study and {IN_ANCHORING} group by all order by all
    """,
    "batches": """
        select batch_id, coalesce(verdict, 'not_audited') as verdict, coalesce(is_published, false) as is_published
        from staging.stg_batches left join staging.stg_batch_verdicts using (batch_id)
        where study = $study order by verdict, batch_id
    """,
    "flags": """
        select severity, reason, count(distinct trial_id) as n_trials from raw.flagged_trials
        semi join staging.stg_batch_verdicts using (verdict_id)
        semi join intermediate.int_trials_published using (trial_id, batch_id)
        where study = $study group by all order by severity, reason
    """,
    "claims": f"""
        select checks.kind, checks.recomputes, checks.holds, count(*) as n_claims from {CHECKED}
        where study = $study and checks.is_first_place group by all order by all desc
    """,
    "open_claims": f"""
        select checks.statement, checks.holds from {CHECKED}
        where study = $study and checks.kind = 'sentence' and checks.is_first_place
            and checks.holds in ('weaker', 'contradicted', 'confounded')
        order by checks.claim_id, checks.part
    """,
    "method": """
        select any_value(n_draws) as n_draws, any_value(seed) as seed, any_value(margin) as margin_pp,
            any_value(confidence) as confidence, $fewest_llms as fewest_llms
        from inference.decisions where paradigm = 'anchoring' and study = $study
    """,
}
