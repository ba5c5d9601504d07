"""What the warehouse holds on one domain of one study: the rows that sentences on it are made of."""

from analysis.words.domains import Evidence
from bais.places import goals_of
from bais.settle import next_study
from bais.warehouse import records, values

# Trials and what is computed of them: in one domain or of one measure, or in all.
OF_DOMAIN = "study = $study and paradigm = $paradigm and coalesce(domain = $domain, $domain is null)"
OF_MEASURE = f"{OF_DOMAIN} and coalesce(measure = $measure, $measure is null)"
KEYS = "measure, instrument, arm, arm_b, goal, technique, control"
DECIDED = """
select places.*, coalesce(seeded.display_name, places.technique) as name,
    coalesce(controls.display_name, places.control) as control_name
from inference.decisions as places
left join seeds.techniques as seeded using (technique)
left join seeds.techniques as controls on places.control = controls.technique
"""
PLACES = f"""{DECIDED}
where {OF_MEASURE} and llm is not distinct from $llm
order by measure, instrument, arm, arm_b, technique, goal, comparison, control
"""
PREDICTIONS = f"""
select predictions.*, coalesce(seeded.display_name, technique) as name
from inference.predictions as predictions left join seeds.techniques as seeded using (technique)
where {OF_MEASURE} and llm is not distinct from $llm
order by measure, instrument, arm, arm_b, technique, goal
"""
LLMS = f"""
select distinct llm from inference.decisions
where {OF_DOMAIN} and llm is not null and comparison = 'control' order by llm
"""
# In how many specifications a decision is the same, and what was turned in those in which it is another.
SENSITIVITY = f"""
select {KEYS}, any_value(n_same_decision) as n_same_decision, any_value(n_specifications) as n_specifications,
    any_value(carried_by) as carried_by,
    coalesce(list([
        switch,
        case switch
            when 'reading' then response_source
            when 'row_set' then row_set
            when 'baseline' then baseline_scope
            else refusals
        end
    ] order by switch, refusals) filter (where decision != recommended and switch != 'llm_left_out'), []) as others
from (
    select *, any_value(decision) filter (where is_recommended) over (partition by {KEYS}) as recommended
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
WITHOUT_BASELINE = f"""
select llm from marts.effects where {OF_DOMAIN} and vignette is not null
group by llm having bool_and(coalesce(regexp_matches(reason, 'no_baseline|baseline_below_10'), false))
order by llm
"""
SOURCES = f"select distinct source from marts.trials where {OF_DOMAIN} and role is null order by source"


def evidence_on(warehouse, place: dict, llm: str | None = None, goal: str | None = None) -> Evidence:
    """Return the evidence on a domain of a paradigm that has goals, over LLMs and for one of them."""
    keys = {name: place[name] for name in ("study", "paradigm", "domain")} | {"measure": None, "llm": None}
    of_llm = keys | {"llm": llm}
    places = records(warehouse, PLACES, keys)
    own = records(warehouse, PLACES, of_llm) if llm else []
    llms = values(warehouse, LLMS, keys)
    techniques = sorted({row["technique"] for row in places})
    costs = {"techniques": techniques, "llms": [llm] if own else llms, "study": place["study"]}
    base, goals = goals_of(warehouse, place["study"], place["paradigm"])
    following = next_study(warehouse, place, goal or next(iter(goals)), next(iter(goals)))
    return Evidence(
        domain=place["domain"], paradigm=place["paradigm"], llm=llm, is_asked=llm in (None, *place["llms"]),
        places=places, own=own, llms=llms, is_simulated=place["is_simulated"],
        predictions=records(warehouse, PREDICTIONS, of_llm) or records(warehouse, PREDICTIONS, keys),
        without_baseline=values(warehouse, WITHOUT_BASELINE, keys),
        rankings=records(warehouse, RANKINGS, keys),
        costs={row.pop("technique"): row for row in records(warehouse, COSTS, costs)},
        next_steps=records(warehouse, NEXT_STEPS, keys),
        study_file=following.sentence, unaskable=not following.can_be_asked,
        vignettes=place["vignettes"],
        n_asked={row["llm"]: row["n_asked"] for row in records(warehouse, TRIALS_ASKED, keys)},
        changes=records(warehouse, CHANGES, keys),
        sensitivity=records(warehouse, SENSITIVITY, keys),
        goals=goals, base=base,
    )  # fmt: skip
