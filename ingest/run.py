"""Collect a study and land its trials in `raw`, or land a folder of recorded ones.

python ingest/run.py                  the simulated default study: offline, no LLM is asked
python ingest/run.py study.yaml       collect what is missing of a study (or a shipped one, by its name), then load it
python ingest/run.py --archive PATH   the recorded trials in a file or below a folder
python ingest/run.py --download NAME  a published archive, fetched and verified first (default: that of document A)
"""

import contextlib
import functools
import itertools
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

if __package__ in (None, ""):
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from ingest.archives import archive_of, formats
from ingest.bring.columns import TIMEOUT_S
from ingest.bring.published import OF_DOCUMENT_A, published
from ingest.land.seeds import place_of, unknown_names
from ingest.warehouse import (
    UserError,
    explain,
    home,
    is_of_the_file,
    listed,
    patiently,
    printable,
    some,
    warehouse_path,
)

DEFAULT_STUDY = "simulated"
ARCHIVES = Path("data", "archives")  # of the folder that answers are kept in


class GivenPath(click.Path):
    """A path that was given: an empty one, as of an unset variable of a shell, would mean the working directory."""

    def convert(self, value, param, ctx) -> Path:
        """Refuse an empty path."""
        if value == "":
            raise UserError("an empty path names nothing: give a file or a folder")
        return super().convert(value, param, ctx)


PATH = GivenPath(path_type=Path)


class BesideFile(click.ParamType):
    """A table under a name, `NAME=FILE`."""

    name = "table"

    def convert(self, value, param, ctx) -> tuple[str, Path]:
        """Take the name and the file apart."""
        name, _, file = value.partition("=")
        if not (re.fullmatch(r"[a-z_][a-z0-9_]*", name) and file) or name in ("source", "yielded"):
            raise UserError(
                f"--with {printable(value)}: give a name of lower-case letters, digits and _, other than source, and a "
                "file, such as --with models=models.csv"
            )
        return name, Path(file)


BESIDE = BesideFile()


def amount(text: str) -> float:
    """Read an amount of money, which is not below zero."""
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError
    return value


def options_of(*options):
    """Return a decorator that declares options of a command, in their order."""
    return lambda command: functools.reduce(lambda declared, option: option(declared), reversed(options), command)


# How recorded trials are read.
trials_options = options_of(
    click.option(
        "--format", "form", type=click.Choice(formats()),
        help="the format of the recorded trials (default: told by what the files hold)",
    ),
    click.option(
        "--map", "mapping", metavar="FILE", type=PATH,
        help="a SELECT that makes trials of any table; `new` writes one to fill in (docs/importing.md)",
    ),
    click.option(
        "--with", "beside", metavar="NAME=FILE", type=BESIDE, multiple=True,
        help="another table that the SELECT may name (may be repeated)",
    ),
    click.option(
        "--timeout", "timeout_s", metavar="SECONDS", type=click.FloatRange(min=0, min_open=True), default=TIMEOUT_S,
        show_default=True, help="end a SELECT that is not done by then",
    ),
    click.option(
        "--study", "of_study", metavar="S",
        help="the study they belong to (default: as they say, else as the file or folder is called)",
    ),
)  # fmt: skip

# How they are imported.
import_options = options_of(
    trials_options,
    click.option(
        "--download", type=click.Choice(tuple(published())), is_flag=False, flag_value=OF_DOCUMENT_A,
        help=f"fetch a published archive (default: {OF_DOCUMENT_A}) into PATH, or into a folder of its own below "
        "data/archives, verify and import it",
    ),
    click.option(
        "--source", "source_name", metavar="NAME",
        help="the source that this is a version of (default: its own id, else the name of its folder)",
    ),
    click.option(
        "--label", metavar="TEXT",
        help="what to call this version (default: the commit, where git keeps the folder)",
    ),
    click.option(
        "--complete", is_flag=True, help="this is the whole of the source: what it lacks leaves the public tables",
    ),
    click.option(
        "--older", is_flag=True, help="this is older than what is there: keep it, and publish nothing of it",
    ),
    click.option(
        "--to", metavar="DIR", type=PATH,
        help="keep trials in this folder, as Parquet, from now on (docs/how-to/keep-trials-in-a-folder.md)",
    ),
)  # fmt: skip

# The limits of a collection.
collect_options = options_of(
    click.option("--max-cost", type=amount, metavar="USD", help="start no call that would exceed this cost"),
    click.option("--max-calls", type=click.IntRange(min=1), metavar="N", help="make at most N calls"),
    click.option(
        "--ask-again", multiple=True, type=click.Choice(("failed", "refused", "unparsed", "out_of_range")),
        help="give trials that ended so one new replicate each; the old ones stay (may be repeated)",
    ),
    click.option(
        "--orphan", is_flag=True,
        help="ask again, without a question, what was answered before words, names or the order of options changed",
    ),
    click.option(
        "--keep/--no-keep", default=None,
        help="what the study asks no more still counts, or (--no-keep) does not (default: as was said before)",
    ),
    click.option(
        "--new-anchors", is_flag=True,
        help="derive anchors anew where somebody has mended the baseline since, and ask with these",
    ),
    click.option(
        "--pilot", type=click.IntRange(min=1), metavar="N",
        help="ask N of each cell and show what was read; kept apart from the study, and freezes nothing",
    ),
    click.option("--strict", is_flag=True, help="exit 1 if any planned trial is missing or has failed"),
)  # fmt: skip


@click.command(help=__doc__.replace("\n\n", "\n\n\b\n"), context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("study", required=False, metavar="[STUDY]")
@click.option("--archive", metavar="PATH", type=PATH, help="import recorded trials instead")
@import_options
@collect_options
def land(
    study: str | None, archive: Path | None, form: str | None, mapping: Path | None,
    beside: tuple[tuple[str, Path], ...], timeout_s: float, of_study: str | None, download: str | None,
    source_name: str | None, label: str | None, complete: bool, older: bool, to: Path | None, **limits,
) -> int:  # fmt: skip
    """Land what the arguments ask for."""
    if archive or download:
        options = {"source_name": source_name, "label": label, "complete": complete, "older": older, "to": to}
        return land_archive(archive, form, mapping, beside, timeout_s, of_study, download, **options)
    if to:
        raise click.UsageError("--to goes with --archive or --download")
    with worded():
        return collect_study(study or DEFAULT_STUDY, **limits)


def main(arguments: list[str] | None = None) -> int:
    """Land what the arguments ask for, and return the exit code."""
    return run_command(land, "ingest/run.py", arguments)


def run_command(command: click.Command, name: str, arguments: list[str] | None = None) -> int:
    """Run a command; what keeps it from its work is raised, and becomes a message and an exit code here."""
    try:
        with command.make_context(name, [*(sys.argv[1:] if arguments is None else arguments)]) as ctx:
            return command.invoke(ctx) or 0
    except click.exceptions.Exit as left:
        return left.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except UserError as error:
        print(f"bais: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("bais: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if not is_of_the_file(error):
            raise
        print(f"bais: {explain(error, warehouse_path())}", file=sys.stderr)
        return 2


@contextlib.contextmanager
def worded():
    """Word what keeps trials from being landed: names of files and endpoints may hold anything."""
    try:
        yield
    except UserError as error:
        raise UserError(printable(error), error.exit_code) from None
    except KeyboardInterrupt:
        raise UserError("interrupted; what had been landed is kept, and running it again lands the rest", 130) from None


def land_archive(
    archive: Path | None, form: str | None, mapping: Path | None, beside: tuple[tuple[str, Path], ...],
    timeout_s: float, study: str | None, download: str | None, *, source_name: str | None, label: str | None,
    complete: bool, older: bool, to: Path | None,
) -> int:  # fmt: skip
    """Land recorded trials, those of a public archive after they were fetched, and return the exit code."""
    from ingest.bring.mapping import NEW, Given
    from ingest.bring.new import new_mapping
    from ingest.land.load import landing_in
    from ingest.land.versions import Version

    given = Given(mapping, beside, timeout_s)
    version = Version(source_name, label, complete, older)
    if complete and older:
        raise UserError(
            "--complete takes out of the public tables what the version lacks, and --older leaves them as they are: "
            "give one of the two"
        )
    named = {name: one.name for one in published().values() for name in (one.name, one.form)}
    if not download and archive.name in named and not archive.exists():
        raise UserError(
            f"there is no {printable(archive)}: `bais import --download {named[archive.name]}` fetches what is "
            "published under that name"
        )
    with worded():
        if download:
            from ingest.bring.download import download as fetch

            of_name = published()[download]
            print(of_name.terms())
            with progress_bar("fetching the archive") as on_bytes:
                archive = fetch(of_name, archive or home() / ARCHIVES / of_name.form, on_bytes=on_bytes)
            form = form or of_name.form
            if not archive_of(form).take:  # else it has no versions
                version = replace(version, label=version.label or of_name.version, gives_way=True)
        if mapping == Path(NEW):
            print(new_mapping(archive, form, given))
            return 0
        with landing_in(to):
            exit_code = import_folder(archive, form, given, study, version)
            print_measured()
        return exit_code


def collect_study(
    name: str, *, max_cost: float | None, max_calls: int | None, ask_again: list[str], orphan: bool,
    keep: bool | None, new_anchors: bool, strict: bool, pilot: int | None = None, loads: bool = True,
) -> int:  # fmt: skip
    """Collect what is missing of a study, load it, print the summary, and return the exit code."""
    from ingest.ask.collector import collect
    from ingest.ask.plan import plan_of
    from ingest.studies.study import load_study

    study = load_study(name)
    if pilot:
        if ask_again or orphan or keep is not None or new_anchors:
            raise UserError(
                "--ask-again, --orphan, --keep and --new-anchors are of the study, and no pilot is part of it"
            )
        return ask_pilot(study, pilot, strict, max_cost_usd=max_cost, max_calls=max_calls)
    orphaned, kept = agreed_orphans(study, orphan, keep)
    with shown_progress() as on_progress:
        outcome = collect(
            study, max_cost_usd=max_cost, max_calls=max_calls, ask_again=list(ask_again), on_progress=on_progress,
            orphaned=orphaned, kept=None if keep is None else kept, new_anchors=new_anchors,
        )  # fmt: skip
    if outcome.ended_by or outcome.doubts:  # what was not come to is left too
        outcome.n_planned += max(0, plan_of(study)["left"]["trials"]["low"] - outcome.n_left)
    print(render_outcome(study, outcome))
    gate = 0
    try:
        unparsed = render_unparsed(study)
        if loads:
            print(patiently(lambda: load_study_trials(study.study)))
            for line in patiently(lambda: left_out_of(study)):
                print(line)
            gate = patiently(pass_gate)
            patiently(lambda: print_measured(study.study))
    except UserError as error:
        kept = "what was answered is kept in the spool, and running it again loads it"
        raise UserError(f"{error}; {kept}", outcome.exit_code or error.exit_code) from None
    print(unparsed)
    short_of = (outcome.n_left, outcome.no_anchors, outcome.doubts, outcome.statuses["failed"], outcome.stopped_llms)
    return outcome.exit_code or gate or (1 if strict and any(short_of) else 0)


def ask_pilot(study, n: int, strict: bool, **limits) -> int:
    """Ask a few trials of each cell of a study, show what came back and what was read, and return the exit code."""
    from ingest.ask.pilot import Pilot
    from ingest.ask.plan import sums_of

    pilot = Pilot(study, n)
    sums = sums_of(pilot.study)
    trials, calls, cost = (_ends(sums[what]) for what in ("trials", "calls", "cost_usd"))
    print(f"a pilot of {trials} trials, {calls} calls, {cost} USD", file=sys.stderr)
    with shown_progress() as on_progress:
        outcome = pilot.ask(on_progress=on_progress, **limits)
    for line in pilot.transcript():
        print(line)
    print(render_outcome(pilot.study, outcome))
    print(
        f"A pilot is no part of the study: {printable(pilot.path)} holds it, nothing of it is loaded or counted, and "
        "no family of decisions is frozen. Asked again as it is it costs nothing; a changed study is asked anew."
    )
    short_of = (outcome.n_left, outcome.no_anchors, outcome.doubts, outcome.statuses["failed"], outcome.stopped_llms)
    return outcome.exit_code or (1 if strict and any(short_of) else 0)


def _ends(ends):
    """Write a low and a high number, or one where they are the same."""
    return "unknown" if None in ends.values() else " to ".join(dict.fromkeys(f"{end:,.6g}" for end in ends.values()))


def render_unparsed(study) -> str:
    """Say which share of what was collected for a study could not be read as an answer."""
    from ingest.ask.responses import count_unparsed
    from ingest.ask.spool import COLLECTED, read_state, spool_folder
    from ingest.studies.design import Design

    path, design = spool_folder(study.study) / COLLECTED, Design(study)
    design.recognise(read_state(path))
    n_unparsed, n_trials = count_unparsed(path, design)
    share = f"{100 * n_unparsed / n_trials:.1f} %" if n_trials else "none"
    shows = f"; `bais build`, then `bais trials --study {printable(study.study)} --status unparsed`, shows them"
    of_them = f"{n_unparsed:,} of {n_trials:,}"
    return f"  {share} of the answers ({of_them}) could not be read{shows if n_unparsed else ''}"


def agreed_orphans(study, is_agreed: bool, keep: bool | None = None) -> tuple[list[list[str]], list[list[str]]]:
    """Say which answers count no more for a study, and ask whether they shall be asked again.

    Return their words, and what of all that still counts.
    """
    from ingest.ask.history import of_study, render_asked, said_of_imported

    history = of_study(study, keep)
    for line in [*said_of_imported(study.study), *render_asked(history)]:
        print(line, file=sys.stderr)
    if history.n_again and not is_agreed:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise UserError(
                f"nothing was asked: {history.n_again:,} answers would be asked again as the study is now, and there "
                "is no terminal to ask at whether that is meant; --orphan agrees to it"
            )
        try:
            is_agreed = click.confirm(f"Ask {history.n_again:,} answers again as the study is now?", err=True)
        except click.Abort:
            raise KeyboardInterrupt from None
        if not is_agreed:
            raise UserError("nothing was asked, and every answer is kept")
    return history.pairs, history.kept


def left_out_of(study) -> list[str]:
    """Leave out of what is decided what a study asks no more, as it was said before, and say how many answers."""
    from ingest.ask.history import of_study
    from ingest.gate.acts import leave_out

    if not warehouse_path().exists():
        return []
    n_left_out, n_counting = leave_out(study.study, of_study(study).left_out)
    counts = [
        (n_left_out, "left out of what is decided from now on; `marts.trials` shows why (`left_out_because`)"),
        (n_counting, "counted again, which had been left out"),
    ]
    return [f"  {n:,} answer{' is' if n == 1 else 's are'} {what}" for n, what in counts if n]


def load_study_trials(study: str) -> str:
    """Load what was collected for a study, and say what came of it."""
    from ingest.ask.collected import load_collected

    started = time.monotonic()
    loaded = load_collected(study)
    lines = [
        f"  loaded: {loaded.n_trials:,} trials added, {loaded.n_already_there:,} already there, "
        f"{loaded.n_calls:,} calls added; {time.monotonic() - started:.1f} s"
    ]
    for vignette, what in loaded.redefined.items():
        lines.append(f"  {printable(f'{vignette}: {what}')}: so for all answers alike, once `bais build` has run")
    return "\n".join(lines)


def _phases(outcome):
    """Write what became of answers and of judgements."""
    from ingest.paradigms.judges import JUDGEMENTS

    of_judges = outcome.judgements
    of_answers = {name: getattr(outcome, name) - of_judges[name] for name in ("n_planned", "n_before", "n_done")}
    for phase, counts in (("answers", of_answers), (JUDGEMENTS, of_judges)):
        n_left = counts["n_planned"] - counts["n_before"] - counts["n_done"]
        yield (
            f"  {phase}: {counts['n_planned']:,} planned, {counts['n_before']:,} collected before, "
            f"{counts['n_done']:,} now, {n_left:,} left"
        )
    if not of_judges["n_planned"]:
        yield "  no text was put to judges yet: that follows when the answers are collected"


def render_outcome(study, outcome) -> str:
    """Write what became of a collection for a terminal."""
    from ingest.ask.context import said_of_beyond

    lines = [f"study {study.study}{' (SIMULATED respondents, no LLM is asked)' if study.are_simulated else ''}"]
    statuses = ", ".join(f"{n:,} {status}" for status, n in sorted(outcome.statuses.items()) if status != "replied")
    lines.append(
        f"  {outcome.n_planned:,} trials planned, {outcome.n_before:,} collected before, {outcome.n_done:,} now"
        f"{f' ({statuses})' if statuses else ''}, {outcome.n_left:,} left; "
        f"{outcome.n_calls:,} calls, {cost_of(outcome)}; {outcome.seconds:.1f} s"
    )
    if getattr(study, "judges", None):
        lines += _phases(outcome)
    if outcome.torn:
        lines.append(f"  the last line of the spool was cut off; it was put aside into {printable(outcome.torn)}")
    if outcome.junk:
        numbers = some([*map(str, outcome.junk)])
        lines.append(f"  lines of the spool that are no records were passed over: {numbers}")
    told = said_of_beyond(outcome.n_beyond_context, are_planned=False)
    told += [f"{llm} is asked no more in this run: {why}" for llm, why in sorted(outcome.stopped_llms.items())]
    told += [f"{llm} could not be asked: {why}" for llm, why in sorted(outcome.silent_llms.items())]
    lines += [f"  {printable(line)}" for line in told]
    if outcome.stopped_llms or outcome.silent_llms:
        lines.append(
            "  mend that and run it again: it goes on with what is missing, and `--ask-again failed` gives each trial "
            "that failed one new replicate"
        )
    if outcome.no_anchors and not outcome.ended_by:
        pairs = printable(some(outcome.no_anchors))
        lines.append(f"  no anchors, for want of baselines or because two anchors come to the same: {pairs}")
    if not outcome.ended_by:
        lines += [f"  {printable(doubt)}" for doubt in outcome.doubts]
    if outcome.ended_by == "interrupted":
        lines.append("  interrupted; everything that was answered is kept, and running it again goes on from there")
    elif outcome.ended_by:
        lines.append(f"  ended by {outcome.ended_by}; running it again goes on from there")
    return "\n".join(lines)


def cost_of(outcome) -> str:
    """Say what the calls cost, as far as that is known."""
    cost = f"{outcome.cost_usd:.4f} USD"
    return f"{cost} and {outcome.n_unpriced:,} calls of unknown price" if outcome.n_unpriced else cost


@contextlib.contextmanager
def shown_progress():
    """Give the collector a function that shows how far it is: a live line for a person, else a line now and then."""
    if not sys.stderr.isatty():
        yield _every(30, lambda line: print(line, file=sys.stderr, flush=True), time.monotonic())
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
        yield _every(0.1, lambda line: live.update(Text(line), refresh=True))


def _every(seconds, say, shown_at=0.0):
    def show(collector):
        nonlocal shown_at
        if time.monotonic() - shown_at > seconds:
            shown_at = time.monotonic()
            say(progress_line(collector))

    return show


def progress_line(collector) -> str:
    """Say in one line how far a collection is."""
    outcome, elapsed = collector.outcome, time.monotonic() - collector.started
    rate = outcome.n_done / elapsed if elapsed else 0.0
    n_left = max(outcome.n_planned - outcome.n_before - outcome.n_done, 0)
    left = f", {_duration(n_left / rate)} left in this phase" if rate and n_left else ""
    not_asked = len(outcome.stopped_llms | outcome.silent_llms)
    silent = f", {not_asked} LLM{'' if not_asked == 1 else 's'} not asked" if not_asked else ""
    in_flight = sum(pace.in_flight for pace in collector.paces.values())
    return (
        f"{collector.phase}: {outcome.n_done + outcome.n_before:,} of {outcome.n_planned:,} trials, "
        f"{rate:,.1f} a second, {in_flight} calls in flight, {cost_of(outcome)}{silent}{left}"
    )


def _duration(seconds):
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def import_folder(folder, form, given, study, version):
    """Import recorded trials, audit them, and return the exit code."""
    report, exit_code = land_folder(folder, form, given, study, version)
    print(report)
    return pass_gate() or exit_code


def land_folder(folder, form, given, study, version) -> tuple[str, int]:
    """Land recorded trials of a format, or of the one that they are recognised by; say what came of it."""
    from ingest.bring.importer import import_archive
    from ingest.bring.mapping import with_mapping
    from ingest.bring.recognition import of_one_study, recognised

    archive = archive_of(form) if form else recognised(folder, is_mapped=given.path is not None)
    archive = with_mapping(archive, folder, given, study)
    if archive.is_study_the_kind:
        archive = of_one_study(archive, folder, study)
    if archive.take:
        return archive.take(folder, version, archive)
    with progress_bar(f"reading {printable(folder)}") as on_bytes:
        summary = import_archive(folder, archive, on_bytes, version, given)
    return render(summary), summary.exit_code


def print_measured(study: str | None = None) -> None:
    """Measure texts that are not measured yet, with what needs nothing installed, and say what came of it."""
    from ingest.measuring.measure import measured_lines

    for line in measured_lines(study):
        print(line)


def pass_gate() -> int:
    """Audit the batches that have no verdict yet, say what came of it, and return 6 if one failed, else 0."""
    from ingest.gate.audit import audit, exit_code

    verdicts = audit()
    for line in render_verdicts(verdicts):
        print(line)
    return exit_code(verdicts)


def render_verdicts(verdicts: list) -> list[str]:
    """Write verdicts in a few words each; those on LLMs whose trials of a vignette passed are put together."""
    groups = {}
    for verdict in verdicts:
        is_alike = verdict.llm_recorded and not verdict.is_scored and verdict.verdict != "failed"
        alike = (verdict.study, verdict.vignette, verdict.is_rejected, verdict.is_redefined)
        groups.setdefault(alike if is_alike else verdict.verdict_id, []).append(verdict)
    lines = Counter(map(_render, groups.values()))
    return [line + (f", in each of {n:,} batches" if n > 1 else "") for line, n in lines.items()]


def _render(alike):
    verdict, names, flagged = alike[0], {"fail": set(), "warn": set()}, Counter()
    for one in alike:
        flagged.update(one.n_flagged)
        for check in one.checks:
            if not check["is_passed"]:
                names["fail" if check["observed_value"] is None else check["level"]].add(check["check_name"])
    what = "scores" if verdict.is_scored else "trials"
    again = ", audited again with what the study says of it now," if verdict.is_redefined else ""
    outcome = f"failed, its {what} are not published" if verdict.verdict == "failed" else "passed"
    if verdict.is_rejected and verdict.verdict != "failed":
        outcome = "passed, and is not published: somebody rejected the same, and `bais accept` takes that back"
    elif verdict.is_accepted and verdict.verdict == "failed":
        outcome = "failed only what somebody accepted, and is published"
    parts = [f"FAILED {', '.join(sorted(names['fail']))}"] if names["fail"] else []
    parts += [f"warnings {', '.join(sorted(names['warn']))}"] if names["warn"] else []
    parts += [f"{n:,} {severity}" for severity, n in sorted(flagged.items())]
    more = f" ({'; '.join(parts)})" if parts else ""
    if verdict.is_unpublished:
        more += f"; its {verdict.n_trials:,} {what} were published, and are not any more once `bais build` has run"
    name = f"{printable(verdict.vignette)} of {printable(verdict.study)}"
    if verdict.llm_recorded and not verdict.is_scored:
        llms = {one.llm_recorded for one in alike}
        name += f" for {printable(verdict.llm_recorded) if len(llms) == 1 else f'{len(llms):,} LLMs'}"
    return f"  gate: {name}{again} {outcome}{more}"


@contextlib.contextmanager
def progress_bar(title):
    """Give a function that shows how far it is, if a person is looking."""
    if not sys.stderr.isatty():
        yield lambda n_done, n_total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)
        yield lambda n_done, n_total: progress.update(task, completed=n_done, total=n_total)


def render(summary) -> str:
    """Write the summary of an import for a terminal."""
    lines = [f"{summary.folder}: {summary.n_files:,} files"]
    lines += _rows(summary.n_rows)
    for kind, n in sorted(summary.rows.items()):
        lines.append(f"  {kind:<18}{summary.files[kind]:>6,} files {n:>10,} trials")
    lines.append(f"  {'together':<18}{'':>12} {summary.rows.total():>10,} trials")
    for reason in sorted({*summary.skipped.values(), *summary.skipped_lines}):
        n, files = summary.skipped_lines[reason], sorted(file for file, why in summary.skipped.items() if why == reason)
        lines.append(f"  skipped, {reason}{f' ({n:,} lines)' if n else ''}{f': {some(files)}' if files else ''}")
    if summary.unfinished:
        lines.append(f"  unfinished, and imported as far as they go: {len(summary.unfinished):,} files")
        lines += listed(f"{file}: {why}" for file, why in sorted(summary.unfinished.items()))
    if summary.quarantined:
        reasons = [f"{n:,} {reason}" for reason, n in summary.quarantined_lines.most_common()]
        more = f": {some(reasons)}" if reasons else ""
        lines.append(f"  quarantined: {len(summary.quarantined):,} (table raw.quarantined_lines){more}")
        lines += listed(_alike(summary.quarantined))
    for what, unknown, seed in (
        ("LLM ids", summary.unknown_llms, f"{place_of('llms')} or {place_of('llm_aliases')}"),
        ("vignettes", summary.unknown_vignettes, place_of("vignettes")),
        ("techniques", summary.unknown_techniques, place_of("techniques")),
        ("paradigms", summary.unknown_paradigms, None),
    ):
        if unknown:
            lines.append(unknown_names(what, unknown, "trials", seed))
    for column, values in summary.techniques_left_out.items():
        lines.append(
            f"  every trial counts as no_technique, and no use was made of the column {column} ({some(values, 5)}): if "
            "it says the technique, let a mapping (--map) yield it as technique"
        )
    for file, (number, n) in sorted(summary.with_keys.items()):
        hold = "row holds" if n == 1 else "rows hold"
        lines.append(
            f"  {file}: {n:,} {hold} what looks like an API key (first row {number:,}); it is kept as it stands, also "
            "in exports: revoke that key, take it out of the file, and import that into another warehouse"
        )
    if summary.unlisted_llms:
        lines.append(
            f"  of unknown vendors: {some(summary.unlisted_llms)}; they count together as one vendor until "
            f"{place_of('llms')} says who made each (docs/how-to/add-an-llm.md), and a decision about other LLMs needs "
            "five vendors"
        )
    lines.append(
        f"  {summary.n_lines:,} lines read: {summary.n_new:,} new, {summary.n_unchanged:,} unchanged, "
        f"{summary.n_changed:,} changed, {summary.n_duplicates:,} duplicates, "
        f"{summary.quarantined_lines.total():,} quarantined, {summary.skipped_lines.total():,} skipped; "
        f"{summary.unknown_llms.total():,} of unknown LLMs; {summary.seconds:.1f} s"
    )
    lines.append(f"  {_version(summary)}")
    fates = (
        (summary.n_back, f"{summary.n_back:,} of the unchanged had gone, and are back"),
        (
            summary.n_audited_again,
            f"{summary.n_audited_again:,} of the unchanged are of a batch that failed or was rejected; they are "
            "audited again with this version, and published if it passes",
        ),
        (summary.n_gone, _fate_of_gone(summary)),
    )
    lines += [f"  {fate}" for n, fate in fates if n and not summary.is_older]
    if summary.to_withdraw:
        lines.append(
            f'  imported by mistake? after `bais build`, `bais withdraw --where "{summary.to_withdraw}" --why TEXT` '
            "takes it out of every public table, and `bais restore` brings it back"
        )
    return "\n".join(lines)


def _alike(quarantined) -> Iterator[str]:
    """Yield of each file and reason the lines that were set apart for it, or the rows that a mapping makes of it."""
    alike = {}
    for file, number, is_row, why in quarantined:
        alike.setdefault((file, is_row, why), []).append(number)
    for (file, is_row, why), places in alike.items():
        numbers = [number for number in places if number]
        runs = [[n for _, n in run] for _, run in itertools.groupby(enumerate(numbers), lambda at: at[1] - at[0])]
        ends = [f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
        before = f", row{'' if len(numbers) == 1 else 's'} " if is_row else ":"
        yield f"{file}{f'{before}{some(ends)}' if ends else ''}: {why}"


def _rows(n_of_files) -> list[str]:
    """Say how many rows the files of a table hold, and how many a mapping makes of each that it changes."""
    if not n_of_files:
        return []
    n_rows, n_yielded = (sum(numbers) for numbers in zip(*n_of_files.values(), strict=True))
    others = sorted(
        (yielded - rows, file, f"{file}: {rows:,} rows, of which the mapping makes {yielded:,}")
        for file, (rows, yielded) in n_of_files.items()
        if rows != yielded
    )
    told = f"of which the mapping makes {n_yielded:,}" if others else "each of them taken"
    return [f"  {n_rows:,} rows in {len(n_of_files):,} files, {told}", *listed(line for *_, line in others)]


def _fate_of_gone(summary) -> str:
    """Say whether what a version lacks leaves the public tables, and why not."""
    if summary.is_mapped_anew:
        return (
            "what is gone leaves the public tables, since the mapping is another one and nothing tells which row was "
            "which (a column own_id would); nothing is deleted"
        )
    if summary.is_complete:
        return "what is gone leaves the public tables; nothing is deleted"
    why = f", since {summary.doubt}" if summary.doubt else ""
    name = f" --source {printable(summary.source_name)}" if summary.doubt else ""
    return f"what is gone stays published{why}; if this is the whole of the source, import it with --complete{name}"


def _version(summary) -> str:
    """Say which version of which source was read."""
    name = f"{printable(summary.source_name)}{f', {summary.part}' if summary.part else ''}"
    if summary.n_collected:
        name += f", of which {summary.n_collected:,} trials were collected here and are there already"
    if summary.is_older and not summary.version:
        return f"source {name}: this older version is there already, and nothing has changed"
    if not summary.version:
        return f"source {name}: nothing has changed{'' if summary.n_collected else ' since it was last imported'}"
    called = f"version {printable(summary.label or summary.version[:8])}"
    older = ", an older version, of which nothing is published" if summary.is_older else ""
    return (
        f"source {name}, {called}{older}: {summary.n_new:,} new, {summary.n_unchanged:,} unchanged, "
        f"{summary.n_changed:,} changed, {summary.n_gone:,} gone"
    )


if __name__ == "__main__":
    sys.exit(main())
