"""Tables of counts: what a source publishes of runs without their answers."""

import json

import pytest

from ingest.run import main

NAME = "1_bias_sensitivity_model={}.data_model_list=['gpt-4.1-mini', 'x']{}.json"
HEADER = "llm,paradigm,arm,technique,value,n,n_clusters"
ROW = "gpt-4.1,framing,gain,no_technique,1,30,8"


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
    path.write_text(f"{HEADER}\n{ROW}\n{ROW.replace(',1,30,', ',0,10,')}\n")
    assert main(["--archive", str(path), "--study", "flips"]) == 0
    assert query("select study, archive, measure, vignette, value, n from raw.counts order by value") == [
        ("flips", "counts", "chose_sure", "two_plans", 0.0, 10),
        ("flips", "counts", "chose_sure", "two_plans", 1.0, 30),
    ]


@pytest.mark.parametrize(
    "row",
    [
        ROW.replace("framing", "fortune"), ROW.replace("gain", "profit"), ROW.replace(",30,", ",many,"),
        ROW.replace(",30,", ",-1,"), ROW.replace("gpt-4.1", ""),
    ],
    ids=["an unknown paradigm", "an unknown arm", "no number", "fewer than none", "no LLM"],
)  # fmt: skip
def test_a_count_that_cannot_be_is_one_sentence_and_nothing_lands(archive, warehouse, capsys, golden, row):
    path = archive / "counts.csv"
    path.write_text(f"{HEADER}\n{ROW}\n{row}\n")
    assert main(["--archive", str(path), "--format", "counts", "--study", "flips"]) == 2
    assert not warehouse.exists()
    golden(capsys.readouterr().err)
