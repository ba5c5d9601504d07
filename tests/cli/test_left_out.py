"""What a study asks no more is decided on no more: `collect` says so, the tables do so, and `--keep` keeps it in."""

import contextlib

import duckdb
import pytest

from bais.main import main
from ingest.land import load
from ingest.land.models import Models

AGAIN = pytest.mark.slow("asks, changes and audits again and again")

STUDY = """
study: small
llms: [{llms}]
vignettes: [burglary]
techniques: [{techniques}]
anchors: {{fixed: {{low: 15, high: 45}}}}
stopping_rule: {{minimum: {minimum}}}
"""
BOTH, TWO = "sim/anchored, sim/steady", "no_technique, sacd"


@pytest.fixture(autouse=True)
def warehouse(tmp_path, monkeypatch):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "data" / "warehouse.duckdb"))


@pytest.fixture
def collect(tmp_path, capsys):
    def run(*options, llms=BOTH, techniques="no_technique", minimum=3):
        path = tmp_path / "study.yaml"
        path.write_text(STUDY.format(llms=llms, techniques=techniques, minimum=minimum))
        capsys.readouterr()
        assert main(["collect", str(path), *options]) == 0
        return "".join(capsys.readouterr())

    return run


def ask(model, columns):
    with contextlib.closing(duckdb.connect()) as memory:
        memory.execute(f"attach '{load.warehouse_path()}' as warehouse (read_only)")
        models = Models(memory, {"raw": "warehouse.raw"}, {"response_source": "recorded"})
        return memory.sql(f"select {columns} from {models.ref(model)} group by all order by all").fetchall()


N_OF_ONE = [("sim/anchored", 9)]
N_OF_BOTH = [*N_OF_ONE, ("sim/steady", 9)]


@AGAIN
def test_a_dropped_llm_is_in_no_decision_and_its_answers_stay_with_the_reason(collect, golden):
    collect()
    assert ask("int_trials_directed", "llm, count(*)") == N_OF_BOTH
    said = collect(llms="sim/anchored")
    golden(said, "9 answers were given")
    golden(said, "9 answers are left out")
    assert ask("int_trials_directed", "llm, count(*)") == N_OF_ONE
    assert ask("int_baselines_read", "llm, count(*)") == [("sim/anchored", 1)]
    assert ask("int_trials_treated", "llm, left_out_because, count(*)") == [
        ("sim/anchored", None, 9), ("sim/steady", "LLM sim/steady", 9),
    ]  # fmt: skip
    assert "left out" not in collect(llms="sim/anchored")


@pytest.mark.slow("collects again and again")
def test_what_is_put_back_counts_again(collect, golden):
    collect()
    collect(llms="sim/anchored")
    golden(collect(), "9 answers are counted again")
    assert ask("int_trials_directed", "llm, count(*)") == N_OF_BOTH
    collect(llms="sim/anchored")
    assert ask("int_trials_directed", "llm, count(*)") == N_OF_ONE


@pytest.mark.slow("audits again and again")
def test_a_smaller_minimum_leaves_out_what_is_beyond_it(collect, golden):
    collect()
    golden(collect(minimum=2), "6 answers were given")
    assert ask("int_trials_directed", "llm, anchor_direction, count(*)") == [
        (llm, direction, 2) for llm in ("sim/anchored", "sim/steady") for direction in ("high", "low", "none")
    ]
    assert set(ask("int_trials_treated", "left_out_because")) == {(None,), ("more than 2 trials of a cell",)}


@AGAIN
def test_a_dropped_technique_is_left_out_too(collect):
    collect(techniques=TWO)
    collect()
    assert ask("int_trials_directed", "technique") == [("no_technique",)]


@AGAIN
def test_keep_keeps_in_what_the_study_asks_no_more_until_no_keep_takes_that_back(collect, golden):
    collect()
    said = collect("--keep", llms="sim/anchored")
    golden(said, "`--keep`", "9 answers")
    assert ask("int_trials_directed", "llm, count(*)") == N_OF_BOTH
    assert "still count" in collect(llms="sim/anchored")
    assert ask("int_trials_directed", "llm, count(*)") == N_OF_BOTH
    golden(collect("--no-keep", llms="sim/anchored"), "no more")
    assert ask("int_trials_directed", "llm, count(*)") == N_OF_ONE


@AGAIN
def test_what_was_kept_says_nothing_of_what_is_dropped_later(collect):
    collect()
    collect("--keep", llms="sim/anchored")
    collect(llms="sim/anchored", minimum=2)
    assert ask("int_trials_directed", "llm, count(*)") == [("sim/anchored", 6), ("sim/steady", 9)]
