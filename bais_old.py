"""The commands that are not ported yet."""

import argparse


def _parser():
    parser = argparse.ArgumentParser(prog="bais", allow_abbrev=False)
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def command(name, run, summary, **formats):
        made = commands.add_parser(name, help=summary, description=f"{summary}.", allow_abbrev=False)
        made.set_defaults(run=run)
        if formats:
            made.add_argument("--format", default="table", **formats)
        return made

    from bais_doctor import add_doctor_commands
    from bais_paper import add_paper_arguments, paper
    from bais_recommend import add_recommend_command
    from bais_report import add_report_arguments, report
    from bais_trials import add_trial_commands

    add_recommend_command(command)
    add_trial_commands(command)
    add_report_arguments(
        command(
            "report",
            report,
            "write what the warehouse knows as one HTML page that needs no network",
        )
    )
    add_paper_arguments(command("paper", paper, "have the paper on a study written, from the warehouse alone"))
    add_doctor_commands(command)
    return parser


def run_command(arguments):
    """Run a command that is not ported yet."""
    parser = _parser()
    options, of_dbt = parser.parse_known_args(arguments)
    if of_dbt and options.command != "build":
        parser.error(f"unrecognized arguments: {' '.join(of_dbt)}")
    options.of_dbt = of_dbt
    return options.run(options)
