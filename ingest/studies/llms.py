"""LLMs as a study names them: where each is asked, what is known of it, and what a simulated one does."""

from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import AfterValidator, Field, model_validator

from ingest.land.seeds import seed_rows
from ingest.local import DEVICES, DTYPES
from ingest.texts.files import KEYS, NO_KEYS, Finite, LlmId, NotNegative, Part, Positive, Share, web_parts

SIMULATED = Path(__file__).resolve().parents[1] / "providers" / "simulated.yaml"


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

    A baseline is a number, or the name of a column of the items that holds that of each.

    An answer is baseline · (1 + shift) + pull · (anchor - baseline) + noise · baseline · N(0, 1), rounded.
    """

    baselines: dict[str, Finite | str] = Field({})
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
    parts = web_parts(value)
    if parts is None:
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
    """An LLM to ask, and how.

    One that `rewrites` sentences is a seq2seq model, which is given each sentence of a text and no question.
    """

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
    rewrites: Literal["sentences"] | None = None
    simulated: Truth | None = None

    @model_validator(mode="after")
    def _is_of_its_kind(self):
        if (self.provider == "local") != (self.engine == "local"):
            raise ValueError("should say `engine: local` and no provider if it runs on this machine")
        of_others = (
            ("base_url", "api_key_env", "top_logprobs", "extra") if self.engine else ("device", "dtype", "rewrites")
        )
        if idle := [key for key in of_others if getattr(self, key)]:
            where = "is asked at an endpoint" if self.engine else "runs on this machine (`engine: local`)"
            raise ValueError(f"{idle[0]} is for an LLM that {where}")
        is_simulated = self.provider == "simulated"
        if is_simulated != (self.simulated is not None) or is_simulated != self.llm.startswith("sim/"):
            raise ValueError(
                "should be named sim/..., with its truth under `simulated`, if it is simulated, and else neither"
            )
        return self

    @property
    def is_free(self) -> bool:
        """Whether its answers cost nothing, since nobody else is asked."""
        return self.provider in ("simulated", "local")


class Endpoint(Part):
    """Where LLMs are asked that do not say so themselves."""

    base_url: Address | None = None
    api_key_env: Variable | None = None


def _full_llm(entry):
    entry = {"llm": entry} if isinstance(entry, str) else entry
    if not isinstance(entry, dict):
        raise ValueError("should be an id such as vendor/name, or a mapping with one under the key llm")
    if entry.get("engine") == "local" and not entry.get("simulated"):
        return {"provider": "local", **entry}
    if str(entry.get("llm", "")).startswith("sim/") and not entry.get("simulated"):
        named = simulated_respondents()
        if entry["llm"] not in named:
            raise ValueError(
                f"{entry['llm']} is not a simulated respondent ({', '.join(named)}): state its truth under `simulated`"
            )
        entry = entry | {"simulated": named[entry["llm"]]}
    return {"provider": "simulated", **entry} if entry.get("simulated") else entry


@cache
def simulated_respondents() -> dict[str, dict]:
    """Return the stated truth of each shipped simulated respondent; it is read once, and nobody changes it."""
    return yaml.safe_load(SIMULATED.read_text(encoding="utf-8"))


def knowledge_cutoffs() -> dict[str, date]:
    """Return the last day that the training data of each LLM may speak of, where it is known."""
    return {row["llm"]: date.fromisoformat(row["cutoff"]) for row in seed_rows("knowledge_cutoffs")}


def anchored_respondents() -> dict[str, dict]:
    """Return the shipped simulated respondents that have baselines, so that they can be asked about vignettes."""
    return {llm: truth for llm, truth in simulated_respondents().items() if "baselines" in truth}


def facts_of(llm: str) -> dict[str, str]:
    """Return what an LLM can be told of itself."""
    cutoff = knowledge_cutoffs().get(llm)
    return {"knowledge_cutoff": f"{cutoff:%B %Y}"} if cutoff else {}
