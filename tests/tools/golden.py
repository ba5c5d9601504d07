"""Golden texts: the words that bais prints, kept in `tests/golden`: a file per file of tests, a section per test.

A test says codes, numbers and names itself, and leaves the words to its section: `golden(printed)` holds all that was
printed, `golden(printed, "5 of 40")` the sentences that say "5 of 40", of which there has to be one. `make golden`
writes the texts anew, so that `git diff tests/golden` shows what a change of words changes.
"""

import ast
import difflib
import functools
import os
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "tests" / "golden"
LOCK = ROOT / "target" / "golden-texts.lock"  # so that two processes write one after the other
WIDTH = 80
HEAD = "═══ "  # a section begins with it
PART = "┄┄┄"  # and each further text of a test
FOLDED = " \\"  # a line ends so that goes on in the next
MASKS = [
    (re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?: UTC)?"), "<date>"),
    (re.compile(r"\b(?=[a-f\d]*\d)(?=[a-f\d]*[a-f])[a-f\d]{8,64}\b"), "<hash>"),
    # few hashes are of digits alone: these are known by what stands before or behind them
    (re.compile(r"(?<=(?:version|restore) )[a-f\d]{8,64}\b|(?<=trial )[a-f\d]{8,64}\b"), "<hash>"),
    (re.compile(r"^[a-f\d]{8}(?=  |:)", re.MULTILINE), "<hash>"),
    (re.compile(r"(?<![\d.,])\d[\d,]*\.\d s\b"), "<n> s"),  # as what was timed is printed
    (re.compile(r"(?<=, )\d+ s(?=;|$)", re.MULTILINE), "<n> s"),  # and a build
    (re.compile(r"(?<=bais )\d+\.\d+\.\d+\b"), "<version>"),
    (re.compile(r"^([a-z][\w-]+) \d+(?:\.\w+){2,}$", re.MULTILINE), r"\1 <version>"),
    (re.compile(r"(?<=127\.0\.0\.1:)\d+"), "<port>"),
]
ENDS = re.compile(r"(?:(?<=[.?!])|(?<=[.?!][)”]))\s+(?=[^\sa-z])")


def is_writing() -> bool:
    """Whether the golden texts are to be written anew, as `make golden` asks for."""
    return os.environ.get("BAIS_GOLDEN") == "write"


def masked(text: str, folders: dict[str, str]) -> str:
    """Return a text with placeholders for folders, given by name, and for what else differs from run to run."""
    for folder in sorted(folders, key=len, reverse=True):
        text = text.replace(folder, folders[folder])
    for mask, placeholder in MASKS:
        text = mask.sub(placeholder, text)
    return text


def folded(text: str) -> str:
    """Return a text in lines of at most 80 columns, but for tables: a line that goes on ends with a backslash."""
    lines = []
    for line in text.splitlines():
        is_table = "  " in line.strip()
        while len(line) > WIDTH and not is_table:
            at = max(line.rfind(" ", 1, WIDTH - len(FOLDED) + 1), 0)
            if not line[:at].strip():
                break
            lines.append(line[:at] + FOLDED)
            line = line[at + 1 :]
        lines.append(line.rstrip())
    return "\n".join(lines).strip("\n")


def sentences(text: str, named: Iterable[str]) -> str:
    """Return the sentences, or lines of a table, that hold all of what is named; one has to."""
    each = [sentence for line in text.splitlines() for sentence in ENDS.split(line.strip())]
    found = [sentence for sentence in each if all(name in sentence for name in named)]
    assert found, f"no sentence holds {' and '.join(map(repr, named))}:\n{text}"
    return "\n".join(dict.fromkeys(found))


def read(path: Path) -> dict[str, list[str]]:
    """Return the texts of each test of a golden file, by what the test is called."""
    found, parts = {}, [[]]
    for line in path.read_text(encoding="utf-8").split("\n") if path.exists() else []:
        if line.startswith(HEAD):
            parts = found[line.removeprefix(HEAD)] = [[]]
        elif line == PART:
            parts.append([])
        else:
            parts[-1].append(line)
    return {title: ["\n".join(lines).strip("\n") for lines in parts] for title, parts in found.items()}


def written(sections: dict[str, list[str]]) -> str:
    """Return a golden file that holds these texts."""
    between = f"\n{PART}\n"
    return "\n\n".join(f"{HEAD}{title}\n{between.join(parts)}" for title, parts in sections.items()) + "\n"


def title_of(name: str) -> str:
    """Return what a test is called, as a sentence, from its name and what it is given."""
    function, bracket, given = name.partition("[")
    return function.removeprefix("test_").replace("_", " ") + bracket.replace("[", " [") + given


def function_of(title: str) -> str:
    """Return what a test is called, without what it is given."""
    return title.partition(" [")[0]


def is_gone(title: str, here: list[str]) -> bool:
    """Whether the function of a test is among those that run, and not with what the test is given."""
    return title not in here and function_of(title) in map(function_of, here)


def path_of(file: Path) -> Path:
    """Return where the golden texts of a file of tests are."""
    return FOLDER / file.relative_to(ROOT / "tests").with_name(f"{file.stem.removeprefix('test_')}.txt")


def file_of_tests(path: Path, folder: Path) -> Path:
    """Return the file of tests whose golden texts a file has, from the project's folder."""
    return Path("tests") / path.relative_to(folder).with_name(f"test_{path.stem}.py")


@functools.cache
def titles_asked(file: Path) -> set[str]:
    """Return what those tests of a file are called that take golden texts."""
    functions = (node for node in ast.parse(file.read_text(encoding="utf-8")).body if hasattr(node, "args"))
    return {title_of(of.name) for of in functions if "golden" in [argument.arg for argument in of.args.args]}


class Golden:
    """The golden texts of one test, asked for one after the other."""

    def __init__(self, path: Path, title: str, folders: dict[str, str]):
        self.path, self.title, self.folders = path, title, folders
        self.kept = read(path).get(title, [])
        self.asked: list[str] = []

    @property
    def tests(self) -> Path:
        """The file of tests whose words these are."""
        return file_of_tests(self.path, FOLDER)

    def __call__(self, text: str, *named: str) -> None:
        """Hold a text, or its sentences that hold all of what is named, against what is kept."""
        text = folded(masked(sentences(text, named) if named else text, self.folders))
        assert text, "there is nothing to hold a golden text against"
        if text in self.asked:  # said again
            return
        self.asked.append(text)
        if is_writing():
            return
        n = len(self.asked)
        kept = self.kept[n - 1] if n <= len(self.kept) else ""
        if text != kept:
            where = f"{self.path.relative_to(ROOT)}, “{self.title}”, text {n}"
            said = "other words are printed" if kept else "no words are kept yet"
            lines = difflib.unified_diff(kept.split("\n"), text.split("\n"), "kept", "printed", lineterm="")
            told = "\n".join(lines)
            pytest.fail(f"{where}: {said}; `make golden FILE={self.tests}` keeps these\n{told}", pytrace=False)

    def end(self, order: list[str], asking: set[str], is_whole: bool, is_passed: bool) -> None:
        """Keep what was asked for if that was said, or fail where more is kept than tests ask for.

        `order` is what the tests of this file are called that run; of each function they are all there if `is_whole`.
        `asking` is what those of its functions are called that take golden texts.
        """
        here = [title for title in order if function_of(title) == function_of(self.title)] if is_whole else []
        if is_writing():
            if is_passed:  # one that failed did not come to its last text
                self.keep(order, asking, here)
            return
        where = f"{self.path.relative_to(ROOT)}, “{self.title}”"
        gone = [title for title in read(self.path) if is_gone(title, here)]
        if gone:
            pytest.fail(
                f"{where}: no test asks for “{gone[0]}”; `make golden FILE={self.tests}` drops it", pytrace=False
            )
        if is_passed and len(self.asked) < len(self.kept):
            told = f"{len(self.kept)} texts are kept, {len(self.asked)} asked for"
            pytest.fail(f"{where}: {told}; `make golden FILE={self.tests}` drops the others", pytrace=False)

    def keep(self, order: list[str], asking: set[str], here: list[str]) -> None:
        """Write what was asked for in place of what is kept, in an order, and drop what no test asks for."""
        for folder in (LOCK.parent, self.path.parent):
            folder.mkdir(parents=True, exist_ok=True)
        with FileLock(LOCK):
            sections = {**read(self.path), self.title: self.asked}
            titles = [title for title, texts in sections.items() if texts and not is_gone(title, here)]
            titles = [title for title in titles if function_of(title) in asking]
            titles.sort(key=lambda title: order.index(title) if title in order else len(order))
            self.path.write_text(written({title: sections[title] for title in titles}), encoding="utf-8")


def drop_files(folder: Path = FOLDER) -> None:
    """Remove the golden files of which no test asks for anything."""
    for path in folder.rglob("*.txt"):
        tests = ROOT / file_of_tests(path, folder)
        if not (tests.exists() and titles_asked(tests)):
            path.unlink(missing_ok=True)


def orphans(folder: Path = FOLDER) -> list[str]:
    """Return the golden files, and texts in them, that no test asks for, and those that stand there twice."""
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        tests = ROOT / file_of_tests(path, folder)
        titles = titles_asked(tests) if tests.exists() else set()
        heads = (line for line in path.read_text(encoding="utf-8").split("\n") if line.startswith(HEAD))
        kept = [line.removeprefix(HEAD) for line in heads]
        unread = [title for title in kept if function_of(title) not in titles or kept.count(title) > 1]
        found += [f"{path.relative_to(folder)}: {title}" for title in dict.fromkeys(unread)]
        found += [str(path.relative_to(folder))] if not kept or path.suffix != ".txt" else []
    return found
