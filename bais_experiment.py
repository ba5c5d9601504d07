"""`bais run`, `show`, `render` and `analyze`: an experiment as one piece, from its prompts to a grounded report."""

import contextlib
import csv
import json
import os
import sys
from pathlib import Path

from ingest.warehouse import ROOT, UserError, printable

REPORT_BEGINS, REPORT_ENDS = "----- BEGIN REPORT -----", "----- END REPORT -----"
ANALYSIS_BEGINS, ANALYSIS_ENDS = "----- BEGIN ANALYSIS -----", "----- END ANALYSIS -----"
SIMULATED_NOTE = (
    "> **SIMULATED**: no LLM was asked. A simulated respondent answered, and a template wrote this report.\n\n"
)
LLM_SILENT, UNGROUNDED = 4, 5
MOST_PROBLEMS = 10


def add_run_arguments(parser):
    """Declare what `bais run` takes."""
    from argparse import ArgumentTypeError

    def at_least(least):
        def whole(text):
            if not (text.isascii() and text.isdigit() and int(text) >= least):
                raise ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
            return int(text)

        return whole

    parser.add_argument("experiment", metavar="EXPERIMENT", help="such as anchoring-prosecutor-sentencing")
    parser.add_argument("--runs", type=at_least(1), required=True, metavar="N", help="trials of each condition")
    parser.add_argument(
        "--model",
        metavar="M",
        help="vendor/name at an OpenAI-compatible endpoint, sim/NAME, or codex/NAME (default: the Codex command line)",
    )
    parser.add_argument("--seed", type=at_least(0), default=1, metavar="S", help="of the order and the bootstrap")
    parser.add_argument(
        "--max-attempts", type=at_least(1), default=3, metavar="K", help="calls that an answer may take (default: 3)"
    )
    parser.add_argument("--out", type=Path, metavar="PATH", help="the results, JSON lines (default: stdout)")
    parser.add_argument("--analysis", type=Path, metavar="PATH", help="the analysis (default: beside --out)")
    parser.add_argument("--report", type=Path, metavar="PATH", help="the report (default: the terminal)")
    parser.add_argument("--no-report", action="store_true", help="let no report be written")
    add_protocol_argument(parser)
    parser.add_argument(
        "--json-mode",
        choices=("strict", "lenient"),
        default="strict",
        help="whether a code fence or prose around the JSON is let pass, and recorded (default: strict)",
    )


def add_protocol_argument(parser):
    """Declare how an experiment is put."""
    parser.add_argument(
        "--protocol",
        choices=("single_turn", "three_turn"),
        default="single_turn",
        help="all steps in one prompt, or one turn for each (default: one prompt)",
    )


def run(options):
    """Put an experiment to an LLM, analyse it, have the report written, and load the trials.

    Returns
    -------
    int
        0, 2 for what is wrong before the first call (or the warehouse cannot take the trials, which are kept), 4 where
        no LLM answered, for a trial or for the report, 5 for a report that is not grounded, 6 where nothing of this is
        so and the gate fails what was loaded, 130 when interrupted.
    """
    from ingest.experiment import Run, study_of_run
    from ingest.run import shown_progress

    study = study_of_run(
        options.experiment, protocol=options.protocol, model=options.model, n_runs=options.runs, seed=options.seed,
        attempts=options.max_attempts,
    )  # fmt: skip
    paths = _paths(options)
    with contextlib.ExitStack() as open_files:
        lines = open_files.enter_context(_new_file(paths["out"])) if paths["out"] else sys.stdout

        def on_line(line):
            lines.write(json.dumps(line) + "\n")
            lines.flush()

        with shown_progress() as on_progress:
            made = Run(study, options.protocol, options.json_mode == "lenient", on_line, on_progress)
            try:
                outcome = made.collect()
            except UserError:
                if not made.lines and paths["out"]:
                    paths["out"].unlink(missing_ok=True)
                raise
    llm = study.llms[0]
    config = {
        "model": llm.model or llm.llm,
        "provider": llm.provider,
        "protocol": options.protocol,
        "runsPerCondition": options.runs,
        "maxAttempts": options.max_attempts,
        "jsonMode": options.json_mode,
        "seed": options.seed,
        "softwareVersion": _version(),
    }
    analysis = analysis_of(study, config, made.lines, options.seed)
    _say_counts(analysis, outcome, made)
    written = _write_analysis(analysis, paths["analysis"])
    code = outcome.exit_code or written
    if outcome.stopped_llms:
        for name, why in outcome.stopped_llms.items():
            print(f"bais: {printable(name)} was asked no more: {printable(why)}", file=sys.stderr)
    if analysis["totals"]["nTrials"] and not analysis["totals"]["nOk"]:
        print("bais: no trial has a valid answer, so there is nothing to report on", file=sys.stderr)
        code = code or LLM_SILENT
    elif not options.no_report and not outcome.exit_code:
        code = _write_report(study, analysis, options, paths) or code
    loaded = _load(study.study)
    return code or loaded


def analyze(options):
    """Analyse a file of results, of `bais run` or of the recorded archive, and print the analysis."""
    from ingest.experiment import experiment

    lines = _result_lines(options.results)
    study = experiment(lines[0].get("experimentId"))
    config = {
        "model": " and ".join(sorted({str(line.get("model")) for line in lines})),
        "softwareVersion": _version(),
    }
    try:
        analysis = analysis_of(study, config, lines, options.seed)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{printable(options.results)} cannot be analysed: {printable(error)}") from None
    if options.analysis:
        _refuse_existing(options.analysis, "--analysis")
    return _write_analysis(analysis, options.analysis, sys.stdout)


def show(options):
    """Print the definition of an experiment or a study, in full."""
    import yaml

    study = _study(options.study, options.protocol)
    print(yaml.safe_dump(study.model_dump(mode="json", exclude_none=True), sort_keys=False, allow_unicode=True), end="")
    return 0


def render(options):
    """Print what an LLM is told in one condition, turn by turn."""
    from ingest.study import Cell, Plan

    study = _study(options.study, options.protocol)
    plan = Plan(study)
    vignette = _chosen(options.vignette, list(plan.vignettes), "vignette")
    technique = _chosen(options.technique, list(plan.techniques), "technique")
    direction, anchor = _condition(study, options)
    if anchor is None and options.technique is None:
        technique = "no_technique"
    script = plan.script(Cell("", vignette, technique, direction, anchor, None))
    replies = []
    while turn := script.next_turn(replies):
        label = turn.step if not turn.round else f"{turn.step}, round {turn.round}"
        if script.n_calls()[1] > 1:
            print(f"── {len(replies) + 1}: {label} ──")
        print("\n".join(printable(line) for line in turn.prompt.split("\n")))
        replies.append("(the reply)")
        if turn.step == "debias":
            print("── and so on, until no bias is found; then the rewritten prompt is asked ──")
            break
    return 0


def _study(name, protocol):
    from ingest.experiment import EXPERIMENTS, experiment
    from ingest.study import load_study

    return experiment(name, protocol) if name in EXPERIMENTS else load_study(name)


def _chosen(name, names, what):
    if name is None:
        return names[0]
    if name not in names:
        raise UserError(f"there is no {what} {printable(name)} in this study; there is {', '.join(names)}")
    return name


def _condition(study, options):
    """Return the direction and the value of the anchor that was asked for."""
    from ingest.experiment import condition_id

    if study.anchors.fixed and options.anchor is None:
        values = {"low": study.anchors.fixed.low, "high": study.anchors.fixed.high}
        conditions = {condition_id(direction, value): (direction, value) for direction, value in values.items()}
        if options.condition is None:
            return next(iter(conditions.values()))
        if options.condition not in conditions:
            raise UserError(
                f"there is no condition {printable(options.condition)} in this study; there is {', '.join(conditions)}"
            )
        return conditions[options.condition]
    if options.condition is not None:
        raise UserError("the anchors of this study depend on each LLM's baseline: give a number with --anchor")
    return ("none", None) if options.anchor is None else ("low", options.anchor)


def analysis_of(study, config, lines, seed):
    """Analyse the result lines of an experiment.

    Parameters
    ----------
    study : ingest.study.Study
    config : dict
    lines : list of dict
    seed : int
        Of the bootstrap.

    Returns
    -------
    dict
        As `analysis.experiment.analyze` returns it.
    """
    from analysis.experiment import analyze
    from ingest.experiment import definition, trials_of

    return analyze(definition(study), config, trials_of(lines), _human_baseline(study.study), seed=seed)


def _human_baseline(experiment):
    with open(ROOT / "seeds" / "human_baselines.csv", encoding="utf-8", newline="") as file:
        return next(row for row in csv.DictReader(file) if row["experiment"] == experiment)


def _paths(options):
    """Check every path before the first call."""
    paths = {"out": options.out, "analysis": options.analysis, "report": options.report}
    if options.out and not options.analysis:
        paths["analysis"] = options.out.with_name(f"{options.out.stem}.analysis.json")
    if options.no_report and options.report:
        raise UserError("give --report or --no-report, not both")
    given = [path.absolute() for path in paths.values() if path]
    if len(given) != len(set(given)):
        raise UserError("--out, --analysis and --report need a file each, and two of them are the same")
    for name, path in paths.items():
        if path:
            _refuse_existing(path, f"--{name}")
    return paths


def _refuse_existing(path, option):
    if path.exists() or path.is_symlink():
        raise UserError(f"{option} {printable(path)} is there already: move it away or name another file")
    if not path.absolute().parent.is_dir():
        raise UserError(f"{option} {printable(path)}: there is no folder {printable(path.absolute().parent)}")
    if not os.access(path.absolute().parent, os.W_OK):
        raise UserError(f"{option} {printable(path)}: the folder cannot be written")


def _new_file(path):
    try:
        return open(path, "x", encoding="utf-8", newline="\n")
    except OSError as error:
        raise UserError(f"--out {printable(path)} cannot be written: {error.strerror}") from None


def _say_counts(analysis, outcome, made):
    said = []
    for condition in analysis["conditions"]:
        errors = ", ".join(f"{n} {code}" for code, n in condition["errors"].items())
        in_brackets = f" ({errors})" if errors else ""
        said.append(f"{condition['conditionId']}: {condition['nOk']} ok, {condition['nError']} errors{in_brackets}")
    if outcome.ended_by:
        said.append(f"ended early: {outcome.ended_by}")
    print(f"{'; '.join(said)}; {outcome.n_calls} calls, {outcome.seconds:.1f} s", file=sys.stderr)
    comparison, human = analysis["comparison"], analysis["humanComparison"]
    if comparison["difference"] is not None:
        print(
            f"high - low: {comparison['difference']:.2f} months; against humans "
            f"({analysis['humanBaseline']['difference']:.2f}): {human['label']}, with their uncertainty "
            f"{human['uncertainHuman']['label']}",
            file=sys.stderr,
        )


def _write_analysis(analysis, path, otherwise=None):
    text = json.dumps(analysis, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    if path:
        return _write(path, text, "the analysis")
    if otherwise:
        otherwise.write(text)
    else:
        print(f"{ANALYSIS_BEGINS}\n{text}{ANALYSIS_ENDS}", file=sys.stderr)
    return 0


def _write(path, text, what):
    """Write a file whole or not at all; return the exit code."""
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        print(f"bais: {what} cannot be written to {printable(path)}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


def _write_report(study, analysis, options, paths):
    """Have the report written by the LLM, check it, and hand it over; return the exit code."""
    from analysis.writing.experiment_report import check_report, report_prompt, template_report
    from ingest.study import Plan

    plan = Plan(study)
    case_text, prompts = study.vignettes[0]["case"], {}
    for cell in plan.anchored_cells(plan.anchors_from({})):
        script, replies = plan.script(cell), []
        while turn := script.next_turn(replies):
            prompts[f"{cell.anchor_direction} anchor, turn {len(replies) + 1}"] = turn.prompt
            replies.append("")
    if study.llms[0].provider == "simulated":
        text = SIMULATED_NOTE + template_report(analysis, case_text=case_text, prompts=prompts)
    else:
        from ingest.experiment import ask_once

        text, problem = ask_once(study, report_prompt(analysis, case_text=case_text, prompts=prompts))
        if problem:
            print(
                f"bais: the report was not written ({printable(problem)}); the results and the analysis are complete",
                file=sys.stderr,
            )
            return LLM_SILENT
    problems = check_report(text, analysis, case_text=case_text, prompts=prompts)
    if problems:
        for problem in problems[:MOST_PROBLEMS]:
            print(f"bais: the report is refused: {printable(problem)}", file=sys.stderr)
        if len(problems) > MOST_PROBLEMS:
            print(f"bais: and {len(problems) - MOST_PROBLEMS} more", file=sys.stderr)
        refused = paths["report"] and paths["report"].with_name(f"{paths['report'].name}.refused")
        if refused:
            _write(refused, text, "the refused report")
            print(f"bais: the refused text is in {printable(refused)}", file=sys.stderr)
        return UNGROUNDED
    if paths["report"]:
        return _write(paths["report"], text, "the report")
    stream = sys.stdout if options.out else sys.stderr
    shown = "\n".join(printable(line) for line in text.splitlines())
    print(f"{REPORT_BEGINS}\n{shown}\n{REPORT_ENDS}", file=stream)
    return 0


def _load(study):
    from ingest.collected import load_collected
    from ingest.run import pass_gate

    try:
        loaded = load_collected(study)
    except UserError as error:
        print(f"bais: {printable(error)}; the trials are kept, and the next run loads them", file=sys.stderr)
        return error.exit_code
    print(f"{loaded.n_trials} trials loaded into the warehouse; `bais build` derives the tables", file=sys.stderr)
    with contextlib.redirect_stdout(sys.stderr):
        return pass_gate()


def _result_lines(path):
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise UserError(f"{printable(path)} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError:
            raise UserError(f"{printable(path)}:{number}: not JSON; give the lines that `bais run` writes") from None
        if not isinstance(value, dict) or not {"experimentId", "conditionId", "runIndex"} <= value.keys():
            raise UserError(f"{printable(path)}:{number}: not a result of an experiment")
        lines.append(value)
    if not lines:
        raise UserError(f"{printable(path)} holds no results")
    return lines


def _version():
    from importlib.metadata import version

    return version("bais")
