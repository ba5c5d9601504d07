"""A study is data: one YAML file becomes cells, trials and their order. Nothing here asks or keeps anything."""

import array
import bisect
import collections
import contextlib
import csv
import hashlib
import itertools
import json
import math
import random
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple
from urllib.parse import urlsplit

import yaml
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ingest.files import (
    KEYS,
    NO_KEYS,
    Finite,
    LlmId,
    Mistake,
    Name,
    NotNegative,
    Part,
    Positive,
    Share,
    Temperature,
    parse_checked,
    perhaps,
    text_of,
)
from ingest.items import Item
from ingest.judges import Judged, Judging
from ingest.local import DEVICES, DTYPES
from ingest.local.settings import Decoding
from ingest.paradigm import ANCHORING, AS_WRITTEN, Paradigm, WrongItems, count_by_vignette, load_paradigm
from ingest.prompts import (
    ANSWER_FORMATS,
    Script,
    names_cutoff,
    placeholders,
    prompt_version,
    shipped,
    template_hash,
    template_of,
    words_named,
)
from ingest.prompts.steps import CHUNK, REPLY, as_steps, numbers_in
from ingest.prompts.words import has_blank
from ingest.warehouse import ROOT, printable

FOLDER = Path(__file__).resolve().parent / "studies"
SIMULATED = Path(__file__).resolve().parent / "simulated.yaml"
# What units say of time, multiples and scales, and what is nearly that and meant; other words are units of one's own.
WORDS_OF_UNITS = (
    "seconds", "minutes", "hours", "days", "weeks", "fortnights", "months", "quarters", "years", "decades", "hundreds",
    "thousand", "thousands", "million", "millions", "billions", "percent", "points", "scores", "pints", "quarts",
)  # fmt: skip
NEARLY_A_UNIT = 0.82
WORD = re.compile(r"[^\W\d_]+")
EXPECTED = (
    "a study is a mapping with the keys study, llms, vignettes, techniques and anchors; one of a bias other than "
    "anchoring has the key paradigm in place of vignettes and anchors"
)


class Effect(Part):
    """What a technique does to a simulated respondent: `pull` times its pull, `shift` as a share of its baseline.

    `bias` multiplies what an arm of a paradigm adds to the share of an answer.
    """

    pull: Finite = 1
    shift: Finite = 0
    bias: Finite | None = None
    lead_share: Share | None = None
    flip_rate: Share | None = None
    known_before: Share | None = None
    known_after: Share | None = None
    yes_bias: Share | None = None


class Truth(Part):
    """The stated truth of a simulated respondent.

    Of a choice or a label, the paradigm states the share of each answer; `bias` multiplies what an arm adds to it.

    `accuracy` is of a judge: the share of texts that it labels as is right. `lead_share` and `flip_rate` are of a
    summariser: the share of its sentences that come from the first third of the text, and the share of its summaries
    whose framing is another one. `known_before` and `known_after` are of a fact-checker: the share of statements that
    it knows from before and after its cutoff; of the others it calls the share `yes_bias` true. A technique may state
    others of these.

    An answer is baseline · (1 + shift) + pull · (anchor - baseline) + noise · baseline · N(0, 1), rounded.
    """

    baselines: dict[str, Finite] = Field({})
    level: Positive = 1
    pull: Finite = 0
    noise: NotNegative = 0
    techniques: dict[str, Effect] = Field({})
    refusal_rate: Share = 0
    formats: list[Literal["line", "sentence", "bold", "reasoned", "json"]] = Field(["line"], min_length=1)
    decimals: Annotated[int, Field(ge=0, le=6)] = 0
    latency_ms: NotNegative = 0
    bias: Finite | None = None
    accuracy: Share | None = None
    lead_share: Share | None = None
    flip_rate: Share = 0
    known_before: Share | None = None
    known_after: Share | None = None
    yes_bias: Share = 0.5

    def with_technique(self, technique: str, name: str) -> float | None:
        """Return a share of this truth, as it is with a technique."""
        effect = self.techniques.get(technique)
        stated = getattr(effect, name) if effect else None
        return getattr(self, name) if stated is None else stated


def _web_address(value):
    try:
        parts = urlsplit(value)
        is_one = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one:
        raise ValueError("should be an address such as https://host/v1")
    if parts.username or parts.password or parts.query:
        raise ValueError("should hold no key, user or password: name the variable that holds the key in api_key_env")
    return value.rstrip("/")


def _variable(value):
    if not (value.isascii() and value.isidentifier()):
        raise ValueError("should be the name of an environment variable, never the key itself")  # so it is not shown
    return value


def _without_keys(given):
    for key, value in given.items():
        if str(key).lower() in KEYS:
            raise ValueError(f"{key} would be written down with each call: {NO_KEYS}")
        if isinstance(value, dict):
            _without_keys(value)
    return given


Address = Annotated[str, AfterValidator(_web_address)]
Variable = Annotated[str, AfterValidator(_variable)]


class Llm(Part):
    """An LLM to ask, and how."""

    llm: LlmId
    provider: Literal["openai", "codex", "simulated", "local"] = "openai"
    engine: Literal["local"] | None = None
    model: str | None = None
    base_url: Address | None = None
    api_key_env: Variable | None = None
    accepts_temperature: bool = True
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    top_logprobs: Annotated[int, Field(ge=1, le=20)] | None = None
    extra: Annotated[dict, AfterValidator(_without_keys)] = Field({})
    device: Literal[DEVICES] | None = None
    dtype: Literal[DTYPES] | None = None
    simulated: Truth | None = None

    @model_validator(mode="after")
    def _is_local_or_not(self):
        if (self.provider == "local") != (self.engine == "local"):
            raise ValueError("should say `engine: local` and no provider if it runs on this machine")
        of_others = ("base_url", "api_key_env", "top_logprobs", "extra") if self.engine else ("device", "dtype")
        if idle := [key for key in of_others if getattr(self, key)]:
            where = "is asked at an endpoint" if self.engine else "runs on this machine (`engine: local`)"
            raise ValueError(f"{idle[0]} is for an LLM that {where}")
        return self

    @property
    def is_free(self) -> bool:
        """Whether its answers cost nothing, since nobody else is asked."""
        return self.provider in ("simulated", "local")

    @model_validator(mode="after")
    def _is_simulated_or_not(self):
        is_simulated = self.provider == "simulated"
        if is_simulated != (self.simulated is not None) or is_simulated != self.llm.startswith("sim/"):
            raise ValueError(
                "should be named sim/..., with its truth under `simulated`, if it is simulated, and else neither"
            )
        return self


class Endpoint(Part):
    """Where LLMs are asked that do not say so themselves."""

    base_url: Address | None = None
    api_key_env: Variable | None = None


class Multiples(Part):
    """Anchors as multiples of the LLM's own baseline."""

    low: Positive = 0.5
    high: Positive = 1.5


class Values(Part):
    """The same anchors for every LLM, in the vignette's unit."""

    low: Finite
    high: Finite


class Anchors(Part):
    """The rule that gives the anchors."""

    proportional: Multiples | None = None
    fixed: Values | None = None

    @model_validator(mode="after")
    def _one_rule(self):
        if (self.proportional is None) == (self.fixed is None):
            raise ValueError("should hold one of proportional and fixed")
        rule = self.proportional or self.fixed
        if rule.low >= rule.high:
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


class Vignette(Part):
    """One scenario text with its unit and valid range."""

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

    @model_validator(mode="after")
    def _can_be_filled(self):
        for part, numbers in (
            ("case", ()), ("question", ()), ("anchor", ("anchor",)), ("second_anchor", ("anchor", "second_anchor")),
        ):  # fmt: skip
            if missing := sorted(placeholders(getattr(self, part) or "") - {*self.words, *numbers}):
                raise ValueError(f"{part} says {{{missing[0]}}}, which is not among the words")
        if None not in (self.valid_min, self.valid_max) and self.valid_min > self.valid_max:
            raise ValueError("should have valid_min at or below valid_max")
        return self


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
        later = [of for of in numbers_in(placeholders(step.prompt), REPLY) if of > number]
        if later:
            n_before = (
                ("no reply comes", "only one reply comes")[number] if number < 2 else f"only {number} replies come"
            )
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
    def _decodes_here(self):
        if (self.engine is None) != (self.decoding is None):
            raise ValueError("should say both `engine: local` and `decoding`, or neither")
        return self

    @model_validator(mode="after")
    def _opens(self):
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
                n_chunks = (
                    f"there are only {self.chunks.n}" if self.chunks else "`chunks` does not say how many there are"
                )
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


def _in_full(entry, key, kind):
    """Take a name for the shipped entry of that name, and a mapping as an entry or as changes of the shipped one."""
    known = shipped(f"{key}s")
    entry = {key: entry} if isinstance(entry, str) else entry
    if not isinstance(entry, dict) or not isinstance(entry.get(key), str):
        raise ValueError(f"should be a name, or a mapping with a name under the key {key}")
    name = entry[key]
    if name not in known and len(entry) == 1:
        raise ValueError(f"{name} is not a shipped {key} ({', '.join(known)}): write it out in full, with its text")
    if name in known and "ranked" in entry:
        raise ValueError(f"{name} is shipped, and seeds/techniques.csv says whether it is ranked: leave `ranked` away")
    return kind.model_validate({**known.get(name, {}), **entry}).model_dump(exclude_none=True)


FullVignette = Annotated[dict, BeforeValidator(partial(_in_full, key="vignette", kind=Vignette))]
FullTechnique = Annotated[dict, BeforeValidator(partial(_in_full, key="technique", kind=Technique))]


def _full_llm(entry):
    entry = {"llm": entry} if isinstance(entry, str) else entry
    if not isinstance(entry, dict):
        raise ValueError("should be an id such as vendor/name, or a mapping with one under the key llm")
    if entry.get("simulated"):
        return {"provider": "simulated", **entry}
    if entry.get("engine") == "local":
        return {"provider": "local", **entry}
    if str(entry.get("llm", "")).startswith("sim/"):
        named = simulated_respondents()
        if entry["llm"] not in named:
            raise ValueError(
                f"{entry['llm']} is not a simulated respondent ({', '.join(named)}): state its truth under `simulated`"
            )
        return {"provider": "simulated", **entry, "simulated": named[entry["llm"]]}
    return entry


class Study(Part):
    """What a YAML file says of a study, with vignettes and techniques in full."""

    study: Name
    description: str = ""
    source: str = ""
    llms: list[Annotated[Llm, BeforeValidator(_full_llm)]] = Field(min_length=1)
    endpoint: Endpoint = Endpoint()
    vignettes: list[FullVignette] = Field(min_length=1)
    techniques: list[FullTechnique] = Field(min_length=1)
    anchors: Anchors
    baselines: bool = True
    second_anchor: Finite | None = None
    temperatures: list[Temperature | None] = Field([None], min_length=1)
    stopping_rule: StoppingRule = StoppingRule()
    order_seed: int = 1
    answer_format: str = "text"
    cut_texts: Literal["left_out", "counted"] = "left_out"
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _fits_together(self):
        for key, names in (
            ("llms", [llm.llm for llm in self.llms]),
            ("vignettes", [vignette["vignette"] for vignette in self.vignettes]),
            ("techniques", [technique["technique"] for technique in self.techniques]),
            ("temperatures", self.temperatures),
        ):
            if twice := [name for name in names if names.count(name) > 1]:
                raise ValueError(f"{key}: {twice[0]} stands there twice")
        if self.anchors.proportional and not self.baselines:
            raise ValueError("baselines: anchors that are proportional to baselines need them")
        asked = ANSWER_FORMATS.get(self.answer_format, self.answer_format)
        if unknown := sorted(placeholders(asked) - {"response_unit"}):
            raise ValueError(f"answer_format: it says {{{unknown[0]}}}, and only {{response_unit}} is filled in")
        for vignette in self.vignettes:
            parts = {"case_text", "anchor_text", "second_anchor_text", "question_text"}
            known = {"answer_format", "opening", *parts, *vignette.get("words", {})}
            if self.second_anchor is not None and not vignette.get("second_anchor"):
                raise ValueError(f"second_anchor: vignette {vignette['vignette']} has no words for it")
            for technique in self.techniques:
                if missing := sorted(words_named(technique) - known):
                    raise ValueError(
                        f"techniques: {technique['technique']} says {{{missing[0]}}}, which is not among the words of "
                        f"vignette {vignette['vignette']}"
                    )
        self._check_kinds(["number"], ANCHORING)
        self._check_cutoffs()
        for llm, vignette in itertools.product(self.llms, self.vignettes):
            _check_baseline(llm, vignette["vignette"])
        self._check_engines()
        return self

    def _check_engines(self):
        """Hold what techniques do to the decoding of an LLM against where it runs, and at which temperature."""
        for technique in self.techniques:
            name, decoding = technique["technique"], technique.get("decoding")
            if not decoding:
                continue
            if others := [llm.llm for llm in self.llms if llm.engine != technique["engine"]]:
                raise ValueError(
                    f"llms: {others[0]} does not run on this machine, and technique {name} changes how an LLM writes, "
                    "which only works here: give the LLM `engine: local`, or leave one of the two away"
                )
            if decoding["method"] == "mirostat" and 0 in self.temperatures:
                raise ValueError(
                    f"temperatures: at 0 an LLM takes its likeliest token, which technique {name} cannot change, since "
                    "it changes the temperature alone: leave 0 or the technique away"
                )

    def _check_kinds(self, kinds, what):
        """Refuse a technique that is for no kind of answer that is asked for."""
        for technique in self.techniques:
            if not any(is_for(technique, kind) for kind in kinds):
                raise ValueError(
                    f"techniques: {technique['technique']} is for answers of the kind "
                    f"{' or '.join(technique['answer_kinds'])}, and {what} asks for a {' or a '.join(kinds)}"
                )

    def _check_cutoffs(self):
        """Refuse a technique that would tell an LLM a knowledge cutoff that nobody has written down."""
        known = knowledge_cutoffs()
        unknown = [llm.llm for llm in self.llms if llm.llm not in known]
        if unknown and (names := [of["technique"] for of in self.techniques if names_cutoff(of)]):
            raise ValueError(
                f"llms: {unknown[0]} has no line in seeds/knowledge_cutoffs.csv, and technique {names[0]} says its "
                "{knowledge_cutoff}: add the line, or leave one of the two away"
            )

    @property
    def all_llms(self) -> list[Llm]:
        """The LLMs that are asked."""
        return self.llms

    @property
    def cautions(self) -> list[str]:
        """What can be asked and still leaves a question open, in sentences."""
        blank = [
            f"{kind} {of[kind]} says {{}}, braces without a name, and an LLM is told them as they stand: write a "
            "name between them, as in {case_text}, or take them out."
            for kind, entries in (("vignette", self.vignettes), ("technique", self.techniques))
            for of in entries
            if has_blank(of)
        ]
        said = [*blank, *self._misspelt_units()]
        if any(technique["technique"] == "no_technique" for technique in self.techniques):
            return said
        return [
            *said,
            "No technique can be compared with the plain question: add no_technique to the techniques, or nothing will "
            "say what a technique changes.",
        ]

    def _misspelt_units(self):
        """Yield the units that are nearly ordinary ones: nothing would be converted to them."""
        for vignette in self.vignettes:
            unit = vignette.get("response_unit") or ""
            for word in WORD.findall(unit):
                is_known = {word, f"{word}s"} & {*WORDS_OF_UNITS}
                if not is_known and (meant := perhaps(word, WORDS_OF_UNITS, NEARLY_A_UNIT)):
                    yield (
                        f"The unit {unit} of vignette {vignette['vignette']} is none that is known{meant}: answers in "
                        "it are read as plain numbers, and none is converted to it."
                    )


class Judges(Judging):
    """The LLMs that judge texts of a study, and what they are asked."""

    llms: list[Annotated[Llm, BeforeValidator(_full_llm)]] = Field(min_length=1)

    @model_validator(mode="after")
    def _can_judge(self):
        names = [llm.llm for llm in self.llms]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"llms: {twice[0]} stands there twice")
        if unstated := [llm.llm for llm in self.llms if llm.simulated and llm.simulated.accuracy is None]:
            raise ValueError(f"llms: {unstated[0]} is simulated, and its `simulated` states no accuracy")
        return self


class ParadigmStudy(Study):
    """What a YAML file says of a study of paradigms other than anchoring, with all in full.

    `vignettes` are those of the paradigms; a study that names some asks these alone.
    """

    paradigm: list[Paradigm] = Field(min_length=1)
    vignettes: list[dict]
    anchors: None = None
    baselines: Literal[False] = False
    second_anchor: None = None
    answer_format: str | None = None
    judges: Judges | None = None

    @model_validator(mode="after")
    def _fits_together(self):
        for key, names in (
            ("llms", [llm.llm for llm in self.llms]),
            ("paradigm", [paradigm.paradigm for paradigm in self.paradigm]),
            ("vignettes", list(count_by_vignette(self.paradigm).elements())),
            ("techniques", [technique["technique"] for technique in self.techniques]),
            ("temperatures", self.temperatures),
        ):
            if twice := [name for name in names if names.count(name) > 1]:
                raise ValueError(f"{key}: {twice[0]} stands there twice")
        items = collections.Counter(item.item for paradigm in self.paradigm for item in paradigm.all_items)
        if twice := [item for item, n in items.items() if n > 1]:
            raise ValueError(
                f"paradigm: two of them have an item {twice[0]}: in one study each needs a name of its own"
            )
        if self.stopping_rule.maximum and any(paradigm.answer.kind != "number" for paradigm in self.paradigm):
            raise ValueError("stopping_rule: maximum and sd_above are for answers that are numbers")
        kinds = sorted({paradigm.answer.kind for paradigm in self.paradigm})
        self._check_kinds(kinds, " or ".join(paradigm.paradigm for paradigm in self.paradigm))
        for paradigm in self.paradigm:
            self._check_turns(paradigm)
            self._check_named_techniques(paradigm)
        self._check_cutoffs()
        for llm in self.llms:
            self._check_truth(llm)
        self._check_engines()
        if self.judges:
            self._check_judges()
        return self

    def _check_judges(self):
        if len(self.judged_paradigms) > 1:
            raise ValueError("judges: they judge the texts of one paradigm, and the study names several")
        known = {llm.llm: llm for llm in self.llms}
        for judge in self.judges.llms:
            if known.get(judge.llm, judge) != judge:
                raise ValueError(f"judges: {judge.llm} stands under `llms` with other settings")
        self.judges.check(self.judged_paradigms[0], [vignette["vignette"] for vignette in self.vignettes])
        is_for_answers = any(measure.truth == "correct" for measure in self.judged_paradigms[0].measures.values())
        if self.judges.judges_items and not is_for_answers:
            self.judged_paradigms[0].check_correct(self.judges.labels, "the labels of the judges", "paradigm")

    def _check_named_techniques(self, paradigm):
        """Refuse a stated truth with a technique that is neither asked nor shipped: it is a typing mistake."""
        known = {*shipped("techniques"), *(technique["technique"] for technique in self.techniques)}
        stated = paradigm.simulated.techniques if paradigm.simulated else {}
        for arm, technique in ((arm, technique) for arm, of in stated.items() for technique in of):
            if technique not in known:
                raise Mistake(
                    f"paradigm: simulated: {technique} under {arm} is no technique of the study, nor a shipped one",
                    "paradigm", "simulated", arm, "techniques", technique,
                )  # fmt: skip

    @property
    def cautions(self) -> list[str]:
        """What can be asked and still leaves a question open, in sentences."""
        unjudged = [
            f"The measure {name} of {paradigm.paradigm} stays without values: it is from judgements, and the study has "
            "no `judges`."
            for paradigm in self.paradigm
            for name, measure in paradigm.measures.items()
            if measure.source == "judgement" and not self.judges
        ]
        return super().cautions + unjudged + [said for paradigm in self.paradigm for said in paradigm.cautions]

    @property
    def judged_paradigms(self) -> list[Paradigm]:
        """The paradigms whose texts judges may be shown: those that ask for texts, or else all."""
        return [paradigm for paradigm in self.paradigm if paradigm.answer.kind == "text"] or self.paradigm

    @property
    def all_llms(self) -> list[Llm]:
        """The LLMs that are asked: those under study, and the judges."""
        judges = self.judges.llms if self.judges else []
        return [*{llm.llm: llm for llm in [*self.llms, *judges]}.values()]

    def _check_turns(self, paradigm):
        """Hold the words of the techniques against those of a paradigm's vignettes."""
        fields = {field for item in paradigm.all_items for field in item.fields}
        for vignette, technique in itertools.product(self.vignettes, self.techniques):
            if vignette["paradigm"] != paradigm.paradigm or not is_for(technique, paradigm.answer.kind):
                continue
            said = words_named(technique)
            for arm, treatment in vignette["arms"].items():
                known = {"answer_format", "opening", "case_text", "question_text", *vignette["words"], *fields}
                if missing := sorted(said - known - treatment["words"].keys()):
                    raise ValueError(
                        f"techniques: {technique['technique']} says {{{missing[0]}}}, which is not among the words of "
                        f"vignette {vignette['vignette']}"
                    )
                own = next((key for key in ("rounds", "steps") if technique.get(key)), None)
                if own and len(treatment["turns"]) > 1:
                    raise ValueError(
                        f"techniques: {technique['technique']} has {own}, and arm {arm} of vignette "
                        f"{vignette['vignette']} has turns of its own: one of the two"
                    )

    def _check_truth(self, llm):
        kinds = {paradigm.paradigm: paradigm.answer.kind for paradigm in self.paradigm}
        for vignette in self.vignettes:
            if kinds[vignette["paradigm"]] == "number":
                _check_baseline(llm, vignette["vignette"])


class _Inline(Part):
    paradigm: Paradigm


def _are_of_paradigms(items, names):
    """Tell whether items are given under the names of paradigms."""
    return isinstance(items, dict) and items.keys() <= {*names} and all(isinstance(of, dict) for of in items.values())


def with_paradigms(content: dict, folder: Path | None) -> dict:
    """Put paradigms in the place of their names, and name their vignettes; what is wrong otherwise stays as it is."""
    named, items, chosen = content["paradigm"], content.get("items"), content.get("vignettes")
    named = named if isinstance(named, list) else [named]
    if "anchors" in content:
        raise ValueError("anchors: a paradigm other than anchoring has none")
    names = [of for of in named if isinstance(of, str)]
    if items is not None and len(named) == 1 and names and isinstance(items, dict):
        items = {names[0]: items}
    elif items is not None and not _are_of_paradigms(items, names):
        raise ValueError(
            "items: they go with one paradigm that is named, as a mapping such as {limit: 100}, or with some of "
            "several, as a mapping from their names to such mappings"
        )
    try:
        paradigms = [
            load_paradigm(of, folder, (items or {}).get(of))
            if isinstance(of, str)
            else _Inline.model_validate({"paradigm": of}, context={"folder": folder}).paradigm
            for of in named
        ]
    except WrongItems as error:
        raise Mistake(str(error), *error.location) from None
    known = [vignette.vignette for of in paradigms for vignette in of.vignettes]
    if chosen is not None and (not isinstance(chosen, list) or not set(map(str, chosen)) <= set(known)):
        raise ValueError(f"vignettes: name some of {', '.join(known)}")
    vignettes = [
        of.full_vignette(vignette)
        for of in paradigms
        for vignette in of.vignettes
        if chosen is None or vignette.vignette in chosen
    ]
    return {key: value for key, value in content.items() if key != "items"} | {
        "paradigm": paradigms, "vignettes": vignettes
    }  # fmt: skip


def _check_baseline(llm, vignette):
    """Refuse a simulated respondent of which nobody says what it answers to a vignette without an anchor."""
    if llm.simulated and vignette not in llm.simulated.baselines:
        raise ValueError(
            f"llms: {llm.llm} has no baseline for vignette {vignette}: give it one under simulated, as in "
            f"{{baselines: {{{vignette}: NUMBER}}}}"
        )


@cache
def simulated_respondents() -> dict[str, dict]:
    """Return the stated truth of each shipped simulated respondent; it is read once, and nobody changes it."""
    return yaml.safe_load(SIMULATED.read_text(encoding="utf-8"))


@cache
def knowledge_cutoffs() -> dict[str, date]:
    """Return the last day that the training data of each LLM may speak of, where it is known."""
    with open(ROOT / "seeds" / "knowledge_cutoffs.csv", encoding="utf-8", newline="") as file:
        return {row["llm"]: date.fromisoformat(row["cutoff"]) for row in csv.DictReader(file)}


def anchored_respondents() -> dict[str, dict]:
    """Return the shipped simulated respondents that have baselines, so that they can be asked about vignettes."""
    return {llm: truth for llm, truth in simulated_respondents().items() if "baselines" in truth}


def facts_of(llm: str) -> dict[str, str]:
    """Return what an LLM can be told of itself."""
    cutoff = knowledge_cutoffs().get(llm)
    return {"knowledge_cutoff": f"{cutoff:%B %Y}"} if cutoff else {}


def shipped_studies() -> list[str]:
    """Return the names of the studies that come with bais."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_study(name) -> "Study | ParadigmStudy":
    """Read and check a study: a YAML file, or a shipped one by its name."""
    path = Path(name)
    if str(name) in shipped_studies() and not path.is_file():
        path = FOLDER / f"{name}.yaml"
    known = shipped_studies()
    there = [str(file) for file in path.parent.glob("*.y*ml")] if path.suffix else []
    meant = perhaps(str(path), [*known, *there], 0.6)
    text = text_of(path, f"there is no study {printable(name)}{meant}: give a YAML file or one of {', '.join(known)}")
    return parse_study(text, printable(path), path.parent)


def parse_study(text: str, path: str = "the study", folder: Path | None = None) -> "Study | ParadigmStudy":
    """Check the text of a study file; `path` is what errors call it, and files that it names lie in `folder`."""

    def validate(content):
        if content.get("paradigm", ANCHORING) == ANCHORING:
            content.pop("paradigm", None)
            return Study.model_validate(content)
        return ParadigmStudy.model_validate(with_paradigms(content, folder), context={"folder": folder})

    return parse_checked(text, path, EXPECTED, validate)


class Cell(NamedTuple):
    """What is asked many times: one LLM, vignette, technique, anchor and temperature, in a paradigm an arm and item.

    Of a judgement, `llm` is the judge, `judged` the trial or item whose text is judged, and `role` as what.
    """

    llm: str
    vignette: str
    technique: str
    anchor_direction: str
    anchor_value: float | None
    temperature: float | None
    arm: str | None = None
    item: str | None = None
    judged: str | None = None
    role: str | None = None

    @property
    def asked_with(self) -> tuple[str, str, bool, str | None]:
        """Return what names the template: vignette, technique, whether an anchor is in it, and the arm or the role."""
        return self.vignette, self.technique, self.anchor_value is not None, self.arm or self.role

    @property
    def key(self) -> tuple:
        """Return what a trial's id and a simulated answer hang on: in anchoring, what there always was."""
        return tuple(self)[: 10 if self.role else 8 if self.arm else 6]


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
    """The cells of a study of paradigms, of which none is kept: memory does not grow with the items.

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


def _arm_cell(llm, vignette, technique, temperature, arm, item):
    return Cell(llm, vignette, technique, "none", None, temperature, arm, item)


class Design:
    """The cells and trials of a study; a `run` (of `bais run`) sets them apart from those of its other runs."""

    def __init__(self, study: Study, run: str | None = None):
        self.study = study
        self.run = run
        self.vignettes = {vignette["vignette"]: vignette for vignette in study.vignettes}
        self.techniques = {technique["technique"]: technique for technique in study.techniques}
        self.paradigms = {paradigm.paradigm: paradigm for paradigm in getattr(study, "paradigm", ())}
        self.items = {item.item: item for of in self.paradigms.values() for item in of.all_items}
        self.judges = getattr(study, "judges", None)
        self._versions = {}
        self._older = collections.defaultdict(list)
        self._asked = ()
        self._names = {}

    def recognise(self, state) -> None:
        """Know the trials of a spool again, also where a bais of old hashed the same template otherwise."""
        self._asked = (state.closed, state.open_calls)
        self._names = state.names
        known = set()
        for prompt_hash, (text, study) in state.templates.items():
            for is_anchored in (False, True):
                with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):  # it is no template
                    today = template_hash(template_of(text, study, is_anchored=is_anchored))
                    known.add(today)
                    if prompt_hash not in (today, *self._older[today]):
                        self._older[today].append(prompt_hash)
        self._go_on_with_words(known)

    def _go_on_with_words(self, known):
        """Ask with the words that hung on a reading once, where a spool holds what was asked with them.

        Of two sets of answers the one counts that the study's reading asked for then.
        """

        def is_to_go_on(reading, before, today):
            return not known.isdisjoint(before) and (reading == "first_word" or known.isdisjoint(today))

        for name, paradigm in self.paradigms.items() if self.study.answer_format is None else ():
            before = paradigm.as_asked_before()
            if before and is_to_go_on(paradigm.answer.reading, self._hashes_of(before), self._hashes_of(paradigm)):
                self.paradigms[name] = before
        before = self.judges.as_asked_before() if self.judges else None
        if before:
            hashes = ([of.prompt_version(role)[0] for role in of.roles] for of in (before, self.judges))
            if is_to_go_on(before.reading, *hashes):
                self.judges = before
        self._versions = {}

    def _hashes_of(self, paradigm):
        return [
            paradigm.version(vignette, self.techniques[technique], arm)[0]
            for vignette in self.vignettes.values()
            if vignette["paradigm"] == paradigm.paradigm
            for technique, arm in itertools.product(self.techniques_for(paradigm), paradigm.arms)
        ]

    def baseline_cells(self):
        """Return the cells without anchor and technique."""
        if not self.study.baselines:
            return []
        pairs = itertools.product([llm.llm for llm in self.study.llms], self.vignettes)
        conditions = itertools.product(pairs, self.study.temperatures)
        return [Cell(*pair, "no_technique", "none", None, temperature) for pair, temperature in conditions]

    def anchored_cells(self, anchors: dict[tuple[str, str], dict]) -> list[Cell]:
        """Return the cells of all techniques, none where an LLM and vignette lack the `low` or `high` anchor."""
        cells = []
        if self.paradigms:
            return cells
        for llm, vignette, technique, temperature in itertools.product(
            self.study.llms, self.vignettes, self.techniques.values(), self.study.temperatures
        ):
            pairs = list(anchors.get((llm.llm, vignette), {}).items())
            if technique.get("is_also_unanchored"):
                pairs.insert(0, ("none", None))
            cells += [
                Cell(llm.llm, vignette, technique["technique"], direction, value, temperature)
                for direction, value in pairs
            ]
        return cells

    def paradigm_cells(self) -> Sequence[Cell]:
        """Return the cells of the paradigms: every technique in every arm, with every item."""
        llms = [llm.llm for llm in self.study.llms]
        return Grid(
            [
                (
                    llms,
                    [vignette["vignette"]],
                    self.techniques_for(paradigm),
                    self.study.temperatures,
                    paradigm.arms,
                    items or [None],
                )
                for vignette in self.vignettes.values()
                if (paradigm := self.paradigm_of(vignette["vignette"]))
                for items in [[item.item for item in paradigm.all_items]]
            ],
            _arm_cell,
        )

    def techniques_for(self, paradigm: Paradigm) -> list[str]:
        """Return the techniques that are for what a paradigm asks for."""
        return [name for name, technique in self.techniques.items() if is_for(technique, paradigm.answer.kind)]

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
            return Cell(
                judge, judges.paradigm, "no_technique", "none", None, judges.temperature, item=item, judged=name,
                role=role,
            )  # fmt: skip

        return Grid([([judge.llm for judge in judges.llms], texts)], cell)

    def stated(self) -> dict[str, list[dict]]:
        """Return what models need to know of the paradigms, and of judgements: measures and contrasts."""
        paradigms = self.paradigms.values()
        if not paradigms:
            return {}
        judges = [self.judges] if self.judges else []
        return {
            "paradigms": [row for of in [*paradigms, *judges] for row in of.rows()],
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
        """Return what a vignette can be asked with: whether anchored, and in which arm of its paradigm."""
        paradigm = self.paradigm_of(vignette)
        return [(False, arm) for arm in paradigm.arms] if paradigm else [(False, None), (True, None)]

    def paradigm_of(self, vignette: str) -> Paradigm | None:
        """Return the paradigm that a vignette belongs to; None in anchoring."""
        return self.paradigms.get(self.vignettes[vignette].get("paradigm"))

    def option_order(self, cell: Cell, replicate: int) -> tuple[str, ...] | None:
        """Return the ids of the options in the order in which a trial shows them; None where it shows none.

        It hangs on the vignette, the item and the replicate, so that LLMs, techniques and, if the paradigm says so,
        arms see the same order.
        """
        options = self.vignettes[cell.vignette]["arms"][cell.arm].get("options") if cell.arm else None
        if not options:
            return None
        rule = self.paradigm_of(cell.vignette).options
        if rule.order == AS_WRITTEN:
            return tuple(options)
        of_all = itertools.chain.from_iterable(
            treatment["options"] for treatment in self.vignettes[cell.vignette]["arms"].values()
        )
        order = sorted({*of_all})
        seed = [self.study.order_seed, "options", cell.vignette, cell.item, replicate]
        random.Random(json.dumps(seed if rule.same_across_arms else [*seed, cell.arm])).shuffle(order)
        return tuple(option for option in order if option in options)

    def anchors_from(self, baselines: dict[tuple[str, str], float]) -> dict[tuple[str, str], dict[str, float]]:
        """Derive the `low` and `high` anchors by the study's rule, leaving out pairs that come to the same value."""
        anchors = {}
        if self.paradigms:
            return anchors
        for llm, (name, vignette) in itertools.product(self.study.llms, self.vignettes.items()):
            rule = Anchors.model_validate(vignette["anchors"]) if vignette.get("anchors") else self.study.anchors
            if rule.fixed:
                anchors[llm.llm, name] = {"low": rule.fixed.low, "high": rule.fixed.high}
                continue
            baseline = baselines.get((llm.llm, name))
            if baseline is None:
                continue
            low, high = (round_half_up(baseline, factor) for factor in (rule.proportional.low, rule.proportional.high))
            if low < high:
                anchors[llm.llm, name] = {"low": low, "high": high}
        return anchors

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

    def trial(
        self, cell: Cell, replicate: int, phase: str, order_index: int, attempt_of: str | None = None
    ) -> Trial:  # fmt: skip
        """Return a trial of a cell, with its id and the order of its options."""
        order = self.option_order(cell, replicate)
        return Trial(self._id(cell, replicate, order), cell, replicate, phase, order_index, attempt_of, order)

    def trial_id(self, cell: Cell, replicate: int) -> str:
        """Hash what makes a trial that trial; one that a recognised spool holds keeps the id that it has there."""
        return self._id(cell, replicate, self.option_order(cell, replicate))

    def _id(self, cell, replicate, order):
        hashes = self.prompt_hashes(*cell.asked_with)
        ids = [self._hashed(cell, prompt_hash, replicate, order) for prompt_hash in hashes]
        return next((known for known in ids if self._is_asked(known)), ids[0])

    def _hashed(self, cell, prompt_hash, replicate, order):
        more = [part for part in (order, self.run, self._new_name(cell)) if part]
        key = json.dumps([self.study.study, *cell.key, prompt_hash, replicate, *more])
        return hashlib.sha256(key.encode()).hexdigest()[:32]

    def _new_name(self, cell):
        """Return the name of the paradigm of a trial where its vignette was asked first under another one."""
        name = self.vignettes[cell.vignette]["paradigm"] if cell.arm else None
        first = self._names.get(cell.vignette, name) if cell.arm else None
        return None if first == name else {"paradigm": name}

    def _is_asked(self, trial_id):
        closed, open_calls = self._asked or ((), ())
        return trial_id.encode() in closed or trial_id in open_calls

    def prompt_hashes(self, vignette: str, technique: str, is_anchored: bool, arm: str | None = None) -> list[str]:
        """Return the hash of a template, and those that it has in a recognised spool."""
        today = self.version(vignette, technique, is_anchored, arm)[0]
        return [today, *self._older.get(today, ())]

    def version(self, vignette: str, technique: str, is_anchored: bool, arm: str | None = None) -> tuple[str, str]:
        """Return the hash of the template of a vignette, a technique and an arm or a role, and the template."""
        key = (vignette, technique, is_anchored, arm)
        if key not in self._versions and self.judges and vignette == self.judges.paradigm:
            self._versions[key] = self.judges.prompt_version(arm)
        elif key not in self._versions and arm:
            self._versions[key] = self.paradigm_of(vignette).version(
                self.vignettes[vignette], self._technique(technique), arm, self.study.answer_format
            )
        elif key not in self._versions:
            self._versions[key] = prompt_version(
                self.vignettes[vignette], self._technique(technique), self.study.answer_format,
                self.study.second_anchor, is_anchored=is_anchored,
            )  # fmt: skip
        return self._versions[key]

    def known_anchors(self, decided: list[dict]) -> dict[tuple[str, str], dict]:
        """Return the last anchors that were decided for each LLM and vignette of this version by the rule of today."""
        return {
            (anchor["llm"], anchor["vignette"]): anchor
            for anchor in decided
            if anchor["vignette"] in self.vignettes
            and anchor["rule"] == self.rule(anchor["vignette"])
            and anchor["vignette_version"] == self.vignettes[anchor["vignette"]]["version"]
        }

    def rule(self, vignette: str) -> dict:
        """Return the rule that gives the anchors of a vignette."""
        rule = self.vignettes[vignette].get("anchors") or self.study.anchors.model_dump(exclude_none=True)
        return {name: values for name, values in rule.items() if values}

    def _technique(self, name):
        return self.techniques.get(name) or shipped("techniques")[name]  # a baseline is asked without a technique

    def script(self, cell: Cell, option_order: Sequence[str] | None = None) -> Script:
        """Return what is said in a trial of a cell."""
        vignette, technique = self.vignettes[cell.vignette], self._technique(cell.technique)
        if cell.arm:
            return self.paradigm_of(cell.vignette).script(
                vignette, technique, cell.arm, self.items.get(cell.item), option_order, self.study.answer_format,
                facts_of(cell.llm),
            )  # fmt: skip
        second = self.study.second_anchor if cell.anchor_value is not None else None
        return Script(vignette, technique, cell.anchor_value, second, self.study.answer_format, facts_of(cell.llm))


def round_half_up(value: float, factor: float = 1.0) -> float:
    """Multiply as decimals, as printed, and round halves up: 25 · 0.5 becomes 13 (Python's `round` says 12)."""
    return float(math.floor(Decimal(repr(value)) * Decimal(repr(factor)) + Decimal("0.5")))
