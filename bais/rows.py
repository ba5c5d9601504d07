"""What the paper is made of: the rows of one query for each of its tables."""

from bais.claims import CHECKED
from bais.warehouse import IS_A_STUDY

# of a study that asks about no anchors
OTHER_PARADIGMS = """
select distinct paradigm from marts.attrition
where study = $study and role is null
qualify not bool_or(paradigm = $paradigm) over () order by all
"""
STUDIES = f"""
select study, bool_or(source = 'simulated') as is_simulated, list(distinct source order by source) as sources,
    count(*) as n_trials, list(distinct llm order by llm) filter (where role is null) as llms
from marts.trials where {IS_A_STUDY} and left_out_because is null group by study order by study
"""

UNDER_ANCHORS = """paradigm = $paradigm and study = $study and technique = 'no_technique' and arm in ('low', 'high')
    and row_set = 'accepted' and temperature_scope = 'pooled' and n_trials > 0"""
# What a paper may say: the recommended specification, over all LLMs of the study.
PAPER = {
    "techniques": "select technique, display_name from seeds.techniques",
    "rankings": """
        select
            domain, technique,
            map_from_entries(list((goal, loss))) as losses, map_from_entries(list((goal, rank))) as ranks,
            max(base_loss) as base_loss, max(n_trials) as n_trials, max(n_llms) as n_llms,
            bool_or(goals_disagree) filter (where goal in ('displacement', 'gap')) as goals_disagree,
            any_value(reason) filter (where goal = 'displacement') as reason
        from marts.effects where paradigm = $paradigm and study = $study and llm is null and vignette is null
        group by domain, technique
        order by domain, technique != 'no_technique', ranks['displacement'] nulls last, technique
    """,
    "decisions": """
        from inference.decisions
        where paradigm = $paradigm and study = $study and llm is null and comparison is not null
        order by domain, goal, technique, control
    """,
    "of_each_llm": """
        from inference.decisions
        where paradigm = $paradigm and study = $study and llm is not null and comparison = 'control'
        order by domain, goal, technique, llm
    """,
    "predictions": """
        from inference.predictions
        where paradigm = $paradigm and study = $study and llm is null and vendor is null and control is not null
        order by domain, goal, technique, control
    """,
    "baselines": """
        select domain, llm, vignette, mean, n_trials, response_unit from marts.conditions
        left join (select study, vignette, any_value(response_unit) as response_unit from marts.trials group by all)
            using (study, vignette)
        where paradigm = $paradigm and study = $study and is_baseline and row_set = 'accepted'
            and temperature_scope = 'pooled' and n_trials > 0
        order by domain, llm, vignette
    """,
    "conditions": f"""
        select domain, llm, vignette, arm, mean, n_trials from marts.conditions where {UNDER_ANCHORS}
        order by domain, llm, vignette, arm desc
    """,
    "spreads": f"""
        select
            domain, llm, vignette,
            max(mean) filter (where arm = 'high') - max(mean) filter (where arm = 'low') as spread,
            max(percent_of_baseline) filter (where arm = 'high')
            - max(percent_of_baseline) filter (where arm = 'low') as spread_pp,
            case when spread is null then 'missing_direction' when spread_pp is null then 'no_baseline' end as reason
        from marts.conditions where {UNDER_ANCHORS}
        group by domain, llm, vignette order by domain, llm, vignette
    """,
    "attrition": """
        select domain, vignette, sum(columns('n_.*'))::bigint from marts.attrition
        where study = $study and paradigm = $paradigm group by all order by all
    """,
    "changes": """
        select domain, change, why, sum(n_trials)::bigint as n_trials from marts.post_hoc_changes
        where study = $study and paradigm = $paradigm group by all order by all
    """,
    "shortfalls": """
        from marts.shortfalls where study = $study and paradigm = $paradigm order by domain
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
            and checks.holds in ('weaker', 'contradicted', 'other_way', 'confounded')
        order by checks.claim_id, checks.part
    """,
    "method": """
        select any_value(n_draws) as n_draws, any_value(seed) as seed, any_value(margin) as margin_pp,
            any_value(confidence) as confidence, $fewest_vendors as fewest_vendors
        from inference.decisions where paradigm = $paradigm and study = $study
    """,
}
