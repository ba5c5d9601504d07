"""A report may stand only if its numbers are in the analysis; the template always may."""

import csv
import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from analysis.papers.experiment import analyze
from analysis.writing.experiment_report import check_report, report_prompt, template_report

ROOT = Path(__file__).resolve().parents[3]
CASE = "Lena M., 25 years old, was caught shoplifting for the 12th time."
PROMPTS = {"prosecutor": "The demand is {anchor} months.", "defense": "The defense attorney demands 1 month."}
CONFIG = {
    "model": "openai/gpt-5.2-codex",
    "runsPerCondition": 10,
    "maxAttempts": 3,
    "jsonMode": True,
    "seed": 1,
    "temperature": 0.7,
    "softwareVersion": "0.1.0",
}
EXPERIMENT = {
    "id": "anchoring-prosecutor-sentencing",
    "name": "Anchoring Bias - Prosecutor Sentencing Recommendation",
    "anchorDerivation": "randomly determined",
    "responseUnit": "months on probation",
    "validMin": 0,
    "validMax": 12,
    "conditions": [
        {"id": "low-anchor-3mo", "anchorDirection": "low", "anchorValue": 3},
        {"id": "high-anchor-9mo", "anchorDirection": "high", "anchorValue": 9},
    ],
}
with open(ROOT / "seeds" / "human_baselines.csv", encoding="utf-8", newline="") as file:
    HUMAN = next(csv.DictReader(file))

answers = st.lists(st.none() | st.integers(0, 12), max_size=12)


def analysis_of(low, high, config=CONFIG, human=HUMAN, **options):
    trials = [
        {
            "conditionId": name,
            "runIndex": run,
            "result": {"sentenceMonths": v},
            "error": {"code": "http_429"} if v is None else None,
        }
        for name, values in (("low-anchor-3mo", low), ("high-anchor-9mo", high))
        for run, v in enumerate(values)
    ]
    return analyze(EXPERIMENT, config, trials, human, **{"n_resamples": 100, **options})


GOLDEN = analysis_of([3, 4, 5, 4, 3, 5, 4, 4, 3, 5], [6, 7, 5, 6, 8, 6, 7, 5, 6, 7])
FLAT = analysis_of([6] * 30, [6] * 30)
WEAK = analysis_of([3, 9, 1, 4], [4, 8, 3, 5])  # a Welch p value of about 0.78


def template(analysis):
    return template_report(analysis, case_text=CASE)


def problems_with(sentence, analysis=GOLDEN, section="Results"):
    text = template(analysis)
    heading = f"## {section}\n"
    assert heading in text
    return check_report(text.replace(heading, f"{heading}\n{sentence}\n\n"), analysis, case_text=CASE, prompts=PROMPTS)


def numbers_in(value):
    if isinstance(value, dict):
        return {n for name, item in value.items() if name != "reference" for n in numbers_in(item)}
    if isinstance(value, list):
        return {n for item in value for n in numbers_in(item)}
    return {Decimal(str(value))} if isinstance(value, (int, float)) and not isinstance(value, bool) else set()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(answers, answers)
def test_the_template_passes_for_every_analysis(low, high):
    analysis = analysis_of(low, high)
    assert check_report(template(analysis), analysis, case_text=CASE, prompts={}) == []


settings_of_a_run = (
    st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("abz019 .,-_/:|#\n", max_size=12)
)


@settings(deadline=None)
@given(st.dictionaries(st.text("abz_", min_size=1, max_size=5), settings_of_a_run, max_size=4))
def test_the_template_passes_whatever_the_configuration(config):
    analysis = analysis_of([3, 4], [5, 7], config)
    assert check_report(template(analysis), analysis, case_text=CASE, prompts={}) == []


@settings(deadline=None)
@example("11\n%")
@given(st.text("abz 019.,-%#>|\n", max_size=60))
def test_the_template_passes_whatever_the_case(case_text):
    report = template_report(GOLDEN, case_text=case_text)
    assert check_report(report, GOLDEN, case_text=case_text, prompts={}) == []


@pytest.fixture(scope="module")
def written():
    """Analyses with the report on each, where its results start, the statistics there, and the numbers it may hold."""
    found = []
    for analysis in (GOLDEN, FLAT, WEAK):
        text = template(analysis)
        start = text.index("## Results")
        statistics = list(re.finditer(r"(?<![\w.-])\u2212?\d+(?:\.\d+)?(?![\w.]\d|\w)", text[start:]))
        found.append((analysis, text, start, statistics, numbers_in(analysis) | {Decimal(12), Decimal(25)}))
    return found


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_any_altered_digit_of_a_statistic_is_found_unless_the_analysis_holds_it(written, data):
    analysis, text, start, statistics, known = written[data.draw(st.sampled_from(range(len(written))))]
    statistic = data.draw(st.sampled_from(statistics))
    place = data.draw(st.sampled_from([i for i, c in enumerate(statistic[0]) if c.isdigit()]))
    digit = data.draw(st.sampled_from("0123456789"))
    altered = statistic[0][:place] + digit + statistic[0][place + 1 :]
    assume(altered != statistic[0])
    value = Decimal(altered.replace("\u2212", "-"))
    half = Decimal(5).scaleb(value.as_tuple().exponent - 1)
    is_percentage = re.match(r" %", text[start + statistic.end() :])
    known = {Decimal(5), Decimal(10), Decimal(90), Decimal(95)} if is_percentage else known
    assume(not any(abs(number - value) <= half for number in known))
    forged = text[: start + statistic.start()] + altered + text[start + statistic.end() :]
    assert check_report(forged, analysis, case_text=CASE, prompts={})


@pytest.mark.parametrize(
    "printed", ["-2.05", "\u22122.05", "\u20132.05", "**-2.05**", "-**2.05**", "$-2.05$", "[-2.05, 0]"]
)
def test_the_sign_of_a_number_counts(printed):
    assert problems_with(f"The difference to humans is {printed} months.", FLAT) == []
    assert problems_with(f"The difference of the LLM is {printed} months.", GOLDEN)
    assert problems_with("The human lower bound is -4.03.", GOLDEN)


@pytest.mark.parametrize(
    "sentence",
    [
        "The difference was 2.3, 2.30 or .25 to humans.",
        "A t of 5.8, 5.81, 5.811 or 5.8108.",
        "There were 100 resamples, seed 20,060,201.",
        "p = 1.8e-05, or 1.8 \u00d7 10⁻⁵, or $1.8 \\times 10^{-5}$.",
        "The answers lay in 0\u201312 months, 3-9 being the anchors.",
        "1. First\n2. Second\n3. Third",
        "### 3.1 Details",
        "The 95% CI and the 90 percent interval.",
        "The welch test gives p < .001 and thus *p* < 0.05.",
        "Study 2 of Englich et al. (2006), 32(2), 188-200, doi 10.1177/0146167205282152.",
        "Quartiles are of type 7; gpt-5.2-codex answered, low-anchor-3mo first.",
        "She was caught for the 12th time, aged 25; the defense asked for 1 month.",
        "The human result was p < .05.",
    ],
)
def test_what_the_analysis_holds_may_be_printed_in_many_ways(sentence):
    assert problems_with(sentence) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "A t of 5.82.",
        "A t of 5.80.",
        "There were 10,001 resamples.",
        "p = 1.9e-05.",
        "p = 1.8 \u00d7 10⁻⁶.",
        "17 % of the trials failed.",
        "The 99% CI.",
        "42 trials were run.",
        "The difference was 4½ months.",
        "We used gpt-5.3-codex.",
        "The year 2006 was good.",
        "There were 32 answers, on 188 pages.",
        "Study 21 says so.",
        "77. A list that begins late",
        "p < .00001, t = .99.",
        "p > .05 in the Welch test.",
        "The mean was 2.05e3.",
    ],
)
def test_what_the_analysis_does_not_hold_is_a_problem_that_names_it(sentence):
    problems = problems_with(sentence)
    assert problems
    assert all("the number" in problem and "Results" in problem for problem in problems)


@pytest.mark.parametrize(
    "sentence", ["The LLM's effect is significant, p < .05.", "The p-value of Welch's test is below .05."]
)
def test_the_p_value_of_humans_does_not_lend_significance_to_the_llm(sentence):
    assert WEAK["comparison"]["pValue"] > 0.05
    assert problems_with(sentence, WEAK)
    assert problems_with("Englich et al. (2006) found t(37) = 2.10, p < .05.", WEAK) == []


@pytest.mark.parametrize(
    "name", ["Abstract", "Methods", "Results", "Discussion", "Limitations", "Conclusion", "References"]
)
def test_a_missing_section_is_named(name, golden):
    text = template(GOLDEN).replace(f"## {name}\n", "")
    golden("\n".join(check_report(text, GOLDEN, case_text=CASE, prompts=PROMPTS)), name)


def test_a_missing_title_is_named():
    text = template(GOLDEN).partition("\n")[2]
    assert check_report(text, GOLDEN, case_text=CASE, prompts=PROMPTS) == ["the section Title is missing"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("INCONCLUSIVE", "SIMILAR", "states the label SIMILAR"),
        ("INCONCLUSIVE", "unclear", "does not state the label"),
        ("6.05", "6", "human high mean of 6.05"),
        ("4.00 months", "some months", "human low mean of 4.00"),
        ("2.05", "2", "human difference of 2.05"),
        ("Englich et al. (2006) found", "They found", "does not cite Englich et al. (2006)"),
        ("null hypothesis", "idea", "null hypothesis is undecidable"),
        ("can be neither rejected nor upheld", "is rejected", "says that the null hypothesis is rejected"),
    ],
)
def test_what_the_discussion_must_say(old, new, problem):
    start, end = (template(GOLDEN).index(f"## {name}") for name in ("Discussion", "Limitations"))
    text = template(GOLDEN)
    discussion = text[start:end].replace(old, new)
    if old in ("4.00 months",):
        discussion = discussion.replace("4.00", "4.03")
    problems = check_report(text[:start] + discussion + text[end:], GOLDEN, case_text=CASE, prompts=PROMPTS)
    assert any(problem in said for said in problems), problems


def test_the_label_with_human_uncertainty_may_only_stand_where_the_uncertainty_is_named():
    analysis = analysis_of([3, 5] * 100, [5, 7] * 100)
    assert analysis["humanComparison"]["label"] == "SIMILAR"
    assert analysis["humanComparison"]["uncertainHuman"]["label"] == "INCONCLUSIVE"
    said = "the comparison is INCONCLUSIVE."
    assert problems_with(f"Given the uncertainty of the human difference, {said}", analysis, "Discussion") == []
    assert problems_with(f"All in all {said}", analysis, "Discussion")
    assert problems_with(f"All in all {said}", analysis, "Conclusion")


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("Mussweiler, T., ", "", "authors"),
        ("Playing dice", "Playing cards", "title"),
        ("32(2)", "32", "volume and issue"),
        ("188\u2013200", "188", "pages"),
        ("0146167205282152", "0146167205282153", "DOI"),
        ("(2006). P", "(2007). P", "year"),
    ],
)
def test_the_reference_must_be_whole(old, new, part):
    head, _, references = template(GOLDEN).partition("## References")
    assert old in references
    problems = check_report(
        f"{head}## References{references.replace(old, new)}", GOLDEN, case_text=CASE, prompts=PROMPTS
    )
    assert any(f"lack the {part}" in problem for problem in problems)


def test_a_reference_with_emphasis_and_typographic_signs_is_whole():
    text = template(GOLDEN).replace("experts'", "experts\u2019").replace("Bulletin, 32(2)", "Bulletin*, **32**(2)")
    assert (
        check_report(text.replace("Personality and", "*Personality and"), GOLDEN, case_text=CASE, prompts=PROMPTS) == []
    )


@pytest.mark.parametrize("answers", [([3, 9, 1, 4], [4, 8, 3, 5]), ([6, 6], [6, 6]), ([None], [6, 7])])
def test_without_a_human_study_the_report_compares_with_nobody(answers):
    alone = analysis_of(*answers, human=None)
    text = template(alone)
    assert check_report(text, alone, case_text=CASE, prompts=PROMPTS) == []
    assert "Englich" not in text
    assert "Englich" not in report_prompt(alone, case_text=CASE, prompts=PROMPTS)


def test_without_a_human_study_a_label_or_a_human_number_is_refused():
    alone = analysis_of([3, 9, 1, 4], [4, 8, 3, 5], human=None)
    assert problems_with("It is GREATER.", alone) == [
        "Results states the label GREATER, but there is no human study to compare with"
    ]
    assert any("2.05" in problem for problem in problems_with("People moved by 2.05 months.", alone))
    assert problems_with("The difference is not significant, p > .05.", alone) == []


def test_the_template_says_what_was_not_computed_and_why(golden):
    text = template(FLAT)
    golden(text, "Welch")
    assert "labelled **LESS**" in text
    golden(template(analysis_of([None], [6, 7])), "low-anchor-3mo has")


def test_the_prompt_holds_all_that_the_story_asks_for():
    prompt = report_prompt(GOLDEN, case_text=CASE, prompts=PROMPTS)
    for part in (
        *(EXPERIMENT[name] for name in ("id", "name", "anchorDerivation")),
        CASE,
        *PROMPTS.values(),
        "gpt-5.2-codex",
        "maxAttempts",
        json.dumps(GOLDEN, indent=2, ensure_ascii=False),
        "Abstract, Methods, Results, Discussion, Limitations, Conclusion, References",
        "Do not invent numbers",
        "low: 4.00",
        "6.05",
        "2.05",
        "INCONCLUSIVE",
        GOLDEN["humanBaseline"]["reference"]["citation"],
    ):
        assert part in prompt
