"""`bais plan --to-settle`: the study that would settle what is open in a domain, of new vendors first."""

import json
import math
from pathlib import Path
from typing import NamedTuple

from analysis.words.codes import DEFAULT, option
from analysis.words.settling import cost_of_llms, on_the_study, over_trials, over_vendors
from analysis.words.vendors import on_unlisted
from bais.places import asked_places, goals_of, places_meant
from bais.texts import refuse_existing, write_new
from bais.warehouse import marts, records, refuse_unknown, unaliased, values, vendors_of
from ingest.land.seeds import place_of
from ingest.warehouse import UserError, printable

QUANTITIES = ("needed_vendors", "needed_llms", "needed_items", "needed_trials")  # in the order in which they are bought
HERE = "study = $study and paradigm = $paradigm and domain = $domain"
# What settles each open decision every second time, and four times in five.
OPEN = f"""
with rows as (
    select *, coalesce(needed_vendors, needed_llms, needed_items, needed_trials) as needed_of_it
    from inference.power where {HERE} and design = 'to_settle' and goal = $goal
)

select technique_a as technique, quantity, max(needed_of_it) filter (power = 0.5) as needed,
    max(needed_of_it) filter (power = 0.8) as needed_surely, arg_min(settles, power) as settles,
    arg_min(reason, power) as reason, any_value(gain) as gain, any_value(n_llms) as n_llms,
    any_value(n_vendors) as n_vendors, any_value(n_items) as n_items, any_value(n_trials_per_cell) as n_trials_per_cell
from rows group by all
order by needed_surely nulls last, needed nulls last, technique
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
semi join (
    from marts.trials where study = $study and paradigm = $paradigm and vignette = coalesce($vignette, vignette)
) as trials using (study, item)
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


CHANCES = {80: "needed_surely", 50: "needed"}  # in how many of a hundred times, the surest first


class Question(NamedTuple):
    """What is to be settled: a domain of a study and a goal, with all that is there on it."""

    place: dict
    goal: str
    definition: dict | None  # how bais asked it; None where others recorded it, in words that bais does not have
    ways: list[dict]
    techniques: list[dict]
    vendors: set[str]  # of all that were asked

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
    vendors = {*vendors_of(warehouse, place["llms"]).values()}
    return Question(place, goal, definition and json.loads(definition), ways, techniques, vendors)


def write_study(
    domain: str, *, paradigm: str, study: str | None, goal: str | None, technique: str | None, llms: tuple[str, ...],
    trials: bool, out: Path | None,
) -> tuple[Path, list[str]]:  # fmt: skip
    """Write the study file that would settle the open decision of a domain, and return it and what is to be said."""
    from ingest.land.vendors import UNLISTED
    from ingest.studies.study import parse_study

    with marts() as warehouse:
        _, goals = goals_of(warehouse, study, paradigm)
        if not goals:
            raise UserError(
                f"{printable(paradigm)} has no goals: a study is written of anchoring and paradigms that do"
            )
        place, *_ = places_meant(asked_places(warehouse, paradigm, study, domain), study, domain)
        goal = goal or next(iter(goals_of(warehouse, place["study"], paradigm, domain)[1]))
        refuse_unknown("goal", goal, goals)
        question = _question(warehouse, place, goal)
        named = [_new(warehouse, llm, place, may_be_asked=question.is_recorded) for llm in dict.fromkeys(llms)]
        where = f" that is ranked in the domain {printable(domain)} of study {printable(place['study'])}"
        refuse_unknown("technique", technique, sorted({row["technique"] for row in question.techniques}), where)
        way = _way(question, technique, trials)
        if way is None and not named:
            raise UserError(_nothing_open(question, technique))
        others = _not_asked(warehouse, place)
        vendors = vendors_of(warehouse, [*place["llms"], *named, *others])
        content = _content(warehouse, question, way)
    n_vendors = 0 if trials or not way else _more_vendors(question, way)
    anew = place["llms"] * question.is_recorded
    added = named or [*anew, *_one_of_each(others, vendors, question.vendors)[:n_vendors]]
    if n_vendors and not added:
        raise UserError(
            f"LLMs of {n_vendors} more vendor{'s' * (n_vendors > 1)} would settle {question.what(way)}, and "
            f"{place_of('llms')} has none that was not asked: name them with --llm vendor/name"
        )
    had = {entry["llm"] for entry in content.get("llms", [])}
    content["llms"] = [*content.get("llms", []), *(llm for llm in added if llm not in had)]
    if trials:
        n_trials = way["needed_surely"] or way["needed"]
        content["stopping_rule"] = {"minimum": max(1, math.ceil(n_trials / len(content["temperatures"])))}
    path = out or Path(f"{place['study']}-{place['domain']}.yaml")
    sentences = [over_trials(way, question.what(way))] if trials else _over_vendors(question, way, content)
    n_new = 0 if trials else len({vendors[llm] for llm in added} - question.vendors)
    n_missing = max(0, n_vendors - n_new)
    sentences += on_the_study(content, n_new, n_missing, place["study"], is_recorded=question.is_recorded)
    if unlisted := on_unlisted([printable(llm) for llm in named if vendors[llm] == UNLISTED]):
        sentences.append(unlisted)
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
        "select llm from seeds.llms left join seeds.prices using (llm) where not starts_with(llm, 'sim/') "
        "and is_askable and llm != 'openai/codex' order by usd_per_million_tokens_in is null, llm",
    )
    return [llm for llm in llms if llm not in place["llms"]]


def _one_of_each(llms, vendors, known):
    """Return the first LLM of each vendor of which none was asked."""
    first = {}
    for llm in llms:
        first.setdefault(vendors[llm], llm)
    return [llm for vendor, llm in first.items() if vendor not in known]


def _way(question, technique, trials):
    """Return what settles the decision that is nearest, or that of a technique, by vendors or by trials."""
    quantity = "needed_trials" if trials else "needed_vendors"
    rows = [row for row in question.ways if row["quantity"] == quantity and technique in (None, row["technique"])]
    way = next((row for row in rows if row["needed"]), rows[0] if rows else None)
    if trials and not way and any(row["quantity"] == "needed_items" for row in question.ways):
        raise UserError(
            "more trials of the same items settle nothing: put more items to LLMs, or leave --more-trials away"
        )
    if way and trials and not way["needed"]:
        raise UserError(
            f"no number of trials settles it with the {way['n_llms']} LLMs that were asked ({way['reason']}): more "
            "vendors could, so leave --more-trials away"
        )
    return way


def _more_vendors(question, way):
    """Return how many vendors are missing, for four times in five if that can be had, or to the fewest that decide."""
    from analysis.methods.small_samples import FEWEST_VENDORS

    there = len(question.vendors) if question.is_recorded else way["n_vendors"]
    needed = next(filter(None, (way[needed] for needed in CHANCES.values())), FEWEST_VENDORS)
    return max(1, needed - there)


def _over_vendors(question, way, content):
    """Say how many vendors settle it, and what that costs; nothing where nothing is open."""
    if not way:
        return []
    others = [
        row for row in question.ways if row["technique"] == way["technique"] and row["quantity"] != "needed_vendors"
    ]
    others.sort(key=lambda row: QUANTITIES.index(row["quantity"]))
    return [over_vendors(way, others, question.what(way)), *_cost(question, way, content)]


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
    for entry in content["vignettes"]:
        if "items" in entry:
            of_place = {name: question.place[name] for name in ("study", "paradigm")}
            entry["items"] = _items(warehouse, entry["items"], of_place | {"vignette": entry["vignette"]})
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
        of_all = {"study": study, "paradigm": paradigm["paradigm"], "vignette": None}
        paradigm["items"] = _items(warehouse, given, of_all)


def _items(warehouse, given, asked):
    """Return items as a file says them, written out as they were asked of a paradigm, or of one vignette of it."""
    from ingest.paradigms.items import SAID

    given = {key: given[key] for key in ("id", "fields", "source", "licence", *SAID) if key in given}
    of_item = {key: given[key] for key in SAID if key in given}
    rows = [
        {given["id"]: row["item"]}
        | json.loads(row["fields"])
        | {of_item[key]: str(row[key]) for key in of_item if row[key] is not None}
        for row in records(warehouse, ITEMS, asked)
    ]
    return given | {"rows": rows}


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
    """Say what the LLMs that are to be asked cost, each as much as one with a price on average."""
    from ingest.ask.collector import read_prices
    from ingest.ask.plan import plan_of
    from ingest.studies.study import parse_study

    prices = read_prices()
    if question.place["is_simulated"] or not prices:
        return []
    # by another name, so that no spool is read
    priced = plan_of(parse_study(json.dumps(content | {"study": "priced", "llms": sorted(prices)})))
    n_new, n_again = _more_vendors(question, way), len(question.place["llms"]) * question.is_recorded
    usd = [priced["cost_usd"][end] / len(prices) * (n_new + n_again) for end in ("low", "high")]
    names = [entry if isinstance(entry, str) else entry["technique"] for entry in content["techniques"]]
    chance = next((chance for chance, needed in CHANCES.items() if way[needed]), None)
    return [cost_of_llms(n_new, usd, names, n_again, chance)]


class NextStudy(NamedTuple):
    """Whether others can be asked of a domain too, and which command writes the study."""

    can_be_asked: bool
    sentence: str | None


def next_study(warehouse, place: dict, goal: str | None) -> NextStudy:
    """Say which command writes the study that would settle what is open, and what it costs, or why none can.

    Without a goal the leading one is meant; none can be written of a paradigm that names no goals.
    """
    _, goals = goals_of(warehouse, place["study"], place["paradigm"], place["domain"])
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
    return NextStudy(True, " ".join([f"`{command}` writes the study that takes the fewest vendors.", *cost]))


def _yaml_text(content, sentences):
    import yaml

    order = ("study", "description", "source", "llms")
    content = {key: content[key] for key in (*order, *content) if content.get(key) not in (None, "", {})}
    comments = "".join(f"# {sentence}\n" for sentence in sentences[:-1])
    return comments + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)
