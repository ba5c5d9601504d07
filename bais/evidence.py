"""What the warehouse holds on one domain of one study: the rows that sentences on it are made of."""

import json

from analysis.words import codes
from analysis.words.domains import Evidence
from bais.settle import next_study
from bais.warehouse import ANCHORING, records, values

DECIDED = """
select places.*, coalesce(seeded.display_name, places.technique) as name,
    coalesce(controls.display_name, places.control) as control_name
from inference.decisions as places
left join seeds.techniques as seeded using (technique)
left join seeds.techniques as controls on places.control = controls.technique
"""
PLACES = f"""{DECIDED}
where study = $study and paradigm = $paradigm and domain = $domain and llm is not distinct from $llm
order by technique, goal, comparison, control
"""
PREDICTIONS = """
select predictions.*, coalesce(seeded.display_name, technique) as name
from inference.predictions as predictions left join seeds.techniques as seeded using (technique)
where study = $study and paradigm = $paradigm and domain = $domain and llm is not distinct from $llm
order by technique, goal
"""
LLMS = """
select distinct llm from inference.decisions
where study = $study and paradigm = $paradigm and domain = $domain and llm is not null and comparison = 'control'
order by llm
"""
# In how many specifications a decision is the same, and what was turned in those in which it is another.
SENSITIVITY = """
select technique, control, goal, any_value(n_same_decision) as n_same_decision,
    any_value(n_specifications) as n_specifications, any_value(carried_by) as carried_by,
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
    select *,
        any_value(decision) filter (where is_recommended) over (partition by technique, control, goal) as recommended
    from inference.multiverse
    where study = $study and paradigm = $paradigm and domain = $domain and comparison = 'control'
)
group by technique, control, goal
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
RANKINGS = "from marts.technique_rankings where study = $study and domain = $domain and llm is null order by technique"
# What would settle an open decision, of a warehouse that knows it.
NEXT_STEPS = """
from inference.power
where design = 'to_settle' and study = $study and paradigm = $paradigm and domain = $domain
order by technique_a, quantity
"""
TRIALS_ASKED = """
select llm, sum(n_asked)::bigint as n_asked from marts.attrition
where study = $study and paradigm = $paradigm and domain = $domain group by llm
"""
CHANGES = """
from marts.post_hoc_changes where study = $study and paradigm = $paradigm and domain = $domain order by all
"""
WITHOUT_BASELINE = """
select distinct llm from marts.technique_rankings
where study = $study and domain = $domain and llm is not null and contains(reason, 'no_baseline')
union
select distinct llm from marts.losses
where study = $study and domain = $domain
group by llm having bool_and(coalesce(contains(reason, 'baseline_below_10'), false))
order by llm
"""
VIGNETTES = """
select distinct vignette from marts.trials
where study = $study and paradigm = $paradigm and domain = $domain order by vignette
"""
IS_SIMULATED = """
select coalesce(bool_or(source = 'simulated'), false) from marts.trials
where study = $study and paradigm = $paradigm and domain = $domain
"""
GOALS_STATED = """
select relative_to, goals from staging.stg_paradigms
where study = coalesce($study, study) and paradigm = $paradigm and goals is not null
"""


def evidence_on(warehouse, study: str, domain: str, llm: str | None, is_asked: bool, goal=None, paradigm=ANCHORING):
    """Return the evidence on a domain of a paradigm that has goals, over LLMs and for one of them."""
    keys = {"study": study, "domain": domain}
    told = keys | {"paradigm": paradigm}
    places = records(warehouse, PLACES, told | {"llm": None})
    own = records(warehouse, PLACES, told | {"llm": llm}) if llm else []
    llms = values(warehouse, LLMS, told)
    among = [llm] if own else llms
    costs = {"techniques": sorted({row["technique"] for row in places}), "llms": among, "study": study}
    base, goals = goals_of(warehouse, study, paradigm)
    is_anchoring = paradigm == ANCHORING
    following = next_study(warehouse, study, domain, goal or next(iter(goals))) if is_anchoring else None
    return Evidence(
        domain=domain, llm=llm, is_asked=is_asked, places=places, own=own, llms=llms,
        is_simulated=values(warehouse, IS_SIMULATED, told)[0],
        predictions=records(warehouse, PREDICTIONS, told | {"llm": llm})
        or records(warehouse, PREDICTIONS, told | {"llm": None}),
        without_baseline=values(warehouse, WITHOUT_BASELINE, keys) if is_anchoring else [],
        rankings=records(warehouse, RANKINGS, keys) if is_anchoring else [],
        costs={row.pop("technique"): row for row in records(warehouse, COSTS, costs)},
        next_steps=records(warehouse, NEXT_STEPS, told),
        study_file=following and following.sentence,
        unaskable=not (following and following.can_be_asked),
        vignettes=following.vignettes if following else values(warehouse, VIGNETTES, told),
        n_asked={row["llm"]: row["n_asked"] for row in records(warehouse, TRIALS_ASKED, told)},
        changes=records(warehouse, CHANGES, told),
        sensitivity=records(warehouse, SENSITIVITY, told),
        goals=goals,
        base=base,
    )  # fmt: skip


def goals_of(warehouse, study: str | None, paradigm: str) -> tuple[str | None, dict[str, codes.Goal]]:
    """Return the arm that the goals of a paradigm are in per cent of, and what they measure, the leading one first.

    A paradigm without goals has none, and anchoring those that it always has. Without a study, that of any counts.
    """
    if paradigm == ANCHORING:
        return None, codes.GOALS
    for row in records(warehouse, GOALS_STATED, {"study": study, "paradigm": paradigm}):
        return row["relative_to"], codes.goals_in_words(json.loads(row["goals"]), row["relative_to"])
    return None, {}
