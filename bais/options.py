"""Options, arguments and parameter types that several commands share."""

from pathlib import Path

import click

from bais.terminal import FORMATS

PATH = click.Path(path_type=Path)

strict = click.option("--strict", is_flag=True, help="exit 1 on warnings")
study_to_ask = click.argument("study", metavar="STUDY")
only_study = click.option("--study", metavar="S", help="only this study")


def json_option(holding: str = ", with every digit"):
    """Return the option `--json`, which the command gets as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=f"as JSON{holding}")


def format_option(*more: str, help: str | None = None):
    """Return the option `--format`, which the command gets as `form`."""
    return click.option("--format", "form", type=click.Choice((*FORMATS, *more)), default=FORMATS[0], help=help)


class WholeNumber(click.IntRange):
    """A whole number of at least so much, in plain digits."""

    def convert(self, value, param, ctx) -> int:
        """Refuse what Python would read as a number, but a person would not write as one."""
        if isinstance(value, str) and not (value.isascii() and value.isdigit()):
            self.fail(f"{value!r} is not a whole number of at least {self.min}", param, ctx)
        return super().convert(value, param, ctx)
