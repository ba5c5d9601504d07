"""Copies of an archive, edited: each import publishes what the newest version says, and loses nothing."""

import itertools
import json
import shutil
from contextlib import closing

import duckdb
import pytest

from ingest.archives import archive_of
from ingest.bring.importer import import_archive
from ingest.gate.audit import audit
from ingest.land.models import Models
from ingest.land.versions import Version
from ingest.warehouse import quoted

RECORDED = archive_of("voder-bais")


@pytest.fixture
def warehouse(tmp_path, monkeypatch):
    path = tmp_path / "here" / "warehouse.duckdb"
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    return path


@pytest.fixture
def query(warehouse):
    """Ask the warehouse, and the models beside it: `{int_trials_identified}` is that model's relation."""

    def ask(sql):
        with closing(duckdb.connect()) as memory:
            memory.execute(f"attach {quoted(warehouse)} as warehouse (read_only)")
            models = Models(memory, {"raw": "warehouse.raw"}, {"response_source": "recorded"})
            names = {name: models.ref(name) for name in ("int_trials_identified",) if f"{{{name}}}" in sql}
            return memory.sql(sql.format(**names)).fetchall()

    return ask


def small_archive(folder):
    """Write 60 answers of three LLMs into files as the recorded archive has them; return their folder."""
    files = {"baseline-claude-haiku-4-5-t0": 12}
    files |= {f"premortem-{n}": 5 for n in range(4)} | {f"devils-advocate-{n}": 4 for n in range(5)}
    number = itertools.count()
    for name, n_answers in (files | {"vignette-loan/one": 8}).items():
        lines = [answer(name, next(number)) for _ in range(n_answers)]
        file = folder / f"{name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def answer(name, n):
    """Return a line of the archive, in the shape that a file of this name has."""
    at = f"2026-01-{1 + n // 24:02}T{n % 24:02}:00:00.000Z"
    line = {"model": f"lab/{n % 3}", "temperature": 1, "anchor": 10, "runIndex": n}
    if name.startswith("vignette"):
        about = {"vignetteId": "loan", "technique": "baseline", "anchorType": "low"}
        return line | about | {"response": 20 + n % 7, "raw": f"{20 + n % 7}", "timestamp": at}
    kind, anchor = ("baseline", None) if name.startswith("baseline") else (name.rpartition("-")[0], 10)
    months = {"sentenceMonths": 20 + n % 7, "raw": f"{20 + n % 7} months", "collectedAt": at}
    return line | {"experimentId": kind, "technique": kind, "anchor": anchor} | months


def lines_of(folder):
    """Return the lines of the trials in a folder, without those of copies and other data."""
    found = set()
    for file in sorted(folder.rglob("*.jsonl")):
        if "copy" not in file.name and "spot-check" not in file.parent.name and not file.name.startswith("anchoring-"):
            found |= {line for line in file.read_text().splitlines() if line.strip()}
    return found


def edit(folder):
    """Edit lines, put one on top of a file, remove three files, rename one, copy one, and add a vignette.

    Returns how many lines are edited, how many are removed and how many are added.
    """

    def rewrite(file, change):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        file.write_text("".join(json.dumps(line) + "\n" for line in change(lines)))

    def longer(line):
        return line | {"sentenceMonths": (line["sentenceMonths"] or 0) + 2}

    rewrite(
        folder / "baseline-claude-haiku-4-5-t0.jsonl",
        lambda lines: [longer(line) if n < 10 else line for n, line in enumerate(lines)],
    )
    first, *others = sorted(folder.glob("premortem-*.jsonl"))
    for file in others[:21]:
        rewrite(file, lambda lines: [*lines[:3], longer(lines[3]), *lines[4:]])
    rewrite(first, lambda lines: [lines[0] | {"collectedAt": "2026-02-01T00:00:00.000Z"}, *lines])
    *removed, renamed, copied = sorted(folder.glob("devils-advocate-*.jsonl"))[:5]
    n_removed = sum(len(file.read_text().splitlines()) for file in removed)
    for file in removed:
        file.unlink()
    renamed.rename(folder / "devils-advocate-renamed.jsonl")
    shutil.copy(copied, folder / "devils-advocate-a-copy.jsonl")
    loan = next((folder / "vignette-loan").glob("*.jsonl"))
    added = folder / "vignette-mortgage" / "one.jsonl"
    added.parent.mkdir()
    shutil.copy(loan, added)
    rewrite(added, lambda lines: [line | {"vignetteId": "mortgage"} for line in lines])
    return 10 + len(others[:21]), n_removed, 1 + len(added.read_text().splitlines())


@pytest.fixture(
    params=["small", pytest.param("recorded", marks=pytest.mark.slow("the recorded archive there and back"))]
)
def archive(request, tmp_path):
    """The folder of an archive: 60 answers, or the recorded one."""
    is_small = request.param == "small"
    return small_archive(tmp_path / "small") if is_small else request.getfixturevalue("recorded_archive")


@pytest.mark.slow("imports versions of the recorded archive")
@pytest.mark.parametrize("is_complete", [pytest.param(False, marks=pytest.mark.slow("imports again and again")), True])
def test_the_newest_version_is_what_is_published_there_and_back(archive, tmp_path, query, is_complete):
    later = tmp_path / "later" / archive.name
    shutil.copytree(archive, later)
    for path in [later, *later.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    n_changed, n_removed, n_added = edit(later)

    def land(folder, **version):
        before = set(query("select trial_id from warehouse.raw.trials")) if version else set()
        summary = import_archive(folder, RECORDED, version=Version(**version))
        audit()
        assert before <= set(query("select trial_id from warehouse.raw.trials"))
        published = query(
            "select trial_id, line::varchar from {int_trials_identified} "
            "inner join warehouse.raw.trials using (trial_id)"
        )
        assert len({trial_id for trial_id, _ in published}) == len(published)
        return summary, {json.dumps(json.loads(line), sort_keys=True) for _, line in published}

    def as_written(folder):
        return {json.dumps(json.loads(line), sort_keys=True) for line in lines_of(folder)}

    summary, published = land(archive)
    n_trials = summary.n_new
    assert published == as_written(archive)
    summary, published = land(later, is_complete=is_complete)
    assert (summary.n_changed, summary.n_new, summary.n_gone) == (n_changed, n_added, n_removed)
    assert summary.n_unchanged == n_trials - n_changed - n_removed
    assert as_written(later) <= published
    removed = published - as_written(later)
    assert len(removed) == (0 if is_complete else n_removed)
    assert removed <= as_written(archive)
    summary, published = land(archive, is_complete=True)
    assert summary.n_new == 0
    assert published == as_written(archive)
