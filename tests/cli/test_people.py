"""What `bais headlines` says of studies of people."""

import math

import duckdb
import pytest

from bais import people
from tests.tools.contracts import fill


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.5, 2.0), (-1.0, 2.0), (-2.0, -0.5)],
    ids=["odds above 1", "odds of 1", "odds below 1"],
)
def test_a_study_of_people_is_told_by_the_side_on_which_its_interval_lies(monkeypatch, low, high, golden):
    monkeypatch.setattr(people, "is_public", lambda warehouse, name: name == "human_choice_effects")
    with duckdb.connect() as warehouse:
        effect = {
            "study": "shop", "method": "gee_exchangeable", "estimate": (low + high) / 2, "low": low, "high": high,
            "n_participants": 70, "n_choices": 700,
        }  # fmt: skip
        choices = [{"study": "shop"}, {"study": "gone"}]
        fill(warehouse, {"people.human_choice_effects": [effect], "people.human_choices": choices})
        sentences = people.sentences_on_people(warehouse)
        sentence = sentences["shop"]
    golden(sentences["gone"], "0 choices of 0 people")
    golden(sentence)
    assert f"{math.exp(low):.3g} to {math.exp(high):.3g}" in sentence
