"""What is said of a study of scores: sentences from rows that fit in the head."""

from analysis.words.scores import sentences


def mean(llm, estimate, low, high, scoring_set="archive"):
    return {
        "comparison": "anchors", "metric": "delta_ev", "llm": llm, "scoring_set": f"{scoring_set}/{llm}",
        "estimate": estimate, "low": low, "high": high, "n_questions": 5,
    }  # fmt: skip


def contrast(llm, llm_b, metric, low, high):
    return {
        "comparison": "llms" if llm_b else "regimes", "llm": llm, "scoring_set": f"archive/{llm}", "llm_b": llm_b,
        "scoring_set_b": llm_b and f"archive/{llm_b}", "metric": metric, "low": low, "high": high,
        "estimate": None if low is None else (low + high) / 2,
    }  # fmt: skip


ROWS = {
    "effects": [
        {"specification": "published", "n": 8, "n_raised": 6, "n_significant": 8},
        {"specification": "blocks_of_ten", "n": 8, "n_raised": 6, "n_significant": 2},
        {"specification": "recommended", "n": 8, "n_raised": 6, "n_significant": 1},
    ],
    "calls": [
        {
            "llm": "v/a",
            "share": 0.9,
            "n_calls": 4,
            "n_specifications": 24,
            "n_standing_always": 3,
            "n_standing_never": 0,
        },
        {
            "llm": None,
            "share": 0.5,
            "n_calls": 8,
            "n_specifications": 48,
            "n_standing_always": 2,
            "n_standing_never": 0,
        },
    ],
    "contrasts": [
        mean("v/a", 9.0, 4.0, 14.0),
        mean("v/b", 1.0, -1.0, 3.0),
        mean("v/c", None, None, None),
        contrast("v/a", "v/b", "abss", 0.1, 0.3),
        contrast("v/a", "v/c", "abss", -0.3, -0.1),
        contrast("v/b", "v/c", "abss", -0.1, 0.3),
        contrast("v/a", "v/b", "delta_ev", 1.0, 9.0),
        contrast("v/a", "v/c", "delta_ev", -1.0, 3.0),
        contrast("v/a", None, "delta_ev", -4.0, -1.0),
        contrast("v/b", None, "delta_ev", -4.0, 1.0),
        contrast("v/a", None, "abss", 0.1, 0.2),
        contrast("v/b", None, "abss", -0.2, -0.1),
    ],
    "means": [
        {**mean("v/a", 10.0, 4.0, 16.0), "has_v0": True, "specification": "published"},
        {**mean("v/b", 2.0, -1.0, 5.0), "has_v0": True, "specification": "published"},
        {**mean("v/a", 9.0, 4.0, 14.0), "has_v0": False, "specification": "published"},
        {**mean("v/a", 0.5, 0.3, 0.7), "metric": "abss", "has_v0": False, "specification": "normalised_blocks_of_ten"},
        {**mean("v/b", 0.1, -0.1, 0.3), "metric": "abss", "has_v0": False, "specification": "normalised_blocks_of_ten"},
        {**mean("v/a", 0.4, 0.2, 0.6), "metric": "abss", "has_v0": False, "specification": "recommended"},
        {**mean("v/b", None, None, None), "metric": "abss", "has_v0": False, "specification": "recommended"},
    ],
    "removals": [{"n": 8, "n_between": 5, "moved_by_low": 12.3, "moved_by_high": 4.5}],
    "trends": [{"slope": 0.2, "low": 0.1, "high": 0.3, "n_llms": 3}],
}
NOTHING = {name: [] for name in ROWS}


def test_each_sentence_says_what_its_rows_hold(golden):
    means, with_v0, removal, effects, calls, pairs, corrected, regimes, trend = sentences(ROWS)
    assert "1 of 2" in means
    golden(means)
    golden(with_v0, "v/a 10.0", "v/b 2.0")
    golden(removal)
    for n_cases in ("6 of 8", "all 8", "2 of 8", "1 of 8"):
        assert n_cases in effects
    golden(effects)
    golden(calls)
    golden(pairs)
    golden(corrected, "0.50 (0.30 to 0.70)", "0.40 (0.20 to 0.60)")
    golden(regimes)
    golden(trend, "0.10 to 0.30")


def test_what_has_no_number_is_not_said():
    assert sentences(NOTHING) == []
    unknown = {
        "effects": [{"specification": "published", "n": 0, "n_raised": 0, "n_significant": 0}],
        "calls": [{"llm": None, "share": None}],
        "contrasts": [
            mean("v/a", None, None, None),
            *(contrast("v/a", other, "abss", None, None) for other in ("v/b", None)),
        ],
        "means": [],
        "removals": [],
        "trends": [{"low": None}],
    }
    assert sentences(unknown) == []


def test_pairs_that_all_differ_leave_none_that_cannot_be_told_apart(golden):
    (said,) = sentences(NOTHING | {"contrasts": ROWS["contrasts"][3:5]})
    golden(said)


def test_no_regime_that_moves_answers_otherwise_is_said_so(golden):
    (said,) = sentences(NOTHING | {"contrasts": [contrast("v/b", None, "delta_ev", -4.0, 1.0)] * 2})
    golden(said, "2 LLMs")


def test_an_llm_that_was_scored_twice_is_named_with_the_set_of_its_scorings(golden):
    twice = [mean("v/a", 9.0, 4.0, 14.0), mean("v/a", 1.0, -1.0, 3.0, "here"), mean("v/b", 1.0, 0.5, 3.0)]
    (said,) = sentences(NOTHING | {"contrasts": twice})
    assert "v/a (archive/v/a)" in said
    assert "v/a (here/v/a)" in said
    golden(said)
    assert " v/b by 1.0 points" in said
