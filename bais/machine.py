"""`bais build`, `doctor` and `completion`: what runs on this machine, and what it lacks."""

import contextlib
from pathlib import Path

import click

from bais.options import PATH, json_option, refuse_together, strict
from bais.terminal import complain, fixed, pairs, say, say_each, say_json
from ingest.warehouse import connect, parquet_folder, printable, warehouse_path

RESOURCE_TYPES = ("--resource-type", "--resource-types", "--exclude-resource-type", "--exclude-resource-types")


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.option("--as-of", metavar="VERSION", help="build what was known when this version had been imported, into --to")
@click.option("--to", metavar="FILE", type=PATH, help="the warehouse to write; the current one stays as it is")
@click.option("--force", is_flag=True, help="replace a warehouse that is at FILE")
@click.option("--engine", type=click.Choice(("duckdb", "spark")), default="duckdb", help="what builds the large tables")
@click.option("--test", is_flag=True, help="with --engine spark: run on Spark what tests these tables, unit tests too")
@click.pass_context
def build(ctx: click.Context, as_of: str | None, to: Path | None, force: bool, engine: str, test: bool) -> int:
    """Run `dbt build` on a copy of the warehouse, without the unit tests of models; the copy takes its place."""
    limits = "builds the whole warehouse, of what was landed until now: of dbt's options it takes --vars alone"
    refuse_together(
        ("--test goes with --engine spark: `dbt build` runs every test in DuckDB", test and engine != "spark"),
        (f"--engine spark {limits}", engine == "spark" and (as_of or not _only_variables(ctx.args))),
        ("--as-of VERSION and --to FILE go together", (as_of is None) != (to is None)),
        ("--force replaces the file of --to, and none is named", force and to is None),
    )
    from bais.project import papers

    if own := papers():
        from bais.papers import refuse_what_is_wrong

        refuse_what_is_wrong(*own)
    if as_of is not None:
        return _build_as_of(as_of, to, force, ctx.args)
    path = warehouse_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        _take_in(path)
    if engine == "spark":
        return _build_with_spark(path, test, ctx.args)
    if _names_target(ctx.args):  # which says where to build
        return _dbt_build(ctx.args)
    from bais import age, unchanged
    from bais.built import build_on_copy
    from bais.redefined import answers_redefined, redefined_lines

    if not ctx.args and (why := unchanged.nothing_to_build()):
        say(why)
        return 0
    source = unchanged.source()

    def build_all(copy):
        since, redefined = age.n_runs_of(copy), answers_redefined(copy)
        code = _dbt_build(ctx.args, {"BAIS_WAREHOUSE": str(copy)})
        say_each(redefined_lines(copy, redefined))
        if code == 0 and ctx.args in ([], ["--full-refresh"]) and copy.exists():
            unchanged.keep(copy, source, since)
        if code == 1:
            _say_left_out(copy)
        return code

    _remove_unused_files(path)
    return build_on_copy(path, build_all)


def _say_left_out(path):
    """Say after a failure which tables are as they were before, and what to do."""
    from bais import age

    if path.exists():
        with contextlib.closing(connect(path)) as warehouse:
            if finding := age.old(warehouse):
                complain(f"{finding[0]}: mend what dbt says above, and run `bais build` again")


def _build_with_spark(path, is_tested, arguments):
    from bais import spark
    from bais.built import build_on_copy

    spark.refuse_without_spark()
    _remove_unused_files(path)
    return build_on_copy(path, lambda copy: spark.build(copy, parquet_folder(path), is_tested, arguments))


def _remove_unused_files(path):
    """Remove the files of earlier builds on Spark, except those of the warehouse that is there, which people read."""
    if path.exists() and parquet_folder(path).is_dir():
        from bais.spark import remove_unused

        remove_unused(path)


def _take_in(path):
    """Take in what a killed import left to be taken in from a folder of trials, and refuse to build without a file."""
    from ingest.land.folder import is_behind
    from ingest.land.raw import TABLES, prepare_raw

    with contextlib.closing(connect(path)) as warehouse:
        has_more = is_behind(warehouse, TABLES)
    if has_more:
        prepare_raw(path)


def _names_target(arguments):
    return any(argument.partition("=")[0] in ("-t", "--target") for argument in arguments)


def _only_variables(arguments):
    return not arguments or (arguments[0].partition("=")[0] == "--vars" and len(arguments) == 2 - ("=" in arguments[0]))


def _build_as_of(version_name, target, is_forced, arguments):
    """Build what was known at a version's import in a file of its own, which is there once all of it is."""
    from bais.past import held, refuse_to_replace, version_asked, warehouse_as_of

    if _names_target(arguments):
        raise click.UsageError("--to says where to build: leave --target out")
    target = target.absolute()
    version = version_asked(version_name)
    refuse_to_replace(target, is_forced)
    with warehouse_as_of(version, target) as (path, put_in_place):
        if code := _dbt_build(arguments, {"BAIS_WAREHOUSE": str(path)}):
            say(f"dbt found a failure: nothing is written to {target}")
            return code
        counts = held(path)
        put_in_place()
    scores = f" and {counts['n_scores']:,} scores" if counts["n_scores"] else ""
    say(
        f"{target}: what was known after {version['source_name']} {version['version']} had been imported "
        f"({fixed(version['imported_at'], '%Y-%m-%d %H:%M')} UTC): {counts['n_trials']:,} trials{scores} in "
        f"{counts['n_batches']:,} batches, {counts['n_versions']:,} versions, {counts['n_acts']:,} decisions of people"
    )
    say(f"ask it with BAIS_WAREHOUSE={printable(target)}")
    return 0


def _dbt_build(arguments, more_environment=None):
    from bais import dbt

    chosen = any(argument.partition("=")[0] in RESOURCE_TYPES for argument in arguments)
    # unit tests run the models on made-up rows: they say nothing of what is in the warehouse
    left_out = () if chosen else ("--exclude-resource-type", "unit_test")
    return dbt.build(*arguments, *left_out, more_environment=more_environment)


@click.command()
@json_option("")
@strict
def doctor(as_json: bool, strict: bool) -> int:
    """Say what is missing on this machine, and how to mend it; exit 2 if it is needed."""
    from bais.health import MISSING, WARNING, findings

    diagnoses = list(findings())
    states = [finding.state for finding in diagnoses]
    n_missing, n_warnings = states.count(MISSING), states.count(WARNING)
    if as_json:
        say_json([finding._asdict() for finding in diagnoses])
    else:
        heads = [f"{finding.state:<8} {finding.what:<16}" for finding in diagnoses]
        texts = [": ".join(filter(None, (finding.said, finding.mend))) for finding in diagnoses]
        print(pairs(zip(heads, texts, strict=True)))
        warnings = f"; {n_warnings} warning{'' if n_warnings == 1 else 's'}" if n_warnings else ""
        missing = f"{n_missing} needed thing{'' if n_missing == 1 else 's'} missing."
        print(missing if n_missing else f"All that is needed is here{warnings}.")
    return 2 if n_missing else 1 if strict and n_warnings else 0


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what click completes a command with: at each tab the shell asks `bais`."""
    from click.shell_completion import get_completion_class

    commands = ctx.find_root().command
    print(get_completion_class(shell)(commands, {}, "bais", commands.asked_in).source(), end="")
