"""Each bench of `make bench`, at a hundredth of its size and in a folder of its own, so that none rots."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.ratios import BENCHES, is_met, rows_of, table

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.slow("runs every bench")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """From a module of `tests/tools` and its arguments to how it ended, without any archive and where nothing is."""
    monkeypatch.chdir(tmp_path)
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "BAIS_SHARED": str(tmp_path / "none"),
        "BAIS_WAREHOUSE": str(tmp_path / "none.duckdb"),
        "BAIS_RESAMPLES": "100",
    }

    def run(module, *arguments, **more):
        command = [sys.executable, "-m", f"tests.tools.{module}", *arguments, "--scale=0.01"]
        return subprocess.run(command, env=environment | more, capture_output=True, text=True)

    return run


@pytest.mark.parametrize("bench", BENCHES)
def test_a_bench_runs_to_its_end_and_records_its_ratios(bench, run, request):
    more = {"BAIS_WAREHOUSE": str(request.getfixturevalue("simulated").path)} if bench == "bench_page" else {}
    done = run(bench, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = rows_of(bench)
    assert rows
    found = [row for row in rows if "ratio" in row]
    for row in found:
        assert math.isfinite(row["ratio"])
        assert row["ratio"] > 0
        assert row["what"] in done.stdout
    if not found:
        pytest.skip(done.stdout)


def test_a_bench_that_fails_is_named_after_the_table_and_keeps_no_other_from_running(run):
    done = run("ratios", "bench_none", "bench_measuring", "bench_inference_none")
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1] == "failed: bench_none, bench_inference_none"
    assert "MiniLM" in done.stdout.split("beside")[1]


def test_the_table_marks_what_misses_its_goal_and_ends_with_what_was_left_out():
    rows = [
        {"what": "a build", "peer": "an empty one", "ratio": 2.5, "goal": "at most 2"},
        {"what": "a page", "peer": "a bare one", "ratio": 2.5, "goal": "at least 2"},
        {"what": "a fit", "peer": "another", "ratio": 1234.5, "goal": ""},
        {"what": "a score", "left_out": "no torch"},
    ]
    assert [is_met(row) for row in rows[:3]] == [False, True, True]
    names, line, *found, left_out = table(rows).splitlines()
    assert names.split() == ["what", "beside", "ratio", "goal"]
    assert set(line) <= set("- ─")
    assert [row.split()[-1] for row in found] == ["missed", "2", "1,234"]
    assert left_out == "left out: a score: no torch"
