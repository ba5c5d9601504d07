"""The study that the project makes itself."""

import pyarrow.compute as pc
import pytest

from ingest.load import TRIALS
from ingest.run import main
from ingest.synthetic import LLMS, TECHNIQUES, VIGNETTES, round_half_up, synthetic_trials


@pytest.fixture(scope="module")
def trials():
    return synthetic_trials().to_pandas()


def test_the_same_seed_gives_the_same_trials_and_another_seed_others():
    assert synthetic_trials() == synthetic_trials()
    ids = [set(synthetic_trials(seed)["trial_id"].to_pylist()) for seed in (1, 2)]
    assert ids[0].isdisjoint(ids[1])


def test_every_row_is_labelled_synthetic_and_has_an_id_of_its_own(trials):
    assert synthetic_trials().schema == TRIALS
    assert set(trials["study"]) == set(trials["source"]) == {"synthetic"}
    assert all(llm.startswith("synthetic/") for llm in trials["llm_recorded"])
    assert trials["trial_id"].is_unique


def test_it_has_an_llm_that_always_gives_one_answer(trials):
    baselines = trials[(trials["llm_recorded"] == "synthetic/constant") & (trials["anchor_direction"] == "none")]
    assert set(baselines["vignette"]) == set(VIGNETTES)
    assert (baselines.groupby("vignette")["response_recorded"].nunique() == 1).all()


def test_it_has_an_llm_without_a_baseline(trials):
    without = set(LLMS) - set(trials.loc[trials["anchor_direction"] == "none", "llm_recorded"])
    assert without == {"synthetic/latecomer"}


def test_it_has_refusals_with_their_text_and_no_response(trials):
    refused = trials[trials["status_recorded"] == "refused"]
    assert set(refused["llm_recorded"]) == {"synthetic/refuser"}
    assert refused["response_recorded"].isna().all()
    assert set(refused["response_text"]) == {"I would rather not decide this."}
    assert trials.loc[trials["status_recorded"].isna(), "response_recorded"].notna().all()


def test_it_has_every_technique_under_both_anchors_and_first_answers_for_sacd_alone(trials):
    anchored = trials[trials["anchor_direction"] != "none"]
    cells = set(zip(anchored["technique"], anchored["anchor_direction"], strict=True))
    assert cells == {(technique, direction) for technique in TECHNIQUES for direction in ("low", "high")}
    assert set(trials.loc[trials["first_response"].notna(), "technique"]) == {"sacd"}


def test_without_arguments_it_lands_and_a_second_run_adds_nothing(query, capsys):
    assert main([]) == 0
    n = pc.count(synthetic_trials()["trial_id"]).as_py()
    assert query("select count(*), count(distinct trial_id) from raw.trials") == [(n, n)]
    assert main([]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert f"{n:,} trials, {n:,} added, 0 already there" in first
    assert f"{n:,} trials, 0 added, {n:,} already there" in second
    assert all("no LLM was asked" in line for line in (first, second))


def test_it_stands_beside_recorded_trials(archive, make, query):
    make.file(archive / "a.jsonl", make.baseline())
    assert main(["--archive", str(archive)]) == 0
    assert main([]) == 0
    assert query("select study, count(*) > 0 from raw.trials group by study order by study") == [
        ("synthetic", True),
        ("voder-bais", True),
    ]


@pytest.mark.parametrize(("value", "rounded"), [(12.5, 13), (13.5, 14), (12.49, 12), (-0.5, 0)])
def test_halves_are_rounded_up(value, rounded):
    assert round_half_up(value) == rounded
