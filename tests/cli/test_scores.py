"""Scores of document D's shape, with invented values: what an import, the gate and the models make of them."""

import contextlib
import csv
import itertools
import json
import math
import shutil

import duckdb
import numpy as np
import pytest
import yaml
from pandas.testing import assert_frame_equal

from bais.exported import citation, studies_of
from bais.main import main
from bais.past import KNOWN_THEN, copy_known, version_asked
from ingest.gate.acts import last_verdicts
from ingest.gate.audit import audit
from ingest.land.models import Models, query_of
from ingest.land.raw import TABLES
from ingest.scoring.landed import load_scored
from ingest.scoring.scorer import score
from ingest.warehouse import in_memory, quoted
from tests.ingest.scoring.tiny import Named, questions_of

HEADER = [
    "VariationID", "Anchor", "TargetToken", "LogProbFullPrompt", "Shapley_scene", "Shapley_comparative",
    "Shapley_absolute", "Shapley_anchor", "TargetInt",
]  # fmt: skip
N_SCORED = 24 * 101 * 2  # prompts of a variation, targets, rules
BUILD = (
    "build",
    "--select",
    "+sensitivity_scores",
    "soft_expectations",
    "+attribution_distributions",
    "--exclude-resource-type",
    "test",
    "unit_test",
)
ANCHORS = {"standard": {0: (10, 65), 1: (10, 65)}, "different_anchors": {0: (10, 65), 1: (15, 70)}}


def lines_of(regime, seed=0):
    """Two variations of two anchors of 101 targets; V0 is the same in both regimes."""
    found = []
    for variation, anchors in ANCHORS[regime].items():
        for anchor in anchors:
            rng = np.random.default_rng([seed, variation, anchor])
            for target in range(101):
                values = [round(float(v), 6) for v in (-9 - rng.random(), *rng.normal(size=4))]
                found.append(dict(zip(HEADER, [variation, anchor, f"{target}%", *values, target], strict=True)))
    return found


def write(folder, llm, regime, lines=None, header=HEADER):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"anchoring_{llm}_results_{regime}.csv"
    with open(path, "w", newline="") as stream:
        writer = csv.DictWriter(stream, header)
        writer.writeheader()
        writer.writerows(lines_of(regime) if lines is None else lines)
    return path


@pytest.fixture(scope="module")
def once_imported(tmp_path_factory):
    """The folder of a warehouse into which the scores of `here` were imported once for all tests that begin so."""
    folder = tmp_path_factory.mktemp("imported")
    for regime in ANCHORS:
        write(folder / "scores", "gpt2", regime)
    (folder / "w").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(folder / "w" / "warehouse.duckdb"))
        assert main(["import", str(folder / "scores"), "--format", "anchoring-llms"]) == 0
    return folder / "w"


@pytest.fixture
def imported(here, once_imported):
    """The folder of scores and its warehouse, into which it was imported."""
    shutil.copytree(once_imported, here.path.parent, dirs_exist_ok=True)
    return here


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """A folder of scores of one LLM, and what commands say of it in a warehouse of its own."""
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "w" / "warehouse.duckdb"))
    (tmp_path / "w").mkdir()
    for regime in ANCHORS:
        write(tmp_path / "scores", "gpt2", regime)

    class Here:
        folder = tmp_path / "scores"
        path = tmp_path / "w" / "warehouse.duckdb"

        def run(self, *arguments, expect=0):
            capsys.readouterr()
            code = main([str(argument) for argument in arguments])
            said = capsys.readouterr()
            assert code == expect, said.out + said.err
            return said.out + said.err

        def rows(self, sql):
            with contextlib.closing(duckdb.connect(str(self.path), read_only=True)) as warehouse:
                return warehouse.sql(sql).fetchall()

        def accepted(self):
            """Return what the marts are made of, as dbt would make it."""
            with contextlib.closing(in_memory()) as memory:
                memory.execute(f"attach {quoted(self.path)} as warehouse (read_only)")
                models = Models(memory, {"raw": "warehouse.raw"}, {})
                return memory.sql(f"from {models.ref('int_scores_accepted')} order by score_id").df()

    return Here()


def test_files_are_recognised_by_their_names_and_landed_line_by_line(here, golden):
    write(here.folder, "some_new_llm", "standard")
    (here.folder / "bss_by_model.csv").write_text("a,b\n1,2\n")
    said = here.run("import", here.folder)
    assert "3 files of scores" in said
    golden(said, "1,212 scores", "1,212 new", "0 changed")
    golden(said, "bss_by_model.csv")
    golden(said, "seeds/llm_aliases.csv", "404", "some_new_llm")
    ((line, target, probability, anchor_value),) = here.rows(
        "select line, target, log_probability, banzhaf_anchor from raw.attribution_scores "
        "where llm_recorded = 'gpt2' and variation = 'V1-D' and anchor = 70 and target = 10"
    )
    recorded = next(
        line for line in lines_of("different_anchors") if (line["Anchor"], line["TargetToken"]) == (70, "10%")
    )
    assert json.loads(line) == {name: str(value) for name, value in recorded.items()}
    assert (target, probability, anchor_value) == (10, recorded["LogProbFullPrompt"], recorded["Shapley_anchor"])
    assert here.rows("select count(*), count(distinct vignette), any_value(source) from raw.batches") == [
        (6, 3, "scored")
    ]


@pytest.mark.slow("imports again and again")
def test_a_second_import_adds_nothing_wherever_the_folder_lies(imported, tmp_path, golden):
    counts = "select (select count(*) from raw.attribution_scores), (select count(*) from raw.source_versions)"
    assert imported.rows(counts) == [(808, 1)]
    shutil.copytree(imported.folder, tmp_path / "copied")
    for folder in (imported.folder, tmp_path / "copied", imported.folder / "anchoring_gpt2_results_standard.csv"):
        said = imported.run("import", folder)
        assert "source scores" in said
        golden(said, "nothing has changed")
    assert imported.rows(counts) == [(808, 1)]


def test_the_columns_order_and_further_columns_change_nothing_of_a_scoring(imported):
    shuffled = [*reversed(HEADER), "Error"]
    write(imported.folder, "gpt2", "standard", [line | {"Error": ""} for line in lines_of("standard")], shuffled)
    said = imported.run("import", imported.folder)
    assert "0 new, 808 unchanged, 0 changed" in said
    as_text = [{name: line[name] for name in HEADER[:-1]} for line in lines_of("standard")]
    write(imported.folder, "gpt2", "standard", as_text, HEADER[:-1])
    assert "0 new, 808 unchanged, 0 changed" in imported.run("import", imported.folder)
    assert imported.rows("select count(*) from raw.attribution_scores") == [(808,)]


def test_v0_stands_in_the_tables_once_and_from_the_standard_file(here):
    lines = lines_of("different_anchors")
    for line in lines:
        line["LogProbFullPrompt"] -= 0.005 * (line["VariationID"] == 0)
    write(here.folder, "gpt2", "different_anchors", lines)
    assert "disagree" not in here.run("import", here.folder)
    assert here.rows("select count(*) from raw.attribution_scores where variation = 'V0'") == [(404,)]
    accepted = here.accepted()
    assert set(accepted["llm"]) == {"openai/gpt2"}
    assert set(accepted["scoring_set"]) == {"scores/gpt2"}
    assert accepted.groupby("variation").size().to_dict() == {"V0": 202, "V1-D": 202, "V1-S": 202}
    assert accepted.query("variation == 'V0'")["scoring"].str.startswith("gpt2/standard@").all()
    directions = accepted.groupby(["variation", "anchor"])["anchor_direction"].first().to_dict()
    assert directions[("V1-D", 15.0)] == "low"
    assert directions[("V1-D", 70.0)] == "high"


def test_a_score_that_is_no_number_is_kept_with_its_error_and_quarantined(here, golden):
    lines = [line | {"Error": ""} for line in lines_of("standard")]
    for name in HEADER[3:8]:
        lines[5][name] = "nan"
    lines[5]["Error"] = 'CUDA out of memory, "tried"\nto allocate'
    lines[6]["LogProbFullPrompt"] = 0.5
    write(here.folder, "gpt2", "standard", lines, ["Error", *HEADER])
    said = here.run("import", here.folder)
    golden(said, "above_zero", "not_finite", "2 quarantined")
    assert here.rows("select target, log_probability from raw.attribution_scores where error is not null") == [
        (5, None)
    ]
    (detail,), (above_zero,) = here.rows("select detail from raw.flagged_trials order by reason desc")
    golden(above_zero)
    assert "5% under anchor 10" in detail
    assert "CUDA out of memory" in detail
    assert len(here.accepted()) == 3 * 202 - 2


def test_a_cell_without_all_targets_fails_its_batch_alone(here, golden):
    lines = lines_of("standard")
    assert (lines[-1]["VariationID"], lines[-1]["Anchor"]) == (1, 65)
    write(here.folder, "gpt2", "standard", lines[:-1])
    said = here.run("import", here.folder, expect=6)
    golden(said, "missing_target", "FAILED")
    assert set(here.accepted()["variation"]) == {"V0", "V1-D"}
    ((detail,),) = here.rows("select detail from raw.batch_checks where not is_passed")
    golden(detail)
    write(here.folder, "gpt2", "standard", [line for line in lines_of("standard") if line["Anchor"] == 10])
    assert "V1-S of anchoring-llms failed" in here.run("import", here.folder, expect=6)  # it has one anchor


def test_two_scorings_that_disagree_are_both_named(here, golden):
    lines = lines_of("different_anchors")
    lines[7]["LogProbFullPrompt"] += 0.02
    write(here.folder, "gpt2", "different_anchors", lines)
    golden(here.run("import", here.folder), "V0", "scorings_disagree", "2 batches")
    for (detail,) in here.rows("select detail from raw.batch_checks where not is_passed"):
        assert "openai/gpt2, V0 under anchor 10.0: 1 target differs" in detail
        assert "gpt2/standard@" in detail
        assert "gpt2/different_anchors@" in detail
        assert "0.02 nats" in detail


def scored_here(scene=None, **of_llm):
    """Score the first question under S with a tiny LLM of which something is changed, and load it; return its name."""
    llm = Named(kind="split_digits", bos=True, seed=of_llm.pop("seed", 0))
    for name, value in of_llm.items():
        setattr(llm, name, value)
    asked = questions_of("V1-S")
    if scene:
        asked = asked.model_copy(update={"questions": [asked.questions[0].model_copy(update={"scene": scene})]})
    scoring = score(llm, asked)
    load_scored(scoring.path)
    return scoring.scoring


def disagreements(here):
    """Return by batch what the last audit says of scorings that disagree."""
    return {
        verdict["batch_id"]: check["detail"]
        for verdict in last_verdicts()
        for check in verdict["checks"]
        if check["check_name"] == "scorings_disagree"
    }


@pytest.mark.slow("imports again and again")
def test_a_scoring_that_was_computed_here_is_compared_with_the_recorded_one_whose_dtype_nobody_knows(here, golden):
    scoring = scored_here(name="openai-community/gpt2")
    computed = here.rows(
        f"select anchor, target, log_probability from ({query_of('int_scores_landed')}) where variation = 'V1-S'"
    )
    of_cell = {(anchor, target): log_probability for anchor, target, log_probability in computed}
    lines = lines_of("standard")
    for line in lines:
        if line["VariationID"] == 1:
            line["LogProbFullPrompt"] = of_cell[line["Anchor"], line["TargetInt"]]
    lines[-1]["LogProbFullPrompt"] += 0.02
    write(here.folder, "gpt2", "standard", lines)
    golden(here.run("import", here.folder), "V1-S", "scorings_disagree", "2 batches")
    ((recorded,),) = here.rows("select distinct scoring from raw.attribution_scores where variation = 'V1-S'")
    details = {detail.split(", by up to")[0]: detail for detail in disagreements(here).values()}
    assert details.keys() == {
        f"openai/gpt2, V1 under anchor 65.0: 1 target differs between {one} and {other}"
        for one, other in ((scoring, recorded), (recorded, scoring))
    }
    assert all(detail.endswith(f"0.02 nats; no dtype is recorded of {recorded}") for detail in details.values())


@pytest.mark.slow("imports again and again")
def test_two_scorings_are_compared_with_each_other_where_dtype_and_words_are_the_same(here):
    first, again = scored_here(), scored_here(revision="2", seed=1)
    scored_here(revision="3", seed=2, dtype="float32")
    scored_here("Somebody said ", revision="4", seed=3)
    audit()
    found = disagreements(here)
    assert sorted(batch.split("/", 1)[1] for batch in found) == sorted(f"{name}/V1-S" for name in (first, again))
    for detail in found.values():
        assert f"{first} and {again}" in detail or f"{again} and {first}" in detail
        assert detail.endswith(" nats")


@pytest.mark.slow("imports again and again")
def test_a_replaced_scoring_is_compared_with_no_other(here):
    lines = lines_of("standard")
    lines[0]["LogProbFullPrompt"] -= 5
    write(here.folder, "gpt2", "standard", lines)
    assert "scorings_disagree" in here.run("import", here.folder)
    write(here.folder, "gpt2", "standard")
    assert "scorings_disagree" not in here.run("import", here.folder)
    others = write(here.folder, "gpt2", "different_anchors", lines_of("different_anchors")[:-1])
    assert "scorings_disagree" not in here.run("import", others, expect=6)


@pytest.mark.slow("imports again and again")
def test_the_licence_of_recorded_scores_is_not_that_of_scores_which_were_computed_with_bais(here, golden):
    def said_of_the_study():
        with contextlib.closing(duckdb.connect(str(here.path), read_only=True)) as warehouse:
            studies = studies_of(warehouse, None)
        (study,), (cited,) = studies, yaml.safe_load(citation(studies))["references"]
        return study, cited["notes"]

    scored_here()
    study, notes = said_of_the_study()
    assert (study["source"], study["n_scores"]) == ("computed scores", N_SCORED)
    golden(study["licence"])
    golden(study["cite"])
    golden(notes)
    here.run("import", here.folder)
    study, notes = said_of_the_study()
    golden(study["licence"], "CC-BY-4.0")
    golden(study["cite"])
    assert notes == "The study anchoring-llms."


def test_counts_of_scores_are_called_scores(imported):
    verdicts = json.loads(imported.run("check", "--json"))
    assert {(verdict["is_scored"], verdict["n_trials"]) for verdict in verdicts} == {(True, 202)}
    of_one = imported.run("check", "--batch", verdicts[0]["batch_id"]).splitlines()
    (counted,) = [line for line in of_one if line.split()[-1:] == ["202"]]
    assert counted.split()[0] == "scores"


def test_a_changed_score_supersedes_its_scoring_and_nothing_is_deleted(imported, golden):
    before = imported.accepted()
    lines = lines_of("standard")
    lines[0]["LogProbFullPrompt"] -= 5
    lines[-1]["LogProbFullPrompt"] -= 5
    write(imported.folder, "gpt2", "standard", lines)
    said = imported.run("import", imported.folder)
    assert "0 new, 404 unchanged, 404 changed" in said
    golden(said, "V0", "scorings_disagree")  # with the other file
    assert "V1-S of anchoring-llms passed\n" in said  # and not with what it replaces
    after = imported.accepted()
    assert len(after) == len(before)
    keys = ["variation", "anchor", "target"]
    both = before.merge(after, on=keys)
    moved = both[both["log_probability_x"] != both["log_probability_y"]]
    assert moved[keys].values.tolist() == [["V0", 10.0, 0], ["V1-S", 65.0, 100]]
    assert imported.rows("select count(*) from raw.attribution_scores") == [(1212,)]
    assert "nothing has changed" in imported.run("import", imported.folder)
    assert "anchoring_gpt2_results_standard.csv" in imported.run("versions", "scores", "--json")
    versions = imported.rows(
        "select version_id, compared_with, n_changed from raw.source_versions order by imported_at"
    )
    assert versions[1][1:] == (versions[0][0], 404)
    said = json.loads(imported.run("versions", "scores", "--json"))
    assert [(of["n_superseded"], of["is_newest"]) for of in said] == [(0, False), (404, True)]
    golden(imported.run("versions", "scores"))
    of_replaced = {of["batch_id"].rpartition("/")[0]: of for of in last_verdicts() if of["n_superseded"]}
    assert {(of["n_superseded"], of["is_replaced"]) for of in of_replaced.values()} == {(202, True)}
    assert sorted(name.rpartition("/")[2] for name in of_replaced) == ["V0", "V1-S"]


@pytest.mark.slow("imports again and again")
def test_a_version_says_what_is_gone_and_the_whole_of_a_source_withdraws_it(imported, golden):
    (imported.folder / "anchoring_gpt2_results_different_anchors.csv").unlink()
    assert "nothing has changed" in imported.run("import", imported.folder)
    assert len(imported.accepted()) == 606
    golden(imported.run("import", imported.folder, "--complete"), "404 scores")
    assert set(imported.accepted()["variation"]) == {"V0", "V1-S"}
    write(imported.folder, "gpt2", "different_anchors")
    assert "404 new" in imported.run("import", imported.folder)
    assert len(imported.accepted()) == 606
    assert imported.rows("select count(*) from raw.attribution_scores") == [(808,)]


def test_a_folder_that_is_only_told_by_what_it_shares_is_not_the_whole_of_a_source(imported, tmp_path):
    part = tmp_path / "part"
    part.mkdir()
    shutil.copy(imported.folder / "anchoring_gpt2_results_standard.csv", part)
    said = imported.run("import", part, "--complete", expect=2)
    assert "only told by what they share: say so with --source" in said
    assert len(imported.accepted()) == 606


def test_one_file_is_not_the_whole_of_its_source_and_an_older_version_publishes_nothing(imported, golden):
    file = imported.folder / "anchoring_gpt2_results_standard.csv"
    golden(imported.run("import", file, "--complete", expect=2), "anchoring_gpt2_results_standard.csv")
    write(imported.folder, "gpt2", "standard", lines_of("standard", seed=1))
    before = imported.accepted()
    said = imported.run("import", imported.folder, "--older")
    golden(said, "older version")
    assert imported.accepted().equals(before)
    assert "nothing has changed" in imported.run("import", imported.folder, "--older")


BAD = [
    ({"Anchor": "much"}, "Anchor is no number: much"),
    ({"VariationID": "0.5"}, "VariationID is no whole number from 0 on: 0.5"),
    ({"TargetToken": "ten", "TargetInt": "ten"}, "TargetToken is no number: ten"),
    ({"TargetToken": "ten"}, "TargetToken is no number: ten"),
    ({"TargetInt": ""}, "TargetInt is no number: "),
    ({"TargetToken": "11%"}, "the target is no whole percentage: 11%"),
    ({"TargetToken": "300%", "TargetInt": 300}, "the target is no whole percentage: 300%"),
    ({"TargetToken": "3%", "TargetInt": 3}, "line 5 has the same variation, anchor and target"),
]


def test_lines_that_are_no_scores_are_set_apart_with_their_reasons(here, golden):
    lines = lines_of("standard")
    for number, (change, _) in enumerate(BAD, 50):
        lines[number] |= change
    write(here.folder, "gpt2", "standard", lines)
    said = here.run("import", here.folder, expect=6)  # their cell lacks targets
    golden(said, "anchoring_gpt2_results_standard.csv:52:")
    found = here.rows("select line_number, reason from raw.quarantined_lines order by line_number")
    assert found == [(number, reason) for number, (_, reason) in enumerate(BAD, 52)]


NO_SCORES = [
    (b"a,b\n1,2\n", "no file of scores: it has no column VariationID"),
    (b"", "no file of scores: it is empty"),
    (",".join(HEADER).encode() + b"\n", "no file of scores: it has no line below its header"),
    (",".join([*HEADER, "Anchor"]).encode() + b"\n", "no file of scores: it has the column Anchor twice"),
    (",".join(HEADER).encode() + b"\n0,10,\xff%,1,1,1,1,1,0\n", "not UTF-8: byte 0xff"),
]


def test_files_that_hold_no_scores_are_set_apart_and_where_there_is_no_other_refused(here, golden):
    (here.folder / "anchoring_gpt2_results_standard.csv").unlink()
    for i, (content, _) in enumerate(NO_SCORES):
        (here.folder / f"anchoring_bad{i}_results_standard.csv").write_bytes(content)
    said = here.run("import", here.folder, expect=3)
    for i, (_, reason) in enumerate(NO_SCORES):
        assert f"anchoring_bad{i}_results_standard.csv: {reason}" in said.replace("csv:1:", "csv:")
    assert len(here.accepted()) == 404
    (here.folder / "anchoring_gpt2_results_different_anchors.csv").unlink()
    for i in range(len(NO_SCORES)):
        file = here.folder / f"anchoring_bad{i}_results_standard.csv"
        said = here.run("import", file, expect=2)
        assert said.count("\n") == 1
        golden(said, file.name)


def test_a_rejected_batch_is_not_published(imported):
    ((batch,),) = imported.rows("select batch_id from raw.batches where vignette = 'V1-D'")
    imported.run("reject", batch, "--why", "another LLM")
    assert set(imported.accepted()["variation"]) == {"V0", "V1-S"}


def test_one_file_is_a_file_and_not_1_files(here):
    assert "1 file of scores" in here.run("import", here.folder / "anchoring_gpt2_results_standard.csv")


def test_scores_are_withdrawn_by_the_batch(imported, golden):
    ((batch, scoring),) = imported.rows(
        "select distinct batch_id, scoring from raw.attribution_scores where variation = 'V1-D'"
    )
    for of_scores in (batch, scoring, f"{scoring}/V1-D", f"{scoring}/V1-D/70.0/3"):
        said = imported.run("withdraw", of_scores, "--why", "wrong", expect=2)
        golden(said, "is of scores")
        golden(said, "`bais reject BATCH`")
    golden(imported.run("withdraw", "0a1b", "--why", "wrong", expect=2), "0a1b")


def assert_contributions_are_those_of_all_sets(here):
    """Add each field to every set of the others; Shapley values weigh a set by its size, Banzhaf values do not."""
    fields = ("scene", "comparative", "absolute", "anchor")
    has = ", ".join(f"has_{field}" for field in fields)
    worth = {
        (anchor, target, frozenset(field for field, is_there in zip(fields, there, strict=True) if is_there)): score
        for anchor, target, score, *there in here.rows(
            f"select anchor, target, log_probability, {has} from staging.stg_scored_prompts "
            "join raw.target_scores using (scoring, prompt_hash) where rule = 'published'"
        )
    }
    expected = {}
    for anchor, target, field in itertools.product((10, 65), range(101), fields):
        shapley = banzhaf = 0
        others = [other for other in fields if other != field]
        for size in range(len(fields)):
            for some in map(frozenset, itertools.combinations(others, size)):
                added = worth[anchor, target, some | {field}] - worth[anchor, target, some]
                shapley += math.factorial(size) * math.factorial(3 - size) / math.factorial(4) * added
                banzhaf += added / 8
        expected[anchor, field, target] = (banzhaf, shapley)
    found = here.rows(
        "select anchor, field, target, banzhaf, shapley from papers.attributions where llm = 'tiny/numpy'"
    )
    assert len(found) == len(expected)
    for anchor, field, target, *values in found:
        assert values == pytest.approx(expected[anchor, field, target], abs=1e-9)
    boxes = here.rows(
        "select anchor, field, mean, median from papers.attribution_distributions "
        "where llm = 'tiny/numpy' and specification = 'recommended'"
    )
    for anchor, field, *statistics in boxes:
        values = [expected[anchor, field, target][1] for target in range(101)]
        assert statistics == pytest.approx([np.mean(values), np.median(values)], abs=1e-9)
    assert len(boxes) == 2 * len(fields)


@pytest.mark.slow("a whole warehouse there and back")
def test_exports_and_copies_of_the_past_take_scores_along_once(here, tmp_path, monkeypatch, warehouse_in):
    lines = lines_of("standard")
    lines[5]["LogProbFullPrompt"] = ""
    write(here.folder, "gpt2", "standard", lines)
    here.run("import", here.folder)
    scoring = score(Named(kind="byte_level", bos=True), questions_of("V1-S"))
    load_scored(scoring.path)
    assert [verdict.verdict for verdict in audit()] == ["passed"]
    everything = "select * exclude (_dlt_load_id) from raw.attribution_scores order by all"
    computed = "select * exclude (_dlt_load_id) from raw.target_scores order by all"
    before, raw, raw_computed = here.accepted(), here.rows(everything), here.rows(computed)
    here_scored = before["scoring"] == scoring.scoring
    assert (here_scored.sum(), set(before[here_scored]["llm"])) == (202, {"tiny/numpy"})
    assert before[here_scored]["shapley_anchor"].notna().all()
    assert before[~here_scored]["shapley_anchor"].isna().all()
    assert KNOWN_THEN.keys() == TABLES.keys()
    for archive, n_known in (("anchoring_llms", 0), ("bais-score", N_SCORED)):
        ((version,),) = here.rows(f"select version_id from raw.source_versions where archive = '{archive}'")
        copy_known(version_asked(version), tmp_path / f"{archive}.duckdb")
        with contextlib.closing(duckdb.connect(str(tmp_path / f"{archive}.duckdb"), read_only=True)) as then:
            assert then.sql("select count(*) from raw.target_scores").fetchall() == [(n_known,)]
    warehouse_in(here.path.parent).dbt("--quiet", *BUILD)
    assert here.rows(
        "select llm, count(abss), any_value(reason) from papers.sensitivity_scores "
        "where specification = 'shapley' and variation = 'V1-S' group by llm order by llm"
    ) == [("openai/gpt2", 0, "not_recoverable"), ("tiny/numpy", 1, None)]
    assert_contributions_are_those_of_all_sets(here)
    by_rule = (
        "with whole as (select distinct prompt_hash, if(has_anchor, anchor, null) as anchor "
        "from staging.stg_scored_prompts where n_fields = 4 or (n_fields = 3 and not has_anchor)) "
        "select rule, anchor, round(sum(target * exp(log_probability)) / sum(exp(log_probability)), 9) "
        "from raw.target_scores join whole using (prompt_hash) group by rule, anchor order by all"
    )
    published_and_aligned = (
        "select specification, anchor, round(soft_ev, 9) from papers.soft_expectations "
        "where specification in ('published', 'aligned') and llm = 'tiny/numpy' order by all"
    )
    assert here.rows(published_and_aligned) == here.rows(by_rule)
    assert len({soft_ev for *_, soft_ev in here.rows(by_rule)}) == 6  # two anchors and none, by two rules
    here.run("export", tmp_path / "out", "--format", "csv")
    studies = (tmp_path / "out" / "studies.csv").read_text()
    assert f"anchoring-llms,computed scores and recorded scores,false,0,{808 + N_SCORED}," in studies
    assert "CC-BY-4.0" in studies
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "back.duckdb"))
    here.path = tmp_path / "back.duckdb"
    for added in (808, 0):
        said = " ".join(here.run("import", tmp_path / "out").split())
        assert f"attribution_scores {added} added {808 - added} already" in said
        n_added, n_there = (N_SCORED + 808, 0) if added else (0, N_SCORED + 808)
        assert f"{n_added:,} scores added, {n_there:,} already" in said
        assert f"target_scores {N_SCORED * (added > 0):,} added {N_SCORED * (added == 0):,} already" in said
        assert here.rows(everything) == raw
        assert here.rows(computed) == raw_computed
    assert_frame_equal(here.accepted(), before, rtol=1e-12)  # the order of a sum's terms is another
    assert "nothing has changed" in here.run("import", here.folder)
