"""Families of decisions: what can be decided of a study, domain and goal, as a study file says or trials tell.

A family is told by what its decisions hang on: its rows (technique, control, kind of comparison), goals, margin,
vendors, looks, vignettes and the items that are cases. `ingest.land.families` freezes them.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ingest.land.models import project_variable, query_of
from ingest.land.seeds import seed_rows
from ingest.land.vendors import vendors_of
from ingest.paradigms.paradigm import ANCHORING, NO_TECHNIQUE, Paradigm, anchoring
from ingest.studies.parts import is_for

BIAS = "bias"  # the goal of a paradigm that names none
DECIDED = ("control", "placebo")  # the kinds of comparison that something is decided on
FIRST_ANSWERS = {"sacd": "sacd_initial"}  # techniques whose first answers are compared too, by the name of these

# What was recorded of a study and is what its sources say now, whichever verdict the gate will give.
RECORDED = """
with said as (
    select * from ({entries})
    where study = $study
),

held as (
    select arg_max(struct_pack(record_id), ordinal).record_id as trial_id from said
    where not is_older and (record_id is not null or is_complete)
    group by archive, source_name, entry
),

-- what another record has replaced or a version lacks, and what an older version brought
not_held as (
    select record_id as trial_id from said where record_id is not null
    union
    select trial_id from raw.trials
    inner join raw.batches using (batch_id)
    inner join raw.source_versions as versions using (version_id)
    where versions.study = $study and is_older
    except
    select trial_id from held
)

select
    coalesce(vignettes.domain, 'unknown') as domain,
    trials.vignette,
    trials.technique,
    coalesce(techniques.is_ranked, false) as is_ranked,
    coalesce(aliases.llm, trials.llm_recorded) as llm,
    bool_or(trials.anchor_value is not null or coalesce(trials.anchor_direction, 'none') != 'none') as is_anchored
from raw.trials
left join ({vignettes}) as vignettes using (study, vignette)
left join ({techniques}) as techniques using (technique)
left join ({aliases}) as aliases on trials.llm_recorded = aliases.alias
where trials.study = $study and trials.source = 'recorded' and coalesce(trials.paradigm, $paradigm) = $paradigm
    and trials.trial_id not in (from not_held)
group by all
"""


@dataclass(frozen=True)
class Family:
    """A family of one study; `domain` is None where a paradigm has no goals of its own, and `goal` is `bias` then."""

    paradigm: str
    domain: str | None
    goal: str
    content: dict

    @property
    def family(self) -> str:
        """A hash of what it is of and what it holds: equal families have equal ones."""
        text = json.dumps([self.paradigm, self.domain, self.goal, self.content], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def record(self) -> dict:
        """Return it as a session of a spool holds it."""
        return {name: getattr(self, name) for name in ("paradigm", "domain", "goal", "family", "content")}


def rows_of(study: str, place: str, asked: Collection[str], ranked: Collection[str]) -> list[list[str]]:
    """Return what can be decided of the techniques that are asked: technique, control and kind of comparison.

    The most specific line of seeds/controls.csv counts of which the control is asked, as in
    `analysis.engine.comparisons.comparisons`, from which this leaves out what nothing is decided on: what has no
    control, and a placebo that was asked with another prompt than the technique.
    """
    present = {*asked, *(FIRST_ANSWERS[name] for name in asked if name in FIRST_ANSWERS)}
    keys = {"study": study.partition("@")[0], "domain": place}
    rows = []
    for technique in sorted({*ranked} & present):
        of_technique, own = keys | {"technique": technique}, {}
        for line in seed_rows("controls"):
            is_for_it = all((line[key] or name) == name for key, name in of_technique.items())
            if is_for_it and line["control"] in present - {technique}:
                n_named = sum(bool(line[key]) for key in of_technique)
                own[line["comparison"]] = max(own.get(line["comparison"], (-1, "")), (n_named, line["control"]))
        is_of_one_prompt = own.get("control", (0, NO_TECHNIQUE))[1] == NO_TECHNIQUE
        kinds = DECIDED if is_of_one_prompt else DECIDED[:1]
        rows += [[technique, own[kind][1], kind] for kind in kinds if kind in own]
    return rows


def _goals_of(paradigm: Paradigm, margin: float | None = None) -> tuple[list[dict], dict[str, float]]:
    """Return what the goals of a paradigm are made of, which of them leads, and the margin of each."""
    stated, margins = [], {}
    for name, goal in paradigm.goals.items():
        made_of = {"contrasts": goal.contrasts} if goal.contrasts else {"distance_of": goal.distance_of}
        stated.append({"goal": name, **made_of, "leads": goal.leads})
        margins[name] = float(goal.margin if margin is None else margin)
    return stated, margins


def _measures_of(paradigm: Paradigm, judges) -> list[dict]:
    """Return what is decided on of a paradigm without goals: each measure, with its margin, and contrast of arms.

    What judges measure hangs on who they are and on what the study has them asked; nothing is decided on embeddings.
    """
    columns = ("measure", "measure_of", "better", "reference", "margin")
    # what is as ever is left out, so that a key that judges get in a later bais makes no other family
    of_judges = judges and judges.model_dump(exclude_defaults=True, exclude={"llms", "paradigm", "version", "repeats"})
    measures = []
    for row in paradigm.rows():
        if row["measured_from"] != "measurement":
            measures.append({name: row[name] for name in columns} | {"contrasts": paradigm.contrasts})
            if row["measured_from"] == "judgement" and judges:
                measures[-1]["judges"] = of_judges | {"llms": sorted(llm.llm for llm in judges.llms)}
    return measures


def _content(rows, goals, margin, asked, looks):
    return {
        "rows": rows, "goals": goals, "margin": margin, "vendors": vendors_of(asked["llms"]),
        "looks": [*looks], "vignettes": sorted(asked["vignettes"]),
        **({"cases": cases} if (cases := asked.get("cases")) else {}),
    }  # fmt: skip


def _of_domains(study, paradigm, margin, domains: Mapping[str, Mapping], looks=()) -> Iterator[Family]:
    """Yield a family for each domain and goal; of a domain `vignettes`, `techniques`, `ranked` and `llms` are known.

    Where items are cases, `cases` says which.
    """
    goals, margins = _goals_of(paradigm, margin)
    for domain, asked in sorted(domains.items()):
        rows = rows_of(study, domain, asked["techniques"], asked["ranked"])
        for goal in margins if rows else ():
            yield Family(paradigm.paradigm, domain, goal, _content(rows, goals, margins[goal], asked, looks))


def margin_of_anchoring() -> float:
    """Return the margin of the goals of anchoring, which name none, in percentage points."""
    return float(project_variable("equivalence_margin_pp"))


def families_declared(study) -> list[Family]:
    """Return the families of a study file, as `ingest.studies.study` reads it."""
    seeded = {row["technique"]: row["is_ranked"] == "true" for row in seed_rows("techniques")}
    llms, looks, families = [llm.llm for llm in study.llms], getattr(study, "looks", None) or [], []
    for paradigm in study.paradigms:
        asked = [technique for technique in study.techniques if is_for(technique, paradigm.answer.kind)]
        ranked = {one["technique"] for one in asked if seeded.get(one["technique"], one.get("ranked", False))}
        of_all = {"techniques": {one["technique"] for one in asked}, "ranked": ranked, "llms": llms}
        domains = {}
        for vignette in study.vignettes:
            if study.paradigm_of(vignette).paradigm == paradigm.paradigm:
                place = domains.setdefault(vignette["domain"], of_all | {"vignettes": set(), "cases": {}})
                place["vignettes"].add(vignette["vignette"])
                place["cases"] |= _cases_of(vignette["vignette"], study.paradigm_of(vignette))
        if paradigm.goals:
            margin = margin_of_anchoring() if paradigm.paradigm == ANCHORING else None
            families += _of_domains(study.study, paradigm, margin, domains, looks)
        else:
            vignettes = {name for place in domains.values() for name in place["vignettes"]}
            measures = _measures_of(paradigm, getattr(study, "judges", None))
            families += _of_measures(study.study, paradigm, measures, of_all | {"vignettes": vignettes}, looks)
    return families


def _cases_of(vignette: str, paradigm: Paradigm) -> dict[str, str]:
    """Name the cases that the items of a vignette are, by how many there are and a hash of their ids."""
    if paradigm.cases is None or not paradigm.all_items:
        return {}
    ids = sorted(item.item for item in paradigm.all_items)
    return {vignette: f"{len(ids)} items, {hashlib.sha256(json.dumps(ids).encode()).hexdigest()[:8]}"}


def _of_measures(study, paradigm, measures, asked, looks) -> Iterator[Family]:
    """Yield the family of a paradigm without goals, if anything is decided on in it."""
    rows = rows_of(study, paradigm.paradigm, asked["techniques"], asked["ranked"])
    if measures and rows:
        margins = {measure["margin"] for measure in measures}
        margin = margins.pop() if len(margins) == 1 else None  # else each measure says its own
        yield Family(paradigm.paradigm, None, BIAS, _content(rows, measures, margin, asked, looks))


def families_recorded(warehouse, study: str) -> list[Family]:
    """Return the families of what was recorded of a study: answers to anchors, by domain."""
    models = ("stg_version_entries", "int_vignettes_defined", "int_techniques_defined", "llm_aliases")
    queries = dict(zip(("entries", "vignettes", "techniques", "aliases"), map(query_of, models), strict=True))
    asked = warehouse.execute(RECORDED.format(**queries), {"study": study, "paradigm": ANCHORING}).fetchall()
    domains = {}
    for domain, vignette, technique, is_ranked, llm, is_anchored in asked:
        if not is_anchored:  # a baseline is no answer to a technique
            continue
        place = domains.setdefault(domain, {name: set() for name in ("vignettes", "techniques", "ranked", "llms")})
        place["vignettes"].add(vignette)
        place["techniques"].add(technique)
        place["llms"].add(llm)
        if is_ranked:
            place["ranked"].add(technique)
    return [*_of_domains(study, anchoring(), margin_of_anchoring(), domains)]


def differences(before: dict, now: dict) -> list[str]:
    """Say in which parts the content of a family differs from that of another, in the words of whoever reads a plan."""
    said = []
    for name, noun in (("rows", "comparison"), ("vendors", "vendor"), ("vignettes", "vignette")):
        was, is_now = ({_named(entry) for entry in content[name]} for content in (before, now))
        for more, what in ((is_now - was, "more"), (was - is_now, "fewer")):
            if more:
                said.append(f"{len(more):,} {noun}{'' if len(more) == 1 else 's'} {what} ({', '.join(sorted(more))})")
    if before["margin"] != now["margin"]:
        said.append(f"the margin {_number(now['margin'])} in place of {_number(before['margin'])}")
    (goals_before, judges_before), (goals, judges) = map(_goals_and_judges, (before, now))
    if goals_before != goals:
        said.append("other goals, or goals made of other arms")
    if judges_before != judges:
        said.append("other judges, or judges asked otherwise")
    if before.get("cases") != now.get("cases"):
        said.append("other items as cases")
    if before["looks"] != now["looks"]:
        said.append("other looks")
    return said


def _goals_and_judges(content):
    goals = [{name: value for name, value in goal.items() if name != "judges"} for goal in content["goals"]]
    return goals, [goal.get("judges") for goal in content["goals"]]


def _named(entry):
    return f"{entry[0]} against {entry[1]}" if isinstance(entry, list) else entry


def _number(margin):
    return "none" if margin is None else f"{margin:g}"
