"""Choices of people: what lands, what is refused whole, and that nothing says who they were."""

import json
import stat

import pytest

from ingest.run import main

HEADER = "participant,pair,product,format,condition,target,chosen,price,willingness_to_pay,excluded"
ROWS = (
    "anna@example.org,Lumo|Brite,headlamp,summary,A,Lumo,Lumo,20,25,",
    "anna@example.org,Kett|Pott,kettle,original,A,Kett,Pott,30,30,",
    "ben@example.org,Lumo|Brite,headlamp,original,B,Lumo,Brite,20,18,quiz",
    "ben@example.org,Kett|Pott,kettle,summary,B,Kett,Kett,30,36,quiz",
)


@pytest.fixture
def land(tmp_path, monkeypatch, capsys):
    """Import lines of CSV, and return the exit code and what was said."""
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "data" / "w.duckdb"))
    monkeypatch.setenv("BAIS_PARTICIPANT_KEY_FILE", str(tmp_path / "secret" / "key"))
    monkeypatch.delenv("BAIS_PARTICIPANT_KEY", raising=False)

    def run(*rows, header=HEADER, name="human-choices.csv"):
        path = tmp_path / name
        path.write_text("\n".join([header, *rows] if header else rows) + "\n", encoding="utf-8")
        exit_code = main(["--archive", str(path), "--format", "human-choices", "--study", "lamps"])
        said = capsys.readouterr()
        return exit_code, said.out + said.err

    run.folder = tmp_path
    return run


def landed(folder):
    import duckdb

    with duckdb.connect(str(folder / "data" / "w.duckdb"), read_only=True) as warehouse:
        return warehouse.execute("select * exclude (_dlt_load_id) from raw.human_choices order by all").fetchall()


def test_a_second_import_brings_nothing_and_no_file_of_the_warehouse_says_who_took_part(land):
    with_age = [f"{row},41" for row in ROWS]
    exit_code, said = land(*with_age, header=f"{HEADER},age")
    assert exit_code == 0
    assert "4 choices of 2 participants read, 1 of them excluded: 4 new, 0 unchanged" in said
    assert "nothing else about a person is kept: age" in said
    assert "0 new, 4 unchanged" in land(*ROWS)[1]
    rows = landed(land.folder)
    assert [row[-2] for row in rows].count("quiz") == 2
    assert len({row[1] for row in rows}) == 2
    key = land.folder / "secret" / "key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    secrets = (b"anna@", b"ben@example", key.read_bytes().strip())
    held = [path.read_bytes() for path in (land.folder / "data").rglob("*") if path.is_file()]
    assert not [secret for secret in secrets for content in held if secret in content]


def test_jsonl_lands_as_csv_does(land):
    lines = [json.dumps(dict(zip(HEADER.split(","), row.split(","), strict=True))) for row in ROWS]
    assert land(*lines, header=None, name="human-choices.jsonl")[0] == 0
    assert "0 new, 4 unchanged" in land(*ROWS)[1]


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (ROWS[1], ROWS[0].replace("Lumo|Brite", "Brite|Lumo"), "Brite|Lumo was Lumo|Brite before: write it the same"),
        (ROWS[1], ROWS[0], "this participant has chosen of the pair Lumo|Brite on line 2 already"),
        ("A,Kett,Pott", "A,Kett,Both", "chosen is Both, which is neither product"),
        ("Pott,30,30", "Pott,0,30", "price is 0, and should be above 0"),
        ("Pott,30,30", "Pott,30,-1", "willingness_to_pay is -1"),
        ("Pott,30,30", "Pott,nan,30", "price is nan, which is no number"),
        ("kettle,original", "kettle,spoken", "format is spoken"),
        ("original,A", "original,B", "in another condition"),
        ("Pott,30,30", "Pott,1_000,30", "price is 1_000, which is no number"),
    ],
)
def test_a_bad_row_is_named_with_its_line_and_nothing_lands(land, before, after, sentence):
    exit_code, said = land(ROWS[0], ROWS[1].replace(before, after), *ROWS[2:])
    assert exit_code == 2
    assert "human-choices.csv:3: " in said
    assert sentence in said
    assert "nothing was landed" in said
    assert "anna" not in said
    assert not (land.folder / "data").exists()


def test_a_product_of_one_format_and_a_missing_column_are_refused_with_file_and_line(land):
    assert "human-choices.csv:2: the product headlamp was read as summary alone" in land(*ROWS[:2])[1]
    header = HEADER.replace("price", "cost")
    assert land(*ROWS, header=header) == (
        2, "bais: human-choices.csv:1: there is no column price; nothing was landed\n",
    )  # fmt: skip


def test_a_choice_that_was_another_before_is_refused_and_the_first_one_stays(land):
    land(*ROWS)
    before = landed(land.folder)
    exit_code, said = land(ROWS[0].replace("20,25", "20,26"), *ROWS[1:])
    assert exit_code == 2
    assert "willingness_to_pay of this choice was another" in said
    assert landed(land.folder) == before


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"participant": {"name": "anna"}}', "human-choices.jsonl:5: participant should be a text or a number"),
        ('{"participant": 1.0}', "human-choices.jsonl:5: participant should be a text or a whole number"),
        ('{"participant": "an\\ud800na"}', "human-choices.jsonl:5: participant holds a character that is none"),
        ('{"participant": "an\\u0000na"}', "human-choices.jsonl:5: participant holds a character that is none: NUL"),
        ("[" * 100_000, "human-choices.jsonl:5: this line is no JSON"),
    ],
)
def test_a_line_of_json_that_is_no_choice_is_named(land, line, sentence):
    lines = [json.dumps(dict(zip(HEADER.split(","), row.split(","), strict=True))) for row in ROWS]
    exit_code, said = land(*lines, line, header=None, name="human-choices.jsonl")
    assert exit_code == 2
    assert sentence in said
    assert not (land.folder / "data").exists()


def test_a_key_that_is_gone_is_asked_for_and_no_new_one_is_made(land):
    land(*ROWS)
    before, key = landed(land.folder), land.folder / "secret" / "key"
    held = key.read_text()
    key.unlink()
    exit_code, said = land(*ROWS)
    assert exit_code == 2
    assert "the same people would count twice: put it back" in said
    assert not key.exists()
    assert landed(land.folder) == before
    key.write_text(held)
    key.chmod(0o600)
    assert "0 new, 4 unchanged" in land(*ROWS)[1]


def test_another_key_is_noticed_and_the_same_people_do_not_count_twice(land, monkeypatch):
    land(*ROWS)
    before = landed(land.folder)
    monkeypatch.setenv("BAIS_PARTICIPANT_KEY", "another key of more than 32 characters")
    exit_code, said = land(*ROWS)
    assert exit_code == 2
    assert "imported before with another key" in said
    assert landed(land.folder) == before


def test_a_key_that_is_no_text_or_no_file_is_one_sentence(land, monkeypatch):
    monkeypatch.setenv("BAIS_PARTICIPANT_KEY_FILE", str(land.folder))
    assert "is no file" in land(*ROWS)[1]
    monkeypatch.setenv("BAIS_PARTICIPANT_KEY", "\udcff" * 40)
    assert "is not UTF-8 text" in land(*ROWS)[1]


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("Lumo|Brite", "Brite|Lumo", "has the pair Lumo|Brite with the product headlamp and the target Lumo"),
        ("headlamp", "torch", "with the product headlamp and the target Lumo, and here it is another"),
    ],
)
def test_a_new_person_of_whom_the_pair_is_another_than_that_of_the_study_is_refused(land, before, after, sentence):
    land(*ROWS)
    there = landed(land.folder)
    others = [f"x{row}".replace(before, after) for row in ROWS]
    exit_code, said = land(*others)
    assert exit_code == 2
    assert sentence in said
    assert landed(land.folder) == there


def test_a_person_who_was_in_another_condition_in_an_earlier_file_is_refused(land):
    land(*ROWS)
    exit_code, said = land(*(row.replace("Lumo|Brite", "Nova|Stella").replace("Lumo", "Nova").replace("Brite", "Stella")
                             .replace("Kett|Pott", "Mill|Moll").replace("Kett", "Mill").replace("Pott", "Moll")
                             .replace(",A,", ",C,") for row in ROWS))  # fmt: skip
    assert exit_code == 2
    assert "in another condition when study" in said


def test_a_key_that_everybody_can_read_is_refused(land):
    land(*ROWS)
    (land.folder / "secret" / "key").chmod(0o604)
    assert "`chmod 600` it" in land(*ROWS)[1]


def test_a_short_key_is_refused(land, monkeypatch):
    monkeypatch.setenv("BAIS_PARTICIPANT_KEY", "short")
    assert "a short key can be guessed" in land(*ROWS)[1]
