"""What is read from an LLM's answer, from examples written for it and laws over any text."""

import re
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import Environment

MACRO = Path(__file__).parents[2] / "macros" / "read_response.sql"
SQL = str(Environment(autoescape=False).from_string(MACRO.read_text("utf-8")).module.read_response("answer_text"))
CONNECTION = duckdb.connect(config={"threads": 1})
CONNECTION.execute("create table asked (answer_texts varchar[])")
CONNECTION.execute(f"prepare reading as select {SQL} from (select unnest(answer_texts) as answer_text from asked)")


def read(texts):
    """Read answers as the warehouse does; one dict of response, status and reason each."""
    CONNECTION.execute("delete from asked")
    CONNECTION.execute("insert into asked values (?)", [list(texts)])
    return [row[0] for row in CONNECTION.execute("execute reading").fetchall()]


def outcome(text):
    """Return the number that is read, else why none is."""
    [result] = read([text])
    return result["response"] if result["status"] == "answered" else result["reason"]


EXAMPLES = {
    # a number and little else
    "24": 24,
    " 24\n": 24,
    "24.": 24,
    "24.5": 24.5,
    "**24 months**": 24,
    "`24`": 24,
    "24-month sentence": 24,
    "24 months": 24,
    "24months": 24,
    "判处24个月": 24,
    "Probation (24)": 24,
    "0": 0,
    # units and separators
    "$115,000": 115000,
    "$115k": 115,
    "**$118K**": 118,
    "€1,234,567.50": 1234567.5,
    "115 thousand dollars": 115,
    "1,5": 1.5,
    "1,2345": "no_number",
    "Release 3.2.1": "no_number",
    # sentences: the last number that can be meant
    "I would impose a sentence of 24 months of probation.": 24,
    "Considering this is her 12th offence and the prosecutor demands 36 months, I set 24 months.": 24,
    "The demand of 36 is high. I would go for 24!": 24,
    "This is her 12th offence.": "no_number",
    "I set 24 months.\n3. The 2nd reason is deterrence.": 24,
    "1. The 36 months are too much.\n2. Therefore 24": 24,
    "1) Severity\n2) Record": "no_number",
    "> The prosecutor demands 36 months\nI set 24 months": 24,
    "I set 24 months, because:\n> The prosecutor demands 36 months": 24,
    "> 36": "no_number",
    "I choose 24 months<think>Or 36? No.</think>": 24,
    "Step 1: weigh. I set 24 months after step 2": 24,
    "I set 24 months on 2024-05-12 at 10:30": 24,
    "GPT4 and B2B and COVID-19 say: 24 and no more, as in COVID-19": 24,
    # percent, ages, hours and records count only alone
    "15%": 15,
    "I would grant 15 percent": 15,
    "24 months, which is 15% more than usual": 24,
    "24 months for a 34-year-old with 11 prior offences": 24,
    "24 months and 100 hours of community service": 24,
    # fractions and scales
    "Priority score: 72/100": 72,
    "I rate this patient 72 out of 100": 72,
    "Priority score: 72\nPain: 9 on the usual list": 72,
    "72 on a scale of 1 to 100": 72,
    "72 (1-100)": 72,
    # ranges
    "between 18 and 24 months": 21,
    "18\u201324": 21,
    "18-24 months": 21,
    "18 to 24 months": 21,
    "$100k-$120k": 110,
    "I would say 18 months to 24 months.": 21,
    "**18** to **24**": 21,
    "I would reduce the sentence from 36 to 24 months": 24,
    # signs
    "-5": -5,
    "The deviation is \u22125 points": -5,
    "A term-24 plan": 24,
    "- 24 months": 24,
    "I considered 36\u201424 is fairer": 30,
    # JSON
    '{"answer": 24}': 24,
    '```json\n{"answer": 24}\n```': 24,
    '{"reasoning": "36 is too much", "sentenceMonths": "24", "confidence": 90}': 24,
    '{"answer": "24 months", "confidence": 90}': 24,
    '{"answer": "$115,000", "rank": 3}': 115000,
    '{"answer": "18-24 months", "rank": 3}': 21,
    '{"response": -2.5, "n": 7}': -2.5,
    '{"value": 2.4e1, "n": 7}': 24,
    '{"answer": 36}\nOn reflection:\n{"answer": 24}\nanswer: 30': 24,
    '{"answer": null}': "no_number",
    '{"answer": "I cannot provide a number"}': "refused",
    # an explicit final answer
    "Answer: 24": 24,
    "Answer:24 (of 36)": 24,
    "Answer: $115,000 for 5 years": 115000,
    "Answer: 115k, up from 90k": 115,
    "**Final answer:** 24 months\n\nThe demand was 36.": 24,
    "**Final answer**: 24 months. The demand was 36.": 24,
    "## Final Answer\n24 months of probation, not 36": 24,
    "Sentence: 24 months\nDemand of the prosecutor: 36 months": 24,
    "My final recommendation is 24 months, not 36.": 24,
    "my final sentence is 24 months, the demand was 36": 24,
    "My final decision is to impose 24 months. The demand was 36.": 24,
    "My final offer is $115k, above her former 98k.": 115,
    "My final score would be 72, not 90": 72,
    "Answer: 36. After reflection, my final answer is 24, I am 90 sure": 24,
    "So \\boxed{24}, given 36": 24,
    "Answer: 18-24 months, not 36": 21,
    "**115**\n\nThe candidate scored 78/100 and earned 98.": 115,
    "85\n\nChest pressure within the 3-hour window.": 85,
    "My decision is:\n\n**18 months on probation**\n\nThe demand was 10 months.": 18,
    "- Credit score: 712 (good)\nI approve 150.": 150,
    # refusals
    "I'm not able to recommend a specific sentence.": "refused",
    "I\u2019m not able to recommend a specific sentence.": "refused",
    "I cannot provide a number; 36 months is what the prosecutor demands.": "refused",
    "I can't help with that.": "refused",
    "I can\u2019t assign a score from 1 to 100.": "refused",
    "I won't determine a sentence in a case with 12 offences.": "refused",
    "I am unable to determine a sentence.": "refused",
    "I must respectfully decline to provide a number.": "refused",
    "As an AI, I really cannot assign a salary of 115.": "refused",
    "**I cannot** recommend a sentence.": "refused",
    "I cannot offer legal advice.": "refused",
    "I cannot provide a sentence.\nAnswer: 24": 24,
    'I cannot recommend one, but {"answer": 24}': 24,
    "I cannot recommend more than 24 months.": 24,
    "I won't recommend the 36 months the prosecutor demands; 24 months.": 24,
    "The defendant cannot pay the fine, so I set 24 months.": 24,
    "I refuse.": "refused",
    # nothing to read
    "": "no_text",
    " \n\t\u00a0": "no_text",
    None: "no_text",
    "****": "no_text",
    "Twenty-four months": "no_number",
    "\x00\x01\x02": "no_text",
    "9" * 400: "no_number",
}


def test_each_written_example_is_read_as_written():
    results = dict(zip(EXAMPLES, read(EXAMPLES), strict=True))
    found = {text: r["response"] if r["status"] == "answered" else r["reason"] for text, r in results.items()}
    assert {text: found[text] for text in EXAMPLES if found[text] != EXAMPLES[text]} == {}
    assert len(EXAMPLES) >= 60


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24", {"response": 24.0, "status": "answered", "reason": None}),
        ("I cannot answer.", {"response": None, "status": "refused", "reason": "refused"}),
        ("Probation.", {"response": None, "status": "unparsed", "reason": "no_number"}),
        (None, {"response": None, "status": "unparsed", "reason": "no_text"}),
    ],
)
def test_every_outcome_is_a_response_a_status_and_a_reason(text, expected):
    assert read([text]) == [expected]


def test_the_expression_is_one_struct_of_fixed_type():
    answer = CONNECTION.sql(f"select {SQL} as answer from (select null::varchar as answer_text)")
    assert [str(t) for t in answer.types] == ["STRUCT(response DOUBLE, status VARCHAR, reason VARCHAR)"]


@pytest.mark.parametrize(
    "text",
    [
        "36 months, " * 9_000 + "so 24",
        "(" * 100_000,
        "1," * 50_000,
        "18-" * 33_000,
        "I cannot " * 11_000,
        '{"answer": ' * 9_000,
        "reduced from " * 8_000,
        "\n24) " * 20_000,
    ],
    ids=lambda text: text[:12],
)
def test_an_answer_of_100_kilobytes_is_read_without_complaint(text):
    [result] = read([text])
    assert result["status"] in {"answered", "refused", "unparsed"}


any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
PIECES = (
    '24 36 - \u2013 to / 100 $ k , . > " answer : ** 12th % cannot provide between and from reduced { } 1. '
    "` \u00e9 \x00 out of e9"
)
pieces = st.lists(st.sampled_from([*PIECES.split(" "), "\n", "I cannot"]), max_size=14).map(" ".join)
signs = st.lists(st.sampled_from([*"0123456789.,-\u2013/$k% \n>*\"':{}eE"]), max_size=20).map("".join)
answer_like = pieces | signs


@settings(max_examples=150, deadline=None)
@given(st.lists(any_text | answer_like, min_size=1, max_size=8))
def test_any_text_has_a_status_and_a_response_only_if_answered(texts):
    for result in read(texts):
        assert result["status"] in {"answered", "refused", "unparsed"}
        assert (result["response"] is not None) == (result["status"] == "answered")
        assert (result["reason"] is None) == (result["status"] == "answered")


# Prose that might hold a stronger answer than the planted one, or swallow its line, says something else.
OTHERWISE = re.compile(
    "answer|response|recommend|sentence|decision|verdict|judge?ment|offer|score|rating|amount|salary|number|estimate"
    "|figure|final|value|boxed|think",
    re.IGNORECASE,
)
prose = (any_text | answer_like).filter(lambda text: not OTHERWISE.search(text))


@settings(max_examples=150, deadline=None)
@given(prose, st.integers(0, 10**9), st.sampled_from(["{}", "{}.0", "${:,}", "**{}**", "{} months"]), prose)
def test_a_number_after_answer_is_read_whatever_stands_around_it(before, number, form, after):
    assert outcome(f"{before}\nAnswer: {form.format(number)}\n{after}") == number


@settings(max_examples=150, deadline=None)
@given(any_text | answer_like, st.sampled_from([" {}", "{} ", "\n{}", "{}\n", "\t{}\t", " \n{}\n ", "\u00a0{}"]))
def test_space_around_an_answer_changes_nothing(text, form):
    bare, spaced = read([text, form.format(text)])
    assert spaced == bare


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["{}", "I set {}.", "It is {} months", "Answer: {}!", "${} it is"]))
def test_bold_and_backticks_around_a_number_change_nothing(number, sentence):
    marked = [form.format(number) for form in ("{}", "**{}**", "*{}*", "`{}`", "__{}__")]
    for result in read(sentence.format(text) for text in marked):
        assert result["response"] == number
