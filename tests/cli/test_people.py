"""What `bais headlines` says of studies of people."""

import math

import duckdb
import pytest

from bais import people


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.5, 2.0), (-1.0, 2.0), (-2.0, -0.5)],
    ids=["odds above 1", "odds of 1", "odds below 1"],
)
def test_a_study_of_people_is_told_by_the_side_on_which_its_interval_lies(monkeypatch, low, high, golden):
    monkeypatch.setattr(people, "public_tables", lambda warehouse: [("inference", "human_choice_effects", "")])
    with duckdb.connect() as warehouse:
        warehouse.execute("create schema inference")
        warehouse.execute(
            "create table inference.human_choice_effects as select 'shop' as study, 'gee_exchangeable' as method, "
            f"{(low + high) / 2} as estimate, {low} as low, {high} as high, 70 as n_participants, 700 as n_choices, "
            "null as reason"
        )
        warehouse.execute("create schema marts")
        warehouse.execute("create table marts.human_choices as select unnest(['shop', 'gone']) as study")
        sentences = people.sentences_on_people(warehouse)
        sentence = sentences["shop"]
    assert "0 choices of 0 people" in sentences["gone"]
    golden(sentence)
    assert f"{math.exp(low):.3g} to {math.exp(high):.3g}" in sentence
