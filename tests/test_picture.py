"""The picture of the README is drawn from a warehouse, and from nothing else."""

import re
from contextlib import closing
from xml.etree import ElementTree

import duckdb
import pytest

from tests.tools.picture import DOMAIN, OPEN, STUDY, main
from tests.tools.report_page import Made

ANSWERS = {  # technique, LLM, direction: percent of the own answer and how often
    ("no_technique", "a<b", "low"): {50.0: 3, 90.0: 1},
    ("no_technique", "a<b", "high"): {300.0: 2},
    ("random_control", "a<b", "low"): {100.0: 4},
}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    """Two techniques of one LLM, of which the placebo is to be used, and a better one that has another control."""
    path = tmp_path_factory.mktemp("picture") / "w.duckdb"
    of = {"study": STUDY, "domain": DOMAIN}
    made = Made(path)
    with closing(made.connection):
        for technique, name, control, loss in (
            ("no_technique", "No technique", None, 40.0),
            ("random_control", "Random Control", "no_technique", 27.0),
            ("sacd", "SACD", "sacd_initial", 20.0),
        ):
            made.add("seeds.techniques", technique=technique, display_name=name)
            made.add("marts.effects", **of, paradigm="anchoring", goal="displacement", technique=technique, loss=loss)
            made.add(
                "inference.decisions", **of, technique=technique, paradigm="anchoring", goal="displacement",
                control=control, comparison=control and "control", loss=loss, decision=control and "use",
            )  # fmt: skip
        for (technique, llm, direction), counts in ANSWERS.items():
            for percent, n_trials in counts.items():
                for _ in range(n_trials):
                    made.add(
                        "marts.trials", **of, llm=llm, technique=technique, anchor_direction=direction,
                        percent_of_baseline=percent,
                    )  # fmt: skip
    return path


def test_each_group_of_equal_answers_is_a_circle_as_large_as_its_share(warehouse, tmp_path, capsys):
    assert main(warehouse, tmp_path / "answers.svg") == 0
    svg = ElementTree.parse(tmp_path / "answers.svg").getroot()
    sizes = [
        float(circle.get("r")) for circle in svg.iter("{http://www.w3.org/2000/svg}circle") if circle.get("r") != "5"
    ]
    assert sorted(sizes) == [4.0, 6.9, 8.0, 8.0]  # 8 times the root of 1/4, of 3/4, of 1 and of 1
    assert "shows 2 techniques" in capsys.readouterr().out


def test_the_finding_says_the_displacements_of_the_warehouse(warehouse, tmp_path):
    main(warehouse, tmp_path / "answers.svg")
    title = re.search("<title>(.*)</title>", (tmp_path / "answers.svg").read_text())[1]
    assert "40 % off with a plain prompt and 27 % off with the placebo (Random Control)" in title


def test_what_is_not_decided_is_said_to_be_shown_for_no_other_llms(warehouse, tmp_path):
    main(warehouse, tmp_path / "answers.svg")
    assert OPEN not in (tmp_path / "answers.svg").read_text()
    copy = tmp_path / "w.duckdb"
    copy.write_bytes(warehouse.read_bytes())
    with closing(duckdb.connect(str(copy))) as connection:
        connection.execute("update inference.decisions set decision = 'no_evidence' where control = 'no_technique'")
    main(copy, tmp_path / "answers.svg")
    assert OPEN in (tmp_path / "answers.svg").read_text()


def test_the_picture_of_the_same_warehouse_is_the_same_to_the_byte(warehouse, tmp_path):
    for name in ("first.svg", "second.svg"):
        main(warehouse, tmp_path / name)
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "second.svg").read_bytes()


def test_a_warehouse_without_the_archive_gets_a_sentence_and_no_picture(tmp_path, capsys):
    with closing(Made(tmp_path / "w.duckdb").connection):
        pass
    assert main(tmp_path / "w.duckdb", tmp_path / "answers.svg") == 2
    assert main(tmp_path / "none.duckdb", tmp_path / "answers.svg") == 2
    told = capsys.readouterr().err.splitlines()
    assert "holds no built study voder-bais" in told[0]
    assert "none.duckdb is not there" in told[1]
    assert not (tmp_path / "answers.svg").exists()
