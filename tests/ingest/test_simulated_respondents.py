"""Simulated respondents: the same answers however they are asked."""

import collections
import json
import socket

import pytest

from ingest.ask.collected import load_collected
from ingest.ask.collector import collect
from ingest.ask.spool import COLLECTED, spool_folder
from ingest.studies.study import parse_study

ACCEPTANCE = """
study: acceptance
llms: [sim/anchored, sim/refuser]
vignettes: [burglary, bakery, fever, analyst]
techniques: [no_technique, outside_view, devils_advocate, premortem, random_control, sacd]
anchors: {proportional: {low: 0.5, high: 1.5}}
stopping_rule: {minimum: 30}
"""
SMALL = """
study: small
llms:
  - sim/refuser
  - {{llm: sim/slow, simulated: {{baselines: {{burglary: 30, fall: 36}}, pull: 0.5, noise: 0.3, latency_ms: 1}}}}
vignettes: [burglary, fall]
techniques: [no_technique, premortem, sacd]
anchors: {{proportional: {{}}}}
temperatures: [0, 1]
stopping_rule: {{minimum: 3, maximum: 5, sd_above: 8}}
order_seed: {order_seed}
limits: {{concurrency: {concurrency}}}
"""
UNTOLD = ("session", "asked_at", "finished_at", "decided_at", "started_at", "latency_s")


def spooled(study):
    """Read what is in a spool, times aside: the records of each kind, in an order of their own."""
    records = collections.defaultdict(list)
    for line in (spool_folder(study.study) / COLLECTED).read_text().splitlines():
        record = json.loads(line)
        kept = {key: value for key, value in record.items() if key not in UNTOLD}
        records[record["kind"]].append(json.dumps(kept, sort_keys=True))
    records.pop("session")
    return {kind: sorted(lines) for kind, lines in records.items()}


@pytest.fixture
def in_warehouse(tmp_path, monkeypatch):
    """Go on in another warehouse, with a spool of its own."""

    def change(name):
        monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / name / "warehouse.duckdb"))

    return change


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """What the small study gives when it is asked one call after the other."""
    study = parse_study(SMALL.format(concurrency=1, order_seed=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(tmp_path_factory.mktemp("uninterrupted") / "warehouse.duckdb"))
        collect(study)
        return spooled(study)


@pytest.mark.parametrize("concurrency", [1, 7, 64])
def test_answers_do_not_depend_on_how_many_are_asked_at_a_time(uninterrupted, in_warehouse, concurrency):
    in_warehouse("again")
    study = parse_study(SMALL.format(concurrency=concurrency, order_seed=1))
    outcome = collect(study)
    assert spooled(study) == uninterrupted
    assert outcome.n_done == len(uninterrupted["trial"])
    assert any('"phase": "top-ups"' in trial for trial in uninterrupted["trial"])


@pytest.mark.parametrize("max_calls", [1, 7, 50, 333])
@pytest.mark.slow("a whole study, stopped again and again")
def test_answers_do_not_depend_on_interruptions(uninterrupted, in_warehouse, max_calls):
    in_warehouse("again")
    study = parse_study(SMALL.format(concurrency=5, order_seed=1))
    n_runs = n_calls = 0
    while True:
        outcome = collect(study, max_calls=max_calls if n_runs < 40 else None)
        n_runs, n_calls = n_runs + 1, n_calls + outcome.n_calls
        if not outcome.ended_by:
            break
    assert n_runs == min(n_calls // max_calls, 40) + 1 or n_calls % max_calls == 0
    assert n_calls == len(uninterrupted["call"])  # no call was made twice
    assert spooled(study) == uninterrupted


def test_another_seed_gives_other_answers(uninterrupted, in_warehouse):
    in_warehouse("again")
    study = parse_study(SMALL.format(concurrency=5, order_seed=2))
    collect(study)
    answers = [{json.loads(t)["text"] for t in trials} for trials in (spooled(study)["trial"], uninterrupted["trial"])]
    assert answers[0] != answers[1]


def test_nothing_is_asked_outside_this_process(in_warehouse, monkeypatch):
    def fails(*_):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    monkeypatch.setattr(socket.socket, "connect", fails)
    study = parse_study(SMALL.format(concurrency=5, order_seed=1))
    assert collect(study).n_left == 0
    for kind, key in (("trial", "source"), ("call", "upstream_provider"), ("call", "cost_source")):
        assert {json.loads(record)[key] for record in spooled(study)[kind]} == {"simulated"}


@pytest.mark.slow("a whole study twice")
def test_the_acceptance_study_stopped_half_way_is_the_same_as_uninterrupted(in_warehouse, query, warehouse):
    study = parse_study(ACCEPTANCE)
    in_warehouse("whole")
    outcome = collect(study)
    assert (outcome.n_planned, outcome.n_done, outcome.n_left) == (3120, 3120, 0)
    whole = spooled(study)

    in_warehouse(warehouse.parent.name)
    half = outcome.n_calls // 2
    first = collect(study, max_calls=half)
    assert (first.n_calls, first.ended_by) == (half, f"the limit of {half:,} calls")
    assert 0 < first.n_done < 3120
    second = collect(study)
    assert (first.n_done + second.n_done, second.n_before, second.n_left) == (3120, first.n_done, 0)
    assert first.n_calls + second.n_calls == outcome.n_calls
    load_collected("acceptance")

    again = spooled(study)
    for kind in whole:
        assert again[kind] == whole[kind], kind
    assert query(
        "select phase, count(*), count(distinct trial_id), count(distinct order_index) from raw.trials group by all "
        "order by all"
    ) == [("anchored", 2880, 2880, 2880), ("baselines", 240, 240, 240)]
    assert query("select count(*), count(distinct call_id) from raw.calls") == [(outcome.n_calls,) * 2]


@pytest.mark.parametrize(
    ("truth", "baseline", "low", "high"),
    [
        ("baselines: {fever: 50}", 50, 50, 50),
        ("baselines: {fever: 50}, level: 0.5", 25, 25, 25),
        ("baselines: {fever: 50}, pull: 0.5", 50, 40, 60),  # anchors 30 and 70, half the way
        ("baselines: {fever: 50}, pull: -1", 50, 70, 30),
        ("baselines: {fever: 25}, pull: 0.5", 25, 28, 48),  # 27.5 and 47.5 go up
        ("baselines: {fever: 25}, pull: 0.5, decimals: 1", 25, 27.5, 47.5),
        ("baselines: {fever: 50}, pull: 5", 50, 0, 100),  # -50 and 150 are no scores
        # 50 · 0.8 + 0.5 · 2 · (anchor - 50)
        ("baselines: {fever: 50}, pull: 0.5, techniques: {no_technique: {pull: 2, shift: -0.2}}", 50, 30, 70),
        ("baselines: {fever: 50}, pull: 0.5, techniques: {sacd: {pull: 2, shift: -0.2}}", 50, 40, 60),
    ],
)
def test_an_answer_is_what_the_truth_says_of_it(truth, baseline, low, high):
    study = parse_study(f"""
study: small
llms: [{{llm: sim/me, simulated: {{{truth}, formats: [bold]}}}}]
vignettes: [fever]
techniques: [no_technique]
anchors: {{fixed: {{low: 30, high: 70}}}}
stopping_rule: {{minimum: 2}}
""")
    collect(study)
    answers = collections.defaultdict(set)
    for record in map(json.loads, spooled(study)["trial"]):
        answers[record["anchor_direction"]].add(float(record["text"].strip("*")))
    assert answers == {"none": {baseline}, "low": {low}, "high": {high}}
