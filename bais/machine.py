"""`bais build`, `doctor` and `completion`: what runs on this machine, and what it lacks."""

import click

from bais.options import json_option, strict
from bais.terminal import pairs, say_json
from ingest.warehouse import connect, warehouse_path


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.pass_context
def build(ctx: click.Context) -> int:
    """Run `dbt build` on the whole project, unless another process is using the warehouse."""
    from bais.dbt import start

    path = warehouse_path()
    if path.exists():
        connect(path, read_only=False).close()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
    dbt = start("build", *ctx.args)
    try:
        code = dbt.wait()
    except KeyboardInterrupt:
        dbt.wait()  # dbt got the interrupt too, and cancels what it runs
        raise
    return code if code >= 0 else 128 - code


@click.command()
@json_option("")
@strict
def doctor(as_json: bool, strict: bool) -> int:
    """Say what is missing on this machine, and how to mend it; exit 2 if it is needed."""
    from bais.health import MISSING, WARNING, findings

    found = list(findings())
    states = [finding.state for finding in found]
    n_missing, n_warnings = states.count(MISSING), states.count(WARNING)
    if as_json:
        say_json([finding._asdict() for finding in found])
    else:
        print(pairs((f"{of.state:<8} {of.what:<16}", ": ".join(filter(None, (of.said, of.mend)))) for of in found))
        if n_missing:
            print(f"{n_missing} needed thing{'' if n_missing == 1 else 's'} missing.")
        else:
            warnings = f"; {n_warnings} warning{'' if n_warnings == 1 else 's'}" if n_warnings else ""
            print(f"All that is needed is here{warnings}.")
    return 2 if n_missing else 1 if strict and n_warnings else 0


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what click completes a command with: at each tab the shell asks `bais`."""
    from click.shell_completion import get_completion_class

    commands = ctx.find_root().command
    print(get_completion_class(shell)(commands, {}, "bais", commands.asked_in).source(), end="")
