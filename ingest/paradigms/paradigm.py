"""A paradigm is data: one YAML file says what its arms are, what is asked in each, and how answers are measured."""

import collections
import itertools
import json
import math
import string
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from ingest.paradigms.items import OPTION_ORDER, Item, Items
from ingest.paradigms.thirds import MEASUREMENTS
from ingest.prompts import SLOT, Script, as_number, fill, placeholders, round_half_up, shipped_entry, versioned
from ingest.prompts.steps import EMPTY
from ingest.prompts.words import half_a_name
from ingest.texts.files import (
    Finite,
    Mistake,
    Name,
    NotNegative,
    Part,
    Share,
    by_name,
    found_wrong,
    parse_checked,
    refuse_turned_range,
    refuse_twice,
    text_of,
)
from ingest.texts.yaml_text import read_yaml
from ingest.warehouse import UserError, printable

FOLDER = Path(__file__).resolve().parent
ANCHORING = "anchoring"
OF_NO_NAME = (
    f"{ANCHORING} is that of a study that names none; give yours another name, and begin with what "
    f"`bais show {ANCHORING}` prints"
)
NO_TECHNIQUE = "no_technique"
SAME, DIFFERS = "same", "differs"  # a prompt without an anchor as those with one, but for the anchor, or by more
RESPONSE = "response"  # the measure of a paradigm whose goals are in per cent of an arm
AS_WRITTEN, OF_ITEM = "as_written", "of_item"
LETTERS = string.ascii_uppercase
MOST_NAMED = 5
EXPECTED = "a paradigm is a mapping with the keys paradigm, answer, arms, contrasts, measures and vignettes"
# What an LLM is told of the form of its answer, by the kind of answer. How it is read is no part of that.
ASKED = {
    "choice": "Reply with the letter of your choice alone.",
    "label": "Reply with one of these answers alone: {labels}.",
    "number": "End your reply with one line of the form `Answer: <number>`.",
    "text": "",
}
# What it was told where `reading` is first_word, as long as that was part of a prompt.
ASKED_BEFORE = {
    "choice": "Begin your reply with the letter of your choice.",
    "label": "Begin your reply with one of these answers: {labels}.",
}
ASKED_AFTER = "End your reply with `{answer_after}` and, after it, {what}."
AFTER = {
    "choice": "the letter of your choice", "label": "one of these answers: {labels}", "number": "a number",
    "text": "your answer",
}  # fmt: skip
OF_TRUTH = ("is_correct", "strict_correct")  # measures that tables hold against what an item says of itself
PARTS = ("answer_format", "opening", "case_text", "anchor_text", "question_text")
NonEmpty = Annotated[str, Field(min_length=1)]


def _two_rising(ends):
    """Refuse the ends of a range that do not rise."""
    if ends[0] >= ends[1]:
        raise ValueError(f"should rise, and {ends[0]:g} is not below {ends[1]:g}")
    return ends


def _as_anchor(given):
    """Read a bare number or bare words as an anchor of that value or in these words."""
    if isinstance(given, str):
        return {"words": given}
    return {"value": given} if isinstance(given, int | float) and not isinstance(given, bool) else given


def _factor(given):
    """Refuse what is no factor above 0, and no pair of them."""
    factors = given if isinstance(given, list) else [given]
    are_numbers = all(isinstance(factor, int | float) and not isinstance(factor, bool) for factor in factors)
    if len(factors) not in (1, 2) or not are_numbers:
        raise ValueError("should be a factor such as 0.5, or the two ends of a range such as [0.8, 1.2]")
    if min(factors) <= 0:
        raise ValueError(f"should be above 0, not {min(factors):g}")
    return _two_rising(factors) if len(factors) == 2 else factors[0]


class ArmAnchor(Part):
    """What stands in the place of `{anchor}` in an arm: a number, a range or words.

    A number or a range may be a multiple of the mean answer of the LLM in the arm `of`; `column` names a column of the
    items that holds the number of each.
    """

    of: Name | None = None
    times: Annotated[float | list[float], BeforeValidator(_factor)] | None = None
    value: Finite | None = None
    between: Annotated[list[Finite], Field(min_length=2, max_length=2), AfterValidator(_two_rising)] | None = None
    words: NonEmpty | None = None
    column: NonEmpty | None = None

    @model_validator(mode="after")
    def _is_one(self):
        named = [name for name in ("times", "value", "between", "words", "column") if getattr(self, name) is not None]
        if len(named) != 1:
            raise ValueError(
                "should be one of a number, words, {between: [LOW, HIGH]}, {column: NAME} and {of: ARM, times: FACTOR}"
            )
        if (self.of is None) != (self.times is None):
            raise ValueError("`of` and `times` go together, as in {of: none, times: 0.5}")
        return self

    def __str__(self):
        if self.words:
            return f"“{self.words}”"
        if self.between:
            return self.text(None)
        if self.value is not None:
            return as_number(self.value)
        if self.column:
            return f"column {self.column}"
        ends = self.times if isinstance(self.times, list) else [self.times]
        return f"{' to '.join(f'{end:g}' for end in ends)} times {self.of}"

    @property
    def hangs_on_answers(self) -> bool:
        """Whether its value is known only when another arm was answered."""
        return self.of is not None

    def number(self, base: float | None = None, item: "Item | None" = None) -> float | None:
        """Return the number of the anchor, of a range its middle, given the mean answer that it is a multiple of.

        Words have none, and of a column it is what the item says there. A number is rounded; of a range the ends are,
        which the middle is not.
        """
        if self.column:
            return item and item.number(self.column)
        if isinstance(self.times, list):
            return base * self._middle(self.times)
        if self.times is not None:
            return round_half_up(base, self.times)
        return self._middle(self.between) if self.between else self.value

    def text(self, number: "float | str | None") -> str:
        """Return what stands in the place of `{anchor}`, given the number; of a template, where that is a slot."""
        if self.words:
            return self.words
        ends = self.times if isinstance(self.times, list) else self.between
        if ends is None:
            return as_number(number)
        if self.between:
            return " to ".join(map(as_number, ends))
        if number == SLOT:
            return f"({ends[0]:g} to {ends[1]:g} times the mean answer in {self.of})"
        return " to ".join(map(as_number, self._ends(number)))

    def _ends(self, number):
        """Return the ends of a range of multiples, as they are told, given its middle.

        What the way from the middle back to the mean answer leaves in the tenth decimal decides no half.
        """
        base = number / self._middle(self.times)
        return sorted(round_half_up(round(base * end, 9)) for end in self.times)

    def is_told(self, number: float) -> bool:
        """Tell whether something stands in the place of a number: a range whose ends are told alike is none."""
        return not isinstance(self.times, list) or len({*self._ends(number)}) > 1

    @staticmethod
    def _middle(ends):
        return sum(ends) / 2 if isinstance(ends, list) else ends


def _as_contrasts(given):
    """Refuse contrasts that are no list of pairs of arms."""
    if not isinstance(given, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in given):
        raise ValueError("should be a list of pairs of arms, each in brackets of its own, such as [[high, low]]")
    return given


class Goal(Part):
    """What a technique should make small: the mean of the absolute contrasts of some arms, or a distance from the base.

    `distance_of` names arms in which it counts how far each answer lies from the mean answer of the arm
    `relative_to`. The margin is in per cent of that. It leads always, or where the prompts of a domain in that arm are
    the `same` but for the anchor, or where one of them `differs`.
    """

    contrasts: Annotated[list[list[Name]], BeforeValidator(_as_contrasts), Field(min_length=1)] | None = None
    distance_of: list[Name] | None = Field(None, min_length=1)
    margin: NotNegative = 5
    leads: bool | Literal[SAME, DIFFERS] = False
    guards: list[Literal["reversed", "moved"]] = Field([])  # what takes a decision back

    @model_validator(mode="after")
    def _is_one(self):
        if (self.contrasts is None) == (self.distance_of is None):
            both = "neither" if self.contrasts is None else "both"
            raise ValueError(f"should hold one of contrasts and distance_of, and holds {both}")
        if self.guards and len(self.contrasts or ()) != 1:
            raise ValueError("guards: they are for a goal of one contrast, which can be turned round or moved")
        return self

    def leads_where(self, baseline_prompt: str) -> bool:
        """Whether it leads in a domain with such unanchored prompts, as `analysis.leading` reads it."""
        return self.leads in (True, baseline_prompt)

    @property
    def arms(self) -> list[str]:
        """The arms that it is of."""
        return [*(self.distance_of or itertools.chain.from_iterable(self.contrasts))]


class Answer(Part):
    """What kind of answer is asked for, and how it is read."""

    kind: Literal["number", "choice", "label", "text"]
    reading: Literal["strict", "first_word"] = "strict"
    answer_after: Annotated[str, Field(pattern=r"\S")] | None = None
    labels: list[NonEmpty] | None = Field(None, min_length=2)
    asked: str | None = None  # in the place of our words for the form of the answer

    @model_validator(mode="after")
    def _fits(self):
        if (self.kind == "label") != (self.labels is not None):
            raise ValueError("should name its labels if its kind is label, and else none")
        if self.kind in ("number", "text") and self.reading != "strict":
            raise ValueError("reading: first_word is for a choice or a label")
        if self.labels and len({label.casefold() for label in self.labels}) < len(self.labels):
            raise ValueError("labels: two of them are the same word")
        return self


class Measure(Part):
    """Where a value comes from, which answers count as 1, and which values of it are better.

    It comes from the answer, from what judges say of the answer and of the original, or from measuring texts. `truth`
    names what an item says of itself, where the answer is compared with that. A measure that is `unsigned` counts what
    differs, whichever way and by chance too: it tells techniques apart, and how large a bias is it does not.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    source: Literal["answer", "judgement", "measurement"] = Field("answer", alias="from")
    truth: Literal["is_true", "correct"] | None = None
    of: list[NonEmpty] | None = Field(None, min_length=1)
    better: Literal["lower", "higher", "closer_to_reference"]
    reference: Finite | None = None
    margin: NotNegative | None = None
    unsigned: bool = False


class Options(Part):
    """In which order options are shown: as they are written, shuffled by the order seed of the study, or by the item.

    An item whose own text shows the options, as A, B, C, names their ids in the column `option_order`.
    """

    order: Literal["shuffled", AS_WRITTEN, OF_ITEM] = "shuffled"
    same_across_arms: bool = True


class Treatment(Part):
    """What an arm changes in a vignette: words, options, or whole turns, of which one holds the opening."""

    words: dict[str, str] = Field({})
    options: dict[Name, NonEmpty] | None = Field(None, min_length=2, max_length=len(LETTERS))
    turns: list[NonEmpty] = Field(["{opening}"], min_length=1)
    target: Name | None = None

    @model_validator(mode="after")
    def _opens_once(self):
        if sum("opening" in placeholders(turn) for turn in self.turns) != 1:
            raise ValueError("turns: just one of them should hold {opening}, the vignette")
        return self


class ParadigmVignette(Part):
    """One scenario text; braces are filled with words, and with the fields of the items."""

    vignette: Name
    version: int = 1
    domain: Name | None = None
    response_unit: NonEmpty | None = None
    valid_min: Finite | None = None
    valid_max: Finite | None = None
    source: str = ""
    system: NonEmpty | None = None
    case: NonEmpty
    anchor: NonEmpty | None = None  # said in the arms that have an anchor
    question: str = ""
    words: dict[str, str] = Field({})
    options: dict[Name, NonEmpty] | None = Field(None, min_length=2, max_length=len(LETTERS))
    arms: dict[Name, Annotated[Treatment, BeforeValidator(lambda given: {} if given is None else given)]] = Field({})


class Simulated(Part):
    """The stated truth of a paradigm: the share of each answer, and by how much an arm shifts it.

    A technique that is named under an arm has shifts of its own there. `item_factor` names the field of the items that
    multiplies what an arm adds.
    """

    item_factor: str | None = None
    shares: dict[str, Share] = Field({})
    shifts: dict[Name, dict[str, Finite]] = Field({})
    techniques: dict[Name, dict[Name, dict[str, Finite]]] = Field({})

    def shift(self, arm: str, technique: str) -> dict[str, float]:
        """Return by how much the share of each answer differs from its usual one."""
        return self.techniques.get(arm, {}).get(technique, self.shifts.get(arm, {}))


def _shipped_vignette(given):
    """Take a name for the shipped vignette of anchoring of that name."""
    if not isinstance(given, str):
        return given
    entry = shipped_entry("vignette", given)
    return {key: value for key, value in entry.items() if key in ParadigmVignette.model_fields}


CheckedVignette = Annotated[ParadigmVignette, BeforeValidator(_shipped_vignette), AfterValidator(refuse_turned_range)]


def _in_pairs(given):
    """Refuse one pair that stands where a list of pairs is meant."""
    if isinstance(given, list) and any(not isinstance(pair, list) for pair in given):
        raise ValueError("each pair of arms stands in brackets of its own, such as [[praised, plain]]")
    return given


def _in_whatever_order(pair):
    return tuple(sorted(map(str, pair))) if isinstance(pair, list) else str(pair)


def _by_arm(given):
    """Read `{arm: {label: shift, techniques: {name: {label: shift}}}, shares: {label: share}, item_factor: field}`."""
    if not isinstance(given, dict):
        return given
    arms = {arm: effects or {} for arm, effects in given.items() if arm not in ("shares", "item_factor")}
    for arm, entry in arms.items():
        if not isinstance(entry, dict):
            raise ValueError(f"{arm}: should be an arm with what it adds to the share of answers, such as {{tea: 0.1}}")
    arms = {arm: dict(effects) for arm, effects in arms.items()}
    techniques = {arm: effects.pop("techniques") for arm, effects in arms.items() if "techniques" in effects}
    of_answers = {"shares": given.get("shares", {}), "shifts": arms, "techniques": techniques}
    return of_answers | {"item_factor": given.get("item_factor")}


class Paradigm(Part):
    """What a YAML file says of a paradigm."""

    paradigm: Name
    description: str = ""
    source: str = ""
    answer: Answer
    arms: list[Name] = Field(min_length=1)
    anchors: dict[Name, Annotated[ArmAnchor, BeforeValidator(_as_anchor)]] = Field({})
    relative_to: Name | None = None
    goals: dict[Name, Goal] = Field({})
    cases: Literal["items"] | None = None  # of what goals are taken before they are averaged: else of vignettes
    contrasts: Annotated[
        list[Annotated[list[Name], Field(min_length=1, max_length=2)]], BeforeValidator(_in_pairs), Field(min_length=1)
    ]
    measures: dict[Name, Measure] = Field(min_length=1)
    leading: Name | None = None  # the measure that is told first; no part of what is asked
    pairing: Literal["item", "between"] = "item"
    options: Options = Options()
    words: dict[str, str] = Field({})
    items: Items | None = None
    text_field: str | None = None
    vignettes: list[CheckedVignette] = Field(min_length=1, exclude=True)
    simulated: Annotated[Simulated, BeforeValidator(_by_arm)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _takes_arms_apart(cls, given):
        """Read arms with their anchors (`{low: {anchor: 12}}`), and contrasts and measures that follow from goals."""
        if not isinstance(given, dict):
            return given
        given = dict(given)
        if "human" in given:
            raise ValueError(
                "human: what is known of people stands in seeds/human_effects.csv, a line for each effect with its "
                f"measure, its interval and its source: add one with the paradigm {given.get('paradigm')} and take "
                "this key away; marts.human_comparisons then has it beside the LLMs, and nothing is asked again"
            )
        if isinstance(given.get("arms"), dict):
            if "anchors" in given:
                raise ValueError("anchors: each stands under its arm, as in {low: {anchor: 12}}")
            anchors = {}
            for arm, content in given["arms"].items():
                if not (content is None or (isinstance(content, dict) and content.keys() <= {"anchor"})):
                    raise ValueError(f"arms: {arm} should hold `anchor` or nothing")
                if content:
                    try:
                        anchors[arm] = ArmAnchor.model_validate(_as_anchor(content["anchor"]))
                    except ValueError as error:
                        location, sentence = found_wrong(error)
                        raise Mistake(f"arms: {arm}: {sentence}", "arms", arm, "anchor", *location) from None
            given |= {"arms": list(given["arms"]), "anchors": anchors}
        goals, base = given.get("goals"), given.get("relative_to")
        if goals and not base:
            raise ValueError(
                "goals: say under `relative_to` of which arm they are in per cent of the mean answer, such as "
                "`relative_to: none`"
            )
        if base and not goals:
            raise ValueError(
                "relative_to: say under `goals` what techniques should make small, such as "
                "`goals: {pull: {contrasts: [[high, low]]}}`"
            )
        if base and "measures" not in given:
            given["measures"] = {RESPONSE: {"better": "closer_to_reference"}}
        if base and isinstance(goals, dict) and "contrasts" not in given:
            goals = [goal for goal in goals.values() if isinstance(goal, dict)]
            pairs = [pair for goal in goals for pair in goal.get("contrasts") or ()]
            of_distances = [[arm, base] for goal in goals for arm in goal.get("distance_of") or ()]
            pairs = pairs or of_distances or [[base]]
            given["contrasts"] = [*{_in_whatever_order(pair): pair for pair in reversed(pairs)}.values()][::-1]
        return given

    @model_validator(mode="after")
    def _fits_together(self, info: ValidationInfo):
        names = [entry.vignette for entry in self.vignettes]
        for key, named in (("arms", self.arms), ("vignettes", names)):
            refuse_twice(key, named)
        if self.paradigm == ANCHORING and not (info.context or {}).get("is_shipped"):
            raise ValueError(f"paradigm: {OF_NO_NAME}")
        self._check_goals()
        self._check_anchors()
        for place, pair in enumerate(self.contrasts):
            if unknown := [arm for arm in pair if arm not in self.arms]:
                raise Mistake(f"contrasts: {unknown[0]} is not among the arms", "contrasts", place)
        if same := [pair[0] for pair in self.contrasts if pair[1:] == pair[:1]]:
            raise ValueError(f"contrasts: {same[0]} is compared with itself")
        pairs = [frozenset(pair) for pair in self.contrasts]
        if twice := [pair for pair, arms in zip(self.contrasts, pairs, strict=True) if pairs.count(arms) > 1]:
            raise ValueError(f"contrasts: {' and '.join(twice[0])} stands there twice, in whatever order")
        if self.text_field and not any(self.text_field in item.fields for item in self.all_items):
            raise ValueError(f"text_field: it says {self.text_field}, and the items have no such field")
        for place, vignette in enumerate(self.vignettes):
            self._check_vignette(vignette, "vignettes", place)
        self._check_measures()
        self._check_leading()
        self._check_truth()
        return self

    def _check_anchors(self):
        for arm, anchor in self.anchors.items():
            at = ("arms", arm)
            if arm not in self.arms:
                raise ValueError(f"anchors: {arm} is not among the arms")
            if anchor.hangs_on_answers and self.answer.kind != "number":
                raise Mistake(f"arms: the anchor of {arm} is a multiple of answers, which are no numbers", *at)
            is_multiple = f"arms: the anchor of {arm} is a multiple of {anchor.of}"
            if anchor.of is not None and anchor.of not in self.arms:
                raise Mistake(f"{is_multiple}, which is not among the arms", *at)
            if anchor.of is not None and anchor.of != self.relative_to:
                why = "so that this arm is asked first, and without a technique"
                raise Mistake(f"{is_multiple}: say `relative_to: {anchor.of}` too, {why}", *at)
            if anchor.column and self.items is None:
                raise Mistake(f"arms: the anchor of {arm} is a column of the items, and there are none", *at)
            if anchor.column:
                self.items.check_numbers(anchor.column, f"is the anchor of {arm}")

    def _check_goals(self):
        if self.relative_to is None:
            if self.cases:
                raise ValueError("cases: goals are taken of each item, and there are no `goals`")
            return
        if self.relative_to not in self.arms:
            raise ValueError(f"relative_to: {self.relative_to} is not among the arms")
        if "none" in self.arms and self.relative_to != "none":
            raise ValueError("arms: only the arm under `relative_to` may be called none: give this one another name")
        if self.relative_to in self.anchors:
            raise ValueError(f"relative_to: {self.relative_to} has an anchor, and others hang on it")
        if self.answer.kind != "number":
            raise ValueError("relative_to: nothing is in per cent of answers that are no numbers")
        if self.pairing != "item":
            raise ValueError("pairing: each item is compared with its own answers in the arm `relative_to`")
        for name, goal in self.goals.items():
            if unknown := [arm for arm in goal.arms if arm not in self.arms]:
                raise ValueError(f"goals: {name} is of {unknown[0]}, which is not among the arms")
            if same := [a for a, b in goal.contrasts or () if a == b]:
                raise ValueError(f"goals: {name} holds {same[0]} against itself")
            if self.relative_to in (goal.distance_of or ()):
                raise ValueError(f"goals: {name} is a distance of {self.relative_to} from itself")
        for case in (SAME, DIFFERS) if len(self.goals) > 1 else ():
            leading = [name for name, goal in self.goals.items() if goal.leads_where(case)]
            if len(leading) != 1:
                told = " and ".join(leading) + " do" if leading else "none does"
                is_by_case = any(goal.leads in (SAME, DIFFERS) for goal in self.goals.values())
                where = f" or `leads: {case}`, where unanchored prompts are so" if is_by_case else ""
                raise ValueError(f"goals: one of {', '.join(self.goals)} should say `leads: true`{where}, and {told}")

    def leading_goal(self, baseline_prompt: str) -> str | None:
        """Return the goal that decisions are told by first where unanchored prompts are so; None without goals."""
        leading = (name for name, goal in self.goals.items() if goal.leads_where(baseline_prompt))
        return next(leading, next(iter(self.goals), None))

    def _check_vignette(self, vignette, *place):
        where = f"vignettes: {vignette.vignette}"
        if unknown := [arm for arm in vignette.arms if arm not in self.arms]:
            raise Mistake(f"{where} has an arm {unknown[0]}, which is not among the arms", *place, "arms", unknown[0])
        full = self.full_vignette(vignette)
        fields = {field for item in self.all_items for field in item.fields}
        for arm, treatment in full["arms"].items():
            options, used = treatment.get("options") or {}, set()
            for location, text, names in self._texts_of(vignette, arm, fields, place):
                if half := half_a_name(text, names):
                    raise Mistake(f"{where} says in arm {arm} {half}", *location)
                if missing := sorted(placeholders(text) - names):
                    of_whom = "which is neither a word nor a field of the items"
                    raise Mistake(f"{where} says {{{missing[0]}}} in arm {arm}, {of_whom}", *location)
                used |= placeholders(text) & fields
            for item in self.all_items:
                if lacking := sorted(used - item.fields.keys()):
                    named = f"{self.items.where(item.item)}item {item.item}"
                    raise ValueError(f"items: {named} has no {lacking[0]}, and {where} says it")
            if (self.answer.kind == "choice") != bool(options):
                wrong = f"should have options in arm {arm} if the answer is a choice, and else none"
                raise Mistake(f"{where} {wrong}", *place)
            if self.options.order == OF_ITEM:
                self._check_orders(options, where, place)
            elif options and not any("options" in placeholders(full[part]) for part in ("case", "question")):
                raise Mistake(f"{where} has options, and neither its case nor its question says {{options}}", *place)
            self._check_options(options, f"{where} shows two options with the same words in arm {arm}", place)
        for arm in self.anchors:
            words = " ".join(text for _, text, _ in self._texts_of(vignette, arm, fields, place))
            if "anchor" not in placeholders(words):
                raise Mistake(f"{where} says no {{anchor}} in arm {arm}, which has one", *place)
        for pair in self.contrasts:
            opening = {"turns": ["{opening}"]}
            versions = {(self.version(full, opening, arm)[0], str(self.anchors.get(arm))) for arm in pair}
            if len(pair) == 2 and len(versions) == 1:
                raise Mistake(f"{where} says the same in the arms {pair[0]} and {pair[1]}: nothing can differ", *place)

    def _texts_of(self, vignette, arm, fields, place):
        """Yield each text that is said in an arm: where it stands, the text, and the names that its braces may hold."""
        of_arm = (*place, "arms", arm)
        treatment = vignette.arms.get(arm) or Treatment()
        anchor = {"anchor"} if arm in self.anchors else set()
        words = {*self.words, *vignette.words, *treatment.words, *fields, *anchor}
        for part in ("system", "case", "question", *(["anchor"] if anchor else [])):
            yield (*place, part), getattr(vignette, part) or "", words | {"options"}
        for above, entries in (((), self.words), (place, vignette.words), (of_arm, treatment.words)):
            yield from (((*above, "words", name), text, {*fields, *anchor}) for name, text in entries.items())
        if anchor and self.anchors[arm].words:
            yield ("arms", arm, "anchor"), self.anchors[arm].words, fields
        of_options = of_arm if treatment.options else place
        for name, text in (treatment.options or vignette.options or {}).items():
            yield (*of_options, "options", name), text, fields
        for number, turn in enumerate(treatment.turns):
            yield (*of_arm, "turns", number), turn, words | {*PARTS}

    def _check_orders(self, options, where, place):
        """Refuse items that do not say which options their text shows, or leave out one that an arm has."""
        for item in self.all_items:
            if lacking := sorted({*options} - {*item.option_order}):
                raise Mistake(
                    f"items: {self.items.where(item.item)}item {item.item} names no {lacking[0]} under "
                    f"{OPTION_ORDER}, and {where} offers it: write the ids of the options in the order of their "
                    "letters, with a comma between",
                    *place,
                )  # fmt: skip

    def _check_options(self, options, sentence, place):
        """Refuse options of which nobody could tell which of them was chosen."""
        for item in self.all_items or [None]:
            shown = [fill(text, item.fields if item else {}).strip() for text in options.values()]
            if twice := [text for text in shown if shown.count(text) > 1]:
                of_item = f" of item {item.item}" if item else ""
                raise Mistake(f"{sentence}{of_item}: {twice[0]}", *place, "options")

    def _check_measures(self):
        labels = self.labels
        for name, measure in self.measures.items():
            if labels is not None and (measure.margin or 0) >= 1:
                raise Mistake(
                    f"measures: {name} is a share, which lies between 0 and 1, so its margin is below 1: write "
                    "0.05 for 5 percentage points", "measures", name, "margin",
                )  # fmt: skip
            if wrong := self._wrong_in(name, measure):
                raise ValueError(f"measures: {name} {wrong}")
        for name, measure, answers in self.measured() if labels else ():
            for vignette, arm in itertools.product(self.vignettes, self.arms):
                if answers and set(answers) >= set(self._answers_in(vignette, arm)):
                    key = next(key for key, of_key in self.measures.items() if of_key is measure)
                    sentence = f"measures: {name} is of all the answers in arm {arm}, so it would always be 1 there"
                    raise Mistake(sentence, "measures", key)
        if labels and any(measure.truth == "correct" for measure in self.measures.values()):
            self.check_correct(labels, "the answers")

    def _wrong_in(self, name, measure):
        """Say what is wrong with a measure, if anything is."""
        labels, kind, is_of_truth = self.labels, self.answer.kind, name in OF_TRUTH
        if is_of_truth and measure.truth is None:
            return "is compared with the truth, so `truth` should say which"
        if measure.truth and not is_of_truth:
            return f"is compared with `truth`, and such a measure is called {' or '.join(OF_TRUTH)}"
        if measure.source != "answer" or measure.truth:
            if measure.of is not None:
                return "has `of`, which is for measures of the answer alone"
            is_unjudged = measure.source == "judgement" and kind != "text"
            return "is from judgements, and only answers that are texts are judged" if is_unjudged else None
        if kind == "text":
            return (
                "should say where its values come from, since the answers are texts: `from: judgement`, of judges, or "
                "`from: measurement`, of `bais measure`"
            )
        if (measure.of is None) == (labels is not None):
            return "should say under `of` which answers count as 1 if the answer is a choice or a label, and else not"
        if unknown := [label for label in measure.of or () if label not in labels]:
            return f"is of {unknown[0]}, which is none of the answers"
        return "says one answer twice under `of`" if measure.of and len({*measure.of}) < len(measure.of) else None

    def _check_leading(self):
        if self.leading is None or self.leading in self._decided:
            return
        if self.leading not in self.measures:
            wrong = f"is none of the measures ({', '.join(self.measures)}): name one of them"
        else:
            instead = f"name {' or '.join(self._decided)}" if self._decided else "take this key away"
            wrong = f"is measured of texts, which describes answers, and nothing is decided on it: {instead}"
        raise ValueError(f"leading: {self.leading} {wrong}")

    @property
    def _decided(self) -> list[str]:
        """The measures that say how right answers are; what is measured of texts describes them."""
        return [name for name, measure in self.measures.items() if measure.source != "measurement"]

    def check_correct(self, labels: list[str], whose: str, *above: str) -> None:
        """Refuse items whose correct answer is none that can be given; `above` is where the paradigm stands."""
        for item in self.all_items:
            correct = item.details.get("correct")
            if correct is not None and correct not in labels:
                raise Mistake(
                    f"items: {self.items.where(item.item)}item {item.item} says that {correct} is correct, which is "
                    f"none of {whose} ({', '.join(labels)})",
                    *above, "items", "correct",
                )  # fmt: skip

    def _answers_in(self, vignette, arm):
        """Return the answers that can be given in an arm: its options, or the labels."""
        treatment = vignette.arms.get(arm) or Treatment()
        return [*(treatment.options or vignette.options or self.answer.labels or ())]

    def _check_truth(self):
        if self.simulated is None:
            return
        shifts = self.simulated.shifts | self.simulated.techniques
        if unknown := [arm for arm in shifts if arm not in self.arms]:
            raise ValueError(f"simulated: {unknown[0]} is not among the arms")
        if self.labels is None:
            raise ValueError(
                "simulated: it is for answers that are a choice or a label; what simulated respondents answer "
                "otherwise stands under their own `simulated`"
            )
        if unknown := [answer for answer in self.simulated.shares if answer not in self.labels]:
            raise ValueError(f"simulated: shares: {unknown[0]} is none of the answers")
        factors = self._item_factors() or {1.0: ""}
        for vignette, arm, (factor, of_item) in itertools.product(self.vignettes, self.arms, factors.items()):
            for technique in ("", *self.simulated.techniques.get(arm, {})):
                shares = self.shares(arm, technique, self._answers_in(vignette, arm), factor)
                at = ("simulated", arm if self.simulated.shift(arm, technique) else "shares")
                if unknown := [label for label in self.simulated.shift(arm, technique) if label not in shares]:
                    raise Mistake(f"simulated: {unknown[0]} is none of the answers in arm {arm}", *at, unknown[0])
                if min(shares.values()) < -1e-9 or not math.isclose(sum(shares.values()), 1):
                    listing = ", ".join(f"{answer} {share:g}" for answer, share in shares.items())
                    shares_in_arm = f"simulated: the shares in arm {arm}{of_item} are {listing}"
                    raise Mistake(f"{shares_in_arm}: they should come to 1, with none below 0", *at)

    def _item_factors(self):
        """Return the factors of the items, each with the words that name its first item; none where none are stated."""
        factors, name = {}, self.simulated.item_factor
        if name is None:
            return factors
        if not self.all_items:
            raise ValueError(f"simulated: item_factor: it says {name}, and there are no items")
        for item in self.all_items:
            if item.number(name) is None:
                raise Mistake(
                    f"items: {self.items.where(item.item)}item {item.item} has no number under {name}, which "
                    "`item_factor` says multiplies what an arm adds",
                    "simulated", "item_factor",
                )  # fmt: skip
            factors.setdefault(self.item_factor(item), f" of item {item.item}")
        return factors

    def item_factor(self, item: Item | None) -> float:
        """Return what multiplies the shifts of the arms in simulated answers on an item: 1 where nothing is stated."""
        if item is None or self.simulated is None or self.simulated.item_factor is None:
            return 1.0
        return float(item.fields[self.simulated.item_factor])

    @property
    def labels(self) -> list[str] | None:
        """The labels, or the ids of the options, that an answer may be."""
        if self.answer.kind != "choice":
            return self.answer.labels
        shown = (
            treatment.options or vignette.options or {}
            for vignette in self.vignettes
            for treatment in [Treatment(), *vignette.arms.values()]
        )
        return [*dict.fromkeys(itertools.chain.from_iterable(shown))]

    def options_by_item(self) -> dict[str | None, Sequence[str] | None]:
        """Return the labels, or the ids of the options; by item, in the order in which its text shows them."""
        if self.options.order != OF_ITEM:
            return {None: self.labels}
        return {item.item: item.option_order for item in self.all_items}

    @property
    def all_items(self) -> tuple[Item, ...]:
        """The items; none where the vignettes stand for themselves."""
        return self.items.read if self.items else ()

    @property
    def cautions(self) -> list[str]:
        """What of the items and measures can be asked and leaves rows of tables without values, in sentences."""
        return [*self._loose_ends(), *self._half_pairs(), *self._unmeasured(), *self._unasked()]

    def _loose_ends(self):
        """Yield the arms that nothing is compared with, and the right answers that no measure asks for."""
        compared = {self.relative_to, *(arm for pair in self.contrasts for arm in pair)}
        compared.update(*(goal.arms for goal in self.goals.values()))
        for arm in (arm for arm in self.arms if arm not in compared):
            yield (
                f"The arm {arm} of {self.paradigm} is asked and stands in no contrast, so that no bias is derived from "
                f"its answers: add it under `contrasts`, such as [{arm}, {self.arms[arm == self.arms[0]]}], or take "
                "the arm out."
            )
        answers = {item.details.get("correct") for item in self.all_items} - {None}
        can_be_given = answers and answers <= set(self.labels or ())  # else it is a word for the vignettes to say
        if can_be_given and not any(measure.truth == "correct" for measure in self.measures.values()):
            yield (
                f"The items of {self.paradigm} say which answer is correct, and no measure asks how often it is given: "
                "add `is_correct: {truth: correct, better: higher}` under `measures`."
            )

    def _unasked(self):
        """Yield the vignettes that ask nothing, and those that say nothing of the items, where there are goals."""
        fields = [item.fields for item in self.all_items] or [{}]
        for vignette in self.vignettes if self.goals else ():
            texts = [text for arm in self.arms for _, text, _ in self._texts_of(vignette, arm, set(), ())]
            if not vignette.question and not any("?" in fill(text, of_item) for of_item in fields for text in texts):
                yield (
                    f"The vignette {vignette.vignette} of {self.paradigm} has no `question`, so that an LLM is told a "
                    "case and asked nothing."
                )
            named = set().union(*map(placeholders, texts))
            if self.all_items and not any(named & item.fields.keys() for item in self.all_items):
                yield (
                    f"The vignette {vignette.vignette} of {self.paradigm} says nothing of the {len(self.all_items):,} "
                    "items, and is asked once for each of them in the same words: name a field of the items in braces, "
                    "or put the vignette into a study without items."
                )

    def _half_pairs(self):
        """Yield what pairs lack, where a measure holds answers against which statement of a pair is true."""
        pairs = collections.defaultdict(list)
        for item in self.all_items if any(measure.truth == "is_true" for measure in self.measures.values()) else ():
            pair, is_true = item.details.get("pair"), item.details.get("is_true")
            if pair is not None and is_true is not None:
                pairs[pair].append(is_true)
        if odd := [pair for pair, truths in pairs.items() if sorted(map(str, truths)) != ["False", "True"]]:
            named = f"{', '.join(odd[:MOST_NAMED])}{f' and {len(odd) - MOST_NAMED} more' if odd[MOST_NAMED:] else ''}"
            yield (
                f"Of the {len(pairs):,} pairs of items of {self.paradigm}, {len(odd):,} "
                f"{'is' if len(odd) == 1 else 'are'} not one true and one false item ({named}): each answer to them "
                "counts by itself, and what is counted by pairs leaves them out. Give each pair one item of each kind."
            )

    def _unmeasured(self):
        """Yield the measures that no instrument takes, and those without a truth that they could be compared with."""
        for name, measure in self.measures.items():
            if measure.source == "measurement" and name not in MEASUREMENTS:
                yield (
                    f"The measure {name} of {self.paradigm} stays without values: nothing of this name is measured in "
                    f"texts. `bais measure` gives {', '.join(MEASUREMENTS)}."
                )
            if measure.truth and all(item.details.get(measure.truth) is None for item in self.all_items):
                yield (
                    f"The measure {name} of {self.paradigm} stays without values: no item says what it is held "
                    f"against. Name the column that does under `items`, as `{measure.truth}`."
                )

    def full_vignette(self, vignette: ParadigmVignette) -> dict:
        """Return a vignette with what every arm of it says, as a design asks it."""
        content = vignette.model_dump(exclude_none=True, exclude={"arms", "options"})
        arms = {}
        for arm in self.arms:
            treatment = vignette.arms.get(arm) or Treatment()
            arms[arm] = treatment.model_dump(exclude_none=True)
            if arm in self.anchors:
                arms[arm]["anchor"] = self.anchors[arm].model_dump(exclude_none=True)
            if options := treatment.options or vignette.options:
                arms[arm]["options"] = options
        return content | {
            "paradigm": self.paradigm,
            **({"text_field": self.text_field} if self.text_field else {}),
            "domain": vignette.domain or self.paradigm,
            "words": self.words | vignette.words,
            "arms": arms,
        }

    def shares(self, arm: str, technique: str, answers: list[str], factor: float = 1.0) -> dict[str, float]:
        """Return the stated share of each answer: what an arm adds to one is taken from the others, in proportion.

        `factor` multiplies what the arm adds.
        """
        stated = self.simulated.shares if self.simulated else {}
        rest = 1 - sum(stated.get(answer, 0) for answer in answers)
        unstated = [answer for answer in answers if answer not in stated]
        shares = {answer: stated.get(answer, rest / max(len(unstated), 1)) for answer in answers}
        shift = self.simulated.shift(arm, technique) if self.simulated else {}
        shift = {answer: factor * added for answer, added in shift.items()}
        others = sum(share for answer, share in shares.items() if answer not in shift)
        added = sum(shift.get(answer, 0) for answer in answers)
        return {
            answer: share + shift[answer] if answer in shift else share - added * share / others if others else share
            for answer, share in shares.items()
        }

    def as_asked_before(self) -> "Paradigm | None":
        """Return the paradigm with the words that hung on a reading once; None where it has its own."""
        if self.answer.asked is not None or self.answer.answer_after or self.answer.kind not in ASKED_BEFORE:
            return None
        answer = self.answer.model_copy(update={"asked": ASKED_BEFORE[self.answer.kind]})
        return self.model_copy(update={"answer": answer})

    def asked(self, words: str | None = None) -> str:
        """Return what is said of the form of an answer, or a study's own words for it."""
        answer = self.answer
        form = answer.asked if words is None else words
        if form is None and answer.answer_after:
            form = fill(ASKED_AFTER, {"answer_after": answer.answer_after, "what": AFTER[answer.kind]})
        form = ASKED[answer.kind] if form is None else form
        return fill(form, {"labels": ", ".join(answer.labels or ())})

    def version(self, vignette: dict, technique: dict, arm: str, answer_format: str | None = None) -> tuple[str, str]:
        """Return the hash of the template of a vignette, a technique and an arm, and the template."""
        return versioned(arm_script(vignette, technique, arm, self.asked(answer_format)), vignette, technique)

    def rows(self) -> list[dict]:
        """Return what a model needs to know of the paradigm: a row for each measure."""
        labels = self.labels
        leading = self.leading or next(iter(self._decided), None)
        return [
            {
                "paradigm": self.paradigm, "measure": name,
                "measure_of": answers and json.dumps(answers, ensure_ascii=False),
                "better": measure.better, "reference": measure.reference, "margin": measure.margin,
                "measured_from": None if measure.source == "answer" else measure.source,
                "is_leading": self.measures.get(leading) is measure,
                "is_unsigned": measure.unsigned, "text_field": self.text_field, "pairing": self.pairing,
                "answer_kind": self.answer.kind,
                "answer_reading": self.answer.reading if labels else None,
                "labels": labels and json.dumps(labels, ensure_ascii=False),
                **self._goals_stated(),
            }
            for name, measure, answers in self.measured()
        ]  # fmt: skip

    def _goals_stated(self):
        """Return what models need to know of the goals, if there are any; else what was stated before there were."""
        if not self.goals:
            return {}
        goals = [
            {"goal": name, **goal.model_dump(exclude={"leads"}), "leads": goal.leads or len(self.goals) == 1}
            | ({"cases": self.cases} if self.cases else {})
            for name, goal in self.goals.items()
        ]
        return {"relative_to": self.relative_to, "goals": json.dumps(goals)}

    def measured(self) -> Iterator[tuple[str, Measure, list[str] | None]]:
        """Yield each measure with what counts as 1; one of several options that arms favour is one for each option."""
        arms = (treatment for vignette in self.vignettes for treatment in vignette.arms.values())
        targets = {treatment.target for treatment in arms}
        for name, measure in self.measures.items():
            favoured = [option for option in measure.of or () if option in targets]
            if len(favoured) > 1:
                yield from ((f"{name}_{option}", measure, [option]) for option in favoured)
            else:
                yield name, measure, measure.of

    def contrast_rows(self) -> list[dict]:
        """Return a row for each contrast."""
        return [
            {"paradigm": self.paradigm, "position": position, "arm": pair[0], "arm_b": pair[1] if pair[1:] else None}
            for position, pair in enumerate(self.contrasts)
        ]


def arm_script(
    vignette: dict, technique: dict, arm: str, answer_format: str, item: Item | None = None,
    option_order: Sequence[str] | None = None, facts: dict[str, str] | None = None, anchor: float | str | None = SLOT,
) -> Script:  # fmt: skip
    """Return what is said of a vignette, as `Paradigm.full_vignette` gives it, in an arm.

    Without an item the braces that its fields fill stay as they are, and so does `{options}` without the ids of the
    options in the order of their letters. `anchor` is the number of the arm's anchor, where it has one.
    """
    treatment = vignette["arms"][arm]
    fields, unsaid = dict(item.fields) if item else {}, {"second_anchor"}
    if "anchor" in treatment:
        anchor = ArmAnchor.model_validate(treatment["anchor"]).text(SLOT if anchor is None else anchor)
        fields["anchor"] = fill(anchor, fields)
    else:
        unsaid.add("anchor")
    texts = {**vignette.get("words", {}), **treatment.get("words", {})}
    words = {**{name: fill(text, fields) for name, text in texts.items()}, **fields}
    options = {name: fill(text, fields) for name, text in treatment.get("options", {}).items()}
    if option_order is not None:
        shown = zip(LETTERS, option_order, strict=False)
        words["options"] = "\n".join(f"{letter}. {options[name]}" for letter, name in shown)
    field = vignette.get("text_field")
    text = fields.get(field, "") if item else f"{{{field}}}"
    subject = fill(vignette["case"], {**words, "answer_format": answer_format}) if field is None else text
    script = Script(
        vignette, technique, words, answer_format, unsaid=unsaid, turns=treatment["turns"], options=options,
        subject=subject, facts=facts,
    )  # fmt: skip
    if field is not None and not text.strip():
        script.problem = EMPTY
    return script


def paradigms_of(archive: str) -> dict[str, str]:
    """Return the paradigms that come with an archive: how each is called in its trials, and the name of its file."""
    return {path.stem: f"{archive}/{path.stem}" for path in sorted((FOLDER / archive).glob("*.yaml"))}


def _path_of(name):
    """Return the file of a paradigm that goes by name, or comes with an archive (`archive/name`); else None."""
    if name.count("/") == 1 and name in paradigms_of(name.partition("/")[0]).values():
        return FOLDER / f"{name}.yaml"
    return named_paradigms().get(name)


def named_paradigms() -> dict[str, Path]:
    """Return the paradigms that go by name: those that come with bais, and those of one's own folder."""
    paths = by_name(FOLDER, "paradigms")
    if paths[ANCHORING].parent != FOLDER:
        raise UserError(f"{printable(paths[ANCHORING])}: {OF_NO_NAME}")
    return paths


def paradigm_names() -> tuple[str, ...]:
    """Return the names of these paradigms, but for the one of a study that names none."""
    return tuple(sorted(named_paradigms().keys() - {ANCHORING}))


def paradigm_text(name: str) -> str | None:
    """Return the file of a paradigm that goes by name, as it is written."""
    return text_of(path) if (path := _path_of(name)) else None


@cache
def anchoring() -> Paradigm:
    """Return the paradigm of a study that names none."""
    return Paradigm.model_validate(read_yaml(paradigm_text(ANCHORING), ANCHORING)[1], context={"is_shipped": True})


def anchoring_by(rule: dict[str, dict], has_base: bool, items: Items | None = None) -> Paradigm:
    """Return anchoring with the anchors of a study's rule and the items of a vignette.

    Where a study leaves the base away, it has none.
    """
    ((kind, given),) = rule.items()
    base = anchoring().relative_to
    kinds = {"proportional": lambda times: {"of": base, "times": times}, "columns": lambda name: {"column": name}}
    anchors = {arm: ArmAnchor(**kinds.get(kind, lambda value: {"value": value})(one)) for arm, one in given.items()}
    changes = {"anchors": anchors, "relative_to": base if has_base else None, "items": items}
    return anchoring().model_copy(update=changes)


def multiples_of_anchoring() -> dict[str, float]:
    """Return what the anchors of anchoring are as multiples of the LLM's own baseline, by direction."""
    return {arm: anchor.times for arm, anchor in anchoring().anchors.items()}


class WrongItems(Exception):
    """What is wrong with the items that a study gives a paradigm, and where below the study's `items` that stands."""

    def __init__(self, name: str, location: tuple, sentence: str):
        is_of_items = location[:1] == ("items",)
        super().__init__(sentence if is_of_items else f"items: {name} cannot be asked with these: {sentence}")
        self.location = ("items", name, *(location[1:] if is_of_items else ()))


def load_paradigm(name: str, folder: Path | None, items: dict | None = None) -> Paradigm:
    """Read and check a paradigm: one that goes by name, or a YAML file in the folder of the study.

    What a study says of the items goes before what the paradigm says.
    """
    of_name = _path_of(name) if name != ANCHORING else None
    path = of_name or Path(folder or ".") / name
    if path.suffix not in (".yaml", ".yml"):
        there = ", ".join((ANCHORING, *paradigm_names()))
        came = [f"{path.parent.name}/{path.stem}" for path in sorted(FOLDER.glob("*/*.yaml")) if path.stem == name]
        other = f" (an archive has {' and '.join(came)})" if came else ""
        raise UserError(
            f"there is no paradigm {printable(name)}{other}: name one of {there}, or a YAML file beside the study"
        )

    def validate(content):
        beside = path.parent
        if items:
            own = content.get("items") or {}
            if {"file", "rows"} & items.keys():  # other items, so that nothing that is said of the first ones holds
                own, beside = {}, Path(folder or ".")
            content = content | {"items": {**own, **items}}
        try:
            return Paradigm.model_validate(content, context={"folder": beside})
        except ValueError as error:
            location, sentence = found_wrong(error)
            if items and (location[:1] == ("items",) or of_name):
                raise WrongItems(name, location, sentence) from None
            raise

    return parse_checked(text_of(path), printable(path), EXPECTED, validate)
