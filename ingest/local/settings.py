"""What a technique says of its method: the numbers that document C prints, and what it leaves open, as data."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter

from ingest.texts.files import Finite, Part, Positive, Share

NonEmpty = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=1_000)]
MOST_PREFIX_TOKENS = 29  # document C, table A5: fewer than 30


def _pattern(value):
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None
    return value


class AttentionSort(Part):
    """Paragraphs from the least to the most attended, several times over."""

    method: Literal["attention_sort"]
    iterations: Count
    segment: Annotated[str, Field(pattern=r"\{segment\}")]
    prompt: Annotated[str, Field(pattern=r"\{segments\}")]


class ForcedBalancedCoverage(Part):
    """Words of parts that are covered too little become `gamma` times as likely."""

    method: Literal["forced_balanced_coverage"]
    gamma: Annotated[float, Field(gt=1, allow_inf_nan=False)]
    threshold: Share


class WeightedTokenDecoding(Part):
    """Negative words become `w_neg` times as likely, keywords of the middle `w_mid` times."""

    method: Literal["weighted_token_decoding"]
    w_neg: Positive
    w_mid: Positive
    n_middle_keywords: Count
    negative_words: list[NonEmpty] = Field(min_length=1)


class Mirostat(Part):
    """The temperature follows how surprising the tokens are: `mu_star` is the aim, in nats, `eta` the pace."""

    method: Literal["mirostat"]
    mu_star: Positive
    eta: Positive
    initial_mu: Finite


class RejectionSampling(Part):
    """The likeliest token is not taken where it makes coverage less even; then the next `k` are drawn from."""

    method: Literal["rejection_sampling"]
    k: Count


class SelfDebias(Part):
    """What a biased second pass likes better becomes exp(`lambda` · difference) times as likely."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    method: Literal["self_debias"]
    strength: Annotated[Positive, Field(alias="lambda")]
    refresh_every: Count
    prefix: NonEmpty


class ExplanationGuard(Part):
    """Every `check_every` tokens the LLM says why it goes on so; what it says may have the token drawn again."""

    method: Literal["explanation_guard"]
    check_every: Count
    most_rejections: Count
    explanation_tokens: Count
    question: Annotated[str, Field(pattern=r"\{continuation\}")]
    rejects: list[Annotated[NonEmpty, AfterValidator(_pattern)]] = Field(min_length=1)


Decoding = Annotated[
    AttentionSort
    | ForcedBalancedCoverage
    | WeightedTokenDecoding
    | Mirostat
    | RejectionSampling
    | SelfDebias
    | ExplanationGuard,
    Field(discriminator="method"),
]


def parse_decoding(given: dict) -> Decoding:
    """Read what a technique says under `decoding`."""
    return TypeAdapter(Decoding).validate_python(given)
