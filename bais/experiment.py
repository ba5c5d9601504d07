"""`bais run`, `show`, `render` and `analyze`: an experiment as one piece, from its prompts to a grounded report."""

import contextlib
import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import click

from bais import texts
from bais.options import PATH, WholeNumber, json_option, shipped_experiment_or_file, study_argument
from bais.terminal import complain
from ingest.land.seeds import seed_rows
from ingest.warehouse import UserError, printable

SIMULATED_NOTE = (
    "> **SIMULATED**: no LLM was asked. A simulated respondent answered, and a template wrote this report.\n\n"
)

put_as = click.option(
    "--protocol", type=click.Choice(("single_turn", "three_turn")),
    help="all steps in one prompt, or one turn for each (default: as the experiment has it)",
)  # fmt: skip
experiment_or_study = study_argument("an experiment, a study file, or the name of a shipped study")


@click.command()
@click.argument(
    "experiment", metavar="EXPERIMENT", shell_complete=shipped_experiment_or_file,
    help="a YAML file, or a shipped experiment such as anchoring-prosecutor-sentencing",
)  # fmt: skip
@click.option("--runs", type=WholeNumber(min=1), required=True, metavar="N", help="trials of each condition")
@click.option(
    "--model", metavar="M",
    help="vendor/name at an OpenAI-compatible endpoint, sim/NAME, or codex/NAME (default: the one it names)",
)  # fmt: skip
@click.option("--seed", type=WholeNumber(min=0), default=1, metavar="S", help="of the order and the bootstrap")
@click.option("--max-attempts", type=WholeNumber(min=1), default=3, metavar="K", help="calls that an answer may take")
@click.option("--out", type=PATH, metavar="PATH", help="the results, JSON lines (default: stdout)")
@click.option("--analysis", type=PATH, metavar="PATH", help="the analysis (default: beside --out)")
@click.option("--report", type=PATH, metavar="PATH", help="the report (default: the terminal)")
@click.option("--no-report", is_flag=True, help="let no report be written")
@put_as
@click.option(
    "--json-mode", type=click.Choice(("strict", "lenient")), default="strict",
    help="whether a code fence or prose around the JSON is let pass, and recorded",
)  # fmt: skip
def run(
    experiment: str, runs: int, model: str | None, seed: int, max_attempts: int, out: Path | None,
    analysis: Path | None, report: Path | None, no_report: bool, protocol: str | None, json_mode: str,
) -> int:  # fmt: skip
    """Put an experiment to an LLM, analyse it, have the report written, and load the trials.

    An experiment is a study in the form of story 001: one case, a low and a high demand, a second demand, and answers
    as one JSON object. It is compared with the human study that seeds/human_baselines.csv has for it, if there is one.

    What is wrong before the first call is raised. Afterwards a step that fails does not keep the next ones from what
    was paid for, and the exit code is that of the first: 4 where the LLM did not answer, in the end or at all, 5 for
    a report that is not grounded, 2 for a file or a warehouse that cannot be written, 6 where only the gate complains.
    """
    from ingest.ask.experiment import protocol_of, study_of_run

    study = study_of_run(experiment, protocol=protocol, model=model, n_runs=runs, seed=seed, attempts=max_attempts)
    if out and not analysis:
        analysis = out.with_name(f"{out.stem}.analysis.json")
    if no_report and report:
        raise UserError("give --report or --no-report, not both")
    _check_paths({"--out": out, "--analysis": analysis, "--report": report})
    lines, outcome = _put(study, json_mode == "lenient", out)
    llm = study.llms[0]
    config = {
        "model": llm.model or llm.llm,
        "provider": llm.provider,
        "protocol": protocol_of(study),
        "runsPerCondition": runs,
        "maxAttempts": max_attempts,
        "jsonMode": json_mode,
        "seed": seed,
        "softwareVersion": version("bais"),
    }
    analysed = analysis_of(study, config, lines, seed)
    _say_counts(analysed, outcome)
    written = _attempt(texts.hand_over, _as_text(analysed), analysis, "the analysis", "ANALYSIS", sys.stderr)
    code = outcome.exit_code or written
    for name, why in (outcome.stopped_llms | outcome.silent_llms).items():
        complain(f"{printable(name)} could not be asked: {printable(why)}")
    if analysed["totals"]["nTrials"] and not analysed["totals"]["nOk"]:
        complain("no trial has a valid answer, so there is nothing to report on")
        code = code or texts.LLM_SILENT
    elif not no_report and not outcome.exit_code:
        unnamed = out.with_name(f"{out.stem}.report.md") if out else Path(f"report-{study.study}.md")
        code = _attempt(_write_report, study, analysed, report, unnamed, sys.stdout if out else sys.stderr) or code
    loaded = _attempt(_load, study.study)
    return code or loaded


def _attempt(step: Callable[..., int | None], *arguments) -> int:
    """Do a step whose failure must not keep the next one from what was paid for, and return its exit code."""
    try:
        return step(*arguments) or 0
    except UserError as error:
        complain(str(error))
        return error.exit_code


def _check_paths(given: dict[str, Path | None]) -> None:
    """Check every path before the first call."""
    paths = {option: path for option, path in given.items() if path}
    if len({path.absolute() for path in paths.values()}) < len(paths):
        raise UserError("--out, --analysis and --report need a file each, and two of them are the same")
    for option, path in paths.items():
        texts.refuse_existing(path, option)


def _put(study, is_lenient, out):
    """Collect the trials of an experiment, each written out as it comes; return the results and what became of it."""
    from ingest.ask.experiment import Run
    from ingest.run import shown_progress

    with contextlib.ExitStack() as opened:
        lines, file = [], sys.stdout
        if out:
            with texts.writing(out, f"--out {printable(out)}"):
                file = opened.enter_context(open(out, "x", encoding="utf-8", newline="\n"))

        def on_line(line):
            lines.append(line)
            print(json.dumps(line), file=file, flush=True)

        try:
            return lines, Run(study, is_lenient, on_line, opened.enter_context(shown_progress())).collector.collect()
        except UserError:
            if not lines and out:
                out.unlink(missing_ok=True)
            raise


def analysis_of(study, config: dict, lines: list[dict], seed: int) -> dict:
    """Analyse result lines of an experiment by `analysis.papers.experiment.analyze`; the seed is the bootstrap's."""
    from analysis.papers.experiment import analyze
    from ingest.ask.experiment import definition

    human = next((row for row in seed_rows("human_baselines") if row["experiment"] == study.study), None)
    return analyze(definition(study), config, lines, human, seed=seed)


def _say_counts(analysis, outcome):
    parts = []
    for condition in analysis["conditions"]:
        errors = ", ".join(f"{n} {code}" for code, n in condition["errors"].items())
        in_brackets = f" ({errors})" if errors else ""
        parts.append(f"{condition['conditionId']}: {condition['nOk']} ok, {condition['nError']} errors{in_brackets}")
    if outcome.ended_by:
        parts.append(f"ended early: {outcome.ended_by}")
    print(f"{'; '.join(parts)}; {outcome.n_calls} calls, {outcome.seconds:.1f} s", file=sys.stderr)
    difference, human = analysis["comparison"]["difference"], analysis["humanComparison"]
    if difference is not None:
        beside = "no human study of it is known, so it is compared with none"
        if human:
            beside = (
                f"against humans ({analysis['humanBaseline']['difference']:.2f}): {human['label']}, "
                f"with their uncertainty {human['uncertainHuman']['label']}"
            )
        print(f"high - low: {difference:.2f} months; {beside}", file=sys.stderr)


def _as_text(analysed: dict) -> str:
    return json.dumps(analysed, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def _write_report(study, analysed, path, unnamed, otherwise):
    """Have the report written by the LLM, check it, and hand it over, or keep what is refused; return the exit code."""
    from analysis.writing.experiment_report import check_report, report_prompt, template_report
    from ingest.studies.design import Design

    design = Design(study)
    told = {
        "case_text": study.vignettes[0]["case"],
        "prompts": {
            f"{cell.anchor_direction} anchor, turn {number}": prompt
            for cell in design.anchored_cells(design.anchors_from({}))
            for number, prompt in enumerate(design.script(cell).template()["turns"], 1)
        },
    }
    if study.llms[0].provider == "simulated":
        text = SIMULATED_NOTE + template_report(analysed, case_text=told["case_text"])
    else:
        from ingest.ask.experiment import ask_once

        text, problem = ask_once(study, report_prompt(analysed, **told))
        if problem:
            message = f"the report was not written ({printable(problem)}); the results and the analysis are complete"
            raise UserError(message, texts.LLM_SILENT)
    if problems := check_report(text, analysed, **told):
        return texts.refuse("the report", text, problems, path or unnamed)
    texts.hand_over(text, path, "the report", "REPORT", otherwise)


def _load(study):
    from ingest.ask.collected import load_collected
    from ingest.run import pass_gate

    try:
        loaded = load_collected(study)
    except UserError as error:
        kept = f"{printable(error)}; the trials are kept, and the next run loads them"
        raise UserError(kept, error.exit_code) from None
    print(f"{loaded.n_trials} trials loaded into the warehouse; `bais build` derives the tables", file=sys.stderr)
    with contextlib.redirect_stdout(sys.stderr):
        return pass_gate()


@click.command()
@click.argument("results", type=PATH, metavar="PATH", help="JSON lines, as `bais run` writes them")
@click.option(
    "--experiment", metavar="E", shell_complete=shipped_experiment_or_file,
    help="the experiment that was run, as a YAML file (default: the shipped one that the results name)",
)  # fmt: skip
@click.option("--analysis", type=PATH, metavar="PATH", help="where it goes (default: stdout)")
@click.option("--seed", type=int, default=1, metavar="S", help="of the bootstrap")
def analyze(results: Path, experiment: str | None, analysis: Path | None, seed: int) -> None:
    """Analyse a file of results, of `bais run` or of the recorded archive, and print the analysis."""
    from ingest.ask.experiment import experiment as experiment_of
    from ingest.ask.experiment import shipped_experiments

    lines = _result_lines(results)
    name = lines[0]["experimentId"]
    if experiment is None and name not in shipped_experiments():
        raise UserError(f"there is no shipped experiment {printable(name)}: give its YAML file with --experiment")
    study = experiment_of(experiment or name)
    models = sorted({str(line.get("model")) for line in lines})
    config = {"model": " and ".join(models), "softwareVersion": version("bais")}
    try:
        analysed = _as_text(analysis_of(study, config, lines, seed))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{printable(results)} cannot be analysed: {printable(error)}") from None
    if analysis:
        texts.refuse_existing(analysis, "--analysis")
        texts.write_new(analysis, analysed, "the analysis")
    else:
        sys.stdout.write(analysed)


def _result_lines(path):
    from ingest.texts.files import text_of

    lines = []
    for number, line in enumerate(text_of(path).split("\n"), 1):  # a text may hold other ends of lines
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


@click.command()
@experiment_or_study
@put_as
@json_option("")
def show(study: str, protocol: str | None, as_json: bool) -> None:
    """Print the definition of an experiment or a study, in full, or the file of a shipped paradigm as it is."""
    import yaml

    from ingest.paradigms.paradigm import paradigm_text

    if (text := paradigm_text(study)) and not protocol:
        print(json.dumps(yaml.safe_load(text), indent=2, ensure_ascii=False) if as_json else text, end="")
        return
    definition = _study(study, protocol).model_dump(mode="json", exclude_none=True)
    if as_json:
        print(json.dumps(definition, indent=2, ensure_ascii=False))
    else:
        print(yaml.safe_dump(definition, sort_keys=False, allow_unicode=True), end="")


@click.command()
@experiment_or_study
@click.option("--condition", metavar="ID", help="such as low-anchor-3mo, where the anchors are fixed")
@click.option("--vignette", metavar="NAME", help="one of the study's (default: its first)")
@click.option("--technique", metavar="NAME", help="one of the study's (default: its first)")
@click.option("--anchor", type=float, metavar="X", help="the number to plant (default: none)")
@click.option("--arm", metavar="NAME", help="one of the paradigm's, where the study names one (default: its first)")
@click.option("--item", metavar="ID", help="one of the paradigm's, where it has items (default: its first)")
@put_as
def render(
    study: str, condition: str | None, vignette: str | None, technique: str | None, anchor: float | None,
    arm: str | None, item: str | None, protocol: str | None,
) -> None:  # fmt: skip
    """Print what an LLM is told in one condition, turn by turn."""
    from ingest.studies.design import Cell, Design

    definition = _study(study, protocol)
    design = Design(definition)
    vignette = _chosen(vignette, list(design.vignettes), "vignette")
    paradigm = design.paradigm_of(vignette) if design.paradigms else None
    items = [entry.item for entry in design.paradigm_of(vignette).all_items]
    item = _chosen(item, items, "item") if items or item else None
    if paradigm:
        arm = _chosen(arm, paradigm.arms, "arm")
        if condition is not None:
            raise UserError(f"paradigm {paradigm.paradigm} has no conditions: choose with --arm and --item")
        if anchor is not None and not design.hangs_on_answers(vignette, arm):
            why = "has an anchor of its own" if arm in paradigm.anchors else "has no anchor"
            raise UserError(f"arm {arm} {why}: leave --anchor away")
        direction, value = "none", anchor
    elif arm:
        raise UserError("--arm is for a study that names a paradigm")
    else:
        direction, value = _condition(definition, condition, anchor)
    if value is None and technique is None and not paradigm:
        technique = "no_technique"
    else:
        technique = _chosen(technique, list(design.techniques), "technique")
    cell = Cell(definition.llms[0].llm, vignette, technique, direction, value, None, arm, item)
    if arm and value is None:
        cell = cell._replace(anchor_value=design.anchor_value(cell, {}))
    script = design.script(cell, design.option_order(cell, 0))
    if script.problem:
        print(f"Nothing is asked about item {item}: {script.problem.replace('_', ' ')}.")
    replies = []
    while turn := script.next_turn(replies):
        system = turn.messages[0]["content"] if turn.messages[0]["role"] == "system" else None
        if system and not replies:
            print(f"── system message ──\n{printable(system)}\n── message ──")
        label = turn.step if not turn.round else f"{turn.step}, round {turn.round}"
        if script.n_calls()[1] > 1:
            print(f"── {len(replies) + 1}: {label} ──")
        print("\n".join(printable(line) for line in turn.prompt.split("\n")))
        replies.append("(the reply)")
        if turn.step == "debias":
            print("── and so on, until no bias is found; then the rewritten prompt is asked ──")
            break


def _study(name, protocol):
    from ingest.ask.experiment import experiment
    from ingest.studies.study import load_study

    return experiment(name, protocol) if protocol else load_study(name)


def _chosen(name, names, what):
    from bais.warehouse import refuse_unknown

    refuse_unknown(what, name, names, " in this study", "none")
    return names[0] if name is None else name


def _condition(study, condition, anchor):
    """Return the direction and the value of the anchor that was asked for."""
    from ingest.ask.experiment import condition_id

    if study.anchors.fixed and anchor is None:
        conditions = {condition_id(*end): end for end in study.anchors.fixed}
        return conditions[_chosen(condition, list(conditions), "condition")]
    if condition is not None:
        raise UserError("the anchors of this study depend on each LLM's baseline: give a number with --anchor")
    return ("none", None) if anchor is None else ("low", anchor)
