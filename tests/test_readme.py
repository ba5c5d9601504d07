"""The README is short, and what it and the pages in docs/ link to and name is there."""

import re

import pytest

from bais.main import main
from ingest.warehouse import ROOT
from tests.tools.readme import COLUMNS, README, blocks, of_readme

DOCS = ROOT / "docs"
PAGES = sorted([README, *DOCS.glob("*.md"), *(DOCS / "how-to").glob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")


def heading_as_a_link(heading):
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_the_readme_has_at_most_120_lines():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 120


def test_the_readme_calls_papers_by_their_names():
    assert not re.search(r"\b[Dd]ocument [A-D]\b", README.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_links_to_is_there(page):
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        path, _, place = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        if place:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), flags=re.MULTILINE)
            assert place in map(heading_as_a_link, headings), link


def test_each_page_is_linked_from_the_list_of_pages():
    listed = LINK.findall((DOCS / "README.md").read_text(encoding="utf-8"))
    pages = {str(page.relative_to(DOCS)) for page in PAGES if page != README} - {"README.md"}
    assert pages <= set(listed)


def test_the_study_of_the_readme_has_ten_lines_at_most_and_a_known_price(tmp_path, capsys):
    (study,) = blocks("yaml")
    commands = re.findall(r"^(?:\.venv/bin/bais|export) .*mine\.yaml|^export", README.read_text(), flags=re.MULTILINE)
    assert len(study.splitlines()) + len(commands) <= 10
    (tmp_path / "mine.yaml").write_text(study)
    assert main(["plan", str(tmp_path / "mine.yaml")]) == 0
    planned = capsys.readouterr().out
    assert "unknown" not in planned
    assert "5 vendors" in planned


@pytest.mark.parametrize("document", "ABCD")
def test_the_table_of_papers_has_a_row_for_each_and_its_numbers_add_up(document):
    row = of_readme(document)
    assert row["printed"] == row["recompute"] + row["differ"] + row["cannot be derived"]
    assert sum(row[column] for column in COLUMNS[4:]) <= row["printed"]
