"""What people withdraw or reread after they have seen it is counted, and is among no trials that were asked."""

import json

import pytest

pytestmark = pytest.mark.slow("builds one study three times")

CHANGES = "select llm, domain, paradigm, change, why, n_trials from marts.post_hoc_changes order by all"
ASKED = "select llm, sum(n_asked)::bigint from marts.attrition group by llm order by llm"
BUILD = ("--quiet", "build", "--select", "+post_hoc_changes", "+attrition", "--exclude-resource-type", "unit_test")


def answered(llm, months, at):
    """Write a line as document A's archive does."""
    return {
        "experimentId": "baseline", "model": llm, "anchor": None, "temperature": 1, "sentenceMonths": months,
        "raw": f"{months} months", "collectedAt": f"2026-03-01T00:00:{at:02}.000Z",
    }  # fmt: skip


def test_a_build_counts_what_was_withdrawn_and_reread_since_the_last(tmp_path, new_warehouse):
    # lab/one answers 20 to 24, lab/two 30 and 31
    lines = [answered("lab/one", months, months) for months in range(20, 25)]
    lines += [answered("lab/two", months, months) for months in (30, 31)]
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "baseline.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    new_warehouse.land("--archive", tmp_path / "own")
    new_warehouse.dbt(*BUILD)
    assert new_warehouse.query(CHANGES) == []
    assert new_warehouse.query(ASKED) == [("lab/one", 5), ("lab/two", 2)]

    landed = dict(new_warehouse.query("select response_recorded::int, trial_id from raw.trials"))
    for months in (20, 24):
        new_warehouse.bais("reread", landed[months], "--number", 12, "--why", "a year was meant")
    new_warehouse.bais("withdraw", landed[20], landed[21], "--why", "typed twice")
    new_warehouse.bais("withdraw", landed[22], landed[30], "--why", "cut off")
    new_warehouse.dbt(*BUILD)
    assert new_warehouse.query(CHANGES) == [
        ("lab/one", "judicial", "anchoring", "reread", "a year was meant", 1),
        ("lab/one", "judicial", "anchoring", "withdrawn", "cut off", 1),
        ("lab/one", "judicial", "anchoring", "withdrawn", "typed twice", 2),
        ("lab/two", "judicial", "anchoring", "withdrawn", "cut off", 1),
    ]
    assert new_warehouse.query(ASKED) == [("lab/one", 2), ("lab/two", 1)]

    new_warehouse.bais("restore", landed[22], landed[30], "--why", "they were whole")
    new_warehouse.dbt(*BUILD)
    assert [of[-2:] for of in new_warehouse.query(CHANGES)] == [("a year was meant", 1), ("typed twice", 2)]
