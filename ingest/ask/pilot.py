"""A pilot: a few trials of each cell of a study, asked and shown, kept apart, and no part of the study.

What is looked at before a study is settled may change it, so that none of it may decide anything later. So its answers
have ids and a spool of their own that no load finds, and no family of decisions is frozen. The spool is named after
what is asked: the same study asked again goes on where it stopped and shows what is there, a changed one is asked anew.
"""

import collections
import hashlib
import itertools
import json
from collections.abc import Iterator

from ingest.ask.collector import Collector, Outcome
from ingest.ask.reading import Reading, Way, in_words, read_replies, way_of
from ingest.ask.spool import pilot_folder, read_state, records_of
from ingest.paradigms.judges import JUDGEMENTS
from ingest.paradigms.paradigm import NO_TECHNIQUE
from ingest.studies.design import Design, values_of
from ingest.studies.parts import StoppingRule
from ingest.studies.study import ParadigmStudy, Study
from ingest.warehouse import printable

RUN = "pilot"  # part of the ids of its trials
NOT_ASKED = {"limits", "stopping_rule", "description"}  # what may change while it stays the same pilot


class Pilot:
    """A few trials of each cell of a study; of items the first few alone, of judgements one each.

    Parameters
    ----------
    study : Study or ParadigmStudy
    n : int
        Trials of each cell, and items of each paradigm.
    """

    def __init__(self, study: "Study | ParadigmStudy", n: int):
        vignettes = [
            vignette | {"items": vignette["items"].first(n)} if "items" in vignette else vignette
            for vignette in study.vignettes
        ]
        changes = {"stopping_rule": StoppingRule(minimum=n), "vignettes": vignettes}
        if paradigms := getattr(study, "paradigm", None):
            changes["paradigm"] = [
                paradigm.model_copy(update={"items": paradigm.items.first(n)}) if paradigm.items else paradigm
                for paradigm in paradigms
            ]
        if judges := getattr(study, "judges", None):
            changes["judges"] = judges.model_copy(update={"repeats": 1})
        self.n, self.study = n, study.model_copy(update=changes)
        self.path = pilot_folder(study.study) / f"{_hash_of(study)}.jsonl"

    def ask(self, **options) -> Outcome:
        """Ask what is missing of it, with options of `Collector`."""
        return Collector(Design(self.study, run=RUN), path=self.path, **options).collect()

    def transcript(self) -> Iterator[str]:
        """Yield what was asked, what came back and what was read of it, in lines, and at last how much was read."""
        state, design = read_state(self.path), Design(self.study, run=RUN)
        design.recognise(state)
        trials, calls, prompts = self._records()
        anchors = values_of(design.known_anchors(state.anchors))
        cells = itertools.chain(design.first_cells(), design.anchored_cells(anchors))
        ids = [design.trial_id(cell, number) for cell in cells for number in range(self.n)]
        ids += [design.trial_id(cell, 0) for cell in (design.judgement_cells(state.judged) if design.judges else ())]
        shown = collections.defaultdict(list)
        for trial in (trials[trial_id] for trial_id in ids if trial_id in trials):
            shown[_place(trial)].append(trial)
        readings = _readings(design, [trial for group in shown.values() for trial in group])
        for place, group in shown.items():
            yield f"── {', '.join(filter(None, place))} ──"
            yield from _conversation(calls[group[0]["trial_id"]], prompts)
            for trial in group:
                yield from _answer(trial, readings[trial["trial_id"]])
            yield ""
        statuses = collections.Counter(reading.status for reading, _ in readings.values())
        counted = ", ".join(f"{n:,} {status}" for status, n in statuses.most_common() if status != "answered")
        yield f"Read: {statuses['answered']:,} of {len(readings):,}{f' ({counted})' if counted else ''}."

    def _records(self):
        trials, calls, prompts = {}, collections.defaultdict(list), {}
        for record in records_of(self.path):
            if record["kind"] == "trial":
                trials[record["trial_id"]] = record
            elif record["kind"] == "call":
                calls[record["trial_id"]].append(record)
            elif record["kind"] == "prompt":
                prompts[record["prompt_hash"]] = record["text"]
        return trials, calls, prompts


def _hash_of(study):
    """Hash all that is asked in a study, the texts of its items too."""
    items = [item.digest for item in Design(study).items.values()]
    text = json.dumps([study.model_dump(mode="json", exclude=NOT_ASKED), items], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _place(trial):
    """Name what is asked of several LLMs: vignette, technique, arm or anchor, and item, or what is judged."""
    technique = None if trial["technique"] == NO_TECHNIQUE else trial["technique"]
    item = f"item {trial['item']}" if trial.get("item") else None
    if role := trial.get("role"):
        return trial["vignette"], f"{JUDGEMENTS} as {role}", item
    arm = trial.get("arm") or {"none": "no anchor"}.get(
        trial["anchor_direction"], f"{trial['anchor_direction']} anchor"
    )
    return trial["vignette"], technique, arm, item


def _conversation(calls, prompts):
    """Yield what one LLM was asked, with what it said in between."""
    answered = [call for call in calls if call["error"] is None]
    for number, call in enumerate(answered or calls[:1], 1):
        turn = f" ({number} of {len(answered)})" if len(answered) > 1 else ""
        yield from _with_head(f"asked{turn}", prompts[call["prompt_hash"]])
        if number < len(answered):
            yield from _with_head("said", call["text"])


def _answer(trial, told):
    """Yield what an LLM answered at last, and what was read of it."""
    reading, way = told
    anchor = f"anchor {trial['anchor_value']:g}" if trial.get("anchor_value") is not None else None
    temperature = f"temperature {trial['temperature']:g}" if trial.get("temperature") is not None else None
    yield from _with_head(", ".join(filter(None, (trial["llm"], anchor, temperature))), trial["text"] or "(no text)")
    said = f", in “{reading.said}”" if reading.said else ""
    why = (
        f", {'since' if reading.reason else 'by'} {reading.reason or reading.note}"
        if reading[3:] != (None, None)
        else ""
    )
    status = "" if reading.status == "answered" else f" ({reading.status})"
    yield f"  read: {printable(in_words(reading, way) + said + why)}{status}"


def _with_head(head, text):
    yield f"{printable(head)}:"
    yield from (f"  | {printable(line)}" for line in text.split("\n"))


def _readings(design, trials) -> dict[str, tuple[Reading, Way]]:
    """Return by trial what was read of it, and how; some are known before they are read."""
    groups, readings = collections.defaultdict(list), {}
    for trial in trials:
        if trial["status"] is not None:
            why = (trial["reason"] or trial["status"]).replace("_", " ")
            readings[trial["trial_id"]] = Reading(trial["status"], reason=why), Way()
        else:
            groups[trial["vignette"]].append(trial)
    for vignette, group in groups.items():
        judges = design.judges if group[0].get("role") else None
        way = Way("label", labels=judges.labels, reading=judges.reading) if judges else None
        way = way or way_of(design.paradigm_of(vignette), design.vignettes[vignette])
        replies = [(trial["text"], json.loads(trial.get("option_order") or "null")) for trial in group]
        found = zip(group, read_replies(replies, way), strict=True)
        readings |= {trial["trial_id"]: (reading, way) for trial, reading in found}
    return {trial["trial_id"]: readings[trial["trial_id"]] for trial in trials}
