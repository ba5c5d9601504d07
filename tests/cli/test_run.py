"""`bais run`: story 001 from the prompt to the report, with simulated respondents and a stub of the Codex command."""

import contextlib
import csv
import json
import stat
import sys
from collections import Counter

import pytest

from bais.main import main
from ingest.warehouse import ROOT

TWICE = pytest.mark.slow("runs an experiment twice")
STUB = """#!{python}
import json, os, re, sys
from pathlib import Path

if "--version" in sys.argv:
    print("codex-stub 1.0")
    sys.exit()
assert sys.argv[1] == "exec" and sys.argv[-1] == "-", sys.argv
assert not list(Path.cwd().iterdir()), "the working folder is not empty"
prompt = sys.stdin.read()
mode, log = os.environ["STUB_MODE"], Path(os.environ["STUB_LOG"])
out = Path(sys.argv[sys.argv.index("--output-last-message") + 1])
is_report = "References" in prompt
anchor = re.search(r"Lena M[.] ([0-9]+) months", prompt)
anchor = int(anchor[1]) if anchor else None
with open(log, "a") as file:
    file.write(f"{{'report' if is_report else anchor}}\\n")
n = log.read_text().splitlines().count(str(anchor))
if is_report:
    if mode in ("report fails", "report exits"):
        if mode == "report exits":
            sys.exit(3)
        out.write_text("# A report\\n\\nThe difference was 17.31 months.\\n")
    else:
        out.write_text(os.environ["STUB_REPORT"])
    sys.exit()
answer = {{"prosecutorRecommendationMonths": anchor, "prosecutorEvaluation": "too high",
          "defenseAttorneyEvaluation": "too low", "sentenceMonths": 4 + anchor // 4}}
if mode == "extra key":
    answer["reason"] = "\\x1b[31mred"
if mode == "mismatch":
    answer["prosecutorRecommendationMonths"] = 12 - anchor
text = json.dumps(answer)
if mode == "fenced":
    text = f"```json\\n{{text}}\\n```"
if mode == "always bad" or (mode == "bad once" and n == 1) or (mode == "one condition bad" and anchor == 3):
    text = "I would rather not say."
if mode == "exit 1":
    print("something went wrong", file=sys.stderr)
    sys.exit(1)
if mode == "hangs":
    import time
    time.sleep(600)
print(json.dumps({{"type": "turn.completed", "usage": {{"input_tokens": 7, "output_tokens": 5}}}}))
out.write_text(text)
"""
EXPERIMENT = "anchoring-prosecutor-sentencing"
LINE_KEYS = {
    "experimentId", "model", "provider", "protocol", "conditionId", "runIndex", "params", "result", "rawLastMessage",
    "wasLenient", "error", "attempts", "trialId", "collectedAt",
}  # fmt: skip


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "data" / "warehouse.duckdb"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ungated(monkeypatch):
    """Spare the gate where a refused report decides the exit code whatever it says, as a test below holds."""
    monkeypatch.setattr("ingest.run.pass_gate", lambda: 0)


@pytest.fixture
def codex(work, monkeypatch):
    """A stub of the Codex command; call it with a mode and get what `bais run` gave: exit code, lines, analysis."""
    command, log = work / "codex-stub", work / "calls.txt"
    command.write_text(STUB.format(python=sys.executable))
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("BAIS_CODEX", str(command))
    monkeypatch.setenv("STUB_LOG", str(log))
    monkeypatch.setenv("STUB_REPORT", "no report")

    def run(mode, *more):
        monkeypatch.setenv("STUB_MODE", mode)
        code = main(["run", EXPERIMENT, "--runs", "2", "--max-attempts", "2", "--out", "r.jsonl", *more])
        return code, lines_of(work / "r.jsonl"), json.loads((work / "r.analysis.json").read_text())

    run.log = log
    return run


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def simulated(*more, model="sim/anchored", runs="5"):
    return main(["run", EXPERIMENT, "--runs", runs, "--model", model, "--seed", "1", *more])


def test_five_runs_give_five_lines_a_condition_with_one_key_set(work):
    assert simulated("--out", "r.jsonl", "--report", "r.md") == 0
    lines = lines_of(work / "r.jsonl")
    assert sorted((line["conditionId"], line["runIndex"]) for line in lines) == [
        (condition, n) for condition in ("high-anchor-9mo", "low-anchor-3mo") for n in range(5)
    ]
    assert {frozenset(line) for line in lines} == {frozenset(LINE_KEYS)}
    assert all(line["error"] is None and line["attempts"] == 1 for line in lines)
    assert "SIMULATED" in (work / "r.md").read_text()


@TWICE
def test_the_same_seed_gives_a_byte_identical_analysis_and_another_seed_another(work):
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert main(
            ["run", EXPERIMENT, "--runs", "5", "--model", "sim/anchored", "--seed", seed, "--out", f"{name}.jsonl",
             "--no-report"]
        ) == 0  # fmt: skip
    a, b, c = ((work / f"{name}.analysis.json").read_bytes() for name in "abc")
    assert a == b != c


def test_low_and_high_trials_are_interleaved(work):
    assert simulated("--out", "r.jsonl", "--no-report", runs="20") == 0
    order = [line["conditionId"][:3] for line in lines_of(work / "r.jsonl")]
    assert all(set(order[i : i + 2]) == {"low", "hig"} for i in range(0, 40, 2))
    assert len({tuple(order[i : i + 2]) for i in range(0, 40, 2)}) == 2


@pytest.mark.parametrize("runs", ["0", "-1", "abc", "1.5", "", "1e3", "٣"])
def test_a_number_of_runs_that_is_none_is_refused_before_any_call(work, capsys, runs):
    assert main(["run", EXPERIMENT, f"--runs={runs}", "--model", "sim/anchored", "--out", "r.jsonl"]) == 2
    assert not list(work.iterdir())
    assert "--runs" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "anchoring-nothing", "--runs", "1", "--model", "sim/anchored"],
        ["run", EXPERIMENT, "--runs", "1", "--model", "sim/nobody"],
        ["run", EXPERIMENT, "--runs", "1", "--model", "sim/anchored", "--out", "there.jsonl"],
        ["run", EXPERIMENT, "--runs", "1", "--model", "sim/anchored", "--out", "no/r.jsonl"],
        ["run", EXPERIMENT, "--runs", "1", "--model", "sim/anchored", "--report", "no/r.md"],
        ["run", EXPERIMENT, "--runs", "1", "--model", "sim/anchored", "--out", "a", "--report", "a"],
        ["show", "nothing"],
        ["render", EXPERIMENT, "--condition", "mid"],
        ["render", "judicial", "--condition", "low-anchor-3mo"],
        ["analyze", "nothing.jsonl"],
        ["analyze", "there.jsonl"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_done_is_one_sentence_and_asks_nothing(work, capsys, arguments, golden):
    (work / "there.jsonl").write_text("not a result\n")
    assert main(arguments) == 2
    shown = capsys.readouterr()
    golden(shown.err)
    assert shown.err.count("\n") == 1
    assert (work / "there.jsonl").read_text() == "not a result\n"
    assert not (work / "data").exists()


def test_a_result_that_is_no_object_is_refused_in_a_sentence(work, capsys):
    line = {"experimentId": EXPERIMENT, "conditionId": "low-anchor-3mo", "runIndex": 0, "result": [4]}
    (work / "r.jsonl").write_text(json.dumps(line))
    assert main(["analyze", "r.jsonl"]) == 2
    assert capsys.readouterr().err.startswith("bais: r.jsonl cannot be analysed: ")


def test_without_the_codex_command_nothing_is_asked_and_the_way_out_is_said(work, monkeypatch, capsys):
    monkeypatch.delenv("BAIS_CODEX", raising=False)
    monkeypatch.setenv("PATH", str(work))
    monkeypatch.setattr("ingest.providers.codex._folder", lambda: work)
    assert main(["run", EXPERIMENT, "--runs", "1", "--out", "r.jsonl"]) == 2
    assert "npm install" in capsys.readouterr().err
    assert not (work / "r.jsonl").exists()


def test_results_alone_go_to_stdout_and_the_rest_is_delimited_on_stderr(work, capsys):
    assert simulated() == 0
    shown = capsys.readouterr()
    assert len([json.loads(line) for line in shown.out.splitlines()]) == 10
    analysis = shown.err.partition("----- BEGIN ANALYSIS -----\n")[2].partition("----- END ANALYSIS -----")[0]
    assert json.loads(analysis)["totals"] == {"nTrials": 10, "nOk": 10, "nError": 0}
    report = shown.err.partition("----- BEGIN REPORT -----\n")[2].partition("----- END REPORT -----")[0]
    assert "## Discussion" in report


def test_the_three_turn_protocol_asks_three_times(work, query_of):
    assert simulated("--out", "r.jsonl", "--protocol", "three_turn", "--no-report") == 0
    assert all(line["result"] and line["attempts"] == 1 for line in lines_of(work / "r.jsonl"))
    assert query_of("select turn, count(*) from raw.calls group by turn order by turn") == [(0, 10), (1, 10), (2, 10)]


@pytest.fixture
def query_of(work):
    import duckdb

    def query(sql):
        with duckdb.connect(str(work / "data" / "warehouse.duckdb"), read_only=True) as connection:
            return connection.sql(sql).fetchall()

    return query


@pytest.mark.slow("runs an experiment again and again")
def test_the_trials_are_in_raw_with_their_number_and_a_second_run_adds_to_them(work, query_of):
    for name in ("a", "b"):
        assert simulated("--out", f"{name}.jsonl", "--no-report") == 0
    assert query_of("select count(*), count(distinct trial_id) from raw.trials") == [(20, 20)]
    landed = dict(query_of("select trial_id, response_recorded from raw.trials"))
    lines = [*lines_of(work / "a.jsonl"), *lines_of(work / "b.jsonl")]
    assert landed == {line["trialId"]: line["result"]["sentenceMonths"] for line in lines}


# mode: exit code, ok and errors of (low, high), code of the errors, calls for a trial with an error
MODES = {
    "fenced": (4, (0, 0), (2, 2), "not_json_only"),
    "always bad": (4, (0, 0), (2, 2), "not_json_only"),
    "mismatch": (4, (0, 0), (2, 2), "condition_mismatch"),
    "extra key": (4, (0, 0), (2, 2), "unknown_key"),
    "exit 1": (4, (0, 0), (2, 2), "codex_exit"),
    "one condition bad": (6, (0, 2), (2, 0), "not_json_only"),  # half of what was asked cannot be read
    "ok": (0, (2, 2), (0, 0), None),
    "bad once": (0, (2, 2), (0, 0), None),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.slow("runs an experiment again and again")
def test_codex_in_each_mode_loses_nothing_and_counts_what_failed(codex, mode, capsys):
    expected, ok, errors, error_code = MODES[mode]
    code, lines, analysis = codex(mode, "--no-report")
    assert code == expected
    assert tuple(c["nOk"] for c in analysis["conditions"]) == ok
    assert tuple(c["nError"] for c in analysis["conditions"]) == errors
    assert {line["error"]["code"] for line in lines if line["error"]} == ({error_code} if error_code else set())
    assert all(line["attempts"] == 2 for line in lines if line["error"])
    assert len(lines) == 4
    n_calls = len(codex.log.read_text().splitlines())
    assert n_calls == {"ok": 4, "bad once": 6, "one condition bad": 6}.get(mode, 8)
    assert {frozenset(line) for line in lines} == {frozenset(LINE_KEYS)}
    if mode not in ("exit 1",):
        assert all(line["rawLastMessage"] for line in lines)
    assert "\x1b" not in "".join(capsys.readouterr())


def test_lenient_takes_fenced_answers_and_says_so(codex):
    code, lines, analysis = codex("fenced", "--no-report", "--json-mode", "lenient")
    assert code == 0
    assert all(line["wasLenient"] and line["result"] for line in lines)
    assert analysis["config"]["jsonMode"] == "lenient"


def test_tokens_that_codex_reports_land_with_what_it_could_not_take(codex, query_of):
    codex("ok", "--no-report", "--model", "codex/gpt-5")
    rows = query_of(
        "select distinct tokens_in, tokens_out, parameters->>'codex_version', requested_model from raw.calls"
    )
    assert rows == [(7, 5, "codex-stub 1.0", "gpt-5")]


@pytest.mark.usefixtures("ungated")
def test_a_report_with_a_number_of_its_own_is_refused_and_kept_aside(codex, work, capsys):
    code, lines, _ = codex("report fails", "--report", "r.md")
    assert code == 5
    assert len(lines) == 4
    assert "17.31" in capsys.readouterr().err
    assert not (work / "r.md").exists()
    assert "17.31" in (work / "r.md.refused").read_text()


@pytest.mark.usefixtures("ungated")
@pytest.mark.parametrize(
    ("options", "kept"), [pytest.param(["--report", "r.md"], "r.md", marks=TWICE), ([], "r.report.md")]
)
@pytest.mark.slow("runs an experiment again and again")
def test_each_refused_report_is_kept_beside_the_others(codex, work, capsys, options, kept):
    for ending in ("", "-2", "-3"):
        assert codex("report fails", *options)[0] == 5
        assert f"{kept}.refused{ending}\n" in capsys.readouterr().err
        assert "17.31" in (work / f"{kept}.refused{ending}").read_text()
        for path in work.glob("r.*json*"):
            path.unlink()


@pytest.mark.usefixtures("ungated")
def test_a_refused_report_is_kept_also_where_no_file_is_named(codex, work, monkeypatch):
    monkeypatch.setenv("STUB_MODE", "report fails")
    assert main(["run", EXPERIMENT, "--runs", "1"]) == 5
    assert "17.31" in (work / f"report-{EXPERIMENT}.md.refused").read_text()


def test_a_report_that_is_not_written_leaves_results_and_analysis_complete(codex, work, capsys, golden):
    code, lines, analysis = codex("report exits", "--report", "r.md")
    assert code == 4
    assert len(lines) == 4
    assert analysis["totals"]["nOk"] == 4
    assert not (work / "r.md").exists()
    golden(capsys.readouterr().err)


@pytest.mark.parametrize(("mode", "expected"), [("report fails", 5), ("report exits", 4), ("always bad", 4)])
def test_what_went_wrong_before_the_gate_is_what_the_exit_code_says(codex, monkeypatch, mode, expected):
    monkeypatch.setattr("ingest.run.pass_gate", lambda: 6)
    assert codex(mode)[0] == expected


def test_an_interrupted_run_ends_with_130_and_a_complete_one_with_6_where_the_gate_fails(work, monkeypatch):
    monkeypatch.setattr("ingest.run.pass_gate", lambda: 6)
    assert simulated("--out", "complete.jsonl", "--no-report") == 6
    interrupt = contextlib.nullcontext(lambda collector: collector._stop("interrupted"))
    monkeypatch.setattr("ingest.run.shown_progress", lambda: interrupt)
    assert simulated("--out", "interrupted.jsonl", "--no-report") == 130
    assert len(lines_of(work / "interrupted.jsonl")) < 10


def test_a_grounded_report_of_the_llm_is_written_as_it_came(codex, work, monkeypatch):
    from analysis.writing.experiment_report import template_report

    _, _, analysis = codex("ok", "--no-report")
    case = (ROOT / "ingest" / "prompts" / "vignettes.yaml").read_text()
    assert "Lena M." in case
    text = template_report(analysis, case_text="A case.")
    monkeypatch.setenv("STUB_REPORT", text)
    for path in work.glob("r.*"):
        path.unlink()
    codex.log.unlink()
    code, _, again = codex("ok", "--report", "r.md")
    assert again == analysis
    assert code == 0
    assert (work / "r.md").read_text() == text


@pytest.mark.slow("waits for a time limit")
def test_a_codex_that_hangs_is_stopped_and_its_time_limit_recorded(codex, work, monkeypatch):
    from ingest.studies.study import load_study

    def impatient(name):
        study = load_study(name)
        return study.model_copy(update={"limits": study.limits.model_copy(update={"timeout_s": 0.3, "backoff_s": 0})})

    monkeypatch.setattr("ingest.ask.experiment.load_study", impatient)
    code, lines, _ = codex("hangs", "--no-report")
    assert code == 4
    assert {line["error"]["code"] for line in lines} == {"timeout"}


@pytest.mark.slow("runs and builds an experiment")
def test_the_analysis_equals_the_marts(new_warehouse, tmp_path):
    out = tmp_path / "r.jsonl"
    new_warehouse.bais("run", EXPERIMENT, "--runs", "30", "--model", "sim/anchored", "--out", out, "--no-report")
    new_warehouse.dbt(
        "--quiet",
        "build",
        "--resource-type",
        "seed",
        "model",
        "--select",
        "+conditions",
        "+trials",
        "+evaluations",
        "+human_comparisons",
    )
    analysis = json.loads((tmp_path / "r.analysis.json").read_text())
    rows = new_warehouse.query(
        "select arm, n_trials, mean, median, sd from marts.conditions where paradigm = 'anchoring' "
        "and arm in ('low', 'high') and row_set = 'accepted' and temperature_scope = 'pooled' order by arm desc"
    )
    expected = [
        (c["anchorDirection"], c["n"], c["mean"], c["median"], c["standardDeviation"]) for c in analysis["conditions"]
    ]
    for row, of in zip(rows, expected, strict=True):
        assert row[:2] == of[:2]
        assert row[2:] == pytest.approx(of[2:])
    (low, high) = (mean for _, _, mean, *_ in rows)
    assert high - low == pytest.approx(analysis["comparison"]["difference"])
    values = {"too low": -1, "just right": 0, "too high": 1}
    evaluations = new_warehouse.query(
        "select trial_id, any_value(value) filter (where measure = 'prosecutor_evaluation'), "
        "any_value(value) filter (where measure = 'defense_attorney_evaluation') from papers.evaluations group by all"
    )
    assert sorted(evaluations) == sorted(
        (line["trialId"], values[line["result"]["prosecutorEvaluation"]],
         values[line["result"]["defenseAttorneyEvaluation"]])
        for line in lines_of(out)
    )  # fmt: skip
    ((index, people, d, low, high),) = new_warehouse.query(
        "select i.llm_estimate, i.human_estimate, d.llm_estimate, i.llm_low * 6, i.llm_high * 6 "
        "from marts.human_comparisons as i inner join marts.human_comparisons as d using (study, llm, vignette) "
        "where i.leads and i.is_same_vignette and d.measure = 'd'"
    )
    assert index == pytest.approx(analysis["comparison"]["difference"] / 6)
    assert people == pytest.approx(analysis["humanBaseline"]["difference"] / 6)
    assert d == pytest.approx(analysis["comparison"]["cohensD"])
    bounds = analysis["comparison"]["welchInterval"]
    assert (low, high) == pytest.approx((bounds["low"], bounds["high"]), rel=1e-4)
    ((llm, unit),) = new_warehouse.query("select distinct llm, response_unit from marts.trials")
    assert (llm, unit) == ("sim/anchored", "months")


def test_the_recorded_sixes_have_no_difference_and_no_t(recorded_archive, work, capsys, query_of):
    path = str(recorded_archive / "anchoring-temp1.0.jsonl")
    assert main(["import", "--format", "story-001", path]) == 0
    assert query_of("select count(*), min(response_recorded), max(response_recorded) from raw.trials") == [(60, 6, 6)]
    capsys.readouterr()
    assert main(["analyze", path]) == 0
    comparison = json.loads(capsys.readouterr().out)["comparison"]
    assert comparison["difference"] == 0
    assert comparison["t"] is None
    assert comparison["reasons"]["t"] == "zero_variance"


@TWICE
def test_results_of_a_run_can_be_imported_elsewhere(work, monkeypatch, query_of):
    assert simulated("--out", "r.jsonl", "--no-report") == 0
    landed = query_of("select anchor_direction, anchor_value, response_recorded from raw.trials order by all")
    monkeypatch.setenv("BAIS_WAREHOUSE", str(work / "data" / "warehouse.duckdb"))
    (work / "data" / "warehouse.duckdb").unlink()
    assert main(["import", "--format", "story-001", "r.jsonl"]) == 0
    assert query_of("select anchor_direction, anchor_value, response_recorded from raw.trials order by all") == landed


@TWICE
def test_results_of_a_run_are_not_landed_again_where_they_were_collected(work, query_of, capsys, golden):
    assert simulated("--out", "r.jsonl", "--no-report") == 0
    capsys.readouterr()
    assert main(["import", "r.jsonl"]) == 0
    said = capsys.readouterr().out
    golden(said, "10 trials")
    assert "0 new, 10 unchanged" in said
    with open("r.jsonl", encoding="utf-8") as file:
        line = json.loads(file.readline())
    other = line | {"trialId": "of another warehouse", "runIndex": 99}
    with open("r.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(other) + "\n")
    assert main(["import", "r.jsonl"]) == 0
    assert "1 new, 10 unchanged" in capsys.readouterr().out
    landed = query_of("select source, count(*) from raw.trials group by all order by all")
    assert landed == [("recorded", 1), ("simulated", 10)]


def test_show_and_render_print_the_definition_and_the_exact_prompt(work, capsys):
    import yaml

    assert main(["show", EXPERIMENT]) == 0
    shown = yaml.safe_load(capsys.readouterr().out)
    assert shown["study"] == EXPERIMENT
    assert shown["anchors"] == {"fixed": {"low": 3.0, "high": 9.0}}
    prompts = {}
    for condition in ("low-anchor-3mo", "high-anchor-9mo"):
        assert main(["render", EXPERIMENT, "--condition", condition]) == 0
        prompts[condition] = capsys.readouterr().out
    low, high = prompts.values()
    assert low != high == low.replace("3 months", "9 months")
    assert main(["render", EXPERIMENT, "--protocol", "three_turn"]) == 0
    assert capsys.readouterr().out.count("──") == 6


OWN = {
    "study: anchoring-prosecutor-sentencing": "study: burglary-demands",
    "description: Anchoring Bias - Prosecutor Sentencing Recommendation": "description: Demands for a burglary",
    "llms: [{llm: openai/codex, provider: codex}]": "llms: [sim/anchored]",
    "vignette: shoplifting": "vignette: burglary",
    "valid_max: 12": "valid_max: 60",
    "low: 3, high: 9": "low: 12, high: 48",
}


@pytest.fixture
def own(work):
    """An experiment of a user's own beside the one in three turns, with the words of story 001 for another case."""
    for ending in ("", "-three-turn"):
        text = (ROOT / "ingest" / "studies" / f"{EXPERIMENT}{ending}.yaml").read_text(encoding="utf-8")
        for old, new in OWN.items():
            assert old in text
            text = text.replace(old, new)
        before, _, after = text.partition("    question:")
        text = before + after.partition("\n    words:")[2].partition("techniques:")[2].join(["techniques:", ""])
        (work / f"burglary{ending}.yaml").write_text(text, encoding="utf-8")
    return work / "burglary.yaml"


def test_an_experiment_of_ones_own_is_a_file(own, work, capsys, golden):
    assert main(["run", str(own), "--runs", "5", "--out", "r.jsonl", "--report", "r.md"]) == 0
    golden(capsys.readouterr().err)
    lines = lines_of(work / "r.jsonl")
    assert {(line["conditionId"], line["model"], line["protocol"]) for line in lines} == {
        ("low-anchor-12mo", "sim/anchored", "single_turn"), ("high-anchor-48mo", "sim/anchored", "single_turn"),
    }  # fmt: skip
    assert max(line["result"]["sentenceMonths"] for line in lines) > 12
    analysis = json.loads((work / "r.analysis.json").read_text())
    assert analysis["experiment"]["validMax"] == 60
    assert analysis["humanBaseline"] is analysis["humanComparison"] is None
    report = (work / "r.md").read_text()
    golden(report, "none", "LLM")
    assert "human legal professionals" not in report
    assert main(["analyze", "r.jsonl"]) == 2
    golden(capsys.readouterr().err, "--experiment", "YAML")
    assert main(["analyze", "r.jsonl", "--experiment", str(own)]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["comparison"]["difference"] == analysis["comparison"]["difference"]


@pytest.mark.slow("runs and builds an experiment")
def test_results_of_an_experiment_of_ones_own_are_known_by_their_shape_and_measured_as_where_they_were_asked(
    own, new_warehouse, tmp_path, monkeypatch
):
    out = tmp_path / "r.jsonl"
    new_warehouse.bais("run", own, "--runs", "5", "--out", out, "--no-report")
    evaluations = (
        "select anchor_direction, measure, count(*), sum(value) from papers.evaluations group by all order by all"
    )
    measured = []
    for is_elsewhere in (False, True):
        if is_elsewhere:
            new_warehouse.path.unlink()
            new_warehouse.bais("import", out)
        new_warehouse.dbt("--quiet", "build", "--resource-type", "seed", "model", "--select", "+evaluations")
        measured.append(new_warehouse.query(evaluations))
        assert new_warehouse.query("select distinct study from papers.evaluations") == [("burglary-demands",)]
    values = {"too low": -1, "just right": 0, "too high": 1}
    said = Counter(
        (line["conditionId"].partition("-")[0], f"{measure}_evaluation", values[line["result"][f"{key}Evaluation"]])
        for line in lines_of(out)
        for measure, key in (("prosecutor", "prosecutor"), ("defense_attorney", "defenseAttorney"))
    )
    assert measured[0] == measured[1]
    assert measured[0] == [
        (*of, 5, sum(value * n for (*known, value), n in said.items() if known == of))
        for of in sorted([direction, measure] for direction, measure, _ in said)
    ]


def test_an_experiment_of_ones_own_is_asked_in_three_turns_by_the_file_beside_it(own, work, capsys):
    asked = ["run", str(own), "--runs", "1", "--protocol", "three_turn", "--out", "r.jsonl", "--no-report"]
    assert main(asked) == 0
    assert {line["protocol"] for line in lines_of(work / "r.jsonl")} == {"three_turn"}
    own.with_name("burglary-three-turn.yaml").unlink()
    assert main([*asked[:-3], "--no-report"]) == 2
    assert "burglary-three-turn.yaml beside it" in capsys.readouterr().err


# what of the file is changed, and to what: what is said
FORMLESS = {
    "answer_format: story-001": ("answer_format: text", "its answer_format is not story-001"),
    "second_anchor: 1\n": ("", "it has no second_anchor"),
    "baselines: false": ("baselines: true", "it needs fixed anchors for the whole study"),
    "low: 12, high: 48": ("low: 12.5, high: 48", "have to be whole numbers"),
    "vignette: burglary": ("vignette: burglary\n    response_unit: years", "is not answered in months"),
}


@pytest.mark.parametrize("old", FORMLESS)
def test_a_study_without_the_form_of_an_experiment_is_refused_with_what_it_lacks(own, work, capsys, old):
    new, said = FORMLESS[old]
    text = own.read_text(encoding="utf-8")
    assert old in text
    own.write_text(text.replace(old, new), encoding="utf-8")
    assert main(["run", str(own), "--runs", "1", "--out", "r.jsonl"]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert "bais collect" in shown
    assert not (work / "r.jsonl").exists()


def test_show_prints_the_same_definition_as_json(work, capsys):
    import yaml

    assert main(["show", EXPERIMENT]) == 0
    as_yaml = yaml.safe_load(capsys.readouterr().out)
    assert main(["show", EXPERIMENT, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == as_yaml


def test_the_human_baseline_is_the_only_one_typed_in(work):
    with open(ROOT / "seeds" / "human_baselines.csv", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert not {"standard_error", "p_value", "low_95", "high_95"} & set(row)


@TWICE
def test_a_batch_is_described_by_the_run_that_asked_its_trials_whatever_was_run_before(work, query_of):
    for model in ("sim/steady", "sim/constant", "sim/anchored", "sim/follower"):
        out = work / f"{model.partition('/')[2]}.jsonl"
        assert main(["run", EXPERIMENT, "--runs", "5", "--model", model, "--out", str(out), "--no-report"]) == 0
    described = query_of(
        "select distinct trials.llm_recorded, definition ->> '$.llms[0].llm' from raw.trials "
        "inner join raw.batches using (batch_id) order by all"
    )
    assert [(llm, llm) for llm, _ in described] == described
    assert len(described) == 4


def test_a_system_message_is_shown_with_what_the_first_llm_is_told(capsys, golden):
    assert main(["render", "document-c-facts", "--technique", "knowledge_boundary", "--item", "webb-f"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("── system message ──\n")
    golden(shown)
    assert shown.index("── message ──\n") < shown.index("James Webb Space Telescope")


def test_what_cannot_be_asked_about_an_item_is_said(capsys, tmp_path, golden):
    (tmp_path / "own.csv").write_text("item,text\none,Just one sentence.\n", encoding="utf-8")
    study = "study: s\nparadigm: summarise\nllms: [a/b]\ntechniques: [position_shuffle]\nitems: {file: own.csv}\n"
    (tmp_path / "s.yaml").write_text(study, encoding="utf-8")
    assert main(["render", str(tmp_path / "s.yaml")]) == 0
    golden(capsys.readouterr().out)
