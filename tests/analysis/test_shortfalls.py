"""What of the answers counts nowhere, in words."""

import re
from datetime import UTC, datetime

import pytest
from markupsafe import Markup

from analysis.words.shortfalls import BY_HAND, SENTENCES, combined, in_short, sentences

NAMED = r"[a-z]+(?:, [a-z]+)*(?= \d[\d,]* of)"  # what stands before each count
NONE = {
    "study": "s", "paradigm": "framing", "domain": "law", "n_asked": 1200, "n_counted": 1200,
    **{f"n_{fate}": 0 for fate in SENTENCES}, "commonest_unread": None, "n_commonest_unread": 0,
    "first_withdrawn_at": None, "last_withdrawn_at": None,
}  # fmt: skip


def said(**counts):
    return list(sentences(combined([NONE | counts])))


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ({"n_held_back": 600}, "600 of 1,200 answers are held back (`bais check` says why)."),
        ({"n_asked": 20, "n_held_back": 1}, "1 of 20 answers is held back (`bais check` says why)."),
        ({"n_withdrawn": 54}, "54 of 1,200 answers were withdrawn by hand after they were seen."),
        ({"n_withdrawn": 1}, "1 of 1,200 answers was withdrawn by hand after it was seen."),
        ({"n_rejected": 300}, "300 of 1,200 answers are in batches that a person rejected."),
        ({"n_refused": 36}, "36 of 1,200 answers are refusals."),
        ({"n_out_of_range": 36}, "36 of 1,200 answers lie outside the range that is possible."),
        ({"n_failed": 36}, "36 of 1,200 trials got no answers: every call of theirs failed."),
        ({"n_unparsed": 312}, "26 % of 1,200 answers could not be read."),
        ({"n_unparsed": 18}, "1.5 % of 1,200 answers could not be read."),
        ({"n_unparsed": 11}, "11 of 1,200 answers could not be read."),
        ({"n_unparsed": 1199}, "> 99 % of 1,200 answers could not be read."),
        ({"n_unparsed": 1200}, "100 % of 1,200 answers could not be read."),
    ],
)
def test_each_way_to_fall_short_has_its_sentence(counts, sentence):
    assert said(**counts) == [sentence]


@pytest.mark.parametrize(
    ("n_commonest", "quoted"),
    [
        (157, " (most: “I choose A.”)"),
        (156, " (most often: “I choose A.”)"),
        (2, " (most often: “I choose A.”)"),
        (1, ""),
    ],
)
def test_the_commonest_text_that_could_not_be_read_is_quoted(n_commonest, quoted):
    unread = {"n_unparsed": 312, "commonest_unread": "I choose A.", "n_commonest_unread": n_commonest}
    assert said(**unread) == [f"26 % of 1,200 answers could not be read{quoted}."]


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ({"n_unparsed": 174}, "6.0 % of 2,880 published answers could not be read."),
        ({"n_unparsed": 28}, "28 of 2,880 published answers could not be read."),
        ({"n_refused": 29}, "29 of 2,880 published answers are refusals."),
        ({"n_failed": 38}, "38 of 2,880 published trials got no answers: every call of theirs failed."),
        ({"n_out_of_range": 30}, "30 of 2,880 published answers lie outside the range that is possible."),
    ],
)
def test_what_falls_short_among_the_published_is_a_part_of_these(counts, sentence):
    all_asked = {"n_asked": 5280, "n_held_back": 2300, "n_rejected": 60, "n_withdrawn": 40}
    assert said(**all_asked, **counts) == [
        "2,300 of 5,280 answers are held back (`bais check` says why).",
        "60 of 5,280 answers are in batches that a person rejected.",
        sentence,
        "40 of 5,280 answers were withdrawn by hand after they were seen.",
    ]


@pytest.mark.parametrize(
    ("n_llms", "whose"),
    [(0, ""), (1, ", of l0"), (3, ", of l0, l1 and l2"), (4, ", of l0, l1, l2 and 1 more")],
)
def test_at_most_three_llms_whose_answers_are_held_back_are_named(n_llms, whose):
    row = combined([NONE | {"n_held_back": 600}]) | {"llms_held_back": [f"vendor/l{n}" for n in range(n_llms)]}
    assert list(sentences(row)) == [f"600 of 1,200 answers are held back{whose} (`bais check` says why)."]


def test_nothing_is_said_where_nothing_falls_short():
    assert said() == []
    assert list(sentences({})) == []
    assert in_short([NONE]) is None


@pytest.mark.parametrize("fate", [fate for fate in SENTENCES if fate not in BY_HAND])
def test_fewer_than_ten_answers_and_than_one_in_a_hundred_are_too_few_to_say(fate):
    column = f"n_{fate}"
    assert said(**{column: 9}) == []
    assert len(said(**{column: 10})) == 1
    assert len(said(**{column: 9, "n_asked": 900})) == 1
    assert said(**{column: 9, "n_asked": 901}) == []


@pytest.mark.parametrize("fate", BY_HAND)
def test_what_a_person_took_out_is_said_of_a_single_answer_too(fate):
    assert len(said(**{f"n_{fate}": 1, "n_asked": 1_000_000})) == 1


def test_what_is_said_elsewhere_is_left_out():
    row = combined([NONE | {"n_withdrawn": 54, "n_refused": 36}])
    assert list(sentences(row, without=("withdrawn",))) == ["36 of 1,146 published answers are refusals."]


def test_a_text_of_an_answer_harms_no_page():
    row = NONE | {"n_published": 1200, "n_unparsed": 312, "commonest_unread": "<b>A</b>", "n_commonest_unread": 200}
    (sentence,) = sentences(row, form=Markup)
    assert "&lt;b&gt;A" in sentence


def test_domains_add_up_and_the_most_frequent_of_their_texts_is_kept():
    first, second, third = (datetime(2026, 3, day, tzinfo=UTC) for day in (1, 2, 3))
    rows = [
        NONE | {"n_counted": 1000, "n_unparsed": 200, "commonest_unread": "A", "n_commonest_unread": 40},
        NONE | {
            "domain": "health", "n_asked": 400, "n_counted": 300, "n_unparsed": 90, "n_withdrawn": 10,
            "commonest_unread": "B", "n_commonest_unread": 60, "first_withdrawn_at": second, "last_withdrawn_at": third,
        },
        NONE | {"domain": "news", "n_withdrawn": 1, "first_withdrawn_at": first, "last_withdrawn_at": first},
    ]  # fmt: skip
    row = combined(rows)
    assert (row["n_asked"], row["n_counted"], row["n_unparsed"], row["n_withdrawn"]) == (2800, 2500, 290, 11)
    assert row["n_published"] == 2789
    assert (row["commonest_unread"], row["n_commonest_unread"]) == ("B", 60)
    assert (row["first_withdrawn_at"], row["last_withdrawn_at"]) == (first, third)
    assert combined([]) == {}


def test_a_line_begins_with_its_domain_and_with_its_paradigm_where_a_domain_has_several():
    rows = [NONE | {"n_refused": 36}, NONE | {"domain": "news", "n_refused": 40}]
    assert re.findall(NAMED, in_short(rows)) == ["law", "news"]
    both = in_short([*rows, NONE | {"paradigm": "order"}])
    assert re.findall(NAMED, both) == ["framing, law", "news"]


def test_every_sentence_ends_and_names_what_it_is_a_part_of():
    for of in SENTENCES.values():
        assert all(re.search(r"\{asked\} (answers|trials) .*\.$", sentence) for sentence in of)
