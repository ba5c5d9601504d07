"""An LLM that could not be asked is named, with the reason, and makes the exit code 4, whatever else worked."""

import subprocess
import sys
import threading

import pytest

from bais.main import main
from ingest.ask.spool import COLLECTED, spool_folder
from tests.ingest.endpoint import HANGS, Endpoint, answer, error, spooled, study_at

ADVICE = "`--ask-again failed` gives each trial that failed one new replicate"
HOLDER = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1])
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-tests")


@pytest.fixture
def collect(tmp_path, capsys):
    """Collect a study at an endpoint, and return the exit code and what was said."""

    def run(endpoint, *options, loads=False, **study):
        study = {"n": 4, "llms": ["any/broken", "any/model"], "limits": {"concurrency": 1, "attempts": 1}} | study
        (tmp_path / "study.yaml").write_text(study_at(endpoint.url, **study))
        code = main(["collect", str(tmp_path / "study.yaml"), *options, *([] if loads else ["--no-load"])])
        return code, "".join(capsys.readouterr())

    return run


WAYS = {
    "a bad request": (lambda request: error(400, "the model is asleep"), "http_400: the model is asleep"),
    "an upstream": (lambda request: error(500, "the model is asleep"), "http_500: the model is asleep"),
    "silence": (lambda request: HANGS, "timeout: no answer within 0.05 s"),
}


@pytest.mark.parametrize(("way", "n"), [("a bad request", 2), ("silence", 2), ("an upstream", 11)])  # 10: given up
def test_an_llm_that_never_answers_is_exit_code_4_and_again_until_it_was_asked_again(collect, way, n):
    act, why = WAYS[way]
    is_broken = True
    limits = {"concurrency": 1, "attempts": 1, "timeout_s": 0.05 if way == "silence" else 20}

    def decide(request):
        return act(request) if is_broken and request.model == "any/broken" else None

    with Endpoint(decide) as endpoint:
        study = {"n": n, "limits": limits}
        codes = []
        for _ in range(6):
            n_before = len(endpoint.requests)
            code, said = collect(endpoint, **study)
            codes.append(code)
            assert said.count("any/broken") == 1
            assert why in said
            assert ADVICE in said
            if len(endpoint.requests) == n_before:
                break
        assert len(endpoint.requests) == n_before  # nothing is left to ask, and it is said all the same
        assert set(codes) == {4}
        assert collect(endpoint, "--strict", **study)[0] == 4
        is_broken = False
        code, said = collect(endpoint, "--ask-again", "failed", **study)
        assert (code, "any/broken" in said) == (0, False)
        assert collect(endpoint, **study)[0] == 0


def test_an_llm_of_which_a_trial_failed_and_others_did_not_was_asked(collect):
    def decide(request):
        return error(400) if request.number in (3, 9, 15) else None

    with Endpoint(decide) as endpoint:
        assert collect(endpoint, n=8)[0] == 0
        assert collect(endpoint, n=8)[0] == 0


def test_an_llm_that_stopped_answering_in_the_last_session_is_named_until_it_answers(collect, monkeypatch, golden):
    is_broken = False

    def decide(request):
        return error(500, "gone") if is_broken and request.model == "any/broken" else None

    with Endpoint(decide) as endpoint:
        assert collect(endpoint, n=2)[0] == 0
        is_broken = True
        for _ in range(2):
            code, said = collect(endpoint, n=4)
            assert code == 4
            golden(said, "any/broken", "http_500", "4 trials")
        is_broken = False
        assert collect(endpoint, n=5)[0] == 0


@pytest.mark.parametrize("variable", ["NO_SUCH_KEY", "BLANK_KEY"])
def test_an_llm_without_a_key_is_named_and_the_others_are_asked(collect, monkeypatch, variable, golden):
    monkeypatch.setenv("BLANK_KEY", " ")
    locked = {"llm": "any/locked", "api_key_env": variable}
    with Endpoint() as endpoint:
        for n_asked in (8, 8):
            code, said = collect(endpoint, llms=[locked, "any/model"])
            assert code == 4
            golden(said, "any/locked", str(endpoint.url))
            assert variable in said
            assert "16 trials planned" in said
            assert len(endpoint.requests) == n_asked
        monkeypatch.setenv(variable, "sk-another")
        assert collect(endpoint, llms=[locked, "any/model"])[0] == 0
        assert len(endpoint.requests) == 16
        monkeypatch.delenv(variable)
        code, said = collect(endpoint, llms=[locked, "any/model"])
        assert (code, "any/locked" in said) == (0, False)  # there is nothing left to ask it


def test_where_no_llm_has_a_key_nothing_is_asked_and_it_is_exit_code_2(collect, monkeypatch, golden):
    monkeypatch.delenv("OPENAI_API_KEY")
    with Endpoint() as endpoint:
        code, said = collect(endpoint, llms=["any/one", {"llm": "any/two", "api_key_env": "NO_SUCH_KEY"}])
        assert endpoint.requests == []
    assert (code, said.count("\n")) == (2, 1)
    golden(said, "OPENAI_API_KEY")
    assert not (spool_folder("faults") / COLLECTED).exists()


def test_a_collector_that_meets_another_writer_of_the_warehouse_waits_for_it(collect, warehouse, query):
    with Endpoint(lambda request: answer(request)) as endpoint:
        assert collect(endpoint, loads=True, n=1, llms=["any/model"])[0] == 0
        command = [sys.executable, "-c", HOLDER, str(warehouse)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout.readline() == b"ready\n"
            is_asked = threading.Event()

            def let_go():
                is_asked.wait(timeout=60)
                holder.stdin.close()

            endpoint.decide = lambda request: is_asked.set() or answer(request)
            releasing = threading.Thread(target=let_go)
            releasing.start()
            code, said = collect(endpoint, loads=True, n=4, llms=["any/model"])
            releasing.join()
    assert (code, query("select count(*) from raw.trials")) == (0, [(8,)])
    assert "6 trials added" in said


def test_answers_that_meet_a_writer_who_stays_are_kept_said_to_be_and_load_on_the_next_run(
    collect, warehouse, query, monkeypatch
):
    monkeypatch.setattr("ingest.warehouse.PATIENCE_S", 0)
    with Endpoint(lambda request: answer(request)) as endpoint:
        assert collect(endpoint, loads=True, n=1, llms=["any/model"])[0] == 0
        command = [sys.executable, "-c", HOLDER, str(warehouse)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout.readline() == b"ready\n"
            code, said = collect(endpoint, loads=True, n=4, llms=["any/model"])
            holder.stdin.close()
        assert code == 2
        assert f"process {holder.pid} " in said
        assert "kept in the spool" in said
        assert len(spooled(spool_folder("faults") / COLLECTED)["trial"]) == 8
        code, said = collect(endpoint, loads=True, n=4, llms=["any/model"])
        assert len(endpoint.requests) == 8
    assert (code, query("select count(*) from raw.trials")) == (0, [(8,)])
    assert "6 trials added" in said
