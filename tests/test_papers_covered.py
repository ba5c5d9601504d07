"""The page on documents C and D names only what is there: tests, tables, studies and techniques."""

import re

import pytest
import yaml

from ingest.land.models import model_relations
from ingest.studies.study import load_study
from ingest.warehouse import ROOT

PAGE = (ROOT / "docs" / "papers-covered.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in PAGE.splitlines() if line.startswith("| ")]
ITEMS = [row for row in ROWS if row[0] not in ("item", "---")]


def test_every_row_says_what_runs_it_and_what_holds_it():
    assert len(ITEMS) >= 40
    assert all(len(row) == 4 and all(row) for row in ITEMS)


@pytest.mark.parametrize("named", sorted(set(re.findall(r"`((?:tests|models)/[^`]+::[^`]+)`", PAGE))))
def test_each_test_that_is_named_is_there(named):
    path, name = named.split("::")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"(?:def |name: ){re.escape(name)}\b", text), f"{path} has no {name}"


def test_each_table_study_and_technique_that_is_named_is_there():
    tables = set(re.findall(r"`((?:marts|content|people|inference|papers|claims)\.\w+)`", PAGE))
    assert tables <= set(model_relations().values())
    for study in re.findall(r"`bais (?:collect|plan) ([\w-]+)`", PAGE):
        load_study(study)
    texts = (ROOT / "ingest" / "prompts" / "techniques.yaml").read_text(encoding="utf-8")
    techniques = {entry["technique"] for entry in yaml.safe_load(texts)}
    named = {name for names in re.findall(r"`techniques: \[([^\]]+)\]`", PAGE) for name in names.split(", ")}
    assert named <= techniques
