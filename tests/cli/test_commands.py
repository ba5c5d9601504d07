"""Every command with what it takes: what scripts and fingers rely on."""

from pathlib import Path

import click
import pytest

from bais.main import COMMANDS as GROUPS
from bais.main import commands, main

COMMANDS = {
    "plan": {
        "STUDY": "text",
        "--to-settle": "text",
        "--study": "text",
        "--paradigm": "text",
        "--goal": "text",
        "--technique": "text",
        "--llm": "text, repeated",
        "--more-trials": "flag",
        "--out": "path",
        "--json": "flag",
    },
    "collect": {
        "STUDY": "text, required",
        "--no-load": "flag",
        "--max-cost": "amount",
        "--max-calls": "int of at least 1",
        "--ask-again": "failed|refused|unparsed|out_of_range, repeated",
        "--orphan": "flag",
        "--keep": "flag",
        "--new-anchors": "flag",
        "--pilot": "int of at least 1",
        "--strict": "flag",
    },
    "read": {
        "TEXT": "text",
        "--unit": "text",
        "--range": "float",
        "--study": "text",
        "--paradigm": "text",
        "--vignette": "text",
        "--arm": "text",
        "--measure": "text",
        "--json": "flag",
    },
    "score": {
        "--llm": "text, required",
        "--name": "text",
        "--device": "cpu|cuda",
        "--dtype": "float32|bfloat16|float16|float64",
        "--questions": "path",
        "--chat": "flag",
    },
    "measure": {
        "--study": "text",
        "--instrument": "tfidf|minilm|e5|endpoint|tokenizer, default tfidf",
        "--model": "text",
        "--max-cost": "amount",
    },
    "people": {
        "ACTION": "example|new|qualtrics|bonuses, required",
        "FOLDER": "path, required",
    },
    "run": {
        "EXPERIMENT": "text, required",
        "--runs": "int of at least 1, required",
        "--model": "text",
        "--seed": "int of at least 0, default 1",
        "--max-attempts": "int of at least 1, default 3",
        "--out": "path",
        "--analysis": "path",
        "--report": "path",
        "--no-report": "flag",
        "--protocol": "single_turn|three_turn",
        "--json-mode": "strict|lenient, default strict",
    },
    "show": {
        "STUDY": "text, required",
        "--protocol": "single_turn|three_turn",
        "--json": "flag",
    },
    "render": {
        "STUDY": "text, required",
        "--condition": "text",
        "--vignette": "text",
        "--technique": "text",
        "--anchor": "float",
        "--arm": "text",
        "--item": "text",
        "--protocol": "single_turn|three_turn",
    },
    "analyze": {
        "PATH": "path, required",
        "--experiment": "text",
        "--analysis": "path",
        "--seed": "int, default 1",
    },
    "import": {
        "PATH": "path",
        "--format": "anchoring-llms|bais-export|cognitive-biases-2026|counts|falsifications|human-choices|"
        "inspect-logs|newslenssync|promptfoo|software-engineering-2026|story-001|table|voder-bais",
        "--map": "path",
        "--with": "table, repeated",
        "--timeout": "float of at least 0, default 600",
        "--study": "text",
        "--download": "voder_bais|cognitive_biases_2026|software_engineering_2026, value optional",
        "--source": "text",
        "--label": "text",
        "--complete": "flag",
        "--older": "flag",
        "--to": "path",
    },
    "export": {
        "DIR": "path, required",
        "--format": "parquet|csv|jsonl, default parquet",
        "--study": "text",
        "--force": "flag",
    },
    "news": {
        "--since": "datetime",
        "--url": "text",
        "--dry-run": "flag",
        "--to-falsify": "path",
        "--to-validate": "path",
        "--items": "path",
        "--unvalidated": "flag",
    },
    "versions": {
        "SOURCE": "text",
        "--json": "flag",
    },
    "check": {
        "--batch": "text",
        "--kind": "text",
        "--all": "flag",
        "--json": "flag",
        "--strict": "flag",
    },
    "rehearse": {
        "ARCHIVE": "path, required",
        "--format": "anchoring-llms|bais-export|cognitive-biases-2026|counts|falsifications|human-choices|"
        "inspect-logs|newslenssync|promptfoo|software-engineering-2026|story-001|table|voder-bais",
        "--map": "path",
        "--with": "table, repeated",
        "--timeout": "float of at least 0, default 600",
        "--study": "text",
        "--plant": "years|first_digit|techniques_exchanged|anchors_off|directions_exchanged|another_llm|"
        "temperature_ignored|anchored_baseline|cached, repeated",
        "--llm": "text, repeated",
        "--llms": "int of at least 1, default 3",
        "--seeds": "int of at least 1, default 1",
        "--json": "flag",
    },
    "accept": {
        "BATCH": "text, required",
        "--why": "text, required",
        "--who": "text",
    },
    "reject": {
        "BATCH": "text, required",
        "--why": "text, required",
        "--who": "text",
    },
    "release": {
        "TRIAL": "text",
        "--flag": "text",
        "--batch": "text",
        "--why": "text, required",
        "--who": "text",
    },
    "withdraw": {
        "--flag": "text",
        "TRIAL_ID...": "text",
        "--where": "text",
        "--counts": "text",
        "--why": "text, required",
        "--who": "text",
    },
    "reread": {
        "TRIAL_ID": "text, required",
        "--number": "float, required",
        "--why": "text, required",
        "--who": "text",
    },
    "restore": {
        "TRIAL_ID...": "text",
        "--where": "text",
        "--counts": "text",
        "--why": "text, required",
        "--who": "text",
    },
    "build": {
        "--as-of": "text",
        "--to": "path",
        "--force": "flag",
        "--engine": "duckdb|spark, default duckdb",
        "--test": "flag",
    },
    "sql": {
        "--format": "table|csv|json|parquet, default table",
        "QUERY": "text",
    },
    "tables": {
        "--all": "flag",
        "--format": "table|csv|json, default table",
        "NAME": "text",
    },
    "claims": {
        "--format": "table|csv|json, default table",
        "CLAIM_ID": "text",
        "--all": "flag",
        "--differs": "flag",
        "--recomputes": "yes|no|not_derivable|not_checked",
        "--holds": "holds|weaker|contradicted|other_way|confounded|not_applicable",
        "--document": "text",
        "--paper": "path",
        "--strict": "flag",
        "--limit": "int of at least 0",
    },
    "recommend": {
        "--domain": "text",
        "--llm": "text",
        "--goal": "text",
        "--study": "text",
        "--paradigm": "text",
        "--measure": "text",
        "--why": "flag",
        "--json": "flag",
    },
    "trial": {
        "TRIAL_ID": "text, required",
        "--json": "flag",
    },
    "trials": {
        "--format": "table|csv|json, default table",
        "--where": "text",
        "--study": "text",
        "--llm": "text",
        "--technique": "text",
        "--domain": "text",
        "--direction": "text",
        "--status": "text",
        "--all": "flag",
        "--limit": "int",
    },
    "headlines": {
        "--all": "flag",
        "--study": "text",
    },
    "words": {},
    "report": {
        "--out": "path",
        "--single": "path",
        "--study": "text",
    },
    "ui": {
        "--port": "int of at least 1024",
        "--no-open": "flag",
    },
    "paper": {
        "--study": "text, required",
        "--llm": "text",
        "--out": "path",
        "--prompt": "flag",
        "--facts": "flag",
    },
    "doctor": {
        "--json": "flag",
        "--strict": "flag",
    },
    "docs": {
        "--out": "path",
    },
    "init": {
        "NAME": "path, required",
    },
    "completion": {
        "{bash|zsh|fish}": "bash|zsh|fish, required",
    },
}


def described(parameter):
    """Say in a few words what a parameter takes, as the table does."""
    kind = parameter.type
    if isinstance(kind, click.Choice):
        words = ["|".join(kind.choices)]
    elif isinstance(kind, click.Path):
        words = ["path"]
    elif getattr(parameter, "is_flag", False):
        words = ["flag"]
    else:
        words = [{"integer": "int", "integer range": "int", "float range": "float"}.get(kind.name, kind.name)]
        if getattr(kind, "min", None) is not None:
            words[0] += f" of at least {kind.min}"
    words += ["repeated"] if getattr(parameter, "multiple", False) else []
    words += ["value optional"] if isinstance(getattr(parameter, "flag_value", None), Path | str) else []
    words += ["required"] if parameter.required else []
    words += [f"default {parameter.default}"] if isinstance(parameter.default, str | int) and words[0] != "flag" else []
    return ", ".join(words)


def named(parameter):
    return (
        " ".join(parameter.opts) if isinstance(parameter, click.Option) else parameter.make_metavar(CONTEXT).strip("[]")
    )


CONTEXT = click.Context(commands, info_name="bais")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_says_what_it_does_and_takes(name, monkeypatch, capsys, golden):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([name, "--help"]) == 0
    golden(capsys.readouterr().out)


def test_help_lists_all_commands(monkeypatch, capsys, golden):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    golden(capsys.readouterr().out)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_takes_what_it_always_took(name):
    command = commands.get_command(CONTEXT, name)
    assert command.name == name
    assert {named(parameter): described(parameter) for parameter in command.params} == COMMANDS[name]


def test_every_command_is_in_a_group_of_the_help():
    assert sorted(name for of in GROUPS.values() for name in of) == sorted(COMMANDS)
    assert sorted(commands.list_commands(CONTEXT)) == sorted(COMMANDS)
