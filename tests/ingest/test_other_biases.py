"""What happens at the edges of a study of another bias: junk replies, two sessions at once, another name."""

import contextlib

import duckdb
import pytest
import yaml

from ingest.ask.collector import collect
from ingest.ask.plan import plan_of
from ingest.ask.spool import COLLECTED, Spool, records_of, spool_folder
from ingest.land.models import macros
from ingest.studies.design import Design
from ingest.studies.study import parse_study
from ingest.warehouse import UserError

STUDY = """
study: drinks
llms: [sim/steady]
techniques: [no_technique]
stopping_rule: {minimum: 2}
paradigm:
  paradigm: cups
  answer: {kind: choice}
  arms: [plain, praised]
  contrasts: [[praised, plain]]
  measures: {took_tea: {of: [tea], better: lower}}
  vignettes:
  - vignette: drink
    case: "You are thirsty.{praise}\\n{options}"
    options: {tea: a cup of tea, milk: a glass of milk, water: water}
    arms: {plain: {words: {praise: ""}}, praised: {words: {praise: " Tea is wonderful."}}}
"""
NEITHER = ("unparsed", "no_label")
JUNK = {
    "": ("unparsed", "no_text"),
    " \n\t ": ("unparsed", "no_text"),
    "I'm sorry, but I can't help with that.": ("refused", "refused"),
    "A and B": ("unparsed", "ambiguous"),
    "A\nB": ("unparsed", "ambiguous"),
    "Both A and C are fine.": ("unparsed", "ambiguous"),
    "a cup of tea": NEITHER,  # the words of an option: its letter or its id was asked for
    "not tea": NEITHER,
    "I say that tea is nice. " * 20_000: NEITHER,
    "A " * 50_000: NEITHER,
    "\N{CYRILLIC CAPITAL LETTER A}": NEITHER,
    "\N{GREEK CAPITAL LETTER ALPHA}": NEITHER,
    "\N{FULLWIDTH LATIN CAPITAL LETTER A}": NEITHER,
    "答えはBです": NEITHER,
    "\N{TEACUP WITHOUT HANDLE}": NEITHER,
    "<p>A</p>": NEITHER,
    "<html><body>502 Bad Gateway</body></html>": NEITHER,
    '{"answer": "A"}': NEITHER,
    "null": NEITHER,
    "Z": NEITHER,
}


def study(text=STUDY):
    return parse_study(text)


def trials_of(name):
    return [record for record in records_of(spool_folder(name) / COLLECTED) if record["kind"] == "trial"]


def read_of(replies, reading):
    """Read replies to a choice of three."""
    read = macros()["read_label"]("reply", "null", f"'{reading}'", "['tea', 'milk', 'water']")
    with contextlib.closing(duckdb.connect()) as memory:
        found = memory.execute(f"select {read} from (select unnest($1) as reply)", [list(replies)]).fetchall()
    return [(of["label"], of["status"], of["reason"]) for (of,) in found]


@pytest.mark.parametrize("reading", ["strict", "first_word"])
def test_no_junk_is_read_as_a_choice_and_the_reason_is_told(reading):
    assert read_of(JUNK, reading) == [(None, *outcome) for outcome in JUNK.values()]


def test_a_letter_with_the_words_of_its_option_is_a_choice_only_where_replies_begin_with_it():
    assert read_of(["A. a cup of tea"], "strict") == [(None, *NEITHER)]
    assert read_of(["A. a cup of tea", "B) a glass of milk"], "first_word") == [
        ("tea", "answered", None),
        ("milk", "answered", None),
    ]
    assert read_of(["A", "**b**", "Option C.", "tea"], "strict") == [
        (option, "answered", None) for option in ("tea", "milk", "water", "tea")
    ]


def test_while_one_process_collects_a_study_another_one_is_refused_and_asks_nothing(warehouse):
    path = spool_folder("drinks") / COLLECTED
    with Spool(path), pytest.raises(UserError, match=r"another process is collecting into .*; nothing was asked"):
        collect(study())
    assert path.read_bytes() == b""
    assert collect(study()).n_done == 4


def test_a_renamed_study_is_another_study_that_is_asked_in_full(warehouse):
    collect(study())
    renamed = study(STUDY.replace("study: drinks", "study: thirst"))
    assert plan_of(renamed)["collected"]["trials"] == 0
    assert (collect(renamed).n_before, len(trials_of("drinks"))) == (0, 4)
    ids = [{record["trial_id"] for record in trials_of(name)} for name in ("drinks", "thirst")]
    assert ids[0].isdisjoint(ids[1])


def test_a_session_that_ends_early_counts_what_was_collected_before_and_goes_through_no_more_trials(
    warehouse, monkeypatch
):
    content = yaml.safe_load(STUDY) | {"stopping_rule": {"minimum": 100}}
    many = parse_study(yaml.safe_dump(content, sort_keys=False))
    assert collect(many, max_calls=20).n_left == 180
    seen, trial = [], Design.trial
    monkeypatch.setattr(Design, "trial", lambda design, *which: seen.append(which) or trial(design, *which))
    outcome = collect(many, max_calls=20)
    assert (outcome.n_before, outcome.n_done, outcome.n_left) == (20, 20, 160)
    assert len(seen) < 100


SAID = {
    "tea": [
        "I choose A.",
        "I'd go with option (A).",
        "(A)",
        "A: because it is warm",
        "A is my choice",
        "I choose tea.",
        "I choose Program A",
        "Based on the given qualities, I would hire Candidate A.",
    ],
    "milk": [
        "My answer is B",
        "**B**",
        "'B'",
        "The best option is B, since A's price is high.",
        "I\N{RIGHT SINGLE QUOTATION MARK}ll take the milk",
    ],
    "water": ["Option C.", "Answer: C", "If I had to choose, I'd choose C", "I think the answer is C."],
}
UNSAID = [
    "I would not choose A", "A or B", "A good question", "I choose A good plan", "I would choose A if it were free",
    "I choose A, but only if it is free", "I'd choose A as long as it is free", "I wouldn't choose A", "Not A",
    "The wrong answer is A", "Should I choose A?", "I choose A?", "A is wrong", "A is not my choice", "A choice",
    "I would have chosen A", "I could choose A", "I recommend against A", "I choose A over B", "I choose Programming A",
    "I would choose a", "My second choice is A", "They would choose A", "The water is cold", "I say that tea is nice",
]  # fmt: skip


@pytest.mark.parametrize("reading", ["strict", "first_word"])
def test_a_choice_in_a_short_sentence_is_read_and_none_that_is_denied_asked_or_hangs_on_a_condition(reading):
    for option, replies in SAID.items():
        assert read_of(replies, reading) == [(option, "answered", None)] * len(replies)
    assert [label for label, *_ in read_of(UNSAID, reading)] == [None] * len(UNSAID)


WEIGHED = {
    "tea": [
        "A. \n\nPlan B costs more, and C is far away.",
        "A) a cup of tea, since B costs more",
        "Choice: A) a cup of tea. Reason: it is warm and costs less than (B).",
        "Milk (B) is cold, while tea (A) is warm. Therefore, the answer is A.\n\nA",
    ],
    "milk": [
        "(B)\n\nThe price of B is only 5 above that of C, and A is not filling.",
        "B\n\nI choose option (B), although A is warm.",
        "- A is cheap.\n- B fills you.\n\nTherefore, I choose B.\n\n**Answer:** B",
        "You are thirsty and want something filling. Therefore, the answer is:\n\n**(B) a glass of milk.**",
        "A is warm and C is cheap. So, the final answer should be \\boxed{\\text{B}}.",
    ],
    "water": [
        "If you want warmth, tea will do. Otherwise water is enough.\n\n(C)",
        "A is hot; the correct choice is C: water.",
    ],
}
NOT_WEIGHED = [
    "A) a cup of tea\nB) a glass of milk\nC) water\n\nAnswer: C",  # it may as well begin with its answer as with a list
    "A) a cup of tea\nB) a glass of milk",
    "B. Tea is warm, but the answer is A.",
    "C. \n\nB is a better deal than C, unless you are in a hurry.",
    "B is the best choice.\n\n(A)",
    "I would recommend the milk, B.\n\nAnswer: A, or B if you are hungry",
    "A is warm.\nAnswer: (A) or (B)", "A is warm.\nAnswer: A/B", "A is warm. The answer is A, B",
    "A is warm. The wrong answer is A", "My second choice is A.\nB is cold.", "The answer is not A.",
    "B\n\nWait, let me reconsider. In A", "A\nB", "Which one? A, B and C are", "All in all the answer is Z.\n\nZ",
]  # fmt: skip


def test_one_letter_that_is_answered_is_a_choice_where_others_are_weighed_and_no_other_one_is_preferred():
    for option, replies in WEIGHED.items():
        assert read_of(replies, "first_word") == [(option, "answered", None)] * len(replies)
    assert [label for label, *_ in read_of(NOT_WEIGHED, "first_word")] == [None] * len(NOT_WEIGHED)
    assert [label for label, *_ in read_of(WEIGHED["milk"], "strict")] == [None] * len(WEIGHED["milk"])
