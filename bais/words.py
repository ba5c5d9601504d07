"""`bais words`: what the words and marks of decisions mean, each once."""

import click

from analysis.words.legend import LEGEND
from bais.terminal import pairs


@click.command()
def words() -> None:
    """Print the legend."""
    for heading, those in LEGEND.items():
        print(heading)
        named = [
            (f"{word.said} ({word.code})" if word.code and word.code.startswith("--") else word.said, word.means)
            for word in those
        ]
        print(pairs(named, indent="  "))
