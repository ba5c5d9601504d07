"""The trials of a study: its cells, their order, their ids and what each is asked with."""

import array
import bisect
import collections
import contextlib
import hashlib
import itertools
import json
import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ingest.paradigms.items import Item
from ingest.paradigms.judges import Judged
from ingest.paradigms.paradigm import AS_WRITTEN, NO_TECHNIQUE, OF_ITEM, Paradigm, arm_script
from ingest.prompts import Script, anchored_script, prompt_version, shipped, template_hash, template_of
from ingest.studies.llms import facts_of
from ingest.studies.parts import is_for
from ingest.studies.study import Study


class Cell(NamedTuple):
    """What is asked many times: one LLM, vignette, technique, anchor and temperature, in a paradigm an arm and item.

    Of a judgement, `llm` is the judge, `judged` the trial or item whose text is judged, and `role` as what.
    """

    llm: str
    vignette: str
    technique: str
    anchor_direction: str = "none"
    anchor_value: float | None = None
    temperature: float | None = None
    arm: str | None = None
    item: str | None = None
    judged: str | None = None
    role: str | None = None

    @property
    def in_arm(self) -> str:
        """Return the arm; in anchoring that is the direction of the anchor."""
        return self.arm or self.anchor_direction

    @property
    def asked_with(self) -> tuple[str, str, bool, str | None]:
        """Return what names the template: vignette, technique, whether an anchor is in it, and the arm or the role."""
        return self.vignette, self.technique, self.anchor_value is not None, self.arm or self.role

    @property
    def place(self) -> tuple:
        """Return what has a baseline of its own: LLM, vignette and item, which is None where there are none."""
        return self.llm, self.vignette, self.item

    @property
    def key(self) -> tuple:
        """Return what a trial's id and simulated answer hang on: in anchoring without items, what there always was."""
        return tuple(self)[: 10 if self.role else 8 if self.arm or self.item else 6]


class Trial(NamedTuple):
    """One question to be put, and its place in the order."""

    trial_id: str
    cell: Cell
    replicate: int
    phase: str
    order_index: int
    attempt_of: str | None = None
    option_order: tuple[str, ...] | None = None


class Grid(Sequence):
    """The cells of a study, of which none is kept: memory does not grow with the items.

    Parameters
    ----------
    blocks : list of tuples of sequences
        Of each block, the values that its cells combine.
    make : callable
        Called with one value of each sequence of a block, in their order.
    """

    def __init__(self, blocks: list[tuple[Sequence, ...]], make: Callable[..., Cell]):
        self._blocks = blocks
        self._make = make
        self._ends = list(itertools.accumulate(math.prod(map(len, block)) for block in blocks))

    def __len__(self):
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, place):
        if not 0 <= place < len(self):
            raise IndexError(place)
        number = bisect.bisect_right(self._ends, place)
        rest = place - (self._ends[number - 1] if number else 0)
        chosen = []
        for values in reversed(self._blocks[number]):
            rest, at = divmod(rest, len(values))
            chosen.append(values[at])
        return self._make(*reversed(chosen))


class Design:
    """The cells and trials of a study; a `run` (of `bais run`) sets them apart from those of its other runs."""

    def __init__(self, study: Study, run: str | None = None):
        self.study = study
        self.run = run
        self.vignettes = {vignette["vignette"]: vignette for vignette in study.vignettes}
        self.techniques = {technique["technique"]: technique for technique in study.techniques}
        self.paradigms = {paradigm.paradigm: paradigm for paradigm in getattr(study, "paradigm", ())}
        self.judges = getattr(study, "judges", None)
        self.rules = {name: study.rule_of(vignette) for name, vignette in self.vignettes.items()}
        self._paradigms = {name: study.paradigm_of(vignette) for name, vignette in self.vignettes.items()}
        of_all = [*self.paradigms.values()] or self._paradigms.values()
        self.items = {item.item: item for paradigm in of_all for item in paradigm.all_items}
        self._versions = {}
        self._older = collections.defaultdict(list)
        self._asked = ((), ())
        self._names = {}

    def recognise(self, state) -> None:
        """Know the trials of a spool again, also where a bais of old hashed the same template otherwise."""
        self._asked = (state.closed, state.open_calls)
        self._names = state.names
        asked_hashes = set()
        for prompt_hash, (text, study) in state.templates.items():
            for is_anchored in (False, True):
                with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):  # it is no template
                    today = template_hash(template_of(text, study, is_anchored=is_anchored))
                    asked_hashes.add(today)
                    if prompt_hash not in (today, *self._older[today]):
                        self._older[today].append(prompt_hash)
        self._go_on_with_words(asked_hashes)

    def _go_on_with_words(self, asked_hashes):
        """Ask with the words that hung on a reading once, where a spool holds what was asked with them.

        Of two sets of answers the one counts that the study's reading asked for then.
        """

        def is_to_go_on(reading, before, today):
            return not asked_hashes.isdisjoint(before) and (reading == "first_word" or asked_hashes.isdisjoint(today))

        for name, paradigm in self.paradigms.items() if self.study.answer_format is None else ():
            before = paradigm.as_asked_before()
            if before and is_to_go_on(paradigm.answer.reading, self._hashes_of(before), self._hashes_of(paradigm)):
                self.paradigms[name] = before
        before = self.judges.as_asked_before() if self.judges else None
        if before:
            hashes = ([judges.prompt_version(role)[0] for role in judges.roles] for judges in (before, self.judges))
            if is_to_go_on(before.reading, *hashes):
                self.judges = before
        self._versions = {}

    def _hashes_of(self, paradigm):
        return [
            paradigm.version(vignette, self.techniques[technique], arm)[0]
            for vignette in self.vignettes.values()
            if vignette["paradigm"] == paradigm.paradigm
            for technique, arm in itertools.product(self.techniques_of(vignette["vignette"]), paradigm.arms)
        ]

    def baseline_cells(self) -> Sequence[Cell]:
        """Return the cells without anchor and technique that anchors may be multiples of."""
        blocks = [
            self._block(vignette, [self.base_of(vignette)], [NO_TECHNIQUE], [llm])
            for llm, vignette in itertools.product(self._llms, self.vignettes)
            if self.base_of(vignette)
        ]
        return Grid(blocks, self._cell_of_arm)

    def first_cells(self) -> Sequence[Cell]:
        """Return the cells that can be asked at once: in anchoring the baselines, else every technique in every arm.

        The arms whose anchors hang on answers are left out, and techniques in the arm that all is relative to.
        """
        if not self.paradigms:
            return self.baseline_cells()
        blocks = []
        for vignette in self.vignettes:
            base, arms = self.base_of(vignette), self.paradigm_of(vignette).arms
            first = [arm for arm in arms if arm != base and not self.hangs_on_answers(vignette, arm)]
            blocks += [self._block(vignette, [base], self.plain_techniques(vignette))] if base else []
            blocks += [self._block(vignette, first, self.techniques_of(vignette))] if first else []
        return Grid(blocks, self._cell_of_arm)

    def anchored_cells(self, anchors: dict[tuple, dict]) -> Sequence[Cell]:
        """Return the cells of the arms whose anchors are decided with all techniques, none where a place lacks one.

        In anchoring, techniques that are asked without an anchor too are asked with the others.
        """
        blocks = []
        for llm, vignette in itertools.product(self._llms, self.vignettes):
            places = collections.defaultdict(list)
            for item in self.items_of(vignette):
                places[tuple(anchors.get((llm, vignette, item), ()))].append((llm, vignette, item))
            for technique, arms in itertools.product(self.techniques_of(vignette), places):
                unanchored = ["none"] if not self.paradigms and self._is_also_unanchored(technique) else []
                blocks.append((places[arms], [technique], self.study.temperatures, [*unanchored, *arms]))

        def cell(place, technique, temperature, arm):
            return self.cell(*place[:2], technique, arm, place[2], temperature, anchors.get(place, {}).get(arm))

        return Grid(blocks, cell)

    def _block(self, vignette, arms, techniques, llms=None):
        return llms or self._llms, [vignette], techniques, self.study.temperatures, arms, self.items_of(vignette)

    def _cell_of_arm(self, llm, vignette, technique, temperature, arm, item):
        cell = self.cell(llm, vignette, technique, arm, item, temperature)
        return cell._replace(anchor_value=self.anchor_value(cell, {}))

    def cell(
        self, llm: str, vignette: str, technique: str, arm: str, item: str | None = None,
        temperature: float | None = None, value: float | None = None,
    ) -> Cell:  # fmt: skip
        """Return a cell; in anchoring an arm is the direction of its anchor."""
        if self.paradigms:
            return Cell(llm, vignette, technique, "none", value, temperature, arm, item)
        return Cell(llm, vignette, technique, arm, value, temperature, None, item)

    @property
    def _llms(self):
        return [llm.llm for llm in self.study.llms]

    def items_of(self, vignette: str) -> list[str | None]:
        """Return the items that a vignette is asked with; None where it stands for itself."""
        return [item.item for item in self.paradigm_of(vignette).all_items] or [None]

    def anchor_places(self) -> list[tuple]:
        """Return each LLM, vignette and item that anchors are decided for."""
        names = [name for name in self.vignettes if self.arms_to_decide(name)]
        return [(llm, name, item) for name in names for llm in self._llms for item in self.items_of(name)]

    def hangs_on_answers(self, vignette: str, arm: str | None = None) -> bool:
        """Tell whether the anchors of a vignette, or that of an arm, are known only when baselines are answered."""
        anchors = self.paradigm_of(vignette).anchors.items()
        return any(anchor.hangs_on_answers for name, anchor in anchors if arm in (None, name))

    def arms_to_decide(self, vignette: str) -> list[str]:
        """Return the directions or arms of a vignette whose anchors are decided while it is asked."""
        anchors = self.paradigm_of(vignette).anchors
        return [arm for arm in anchors if anchors[arm].hangs_on_answers or not self.paradigms]

    def base_of(self, vignette: str) -> str | None:
        """Return the arm of a vignette that is asked first."""
        return self.paradigm_of(vignette).relative_to

    def plain_techniques(self, vignette: str) -> list[str]:
        """Return the techniques that are asked in the arm that others hang on: mostly none is."""
        unanchored = [name for name in self.techniques_of(vignette) if self._is_also_unanchored(name)]
        return [*dict.fromkeys([NO_TECHNIQUE, *unanchored] if self.base_of(vignette) else unanchored)]

    def _is_also_unanchored(self, technique):
        return self.techniques[technique].get("is_also_unanchored", False)

    def techniques_of(self, vignette: str) -> list[str]:
        """Return the techniques that a vignette is asked with in the other arms."""
        kind = self.paradigm_of(vignette).answer.kind
        return [name for name, technique in self.techniques.items() if is_for(technique, kind)]

    def judgement_cells(self, judged: Mapping[str, Judged]) -> Sequence[Cell]:
        """Return the cells of the judgements: every judge, every text that was decided on, in each of its roles."""
        judges = self.judges
        texts = [
            (name, role, text.item)
            for name, text in judged.items()
            if text.item is None or text.item in self.items
            for role in judges.roles_of(text.is_answer)
        ]

        def cell(judge, text):
            name, role, item = text
            more = {"item": item, "judged": name, "role": role}
            return Cell(judge, judges.paradigm, NO_TECHNIQUE, temperature=judges.temperature, **more)

        return Grid([([judge.llm for judge in judges.llms], texts)], cell)

    def stated(self) -> dict[str, list[dict]]:
        """Return what models need to know of the paradigms, and of judgements: measures and contrasts."""
        paradigms = self.paradigms.values()
        if not paradigms:
            return {}
        judges = [self.judges] if self.judges else []
        return {
            "paradigms": [row for part in [*paradigms, *judges] for row in part.rows()],
            "paradigm_contrasts": [row for paradigm in paradigms for row in paradigm.contrast_rows()],
        }

    def originals(self) -> Iterator[tuple[str, str]]:
        """Yield the items whose texts are judged, with these."""
        if self.judges.judges_items:
            for item in self.judged_items:
                yield item.item, self.judges.original(item)

    @property
    def judged_items(self) -> list[Item]:
        """The items whose texts judges are shown: those that have one."""
        items = (item for paradigm in self.study.judged_paradigms for item in paradigm.all_items)
        return [item for item in items if self.judges.text is None or self.judges.original(item).strip()]

    def treatments(self, vignette: str) -> list[tuple[bool, str | None]]:
        """Return what a vignette can be asked with: whether anchored, and in which arm; of judgements, the roles."""
        if self.judges and vignette == self.judges.paradigm:
            return [(False, role) for role in self.judges.roles]
        if not self.paradigms:
            return [(False, None), (True, None)]
        paradigm = self.paradigm_of(vignette)
        return [(arm in paradigm.anchors and not paradigm.anchors[arm].words, arm) for arm in paradigm.arms]

    def paradigm_of(self, vignette: str) -> Paradigm:
        """Return the paradigm that a vignette belongs to, as it is asked."""
        paradigm = self._paradigms[vignette]
        return self.paradigms.get(paradigm.paradigm, paradigm)

    def option_order(self, cell: Cell, replicate: int) -> tuple[str, ...] | None:
        """Return the ids of the options in the order in which a trial shows them; None where it shows none.

        It hangs on the vignette, the item and the replicate, so that LLMs, techniques and, if the paradigm says so,
        arms see the same order.
        """
        arms = self.vignettes[cell.vignette]["arms"] if cell.arm else {}
        options = arms[cell.arm].get("options") if arms else None
        if not options:
            return None
        rule = self.paradigm_of(cell.vignette).options
        if rule.order == AS_WRITTEN:
            return tuple(options)
        if rule.order == OF_ITEM:
            return tuple(option for option in self.items[cell.item].option_order if option in options)
        order = sorted({option for treatment in arms.values() for option in treatment["options"]})
        seed = [self.study.order_seed, "options", cell.vignette, cell.item, replicate]
        random.Random(json.dumps(seed if rule.same_across_arms else [*seed, cell.arm])).shuffle(order)
        return tuple(option for option in order if option in options)

    def anchors_from(
        self, baselines: dict[tuple, float], decided: Mapping[tuple, dict[str, float]] = MappingProxyType({})
    ) -> dict[tuple, dict[str, float]]:
        """Derive anchors by the study's rule, by direction or arm, leaving out those that come to the same value.

        Arms whose anchors are decided keep these.
        """
        anchors = {}
        for place in self.anchor_places():
            if (baseline := baselines.get(place)) or not self.hangs_on_answers(place[1]):
                of_arms = self.paradigm_of(place[1]).anchors
                item = self.items.get(place[2])
                numbers = {arm: of_arms[arm].number(baseline, item) for arm in self.arms_to_decide(place[1])}
                numbers |= decided.get(place, {})
                if self._are_told_apart(place[1], numbers, item):
                    anchors[place] = numbers
        return anchors

    def anchor_value(self, cell: Cell, anchors: Mapping[tuple, dict]) -> float | None:
        """Return the anchor that a cell has, given those that were decided of each place by direction or arm."""
        anchor = None if cell.role else self.paradigm_of(cell.vignette).anchors.get(cell.in_arm)
        if anchor and anchor.hangs_on_answers:
            return anchors.get(cell.place, {}).get(cell.in_arm)
        return anchor and anchor.number(item=self.items.get(cell.item))

    def _are_told_apart(self, vignette, numbers, item):
        """Tell whether the two prompts of each contrast say something else, with these anchors."""
        if not self.paradigms:
            return numbers["low"] < numbers["high"]
        paradigm = self.paradigm_of(vignette)

        def words(arm):
            anchor = paradigm.anchors.get(arm)
            template, _ = self.version(vignette, NO_TECHNIQUE, False, arm)
            is_decided = anchor and anchor.hangs_on_answers
            return template, anchor and anchor.text(numbers[arm] if is_decided else anchor.number(item=item))

        are_told = all(paradigm.anchors[arm].is_told(number) for arm, number in numbers.items())
        return are_told and all(len(pair) < 2 or words(pair[0]) != words(pair[1]) for pair in paradigm.contrasts)

    def trials(self, cells: Sequence[Cell], phase: str, replicates: range, llms: Collection[str] | None = None):
        """Yield the trials of a phase, block after block; each block holds every cell once, in an order of its own.

        With `llms`, those of the other LLMs are left out; the others keep their places.
        """
        order_index = 0
        for replicate in replicates:
            block = array.array("I", range(len(cells)))
            random.Random(f"{self.study.order_seed}/{phase}/{replicate}").shuffle(block)
            for place in block:
                cell = cells[place]
                if llms is None or cell.llm in llms:
                    yield self.trial(cell, replicate, phase, order_index)
                order_index += 1

    def trial(self, cell: Cell, replicate: int, phase: str, order_index: int, attempt_of: str | None = None) -> Trial:
        """Return a trial of a cell, with its id and the order of its options."""
        order = self.option_order(cell, replicate)
        hashes = self.prompt_hashes(*cell.asked_with)
        name = self.vignettes[cell.vignette]["paradigm"] if cell.arm else None
        is_renamed = cell.arm and self._names.get(cell.vignette, name) != name  # since the vignette was asked first
        more = [part for part in (order, self.run, {"paradigm": name} if is_renamed else None) if part]
        keys = (json.dumps([self.study.study, *cell.key, prompt_hash, replicate, *more]) for prompt_hash in hashes)
        ids = [hashlib.sha256(key.encode()).hexdigest()[:32] for key in keys]
        closed, open_calls = self._asked
        trial_id = next((one for one in ids if one.encode() in closed or one in open_calls), ids[0])
        return Trial(trial_id, cell, replicate, phase, order_index, attempt_of, order)

    def trial_id(self, cell: Cell, replicate: int) -> str:
        """Hash what makes a trial that trial; one that a recognised spool holds keeps the id that it has there."""
        return self.trial(cell, replicate, "", 0).trial_id

    def prompt_hashes(self, vignette: str, technique: str, is_anchored: bool, arm: str | None = None) -> list[str]:
        """Return the hash of a template, and those that it has in a recognised spool."""
        today = self.version(vignette, technique, is_anchored, arm)[0]
        return [today, *self._older.get(today, ())]

    def version(self, vignette: str, technique: str, is_anchored: bool, arm: str | None = None) -> tuple[str, str]:
        """Return the hash of the template of a vignette, a technique and an arm or a role, and the template."""
        key = (vignette, technique, is_anchored, arm)
        if key not in self._versions:
            self._versions[key] = self._new_version(*key)
        return self._versions[key]

    def _new_version(self, vignette, technique, is_anchored, arm):
        if self.judges and vignette == self.judges.paradigm:
            return self.judges.prompt_version(arm)
        words, form = (self.vignettes[vignette], self._technique(technique)), self.study.answer_format
        if arm:
            return self.paradigm_of(vignette).version(*words, arm, form)
        return prompt_version(*words, form, self.study.second_anchor, is_anchored=is_anchored)

    def known_anchors(self, decided: list[dict]) -> dict[tuple, dict]:
        """Return of each place that the study asks the last record on each direction or arm, by the rule of today."""
        places, records = {*self.anchor_places()}, collections.defaultdict(dict)
        for record in decided:
            place = place_of(record)
            if place in places and record["vignette_version"] == self.vignettes[place[1]]["version"]:
                records[place] |= {arm: record for arm in anchors_in(record) if self.is_of_today(record, arm)}
        return {place: by_arm for place, by_arm in records.items() if by_arm}

    def is_of_today(self, record, arm):
        """Tell whether what was decided of an arm is by the rule of today, and from answers to the words of today."""
        vignette = record["vignette"]
        if "arms" not in record:
            return record["rule"] == self.rules[vignette]
        hashes = self.prompt_hashes(vignette, NO_TECHNIQUE, False, self.base_of(vignette))
        is_of_paradigm = record.get("paradigm") == self.paradigm_of(vignette).paradigm
        return (
            is_of_paradigm
            and record.get("prompt_version") in hashes
            and record["rule"].get(arm) == self.rules[vignette].get(arm)
        )

    def _technique(self, name):
        return self.techniques.get(name) or shipped("techniques")[name]  # a baseline is asked without a technique

    def script(self, cell: Cell, option_order: Sequence[str] | None = None) -> Script:
        """Return what is said in a trial of a cell."""
        words, facts = (self.vignettes[cell.vignette], self._technique(cell.technique)), facts_of(cell.llm)
        item, form = self.items.get(cell.item), self.study.answer_format
        if cell.arm:
            form = self.paradigm_of(cell.vignette).asked(form)
            return arm_script(*words, cell.arm, form, item, option_order, facts, cell.anchor_value)
        fields = item.fields if item else {}
        return anchored_script(*words, cell.anchor_value, self.study.second_anchor, form, facts, fields)


def anchors_in(record: dict) -> dict[str, float]:
    """Return the anchors of a record of what was decided, by direction or arm."""
    return record["arms"] if "arms" in record else {"low": record["low"], "high": record["high"]}


def place_of(record: dict) -> tuple:
    """Return of which place a record says what was decided, as of `Cell.place`."""
    return record["llm"], record["vignette"], record.get("item")


def values_of(decided: Mapping[tuple, dict]) -> dict[tuple, dict[str, float]]:
    """Return the anchors of each place by direction or arm, given the records on them."""
    return {place: {arm: anchors_in(record)[arm] for arm, record in arms.items()} for place, arms in decided.items()}
