"""What the warehouse holds on one bias in one study: the rows that sentences on it are made of."""

from dataclasses import replace

from analysis.words import measures, shortfalls
from analysis.words.advice import Evidence
from analysis.words.pages import rows_shown, summary
from bais.places import WORDS, asked, goals_of, prompts_of
from bais.settle import next_study
from bais.warehouse import is_public, records, refuse_unknown, tables_in, values, vendors_of

# Trials and what is computed of them: in one domain or of one measure, or in all.
OF_DOMAIN = "study = $study and paradigm = $paradigm and coalesce(domain = $domain, $domain is null)"
OF_MEASURE = f"{OF_DOMAIN} and coalesce(measure = $measure, $measure is null)"
KEYS = "measure, instrument, arm, arm_b, goal, technique, control"
PLACES = f"""
select places.*, coalesce(seeded.display_name, places.technique) as name,
    coalesce(controls.display_name, places.control) as control_name
from inference.decisions as places
left join seeds.techniques as seeded using (technique)
left join seeds.techniques as controls on places.control = controls.technique
where {OF_MEASURE} and llm is not distinct from $llm
order by measure, instrument, arm, arm_b, technique, goal, comparison, control
"""
# of each LLM by its own trials
OF_LLMS = f"""
select places.*, coalesce(seeded.display_name, technique) as name
from inference.decisions as places left join seeds.techniques as seeded using (technique)
where {OF_MEASURE} and llm is not null and comparison in ('control', 'placebo')
order by measure, instrument, arm, arm_b, technique, goal, llm
"""
VENDORS = """
select llm, vendor, is_listed from intermediate.int_vendors where list_contains($llms::varchar[], llm) order by llm
"""
PREDICTIONS = f"""
select predictions.*, coalesce(seeded.display_name, technique) as name
from inference.predictions as predictions left join seeds.techniques as seeded using (technique)
where {OF_MEASURE} and (llm = $llm or llm is null and (vendor is null or vendor = $vendor))
qualify rank() over (order by llm is null, vendor is null) = 1
order by measure, instrument, arm, arm_b, technique, goal
"""
ANSWERED = """
select distinct llm from inference.outcome_contrasts where study = $study and paradigm = $paradigm and n_trials > 0
"""
LLMS = f"""
select llm from inference.decisions where {OF_DOMAIN} and llm is not null and comparison = 'control'
union
select llm from ({ANSWERED}) where llm is not null
    and ($domain is null or llm in (select llm from marts.trials where {OF_DOMAIN} and role is null))
order by llm
"""
# of all LLMs with an interval over LLMs and items; of one, over its items; beside it what its measure is
BIASES = """
-- on how many items the number that an arm plants lies below the answers without it
with planted as (
    select study, paradigm, arm, count(*) as n_anchors,
        count(*) filter (anchor_value < base) as n_anchors_below
    from (
        select study, paradigm, arm, vignette, item, any_value(anchor_value) as anchor_value
        from marts.counts
        where study = $study and paradigm = $paradigm and anchor_value is not null
        group by all
    )
    inner join (
        select vignette, item, arm as arm_b, sum(sum_of_values) / sum(n_trials) as base
        from marts.counts
        where
            study = $study and paradigm = $paradigm and technique = 'no_technique' and row_set = 'accepted'
            and measure = 'response'
        group by all
        having sum(n_trials) > 0
    ) using (vignette, item)
    inner join staging.stg_paradigms using (study, paradigm)
    where arm_b = relative_to
    group by all
)

select contrasts.*, margin, better, reference, answer_kind, counted_labels, measured_from, is_leading, relative_to,
    (
        select list(declared.measure order by declared.measure) from staging.stg_paradigms as declared
        where declared.study = $study and declared.paradigm = $paradigm and declared.is_leading
    ) as leading_measures,
    coalesce(contains(contrasts.reason, 'unsigned'), false) as is_unsigned,
    coalesce(display_name, technique) as name, n_anchors, n_anchors_below
from inference.outcome_contrasts as contrasts
inner join staging.stg_paradigms using (study, paradigm, measure)
left join seeds.techniques using (technique)
left join planted using (study, paradigm, arm)
where study = $study and paradigm = $paradigm and coalesce(measure = $measure, $measure is null)
    and case
        when $llm is null then is_headline
        else llm = $llm and level = 'items' and row_set = 'accepted' and weighting = 'llm'
    end
order by not is_leading, measure, instrument, arm, arm_b, technique != 'no_technique', technique
"""
# the share of changes without what the errors of judges add
CORRECTED = """
select phi_corrected, phi_corrected_low as low, phi_corrected_high as high from content.framing_changes
where
    study = $study and paradigm = $paradigm and technique = 'no_technique' and llm is not distinct from $llm
    and phi_corrected is not null
"""
# what its gains foretell of those in other places, by what leads in both
TRANSFER = f"""
with either_way as (
    from inference.transfer
    union all
    select * replace (
        {
    ", ".join(
        f"{one}{name} as {other}{name}"
        for name in ("study", "paradigm", "domain", "measure")
        for one, other in (("", "other_"), ("other_", ""))
    )
}
    )
    from inference.transfer
)

select either_way.* from either_way
left join staging.stg_paradigms as here using (study, paradigm, measure)
left join staging.stg_paradigms as there
    on other_study = there.study and other_paradigm = there.paradigm and other_measure = there.measure
where is_primary and coalesce(here.is_leading, true) and coalesce(there.is_leading, true) and {OF_DOMAIN}
order by other_study, other_paradigm, other_domain, other_measure, goal
"""
# In how many specifications a decision is the same, and what was turned in those in which it is another.
SENSITIVITY = f"""
select {KEYS}, any_value(recommended) as decision,
    any_value(columns('^n_(same_decision|specifications|left_out|left_out_same)$')),
    any_value(carried_by) as carried_by,
    coalesce(bool_and(contains(reason, 'too_few_vendors')) filter (where excluded_vendor is not null), false)
        as is_of_five,
    coalesce(list([
        switch,
        case switch
            when 'reading' then response_source
            when 'row_set' then row_set
            when 'baseline' then baseline_scope
            else refusals
        end
    ] order by switch, refusals) filter (
        where interval_decision != recommended and switch not in ('llm_left_out', 'vendor_left_out')
    ), []) as others
from (
    select *, any_value(interval_decision) filter (where is_recommended) over (partition by {KEYS}) as recommended
    from inference.multiverse where {OF_MEASURE} and comparison = 'control'
)
group by {KEYS} order by all
"""
# What a thousand decisions cost: the mean over LLMs, in whatever domain of the study.
COSTS = """
select
    technique,
    case when count(cost_usd_per_trial) = len($llms) then 1000 * avg(cost_usd_per_trial) end as cost_usd_per_1000,
    avg(calls_per_trial) as calls_per_trial,
    case
        when count(llm) = 0 then 'calls_not_recorded'
        when count(llm) < len($llms) then 'not_of_every_llm'
        when count(cost_usd_per_trial) < count(llm) then 'price_not_known'
    end as reason
from (select unnest($techniques::varchar[]) as technique)
left join (from marts.technique_costs where study = $study and list_contains($llms::varchar[], llm)) using (technique)
group by technique
"""
RANKINGS = f"from marts.effects where {OF_DOMAIN} and llm is null and vignette is null order by technique, goal"
# What would settle an open decision, of a warehouse that knows it.
NEXT_STEPS = f"""
from inference.power where design = 'to_settle' and {OF_MEASURE}
order by measure, instrument, arm, arm_b, technique_a, quantity
"""
TRIALS_ASKED = (
    f"select llm, sum(n_asked)::bigint as n_asked from marts.attrition where {OF_DOMAIN} group by llm order by llm"
)
CHANGES = f"from marts.post_hoc_changes where {OF_DOMAIN} order by all"
SHORTFALLS = f"from marts.shortfalls where {OF_DOMAIN} order by all"
# whose answers the gate holds back, those of whole batches with what these fail, by technique
HELD_BACK = f"""
with held_back as (
    select trial_id, llm, technique, verdict_id from intermediate.int_trials_read
    inner join intermediate.int_trials_not_shown using (trial_id)
    where {OF_DOMAIN} and fate = 'held_back'
    union all
    select trial_id, llm, technique, null as verdict_id from marts.quarantined_trials where {OF_DOMAIN}
)

select llm, technique, coalesce(any_value(display_name), technique) as name,
    coalesce(list(distinct check_name order by check_name) filter (check_name is not null), []) as checks
from held_back
left join raw.batch_checks
    on held_back.verdict_id = batch_checks.verdict_id and not is_passed and (level = 'fail' or observed_value is null)
left join seeds.techniques using (technique)
group by llm, technique order by llm, technique
"""
SHORTFALLS_OF_ALL = """
from marts.shortfalls where study = $study and paradigm = coalesce($paradigm, paradigm) order by paradigm, domain
"""
WITHOUT_BASELINE = f"""
select llm from marts.effects where {OF_DOMAIN} and vignette is not null
group by llm having bool_and(coalesce(regexp_matches(reason, 'no_baseline|baseline_below_10'), false))
order by llm
"""


def evidence_on(
    warehouse, place: dict, llm: str | None = None, goal: str | None = None, *, in_full: bool = True
) -> Evidence:
    """Return the evidence on a place, over LLMs and for one of them; if not in full, what a verdict rests on."""
    keys = {name: place[name] for name in ("study", "paradigm", "domain", "measure")} | {"llm": None}
    of_llm = keys | {"llm": llm}
    base, goals = goals_of(warehouse, place["study"], place["paradigm"], place["domain"])
    refuse_unknown("goal", goal, goals, **WORDS)
    llms = values(warehouse, LLMS, keys)
    has_vendors = "int_vendors" in tables_in(warehouse, "intermediate")
    vendors = records(warehouse, VENDORS, {"llms": llms}) if has_vendors else []
    # of goals, what a technique gains is told, and the bias itself only where none was asked
    is_of_gains = goals and any(row["comparison"] == "control" for row in records(warehouse, PLACES, keys))
    biases, mirrors, corrected = biases_on(warehouse, of_llm)
    unaided = biases if is_of_gains else []
    if is_of_gains:
        biases, mirrors, corrected = [], {}, []
    goals = goals or measures.goals(biases)
    labels = {measures.compared(bias): measures.label(bias) for bias in biases}
    fallen_short = records(warehouse, SHORTFALLS, keys) if is_public(warehouse, "shortfalls") else []
    fallen_short, held_back = shortfalls.combined(fallen_short), []
    if fallen_short.get("n_held_back") and "int_trials_not_shown" in tables_in(warehouse, "intermediate"):
        held_back = records(warehouse, HELD_BACK, keys)
        fallen_short["llms_held_back"] = list(dict.fromkeys(row["llm"] for row in held_back))

    def of_goals(query, keys):
        """Return the rows of a query that are of a goal; a comparison by a measure is named as one."""
        rows = (
            row | {"goal": labels.get(measures.compared(row), row["goal"])} for row in records(warehouse, query, keys)
        )
        return [row for row in rows if row["goal"] in goals]

    evidence = Evidence(
        domain=place["domain"], paradigm=place["paradigm"], llm=llm, is_asked=llm in (None, *place["llms"]),
        sources=place["sources"], biases=biases, unaided=unaided, mirrors=mirrors, corrected=corrected,
        places=of_goals(PLACES, keys), own=of_goals(PLACES, of_llm) if llm else [], of_llms=of_goals(OF_LLMS, keys),
        llms=llms, vendors={row["llm"]: row["vendor"] for row in vendors},
        unlisted=[row["llm"] for row in vendors if not row["is_listed"]],
        without_baseline=values(warehouse, WITHOUT_BASELINE, keys), rankings=records(warehouse, RANKINGS, keys),
        vignettes=place["vignettes"], goals=goals, base=base, shortfalls=fallen_short, held_back=held_back,
    )  # fmt: skip
    if not in_full:
        return evidence
    techniques = sorted({row["technique"] for row in evidence.places + evidence.own})
    costs = {"techniques": techniques, "llms": [llm] if evidence.own else llms, "study": place["study"]}
    following = next_study(warehouse, place, goal)
    vendor = vendors_of(warehouse, [llm])[llm] if llm else None
    return replace(
        evidence,
        predictions=of_goals(PREDICTIONS, of_llm | {"vendor": vendor}),
        costs={row.pop("technique"): row for row in records(warehouse, COSTS, costs)},
        next_steps=of_goals(NEXT_STEPS, keys), study_file=following.sentence, unaskable=not following.can_be_asked,
        n_asked={row["llm"]: row["n_asked"] for row in records(warehouse, TRIALS_ASKED, keys)},
        prompts=prompts_of(warehouse, place), changes=records(warehouse, CHANGES, keys),
        sensitivity=of_goals(SENSITIVITY, keys),
        transfer=records(warehouse, TRANSFER, keys) if is_public(warehouse, "transfer") else [],
    )  # fmt: skip


def biases_on(warehouse, keys: dict) -> tuple[list[dict], dict[str, str], list[dict]]:
    """Return the biases by measures, without those that mirror another, these by name, and what judges get wrong.

    Of an LLM that was asked, or was asked alone, they are those of its own items; else of all.
    """
    llms = [llm for llm in values(warehouse, ANSWERED, keys) if llm]
    keys = keys | {"llm": next((llm for llm in llms if keys["llm"] == llm or len(llms) == 1), None)}
    biases, mirrors = measures.without_mirrors(records(warehouse, BIASES, keys))
    judged = any(bias["measured_from"] == "judgement" for bias in biases)
    return biases, mirrors, records(warehouse, CORRECTED, keys) if judged else []


def shortfalls_in_short(warehouse, study: str, paradigm: str | None = None) -> list[str]:
    """Say how many answers to a study, or to one paradigm of it, count nowhere."""
    keys = {"study": study, "paradigm": paradigm}
    rows = records(warehouse, SHORTFALLS_OF_ALL, keys) if is_public(warehouse, "shortfalls") else []
    return [text for text in [shortfalls.in_short(rows)] if text]


def on_a_page(warehouse, study: str) -> tuple[list[dict], list[dict]]:
    """Return what a page says of each paradigm of a study, and the rows that it shows, as of `analysis.words.pages`."""
    summaries, page_rows = [], []
    for paradigm, evidences in evidence_by_paradigm(warehouse, study).items():
        biases, *_ = biases_on(warehouse, {"study": study, "paradigm": paradigm, "measure": None, "llm": None})
        if biases:
            summaries.append({"study": study, "paradigm": paradigm} | summary(evidences))
            page_rows += rows_shown(biases, evidences[0])
    return summaries, page_rows


def evidence_by_paradigm(warehouse, study: str, *, in_full: bool = True) -> dict[str, list[Evidence]]:
    """Return the evidence on each domain of each paradigm of a study; in full on an LLM that was asked alone."""
    evidences = {}
    for place in asked(warehouse):
        if place["study"] == study:
            llm = place["llms"][0] if in_full and len(place["llms"]) == 1 else None
            evidences.setdefault(place["paradigm"], []).append(evidence_on(warehouse, place, llm, in_full=in_full))
    return evidences
