import re

import pytest

from analysis.words.claims import (
    SPECIFIED,
    WRONG,
    by_what_is_wrong,
    distinct,
    fails,
    how_far_off,
    in_order,
    reason,
    summed_up,
)


def claim(claim_id, **differing):
    return {
        "claim_id": claim_id, "kind": "value", "unit": "%", "comparison": "=", "published_value": 60.0,
        "recomputed_value": 60.0, "recommended_value": 60.0, "recommended_low": None, "recommended_high": None,
        "recomputes": "yes", "holds": "holds", "describes": "effect", "is_first_place": True, "rests_on": "trials",
        "quantity": "percent_of_baseline", "margin": 5.0, "document": "A", "why": "as_printed", "how_sure": "estimate",
        "decimals": 0, "study": "s", "llm": None, "llm_b": None, "is_of_few_llms": False, "n_llms": 10,
        "recommended_as": "percent_of_baseline", "confounded_by": None, "not_derivable": None, "note": None,
    } | dict.fromkeys(SPECIFIED) | differing  # fmt: skip


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
    assert how_far_off(sentence("a", recommended_value=-10.0, holds="other_way")) == 2


IN_ORDER = [
    # what goes before what, from the outcome of an experiment to a typing error in a count
    sentence("wholly", recommended_value=-3.0, holds="contradicted"),
    sentence("by-estimate", recommended_value=-9.0, holds="other_way"),
    sentence("by-less", recommended_value=-3.0, holds="other_way"),
    sentence("confounded", holds="confounded"),
    sentence("weaker", holds="weaker"),
    sentence("not-by-its-method", recomputes="no"),
    sentence("stars", holds="contradicted", unit="stars", published_value=2.5, recommended_value=0.0),
    claim("wrong-twice", recomputes="no", holds="contradicted", recomputed_value=50.0, recommended_value=70.0),
    claim("far", holds="contradicted", recommended_value=90.0),
    claim("near", holds="contradicted", recommended_value=70.0),
    claim("bound", recomputes="no", holds="contradicted", recommended_value=95.0, why="another_bound"),
    claim("unsure", holds="other_way", recommended_value=90.0),
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
    assert sorted(places, key=places.get) == [of["claim_id"] for of in IN_ORDER]


def test_each_thing_that_can_be_wrong_is_a_heading_of_its_own():
    groups = {wrong: [of["claim_id"] for of in claims] for wrong, claims in by_what_is_wrong(IN_ORDER[::-1])}
    assert tuple(groups) == WRONG
    assert groups[WRONG[1]] == ["by-estimate", "by-less"]
    assert groups[WRONG[7]] == ["far", "near"]


def test_the_sum_says_of_numbers_whether_they_recompute_and_of_those_about_llms_whether_they_hold(golden):
    claims = [
        claim("a"),
        claim("b", holds="weaker"),
        claim("c", holds="contradicted", recomputes="no"),
        claim("d", holds="not_applicable", describes="record"),
        sentence("e", recommended_low=1.0, recommended_high=3.0),
        sentence("f", holds="weaker"),
        sentence("g", holds="weaker"),
        sentence("h", holds="other_way"),
    ]
    assert [re.findall(r"\d+", said) for said in summed_up(claims)] == [["4", "3"], [*"31111"], [*"4121"]]
    golden("\n".join(summed_up(claims)))
    of_scores = [
        claim("s", rests_on="scores"),
        claim("t", rests_on="scores", kind="sentence", unit="stars", how_sure="exact"),
        claim("u", rests_on="scores", kind="sentence", unit="stars", holds="contradicted"),
    ]
    assert [re.findall(r"\d+", said) for said in summed_up(of_scores)] == [[*"11"], [*"11"], [*"211"]]
    golden("\n".join(summed_up(of_scores)))


def test_a_paper_that_publishes_no_data_is_said_in_one_paragraph_and_counts_nowhere_else(golden):
    def printed(claim_id, **differing):
        return claim(claim_id, document="P", rests_on="printed numbers", **differing)

    alone = [
        printed("a", holds="not_applicable"),
        printed("b", recomputes="no", holds=None, statement="How much", location="Table 2", recomputed_value=48.0),
        printed("c", recomputes="not_derivable", holds=None, not_derivable="The texts are not published.")
        | {"rests_on": None},
        printed("d", kind="sentence", comparison="<", holds="other_way"),
        printed("e", is_first_place=False),
    ]
    (said,) = summed_up(alone)
    assert re.findall(r"\d+", said) == ["3", "4", *"1111111", "1", "2", "60", "48"]
    golden(said)
    with_data = [claim("f"), sentence("g")]
    assert summed_up([*alone, *with_data]) == [*summed_up(with_data), said]


GAIN = "By displacement, in which too high and too low do not cancel, it is"
STARRED = "With neighbouring targets kept together in blocks of ten, p is"
OF_SCORES = {"rests_on": "scores", "n_llms": 1}
ENDS = {"recommended_low": 15.0, "recommended_high": 27.0}


@pytest.mark.parametrize(
    ("of", "said"),
    [
        # what does not recompute: to the printed digits, and one more where that tells it apart
        (claim("a"), None),
        (claim("a", recomputes="no", recomputed_value=60.4), "The trials give 60.4 %, not 60 %."),
        (
            claim("a", recomputes="no", recomputed_value=18.1499, published_value=18.2, decimals=1, note="An error."),
            "An error. The trials give 18.15 %, not 18.2 %.",
        ),
        (sentence("a", comparison="<", recomputes="no"), "The trials give 60 pp, not < 0 pp."),
        (
            claim("a", recomputes="no", unit="1", published_value=4.1e-12, recomputed_value=3.24e-12, decimals=13),
            "The trials give 3.24e-12, not 4.1e-12.",
        ),
        (
            claim("a", recomputes="no", rests_on="printed numbers", recomputed_value=2.07),
            "Its printed inputs give 2.1 %, not 60 %.",
        ),
        (claim("a", recomputes="not_derivable", why="not_derivable", not_derivable="It is old."), "It is old."),
        (
            claim("a", why="study_not_loaded", recomputes="not_checked"),
            "The study s is not in this warehouse: import its archive.",
        ),
        (
            claim("a", recomputes="not_checked", why="not_recorded"),
            "The warehouse has no percent_of_baseline of the whole study, without a specification: one of "
            "these names may be wrong, or this quantity takes other keys, or other columns of a specification.",
        ),
        (
            claim("a", recomputes="not_checked", why="not_recorded", llm="v/b", **OF_SCORES),
            "The warehouse holds no scores of v/b.",
        ),
        (
            claim("a", recomputes="not_checked", why="not_recorded", llm="v/a", llm_b="v/b", **OF_SCORES),
            "The warehouse does not hold scores of both v/a and v/b.",
        ),
        # what does not hold: where the interval lies, and whether it covers other LLMs
        (claim("a", holds=None, why="not_recommended"), "The recommended analysis has no such number."),
        (
            claim("a", holds=None, why="not_recommended", **OF_SCORES),
            "The recommended analysis takes Shapley values, which need the score of every set of fields; only their "
            "Banzhaf values were published.",
        ),
        (
            claim("a", holds="weaker", why="wide_interval", recommended_value=21.0, **ENDS),
            "As recommended it is 21 % (15 to 27): it could be anything in that interval.",
        ),
        (
            claim("a", holds="weaker", why="no_interval", recommended_value=21.0),
            "As recommended it is 21 %, with no interval to say how sure that is.",
        ),
        (
            claim("a", holds="weaker", why="few_llms", recommended_value=21.0, is_of_few_llms=True, n_llms=2, **ENDS),
            "As recommended it is 21 % (15 to 27). Tested on 2 LLMs only; do not generalise.",
        ),
        (
            claim("a", holds="contradicted", why="outside_interval", recommended_value=21.0, weighting="trial", **ENDS),
            "The paper takes it with trials weighing the same rather than LLMs. As recommended it is 21 % (15 to 27).",
        ),
        (
            claim("a", holds="contradicted", why="another_bound", excluded_llm="v/a v/b", baseline_scope="matched"),
            "The paper takes it over the matched baseline, without v/a and v/b. The recommended interval ends at 60 %: "
            "it covers LLMs that were not tested, not only new trials of the same.",
        ),
        (
            claim("a", holds="contradicted", why="another_bound", llm="v/a", weighting="trial"),
            "The recommended interval ends at 60 %: it is of trials, and counts that the baseline is estimated too.",
        ),
        (
            claim("a", holds="confounded", why="unlike_conditions", confounded_by="one prompt says more"),
            "As recommended it is 60 %, but that compares unlike conditions: one prompt says more.",
        ),
        (
            claim("a", holds="weaker", why="no_interval", unit="rank", recommended_value=2.0),
            "As recommended it is place 2, with no interval to say how sure that is.",
        ),
        # sentences
        (
            sentence("a", why="whole_interval", recommended_as="gain_by_displacement", **ENDS),
            f"{GAIN} 60 pp (15 to 27).",
        ),
        (
            sentence("a", holds="weaker", why="wide_interval", recommended_as="gain_by_displacement", **ENDS),
            f"{GAIN} 60 pp (15 to 27): the interval also allows the opposite.",
        ),
        (
            sentence("a", holds="other_way", why="interval_allows_both", recommended_as="gain_by_displacement", **ENDS),
            f"{GAIN} 60 pp (15 to 27), which is not > 0 pp; the interval allows both.",
        ),
        (
            sentence("a", holds="other_way", why="estimate_alone", recommended_as="metric_gap"),
            "By gap, which is absolute for each LLM, it is 60 pp, with no interval to say how sure that is.",
        ),
        (
            sentence("a", holds="contradicted", why="outside_interval", recommended_as="abss_mean", **ENDS),
            "As published, over its questions, it is 60 pp (15 to 27): the whole interval contradicts > 0 pp.",
        ),
        (
            sentence("a", holds="weaker", why="no_interval", unit="yes or no", recommended_as="goals_disagree"),
            "By displacement and gap, which we recommend, it is so, with no interval to say how sure that is.",
        ),
        # scores: stars and signs
        (claim("a", why="as_many_stars", unit="stars", **OF_SCORES), None),
        (
            claim("a", holds="weaker", why="fewer_stars", unit="stars", recommended_value=1.0, **OF_SCORES),
            f"{STARRED} below .1 and at least .05.",
        ),
        (
            claim("a", why="more_stars", unit="stars", recommended_value=2.0, **OF_SCORES),
            f"{STARRED} below .05 and at least .01, stronger evidence than is printed.",
        ),
        (
            claim("a", holds="weaker", why="fewer_stars", unit="stars", recommended_value=0.0, **OF_SCORES),
            f"{STARRED} at least .1.",
        ),
        (sentence("a", why="as_many_stars", unit="stars", recommended_value=3.0), f"{STARRED} below .01."),
        (
            claim("a", recomputes="no", holds="contradicted", why="read_otherwise", unit="sign", published_value=-1.0)
            | OF_SCORES,
            "The scores give +, not -. As recommended it is +.",
        ),
    ],
)
def test_the_reason_of_a_claim_is_made_of_its_codes_and_numbers(of, said):
    assert reason(of) == said
