"""`bais paper`: a template offline, an LLM's text if its numbers are the warehouse's, else it is kept as refused."""

import stat
import sys

import duckdb
import pytest

from bais.main import main
from tests.tools.contracts import fill

GOALS = ("displacement", "gap", "error")

ANCHORING = {"paradigm": "anchoring"}
STUB = """#!{python}
import os, sys
from pathlib import Path

if "--version" in sys.argv:
    print("codex-stub 1.0")
    sys.exit()
Path(os.environ["STUB_LOG"]).write_text(sys.stdin.read())
Path(sys.argv[sys.argv.index("--output-last-message") + 1]).write_text(Path(os.environ["STUB_PAPER"]).read_text())
"""


def tables(source, paradigm="anchoring"):
    """The rows of a small warehouse; one study, one domain, two techniques."""
    key = {"study": "s", "domain": "d"}
    named = {"no_technique": "No technique", "sacd": "SACD"}
    lost = {"displacement": 39.15, "gap": 25.32, "error": 43.7}
    effect = {**key, **ANCHORING, "llm": None, "vignette": None, "n_trials": 60, "n_llms": 6, "goals_disagree": False}
    condition = {
        **key, **ANCHORING, "llm": "v/0", "vignette": "theft", "technique": "no_technique", "row_set": "accepted",
        "temperature_scope": "pooled", "is_baseline": False,
    }  # fmt: skip
    gain = {"gain": 26.18, "gain_low": -1.31, "gain_high": 42.38, "gain_plain_low": 2.5, "gain_plain_high": 40.1,
            "gain_llms_low": 2.2, "gain_llms_high": 39.1, "loss": 12.97, "loss_control": 39.15}  # fmt: skip
    decided = {
        "control": "no_technique", "comparison": "control", **gain, "n_gained": 5, "p_sign_flip": 0.21875,
        "n_helped": 4, "n_own_prompt": 0, "n_harmed": 1,
        "n_comparisons": 1, "n_families": 1, "p_best": 0.5968, "p_worst": 0.0,
        "p_worse_than_control": 0.012, "rank_low": 1, "rank_high": 3, "decision": "no_evidence",
        "certainty": "no_evidence", "confidence": 0.95, "margin": 5.0, "n_draws": 1000,
        "seed": 1, "n_llms": 6, "n_vendors": 5, "reason": None,
    }  # fmt: skip
    of_one = decided | {"llm": "v/0", "gain": -14.3, "gain_low": -19.9, "gain_high": -8.7, "decision": "avoid",
                        "certainty": "one_llm", "n_llms": 1, "n_vendors": 1}  # fmt: skip
    foretold = {"control": "no_technique", "expected_loss": 14.2, "gain": 25.1, "gain_low": -8.5, "gain_high": 58.8,
                "p_better_than_control": 0.942, "p_best_new_llm": 1.0, "reason": None}  # fmt: skip
    asked = {"n_asked": 70, "n_answered": 66, "n_refused": 4, "n_unparsed": 0, "n_out_of_range": 0, "n_failed": 0}
    return {
        "seeds.techniques": [{"technique": name, "display_name": shown} for name, shown in named.items()],
        "raw.batches": [{"study": "s", "source": source}],
        "claims.published_claims": [{"claim_id": "A-1", "part": None, "study": "elsewhere"}],
        "marts.claim_checks": [
            {
                "claim_id": "A-1", "part": None, "kind": "value", "statement": "It is 55.", "recomputes": "not_checked",
                "holds": None, "is_first_place": True,
            }
        ],
        "marts.trials": [
            {"study": "s", "source": source, "llm": f"v/{n}", "role": role, "vignette": "theft",
             "response_unit": "months", "left_out_because": None}
            for n, role in [*((n, None) for n in range(6)), ("judge", "answer")]
        ],
        "marts.effects": [
            {**effect, "goal": goal, "base_loss": 13.8 if goal == "error" else None, **of}
            for goal in GOALS
            for of in (
                {"technique": "no_technique", "loss": lost[goal], "rank": None, "reason": "not_ranked"},
                {"technique": "sacd", "loss": (lost | {"displacement": 12.97})[goal], "rank": 1, "reason": None},
            )
        ],
        "marts.conditions": [
            {**condition, "arm": "none", "is_baseline": True, "mean": 18.73, "percent_of_baseline": 100.0,
             "n_trials": 10},
            {**condition, "arm": "low", "mean": 9.3, "percent_of_baseline": 49.65, "n_trials": 30},
            {**condition, "arm": "high", "mean": 17.33, "percent_of_baseline": 92.53, "n_trials": 30},
        ],
        "marts.attrition": [{**key, "vignette": "theft", "paradigm": paradigm, "role": None, **asked}],
        "marts.post_hoc_changes": [
            {**key, "paradigm": paradigm, "change": "withdrawn", "why": "cut off", "llm": llm, "n_trials": n}
            for llm, n in (("v/0", 4), ("v/1", 2))
        ],
        "marts.shortfalls": [],
        "inference.decisions": [
            {**key, **ANCHORING, "llm": None, "technique": "sacd", "goal": goal, "is_primary": goal == GOALS[0], **of}
            for goal in GOALS
            for of in (decided, of_one)
        ],
        "inference.predictions": [
            {**key, **ANCHORING, "llm": None, "technique": "sacd", "goal": goal, **foretold} for goal in GOALS
        ],
        "staging.stg_batches": [{"study": "s", "batch_id": "b"}],
        "staging.stg_batch_verdicts": [{"batch_id": "b", "verdict_id": "v", "verdict": "passed", "is_published": True}],
        "raw.flagged_trials": [
            {"verdict_id": verdict, "trial_id": trial, "batch_id": "b", "study": "s", "severity": "suspect",
             "reason": "equals_anchor"}
            for verdict, trial in (("v", "t"), ("older", "t"), ("v", "superseded"))
        ],
        "intermediate.int_trials_published": [{"trial_id": "t", "batch_id": "b"}],
    }  # fmt: skip


@pytest.fixture
def warehouse(tmp_path, monkeypatch):
    """Make the warehouse, of recorded or of simulated trials."""

    def make(*given):
        path = tmp_path / "data" / "warehouse.duckdb"
        path.parent.mkdir()
        with duckdb.connect(str(path)) as connection:
            fill(connection, tables(*(given or ("recorded",))))
        monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return make


@pytest.fixture
def codex(tmp_path, monkeypatch):
    """A stub of the Codex command that answers with the text given; returns where it keeps what it was asked."""
    command, log, answer = tmp_path / "codex-stub", tmp_path / "asked.txt", tmp_path / "answer.md"
    command.write_text(STUB.format(python=sys.executable))
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("BAIS_CODEX", str(command))
    monkeypatch.setenv("STUB_LOG", str(log))
    monkeypatch.setenv("STUB_PAPER", str(answer))

    def answering(text):
        answer.write_text(text)
        return log

    return answering


def template(capsys):
    assert main(["paper", "--study", "s", "--out", "template.md"]) == 0
    capsys.readouterr()
    with open("template.md", encoding="utf-8") as file:
        return file.read()


def test_without_an_llm_a_template_writes_it_from_the_warehouse(warehouse, capsys, golden):
    warehouse()
    assert main(["paper", "--study", "s"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("----- BEGIN PAPER -----\n# ")
    assert "| SACD | 60 | 6 | 13.0 | 25.3 | 43.7 | 1 | 1 | 1 |" in shown.out
    for figure in ("gain 26.2 pp", "5 of 6", "gain 25.1 %", "6 of 76 trials"):
        assert figure in shown.out
    golden(shown.out)
    assert "SIMULATED" not in shown.out
    assert shown.err == ""


def test_simulated_data_are_marked_in_title_and_abstract(warehouse, capsys, golden):
    warehouse("simulated")
    text = template(capsys)
    assert text.startswith("# SIMULATED: ")
    golden(text.partition("## Methods")[0], "SIMULATED")


def test_the_prompt_is_printed_and_no_llm_is_asked(warehouse, capsys):
    warehouse()
    assert main(["paper", "--study", "s", "--prompt"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Write ")
    assert '"displacement_pp": 13.0' in said


def test_a_grounded_text_of_an_llm_is_written_and_the_llm_is_asked_with_the_prompt(warehouse, codex, capsys):
    warehouse()
    text = template(capsys).replace("## Conclusion\n", "## Conclusion\n\nSACD ends at 13 pp, no more.\n")
    asked = codex(text)
    assert main(["paper", "--study", "s", "--llm", "codex", "--out", "paper.md"]) == 0
    with open("paper.md", encoding="utf-8") as file:
        assert file.read() == text
    main(["paper", "--study", "s", "--prompt"])
    assert capsys.readouterr().out.strip() == asked.read_text().strip()


def test_a_number_that_is_not_in_the_warehouse_is_refused_with_exit_5_and_the_text_kept(
    warehouse, codex, capsys, golden
):
    folder = warehouse()
    text = template(capsys).replace("## Conclusion\n", "## Conclusion\n\nSACD ends at 99.9 pp.\x1b[31m\n")
    codex(text)
    assert main(["paper", "--study", "s", "--llm", "codex", "--out", "paper.md"]) == 5
    assert not (folder / "paper.md").exists()
    assert (folder / "paper.md.refused").read_text() == text
    said = capsys.readouterr().err
    golden(said, "99.9", "Conclusion")
    assert "\x1b" not in said
    assert main(["paper", "--study", "s", "--llm", "codex", "--out", "paper.md"]) == 5
    assert (folder / "paper.md.refused-2").read_text() == text


def test_a_refused_text_is_kept_also_where_none_named_a_file(warehouse, codex, capsys):
    folder = warehouse()
    codex("# A paper\n\nIt is 17.31.\n")
    assert main(["paper", "--study", "s", "--llm", "codex"]) == 5
    assert (folder / "paper-s.md.refused").exists()
    assert capsys.readouterr().out == ""


def test_an_llm_that_gives_nothing_is_exit_4(warehouse, codex, capsys, golden):
    warehouse()
    codex("")
    assert main(["paper", "--study", "s", "--llm", "codex", "--out", "paper.md"]) == 4
    golden(capsys.readouterr().err)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--study", "nope"],
        ["--study", "s", "--llm", "sim/anchored"],
        ["--study", "s", "--llm", "codex", "--prompt"],
        ["--study", "s", "--out", "no/such/folder.md"],
        ["--study", "s", "--out", "data"],
    ],
    ids=" ".join,
)
def test_what_is_wrong_is_one_sentence_before_anything_is_asked(warehouse, codex, capsys, arguments, golden):
    warehouse()
    asked = codex("never")
    assert main(["paper", *arguments]) == 2
    shown = capsys.readouterr()
    golden(shown.err)
    assert shown.out == ""
    assert not asked.exists()


def test_a_paper_on_a_study_of_another_bias_is_refused_with_the_command_that_says_what_was_found(
    warehouse, capsys, golden
):
    warehouse("recorded", "framing")
    assert main(["paper", "--study", "s"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    golden(err, "--paradigm", "--study")


def test_a_warehouse_without_marts_is_one_sentence(tmp_path, monkeypatch, capsys, golden):
    path = tmp_path / "w.duckdb"
    duckdb.connect(str(path)).close()
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    assert main(["paper", "--study", "s"]) == 2
    golden(capsys.readouterr().err, "`bais build`")
