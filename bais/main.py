"""What can be typed after `bais`: every command, the module that holds it, and what is said of its exit."""

import os
import sys
from importlib import import_module
from keyword import iskeyword
from pathlib import Path

import click
from click.shell_completion import CompletionItem, shell_complete

from bais.terminal import complain, similar
from ingest.run import run_command
from ingest.warehouse import printable, why_not_written

COMMANDS = {
    "Collect": {
        "plan": ("collect", "say what a study will ask and cost, before anything is asked"),
        "collect": ("collect", "ask the LLMs of a study what is still missing, and load the answers"),
        "read": ("read", "say what would be read in a reply, and why or how, before anything is asked"),
        "score": ("score", "score what an LLM on this machine would answer, in log-probabilities, and load it"),
        "measure": ("measure", "measure how alike answers are to parts of the texts that they retell, and load it"),
        "people": ("people", "make the pages of a study of people, from pairs of texts, and say who gets a bonus"),
        "run": ("experiment", "put an experiment to an LLM, analyse it and have its report written"),
        "show": ("experiment", "print the definition of an experiment or a study"),
        "render": ("experiment", "print what an LLM is told, word for word"),
        "analyze": ("experiment", "analyse the results of an experiment that are in a file"),
    },
    "Import and export": {
        "import": ("transfer", "land recorded trials in the warehouse"),
        "news": ("news", "fetch the news that have come, or write them as items that LLMs are asked about"),
        "versions": ("versions", "list what was imported again: each source's versions, and what of them is published"),
        "export": ("transfer", "write the public tables to files that others can read, cite and import"),
    },
    "Check": {
        "check": ("check", "audit what has no verdict yet, and say what is wrong, worst first, and what mends it"),
        "rehearse": ("rehearse", "plant errors into a copy of recorded trials, and say which of them the gate finds"),
        "accept": ("check", "publish a batch whatever its verdict; kept with name and reason"),
        "reject": ("check", "keep a batch from being published; kept with name and reason"),
        "release": ("check", "clear a trial of what the gate flagged it for; kept with name and reason"),
        "withdraw": ("withdraw", "take single trials out of every public table; kept with name and reason"),
        "reread": ("withdraw", "put the number right that is read in a trial's text; kept with name and reason"),
        "restore": ("withdraw", "undo a withdrawal, or else a rereading; kept with name and reason"),
    },
    "Ask": {
        "sql": ("ask", "ask the warehouse in SQL, read-only; without a query a prompt, or the query on stdin"),
        "tables": ("ask", "list the public tables, or the columns of one, such as marts.conditions or raw.calls"),
        "trial": ("trials", "show one trial: what was asked, what was answered, and what became of it"),
        "trials": ("trials", "list trials: those that meet a condition, else some of the newest real study"),
    },
    "Claims": {"claims": ("claims", "check published numbers and sentences against the recorded trials")},
    "Recommend": {
        "headlines": ("headlines", "say of all studies of LLMs what helps in each domain, and what scores show"),
        "recommend": ("recommend", "say which technique to use in a domain, which not, and how sure that is"),
        "words": ("words", "say what the words and marks of decisions mean"),
    },
    "Write": {
        "report": ("write", "write what the warehouse knows as pages that need no network"),
        "ui": ("ui", "show the pages of the report in a browser, with every answer and every claim; Ctrl-C stops it"),
        "paper": ("write", "have the paper on a study written, from the warehouse alone"),
        "docs": ("write", "build dbt's documentation of the tables: one page, which needs no network"),
    },
    "Machine": {
        "init": ("init", "make a folder of your own: studies, LLMs, prices, techniques, models, answers"),
        "build": ("machine", "derive and test every table with dbt; takes the arguments of `dbt build`"),
        "doctor": ("machine", "say what is missing on this machine, and how to mend it"),
        "completion": ("machine", "print a script that completes `bais` in a shell"),
    },
}
MODULES = {name: module for group in COMMANDS.values() for name, (module, _) in group.items()}
SUMMARIES = {name: summary for group in COMMANDS.values() for name, (_, summary) in group.items()}

EXIT_CODES = """
exit codes: 0 done, 1 dbt found a failure (or --strict did), 2 bad usage or nothing usable, 3 imported with lines
quarantined, 4 an LLM or the news could not be asked, 5 a report holds what its analysis does not, 6 the gate failed a
batch, 130 interrupted, all kept. The warehouse is data/bais.duckdb of your own folder, or else of the checkout, or what
BAIS_WAREHOUSE names.
"""


class Commands(click.Group):
    """The commands, each imported only when it is asked for."""

    asked_in = "_BAIS_COMPLETE"  # the variable in which a shell asks for completions, as click names it

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of the help."""
        return list(MODULES)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import a command: the one of this name in its module."""
        if name not in MODULES:
            return None
        command = getattr(import_module(f"bais.{MODULES[name]}"), f"{name}_" if iskeyword(name) else name)
        command.help = f"{SUMMARIES[name][0].upper()}{SUMMARIES[name][1:]}."
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple:
        """Say of a name that is none which ones are like it."""
        if args[0] not in MODULES and not args[0].startswith("-"):
            raise click.UsageError(f"no such command: {printable(args[0])}{similar(args[0], list(MODULES))}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names and our own options, without importing any command."""
        names = [name for name in SUMMARIES if name.startswith(incomplete)]
        items = [CompletionItem(name, help=SUMMARIES[name]) for name in names]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands in groups, without importing any."""
        for group, commands in COMMANDS.items():
            with formatter.section(group):
                formatter.write_dl([(name, summary) for name, (_, summary) in commands.items()])


@click.group(
    cls=Commands,
    epilog=EXIT_CODES,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(package_name="bais", prog_name="bais", message="%(prog)s %(version)s")
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Land trials, build the warehouse, and ask it."""
    if not ctx.invoked_subcommand:
        print(ctx.get_help())
        raise click.exceptions.Exit(2)


def main(arguments: list[str] | None = None) -> int:
    """Run one `bais` command, say what is wrong in one sentence on stderr, and return the exit code."""
    if sys.stdout is None or sys.stderr is None:  # closed by whoever started it
        if sys.stderr:
            complain("nothing can be printed, since standard output is closed: start bais with it open")
        return 2
    for stream in (sys.stdout, sys.stderr):
        if stream.isatty():
            stream.reconfigure(errors="backslashreplace")
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", newline="")
    try:
        if instruction := os.environ.get(commands.asked_in):
            return shell_complete(commands, {}, "bais", commands.asked_in, instruction)
        code = run_command(commands, "bais", arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        why = why_not_written(error, Path(error.filename)) if error.filename else error.strerror
        complain(f"{error.filename or 'the output'} cannot be written: {why}")
        return 2
    return code


def _drop_output() -> None:
    """Let the interpreter leave in silence when nobody reads, or the disk holds, what is still buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
