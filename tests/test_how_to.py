"""Each page on how to add something is followed to the letter in a copy of the project."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest

from bais.main import main
from ingest.warehouse import ROOT

pytestmark = pytest.mark.slow("pages followed step by step")

PAGES = (
    "add-an-llm", "add-a-technique", "add-a-vignette", "add-an-archive", "add-a-metric", "add-a-claim", "add-a-command",
    "add-a-check-to-the-gate", "add-a-column-to-raw",
    "mend-a-batch", "keep-trials-in-a-folder",
)  # fmt: skip
# by tests/ingest/scoring/test_local.py, where there is an LLM, tests/ingest/test_paradigms.py,
# tests/test_content_simulated.py, tests/ingest/test_news.py, tests/test_wheel.py and, where Spark is,
# tests/spark/test_builds.py
FOLLOWED_ELSEWHERE = (
    "score-an-llm", "add-a-bias", "plant-your-own-anchors", "run-document-c", "keep-a-news-set", "study-people",
    "run-on-spark", "keep-a-folder-of-your-own",
)  # fmt: skip
CHANGES_NO_CODE = ("mend-a-batch", "keep-trials-in-a-folder")
# what the pages look at, and its tests; `bais build` itself takes a minute
LOOKED_AT = [
    "path:seeds",
    "+effects",
    "+conditions",
    "+relative_spreads",
    "+claim_checks",
    "claim_trials",
    "+trials",
]
LEFT_OUT = ["unit_[!r]*", "path:models/inference,resource_type:test"]
BUILD = ["build", "--select", *LOOKED_AT, "--exclude", *LEFT_OUT, "--indirect-selection", "cautious"]
COPIED = (
    "analysis", "bais", "claims", "docs", "ingest", "macros", "models", "profiles", "seeds", "dbt_project.yml",
    "profiles.yml", "requirements.lock", "tests/cli/test_commands.py",
)  # fmt: skip
RUN = """
import contextlib, io, json, sys
from bais.main import main

for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        code = main(words)
    print(json.dumps([code, output.getvalue()]))
"""
BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<kind>\w+)(?: exit (?P<code>\d+))?\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
PLACE = re.compile(r"(?P<how>Write|[Aa]dd to the end of) `(?P<path>[^`]+)`[^`]*(?:`[^`]*`[^`]*)*$")
LINE = re.compile(r"In `(?P<path>[^`]+)`,\s+after\s+the\s+line\s+`(?P<line>[^`]+)`,\s+add[^`]*(?:`[^`]*`[^`]*)*$")
INSERTION = re.compile(r"In `(?P<path>[^`]+)`,\s+right\s+after\s+`(?P<after>[^`]+)`,\s+insert\s+`(?P<what>[^`]+)`")


def steps(page):
    """Read a page: what to write, append or insert, what to run with which exit code, and what it then prints."""
    text = (ROOT / "docs" / "how-to" / f"{page}.md").read_text(encoding="utf-8")
    found, last = [], 0
    for match in BLOCK.finditer(text):
        before, last = text[last : match.start()], match.end()
        body = re.sub(f"^{match['indent']}", "", match["body"], flags=re.MULTILINE)
        found += [("insert", *insertion.groups()) for insertion in INSERTION.finditer(before)]
        if match["kind"] == "sh":
            found += [("run", line, int(match["code"] or 0)) for line in body.splitlines()]
        elif match["kind"] == "text":
            found += [("prints", line) for line in body.splitlines()]
        else:
            said = before.rpartition("\n\n")[0].rpartition("\n\n")[2] + before.rpartition("\n\n")[2]
            if line := LINE.search(said):
                found.append(("after the line", line["path"], line["line"], body))
                continue
            place = PLACE.search(said)
            assert place, f"{page} does not say where this goes: {body[:60]}"
            found.append(("write" if place["how"] == "Write" else "append", place["path"], body))
    return found


class Copy:
    """A copy of the project without what was derived; its commands run its own code on its own warehouse."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        for path in [*(ROOT / name for name in COPIED), *ROOT.glob("*.py")]:
            if path.is_dir():
                shutil.copytree(path, folder / path.name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                (folder / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, folder / path.relative_to(ROOT), follow_symlinks=False)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("BAIS_")}
        self.environment |= {"PYTHONPATH": str(folder), "BAIS_RESAMPLES": "100", "DBT_WRITE_JSON": "false"}

    def edit(self, how, path, *what):
        file = self.folder / path
        if how == "write":
            file.parent.mkdir(exist_ok=True)
            assert not file.exists(), path
            file.write_text(what[0], encoding="utf-8")
            return
        text = file.read_text(encoding="utf-8")
        if how == "append":
            assert text.endswith("\n")
            text += what[0]
        elif how == "after the line":
            ((indent, line),) = re.findall(rf"^( *)({re.escape(what[0])}\n)", text, re.MULTILINE)
            text = text.replace(indent + line, indent + line + textwrap.indent(what[1], indent))
        else:
            assert text.count(what[0]) == 1, what[0]
            text = text.replace(what[0], what[0] + what[1])
        file.write_text(text, encoding="utf-8")

    def run(self, commands):
        """Run commands in one process, which imports what they need once; return the exit code and output of each."""
        done = subprocess.run(
            [sys.executable, "-c", RUN, json.dumps(commands)],
            cwd=self.folder, env=self.environment, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]  # dbt prints too

    def dbt(self, *arguments):
        """Run dbt as it is, without `bais`, on the warehouse that `bais` names: for another it would read all anew."""
        program = Path(sys.executable).parent / "dbt"
        environment = {**self.environment, "BAIS_WAREHOUSE": str(self.folder / "data" / "bais.duckdb")}
        return subprocess.run([program, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True)


def words_of(line):
    assert line.startswith(".venv/bin/bais "), line
    return shlex.split(line.removeprefix(".venv/bin/bais "))


def test_every_page_works_as_written(tmp_path):
    """All pages in one copy, so that dbt builds once: what they write, what they run before it, and what after."""
    copy = Copy(tmp_path / "bais")
    before, after = [], []
    for page in PAGES:
        if page in CHANGES_NO_CODE:
            continue
        ran = before
        for step, *of in steps(page):
            if step == "run" and words_of(of[0])[0] == "build":
                ran = after
            elif step == "run":
                ran.append((page, words_of(of[0]), of[1], []))
            elif step == "prints":
                ran[-1][-1].append(of[0])
            else:
                copy.edit(step, *of)
        assert ran is after, f"{page} builds nothing"
    for ran in (before, [*after, ("any", BUILD, 0, [])][::-1]):
        for (page, words, code, prints), (left_with, output) in zip(
            ran, copy.run([words for _, words, *_ in ran]), strict=True
        ):
            assert left_with == code, f"{page}: {shlex.join(words)} left with {left_with}\n{output}"
            for line in prints:
                assert " ".join(line.split()) in " ".join(output.split()), f"{page}: {line}\n{output}"
    copy.edit("write", "models/marts/undeclared.sql", "select 1 as a\n")
    done = copy.dbt("build", "--select", "undeclared")
    assert done.returncode == 2
    assert "marts.undeclared (models/marts/undeclared.sql) has no contract" in done.stdout
    assert "docs/how-to/add-a-metric.md" in done.stdout


@pytest.mark.parametrize("page", CHANGES_NO_CODE)
def test_a_page_that_changes_no_code_works_step_by_step(page, tmp_path, warehouse_in, monkeypatch, capsys):
    def start(*arguments, more_environment, **_):
        there = warehouse_in(tmp_path)
        there.environment |= more_environment
        there.dbt(*arguments, "--select", "+trials", "--exclude-resource-type", "test", "unit_test")
        return SimpleNamespace(wait=lambda: 0, stdout=[])

    monkeypatch.setattr("bais.dbt.start", start)
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse_in(tmp_path).path))
    monkeypatch.chdir(tmp_path)
    printed, is_read = "", False
    for step, *of in steps(page):
        if step == "run":
            assert main(words_of(of[0])) == of[1], of[0]
            printed = f"{'' if is_read else printed} {capsys.readouterr().out}"
            is_read = False
        elif step == "prints":
            assert " ".join(of[0].split()) in " ".join(printed.split()), printed
            is_read = True
        else:
            path, text = of
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_edits_commands_and_what_they_print(page):
    assert {"run", "prints"} < {step for step, *_ in steps(page)}


def test_every_page_of_the_folder_is_followed():
    assert {path.stem for path in (ROOT / "docs" / "how-to").glob("*.md")} == {*PAGES, *FOLLOWED_ELSEWHERE}
