"""A study of another bias than anchoring, exported, imported back, withdrawn and restored."""

import json
import shutil

import pytest

from bais.main import main
from ingest.land.raw import TABLES
from ingest.warehouse import sha256_of
from tests.cli.test_export import all_of, manifest_of, rows
from tests.cli.test_withdraw import make_marts
from tests.ingest.test_changed_paradigms import N_TRIALS, PARADIGM, STUDY

STATED = ("paradigms", "paradigm_contrasts", "items")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A folder with a warehouse of the study and its export."""
    folder = tmp_path_factory.mktemp("other-bias")
    (folder / "cups.yaml").write_text(json.dumps(STUDY | {"paradigm": PARADIGM}), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(folder / "w.duckdb"))
        assert main(["collect", str(folder / "cups.yaml")]) == 0
        make_marts(folder / "w.duckdb")
        assert main(["export", str(folder / "out"), "--format", "jsonl"]) == 0
    return folder


def without_times(folder):
    """Make of an export what a bais wrote that did not keep when a paradigm was stated."""
    manifest = manifest_of(folder)
    for of in manifest["tables"]:
        if of["table"] in [f"raw.{name}" for name in STATED]:
            path = folder / of["file"]
            read = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            assert all(row.pop("stated_at") for row in read)
            path.write_text("".join(f"{json.dumps(row)}\n" for row in read), encoding="utf-8")
            of["columns"] = [column for column in of["columns"] if column["name"] != "stated_at"]
            of["sha256"] = sha256_of(path)
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def imported_twice(folder, back, monkeypatch, capsys):
    """Import an export into a warehouse that is not there yet, and once more."""
    monkeypatch.setenv("BAIS_WAREHOUSE", str(back))
    for added in (N_TRIALS, 0):
        capsys.readouterr()
        assert main(["import", str(folder)]) == 0
        assert f"{added} trials added, {N_TRIALS - added} already there" in capsys.readouterr().out


@pytest.mark.slow("exports and imports back")
def test_an_export_of_another_bias_comes_back_with_its_items_and_what_was_stated(
    exported, tmp_path, monkeypatch, capsys
):
    imported_twice(exported / "out", tmp_path / "back.duckdb", monkeypatch, capsys)
    for name in TABLES:
        assert all_of(tmp_path / "back.duckdb", f"raw.{name}") == all_of(exported / "w.duckdb", f"raw.{name}")
    assert all(rows(tmp_path / "back.duckdb", f"from raw.{name}") for name in STATED)


@pytest.mark.slow("exports and imports back")
def test_an_export_without_times_of_statements_has_none_after_the_import_and_all_else(
    exported, tmp_path, monkeypatch, capsys
):
    shutil.copytree(exported / "out", tmp_path / "out")
    without_times(tmp_path / "out")
    back = tmp_path / "back.duckdb"
    imported_twice(tmp_path / "out", back, monkeypatch, capsys)
    for name in STATED:
        but_times = f"select * exclude (stated_at, _dlt_load_id) from raw.{name} order by all"
        assert rows(back, but_times) == rows(exported / "w.duckdb", but_times)
        assert rows(back, f"select count(stated_at) from raw.{name}") == [(0,)]
    assert all_of(back, "raw.trials") == all_of(exported / "w.duckdb", "raw.trials")


def test_trials_of_another_bias_are_withdrawn_by_their_arm_and_restored(exported, tmp_path, monkeypatch, capsys):
    path = tmp_path / "w.duckdb"
    shutil.copy(exported / "w.duckdb", path)
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    monkeypatch.setenv("BAIS_USER", "ada")
    condition = ["--where", "arm = 'praised'", "--why", "a mistake in the words"]
    assert main(["withdraw", *condition]) == 0
    make_marts(path)
    assert rows(path, "select arm, count(*) from marts.trials group by arm") == [("plain", N_TRIALS // 2)]
    withdrawn = [trial_id for (trial_id,) in rows(path, "select trial_id from raw.trials where arm = 'praised'")]
    assert main(["restore", *withdrawn, "--why", "no mistake"]) == 0
    acts = "select act, count(*) from raw.gate_acts group by act order by act"
    assert rows(path, acts) == [("restore", N_TRIALS // 2), ("withdraw", N_TRIALS // 2)]
