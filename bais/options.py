"""Options, arguments and parameter types that several commands share."""

import click
from click.shell_completion import CompletionItem

from bais.terminal import FORMATS
from ingest.run import PATH as PATH

strict = click.option("--strict", is_flag=True, help="exit 1 on warnings")


def study_argument(help: str, required: bool = True):
    """Return the argument `STUDY`, which a shell completes by the shipped studies' names, else by files."""
    metavar = "STUDY" if required else "[STUDY]"
    return click.argument("study", metavar=metavar, required=required, help=help, shell_complete=_shipped_or_file)


def _shipped_or_file(ctx, parameter, incomplete):
    from ingest.studies.study import named_studies

    return _named_or_file(named_studies(), incomplete)


def shipped_experiment_or_file(ctx, parameter, incomplete) -> list[CompletionItem]:
    """Offer the names of the shipped experiments that begin so, else files."""
    from ingest.ask.experiment import shipped_experiments

    return _named_or_file(shipped_experiments(), incomplete)


def _named_or_file(names, incomplete):
    items = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return items or [CompletionItem(incomplete, type="file")]


study_to_ask = study_argument("a study file, or the name of a shipped study")
only_study = click.option("--study", metavar="S", help="only this study")


def json_option(holding: str = ", with every digit"):
    """Return the option `--json`, which the command gets as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=f"as JSON{holding}")


def format_option(*more: str, help: str | None = None):
    """Return the option `--format`, which the command gets as `form`."""
    return click.option("--format", "form", type=click.Choice((*FORMATS, *more)), default=FORMATS[0], help=help)


def refuse_together(*mistakes: tuple[str, object]) -> None:
    """Refuse options that do not go together: the first that is wrong, in its own words."""
    if wrong := next((message for message, is_wrong in mistakes if is_wrong), None):
        raise click.UsageError(wrong)


def signed(command):
    """Add the options by which a decision of a person says why, and whose it is."""
    for option in (
        click.option("--who", metavar="NAME", help="your name (default: BAIS_USER, else this machine's user)"),
        click.option("--why", required=True, metavar="TEXT", help="the reason, for those who come later"),
    ):
        command = option(command)
    return command


class WholeNumber(click.IntRange):
    """A whole number of at least so much, in plain digits."""

    def convert(self, value, param, ctx) -> int:
        """Refuse what Python would read as a number, but a person would not write as one."""
        if isinstance(value, str) and not (value.isascii() and value.isdigit()):
            self.fail(f"{value!r} is not a whole number of at least {self.min}", param, ctx)
        return super().convert(value, param, ctx)
