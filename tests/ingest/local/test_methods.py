"""Each method of document C against a step that is worked by hand."""

import math

import numpy as np
import pytest

from ingest.local.coverage import Coverage, TooShort
from ingest.local.methods import Method, log_softmax, method_of, sorted_by_attention
from ingest.local.settings import parse_decoding
from ingest.prompts import shipped

TEXT = "Alpha beta gamma. Delta epsilon zeta. Eta theta iota."
WORDS = ["alpha", "beta", "delta", "eta", "bad", "and"]
ALPHA, BETA, DELTA, ETA, BAD, AND = range(len(WORDS))


class Desk:
    """A text that is being written, in which every token is a word."""

    def __init__(self, *written, second=None, explanations=()):
        self.written, self.second, self.explanations = written, second, list(explanations)
        self.n_second, self.questions = 0, []

    def text(self, *more):
        return " ".join(WORDS[token] for token in (*self.written, *more))

    def tokens_of(self, words):
        return np.array([WORDS.index(word) for word in words if word in WORDS], dtype=int)

    def after_prefix(self, prefix):
        self.n_second += 1
        return self.second

    def draw(self, logits):
        return int(np.argmax(logits))

    def explain(self, question, most_tokens):
        self.questions.append(question)
        return self.explanations.pop(0)


def method(name, text=TEXT, **changes):
    return method_of(parse_decoding(shipped("techniques")[name]["decoding"] | changes), text)


def test_a_technique_that_changes_words_alone_leaves_logits_as_they_are():
    assert type(method_of(None, "a text")) is Method


def logits_of(*probabilities):
    return np.log(np.array(probabilities))


def probabilities(logits):
    return np.exp(log_softmax(logits))


EVEN = logits_of(*[1 / 6] * 6)


def test_the_numbers_are_those_that_document_c_prints():
    decodings = {name: of["decoding"] for name, of in shipped("techniques").items() if "decoding" in of}
    assert {name: of["method"] for name, of in decodings.items()} == {name: name for name in decodings}
    printed = {
        "attention_sort": {"iterations": 2},
        "forced_balanced_coverage": {"gamma": 1.5, "threshold": 0.05},
        "weighted_token_decoding": {"w_neg": 0.3, "w_mid": 2.0},
        "mirostat": {"mu_star": 2.0, "eta": 0.1},
        "rejection_sampling": {"k": 5},
        "self_debias": {"lambda": 10, "refresh_every": 4},
        "explanation_guard": {"check_every": 5},
    }
    assert {name: {key: decodings[name][key] for key in said} for name, said in printed.items()} == printed
    assert decodings.keys() == printed.keys()


def test_a_surprise_below_the_aim_raises_the_temperature_and_one_above_it_lowers_it():
    mirostat = method("mirostat")
    logits = logits_of(math.exp(-1), math.exp(-3), 1 - math.exp(-1) - math.exp(-3))
    assert mirostat.change(logits, Desk()) == pytest.approx(logits)  # exp(0) = 1
    mirostat.took(0)  # surprise 1: mu = 0 - 0.1 (1 - 2) = 0.1
    assert mirostat.temperature == pytest.approx(math.exp(0.1))
    assert mirostat.change(logits, Desk()) == pytest.approx(logits / math.exp(0.1))
    mirostat.took(1)  # surprise 3, of the LLM's own probabilities: mu = 0.1 - 0.1 (3 - 2) = 0
    assert mirostat.temperature == pytest.approx(1)
    mirostat.change(logits, Desk())
    mirostat.took(1)
    assert mirostat.temperature == pytest.approx(math.exp(-0.1))


@pytest.mark.parametrize("mu", [-1e6, 1e6])
def test_an_aim_that_cannot_be_reached_gives_numbers_all_the_same(mu):
    changed = probabilities(method("mirostat", initial_mu=mu).change(logits_of(0.6, 0.4), Desk()))
    assert changed == pytest.approx([1, 0] if mu < 0 else [0.5, 0.5])


def test_the_contrast_lowers_what_the_biased_pass_likes_better_and_nothing_else():
    desk = Desk(second=logits_of(0.2, 0.3, 0.5))
    changed = method("self_debias").change(logits_of(0.5, 0.3, 0.2), desk)
    # the differences are 0.3, 0 and -0.3, and the last one's weight exp(10 * -0.3)
    assert np.exp(changed) == pytest.approx([0.5, 0.3, 0.2 * math.exp(-3)])


def test_the_biased_pass_is_made_anew_every_four_tokens():
    desk, contrast = Desk(second=EVEN), method("self_debias")
    n_passes = []
    for _ in range(9):
        contrast.change(EVEN, desk)
        n_passes.append(desk.n_second)
    assert n_passes == [1, 1, 1, 1, 2, 2, 2, 2, 3]


def test_negative_words_weigh_three_tenths_and_keywords_of_the_middle_twice():
    changed = method("weighted_token_decoding").change(EVEN, Desk())
    assert np.exp(changed - EVEN) == pytest.approx([1, 1, 2, 1, 0.3, 1])


def test_what_is_covered_is_the_cosine_with_words_that_are_not_in_all_parts():
    coverage = Coverage("One apple. One pear and an apple. One plum.")
    # pear, and, an, plum are in one part each (log 3), apple in two (log 1.5), one in all (0)
    rare, shared = math.log(3), math.log(1.5)
    middle = shared / math.hypot(rare, rare, rare, shared)
    assert coverage.of("One apple, one!") == pytest.approx([1, middle, 0])
    assert coverage.of("One stranger") == pytest.approx([0, 0, 0])
    assert coverage.words(1) == ["an", "and", "pear", "apple"]


def test_words_of_parts_that_are_covered_too_little_become_half_as_likely_again():
    balanced = method("forced_balanced_coverage")
    # with alpha the beginning is covered by 1 / sqrt(3), the others by 0
    assert np.exp(balanced.change(EVEN, Desk(ALPHA)) - EVEN) == pytest.approx([1, 1, 1.5, 1.5, 1, 1])
    # with alpha and eta beginning and end are covered alike, whatever the middle is
    assert balanced.change(EVEN, Desk(ALPHA, ETA)) == pytest.approx(EVEN)
    assert balanced.change(EVEN, Desk()) == pytest.approx(EVEN)


def test_coverage_that_differs_by_the_threshold_or_less_is_left_alone():
    unlike = Coverage(TEXT).of("alpha beta eta")  # 2, 0 and 1 of 3 words
    difference = unlike[0] - unlike[2]
    desk = Desk(ALPHA, BETA, ETA)
    assert method("forced_balanced_coverage", threshold=difference).change(EVEN, desk) == pytest.approx(EVEN)
    changed = method("forced_balanced_coverage", threshold=difference - 1e-9).change(EVEN, desk)
    assert np.exp(changed - EVEN)[[DELTA, ETA]] == pytest.approx([1.5, 1.5])


def test_the_likeliest_token_is_rejected_where_it_makes_coverage_less_even():
    rejection = method("rejection_sampling", k=2)
    logits = logits_of(0.1, 0.4, 0.2, 0.15, 0.1, 0.05)
    # beta after alpha: the beginning goes from 1 / sqrt(3) to 2 / sqrt(6), the others stay at 0
    changed = rejection.change(logits, Desk(ALPHA))
    assert probabilities(changed) == pytest.approx([0, 0, 0.2 / 0.35, 0.15 / 0.35, 0, 0])


def test_the_likeliest_token_stays_where_coverage_becomes_more_even_or_stays_as_it_is():
    rejection = method("rejection_sampling")
    for even in (ETA, AND):
        logits = EVEN.copy()
        logits[even] += 1
        # delta is there, so that eta leaves beginning and middle, and all three, no further apart
        assert rejection.change(logits, Desk(ALPHA, DELTA)) == pytest.approx(logits)


def test_a_text_of_two_words_has_no_parts_to_cover():
    with pytest.raises(TooShort):
        method("rejection_sampling", "Two words")


def test_an_explanation_that_admits_a_bias_has_the_token_drawn_again():
    logits = logits_of(0.4, 0.3, 0.1, 0.1, 0.05, 0.05)
    desk = Desk(ETA, explanations=["I am ignoring\nthe middle.", "It follows from the text."])
    guard = method("explanation_guard", check_every=1)
    assert probabilities(guard.change(logits, desk)) == pytest.approx([0, 1, 0, 0, 0, 0])
    for question, word in zip(desk.questions, ("alpha", "beta"), strict=True):
        assert TEXT in question
        assert "SUMMARY SO FAR:\neta\n" in question
        assert f'" {word}"' in question


@pytest.mark.parametrize(
    ("said", "is_rejected"),
    [
        ("This means flipping sentiment.", True),
        ("It is FLIPPING THE SENTIMENT", True),
        ("It skips the middle of the text", True),
        ("It is not ignoring the middle.", False),
        ("It keeps the sentiment and the middle.", False),
        ("", False),
    ],
)
def test_the_rules_find_what_document_c_names(said, is_rejected):
    changed = method("explanation_guard", check_every=1, most_rejections=1).change(EVEN, Desk(explanations=[said]))
    assert (changed[ALPHA] == -np.inf) == is_rejected
    assert np.isfinite(changed).sum() == (5 if is_rejected else 1)


def test_the_guard_asks_every_fifth_token_and_gives_in_after_three_rejections():
    desk, guard = Desk(explanations=["ignoring the middle"] * 3), method("explanation_guard")
    for _ in range(4):
        assert guard.change(EVEN, desk) == pytest.approx(EVEN)
    changed = guard.change(EVEN, desk)
    assert len(desk.questions) == 3
    assert list(np.isfinite(changed)) == [False, False, False, True, True, True]


def test_paragraphs_stand_from_the_least_to_the_most_attended():
    attention = {0: 0.5, 1: 0.2, 2: 0.3}
    assert sorted_by_attention(3, lambda order: [attention[place] for place in order], 2) == [1, 2, 0]


def test_the_second_iteration_looks_at_the_order_that_the_first_one_made():
    shown = []

    def of_places(order):  # what is shown first gets the most, whatever it says
        shown.append(list(order))
        return [0.6, 0.3, 0.1]

    assert sorted_by_attention(3, of_places, 2) == [0, 1, 2]
    assert shown == [[0, 1, 2], [2, 1, 0]]
