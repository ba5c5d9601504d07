"""MiniLM in numpy: the published numbers of its weights, long texts, and document C's ten summaries; offline."""

import csv
import socket
from types import SimpleNamespace

import numpy as np
import pytest

from ingest.measuring import minilm
from ingest.measuring.e5 import E5
from ingest.measuring.vectors import cosine
from ingest.paradigms.paradigm import FOLDER
from ingest.paradigms.thirds import thirds
from ingest.warehouse import UserError

BATTERY = "The battery lasts two days."
TABLE_A8 = FOLDER / "table-a8.csv"


@pytest.fixture(scope="module")
def embedded():
    """MiniLM, where it is installed."""
    try:
        return minilm.MiniLm()
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)


@pytest.mark.parametrize(
    ("other", "cosine_known"),
    [
        ("One charge is enough for two days of use.", 0.48838),
        ("The court postponed the hearing until spring.", 0.10845),
    ],
)
def test_sentences_are_as_alike_as_its_weights_make_them(embedded, other, cosine_known):
    assert cosine(*embedded.vectors([BATTERY, other])) == pytest.approx(cosine_known, abs=1e-4)


def test_a_text_means_the_same_alone_and_among_others(embedded, monkeypatch):
    texts = [BATTERY, "One charge is enough.", "word " * 40, "Yes."]
    together = embedded.vectors(texts)
    monkeypatch.setattr(minilm, "TOKENS_AT_A_TIME", 1)
    for text, vector in zip(texts, together, strict=True):
        (alone,) = embedded.vectors([text])
        assert alone.direction == pytest.approx(vector.direction, abs=1e-6)


def test_two_long_texts_that_differ_at_the_end_alone_are_not_the_same(embedded):
    long = "word " * 3_590
    one, other = embedded.vectors([f"{long}and the end is good.", f"{long}but the end is bad."])
    assert one.n_windows == other.n_windows == 15
    assert 0.9 < cosine(one, other) < 1 - 1e-6


def test_a_text_without_a_token_has_a_reason(embedded):
    assert embedded.vectors(["\u200b"])[0].reason == "no_words"


def test_summaries_of_table_a8_are_nearest_to_the_beginning_of_their_reviews(embedded):
    """Document C, Table A8; the ten pairs measured with MiniLM instead of E5, so that the numbers are ours."""
    with open(TABLE_A8, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    similarities = []
    for row in rows:
        summary, *parts = embedded.vectors([row["summary"], *thirds(row["text"]).parts])
        similarities.append([cosine(summary, part) for part in parts])
    beginning, middle, end = np.mean(similarities, axis=0)
    assert (beginning, middle, end) == pytest.approx((0.688, 0.544, 0.544), abs=0.005)
    assert sum(of[0] - of[1] > 0.05 for of in similarities) == 8


class Tokens:
    """A tokenizer that makes a token of each letter."""

    def token_to_id(self, name):
        return ["[CLS]", "[SEP]"].index(name)

    def encode_batch(self, texts, *, add_special_tokens):
        assert not add_special_tokens
        return [SimpleNamespace(ids=list(text.encode())) for text in texts]


def test_no_window_is_longer_than_the_positions_that_its_llm_knows(monkeypatch):
    """The weights have 256 positions, two of which are taken by what stands around a text."""
    without_weights = minilm.MiniLm.__new__(minilm.MiniLm)
    without_weights._tokenizer = Tokens()
    lengths = []
    monkeypatch.setattr(
        minilm.MiniLm,
        "_read",
        lambda _, sequences: lengths.extend(map(len, sequences)) or [np.ones(2)] * len(sequences),
    )
    *_, empty = without_weights.vectors(["a" * 254, "a" * 255, "a" * 600, ""])
    assert max(lengths) == 256
    assert len(lengths) == 1 + 2 + 3
    assert empty.direction is None


def test_a_text_without_words_has_no_direction_in_e5_either():
    assert E5.__new__(E5)._vector([7], []).reason == "no_words"
