"""`bais plan --to-settle`: the study file that would settle what is open in a domain, from `inference.power`."""

import math
from pathlib import Path
from typing import NamedTuple

from analysis.words import codes
from bais.texts import refuse_existing, write_new
from bais.warehouse import (
    IN_ANCHORING,
    IS_A_STUDY,
    marts,
    records,
    refuse_not_public,
    refuse_paradigm,
    refuse_unknown,
    values,
)
from ingest.warehouse import UserError, printable

GOALS = tuple(codes.GOALS)

# The largest study first, those of LLMs before simulated ones.
ASKED = f"""
select study, domain, list(distinct llm order by llm) as llms, list(distinct vignette order by vignette) as vignettes,
    list(distinct temperature order by temperature) as temperatures, bool_or(temperature is null) as has_none,
    bool_or(source = 'simulated') as is_simulated
from marts.trials where {IS_A_STUDY} and {IN_ANCHORING} and left_out_because is null group by study, domain
order by bool_or(is_simulated) over (partition by study), sum(count(*)) over (partition by study) desc, study, domain
"""
HERE = "study = $study and domain = $domain"
OPEN = f"""
select technique_a as technique, quantity, settles, gain, n_llms, n_trials_per_cell, needed_llms, needed_trials, reason
from inference.power
where {HERE} and design = 'to_settle' and goal = $goal
order by coalesce(needed_llms, needed_trials) nulls last, technique
"""
COMPARED = f"""
select distinct technique, control from inference.decisions
where {HERE} and llm is null and comparison in ('control', 'placebo') order by all
"""
DEFINED = """
select definition::varchar from raw.batches
where study = $study and definition is not null order by ordinal desc limit 1
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


class ToSettle(NamedTuple):
    """A study that would settle something: its file, and what is to be said of it."""

    path: Path
    sentences: list[str]


def write_study(
    domain: str, *, study: str | None, goal: str, technique: str | None, llms: tuple[str, ...], trials: bool,
    out: Path | None,
) -> ToSettle:  # fmt: skip
    """Write the study file that would settle the open decision of a domain, or raise why there is none."""
    from ingest.studies.study import parse_study

    with marts() as warehouse:
        place = _asked(warehouse, study, domain)
        definition = _definition(warehouse, place["study"])
        is_recorded = definition is None  # in words that bais does not have, so that everybody is asked anew
        named = [_new(warehouse, llm, place, may_be_asked=is_recorded) for llm in dict.fromkeys(llms)]
        keys = {"study": place["study"], "domain": place["domain"], "goal": goal}
        ways = records(warehouse, OPEN, keys)
        techniques = records(warehouse, COMPARED, keys)
        refuse_unknown("technique", technique, sorted({row["technique"] for row in techniques}), _where(place))
        way = _way(ways, technique, trials) if ways else None
        if way is None and not named:
            raise UserError(_nothing_open(place, goal, technique, ways, techniques))
        added = named or ([] if trials else place["llms"] * is_recorded + _not_asked(warehouse, place))
        content = _content(warehouse, place, definition, techniques, way)
    n_llms = _llms_of_study(way, is_recorded=is_recorded) if way and not trials else 0
    missing = max(0, n_llms - len(named or added))
    if not trials and not named:
        added = added[:n_llms]
        if not added:
            raise UserError(
                f"{n_llms} more LLM{'s' * (n_llms > 1)} would settle {_what(way, place, goal)}, and seeds/llms.csv has "
                "none that was not asked: name them with --llm vendor/name"
            )
    content["llms"] = _entries(content.pop("llms", []), place["llms"] if trials else added)
    if trials:
        content["stopping_rule"] = {"minimum": _trials(way, content)}
    path = out or Path(f"{place['study']}-{place['domain']}.yaml")
    sentences = _said(way, ways, place, goal, content, missing, trials, path, is_recorded=is_recorded)
    text = _yaml_text(content, sentences)
    parse_study(text, printable(path))
    refuse_existing(path, "--out")
    write_new(path, text, "the study")
    return ToSettle(path, sentences)


def _asked(warehouse, study, domain):
    """Return the study and domain that is meant, the largest where none is named."""
    rows = records(warehouse, ASKED)
    refuse_paradigm(warehouse, domain, study, {row["domain"] for row in rows})
    refuse_not_public(warehouse, study, {row["study"] for row in rows})
    refuse_unknown("study", study, dict.fromkeys(row["study"] for row in rows))
    rows = [row for row in rows if study in (None, row["study"])]
    where = f" in study {printable(study)}" if study else ""
    refuse_unknown("domain", domain, sorted({row["domain"] for row in rows}), where, by_part=True)
    return next(row for row in rows if row["domain"] == domain)


def _where(place):
    return f" that is ranked in the domain {printable(place['domain'])} of study {printable(place['study'])}"


def _new(warehouse, named, place, *, may_be_asked):
    """Return the LLM that was named, or its alias; one that was asked in the same words is refused."""
    aliases = dict(warehouse.execute("select alias, llm from seeds.llm_aliases").fetchall())
    llm = aliases.get(named, named)
    vendor, _, name = llm.partition("/")
    if not (vendor and name):
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

        return [llm for llm in anchored_respondents() if llm not in place["llms"]]
    llms = values(
        warehouse,
        "select llm from seeds.llms left join seeds.prices using (llm) where provider != 'simulated' "
        "and is_askable and llm != 'openai/codex' order by usd_per_million_tokens_in is null, llm",
    )
    return [llm for llm in llms if llm not in place["llms"]]


def _way(ways, technique, trials):
    """Return what settles the decision that is nearest, or that of a technique, by LLMs or by trials."""
    quantity = "needed_trials" if trials else "needed_llms"
    rows = [row for row in ways if row["quantity"] == quantity and technique in (None, row["technique"])]
    way = next((row for row in rows if row[quantity]), rows[0] if rows else None)
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


def _llms_of_study(way, *, is_recorded):
    """Return how many LLMs the study asks: those that are missing, or where nothing can be added to, all."""
    return _more_llms(way) + way["n_llms"] * is_recorded


def _what(way, place, goal):
    return f"{way['technique']} by {goal} in the domain {printable(place['domain'])} of {printable(place['study'])}"


def _nothing_open(place, goal, technique, ways, techniques):
    where = f"in the domain {printable(place['domain'])} of study {printable(place['study'])} by {goal}"
    if not [row for row in techniques if row["control"]]:
        return f"nothing can be settled {where}: no ranked technique was asked there beside its control"
    if ways:
        names = ", ".join(sorted({row["technique"] for row in ways}))
        return f"nothing is open of {printable(technique)} {where}: open is {names}"
    return (
        f"nothing is open {where}: `bais recommend --domain {printable(place['domain'])} "
        f"--study {printable(place['study'])}` says what is decided; "
        "to ask one more LLM, name it with --llm"
    )


def _content(warehouse, place, definition, techniques, way):
    """Return the study as it was asked, of the domain's vignettes, and of what is ranked and its controls."""
    import json

    from ingest.paradigms.paradigm import multiples_of_anchoring
    from ingest.prompts import shipped

    names = {name for row in techniques for name in (row["technique"], row["control"])} | {"no_technique"}
    if definition:
        content = json.loads(definition)
        content["vignettes"] = [entry for entry in content["vignettes"] if entry["vignette"] in place["vignettes"]]
        content["techniques"] = [entry for entry in content["techniques"] if entry["technique"] in names]
        for key in ("vignette", "technique"):
            content[f"{key}s"] = [_short(entry, key, shipped(f"{key}s")) for entry in content[f"{key}s"]]
        return content
    vignettes = shipped("vignettes")
    for vignette in place["vignettes"]:
        if vignettes.get(vignette, {}).get("domain") != place["domain"]:
            others = [name for name, entry in vignettes.items() if entry["domain"] == place["domain"]]
            asks = f" ({', '.join(others)})" if others else ""
            raise UserError(
                f"the words of vignette {printable(vignette)} are not known to bais: study {printable(place['study'])} "
                "was recorded without its prompts, so nobody else can be asked the same; ask a vignette of "
                f"bais{asks} or one of your own in a study of its own, as docs/studies.md says"
            )
    keys = {"study": place["study"], "domain": place["domain"]}
    multiples = dict(multiples_of_anchoring())
    rules = {
        vignette: _anchors(records(warehouse, MULTIPLES, keys | {"vignette": vignette}), multiples)
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


def _short(entry, key, entries):
    """Name what bais ships by its name alone, unless the study has changed it."""
    shipped = entries.get(entry[key], {})
    changed = {name: value for name, value in entry.items() if shipped.get(name) != value}
    changed = {name: value for name, value in changed.items() if not (name == "version" and value == 1)}
    if not shipped or set(changed) - {"anchors"} - {name for name, value in changed.items() if not value}:
        return entry
    anchors = {"anchors": entry["anchors"]} if "anchors" in changed else {}
    return {key: entry[key], **anchors} if anchors else entry[key]


def _anchors(rows, multiples):
    """Return the rule that gave the anchors of these rows or, where they do not tell it, that of the multiples."""
    by_direction = {row["anchor_direction"]: row for row in rows}
    if len(by_direction) == 2 and all(row["is_fixed"] for row in rows):
        return {"fixed": {side: by_direction[side]["anchor_value"] for side in multiples}}
    factors = {side: by_direction[side]["factor"] if side in by_direction else None for side in multiples}
    if None in factors.values() or not 0 < factors["low"] < factors["high"]:
        factors = multiples
    return {"proportional": dict(factors)}


def _entries(entries, llms):
    """Return the LLMs as the study had them, and others by their ids."""
    had = {entry["llm"]: entry for entry in entries}
    return [had.get(llm, llm) for llm in llms]


def _trials(way, content):
    """Return the trials of a cell that the study asks, those of its own that it has counted in."""
    return max(1, math.ceil(way["needed_trials"] / len(content["temperatures"])))


def _said(way, ways, place, goal, content, missing, trials, path, *, is_recorded):
    sentences = []
    if way and trials:
        sentences.append(
            f"To settle {_what(way, place, goal)} ({_now(way)}): {way['needed_trials']:,} trials of each LLM, "
            f"vignette, technique and direction instead of {way['n_trials_per_cell']:.0f}; were the gain to stay, the "
            f"decision would be `{way['settles']}` about every second time."
        )
    elif way:
        sentences += _by_llms(way, ways, place, goal) + _cost(way, place, content, is_recorded=is_recorded)
    if missing:
        sentences.append(
            f"This study asks {len(content['llms']):,} of them: {missing:,} more are missing; name them, each with "
            "--llm vendor/name."
        )
    if is_recorded:
        sentences.append(
            f"{printable(place['study'])} was recorded without its prompts: this is a study of its own, "
            f"{printable(content['study'])}, which asks bais's words of the vignette, and its answers are not counted "
            "with the recorded ones."
        )
    return [*sentences, f"The study: {printable(path)}. `bais collect {printable(path)}` asks it."]


def _now(way):
    return f"now {way['gain']:+.1f} with {way['n_llms']} LLM{'s' * (way['n_llms'] > 1)}"


def _by_llms(way, ways, place, goal):
    """Say how many LLMs settle it, and whether trials of those that were asked could."""
    if not way["needed_llms"]:
        return [
            f"How many LLMs settle {_what(way, place, goal)} ({_now(way)}) cannot be said from these "
            f"({way['reason']}); nothing is decided of fewer than five."
        ]
    other = next(
        (row for row in ways if row["technique"] == way["technique"] and row["quantity"] == "needed_trials"), {}
    )
    by_trials = "more trials of the LLMs that were asked cannot"
    if n := other.get("needed_trials"):
        now = f"{other['n_trials_per_cell']:.0f}"
        by_trials = f"so could {n:,} trials of each LLM, vignette, technique and direction instead of {now}"
    return [
        f"To settle {_what(way, place, goal)} ({_now(way)}): {way['needed_llms']:,} LLMs in all, {_more_llms(way):,} "
        f"more; {by_trials}. Were the gain to stay, the decision would be `{way['settles']}` about every second time."
    ]


def _cost(way, place, content, *, is_recorded):
    """Say what the LLMs that are to be asked cost, each as much as one of seeds/prices.csv on average."""
    from ingest.ask.collector import read_prices
    from ingest.ask.plan import plan_of
    from ingest.studies.study import Study

    prices = read_prices()
    if place["is_simulated"] or not prices:
        return []
    # by another name, so that no spool is read
    priced = plan_of(Study.model_validate(content | {"study": "priced", "llms": sorted(prices)}))
    n_llms = _llms_of_study(way, is_recorded=is_recorded)
    low, high = (priced["cost_usd"][end] / len(prices) * n_llms for end in ("low", "high"))
    whom = f"all {n_llms:,} LLMs anew" if is_recorded else f"{n_llms:,} more LLM{'s' * (n_llms > 1)}"
    return [
        f"To ask {whom} costs {low:,.0f} to {high:,.0f} USD, at the mean of seeds/prices.csv and as `bais plan` "
        f"assumes it, for all that is ranked there ({', '.join(_names(content))})."
    ]


def _names(content):
    return [entry if isinstance(entry, str) else entry["technique"] for entry in content["techniques"]]


class NextStudy(NamedTuple):
    """What can be asked of a domain: its vignettes, whether of others too, and which command writes the study."""

    vignettes: list[str]
    can_be_asked: bool
    sentence: str | None


def next_study(warehouse, study: str, domain: str, goal: str) -> NextStudy:
    """Say which command writes the study that would settle what is open, and what it costs, or why none can."""
    place = next((row for row in records(warehouse, ASKED) if (row["study"], row["domain"]) == (study, domain)), None)
    if place is None:
        return NextStudy([], False, None)
    keys = {"study": study, "domain": domain, "goal": goal}
    definition, way = _definition(warehouse, study), _way(records(warehouse, OPEN, keys), None, trials=False)
    try:
        content = _content(warehouse, place, definition, records(warehouse, COMPARED, keys), way)
    except UserError as error:  # its words are not known
        return NextStudy(place["vignettes"], False, f"No study file can be written of it: {error}." if way else None)
    if way is None:
        return NextStudy(place["vignettes"], True, None)
    of_goal = "" if goal == GOALS[0] else f" --goal {goal}"
    command = f"bais plan --to-settle {printable(domain)} --study {printable(study)}{of_goal}"
    cost = _cost(way, place, content, is_recorded=definition is None)
    sentence = " ".join([f"`{command}` writes the study that takes the fewest LLMs.", *cost])
    return NextStudy(place["vignettes"], True, sentence)


def _definition(warehouse, study):
    """Return how a study that bais asked was last defined; None of what others recorded."""
    return next(iter(values(warehouse, DEFINED, {"study": study})), None)


def _yaml_text(content, sentences):
    import yaml

    order = ("study", "description", "source", "llms")
    content = {key: content[key] for key in (*order, *content) if content.get(key) not in (None, "", {})}
    comments = "".join(f"# {sentence}\n" for sentence in sentences[:-1])
    return comments + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)
