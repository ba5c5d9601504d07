"""The page on studies of people, followed: a study is made, answered and imported, and its lines of choices too."""

import json
import re
import shlex

import pytest

from bais.main import main as bais
from ingest.people.study import read_material
from ingest.run import main
from ingest.warehouse import ROOT
from tests.tools.people import PROLIFIC_IDS, own_of, sheet_of, write_export

PAGE = (ROOT / "docs" / "how-to" / "study-people.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _own_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "w.duckdb"))
    monkeypatch.setenv("BAIS_PARTICIPANT_KEY", "k" * 32)


def test_the_lines_of_the_page_are_imported_and_its_second_participant_is_excluded(tmp_path, capsys):
    (block,) = re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)
    path = tmp_path / "human-choices.csv"
    path.write_text("\n".join(line.strip() for line in block.splitlines()), encoding="utf-8")
    assert main(["--archive", str(path), "--study", "my-people"]) == 0
    assert "4 choices of 2 participants read, 1 of them excluded: 4 new, 0 unchanged" in capsys.readouterr().out


def test_the_commands_of_the_page_lead_from_the_example_to_choices_and_bonuses(tmp_path, capsys):
    commands = [
        shlex.split(line) for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()
    ]
    assert [words[:2] for words in commands[-3:]] == [["bais", "build"], ["bais", "headlines"], ["bais", "report"]]
    assert {tuple(words[1:3]) for words in commands[:-3]} == {
        ("people", "example"), ("people", "new"), ("people", "qualtrics"), ("import", "shop"), ("people", "bonuses"),
    }  # fmt: skip
    folder, said = tmp_path / "shop", {}
    for _, *words in commands[:-3]:
        capsys.readouterr()
        assert bais(words) == 0
        said[words[0], words[1]] = capsys.readouterr().out
        if words[1] == "example":
            text = (folder / "study.yaml").read_text(encoding="utf-8")
            text = text.replace("FILL IN", "Lab").replace("participants: 72", "participants: 4")
            (folder / "study.yaml").write_text(text, encoding="utf-8")
        if words[1] == "new":
            _answer(folder)
    assert "40 choices of 4 participants read, 1 of them excluded: 40 new" in said["import", "shop"]
    # each of the three who count chose the target, and all of ten matched
    assert said["people", "bonuses"].split() == [f"{who},2.00" for who in PROLIFIC_IDS[:3]]


def _answer(folder):
    material = read_material(folder / "study.yaml")
    right = [question.right for question in material.study.quiz]
    for who, page in zip(PROLIFIC_IDS, sorted((folder / "pages").glob("*")), strict=False):
        quiz = right if who != PROLIFIC_IDS[3] else [*right[1:], right[0]]
        sheet = sheet_of(own_of(page), who, [pair.target for pair in material.pairs], ["20"] * 10, quiz=quiz)
        (folder / "answers" / page.with_suffix(".json").name).write_text(json.dumps(sheet), encoding="utf-8")
    write_export(folder, *((who, "APPROVED", 1900, 40, "Female") for who in PROLIFIC_IDS[:4]))
