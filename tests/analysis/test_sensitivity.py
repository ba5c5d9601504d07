"""One thing changed at a time: worked by hand; what comes to the same is one; who is left out is counted apart."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.engine.answers import ANSWERS, answer_rows
from analysis.engine.questions import questions_on_goals
from analysis.engine.rule import in_points
from analysis.tables import table
from tests.tools.counts import NOTHING_STATED, counts_of
from tests.tools.families import NOT_DECLARED

NAMES = ["llm", "technique", "anchor_direction", "response", "n_trials"]
CONTROLS = pd.DataFrame(
    [(None, None, None, "no_technique", "control")], columns=["study", "domain", "technique", "control", "comparison"]
)
MISSING = ["study", "domain", "llm", "vignette", "technique", "anchor_direction", "n_missing", "valid_min", "valid_max"]
RECOMMENDED = {"row_set": "accepted", "response_source": "recorded", "temperature": 1.0}


def responses(gains, **same):
    """LLMs of baseline 100, off by 20 without a technique and by 20 less its gain with SACD; two trials of each.

    So a gain of 10 is one of 400 - 100 where it is decided.
    """
    rows = []
    for n, gain in enumerate(gains):
        rows.append((f"m{n}", "no_technique", "none", 100, 30))
        for side, sign in (("low", -1), ("high", 1)):
            rows.append((f"m{n}", "no_technique", side, 100 + 20 * sign, 2))
            rows.append((f"m{n}", "sacd", side, 100 + (20 - gain) * sign, 2))
    frame = pd.DataFrame(rows, columns=NAMES).astype({"response": float, "n_trials": "int64"})
    return frame.assign(study="s", domain="d", vignette="v", **RECOMMENDED | same)


def found(frame, missing=(), vendors=None):
    missing = pd.DataFrame(missing, columns=MISSING)
    questions = questions_on_goals(
        counts_of(frame, missing), NOTHING_STATED, vendors or {}, margin=5.0, response_source="recorded"
    )
    rows = answer_rows(questions, {"sacd"}, CONTROLS, NOT_DECLARED, n_draws=10, seed=1)
    of = table(rows, ANSWERS).to_pandas().astype(object)
    of = of.where(of.notna(), None)
    return of[(of["part"] == "multiverse") & (of["goal"] == "displacement")].to_dict("records")


def one(rows, switch, **of):
    (row,) = (row for row in rows if row["switch"] == switch and of.items() <= row.items())
    return row


def squared(*gains):
    return np.array([400.0 - (20 - gain) ** 2 for gain in gains])


def bounds(row):
    return [row[f"gain_squared{end}"] for end in ("", "_low", "_high")]


def t_of(units):
    return [units.mean(), *stats.t.interval(0.95, len(units) - 1, units.mean(), stats.sem(units))]


def counts_of_headline(rows):
    ((*counts, carried_by),) = {
        tuple(
            row[name] for name in ("n_specifications", "n_same_decision", "n_left_out", "n_left_out_same", "carried_by")
        )
        for row in rows
    }
    return counts, carried_by


def test_an_llm_left_out_is_decided_without_and_counted_apart():
    gains = (8, 9, 10, 10, 11, 12)
    rows = found(responses(gains))
    assert len(rows) == 1 + 6
    row = one(rows, "recommended")
    assert (row["is_recommended"], row["interval_decision"]) == (True, "use")
    assert bounds(row) == pytest.approx(t_of(squared(*gains)))
    assert row["gain_low"] == pytest.approx(in_points(row["gain_squared_low"], 20))
    row = one(rows, "llm_left_out", excluded_llm="m0")
    assert (row["n_llms"], row["n_vendors"], row["is_recommended"]) == (5, 5, False)
    assert bounds(row) == pytest.approx(t_of(squared(*gains[1:])))
    assert counts_of_headline(rows) == ([1, 1, 6, 6], None)


def test_a_vendor_of_several_llms_is_left_out_with_all_of_them():
    gains = (8, 9, 10, 10, 11, 12, 12)
    rows = found(responses(gains), vendors={"m5": "V", "m6": "V"})
    assert {row["excluded_vendor"] for row in rows} == {None, "V"}, "one of a single LLM is that LLM"
    row = one(rows, "vendor_left_out", excluded_vendor="V")
    assert (row["n_llms"], row["n_vendors"], row["excluded_llm"]) == (5, 5, None)
    assert bounds(row) == pytest.approx(t_of(squared(*gains[:5])))
    assert counts_of_headline(rows)[0] == [1, 1, 8, 8]


def test_llms_and_vendors_without_which_the_decision_is_another_are_named():
    rows = found(responses([10, 10.5, 9.5, 10, 10, -10, -10]), vendors={"m5": "V", "m6": "V"})
    assert one(rows, "recommended")["interval_decision"] == "no_evidence"
    assert one(rows, "vendor_left_out", excluded_vendor="V")["interval_decision"] == "use"
    assert counts_of_headline(rows) == ([1, 1, 8, 7], "V")
    rows = found(responses([10, 10.5, 9.5, 10, 10, -60]))
    assert counts_of_headline(rows) == ([1, 1, 6, 5], "m5")
    assert one(rows, "recommended")["gain"] < 0 < one(rows, "llm_left_out", excluded_llm="m5")["gain"]


def test_that_the_sign_is_the_same_does_not_count_where_the_decision_is_not():
    rows = found(responses([2, 2.1, 1.9, 2, 2, 20]))
    gone = one(rows, "llm_left_out", excluded_llm="m5")
    assert (one(rows, "recommended")["interval_decision"], gone["interval_decision"]) == ("no_evidence", "equivalent")
    assert counts_of_headline(rows) == ([1, 1, 6, 5], "m5")


def test_of_five_vendors_none_can_be_left_out_and_that_does_not_count_against_the_decision():
    rows = found(responses([8, 9, 10, 11, 12, 12]), vendors={"m4": "V", "m5": "V"})
    for switch, out in (("llm_left_out", {"excluded_llm": "m0"}), ("vendor_left_out", {"excluded_vendor": "V"})):
        row = one(rows, switch, **out)
        assert (row["interval_decision"], row["reason"], row["n_vendors"]) == ("no_evidence", "too_few_vendors", 4)
    # one of the two LLMs of a vendor can
    assert one(rows, "llm_left_out", excluded_llm="m4")["interval_decision"] == "use"
    assert counts_of_headline(rows) == ([1, 1, 2, 2], None)
    few = found(responses([10, -20]))
    assert {row["interval_decision"] for row in few} == {"no_evidence"}
    assert counts_of_headline(few) == ([1, 1, 2, 2], None)


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
    assert one(rows, "baseline", baseline_scope="t=1")["gain_squared"] == pytest.approx(
        squared(8, 9, 10, 10, 11, 12).mean()
    )
    # the reading and two baselines differ; the row set lacks an LLM
    n_analyses = sum(row["excluded_llm"] is None for row in rows)
    assert counts_of_headline(rows)[0][::2] == [n_analyses, 6] == [5, 6]


def test_refusals_are_answered_against_and_for_the_technique():
    # two of four SACD answers of m0 under the low anchor are missing: the mean of 90 and of anything from 0 to 200 lies
    # between 45 and 145, its distance from 100 between 0 and 55; the mean square between 50 and 1562.5; 100 was seen
    missing = [("s", "d", "m0", "v", "sacd", "low", 2, 0.0, 200.0)]
    rows = found(responses([10, 9, 11, 10, 10, 10]), missing)
    least, most = (one(rows, "refusals", refusals=name) for name in ("least_gain", "most_gain"))
    units = squared(10, 9, 11, 10, 10, 10)
    for row, change in ((least, 100 - 1562.5), (most, 100 - 50)):
        assert bounds(row) == pytest.approx(t_of(units + np.eye(6)[0] * change))
        assert row["gain"] == pytest.approx(in_points(units.mean() + change / 6, 20))
    assert (one(rows, "recommended")["interval_decision"], least["interval_decision"], most["interval_decision"]) == (
        "use",
        "no_evidence",
        "use",
    )
    assert counts_of_headline(rows) == ([3, 2, 6, 6], None)


def test_refusals_without_a_valid_range_are_told_and_not_guessed():
    missing = [("s", "d", "m0", "v", "sacd", "low", 2, 0.0, math.nan)]
    rows = found(responses([10, 9, 11, 10, 10, 10]), missing)
    row = one(rows, "refusals", refusals="least_gain")
    assert (row["gain"], row["interval_decision"], row["reason"]) == (None, "no_evidence", "valid_range_unknown")


def test_where_a_row_set_lacks_the_technique_nothing_is_decided_and_that_counts():
    frame = responses([8, 9, 10, 10, 11, 12])
    without = responses([8, 9, 10, 10, 11, 12], row_set="without_suspects")
    for gone, code in (("sacd", "no_answers"), ("no_technique", "no_baseline")):
        rows = found(pd.concat([frame, without[without["technique"] != gone]]))
        row = one(rows, "row_set", row_set="without_suspects")
        assert (row["interval_decision"], row["n_llms"], row["reason"]) == ("no_evidence", 0, code)
        assert counts_of_headline(rows) == ([2, 1, 6, 6], None)


def test_without_baselines_there_is_a_reason():
    frame = responses([8, 9, 10, 10, 11, 12])
    frame.loc[frame["anchor_direction"] == "none", "n_trials"] = 9
    (row,) = found(frame)
    assert (row["gain"], row["interval_decision"], row["n_llms"]) == (None, "no_evidence", 0)
    assert row["reason"] == "baseline_below_10"


def test_a_temperature_is_the_same_number_when_it_is_read():
    first, second = (responses([8, 9, 10, 10, 11, 12], temperature=value) for value in (0.1, 0.30000000000000004))
    rows = found(pd.concat([first, second]))
    scopes = {row["baseline_scope"] for row in rows}
    assert scopes <= {"pooled", "t=0.1", "t=0.30000000000000004"}
    assert {row["interval_decision"] for row in rows} == {"use"}


def test_with_nothing_missing_refusals_change_nothing_whatever_the_decision():
    for gains in ([8, 9], [10] * 6, [10]):
        rows = found(responses(gains))
        assert "refusals" not in {row["switch"] for row in rows}, gains
    steady = responses([3, -3, 3, -3, 0, 7, -7, 0, 0, 0, 0, 0])
    noisy = pd.concat([steady.assign(response=steady["response"] + shift, n_trials=20) for shift in (-0.5, 0.5)])
    rows = found(noisy)
    row = one(rows, "recommended")
    assert (row["reason"], row["interval_decision"]) == ("llms_differ", "no_evidence")
    assert -5 < row["gain_low"] < row["gain_high"] < 5
    assert "refusals" not in {row["switch"] for row in rows}
