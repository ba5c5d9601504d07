"""Ask any endpoint that speaks OpenAI's chat completions or embeddings, through the `openai` package."""

import asyncio
import contextlib
import email.utils
import functools
import json
import math
import os
import time
import urllib.request
from urllib.parse import urlsplit

from ingest.providers import Embeddings, NoReply, Reply
from ingest.warehouse import UserError

OPENAI = "https://api.openai.com/v1"
OPENROUTER = "https://openrouter.ai/api/v1"
STOPS = {
    401: "the key was refused",
    402: "the account has no credit",
    403: "access was refused",
    404: "there is no such model or address",
}
THROTTLES = (408, 429, 502, 503, 504, 529)
TEXTS, REASONING = ("text", "output_text", None), ("reasoning", "thinking", "redacted_thinking")
OF_THE_BODY = (b"content-encoding", b"content-length", b"transfer-encoding")  # as it was sent
MOST_BYTES = 16 << 20  # of a body, compressed or not
LARGE, MOST_LARGE = (1 << 20, 4)  # so many bodies at a time may be larger than that, as few answers are


def address_of(llm, endpoint) -> tuple[str, str, str]:
    """Say where an LLM is asked, under which name, and which variable holds the key.

    The LLM's own settings come first, then the study's endpoint, then the environment (`OPENAI_BASE_URL`, or OpenRouter
    where `OPENROUTER_API_KEY` is set), then OpenAI for its own LLMs and OpenRouter for others.
    """
    base_url = llm.base_url or endpoint.base_url or os.environ.get("OPENAI_BASE_URL")
    is_of_openai = llm.llm.startswith("openai/")
    base_url = base_url or (OPENAI if is_of_openai and not os.environ.get("OPENROUTER_API_KEY") else OPENROUTER)
    host = urlsplit(base_url).hostname or ""
    default = "OPENROUTER_API_KEY" if host == "openrouter.ai" else "OPENAI_API_KEY"
    variable = llm.api_key_env or endpoint.api_key_env or default
    return (
        base_url,
        llm.model or (llm.llm.partition("/")[2] if is_of_openai and host == "api.openai.com" else llm.llm),
        variable,
    )


def key_at(base_url: str, variable: str) -> str:
    """Return the key for an endpoint, which an environment variable holds."""
    secret = os.environ.get(variable, "").strip()
    if not secret:
        raise UserError(f"there is no key for {base_url}: set the environment variable {variable}")
    if not (secret.isascii() and secret.isprintable()):
        raise UserError(f"the environment variable {variable} does not hold a key: it has characters no key has")
    return secret


class OpenAICompatible:
    """One endpoint with one key.

    Parameters
    ----------
    base_url : str
    variable : str
        The environment variable that holds the key.
    endpoint : ingest.studies.llms.Endpoint
    limits : ingest.studies.parts.Limits

    Raises
    ------
    UserError
        If the variable is not set.
    """

    def __init__(self, base_url, variable, endpoint, limits):
        import httpx2  # what the openai package speaks HTTP with
        import openai

        self.secret = key_at(base_url, variable)
        self.openai, self.raw, self.endpoint = openai, httpx2.Response, endpoint
        self.client = openai.AsyncOpenAI(
            api_key=self.secret,
            base_url=base_url,
            max_retries=0,
            timeout=limits.timeout_s,
            http_client=_http_client(limits.concurrency, limits.timeout_s),
        )
        self.names, self.without_temperature = {}, set()

    async def ask(self, question) -> Reply:
        """Make one call."""
        llm = question.llm
        if llm.llm not in self.names:
            self.names[llm.llm] = address_of(llm, self.endpoint)[1]
        sent = {"model": self.names[llm.llm]}
        takes_temperature = llm.accepts_temperature and llm.llm not in self.without_temperature
        if question.temperature is not None and takes_temperature:
            sent["temperature"] = question.temperature
        if llm.max_tokens:
            sent["max_completion_tokens"] = llm.max_tokens
        if llm.top_logprobs:
            sent |= {"logprobs": True, "top_logprobs": llm.top_logprobs}
        recorded = {**sent, **llm.extra}
        body = {"messages": question.messages, **recorded}
        if question.temperature is not None and not takes_temperature:
            recorded["not_sent"] = ["temperature"]
        response = await self._post("/chat/completions", body, llm, recorded)
        return self._read(response, llm, recorded)

    async def embed(self, llm, texts: list[str]) -> Embeddings:
        """Have texts made into numbers, in one call; what is no number of a text is kept as none."""
        recorded = {"model": address_of(llm, self.endpoint)[1], **llm.extra}
        response = await self._post("/embeddings", {"input": texts, **recorded}, llm, recorded)
        body, facts = _taken_apart(response, recorded)
        data = body.get("data")
        entries = map(_mapping, data if isinstance(data, list) else ())
        vectors = {_whole(entry.get("index")): entry.get("embedding") for entry in entries}
        numbers = [vectors.get(place) for place in range(len(texts))]
        if not all(isinstance(vector, list) and vector for vector in numbers) or len(set(map(len, numbers))) > 1:
            raise NoReply("broken_answer", "it is not one list of numbers for each text", **facts)
        return Embeddings(
            numbers=[[_finite_or_nan(value) for value in vector] for vector in numbers],
            returned_model=_word(body.get("model")),
            **facts | {"tokens_out": 0},
        )

    async def _post(self, path, body, llm, recorded):
        """Send a body, and return what comes back; an error says what it means."""
        openai = self.openai
        try:
            # not `chat.completions.create` or `embeddings.create`: checking what is sent and what comes takes a third
            # of a call's CPU time, and what an endpoint answers in its own way would be lost or an error
            return await self.client.post(path, body=body, cast_to=self.raw)
        except openai.APIStatusError as error:
            raise self._refused(error.status_code, error.body, error.response, llm, recorded, error.message) from None
        except openai.APITimeoutError:
            raise NoReply("timeout", "no answer in time", is_throttle=True, parameters=recorded) from None
        except (openai.OpenAIError, UnicodeError, ValueError, TypeError) as error:
            cause = error.__cause__ or error
            if isinstance(cause, NoReply):
                cause.parameters = recorded
                raise cause from None
            raise NoReply("connection", type(cause).__name__, detail=str(cause), parameters=recorded) from None

    async def close(self):
        """Close the connections."""
        await self.client.close()

    def _refused(self, status, body, response, llm, recorded, detail=""):
        """Say what an error means for the trial."""
        body = _mapping(body)
        detail = str(body.get("message") or detail)
        code = str(body.get("code") or body.get("type") or "")
        facts, reason = _of_call(response, recorded) | {"detail": detail}, f"http_{status}"
        with contextlib.suppress(ValueError, RecursionError):
            facts |= _spent(json.loads(response.content))
        is_sent = "temperature" in recorded and "temperature" not in llm.extra  # to leave it out changes what is sent
        if status in (400, 422) and "temperature" in detail.lower() and is_sent:
            self.without_temperature.add(llm.llm)
            return NoReply("temperature_rejected", "", "adapt", **facts)
        if "content_filter" in code or "content_policy" in code or "moderation" in code:
            return NoReply("content_filter", "", "fail", **facts)
        if status in STOPS or code == "insufficient_quota":
            return NoReply(reason, STOPS.get(status, "the quota is used up"), "stop_llm", **facts)
        if status in THROTTLES or status in (409, 425) or status >= 500:
            after = retry_after(response.headers)
            return NoReply(reason, "", "retry", is_throttle=status in THROTTLES, retry_after_s=after, **facts)
        return NoReply(reason, "", "fail", **facts)

    def _read(self, response, llm, recorded):
        """Take an answer apart; one without choices, or not in the agreed form, is none."""
        body, facts = _taken_apart(response, recorded)
        choices = body.get("choices")
        choice = _mapping(choices[0]) if isinstance(choices, list) and choices else {}
        message, failed = choice.get("message"), choice.get("error")
        failed = failed or (None if choice else body.get("error"))
        if failed:  # the way of those that pass on what another endpoint said
            code = _whole(_mapping(failed).get("code"))
            if code and 400 <= code < 600:
                raise self._refused(code, failed, response, llm, recorded)
            raise NoReply("upstream_error", detail=str(_mapping(failed).get("message") or failed), **facts)
        if not isinstance(message, dict):
            raise NoReply("empty_answer", "no choices" if not choice else "no message", **facts)
        text, refusal = _text_and_refusal(message)
        if not isinstance(text, str | None) or not isinstance(refusal, str | None):
            raise NoReply("broken_answer", "the content is not text", **facts)
        return Reply(
            text=text,
            finish_reason=_word(choice.get("finish_reason")),
            refusal=refusal,
            returned_model=_word(body.get("model")),
            upstream_provider=_word(body.get("provider")),
            system_fingerprint=_word(body.get("system_fingerprint")),
            logprobs=_log_probabilities(choice.get("logprobs")),
            **facts | {"request_id": facts["request_id"] or _word(body.get("id"))},
        )


def _http_client(n, timeout_s):
    """Connect `n` times, each connection by itself, as a pool looks at all of them before each call."""
    import httpx2

    class Client(httpx2.AsyncClient):
        async def send(self, request, *, stream=False, **options):
            response = await super().send(request, stream=True, **options)
            return response if stream else await _with_body(response, request, large)

    large = asyncio.Semaphore(MOST_LARGE)
    settings = {"timeout": timeout_s, "follow_redirects": False}
    if urllib.request.getproxies():
        limits = httpx2.Limits(max_connections=n, max_keepalive_connections=n, keepalive_expiry=60)
        return Client(limits=limits, verify=_certificates(), **settings)

    class Connections(httpx2.AsyncBaseTransport):
        def __init__(self):
            self.free = []
            self.all = []

        async def handle_async_request(self, request):
            if not self.free:
                limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=60)
                self.free.append(httpx2.AsyncHTTPTransport(verify=_certificates(), limits=limits))
                self.all.append(self.free[-1])
            connection = self.free.pop()
            try:
                return await _with_body(await connection.handle_async_request(request), request, large)
            finally:
                self.free.append(connection)

        async def aclose(self):
            for connection in self.all:
                await connection.aclose()

    return httpx2.AsyncClient(transport=Connections(), **settings)


@functools.cache
def _certificates():
    """Return what tells whom to trust, which takes 20 ms to read."""
    import httpx2

    return httpx2.create_ssl_context()


async def _with_body(response, request, large):
    """Return a response with its body, which is read no further than an answer may be long."""
    import httpx2

    parts, size = [], 0
    async with contextlib.AsyncExitStack() as held:
        body = await held.enter_async_context(contextlib.aclosing(response.aiter_bytes()))
        async for part in body:
            parts.append(part)
            if size <= LARGE < size + len(part):
                await held.enter_async_context(large)
            size += len(part)
            if size > MOST_BYTES:
                parts.clear()  # which the traceback would keep
                problem = f"the body is larger than {MOST_BYTES >> 20} MB, and was not read further"
                raise NoReply("too_large", problem, http_status=response.status_code)
    headers = [(name, value) for name, value in response.headers.raw if name.lower() not in OF_THE_BODY]
    return httpx2.Response(
        response.status_code, headers=headers, content=b"".join(parts), request=request, extensions=response.extensions
    )


def _of_call(response, recorded):
    request_id = response.headers.get("x-request-id")
    return {"http_status": response.status_code, "request_id": request_id, "parameters": recorded}


def _taken_apart(response, recorded):
    """Return the body of an answer, and what is known of the call; what is no JSON is no answer."""
    facts = _of_call(response, recorded)
    try:
        body = _mapping(json.loads(response.content))
    except (ValueError, RecursionError) as error:
        raise NoReply("broken_answer", type(error).__name__, detail=str(error), **facts) from None
    return body, facts | _spent(body)


def _spent(body):
    """Return what an endpoint reports that a call took, whether or not there is an answer."""
    usage = _mapping(_mapping(body).get("usage"))
    cost = usage.get("cost")
    is_price = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e6
    return {
        "tokens_in": _whole(usage.get("prompt_tokens")),
        "tokens_out": _whole(usage.get("completion_tokens")),
        "cost_usd": float(cost) if is_price else None,
    }


def _text_and_refusal(message):
    """Return what a message says; of content in parts, those of text follow each other, and reasoning is left out."""
    content, refusal = message.get("content"), message.get("refusal")
    if not isinstance(content, list):
        return content, refusal
    parts = [{"type": "text", "text": part} if isinstance(part, str) else _mapping(part) for part in content]
    texts = [part.get("text") for part in parts if part.get("type") in TEXTS]
    refusals = [part.get("refusal") for part in parts if part.get("type") == "refusal"]
    is_said = all(isinstance(text, str) for text in texts + refusals)
    if not is_said or not (texts or refusals or all(part.get("type") in REASONING for part in parts)):
        return content, refusal
    return "".join(texts) if texts else None, refusal or "".join(refusals) or None


def _mapping(value):
    return value if isinstance(value, dict) else {}


def _word(value):
    return str(value) if isinstance(value, str | int | float) else None


def _whole(value):
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62 else None


def _finite_or_nan(value):
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def _log_probabilities(given):
    """Keep the log-probabilities of the text as they came, without the tokens' bytes, which say the same twice."""
    content = _mapping(given).get("content")
    if not isinstance(content, list):
        return None
    top = [_mapping(entry).get("top_logprobs") for entry in content]
    others = [{"top_logprobs": [*map(_token, entry)]} if isinstance(entry, list) else {} for entry in top]
    return {"content": [_token(entry) | more for entry, more in zip(content, others, strict=True)]}


def _token(given):
    given = _mapping(given)
    value = given.get("logprob")
    is_number = isinstance(value, int | float) and -1e300 < value < 1e300
    return {"token": _word(given.get("token")), "logprob": value if is_number else None}


def retry_after(headers):
    """Read how long to wait, in seconds or as a date; None if the header is absent or makes no sense."""
    for seconds_in in (
        lambda: float(headers["retry-after-ms"]) / 1000,
        lambda: float(headers["retry-after"]),
        lambda: email.utils.mktime_tz(email.utils.parsedate_tz(headers["retry-after"])) - time.time(),
    ):
        with contextlib.suppress(KeyError, TypeError, ValueError, OverflowError):
            if not math.isnan(seconds := seconds_in()):
                return max(seconds, 0.0)
    return None
