"""`bais plan --to-settle`: the study file that would settle what is open in a domain, from `inference.power`."""

import json
import math
from pathlib import Path
from typing import NamedTuple

from analysis.words.codes import DEFAULT, option
from analysis.words.settling import cost_of_llms, on_the_study, over_llms, over_trials
from bais.places import asked_places, goals_of, places_meant
from bais.texts import refuse_existing, write_new
from bais.warehouse import marts, records, refuse_unknown, unaliased, values
from ingest.warehouse import UserError, printable

HERE = "study = $study and paradigm = $paradigm and domain = $domain"
OPEN = f"""
select paradigm, technique_a as technique, quantity, settles, gain, n_llms, n_items, n_trials_per_cell, needed_llms,
    needed_items, needed_trials, reason
from inference.power
where {HERE} and design = 'to_settle' and goal = $goal
order by coalesce(needed_llms, needed_trials, needed_items) nulls last, technique
"""
COMPARED = f"""
select distinct technique, control from inference.decisions
where {HERE} and llm is null and comparison in ('control', 'placebo') order by all
"""
DEFINED = """
select definition::varchar from raw.batches
where study = $study and definition is not null order by ordinal desc limit 1
"""
ITEMS = """
select items.* from raw.items as items
semi join (from marts.trials where study = $study and paradigm = $paradigm) as trials using (study, item)
qualify row_number() over (partition by item order by items.ordinal desc) = 1 order by item
"""
# Where the archive does not say by which rule, what the anchors came to.
MULTIPLES = f"""
select anchor_direction, round(median(anchor_value / baseline), 1) as factor, median(anchor_value) as anchor_value,
    count(distinct anchor_value) = 1 and count(distinct llm) > 1 as is_fixed
from marts.trials
where {HERE} and vignette = $vignette and anchor_direction in ('low', 'high') and baseline > 0
    and left_out_because is null
group by all
"""


class Question(NamedTuple):
    """What is to be settled: a domain of a study and a goal, with all that is there on it."""

    place: dict
    goal: str
    definition: dict | None  # how bais asked it; None where others recorded it, in words that bais does not have
    ways: list[dict]
    techniques: list[dict]

    @property
    def is_recorded(self) -> bool:
        """Whether everybody has to be asked anew."""
        return self.definition is None

    def what(self, way) -> str:
        """Say what a way would settle."""
        return f"{way['technique']} by {self.goal} in the domain {self.place['domain']} of {self.place['study']}"


def _question(warehouse, place, goal):
    keys = place | {"goal": goal}
    definition = next(iter(values(warehouse, DEFINED, keys)), None)
    ways, techniques = (records(warehouse, query, keys) for query in (OPEN, COMPARED))
    return Question(place, goal, definition and json.loads(definition), ways, techniques)


def write_study(
    domain: str, *, paradigm: str, study: str | None, goal: str | None, technique: str | None, llms: tuple[str, ...],
    trials: bool, out: Path | None,
) -> tuple[Path, list[str]]:  # fmt: skip
    """Write the study file that would settle the open decision of a domain, and return it and what is to be said."""
    from ingest.studies.study import parse_study

    with marts() as warehouse:
        _, goals = goals_of(warehouse, study, paradigm)
        if not goals:
            raise UserError(
                f"{printable(paradigm)} has no goals: a study is written of anchoring and paradigms that do"
            )
        place, *_ = places_meant(asked_places(warehouse, paradigm, study, domain), study, domain)
        goal = goal or next(iter(goals))
        refuse_unknown("goal", goal, goals)
        question = _question(warehouse, place, goal)
        named = [_new(warehouse, llm, place, may_be_asked=question.is_recorded) for llm in dict.fromkeys(llms)]
        where = f" that is ranked in the domain {printable(domain)} of study {printable(place['study'])}"
        refuse_unknown("technique", technique, sorted({row["technique"] for row in question.techniques}), where)
        way = _way(question, technique, trials)
        if way is None and not named:
            raise UserError(_nothing_open(question, technique))
        others = place["llms"] * question.is_recorded + _not_asked(warehouse, place)
        content = _content(warehouse, question, way)
    n_llms = 0 if trials or not way else _n_llms(question, way)
    added = named or others[:n_llms]
    if n_llms and not added:
        raise UserError(
            f"{n_llms} more LLM{'s' * (n_llms > 1)} would settle {question.what(way)}, and seeds/llms.csv has none "
            "that was not asked: name them with --llm vendor/name"
        )
    had = {entry["llm"] for entry in content.get("llms", [])}
    asked = place["llms"] if trials and question.is_recorded else added
    content["llms"] = [*content.get("llms", []), *(llm for llm in asked if llm not in had)]
    if trials:
        content["stopping_rule"] = {"minimum": max(1, math.ceil(way["needed_trials"] / len(content["temperatures"])))}
    path = out or Path(f"{place['study']}-{place['domain']}.yaml")
    sentences = [over_trials(way, question.what(way))] if trials else _over_llms(question, way, content)
    n_missing = max(0, n_llms - len(added))
    sentences += on_the_study(content, len(added), n_missing, place["study"], is_recorded=question.is_recorded)
    sentences.append(f"The study: {printable(path)}. `bais collect {printable(path)}` asks it.")
    text = _yaml_text(content, sentences)
    parse_study(text, printable(path))
    refuse_existing(path, "--out")
    write_new(path, text, "the study")
    return path, sentences


def _new(warehouse, named, place, *, may_be_asked):
    """Return the LLM that was named, or its alias; one that was asked in the same words is refused."""
    llm = unaliased(warehouse, named)
    if not all(llm.partition("/")):
        raise UserError(f"--llm {printable(named)} is no alias of an LLM and not an id such as vendor/name")
    if llm in place["llms"] and not may_be_asked:
        raise UserError(
            f"{printable(llm)} was asked in the domain {printable(place['domain'])} of study "
            f"{printable(place['study'])}: name an LLM that was not"
        )
    return llm


def _not_asked(warehouse, place):
    """Return the known LLMs that were not asked, by whether a price is known of them."""
    if place["is_simulated"]:
        from ingest.studies.llms import anchored_respondents

        return [
            llm for llm, truth in anchored_respondents().items()
            if llm not in place["llms"] and truth["baselines"].keys() >= set(place["vignettes"])
        ]  # fmt: skip
    llms = values(
        warehouse,
        "select llm from seeds.llms left join seeds.prices using (llm) where provider != 'simulated' "
        "and is_askable and llm != 'openai/codex' order by usd_per_million_tokens_in is null, llm",
    )
    return [llm for llm in llms if llm not in place["llms"]]


def _way(question, technique, trials):
    """Return what settles the decision that is nearest, or that of a technique, by LLMs or by trials."""
    quantity = "needed_trials" if trials else "needed_llms"
    rows = [row for row in question.ways if row["quantity"] == quantity and technique in (None, row["technique"])]
    way = next((row for row in rows if row[quantity]), rows[0] if rows else None)
    if trials and not way and any(row["quantity"] == "needed_items" for row in question.ways):
        raise UserError(
            "more trials of the same items settle nothing: put more items to LLMs, or leave --more-trials away"
        )
    if way and trials and not way["needed_trials"]:
        raise UserError(
            f"no number of trials settles it with the {way['n_llms']} LLMs that were asked ({way['reason']}): more "
            "LLMs could, so leave --more-trials away"
        )
    return way


def _more_llms(way):
    """Return how many LLMs are missing; where that cannot be computed, up to the fewest that decide."""
    from analysis.methods.small_samples import FEWEST_LLMS

    return max(1, (way["needed_llms"] or FEWEST_LLMS) - way["n_llms"])


def _n_llms(question, way):
    """Return how many LLMs the study asks: those that are missing, or where nothing can be added to, all."""
    return _more_llms(way) + way["n_llms"] * question.is_recorded


def _over_llms(question, way, content):
    """Say how many LLMs settle it, and what that costs; nothing where nothing is open."""
    if not way:
        return []
    of_technique = [row for row in question.ways if row["technique"] == way["technique"]]
    others = [row for row in of_technique if row["quantity"] != "needed_llms"]
    return [over_llms(way, _more_llms(way), others, question.what(way)), *_cost(question, way, content)]


def _nothing_open(question, technique):
    domain, study = (printable(question.place[name]) for name in ("domain", "study"))
    where = f"in the domain {domain} of study {study} by {question.goal}"
    if not [row for row in question.techniques if row["control"]]:
        return f"nothing can be settled {where}: no ranked technique was asked there beside its control"
    if question.ways:
        names = ", ".join(sorted({row["technique"] for row in question.ways}))
        return f"nothing is open of {printable(technique)} {where}: open is {names}"
    return (
        f"nothing is open {where}: `bais recommend{option(question.place['paradigm'])} --domain {domain} --study "
        f"{study}` says what is decided; to ask one more LLM, name it with --llm"
    )


def _content(warehouse, question, way):
    """Return the study as it was asked; where bais did not ask it, of the domain's vignettes and what is ranked."""
    from ingest.paradigms.paradigm import multiples_of_anchoring
    from ingest.prompts import shipped

    if not question.is_recorded:
        return _as_it_was_asked(warehouse, question)
    place, names = question.place, {"no_technique"}
    names |= {name for row in question.techniques for name in (row["technique"], row["control"])}
    vignettes = shipped("vignettes")
    for vignette in place["vignettes"]:
        if place["paradigm"] != DEFAULT or vignettes.get(vignette, {}).get("domain") != place["domain"]:
            others = [name for name, entry in vignettes.items() if entry["domain"] == place["domain"]]
            asks = f" ({', '.join(others)})" if others else ""
            raise UserError(
                f"the words of vignette {printable(vignette)} are not known to bais: study {printable(place['study'])} "
                "was recorded without its prompts, so nobody else can be asked the same; ask a vignette of "
                f"bais{asks} or one of your own in a study of its own, as docs/studies.md says"
            )
    multiples = dict(multiples_of_anchoring())
    rules = {
        vignette: _anchors(records(warehouse, MULTIPLES, place | {"vignette": vignette}), multiples)
        for vignette in place["vignettes"]
    }
    temperatures = [t for t in place["temperatures"] if t is not None] + [None] * place["has_none"]
    per_cell = way["n_trials_per_cell"] if way and way["n_trials_per_cell"] else 30 * len(temperatures)
    return {
        "study": f"{place['study']}-{place['domain']}",
        "vignettes": [{"vignette": vignette, "anchors": rules[vignette]} for vignette in place["vignettes"]],
        "techniques": [name for name in shipped("techniques") if name in names],
        "anchors": {"proportional": multiples},
        "temperatures": temperatures,
        "stopping_rule": {"minimum": max(1, round(per_cell / len(temperatures)))},
    }


def _as_it_was_asked(warehouse, question):
    """Return how bais asked a study, all of it: answers to what a study names no more would count no more."""
    from ingest.prompts import shipped

    content = question.definition
    content["techniques"] = [_short(entry, "technique", shipped("techniques")) for entry in content["techniques"]]
    if "paradigm" in content:
        return _with_its_paradigms(warehouse, question.place["study"], content)
    content["vignettes"] = [_short(entry, "vignette", shipped("vignettes")) for entry in content["vignettes"]]
    return content


def _with_its_paradigms(warehouse, study, content):
    """Return a study of paradigms as a file says it: each with its vignettes, and with the items that were asked."""
    vignettes = content.pop("vignettes")
    for paradigm in content["paradigm"]:
        own = [entry for entry in vignettes if entry["paradigm"] == paradigm["paradigm"]]
        _put_in(warehouse, study, paradigm, own)
    content.pop("judges", None)
    return content


def _put_in(warehouse, study, paradigm, vignettes):
    """Put its vignettes and items into a paradigm."""
    from ingest.paradigms.items import SAID
    from ingest.paradigms.paradigm import ParadigmVignette, Treatment

    paradigm["vignettes"] = [
        {key: entry[key] for key in ParadigmVignette.model_fields if key in entry}
        | {
            "arms": {
                arm: {key: told[key] for key in Treatment.model_fields if key in told}
                for arm, told in entry["arms"].items()
            }
        }
        for entry in vignettes
    ]
    if given := paradigm.get("items"):
        given = {key: given[key] for key in ("id", "fields", "source", "licence", *SAID) if key in given}
        of_item = {key: given[key] for key in SAID if key in given}
        items = records(warehouse, ITEMS, {"study": study, "paradigm": paradigm["paradigm"]})
        rows = [
            {given["id"]: row["item"]}
            | json.loads(row["fields"])
            | {of_item[key]: str(row[key]) for key in of_item if row[key] is not None}
            for row in items
        ]
        paradigm["items"] = given | {"rows": rows}


def _short(entry, key, entries):
    """Name what bais ships by its name alone, unless the study has changed it."""
    shipped = entries.get(entry[key], {})
    usual = {"version": 1} | shipped
    changed = {name for name, value in entry.items() if usual.get(name) != value and (value or name == "anchors")}
    if not shipped or changed - {"anchors"}:
        return entry
    return {key: entry[key], "anchors": entry["anchors"]} if changed else entry[key]


def _anchors(rows, multiples):
    """Return the rule that gave the anchors of these rows or, where they do not tell it, that of the multiples."""
    by_direction = {row["anchor_direction"]: row for row in rows}
    if len(by_direction) == 2 and all(row["is_fixed"] for row in rows):
        return {"fixed": {side: by_direction[side]["anchor_value"] for side in multiples}}
    factors = {side: by_direction[side]["factor"] for side in multiples if side in by_direction}
    is_told = len(factors) == len(multiples) and 0 < factors["low"] < factors["high"]
    return {"proportional": dict(factors if is_told else multiples)}


def _cost(question, way, content):
    """Say what the LLMs that are to be asked cost, each as much as one of seeds/prices.csv on average."""
    from ingest.ask.collector import read_prices
    from ingest.ask.plan import plan_of
    from ingest.studies.study import parse_study

    prices = read_prices()
    if question.place["is_simulated"] or not prices:
        return []
    # by another name, so that no spool is read
    priced = plan_of(parse_study(json.dumps(content | {"study": "priced", "llms": sorted(prices)})))
    n_llms = _n_llms(question, way)
    usd = [priced["cost_usd"][end] / len(prices) * n_llms for end in ("low", "high")]
    names = [entry if isinstance(entry, str) else entry["technique"] for entry in content["techniques"]]
    return [cost_of_llms(n_llms, usd, names, is_recorded=question.is_recorded)]


class NextStudy(NamedTuple):
    """Whether others can be asked of a domain too, and which command writes the study."""

    can_be_asked: bool
    sentence: str | None


def next_study(warehouse, place: dict, goal: str | None) -> NextStudy:
    """Say which command writes the study that would settle what is open, and what it costs, or why none can.

    Without a goal the leading one is meant; none can be written of a paradigm that names no goals.
    """
    _, goals = goals_of(warehouse, place["study"], place["paradigm"])
    if not goals:
        return NextStudy(False, None)
    leading = next(iter(goals))
    question = _question(warehouse, place, goal or leading)
    way = _way(question, None, trials=False)
    try:
        content = _content(warehouse, question, way)
    except UserError as error:  # its words are not known
        return NextStudy(False, f"No study file can be written of it: {error}." if way else None)
    if way is None:
        return NextStudy(True, None)
    of_goal = "" if goal in (None, leading) else f" --goal {goal}"
    domain, study = (printable(place[name]) for name in ("domain", "study"))
    command = f"bais plan --to-settle {domain}{option(place['paradigm'])} --study {study}{of_goal}"
    cost = _cost(question, way, content)
    return NextStudy(True, " ".join([f"`{command}` writes the study that takes the fewest LLMs.", *cost]))


def _yaml_text(content, sentences):
    import yaml

    order = ("study", "description", "source", "llms")
    content = {key: content[key] for key in (*order, *content) if content.get(key) not in (None, "", {})}
    comments = "".join(f"# {sentence}\n" for sentence in sentences[:-1])
    return comments + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)
