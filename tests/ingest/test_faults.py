"""Whatever an endpoint does, each planned trial ends with a status, and nothing is paid for twice."""

import collections
import gzip
import json
import random
import subprocess
import sys

import pytest

from ingest.ask.collected import load_collected
from ingest.ask.collector import collect, read_prices
from ingest.ask.spool import COLLECTED, spool_folder
from ingest.studies.study import parse_study
from ingest.warehouse import ROOT
from tests.ingest.endpoint import (
    HANGS,
    RESETS,
    Endpoint,
    answer,
    completion,
    cut,
    drip,
    endless,
    error,
    says,
    spooled,
    study_at,
)

PACKED = gzip.compress(b" " * 60_000_000, 1)
FAULTS = {
    "429": lambda request: error(429),
    "429 with seconds to wait": lambda request: error(429, headers={"Retry-After": "0.05"}),
    "429 with a date": lambda request: error(429, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
    "429 with nonsense": lambda request: error(429, headers={"Retry-After": "a:b, c"}),
    "429 without a body": lambda request: says(b"", 429),
    "500": lambda request: error(500),
    "500 as a page": lambda request: says(b"<html>\xff\x00", 500, {"content-type": "text/html"}),
    "503": lambda request: error(503, headers={"Retry-After": "-5"}),
    "529": lambda request: error(529),
    "reset": lambda request: RESETS,
    "cut off": cut,
    "truncated JSON": lambda request: says(json.dumps(completion(request)).encode()[:-40]),
    "a page": lambda request: says(b"<html>sign in</html>", headers={"content-type": "text/html"}),
    "no JSON": lambda request: says(b"\xff\xfe\x00 no JSON"),
    "nested without end": lambda request: says(b"[" * 100_000),
    "null": lambda request: says(b"null"),
    "a list": lambda request: says(b"[1, 2]"),
    "a compressed body that is none": lambda request: says(b"none", headers={"content-encoding": "gzip"}),
    "no choices": lambda request: says(completion(request) | {"choices": []}),
    "choices that are text": lambda request: says(completion(request) | {"choices": "none"}),
    "choices of text": lambda request: says(completion(request) | {"choices": ["Answer: 3"]}),
    "a message that is text": lambda request: says(completion(request, choice={"message": "Answer: 3"})),
    "content that is a number": lambda request: says(completion(request, 12)),
    "a failure said with 200": lambda request: says({"error": {"code": 502, "message": "upstream is gone"}}),
    "a failure in the choice": lambda request: says(completion(request, choice={"error": {"message": "gone"}})),
    "content in parts of no text": lambda request: says(completion(request, [{"type": "image_url"}])),
    "content in parts of numbers": lambda request: says(completion(request, [{"type": "text", "text": 3}])),
    "a body without end": endless,
    "an error without end": lambda request: endless(request, 500),
    "a body that is large once it is unpacked": lambda request: says(PACKED, headers={"content-encoding": "gzip"}),
}  # fmt: skip
REASONS = {
    "429": "http_429", "429 with seconds to wait": "http_429", "429 with a date": "http_429",
    "429 with nonsense": "http_429", "429 without a body": "http_429", "500": "http_500", "500 as a page": "http_500",
    "503": "http_503", "529": "http_529", "reset": "connection", "cut off": "connection",
    "truncated JSON": "broken_answer", "a page": "broken_answer", "no JSON": "broken_answer",
    "nested without end": "broken_answer", "null": "empty_answer", "a list": "empty_answer",
    "a compressed body that is none": "connection", "no choices": "empty_answer",
    "choices that are text": "empty_answer", "choices of text": "empty_answer",
    "a message that is text": "empty_answer", "content that is a number": "broken_answer",
    "a failure said with 200": "http_502", "a failure in the choice": "upstream_error",
    "content in parts of no text": "broken_answer", "content in parts of numbers": "broken_answer",
    "a body without end": "too_large", "an error without end": "too_large",
    "a body that is large once it is unpacked": "too_large",
}  # fmt: skip


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-tests")


def gather(endpoint, **study):
    """Collect a study at an endpoint; return the outcome and what is in the spool then."""
    parsed = parse_study(study_at(endpoint.url, **study))
    outcome = collect(parsed)
    return outcome, spooled(spool_folder(parsed.study) / COLLECTED)


def at_first(*acts):
    """Decide to do these first, one per request, and to answer then."""
    return lambda request: acts[request.number](request) if request.number < len(acts) else None


def errors_of(records):
    return [call["error"] for call in records["call"]]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_call_that_fails_is_made_again_and_each_failure_is_kept_with_its_reason(fault):
    with Endpoint(at_first(FAULTS[fault], FAULTS[fault])) as endpoint:
        outcome, records = gather(endpoint, n=1, limits={"concurrency": 1})
    assert errors_of(records) == [REASONS[fault], REASONS[fault], None, None]
    assert [call["attempt"] for call in records["call"]] == [1, 2, 3, 1]
    assert outcome.statuses == {"replied": 2}
    assert endpoint.n_answered == 2


@pytest.mark.parametrize("act", [HANGS, drip], ids=["hangs", "drips"])
def test_an_answer_that_does_not_come_in_time_is_waited_for_no_longer(act):
    with Endpoint(at_first(lambda request: act if act is HANGS else drip(request))) as endpoint:
        _, records = gather(endpoint, n=1, limits={"concurrency": 1, "timeout_s": 0.5})
    assert errors_of(records) == ["timeout", None, None]
    assert records["call"][0]["latency_s"] == pytest.approx(0.5, abs=0.4)


def test_a_trial_whose_calls_all_fail_has_failed_after_as_many_attempts_as_the_study_says():
    with Endpoint(lambda request: error(500) if request.model == "any/broken" else None) as endpoint:
        outcome, records = gather(endpoint, n=2, llms=["any/broken", "any/model"], limits={"attempts": 3})
    assert outcome.statuses == {"failed": 4, "replied": 4}
    assert outcome.n_left == 0
    failed = [trial for trial in records["trial"] if trial["status"] == "failed"]
    assert {(trial["llm"], trial["reason"], trial["n_calls"]) for trial in failed} == {("any/broken", "http_500", 3)}


def test_an_llm_that_fails_and_fails_is_asked_no_more_and_the_others_go_on(golden):
    with Endpoint(lambda request: error(500) if request.model == "any/broken" else None) as endpoint:
        limits = {"attempts": 1, "concurrency": 2}
        outcome, records = gather(endpoint, n=30, llms=["any/broken", "any/model"], limits=limits)
    assert list(outcome.stopped_llms) == ["any/broken"]
    golden(outcome.stopped_llms["any/broken"], "10 trials", "http_500")
    assert collections.Counter(trial["llm"] for trial in records["trial"])["any/model"] == 60


@pytest.mark.slow("a study of hundreds of calls, most of which fail")
def test_among_many_faults_every_trial_ends_with_a_status_and_no_turn_is_answered_twice():
    chance = random.Random(20)
    acts = [act for act in FAULTS.values() for _ in range(4)]
    acts += [lambda request: HANGS, drip] * 2 + [None] * 300
    chance.shuffle(acts)
    with Endpoint(lambda request: act(request) if (act := (acts.pop() if acts else None)) else None) as endpoint:
        outcome, records = gather(endpoint, n=50, turns=3, limits={"timeout_s": 2, "attempts": 8})
    assert (outcome.n_planned, outcome.n_left, outcome.stopped_llms) == (100, 0, {})
    assert len({trial["trial_id"] for trial in records["trial"]}) == len(records["trial"]) == 100
    asked = collections.Counter((call["trial_id"], call["turn"]) for call in records["call"] if call["error"] is None)
    assert set(asked.values()) == {1}
    assert len(asked) == endpoint.n_answered
    by_status = collections.Counter(trial["status"] for trial in records["trial"])
    assert len(asked) == 3 * by_status[None] + sum(
        call["error"] is None
        for call in records["call"]
        if call["trial_id"] in {trial["trial_id"] for trial in records["trial"] if trial["status"]}
    )
    assert by_status[None] > 90
    later = [request.conversation for request in endpoint.answered if request.turn]
    assert len(later) == len(set(later))


ANSWERS = {
    "content_filter": (
        lambda request: answer(request, None, choice={"finish_reason": "content_filter"}), "refused", "content_filter",
    ),
    "filtered before": (
        lambda request: error(400, "the prompt was filtered", code="content_filter"), "refused", "content_filter",
    ),
    "length": (lambda request: answer(request, "I say 1", choice={"finish_reason": "length"}), "unparsed", "cut_off"),
    "refusal": (lambda request: answer(request, None, message={"refusal": "I can't do that."}), "refused", "refusal"),
    "null": (lambda request: answer(request, None), None, None),
    "bad request": (lambda request: error(400, "the context is too long"), "failed", "http_400"),
    "too long": (lambda request: answer(request, "7 " * 300_000), "unparsed", "too_long"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_that_is_no_number_has_a_status_and_is_not_asked_for_again(kind):
    act, status, reason = ANSWERS[kind]
    with Endpoint(act) as endpoint:
        outcome, records = gather(endpoint, n=2)
        assert len(endpoint.requests) == 4
        gather(endpoint, n=2)
        assert len(endpoint.requests) == 4
    assert outcome.n_left == 0
    assert {(trial["status"], trial["reason"]) for trial in records["trial"]} == {(status, reason)}
    if kind == "refusal":
        assert records["trial"][0]["text"] == "I can't do that."


def test_a_study_may_say_that_texts_which_reached_max_tokens_count():
    with Endpoint(ANSWERS["length"][0]) as endpoint:
        _, records = gather(endpoint, n=1, cut_texts="counted")
    assert {(trial["status"], trial["reason"], trial["text"]) for trial in records["trial"]} == {
        (None, None, "I say 1")
    }


def test_after_a_refusal_nothing_more_is_said_in_that_trial():
    with Endpoint(lambda request: ANSWERS["refusal"][0](request) if request.turn == 1 else None) as endpoint:
        _, records = gather(endpoint, n=1, turns=4)
    assert sorted(request.turn for request in endpoint.requests) == [0, 0, 1, 1]
    assert [trial["status"] for trial in records["trial"]] == ["refused", "refused"]


@pytest.mark.parametrize("status", [400, 422])
def test_an_llm_that_rejects_temperature_is_asked_without_it_and_that_is_recorded(status):
    def decide(request):
        if "temperature" in request.body:
            return error(status, "Unsupported value: 'temperature' does not support 0.7 with this model.")
        return None

    with Endpoint(decide) as endpoint:
        outcome, records = gather(endpoint, n=5, temperatures=[0.7], limits={"attempts": 1, "concurrency": 4})
    assert outcome.statuses == {"replied": 10}
    assert 1 <= errors_of(records).count("temperature_rejected") <= 4
    answered = [call["parameters"] for call in records["call"] if call["error"] is None]
    assert answered == [{"model": "any/model", "not_sent": ["temperature"]}] * 10
    assert {trial["temperature"] for trial in records["trial"]} == {0.7}


def test_a_temperature_that_the_study_insists_on_and_the_endpoint_rejects_is_a_failure_and_no_endless_loop():
    llm = {"llm": "any/model", "extra": {"temperature": 5}}
    with Endpoint(lambda request: error(400, "temperature is too high")) as endpoint:
        outcome, _ = gather(endpoint, n=2, llms=[llm], temperatures=[0.7])
        assert len(endpoint.requests) == 4
    assert outcome.statuses == {"failed": 4}


def test_what_an_endpoint_says_of_itself_is_kept_with_the_call():
    def decide(request):
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "cost": 0.0025}
        tokens = [{"token": "12", "logprob": -0.5, "bytes": [49, 50], "top_logprobs": [{"token": "9", "logprob": -1}]}]
        return answer(
            request, "Answer: 12", usage, choice={"logprobs": {"content": tokens}}, model="another/model-2026",
            provider="Somewhere", headers={"x-request-id": "req_77"},
        )  # fmt: skip

    llm = {"llm": "any/model", "model": "its-own-name", "top_logprobs": 2, "max_tokens": 50, "extra": {"seed": 5}}
    with Endpoint(decide) as endpoint:
        outcome, records = gather(endpoint, n=1, llms=[llm], temperatures=[1.0])
    sent = {
        "model": "its-own-name", "temperature": 1.0, "max_completion_tokens": 50, "logprobs": True, "top_logprobs": 2,
        "seed": 5,
    }  # fmt: skip
    call, request = records["call"][0], endpoint.requests[0]
    assert {key: value for key, value in request.body.items() if key != "messages"} == sent
    assert call["parameters"] == sent
    assert (call["requested_model"], call["returned_model"]) == ("its-own-name", "another/model-2026")
    assert (call["upstream_provider"], call["system_fingerprint"]) == ("Somewhere", "fp_of_the_day")
    assert (call["request_id"], call["http_status"], call["finish_reason"]) == ("req_77", 200, "stop")
    assert (call["tokens_in"], call["tokens_out"], call["cost_usd"], call["cost_source"]) == (11, 7, 0.0025, "reported")
    assert call["logprobs"]["content"][0]["top_logprobs"] == [{"token": "9", "logprob": -1}]
    assert records["trial"][0]["llm_returned"] == "another/model-2026"
    assert outcome.cost_usd == 0.005
    assert request.headers["authorization"] == "Bearer sk-of-the-tests"


def odd_answers():
    """Return answers that are whole, and odd."""
    nan = b'{"choices": [{"message": {"content": "Answer: 3"}, "logprobs": {"content": [{"token": "\\ud800\\u0000", '
    nan += b'"logprob": -Infinity}, 7]}}], "usage": {"cost": NaN, "prompt_tokens": true}}'
    return [
        lambda request: answer(request, "\x00\x1b[2JAnswer: 4"),
        lambda request: answer(request, "lone \ud800 half \udfff"),
        lambda request: answer(request, "\u202e\x9b2J \r\n\x07 ümläut \U0001f600 Answer: 5"),
        lambda request: answer(request, ""),
        lambda request: answer(request, "9" * 5000),
        lambda request: answer(request, "\U0001f600" * 500_000),
        lambda request: answer(request, usage="a lot"),
        lambda request: answer(request, usage={"prompt_tokens": -1, "completion_tokens": 1e99, "cost": "free"}),
        lambda request: answer(request, usage={"prompt_tokens": True, "completion_tokens": 10**30, "cost": True}),
        lambda request: answer(request, model={"a": 1}, provider=[1], system_fingerprint=5, id=None),
        lambda request: answer(request, choice={"finish_reason": ["stop"], "logprobs": "none"}),
        lambda request: answer(request, model="m" * 15_000_000),
        lambda request: says({"choices": [{"message": {"content": "Answer: 6"}}]}),
        lambda request: says(nan),
        lambda request: error(400, "\x1b]0;title\x07 \ud800 no", code={"a": 1}),
    ]


def test_odd_answers_reach_the_warehouse_one_row_a_trial_and_a_call(query):
    odd = odd_answers()
    with Endpoint(lambda request: odd[request.number](request) if request.number < len(odd) else None) as endpoint:
        outcome, records = gather(endpoint, n=10, limits={"concurrency": 1})
    assert (outcome.n_left, len(endpoint.requests)) == (0, 20)
    load_collected("faults")
    assert query("select count(*), count(distinct trial_id) from raw.trials") == [(20, 20)]
    assert query("select count(*), count(distinct call_id) from raw.calls") == [(20, 20)]
    texts = {text for (text,) in query("select response_text from raw.trials")}
    assert {"\ufffd\x1b[2JAnswer: 4", "lone \ufffd half \ufffd", "", "9" * 5000, None} <= texts
    assert texts == {trial["text"] for trial in records["trial"]}
    assert query("select count(*) from raw.calls where tokens_in is null and cost_usd is null") == [(5 + 1,)]


def test_a_redirect_is_not_followed_with_the_key():
    with Endpoint() as elsewhere:
        moved = says(b"", 307, {"location": f"{elsewhere.url}/chat/completions"})
        with Endpoint(lambda request: moved) as endpoint:
            outcome, _ = gather(endpoint, n=1)
        assert elsewhere.requests == []
    assert outcome.statuses == {"failed": 2}


PEAK = """
import re, sys
from pathlib import Path
from ingest.ask.collector import collect
from ingest.studies.study import parse_study
outcome = collect(parse_study(sys.argv[1]))
peak = re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())
print(outcome.statuses["failed"], int(peak[1]) // 1024)
"""


@pytest.mark.slow("bodies without end")
def test_bodies_without_end_take_no_more_memory_than_a_few_of_the_largest():
    packed = FAULTS["a body that is large once it is unpacked"]
    with Endpoint(lambda request: packed(request) if request.number % 3 == 0 else endless(request)) as endpoint:
        study = study_at(endpoint.url, n=12, limits={"concurrency": 24, "attempts": 1})
        done = subprocess.run([sys.executable, "-c", PEAK, study], cwd=ROOT, capture_output=True, text=True)
    n_failed, megabytes = map(int, done.stdout.split())
    assert n_failed == 24
    assert megabytes < 300  # 120 of them before anything is asked; 24 whole bodies would be 400 more


PARTS = {
    "parts": ([{"type": "text", "text": "I say "}, {"type": "text", "text": "Answer: 3"}], "I say Answer: 3", None),
    "strings": (["Answer: ", "3"], "Answer: 3", None),
    "reasoning": ([{"type": "thinking", "thinking": []}, {"type": "output_text", "text": "I: 3"}], "I: 3", None),
    "a source": ([{"type": "text", "text": "Answer: 3"}, {"type": "reference", "ids": [1]}], "Answer: 3", None),
    "reasoning alone": ([{"type": "thinking", "thinking": "so"}], None, None),
    "none": ([], None, None),
    "a refusal": ([{"type": "refusal", "refusal": "I can't."}], "I can't.", "refused"),
}  # fmt: skip


@pytest.mark.parametrize("kind", PARTS)
def test_content_that_comes_in_parts_is_the_text_of_its_parts(kind):
    content, text, status = PARTS[kind]
    with Endpoint(lambda request: answer(request, content)) as endpoint:
        _, records = gather(endpoint, n=1)
    assert {(trial["text"], trial["status"]) for trial in records["trial"]} == {(text, status)}


USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "cost": 0.25}
FAILED_AND_PAID = {
    "no choices": lambda request: says(completion(request, usage=USAGE) | {"choices": []}),
    "an upstream that failed": lambda request: says({"error": {"code": 502, "message": "gone"}, "usage": USAGE}),
    "no text": lambda request: says(completion(request, 12, usage=USAGE)),
    "an error": lambda request: says({"error": {"message": "gone"}, "usage": USAGE}, 500),
    "a filter": lambda request: says({"error": {"message": "no", "code": "content_filter"}, "usage": USAGE}, 400),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAILED_AND_PAID)
def test_a_cost_that_is_reported_counts_though_there_is_no_answer(query, kind):
    with Endpoint(FAILED_AND_PAID[kind]) as endpoint:
        outcome, records = gather(endpoint, n=1, limits={"attempts": 1})
    assert (outcome.cost_usd, outcome.n_unpriced, outcome.n_replies) == (0.5, 0, 0)
    assert {call["cost_source"] for call in records["call"]} == {"reported"}
    load_collected("faults")
    assert query("select sum(cost_usd), sum(tokens_in), sum(tokens_out) from raw.calls") == [(0.5, 22, 14)]


def test_a_limit_of_cost_is_not_exceeded_by_answers_that_failed():
    with Endpoint(FAILED_AND_PAID["no choices"]) as endpoint:
        parsed = parse_study(study_at(endpoint.url, n=5, llms=[next(iter(read_prices()))], limits={"attempts": 2}))
        outcome = collect(parsed, max_cost_usd=1.0)
    assert outcome.cost_usd == 0.75  # the next call would exceed it
    assert len(endpoint.requests) == 3
