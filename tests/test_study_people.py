"""The page on studies of people, followed: its lines are imported as they stand."""

import re

from ingest.run import main
from ingest.warehouse import ROOT


def test_the_lines_of_the_page_are_imported_and_its_second_participant_is_excluded(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "how-to" / "study-people.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```text\n(.*?)```", page, flags=re.DOTALL)
    path = tmp_path / "human-choices.csv"
    path.write_text("\n".join(line.strip() for line in block.splitlines()), encoding="utf-8")
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "w.duckdb"))
    monkeypatch.setenv("BAIS_PARTICIPANT_KEY", "k" * 32)
    assert main(["--archive", str(path), "--format", "human-choices", "--study", "my-people"]) == 0
    assert "4 choices of 2 participants read, 1 of them excluded: 4 new, 0 unchanged" in capsys.readouterr().out
