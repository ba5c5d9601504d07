"""`bais versions`, `bais build --as-of`, and what commands say of trials that a later version displaced."""

import contextlib
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from bais.main import main
from bais.warehouse import records
from ingest.land.fates import fates
from ingest.land.models import Models
from ingest.land.raw import TABLES
from tests.tools import compare

pytestmark = pytest.mark.slow("versions built one after the other")

MARTS = ("trials", "conditions", "quarantined_trials", "attrition")
BUILD = ("--exclude-resource-type", "test", "unit_test", "--select", *(f"+{name}" for name in MARTS))


def line(months, at, **fields):
    """Write a line as document A's archive does; every `at` is another second."""
    return {
        "experimentId": "baseline", "model": "openai/o3", "anchor": None, "temperature": 1, "sentenceMonths": months,
        "collectedAt": f"2026-03-01T00:00:{at:02}.000Z", **fields,
    }  # fmt: skip


def premortem(months, at, **fields):
    return line(months, at, experimentId="premortem", technique="premortem", **fields)


def write(folder, **files):
    folder.mkdir(parents=True)
    for name, lines in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(of) + "\n" for of in lines))
    return folder


def make_versions(folder):
    """Write a source's versions: in the second a line differs, one is new, a file is gone; the third is wrong."""
    baseline = [line(20 + i % 3, i) for i in range(20)]
    high = [premortem(24 + i % 3, 20 + i, anchor=30) for i in range(10)]
    low = [premortem(14 + i % 3, 30 + i, anchor=10) for i in range(10)]
    files = {"baseline": baseline, "high": high, "low": low}
    changed = [{**high[0], "sentenceMonths": 27}, *high[1:], premortem(25, 40, anchor=30)]
    write(folder / "one" / "own", **files, extra=[line(21, 50), line(22, 51)])
    write(folder / "two" / "own", **files | {"high": changed})
    write(folder / "three" / "own", **files | {"high": [{**of, "temperature": 7} for of in high]})


@pytest.fixture(scope="module")
def made(tmp_path_factory, warehouse_in):
    """A warehouse that knows three versions of a source, and what its tables were after the first one."""
    folder = tmp_path_factory.mktemp("versions")
    make_versions(folder)
    warehouse = warehouse_in(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(warehouse.path))
        patch.setenv("BAIS_USER", "ada")
        assert main(["import", str(folder / "one" / "own"), "--label", "first"]) == 0
        warehouse.dbt("--quiet", "build", *BUILD)
        (folder / "then").mkdir()
        shutil.copy(warehouse.path, folder / "then")
        assert main(["import", str(folder / "two" / "own"), "--label", "second", "--complete"]) == 0
        assert main(["import", str(folder / "three" / "own"), "--label", "third"]) == 6
        ((trial,),) = ask(warehouse.path, "select trial_id from raw.trials where source_file = 'low.jsonl' limit 1")
        assert main(["withdraw", trial, "--why", "typed twice"]) == 0
        ((first,),) = ask(warehouse.path, "select batch_id from raw.batches order by loaded_at limit 1")
        assert main(["check", "--batch", first]) == 0
    return SimpleNamespace(folder=folder, path=warehouse.path, then=folder / "then" / warehouse.path.name, trial=trial)


@pytest.fixture
def warehouse(made, monkeypatch, capsys):
    """The path of it, which no test changes."""
    before = made.path.read_bytes()
    monkeypatch.setenv("BAIS_WAREHOUSE", str(made.path))
    capsys.readouterr()
    yield made.path
    assert made.path.read_bytes() == before


@pytest.fixture
def dbt(warehouse_in, tmp_path, monkeypatch):
    """Let `bais build` run dbt without starting it anew, or find a failure; return what it was asked."""
    asked = []

    def start(*arguments, more_environment=None, **_):
        asked.append(SimpleNamespace(arguments=arguments, path=Path(more_environment["BAIS_WAREHOUSE"])))
        if "fails" in arguments:
            return SimpleNamespace(wait=lambda: 1, stdout=[])
        if "interrupted" in arguments:
            raise KeyboardInterrupt
        built = warehouse_in(tmp_path)
        built.path = asked[-1].path
        built.environment |= more_environment
        built.dbt("--quiet", *arguments)
        return SimpleNamespace(wait=lambda: 0, stdout=[])

    monkeypatch.setattr("bais.dbt.start", start)
    return asked


def ask(path, sql):
    with contextlib.closing(duckdb.connect(str(path), read_only=True)) as connection:
        return connection.sql(sql).fetchall()


def published(path):
    """Derive what the marts are made of."""
    with contextlib.closing(duckdb.connect()) as memory:
        memory.execute(f"attach '{path}' as warehouse (read_only)")
        models = Models(memory, {"raw": "warehouse.raw"}, {"response_source": "recorded"})
        return memory.sql(f"from {models.ref('int_trials_identified')} order by trial_id").fetchall()


def printed(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def refused(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err.removeprefix("bais: ").removesuffix("\n")


def test_each_version_says_what_it_brought_and_what_became_of_it(warehouse, capsys, monkeypatch, golden):
    with monkeypatch.context() as patch:
        patch.setattr("bais.terminal.terminal_width", lambda: 80)
        golden(printed(capsys, "versions"))
    head, _, _, *lines = printed(capsys, "versions").splitlines()
    assert head.startswith("own (")
    first, second, third = (" ".join(of.split()) for of in lines)
    assert first.startswith("first 20")
    assert first.endswith(" 4 42 0 0 0 yes")
    assert " 3 1 39 1 2 yes " in second
    assert third.endswith(" newest")


def test_a_source_is_shown_with_the_files_that_changed(warehouse, capsys):
    for asked in ("own", "ow", "second"):
        out = printed(capsys, "versions", asked)
        said = out.split("second: files that are not as they were\n")[1].split("\n\n")[0]
        assert said.splitlines() == [
            "  changed  high.jsonl (10 lines before, 11 now)", "  gone     extra.jsonl (2 lines before, not there now)"
        ]  # fmt: skip
    found = json.loads(printed(capsys, "versions", "own", "--json"))
    assert [version["version"] for version in found] == ["first", "second", "third"]
    assert [batch["verdict"] for batch in found[2]["batches"]] == ["failed"]
    assert [(of["change"], of["path"]) for of in found[1]["files"]] == [
        ("changed", "high.jsonl"), ("gone", "extra.jsonl")
    ]  # fmt: skip


def test_a_source_that_is_not_there_is_answered_with_those_that_are(warehouse, capsys, golden):
    golden(refused(capsys, "versions", "won"), "won", "own")


def test_a_warehouse_without_versions_says_what_keeps_one(tmp_path, monkeypatch, capsys, golden):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "some.duckdb"))
    duckdb.connect(str(tmp_path / "some.duckdb")).close()
    golden(printed(capsys, "versions"))


def test_a_build_as_of_a_version_has_the_tables_of_then_and_the_warehouse_stays(
    made, warehouse, dbt, tmp_path, capsys, golden
):
    target = tmp_path / "past" / warehouse.name
    out = printed(capsys, "build", "--as-of", "own:first", "--to", target, *BUILD)
    golden(out, str(target))
    golden(out, "42 trials", "1 batches", "1 versions")
    assert [of.path.name for of in dbt] == [warehouse.name]
    assert list(target.parent.iterdir()) == [target]
    capsys.readouterr()
    assert compare.main([str(made.then), str(target)]) == 0, capsys.readouterr().out
    for table in ("trials", "batch_verdicts", "flagged_trials", "source_versions", "version_files"):
        assert ask(target, f"from raw.{table} order by all") == ask(made.then, f"from raw.{table} order by all")


def test_a_version_is_known_by_its_id_and_what_came_until_its_audit_is_there(warehouse, dbt, tmp_path, capsys):
    ((version_id,),) = ask(warehouse, "select version_id from raw.source_versions where label = 'third'")
    target = tmp_path / "past" / warehouse.name
    printed(capsys, "build", "--as-of", version_id[:9], "--to", target, "--select", "stg_batches")
    assert dbt[0].arguments[:3] == ("build", "--select", "stg_batches")
    assert ask(target, "select count(*), count(distinct batch_id) from raw.batch_verdicts") == [(3, 3)]
    assert ask(warehouse, "select count(*), count(distinct batch_id) from raw.batch_verdicts") == [(4, 3)]
    assert ask(target, "select count(*) from raw.trials") == ask(warehouse, "select count(*) from raw.trials")
    assert ask(target, "from raw.gate_acts") == []


@pytest.mark.parametrize(("how", "code"), [("fails", 1), ("interrupted", 130)])
def test_a_build_that_fails_or_is_interrupted_leaves_nothing(warehouse, dbt, tmp_path, capsys, how, code):
    target = tmp_path / "past" / "w.duckdb"
    assert main(["build", "--as-of", "first", "--to", str(target), how]) == code
    assert list(target.parent.iterdir()) == []


def test_a_file_is_replaced_only_by_force_and_only_if_it_is_another_warehouse(
    made, warehouse, dbt, tmp_path, capsys, golden
):
    target = Path(shutil.copy(made.then, tmp_path))
    before = target.read_bytes()
    asked = ["build", "--as-of", "first", "--to", target, "--select", "stg_batches"]
    golden(refused(capsys, *asked), "--force")
    assert main([*map(str, asked), "--force", "fails"]) == 1
    assert target.read_bytes() == before
    (tmp_path / "notes.txt").write_text("mine")
    asked[4] = tmp_path / "notes.txt"
    capsys.readouterr()
    golden(refused(capsys, *asked, "--force"))
    duckdb.connect(str(tmp_path / "mine.duckdb")).close()
    asked[4] = tmp_path / "mine.duckdb"
    golden(refused(capsys, *asked, "--force"))
    asked[4] = warehouse
    golden(refused(capsys, *asked, "--force"))
    asked[4] = target
    printed(capsys, *asked, "--force")
    assert target.read_bytes() != before


@pytest.mark.parametrize(
    "version",
    [
        "firts",
        "",
        "own:fourth",
    ],
)
def test_a_version_that_is_not_there_is_answered_with_those_that_are_alike(
    warehouse, tmp_path, capsys, version, golden
):
    said = refused(capsys, "build", "--as-of", version, "--to", tmp_path / "past.duckdb")
    golden(said)


@pytest.mark.parametrize(
    "arguments",
    [["--as-of", "first"], ["--to", "x"], ["--force"], ["--as-of", "first", "--to", "x", "--target", "dev"]],
)
def test_options_that_do_not_go_together_are_refused(warehouse, capsys, arguments):
    assert main(["build", *arguments]) == 2


def test_an_export_takes_versions_and_withdrawals_with_it(made, warehouse, tmp_path, monkeypatch, capsys, golden):
    listed = printed(capsys, "versions", "own")
    printed(capsys, "export", tmp_path / "out")
    back = tmp_path / "back" / "w.duckdb"
    monkeypatch.setenv("BAIS_WAREHOUSE", str(back))
    for n_added in (3, 0):
        out = printed(capsys, "import", tmp_path / "out")
        assert f" source_versions {n_added} added {3 - n_added} already" in " ".join(out.split())
        for name, table in TABLES.items():
            columns = ", ".join(column for column in table.columns if column != "_dlt_load_id")
            everything = f"select {columns} from raw.{name} order by all"
            assert ask(back, everything) == ask(warehouse, everything), name
    assert printed(capsys, "versions", "own") == listed
    assert published(back) == published(warehouse)
    out = printed(capsys, "import", made.folder / "three" / "own")
    golden(out, "source own")


def test_an_export_brings_no_versions_of_what_is_there_already(made, warehouse, tmp_path, monkeypatch, capsys):
    printed(capsys, "export", tmp_path / "out")
    here = Path(shutil.copy(made.then, tmp_path / "here.duckdb"))
    with contextlib.closing(duckdb.connect(str(here))) as other:
        other.execute("update raw.trials set batch_id = 'mine'; update raw.batches set batch_id = 'mine'")
        other.execute("update raw.source_versions set version_id = 'v'; update raw.batches set version_id = 'v'")
    monkeypatch.setenv("BAIS_WAREHOUSE", str(here))
    printed(capsys, "import", tmp_path / "out")
    versions = ask(here, "select label from raw.source_versions order by imported_at")
    assert versions == [("first",), ("second",), ("third",)]
    batches = ask(here, "select batch_id from raw.batches order by loaded_at")
    assert (batches[0], len(batches)) == (("mine",), 3)
    assert ask(here, "select count(*) from raw.trials") == ask(warehouse, "select count(*) from raw.trials")
    assert ask(here, "select act from raw.gate_acts") == [("withdraw",)]


def of_fate(path, fate):
    with contextlib.closing(duckdb.connect(str(path), read_only=True)) as warehouse:
        return records(warehouse, f"from ({fates()}) where fate = '{fate}' order by trial_id")


def test_a_trial_says_what_later_versions_made_of_it(made, warehouse, capsys, golden):
    (superseded,), gone = of_fate(warehouse, "superseded"), of_fate(warehouse, "gone")
    out = printed(capsys, "trial", superseded["trial_id"])
    golden(out, "SUPERSEDED", superseded["superseded_by"])
    golden(out, "`bais build`")
    assert len(gone) == 2
    golden(printed(capsys, "trial", gone[0]["trial_id"]), "GONE")
    out = printed(capsys, "trial", made.trial)
    golden(out, "WITHDRAWN")
    assert ": typed twice\n" in out
    found = json.loads(printed(capsys, "trial", superseded["superseded_by"], "--json"))
    assert (found["held_back"], found["became"]["fate"], found["became"]["withdrawn"]) == ("not_published", None, None)
    assert "NOT BUILT YET" in printed(capsys, "trial", superseded["superseded_by"])


def test_the_list_of_all_trials_says_what_holds_each_back(made, warehouse, tmp_path, monkeypatch, capsys):
    """In a copy without marts of the trials, as after a build that left out what is displaced."""
    copy = Path(shutil.copy(warehouse, tmp_path))
    with contextlib.closing(duckdb.connect(str(copy))) as other:
        for name in ("trials", "quarantined_trials"):
            other.execute(f"create table kept as from marts.{name} limit 0; drop view marts.{name}")
            other.execute(f"create table marts.{name} as from kept; drop table kept")
    monkeypatch.setenv("BAIS_WAREHOUSE", str(copy))
    listed = json.loads(printed(capsys, "trials", "--all", "--format", "json"))
    held_back = {row["trial_id"]: (row["reason"], row["held_back"]) for row in listed}
    assert held_back[made.trial][0] == "withdrawn"
    assert held_back[made.trial][1].endswith(": typed twice")
    (superseded,) = of_fate(copy, "superseded")
    by = superseded["superseded_by"][:10]
    assert held_back[superseded["trial_id"]] == ("superseded", f"superseded by {by} of version second")
    assert sorted(held_back.values()).count(("gone", "version second of its source lacks it")) == 2
    assert {reason for reason, _ in held_back.values()} == {"withdrawn", "superseded", "gone", "not_published"}


def test_the_gate_lists_what_later_versions_displaced(made, tmp_path, monkeypatch, capsys):
    copy = Path(shutil.copy(made.path, tmp_path))
    monkeypatch.setenv("BAIS_WAREHOUSE", str(copy))

    def checked(expect):
        capsys.readouterr()
        assert main(["check", "--json"]) == expect
        named = ("is_published", "n_superseded", "n_gone", "is_replaced")
        return [tuple(verdict[name] for name in named) for verdict in json.loads(capsys.readouterr().out)]

    assert checked(6) == [(True, 0, 0, False), (False, 0, 0, False), (True, 1, 2, False)]
    assert main(["import", str(made.folder / "one" / "own"), "--label", "first again"]) == 0
    assert checked(0) == [(True, 1, 0, False), (False, 10, 0, True), (True, 0, 0, False), (True, 0, 0, False)]
    assert main(["check"]) == 0
    assert "1 (all of it in later versions)" in capsys.readouterr().out
