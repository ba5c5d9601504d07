"""One module per way to ask an LLM: each takes a `Question`, and returns a `Reply` or raises `NoReply`."""

import hashlib
from dataclasses import dataclass, field


@dataclass(slots=True)
class Question:
    """One call to make.

    Attributes
    ----------
    llm : ingest.studies.llms.Llm
    messages : list of dict
    temperature : float or None
    trial : ingest.studies.design.Trial
    turn : int
    step : str
    round : int
    """

    llm: object
    messages: list
    temperature: float | None
    trial: object
    turn: int
    step: str
    round: int


@dataclass(slots=True)
class Reply:
    """What came back. None wherever the endpoint does not say."""

    text: str | None
    finish_reason: str | None = None
    refusal: str | None = None
    request_id: str | None = None
    returned_model: str | None = None
    upstream_provider: str | None = None
    system_fingerprint: str | None = None
    parameters: dict = field(default_factory=dict)
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    http_status: int | None = None
    logprobs: list | None = None


@dataclass(slots=True)
class Embeddings:
    """The numbers that an endpoint makes of texts, in their order, and what that took."""

    numbers: list[list[float]]
    request_id: str | None = None
    returned_model: str | None = None
    parameters: dict = field(default_factory=dict)
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    http_status: int | None = None


class NoReply(Exception):
    """A call without an answer.

    Parameters
    ----------
    reason : str
        A word such as `timeout`, `http_500`, `connection`.
    means : str
        What that means, in words of our own.
    does : {"retry", "adapt", "fail", "stop_llm"}
        What it means for the trial: wait and ask again, ask again at once in another way, give it up, or ask this LLM
        nothing more.
    detail : str
        What the endpoint said, word for word: a key may be in it.
    is_throttle : bool
        Whether the endpoint has too much to do.
    retry_after_s : float or None
        How long the endpoint asked to be left alone.
    http_status : int or None
    request_id : str or None
    parameters : dict
        What was sent.
    tokens_in, tokens_out : int or None
    cost_usd : float or None
        What the endpoint reports all the same.
    """

    def __init__(
        self, reason, means="", does="retry", *, detail="", is_throttle=False, retry_after_s=None, http_status=None,
        request_id=None, parameters=None, tokens_in=None, tokens_out=None, cost_usd=None,
    ):  # fmt: skip
        super().__init__(f"{reason}: {means}" if means else reason)
        self.reason, self.means, self.does, self.detail = reason, means, does, detail
        self.is_throttle, self.retry_after_s = is_throttle, retry_after_s
        self.http_status, self.request_id, self.parameters = http_status, request_id, parameters or {}
        self.tokens_in, self.tokens_out, self.cost_usd = tokens_in, tokens_out, cost_usd

    def words(self, redaction):
        """Say for a person what happened, without keys."""
        return ": ".join(part for part in (self.means, redaction.of_error(self.detail)) if part)


def seed_of(order_seed: int, question: Question, what: str) -> bytes:
    """Return a seed that hangs on what is asked, never on when: the order and the number of calls change nothing."""
    trial = question.trial
    key = repr((order_seed, trial.cell.key, trial.replicate, what))
    return hashlib.sha256(key.encode()).digest()
