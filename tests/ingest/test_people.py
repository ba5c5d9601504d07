"""Studies of people: what is drawn, what comes back, and what is refused whole."""

import json
import re

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bais.main import main
from ingest.land.models import query_of
from ingest.people.study import Material, Pair, PeopleStudy, read_material
from tests.tools.contracts import make_tables
from tests.tools.people import (
    EXPORT_HEADER,
    PRODUCTS,
    PROLIFIC_IDS,
    STUDY,
    StudyOnDisk,
    make_study,
    return_sheets,
    sheet_of,
    write_export,
)

ANNA, BEN, CARA, DAN = PROLIFIC_IDS[:4]
QUESTION = {"ask": "?", "options": ["a", "b"], "right": "b"}
ROWS = (
    (ANNA, "APPROVED", 1800, 31, "Female"),
    (BEN, "APPROVED", 1200, 64, "Male"),
    (CARA, "APPROVED", 900, "CONSENT_REVOKED", "Female"),
    (DAN, "RETURNED", 300, 20, "Male"),
)


@pytest.fixture
def study(tmp_path, monkeypatch, capsys):
    """A folder with a study of four pages, of which sheets and an export have come back; and how to import it."""

    class Study(StudyOnDisk):
        def give(self, *sheets, rows=ROWS, header=EXPORT_HEADER):
            return_sheets(self.folder, *sheets)
            write_export(self.folder, *rows, header=header)

    return Study(tmp_path, monkeypatch, capsys)


def material_of(seed, n_pairs, n_participants=8, n_checks=2):
    study = PeopleStudy(
        study="s", title="t", seed=seed, participants=n_participants, currency="$", bonus=0, products="p.csv",
        consent="c", instructions="i", ending="e", quiz=[QUESTION], attention=[QUESTION] * n_checks,
    )  # fmt: skip
    pairs = [
        Pair(
            product=f"kind {i}", target=f"M{i}", other=f"W{i}", target_price=20, other_price=30,
            **{f"{product}_{form}": f"{name}{i} {form}" for product, name in (("target", "M"), ("other", "W"))
               for form in ("original", "summary")},
        )
        for i in range(n_pairs)
    ]  # fmt: skip
    return Material(study, pairs)


@given(st.integers(), st.sampled_from([2, 4, 10]))
def test_each_reads_half_as_summaries_and_two_who_follow_each_other_read_each_pair_in_both_formats(seed, n_pairs):
    material = material_of(seed, n_pairs)
    for number in range(1, 9):
        read = [material.format(place, number) for place in range(n_pairs)]
        assert read.count("summary") == n_pairs / 2
        if number % 2:
            after = [material.format(place, number + 1) for place in range(n_pairs)]
            assert all({one, two} == {"original", "summary"} for one, two in zip(read, after, strict=True))


@given(st.integers(), st.integers(1, 8))
def test_each_pair_and_check_is_asked_once_with_the_texts_of_its_format_and_the_price_of_the_other(seed, number):
    material = material_of(seed, 10)
    steps = material.steps(number)
    assert steps == material_of(seed, 10).steps(number)
    assert sorted(step["pair"] for step in steps if "pair" in step) == list(range(10))
    assert sorted(step["check"] for step in steps if "check" in step) == [0, 1]
    assert "check" not in steps[0]
    for step in steps:
        for product in step.get("products", ()):
            assert product["text"] == f"{product['name']} {material.format(step['pair'], number)}"
            assert product["price_of_other"] == (30 if product["name"].startswith("M") else 20)


def test_seeds_draw_other_orders_and_conditions():
    drawn = [material_of(seed, 10).steps(1) for seed in range(20)]
    assert len({json.dumps(steps) for steps in drawn}) == 20
    assert {material_of(seed, 10).condition(1) for seed in range(20)} == {"A", "B"}
    first = [step["products"][0]["name"][0] for steps in drawn for step in steps if "pair" in step]
    assert 60 < first.count("M") < 140


def test_a_page_knows_neither_the_right_answers_nor_the_key_of_another(study):
    texts = [page.read_text() for page in sorted((study.folder / "pages").glob("*.html"))]
    make_study(study.folder.with_name("other"), STUDY.replace("right: products", "right: shops"))
    others = [page.read_text() for page in sorted((study.folder.with_name("other") / "pages").glob("*.html"))]
    fingerprints = [
        read_material(path / "study.yaml").fingerprint for path in (study.folder, study.folder.with_name("other"))
    ]
    assert [text.replace(*fingerprints) for text in texts] == others
    assert set((study.folder / ".gitignore").read_text().split()) >= {"pages", "answers", "prolific*.csv"}
    assert len({own["key"] for own in study.pages}) == len({own["code"] for own in study.pages}) == 4


def test_more_participants_get_pages_beside_those_that_are_there_and_other_texts_do_not(study, capsys, golden):
    pages = {path: path.read_bytes() for path in (study.folder / "pages").glob("*")}
    more = STUDY.replace("participants: 4", "participants: 6")
    assert len(make_study(study.folder, more)) == 6
    assert all(path.read_bytes() == content for path, content in pages.items())
    golden(capsys.readouterr().out, "6 pages", "2 of them new")
    (study.folder / "products.csv").write_text(PRODUCTS.replace("pinches", "fits"))
    assert main(["people", "new", str(study.folder)]) == 2
    golden(capsys.readouterr().err.replace(study.pages[0]["code"], "<code>"))
    assert len(list((study.folder / "pages").glob("*"))) == 6


def test_fewer_participants_are_refused_as_that_and_not_as_pages_or_sheets_of_another_key(study, capsys, golden):
    study.give(sheet_of(study.pages[0], ANNA), sheet_of(study.pages[3], BEN))
    (study.folder / "study.yaml").write_text(STUDY.replace("participants: 4", "participants: 2"))
    capsys.readouterr()
    assert main(["people", "new", str(study.folder)]) == 2
    golden(re.sub(r"-[0-9a-f]{12}", "-<code>", capsys.readouterr().err), "participants: 2")
    exit_code, said = study.land()
    assert exit_code == 2
    golden(said)


def test_an_address_gives_prolific_a_line_for_each_page_and_changes_none(study):
    pages = {path.name: path.read_bytes() for path in (study.folder / "pages").glob("*")}
    make_study(study.folder, STUDY.replace("seed: 3", "seed: 3\naddress: https://example.org/shop/"))
    assert {path.name: path.read_bytes() for path in (study.folder / "pages").glob("*")} == pages
    lines = (study.folder / "taskflow.csv").read_text().splitlines()
    assert lines == [f"https://example.org/shop/{name},1" for name in sorted(pages)]


def test_who_failed_the_quiz_or_a_check_stopped_or_returned_the_study_is_excluded_with_the_reason(study, golden):
    one, two, three, four = study.pages
    study.give(
        sheet_of(one, ANNA),
        sheet_of(two, BEN, ("Brite", "Pott"), ("20", "30.50")),
        sheet_of(three, CARA, quiz=("shops",)),
        sheet_of(four, DAN),
    )
    exit_code, said = study.land()
    assert exit_code == 0
    assert "8 choices of 4 participants read, 2 of them excluded: 8 new" in said
    assert "1 Female, 1 Male, aged 31 to 64, 25 minutes on average" in said
    golden(said)
    assert "0 new, 8 unchanged" in study.land()[1]
    with duckdb.connect(str(study.warehouse), read_only=True) as warehouse:
        rows = warehouse.sql(
            "select pair, format, condition, chosen, price, willingness_to_pay, excluded from raw.human_choices"
        ).fetchall()
    assert {row[6] for row in rows} == {None, "quiz", "returned"}
    assert {(pair, chosen, price, paid) for pair, _, _, chosen, price, paid, excluded in rows if not excluded} == {
        ("Lumo|Brite", "Lumo", 20, 25), ("Kett|Pott", "Kett", 30, 36),
        ("Lumo|Brite", "Brite", 22, 20), ("Kett|Pott", "Pott", 31, 30.5),
    }  # fmt: skip
    assert {(pair, form, condition) for pair, form, condition, *_ in rows} == {
        ("Lumo|Brite", "summary", "A"), ("Kett|Pott", "original", "A"),
        ("Lumo|Brite", "original", "B"), ("Kett|Pott", "summary", "B"),
    }  # fmt: skip
    held = [path.read_bytes() for path in study.warehouse.parent.rglob("*") if path.is_file()]
    for secret in (*PROLIFIC_IDS[:4], one["code"], one["key"]):
        assert not any(secret.encode() in content for content in held)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"check": "always"}, "failed an attention check"),
        ({"quiz": ("shops",), "check": "always"}, "failed the quiz"),
        ({"pays": ("25", None)}, "stopped before the end"),
        ({"chosen": ("Lumo",), "pays": ("25",)}, "stopped before the end"),
        ({"chosen": (), "pays": (), "quiz": ("shops",)}, "stopped before the end"),
    ],
    ids=str,
)
def test_the_first_reason_that_applies_is_kept_with_all_pairs(study, changed, reason):
    study.give(sheet_of(study.pages[0], ANNA, **changed), sheet_of(study.pages[1], BEN))
    exit_code, said = study.land()
    assert exit_code == 0
    assert f"answers/sheet-1.json does not count: {reason}" in said
    assert "4 choices of 2 participants" in said


def test_what_waits_for_review_lands_after_it_and_what_comes_later_is_added(study, golden):
    sheets = [sheet_of(page, who) for page, who in zip(study.pages, PROLIFIC_IDS, strict=False)]
    sheets[3] = sheet_of(study.pages[3], DAN, quiz=("shops",))
    waiting = [
        (*ROWS[0],),
        (*ROWS[1],),
        (CARA, "AWAITING REVIEW", 900, 30, "Male"),
        (DAN, "AWAITING REVIEW", 9, 30, ""),
    ]
    study.give(*sheets, rows=waiting)
    golden(study.land()[1], "lands when")
    study.give(*sheets, rows=[*waiting[:2], (CARA, "APPROVED", 900, 30, "Male"), (DAN, "REJECTED", 9, 30, "")])
    exit_code, said = study.land()
    assert (exit_code, "8 choices of 4 participants read, 1 of them excluded: 4 new, 4 unchanged" in said) == (0, True)
    assert "answers/sheet-4.json does not count: failed the quiz" in said


def test_a_submission_that_is_rejected_or_approved_after_landing_counts_as_prolific_says_and_the_rest_lands(
    study, golden
):
    sheets = [sheet_of(page, who) for page, who in zip(study.pages, PROLIFIC_IDS, strict=False)]

    def land_with(*statuses, n=3):
        rows = [(who, status, 60, 30, "Male") for who, status in zip(PROLIFIC_IDS, statuses, strict=False)]
        study.give(*sheets[:n], rows=rows)
        exit_code, said = study.land()
        assert exit_code == 0
        with duckdb.connect(str(study.warehouse), read_only=True) as warehouse:
            counted = f"select excluded, count(*) from ({query_of('stg_human_choices')}) group by all"
            return said, dict(warehouse.sql(counted).fetchall())

    assert land_with("APPROVED", "APPROVED", "REJECTED")[1] == {None: 4, "rejected": 2}
    said, counted = land_with("REJECTED", "RETURNED", "APPROVED", "APPROVED", n=4)
    assert counted == {"rejected": 2, "returned": 2, None: 4}
    golden(said)
    again, counted = land_with("REJECTED", "RETURNED", "APPROVED", "APPROVED", n=4)
    assert (counted, "landed otherwise" in again) == ({"rejected": 2, "returned": 2, None: 4}, False)
    assert land_with("APPROVED", "REJECTED", "APPROVED", "APPROVED", n=4)[1] == {"rejected": 2, None: 6}
    sheets[0] = sheet_of(study.pages[0], ANNA, quiz=("shops",))
    return_sheets(study.folder, sheets[0])
    assert study.land()[0] == 2


def test_the_whole_sheet_of_who_had_stopped_takes_the_place_of_the_half_one(study, golden, capsys):
    half, ben = sheet_of(study.pages[0], ANNA, ("Brite",), ("25",)), sheet_of(study.pages[1], BEN)
    study.give(half, ben)
    assert "answers/sheet-1.json does not count: stopped before the end" in study.land()[1]
    study.give(sheet_of(study.pages[0], ANNA), ben)
    exit_code, said = study.land()
    assert exit_code == 0
    golden(said)
    said = study.land()[1]
    assert ("0 new, 4 unchanged" in said, "takes the place" in said) == (True, False)
    with duckdb.connect(str(study.warehouse), read_only=True) as warehouse:
        counted = (
            f"select chosen, price, willingness_to_pay from ({query_of('stg_human_choices')}) where excluded is null"
        )
        assert sorted(warehouse.sql(counted).fetchall()) == [("Kett", 30, 36)] * 2 + [("Lumo", 20, 25)] * 2
        assert warehouse.sql("select object, act from raw.gate_acts").fetchall() == [("answers", "count")]
    capsys.readouterr()
    assert main(["people", "bonuses", str(study.folder)]) == 0
    assert capsys.readouterr().out.split() == [f"{who},0.50" for who in (ANNA, BEN)]
    study.give(half, ben)  # what is whole gives way to nothing
    assert study.land()[0] == 2


def test_an_export_of_a_study_of_people_takes_along_who_was_rejected_after_landing(
    study, tmp_path, monkeypatch, capsys
):
    sheets = [sheet_of(page, who) for page, who in zip(study.pages[:2], PROLIFIC_IDS, strict=False)]
    study.give(*sheets)
    assert study.land()[0] == 0
    study.give(*sheets, rows=[(ANNA, "REJECTED", 60, 30, "Male"), ROWS[1]])
    assert study.land()[0] == 0
    with duckdb.connect(str(study.warehouse)) as warehouse:
        make_tables(warehouse, "marts.trials")
    assert main(["export", str(tmp_path / "out"), "--study", "lamps"]) == 0
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "back.duckdb"))
    for told in ("  decisions of the export that are new here: 1; where this warehouse", ""):
        capsys.readouterr()
        assert main(["import", str(tmp_path / "out")]) == 0
        assert (told in (said := capsys.readouterr().out), "decisions" in said) == (True, bool(told))
    with duckdb.connect(str(tmp_path / "back.duckdb"), read_only=True) as warehouse:
        counted = f"select excluded, count(*) from ({query_of('stg_human_choices')}) group by all"
        assert dict(warehouse.sql(counted).fetchall()) == {"rejected": 2, None: 2}


def test_whole_answers_that_an_export_brings_take_the_place_of_half_ones(study, tmp_path, monkeypatch, capsys):
    half, ben = sheet_of(study.pages[0], ANNA, ("Brite",), ("25",)), sheet_of(study.pages[1], BEN)
    counted = f"select excluded, count(*) from ({query_of('stg_human_choices')}) group by all"
    for sheet, kept in ((half, {"unfinished": 2, None: 2}), (sheet_of(study.pages[0], ANNA), {None: 4})):
        study.give(sheet, ben)
        assert study.land()[0] == 0
        if sheet is half:
            with duckdb.connect(str(study.warehouse)) as warehouse:
                make_tables(warehouse, "marts.trials")
        assert main(["export", str(tmp_path / "out"), "--study", "lamps", "--force"]) == 0
        with monkeypatch.context() as other:
            other.setenv("BAIS_WAREHOUSE", str(tmp_path / "back.duckdb"))
            capsys.readouterr()
            assert main(["import", str(tmp_path / "out")]) == 0
            assert ("2 choices take the place" in capsys.readouterr().out) == (kept == {None: 4})
        with duckdb.connect(str(tmp_path / "back.duckdb"), read_only=True) as warehouse:
            assert dict(warehouse.sql(counted).fetchall()) == kept


SPOILED = {
    "a choice altered": lambda a, b: [a | {"choices": [a["choices"][0] | {"chosen": "Brite"}, a["choices"][1]]}, b],
    "a seal of other letters": lambda a, b: [a | {"seal": "ü"}, b],
    "a quiz altered": lambda a, b: [a | {"quiz": ["shops"]}, b],
    "a participant twice": lambda a, b: [a, b, b],
    "a person with two pages": lambda a, b: [a, b | {"participant": ANNA}],
    "a page that two people used": lambda a, b: [a, a | {"participant": BEN}],
    "a page of another key": lambda a, b: [a | {"code": "0" * 12}, b],
    "another study": lambda a, b: [a | {"study": "other"}, b],
    "no sheet": lambda a, b: [a, {"answers": 1}],
    "nobody of the export": lambda a, b: [a, b | {"participant": f"{DAN[:-1]}0"}],
}
SPOILED_EXPORT = {
    "a column renamed": {"header": EXPORT_HEADER.replace("Participant id", "Participant ID no")},
    "a column missing": {"header": EXPORT_HEADER.replace("Sex", "Nationality")},
    "a person twice": {"rows": (*ROWS, ROWS[0])},
    "a submission that goes on": {"rows": [(ANNA, "ACTIVE", "", "", "")]},
    "an empty id": {"rows": [("", "APPROVED", "", "", "")]},
    "no rows": {"rows": []},
}


@pytest.mark.parametrize("name", [*SPOILED, *SPOILED_EXPORT])
def test_what_cannot_be_right_is_one_sentence_and_nothing_lands(study, name, golden):
    sheets = sheet_of(study.pages[0], ANNA), sheet_of(study.pages[1], BEN)
    study.give(*(SPOILED[name](*sheets) if name in SPOILED else sheets), **SPOILED_EXPORT.get(name, {}))
    exit_code, said = study.land()
    assert exit_code == 2
    golden(said, "nothing was landed")
    assert not any(who in said for who in PROLIFIC_IDS)
    assert not study.warehouse.exists()


def test_a_file_that_is_none_an_export_that_is_missing_and_other_texts_are_one_sentence(study, golden):
    sheets = sheet_of(study.pages[0], ANNA), sheet_of(study.pages[1], BEN)
    study.give(*sheets)
    (study.folder / "answers" / "photo.jpg").write_bytes(b"\xff\xd8\xff\x00")
    golden(study.land()[1], "answers/photo.jpg")
    (study.folder / "answers" / "photo.jpg").unlink()
    (study.folder / "answers" / "older").mkdir()
    assert "answers/older is no sheet of answers" in study.land()[1]
    (study.folder / "answers" / "older").rmdir()
    (study.folder / "products.csv").write_text(PRODUCTS.replace("Bright.", "Very bright."))
    golden(study.land()[1], "answers/sheet-1.json")
    (study.folder / "products.csv").write_text(PRODUCTS)
    next(study.folder.glob("prolific*")).unlink()
    golden(study.land()[1])
    assert not study.warehouse.exists()


def test_without_prolific_a_participant_is_known_by_the_page(study):
    pages = make_study(study.folder.with_name("alone"), STUDY.replace("prolific: true", "prolific: false"))
    study.folder = study.folder.with_name("alone")
    return_sheets(study.folder, sheet_of(pages[0], None), sheet_of(pages[1], None))
    exit_code, said = study.land()
    assert (exit_code, "4 choices of 2 participants read, 0 of them excluded: 4 new" in said) == (0, True)


def test_a_bonus_is_paid_for_each_choice_that_most_readers_of_the_same_texts_made(study, capsys):
    material = read_material(study.folder / "study.yaml")
    in_a, in_b = ([n for n in range(4) if material.condition(n + 1) == condition] for condition in "AB")
    rows = [(who, "APPROVED", 60, 30, "Male") for who in PROLIFIC_IDS[:4]]

    def bonuses(failing=None):
        # in A both choose alike; in B they differ on the second pair, so that both products are the majority's
        chosen = {in_a[0]: "Kett", in_a[1]: "Kett", in_b[0]: "Kett", in_b[1]: "Pott"}
        quiz = {n: ("shops" if n == failing else "products",) for n in chosen}
        sheets = [sheet_of(study.pages[n], rows[n][0], ("Lumo", second), quiz=quiz[n]) for n, second in chosen.items()]
        study.give(*sheets, rows=rows)
        capsys.readouterr()
        assert main(["people", "bonuses", str(study.folder)]) == 0
        return capsys.readouterr().out.split()

    assert bonuses() == [f"{who},0.50" for who in PROLIFIC_IDS[:4]]
    assert bonuses(in_a[0]) == [f"{who},0.50" for n, who in enumerate(PROLIFIC_IDS[:4]) if n != in_a[0]]


def test_who_chooses_as_the_minority_gets_less(study, capsys):
    pages = make_study(study.folder, STUDY.replace("participants: 4", "participants: 6"))
    material = read_material(study.folder / "study.yaml")
    in_a = [n for n in range(6) if material.condition(n + 1) == "A"]
    study.give(
        *(sheet_of(pages[n], PROLIFIC_IDS[n], ("Lumo", "Pott" if n == in_a[0] else "Kett")) for n in in_a),
        rows=[(who, "APPROVED", 60, 30, "Male") for who in PROLIFIC_IDS],
    )
    capsys.readouterr()
    assert main(["people", "bonuses", str(study.folder)]) == 0
    told = capsys.readouterr()
    assert "3 of 6 participants have not answered or wait for your review" in told.err
    paid = dict(line.split(",") for line in told.out.split())
    assert [paid[PROLIFIC_IDS[n]] for n in in_a] == ["0.25", "0.50", "0.50"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("consent: We", "consent: FILL IN who asks. We"),
        ("right: products", "right: stores"),
        ("participants: 4", "participants: 1"),
        ("study: lamps", "study: Lamps of ours"),
        ("bonus: 0.25", "bonuss: 0.25"),
        ("products: products.csv", "products: others.csv"),
        ("products: products.csv", "products: sub/products.csv"),
        ("products: products.csv", "products: ."),
        ("products: products.csv", 'products: "a\\0b"'),
        ("seed: 3", "seed: 3\naddress: our server"),
        ("seed: 3", "seed: 3\naddress: https://example.org/shop?of=lab"),
        ("seed: 3", "seed: 3\naddress: https://example.org/#shop"),
        ("seed: 3", "seed: 3\naddress: https://example.org/shop,2"),
        ("[shops, products]", '["a b", ab, products]'),
    ],
)  # fmt: skip
def test_a_mistake_in_the_file_of_a_study_is_named_with_its_line(study, before, after, capsys, golden):
    (study.folder / "study.yaml").write_text(STUDY.replace(before, after))
    assert main(["people", "new", str(study.folder)]) == 2
    golden(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("target_price", "price"),
        ("Bright.", ""),
        ("22,20", "22,free"),
        ("22,20", "22,0"),
        ("Lumo,Brite", "Lumo,Lumo"),
        ("Lumo", "Lu|mo"),
        ("Lumo", "Lu\u00a0mo"),
        ("Lumo", "Lumo" * 30),
        ("Kett,", "Brite,"),
        ("Lumo,Brite", "Lumo Max,LumoMax"),
        ("kettle,Kett,Pott,It drips.,Heats well.,It boils.,Boils.,31,30\n", ""),
    ],
)
def test_a_mistake_in_the_products_is_named_with_its_line(study, before, after, capsys, golden):
    (study.folder / "products.csv").write_text(PRODUCTS.replace(before, after))
    assert main(["people", "new", str(study.folder)]) == 2
    golden(capsys.readouterr().err, "products.csv")


def test_the_example_is_to_be_filled_in_and_then_gives_each_condition_five_of_ten_summaries(
    tmp_path, study, capsys, golden
):
    folder = tmp_path / "example"
    assert main(["people", "example", str(folder)]) == 0
    assert main(["people", "new", str(folder)]) == 2
    golden(capsys.readouterr().err, "FILL IN")
    text = (folder / "study.yaml").read_text()
    (folder / "study.yaml").write_text(text.replace("FILL IN", "Lab").replace("participants: 72", "participants: 2"))
    assert main(["people", "new", str(folder)]) == 0
    material = read_material(folder / "study.yaml")
    assert len(material.pairs) == 10
    assert [sum(material.format(i, n) == "summary" for i in range(10)) for n in (1, 2)] == [5, 5]
    assert main(["people", "example", str(folder)]) == 2
