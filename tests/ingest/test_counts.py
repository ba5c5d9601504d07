"""Tables of counts: what a source publishes of runs without their answers."""

import json

import pyarrow as pa
import pytest

from bais.main import main as bais
from ingest.archives import counts
from ingest.land.models import query_of
from ingest.run import main

NAME = "1_bias_sensitivity_model={}.data_model_list=['gpt-4.1-mini', 'x']{}.json"
HEADER = "llm,paradigm,arm,technique,value,n,n_clusters,vignette,design_effect"
ROW = "gpt-4.1,framing,gain,no_technique,1,30,8"
OTHER = ROW.replace("gain", "loss")  # a condition of its own


def document(**biases):
    """One file of the archive: of each bias how many percent of how many pairs changed."""
    return json.dumps({
        bias.replace("_", " "): {"sensitivity": percent, "total_runs": n, "harmfulness": 0}
        for bias, (percent, n) in biases.items()
    })  # fmt: skip


@pytest.fixture
def counted(archive, query):
    """Import files by their names, and return what landed."""

    def bring(**files):
        archive.mkdir(parents=True, exist_ok=True)
        for said, content in files.items():
            llm, _, techniques = said.partition("/")
            (archive / NAME.format(llm, techniques)).write_text(content)
        assert main(["--archive", str(archive)]) == 0
        return query(
            "select llm_recorded, paradigm, measure, vignette, arm, technique, value, n, n_clusters from raw.counts "
            "order by ordinal, llm_recorded, technique, paradigm, value"
        )

    return bring


def test_a_file_says_by_its_name_which_llm_and_techniques_its_counts_are_of(counted, query):
    shared = ("anchoring_dilemmas", "changed", "anchoring_dilemmas", "pair")
    assert counted(**{
        "gpt-4o-mini/": document(anchoring_bias=(25.0, 12)),
        "gpt-4o-mini/.bias_warning=True.inject_axioms=True": document(anchoring_bias=(100 / 3, 9)),
    }) == [
        ("gpt-4o-mini", *shared, "bias_warning+inject_axioms", 0.0, 6, 2),
        ("gpt-4o-mini", *shared, "bias_warning+inject_axioms", 1.0, 3, 2),
        ("gpt-4o-mini", *shared, "no_technique", 0.0, 9, 3),
        ("gpt-4o-mini", *shared, "no_technique", 1.0, 3, 3),
    ]  # fmt: skip
    assert query("select study, paradigm, measure, is_unsigned from raw.paradigms") == [
        ("software-engineering-2026", "anchoring_dilemmas", "changed", True)
    ]
    assert query("select study, paradigm, goal from raw.families") == []


def test_the_same_counts_again_add_nothing_and_others_come_after_them(counted):
    once = counted(**{"gpt-4o-mini/": document(framing_effect=(50.0, 10))})
    assert counted(**{"gpt-4o-mini/": document(framing_effect=(50.0, 10))}) == once
    changed = counted(**{"gpt-4o-mini/": document(framing_effect=(60.0, 10))})
    assert changed[:2] == once
    assert [row[-2] for row in changed[2:]] == [4, 6]


def test_a_table_of_anybody_is_of_the_study_that_is_named(archive, make, query):
    path = archive / "counts.csv"
    path.write_text(f"{HEADER}\n{ROW},,\n{ROW.replace(',1,30,', ',0,10,')},,\n")
    assert main(["--archive", str(path), "--study", "flips"]) == 0
    assert query("select study, archive, measure, vignette, value, n from raw.counts order by value") == [
        ("flips", "counts", "chose_sure", "two_plans", 0.0, 10),
        ("flips", "counts", "chose_sure", "two_plans", 1.0, 30),
    ]


@pytest.mark.parametrize(
    "row",
    [
        ROW.replace("framing", "fortune"), ROW.replace("gain", "profit"), ROW.replace(",30,", ",many,"),
        ROW.replace(",30,", ",-1,"), ROW.replace("gpt-4.1", ""), ROW.replace(",30,", ",1_0,"),
        ROW.replace(",30,", ",9007199254740993,"), ROW.replace(",1,30,", ",nan,30,"), ROW.replace(",1,30,", ",0.5,30,"),
        ROW, ROW.replace(",8", ",7").replace(",1,", ",0,"), OTHER.replace(",8", ",0"), OTHER.replace(",8", ",31"),
        OTHER.replace(",30,", ",0,"), f"{OTHER},,0.5", f"{OTHER},,inf", f"{OTHER},third_plan,",
    ],
    ids=[
        "an unknown paradigm", "an unknown arm", "no number", "fewer than none", "no LLM", "no digits alone",
        "more than a double holds", "a value that is none", "a share between 0 and 1", "the same again",
        "other clusters in one condition", "no cluster", "more clusters than runs", "no run",
        "a variance made smaller", "a variance without end", "an unknown vignette",
    ],
)  # fmt: skip
def test_a_count_that_cannot_be_is_one_sentence_and_nothing_lands(archive, warehouse, capsys, golden, row):
    path = archive / "counts.csv"
    path.write_text("\n".join(line + "," * (8 - line.count(",")) for line in (HEADER, ROW, row)))
    assert main(["--archive", str(path), "--format", "counts", "--study", "flips"]) == 2
    assert not warehouse.exists()
    golden(capsys.readouterr().err)


def test_what_counts_take_the_place_of_is_said(archive, capsys):
    path = archive / "counts.csv"
    for row, said in ((ROW, ", new; counts"), (OTHER, ", new, in the place of 1 counts of 30 runs of study flips;")):
        path.write_text(f"{HEADER}\n{row},,\n")
        assert main(["--archive", str(path), "--study", "flips"]) == 0
        assert said in capsys.readouterr().out


def test_counts_of_what_a_study_has_answers_to_are_refused(archive, capsys, monkeypatch):
    (archive / "counts.csv").write_text(f"{HEADER}\n{ROW},,\n")
    answers = pa.table({"paradigm": ["framing", "framing", "decoy"]})
    monkeypatch.setattr(counts, "landed_ids", lambda *_: answers)
    assert main(["--archive", str(archive), "--study", "flips"]) == 2
    assert "study flips already has answers to framing, and counts of the same study" in capsys.readouterr().err


def test_an_llm_without_a_name_is_refused(archive, capsys):
    (archive / "1_bias_sensitivity_model=gpt-4o-mini.json").write_text(document(framing_effect=(50.0, 10)))
    assert main(["--archive", str(archive)]) == 2
    assert "llm is empty" in capsys.readouterr().err


def test_counts_of_a_study_are_withdrawn_and_restored_and_no_import_of_none_does_that(archive, query, capsys, golden):
    (archive / "counts.csv").write_text(f"{HEADER}\n{ROW},,\n")
    assert main(["--archive", str(archive), "--study", "flips"]) == 0
    (archive / "counts.csv").write_text(f"{HEADER}\n")
    capsys.readouterr()
    assert main(["--archive", str(archive), "--study", "flips"]) == 2
    left = []
    for act, study, code in (
        ("withdraw", "flops", 2), ("restore", "flips", 2), ("withdraw", "flips", 0), ("withdraw", "flips", 2),
        ("restore", "flips", 0),
    ):  # fmt: skip
        assert bais([act, "--counts", study, "--why", "a mistake"]) == code
        left += query(f"select count(*) from ({query_of('stg_counts')})")
    assert left == [(1,), (1,), (0,), (0,), (1,)]
    told = capsys.readouterr()
    golden(told.out + told.err)


def test_an_import_of_withdrawn_counts_says_that_they_stay_out(archive, capsys):
    (archive / "counts.csv").write_text(f"{HEADER}\n{ROW},,\n")
    for act, is_out in (("withdraw", True), ("restore", False)):
        assert main(["--archive", str(archive), "--study", "flips"]) == 0
        assert bais([act, "--counts", "flips", "--why", "a mistake"]) == 0
        capsys.readouterr()
        assert main(["--archive", str(archive), "--study", "flips"]) == 0
        told = capsys.readouterr().out
        assert ("`bais restore --counts flips --why TEXT` brings them back" in told) == is_out


def test_one_condition_in_two_files_is_refused_also_by_another_name_of_its_llm(archive, warehouse, capsys):
    for folder, llm in (("a", "anthropic/claude-haiku-4-5"), ("b", "anthropic/claude-haiku-4.5")):
        (archive / folder).mkdir(parents=True)
        (archive / folder / "counts.csv").write_text(f"{HEADER}\n{ROW.replace('gpt-4.1', llm)},,\n")
    assert main(["--archive", str(archive), "--study", "flips"]) == 2
    assert "should be in its condition once, and is in counts.csv:2 too" in capsys.readouterr().err
    assert not warehouse.exists()


def test_a_technique_that_nobody_declared_is_named(archive, capsys):
    (archive / "counts.csv").write_text(f"{HEADER}\n{ROW.replace('no_technique', 'premortemm')},,\n")
    assert main(["--archive", str(archive), "--study", "flips"]) == 0
    named = "unknown techniques, loaded under their own names: premortemm (1 counts) (perhaps premortem); give them"
    assert named in capsys.readouterr().out


@pytest.mark.parametrize(
    "content",
    [
        f"{HEADER}\n{ROW},,\n\"{OTHER},,\n",
        f"{HEADER}\n{ROW},,\n{OTHER},,\n".replace("t-4.1,framing,l", "t-4\x00,framing,l"),
        f"{HEADER},n\n{ROW},,,3\n", f"{HEADER.replace('n_clusters', 'n_cluster')}\n{ROW},,\n",
        f"{HEADER.replace('llm', 'LLM')}\n{ROW},,\n", f"{HEADER}\n{ROW},,1e308\n",
        f"{HEADER}\n{ROW},,\ngpt-4.1,framing\n",
        f"{HEADER}\n{ROW},,\n{OTHER.replace('gpt', 'gpté')},,\n".encode("latin-1"),
        f"{HEADER}\n{ROW},,\n {ROW.replace('no_technique', ' no_technique ')},,\n",
        f"{HEADER}\n{ROW},,\n{OTHER.replace('gpt-4.1', '  ')},,\n",
    ],
    ids=[
        "an open quote", "a control character", "a column twice", "nearly a column", "a column in capitals",
        "a variance larger than runs can make it", "a row too short", "another encoding", "the same but for blanks",
        "an LLM of blanks",
    ],
)  # fmt: skip
def test_a_file_that_is_no_table_of_counts_is_one_sentence_with_its_line(archive, warehouse, capsys, golden, content):
    path = archive / "counts.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main(["--archive", str(path), "--format", "counts", "--study", "flips"]) == 2
    assert not warehouse.exists()
    golden(capsys.readouterr().err)


def test_blanks_around_names_are_none_of_them_and_columns_of_other_things_are_named(archive, query, capsys):
    row = ROW.replace("gpt-4.1", " gpt-4.1 ").replace("no_technique", " no_technique")
    (archive / "counts.csv").write_text(f"{HEADER},study,filename\n{row},,,mine,here\n")
    assert main(["--archive", str(archive), "--study", "flips"]) == 0
    assert query("select llm_recorded, technique, study, source_file from raw.counts") == [
        ("gpt-4.1", "no_technique", "flips", "counts.csv")
    ]
    told = capsys.readouterr().out
    assert "columns that are none of counts, and are not read: study, filename" in told
    assert "unknown techniques" not in told
