"""How often the reader is right on 100 of SACD's last turns, labelled by their text alone before it read them.

The labels name a text by file and line; no recorded text is kept here. In each stratum those with the smallest md5 of
"20261121 FILE LINE" were drawn: 60 of Haiku's revised answers that the archive cut at 500 signs, 16 of other LLMs', 8
(there are 5) that are whole and more than a number, 3 numbers alone, and of the looks back at an unrevised answer 8 cut
and 8 whole ones. `refused`: the text says that it gives no number; `unparsed`: it does neither, or not before it ends.
"""

from pathlib import Path

import pytest
from scipy.stats import binomtest

from tests.tools.labels import lines_and_readings, read_labels

LABELS = Path(__file__).with_name("labelled_sacd.csv")


@pytest.fixture(scope="module")
def labelled():
    return read_labels(LABELS)


@pytest.fixture(scope="module")
def answers(labelled, recorded_archive):
    """The labelled answers, without looks back, with what is read in their texts."""
    found = lines_and_readings(labelled, recorded_archive)
    return [
        {**row, **reading, "is_cut": len(line["iterationDetails"][-1]["rawResponse"]) == 500}
        for row, (line, reading) in zip(labelled, found, strict=True)
        if line["iterationDetails"][-1]["biasDetected"]
    ]


def share(rows, is_right):
    """Return how many rows are right, of how many, and the bounds of Clopper and Pearson in percent."""
    n_right = sum(map(is_right, rows))
    bounds = binomtest(n_right, len(rows)).proportion_ci(method="exact")
    return n_right, len(rows), round(100 * bounds.low), round(100 * bounds.high)


def test_the_labels_are_100_texts_each_labelled_once(labelled):
    assert len({(row["source_file"], row["source_line"]) for row in labelled}) == len(labelled) == 100
    for row in labelled:
        assert (row["label"] is not None) == (row["label_status"] == "answered")
        assert row["label_status"] == "unparsed" or not row["stratum"].startswith("a look")


def test_refusals_are_read_as_the_methodology_says(answers):
    read = [row for row in answers if row["status"] == "refused"]
    refused = [row for row in answers if row["label_status"] == "refused"]
    assert share(read, lambda row: row["label_status"] == "refused") == (32, 36, 74, 97)
    assert share(refused, lambda row: row["status"] == "refused") == (32, 34, 80, 99)


def test_no_number_that_a_text_states_is_read_wrong_or_missed(answers):
    stated = [row for row in answers if row["label"] is not None]
    assert share(stated, lambda row: row["response"] == row["label"]) == (29, 29, 88, 100)
    whole = [row for row in answers if not row["is_cut"] and row["response"] is not None]
    assert share(whole, lambda row: row["response"] == row["label"]) == (8, 8, 63, 100)


def test_what_is_read_in_a_cut_text_need_not_be_its_answer(answers):
    cut = [row for row in answers if row["is_cut"] and row["response"] is not None]
    assert share(cut, lambda row: row["response"] == row["label"]) == (21, 23, 72, 99)
