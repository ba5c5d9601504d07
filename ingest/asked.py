"""What was asked of a study before, otherwise than it is asked now: other versions, and what a change orphans."""

import collections
import contextlib
import difflib
import json
from dataclasses import dataclass, field
from typing import NamedTuple

from ingest.paradigm import AS_WRITTEN
from ingest.prompts import template_of
from ingest.responses import spooled
from ingest.spool import COLLECTED, State, read_state, spool_folder, stated_in
from ingest.study import Cell, Design
from ingest.warehouse import printable

MOST_DIFFERENCES = 5
MOST_LINES = 30
MOST_OF_A_LINE = 500
WAYS = """
vignette, technique, anchor_value is not null, coalesce(arm, role), prompt_version, if(role is null, paradigm, null),
if(option_order is null, null, session)
"""
N_WORDS, N_WAYS = 4, 7
ANSWERS = f"""
select {WAYS}, llm, temperature, anchor_direction, item, judged, role, replicate, option_order from spooled
where status is distinct from 'failed' and list_contains($hashes, prompt_version)
"""
WORDS, ORDER, NAME = "words", "order", "name"
CHANGED = {
    WORDS: "to words that have changed since",
    ORDER: "with the options in another order than they have now",
    NAME: "under another name of the paradigm",
}
PUT_BACK = {
    WORDS: "Put the old words back, and these answers count again. If the new words are meant, raise the `version` of "
    "the vignette, the technique or the judges: then both sets are kept apart, and the tables count the new one.",
    ORDER: "Put the old order back (`order_seed` and `options`), and these answers count again; the tables hold them "
    "beside those in the new order.",
    NAME: "Put the old name back, and these answers count again; the tables keep them under it.",
}


class Version(NamedTuple):
    """A version of a vignette or technique that was asked, beside the one that is asked now."""

    name: str
    asked: int
    now: int


class Change(NamedTuple):
    """What has changed since something was asked: the words (by their hash), the order of options, or the name."""

    vignette: str
    technique: str
    is_anchored: bool
    treatment: str | None  # the arm or the role
    what: str
    was: str
    now: str


@dataclass
class Asked:
    """What was asked before."""

    versions: collections.Counter = field(default_factory=collections.Counter)  # answers to sets of other versions
    orphans: collections.Counter = field(default_factory=collections.Counter)  # answers by what has changed since
    again: collections.Counter = field(default_factory=collections.Counter)  # those to ask again, not agreed to yet
    differences: dict = field(default_factory=dict)  # by what has changed, from the lines that went and came to where
    pairs: list = field(default_factory=list)  # what was and what is in its place
    restated: list = field(default_factory=list)  # each paradigm that is measured otherwise, and what of it

    @property
    def n_orphans(self) -> int:
        """Return how many answers a change orphans."""
        return self.orphans.total()

    @property
    def n_again(self) -> int:
        """Return how many of these would be asked again, to which nobody has agreed yet."""
        return self.again.total()


def asked_before(design: Design, state: State) -> Asked:
    """Compare what the spool of a study holds with what the study asks now."""
    found = Asked()
    if not state.closed:
        return found
    design.recognise(state)
    found.restated = [*_restated(design, state)]
    kinds, rows = _other_ways(design, state)
    study, judges = design.study, design.judges
    asked = {False: ({llm.llm for llm in study.llms}, set(study.temperatures), study.stopping_rule.minimum)}
    if judges:
        asked[True] = ({llm.llm for llm in judges.llms}, {judges.temperature}, judges.repeats)
    anchors = design.known_anchors(state.anchors)
    again = collections.Counter()
    for row in rows:
        way, (llm, temperature, direction, item, judged, role, replicate, order) = row[:N_WAYS], row[N_WAYS:]
        if way not in kinds:
            continue
        llms, temperatures, n_asked = asked[role is not None]
        if llm not in llms or temperature not in temperatures:
            continue
        change = kinds[way]
        if isinstance(change, Version):
            found.versions[change] += 1
            continue
        vignette, technique, is_anchored, treatment = change[:N_WORDS]
        anchor = anchors.get((llm, vignette), {}).get(direction)
        arm = None if role else treatment
        cell = Cell(llm, vignette, technique, direction, anchor, temperature, arm, item, judged, role)
        if change.what == ORDER and design.option_order(cell, replicate) == tuple(json.loads(order)):
            continue
        found.orphans[change] += 1
        if replicate < n_asked:
            is_decided = (anchor is not None) == is_anchored and (item is None or item in design.items)
            again[change] += not (is_decided and design.trial_id(cell, replicate).encode() in state.closed)
    agreed = _agreed(state.sessions)
    for change in found.orphans:
        pair = [change.was, change.now]
        is_agreed = tuple(pair) in agreed
        if pair not in found.pairs and (is_agreed or again[change]):
            found.pairs.append(pair)
        if not is_agreed:
            found.again[change.what] += again[change]
        of_kind = found.differences.setdefault(change.what, {})
        where = of_kind.setdefault(tuple(_difference(design, state, change)), [])
        is_of_judges = _is_of_judges(design, change.vignette)
        where.append(f"{change.vignette} {f'as {change.treatment}' if is_of_judges else f'with {change.technique}'}")
    return found


def _restated(design, state):
    """Yield each paradigm of which something else is measured or compared than the last session said, and what."""
    last = next((stated_in(session) for session in reversed(state.sessions) if session.get("paradigms")), {})
    now = stated_in(design.stated())
    for paradigm, measures in now["paradigms"].items():
        before, after = (
            {row["measure"]: row | {"labels": sorted(json.loads(row["labels"] or "[]"))} for row in rows}
            for rows in (last.get("paradigms", {}).get(paradigm, ()), measures)
        )
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        if now["paradigm_contrasts"].get(paradigm) != last.get("paradigm_contrasts", {}).get(paradigm):
            names.append("contrasts")
        if before and names:
            yield paradigm, names


def _other_ways(design, state):
    """Return what ways of asking are that the study has used and does not use now, and the answers to these words."""
    unanchored = {"no_technique"} if design.study.baselines else set()
    unanchored |= {of["technique"] for of in design.study.techniques if of.get("is_also_unanchored")}
    techniques = {True: design.techniques, False: unanchored}
    with spooled([spool_folder(design.study.study) / COLLECTED], "trials") as connection:
        kinds = {}
        studies = {of["session"]: of["study"] for of in state.sessions if "study" in of}
        studies[None] = design.study.model_dump(mode="json")
        for way in connection.execute(f"select distinct {WAYS} from spooled order by all").fetchall():
            vignette, technique, is_anchored, arm, prompt_hash, *asked_under = way
            words = way[:N_WORDS]
            is_planned = (_is_of_judges(design, vignette) and arm in design.judges.roles) or (
                vignette in design.vignettes
                and technique in (design.techniques if arm else techniques[is_anchored])
                and (is_anchored, arm) in design.treatments(vignette)
            )
            if not is_planned:
                continue
            if prompt_hash not in design.prompt_hashes(*words):
                of_words = Change(*words, WORDS, prompt_hash, design.version(*words)[0])
                kinds[way] = _version(design, state, *words, prompt_hash) or of_words
            elif change := next(_other_than_words(design, studies, *words, *asked_under), None):
                kinds[way] = change
        hashes = list({way[N_WORDS] for way in kinds})
        return kinds, connection.execute(ANSWERS, {"hashes": hashes}).fetchall() if kinds else []


def _other_than_words(design, studies, vignette, technique, is_anchored, arm, paradigm, session):
    """Yield what has changed beside the words: the name of the paradigm, or the order of the options."""
    words = (vignette, technique, is_anchored, arm)
    if paradigm and paradigm != (name := design.vignettes[vignette]["paradigm"]):
        yield Change(*words, NAME, f"paradigm {paradigm}", f"paradigm {name}")
    if session is not None and session in studies:
        was, now = (_order_of(of, vignette, arm) for of in (studies[session], studies[None]))
        if was != now:
            yield Change(*words, ORDER, was, now)


def _order_of(study, vignette, arm):
    """Say in which order a study shows the options of a vignette in an arm, with all that the order hangs on."""
    of_vignette = next(of for of in study["vignettes"] if of["vignette"] == vignette)
    rule = next(of for of in study["paradigm"] if of["paradigm"] == of_vignette["paradigm"])["options"]
    shown = {name: of["options"] for name, of in of_vignette["arms"].items() if of.get("options")}
    if rule["order"] == AS_WRITTEN:
        return f"options as written: {', '.join(shown[arm])}"
    of_all = ", ".join(sorted(set().union(*shown.values())))
    apart = "" if rule["same_across_arms"] else " for each arm"
    return f"options shuffled{apart} with order_seed {study['order_seed']}: {of_all}"


def _is_of_judges(design, vignette):
    return design.judges is not None and vignette == design.judges.paradigm


def _agreed(sessions):
    """Return the changes of words that somebody has agreed to, and not taken back since."""
    agreed = set()
    for session in sessions:
        pairs = {tuple(pair) for pair in session.get("orphaned", [])}
        agreed = {pair for pair in agreed if pair[::-1] not in pairs} | pairs
    return agreed


def _version(design, state, vignette, technique, is_anchored, arm, prompt_hash):
    """Return the version that other words belong to, or None where it is the one that is asked now."""
    then, now = _template(state, prompt_hash, is_anchored), _now(design, vignette, technique, is_anchored, arm)
    called = "judgements" if _is_of_judges(design, vignette) else "vignette"
    for what, name in (("vignette", f"{called} {vignette}"), ("technique", f"technique {technique}")):
        version = f"{what}_version"
        if then and then[version] != now[version]:
            return Version(name, then[version], now[version])
    return None


def _now(design, *words):
    return json.loads(design.version(*words)[1])


def _template(state, prompt_hash, is_anchored):
    with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):  # it is not there, or no template
        text, study = state.templates[prompt_hash]
        return template_of(text, study, is_anchored=is_anchored)
    return None


def _difference(design, state, change):
    """Yield the lines that went and came, with `-` and `+` before them."""
    if change.what != WORDS:
        yield from (f"-{printable(change.was)}", f"+{printable(change.now)}")
        return
    then = _template(state, change.was, change.is_anchored)
    if then is None:
        yield "the words that were asked are not kept"
        return
    before, after = _lines(then), _lines(_now(design, *change[:N_WORDS]))
    for line in difflib.unified_diff(before, after, lineterm="", n=0):
        if not line.startswith(("---", "+++", "@@")):
            yield printable(line[:MOST_OF_A_LINE])


def _lines(template):
    rounds = template.get("rounds", {})
    texts = [
        template.get("system", ""),
        *template["turns"],
        *(step["prompt"] for step in template.get("steps", ())),
        *(f"{rule}: {said}" for rule, said in template.get("of_steps", {}).items()),
        *template.get("options", {}).values(),
        *(f"{name}: {said}" for name, said in template.get("decoding", {}).items()),
        *(str(rounds[step]) for step in sorted(rounds) if step != "text"),
    ]
    return [line for text in texts for line in text.splitlines() if line.strip()]


def render_asked(asked: Asked) -> list[str]:
    """Write what was asked before and counts no more for this study, in lines for a terminal."""
    lines = [
        f"What is measured or compared in {printable(paradigm)} is not what it was when it was last asked "
        f"({printable(', '.join(names))}): the tables follow the file after the next `bais collect` and `bais build`, "
        "and nothing is asked again for it."
        for paradigm, names in asked.restated
    ]
    for version, n in sorted(asked.versions.items()):
        counts = "it" if version.asked > version.now else f"version {version.now} as soon as it has answers"
        lines.append(
            f"{_answers(n)} to version {version.asked} of {version.name}: they stay, a set of their own beside version "
            f"{version.now}; the tables count {counts}."
        )
    for what, differences in asked.differences.items():
        n = sum(n for change, n in asked.orphans.items() if change.what == what)
        n_again = asked.again[what]
        lines.append(
            f"{_answers(n)} {CHANGED[what]}, and count{'s' if n == 1 else ''} for this study no more"
            f"{f'; {n_again:,} of them would be asked again' if n_again else ''}:"
        )
        lines += _render_differences(differences)
        lines.append(PUT_BACK[what])
    return lines


def _render_differences(differences):
    """Yield what went and came, and where."""
    for difference, where in [*differences.items()][:MOST_DIFFERENCES]:
        more = f" and {len(where) - 3} more" if len(where) > 3 else ""
        yield f"  {', '.join([*dict.fromkeys(where)][:3])}{more}"
        yield from (f"    {line}" for line in difference[:MOST_LINES])
        if len(difference) > MOST_LINES:
            yield f"    and {len(difference) - MOST_LINES} more lines"
    if len(differences) > MOST_DIFFERENCES:
        yield f"  and {len(differences) - MOST_DIFFERENCES} more differences"


def _answers(n):
    return f"{n:,} answer{' was' if n == 1 else 's were'} given"


def of_study(study) -> Asked:
    """Compare what was collected of a study with what it asks now."""
    return asked_before(Design(study), read_state(spool_folder(study.study) / COLLECTED))
