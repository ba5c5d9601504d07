"""Limits, interruptions, waiting, secrets and damage: a collection behaves, and says what it does."""

import asyncio
import collections
import contextlib
import errno
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from pathlib import Path

import duckdb
import pytest

from bais.main import main as bais
from ingest.ask.collector import Collector, Pace, collect, read_prices
from ingest.ask.spool import COLLECTED, Spool, spool_folder
from ingest.run import main
from ingest.studies.study import parse_study
from ingest.warehouse import ROOT, UserError
from tests.ingest.endpoint import HANGS, Endpoint, answer, error, spooled, study_at

pytestmark = pytest.mark.slow("collects again and again")

CANARY, PART_OF_IT = "sk-canary-4f1d9c", "sk-can"
CONTROL = re.compile(r"[^\n\x20-\x7e\u00a0-\U0010ffff]")
BAIS = Path(sys.executable).parent / "bais"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)


@pytest.fixture
def spool(warehouse):
    return spool_folder("faults") / COLLECTED


def gather(endpoint, max_calls=None, max_cost_usd=None, ask_again=(), **study):
    limits = {"max_calls": max_calls, "max_cost_usd": max_cost_usd, "ask_again": ask_again}
    return collect(parse_study(study_at(endpoint.url, **study)), **limits)


@contextlib.contextmanager
def collecting(folder, endpoint, *options, before=None, **study):
    """Collect in a process of its own, without loading."""
    (folder / "study.yaml").write_text(study_at(endpoint.url, **study))
    command = [str(BAIS), "collect", str(folder / "study.yaml"), "--no-load", *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, text=True, preexec_fn=before, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def answers_in(spool):
    return sum(call["error"] is None for call in spooled(spool)["call"])


def test_no_more_calls_are_made_than_allowed_and_the_next_run_goes_on(spool):
    with Endpoint(lambda request: error(500) if request.number % 3 == 0 else None, latency_s=0.005) as endpoint:
        outcome = gather(endpoint, max_calls=7, n=10)
        assert (len(endpoint.requests), outcome.n_calls, outcome.ended_by) == (7, 7, "the limit of 7 calls")
        again = gather(endpoint, max_calls=10**6, n=10)
        assert endpoint.n_answered == 20
    assert (again.n_left, again.ended_by) == (0, None)
    assert len(spooled(spool)["trial"]) == 20


@pytest.mark.parametrize("n_without_price", [0, 3])
def test_no_call_is_started_that_would_exceed_the_cost(n_without_price):
    def decide(request):
        return answer(request, usage={"cost": 0.01} if request.number >= n_without_price else {})

    with Endpoint(decide, latency_s=0.01) as endpoint:
        outcome = gather(endpoint, max_cost_usd=0.1, n=50, llms=[next(iter(read_prices()))])
    assert outcome.cost_usd <= 0.1
    assert outcome.n_calls in (9, 10)  # those without a price are counted like the others
    assert "0.1 USD" in outcome.ended_by


def test_with_no_money_nothing_is_asked_and_without_a_price_the_limit_is_refused():
    with Endpoint() as endpoint:
        outcome = gather(endpoint, max_cost_usd=0.0, llms=[next(iter(read_prices()))])
        assert (outcome.n_calls, outcome.n_left) == (0, 10)
        with pytest.raises(UserError, match=r"any/model has none in seeds/prices\.csv"):
            gather(endpoint, max_cost_usd=1.0)
        assert endpoint.requests == []


def test_with_a_limit_of_cost_as_many_are_in_flight_as_else_once_the_cost_is_known():
    with Endpoint(lambda request: answer(request, usage={"cost": 0.001}), latency_s=0.1) as endpoint:
        gather(endpoint, max_cost_usd=10.0, n=50, llms=[next(iter(read_prices()))])
    assert endpoint.most_in_flight == 16


def test_the_first_interrupt_lets_what_is_in_flight_finish_and_keeps_it(tmp_path, spool, golden):
    with Endpoint(latency_s=0.3) as endpoint:
        with collecting(tmp_path, endpoint, n=100, turns=2) as process:
            endpoint.wait_for_calls(20)
            process.send_signal(signal.SIGINT)
            said, complained = process.communicate(timeout=20)
        assert (process.returncode, complained) == (130, "")
        golden(said, "interrupted")
        assert len(endpoint.requests) == endpoint.n_answered == answers_in(spool) < 200
        endpoint.latency_s = 0
        assert gather(endpoint, n=100, turns=2).n_left == 0
        assert endpoint.n_answered == 400


@pytest.mark.slow("programs interrupted")
def test_a_second_interrupt_leaves_at_once(tmp_path, spool):
    with Endpoint(lambda request: HANGS if request.number >= 5 else None) as endpoint:
        with collecting(tmp_path, endpoint, n=100, limits={"timeout_s": 500}) as process:
            endpoint.wait_for_calls(21)
            process.send_signal(signal.SIGINT)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.5)
            process.send_signal(signal.SIGINT)
            said, complained = process.communicate(timeout=20)
        assert (process.returncode, complained) == (130, "")
        assert "interrupted" in said
    assert answers_in(spool) == 5


def test_a_second_interrupt_that_comes_before_the_first_phase_is_taken_as_well(monkeypatch):
    async def interrupt_twice(collector, ask_again):
        collector._interrupt()
        collector._interrupt()

    monkeypatch.setattr(Collector, "_phases", interrupt_twice)
    with Endpoint() as endpoint:
        assert gather(endpoint).exit_code == 130
        assert endpoint.requests == []


@pytest.mark.parametrize("rest", [{"headers": {"Retry-After": "250"}}, {}], ids=["asked to wait", "backing off"])
@pytest.mark.slow("programs interrupted")
def test_an_interrupt_does_not_wait_for_what_waits(tmp_path, spool, rest):
    with Endpoint(lambda request: error(429, **rest)) as endpoint:
        with collecting(tmp_path, endpoint, limits={"backoff_s": 60, "concurrency": 8}) as process:
            endpoint.wait_for_calls(1 if rest else 8)
            endpoint.wait_until(lambda: endpoint.in_flight == 0)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
        assert process.returncode == 130
    assert len(spooled(spool)["call"]) == len(endpoint.requests)


def test_a_second_collector_says_so_and_asks_nothing(tmp_path, spool, capsys, golden):
    (tmp_path / "study.yaml").write_text(study_at("http://127.0.0.1:9/v1"))
    with Endpoint(latency_s=0.3) as endpoint, collecting(tmp_path, endpoint) as process:
        endpoint.wait_for_calls(10)
        with Endpoint() as another:
            (tmp_path / "second.yaml").write_text(study_at(another.url))
            assert main([str(tmp_path / "second.yaml")]) == 2
            assert another.requests == []
        process.communicate(timeout=20)
        assert process.returncode == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    golden(captured.err)


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_an_llm_that_cannot_be_asked_is_named_once_and_the_others_go_on(tmp_path, spool, capsys, status):
    def decide(request):
        return error(status, "no \x1b[31m such thing") if request.model == "any/locked" and is_locked else None

    is_locked, command = True, ["collect", str(tmp_path / "study.yaml"), "--no-load"]
    with Endpoint(decide) as endpoint:
        (tmp_path / "study.yaml").write_text(study_at(endpoint.url, llms=["any/locked", "any/model"], n=20))
        assert bais([*command, "--strict"]) == 4
        said = capsys.readouterr().out
        assert said.count("any/locked") == 1
        assert re.search(rf"any/locked is asked no more in this run: http_{status}: .*no \\x1b\[31m such thing", said)
        assert "80 trials planned, 0 collected before, 40 now, 40 left" in said
        assert {trial["llm"] for trial in spooled(spool)["trial"]} == {"any/model"}
        assert bais(command) == 4
        is_locked = False
        assert bais([*command, "--strict"]) == 0
    assert len(spooled(spool)["trial"]) == 80


def test_refusing_an_llm_again_and_again_never_makes_its_trials_fail(spool):
    with Endpoint(lambda request: error(401)) as endpoint:
        for _ in range(4):
            outcome = gather(endpoint, n=1, limits={"attempts": 2, "concurrency": 1})
            assert (outcome.n_done, outcome.n_left, outcome.exit_code) == (0, 2, 4)
    assert [call["attempt"] for call in spooled(spool)["call"]] == [1, 2, 3, 4]


def test_what_was_refused_is_asked_again_only_on_request_as_a_new_replicate(spool):
    refuses = [True, True, False, False, False, False]

    def decide(request):
        is_refused = request.number < 6 and refuses[request.number]
        return answer(request, None, message={"refusal": "No."}) if is_refused or request.number == 6 else None

    with Endpoint(decide) as endpoint:
        study = {"n": 3, "limits": {"concurrency": 1}}
        assert gather(endpoint, **study).statuses == {"refused": 2, "replied": 4}
        assert gather(endpoint, **study).n_calls == 0
        assert gather(endpoint, ask_again=["failed"], **study).n_calls == 0
        assert gather(endpoint, ask_again=["refused"], **study).statuses == {"refused": 1, "replied": 1}
        before = spooled(spool)["trial"]
        gather(endpoint, ask_again=["refused"], **study)
        assert len(endpoint.requests) == 8
    refused = {trial["trial_id"] for trial in before if trial["status"] == "refused" and not trial["attempt_of"]}
    again = [trial for trial in before if trial["attempt_of"]]
    assert {trial["attempt_of"] for trial in again} == refused
    assert {trial["phase"] for trial in again} == {"asked again"}
    assert [trial["replicate"] for trial in again] == [3, 3]  # the first of each anchor direction
    assert len({trial["trial_id"] for trial in before}) == 8


def test_asking_again_for_more_statuses_asks_nothing_twice(spool):
    def decide(request):
        if request.number == 0:
            return error(500)
        return answer(request, None, message={"refusal": "No."}) if request.number in (1, 2, 6) else None

    with Endpoint(decide) as endpoint:
        study = {"n": 3, "limits": {"concurrency": 1, "attempts": 1}}
        assert gather(endpoint, **study).statuses == {"failed": 1, "refused": 2, "replied": 3}
        assert gather(endpoint, ask_again=["refused"], **study).statuses == {"refused": 1, "replied": 1}
        first = spooled(spool)["trial"]
        outcome = gather(endpoint, ask_again=["refused", "failed"], **study)
        assert (outcome.n_planned, outcome.n_before, outcome.n_done, outcome.n_left) == (7, 6, 1, 0)
        assert gather(endpoint, ask_again=["failed", "refused"], **study).n_calls == 0
    trials = spooled(spool)["trial"]
    assert trials[:-1] == first
    ended = {trial["trial_id"]: trial for trial in trials[:6]}
    assert [trial["attempt_of"] for trial in trials[6:]] == [trials[n]["trial_id"] for n in (1, 2, 0)]
    assert all(trial["replicate"] == 3 + ended[trial["attempt_of"]]["replicate"] for trial in trials[6:])


def test_a_trial_that_is_interrupted_while_it_is_asked_again_goes_on_whatever_else_is_asked_again(spool):
    def decide(request):
        if request.number == 0:
            return error(500)
        return answer(request, None, message={"refusal": "No."}) if request.number == 1 else None

    with Endpoint(decide) as endpoint:
        study = {"n": 1, "turns": 2, "limits": {"concurrency": 1, "attempts": 1}}
        assert gather(endpoint, **study).statuses == {"failed": 1, "refused": 1}
        assert gather(endpoint, ask_again=["refused"], max_calls=1, **study).n_left == 1
        assert gather(endpoint, ask_again=["failed", "refused"], **study).n_left == 0
        assert len(endpoint.requests) == 2 + 2 + 2
    again = [trial for trial in spooled(spool)["trial"] if trial["attempt_of"]]
    assert [trial["n_calls"] for trial in again] == [2, 2]


def test_an_endpoint_that_can_take_four_at_a_time_soon_gets_about_four():
    def decide(request):
        return error(429) if endpoint.in_flight > 4 else None

    with Endpoint(decide, latency_s=0.005) as endpoint:
        outcome = gather(endpoint, n=150, limits={"concurrency": 64, "attempts": 30})
        later = endpoint.requests[len(endpoint.requests) // 2 :]
        n_refused = sum(not request.is_answered for request in later)
    assert outcome.statuses == {"replied": 300}
    assert n_refused < len(later) / 3


def test_concurrency_halves_once_per_flood_and_comes_back_with_answers():
    pace = Pace(64)
    began = time.monotonic()
    pace.in_flight = 64
    for _ in range(64):
        pace.leave(began, throttled=True)
    assert pace.limit == 32
    for _ in range(10):
        pace.in_flight = 1
        pace.leave(time.monotonic(), throttled=True)
    assert pace.limit == 1
    for _ in range(3000):
        pace.in_flight = 1
        pace.leave(time.monotonic())
    assert pace.limit == 64


def test_no_place_is_lost_however_calls_come_and_go():
    async def run():
        pace, n = Pace(8), 0

        async def call(i):
            nonlocal n
            await pace.enter()
            assert pace.in_flight <= 8
            began = time.monotonic()
            await asyncio.sleep(0.001 * (i % 3))
            pace.leave(began, throttled=i % 7 == 0, rest_s=0.01 if i % 50 == 0 else None)
            n += 1

        await asyncio.wait_for(asyncio.gather(*map(call, range(400))), 30)
        return n, pace.in_flight

    assert asyncio.run(run()) == (400, 0)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("0.4", 0.4), (lambda: formatdate(time.time() + 2, usegmt=True), 0.9)],
    ids=["seconds", "date"],
)
def test_an_endpoint_that_asks_for_a_pause_gets_it_from_every_trial(value, seconds):
    def decide(request):
        if request.number > 0:
            return None
        return error(429, headers={"Retry-After": value if isinstance(value, str) else value()})

    with Endpoint(decide) as endpoint:
        gather(endpoint, n=3, limits={"concurrency": 1})
        refused, *others = (request.at for request in endpoint.requests)
    assert min(others) - refused >= seconds


def test_a_pause_is_no_longer_than_the_study_allows():
    refused = error(429, headers={"Retry-After": "1e300"})
    with Endpoint(lambda request: refused if request.number < 3 else None) as endpoint:
        assert gather(endpoint, n=3, limits={"longest_wait_s": 0.05}).statuses == {"replied": 6}


def leaks(request):
    """Say the key wherever something can be said."""
    key = request.headers["authorization"].removeprefix("Bearer ")
    if request.model == "any/locked":
        return error(401, f"Incorrect API key provided: {key}", headers={"x-request-id": key})
    if request.number % 4 == 0:
        at_the_cut = "-" * (490 + request.number % 9)
        return error((400, 500)[request.number % 8 == 0], f"{at_the_cut}{key}", headers={"x-request-id": key}, code=key)
    tokens = [{"token": key, "logprob": -1, "top_logprobs": [{"token": key, "logprob": -1}]}]
    said = {"refusal": key} if request.number % 4 == 1 else {}
    choice = {"finish_reason": key, "logprobs": {"content": tokens}}
    more = {"model": key, "provider": key, "system_fingerprint": key, "id": key}
    text = None if said else f"I was given {key}\n\nAnswer: 3"
    return answer(request, text, message=said, choice=choice, headers={"x-request-id": key}, **more)


@pytest.mark.slow("looks through every file that a collection leaves")
def test_a_key_is_nowhere_but_in_the_environment(tmp_path, warehouse, spool):
    with Endpoint(leaks) as endpoint:
        text = study_at(endpoint.url, n=10, turns=2, llms=["any/locked", {"llm": "any/model", "top_logprobs": 1}])
        (tmp_path / "study.yaml").write_text(text)
        command = [sys.executable, str(ROOT / "ingest" / "run.py"), str(tmp_path / "study.yaml")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 4, done.stderr
        assert not any(PART_OF_IT in str(request.messages) for request in endpoint.requests)
    assert "Incorrect API key provided: [key]" in done.stdout
    assert b"[key]" in spool.read_bytes()
    assert PART_OF_IT not in done.stdout + done.stderr
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert warehouse in kept
    assert [path for path in kept if PART_OF_IT.encode() in path.read_bytes()] == []
    with contextlib.closing(duckdb.connect(str(warehouse), read_only=True)) as connection:
        tables = connection.sql("select schema_name, table_name from duckdb_tables()").fetchall()
        assert ("raw", "calls") in tables
        for schema, table in tables:
            rows = connection.sql(f'select * from "{schema}"."{table}"').fetchall()
            assert PART_OF_IT not in repr(rows)


def test_what_an_endpoint_says_cannot_act_on_the_terminal(tmp_path):
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r\x00Answer: 3"

    def decide(request):
        return error(403, evil) if request.model == "any/locked" else answer(request, evil, model=evil)

    with Endpoint(decide) as endpoint, collecting(tmp_path, endpoint, llms=["any/locked", "any/model"]) as process:
        said, complained = process.communicate(timeout=30)
    assert process.returncode == 4
    assert "owned" in said
    assert CONTROL.findall(said + complained) == []
    assert "\u202e" not in said + complained


MORE = pytest.mark.slow("the same with less room, and with more")


@pytest.mark.parametrize("limit", [5_000, pytest.param(0, marks=MORE), pytest.param(60_000, marks=MORE)])
def test_a_full_disk_is_one_sentence_and_the_next_run_asks_only_what_is_missing(tmp_path, spool, limit, golden):
    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    study = {"n": 30, "turns": 2, "limits": {"concurrency": 4}}
    with Endpoint() as endpoint:
        with collecting(tmp_path, endpoint, before=full, **study) as process:
            said, complained = process.communicate(timeout=30)
        assert (process.returncode, said) == (2, ""), complained
        golden(complained)
        n_kept = answers_in(spool)
        assert endpoint.n_answered - n_kept <= 4
        n_before = endpoint.n_answered
        assert gather(endpoint, **study).n_left == 0
        assert endpoint.n_answered - n_before == 120 - n_kept
    assert len(spooled(spool)["trial"]) == 60


def test_a_line_that_the_disk_took_half_of_is_taken_back_and_nothing_follows_it(spool, monkeypatch):
    usual, n_written = os.write, 0

    def write(file, data):
        nonlocal n_written
        if not data.startswith(b'{"kind"'):
            return usual(file, data)
        n_written += 1
        if n_written == 20:
            return usual(file, data[:50])
        return usual(file, data)

    def write_the_rest(file, data):
        if n_written == 20 and not data.startswith(b'{"kind"'):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data)

    monkeypatch.setattr("ingest.ask.spool.os.write", write_the_rest)
    with Endpoint() as endpoint:
        with pytest.raises(UserError, match="No space left on device"):
            gather(endpoint, n=30, limits={"concurrency": 8})
        monkeypatch.undo()
        monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    assert spool.read_bytes().endswith(b"}\n")
    assert sum(map(len, spooled(spool).values())) == 19


def test_a_disk_that_fails_to_keep_what_it_took_ends_the_run(tmp_path, monkeypatch):
    failed = threading.Event()

    def fail(file):
        failed.set()
        raise OSError(errno.EIO, "Input/output error")

    def write_on():
        for _ in range(10_000):
            spool.write({"kind": "prompt"})

    with Spool(tmp_path / "spool.jsonl") as spool:
        monkeypatch.setattr("ingest.ask.spool.os.fsync", fail)
        spool.write({"kind": "prompt"})
        assert failed.wait(10)
        with pytest.raises(UserError, match="Input/output error"):
            write_on()


@pytest.mark.parametrize("kind", ["call", "trial"])
def test_a_torn_last_line_is_put_aside_and_only_it_is_asked_again(spool, capsys, tmp_path, kind):
    with Endpoint() as endpoint:
        (tmp_path / "study.yaml").write_text(study_at(endpoint.url, limits={"concurrency": 1}))
        gather(endpoint, limits={"concurrency": 1})
        lines = spool.read_bytes().splitlines(keepends=True)
        last = max(n for n, line in enumerate(lines) if line.startswith(b'{"kind":"%s"' % kind.encode()))
        spool.write_bytes(b"".join([*lines[:last], lines[last][:-40]]))
        assert main([str(tmp_path / "study.yaml")]) == 0
        assert len(endpoint.requests) == 10 + (kind == "call")
    (aside,) = spool.parent.glob("*.torn-at-*")
    assert aside.read_bytes() == lines[last][:-40]
    said = capsys.readouterr().out
    assert f"it was put aside into {aside}" in said
    assert "10 trials added" in said


def test_lines_that_are_no_records_are_passed_over_and_named(spool, capsys, tmp_path, golden):
    with Endpoint() as endpoint:
        (tmp_path / "study.yaml").write_text(study_at(endpoint.url))
        gather(endpoint)
        lines = spool.read_bytes().splitlines(keepends=True)
        trial = next(line for line in lines if line.startswith(b'{"kind":"trial"'))
        junk = [b"\n", b"junk\n", b'{"kind":"other"\n', b"\0" * 300 + b"\n", b"\xff\xfe\n", b'{"kind":"session", }\n']
        spool.write_bytes(b"".join([*junk, *(trial[:90] + b"\0}\n" if line == trial else line for line in lines)]))
        assert main([str(tmp_path / "study.yaml")]) == 0
        assert len(endpoint.requests) == 10  # the call of the trial that is damaged is there
    said = capsys.readouterr().out
    named = [1, 2, 3, 4, 5, 6, len(junk) + lines.index(trial) + 1]
    golden(said, str(", ".join(map(str, named))))
    assert "10 trials added" in said


def test_a_missing_key_is_said_before_anything_is_asked(tmp_path, monkeypatch, capsys, spool, golden):
    monkeypatch.delenv("OPENAI_API_KEY")
    with Endpoint() as endpoint:
        (tmp_path / "study.yaml").write_text(study_at(endpoint.url))
        assert main([str(tmp_path / "study.yaml")]) == 2
        assert endpoint.requests == []
    golden(capsys.readouterr().err, "OPENAI_API_KEY")
    assert not spool.exists()


def test_two_endpoints_have_a_pace_and_a_key_of_their_own(monkeypatch):
    monkeypatch.setenv("ANOTHER_KEY", "sk-another")
    with Endpoint(lambda request: error(429), latency_s=0.01) as slow, Endpoint() as quick:
        llms = ["any/quick", {"llm": "any/slow", "base_url": slow.url, "api_key_env": "ANOTHER_KEY"}]
        outcome = gather(quick, llms=llms, n=20, limits={"attempts": 2, "concurrency": 4})
    assert quick.n_answered == 40
    assert outcome.stopped_llms.keys() == {"any/slow"}
    assert {request.headers["authorization"] for request in quick.requests} == {f"Bearer {CANARY}"}
    assert {request.headers["authorization"] for request in slow.requests} == {"Bearer sk-another"}


def test_conditions_are_interleaved_as_they_are_asked(spool):
    with Endpoint() as endpoint:
        gather(endpoint, n=20, limits={"concurrency": 1})
        asked = ["3 months" in request.messages[0]["content"] for request in endpoint.requests]
    blocks = [asked[at : at + 2] for at in range(0, 40, 2)]
    assert collections.Counter(map(sum, blocks)) == {1: 20}
    assert len(set(map(tuple, blocks))) == 2
