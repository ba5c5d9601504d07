"""`bais rehearse`: what the gate would make of errors in somebody's own trials."""

import tempfile
from pathlib import Path

import click

from bais.options import PATH, WholeNumber, json_option
from bais.terminal import progress, say, say_each, say_json, say_rows
from ingest.rehearsal import ERRORS, Rehearsal, warehouse_at
from ingest.run import land_folder, trials_options, worded
from ingest.warehouse import printable

COLUMNS = {
    "planted": "planted", "llm": "llm", "seed": "seed", "wrong": "n_wrong", "held\nback": "n_held",
    "newly\nsuspect": "n_suspect", "innocent\nflagged": "n_innocent",
}  # fmt: skip


@click.command()
@click.argument("archive", metavar="ARCHIVE", type=PATH, help="a file of trials, or a folder")
@trials_options
@click.option("--plant", "names", multiple=True, type=click.Choice(list(ERRORS)), help="only this, again for each")
@click.option("--llm", "llms", multiple=True, metavar="L", help="among the trials of this LLM, again for each")
@click.option("--llms", "most", type=WholeNumber(min=1), default=3, help="else of this many LLMs with most trials")
@click.option("--seeds", type=WholeNumber(min=1), default=1, help="how often, each time drawn anew")
@json_option()
def rehearse(
    archive: Path, form: str | None, mapping: Path | None, beside: tuple[tuple[str, Path], ...], timeout_s: float,
    of_study: str | None, names: tuple[str, ...], llms: tuple[str, ...], most: int, seeds: int, as_json: bool,
) -> None:  # fmt: skip
    """Plant errors that happen into a copy of recorded trials, and say which of them the gate finds.

    The archive is imported into a temporary warehouse; neither its files nor your warehouse change.
    """
    from ingest.bring.mapping import Given
    from ingest.land.versions import Version

    rows = []
    with tempfile.TemporaryDirectory(prefix="bais-rehearsal-") as folder, worded(), progress("planted") as show:
        path = Path(folder) / "rehearsal.duckdb"
        with warehouse_at(path):
            land_folder(archive, form, Given(mapping, beside, timeout_s), of_study, Version())
        rehearsal = Rehearsal(path)
        plans = [
            (name, llm, seed)
            for name in names or ERRORS
            for llm in rehearsal.llms(llms, most)
            for seed in range(1, seeds + 1)
        ]
        for n_done, plan in enumerate(plans):
            show(n_done, len(plans))
            rows.append(rehearsal.rehearse(*plan))
    if as_json:
        say_json(rows)
        return
    _say_rehearsed(rows, {name: error.words for name, error in ERRORS.items() if name in (names or ERRORS)})


def _say_rehearsed(rows, words):
    """Say what was planted, what the gate made of each, and what it misses."""
    vignettes = ", ".join(sorted({printable(row["vignette"]) for row in rows}))
    say(f"Planted, one at a time, into a copy of an LLM's trials of the vignette of which it has most ({vignettes}):")
    say_each((f"{name}: {what}." for name, what in words.items()), indent="  ")
    print()
    cells = [(*(row[column] for column in COLUMNS.values()), _named(row), row["why"]) for row in rows]
    say_rows("table", [*COLUMNS, "named", "why"], cells, null="")
    planted = [row for row in rows if row["is_named"] is not None]
    if not planted:
        say("None of it could be planted.")
        return
    sums = {name: sum(row[name] for row in planted) for name in ("n_wrong", "n_held", "n_suspect", "n_innocent")}
    print()
    say(
        f"{sum(row['is_named'] for row in planted):,} of {len(planted):,} errors are named; of {sums['n_wrong']:,} "
        f"wrong rows {sums['n_held']:,} are held back and {sums['n_suspect']:,} newly suspect; "
        f"{sums['n_innocent']:,} innocent rows are flagged. Suspect rows are published and marked."
    )


def _named(row):
    return "" if row["is_named"] is None else "yes" if row["is_named"] else "no"
