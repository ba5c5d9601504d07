"""What a study file is made of: anchors, rules, limits, vignettes and techniques. `study` puts them together."""

import math
from functools import partial
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from ingest.land.seeds import place_of
from ingest.local.settings import Decoding
from ingest.paradigms.items import Items
from ingest.paradigms.paradigm import multiples_of_anchoring
from ingest.prompts import placeholders, shipped, shipped_entry
from ingest.prompts.steps import CHUNK, REPLY, as_steps, numbers_in
from ingest.texts.files import Finite, Name, NotNegative, Part, Positive, Share, refuse_turned_range


class Multiples(Part):
    """Anchors as multiples of the LLM's own baseline."""

    low: Positive = multiples_of_anchoring()["low"]
    high: Positive = multiples_of_anchoring()["high"]


class Values(Part):
    """The same anchors for every LLM, in the vignette's unit."""

    low: Finite
    high: Finite


class Columns(Part):
    """The columns of the items that hold the anchors of each, in the vignette's unit."""

    low: Annotated[str, Field(min_length=1)]
    high: Annotated[str, Field(min_length=1)]


class Anchors(Part):
    """The rule that gives the anchors."""

    proportional: Multiples | None = None
    fixed: Values | None = None
    columns: Columns | None = None

    @model_validator(mode="after")
    def _one_rule(self):
        rules = [rule for rule in (self.proportional, self.fixed) if rule is not None]
        if len(rules) + (self.columns is not None) != 1:
            raise ValueError("should hold one of proportional, fixed and columns")
        if rules and rules[0].low >= rules[0].high:
            raise ValueError("should have low below high")
        return self


class StoppingRule(Part):
    """How many trials a cell gets."""

    minimum: Annotated[int, Field(ge=1, le=1_000_000)] = 30
    maximum: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    sd_above: NotNegative | None = None

    @model_validator(mode="after")
    def _both_or_none(self):
        if (self.maximum is None) != (self.sd_above is None):
            raise ValueError("should hold both maximum and sd_above, or neither")
        if self.maximum is not None and self.maximum < self.minimum:
            raise ValueError("should have maximum at or above minimum")
        return self


class Limits(Part):
    """What a session may use."""

    attempts: Annotated[int, Field(ge=1, le=100)] = 6
    timeout_s: Positive = 120
    backoff_s: NotNegative = 1
    longest_wait_s: NotNegative = 300
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 16
    max_cost_usd: NotNegative | None = None
    max_calls: Annotated[int, Field(ge=1)] | None = None


def _as_items(given):
    """Read the name of a file as items that come from it."""
    return {"file": given} if isinstance(given, str) else given


class Vignette(Part):
    """One scenario text with its unit and valid range; items fill its braces, and each of them is a case."""

    vignette: Name
    version: int = 1
    domain: Name
    response_unit: Annotated[str, Field(min_length=1)]
    valid_min: Finite | None = None
    valid_max: Finite | None = None
    source: str = ""
    case: Annotated[str, Field(min_length=1)]
    anchor: Annotated[str, Field(pattern=r"\{anchor\}")]
    second_anchor: Annotated[str, Field(pattern=r"\{second_anchor\}")] | None = None
    question: Annotated[str, Field(pattern=r"\S")]
    words: dict[str, str] = Field({})
    anchors: Anchors | None = None
    items: Annotated[Items, BeforeValidator(_as_items)] | None = None

    @model_validator(mode="after")
    def _can_be_filled(self):
        items = self.items.read if self.items else ()
        fields, used = {field for item in items for field in item.fields}, set()
        nor_a_field = " and no column of the items" if items else ""
        for part, numbers in (
            ("case", ()), ("question", ()), ("anchor", ("anchor",)), ("second_anchor", ("anchor", "second_anchor")),
        ):  # fmt: skip
            named = placeholders(getattr(self, part) or "")
            used |= named
            if missing := sorted(named - {*self.words, *fields, *numbers}):
                raise ValueError(f"{part} says {{{missing[0]}}}, which is not among the words{nor_a_field}")
        used |= set().union(*map(placeholders, self.words.values()))
        if both := sorted(fields & {*self.words, "anchor", "second_anchor"}):
            raise ValueError(f"items: their column {both[0]} has the name of a word: give it another one")
        if items and not used & fields:
            raise ValueError("items: no part of the vignette names one of their columns in braces, so all are alike")
        for item in items:
            if lacking := sorted(used & fields - item.fields.keys()):
                raise ValueError(f"items: {self.items.where(item.item)}item {item.item} has no {lacking[0]}")
        return refuse_turned_range(self)


class Rounds(Part):
    """The prompts of a technique that repeats until nothing is found."""

    most: Annotated[int, Field(ge=1, le=20)]
    stops_at: Annotated[str, Field(min_length=1)]
    determine: Annotated[str, Field(pattern=r"\{text\}")]
    analyse: str
    debias: str
    answer: Annotated[str, Field(pattern=r"\{text\}")]


class Step(Part):
    """A call in a conversation of its own; its braces may name the item, its chunks and the replies before it."""

    prompt: Annotated[str, Field(min_length=1)]
    max_tokens: Annotated[int, Field(ge=1)] | None = None


class Chunks(Part):
    """Into how many parts of equally many words or characters a text is cut; the last one gets the remainder."""

    n: Annotated[int, Field(ge=2, le=100)]
    unit: Literal["words", "characters"] = "words"


class TokenBudget(Part):
    """How many tokens summaries may have in all, as a number or a share of the item's, and each chunk's share of it."""

    tokens: Annotated[int, Field(ge=1)] | None = None
    share_of_item: Annotated[float, Field(gt=0, le=1)] | None = None
    shares: list[Share] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_one(self):
        if (self.tokens is None) == (self.share_of_item is None):
            raise ValueError("should hold one of tokens and share_of_item")
        if not math.isclose(sum(self.shares), 1):
            raise ValueError(f"shares: they come to {sum(self.shares):g}, and should be of a whole")
        return self


def _in_order(steps):
    """Refuse a step that names a reply which is not there when it is asked."""
    for number, step in enumerate(steps):
        later = [reply for reply in numbers_in(placeholders(step.prompt), REPLY) if reply > number]
        if later:
            counts = {0: "no reply comes", 1: "only one reply comes"}
            n_before = counts.get(number, f"only {number} replies come")
            raise ValueError(f"step {number + 1} names {{reply_{later[0]}}}, and {n_before} before it")
    return steps


class Technique(Part):
    """What a technique says: turns of one conversation, or steps, which are calls in conversations of their own."""

    technique: Name
    version: int = 1
    source: str = ""
    controls: str | None = None
    is_also_unanchored: bool = False
    ranked: bool | None = None
    answer_kinds: list[Literal["number", "choice", "label", "text"]] | None = Field(None, min_length=1)
    system: Annotated[str, Field(min_length=1)] | None = None
    turns: list[Annotated[str, Field(min_length=1)]] | None = Field(None, min_length=1)
    rounds: Rounds | None = None
    steps: Annotated[list[Step], BeforeValidator(as_steps), AfterValidator(_in_order), Field(min_length=1)] | None = (
        None
    )
    counts: Literal["last", "joined"] | None = None
    chunks: Chunks | None = None
    shuffle_seed: int | None = None
    token_budget: TokenBudget | None = None
    answer_after: Annotated[str, Field(min_length=1)] | None = None
    needs_marker: bool | None = None
    engine: Literal["local"] | None = None
    decoding: Decoding | None = None

    @model_validator(mode="after")
    def _opens(self):
        if (self.engine is None) != (self.decoding is None):
            raise ValueError("should say both `engine: local` and `decoding`, or neither")
        if (self.turns is None) == (self.steps is None):
            raise ValueError("should hold one of turns and steps")
        if self.steps:
            self._check_steps()
            return self
        of_steps = ("counts", "chunks", "shuffle_seed", "token_budget", "answer_after", "needs_marker")
        if idle := [rule for rule in of_steps if getattr(self, rule) is not None]:
            raise ValueError(f"{idle[0]}: it is for a technique with steps")
        if not placeholders(self.turns[0]) & {"opening", "case_text"}:
            raise ValueError("turns: the first one should hold {opening}, the vignette, or {case_text}")
        if self.rounds and len(self.turns) > 1:
            raise ValueError("turns: a technique with rounds has one turn before them")
        return self

    def _check_steps(self):
        """Hold what steps name against the rules by which that comes from the item."""
        if self.rounds:
            raise ValueError("rounds: a technique has these or steps")
        if self.needs_marker and self.answer_after is None:
            raise ValueError("needs_marker: say under answer_after which marker")
        for number, step in enumerate(self.steps, 1):
            names = placeholders(step.prompt)
            chunks = numbers_in(names, CHUNK)
            if chunks and (self.chunks is None or chunks[-1] > self.chunks.n):
                unsaid = "`chunks` does not say how many there are"
                n_chunks = f"there are only {self.chunks.n}" if self.chunks else unsaid
                raise ValueError(f"steps: step {number} names {{chunk_{chunks[-1]}}}, and {n_chunks}")
            if "shuffled" in names and self.shuffle_seed is None:
                raise ValueError(f"steps: step {number} names {{shuffled}}, and there is no shuffle_seed")
            if "token_budget" not in names:
                continue
            if self.token_budget is None:
                raise ValueError(f"steps: step {number} names {{token_budget}}, and there is no token_budget")
            if len(chunks) > 1 or (chunks and chunks[0] > len(self.token_budget.shares)):
                raise ValueError(
                    f"steps: step {number} names {{token_budget}}, and should name one chunk whose share of it is given"
                )


def is_for(technique: dict, kind: str) -> bool:
    """Tell whether a technique is for a kind of answer."""
    return kind in technique.get("answer_kinds", [kind])


def _in_full(entry, info: ValidationInfo, key, kind):
    """Take a name for the shipped entry of that name, and a mapping as an entry or as changes of the shipped one."""
    entry = {key: entry} if isinstance(entry, str) else entry
    if not isinstance(entry, dict) or not isinstance(entry.get(key), str):
        raise ValueError(f"should be a name, or a mapping with a name under the key {key}")
    name = entry[key]
    own = shipped_entry(key, name) if len(entry) == 1 else shipped(f"{key}s").get(name, {})
    if own and "ranked" in entry:
        place = place_of("techniques")
        raise ValueError(f"{name} is shipped, and {place} says whether it is ranked: leave `ranked` away")
    checked = kind.model_validate({**own, **entry}, context=info.context)
    items = {"items": checked.items} if getattr(checked, "items", None) else {}
    return checked.model_dump(exclude_none=True, exclude={"items"}) | items


FullVignette = Annotated[dict, BeforeValidator(partial(_in_full, key="vignette", kind=Vignette))]
FullTechnique = Annotated[dict, BeforeValidator(partial(_in_full, key="technique", kind=Technique))]
