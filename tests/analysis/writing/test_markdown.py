"""Reading Markdown: what one sentence is, and what leads to a fact."""

import pytest

from analysis.writing.facts import leaves
from analysis.writing.markdown import sentences


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("One. Two by Englich et al. Three?", ["One.", "Two by Englich et al. Three?"]),
        ("A wrapped\n**bold** sentence\n-2.05 long.", ["A wrapped **bold** sentence -2.05 long."]),
        ("|SACD|1|\n|Other|2|", ["|SACD|1|", "|Other|2|"]),
        ("- one\n- two\n\n1. three", ["- one", "- two", "1. three"]),
        ("# Heading\nText", ["# Heading Text"]),
        ("Text\n# Heading", ["Text", "# Heading"]),
    ],
)
def test_a_sentence_ends_at_its_full_stop_and_an_item_or_row_is_one(text, said):
    assert list(sentences(text)) == said


def test_every_leaf_has_the_path_that_leads_to_it_and_what_is_empty_is_a_leaf():
    facts = {"a": {"b": [1, {"c": None}]}, "d": {}, "e": []}
    assert list(leaves(facts)) == [(("a", "b", 0), 1), (("a", "b", 1, "c"), None), (("d",), {}), (("e",), [])]
