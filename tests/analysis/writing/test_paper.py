"""A paper on a study may hold only the study's numbers, each where it belongs; the template always may stand."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.writing.paper import SIMULATED, check_paper, paper_prompt, template_paper
from analysis.writing.paper_facts import facts_of

STUDY = {"study": "s-7", "sources": ["recorded"], "is_simulated": False, "n_trials": 1234, "llms": ["v/o3", "v/b-4.5"]}
NAMES = {"no_technique": "No technique", "sacd": "SACD", "devils_advocate": "Devil's Advocate", "sacd_initial": None}


def ranking(domain, technique, percent, spread, ranks=(None, None), **more):
    return {
        "domain": domain, "technique": technique, "n_trials": 431, "n_llms": 6, "percent_of_baseline": percent,
        "deviation_pp": None if percent is None else percent - 100, "spread_pp": spread,
        "spread_change_percent": -12.34, "madb_percent": 33.3, "rank_by_deviation": ranks[0],
        "rank_by_susceptibility": ranks[1], "metrics_disagree": True, "reason": None, **more,
    }  # fmt: skip


def probability(domain, technique, metric, decision, **more):
    return {
        "domain": domain, "technique": technique, "metric": metric, "method": "cluster", "gain": 8.04,
        "gain_low": -6.58, "gain_high": 21.95, "p_best": 0.5968, "p_worst": 0.0, "p_worse_than_nothing": 0.012,
        "rank_low": 1, "rank_high": 3, "decision": decision, "reason": None, **more,
    }  # fmt: skip


def rows(**changes):
    judicial = [
        ranking("judicial", "no_technique", 71.52, 25.32, reason="not_ranked"),
        ranking("judicial", "sacd", 97.7, 38.1, (1, 2)),
        ranking("judicial", "devils_advocate", 65.5, 25.39, (2, 1)),
    ]
    loan = [ranking("loan", "sacd", 56.96, 18.31, (1, 1)), ranking("loan", "devils_advocate", 80.99, 70.91, (2, 2))]
    return {
        "techniques": [{"technique": name, "display_name": shown} for name, shown in NAMES.items()],
        "rankings": judicial + loan,
        "intervals": [
            {"domain": "judicial", "technique": "sacd", "metric": "percent_of_baseline", "method": "headline",
             "low": 80.65, "high": 114.75, "reason": None},
            {"domain": "loan", "technique": "sacd", "metric": "spread_pp", "method": "trial", "low": 9.9, "high": 26.7,
             "reason": None},
        ],
        "probabilities": [
            probability("judicial", "sacd", "deviation", "no_evidence"),
            probability("judicial", "devils_advocate", "deviation", "avoid", p_best=0.0),
            probability("judicial", "no_technique", "deviation", None),
            probability("loan", "sacd", "susceptibility", "use", method="trial", reason="too_few_llms"),
        ],
        "contrasts": [
            {"domain": "judicial", "technique_a": "sacd", "metric": "percent_of_baseline", "difference": 26.18,
             "low": 10.11, "high": 42.25, "p_holm": 0.0293, "n_llms": 6, "reason": None},
            {"domain": "judicial", "technique_a": "devils_advocate", "metric": "percent_of_baseline",
             "difference": -6.02, "low": -22.2, "high": 10.2, "p_holm": 0.0002, "n_llms": 6, "reason": None},
        ],
        "equivalences": [
            {"domain": "judicial", "technique_a": "sacd", "low_90": 13.2, "high_90": 39.2, "status": "not_established",
             "reason": None}
        ],
        "baselines": [
            {"domain": "judicial", "llm": "v/o3", "vignette": "theft", "baseline": 18.734, "n_trials": 90,
             "reason": None, "response_unit": "months"},
            {"domain": "judicial", "llm": "v/b-4.5", "vignette": "theft", "baseline": 44.1, "n_trials": 89,
             "reason": None, "response_unit": "months"},
        ],
        "conditions": [
            {"domain": "judicial", "llm": "v/o3", "vignette": "theft", "anchor_direction": "low",
             "mean_response": 11.114, "n_trials": 30}
        ],
        "spreads": [
            {"domain": "judicial", "llm": "v/o3", "vignette": "theft", "spread": 8.03, "spread_pp": 42.9,
             "reason": None},
            {"domain": "loan", "llm": "v/o3", "vignette": "shop-9", "spread": 12.5, "spread_pp": None,
             "reason": "no_baseline"},
        ],
        "attrition": [
            {"domain": domain, "vignette": "theft", "n_asked": 640, "n_answered": 617, "n_refused": 2, "n_unparsed": 1,
             "n_out_of_range": 0, "n_failed": 0}
            for domain in ("judicial", "loan")
        ],
        "batches": [{"batch_id": "b", "verdict": "passed_with_warnings", "is_published": True}],
        "flags": [{"severity": "suspect", "reason": "equals_anchor", "n_trials": 17}],
        "claims": [{"kind": "value", "status": "differs", "n_claims": 52}],
        "open_claims": [{"statement": "SACD is equivalent within 4.75 pp", "status": "not_established"}],
        "method": [{"confidence": 0.95, "n_resamples": 10_000, "seed": 20260224, "margin_pp": 5.0, "fewest_llms": 5}],
        **changes,
    }  # fmt: skip


FACTS = facts_of(STUDY, rows())
EMPTY = {name: [] for name in rows()}


def problems_with(sentence, section="Results", facts=FACTS):
    heading = f"## {section}\n"
    text = template_paper(facts)
    assert heading in text
    return check_paper(text.replace(heading, f"{heading}\n{sentence}\n"), facts)


def test_the_template_may_stand_and_is_the_same_for_the_same_facts():
    assert check_paper(template_paper(FACTS), FACTS) == []
    assert template_paper(FACTS) == template_paper(copy.deepcopy(FACTS))


def test_a_study_without_anything_has_a_template_that_says_so():
    facts = facts_of({**STUDY, "n_trials": 0, "llms": []}, EMPTY)
    text = template_paper(facts)
    assert check_paper(text, facts) == []
    assert "Nothing was compared" in text


@pytest.mark.parametrize(
    "sentence",
    [
        "SACD is at 97.7 % of the baseline (95 % interval 80.7 to 114.8).",
        "In the judicial domain SACD is at 98 %, no technique at 71.5 %.",
        "With Devil's Advocate it is 65.5 % in the domain judicial, and 81.0 % in the domain loan.",
        "SACD moves it by 26.2 pp, p = 0.029.",
        "Devil's Advocate moves it by \u22126.0 percentage points (p < 0.001).",
        "| SACD | 431 | 97.7 | 38.1 |",
        "The baseline of o3 is 18.73 months; that of v/b-4.5 is 44.1.",
        "There were 1,234 trials, of which 17 equal the anchor; 10,000 resamples, seed 20260224.",
        "> SACD is equivalent within 4.75 pp",
        "SACD stays below 100 % of the baseline, by more than 0 pp; the 95% interval is 80.7\u2013114.8.",
        "As Jacowitz & Kahneman (1995) have it, 1. nothing else.",
    ],
)
def test_a_number_of_what_its_sentence_names_is_grounded(sentence):
    assert problems_with(sentence) == []


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("It is 55.5 % of the baseline.", "the number 55.5 in Results is not in the analysis"),
        ("Devil's Advocate is at 97.7 %.", "the number 97.7 in Results is not one of Devil's Advocate"),
        ("In the loan domain SACD is at 97.7 %.", "is not one of SACD and loan"),
        ("| loan | SACD | 97.7 |", "is not one of SACD and loan"),
        ("The baseline of o3 is 44.1 months.", "is not one of v/o3"),
        ("Devil's Advocate moves it by 6.0 pp.", "the number 6.0"),
        ("SACD moves it by 26.2 %.", "the number 26.2"),
        ("SACD differs, p < 0.01.", "the number 0.01"),
        ("SACD is at 97.71 %.", "the number 97.71"),
        ("In 2019 this was known.", "the number 2019"),
        ("There were 100 LLMs.", "the number 100"),
    ],
)
def test_a_number_that_is_not_there_or_of_something_else_is_a_problem(sentence, said):
    assert any(said in problem for problem in problems_with(sentence))


def test_a_heading_that_names_a_domain_says_whose_numbers_follow():
    assert problems_with("### Loan\n\nSACD is at 57.0 %.") == []
    assert problems_with("### Loan\n\nSACD is at 97.7 %.")


def test_a_technique_whose_name_holds_that_of_another_is_told_from_it():
    more = rows(
        techniques=[{"technique": "sacd", "display_name": "SACD"}, {"technique": "x", "display_name": "SACD x"}]
    )
    more["rankings"] = [ranking("d", "sacd", 90.0, 1.0, (1, 1)), ranking("d", "x", 50.0, 2.0, (2, 2))]
    facts = facts_of(STUDY, more)
    assert problems_with("SACD x is at 50.0 %.", facts=facts) == []
    assert problems_with("SACD x is at 90.0 %.", facts=facts)


@pytest.mark.parametrize(
    ("sentence", "is_made"),
    [
        ("For SACD the judicial decision is NO EVIDENCE.", True),
        ("For SACD the judicial decision is USE.", False),
        ("For SACD in the loan domain it is USE.", True),
        ("Devil's Advocate: AVOID.", True),
        ("Devil's Advocate: EQUIVALENT to nothing.", False),
    ],
)
def test_a_decision_may_only_be_stated_as_it_was_made(sentence, is_made):
    assert (problems_with(sentence, "Discussion") == []) == is_made


def test_the_discussion_must_say_each_domains_decisions_word_for_word():
    text = template_paper(FACTS)
    conclusion = FACTS["domains"]["judicial"]["conclusion"]
    assert "NO EVIDENCE for SACD" in conclusion
    before, _, after = text.partition("## Discussion")
    problems = check_paper(before + "## Discussion" + after.replace(conclusion, "SACD wins.", 1), FACTS)
    assert [problem for problem in problems if "judicial" in problem]
    emphasised = text.replace(conclusion, "**" + conclusion.replace(" ", "\n", 5) + "**")
    assert check_paper(emphasised, FACTS) == []


@pytest.mark.parametrize("section", ["Abstract", "Methods", "Results", "Discussion", "Limitations", "References"])
def test_a_section_that_is_missing_is_a_problem(section):
    assert any(section in p for p in check_paper(template_paper(FACTS).replace(f"## {section}", "## Other"), FACTS))


def test_a_citation_that_is_missing_is_a_problem():
    text = template_paper(FACTS).replace("Schuirmann, D. J.", "Somebody")
    assert any("Schuirmann" in problem for problem in check_paper(text, FACTS))


def test_simulated_data_are_said_to_be_simulated_in_title_and_abstract_and_so_the_prompt_asks():
    facts = facts_of({**STUDY, "is_simulated": True}, rows())
    text = template_paper(facts)
    assert text.startswith("# SIMULATED: ")
    assert check_paper(text, facts) == []
    assert check_paper(text.replace("# SIMULATED: ", "# "), facts) == [
        "the Title does not say that the data are SIMULATED"
    ]
    assert "the Abstract does not say that the data are SIMULATED" in check_paper(text.replace(SIMULATED, ""), facts)
    assert SIMULATED in paper_prompt(facts)
    assert "SIMULATED" not in paper_prompt(FACTS)


def test_few_llms_are_never_spoken_of_as_llms_in_general():
    assert "speaks only of them" in FACTS["domains"]["loan"]["conclusion"]
    assert "speaks only of them" not in FACTS["domains"]["judicial"]["conclusion"]
    assert "over trials of the LLMs that were asked, no others" in template_paper(FACTS)


def test_the_template_gives_each_llms_baseline_and_spread_also_where_no_technique_can_be_ranked():
    facts = facts_of(STUDY, rows(rankings=[]))
    text = template_paper(facts)
    of_llm = "- v/o3: baseline, theft 18.73 (90); mean under low anchor without a technique, theft 11.11 (30); "
    assert of_llm + "high less low anchor without a technique, theft 8.03." in text
    assert "- v/o3: high less low anchor without a technique, shop-9 12.50." in text
    assert "No trial had a low or a high anchor and a baseline to hold it against." in text
    assert check_paper(text, facts) == []


def test_a_null_has_its_reason_in_the_facts_and_no_number_in_the_template():
    nulls = {"percent_of_baseline": None, "deviation_pp": None, "spread_pp": None, "reason": "no_baseline; not_ranked"}
    facts = facts_of(STUDY, rows(rankings=[{**ranking("d", "sacd", None, None), **nulls}], intervals=[]))
    technique = facts["domains"]["d"]["techniques"]["SACD"]
    assert technique["reason"] == "no_baseline; not_ranked"
    assert technique["percent_of_baseline"]["why_no_interval"] == "not_computed"
    text = template_paper(facts)
    assert "| SACD | 431 | not computed | not computed | not ranked | not ranked |" in text
    assert "no technique can be ranked by both metrics (no baseline)" in text
    assert check_paper(text, facts) == []


def test_the_prompt_holds_every_fact_as_json():
    prompt = paper_prompt(FACTS)
    assert json.loads(prompt[prompt.index("\n{\n") :]) == FACTS
    for section in ("Abstract", "Methods", "Results", "Discussion", "Limitations", "Conclusion", "References"):
        assert section in prompt


@settings(max_examples=60)
@given(
    percent=st.floats(-500, 5000, allow_nan=False),
    spread=st.floats(-500, 5000, allow_nan=False),
    p=st.floats(0, 1),
    share=st.floats(0, 1),
    name=st.sampled_from(["s", "study-2 of 7", "a|b_c*", "[x](y) <b>"]),
)
def test_whatever_the_numbers_the_template_may_stand(percent, spread, p, share, name):
    drawn = rows(rankings=[ranking("judicial", "sacd", percent, spread, (1, 1))])
    drawn["contrasts"][0] |= {"difference": spread, "p_holm": p}
    drawn["probabilities"][0] |= {"p_best": share, "gain": percent}
    facts = facts_of({**STUDY, "study": name}, drawn)
    assert check_paper(template_paper(facts), facts) == []
