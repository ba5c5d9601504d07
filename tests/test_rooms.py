"""What import-linter cannot see of who may import whom: the models' Python is no package."""

import ast

import pytest

from ingest.warehouse import ROOT

ROOMS = {"analysis", "bais", "ingest"}
MODELS = sorted((ROOT / "models").rglob("*.py"))


def imported(path):
    """The first names of all that a file imports, in functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_python_model_imports_no_room_but_analysis(path):
    assert ROOMS & set(imported(path)) == {"analysis"}
