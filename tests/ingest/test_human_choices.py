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


def test_a_second_import_brings_nothing_and_no_file_of_the_warehouse_says_who_took_part(land, golden):
    with_age = [f"{row},41" for row in ROWS]
    exit_code, said = land(*with_age, header=f"{HEADER},age")
    assert exit_code == 0
    golden(said, "4 choices", "2 participants", "4 new")
    golden(said)
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
    ("before", "after"),
    [
        (ROWS[1], ROWS[0].replace("Lumo|Brite", "Brite|Lumo")),
        (ROWS[1], ROWS[0]),
        ("A,Kett,Pott", "A,Kett,Both"),
        ("Pott,30,30", "Pott,0,30"),
        ("Pott,30,30", "Pott,30,-1"),
        ("Pott,30,30", "Pott,nan,30"),
        ("kettle,original", "kettle,spoken"),
        ("original,A", "original,B"),
        ("Pott,30,30", "Pott,1_000,30"),
    ],
    ids=str,
)
def test_a_bad_row_is_named_with_its_line_and_nothing_lands(land, before, after, golden):
    exit_code, said = land(ROWS[0], ROWS[1].replace(before, after), *ROWS[2:])
    assert exit_code == 2
    assert "human-choices.csv:3: " in said
    golden(said)
    assert "nothing was landed" in said
    assert "anna" not in said
    assert not (land.folder / "data").exists()


def test_a_product_of_one_format_and_a_missing_column_are_refused_with_file_and_line(land, golden):
    golden(land(*ROWS[:2])[1], "human-choices.csv:2:")
    header = HEADER.replace("price", "cost")
    assert land(*ROWS, header=header) == (
        2, "bais: human-choices.csv:1: there is no column price; nothing was landed\n",
    )  # fmt: skip


def test_a_choice_that_was_another_before_is_refused_and_the_first_one_stays(land, golden):
    land(*ROWS)
    before = landed(land.folder)
    exit_code, said = land(ROWS[0].replace("20,25", "20,26"), *ROWS[1:])
    assert exit_code == 2
    golden(said, "willingness_to_pay")
    assert landed(land.folder) == before


@pytest.mark.parametrize(
    "line",
    [
        '{"participant": {"name": "anna"}}',
        '{"participant": 1.0}',
        '{"participant": "an\\ud800na"}',
        '{"participant": "an\\u0000na"}',
        "[" * 100_000,
    ],
    ids=["a mapping", "a fraction", "half a character", "NUL", "no JSON"],
)
def test_a_line_of_json_that_is_no_choice_is_named(land, line, golden):
    lines = [json.dumps(dict(zip(HEADER.split(","), row.split(","), strict=True))) for row in ROWS]
    exit_code, said = land(*lines, line, header=None, name="human-choices.jsonl")
    assert exit_code == 2
    golden(said)
    assert not (land.folder / "data").exists()


def test_an_address_in_place_of_a_condition_is_refused(land):
    lines = [
        dict(zip(HEADER.split(","), row.split(","), strict=True)) | {"condition": "ada@example.org"} for row in ROWS
    ]
    exit_code, said = land(*map(json.dumps, lines), header=None, name="human-choices.jsonl")
    assert (exit_code, "condition holds an @" in said) == (2, True)
    assert not (land.folder / "data").exists()


def test_a_key_that_is_gone_is_asked_for_and_no_new_one_is_made(land, golden):
    land(*ROWS)
    before, key = landed(land.folder), land.folder / "secret" / "key"
    held = key.read_text()
    key.unlink()
    exit_code, said = land(*ROWS)
    assert exit_code == 2
    golden(said)
    assert not key.exists()
    assert landed(land.folder) == before
    key.write_text(held)
    key.chmod(0o600)
    assert "0 new, 4 unchanged" in land(*ROWS)[1]


def test_another_key_is_noticed_and_the_same_people_do_not_count_twice(land, monkeypatch, golden):
    land(*ROWS)
    before = landed(land.folder)
    monkeypatch.setenv("BAIS_PARTICIPANT_KEY", "another key of more than 32 characters")
    exit_code, said = land(*ROWS)
    assert exit_code == 2
    golden(said)
    assert landed(land.folder) == before


def test_a_key_that_is_no_text_or_no_file_is_one_sentence(land, monkeypatch, golden):
    monkeypatch.setenv("BAIS_PARTICIPANT_KEY_FILE", str(land.folder))
    assert "is no file" in land(*ROWS)[1]
    monkeypatch.setenv("BAIS_PARTICIPANT_KEY", "\udcff" * 40)
    golden(land(*ROWS)[1], "UTF-8")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Lumo|Brite", "Brite|Lumo"),
        ("headlamp", "torch"),
    ],
)
def test_a_new_person_of_whom_the_pair_is_another_than_that_of_the_study_is_refused(land, before, after, golden):
    land(*ROWS)
    there = landed(land.folder)
    others = [f"x{row}".replace(before, after) for row in ROWS]
    exit_code, said = land(*others)
    assert exit_code == 2
    golden(said)
    assert landed(land.folder) == there


def test_a_person_who_was_in_another_condition_in_an_earlier_file_is_refused(land, golden):
    land(*ROWS)
    exit_code, said = land(*(row.replace("Lumo|Brite", "Nova|Stella").replace("Lumo", "Nova").replace("Brite", "Stella")
                             .replace("Kett|Pott", "Mill|Moll").replace("Kett", "Mill").replace("Pott", "Moll")
                             .replace(",A,", ",C,") for row in ROWS))  # fmt: skip
    assert exit_code == 2
    golden(said)


def test_a_key_that_everybody_can_read_is_refused(land):
    land(*ROWS)
    (land.folder / "secret" / "key").chmod(0o604)
    assert "`chmod 600` it" in land(*ROWS)[1]


def test_a_short_key_is_refused(land, monkeypatch, golden):
    monkeypatch.setenv("BAIS_PARTICIPANT_KEY", "short")
    golden(land(*ROWS)[1])
