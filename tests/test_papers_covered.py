"""The page of what is covered of papers names commands and tests that there are."""

import ast
import re
from functools import cache

import click
import pytest

from bais.main import commands
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


@pytest.mark.parametrize("command", in_code("bais "))
def test_each_command_that_the_page_names_is_there_with_its_options(command):
    context = click.Context(commands)
    found = commands.get_command(context, command.split()[1])
    assert found is not None
    options = {option for parameter in found.params for option in parameter.opts}
    assert set(re.findall(r"(?<=\s)--[\w-]+", command.partition('"')[0])) <= options
