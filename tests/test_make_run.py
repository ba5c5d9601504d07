"""`make run` in a folder of its own, with stand-ins for Python, its packages and every command but `bais.step`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bais.step import in_a_line, main
from ingest.run import render_verdicts

ROOT = Path(__file__).resolve().parent.parent
LOG = Path("logs", "run", "step.txt")
# what stands in says its arguments, and fails where the step's is named in FAILS
SAYS = """#!/bin/sh
if [ "$2" = bais.step ]; then exec {python} "$@"; fi
echo "$@" >> said
if [ "$1" = -m ]; then exit 0; fi
echo "said: $@"
echo "more of it" >&2
if [ "$1" = "$FAILS" ]; then exit 6; fi
"""
# as `python3 -m venv --clear .venv` would, make an environment of what stands in
MAKES = """#!/bin/sh
if [ "$2" != venv ]; then exit 0; fi
rm -rf .venv; mkdir -p .venv/bin; cp says .venv/bin/python; cp says .venv/bin/bais
"""
N_STEPS = 5


@pytest.fixture
def checkout(tmp_path):
    """A folder with the Makefile, in which `run` runs `make run` and `said` is what stand-ins were asked."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "requirements.lock").write_text("one==1\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    for name, text in (("says", SAYS.format(python=sys.executable)), ("bin/python3", MAKES)):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run(fails="", **more):
        (tmp_path / "said").write_text("")
        outside = {name: of for name, of in os.environ.items() if "MAKE" not in name and name != "MFLAGS"}
        environment = outside | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "FAILS": fails}
        environment |= {"BAIS_SHARED": str(tmp_path / "none")} | more
        done = subprocess.run(["make", "run"], cwd=tmp_path, env=environment, capture_output=True, text=True)
        return SimpleNamespace(
            code=done.returncode, out=done.stdout.splitlines(), said=(tmp_path / "said").read_text().splitlines()
        )

    return SimpleNamespace(run=run, folder=tmp_path)


def test_a_step_that_passes_is_one_line_and_its_file_holds_all_that_it_said(checkout):
    done = checkout.run()
    assert done.code == 0
    lines = [line for line in done.out if line.startswith("build, ")]
    assert lines == ["build, 0 s: said: build (and 1 more line in logs/run/build.txt)"]
    assert (checkout.folder / "logs/run/build.txt").read_text() == "said: build\nmore of it\n"
    assert len(list((checkout.folder / "logs/run").iterdir())) == N_STEPS
    installing, *steps = done.out
    assert "Installing" in installing
    assert len(steps) == N_STEPS
    assert done.said[-1] == "-m bais.ending .venv/bin/bais logs/run/report.txt"


def test_a_step_that_fails_is_shown_whole_with_its_exit_code_and_ends_the_run(checkout):
    done = checkout.run(fails="build")
    assert done.code != 0
    assert done.out[-3:] == [
        "said: build",
        "more of it",
        "build failed after 0 s with exit code 6: what it said stands above, and in logs/run/build.txt",
    ]
    assert done.said[-1] == "build"


def test_archives_that_are_there_are_steps_of_their_own(checkout):
    done = checkout.run(ARCHIVE="a/b", SCORES="c")
    assert "ingest/run.py --archive a/b" in done.said
    assert [line.partition(",")[0] for line in done.out[1:]] == [
        "simulated", "biases-simulated", "content-simulated", "archive", "scores", "build", "report",
    ]  # fmt: skip


def test_packages_are_installed_again_where_the_lock_file_is_another_and_not_where_it_is_newer(checkout):
    lock = checkout.folder / "requirements.lock"
    assert sum(line.startswith("-m pip install") for line in checkout.run().said) == 2
    lock.touch()
    again = checkout.run()
    assert not [line for line in again.said + again.out if "pip" in line or "Installing" in line]
    lock.write_text("one==2\n")
    assert sum(line.startswith("-m pip install") for line in checkout.run().said) == 2


def test_what_a_link_leads_to_is_not_emptied(checkout):
    elsewhere = checkout.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    (checkout.folder / ".venv").symlink_to(elsewhere)
    done = checkout.run()
    assert done.code
    assert any(line.startswith(".venv is a link") for line in done.out)
    assert [path.name for path in elsewhere.iterdir()] == ["kept"]


def verdict(what, llms=(None,), **more):
    """Return a line on batches that passed, one of each LLM, as an import says it."""
    of_batch = {"verdict": "passed", "is_rejected": False, "checks": [], "n_flagged": {}}
    of_batch |= {
        "is_scored": False,
        "is_redefined": False,
        "is_unpublished": False,
        "is_accepted": False,
        "n_trials": 3,
    }
    (line,) = render_verdicts(
        SimpleNamespace(vignette=what, study="s", verdict_id="v", llm_recorded=llm, **of_batch | more) for llm in llms
    )
    return line


def test_the_line_of_an_import_counts_what_it_landed_and_sums_up_what_the_gate_says():
    refused = [{"check_name": "refused", "is_passed": False, "observed_value": 1, "level": "warn"}]
    said = [
        "study s",
        "  10 trials planned",
        "  loaded: 10 trials added, 0 already there, 12 calls added; 1.8 s",
        verdict("a"),
        verdict("b", checks=refused, n_flagged={"suspect": 1_200, "quarantined": 1}),
        verdict("c", n_flagged={"suspect": 2}) + ", in each of 2 batches",
        verdict("d", ["a/b", "a/c", "a/d"], n_flagged={"suspect": 1}),
    ]
    assert in_a_line("\n".join(said), LOG) == (
        "study s; loaded: 10 trials added, 0 already there, 12 calls added; "
        "gate: 7 batches passed (doubts: refused; 1 quarantined; 1,207 suspect)"
    )


@pytest.mark.parametrize("more", [{"is_unpublished": True}, {"is_rejected": True}, {"verdict": "failed"}])
def test_a_verdict_that_is_more_than_a_pass_stays_whole(more):
    line = verdict("a", **more)
    assert in_a_line(f"study s\n  loaded: 1 trials added; 0.1 s\n{line}", LOG).endswith(f"; {line.strip()}")


def test_of_many_batches_that_failed_it_is_said_why_and_who_names_them():
    failed = {"is_passed": False, "observed_value": 1, "level": "fail"}
    said = [
        verdict(name, verdict="failed", checks=[failed | {"check_name": check} for check in checks])
        for name, checks in (("a", ["x"]), ("b", ["y", "x"]), ("c", ["x"]), ("d", ["z"]))
    ]
    alike = "gate: 4 batches failed and are not published (x 3, y 1, z 1): `bais check` names them"
    assert in_a_line("\n".join(["study s", "  loaded: 4 trials added", *said]), LOG).endswith(f"; {alike}")
    assert in_a_line("\n".join(["study s", "  loaded: 3 trials added", *said[1:]]), LOG).count(" failed, its") == 3


def test_the_line_of_a_command_that_says_one_is_that_without_the_seconds_which_stand_before_it():
    assert in_a_line("175 tables built, 370 tests passed, 49 s\n", LOG) == "175 tables built, 370 tests passed"
    warned = "175 tables built, 49 s; a test warns: t, 3 rows"
    assert in_a_line(warned, LOG) == warned


@pytest.mark.parametrize(("said", "code"), [("  16 lines read: 16 new", 0), ("nothing was landed", 6)])
def test_what_the_gate_holds_back_of_what_was_landed_fails_no_step(tmp_path, monkeypatch, capsys, said, code):
    monkeypatch.chdir(tmp_path)
    command = f"import sys; print('folder: 2 files\\n{said}\\n  gate: v of s failed'); sys.exit(6)"
    assert main("archive", sys.executable, "-c", command) == code
    assert "gate: v of s failed" in capsys.readouterr().out
