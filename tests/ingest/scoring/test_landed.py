"""What was scored in the warehouse."""

import json
from contextlib import closing

import duckdb
import pytest

from ingest.scoring.landed import load_scored
from ingest.scoring.questions import prompt_hash
from ingest.scoring.scorer import Scoring, score, scored_prompts
from ingest.warehouse import UserError
from tests.ingest.scoring.tiny import Named, questions_of

FEW = questions_of("V0")


@pytest.fixture
def query(tmp_path, monkeypatch):
    path = tmp_path / "warehouse.duckdb"
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))

    def asked(sql):
        with closing(duckdb.connect(str(path), read_only=True)) as warehouse:
            return warehouse.sql(sql).fetchall()

    return asked


def test_a_scoring_is_landed_once_with_all_that_was_read(query):
    llm = Named(kind="split_digits", bos=True)
    outcome = score(llm, FEW)
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
    ) == [
        ("anchoring-llms", outcome.scoring, "tiny/numpy", "1", "float64", "cpu", "abc", "tree", llm.versions["numpy"])
    ]


def test_the_batch_says_which_prompt_stands_for_which_anchor_and_fields(query):
    outcome = score(Named(), FEW)
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


def test_what_is_not_complete_is_not_landed(query, tmp_path):
    outcome = score(Named(), FEW)
    written = outcome.path.read_text(encoding="utf-8").splitlines(keepends=True)
    outcome.path.write_text("".join(written[:-3]), encoding="utf-8")
    with pytest.raises(UserError, match=r"3 of the 24 prompts of tiny/numpy@.* are not scored yet"):
        load_scored(outcome.path)
    assert not (tmp_path / "warehouse.duckdb").exists()
    assert score(Named(), FEW).n_scored == 3
    assert load_scored(Scoring(Named(), FEW).path).n_scores == 24 * 101 * 2


def test_a_file_without_a_scoring_is_refused(query, tmp_path):
    with pytest.raises(UserError, match="holds no scoring"):
        load_scored(tmp_path / "none.jsonl")
