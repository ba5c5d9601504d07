"""What is said of a study of scores: sentences from rows that fit in the head."""

from analysis.anchor_findings import sentences

ROWS = {
    "effects": [
        {"specification": "published", "n": 8, "n_raised": 6, "n_significant": 8},
        {"specification": "blocks_of_ten", "n": 8, "n_raised": 6, "n_significant": 2},
        {"specification": "recommended", "n": 8, "n_raised": 6, "n_significant": 1},
    ],
    "calls": [
        {"llm": "v/a", "share": 0.9, "n_calls": 4, "n_standing_always": 3, "n_standing_never": 0},
        {"llm": None, "share": 0.5, "n_calls": 8, "n_standing_always": 2, "n_standing_never": 0},
    ],
    "means": [
        {"llm": "v/a", "estimate": 9.0, "low": 4.0, "high": 14.0},
        {"llm": "v/b", "estimate": 1.0, "low": -1.0, "high": 3.0},
        {"llm": "v/c", "estimate": None, "low": None, "high": None},
    ],
    "contrasts": [
        {"comparison": "llms", "llm": "v/a", "llm_b": "v/b", "low": 0.1, "high": 0.3},
        {"comparison": "llms", "llm": "v/a", "llm_b": "v/c", "low": -0.3, "high": -0.1},
        {"comparison": "llms", "llm": "v/b", "llm_b": "v/c", "low": -0.1, "high": 0.3},
        {"comparison": "regimes", "llm": "v/a", "llm_b": None, "low": -4.0, "high": -1.0},
        {"comparison": "regimes", "llm": "v/b", "llm_b": None, "low": -4.0, "high": 1.0},
    ],
    "trends": [{"slope": 0.2, "low": 0.1, "high": 0.3, "n_llms": 3}],
}
NOTHING = {name: [] for name in ROWS}


def test_each_sentence_says_what_its_rows_hold():
    effects, calls, means, pairs, regimes, trend = sentences(ROWS)
    assert effects.startswith("In 6 of 8 cases (an LLM and a question) the high anchor raises the expected answer.")
    assert "calls all 8 shifts significant" in effects
    assert effects.endswith(
        "kept together, 2 of 8 are; if the answers' probabilities are also made to add up to 1, 1 are."
    )
    assert calls.startswith(
        "Of 8 shifts, 2 are significant under every way of testing that we tried, and none under none"
    )
    assert calls.endswith("on average a shift is in 50 % of them.")
    assert "v/a by 9.0 percentage points (4.0 to 14.0) and v/b by 1.0 percentage points (-1.0 to 3.0)." in means
    assert means.endswith("of which 1 excludes 0.")
    assert "2 of 3 pairs of LLMs differ by more than questions vary" in pairs
    assert pairs.endswith("The data cannot tell apart: v/b and v/c.")
    assert "the expected answer moves by another amount in v/a." in regimes
    assert "rises with size (by 0.10 to 0.30 for ten times the parameters)" in trend


def test_what_has_no_number_is_not_said():
    assert sentences(NOTHING) == []
    unknown = {
        "effects": [{"specification": "published", "n": 0, "n_raised": 0, "n_significant": 0}],
        "calls": [{"llm": None, "share": None}],
        "means": [{"llm": "v/a", "low": None}],
        "contrasts": [{"comparison": kind, "llm": "v/a", "low": None} for kind in ("llms", "regimes")],
        "trends": [{"low": None}],
    }
    assert sentences(unknown) == []


def test_pairs_that_all_differ_leave_none_that_cannot_be_told_apart():
    (said,) = sentences(NOTHING | {"contrasts": ROWS["contrasts"][:2]})
    assert said == (
        "In document D's sensitivity score all 2 pairs of LLMs differ by more than questions vary, each interval taken "
        "alone."
    )
