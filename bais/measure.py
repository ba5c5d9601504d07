"""`bais measure`: what became of texts, measured in answers that are there."""

import click

from bais.options import only_study
from bais.terminal import progress, say, say_each
from ingest.measuring import DEFAULT, INSTRUMENTS
from ingest.run import amount


@click.command()
@only_study
@click.option("--instrument", type=click.Choice(INSTRUMENTS), default=DEFAULT, help="what measures (docs/measuring.md)")
@click.option("--model", metavar="VENDOR/NAME", help="endpoint: what is asked for embeddings; e5: its folder or id")
@click.option("--max-cost", type=amount, metavar="USD", help="endpoint: start no call that would exceed this cost")
def measure(study: str | None, instrument: str, model: str | None, max_cost: float | None) -> int:
    """Measure what is not measured yet, and land it."""
    from ingest.measuring.measure import measure as measure_with

    with progress("answers") as on_progress:
        outcomes = measure_with(study, instrument, model, max_cost, on_progress)
    say_each(line for outcome in outcomes for line in outcome.said().splitlines())
    if not outcomes:
        say(
            "There is nothing to measure: no study in the warehouse has a measure that an instrument takes "
            "(`from: measurement` in its paradigm)."
        )
    return max((outcome.ended_by.exit_code for outcome in outcomes if outcome.ended_by), default=0)
