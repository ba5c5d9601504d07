"""Thirds: all of a text, cut where sentences end, in parts of nearly as many words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.paradigms.thirds import thirds
from ingest.texts.sentences import WORDS, sentences

PIECES = ("Yes. ", "It rained all day long. ", "Why? ", "Dr. Who ", "word ", "\n\n", "今天下雨。", "* ", "!")
texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@given(texts)
def test_sentences_put_together_are_the_text(text):
    assert "".join(sentences(text)) == text


@given(texts)
def test_thirds_put_together_are_the_text_and_each_has_a_word(text):
    cut = thirds(text)
    if len(WORDS.findall(text)) < 3:
        assert cut is None
    else:
        assert "".join(cut.parts) == text
        assert all(WORDS.search(part) for part in cut.parts)


def test_an_initial_and_a_title_end_no_sentence_and_a_closing_quotation_mark_belongs_to_its_sentence():
    assert sentences('Dr. A. Smith left. He said "no!" Then nothing.') == [
        "Dr. A. Smith left. ", 'He said "no!" ', "Then nothing.",
    ]  # fmt: skip


def test_a_text_is_cut_at_the_sentence_end_nearest_to_each_third_of_its_words():
    # twelve words: the thirds end at 4 and 8, and sentences at 3, 6, 7 and 12
    cut = thirds("One two three. Four five six. Seven. Eight nine ten eleven twelve.")
    assert cut.method == "sentences"
    assert cut.parts == ("One two three. ", "Four five six. Seven. ", "Eight nine ten eleven twelve.")


def test_two_thirds_that_end_at_one_sentence_are_cut_at_the_two_ends_that_are_nearest_together():
    cut = thirds(f"One. Two. {'word ' * 50}end.")
    assert cut.parts[:2] == ("One. ", "Two. ")


@pytest.mark.parametrize("text", ["one two three four five six", "One two three. Four five six."])
def test_below_three_sentences_a_text_is_cut_between_words(text):
    cut = thirds(text)
    assert cut.method == "words"
    assert [len(part.split()) for part in cut.parts] == [2, 2, 2]


@pytest.mark.parametrize("text", ["", " \n", "two words"])
def test_fewer_than_three_words_have_no_thirds(text):
    assert thirds(text) is None
