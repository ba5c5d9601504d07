"""How often the parser and the recorded archive's own numbers are right, against 100 texts of it labelled by hand.

The labels hold every row on which the two disagreed when they were written, filled up to 100 with rows drawn at random
(seed 20260224) from those on which they agreed. No recorded text is kept here.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.tools.labels import lines_and_readings, read_labels

LABELS = Path(__file__).with_name("labelled_disagreements.csv")


class Quality(NamedTuple):
    """How many of the numbers found are the stated ones, and how many of the stated ones are found."""

    precision: float
    recall: float


def quality(numbers, labels):
    """Compare numbers with labels, position by position; None is no number."""
    right = sum(number == label for number, label in zip(numbers, labels, strict=True) if label is not None)
    return Quality(right / sum(n is not None for n in numbers), right / sum(label is not None for label in labels))


@pytest.fixture(scope="module")
def labelled():
    return read_labels(LABELS)


@pytest.fixture(scope="module")
def compared(labelled, recorded_archive):
    """The labelled rows with the recorded number and the reader's reading beside the label."""
    found = lines_and_readings(labelled, recorded_archive)
    return [
        {**row, "recorded": line["response"], "reading": reading}
        for row, (line, reading) in zip(labelled, found, strict=True)
    ]


def test_the_labels_are_100_rows_each_labelled_once(labelled):
    assert len({(row["source_file"], row["source_line"]) for row in labelled}) == len(labelled) == 100
    assert {row["kind"] for row in labelled} == {"disagreement", "agreement"}
    for row in labelled:
        assert (row["label"] is not None) == (row["label_status"] == "answered")


def test_quality_counts_wrong_and_missing_numbers():
    assert quality([1, 2, None, 4], [1, 3, 3, None]) == (1 / 3, 1 / 3)


def test_the_parser_is_as_right_as_it_was_when_labelled(compared):
    labels = [row["label"] for row in compared]
    parser = quality([row["reading"]["response"] for row in compared], labels)
    assert parser.precision >= 0.98
    assert parser.recall == 1


def test_the_parser_calls_refusals_refusals(compared):
    refused = [row["reading"]["status"] for row in compared if row["label_status"] == "refused"]
    assert refused.count("refused") / len(refused) >= 0.94


def test_the_recorded_numbers_are_wrong_wherever_the_two_disagreed(compared):
    recorded = quality([row["recorded"] for row in compared], [row["label"] for row in compared])
    assert recorded == (50 / 87, 50 / 83)
    disagreements = [row for row in compared if row["kind"] == "disagreement"]
    assert not any(row["recorded"] == row["label"] for row in disagreements)
