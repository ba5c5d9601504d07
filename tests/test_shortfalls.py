"""What of a study's answers counts nowhere is counted by what became of it, and said where its answer is given."""

import json

import pytest

from bais.main import main

pytestmark = pytest.mark.slow("builds one study twice")

BUILD = ("--quiet", "build", "--exclude-resource-type", "test", "unit_test")
TEST = ("--quiet", "test", "--select", "shortfalls", "--exclude-resource-type", "unit_test")
COUNTED = """
select domain, n_asked, n_counted, n_held_back, n_rejected, n_withdrawn, n_unparsed, n_refused, commonest_unread,
    n_commonest_unread
from marts.shortfalls order by domain
"""
CHOICE, REFUSAL = "I choose A.", "I cannot provide a sentence for this person, and I refuse to answer."
# 40 that can be read, 1 that is refused, 8 that say nothing that can be read, 6 of them the same
JUDICIAL = [f"{20 + n % 5} months" for n in range(40)] + [REFUSAL] + [CHOICE] * 6 + ["Perhaps.", "It depends."]
MEDICAL, LOAN = [CHOICE] * 12, [f"{n} thousand" for n in range(90, 101)]


def lines_of(vignette, texts):
    """Write lines as document A's archive does, unanchored ones, a second apart."""
    for n, text in enumerate(texts):
        number = text.split()[0]
        yield {
            "model": "lab/one", "vignetteId": vignette, "technique": "baseline", "temperature": 1,
            "anchorType": "none", "anchor": None, "response": int(number) if number.isdigit() else None, "raw": text,
            "collectedAt": f"2026-03-01T00:00:{n:02}.000Z",
        }  # fmt: skip


def told(warehouse, *arguments):
    """What a command prints, in one line."""
    return " ".join(warehouse.bais(*arguments).split())


def test_what_is_held_back_unread_refused_or_withdrawn_is_counted_and_said(tmp_path, new_warehouse, monkeypatch):
    (tmp_path / "own").mkdir()
    for vignette, texts in (("shoplifting", JUDICIAL), ("medical", MEDICAL), ("loan", LOAN)):
        lines = "".join(json.dumps(line) + "\n" for line in lines_of(vignette, texts))
        (tmp_path / "own" / f"{vignette}.jsonl").write_text(lines)
    monkeypatch.setenv("BAIS_WAREHOUSE", str(new_warehouse.path))
    assert main(["import", str(tmp_path / "own")]) == 6  # the batch of medical has no answer
    new_warehouse.dbt(*BUILD)
    new_warehouse.dbt(*TEST)
    assert new_warehouse.query(COUNTED) == [
        ("judicial", 49, 40, 0, 0, 0, 8, 1, CHOICE, 6),
        ("loan", 11, 11, 0, 0, 0, 0, 0, None, 0),
        ("medical", 12, 0, 12, 0, 0, 0, 0, None, 0),
    ]
    assert "Uncounted answers: judicial 9 of 49, medical 12 of 12." in told(new_warehouse, "headlines")
    assert "Uncounted answers: judicial 9 of 49, medical 12 of 12." in told(new_warehouse, "recommend")

    batches = dict(new_warehouse.query("select vignette, batch_id from raw.batches"))
    read = (
        "select trial_id from raw.trials where vignette = 'shoplifting' and response_text in ('20 months', '21 months')"
    )
    withdrawn = [trial_id for (trial_id,) in new_warehouse.query(read)]
    new_warehouse.bais("withdraw", *withdrawn, "--why", "asked with the wrong key")
    new_warehouse.bais("reject", batches["loan"], "--why", "another account answered")
    medical, why = batches["medical"], ("--why", "so it answers")
    new_warehouse.bais("release", "--flag", "unreadable", "--batch", medical, *why)
    new_warehouse.bais("accept", medical, *why)
    new_warehouse.dbt(*BUILD)
    new_warehouse.dbt(*TEST)
    assert len(withdrawn) == 16
    assert new_warehouse.query(COUNTED) == [
        ("judicial", 49, 24, 0, 0, 16, 8, 1, CHOICE, 6),
        ("loan", 11, 0, 0, 11, 0, 0, 0, None, 0),
        ("medical", 12, 0, 0, 0, 0, 12, 0, CHOICE, 12),
    ]
    ((first, last),) = new_warehouse.query(
        "select first_withdrawn_at, last_withdrawn_at from marts.shortfalls where domain = 'judicial'"
    )
    assert [(first, last)] == new_warehouse.query(
        "select min(acted_at), max(acted_at) from raw.gate_acts where act = 'withdraw'"
    )
    said = told(new_warehouse, "headlines")
    assert "Uncounted answers: judicial 25 of 49, loan 11 of 11, medical 12 of 12." in said
    in_brief = told(new_warehouse, "recommend", "--domain", "judicial")
    in_full = told(new_warehouse, "recommend", "--domain", "judicial", "--why")
    for said in (in_brief, in_full):
        unread = f"24 % of 33 published answers could not be read (most: “{CHOICE}”)."
        assert unread in said
        assert said.count("16 of 49") == 1
    assert "16 of 49 answers were withdrawn by hand after they were seen." in in_brief
    assert f"{unread} 1 of 33 published answers is a refusal." in in_full
    found = json.loads(new_warehouse.bais("recommend", "--domain", "judicial", "--json"))["shortfalls"]
    assert {name: found[name] for name in ("n_asked", "n_counted", "n_withdrawn", "n_unparsed", "n_refused")} == {
        "n_asked": 49, "n_counted": 24, "n_withdrawn": 16, "n_unparsed": 8, "n_refused": 1,
    }  # fmt: skip
