"""The page of what is covered of papers names commands, tests, tables, studies and techniques that there are."""

import ast
import re
from functools import cache

import click
import pytest
import yaml

from bais.main import commands
from ingest.land.models import model_relations
from ingest.studies.study import load_study
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "papers-covered.md"
CODE = re.compile(r"`([^`]+)`")


def in_code(begins):
    """What stands in code on the page and begins so, lines joined."""
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    return sorted({code for code in CODE.findall(text) if code.startswith(begins)})


@cache
def functions_of(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("test", in_code("tests/"))
def test_each_test_that_the_page_names_is_there(test):
    path, _, function = test.partition("::")
    assert (ROOT / path).is_file()
    assert not function or function in functions_of(path)


@pytest.mark.parametrize("test", in_code("models/"))
def test_each_unit_test_that_the_page_names_is_there(test):
    path, _, name = test.partition("::")
    there = yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))["unit_tests"]
    assert name in {unit_test["name"] for unit_test in there}


def test_each_row_says_what_runs_it_and_what_holds_it():
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    rows = [line.strip("| ").split(" | ") for line in lines]
    assert len(rows) > 70
    assert all(len(row) == 5 and all(row) for row in rows)


def test_each_table_study_and_technique_that_the_page_names_is_there():
    text = PAGE.read_text(encoding="utf-8")
    tables = set(re.findall(r"\b((?:marts|content|people|inference|papers|claims)\.(?!md)[a-z_]+)\b", text))
    assert tables <= set(model_relations().values())
    for study in re.findall(r"`bais (?:collect|plan) ([a-z][\w-]+)`", text):
        load_study(study)
    known = yaml.safe_load((ROOT / "ingest" / "prompts" / "techniques.yaml").read_text(encoding="utf-8"))
    named = {name for names in re.findall(r"`techniques: \[([^\]]+)\]`", text) for name in names.split(", ")}
    assert named <= {entry["technique"] for entry in known}


@pytest.mark.parametrize("command", in_code("bais "))
def test_each_command_that_the_page_names_is_there_with_its_options(command):
    context = click.Context(commands)
    found = commands.get_command(context, command.split()[1])
    assert found is not None
    options = {option for parameter in found.params for option in parameter.opts}
    assert set(re.findall(r"(?<=\s)--[\w-]+", command.partition('"')[0])) <= options
