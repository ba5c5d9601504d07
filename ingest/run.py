"""Land trials in `raw`: a folder of recorded ones, or, without arguments, a small synthetic study.

python ingest/run.py                  the synthetic study
python ingest/run.py --archive DIR    the recorded trials below DIR
python ingest/run.py --download       the public archive of document A, fetched and verified first
"""

import argparse
import contextlib
import sys
import time
from pathlib import Path

if __package__ in (None, ""):
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from ingest.warehouse import ROOT, UserError, printable

MOST_NAMED = 20


def main(arguments=None):
    """Parse the arguments, land what they ask for, and return the exit code: 0, 2 nothing usable, 3 with quarantine."""
    parser = argparse.ArgumentParser(
        prog="ingest/run.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_arguments(parser)
    return run(parser.parse_args(arguments))


def add_arguments(parser, *, folder_first=False):
    """Declare what `bais import DIR` (`folder_first`) and `python ingest/run.py --archive DIR` share."""
    choice = parser.add_mutually_exclusive_group(required=folder_first)
    folder = {"metavar": "DIR", "type": Path, "help": "import the recorded trials below DIR"}
    if folder_first:
        choice.add_argument("archive", nargs="?", **folder)
    else:
        choice.add_argument("--archive", **folder)
    choice.add_argument(
        "--download",
        nargs="?",
        const=ROOT / "data" / "archives" / "voder-bais",
        metavar="DIR",
        type=Path,
        help="fetch document A's public archive into DIR (default: data/archives/voder-bais), verify and import it",
    )


def run(options):
    """Land what the options ask for; say what is wrong in one sentence on stderr."""
    try:
        if options.download:
            from ingest.download import download

            with progress_bar("fetching the archive") as on_bytes:
                options.archive = download(options.download, on_bytes=on_bytes)
        return import_folder(options.archive) if options.archive else land_synthetic()
    except UserError as error:
        print(f"bais: {printable(error)}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("bais: interrupted; what had been landed is kept, and running it again lands the rest", file=sys.stderr)
        return 130


def import_folder(folder):
    """Import recorded trials, print the summary, and return its exit code."""
    from ingest.archives.voder_bais import ARCHIVE
    from ingest.importer import import_archive

    with progress_bar(f"reading {printable(folder)}") as on_bytes:
        summary = import_archive(folder, ARCHIVE, on_bytes)
    print(render(summary))
    return summary.exit_code


def land_synthetic():
    """Land the synthetic study and say that it is one."""
    from ingest.load import land, landed_ids
    from ingest.synthetic import STUDY, synthetic_trials

    started = time.monotonic()
    trials = synthetic_trials()
    n_before = landed_ids(STUDY).num_rows
    land([trials])
    n_added = landed_ids(STUDY).num_rows - n_before
    print(
        f"synthetic study (made by a formula, no LLM was asked): {trials.num_rows:,} trials, {n_added:,} added, "
        f"{trials.num_rows - n_added:,} already there; {time.monotonic() - started:.1f} s"
    )
    return 0


@contextlib.contextmanager
def progress_bar(title):
    """Give a function that shows how far a run is, if a person is looking."""
    if not sys.stderr.isatty():
        yield lambda n_done, n_total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)
        yield lambda n_done, n_total: progress.update(task, completed=n_done, total=n_total)


def render(summary):
    """Write the summary of an import for a terminal.

    Parameters
    ----------
    summary : ingest.importer.Summary

    Returns
    -------
    str
        What was read per kind, what was skipped, quarantined or unknown, and what the warehouse gained.
    """
    lines = [f"{summary.folder}: {summary.n_files:,} files"]
    lines += [
        f"  {kind:<18}{summary.files[kind]:>6,} files {n:>10,} trials" for kind, n in sorted(summary.rows.items())
    ]
    lines += [f"  {'together':<18}{'':>12} {sum(summary.rows.values()):>10,} trials"]
    by_reason = {}
    for file, reason in summary.skipped.items():
        by_reason.setdefault(reason, []).append(file)
    for reason, files in sorted(by_reason.items()):
        lines.append(f"  skipped, {reason}: {_some(sorted(files))}")
    if summary.quarantined:
        lines.append(f"  quarantined: {len(summary.quarantined):,} (table raw.quarantined_lines)")
        named = [f"    {file}{f':{number}' if number else ''}: {why}" for file, number, why in summary.quarantined]
        lines += named[:MOST_NAMED] + ([f"    and {len(named) - MOST_NAMED:,} more"] if len(named) > MOST_NAMED else [])
    for what, unknown, seed in (
        ("LLM ids", summary.unknown_llms, "seeds/llms.csv or seeds/llm_aliases.csv"),
        ("vignettes", summary.unknown_vignettes, "seeds/vignettes.csv"),
        ("techniques", summary.unknown_techniques, "seeds/techniques.csv"),
    ):
        if unknown:
            listed = _some([f"{name} ({n:,} trials)" for name, n in unknown.most_common()])
            lines.append(f"  unknown {what}, loaded under their own names: {listed}; add them to {seed}")
    lines.append(
        f"  {summary.n_added:,} added, {summary.n_already_there:,} already there, "
        f"{summary.n_duplicates:,} duplicates, {len(summary.quarantined):,} quarantined, "
        f"{sum(summary.unknown_llms.values()):,} of unknown LLMs; {summary.seconds:.1f} s"
    )
    return "\n".join(lines)


def _some(names):
    shown = ", ".join(names[:MOST_NAMED])
    return shown + (f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else "")


if __name__ == "__main__":
    sys.exit(main())
