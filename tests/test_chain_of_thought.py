"""Chain-of-thought, from the words to its place among the techniques."""

import pytest

STUDY = """
study: step-by-step
llms:
  - llm: sim/thinker
    simulated:
      baselines: {burglary: 30}
      pull: 0.5
      noise: 0.05
      techniques: {chain_of_thought: {pull: 0.2}}
      formats: [reasoned]
vignettes: [burglary]
techniques: [no_technique, chain_of_thought, premortem]
anchors:
  proportional: {low: 0.5, high: 1.5}
stopping_rule: {minimum: 10}
"""


@pytest.mark.slow("collects and builds a study")
def test_it_is_asked_read_and_ranked_like_any_other_technique(tmp_path, new_warehouse):
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    new_warehouse.bais("collect", tmp_path / "study.yaml")
    new_warehouse.dbt(
        "--quiet", "build", "--select", "+effects", "+trials", "--exclude-resource-type", "test", "unit_test"
    )
    ranked = new_warehouse.query(
        "select technique, rank, not_ranked_because from marts.effects where study = 'step-by-step' "
        "and goal = 'gap' and llm is null and vignette is null order by rank nulls last"
    )
    assert [(technique, rank) for technique, rank, _ in ranked][:2] == [("chain_of_thought", 1), ("premortem", 2)]
    assert ranked[0][2] is None
    # "2 sides", a list that counts to 2, and then the answer: a pull of 0.2 towards 15 or 45 leaves 27 and 33
    assert new_warehouse.query(
        "select anchor_direction, count(*), count(response), round(avg(response) / 3) * 3 from marts.trials "
        "where technique = 'chain_of_thought' group by all order by 1 desc"
    ) == [("low", 10, 10, 27), ("high", 10, 10, 33)]
