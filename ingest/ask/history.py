"""What was asked of a study before, otherwise than it is asked now: other versions, and what a change orphans."""

import collections
import contextlib
import difflib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ingest.ask.collector import mean_baselines
from ingest.ask.redefined import redefined, render_redefined
from ingest.ask.refusals import changed_items
from ingest.ask.responses import spooled
from ingest.ask.spool import COLLECTED, State, read_state, spool_folder, stated_in
from ingest.land.load import landed_ids
from ingest.paradigms.paradigm import AS_WRITTEN, NO_TECHNIQUE, OF_ITEM
from ingest.prompts import template_of
from ingest.studies.design import Cell, Design, anchors_in, place_of, values_of
from ingest.warehouse import UserError, printable

MOST_DIFFERENCES = 5
MOST_LINES = 30
MOST_NAMED = 6
AT_A_TIME = 10_000
MOST_OF_A_LINE = 500
TASK = """
    vignette, technique, anchor_value is not null, coalesce(arm, role), prompt_version,
    if(role is null, paradigm, null), if(option_order is null, null, session),
    role is not null, llm, temperature, anchor_direction, anchor_value, item,
    item is not null and not list_contains($items, item),
    attempt_of is null and replicate >= if(role is null, $most, $repeats)
"""
N_WORDS, N_WAYS = 4, 7
IMPORTED = "recorded"  # the `source` of a batch of trials that were collected elsewhere
TASKS = f"select distinct {TASK} from spooled order by all"
TRIALS = f"""
select {TASK}, judged, role, replicate, option_order, trial_id, status is distinct from 'failed' from spooled
"""
WORDS, ORDER, NAME, GONE = "words", "order", "name", "gone"
OTHER_RULE = "anchors by another rule"
CHANGED = {
    WORDS: "to words that have changed since",
    ORDER: "with the options in another order than they have now",
    NAME: "under another name of the paradigm",
    GONE: "to what the study does not name now",
}
PUT_BACK = {
    WORDS: "Put the old words back, and these answers count again. If the new words are meant, raise the `version` of "
    "the vignette, the technique or the judges: then both sets are kept apart, and the tables count the new one.",
    ORDER: "Put the old order back (`order_seed` and `options`), and these answers count again.",
    NAME: "Put the old name back, and these answers count again. If the new name is meant, have everything asked anew "
    "under it; no table puts the answers under the two names together.",
    GONE: "Put back what `-` shows, and these answers count again; none of them is put together with what `+` shows.",
}


class Version(NamedTuple):
    """A version of a vignette or technique that was asked, beside the one that is asked now."""

    name: str
    number: int
    now: int


class Task(NamedTuple):
    """What answers were given to: in which words and which way they were asked, who was, and about what."""

    vignette: str
    technique: str
    is_anchored: bool
    treatment: str | None  # the arm or the role
    prompt_hash: str
    paradigm: str | None
    session: str | None  # where options have an order
    is_judged: bool
    llm: str
    temperature: float | None
    direction: str
    value: float | None
    item: str | None
    is_item_gone: bool
    is_beyond: bool  # whether a cell is asked less often


class Change(NamedTuple):
    """What has changed since something was asked: the words (by their hash), the order of options, or what is named.

    `now` is empty where nothing has come into the place of what is gone.
    """

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
    kept: list = field(default_factory=list)  # of all that was and what is in its place, what still counts
    left_out: dict = field(default_factory=dict)  # from the trials that count no more to why
    restated: list = field(default_factory=list)  # each paradigm that is measured otherwise, and what of it
    reread: list = field(default_factory=list)  # each paradigm that is read otherwise, how it was and how it is
    redefined: list = field(default_factory=list)  # vignettes with another range, unit or domain
    unshown: collections.Counter = field(default_factory=collections.Counter)  # items, by columns that nobody is shown
    item_keys: collections.Counter = field(default_factory=collections.Counter)  # items, by what they say of themselves

    @property
    def n_orphans(self) -> int:
        """Return how many answers a change orphans."""
        return self.orphans.total()

    @property
    def n_again(self) -> int:
        """Return how many of these would be asked again, to which nobody has agreed yet."""
        return self.again.total()


def asked_before(design: Design, state: State, keep: bool | None = None) -> Asked:
    """Compare what the spool of a study holds with what the study asks now.

    What it asks no more still counts if `keep` says so or, where that says nothing, if a session has said so.
    """
    history = Asked()
    if not state.closed:
        return history
    design.recognise(state)
    path = spool_folder(design.study.study) / COLLECTED
    history.restated = [*_restated(design, state)]
    history.reread = [*_reread(design, state)]
    history.redefined = redefined(design, state, path)
    for _, (*_, last) in changed_items(design, state, path):
        history.unshown.update(last.unshown)
        history.item_keys.update(last.keys)
    anchors = values_of(design.known_anchors(state.anchors))
    to_ask = collections.defaultdict(set)  # by change the trials that would be asked, whatever was given to them before
    for change, task, (judged, role, replicate, order, trial_id, is_answer) in _changed(design, state, path, anchors):
        if isinstance(change, Version):
            history.versions[change] += is_answer
            continue
        asked_now = trial_id if change.now else None
        if change.what != GONE or change.now.startswith(OTHER_RULE):
            arm = None if role else task.treatment
            cell = Cell(task.llm, *task[:2], task.direction, None, task.temperature, arm, task.item, judged, role)
            anchor = design.anchor_value(cell, anchors)
            cell = cell._replace(anchor_value=anchor)
            if change.what == ORDER and design.option_order(cell, replicate) == tuple(json.loads(order)):
                continue
            is_there = task.item is None or task.item in design.items
            is_decided = is_there and (anchor is not None) == task.is_anchored
            asked_now = design.trial_id(cell, replicate) if is_decided else trial_id
            is_enough = replicate >= (design.judges.repeats if role else design.study.stopping_rule.minimum)
            if is_enough or (is_decided and asked_now.encode() in state.closed):
                asked_now = None
        history.left_out[trial_id] = change
        if is_answer:
            history.orphans[change] += 1
            to_ask[change] |= {asked_now} - {None}
    last = next((session["kept"] for session in reversed(state.sessions) if "kept" in session), [])
    changes = [[change.was, change.now] for change in {**history.orphans, **dict.fromkeys(history.left_out.values())}]
    history.kept = changes if keep else [] if keep is not None else [pair for pair in changes if pair in last]
    history.left_out = {
        trial_id: f"words of {change.vignette} with {change.technique}" if change.what == WORDS else change.was
        for trial_id, change in history.left_out.items()
        if [change.was, change.now] not in history.kept
    }
    agreed, counted = _agreed(state.sessions), set()
    for change, n in sorted(history.orphans.items(), key=lambda orphans: orphans[0].what == GONE):
        pair = [change.was, change.now]
        is_agreed = tuple(pair) in agreed
        if pair not in history.pairs and (is_agreed or to_ask[change]):
            history.pairs.append(pair)
        if not is_agreed:
            history.again[change.what] += len(to_ask[change] - counted)
            counted |= to_ask[change]
        of_kind = history.differences.setdefault(change.what, {})
        where = of_kind.setdefault(tuple(_difference(design, state, change)), {})
        is_of_judges = _is_of_judges(design, change.vignette)
        how = f"as {change.treatment}" if is_of_judges else f"with {change.technique}"
        of_vignette = where.setdefault(change.vignette, collections.Counter())
        of_vignette[how] += n
    return history


def _changed(design, state, path, anchors):
    """Yield what has changed for each trial of which something has, what it was given to, and the trial.

    Something has come into the place of what is gone where the study names something of its kind that was never asked.
    LLMs and items are what a study is about, so that another one is in nobody's place, unless it is the same one under
    another name.
    """
    judges, rule = design.judges, design.study.stopping_rule
    limits = {"most": rule.maximum or rule.minimum, "repeats": judges.repeats if judges else 0}
    parameters = limits | {"items": [*design.items]}
    with spooled([path], "trials") as connection:
        tasks = [Task(*row) for row in connection.execute(TASKS, parameters).fetchall()]
    kinds = _other_ways(design, state, dict.fromkeys(task[:N_WAYS] for task in tasks))
    places, changes = _Places(design, state, tasks, anchors), {}
    for task in tasks:
        if task[:N_WAYS] in kinds and places.asks(task):  # its words, its order or its name have changed
            changes[task] = kinds[task[:N_WAYS]]
            continue
        pair = places.gone(task)
        if pair is None and task.is_beyond:
            pair = (f"more than {limits['repeats' if task.is_judged else 'most']} trials of a cell", "")
        if pair:
            changes[task] = Change(*task[:N_WORDS], GONE, *pair)
    if not changes:
        return
    with spooled([path], "trials") as connection:
        trials = connection.execute(TRIALS, parameters)
        while some := trials.fetchmany(AT_A_TIME):
            for row in some:
                task = Task(*row[: len(Task._fields)])
                if change := changes.get(task):
                    yield change, task, row[len(task) :]


class _Places:
    """What a study names now, and what its answers were given to, by kind."""

    def __init__(self, design, state, tasks, anchors):
        self.design, self.state, self.anchors, self.is_derived = design, state, anchors, False
        study, judges = design.study, design.judges
        self.llms = {False: [llm.llm for llm in study.llms], True: [llm.llm for llm in judges.llms] if judges else []}
        self.temperatures = {False: study.temperatures, True: [judges.temperature] if judges else []}
        self.vignettes = {False: [*design.vignettes], True: [judges.paradigm] if judges else []}
        self.seen = collections.defaultdict(dict)  # dicts, for their order
        for task in tasks:
            is_judged, vignette = task.is_judged, task.vignette
            self.seen["vignette", is_judged][vignette] = None
            self.seen["technique", vignette, task.is_anchored][task.technique] = None
            self.seen["arm", vignette][task.treatment] = None
            self.seen["LLM", is_judged][task.llm] = None
            self.seen["temperature", is_judged][task.temperature] = None
        sessions = [*state.sessions, {"study": study.model_dump(mode="json")}]
        studies = [
            part for session in sessions if (study := session.get("study")) for part in (study, study.get("judges"))
        ]
        self.sent = {entry["llm"]: _sent(entry) for part in studies if part for entry in part.get("llms", ())}
        self.twins = {}
        never_asked = {item.digest: name for name, item in design.items.items() if name not in state.items}
        for name, stated in state.items.items() if never_asked else ():
            if twin := next((never_asked[record.digest] for record in stated if record.digest in never_asked), None):
                self.twins[name] = twin

    def asks(self, task):
        """Tell whether the study asks this LLM at this temperature."""
        is_judged = task.is_judged
        return task.llm in self.llms[is_judged] and task.temperature in self.temperatures[is_judged]

    def gone(self, task):
        """Return the first that is gone of what an answer was given to, and what is in its place; None of neither."""
        design, is_judged, (vignette, technique, is_anchored, treatment) = self.design, task.is_judged, task[:N_WORDS]
        of_judges, llm, temperature = " of judgements" if is_judged else "", task.llm, task.temperature
        if vignette not in self.vignettes[is_judged]:
            named = "judgements" if is_judged else "vignette"
            return self._pair(named, ("vignette", is_judged), self.vignettes[is_judged], vignette)
        if is_judged and treatment not in design.judges.roles:
            return f"judged as {treatment}", ""
        if not is_judged and technique not in (techniques := _techniques(design, vignette, is_anchored)):
            return self._pair("technique", ("technique", vignette, is_anchored), techniques, technique)
        if not is_judged and (is_anchored, treatment) not in (treatments := design.treatments(vignette)):
            if (not is_anchored, treatment) in treatments:
                kinds = ("with a number as its anchor", "without a number as its anchor")
                was, now = kinds if is_anchored else reversed(kinds)
                return f"arm {treatment} {was}", f"arm {treatment} {now}"
            return self._pair("arm", ("arm", vignette), [arm for _, arm in treatments], treatment)
        if temperature not in (temperatures := self.temperatures[is_judged]):
            return self._pair(f"temperature{of_judges}", ("temperature", is_judged), temperatures, temperature)
        if llm not in self.llms[is_judged]:
            new = [name for name in self.llms[is_judged] if name not in self.seen["LLM", is_judged]]
            same = next((name for name in new if self.sent.get(name) == self.sent.get(llm, "nobody knows")), None)
            return f"LLM {llm}", f"LLM {same}" if same else ""
        if task.is_item_gone:
            twin = self.twins.get(task.item)
            return (f"item {task.item}", f"item {twin}") if twin else ("items that the study does not take now", "")
        arm, value = None if is_judged else treatment, task.value
        cell = Cell(llm, vignette, technique, task.direction, value, temperature, arm, task.item)
        if value is not None and value not in self._decided(cell):
            rule = json.dumps(design.rules[vignette])
            return f"{arm or task.direction} anchor {value:g} for {llm}", f"{OTHER_RULE}: {rule}"
        return None

    def _decided(self, cell):
        """Return the anchors that the rule of today gave: more than one where a baseline was mended in between."""
        direction = cell.in_arm
        hangs = self.design.hangs_on_answers(cell.vignette, direction)
        if hangs and not self.is_derived and direction not in self.anchors.get(cell.place, {}):
            derived, self.is_derived = derived_anchors(self.design), True
            places = {**derived, **self.anchors}
            self.anchors = {place: derived.get(place, {}) | self.anchors.get(place, {}) for place in places}
        return {self.design.anchor_value(cell, self.anchors), *self._earlier.get((cell.place, direction), ())}

    @cached_property
    def _earlier(self):
        """What was decided by the rule of today, by place and direction or arm, whenever that was."""
        earlier = collections.defaultdict(set)
        for record in self.state.anchors:
            for direction, value in anchors_in(record).items():
                if record["vignette"] in self.design.vignettes and self.design.is_of_today(record, direction):
                    earlier[place_of(record), direction].add(value)
        return earlier

    def _pair(self, named, kind, names, name):
        """Say what is gone and what has come for it: as many as have come are in the place of what is gone."""
        new = [other for other in names if other not in self.seen[kind]]
        gone = [other for other in self.seen[kind] if other not in names]
        place = gone.index(name)
        return f"{named} {name}", f"{named} {new[place]}" if place < len(new) else ""


def _techniques(design, vignette, is_anchored):
    """Return the techniques that a vignette is asked with: in anchoring, with an anchor or without."""
    if not design.paradigms:
        return design.techniques_of(vignette) if is_anchored else design.plain_techniques(vignette)
    base = [NO_TECHNIQUE] if design.base_of(vignette) else []
    return [*dict.fromkeys([*base, *design.techniques_of(vignette)])]


def derived_anchors(design: Design) -> dict[tuple, dict]:
    """Return the anchors that a study's rule makes of the answers without anchor that were collected."""
    means = mean_baselines(spool_folder(design.study.study) / COLLECTED, design)
    return design.anchors_from({place: mean for place, (mean, _) in means.items()})


def _sent(llm):
    """Return what is asked by the name of an LLM; simulated ones are what they are called."""
    if llm.get("provider") == "simulated":
        return llm["llm"]
    return llm.get("provider"), llm.get("base_url"), llm.get("model") or llm["llm"]


def _restated(design, state):
    """Yield each paradigm of which something else is measured or compared than the last session said, and what."""
    last = next((stated_in(session) for session in reversed(state.sessions) if session.get("paradigms")), {})
    now = stated_in(design.stated())
    for paradigm, measures in now["paradigms"].items():
        before, after = (
            {
                row["measure"]: {"is_leading": row.get("measured_from") != "measurement"}  # until it was stated
                | row
                | {"labels": sorted(json.loads(row["labels"] or "[]")), "answer_reading": None}
                for row in rows
            }
            for rows in (last.get("paradigms", {}).get(paradigm, ()), measures)
        )
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        if now["paradigm_contrasts"].get(paradigm) != last.get("paradigm_contrasts", {}).get(paradigm):
            names.append("contrasts")
        if before and names:
            yield paradigm, names


def _reread(design, state):
    """Yield each paradigm that is read otherwise than the last session said, how it was and how it is."""
    last = [session["study"] for session in state.sessions if session.get("paradigms") and session.get("study")]
    before, now = _readings(last[-1] if last else {}), _readings(design.study.model_dump(mode="json"))
    yield from ((name, before[name], now[name]) for name in now if before.get(name, now[name]) != now[name])


def _readings(study):
    judges = [study["judges"]] if study.get("judges") else []
    answers = [{"paradigm": paradigm["paradigm"], **paradigm["answer"]} for paradigm in study.get("paradigm") or ()]
    return {part["paradigm"]: part["reading"] for part in [*answers, *judges]}


def _other_ways(design, state, ways):
    """Return what has changed of the ways of asking that the study has used and does not use now."""
    kinds = {}
    studies = {session["session"]: session["study"] for session in state.sessions if "study" in session}
    studies[None] = design.study.model_dump(mode="json")
    for way in ways:
        vignette, technique, is_anchored, arm, prompt_hash, *asked_under = way
        words = way[:N_WORDS]
        is_named = _is_of_judges(design, vignette) or (
            vignette in design.vignettes and technique in _techniques(design, vignette, is_anchored)
        )
        if not is_named or (is_anchored, arm) not in design.treatments(vignette):
            continue
        if prompt_hash not in design.prompt_hashes(*words):
            of_words = Change(*words, WORDS, prompt_hash, design.version(*words)[0])
            kinds[way] = _version(design, state, *words, prompt_hash) or of_words
        elif change := next(_other_than_words(design, studies, *words, *asked_under), None):
            kinds[way] = change
    return kinds


def _other_than_words(design, studies, vignette, technique, is_anchored, arm, paradigm, session):
    """Yield what has changed beside the words: the name of the paradigm, or the order of the options."""
    words = (vignette, technique, is_anchored, arm)
    if paradigm and paradigm != (name := design.vignettes[vignette]["paradigm"]):
        yield Change(*words, NAME, f"paradigm {paradigm}", f"paradigm {name}")
    if session is not None and session in studies:
        was, now = (_order_of(study, vignette, arm) for study in (studies[session], studies[None]))
        if was != now:
            yield Change(*words, ORDER, was, now)


def _order_of(study, vignette, arm):
    """Say in which order a study shows the options of a vignette in an arm, with all that the order hangs on."""
    of_vignette = next(entry for entry in study["vignettes"] if entry["vignette"] == vignette)
    rule = next(entry for entry in study["paradigm"] if entry["paradigm"] == of_vignette["paradigm"])["options"]
    shown = {name: treatment["options"] for name, treatment in of_vignette["arms"].items() if treatment.get("options")}
    if rule["order"] == AS_WRITTEN:
        return f"options as written: {', '.join(shown[arm])}"
    if rule["order"] == OF_ITEM:
        return "options as the text of each item shows them"
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
        yield f"-{printable(change.was)}"
        if change.now:
            yield f"+{printable(change.now)}"
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
        *(f"{rule}: {text}" for rule, text in template.get("of_steps", {}).items()),
        *template.get("options", {}).values(),
        *(f"{name}: {text}" for name, text in template.get("decoding", {}).items()),
        *(str(rounds[step]) for step in sorted(rounds) if step != "text"),
    ]
    return [line for text in texts for line in text.splitlines() if line.strip()]


def render_asked(history: Asked) -> list[str]:
    """Write what was asked before and counts no more for this study, in lines for a terminal."""
    lines = [
        f"What is measured or compared in {printable(paradigm)} is not what it was when it was last asked "
        f"({printable(', '.join(names))}): once it is collected the tables follow the file with `bais build`, "
        f"and nothing is asked again for {'that alone; see what follows' if history.n_again else 'it'}."
        for paradigm, names in history.restated
    ]
    lines += map(printable, render_redefined(history.redefined))
    lines += [
        f"Replies of {printable(paradigm)} are read as {now}, and were read as {was} when it was last asked: once it "
        "is collected, `bais build` reads all of them so, and nothing is asked again for it. `bais check --all` audits "
        "them anew."
        for paradigm, was, now in history.reread
    ]
    lines += [
        f"What the items say under {printable(column)} has come, changed or gone since they were asked (in {n:,} of "
        "them). Nobody is shown it, so it changes nothing in what is asked, and nothing is asked again for it."
        for column, n in sorted(history.unshown.items())
    ]
    lines += [
        f"What {n:,} item{' says' if n == 1 else 's say'} under `{key}` has come, changed or gone since "
        f"{'it was' if n == 1 else 'they were'} asked. It is no part of a question: once it is collected the tables "
        "follow the file with `bais build`, nothing is asked again for it, and `raw.items` keeps what was said "
        "before."
        for key, n in sorted(history.item_keys.items())
    ]
    for version, n in sorted(history.versions.items()):
        counts = "it" if version.number > version.now else f"version {version.now} as soon as it has answers"
        lines.append(
            f"{_answers(n)} to version {version.number} of {version.name}: they stay, a set of their own beside "
            f"version {version.now}; the tables count {counts}."
        )
    for what, differences in history.differences.items():
        of_kind = {change: n for change, n in history.orphans.items() if change.what == what}
        n, n_again = sum(of_kind.values()), history.again[what]
        n_kept = sum(n for change, n in of_kind.items() if [change.was, change.now] in history.kept)
        some = "" if n_kept in (0, n) else f"; {n_kept:,} of them still count, as `--keep` has said"
        count = "count" if n > 1 else "counts"
        counts = f"still {count}, as `--keep` has said" if n_kept == n else f"{count} for this study no more{some}"
        lines.append(
            f"{_answers(n)} {CHANGED[what]}, and {counts}"
            f"{f'; {n_again:,} of them would be asked again' if n_again else ''}:"
        )
        lines += _render_differences(differences)
        lines.append(PUT_BACK[what])
    return lines


def _render_differences(differences):
    """Yield what went and came, and where."""
    for difference, where in [*differences.items()][:MOST_DIFFERENCES]:
        yield from (f"  {_answered(vignette, hows)}" for vignette, hows in where.items())
        yield from (f"    {line}" for line in difference[:MOST_LINES])
        if len(difference) > MOST_LINES:
            yield f"    and {len(difference) - MOST_LINES} more lines"
    if len(differences) > MOST_DIFFERENCES:
        yield f"  and {len(differences) - MOST_DIFFERENCES} more differences"


def _answered(vignette, hows):
    """Say how many answers there are to a vignette, and with which techniques or as what."""
    n, (first, *rest) = sum(hows.values()), hows
    others = [how.partition(" ")[2] for how in rest]
    if len(others) > MOST_NAMED - 1:
        others = [*others[: MOST_NAMED - 1], f"{len(others) - MOST_NAMED + 1} more"]
    named = f"{', '.join([first, *others[:-1]])} and {others[-1]}" if others else first
    return f"{n:,} answer{'' if n == 1 else 's'} to {printable(f'{vignette} {named}')}"


def _answers(n):
    return f"{n:,} answer{' was' if n == 1 else 's were'} given"


def of_study(study, keep: bool | None = None) -> Asked:
    """Compare what was collected of a study with what it asks now."""
    return asked_before(Design(study), read_state(spool_folder(study.study) / COLLECTED), keep)


def said_of_imported(study: str) -> list[str]:
    """Say that the warehouse has imported trials of a study of this name; of none say nothing."""
    n = 0
    with contextlib.suppress(UserError):  # while somebody else writes to the warehouse; it keeps nobody from asking
        batches = landed_ids(study, "batches", "source", "n_trials").to_pylist()
        n = sum(batch["n_trials"] for batch in batches if batch["source"] == IMPORTED)
    if not n:
        return []
    return [
        f"The warehouse has {n:,} imported trial{'' if n == 1 else 's'} of a study that is called "
        f"{printable(study)} too: whatever is collected now counts together with them. If another study is meant, give "
        "this one another name (`study`) before you collect it."
    ]
