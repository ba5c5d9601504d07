"""Document D's recorded scores through import, gate and models: what a user reads in the tables."""

import pytest

from analysis.anchor_findings import QUERIES, SAID, sentences
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
    tables = ("+path:models/scores", "+anchor_sensitivities", "+sensitivity_contrasts", "+sensitivity_trends")
    warehouse.dbt("--quiet", "build", "--select", *tables, "--exclude-resource-type", "unit_test")
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


def test_of_six_pairs_of_llms_five_differ_in_the_abss_and_the_other_two_cannot_be_told_apart(scored):
    rows = scored.query(
        "select llm, llm_b, round(estimate, 6), low > 0, df from inference.sensitivity_contrasts "
        "where comparison = 'llms' and metric = 'abss' and specification = 'published' and estimate > 0 order by all"
    )
    assert len(rows) == 6
    for llm, other, estimate, _, df in rows:
        assert (estimate, df) == (pytest.approx(ABSS[llm] - ABSS[other], abs=1e-6), 4)
    assert [row[:2] for row in rows if not row[3]] == [("google/gemma-2b", "microsoft/phi-2")]


def test_four_llms_show_no_trend_with_size(scored):
    rows = scored.query(
        "select n_llms, n_llms_left_out, slope between low and high, low < 0 and high > 0, round(least_p_rank * 12, 9) "
        "from inference.sensitivity_trends where metric = 'abss' and specification = 'published'"
    )
    assert rows == [(4, 0, True, True, 1)]


def test_no_call_stands_under_every_specification(scored):
    rows = scored.query(
        "select n_calls, n_specifications, n_standing, n_standing_always, n_standing_never from marts.anchor_calls "
        "where llm is null"
    )
    assert rows == [(44, 44 * 6, 34 + 26 + 16 + 4 + 0 + 5, 0, 6)]


def test_the_rows_of_each_finding_are_there_and_its_sentences_say_their_numbers(scored):
    counts = {name: scored.query(f"select count(*), count(study) from ({query})")[0] for name, query in QUERIES.items()}
    assert counts == {
        name: (n, n)
        for name, n in {
            "expectations": 88, "attributions": 88 * 101, "sensitivities": 88, "regimes": 20, "calls": 49, "effects": 3,
            "means": 4, "contrasts": 6 + 4, "trends": 1,
        }.items()
    }  # fmt: skip
    names = {name: [of[0] for of in scored.query(f"describe {QUERIES[name]}")] for name in SAID}
    rows = {name: [dict(zip(names[name], row, strict=True)) for row in scored.query(QUERIES[name])] for name in SAID}
    said = " ".join(sentences(rows))
    for part in (
        "In all 44 cases", "34 of 44 shifts significant", "16 of 44 are;", "add up to 1, 5 are.",
        "google/gemma-2b by 24.3 percentage points (12.1 to 36.4)", "5 of 6 pairs of LLMs differ",
        "tell apart: google/gemma-2b and microsoft/phi-2.", "none of 4 LLMs", "may rise or fall with size",
    ):  # fmt: skip
        assert part in said
