"""Small archives in document A's shapes with invented values, what is imported of them, and a place without network."""

import json
import socket
from contextlib import closing
from types import SimpleNamespace

import duckdb
import pytest

from ingest.archives.voder_bais import ARCHIVE
from ingest.bring import importer
from tests.ingest.deadly import Forks


def baseline(**changes):
    return {
        "experimentId": "baseline",
        "model": "openai/o3",
        "actualModel": "openai/o3-of-that-day",
        "condition": "no-anchor",
        "anchor": None,
        "temperature": 0,
        "promptHash": "0a1b2c3d",
        "sentenceMonths": 17,
        "methodology": "invented-baseline",
        "runIndex": 0,
        "collectedAt": "2026-01-02T03:04:05.678Z",
    } | changes


def low_anchor(**changes):
    return baseline(experimentId="low-anchor", anchor=8, anchorType="proportional-low", sentenceMonths=11) | changes


def premortem(**changes):
    return baseline(experimentId="premortem", technique="premortem", anchor=26, sentenceMonths=19) | changes


def full_sacd(**changes):
    trial = baseline(experimentId="full-sacd", technique="full-sacd", anchor=26, initial=23, final=18, iterations=2)
    del trial["sentenceMonths"], trial["collectedAt"]
    return trial | {"iterationDetails": [{"sentence": 23}], "timestamp": "2026-01-02T03:04:06Z"} | changes


def vignette(**changes):
    return {
        "anchor": 70,
        "baseline": 140.5,
        "response": 96,
        "raw": "I would approve **96**.",
        "vignetteId": "loan",
        "model": "anthropic/claude-opus-4-6",
        "technique": "baseline",
        "anchorType": "low",
        "temperature": 0.7,
        "timestamp": "2026-01-02T03:04:07.5Z",
    } | changes


def write(path, *lines):
    """Write a file of lines: objects become JSON, texts and bytes stay as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [line if isinstance(line, str | bytes) else json.dumps(line) for line in lines]
    path.write_bytes(b"".join((text if isinstance(text, bytes) else text.encode()) + b"\n" for text in texts))
    return path


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A warehouse of its own, and no network."""
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "warehouse.duckdb"))

    def refuse(*_):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return tmp_path


@pytest.fixture(autouse=True)
def warehouse(tmp_path, monkeypatch):
    """The path of a warehouse that does not exist yet; every import of the test goes there."""
    path = tmp_path / "here" / "warehouse.duckdb"
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    return path


@pytest.fixture
def archive(tmp_path):
    """An empty folder for an archive."""
    folder = tmp_path / "archive"
    folder.mkdir()
    return folder


@pytest.fixture
def query(warehouse):
    """Ask the warehouse; rows come as tuples."""

    def ask(sql):
        with closing(duckdb.connect(str(warehouse), read_only=True)) as connection:
            return connection.sql(sql).fetchall()

    return ask


@pytest.fixture(scope="session")
def make():
    """Builders of trials, and of files that hold them."""
    return SimpleNamespace(
        baseline=baseline,
        low_anchor=low_anchor,
        premortem=premortem,
        full_sacd=full_sacd,
        vignette=vignette,
        file=write,
    )


@pytest.fixture(scope="session")
def read():
    """Import a folder without dlt: what would have been landed, as lists of dicts."""

    def read_folder(folder, **constants):
        landed = {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(importer, "land", lambda _, **tables: landed.update((n, list(t)) for n, t in tables.items()))
            for name, value in constants.items():
                patch.setattr(importer, name, value)
            summary = importer.import_archive(folder, ARCHIVE)
        rows = {name: [row for table in tables for row in table.to_pylist()] for name, tables in landed.items()}
        return Result(summary, rows["trials"], rows["quarantined_lines"])

    return read_folder


@pytest.fixture(scope="session")
def forks():
    """What does tasks in processes of their own, which may die."""
    with Forks.opened() as opened:
        yield opened


class Result:
    def __init__(self, summary, trials, quarantined):
        self.summary, self.quarantined = summary, quarantined
        self.trials = sorted(trials, key=lambda trial: (trial["source_file"], trial["source_line"]))

    @property
    def reasons(self):
        """From file and line number to the reason of what was quarantined."""
        return {(bad["source_file"], bad["line_number"]): bad["reason"] for bad in self.quarantined}


@pytest.fixture(autouse=True)
def landed_only(monkeypatch):
    """What lands is the matter of these tests; test_gate.py audits, and so do the tests that run commands."""
    monkeypatch.setattr("ingest.run.pass_gate", lambda: 0)
