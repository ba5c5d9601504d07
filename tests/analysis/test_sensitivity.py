"""One thing changed at a time: worked by hand, specifications that come to the same are one, decisions are counted."""

import math

import pandas as pd
import pytest
from scipy import stats

from analysis.engine.answers import ANSWERS, answer_rows
from analysis.engine.questions import questions_on_goals
from analysis.tables import table
from tests.tools.counts import NOTHING_STATED, counts_of

NAMES = ["llm", "technique", "anchor_direction", "response", "n_trials"]
CONTROLS = pd.DataFrame(
    [(None, None, None, "no_technique", "control")], columns=["study", "domain", "technique", "control", "comparison"]
)
MISSING = ["study", "domain", "llm", "vignette", "technique", "anchor_direction", "n_missing", "valid_min", "valid_max"]
RECOMMENDED = {"row_set": "accepted", "response_source": "recorded", "temperature": 1.0}


def responses(gains, **same):
    """LLMs of baseline 100, off by 20 without a technique and by 20 less its gain with SACD; two trials of each."""
    rows = []
    for n, gain in enumerate(gains):
        rows.append((f"m{n}", "no_technique", "none", 100, 30))
        for side, sign in (("low", -1), ("high", 1)):
            rows.append((f"m{n}", "no_technique", side, 100 + 20 * sign, 2))
            rows.append((f"m{n}", "sacd", side, 100 + (20 - gain) * sign, 2))
    frame = pd.DataFrame(rows, columns=NAMES).astype({"response": float, "n_trials": "int64"})
    return frame.assign(study="s", domain="d", vignette="v", **RECOMMENDED | same)


def found(frame, missing=()):
    missing = pd.DataFrame(missing, columns=MISSING)
    questions = questions_on_goals(counts_of(frame, missing), NOTHING_STATED, margin=5.0, response_source="recorded")
    rows = answer_rows(questions, {"sacd"}, CONTROLS, n_draws=10, seed=1)
    of = table(rows, ANSWERS).to_pandas().astype(object)
    of = of.where(of.notna(), None)
    return of[(of["part"] == "multiverse") & (of["goal"] == "displacement")].to_dict("records")


def one(rows, switch, **of):
    (row,) = (row for row in rows if row["switch"] == switch and of.items() <= row.items())
    return row


def half_width(sd, n):
    return stats.t.ppf(0.975, n - 1) * sd / math.sqrt(n)


def test_an_llm_left_out_is_decided_without():
    rows = found(responses([8, 9, 10, 10, 11, 12]))
    assert len(rows) == 1 + 6
    row = one(rows, "recommended")
    assert (row["is_recommended"], row["gain"], row["decision"]) == (True, 10, "use")
    assert row["gain_low"] == pytest.approx(10 - half_width(math.sqrt(2), 6))
    row = one(rows, "llm_left_out", excluded_llm="m0")
    assert (row["gain"], row["n_llms"], row["is_recommended"]) == (pytest.approx(10.4), 5, False)
    assert row["gain_high"] == pytest.approx(10.4 + half_width(math.sqrt(1.3), 5))
    assert {(row["n_specifications"], row["n_same_decision"], row["carried_by"]) for row in rows} == {(7, 7, None)}


def test_a_headline_counts_decisions_and_names_the_llm_that_carries_it():
    rows = found(responses([10, 10.5, 9.5, 10, 10, -60]))
    assert one(rows, "recommended")["decision"] == "no_evidence"
    assert one(rows, "llm_left_out", excluded_llm="m5")["decision"] == "use"
    # the sign of the gain is the other one in that specification alone; so is the decision
    assert {(row["n_specifications"], row["n_same_decision"], row["carried_by"]) for row in rows} == {(7, 6, "m5")}
    assert one(rows, "recommended")["gain"] < 0 < one(rows, "llm_left_out", excluded_llm="m5")["gain"]


def test_that_the_sign_is_the_same_does_not_count_where_the_decision_is_not():
    rows = found(responses([2, 2.1, 1.9, 2, 2, 30]))
    gone = one(rows, "llm_left_out", excluded_llm="m5")
    assert (one(rows, "recommended")["decision"], gone["decision"]) == ("no_evidence", "equivalent")
    assert gone["n_same_decision"] == 6


def test_of_five_llms_none_can_be_left_out_and_that_does_not_count_against_the_decision():
    rows = found(responses([8, 9, 10, 11, 12]))
    row = one(rows, "llm_left_out", excluded_llm="m0")
    assert (row["decision"], row["reason"], row["decision_asked"]) == ("no_evidence", "too_few_llms", "use")
    assert (row["n_specifications"], row["n_same_decision"], row["carried_by"]) == (1, 1, None)


def test_of_two_llms_it_is_said_who_carries_what_holds_of_those_asked():
    rows = found(responses([10, -20]))
    assert {row["decision"] for row in rows} == {"no_evidence"}
    assert one(rows, "recommended")["decision_asked"] == "avoid"
    assert one(rows, "llm_left_out", excluded_llm="m0")["decision_asked"] == "avoid"
    assert one(rows, "llm_left_out", excluded_llm="m1")["decision_asked"] == "use"
    assert one(rows, "recommended")["carried_by_asked"] == "m1"
    assert one(rows, "recommended")["reason"] == "too_few_llms; llms_differ"


def test_what_comes_to_the_same_is_one_specification():
    as_recorded = responses([8, 9, 10, 10, 11, 12])
    same = pd.concat(
        [as_recorded, responses([8, 9, 10, 10, 11, 12], response_source="reparsed")]
        + [responses([8, 9, 10, 10, 11, 12], row_set=name) for name in ("as_recorded", "without_suspects")]
    )
    assert found(same) == found(as_recorded)


def test_each_switch_changes_one_thing():
    other = responses([8, 9, 10, 10, 11, 30], response_source="reparsed")
    fewer = responses([8, 9, 10, 10, 11], row_set="without_suspects")
    colder = responses([8, 9, 10, 10, 11, 12], temperature=0.0)
    colder.loc[colder["anchor_direction"] == "none", "response"] = 110.0
    rows = found(pd.concat([responses([8, 9, 10, 10, 11, 12]), other, fewer, colder]))
    recommended = one(rows, "recommended")
    for switch, changed in (
        ("reading", {"response_source": "reparsed"}),
        ("row_set", {"row_set": "without_suspects"}),
    ):
        row = one(rows, switch)
        named = {"response_source": "recorded", "row_set": "accepted", "baseline_scope": "pooled"} | changed
        assert {name: row[name] for name in named} == named
        assert row["gain"] != recommended["gain"]
    assert {row["baseline_scope"] for row in rows if row["switch"] == "baseline"} == {"t=0", "t=1"}
    # percent of 100 is the response itself: what the two baselines would say is not the mean of both
    assert one(rows, "baseline", baseline_scope="t=1")["gain"] == pytest.approx(10)


def test_refusals_are_answered_against_and_for_the_technique():
    # two of four SACD answers of m0 under the low anchor are missing: the mean of 90 and of anything from 0 to 200 lies
    # between 45 and 145, its distance from 100 between 0 and 55, the loss between 5 and 32.5 where 10 was seen
    missing = [("s", "d", "m0", "v", "sacd", "low", 2, 0.0, 200.0)]
    rows = found(responses([10, 9, 11, 10, 10, 10]), missing)
    least, most = (one(rows, "refusals", refusals=name) for name in ("least_gain", "most_gain"))
    assert least["gain"] == pytest.approx(10 - 22.5 / 6)
    assert most["gain"] == pytest.approx(10 + 5 / 6)
    assert (one(rows, "recommended")["decision"], least["decision"]) == ("use", "no_evidence")
    assert (least["n_specifications"], least["n_same_decision"]) == (9, 8)


def test_refusals_without_a_valid_range_are_told_and_not_guessed():
    missing = [("s", "d", "m0", "v", "sacd", "low", 2, 0.0, math.nan)]
    rows = found(responses([10, 9, 11, 10, 10, 10]), missing)
    row = one(rows, "refusals", refusals="least_gain")
    assert (row["gain"], row["decision"], row["reason"]) == (None, "no_evidence", "valid_range_unknown")


def test_where_a_row_set_lacks_the_technique_nothing_is_decided_and_that_counts():
    frame = responses([8, 9, 10, 10, 11, 12])
    without = responses([8, 9, 10, 10, 11, 12], row_set="without_suspects")
    for gone, code in (("sacd", "no_answers"), ("no_technique", "no_baseline")):
        rows = found(pd.concat([frame, without[without["technique"] != gone]]))
        row = one(rows, "row_set", row_set="without_suspects")
        assert (row["decision"], row["n_llms"], row["reason"]) == ("no_evidence", 0, code)
        assert (row["n_specifications"], row["n_same_decision"]) == (8, 7)


def test_without_baselines_there_is_a_reason():
    frame = responses([8, 9, 10, 10, 11, 12])
    frame.loc[frame["anchor_direction"] == "none", "n_trials"] = 9
    (row,) = found(frame)
    assert (row["gain"], row["decision"], row["n_llms"]) == (None, "no_evidence", 0)
    assert row["reason"] == "baseline_below_10"


def test_a_temperature_is_the_same_number_when_it_is_read():
    first, second = (responses([8, 9, 10, 10, 11, 12], temperature=value) for value in (0.1, 0.30000000000000004))
    rows = found(pd.concat([first, second]))
    scopes = {row["baseline_scope"] for row in rows}
    assert scopes <= {"pooled", "t=0.1", "t=0.30000000000000004"}
    assert {row["decision"] for row in rows} == {"use"}
