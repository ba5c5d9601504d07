"""Anchoring over the items of a file, from the study to the decision: a planted pull is found again."""

import random

import pytest
import yaml

from ingest.studies.study import load_study

PULLS = {"first": 0.3, "second": 0.4, "third": 0.5, "fourth": 0.6, "fifth": 0.7}
LEFT, N_ITEMS = 0.25, 8  # what premortem leaves of the pull


def respondent(name, pull):
    truth = {"baselines": {"rent": "usual"}, "level": 1 + pull / 10, "pull": pull, "noise": 0.02}
    return {"llm": f"sim/{name}", "simulated": truth | {"techniques": {"premortem": {"pull": LEFT}}}}


STUDY = {
    "study": "rents",
    "llms": [respondent(name, pull) for name, pull in PULLS.items()],
    "vignettes": [
        {
            "vignette": "rent", "domain": "housing", "response_unit": "EUR", "valid_min": 0, "valid_max": 9000,
            "case": "A flat of {size} square metres in {town} is to let.", "anchor": "A neighbour says {anchor} EUR.",
            "question": "Which rent is fair?", "items": "rents.csv",
            "words": {
                "decision": "estimate", "outcome": "rent", "whom": "this flat", "setting": "office",
                "overturned": "It was found unfair. Why?",
            },
        }
    ],
    "techniques": ["no_technique", "premortem"],
    "anchors": {"proportional": {"low": 0.5, "high": 1.5}},
    "stopping_rule": {"minimum": 30},
}  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory, warehouse_in):
    """A warehouse with what the study came to."""
    folder = tmp_path_factory.mktemp("cases")
    draw = random.Random(4)
    rows = [f"flat{n},{20 + 10 * n},Town {n},{draw.randrange(300, 1500, 10)}" for n in range(N_ITEMS)]
    (folder / "rents.csv").write_text("\n".join(["item,size,town,usual", *rows]) + "\n")
    (folder / "rents.yaml").write_text(yaml.safe_dump(STUDY, sort_keys=False))
    warehouse = warehouse_in(folder)
    warehouse.land(folder / "rents.yaml")
    warehouse.dbt("--quiet", "build", "--exclude-resource-type", "unit_test")
    return warehouse


@pytest.mark.slow("collects, builds and tests every table")
def test_a_planted_pull_is_found_again_on_every_item(built):
    # anchors lie 50 % below and above: a pull p displaces by 50 p points, and the gap is twice that
    for goal, points in (("displacement", 50), ("gap", 100), ("error", 50)):
        rows = built.query(
            "select llm, item, technique, loss from marts.effects "
            f"where goal = '{goal}' and item is not null and paradigm = 'anchoring'"
        )
        assert len(rows) == len(PULLS) * N_ITEMS * 2
        for llm, _, technique, loss in rows:
            pull = PULLS[llm.removeprefix("sim/")] * (LEFT if technique == "premortem" else 1)
            assert loss == pytest.approx(points * pull, abs=2.5)


@pytest.mark.slow("collects, builds and tests every table")
def test_a_mean_over_items_weighs_each_the_same_and_the_decision_counts_them(built):
    ((whole, of_items),) = built.query(
        "select any_value(loss) filter (vignette is null), avg(loss) filter (item is not null) from marts.effects "
        "where goal = 'gap' and llm = 'sim/first' and technique = 'no_technique'"
    )
    assert whole == pytest.approx(of_items)
    rows = built.query(
        "select goal, decision, certainty, n_cases, loss_control, gain_low, gain, gain_high from inference.decisions "
        "where technique = 'premortem' and llm is null and comparison = 'control'"
    )
    assert sorted(row[0] for row in rows) == ["displacement", "error", "gap"]
    assert {row[1:4] for row in rows} == {("use", "established", N_ITEMS)}
    mean_square = sum((100 * pull) ** 2 for pull in PULLS.values()) / len(PULLS)
    (gap,) = (row for row in rows if row[0] == "gap")
    assert gap[4] == pytest.approx(mean_square**0.5, rel=0.02)
    assert gap[5] < gap[4] - LEFT * gap[4] < gap[7]


@pytest.mark.slow("collects, builds and tests every table")
def test_every_item_has_its_own_baseline_in_the_tables(built):
    rows = built.query(
        "select item, llm, mean, fields ->> 'usual' from marts.conditions inner join raw.items using (study, item) "
        "where is_baseline and row_set = 'accepted' and temperature_scope = 'pooled' and paradigm = 'anchoring'"
    )
    assert len(rows) == len(PULLS) * N_ITEMS
    for _, llm, mean, usual in rows:
        assert mean == pytest.approx(float(usual) * (1 + PULLS[llm.removeprefix("sim/")] / 10), rel=0.02)
    percents = built.query(
        "select percent_of_baseline from papers.technique_effects where study = 'rents' and technique = 'no_technique' "
        "and anchor_direction = 'low' and llm = 'sim/fifth' and row_set = 'accepted' and baseline_scope = 'pooled' "
        "and weighting = 'llm' and temperature_scope = 'pooled'"
    )
    assert percents == [(pytest.approx(100 - 50 * PULLS["fifth"], abs=1.5),)]


@pytest.mark.slow("collects, builds and tests every table")
def test_a_study_that_asks_one_more_llm_has_the_same_items_and_says_what_is_left(built):
    path = built.path.with_name("more.yaml")
    said = built.bais("plan", "--to-settle", "housing", "--llm", "openai/o3", "--out", path)
    assert "one case" not in said
    (vignette,) = load_study(path).vignettes
    assert {item.item for item in vignette["items"].read} == {f"flat{n}" for n in range(N_ITEMS)}
    # one more LLM: each item without an anchor, and two techniques under two anchors, thirty times
    assert f"left: {30 * N_ITEMS * (1 + 2 * 2):,}\n" in said
