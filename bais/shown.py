"""What LLMs were asked and what they answered, as the pages show it: prompts, and the texts of answers."""

import json
import re
from itertools import groupby

from bais.transcript import turns_of_calls, turns_of_line
from bais.warehouse import records

MOST_TEXTS = 3_000  # of a study, of which the pages take as many as they have room for
LONGEST = 1_500  # characters of a reply
FILLED_IN = re.compile(r"\{(?!anchor\})(\w+)\}")  # what a conversation fills in as it goes on
CELL = ("study", "domain", "vignette", "llm", "technique", "direction")

# of each cell and answer how many there are, and how many of them have a text; refusals have no value
ANSWERS = """
with trials as (
    select
        study, domain, vignette, llm, technique, anchor_direction as direction, trial_id, first_response, response_text,
        case when status = 'answered' then response end as value
    from marts.trials
    where
        paradigm = 'anchoring' and role is null and left_out_because is null
        and anchor_direction in ('none', 'low', 'high')
)

select
    study, domain, vignette, llm, technique, direction, value, count(*)::bigint as n_texts, min(trial_id) as trial_id
from trials
where response_text is not null
group by all
order by all
"""
KEPT = """
select kept.trial_id, kept.response_text, kept.line, public.first_response
from raw.trials as kept inner join marts.trials as public using (trial_id)
where list_contains($trial_ids, trial_id)
"""
CALLS = "from raw.calls where list_contains($trial_ids, trial_id) order by trial_id, turn, attempt, call_id"
# the trials of one cell, those too of which no text was kept
IN_CELL = """
from marts.trials
where
    paradigm = 'anchoring' and role is null and left_out_because is null and study = $study and vignette = $vignette
    and llm = $llm and technique = $technique and anchor_direction = $direction
"""
OF_CELL = f"""
with trials as (
    select trial_id, asked_at, first_response, case when status = 'answered' then response end as value {IN_CELL}
)

select trials.trial_id, trials.value, trials.first_response as first, kept.response_text, kept.line
from trials left join raw.trials as kept using (trial_id)
where
    $asked = 'all' or ($asked = 'none' and trials.value is null)
    or ($asked = 'one' and abs(trials.value - $value) <= $tolerance * abs($value))
order by trials.asked_at, trials.trial_id
"""
CALLS_OF_CELL = f"""
select trial_id, turn, attempt, step, round, prompt_hash, response_text, error, refusal
from raw.calls semi join (select trial_id {IN_CELL}) using (trial_id)
order by trial_id, turn, attempt, call_id
"""
TOLERANCE = 1e-11  # of a value: the pages have twelve digits
# of each condition the prompts of the first trial that kept them
PROMPTS = """
with asked as (
    select trial_id, turn, prompt_hash from raw.calls where error is null and prompt_hash is not null
    union all
    select trial_id, 0 as turn, prompt_hash from raw.trials
    where source = 'recorded' and prompt_hash is not null
),

told as (
    select trial_id, list(text order by turn) as turns from (
        select distinct asked.trial_id, asked.turn, prompts.text
        from raw.trials as trials
        inner join asked using (trial_id)
        inner join raw.prompts as prompts
            on
                trials.study = prompts.study and asked.prompt_hash = prompts.prompt_hash
                and prompts.prompt_kind = 'message'
    )
    group by trial_id
)

select study, vignette, technique, anchor_direction as direction, llm, anchor_value as anchor, turns
from marts.trials inner join told using (trial_id)
where
    paradigm = 'anchoring' and role is null and left_out_because is null and anchor_direction in ('none', 'low', 'high')
qualify row_number() over (
    partition by study, vignette, technique, anchor_direction order by asked_at, trial_id
) = 1
order by all
"""


def answers(warehouse) -> list[dict]:
    """Return the answers of each cell that have a text, with one of the texts, as turns; the most telling first.

    These are refusals, then what most answers of a cell said, then all others by how often they came.
    """
    rows = records(warehouse, ANSWERS)
    for _, of_cell in groupby(rows, key=lambda row: [row[name] for name in CELL]):
        with_value = sorted((row for row in of_cell if row["value"] is not None), key=lambda row: -row["n_texts"])
        for place, row in enumerate(with_value):
            row["place"] = 2 if place else 1
    rows.sort(key=lambda row: (row.get("place", 0), -row["n_texts"]))
    by_study = {}
    for row in rows:
        by_study.setdefault(row["study"], []).append(row["trial_id"])
    picked = {"trial_ids": [trial_id for of_study in by_study.values() for trial_id in of_study[:MOST_TEXTS]]}
    kept = {row["trial_id"]: row for row in records(warehouse, KEPT, picked)}
    calls = _by_trial(records(warehouse, CALLS, picked))
    for row in rows:
        row["turns"] = _turns(kept[row["trial_id"]], calls) if row["trial_id"] in kept else None
        row["first"] = kept[row["trial_id"]]["first_response"] if row["trial_id"] in kept else None
    return rows


def answers_of_cell(warehouse, cell: dict, asked: str = "all", value: float | None = None) -> list[dict]:
    """Return every answer of one LLM in one condition, in the order in which they came, with its turns.

    Parameters
    ----------
    cell : dict
        `study`, `vignette`, `llm`, `technique`, `direction`.
    asked : str
        `all`, `none` for those without a number, `one` for those with this value.
    value : float, optional
    """
    parameters = cell | {"asked": asked, "value": value, "tolerance": TOLERANCE}
    calls = _by_trial(records(warehouse, CALLS_OF_CELL, parameters))
    return [
        {name: row[name] for name in ("trial_id", "value", "first")} | {"turns": _turns(row, calls)}
        for row in records(warehouse, OF_CELL, parameters)
    ]


def _by_trial(calls):
    return {trial_id: list(of_trial) for trial_id, of_trial in groupby(calls, key=lambda call: call["trial_id"])}


def _turns(trial, calls):
    """Return who said what in a trial, as far as it was kept."""
    if trial["trial_id"] in calls:
        turns = turns_of_calls(calls[trial["trial_id"]], {})
    else:
        line = json.loads(trial["line"]) if trial["line"] else {}
        turns = turns_of_line(line if isinstance(line, dict) else {}, trial["response_text"], None)
    return [
        (turn["step"] or "answer", turn["reply"][:LONGEST], len(turn["reply"]) > LONGEST)
        for turn in turns
        if turn["reply"] is not None
    ]


def prompts(warehouse, conditions: list[dict]) -> list[dict]:
    """Return what was asked in each condition: as it was sent where that was kept, else as bais would ask it.

    Parameters
    ----------
    conditions : list of dict
        `study`, `vignette`, `technique`; of what is shipped with neither words nor prompt nothing is returned.
    """
    sent = [row | {"is_sent": True} for row in records(warehouse, PROMPTS)]
    there = {(row["study"], row["vignette"], row["technique"]) for row in sent}
    return sent + [
        row
        for condition in conditions
        if tuple(condition.values()) not in there
        for row in _as_bais_would_ask(**condition)
    ]


def _as_bais_would_ask(study, vignette, technique):
    from ingest.prompts import SLOT, anchored_script, shipped

    vignettes, techniques = shipped("vignettes"), shipped("techniques")
    if vignette not in vignettes or technique not in techniques:
        return
    for direction in ("none", "anchored"):
        slot = None if direction == "none" else SLOT
        script = anchored_script(vignettes[vignette], techniques[technique], slot, 1 if slot else None)
        template = script.template()
        rounds = template.get("rounds", {})
        turns = [*template["turns"], *(rounds[step] for step in ("determine", "analyse", "debias") if step in rounds)]
        yield {
            "study": study, "vignette": vignette, "technique": technique, "direction": direction, "llm": None,
            "anchor": None, "turns": [FILLED_IN.sub(_named, turn) for turn in turns], "is_sent": False,
        }  # fmt: skip


def _named(slot):
    return f"[{slot[1].replace('_', ' ')}]"
