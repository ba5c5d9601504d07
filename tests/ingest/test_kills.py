"""`kill -9` at any moment: what was answered is not asked again, and lands once."""

import collections
import json
import os
import random
import signal
import threading
import time

import pytest

from ingest.ask.collected import load_collected
from ingest.ask.spool import COLLECTED, Spool, spool_folder
from tests.ingest.endpoint import Endpoint, answer, error, spooled, study_at

pytestmark = pytest.mark.slow("programs killed")

IN_FLIGHT = 16


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-tests")


def test_killed_at_20_random_moments_each_turn_is_answered_once_and_each_trial_lands_once(tmp_path, query, forks):
    chance = random.Random(1)
    n_lost = 0
    with Endpoint(latency_s=0.002) as endpoint:
        limits = {"concurrency": IN_FLIGHT}
        (tmp_path / "study.yaml").write_text(study_at(endpoint.url, n=250, turns=3, limits=limits))
        spool = spool_folder("faults") / COLLECTED
        for _ in range(20):
            forks.start("collect", tmp_path / "study.yaml")
            endpoint.wait_for_answers(endpoint.n_answered + chance.randint(1, 90))
            assert forks.kill() == -signal.SIGKILL
            endpoint.wait_until(lambda: endpoint.in_flight == 0)
            n_kept = sum(call["error"] is None for call in spooled(spool)["call"])
            lost_here = endpoint.n_answered - n_kept - n_lost
            assert 0 <= lost_here <= IN_FLIGHT
            n_lost += lost_here
        forks.start("collect", tmp_path / "study.yaml")
        assert forks.ended() == 0
        records = spooled(spool)
    assert len(records["session"]) == 21
    assert len({trial["trial_id"] for trial in records["trial"]}) == len(records["trial"]) == 500
    assert collections.Counter(trial["status"] for trial in records["trial"]) == {None: 500}
    kept = [call for call in records["call"] if call["error"] is None]
    assert len({(call["trial_id"], call["turn"]) for call in kept}) == len(kept) == 1500
    # the first turns of a condition are alike; in a later one stands a reply, of which there is only one
    times = collections.Counter(request.conversation for request in endpoint.answered)
    first = {request.conversation for request in endpoint.requests if request.turn == 0}
    assert len(first) == 2
    n_again = sum(n - (250 if conversation in first else 1) for conversation, n in times.items())
    n_never_continued = sum(times[conversation] - 250 for conversation in first)
    assert n_never_continued <= n_again == n_lost <= 20 * IN_FLIGHT
    load_and_die(query, forks)


def load_and_die(query, forks):
    for when, step in (("before", "insert"), ("after", "insert into raw.trials"), ("before", "commit")):
        forks.start("load", "faults", dies=(when, step))
        assert forks.ended() == -signal.SIGKILL, forks.complaint
    load_collected("faults")
    assert load_collected("faults").n_trials == 0
    assert query("select count(*), count(distinct trial_id) from raw.trials") == [(500, 500)]
    assert query("select count(*), count(distinct call_id) from raw.calls where error is null") == [(1500, 1500)]
    assert query("select count(*), count(distinct (trial_id, turn)) from raw.calls") == [(1500, 1500)]


def test_each_answer_is_in_the_spool_before_the_next_turn_is_sent(tmp_path, forks):
    late = []

    def decide(request):
        if request.turn:
            before = request.messages[-2]["content"].partition("\n")[0]
            late.extend([] if before.encode() in spool.read_bytes() else [before])

    with Endpoint(decide) as endpoint:
        spool = spool_folder("faults") / COLLECTED
        (tmp_path / "study.yaml").write_text(study_at(endpoint.url, n=10, turns=4))
        forks.start("collect", tmp_path / "study.yaml")
        assert forks.ended() == 0
        assert len(endpoint.requests) == 80
    assert late == []


@pytest.mark.parametrize("fault", ["refused", "failed"])
def test_a_trial_that_was_given_up_when_the_kill_came_is_closed_and_not_asked_again(tmp_path, forks, fault):
    acts = {"refused": error(400, "filtered", code="content_filter"), "failed": error(500)}
    with Endpoint(lambda request: acts[fault]) as endpoint:
        (tmp_path / "study.yaml").write_text(study_at(endpoint.url, n=1, limits={"attempts": 2}))
        forks.start("collect", tmp_path / "study.yaml")
        assert forks.ended() == 0
        n_asked = len(endpoint.requests)
        spool = spool_folder("faults") / COLLECTED
        lines = spool.read_bytes().splitlines(keepends=True)
        spool.write_bytes(b"".join(line for line in lines if b'"kind":"trial"' not in line))
        forks.start("collect", tmp_path / "study.yaml")
        assert forks.ended() == 0
        assert len(endpoint.requests) == n_asked
        assert [trial["status"] for trial in spooled(spool)["trial"]] == [fault, fault]


def test_attempts_of_a_killed_run_count(tmp_path, forks):
    def decide(request):
        return error(500) if request.number < 3 else answer(request)

    with Endpoint(decide) as endpoint:
        limits = {"attempts": 4, "concurrency": 1, "backoff_s": 100, "longest_wait_s": 100}
        (tmp_path / "study.yaml").write_text(study_at(endpoint.url, n=1, limits=limits))
        spool = spool_folder("faults") / COLLECTED
        for n in range(3):
            forks.start("collect", tmp_path / "study.yaml")
            endpoint.wait_for_calls(n + 1)
            endpoint.wait_until(lambda: endpoint.in_flight == 0)
            wait_for_lines(spool, b'"kind":"call"', n + 1)
            forks.kill()
        forks.start("collect", tmp_path / "study.yaml")
        assert forks.ended() == 0
        calls = spooled(spool)["call"]
    assert [call["attempt"] for call in calls] == [1, 2, 3, 4, 1]
    assert [call["error"] for call in calls] == ["http_500"] * 3 + [None, None]


def wait_for_lines(path, part, n):
    for _ in range(10**6):
        if path.read_bytes().count(part) >= n:
            return
    raise AssertionError(f"{part} did not come {n} times")


def test_what_is_written_goes_to_the_disk_within_a_second(tmp_path, monkeypatch):
    synced = threading.Event()
    usual = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (usual(file), synced.set()))
    with Spool(tmp_path / "spool.jsonl") as spool:
        for n in range(2):
            synced.clear()
            began = time.monotonic()
            spool.write({"kind": "prompt", "prompt_hash": str(n)})
            assert synced.wait(10)
            assert time.monotonic() - began < 1


def judged_study(url):
    """A study in which one LLM retells 20 texts in two arms, and another judges the texts and the answers."""
    rows = [{"item": f"i{n}", "text": f"text {n}"} for n in range(20)]
    paradigm = {
        "paradigm": "retelling",
        "answer": {"kind": "text"},
        "arms": ["plain", "polite"],
        "contrasts": [["polite", "plain"]],
        "measures": {"tone": {"from": "judgement", "better": "lower"}},
        "items": {"rows": rows},
        "vignettes": [
            {
                "vignette": "retell",
                "case": "{how} {text}",
                "arms": {arm: {"words": {"how": arm}} for arm in ("plain", "polite")},
            }
        ],
    }
    judges = {
        "llms": [{"llm": "any/judge", "base_url": url}],
        "paradigm": "tone",
        "labels": ["kind", "rude"],
        "text": "{text}",
        "question": "Kind or rude? {text}",
        "roles": ["original", "answer"],
        "repeats": 2,
    }
    content = {
        "study": "judged",
        "paradigm": paradigm,
        "llms": [{"llm": "any/model", "base_url": url}],
        "techniques": ["no_technique"],
        "stopping_rule": {"minimum": 1},
        "limits": {"concurrency": 4},
        "judges": judges,
    }
    return json.dumps(content)


def test_killed_in_either_phase_what_is_judged_stays_and_no_judgement_is_made_twice(tmp_path, forks):
    chance = random.Random(2)
    n_lost, before = 0, []
    with Endpoint(latency_s=0.002) as endpoint:
        (tmp_path / "study.yaml").write_text(judged_study(endpoint.url))
        spool = spool_folder("judged") / COLLECTED
        for _ in range(8):
            forks.start("collect", tmp_path / "study.yaml")
            endpoint.wait_for_answers(endpoint.n_answered + chance.randint(10, 25))
            assert forks.kill() == -signal.SIGKILL
            endpoint.wait_until(lambda: endpoint.in_flight == 0)
            records = [json.loads(line) for line in spool.read_bytes().splitlines() if line.endswith(b"}")]
            n_kept = sum(record["kind"] == "call" for record in records)
            n_lost = endpoint.n_answered - n_kept
            judged = [record for record in records if record["kind"] == "judged"]
            assert judged[: len(before)] == before
            before = judged
        forks.start("collect", tmp_path / "study.yaml")
        assert forks.ended() == 0
        records = [json.loads(line) for line in spool.read_bytes().splitlines()]
        assert len(before) == 60
        assert endpoint.n_answered == 40 + 2 * (20 + 40) + n_lost
    trials = {record["trial_id"]: record for record in records if record["kind"] == "trial"}
    assert len(trials) == sum(record["kind"] == "trial" for record in records) == 40 + 2 * (20 + 40)
    calls = [record["trial_id"] for record in records if record["kind"] == "call"]
    assert sorted(calls) == sorted(trials)
    judged = {record["judged"]: record["text"] for record in records if record["kind"] == "judged"}
    assert len(judged) == 20 + 40
    asked = collections.Counter((trial["judged"], trial["role"]) for trial in trials.values() if trial.get("role"))
    assert set(asked.values()) == {2}
    assert all(judged[of] == trials[of]["text"] for of, role in asked if role == "answer")
