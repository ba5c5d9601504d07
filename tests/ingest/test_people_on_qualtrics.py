"""A study of people as Qualtrics imports it, and its export of responses read back: what lands and what is refused."""

import duckdb
import pytest

from ingest.people.study import read_material
from tests.tools.people import (
    PRODUCTS,
    PROLIFIC_IDS,
    STUDY,
    StudyOnDisk,
    layout_of,
    make_study,
    response_to,
    return_sheets,
    sheet_of,
    write_export,
    write_responses,
)

ANNA, BEN, CARA, DAN = PROLIFIC_IDS[:4]
CHOICES = (
    "select participant, pair, format, condition, chosen, price, willingness_to_pay, excluded from raw.human_choices"
)


@pytest.fixture
def study(tmp_path, monkeypatch, capsys):
    """A folder with a study and its layout; how to give what came back of Qualtrics, and how to import it."""

    class Study(StudyOnDisk):
        def __init__(self):
            super().__init__(tmp_path, monkeypatch, capsys)
            self.asked = layout_of(self.folder)

        def give(self, *rows, **how):
            write_responses(self.folder, self.asked, *rows, **how)
            write_export(self.folder, *((who, "APPROVED", 60, 30, "Male") for who in PROLIFIC_IDS[:4]))

        def response(self, condition, who, **how):
            return response_to(self.asked, condition, who, **how)

    return Study()


def landed(path):
    with duckdb.connect(str(path), read_only=True) as warehouse:
        return warehouse.sql(f"{CHOICES} order by all").fetchall()


def test_the_layout_is_the_golden_one(study, golden):
    golden((study.folder / "qualtrics.txt").read_text(encoding="utf-8"))


def test_a_block_for_each_condition_asks_each_pair_in_the_format_of_its_condition(study):
    material = read_material(study.folder / "study.yaml")
    assert [name for name in study.asked if name[1] != "_"] == ["consent", "quiz_1"]
    for number in (1, 2):
        condition = material.condition(number)
        for place, pair in enumerate(material.pairs):
            text, choices = study.asked[f"{condition}_pair_{place + 1}"]
            assert set(choices) == {pair.target, pair.other}
            form, other = sorted(["summary", "original"], key=lambda form: form != material.format(place, number))
            assert getattr(pair, f"target_{form}") in text
            assert getattr(pair, f"target_{other}") not in text
            paid = study.asked[f"{condition}_pays_{place + 1}"][0]
            assert f"If you chose {pair.target}: {pair.other} costs ${pair.other_price:.2f}." in paid
            assert f"If you chose {pair.other}: {pair.target} costs ${pair.target_price:.2f}." in paid


def test_what_looks_like_a_command_of_qualtrics_is_text_there_and_meets_its_export_again(study):
    odd = "[[PageBreak]] & <b>${q://QID1}</b> costs $3"
    make_study(
        study.folder.with_name("odd"),
        STUDY.replace("consent: We", f"consent: '{odd}. We").replace("choose.\ni", "choose.'\ni"),
    )
    study.folder = study.folder.with_name("odd")
    study.asked = layout_of(study.folder)
    text = (study.folder / "qualtrics.txt").read_text(encoding="utf-8")
    assert "${" not in text
    assert text.count("[[PageBreak]]") == text.count("\n[[PageBreak]]\n")
    assert odd in study.asked["consent"][0]
    on_lines = {
        "consent": study.asked["consent"][0].replace(" ", "\n\u00a0")
    }  # blanks are what an export makes of them
    study.give(study.response("A", ANNA), study.response("B", BEN), texts=on_lines)
    assert "4 new" in study.land()[1]


def test_responses_land_as_sheets_do_and_say_of_nobody_who_it_is(study, golden):
    rows = [
        study.response("A", ANNA),
        study.response("B", BEN, B_pays_1=" $30.50 ", B_pair_1="Brite"),
        study.response("A", CARA, quiz_1="shops"),
        study.response("B", DAN, finished="False", B_pays_1=" $ ", B_pays_2="  "),
        study.response("A", "", status="Survey Preview"),
        study.response("", "", finished="False"),
        study.response("", "", finished="False", consent="", quiz_1=""),
    ]
    study.give(*rows)
    exit_code, said = study.land()
    assert exit_code == 0
    golden(said)
    assert "0 new, 8 unchanged" in study.land()[1]
    of_people = {row[0] for row in landed(study.warehouse)}
    by_person = [{row[1:] for row in landed(study.warehouse) if row[0] == who} for who in of_people]
    material = read_material(study.folder / "study.yaml")
    number = {material.condition(number): number for number in (1, 2)}
    formats = {(c, place): material.format(place, number[c]) for c in "AB" for place in (0, 1)}
    first = study.asked["A_pair_2"][1][0]
    assert {("Lumo|Brite", formats["B", 0], "B", "Brite", 22, 30.5, None)} <= next(
        of for of in by_person if any(row[4] == 22 and row[5] == 30.5 for row in of)
    )
    assert any(
        ("Kett|Pott", formats["A", 1], "A", first, 30 if first == "Kett" else 31, 25, None) in of for of in by_person
    )
    held = [path.read_bytes() for path in study.warehouse.parent.rglob("*") if path.is_file()]
    for secret in (*PROLIFIC_IDS[:4], "ada@example", "192.0.2.7", "R_aaa"):
        assert not any(secret.encode() in content for content in held)


def test_a_participant_has_the_same_name_as_on_a_sheet(study, tmp_path, monkeypatch):
    material = read_material(study.folder / "study.yaml")
    number = 1 if material.condition(1) == "A" else 2
    chosen = tuple(study.asked[f"A_pair_{place}"][1][0] for place in (1, 2))
    return_sheets(study.folder, sheet_of(study.pages[number - 1], ANNA, chosen, ("25", "25")),
                  sheet_of(study.pages[2 - number], BEN))  # fmt: skip
    write_export(study.folder, *((who, "APPROVED", 60, 30, "Male") for who in PROLIFIC_IDS[:4]))
    assert study.land()[0] == 0
    by_sheets = landed(study.warehouse)
    for sheet in (study.folder / "answers").glob("*.json"):
        sheet.unlink()
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "data" / "other.duckdb"))
    study.give(study.response("A", ANNA), study.response("B", BEN))
    assert study.land()[0] == 0
    by_qualtrics = landed(tmp_path / "data" / "other.duckdb")
    assert [row for row in by_sheets if row[3] == "A"] == [row for row in by_qualtrics if row[3] == "A"] != []


def test_without_prolific_a_participant_is_the_response(study):
    make_study(study.folder.with_name("alone"), STUDY.replace("prolific: true", "prolific: false"))
    study.folder = study.folder.with_name("alone")
    study.asked = layout_of(study.folder)
    assert "PROLIFIC_PID" not in (study.folder / "qualtrics.txt").read_text()
    write_responses(
        study.folder, study.asked, *(study.response(condition, condition, PROLIFIC_PID="") for condition in "AB")
    )
    assert "4 choices of 2 participants read, 0 of them excluded: 4 new" in study.land()[1]


def test_who_came_by_prolific_does_not_land_a_second_time_as_a_response(study, golden):
    study.give(study.response("A", ANNA), study.response("B", BEN))
    assert study.land()[0] == 0
    (study.folder / "study.yaml").write_text(STUDY.replace("prolific: true", "prolific: false"))
    exit_code, said = study.land()
    assert (exit_code, len(landed(study.warehouse))) == (2, 4)
    golden(said)


@pytest.mark.parametrize("payment", ["25.5", "$25.50", "$ 25.50", "25.50 $", "25.50$", "025.5"])
def test_a_payment_is_read_with_the_currency_on_either_side(study, payment):
    study.give(study.response("A", ANNA, A_pays_1=payment), study.response("B", BEN))
    assert study.land()[0] == 0
    assert [row[6] for row in landed(study.warehouse)].count(25.5) == 1


SPOILED = {
    "a column renamed": {"rename": {"A_pair_1": "A_pair_one"}},
    "no column of Prolific": {"rename": {"PROLIFIC_PID": "PID"}},
    "an edited consent": {"texts": {"consent": "We ask you to choose, and keep your name."}},
    "an edited text": {"texts": {"B_pair_1": "Which headlamp?"}},
    "a participant twice": {"more": [("B", ANNA, {})]},
    "both conditions": {"more": [("A", CARA, {"B_pair_1": "Lumo"})]},
    "a participant without an id": {"more": [("B", "", {})]},
    "nobody of Prolific's export": {"more": [("B", f"{DAN[:-1]}0", {})]},
    "numbers in the place of text": {"more": [("B", CARA, {"finished": "1", "status": "0"})]},
    "a number in the place of a choice": {"more": [("B", CARA, {"B_pair_1": "2"})]},
    "a payment that is none": {"more": [("B", CARA, {"B_pays_1": "much"})]},
    "a payment with a comma": {"more": [("B", CARA, {"B_pays_1": "25,50"})]},
    "a payment below 0": {"more": [("B", CARA, {"B_pays_1": "-5"})]},
}


@pytest.mark.parametrize("name", SPOILED)
def test_what_cannot_be_right_is_one_sentence_and_nothing_lands(study, name, golden):
    how = dict(SPOILED[name])
    more = [study.response(condition, who, **said) for condition, who, said in how.pop("more", ())]
    study.give(study.response("A", ANNA), study.response("B", BEN), *more, **how)
    exit_code, said = study.land()
    assert exit_code == 2
    golden(said, "nothing was landed")
    assert not any(who in said for who in PROLIFIC_IDS)
    assert not study.warehouse.exists()


def test_an_export_without_its_three_lines_one_without_responses_and_one_beside_sheets_are_refused(study, golden):
    study.give(study.response("A", ANNA), study.response("B", BEN))
    (path,) = (study.folder / "answers").glob("*.csv")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:1] + lines[3:]), encoding="utf-8")
    golden(study.land()[1], "answers/")
    study.give()
    golden(study.land()[1], "answers/")
    return_sheets(study.folder, sheet_of(study.pages[0], ANNA))
    golden(study.land()[1].replace(str(study.folder), "lamps"))
    (study.folder / "products.csv").write_text(PRODUCTS.replace("31,30", "29,30"))
    (study.folder / "answers" / "sheet-1.json").unlink()
    study.give(study.response("A", ANNA), study.response("B", BEN))
    golden(study.land()[1], "answers/")
    assert not study.warehouse.exists()
