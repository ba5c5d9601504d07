"""What is set aside keeps its id, or a second import would set it aside once more."""

from datetime import UTC, datetime

from ingest.texts.lines import Line, quarantine_rows


def test_a_line_is_known_by_the_first_half_of_a_hash_of_its_place_its_text_and_why():
    # printf 'own\na.jsonl\n3\n{\nnot valid JSON' | sha256sum | cut -c -32
    line = Line("a.jsonl", 3, "{", "not valid JSON")
    (row,) = quarantine_rows([line], "own", datetime(2026, 1, 1, tzinfo=UTC))
    assert row["quarantine_id"] == "944badd2e67b1ab75dba7c787e314ebd"
