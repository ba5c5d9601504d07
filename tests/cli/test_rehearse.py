"""`bais rehearse`: errors are planted into a copy, and the table says what the gate makes of each."""

import hashlib
import json

import pytest

from bais.main import main
from ingest.rehearsal import ERRORS, _with_number
from tests.tools.small_archive import lines_of, write_archive

pytestmark = pytest.mark.slow("errors planted and audited, one after the other")


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return write_archive(tmp_path_factory.mktemp("archives") / "small", lines_of())


@pytest.fixture
def warehouse(tmp_path, monkeypatch):
    """The path of a warehouse that does not exist."""
    path = tmp_path / "warehouse.duckdb"
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    return path


def rehearsed(capsys, *arguments):
    assert main(["rehearse", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def digests(folder):
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_every_error_is_planted_and_neither_warehouse_nor_archive_change(archive, warehouse, capsys):
    before = digests(archive)
    rows = rehearsed(capsys, archive, "--llm", "openai/o3")
    assert [row["planted"] for row in rows] == list(ERRORS)
    n_wrong = {row["planted"]: row["n_wrong"] for row in rows}
    assert n_wrong["anchors_off"] == 40
    assert n_wrong["directions_exchanged"] == 320
    assert n_wrong["techniques_exchanged"] == 160
    assert [planted for planted, n in n_wrong.items() if not n] == ["cached"]  # the archive keeps no texts
    assert digests(archive) == before
    assert not warehouse.exists()


def test_a_planted_cache_is_named_and_nothing_else(tmp_path, warehouse, capsys):
    head = "llm,vignette,technique,anchor_direction,anchor_value,temperature,replicate,text,domain,response_unit"
    rows = [
        f"openai/o3,fever,no_technique,{direction},{anchor},0.7,{run},Of all that weighs here {word} is most: {n},d,%"
        for direction, anchor in (("none", ""), ("low", 20), ("high", 60))
        for run in range(12)
        for word, n in [(chr(97 + run) * 9 + direction, 30 + run)]
    ]
    (tmp_path / "worded.csv").write_text("\n".join([head, *rows]))
    (row,) = rehearsed(capsys, tmp_path / "worded.csv", "--plant", "cached")
    assert row["n_wrong"] == row["n_suspect"] == 11
    assert row["why"] == "collapsed_repeats of 11"
    assert row["n_innocent"] == 0


def test_the_same_seed_plants_the_same(archive, warehouse, capsys):
    asked = (archive, "--llm", "openai/o3", "--plant", "first_digit", "--seeds", "2")
    once, again = rehearsed(capsys, *asked), rehearsed(capsys, *asked)
    assert once == again
    assert [row["seed"] for row in once] == [1, 2]


def test_the_table_is_printed_with_what_each_error_is(archive, warehouse, capsys, golden):
    assert main(["rehearse", str(archive), "--plant", "anchors_off", "--llm", "openai/o3"]) == 0
    golden(capsys.readouterr().out)


def test_what_cannot_be_rehearsed_is_said_in_one_sentence(archive, warehouse, tmp_path, capsys, golden):
    said = []
    (tmp_path / "empty").mkdir()
    for arguments in ([str(archive), "--llm", "openai/o4"], [str(tmp_path / "empty")], [str(tmp_path / "none")]):
        assert main(["rehearse", *arguments]) == 2
        said.append(capsys.readouterr().err)
    golden("".join(said))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24", "2"),
        ("I say **24** months.", "I say **2** months."),
        ("24th of 1,024: 24.", "24th of 1,024: 2."),
        ("x", "2"),
    ],
)
def test_a_planted_number_stands_in_the_text_where_the_old_one_stood(text, expected):
    assert _with_number(text, 24.0, 2.0) == expected
