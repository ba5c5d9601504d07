"""Plant errors that happen to experiments into a copy of landed trials, and see what the gate makes of each.

They are planted into what an archive has become in a warehouse of its own, so that every format can be rehearsed, and
the gate looks at them as it would had the archive come so.
"""

import contextlib
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ingest.gate.batches import batches_to_audit
from ingest.gate.models import gate_models
from ingest.gate.suite import read_config
from ingest.warehouse import UserError, connect, printable, transaction

CELL = ["technique", "direction", "temperature"]
CHANGED = ["number", "technique", "direction", "anchor_value", "prompt_hash", "response_text"]
FIRST_OF_ANOTHER = 15  # runs of a cell after which another LLM answers, or half of them where there are fewer
FEWEST = 10  # answers that an error needs, to be one
CACHED = 40  # characters of a text that nobody says twice by chance
# what a line says of its number beside it would tell on the planter
BESIDE = json.dumps(dict.fromkeys(("iterationDetails", "originalResponse", "outOfRange", "validRange")))

TRIALS = """
select
    trials.trial_id, trials.batch_id, trials.study, trials.vignette, trials.llm, trials.llm_recorded, trials.technique,
    trials.direction, trials.anchor_value, trials.temperature, trials.replicate, trials.number, trials.prompt_hash,
    trials.source, landed.response_text
from {trials} as trials
inner join warehouse.raw.trials as landed using (trial_id)
where trials.is_new and trials.paradigm = 'anchoring' and trials.role is null and trials.direction != 'unknown'
order by trials.replicate, trials.asked_at, trials.trial_id
"""


@dataclass(frozen=True)
class Error:
    """Something that happens to an experiment: what it does to the trials of one LLM, and how the gate names it."""

    words: str
    reasons: tuple[str, ...]
    plant: Callable


def _years(trials, others, rng):
    return trials.assign(number=(trials.number / 12).round(1), is_touched=True)


def _first_digit(trials, others, rng):
    technique = _drawn(trials[trials.number >= 10], ["technique"], rng)
    is_its = trials.technique == technique
    is_cut = is_its & (trials.number >= 10)
    first = trials.number.map(lambda number: float(str(number)[0]), na_action="ignore")
    return trials.assign(number=trials.number.where(~is_cut, first), is_touched=is_its)


def _techniques_exchanged(trials, others, rng):
    one, other = _drawn(trials[trials.direction != "none"], ["technique"], rng, 2)
    is_its = (trials.direction != "none") & trials.technique.isin([one, other])
    exchanged = trials.technique.replace({one: other, other: one})
    return trials.assign(technique=trials.technique.where(~is_its, exchanged), is_touched=is_its)


def _anchors_off(trials, others, rng):
    technique, direction = _drawn(trials[trials.direction != "none"], ["technique", "direction"], rng)
    is_off = (trials.technique == technique) & (trials.direction == direction)
    return trials.assign(anchor_value=trials.anchor_value + 7 * is_off, is_touched=is_off)


def _directions_exchanged(trials, others, rng):
    if (trials.source != "recorded").any():
        raise NothingToPlant("it cannot happen here: bais asked with these labels itself")
    anchors = trials.groupby("direction").anchor_value.median()
    if not {"low", "high"} <= {*anchors.index}:
        raise NothingToPlant
    other = {"low": "high", "high": "low"}
    direction = trials.direction.map(lambda word: other.get(word, word))
    moved = direction.map(anchors)
    is_moved = direction != trials.direction
    return trials.assign(direction=direction, anchor_value=moved.where(is_moved), is_touched=is_moved)


def _another_llm(trials, others, rng):
    run = trials.replicate.fillna(trials.groupby(CELL).cumcount())
    late = trials[(run >= min(FIRST_OF_ANOTHER, (run.max() + 1) // 2)) & trials.number.notna()]
    if late.empty or others.empty:
        raise NothingToPlant
    theirs = others.groupby(["llm", *CELL[:2]]).number.agg(list)
    there = {llm: theirs[llm] for llm in theirs.index.unique("llm")}
    cells = {*zip(late.technique, late.direction, strict=True)}
    llm = sorted(there, key=lambda llm: (len(cells - {*there[llm].index}), llm))[: max(len(there) // 2, 1)]
    theirs = there[str(rng.choice(llm))]
    drawn = {
        place: float(rng.choice(theirs[cell]))
        for place, cell in zip(late.index, zip(late.technique, late.direction, strict=True), strict=True)
        if cell in theirs
    }
    number = [drawn.get(place, number) for place, number in trials.number.items()]
    return trials.assign(number=number, is_touched=trials.index.isin(drawn))


def _temperature_ignored(trials, others, rng):
    coldest, hottest = trials.temperature.min(), trials.temperature.max()
    nth = trials.groupby(CELL).cumcount()
    hot = trials.assign(nth=nth)[trials.temperature == hottest].set_index([*CELL[:2], "nth"]).number.to_dict()
    places = zip(trials.technique, trials.direction, nth, strict=True)
    copied = [hot.get(place, number) for place, number in zip(places, trials.number, strict=True)]
    is_cold = (trials.temperature == coldest) & (coldest < hottest) & trials.number.notna()
    return trials.assign(number=trials.number.where(~is_cold, copied), is_touched=is_cold)


def _anchored_baseline(trials, others, rng):
    plain = trials[trials.technique == "no_technique"]
    anchored = plain[(plain.direction == "low") & plain.number.notna()]
    is_asked = trials.index.isin(plain[(plain.direction == "none") & plain.number.notna()].index)
    if anchored.empty or not is_asked.any():
        raise NothingToPlant
    drawn = rng.choice(anchored.number, len(trials))
    return trials.assign(
        number=trials.number.where(~is_asked, drawn),
        prompt_hash=trials.prompt_hash.where(~is_asked, anchored.prompt_hash.iloc[0]),
        is_touched=is_asked,
    )


def _cached(trials, others, rng):
    worded = trials[(trials.temperature > 0) & trials.number.notna() & (trials.response_text.str.len() >= CACHED)]
    is_its = trials.index.isin(worded.groupby(CELL).get_group(_drawn(worded, CELL, rng)).index)
    first = trials[is_its].iloc[0]
    return trials.assign(
        number=trials.number.where(~is_its, first.number),
        response_text=trials.response_text.where(~is_its, first.response_text),
        is_touched=is_its,
    )


ERRORS = {
    "years": Error("the LLM's answers are in years, where months are asked", ("another_unit", "far_off"), _years),
    "first_digit": Error(
        "a technique's numbers are cut to their first digit", ("another_unit", "far_off", "at_most_one"), _first_digit
    ),
    "techniques_exchanged": Error(
        "the labels of two techniques are exchanged", ("another_question",), _techniques_exchanged
    ),
    "anchors_off": Error(
        "the anchors of a cell are off by 7 from those that were asked",
        ("another_question", "other_anchor", "anchor_factor", "wrong_anchor"),
        _anchors_off,
    ),
    "directions_exchanged": Error(
        "low and high are exchanged", ("another_question", "reversed", "wrong_anchor"), _directions_exchanged
    ),
    "another_llm": Error(
        "from the 16th run on, or from the middle on, another LLM answers", ("changed_midway",), _another_llm
    ),
    "temperature_ignored": Error(
        "what stands under the lowest temperature are the answers of the highest", ("same_answers",),
        _temperature_ignored,
    ),
    "anchored_baseline": Error(
        "the baseline is asked with an anchor", ("another_question", "baseline_with_anchor"), _anchored_baseline
    ),
    "cached": Error("a cell's answers are its first one, from a cache", ("collapsed_repeats", "duplicate"), _cached),
}  # fmt: skip


class NothingToPlant(Exception):
    """The trials of an LLM lack what an error needs; its words say why."""

    def __init__(self, why: str = "it cannot happen here: the trials lack what it needs"):
        super().__init__(why)


def _drawn(trials, columns, rng, n=1):
    """Draw conditions of which there are enough answers."""
    sizes = trials[trials.number.notna()].groupby(columns).size()
    enough = list(sizes[sizes >= FEWEST].index)
    if len(enough) < n:
        raise NothingToPlant
    drawn = [enough[place] for place in rng.choice(len(enough), n, replace=False)]
    return drawn if n > 1 else drawn[0]


@contextlib.contextmanager
def warehouse_at(path: Path) -> Iterator[None]:
    """Let this process work on another warehouse."""
    before = os.environ.get("BAIS_WAREHOUSE")
    os.environ["BAIS_WAREHOUSE"] = str(path)
    try:
        yield
    finally:
        os.environ.pop("BAIS_WAREHOUSE")
        if before is not None:
            os.environ["BAIS_WAREHOUSE"] = before


class Rehearsal:
    """A warehouse with nothing but landed trials, and what the gate says of it as it is."""

    def __init__(self, path: Path):
        self.path = path
        with transaction(path) as warehouse:
            for table in ("batch_verdicts", "batch_checks", "flagged_trials", "gate_acts"):
                warehouse.execute(f"delete from raw.{table}")
        self.trials = self._trials()
        if not len(self.trials):
            raise UserError("the archive holds no trials with a number and an anchor, or without one: nothing to plant")
        self.clean: dict[tuple, tuple] = {}  # by study and vignette

    def _trials(self):
        """Return the trials of anchoring as the gate reads them, in the order of their runs."""
        from ingest.gate.audit import beside

        with beside(self.path) as memory:
            batches = [batch for batch in batches_to_audit(memory, None) if not batch["is_scored"]]
            if not batches:
                raise UserError("the archive holds no trials: there is nothing that errors can be planted into")
            trials = gate_models(memory, batches, read_config()).ref("gate_trials")
            return memory.sql(TRIALS.format(trials=trials)).df()

    def llms(self, named: tuple[str, ...], most: int) -> list[str]:
        """Return the LLMs that are meant, also by what the archive calls them, or those of which there is most."""
        there = self.trials.llm.value_counts()
        called = dict(zip(self.trials.llm_recorded, self.trials.llm, strict=True))
        named = tuple(called.get(name, name) for name in named)
        if missing := [llm for llm in named if llm not in there]:
            there = ", ".join(map(printable, sorted(there.index)))
            raise UserError(f"the archive has no trials of {printable(missing[0])}; it has those of {there}")
        return list(named) or [str(llm) for llm in there.index[:most]]

    def rehearse(self, name: str, llm: str, seed: int) -> dict:
        """Plant an error among the trials of an LLM, of the vignette where it has most, and say what came of it."""
        import numpy as np

        error = ERRORS[name]
        of_llm = self.trials[self.trials.llm == llm]
        vignette = of_llm.groupby(["study", "vignette"]).size().idxmax()
        of_vignette = self.trials[(self.trials.study == vignette[0]) & (self.trials.vignette == vignette[1])]
        trials = of_vignette[of_vignette.llm == llm]
        others = of_vignette[(of_vignette.llm != llm) & of_vignette.number.notna()]
        row = {"planted": name, "llm": llm, "vignette": vignette[1], "seed": seed}
        try:
            planted = error.plant(trials, others, np.random.default_rng(seed))
        except NothingToPlant as nothing:
            return row | _nothing(str(nothing))
        is_wrong = _differ(trials[CHANGED], planted[CHANGED]).any(axis=1)
        wrong, touched = planted[is_wrong], planted[is_wrong | planted.is_touched]
        if not len(wrong):
            return row | _nothing("an exchange of equal things is none: nothing would be different")
        batch_ids = sorted(of_vignette.batch_id.unique())
        if vignette not in self.clean:
            self.clean[vignette] = self._flags(self._copy(), batch_ids)
        copy = self._copy()
        self._write(copy, wrong, trials.loc[wrong.index])
        before, after = self.clean[vignette], self._flags(copy, batch_ids)
        innocent = {*of_vignette.trial_id} - {*touched.trial_id}
        row |= _compared(before, after, {*wrong.trial_id}, innocent, error.reasons)
        if not row["is_named"] and "another_question" in error.reasons and wrong.prompt_hash.isna().all():
            row["why"] = "neither the prompts nor their hashes are kept: nothing tells what was asked"
        return row

    def _copy(self):
        return Path(shutil.copy(self.path, self.path.with_name("planted.duckdb")))

    def _write(self, path, wrong, right):
        """Put what is wrong into the landed trials; a text says the number that is planted."""
        texts = [
            _with_number(text, old, new) if isinstance(text, str) and text == planted else planted
            for text, planted, old, new in zip(
                right.response_text, wrong.response_text, right.number, wrong.number, strict=True
            )
        ]
        is_answer = _differ(wrong[["number", "response_text"]], right[["number", "response_text"]]).any(axis=1)
        planted = wrong.drop(columns="response_text").assign(text=texts, is_answer=is_answer)
        with transaction(path) as warehouse:
            warehouse.register("planted", planted)
            warehouse.execute(
                """
                update raw.trials set
                    response_recorded = if(is_answer and response_recorded is not null, number, response_recorded),
                    response_text = if(is_answer, text, response_text),
                    line = if(is_answer, json_merge_patch(line, $beside::json), line),
                    technique = planted.technique,
                    anchor_value = planted.anchor_value,
                    anchor_direction = if(anchor_direction is null, null, planted.direction),
                    prompt_hash = planted.prompt_hash
                from planted where trials.trial_id = planted.trial_id
                """,
                {"beside": BESIDE},
            )

    def _flags(self, path, batch_ids):
        """Return by trial the reasons of its flags, and the trials that are held back."""
        from ingest.gate.audit import audit

        with warehouse_at(path):
            verdicts = audit(batch_ids)
        failed = [verdict.batch_id for verdict in verdicts if verdict.verdict == "failed"]
        with contextlib.closing(connect(path)) as warehouse:
            flags = warehouse.execute("select trial_id, reason, severity from raw.flagged_trials").fetchall()
            held = warehouse.execute(
                "select trial_id from raw.trials where list_contains($failed, batch_id)", {"failed": failed}
            ).fetchall()
        held = {trial_id for (trial_id,) in held}
        held |= {trial_id for trial_id, _, severity in flags if severity == "quarantined"}
        return {(trial_id, reason) for trial_id, reason, _ in flags}, held


def _differ(one, other):
    return (one != other) & ~(one.isna() & other.isna())


def _with_number(text, old, new):
    """Write another number in a text, wherever the old one stands; a text that lacks it becomes the number."""
    old_ones = "|".join(re.escape(written) for written in {f"{old:,g}", f"{old:g}"})
    written, n = re.subn(rf"(?<![\w.,])(?:{old_ones})(?!\w|[.,]\d)", f"{new:g}", text)
    return written if n else f"{new:g}"


def _nothing(why):
    counts = dict.fromkeys(("n_wrong", "n_held", "n_suspect", "n_innocent", "n_innocent_held"), 0)
    return counts | {"is_named": None, "why": why}


def _compared(before, after, wrong, innocent, right_reasons):
    """Say what the gate says newly of the wrong rows and of the innocent ones.

    Rows that an error touched and left as they were, such as equal answers of two LLMs, are neither.
    """
    (flags_before, held_before), (flags, held) = before, after
    new, newly_held = flags - flags_before, held - held_before
    flagged = {trial_id for trial_id, _ in new} | newly_held
    said = Counter(reason for trial_id, reason in new if trial_id in wrong)
    falsely = Counter(reason for trial_id, reason in new if trial_id in innocent)
    named = [reason for reason in right_reasons if said[reason] > falsely[reason]]
    others = ", ".join(f"{reason} of {n:,}" for reason, n in said.most_common() if reason not in named)
    return {
        "n_wrong": len(wrong),
        "n_held": len(wrong & held),
        "n_suspect": len((wrong & flagged) - held),
        "n_innocent": len(flagged & innocent),
        "n_innocent_held": len(newly_held & innocent),
        "is_named": bool(named),
        "why": ", ".join(f"{reason} of {said[reason]:,}" for reason in named)
        or (f"it is taken for something else: {others}" if others else "nothing is said of these rows"),
    }
