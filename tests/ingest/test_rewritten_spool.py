"""A line of the spool that another program wrote again is the same line to whatever reads the spool."""

import dataclasses
import json

import pytest

from bais.health import _spool as of_doctor
from bais.main import main
from ingest.ask.collected import load_collected
from ingest.ask.collector import collect
from ingest.ask.plan import plan_of
from ingest.ask.responses import spooled as relation
from ingest.ask.spool import COLLECTED, read_state, spool_folder
from ingest.studies.study import parse_study
from tests.ingest.endpoint import Endpoint, answer, error, study_at

ODD = "5\u2028\u0085 months \U0001f600 ümläut\r\n\x0b\x0c\x1cAnswer: 5"


def everything_escaped(value):
    """Return JSON in which each character of each text is escaped."""
    if isinstance(value, str):
        units = value.encode("utf-16-be", "surrogatepass").hex()
        return '"' + "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)) + '"'
    if isinstance(value, dict):
        return "{" + ",".join(f"{everything_escaped(key)}:{everything_escaped(of)}" for key, of in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(everything_escaped, value)) + "]"
    return json.dumps(value)


def id_last(record):
    first, *others = record
    return json.dumps({key: record[key] for key in (first, *reversed(others))}, separators=(",", ":"))


FORMS = {
    "keys in another order": lambda record: json.dumps(dict(reversed(record.items())), separators=(",", ":")),
    "sorted keys": lambda record: json.dumps(record, sort_keys=True, separators=(",", ":")),
    "the kind first, the id last": id_last,
    "spaces": lambda record: "  " + json.dumps(record, separators=(" , ", " :\t")) + "\t",
    "no escapes": lambda record: json.dumps(record, ensure_ascii=False),
    "escapes": everything_escaped,
    "Windows' line ends": lambda record: json.dumps(record, separators=(",", ":")) + "\r",
}


def write_again(spool, form):
    records = [json.loads(line) for line in spool.read_bytes().splitlines()]
    spool.write_bytes("".join(f"{form(record)}\n" for record in records).encode())


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-tests")


@pytest.fixture
def spool(warehouse):
    return spool_folder("faults") / COLLECTED


def study_of(endpoint, **more):
    llms = ["any/model", "any/broken"]
    limits = {"concurrency": 1, "attempts": 1}
    return parse_study(study_at(endpoint.url, n=3, turns=3, llms=llms, limits=limits, **more))


def decide(request):
    return error(500, "gone") if request.model == "any/broken" else answer(request, ODD)


def rows_of(spool):
    """Return what DuckDB finds in the spool, by table of `raw`."""
    found = {}
    for table in ("trials", "calls", "prompts"):
        with relation([spool], table) as connection:
            found[table] = [list(map(parsed, row)) for row in connection.sql("from spooled").fetchall()]
    return {table: sorted(rows, key=str) for table, rows in found.items()}


def parsed(value):
    return json.loads(value) if str(value).startswith("{") else value


@pytest.mark.parametrize("name", FORMS)
def test_every_reader_finds_what_it_found_before(spool, name):
    with Endpoint(decide) as endpoint:
        study = study_of(endpoint, baselines=True)
        assert collect(study, max_calls=26).ended_by
        before = dataclasses.asdict(read_state(spool)), rows_of(spool), plan_of(study)["collected"]
        said = list(of_doctor())
        assert before[0]["closed"]
        assert before[0]["open_calls"]
        assert "begun and not finished" in str(said)
        assert before[0].pop("n_bytes") == spool.stat().st_size
        written = spool.read_bytes()
        write_again(spool, FORMS[name])
        assert spool.read_bytes() != written
        after = dataclasses.asdict(read_state(spool)), rows_of(spool), plan_of(study)["collected"]
        assert after[0].pop("n_bytes") == spool.stat().st_size
        assert after == before
        assert list(of_doctor()) == said
        collect(study)
        assert endpoint.n_answered == 3 * 6 + 3  # each turn of the anchored trials, and each baseline, once
        n = len(endpoint.requests)
        write_again(spool, FORMS[name])
        outcome = collect(study)
    assert len(endpoint.requests) == n
    assert (outcome.n_done, outcome.n_left, outcome.exit_code) == (0, 0, 4)
    assert outcome.silent_llms == {"any/broken": "its last 9 trials failed, with http_500: gone"}


@pytest.mark.slow("imports again and again")
def test_what_was_written_again_loads_as_if_it_had_not_been(spool, query):
    rows = "select * exclude (batch_id, _dlt_load_id) from raw.trials order by all"
    with Endpoint(decide) as endpoint:
        collect(study_of(endpoint))
    load_collected("faults")
    landed = query(rows)
    for name in ("escapes", "keys in another order"):
        write_again(spool, FORMS[name])
        loaded = load_collected("faults")
        assert (loaded.n_trials, loaded.n_calls, loaded.n_already_there) == (0, 0, 12)
    assert query(rows) == landed
    assert ODD in {text for (text,) in query("select response_text from raw.trials")}


@pytest.mark.parametrize("name", ["keys in another order", "escapes"])
def test_a_last_line_that_lost_its_end_of_line_is_whole_and_the_next_begins_a_new_one(spool, name):
    with Endpoint(decide) as endpoint:
        study = study_of(endpoint)
        collect(study, max_calls=7)
        write_again(spool, FORMS[name])
        spool.write_bytes(spool.read_bytes()[:-1])
        n_lines, before = len(spool.read_bytes().splitlines()), read_state(spool)
        assert before.n_bytes == spool.stat().st_size
        outcome = collect(study)
        assert endpoint.n_answered == 18
    assert (outcome.torn, outcome.junk) == (None, [])
    assert not list(spool.parent.glob("*.torn-at-*"))
    lines = spool.read_bytes().splitlines()
    assert len(lines) > n_lines
    assert all(json.loads(line) for line in lines)


@pytest.mark.slow("runs an experiment again and again")
def test_results_of_a_run_that_were_written_again_are_analysed_alike(tmp_path, capsys):
    lines = [
        {"experimentId": "anchoring-prosecutor-sentencing", "conditionId": condition, "runIndex": n, "model": "a/b",
         "result": {"sentenceMonths": months + n}, "rawLastMessage": ODD, "error": None}
        for condition, months in (("low-anchor-3mo", 4), ("high-anchor-9mo", 6)) for n in range(3)
    ]  # fmt: skip
    said = set()
    for name, form in {**FORMS, "as it was": json.dumps}.items():
        path = tmp_path / f"{len(said)}-{name.replace(' ', '-')}.jsonl"
        path.write_bytes("".join(f"{form(line)}\n" for line in lines).encode())
        assert main(["analyze", str(path)]) == 0
        said.add(capsys.readouterr().out)
    assert len(said) == 1
