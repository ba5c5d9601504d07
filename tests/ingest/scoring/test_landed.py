"""What was scored in the warehouse."""

import json
from contextlib import closing

import duckdb
import numpy as np
import pytest

from ingest.land.models import query_of
from ingest.scoring.landed import load_scored
from ingest.scoring.questions import prompt_hash
from ingest.scoring.scorer import score, scored_prompts
from ingest.warehouse import UserError
from tests.ingest.scoring.tiny import Named, questions_of

FEW = questions_of("V0")


@pytest.fixture(scope="module")
def spooled(tmp_path_factory):
    """What `bais score` leaves: the file, and the name of the scoring."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(tmp_path_factory.mktemp("spooled") / "warehouse.duckdb"))
        return score(Named(kind="split_digits", bos=True), FEW)


@pytest.fixture
def query(tmp_path, monkeypatch):
    path = tmp_path / "warehouse.duckdb"
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))

    def asked(sql):
        with closing(duckdb.connect(str(path), read_only=True)) as warehouse:
            return warehouse.sql(sql).fetchall()

    return asked


def test_a_scoring_is_landed_once_with_all_that_was_read(query, spooled):
    outcome = spooled
    landed = load_scored(outcome.path)
    assert (landed.n_scores, landed.n_already_there) == (24 * 101 * 2, 0)
    again = load_scored(outcome.path)
    assert (again.n_scores, again.n_already_there) == (0, 24 * 101 * 2)
    spooled = {
        (line["prompt_hash"], of["target"], of["rule"]): of
        for line in scored_prompts(outcome.path)
        for of in line["scores"]
    }
    rows = query(
        "select prompt_hash, target, rule, log_probability, log_probabilities::double[], ids::bigint[], "
        "bos_log_probability from raw.target_scores"
    )
    assert len(rows) == len(spooled)
    for name, target, rule, total, each, ids, bos in rows:
        of = spooled[name, target, rule]
        assert (total, each, ids, bos) == (of["log_probability"], of["log_probabilities"], of["ids"], of["bos"])
    assert query(
        "select distinct study, scoring, llm_recorded, revision, dtype, device, tokenizer_hash, way, "
        "versions->>'numpy' from raw.target_scores"
    ) == [("anchoring-llms", outcome.scoring, "tiny/numpy", "1", "float64", "cpu", "abc", "tree", np.__version__)]


def test_the_batch_says_which_prompt_stands_for_which_anchor_and_fields(query, spooled):
    outcome = spooled
    load_scored(outcome.path)
    ((batch_id, source, n_trials, definition),) = query(
        "select batch_id, source, n_trials, definition from raw.batches"
    )
    assert (batch_id, source, n_trials) == (f"anchoring-llms/{outcome.scoring}/V0", "scored", 202)
    cells = {
        (cell["anchor"], cell["anchor_direction"], frozenset(cell["fields"])): cell["prompt_hash"]
        for cell in json.loads(definition)["cells"]
    }
    assert cells == {
        (cell.anchor, cell.anchor_direction, cell.coalition): prompt_hash(cell.prompt) for cell in FEW.cells
    }
    assert query("select prompt_hash, text from raw.prompts where prompt_kind = 'scored' order by 1") == sorted(
        FEW.prompts.items()
    )
    assert query("select entry, record_id, batch_id from raw.version_entries") == [
        (f"{outcome.scoring}/V0", f"{outcome.scoring}/V0", batch_id)
    ]


def test_what_is_not_complete_is_not_landed(query, spooled, tmp_path):
    written = spooled.path.read_text(encoding="utf-8").splitlines(keepends=True)
    part = tmp_path / "part.jsonl"
    part.write_text("".join(written[:-3]), encoding="utf-8")
    with pytest.raises(UserError, match=r"3 of the 24 prompts of tiny/numpy@.* are not scored yet"):
        load_scored(part)
    assert not (tmp_path / "warehouse.duckdb").exists()


def test_a_file_without_a_scoring_is_refused(query, tmp_path):
    with pytest.raises(UserError, match="holds no scoring"):
        load_scored(tmp_path / "none.jsonl")


def test_the_shapley_values_of_a_scoring_add_up_and_the_banzhaf_values_do_not(query, spooled):
    outcome = spooled
    load_scored(outcome.path)
    attributed = query_of("int_scores_attributed")
    gained = "log_probability - log_probability_of_nothing"
    ((n, shapley, banzhaf),) = query(
        f"select count(*), "
        f"max(abs({gained} - (shapley_scene + shapley_comparative + shapley_absolute + shapley_anchor))), "
        f"min(abs({gained} - (banzhaf_scene + banzhaf_comparative + banzhaf_absolute + banzhaf_anchor))) "
        f"from ({attributed})"
    )
    assert n == 2 * 101 * 2
    assert shapley < 1e-9
    assert banzhaf > 1e-6
    # the anchor's, by the definition of document D, from the spooled totals
    held = {
        (line["prompt_hash"], of["target"]): of["log_probability"]
        for line in scored_prompts(outcome.path)
        for of in line["scores"]
        if of["rule"] == "published"
    }
    prompts = {(cell.anchor, cell.coalition): prompt_hash(cell.prompt) for cell in FEW.cells}
    expected = {}
    for (anchor, coalition), name in prompts.items():
        if "anchor" in coalition:
            for target in range(101):
                gain = held[name, target] - held[prompts[anchor, coalition - {"anchor"}], target]
                expected[anchor, target] = expected.get((anchor, target), 0) + gain / 8
    found = query(f"select anchor, target, banzhaf_anchor from ({attributed}) where rule = 'published'")
    assert {(int(anchor), target): value for anchor, target, value in found} == pytest.approx(expected, abs=1e-9)
