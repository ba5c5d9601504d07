"""The spool of a scoring: nothing is lost, nothing is scored twice, and a restart writes the same numbers."""

import contextlib
import json
import os
import subprocess
import sys

import duckdb
import numpy as np
import pytest

from bais.main import main
from ingest.ask.spool import SCORES, Spool
from ingest.scoring.landed import refuse_study_of_trials
from ingest.scoring.passes import OutOfMemory, one_by_one
from ingest.scoring.questions import SHIPPED, prompt_hash
from ingest.scoring.scorer import Scoring, score, scored_prompts, sessions
from ingest.scoring.targets import RULES, TARGETS, Targets
from ingest.studies.study import named_studies
from ingest.warehouse import ROOT, UserError
from tests.ingest.scoring.tiny import Named, questions_of
from tests.tools.contracts import fill

FEW = questions_of("V0")
KILLED = """
import os, sys
from tests.ingest.scoring.tiny import Named, questions_of
from ingest.scoring.scorer import score

class Dies(Named):
    def forward(self, *given):
        if self.n_tokens > 2_000:
            os.kill(os.getpid(), 9)
        return super().forward(*given)

score(Dies(), questions_of("V0"))
"""


@pytest.fixture(autouse=True)
def warehouse(tmp_path, monkeypatch):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "warehouse.duckdb"))
    return tmp_path / "warehouse.duckdb"


def lines(llm, questions=FEW):
    """What the spool of an LLM holds of each prompt, without what differs from one session to the next."""
    path = Scoring(llm, questions).path
    return {line["prompt_hash"]: (line["prompt"], line["scores"]) for line in scored_prompts(path)}


def test_every_prompt_is_a_line_with_every_target_under_both_rules():
    llm = Named(kind="split_digits", bos=True)
    outcome = score(llm, FEW)
    assert (outcome.n_scored, outcome.n_before, outcome.way) == (24, 0, "tree")
    held = lines(llm)
    assert set(held) == set(FEW.prompts)
    for name, (prompt, scores) in held.items():
        assert prompt_hash(prompt) == name
        assert [(of["rule"], of["target"]) for of in scores] == [(rule, n) for rule in RULES for n in TARGETS]
        (right,) = one_by_one(llm, Targets(llm).after([prompt]), [47])
        for of in scores:
            assert of["log_probability"] == pytest.approx(sum(of["log_probabilities"]), abs=1e-12)
            assert len(of["ids"]) == len(of["log_probabilities"])
            assert of["bos"] == (of["log_probabilities"][0] if of["rule"] == "published" else None)
            if of["target"] == 47:
                np.testing.assert_allclose(of["log_probabilities"], right[of["rule"], 47], rtol=0, atol=1e-9)


def test_what_the_scoring_is_of_stands_in_the_spool():
    llm = Named()
    outcome = score(llm, FEW)
    (session,) = sessions(outcome.path).values()
    assert session["scoring"] == outcome.scoring == Scoring(llm, FEW).name
    assert session["llm"] == "tiny/numpy"
    assert session["dtype"] == "float64"
    assert (session["revision"], session["tokenizer_hash"]) == (llm.revision, llm.tokenizer_hash)
    assert session["versions"].keys() == {"bais", "numpy"}
    assert session["questions"]["questions"][0]["variations"] == {"V0": {"low": 10, "high": 65}}


def test_what_is_scored_is_scored_once():
    first, second = Named(), Named()
    score(first, FEW)
    outcome = score(second, FEW)
    assert (outcome.n_scored, outcome.n_before) == (0, 24)
    assert second.n_tokens == 0


@pytest.mark.parametrize(
    "other",
    [{"name": "tiny/other"}, {"revision": "2"}, {"dtype": "float32"}, {"tokenizer_hash": "2"}, {"device": "cuda"}],
)
def test_another_llm_revision_format_or_tokenizer_is_another_scoring(other):
    llm = Named()
    before = Scoring(llm, FEW).name
    vars(llm).update(other)
    assert Scoring(llm, FEW).name != before
    assert Scoring(Named(), questions_of("V1-S")).name != Scoring(Named(), FEW).name


def test_killed_half_way_and_started_again_it_gives_the_same_rows(tmp_path, monkeypatch):
    whole = Named()
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "at-once.duckdb"))
    score(whole, FEW)
    at_once = lines(whole)
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "killed.duckdb"))
    killed = subprocess.run([sys.executable, "-c", KILLED], cwd=ROOT, env=os.environ, capture_output=True)
    assert killed.returncode == -9, killed.stderr
    before = lines(Named())
    assert 0 < len(before) < len(at_once)
    path = Scoring(Named(), FEW).path
    with open(path, "a", encoding="utf-8") as spool:  # what a machine that stopped leaves of a line
        spool.write('{"kind":"scores","prompt_hash":"')
    outcome = score(Named(), FEW)
    assert (outcome.n_before, outcome.n_scored) == (len(before), len(at_once) - len(before))
    assert lines(Named()) == at_once
    assert all(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def test_a_batch_that_was_written_in_part_is_scored_with_the_same_prompts_again():
    score(Named(), FEW)
    at_once, path = lines(Named()), Scoring(Named(), FEW).path
    written = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(written[: 1 + 4 + 2]), encoding="utf-8")  # the session, a batch, half of another
    assert score(Named(), FEW).n_scored == 24 - 6
    assert lines(Named()) == at_once


class Forgetful(Named):
    """One for which there is memory for so many prompts at a time."""

    n_fitting = 1

    def forward(self, ids, *given):
        if len(ids) > self.n_fitting:
            raise OutOfMemory
        return super().forward(ids, *given)


def test_where_memory_is_out_half_as_many_go_at_a_time():
    llm = Forgetful()
    score(llm, FEW)
    held = lines(llm)
    Scoring(llm, FEW).path.unlink()
    score(Named(), FEW)
    for name, (_, scores) in lines(Named()).items():
        for of, other in zip(scores, held[name][1], strict=True):
            assert of["log_probability"] == pytest.approx(other["log_probability"], abs=1e-9)


def test_where_there_is_no_memory_for_one_prompt_it_says_so_in_a_sentence():
    llm = Forgetful()
    llm.n_fitting = 0
    with pytest.raises(UserError, match="needs more memory than this machine has on cpu") as refusal:
        score(llm, FEW)
    assert refusal.value.exit_code == 4
    assert "\n" not in str(refusal.value)


class Breaks(Named):
    """One that gives no number from so many prompts on."""

    def forward(self, ids, *given):
        logits = super().forward(ids, *given)
        return logits if self.n_tokens < 2_000 else np.full_like(logits, np.nan)


def test_what_is_no_number_is_not_kept_and_what_came_before_is():
    with pytest.raises(UserError, match=r"no finite log-probability of .*try --dtype float32; the \d+ prompts"):
        score(Breaks(), FEW)
    held = lines(Named())
    assert 0 < len(held) < 24
    assert np.isfinite([of["log_probability"] for _, scores in held.values() for of in scores]).all()
    assert score(Named(), FEW).n_before == len(held)


def test_an_llm_that_gives_no_number_at_all_is_refused_before_anything_is_scored():
    llm = Named()
    llm.head[:] = np.nan
    with pytest.raises(UserError, match="tiny/numpy gives no finite log-probability"):
        score(llm, FEW)
    assert llm.n_tokens < 400
    assert lines(llm) == {}


def test_without_torch_it_says_how_to_install_it_and_leaves_everything_alone(warehouse, monkeypatch, capsys, golden):
    monkeypatch.setattr("ingest.local.llm.find_spec", lambda library: None)
    assert main(["score", "--llm", "openai-community/gpt2"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    golden(line, "`make local`")
    assert not warehouse.exists()


def test_questions_that_cannot_be_read_are_refused_before_an_llm_is_loaded(warehouse, tmp_path, capsys, golden):
    path = tmp_path / "questions.yaml"
    path.write_text("study: s", encoding="utf-8")
    assert main(["score", "--llm", "openai-community/gpt2", "--questions", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    golden(line, "source")


def test_a_name_that_names_no_llm_is_refused_before_one_is_loaded(warehouse, capsys, golden):
    assert main(["score", "--llm", "somewhere", "--name", "gpt2"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    golden(line, "--name gpt2")


def test_own_questions_take_no_study_that_llms_answer(warehouse, tmp_path, capsys, golden):
    path = tmp_path / "questions.yaml"
    own = SHIPPED.read_text(encoding="utf-8")
    path.write_text(own.replace("study: anchoring-llms", f"study: {next(iter(named_studies()))}"), encoding="utf-8")
    assert main(["score", "--llm", "somewhere", "--questions", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    golden(line)
    with contextlib.closing(duckdb.connect(str(warehouse))) as made:
        fill(made, {"raw.trials": [{"study": "asked"}]})
    refuse_study_of_trials("scored")
    with pytest.raises(UserError, match="asked is a study whose questions are put to LLMs"):
        refuse_study_of_trials("asked")


def test_a_spool_of_scores_that_is_held_or_full_is_refused_in_words_on_scores(monkeypatch):
    path = Scoring(Named(), FEW).path
    with Spool(path, SCORES), pytest.raises(UserError, match=r"another process is scoring into .*; nothing was scored"):
        score(Named(), FEW)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ingest.ask.spool.os.write", full)
    with pytest.raises(UserError, match=r"No space left on device: .* at /.*\): what was scored before is kept"):
        score(Named(), FEW)


class Stopped(Named):
    """One that a person stops."""

    def forward(self, ids, *given):
        if self.n_tokens > 2_000:
            raise KeyboardInterrupt
        return super().forward(ids, *given)


def test_who_is_interrupted_goes_on_later():
    with pytest.raises(UserError, match=r"interrupted; the \d+ prompts that were scored are kept") as stop:
        score(Stopped(), FEW)
    assert stop.value.exit_code == 130
    assert score(Named(), FEW).n_before > 0
