"""What each field of a prompt contributes to an answer, as the model says it and as it is enumerated here."""

import itertools

import duckdb
import jinja2
import numpy as np
import pyarrow as pa
import pytest

from tests.conftest import ROOT

FIELDS = ("scene", "comparative", "absolute", "anchor")
MODEL = ROOT / "models" / "intermediate" / "int_scores_attributed.sql"


@pytest.mark.parametrize("seed", range(5))
def test_a_shapley_value_is_the_mean_gain_over_all_orders_of_fields_and_a_banzhaf_value_that_over_all_sets(seed):
    sets = [frozenset(some) for size in range(5) for some in itertools.combinations(FIELDS, size)]
    worth = dict(zip(sets, np.random.default_rng(seed).normal(-10, 4, len(sets)), strict=True))
    orders = list(itertools.permutations(FIELDS))
    with duckdb.connect() as memory:
        named = {"scoring": "g", "batch_id": "b", "llm_recorded": "m", "revision": "r", "dtype": "d"}
        named |= {"chat_template_hash": None, "variation": "V0", "anchor_direction": "low", "anchor": 10}
        prompts = [
            named | {"prompt_hash": str(n), "n_fields": len(some)} | {f"has_{field}": field in some for field in FIELDS}
            for n, some in enumerate(sets)
        ]
        scores = [
            {"study": "s", "scoring": "g", "prompt_hash": str(n), "target": 47, "rule": "aligned",
             "log_probability": worth[some]}
            for n, some in enumerate(sets)
        ]  # fmt: skip
        memory.register("stg_scored_prompts", pa.Table.from_pylist(prompts))
        memory.register("stg_target_scores", pa.Table.from_pylist(scores))
        sql = jinja2.Template(MODEL.read_text(encoding="utf-8")).render(ref=lambda name: name)
        (found,) = memory.sql(sql).to_arrow_table().to_pylist()
    for field in FIELDS:
        before = [frozenset(order[: order.index(field)]) for order in orders]
        shapley = np.mean([worth[some | {field}] - worth[some] for some in before])
        banzhaf = np.mean([worth[some | {field}] - worth[some] for some in sets if field not in some])
        assert found[f"shapley_{field}"] == pytest.approx(shapley, abs=1e-9)
        assert found[f"banzhaf_{field}"] == pytest.approx(banzhaf, abs=1e-9)
    assert sum(found[f"shapley_{field}"] for field in FIELDS) == pytest.approx(worth[sets[-1]] - worth[sets[0]])
