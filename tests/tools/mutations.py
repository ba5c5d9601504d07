"""Whether the tests would see a mistake: one line of SQL or Python is changed at a time, at random but with a seed.

python -m tests.tools.mutations [--n 40] [--seed 34] [--slow]

Each change is made in a copy of the checkout. There the tests that name the changed file run first, and then all that
`make test` runs, to the first failure; with `--slow` what these missed is compared with `make test-all`. A line of
`logs/mutations.jsonl` is a change and the test that saw it, or none; what is there already is not tried again.
"""

import argparse
import io
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.tools.processes import ROOT, SHARED

LOG = ROOT / "logs" / "mutations.jsonl"
FOLDERS = {"*.sql": ("models", "macros"), "*.py": ("analysis", "ingest", "bais")}
IN_SQL = {
    "<=": "<", ">=": ">", r"(?<![<>!=])=(?![=>])": "!=", "!=": "=", r"(?<=\s)<(?=\s)": "<=", r"(?<=\s)>(?=\s)": ">=",
    r"(?<=\s)\+(?=\s)": "-", r"(?<=\s)-(?=\s)": "+", r"(?<=\s)(?<!select )\*(?=\s)": "/", r"(?<=\s)/(?=\s)": "*",
    r"\band\b": "or", r"\bor\b": "and", r"\binner join\b": "left join", r"\bleft join\b": "inner join",
    r"\banti join\b": "semi join", r"\bsemi join\b": "anti join", r"\bis not null\b": "is null",
    r"\bis null\b": "is not null", r"\bunion all\b": "union", r"\bmin\(": "max(", r"\bmax\(": "min(",
    r"\bsum\(": "max(", r"\bavg\(": "max(", r"\bcount\(distinct ": "count(", r"\bdesc\b": "asc", r"\basc\b": "desc",
    r"(?<![\w.])\d+(?![\w.])": None,
}  # fmt: skip
IN_PYTHON = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "/", "/": "*",
    "and": "or", "or": "and", "not": "", "min": "max", "max": "min", "True": "False", "False": "True", "any": "all",
    "all": "any",
}  # fmt: skip
WHOLE = re.compile(r"\d+")


def main() -> int:
    """Try the changes that were not tried yet, and print each with what became of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--n", type=int, default=40, help="how many changes")
    parser.add_argument("--seed", type=int, default=34, help="which ones")
    parser.add_argument("--slow", action="store_true", help="hold what was missed against make test-all")
    options = parser.parse_args()
    LOG.parent.mkdir(exist_ok=True)
    for name, number, was, becomes in changes(options.n, options.seed):
        tried = [json.loads(line) for line in LOG.read_text().splitlines()] if LOG.exists() else []
        before = [of for of in tried if (of["file"], of["line"], of["becomes"]) == (name, number, becomes)]
        if any(of["slow"] == options.slow or of["test"] for of in before) or options.slow > bool(before):
            continue
        test, seconds = first_failure(name, number, becomes, options.slow)
        row = {"file": name, "line": number, "was": was, "becomes": becomes, "slow": options.slow, "test": test}
        with LOG.open("a") as log:
            log.write(json.dumps(row | {"seconds": round(seconds)}) + "\n")
        print(
            f"{name}:{number}\n  - {was.strip()}\n  + {becomes.strip()}\n  {test or 'MISSED'}, {seconds:.0f} s",
            flush=True,
        )
    return 0


def changes(n: int, seed: int) -> list[tuple[str, int, str, str]]:
    """Return changes, as many of SQL as of Python: the file, the number of a line, the line and what it becomes."""
    dice, of_kinds = random.Random(seed), []
    for pattern, folders in FOLDERS.items():
        files = sorted(file for folder in folders for file in (ROOT / folder).rglob(pattern))
        change = _of_sql if pattern == "*.sql" else _of_python
        found = [(str(of.relative_to(ROOT)), *line) for of in files for line in change(of.read_text(encoding="utf-8"))]
        dice.shuffle(found)
        of_kinds.append(found if pattern == "*.sql" else (of for of in found if _is_python(*of)))
    return [change for pair in itertools.islice(zip(*of_kinds, strict=False), (n + 1) // 2) for change in pair][:n]


def first_failure(name: str, number: int, becomes: str, slow: bool) -> tuple[str | None, float]:
    """Return the test that fails first where a line is another, if one does, and the seconds until then."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "bais")
        shutil.copytree(
            ROOT, copy, ignore=shutil.ignore_patterns(".venv", ".git", "target", "logs", "*.duckdb", "spool")
        )
        file = copy / name
        lines = file.read_text(encoding="utf-8").split("\n")
        lines[number - 1] = becomes
        file.write_text("\n".join(lines), encoding="utf-8")
        environment = os.environ | {
            "PYTHONPATH": str(copy),
            "BAIS_SHARED": str(SHARED),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        naming = [of for of in sorted((copy / "tests").rglob("test_*.py")) if _names(of, file)]
        naming += [copy / "tests" / "test_unit_models.py"] if file.suffix == ".sql" else []
        command = ["-m", "pytest", "-x", "-n", "2", *([] if slow else ["-m", "not slow"])]
        began = time.monotonic()
        for those in [naming, []] if naming else [[]]:
            done = subprocess.run(
                [sys.executable, *command, *map(str, those)], cwd=copy, env=environment, capture_output=True, text=True
            )
            if found := re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE):
                return found[1], time.monotonic() - began
            if done.returncode not in (0, 5):
                return (done.stdout + done.stderr)[-200:], time.monotonic() - began
        return None, time.monotonic() - began


def _names(test, file):
    """Whether a test names a file: a module as it is imported, a model by its name."""
    name = file.stem if file.suffix == ".sql" else rf"{file.parent.name}(?:\.| import (?:\w+, )*){file.stem}"
    return re.search(rf"\b{name}\b", test.read_text(encoding="utf-8"))


def _of_sql(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield what lines may become; what is in comments, in quotes and of dbt stays."""
    blanked = re.sub(r"\{#.*?#\}|\{%.*?%\}", lambda of: re.sub(".", " ", of[0]), text, flags=re.DOTALL)
    for number, (line, blank) in enumerate(zip(text.split("\n"), blanked.split("\n"), strict=True), 1):
        code = re.sub(r"--.*|'[^']*'", lambda of: " " * len(of[0]), blank)
        for pattern, instead in IN_SQL.items():
            for of in re.finditer(pattern, code):
                new = str(int(of[0]) + 1) if instead is None else instead
                yield number, line, line[: of.start()] + new + line[of.end() :]


def _of_python(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield what lines may become, though it be no Python any more."""
    lines = text.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_number = token.type == tokenize.NUMBER and WHOLE.fullmatch(token.string)
        if token.string in IN_PYTHON or is_number:
            (number, start), (_, end) = token.start, token.end
            line = lines[number - 1]
            new = str(int(token.string) + 1) if is_number else IN_PYTHON[token.string]
            yield number, line, line[:start] + new + line[end:]


def _is_python(name, number, was, becomes):
    lines = (ROOT / name).read_text(encoding="utf-8").split("\n")
    try:
        compile("\n".join([*lines[: number - 1], becomes, *lines[number:]]), name, "exec")
    except SyntaxError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
