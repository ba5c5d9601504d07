"""How far people agree on falsified texts."""

import pandas as pd
import pytest

from analysis.methods.validators import COLUMNS, validator_rows


def verdicts(**said):
    """One row for each person and text: `ann="110"` says of the first two texts that they are negations."""
    return pd.DataFrame(
        [
            {"falsification_id": f"text-{place}", "validator": validator, "is_negation": verdict == "1"}
            for validator, word in said.items()
            for place, verdict in enumerate(word)
            if verdict != " "
        ],
        columns=["falsification_id", "validator", "is_negation"],
    )


def test_two_people_agree_as_far_as_beyond_chance():
    rows = {row["statistic"]: row for row in validator_rows(verdicts(ann="1111101", bob="1111001"))}
    # 6 of 7 alike; by chance 6 * 5 + 1 * 2 of 49
    assert rows["agreement"]["value"] == pytest.approx(6 / 7)
    kappa = rows["cohen_kappa"]
    assert kappa["value"] == pytest.approx((6 / 7 - 32 / 49) / (1 - 32 / 49))
    assert (kappa["validator"], kappa["validator_b"], kappa["n_texts"], kappa["n_verdicts"]) == ("ann", "bob", 7, 14)
    assert all(row.keys() <= COLUMNS.keys() for row in rows.values())


def test_each_two_of_several_people_are_compared_and_who_share_no_text_have_a_reason():
    rows = [row for row in validator_rows(verdicts(ann="101  ", bob="100  ", cid="   11")) if row.get("validator")]
    assert [(row["validator"], row["validator_b"]) for row in rows] == [("ann", "bob"), ("ann", "cid"), ("bob", "cid")]
    assert rows[0]["value"] == pytest.approx(0.4)
    assert [(row["value"], row["reason"]) for row in rows[1:]] == [(None, "no_pair"), (None, "no_pair")]


@pytest.mark.parametrize("said", [{}, {"ann": "10"}])
def test_of_fewer_than_two_people_nothing_is_said(said):
    assert list(validator_rows(verdicts(**said))) == []
