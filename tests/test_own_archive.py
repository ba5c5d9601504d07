"""A stranger's own trials, of LLMs, vignettes and a technique that the seeds do not know."""

import json

import pytest

pytestmark = pytest.mark.slow("an archive of one's own, built to its end")

PREMORTEM = {"experimentId": "premortem", "technique": "premortem"}
ANCHORS = {"none": None, "low": 5, "high": 15}


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


def decided(vignette, llm, technique, direction, *responses):
    """Write lines of a vignette that no seed declares."""
    return [
        {
            "model": f"lab/{llm}", "vignetteId": vignette, "technique": technique, "temperature": 1,
            "anchorType": direction, "anchor": ANCHORS[direction], "response": response, "raw": f"{response}",
        }
        for response in responses
    ]  # fmt: skip


def tied():
    """Write trials of two techniques that halve what two anchors do, of which one LLM was asked with one alone."""
    for vignette in ("parking", "towing"):
        for llm, techniques in (("one", ("premortem", "sacd")), ("two", ("premortem",))):
            yield from decided(vignette, llm, "baseline", "none", *[9, 11] * 5)
            for technique, pull in (("baseline", 4), *((technique, 2) for technique in techniques)):
                yield from decided(vignette, llm, technique, "low", 10 - pull, 10 - pull)
                yield from decided(vignette, llm, technique, "high", 10 + pull, 10 + pull)


@pytest.fixture(scope="module")
def built(warehouse_in, tmp_path_factory):
    folder = tmp_path_factory.mktemp("own_archive")
    warehouse = warehouse_in(folder)
    write(folder / "own", "baseline.jsonl", judicial(20, 1), judicial(20, 2))
    write(
        folder / "own",
        "premortem.jsonl",
        judicial(15, 3, anchor=10, **PREMORTEM),
        judicial(25, 4, anchor=30, **PREMORTEM),
        judicial(35, 5, anchor=30, **PREMORTEM),
    )
    write(
        folder / "own",
        "parking.jsonl",
        *decided("parking", "new-llm", "hindsight", "low", 8),
        *decided("parking", "new-llm", "baseline", "none", 10),
    )
    write(folder / "own", "tied.jsonl", *tied())
    warehouse.land("--archive", folder / "own")
    warehouse.dbt("--quiet", "build", "--exclude-resource-type", "unit_test")
    return warehouse


def test_they_build_and_have_their_effects_without_a_line_of_configuration(built):
    # 15, 25 and 35 of 20 are 75 %, 125 % and 175 %; low is 75, high is 150
    percents = built.query(
        "select domain, technique, percent_of_baseline from papers.technique_effects "
        "where llm = 'lab/new-llm' and anchor_direction = 'both' and row_set = 'accepted' "
        "and baseline_scope = 'pooled' and temperature_scope = 'pooled' and weighting = 'llm' order by all"
    )
    assert percents == [("judicial", "premortem", 125.0), ("unknown", "hindsight", 80.0)]
    gaps = built.query(
        "select domain, technique, signed, loss from marts.effects "
        "where llm = 'lab/new-llm' and goal = 'gap' and vignette is null order by all"
    )
    assert gaps == [("judicial", "premortem", 75.0, 75.0), ("unknown", "hindsight", None, None)]


def test_techniques_that_tie_over_two_unknown_vignettes_and_other_numbers_of_llms_have_one_place_each(built):
    # 6 and 14 of 10 are displaced by 40, 8 and 12 by 20: so both techniques gain as much, and none is third
    places = built.query(
        "select technique, rank, n_llms from marts.effects where domain = 'unknown' and goal = 'displacement' "
        "and llm is null and vignette is null and rank is not null order by all"
    )
    assert places == [("premortem", 1, 2), ("sacd", 1, 1)]
    doing_nothing = built.query(
        "select value, n_llms from intermediate.int_claims_recommended where domain = 'unknown' "
        "and technique = 'no_technique' "
        "and quantity = 'rank_by_displacement_with_no_technique' and llm is null"
    )
    assert doing_nothing == [(3, 2)]
