"""An endpoint on the loopback that speaks chat completions, and misbehaves on purpose.

In a test it runs in a thread: `with Endpoint(decide) as endpoint`. As a program, `python tests/ingest/endpoint.py
[LATENCY_MS]`, it prints its address, answers everything alike, and leaves when its stdin closes.
"""

import asyncio
import contextlib
import json
import socket
import struct
import sys
import threading
import time
from dataclasses import dataclass, field

REASONS = {200: "OK", 400: "Bad Request", 429: "Too Many Requests", 500: "Internal Server Error"}


@dataclass
class Request:
    """What was asked, and whether it was answered: a whole completion was handed to the network."""

    number: int
    at: float
    headers: dict
    body: dict
    is_answered: bool = False

    @property
    def model(self):
        return self.body["model"]

    @property
    def messages(self):
        return self.body["messages"]

    @property
    def turn(self):
        return sum(message["role"] == "assistant" for message in self.messages)

    @property
    def conversation(self):
        """What a request is told apart by: a later turn holds the reply, and each reply is the only one of its kind."""
        return json.dumps([self.model, self.body.get("temperature"), self.messages])


@dataclass(frozen=True)
class Act:
    """What to do with a request. `way`: whole; hang; reset, before or after a part was sent; cut; drip; endless."""

    status: int = 200
    body: object = None
    headers: dict = field(default_factory=dict)
    way: str = "whole"
    is_answer: bool = False


def completion(request, text=..., usage=..., message=None, choice=None, **changes):
    """Return the usual completion, with changes at any level; what is set to `...` is as usual."""
    text = f"Reply {request.number} to this.\n\nAnswer: {10 + request.number % 5}" if text is ... else text
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110} if usage is ... else usage
    said = {"role": "assistant", "content": text, "refusal": None, **(message or {})}
    return {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": request.model,
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": None, "message": said, **(choice or {})}],
        "usage": usage,
        "system_fingerprint": "fp_of_the_day",
    } | changes


def answer(request, *arguments, headers=None, **changes):
    """Answer with a completion."""
    return Act(body=completion(request, *arguments, **changes), headers=headers or {}, is_answer=True)


def error(status, message="something is wrong", headers=None, **more):
    """Answer with an error in OpenAI's form."""
    return Act(status, {"error": {"message": message, "type": "an_error", "code": None, **more}}, headers or {})


def says(body, status=200, headers=None):
    """Answer with bytes or an object, whatever it is; it counts as no answer."""
    return Act(status, body, headers or {})


def study_at(url, *, n=5, turns=1, llms=("any/model",), study="faults", **more):
    """Return the text of a study of `n` trials per LLM and anchor direction, low and high, with `turns` turns each."""
    said = ["{opening}", *["Say more about that."] * max(0, turns - 2), "Your last word? {answer_format}"][:turns]
    limits = {"backoff_s": 0.005, "timeout_s": 20, "concurrency": 16} | more.pop("limits", {})
    content = {
        "study": study,
        "llms": [{"llm": llm, "base_url": url} if isinstance(llm, str) else {"base_url": url, **llm} for llm in llms],
        "vignettes": ["burglary"],
        "techniques": [{"technique": "talk", "turns": said}],
        "anchors": {"fixed": {"low": 3, "high": 9}},
        "baselines": False,
        "stopping_rule": {"minimum": n},
        "limits": limits,
    }
    return json.dumps(content | more)  # which is YAML too


def spooled(path):
    """Return the records of a spool by kind, without a last line that a kill cut off in the midst of its write."""
    records = {"trial": [], "call": [], "prompt": [], "session": [], "anchor": []}
    *whole, _ = path.read_bytes().split(b"\n")
    for line in whole:
        record = json.loads(line)
        records.setdefault(record["kind"], []).append(record)
    return records


HANGS, RESETS = Act(way="hang"), Act(way="reset")


def cut(request):
    """Announce a whole completion and close after half of it."""
    return Act(body=completion(request), way="cut")


def drip(request):
    """Send a completion one byte at a time, so slowly that it never ends."""
    return Act(body=completion(request), way="drip")


def endless(request, status=200):
    """Send a body that never ends, as fast as it is read."""
    return Act(status, b" " * 65536, {"content-length": 10**12}, way="endless")


class Endpoint:
    """A server in a thread of its own.

    Parameters
    ----------
    decide : callable, optional
        From a `Request` to an `Act`; None answers as usual.
    latency_s : float
    """

    def __init__(self, decide=None, latency_s=0.0):
        self.decide, self.latency_s = decide or (lambda request: None), latency_s
        self.requests, self.in_flight, self.most_in_flight = [], 0, 0
        self.changed = threading.Condition()
        self._connections = set()

    def __enter__(self):
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(self._loop.create_server(lambda: _Connection(self), "127.0.0.1"))
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._close)
        self._thread.join()
        self._loop.close()

    def _close(self):
        self._server.close()
        for connection in list(self._connections):
            connection.transport.abort()
        self._loop.call_soon(self._loop.stop)

    @property
    def answered(self):
        return [request for request in self.requests if request.is_answered]

    def wait_until(self, condition, seconds=30):
        """Wait for something that changes with the requests; fail if it does not come."""
        with self.changed:
            assert self.changed.wait_for(condition, seconds), f"it did not come to pass in {seconds} s"

    def wait_for_calls(self, n, seconds=30):
        self.wait_until(lambda: len(self.requests) >= n, seconds)

    def wait_for_answers(self, n, seconds=30):
        self.wait_until(lambda: self.n_answered >= n, seconds)

    n_answered = 0

    def received(self, headers, body):
        with self.changed:
            request = Request(len(self.requests), time.monotonic(), headers, json.loads(body))
            self.requests.append(request)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            self.changed.notify_all()
        return request

    def done(self, request, is_answered):
        with self.changed:
            self.in_flight -= 1
            request.is_answered = is_answered
            self.n_answered += is_answered
            self.changed.notify_all()


class _Connection(asyncio.Protocol):
    def __init__(self, endpoint):
        self.endpoint, self.buffer, self.request = endpoint, bytearray(), None
        self.is_full, self.without_end = False, b""

    def connection_made(self, transport):
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.endpoint._connections.add(self)

    def connection_lost(self, error):
        self.endpoint._connections.discard(self)
        self._done(False)

    def _done(self, is_answered):
        if self.request is not None:
            self.endpoint.done(self.request, is_answered)
            self.request = None

    def data_received(self, data):
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        lines = bytes(self.buffer[:end]).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        size = end + 4 + int(headers.get("content-length", 0))
        if len(self.buffer) < size:
            return
        body = bytes(self.buffer[end + 4 : size])
        del self.buffer[:size]
        self.request = self.endpoint.received(headers, body)
        act = self.endpoint.decide(self.request) or answer(self.request)
        if self.endpoint.latency_s:
            asyncio.get_running_loop().call_later(self.endpoint.latency_s, self._act, act)
        else:
            self._act(act)

    def _act(self, act):
        if act.way == "hang" or self.transport.is_closing():
            return
        if act.way == "reset":
            hard = struct.pack("ii", 1, 0)
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, hard)
            self.transport.abort()
            return
        body = act.body if isinstance(act.body, bytes) else json.dumps(act.body).encode()
        headers = {"content-type": "application/json", "content-length": len(body), **act.headers}
        head = f"HTTP/1.1 {act.status} {REASONS.get(act.status, 'So')}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
        if act.way == "whole":
            self.transport.write(head.encode("latin-1") + body)
            self._done(act.is_answer)
            return
        self.transport.write(head.encode("latin-1"))
        if act.way == "cut":
            self.transport.write(body[: len(body) // 2])
            self.transport.close()
        elif act.way == "endless":
            self.without_end = body
            self.resume_writing()
        else:
            self._drip(body, 0)

    def pause_writing(self):
        self.is_full = True

    def resume_writing(self):
        self.is_full = False
        while self.without_end and not self.is_full and not self.transport.is_closing():
            self.transport.write(self.without_end)

    def _drip(self, body, at):
        if not self.transport.is_closing():
            self.transport.write(body[at : at + 1])
            asyncio.get_running_loop().call_later(0.01, self._drip, body, at + 1 if at < len(body) - 2 else at)


class _Same(asyncio.Protocol):
    """Answer every request with the same bytes, after a while."""

    def __init__(self, latency_s):
        self.latency_s, self.buffer = latency_s, b""
        request = Request(1, 0.0, {}, {"model": "any/model", "messages": []})
        body = json.dumps(completion(request)).encode()
        self.response = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        self.response += body

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.buffer += data
        head, found, rest = self.buffer.partition(b"\r\n\r\n")
        if found and len(rest) >= int(head.lower().partition(b"content-length:")[2].split(b"\r", 1)[0]):
            self.buffer = b""
            asyncio.get_running_loop().call_later(self.latency_s, self.transport.write, self.response)


async def serve_the_same(latency_s):
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Same(latency_s), "127.0.0.1")
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve_the_same(float(sys.argv[1] if len(sys.argv) > 1 else 0) / 1000))
