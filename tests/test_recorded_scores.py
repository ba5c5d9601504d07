"""Document D's recorded scores through import, gate and models: what a user reads in the tables."""

import pytest

from tests.conftest import SHARED

SCORES = SHARED / "data" / "anchoring_llms"
ABSS = {
    "google/gemma-2b": 0.983149245261558,
    "microsoft/phi-2": 0.589393057339579,
    "openai/gpt2": 0.289022663785751,
    "EleutherAI/gpt-neo-125M": -0.194505040427403,
}
MEANS = """
select llm, avg(abss) from marts.sensitivity_scores
where specification = 'published' and variation <> 'V0' group by llm
"""


@pytest.fixture(scope="module")
def scored(warehouse_in, tmp_path_factory):
    if not SCORES.is_dir():
        pytest.skip(f"the recorded scores are not at {SCORES}")
    warehouse = warehouse_in(tmp_path_factory.mktemp("scored"))
    said = warehouse.run("bais", "import", SCORES)
    assert "9,696 scores read: 9,696 new" in said
    assert "failed" not in said
    assert "warnings" not in said
    warehouse.dbt("--quiet", "build", "--select", "+measured+", "--exclude-resource-type", "unit_test")
    return warehouse


def test_the_mean_abss_of_each_llm_is_the_published_one(scored):
    assert dict(scored.query(MEANS)) == pytest.approx(ABSS, abs=1e-9)


def test_every_specification_has_44_rows_and_v0_is_read_once(scored):
    counts = "select specification, count(*), count(distinct scoring) from marts.anchor_effects group by all"
    assert {found[1:] for found in scored.query(counts)} == {(44, 8)}
    v0 = "select bool_and(contains(scoring, '/standard@')) from marts.anchor_effects where variation = 'V0'"
    assert scored.query(v0) == [(True,)]
    assert scored.query("select count(*) from marts.soft_expectations where specification = 'published'") == [(88,)]


def test_the_headline_is_the_difference_of_expectations_over_five_questions(scored):
    rows = scored.query(
        "select llm, round(estimate, 1), round((high - low) / 2, 1), df from inference.anchor_sensitivities "
        "where specification = 'recommended' and metric = 'delta_ev' order by llm"
    )
    assert rows == [
        ("EleutherAI/gpt-neo-125M", 7.4, 2.8, 4), ("google/gemma-2b", 24.3, 12.2, 4), ("microsoft/phi-2", 5.6, 5.1, 4),
        ("openai/gpt2", 10.6, 4.5, 4),
    ]  # fmt: skip


def test_both_files_of_an_llm_agree_on_v0(scored):
    checks = "select count(*), max(observed_value) from raw.batch_checks where check_name = 'scorings_disagree'"
    assert scored.query(checks) == [(48, 0)]
