"""What the report's page and the paper are made of: the rows of one query for each of their tables."""

from bais.published import CHECKED
from bais.warehouse import IN_ANCHORING, IS_A_STUDY

# of a study that asks about no anchors
OTHER_PARADIGMS = f"""
select distinct paradigm from marts.attrition
where study = $study and role is null
qualify not bool_or({IN_ANCHORING}) over () order by all
"""
# every query has its own order, so that the same warehouse gives the same page
PAGE = {
    "studies": """
        select study, bool_or(source = 'simulated') as is_simulated from raw.batches
        where source != 'scored' group by all order by is_simulated, study
    """,
    "counts": """
        select study, sum(n_asked)::bigint as n_asked, sum(n_answered)::bigint as n_answered,
            count(distinct llm) filter (where role is null) as n_llms
        from marts.attrition group by all order by all
    """,
    "techniques": """
        select technique, display_name, is_ranked, description from seeds.techniques
        union all
        select distinct technique, technique, true, null from inference.rank_probabilities
        anti join seeds.techniques using (technique)
        order by technique
    """,
    "llms": "select llm, display_name from seeds.llms order by llm",
    "units": "select distinct study, domain, vignette, response_unit from marts.trials order by all",
    "flag_reasons": "select reason, sentence from seeds.flag_reasons order by reason",
    "rank_probabilities": """
        from inference.rank_probabilities where llm is null order by study, domain, metric, technique, control
    """,
    "of_each_llm": """
        from inference.rank_probabilities where llm is not null and comparison = 'control'
        order by study, domain, llm, metric, technique, control
    """,
    "switches": """
        select study, domain, technique, control, switch, excluded_llm, decision, decision_asked,
            case switch
                when 'reading' then response_source
                when 'row_set' then row_set
                when 'baseline' then baseline_scope
                when 'refusals' then refusals
            end as value
        from inference.sensitivity where comparison = 'control' and metric = 'displacement' and not is_recommended
        order by study, domain, technique, control, switch, excluded_llm, value
    """,
    "predictions": "from inference.predictions order by study, domain, metric, technique, llm nulls first",
    "technique_rankings": "from marts.technique_rankings order by study, domain, llm nulls first, technique",
    "intervals": """
        from inference.intervals
        where llm is null and metric = 'percent_of_baseline' and weighting = 'llm' and row_set = 'accepted'
            and baseline_scope = 'pooled' and method = 'trial'
        order by study, domain, technique, anchor_direction
    """,
    "baselines": "from marts.baselines where temperature_scope = 'pooled' order by study, domain, vignette, llm",
    "attrition": f"""
        select study, domain, technique, sum(columns('n_.*'))::bigint from marts.attrition
        where {IN_ANCHORING} group by all order by study, domain, technique
    """,
    "paradigms": f"""
        select distinct study, paradigm from marts.attrition where not {IN_ANCHORING} and role is null order by all
    """,
    "attrition_bounds": "from marts.attrition_bounds where llm is null order by study, domain, technique",
    "claims": f"""
        select claims.* exclude (note, not_derivable), checks.recomputed_value, checks.recomputes, checks.holds,
            checks.reason, checks.recommended_value, checks.recommended_low, checks.recommended_high, checks.n_trials,
            checks.describes, checks.rests_on, checks.margin, checks.n_places, checks.is_first_place,
            checks.newest_recomputes, checks.newest_holds, trials.trials_query as query
        from {CHECKED}
        left join marts.claim_trials as trials
            on checks.claim_id = trials.claim_id and checks.part is not distinct from trials.part
        order by document, claims.rowid
    """,
    "batches": """
        select batches.batch_id, batches.study, batches.source, batches.n_trials, batches.loaded_at,
            verdicts.verdict_id, verdicts.verdict, verdicts.n_failed, verdicts.n_warnings, verdicts.checked_at,
            last.is_published, last.act
        from raw.batches as batches
        left join staging.stg_batch_verdicts as last using (batch_id)
        left join raw.batch_verdicts as verdicts using (verdict_id)
        order by batches.study, batches.loaded_at, batches.batch_id
    """,
    "checks": """
        select verdicts.study, verdicts.vignette, checks.verdict_id, check_name, level, observed_value, threshold,
            measure, n_offending, detail
        from raw.batch_checks as checks inner join raw.batch_verdicts as verdicts using (verdict_id)
        semi join staging.stg_batch_verdicts as last using (verdict_id)
        where not is_passed order by study, level, check_name, vignette, verdict_id
    """,
    "flags": """
        select study, severity, reason, count(distinct trial_id) as n_trials
        from raw.flagged_trials semi join staging.stg_batch_verdicts using (verdict_id)
        semi join staging.stg_flagged_trials using (trial_id, batch_id)
        semi join intermediate.int_trials_published using (trial_id, batch_id)
        group by all order by study, severity, n_trials desc, reason
    """,
    "quarantined_lines": """
        select study, reason, count(*) as n_lines from raw.quarantined_lines group by all order by all
    """,
    "disagreements": "from marts.parse_disagreements order by study, llm, vignette, technique, trial_id",
    "sources": """
        select study, vignette, domain, source, count(*) as n_trials,
            count(distinct llm) filter (where role is null) as n_llms,
            min(asked_at) as first_asked_at, max(asked_at) as last_asked_at
        from marts.trials group by all order by study, vignette, domain, source
    """,
    "resampling": """
        select study, method, seed, n_draws, max(margin_pp) as margin_pp, count(*) as n_rows
        from inference.rank_probabilities group by all order by all
    """,
}

STUDIES = f"""
select study, bool_or(source = 'simulated') as is_simulated, list(distinct source order by source) as sources,
    count(*) as n_trials, list(distinct llm order by llm) filter (where role is null) as llms
from marts.trials where {IS_A_STUDY} group by study order by study
"""

# What a paper may say: the recommended specification, over all LLMs of the study.
PAPER = {
    "techniques": "select technique, display_name from seeds.techniques",
    "rankings": """
        from marts.technique_rankings where study = $study and llm is null
        order by domain, technique != 'no_technique', rank_by_displacement nulls last, technique
    """,
    "decisions": """
        from inference.rank_probabilities where study = $study and llm is null and comparison is not null
        order by domain, metric, technique, control
    """,
    "predictions": """
        from inference.predictions where study = $study and llm is null order by domain, metric, technique, control
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
        select any_value(n_draws) as n_draws, any_value(seed) as seed, any_value(margin_pp) as margin_pp,
            any_value(confidence) as confidence, $fewest_llms as fewest_llms
        from inference.rank_probabilities where study = $study
    """,
}
