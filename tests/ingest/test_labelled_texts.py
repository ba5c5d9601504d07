"""How often the reader is right on 300 recorded texts that were labelled before it had read them.

The labels name a text by file and line; no recorded text is kept here. They were drawn at random (seed 20261121) from
the loan, medical and salary texts: 9 numbers alone of each vignette and LLM, all 37 on which an earlier reader and the
archive disagreed, and longer texts by vignette, LLM and whether the archive has a number of them.
"""

from pathlib import Path

import pytest
from scipy.stats import binomtest

from tests.tools.labels import lines_and_readings, read_labels

LABELS = Path(__file__).with_name("labelled_texts.csv")


@pytest.fixture(scope="module")
def labelled():
    return read_labels(LABELS)


@pytest.fixture(scope="module")
def read(labelled, recorded_archive):
    """The labelled rows with what is read in their texts."""
    found = lines_and_readings(labelled, recorded_archive)
    return [{**row, **reading} for row, (_, reading) in zip(labelled, found, strict=True)]


def rate(rows, is_right):
    """Return how many rows are right, of how many, with the Wilson interval of that share."""
    n_right = sum(map(is_right, rows))
    return (
        n_right / len(rows),
        f"{n_right} of {len(rows)}",
        binomtest(n_right, len(rows)).proportion_ci(method="wilson"),
    )


def test_the_labels_are_300_texts_each_labelled_once(labelled):
    assert len({(row["source_file"], row["source_line"]) for row in labelled}) == len(labelled) == 300
    assert {row["label_status"] for row in labelled} == {"answered", "refused"}
    for row in labelled:
        assert (row["label"] is not None) == (row["label_status"] == "answered")


def test_the_reader_is_right_on_texts_that_were_labelled_before_it_read_them(read):
    def is_right(row):
        return row["response"] == row["label"]

    precision = rate([row for row in read if row["response"] is not None], is_right)
    recall = rate([row for row in read if row["label"] is not None], is_right)
    refusals = rate([row for row in read if row["label_status"] == "refused"], lambda row: row["status"] == "refused")
    wrong = [(row["source_file"], row["source_line"]) for row in read if row["status"] != row["label_status"]]
    found = {"precision": precision, "recall": recall, "refusals": refusals, "other status": wrong}
    assert precision[0] >= 0.995, found
    assert recall[0] >= 0.97, found
    assert refusals[0] >= 0.95, found
