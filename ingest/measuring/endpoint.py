"""Embeddings of any endpoint that speaks OpenAI's: each is paid for once, and in the spool before it is used."""

import asyncio
import base64
import time
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime

import numpy as np

from ingest.ask.collector import SLOWEST_BACKOFF_S, cost_of_call
from ingest.ask.spool import EMBEDDINGS, Spool, records_of, spool_folder
from ingest.land.seeds import place_of, seed_rows
from ingest.measuring import N_AT_A_TIME
from ingest.measuring.vectors import Comparison, Vector, of_numbers
from ingest.prompts import text_hash
from ingest.providers import NoReply
from ingest.providers.openai_compatible import OpenAICompatible, address_of
from ingest.studies.llms import Endpoint, Llm
from ingest.studies.parts import Limits
from ingest.texts.redaction import Redaction
from ingest.warehouse import UserError, printable

CANNOT_BE_ASKED = 4
TEXTS_AT_A_TIME = 64
FLOAT = np.dtype("<f4")  # as embeddings are written down


class Ended(UserError):
    """What ended the measuring early; what was measured before is kept."""


class EmbeddingsEndpoint(Comparison):
    """The instrument `endpoint:VENDOR/MODEL`.

    Parameters
    ----------
    study : str
        Whose spool the embeddings go to.
    model : str
    max_cost_usd : float, optional
        What all calls for the study may cost from now on.
    """

    n_at_a_time = N_AT_A_TIME

    def __init__(self, study: str, model: str, max_cost_usd: float | None = None, limits: Limits | None = None):
        self.llm = Llm(llm=model)
        self.name, self.version = f"endpoint:{model}", model
        self.limits, self.max_cost_usd = limits or Limits(), max_cost_usd
        self.price = _prices().get(model)
        self.cost_usd, self.n_unpriced, self.n_calls = 0.0, 0, 0
        self._dearest = 0.0
        endpoint = Endpoint()
        base_url, _, variable = address_of(self.llm, endpoint)
        self._provider = OpenAICompatible(base_url, variable, endpoint, self.limits)
        self._redaction = Redaction([self._provider.secret])
        self._known, self._refused = {}, {}
        self._session = uuid.uuid4().hex
        path = spool_folder(study) / "embeddings" / f"{model.replace('/', '_')}.jsonl"
        with ExitStack() as held:
            self._spool = held.enter_context(Spool(path, EMBEDDINGS))
            self._runner = held.enter_context(asyncio.Runner())
            held.callback(lambda: self._runner.run(self._provider.close()))
            self._held = held.pop_all()
        for record in records_of(path):
            if record.get("kind") == "embeddings":
                self._learn(record)

    def close(self) -> None:
        """Let go of the endpoint and of the spool."""
        self._held.close()

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        """Return the direction of each text; those that no call was made for yet are asked for."""
        unknown = [text for text in dict.fromkeys(texts) if text_hash(text) not in self._known | self._refused]
        for start in range(0, len(unknown), TEXTS_AT_A_TIME):
            self._have(unknown[start : start + TEXTS_AT_A_TIME])
        return [self._vector(text_hash(text)) for text in texts]

    def _vector(self, name):
        if name in self._refused:
            return Vector(reason=self._refused[name])
        return of_numbers(self._known[name])

    def _learn(self, record):
        for name, numbers in zip(record["texts"], record["numbers"], strict=True):
            self._known.setdefault(name, np.frombuffer(base64.b64decode(numbers), FLOAT))

    def _have(self, texts):
        """Have texts embedded in one call; where the endpoint refuses them together, each by itself."""
        try:
            self._ask(texts)
        except NoReply as refused:
            if len(texts) == 1:
                self._refused[text_hash(texts[0])] = refused.reason
                return
            for text in texts:
                self._have([text])

    def _ask(self, texts):
        """Ask until there is an answer; `NoReply` says that these texts are refused."""
        for attempt in range(1, self.limits.attempts + 1):
            self._keep_to_limit()
            asked_at, began = datetime.now(UTC).isoformat(), time.monotonic()
            self.n_calls += 1
            try:
                reply = self._runner.run(self._provider.embed(self.llm, texts))
            except NoReply as problem:
                self._spend(problem)
                if problem.does == "fail":
                    raise
                if problem.does == "stop_llm" or attempt == self.limits.attempts:
                    words = printable(problem.words(self._redaction)) or problem.reason
                    raise Ended(
                        f"{self.llm.llm} could not be asked for embeddings: {problem.reason}, {words}", CANNOT_BE_ASKED
                    ) from None
                rest = problem.retry_after_s
                if rest is None:
                    rest = min(SLOWEST_BACKOFF_S, self.limits.backoff_s * 2 ** (attempt - 1))
                time.sleep(min(rest, self.limits.longest_wait_s))
                continue
            cost, source = self._spend(reply)
            record = {
                "kind": "embeddings", "session": self._session, "asked_at": asked_at,
                "latency_s": round(time.monotonic() - began, 6), "model": self.llm.llm,
                "returned_model": reply.returned_model, "request_id": self._redaction.of_error(reply.request_id),
                "tokens_in": reply.tokens_in, "cost_usd": cost, "cost_source": source,
                "texts": [text_hash(text) for text in texts],
                "numbers": [base64.b64encode(np.array(vector, FLOAT).tobytes()).decode() for vector in reply.numbers],
            }  # fmt: skip
            self._spool.write(record)
            self._learn(record)
            return

    def _spend(self, told):
        """Count what a call cost, and return it with how it is known."""
        cost, source = cost_of_call(told, self.price)
        if cost is not None:
            self.cost_usd += cost
            self._dearest = max(self._dearest, cost)
        elif not isinstance(told, NoReply):
            self.n_unpriced += 1
        return cost, source

    def _keep_to_limit(self):
        if self.max_cost_usd is None:
            return
        if self.n_unpriced:
            raise Ended(
                f"a limit of cost needs prices, and {self.llm.llm} has none in {place_of('embedding_prices')} and "
                "reports none: add it there, or leave the limit out"
            )
        if self.cost_usd + self._dearest > self.max_cost_usd:
            raise Ended(f"ended by the limit of {self.max_cost_usd:g} USD; running it again goes on from there", 0)


def _prices():
    """Return what a model costs, in USD per million tokens in and, as there are none, out."""
    return {row["model"]: (float(row["usd_per_million_tokens"]), 0.0) for row in seed_rows("embedding_prices")}
