"""A stranger's own trials, of an LLM, a vignette and a technique that the seeds do not know."""

import json


def write(folder, name, *lines):
    """Write a file of an archive in document A's format."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))


def judicial(months, at, **fields):
    """Write a line as document A's archive does; every `at` is another second."""
    return {
        "experimentId": "baseline",
        "model": "lab/new-llm",
        "anchor": None,
        "temperature": 1,
        "sentenceMonths": months,
        "collectedAt": f"2026-03-01T00:00:{at:02}.000Z",
        **fields,
    }


def test_they_build_and_have_their_effects_without_a_line_of_configuration(tmp_path, new_warehouse):
    premortem = {"experimentId": "premortem", "technique": "premortem"}
    parking = {
        "model": "lab/new-llm",
        "vignetteId": "parking",
        "technique": "hindsight",
        "anchorType": "low",
        "anchor": 5,
        "response": 8,
        "raw": "8",
        "temperature": 1,
    }
    write(tmp_path / "own", "baseline.jsonl", judicial(20, 1), judicial(20, 2))
    write(
        tmp_path / "own",
        "premortem.jsonl",
        judicial(15, 3, anchor=10, **premortem),
        judicial(25, 4, anchor=30, **premortem),
        judicial(35, 5, anchor=30, **premortem),
    )
    write(
        tmp_path / "own",
        "parking.jsonl",
        parking,
        {**parking, "technique": "baseline", "anchorType": "none", "anchor": None, "response": 10, "raw": "10"},
    )

    new_warehouse.land("--archive", tmp_path / "own")
    new_warehouse.dbt("--quiet", "build", "--selector", "light", "--exclude-resource-type", "unit_test")

    # 15, 25 and 35 of 20 are 75 %, 125 % and 175 %; low is 75, high is 150
    effects = new_warehouse.query(
        "select domain, technique, percent_of_baseline, net_spread from marts.technique_rankings "
        "where llm = 'lab/new-llm' order by all"
    )
    assert effects == [("judicial", "premortem", 125.0, 75.0), ("unknown", "hindsight", 80.0, None)]
