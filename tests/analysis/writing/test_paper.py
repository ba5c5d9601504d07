"""A paper on a study may hold only the study's numbers, each where it belongs; the template always may stand."""

import copy
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.words.codes import LACKS, REASONS
from analysis.words.conclusions import TOO_FEW
from analysis.writing.documents import MINUS
from analysis.writing.paper import SIMULATED, check_paper, paper_prompt, template_paper
from analysis.writing.paper_facts import facts_of

STUDY = {"study": "s-7", "sources": ["recorded"], "is_simulated": False, "n_trials": 1234, "llms": ["v/o3", "v/b-4.5"]}
GOALS = ("displacement", "gap", "error")
NAMES = {"no_technique": "No technique", "sacd": "SACD", "devils_advocate": "Devil's Advocate", "sacd_initial": None}


def ranking(domain, technique, displacement, gap, ranks=(None, None, None), **more):
    return {
        "domain": domain, "technique": technique, "n_trials": 431, "n_llms": 6,
        "losses": {"displacement": displacement, "gap": gap, "error": 33.3}, "base_loss": 12.1,
        "ranks": dict(zip(GOALS, ranks, strict=True)), "goals_disagree": True, "reason": None, **more,
    }  # fmt: skip


def decision(domain, technique, goal, decided, **more):
    return {
        "domain": domain, "technique": technique, "goal": goal, "control": "no_technique",
        "comparison": "control", "loss": 30.9, "loss_control": 38.94, "gain": 8.04, "gain_low": -6.58,
        "gain_high": 21.94, "gain_plain_low": -2.2, "gain_plain_high": 18.3, "gain_llms_low": 5.55,
        "gain_llms_high": 10.45, "n_gained": 5, "n_helped": 3, "n_own_prompt": 0, "n_harmed": 1,
        "n_comparisons": 7, "n_families": 1,
        "p_sign_flip": 0.0293, "p_best": 0.5968, "p_worst": 0.0, "p_worse_than_control": 0.012, "rank_low": 1,
        "rank_high": 3, "is_primary": goal == "displacement", "decision": decided,
        "certainty": "no_evidence" if decided == "no_evidence" else "established",
        "n_llms": 6, "n_vendors": 5, "reason": None, **more,
    }  # fmt: skip


def of_one(llm, technique, goal, decided, gain, **more):
    bounds = {"gain": gain, "gain_low": gain - 3.3, "gain_high": gain + 3.3}
    return decision("judicial", technique, goal, decided, llm=llm, certainty="one_llm", **bounds, **more)


def rows(**changes):
    judicial = [
        ranking("judicial", "no_technique", 28.48, 25.32, reason="not_ranked"),
        ranking("judicial", "sacd", 12.3, 38.1, (1, 2, 1)),
        ranking("judicial", "devils_advocate", 34.5, 25.39, (2, 1, 2)),
    ]
    loan = [
        ranking("loan", "sacd", 43.04, 18.31, (1, 1, 1)), ranking("loan", "devils_advocate", 19.01, 70.91, (2, 2, 2))
    ]  # fmt: skip
    return {
        "techniques": [{"technique": name, "display_name": shown} for name, shown in NAMES.items()],
        "rankings": judicial + loan,
        "decisions": [
            decision("judicial", "sacd", "displacement", "no_evidence"),
            decision("judicial", "devils_advocate", "displacement", "avoid", gain=-6.02, p_sign_flip=0.0002),
            decision("judicial", "devils_advocate", "gap", "equivalent", certainty="supported",
                     reason="reading_would_change; one_case"),
            decision("judicial", "sacd", "displacement", "worse_than_asking_again", control="random_control",
                     comparison="placebo"),
            decision("judicial", "sacd", "error", None, comparison="confounded", certainty=None, gain=19.19,
                     reason="confounded_prompt"),
            decision("loan", "sacd", "gap", "no_evidence", certainty="too_few_vendors", n_llms=2, n_vendors=1,
                     p_sign_flip=None, p_best=None, p_worse_than_control=None, reason="too_few_vendors"),
        ],
        "of_each_llm": [
            of_one("v/o3", "sacd", "displacement", "use", 21.21),
            of_one("v/b-4.5", "sacd", "displacement", "avoid", -9.09),
            of_one("v/o3", "devils_advocate", "displacement", "avoid", -17.6),
            of_one("v/b-4.5", "devils_advocate", "displacement", "no_evidence", 1.44),
        ],
        "predictions": [
            {"domain": "judicial", "technique": "sacd", "goal": "displacement", "control": "no_technique",
             "expected_loss": 21.1, "gain": 7.07, "gain_low": -13.5, "gain_high": 27.6, "p_better_than_control": 0.777,
             "p_best_new_llm": 0.4142},
            {"domain": "loan", "technique": "sacd", "goal": "gap", "control": "no_technique", "expected_loss": None,
             "gain": None, "gain_low": None, "gain_high": None, "p_better_than_control": None, "p_best_new_llm": None},
        ],
        "baselines": [
            {"domain": "judicial", "llm": "v/o3", "vignette": "theft", "mean": 18.734, "n_trials": 90,
             "response_unit": "months"},
            {"domain": "judicial", "llm": "v/b-4.5", "vignette": "theft", "mean": 44.1, "n_trials": 89,
             "response_unit": "months"},
        ],
        "conditions": [
            {"domain": "judicial", "llm": "v/o3", "vignette": "theft", "arm": "low", "mean": 11.114, "n_trials": 30}
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
        "changes": [],
        "shortfalls": [],
        "batches": [{"batch_id": "b", "verdict": "passed_with_warnings", "is_published": True}],
        "flags": [{"severity": "suspect", "reason": "equals_anchor", "n_trials": 17}],
        "claims": [
            {"kind": "value", "recomputes": "no", "holds": "contradicted", "n_claims": 41},
            {"kind": "value", "recomputes": "no", "holds": "weaker", "n_claims": 11},
        ],
        "open_claims": [{"statement": "SACD is equivalent within 4.75 pp", "holds": "weaker"}],
        "method": [{"confidence": 0.95, "n_draws": 10_000, "seed": 20260224, "margin_pp": 5.0, "fewest_vendors": 5}],
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
        "SACD leaves a displacement of 12.3 pp, at a level of 95 %.",
        "In the judicial domain SACD leaves 12 pp, no technique 28.5 pp.",
        "With Devil's Advocate it is 34.5 pp in the domain judicial, and 19.0 pp in the domain loan.",
        "SACD gains 8.0 pp (\u22126.6 to 21.9 pp), p = 0.029; the best with 59.7 %.",
        "Devil's Advocate gains \u22126.0 percentage points (p < 0.001).",
        "For an LLM that nobody asked SACD gains 7.1 pp, and is better than its control with 77.7 %.",
        "| SACD | 431 | 12.3 | 38.1 | 33.3 |",
        "The baseline of o3 is 18.73 months; that of v/b-4.5 is 44.1.",
        "There were 1,234 trials, of which 17 equal the anchor; 10,000 resamples, seed 20260224.",
        "> SACD is equivalent within 4.75 pp",
        "SACD stays below 100 % of the baseline, by more than 0 pp; it alone gains \u22122.2\u201318.3 pp.",
        "As Jacowitz & Kahneman (1995) have it, 1. nothing else.",
        *(f"SACD: {reason}." for reason in REASONS.values() if any(map(str.isdigit, reason))),
    ],
)
def test_a_number_of_what_its_sentence_names_is_grounded(sentence):
    assert problems_with(sentence) == []


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("It is 55.5 % of the baseline.", "the number 55.5 in Results is not in the analysis"),
        ("Devil's Advocate leaves 12.3 pp.", "the number 12.3 in Results is not one of Devil's Advocate"),
        ("In the loan domain SACD leaves 12.3 pp.", "is not one of SACD and loan"),
        ("| loan | SACD | 12.3 |", "is not one of SACD and loan"),
        ("The baseline of o3 is 44.1 months.", "is not one of v/o3"),
        ("Devil's Advocate gains 6.0 pp.", "the number 6.0"),
        ("SACD gains 8.0 %.", "the number 8.0"),
        ("SACD differs, p < 0.01.", "the number 0.01"),
        ("SACD leaves 12.31 pp.", "the number 12.31"),
        ("In 2019 this was known.", "the number 2019"),
        ("There were 100 LLMs.", "the number 100"),
    ],
)
def test_a_number_that_is_not_there_or_of_something_else_is_a_problem(sentence, said):
    assert any(said in problem for problem in problems_with(sentence))


def test_a_heading_that_names_a_domain_says_whose_numbers_follow():
    assert problems_with("### Loan\n\nSACD leaves 43.0 pp.") == []
    assert problems_with("### Loan\n\nSACD leaves 12.3 pp.")


def test_a_technique_whose_name_holds_that_of_another_is_told_from_it():
    more = rows(
        techniques=[{"technique": "sacd", "display_name": "SACD"}, {"technique": "x", "display_name": "SACD x"}]
    )
    more["rankings"] = [ranking("d", "sacd", 90.0, 1.0, (1, 1, 1)), ranking("d", "x", 50.0, 2.0, (2, 2, 2))]
    facts = facts_of(STUDY, more)
    assert problems_with("SACD x leaves 50.0 pp.", facts=facts) == []
    assert problems_with("SACD x leaves 90.0 pp.", facts=facts)


@pytest.mark.parametrize(
    ("sentence", "is_made"),
    [
        ("For SACD the judicial decision is UNCLEAR.", True),
        ("For SACD the judicial decision is USE.", False),
        ("Against the placebo, SACD: WORSE THAN ASKING AGAIN.", True),
        ("Beside asking again, SACD: WORSE THAN ASKING AGAIN.", True),
        ("SACD: AVOID.", False),
        ("For SACD in the loan domain it is USE.", False),
        ("For SACD in the loan domain it is UNCLEAR.", True),
        ("Devil's Advocate: AVOID.", True),
        ("Devil's Advocate: EQUIVALENT in the loan domain.", False),
    ],
)
def test_a_decision_may_only_be_stated_as_it_was_made(sentence, is_made):
    assert (problems_with(sentence, "Discussion") == []) == is_made


@pytest.mark.parametrize(
    ("sentence", "is_so"),
    [
        ("It is established that Devil's Advocate harms in the judicial domain.", True),
        ("It is established that SACD helps in the judicial domain.", False),
        ("Nothing is established of SACD.", True),
        ("SACD is supported, not established.", True),
        ("Established in the loan domain: SACD.", False),
        ("Against the placebo it is established of SACD.", True),
    ],
)
def test_only_what_is_established_may_be_called_so(sentence, is_so):
    assert (problems_with(sentence, "Discussion") == []) == is_so


def test_what_a_decision_lacks_is_said_and_no_limit_twice():
    by_gap = FACTS["domains"]["judicial"]["techniques"]["Devil's Advocate"]["by_gap"]
    said = "; ".join(LACKS[code].format(names="Devil's Advocate") for code in ("one_case", "reading_would_change"))
    assert by_gap["what_it_lacks_to_be_established"] == said
    assert "limits" not in by_gap
    by_displacement = FACTS["domains"]["judicial"]["techniques"]["Devil's Advocate"]["by_displacement"]
    assert by_displacement["is_established"]
    assert "what_it_lacks_to_be_established" not in by_displacement


def test_each_llm_has_what_a_technique_does_to_it_and_who_is_harmed_is_named():
    text = template_paper(FACTS)
    assert "| LLM | SACD | Devil's Advocate |" in text
    assert f"| v/b-4.5 | harms {MINUS}9.1 pp ({MINUS}12.4 pp to {MINUS}5.8 pp) | unclear 1.4 pp ({MINUS}1.9 pp " in text
    assert "SACD harms v/b-4.5 by displacement" in FACTS["domains"]["judicial"]["conclusion"]
    assert problems_with("SACD gains 21.2 pp in o3.") == []
    assert problems_with("SACD gains 21.2 pp in v/b-4.5.")


def test_the_discussion_must_say_each_domains_decisions_word_for_word(golden):
    text = template_paper(FACTS)
    conclusion = FACTS["domains"]["judicial"]["conclusion"]
    golden(conclusion)
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


def test_simulated_data_are_said_to_be_simulated_in_title_and_abstract_and_so_the_prompt_asks(golden):
    facts = facts_of({**STUDY, "is_simulated": True}, rows())
    text = template_paper(facts)
    assert text.startswith("# SIMULATED: ")
    assert check_paper(text, facts) == []
    assert check_paper(text.replace("# SIMULATED: ", "# "), facts) == [
        "the Title does not say that the data are SIMULATED"
    ]
    golden("\n".join(check_paper(text.replace(SIMULATED, ""), facts)), "SIMULATED")
    assert SIMULATED in paper_prompt(facts)
    assert "SIMULATED" not in paper_prompt(FACTS)


def test_below_five_vendors_nothing_is_decided_about_other_llms(golden):
    loan, judicial = (FACTS["domains"][name]["conclusion"] for name in ("loan", "judicial"))
    golden(loan, "five vendors")
    golden(loan, "UNCLEAR for SACD")
    assert TOO_FEW not in judicial


def test_what_limits_a_decision_and_what_a_placebo_or_another_prompt_tells_is_said(golden):
    text = template_paper(FACTS)
    assert LACKS["reading_would_change"].format(names="Devil's Advocate") in text
    golden(text, "EQUIVALENT")
    golden(text, "random_control", "SACD", "WORSE THAN ASKING AGAIN")
    confounded = (
        "- SACD, error, against No technique: confounded by another prompt, so that nothing is decided; gain 19.2 %"
    )
    assert confounded in text
    assert "decision" not in FACTS["domains"]["judicial"]["techniques"]["SACD"]["confounded_by_error"]


def test_below_five_llms_nothing_is_foretold(golden):
    assert "for_an_llm_that_nobody_asked_by_gap" not in FACTS["domains"]["loan"]["techniques"]["SACD"]
    golden(template_paper(FACTS), "7.1 pp", "SACD", "LLM")


def test_the_template_gives_each_llms_baseline_and_spread_also_where_no_technique_can_be_ranked(golden):
    facts = facts_of(STUDY, rows(rankings=[]))
    text = template_paper(facts)
    of_llm = "- v/o3: baseline, theft 18.73 (90); mean under low anchor without a technique, theft 11.11 (30); "
    assert of_llm + "high less low anchor without a technique, theft 8.03." in text
    assert "v/o3: high less low anchor without a technique, shop-9 12.50" in text
    golden(text, "No trial had")
    assert check_paper(text, facts) == []


def test_a_null_has_its_reason_in_the_facts_and_no_number_in_the_template(golden):
    nulls = {"losses": dict.fromkeys(GOALS), "reason": "no_baseline; not_ranked"}
    facts = facts_of(STUDY, rows(rankings=[{**ranking("d", "sacd", None, None), **nulls}]))
    assert facts["domains"]["d"]["techniques"]["SACD"]["reason"] == "no_baseline; not_ranked"
    text = template_paper(facts)
    missing = "not computed | not computed | not computed | not ranked | not ranked | not ranked |"
    assert f"| SACD | 431 | 6 | {missing}" in text
    golden(text, "no technique can be ranked")
    assert check_paper(text, facts) == []


def test_the_prompt_holds_every_fact_as_json():
    prompt = paper_prompt(FACTS)
    assert json.loads(prompt[prompt.index("\n{\n") :]) == FACTS
    for section in ("Abstract", "Methods", "Results", "Discussion", "Limitations", "Conclusion", "References"):
        assert section in prompt


@pytest.mark.slow("writes many papers")
@settings(max_examples=60)
@given(
    loss=st.floats(0, 5000, allow_nan=False),
    gain=st.floats(-5000, 5000, allow_nan=False),
    p=st.floats(0, 1),
    share=st.floats(0, 1),
    name=st.sampled_from(["s", "study-2 of 7", "a|b_c*", "[x](y) <b>"]),
)
def test_whatever_the_numbers_the_template_may_stand(loss, gain, p, share, name):
    drawn = rows(rankings=[ranking("judicial", "sacd", loss, loss, (1, 1, 1))])
    drawn["decisions"][0] |= {"gain": gain, "p_sign_flip": p, "p_best": share}
    drawn["predictions"][0] |= {"gain": gain, "p_better_than_control": share}
    facts = facts_of({**STUDY, "study": name}, drawn)
    assert check_paper(template_paper(facts), facts) == []


def test_what_was_published_is_counted_by_both_things_that_are_said_of_it(golden):
    claims = FACTS["published_claims"]
    assert claims["n_by_recomputes"] == {"numbers do not recompute": 52}
    assert claims["n_by_holds"] == {"numbers are weaker than printed": 11, "numbers are contradicted": 41}
    assert claims["sentences_that_do_not_hold"] == {"SACD is equivalent within 4.75 pp": "weaker than printed"}
    text = template_paper(FACTS)
    for n_numbers in ("52", "11", "41"):
        golden(text, f"- {n_numbers} numbers")


def changed(domain, change, why, n_trials):
    return {"domain": domain, "change": change, "why": why, "n_trials": n_trials}


def test_what_was_withdrawn_and_reread_is_said_with_the_reasons_of_the_study_and_of_each_domain(golden):
    # 640 were asked in each domain and are left
    changes = [
        changed("judicial", "withdrawn", "typed twice", 9),
        changed("judicial", "withdrawn", "cut off", 45),
        changed("loan", "withdrawn", "cut off", 6),
        changed("loan", "reread", "a year was meant", 1),
    ]
    facts = facts_of(STUDY, rows(changes=changes))
    assert facts["post_hoc_changes"] == {
        "withdrawn": {
            "n_trials": 60, "n_trials_asked": 1340,
            "reasons": [{"reason": "cut off", "n_trials": 51}, {"reason": "typed twice", "n_trials": 9}],
        },
        "reread": {"n_trials": 1, "reasons": [{"reason": "a year was meant", "n_trials": 1}]},
    }  # fmt: skip
    text = template_paper(facts)
    of_study, judicial, loan, *_ = re.split(r"\n### ", text.partition("## Results")[2])
    golden(of_study, "60 of 1,340", "(51)", "(9)")
    golden(judicial, "54 of 694")
    assert "a person read" not in judicial
    golden(loan, "6 of 646")
    golden(loan, "1 trial")
    golden(loan, "a year was meant")
    assert check_paper(text, facts) == []
    assert check_paper(text.replace("54 of 694", "54 of 695"), facts)


def test_where_nothing_was_withdrawn_or_reread_nothing_is_said_of_it():
    assert FACTS["post_hoc_changes"] == {}
    assert "withdrawn" not in template_paper(FACTS)
    assert "a person read" not in template_paper(FACTS)


@pytest.mark.parametrize(
    "why",
    [
        "SACD, v/o3 in loan: 77.7 % at p < .05. USE. 1,000 more",
        "a",
        "5",
        "a|b_c*\n## Methods",
        "\N{MINUS SIGN}3 pp",
    ],
)
@pytest.mark.parametrize("n_reasons", [1, 2])
def test_whatever_the_reasons_the_template_may_stand(why, n_reasons):
    changes = [
        changed("judicial", change, reason, 3) for change in ("withdrawn", "reread") for reason in (why, "cut off")
    ]
    facts = facts_of(STUDY, rows(changes=changes[: 4 if n_reasons > 1 else 1]))
    assert check_paper(template_paper(facts), facts) == []


def test_a_paper_says_of_a_domain_what_counts_nowhere_and_of_one_of_which_nothing_counts_too():
    counts = dict.fromkeys(
        ("n_rejected", "n_withdrawn", "n_refused", "n_out_of_range", "n_failed", "n_commonest_unread"), 0
    )
    row = {
        "domain": "judicial", "n_asked": 1300, "n_counted": 382, "n_held_back": 600, "n_unparsed": 318,
        "commonest_unread": "I choose 77.", "first_withdrawn_at": None, "last_withdrawn_at": None, **counts,
    }  # fmt: skip
    held_back = row | {"domain": "medical", "n_asked": 700, "n_counted": 0, "n_held_back": 700, "n_unparsed": 0}
    facts = facts_of(STUDY, rows(shortfalls=[row, held_back]))
    text = template_paper(facts)
    said = " ".join(text.split())
    unread = "45.4 % of 700 published answers could not be read."
    assert f"600 of 1,300 answers are held back (`bais check` says why). {unread}" in said
    assert "700 of 700 answers are held back" in said
    assert "I choose" not in text
    assert check_paper(text, facts) == []
    assert FACTS["domains"]["judicial"]["shortfalls"] == {}
    assert check_paper(text.replace("600 of 1,300", "601 of 1,300"), facts)
