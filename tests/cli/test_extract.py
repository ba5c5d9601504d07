"""`bais claims extract` begins the folder of a paper, and writes over nothing."""

import csv

import pytest
import yaml

from bais.main import main
from bais.papers import tell_what_is_unaccounted_for, text_of

PAPER = """# About

Of 14,152 trials, \u221260% fell ($p < .05$), as GPT-4.1 in Table 2 did (Smith, 2020).

## 4.6 Results

Of 3 LLMs, 2.5 pp.

Table 2: Means

| LLM | Low |
|---|---|
| GPT-4.1 | \u22128.8 |
"""


@pytest.fixture
def paper(tmp_path):
    path = tmp_path / "paper.md"
    path.write_text(PAPER, encoding="utf-8")
    return path


def rows(path):
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_the_folder_accounts_for_every_numeral(paper, tmp_path, capsys):
    folder = tmp_path / "claims" / "about"
    assert main(["claims", "extract", str(paper), "--to", str(folder)]) == 0
    assert "12 numerals: 5 in the text, 1 in 1 table, 6 set aside as no claims" in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == [
        "claims.csv", "paper.yaml", "set-aside.csv", "specifications.csv", "table-2.csv",
    ]  # fmt: skip
    claims = rows(folder / "claims.csv")
    assert [(row["id"], row["where"], row["value"], row["unit"]) for row in claims] == [
        ("about-Abstract-1", "Abstract", "14,152", "trials"), ("about-Abstract-2", "Abstract", "-60", "%"),
        ("about-Abstract-3", "Abstract", "< .05", ""),
        ("about-S4.6-1", "Section 4.6", "3", "LLMs"), ("about-S4.6-2", "Section 4.6", "2.5", "pp"),
    ]  # fmt: skip
    assert claims[4] == {
        "id": "about-S4.6-2", "where": "Section 4.6", "statement": "Of 3 LLMs, 2.5 pp.", "value": "2.5", "unit": "pp",
        "decimals": "", "quantity": "", "keys": "", "specification": "",
        "not_derivable": "",
    }  # fmt: skip
    assert rows(folder / "table-2.csv") == [{"LLM": "GPT-4.1", "Low": "-8.8"}]
    assert [(row["line"], row["position"], row["numeral"], row["why"]) for row in rows(folder / "set-aside.csv")] == [
        ("3", "4", "4.1", "name"), ("3", "5", "2", "label"), ("3", "6", "2020", "citation"), ("5", "1", "4.6", "label"),
        ("9", "1", "2", "label"), ("13", "1", "4.1", "name"),
    ]  # fmt: skip
    assert yaml.safe_load((folder / "paper.yaml").read_text(encoding="utf-8")) == {
        "title": "About",
        "authors": "",
        "study": "",
        "text": "../../paper.md",
        "tables": {"table-2.csv": {"where": "Table 2", "labels": {"LLM": ""}, "columns": {"Low": ""}}},
    }


def test_a_folder_that_holds_anything_is_left_as_it_is(paper, tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "claims.csv").write_text("id\n")
    assert main(["claims", "extract", str(paper), "--to", str(tmp_path / "mine")]) == 2
    assert "is there already: name a folder that is new or empty" in capsys.readouterr().err
    assert (tmp_path / "mine" / "claims.csv").read_text() == "id\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("paper.pdf", "pdftotext -layout paper.pdf paper.txt"),
        ("none.md", "No such file"),
        (".", "name the paper's file"),
    ],
)
def test_what_is_no_paper_is_refused_and_nothing_is_written(tmp_path, capsys, name, said):
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7")
    assert main(["claims", "extract", str(tmp_path / name), "--to", str(tmp_path / "new")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_claim_may_still_be_named(capsys):
    assert main(["claims", "extract"]) == 2
    assert "PAPER" in capsys.readouterr().err
    assert main(["claims", "--help"]) == 0
    assert "bais claims extract PAPER --to DIR" in capsys.readouterr().out


def test_a_numeral_is_first_the_claim_of_its_own_section(tmp_path, capsys):
    (tmp_path / "paper.md").write_text(
        "# T\n\n## 1 Methods\n\nWe put 12 items.\n\n## 2 Results\n\nOf these, 12 fell.\n"
    )
    (tmp_path / "paper.yaml").write_text("title: T\ntext: paper.md\n")
    (tmp_path / "claims.csv").write_text("id,where,statement,value,not_derivable\na,Section 2,It fell,12,told alone\n")
    assert tell_what_is_unaccounted_for(tmp_path, text_of(tmp_path)) == 1
    assert capsys.readouterr().out == "Section 1, line 5: 12 is no claim, and not set aside: We put 12 items.\n"


def test_a_claim_that_the_paper_prints_no_more_is_said(tmp_path, capsys):
    (tmp_path / "paper.md").write_text("# T\n\n## 2 Results\n\nOf these, 12 fell.\n")
    (tmp_path / "paper.yaml").write_text("title: T\ntext: paper.md\n")
    (tmp_path / "claims.csv").write_text(
        "id,where,kind,statement,value,not_derivable\na,Section 2,,It fell,12,told\nb,Section 2,,It rose,13,told\n"
        "c,Section 2,sentence,More fell,> 11,told\n"
    )
    assert tell_what_is_unaccounted_for(tmp_path, text_of(tmp_path)) == 1
    assert capsys.readouterr().out == "b, Section 2: no longer in the text: It rose\n"


def test_a_paper_that_is_not_there_is_said_in_one_sentence(tmp_path, capsys):
    assert main(["claims", "--paper", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.endswith("none/paper.yaml: there is no such file: a paper is a folder with one\n")


def test_with_neither_a_warehouse_nor_a_text_nothing_passes_for_checked(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "none.duckdb"))
    (tmp_path / "paper.yaml").write_text("title: T\n")
    (tmp_path / "claims.csv").write_text("id,where,statement,value,not_derivable\na,Section 2,It fell,12,told alone\n")
    assert main(["claims", "--paper", str(tmp_path)]) == 2
    assert "names no text: nothing can be checked" in capsys.readouterr().err
    (tmp_path / "paper.yaml").write_text("title: T\ntext: paper.md\n")
    (tmp_path / "paper.md").write_text("## 2 Results\n\nOf the 40 judges, 12 (34%) fell.\n")
    assert main(["claims", "--paper", str(tmp_path)]) == 5
    said = capsys.readouterr()
    assert said.out == "Section 2: 34 % is printed in “Of the 40 judges, 12 (34%)”, where it is 30 % (shares).\n"
    assert "so no claim is checked: only the numbers of the paper's text" in said.err
