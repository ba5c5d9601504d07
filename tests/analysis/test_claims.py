import re

import pytest

from analysis.claims.checks import WRONG, by_what_is_wrong, distinct, fails, how_far_off, in_order, summed_up


def claim(claim_id, **differing):
    return {
        "claim_id": claim_id, "kind": "value", "unit": "%", "comparison": "=", "published_value": 60.0,
        "recomputed_value": 60.0, "recommended_value": 60.0, "recommended_low": None, "recommended_high": None,
        "recomputes": "yes", "holds": "holds", "describes": "effect", "is_first_place": True, "rests_on": "trials",
        "quantity": "percent_of_baseline", "margin": 5.0,
    } | differing  # fmt: skip


def sentence(claim_id, **differing):
    return claim(claim_id, **{"kind": "sentence", "comparison": ">", "published_value": 0.0, "unit": "pp"} | differing)


def test_a_quantity_that_is_printed_in_several_places_counts_once(golden):
    claims = [claim("table"), claim("text", is_first_place=False), claim("other")]
    assert [one["claim_id"] for one in distinct(claims)] == ["table", "other"]
    golden(summed_up(claims)[0], "2 printed", "3 places", "2 recompute")


def test_what_recomputes_and_holds_does_not_fail():
    assert not fails(claim("a"))
    assert not fails(claim("a", holds="not_applicable"))
    assert not fails(claim("a", holds=None, recomputes="not_checked"))
    assert fails(claim("a", recomputes="not_derivable", holds=None))
    assert fails(claim("a", holds="weaker"))


@pytest.mark.parametrize(
    ("margin", "printed", "recommended", "margins"),
    [
        # 20 pp are four margins of 5; 0.5 SD are two and a half of 0.2
        (5.0, 14.5, 34.5, 4.0),
        (5.0, 60.0, 57.5, 0.5),
        (0.2, 1.06, 0.56, 2.5),
        # a fifth of the larger, also where the margin is 0: 10 of 20 are half of it; 47 against 4.7 are nine tenths
        (None, 10.0, 20.0, 2.5),
        (0.0, 1.0, 4.0, 3.75),
        (None, 47.0, 4.7, 4.5),
        (None, 0.0, 0.0, 0.0),
    ],
)
def test_how_far_off_a_number_is_in_margins(margin, printed, recommended, margins):
    of = claim("a", margin=margin, published_value=printed, recommended_value=recommended, holds="contradicted")
    assert how_far_off(of) == pytest.approx(margins)


def test_a_number_is_as_far_off_as_the_farther_of_the_two_that_it_should_be():
    of = {"published_value": 60.0, "recomputed_value": 50.0, "recommended_value": 55.0}
    assert how_far_off(claim("a", **of)) == 0
    assert how_far_off(claim("a", **of, holds="weaker")) == 1
    assert how_far_off(claim("a", **of, holds="weaker", recomputes="no")) == 2
    assert how_far_off(claim("a", **of | {"recomputed_value": None}, recomputes="not_derivable")) == 0


def test_a_sentence_is_off_only_on_the_wrong_side_of_its_limit():
    assert how_far_off(sentence("a", recommended_value=10.0, holds="weaker")) == 0
    assert how_far_off(sentence("a", recommended_value=-10.0, holds="contradicted")) == 2


OF_A_SENTENCE = {"recommended_value": -3.0, "holds": "contradicted"}
IN_ORDER = [
    # what goes before what, from the outcome of an experiment to a typing error in a count
    sentence("wholly", **OF_A_SENTENCE, recommended_low=-5.0, recommended_high=-1.0),
    sentence("by-sign", **OF_A_SENTENCE, recommended_low=-50.0, recommended_high=44.0),
    sentence("without-interval", **OF_A_SENTENCE),
    sentence("confounded", holds="confounded"),
    sentence("weaker", holds="weaker"),
    sentence("not-by-its-method", recomputes="no"),
    sentence("stars", holds="contradicted", unit="stars", published_value=2.5, recommended_value=0.0),
    claim("wrong-twice", recomputes="no", holds="contradicted", recomputed_value=50.0, recommended_value=70.0),
    claim("far", holds="contradicted", recommended_value=90.0),
    claim("near", holds="contradicted", recommended_value=70.0),
    claim("bound", recomputes="no", holds="contradicted", recommended_value=95.0, quantity="percent_of_baseline_low"),
    claim("prompts", holds="confounded"),
    claim("wide", holds="weaker"),
    claim("by-a-digit", recomputes="no", recomputed_value=60.1),
    claim("underivable", recomputes="not_derivable", holds=None, recomputed_value=None),
    claim("by-little", recomputes="no", holds="contradicted", recommended_value=61.0),
    claim("count", recomputes="no", holds="not_applicable", describes="record", recomputed_value=600.0),
    claim("right"),
]


@pytest.mark.parametrize("shuffled", [IN_ORDER[::-1], IN_ORDER[7:] + IN_ORDER[:7]], ids=["reversed", "turned"])
def test_what_matters_goes_first_and_trifles_last(shuffled):
    places = {of["claim_id"]: n for n, of in enumerate(in_order(shuffled))}
    # those that are as bad as each other keep their order
    places["by-sign"], places["without-interval"] = sorted((places["by-sign"], places["without-interval"]))
    assert sorted(places, key=places.get) == [of["claim_id"] for of in IN_ORDER]


def test_each_thing_that_can_be_wrong_is_a_heading_of_its_own():
    groups = {wrong: [of["claim_id"] for of in claims] for wrong, claims in by_what_is_wrong(IN_ORDER[::-1])}
    assert tuple(groups) == WRONG
    assert groups[WRONG[1]] == ["without-interval", "by-sign"]
    assert groups[WRONG[7]] == ["far", "near"]


def test_a_limit_from_above_is_contradicted_from_above():
    below = {"comparison": "<", "published_value": 1.5, "holds": "contradicted", "unit": "rank"}
    wholly = sentence("a", **below, recommended_value=4.0, recommended_low=3.0, recommended_high=4.0)
    partly = sentence("b", **below, recommended_value=4.0, recommended_low=1.0, recommended_high=4.0)
    assert [wrong for wrong, _ in by_what_is_wrong([partly, wholly])] == [WRONG[0], WRONG[1]]


def test_the_sum_says_of_numbers_whether_they_recompute_and_of_those_about_llms_whether_they_hold(golden):
    claims = [
        claim("a"),
        claim("b", holds="weaker"),
        claim("c", holds="contradicted", recomputes="no"),
        claim("d", holds="not_applicable", describes="record"),
        sentence("e", recommended_low=1.0, recommended_high=3.0),
        sentence("f", holds="weaker"),
        sentence("g", holds="weaker"),
    ]
    assert [re.findall(r"\d+", said) for said in summed_up(claims)] == [["4", "3"], [*"31111"], [*"312"]]
    golden("\n".join(summed_up(claims)))
    of_scores = [
        claim("s", rests_on="scores"),
        claim("t", rests_on="scores", kind="sentence", unit="stars"),
        claim("u", rests_on="scores", kind="sentence", unit="stars", holds="contradicted"),
    ]
    assert [re.findall(r"\d+", said) for said in summed_up(of_scores)] == [[*"11"], [*"11"], [*"211"]]
    golden("\n".join(summed_up(of_scores)))
    golden("\n".join(summed_up([claim("p", rests_on="printed numbers", holds="not_applicable")])))
