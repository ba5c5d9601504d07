"""`bais doctor`, `bais docs` and `bais completion`."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest
from click.shell_completion import get_completion_class

from bais import health
from bais.main import COMMANDS, commands, main
from ingest.ask.experiment import shipped_experiments
from ingest.warehouse import ROOT
from tests.cli.test_commands import COMMANDS as TAKEN
from tests.tools.contracts import relation_of

KEY = "sk-never-shown-0123456789"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with nothing but the project."""
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "data" / "warehouse.duckdb"))
    monkeypatch.setenv("BAIS_SHARED", str(tmp_path / "none"))
    monkeypatch.delenv("DBT_PROFILES_DIR", raising=False)
    for name in health.KEYS:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def examined(machine, capsys):
    """What the doctor says: exit code, and (state, what, said, mend) of each line."""

    def examine(*arguments):
        code = main(["doctor", "--json", *arguments])
        return code, [tuple(line.values()) for line in json.loads(capsys.readouterr().out)]

    return examine


def made(folder, *tables):
    path = folder / "data" / "warehouse.duckdb"
    path.parent.mkdir(exist_ok=True)
    with duckdb.connect(str(path)) as connection:
        for table in tables:
            connection.execute(f"create schema if not exists {table.partition('.')[0]}")
            connection.execute(f"create table {table} (a integer)")
    return path


def lines_on(lines, what):
    return [line for line in lines if line[1] == what]


def test_a_machine_before_its_first_run_is_told_to_make_one(examined, golden):
    code, lines = examined()
    (state, _, _, mend) = lines_on(lines, "warehouse")[0]
    assert (code, state, mend) == (
        0, "warning", "collect or import some trials (`bais collect simulated`), then run `bais build`",
    )  # fmt: skip
    told = [line for what in ("warehouse", "spool", "key") for line in lines_on(lines, what)]
    golden("\n".join(". ".join(filter(None, line)) for line in told))
    assert examined("--strict")[0] == 1


@pytest.mark.parametrize(
    ("results", "code"),
    [
        (["operation success", "exposure no-op", "seed success", "model success", "test pass", "unit_test pass"], 0),
        (["model success", "model error", "model skipped", "test fail", "test pass", "test skipped"], 1),
        (["model success", "test pass", "test warn"], 0),
        (["model success"], 0),
        (None, 2),
    ], ids=str,
)  # fmt: skip
def test_a_build_says_what_was_built_how_many_tests_passed_and_how_long_it_took(
    tmp_path, monkeypatch, capsys, results, code, golden
):
    kept = tmp_path / "run_results.json"
    kept.write_text('{"results": [{"unique_id": "model.bais.of_an_earlier_run", "status": "success"}]}')
    os.utime(kept, (0, 0))

    def start(*_, **__):
        if results:
            of = [result.split() for result in results]
            kept.write_text(
                json.dumps(
                    {
                        "results": [
                            {"unique_id": f"{kind}.bais.of_llms_.1a2b", "status": status, "failures": 1000}
                            for kind, status in of
                        ]
                    }
                )
            )
        return SimpleNamespace(wait=lambda: code, stdout=[])

    monkeypatch.setenv("DBT_TARGET_PATH", str(tmp_path))
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "data" / "warehouse.duckdb"))
    monkeypatch.setattr("bais.dbt.start", start)
    assert main(["build"]) == code
    said = capsys.readouterr().out
    assert bool(said) == bool(results)
    if said:
        golden(said)


@pytest.mark.parametrize(
    ("asked", "left_out"),
    [
        ([], ["--exclude-resource-type", "unit_test"]),
        (["--select", "effects"], ["--exclude-resource-type", "unit_test"]),
        (["--resource-type=model"], []),
        (["--exclude-resource-types", "test"], []),
    ],
)
def test_a_build_leaves_the_unit_tests_of_models_out_unless_kinds_are_chosen(tmp_path, monkeypatch, asked, left_out):
    started = []

    def start(*arguments, **_):
        started.extend(arguments)
        return SimpleNamespace(wait=lambda: 0, stdout=[])

    monkeypatch.setenv("DBT_TARGET_PATH", str(tmp_path))
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "data" / "warehouse.duckdb"))
    monkeypatch.setattr("bais.dbt.start", start)
    assert main(["build", *asked]) == 0
    assert started == ["build", *asked, *left_out]


def test_a_warehouse_with_every_public_table_is_ok_and_one_that_lacks_some_names_them(machine, examined):
    every = sorted(health.modelled_tables())
    made(machine, *every[1:])
    assert lines_on(examined()[1], "warehouse")[0][0] == "warning"
    assert every[0] in lines_on(examined()[1], "warehouse")[0][2]
    made(machine, every[0])
    assert lines_on(examined()[1], "warehouse")[0][0] == "ok"


def test_doctor_counts_the_views_of_scores_as_python_and_export_do():
    of_scores = {relation_of(path.stem) for path in (ROOT / "models" / "scores").glob("*.sql")}
    assert "papers.anchor_calls" in of_scores
    assert of_scores <= health.modelled_tables()


def test_a_warehouse_without_marts_is_told_to_build(machine, examined):
    made(machine, "raw.trials")
    assert lines_on(examined()[1], "warehouse")[0][3] == "run `bais build`"


def test_what_is_no_warehouse_is_exit_2(machine, examined, golden):
    made(machine).write_bytes(b"not a database" * 1000)
    code, lines = examined()
    assert code == 2
    assert lines_on(lines, "warehouse")[0][0] == "missing"
    golden(lines_on(lines, "warehouse")[0][2])


def test_a_warehouse_in_use_names_the_process(machine, examined):
    path = made(machine)
    held = subprocess.Popen(
        [sys.executable, "-c", f"import duckdb; held = duckdb.connect({str(path)!r}); print(flush=True); input()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        held.stdout.readline()
        code, lines = examined()
    finally:
        held.communicate(b"\n")
    assert code == 0
    assert f"process {held.pid}" in lines_on(lines, "warehouse")[0][2]


def test_a_package_that_is_missing_or_of_another_version_is_named(examined, monkeypatch, tmp_path, golden):
    lock = "# by uv\nduckdb==0.0.1 \\\n    --hash=sha256:00\nno_such-package==1.0 \\\n    --hash=sha256:00\n"
    lock += "only-elsewhere==1.0 ; sys_platform == 'never' \\\n    --hash=sha256:00\n"
    (tmp_path / "requirements.lock").write_text(lock)
    monkeypatch.setattr(health, "ROOT", tmp_path)
    monkeypatch.setattr(health, "modelled_tables", set)
    code, lines = examined()
    assert code == 2
    states = {state: said for state, _, said, _ in lines_on(lines, "packages")}
    golden(states["missing"])
    assert states["warning"].endswith(f"(duckdb {duckdb.__version__}, not 0.0.1)")


def test_the_lock_of_this_checkout_can_be_read():
    locked = health.locked_versions((ROOT / "requirements.lock").read_text())
    assert len(locked) > 50
    assert locked["duckdb"].startswith("2.")


def test_keys_are_said_to_be_set_and_never_shown(machine, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for arguments in ([], ["--json"]):
        main(["doctor", *arguments])
        shown = capsys.readouterr()
        assert "OPENAI_API_KEY is set" in shown.out
        assert KEY not in shown.out + shown.err


def test_without_a_key_it_is_a_note_and_no_warning(examined):
    assert [line[0] for line in lines_on(examined()[1], "key")] == ["note"]


def test_a_study_that_was_not_finished_is_named_with_the_command_that_goes_on(machine, examined):
    spool = machine / "data" / "spool" / "warehouse" / "half-done" / "collected.jsonl"
    spool.parent.mkdir(parents=True)
    spool.write_text(json.dumps({"kind": "call", "trial_id": "0" * 32}, separators=(",", ":")) + "\nno record\n")
    lines = lines_on(examined()[1], "spool")
    said = "half-done: 1 trial begun and not finished"
    mend = "`bais collect FILE` with the file of the study half-done goes on where it stopped"
    assert ("note", "spool", said, mend) in lines
    assert any(line[0] == "warning" and "1 lines are no record" in line[2] for line in lines)
    spool.parent.rename(spool.parent.with_name("judicial"))
    lines = lines_on(examined()[1], "spool")
    assert (
        "note",
        "spool",
        said.replace("half-done", "judicial"),
        "`bais collect judicial` goes on where it stopped",
    ) in lines


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_spool_that_cannot_be_written_is_exit_2(machine, examined):
    folder = machine / "data" / "spool" / "warehouse"
    folder.mkdir(parents=True)
    folder.chmod(0o500)
    assert examined()[0] == 2


def test_a_full_disk_is_a_warning(examined, monkeypatch):
    import shutil
    from collections import namedtuple

    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 9, 1 << 20))
    assert lines_on(examined()[1], "disk")[0][0] == "warning"


def test_a_profile_that_is_not_where_it_is_said_to_be_is_exit_2(machine, examined, monkeypatch):
    monkeypatch.setenv("DBT_PROFILES_DIR", str(machine))
    code, lines = examined()
    assert code == 2
    assert lines_on(lines, "dbt profile")[0][3].startswith("unset DBT_PROFILES_DIR")


def test_each_line_says_a_state_and_what_is_not_ok_says_what_to_do(examined):
    for state, what, said, mend in examined()[1]:
        assert state in ("ok", "note", "warning", "missing")
        assert what
        assert said
        assert state == "ok" or mend


def test_docs_of_a_warehouse_that_is_not_built_are_one_sentence(machine, capsys, golden):
    assert main(["docs"]) == 2
    made(machine)
    assert main(["docs"]) == 2
    said = capsys.readouterr().err.splitlines()
    golden(said[0])
    golden(said[1], "`bais build`")


COMPLETE = """
PATH=$1:$PATH
source <(bais completion bash)
complete -p bais
shift
compopt() { echo "compopt $1 $2"; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bais_completion bais
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(*words):
    program = ["bash", "-c", COMPLETE, "bash", str(Path(sys.executable).parent), *words]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    first, *offered = done.stdout.splitlines()
    assert first.endswith("-F _bais_completion bais")
    assert done.stderr == ""
    return offered


def test_bash_completes_commands_options_and_choices():
    assert completed("bais", "doc") == ["docs", "doctor"]
    assert completed("bais", "claims", "--dif") == ["--differs"]
    assert completed("bais", "claims", "--holds", "we") == ["weaker"]
    assert completed("bais", "completion", "f") == ["fish"]
    assert completed("bais", "plan", "simu") == ["simulated"]


def test_bash_completes_files_where_a_path_is_wanted():
    assert completed("bais", "analyze", "res")[0] == "compopt -o default"
    assert completed("bais", "docs", "--out", "res")[0] == "compopt -o default"
    assert completed("bais", "plan", "my-own")[0] == "compopt -o default"


def offered(shell, *words):
    """Return what a shell is offered after some words, where the next begins with the last one."""
    complete = get_completion_class(shell)(commands, {}, "bais", "_BAIS_COMPLETE")
    return {item.value for item in complete.get_completions(list(words[:-1]), words[-1])}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_offered_in_each_shell(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "_BAIS_COMPLETE" in capsys.readouterr().out
    names = {name for of in COMMANDS.values() for name in of}
    assert offered(shell, "") == names
    assert offered(shell, "run", "anchoring") == set(shipped_experiments()) != set()
    assert offered(shell, "run", "simu") == {"simu"}
    assert offered(shell, "show", "simulated") >= {"simulated"}
    for name in names:
        options = {option for option in TAKEN[name] if option.startswith("--")}
        opposites = {"--no-keep"} if "--keep" in options else set()
        assert offered(shell, name, "--") == options | opposites | {"--help"}


def test_help_answers_at_once():
    program = [sys.executable, "-c", "from bais.main import main; main(['--help'])"]
    began = time.perf_counter()
    done = subprocess.run(program, capture_output=True, text=True, check=True, cwd=ROOT)
    took = time.perf_counter() - began
    assert "doctor" in done.stdout
    assert took < 2  # alone on this machine a fifth of a second
    heavy = "[name for name in ('duckdb', 'dbt', 'dlt', 'pandas', 'scipy') if name in sys.modules]"
    every = "from bais.main import MODULES, commands; [commands.get_command(None, name) for name in MODULES]"
    program[2] = f"import sys; {every}; print({heavy})"
    assert subprocess.run(program, capture_output=True, text=True, check=True, cwd=ROOT).stdout == "[]\n"


def test_exposures_name_models_that_are_there():
    import yaml

    models = {path.stem for path in Path(ROOT / "models").rglob("*") if path.suffix in (".sql", ".py")}
    seeds = {path.stem for path in Path(ROOT / "seeds").glob("*.csv")}
    exposures = yaml.safe_load((ROOT / "models" / "exposures.yml").read_text())["exposures"]
    assert {"html_report", "claims_ledger", "recommendation", "export"} <= {exposure["name"] for exposure in exposures}
    for exposure in exposures:
        for ref in exposure["depends_on"]:
            assert ref.removeprefix("ref('").removesuffix("')") in models | seeds
