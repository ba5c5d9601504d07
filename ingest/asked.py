"""What was asked of a study before with other words: sets of other versions, and what a changed text orphans."""

import collections
import contextlib
import difflib
import json
from dataclasses import dataclass, field
from typing import NamedTuple

from ingest.prompts import template_of
from ingest.responses import spooled
from ingest.spool import COLLECTED, State, read_state, spool_folder
from ingest.study import Cell, Design
from ingest.warehouse import printable

MOST_DIFFERENCES = 5
MOST_LINES = 30
MOST_OF_A_LINE = 500
WORDS = "vignette, technique, anchor_value is not null, coalesce(arm, role), prompt_version"
ANSWERS = f"""
select {WORDS}, llm, temperature, anchor_direction, item, judged, role, replicate from spooled
where status is distinct from 'failed' and list_contains($hashes, prompt_version)
"""


class Version(NamedTuple):
    """A version of a vignette or technique that was asked, beside the one that is asked now."""

    name: str
    asked: int
    now: int


@dataclass
class Asked:
    """What was asked before."""

    versions: collections.Counter = field(default_factory=collections.Counter)  # answers to sets of other versions
    # answers to other words, by vignette, technique, whether anchored, the arm or the role, and the hash of the words
    orphans: collections.Counter = field(default_factory=collections.Counter)
    n_again: int = 0  # of these, how many would be asked again, to which nobody has agreed yet
    differences: dict = field(default_factory=dict)  # from the lines that went and came to where they did
    pairs: list = field(default_factory=list)  # the hashes of old words and of those in their place

    @property
    def n_orphans(self) -> int:
        """Return how many answers a changed text orphans."""
        return self.orphans.total()


def asked_before(design: Design, state: State) -> Asked:
    """Compare what the spool of a study holds with what the study asks now."""
    found = Asked()
    if not state.closed:
        return found
    design.recognise(state)
    kinds, rows = _other_words(design, state)
    study, judges = design.study, design.judges
    asked = {False: ({llm.llm for llm in study.llms}, set(study.temperatures), study.stopping_rule.minimum)}
    if judges:
        asked[True] = ({llm.llm for llm in judges.llms}, {judges.temperature}, judges.repeats)
    anchors = design.known_anchors(state.anchors)
    again = collections.Counter()
    for *words, prompt_hash, llm, temperature, direction, item, judged, role, replicate in rows:
        key = (*words, prompt_hash)
        if key not in kinds:
            continue
        llms, temperatures, n_asked = asked[role is not None]
        if llm not in llms or temperature not in temperatures:
            continue
        if isinstance(kinds[key], Version):
            found.versions[kinds[key]] += 1
            continue
        found.orphans[key] += 1
        if replicate < n_asked:
            vignette, technique, is_anchored, treatment = words
            anchor = anchors.get((llm, vignette), {}).get(direction)
            arm = None if role else treatment
            cell = Cell(llm, vignette, technique, direction, anchor, temperature, arm, item, judged, role)
            is_decided = (anchor is not None) == is_anchored and (item is None or item in design.items)
            again[key] += not (is_decided and design.trial_id(cell, replicate).encode() in state.closed)
    agreed = _agreed(state.sessions)
    for key in found.orphans:
        *words, prompt_hash = key
        pair = [prompt_hash, design.version(*words)[0]]
        is_agreed = tuple(pair) in agreed
        if is_agreed or again[key]:
            found.pairs.append(pair)
        if not is_agreed:
            found.n_again += again[key]
        where = found.differences.setdefault(tuple(_difference(design, state, *key)), [])
        where.append(f"{words[0]} as {words[3]}" if _is_of_judges(design, words[0]) else f"{words[0]} with {words[1]}")
    return found


def _other_words(design, state):
    """Return what words are that the study has asked and does not ask now, and the answers to words of these hashes."""
    unanchored = {"no_technique"} if design.study.baselines else set()
    unanchored |= {of["technique"] for of in design.study.techniques if of.get("is_also_unanchored")}
    techniques = {True: design.techniques, False: unanchored}
    with spooled([spool_folder(design.study.study) / COLLECTED], "trials") as connection:
        kinds = {}
        for vignette, technique, is_anchored, arm, prompt_hash in connection.execute(
            f"select distinct {WORDS} from spooled order by all"
        ).fetchall():
            words = (vignette, technique, is_anchored, arm)
            is_planned = (_is_of_judges(design, vignette) and arm in design.judges.roles) or (
                vignette in design.vignettes
                and technique in (design.techniques if arm else techniques[is_anchored])
                and (is_anchored, arm) in design.treatments(vignette)
            )
            if is_planned and prompt_hash not in design.prompt_hashes(*words):
                key = (*words, prompt_hash)
                kinds[key] = _version(design, state, *key)
        hashes = [prompt_hash for *_, prompt_hash in kinds]
        return kinds, connection.execute(ANSWERS, {"hashes": hashes}).fetchall() if kinds else []


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


def _difference(design, state, vignette, technique, is_anchored, arm, prompt_hash):
    """Yield the lines that went and came, with `-` and `+` before them."""
    then = _template(state, prompt_hash, is_anchored)
    if then is None:
        yield "the words that were asked are not kept"
        return
    before, after = _lines(then), _lines(_now(design, vignette, technique, is_anchored, arm))
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
    lines = []
    for version, n in sorted(asked.versions.items()):
        counts = "it" if version.asked > version.now else f"version {version.now} as soon as it has answers"
        lines.append(
            f"{_answers(n)} version {version.asked} of {version.name}: they stay, a set of their own beside version "
            f"{version.now}; the tables count {counts}."
        )
    if not asked.n_orphans:
        return lines
    lines.append(
        f"{_answers(asked.n_orphans)} words that have changed since, and count for this study no more"
        f"{f'; {asked.n_again:,} of them would be asked again' if asked.n_again else ''}:"
    )
    for difference, where in [*asked.differences.items()][:MOST_DIFFERENCES]:
        more = f" and {len(where) - 3} more" if len(where) > 3 else ""
        lines.append(f"  {', '.join([*dict.fromkeys(where)][:3])}{more}")
        lines += [f"    {line}" for line in difference[:MOST_LINES]]
        if len(difference) > MOST_LINES:
            lines.append(f"    and {len(difference) - MOST_LINES} more lines")
    if len(asked.differences) > MOST_DIFFERENCES:
        lines.append(f"  and {len(asked.differences) - MOST_DIFFERENCES} more differences")
    lines.append(
        "Put the old words back, and these answers count again. If the new words are meant, raise the `version` of the "
        "vignette, the technique or the judges: then both sets are kept apart, and the tables count the new one."
    )
    return lines


def _answers(n):
    return f"{n:,} answer{' was' if n == 1 else 's were'} given to"


def of_study(study) -> Asked:
    """Compare what was collected of a study with what it asks now."""
    return asked_before(Design(study), read_state(spool_folder(study.study) / COLLECTED))
