"""Ask any endpoint that speaks OpenAI's chat completions, through the `openai` package."""

import email.utils
import json
import os
import time
from urllib.parse import urlsplit

from ingest.providers import NoReply, Reply
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


def address_of(llm, endpoint):
    """Say where an LLM is asked, under which name, and which variable holds the key.

    The LLM's own settings come first, then the study's endpoint, then the environment (`OPENAI_BASE_URL`, or OpenRouter
    where `OPENROUTER_API_KEY` is set), then OpenAI.

    Parameters
    ----------
    llm : ingest.study.Llm
    endpoint : ingest.study.Endpoint

    Returns
    -------
    tuple of str
        Base address, model name, name of the variable.
    """
    base_url = llm.base_url or endpoint.base_url or os.environ.get("OPENAI_BASE_URL")
    base_url = base_url or (OPENROUTER if os.environ.get("OPENROUTER_API_KEY") else OPENAI)
    host = urlsplit(base_url).hostname or ""
    default = "OPENROUTER_API_KEY" if host == "openrouter.ai" else "OPENAI_API_KEY"
    variable = llm.api_key_env or endpoint.api_key_env or default
    is_openais = host == "api.openai.com" and llm.llm.startswith("openai/")
    return base_url, llm.model or (llm.llm.partition("/")[2] if is_openais else llm.llm), variable


class OpenAICompatible:
    """One endpoint with one key.

    Parameters
    ----------
    base_url : str
    variable : str
        The environment variable that holds the key.
    endpoint : ingest.study.Endpoint
    limits : ingest.study.Limits

    Raises
    ------
    UserError
        If the variable is not set.
    """

    def __init__(self, base_url, variable, endpoint, limits):
        import httpx
        import openai

        self.secret = os.environ.get(variable, "").strip()
        if not self.secret:
            raise UserError(f"there is no key for {base_url}: set the environment variable {variable}")
        if not (self.secret.isascii() and self.secret.isprintable()):
            raise UserError(f"the environment variable {variable} does not hold a key: it has characters no key has")
        self.openai, self.endpoint, self.base_url = openai, endpoint, base_url
        n = limits.concurrency
        self.client = openai.AsyncOpenAI(
            api_key=self.secret,
            base_url=base_url,
            max_retries=0,
            timeout=limits.timeout_s,
            http_client=openai.DefaultAsyncHttpxClient(
                limits=httpx.Limits(max_connections=n, max_keepalive_connections=n, keepalive_expiry=60),
                timeout=limits.timeout_s,
                follow_redirects=False,
            ),
        )
        self.without_temperature = set()

    async def ask(self, question):
        """Make one call.

        Parameters
        ----------
        question : ingest.providers.Question

        Returns
        -------
        ingest.providers.Reply

        Raises
        ------
        ingest.providers.NoReply
        """
        llm = question.llm
        sent = {"model": address_of(llm, self.endpoint)[1]}
        takes_temperature = llm.accepts_temperature and llm.llm not in self.without_temperature
        if question.temperature is not None and takes_temperature:
            sent["temperature"] = question.temperature
        if llm.max_tokens:
            sent["max_completion_tokens"] = llm.max_tokens
        if llm.top_logprobs:
            sent |= {"logprobs": True, "top_logprobs": llm.top_logprobs}
        recorded = {**sent, **llm.extra}
        if question.temperature is not None and not takes_temperature:
            recorded["not_sent"] = ["temperature"]
        openai = self.openai
        try:
            completion = await self.client.chat.completions.create(
                messages=question.messages, extra_body=llm.extra or None, **sent
            )
        except openai.APIStatusError as error:
            raise self._refused(error, question, recorded) from None
        except openai.APITimeoutError:
            raise NoReply("timeout", "no answer in time", is_throttle=True, parameters=recorded) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise NoReply("connection", f"{type(cause).__name__}: {cause}"[:300], parameters=recorded) from None
        except (openai.OpenAIError, json.JSONDecodeError, UnicodeError, ValueError, TypeError) as error:
            detail = f"{type(error).__name__}: {error}"[:300]
            raise NoReply("broken_answer", detail, http_status=200, parameters=recorded) from None
        return _read(completion, recorded)

    async def close(self):
        """Close the connections."""
        await self.client.close()

    def _refused(self, error, question, recorded):
        """Say what an HTTP status means for the trial."""
        status, body = error.status_code, error.body if isinstance(error.body, dict) else {}
        detail = str(body.get("message") or error.message)[:500]
        code = str(body.get("code") or body.get("type") or "")
        known = {
            "http_status": status,
            "request_id": error.response.headers.get("x-request-id"),
            "parameters": recorded,
        }
        reason = f"http_{status}"
        if status in (400, 422) and "temperature" in recorded and "temperature" in detail.lower():
            self.without_temperature.add(question.llm.llm)
            return NoReply("temperature_rejected", detail, "adapt", **known)
        if "content_filter" in code or "content_policy" in code or "moderation" in code:
            return NoReply("content_filter", detail, "fail", **known)
        if status in STOPS or code == "insufficient_quota":
            return NoReply(reason, f"{STOPS.get(status, 'the quota is used up')}: {detail}", "stop_llm", **known)
        if status in THROTTLES or status in (409, 425) or status >= 500:
            after = _retry_after(error.response.headers)
            return NoReply(reason, detail, "retry", is_throttle=status in THROTTLES, retry_after_s=after, **known)
        return NoReply(reason, detail, "fail", **known)


def _read(completion, recorded):
    """Take an answer apart; one without choices, or not in the agreed form, is none."""
    choices = getattr(completion, "choices", None)
    request_id = getattr(completion, "_request_id", None)
    if not isinstance(choices, list) or not choices or getattr(choices[0], "message", None) is None:
        said = getattr(completion, "error", None)
        detail = f"no choices{f' ({said})' if said else ''}"[:300]
        raise NoReply("empty_answer", detail, http_status=200, request_id=request_id, parameters=recorded)
    choice, usage = choices[0], completion.usage
    message = choice.message
    if message.content is not None and not isinstance(message.content, str):
        raise NoReply(
            "broken_answer", "the content is not text", http_status=200, request_id=request_id, parameters=recorded
        )
    logprobs = choice.logprobs.model_dump(exclude_none=True) if choice.logprobs else None
    cost = getattr(usage, "cost", None)
    return Reply(
        text=message.content,
        finish_reason=choice.finish_reason,
        refusal=message.refusal,
        request_id=request_id or completion.id,
        returned_model=completion.model,
        upstream_provider=getattr(completion, "provider", None),
        system_fingerprint=completion.system_fingerprint,
        parameters=recorded,
        tokens_in=_whole(getattr(usage, "prompt_tokens", None)),
        tokens_out=_whole(getattr(usage, "completion_tokens", None)),
        cost_usd=float(cost) if isinstance(cost, int | float) and 0 <= cost < 1e6 else None,
        http_status=200,
        logprobs=logprobs,
    )


def _whole(value):
    return value if isinstance(value, int) and 0 <= value < 2**62 else None


def _retry_after(headers):
    """Read how long to wait, in seconds or as a date; None if the header is absent or makes no sense."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) / unit
        except ValueError:
            when = email.utils.parsedate_to_datetime(value) if "," in value or ":" in value else None
            seconds = when.timestamp() - time.time() if when else None
        if seconds is not None and seconds == seconds:
            return max(seconds, 0.0)
    return None
