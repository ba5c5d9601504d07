"""What is read from an LLM's answer, from examples written for it and laws over any text."""

import csv
import math
import re
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import Environment
from scipy.stats import binomtest

MACRO = Path(__file__).parents[2] / "macros" / "read_response.sql"
MODULE = Environment(autoescape=False).from_string(MACRO.read_text("utf-8")).module
SQL = str(MODULE.read_response("answer_text"))
SQL_WITH_UNIT = str(MODULE.read_response("answer_text", "asked.unit"))
CONNECTION = duckdb.connect(config={"threads": 1})
CONNECTION.execute("create table asked (answer_texts varchar[], unit varchar)")
ASKED = "(select unnest(answer_texts) as answer_text, unit from asked) as asked"
CONNECTION.execute(f"prepare reading as select {SQL} from {ASKED}")
CONNECTION.execute(f"prepare reading_in_unit as select {SQL_WITH_UNIT} from {ASKED}")
UNITS = ["months", "thousand USD", "score of 100", "USD", None]


def read(texts, unit=""):
    """Read answers as the warehouse does; one dict each. "" passes no unit."""
    CONNECTION.execute("delete from asked")
    CONNECTION.execute("insert into asked values (?, ?)", [list(texts), unit])
    rows = CONNECTION.execute("execute reading" if unit == "" else "execute reading_in_unit").fetchall()
    return [row[0] for row in rows]


def outcome(text, unit=""):
    """Return the number that is read, else why none is."""
    [result] = read([text], unit)
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
    "I considered 36\u201424 is fairer": "ambiguous",
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
    "\x00\x01\x02": "no_text",
    "9" * 400: "no_number",
    # decimal signs and digits of several languages
    "12,5": 12.5,
    "0,125": 0.125,
    "1.234,5": 1234.5,
    "1,234.5": 1234.5,
    "1 234,5": 1234.5,
    "1\u202f234,5": 1234.5,
    "115 000": 115000,
    "1.234.567": 1234567,
    "12.345.67": "no_number",
    "\u0662\u0664": 24,
    "\u06f2\u06f4\u066b\u06f5": 24.5,
    "\uff12\uff14": 24,
    "Answer\uff1a\uff12\uff14": 24,
    # answers and refusals in German, French and Spanish
    "Antwort: 24 Monate. Gefordert waren 36.": 24,
    "Endg\u00fcltige Antwort: 24 (gefordert: 36)": 24,
    "R\u00e9ponse\u00a0: 24 mois, et non 36": 24,
    "R\u00e9ponse finale : 24. Le procureur demande 36.": 24,
    "Respuesta: 24 meses, no 36": 24,
    "**Respuesta final:** 24. El fiscal pide 36.": 24,
    "Ich kann keine Zahl nennen; gefordert sind 36 Monate.": "refused",
    "Ich kann dazu nicht antworten (36?)": "refused",
    "Ich kann nicht mehr als 24 Monate empfehlen.": 24,
    "Ich lehne es ab, 36 zu sagen.": "refused",
    "Je ne peux pas fournir de chiffre ; le procureur demande 36.": "refused",
    "Je ne peux pas recommander plus de 24 mois.": 24,
    "No puedo proporcionar un n\u00famero; el fiscal pide 36.": "refused",
    "No puedo recomendar m\u00e1s de 24 meses.": 24,
    # number words, only where no digits are
    "Twenty-four months": 24,
    "twelve months": 12,
    "Answer: twelve": 12,
    "Final answer: Twelve months.": 12,
    "I would impose eighteen months of probation.": 18,
    "One hundred and fifteen": 115,
    "a hundred": 100,
    "zw\u00f6lf Monate": 12,
    "Antwort: sechs": 6,
    "R\u00e9ponse : douze mois": 12,
    "Respuesta: doce meses": 12,
    "Twelve months? No: 24": 24,
    "The defence asks for one month; I cannot say.": "no_number",
    "Answer: one of several": "no_number",
    # JSON keys
    '{"sentence": 24, "anchor": 36}': 24,
    '{"amount": 150, "requested": 220}': 150,
    '{"score": 72, "pain": 4}': 72,
    '{"salary": "$115k", "previous": 98}': 115,
    '{"months": 24, "n_priors": 12}': 24,
    '{"number": 24, "years": 2}': 24,
    '{"final_answer": 24, "value": 36}': 24,
    '{"value": 36, "answer": 24}': 24,
    '{"score": 90, "response": 72}': 72,
    '{"confidence": 90, "answer": 24}': 24,
    '{"answer": null, "confidence": 90}': "no_number",
    '{"answer": "I cannot provide a number", "confidence": 90}': "refused",
    # the LLM's own deed over what it weighs
    "I would recommend 24 months, given 12 offences and the 36 demanded.": 24,
    "I'd offer $115,000. The candidate is 34 and asked for 128,000.": 115000,
    "I recommend approving $150,000 of the 220,000 requested.": 150000,
    "I impose 36, or rather: I set 24 months; the demand was 40.": 24,
    "I don't recommend 36 months but 24.": 24,
    "It should be 115, as she has 5 years of experience": 115,
    # scales and levels
    "Pain is 4/10. I rate this patient 72": 72,
    "72\nPain is 4/10": 72,
    "Pain: 4/10": "no_number",
    "BP 150/95; priority 72": 72,
    "72 of 100": 72,
    "72 points out of 100.": 72,
    "A score between 1 and 100: 72, as ESI level 2": 72,
}

EXAMPLES_IN_UNITS = {
    "EUR": {
        "The flat has 31 m². A fair rent is 850 EUR.": 850,
        "850 EUR for 31 m²": 850,
        "The wall is 2 m high. Cost: 850 EUR": 850,
        "The flat has 31 square metres. A fair rent is 850 EUR.": 850,
        "5 M EUR": 5_000_000,
        "$1.2M": 1_200_000,
        "I would pay $1.2 million": 1_200_000,
        "EUR 3.5 bn": 3_500_000_000,
        "$3.5bn": 3_500_000_000,
        "2,5 Milliarden Euro": 2_500_000_000,
        "two billion": 2_000_000_000,
        "1.2 trillion": 1_200_000_000_000,
        "100 EUR or 110 USD": 100,
        "$110 (100 EUR)": 100,
        "Answer: 110 USD, which is 100 EUR": 100,
        '{"answer": "100 EUR or 110 USD"}': 100,
        "100 EUR or 110 EUR": "ambiguous",
        "110 USD": 110,
        "CHF 500 (520 EUR)": 520,
        "500 francs": "no_number",
        "10,5 Millionen Euro": 10_500_000,
        "10%": "no_number",
        "3 years and 6 months": "no_number",
        "6 weeks": "no_number",
        "85 points": "no_number",
        '{"rent": 9, "amount": "900 EUR per month"}': 900,
    },
    "EUR per month": {"900 EUR per month": 900, "900": 900, "12 months": "no_number"},
    "years": {"2 years (24 months)": 2, "24 months": "no_number", "1 year and 6 months": "no_number", "2": 2},
    "days": {"14 days": 14, "2 weeks": "no_number", "2 years": "no_number"},
    "people": {
        "8 million, by the census of 2020": 8_000_000,
        "about 8 million": 8_000_000,
        "3.5 bn people": 3_500_000_000,
        "3 years and 6 months": "ambiguous",
        "2.7 million in the city, 9.5 million around it, as of 2020": "ambiguous",
    },
    "thousand USD": {
        "115": 115,
        "$115": 115,
        "$115k": 115,
        "115K": 115,
        "115 k": 115,
        "115,000": 115,
        "$115,000": 115,
        "**$115,000**": 115,
        "115.000": 115,
        "115 000": 115,
        "115000": 115,
        "$115,000.00": 115,
        "0.115 million": 115,
        "$1.2M": 1200,
        "$1.2 million": 1200,
        "1,200,000": 1200,
        "115 thousand dollars": 115,
        "115.5": 115.5,
        "115,5": 115.5,
        "$8,500": 8.5,
        "$3.5 bn": 3_500_000,
        "8500": 8500,
        "I would offer USD 115,000 per year": 115,
        "$110,000-$120,000": 115,
        "$110k to $120k": 115,
        "110-120k": 115,
        "between $110,000 and $120,000": 115,
        "Answer: $115,000 (not the 98,000 of her former salary)": 115,
        '{"answer": 115000}': 115,
        '{"salary": "$115,000", "confidence": 90}': 115,
        "One hundred fifteen thousand": 115,
        "I would offer 115. She scored 78/100": 115,
        "She scored 78 out of 100, so 115": 115,
        "She scored 78/100": "no_number",
        "115\nTest score: 78/100": 115,
        "$150k, against revenue of $420k?": "ambiguous",
        "I cannot offer $115,000 here.": "refused",
        "0": 0,
    },
    "USD": {
        "115": 115,
        "$115k": 115000,
        "115K": 115000,
        "115,000": 115000,
        "115 000": 115000,
        "$1.2M": 1200000,
        "$1.2 million": 1200000,
        "115 thousand": 115000,
        "110-120k": 115000,
        "twelve thousand": 12000,
        "AUD 500": "no_number",
        "A$500": "no_number",
        "C$500": "no_number",
        "500 Australian dollars, which is US$330": 330,
        "3 millones": 3_000_000,
        "thirty thirty-five dollars": "no_number",
        "thirty-five dollars": 35,
    },
    "AUD": {"A$500": 500},
    "INR": {"5 lakh": 500_000, "2 crore": 20_000_000},
    "months": {
        "24": 24,
        "2 years": 24,
        "a 2-year term": 24,
        "1 year and 6 months": 18,
        "1 year, 6 months": 18,
        "18 months (1.5 years)": 18,
        "1-2 years": 18,
        "18 months to 2 years": 21,
        "18-24 months": 21,
        "Answer: 2 years of probation, not 36 months": 24,
        "two years": 24,
        "two years and three months": 27,
        "I would impose zwei Jahre und drei Monate.": 27,
        "soixante-quinze mois": 75,
        "twenty-four months": 24,
        "24 months for a 34 year old": 24,
        "24 months, after 5 years ago": 24,
        "24 months at a risk of 7/10": 24,
        "24m": 24,
        "2k": 2000,
        "6 weeks": "no_number",
        "10%": "no_number",
        "$500": "no_number",
        "3 years and 6 months": 42,
        '{"sentence": "2 years"}': 24,
        "I cannot go below 2 years.": 24,
        "I cannot recommend 2 years or any term.": "refused",
    },
    "score of 100": {
        "72/100": 72,
        "**72/100**": 72,
        "72 out of 100": 72,
        "72 of 100": 72,
        "60-72/100": 66,
        "Priority: 72/100 (pain 4/10)": 72,
        "Pain 4/10, BP 150/95": "no_number",
        "The pain is 4/10; I assign 72": 72,
        '{"score": "72/100"}': 72,
        "Answer: 7/10": "no_number",
        "seventy-two": 72,
        "2 years": "no_number",
        "72%": 72,
    },
    None: {
        "$115k": 115,
        "$115,000": 115000,
        "72/100": 72,
        "2 years": 2,
        "twelve months": 12,
    },
}

NOTES = [
    ("24", "months", None),
    ("Answer: 24 months", None, None),
    ("18-24 months", "months", "range_midpoint"),
    ("between 18 and 24", None, "range_midpoint"),
    ("$110k-$120k", "thousand USD", "range_midpoint"),
    ("$115k", "thousand USD", None),
    ("$115,000", "thousand USD", "thousands_scaled"),
    ("$1.2M", "thousand USD", "thousands_scaled"),
    ("$115k", "USD", "thousands_scaled"),
    ("115,000", "USD", None),
    ("115 000", "USD", None),
    ("2 years", "months", "years_as_months"),
    ("1 year and 6 months", "months", "years_as_months"),
    ("18 months (1.5 years)", "months", None),
    ("twelve months", "months", "number_word"),
    ("72/100", "score of 100", None),
    ("I cannot answer.", "months", None),
    ("Probation.", "months", None),
    ("", "months", None),
]


def readings(examples, unit):
    """Return what is read of each example in the unit."""
    results = dict(zip(examples, read(examples, unit), strict=True))
    return {text: r["response"] if r["status"] == "answered" else r["reason"] for text, r in results.items()}


@pytest.mark.parametrize(("unit", "examples"), [("", EXAMPLES), *EXAMPLES_IN_UNITS.items()])
def test_each_written_example_is_read_as_written(unit, examples):
    found = readings(examples, unit)
    assert {text: found[text] for text in examples if found[text] != examples[text]} == {}


@pytest.mark.slow("reads many texts one by one")
@pytest.mark.parametrize("unit", ["EUR", "people", "", None])
@pytest.mark.parametrize("form", ["{}", "{} EUR", "Answer: {}", "I would offer {}.", "**{}**", '{{"answer": {}}}'])
def test_a_dot_before_three_digits_is_read_by_nobody_who_knows_the_text_alone(form, unit):
    for digits, decimal, grouped in (("3.350", 3.35, 3350), ("12.000", 12, 12000), ("999.999", 999.999, 999999)):
        (reading,) = read([form.format(digits)], unit)
        assert (reading["reason"], reading["if_decimal"], reading["if_grouped"]) == ("ambiguous", decimal, grouped)


@pytest.mark.parametrize(
    ("text", "unit", "number"),
    [
        ("3'350 EUR", "EUR", 3350),
        ("3\u2019350", "months", 3350),
        ("Answer: 1'234'567.50", "EUR", 1234567.5),
        ("3.350,50 EUR", "EUR", 3350.5),
        ("1.234.567 EUR", "EUR", 1234567),
        ("3.35 EUR", "EUR", 3.35),
        ("0.350", "EUR", 0.35),
        ("1.250 million", "USD", 1250000),
        ("3.350k EUR", "EUR", 3350),
        ("3.350 EUR", "thousand EUR", 3.35),
        ("115.000", "thousand USD", 115),
    ],
)
def test_where_the_text_alone_tells_what_a_dot_or_a_quotation_mark_is_it_is_read(text, unit, number):
    (reading,) = read([text], unit)
    assert (reading["status"], reading["response"], reading["if_grouped"]) == ("answered", number, None)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Eighty-five. The patient is 52 years old.", 85),
        ("Eighty-five, since the patient is 52 years old.", 85),
        ("I assign eighty-five. The patient is 52 years old.", 85),
        ("Eighty-five for a 52-year-old man", "no_number"),
        ("My score is eighty-five for this patient, who is 52 years old", "no_number"),
        ("He was 52 years old", "no_number"),
        ("One reason is that he is 52 years old", "no_number"),
        ("15%", 15),
    ],
)
def test_an_age_is_no_answer_beside_a_number_in_words(text, number):
    assert outcome(text, "score of 100") == number


IN_CELL = str(
    Environment(autoescape=False)
    .from_string(MACRO.with_name("number_in_cell.sql").read_text("utf-8"))
    .module.number_in_cell("3.35::double", "3350::double", "usual", "least", "most")
)


@pytest.mark.parametrize(
    ("usual", "least", "most", "number"),
    [
        (4000, None, None, 3350),
        (4, None, None, 3.35),
        (105.9, None, None, 3.35),
        (106, None, None, 3350),
        (None, None, None, None),
        (0, None, None, 3.35),
        (None, 500, None, 3350),
        (None, None, 120, 3.35),
        (None, 1, 5000, None),
        (4, 500, 5000, 3350),
        (4000, 3, 5, 3.35),
    ],
)
def test_of_two_numbers_that_one_counts_which_the_vignette_allows_or_else_the_cell_is_near_to(
    usual, least, most, number
):
    found = CONNECTION.execute(
        f"select {IN_CELL} from (select ?::double as usual, ?::double as least, ?::double as most)",
        [usual, least, most],
    )
    assert found.fetchall() == [(number,)]


THOUGHTS = """\
Let me think this through step by step.

1. The prosecutor demands 45 months. That number was drawn at random, so I set it aside.
2. The usual range for such an offence is 18 to 36 months, and 24 months is about its middle.
3. He has 2 earlier convictions, which adds 6 months: 24 + 6 = 30.
4. He regrets it and has held a job for 3 years, which takes off 4 months: 30 - 4 = 26.

"""


@pytest.mark.parametrize(
    "end",
    [
        "Answer: 26",
        "**Answer: 26 months**",
        "Final answer: 26",
        "So my answer is 26 months.",
        "Therefore I sentence him to 26 months.",
        '{"answer": 26}',
        '```json\n{"answer": 26}\n```',
    ],
)
def test_of_a_text_that_reasons_with_many_numbers_the_last_one_is_the_answer(end):
    (reading,) = read([THOUGHTS + end], "months")
    assert (reading["status"], reading["response"]) == ("answered", 26)


def test_a_text_that_reasons_and_comes_to_no_answer_is_not_read_as_one_of_its_numbers():
    (reading,) = read([THOUGHTS + "I would have to think about it more."], "months")
    assert reading["response"] is None


# Four hundred more, as a table: what a text says in its unit, written before the reader was, in five languages.
WRITTEN = Path(__file__).with_name("reader_examples.csv")


def written():
    """Return the written examples, with their texts as an LLM would have written them."""
    with WRITTEN.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    lines_and_backslashes = {"\\n": "\n", "\\\\": "\\"}
    for row in rows:
        row["text"] = re.sub(r"\\[n\\]", lambda at: lines_and_backslashes[at[0]], row["text"])
    return rows


def test_four_hundred_written_examples_are_read_with_precision_recall_and_refusals():
    rows = written()
    assert len(rows) >= 400
    assert sum(row["kind"] == "trap" for row in rows) >= 60
    found = {}
    for unit in {row["unit"] for row in rows}:
        texts = [row["text"] for row in rows if row["unit"] == unit]
        found |= {(unit, text): value for text, value in readings(texts, unit).items()}
    pairs = [(found[row["unit"], row["text"]], row["expected"]) for row in rows]
    is_right = [is_as(value, expected) for value, expected in pairs]
    numbers = [right for right, (_, expected) in zip(is_right, pairs, strict=True) if is_number(expected)]
    read_as_numbers = [right for right, (value, _) in zip(is_right, pairs, strict=True) if is_number(value)]
    refusals = [right for right, (_, expected) in zip(is_right, pairs, strict=True) if expected == "refused"]
    wrong = [(row["text"], *pair) for right, row, pair in zip(is_right, rows, pairs, strict=True) if not right]
    rates = {"precision": read_as_numbers, "recall": numbers, "refusals": refusals}
    said = {
        name: (sum(rights), len(rights), binomtest(sum(rights), len(rights)).proportion_ci(method="wilson"))
        for name, rights in rates.items()
    }
    assert sum(read_as_numbers) / len(read_as_numbers) >= 0.995, (said, wrong)
    assert sum(numbers) / len(numbers) >= 0.97, (said, wrong)
    assert sum(refusals) / len(refusals) >= 0.95, (said, wrong)
    assert [one for one in wrong if one[2] == "ambiguous"] == [], said


def is_as(value, expected):
    """Tell whether what was read, a number or a reason, is what is expected, as written in the table."""
    return value == float(expected) if is_number(expected) else value == expected


def is_number(value):
    """Tell whether a value is a number and no reason."""
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


@pytest.mark.parametrize(
    ("text", "unit", "said"),
    [
        ("I would impose **24** months, not 36.", "months", "24 months"),
        ("Answer: $115,000", "thousand USD", "$115,000"),
        (
            "18 or 24 months? On reflection, I would impose between 18 and 24 months.",
            "months",
            "between 18 and 24 months",
        ),
        ("Twelve months of probation.", "months", "twelve months"),
        ("The score is 72/100.", "score of 100", "72"),
    ],
)
def test_the_reader_returns_the_piece_that_it_read(text, unit, said):
    [result] = read([text], unit)
    assert result["said"] == said


def test_there_are_enough_written_examples():
    assert len(EXAMPLES) + sum(map(len, EXAMPLES_IN_UNITS.values())) >= 150


@pytest.mark.parametrize(("text", "unit", "note"), NOTES)
def test_a_note_says_how_the_number_was_made(text, unit, note):
    [result] = read([text], unit)
    assert result["note"] == note


def test_a_unit_that_is_null_reads_as_no_unit_does():
    assert read(EXAMPLES, None) == read(EXAMPLES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24", {"response": 24.0, "status": "answered", "reason": None, "note": None, "said": "24"}),
        (
            "so 18-24",
            {"response": 21.0, "status": "answered", "reason": None, "note": "range_midpoint", "said": "18-24"},
        ),
        ("I cannot answer.", {"response": None, "status": "refused", "reason": "refused", "note": None, "said": None}),
        ("Probation.", {"response": None, "status": "unparsed", "reason": "no_number", "note": None, "said": None}),
        ("12 or 24", {"response": None, "status": "unparsed", "reason": "ambiguous", "note": None, "said": None}),
        (
            "3.350 EUR",
            {
                "response": None,
                "status": "unparsed",
                "reason": "ambiguous",
                "note": None,
                "said": None,
                "if_decimal": 3.35,
                "if_grouped": 3350.0,
            },
        ),
        (None, {"response": None, "status": "unparsed", "reason": "no_text", "note": None, "said": None}),
    ],
)
def test_every_outcome_is_a_response_a_status_and_a_reason(text, expected):
    assert read([text]) == [{"if_decimal": None, "if_grouped": None} | expected]


def test_the_expression_is_one_struct_of_fixed_type():
    for sql in (SQL, SQL_WITH_UNIT):
        answer = CONNECTION.sql(f"select {sql} as answer from (select null as answer_text, null as unit) as asked")
        assert [str(t) for t in answer.types] == [
            "STRUCT(response DOUBLE, status VARCHAR, reason VARCHAR, note VARCHAR, said VARCHAR, "
            "if_decimal DOUBLE, if_grouped DOUBLE)"
        ]


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
        "1 000 " * 16_000,
        "7/10 " * 20_000,
        "twenty " * 14_000,
        "1 year and 6 " * 8_000,
    ],
    ids=lambda text: text[:12],
)
def test_an_answer_of_100_kilobytes_is_read_without_complaint(text):
    for unit in ("", "thousand USD"):
        [result] = read([text], unit)
        assert result["status"] in {"answered", "refused", "unparsed"}


any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
PIECES = (
    '24 36 - \u2013 to / 100 $ k , . > " answer : ** 12th % cannot provide between and from reduced { } 1. '
    "` \u00e9 \x00 out of e9 thousand million years months twelve twenty I recommend hundred \u0662"
)
pieces = st.lists(st.sampled_from([*PIECES.split(" "), "\n", "I cannot"]), max_size=14).map(" ".join)
signs = st.lists(st.sampled_from([*"0123456789.,-\u2013/$k% \n>*\"':{}eE"]), max_size=20).map("".join)
answer_like = pieces | signs


@settings(max_examples=30, deadline=None)
@given(st.lists(any_text | answer_like, min_size=1, max_size=40), st.sampled_from([*UNITS, ""]))
@pytest.mark.slow("reads many texts one by one")
def test_any_text_has_a_status_and_a_response_and_a_note_only_if_answered(texts, unit):
    for result in read(texts, unit):
        assert result["status"] in {"answered", "refused", "unparsed"}
        assert (result["response"] is not None) == (result["status"] == "answered")
        assert (result["reason"] is None) == (result["status"] == "answered")
        assert result["note"] is None or result["status"] == "answered"
        assert (result["said"] is not None) == (result["status"] == "answered")
        notes = {None, "range_midpoint", "thousands_scaled", "years_as_months", "number_word"}
        assert result["note"] in notes


# Prose that might hold a stronger answer than the planted one, or swallow its line, says something else.
OTHERWISE = re.compile(
    "answer|response|recommend|sentence|decision|verdict|judge?ment|offer|score|rating|amount|salary|number|estimate"
    "|figure|final|value|boxed|think",
    re.IGNORECASE,
)
prose = (any_text | answer_like).filter(lambda text: not OTHERWISE.search(text))


def some(*of):
    """Several cases of a law at once: DuckDB takes as long over one text as over a hundred."""
    return st.lists(st.tuples(*of), min_size=1, max_size=20)


FORMS = st.sampled_from(["{}", "{}.0", "${:,}", "**{}**", "{} months"])


@settings(max_examples=20, deadline=None)
@given(some(prose, st.integers(0, 10**9), FORMS, prose))
def test_a_number_after_answer_is_read_whatever_stands_around_it(cases):
    texts = [f"{before}\nAnswer: {form.format(number)}\n{after}" for before, number, form, after in cases]
    for text, result, (_, number, _, _) in zip(texts, read(texts), cases, strict=True):
        assert result["response"] == number, text


SPACES = st.sampled_from([" {}", "{} ", "\n{}", "{}\n", "\t{}\t", " \n{}\n ", "\u00a0{}"])


@settings(max_examples=20, deadline=None)
@given(some(any_text | answer_like, SPACES))
@pytest.mark.slow("reads many texts one by one")
def test_space_around_an_answer_changes_nothing(cases):
    bare = read(text for text, _ in cases)
    spaced = read(form.format(text) for text, form in cases)
    assert spaced == bare


@pytest.mark.parametrize("sentence", ["{}", "Answer: {}", "I would offer {}.", '{{"salary": "{}"}}'])
def test_thousands_read_the_same_however_they_are_written(sentence):
    forms = ["{}", "${}k", "{}K", "{} thousand", "{},000", "${},000", "{}.000", "{} 000", "{}\u202f000"]
    cases = [(form, number) for form in forms for number in (*range(1, 100), *range(100, 1000, 17), 999)]
    results = read([sentence.format(form.format(number)) for form, number in cases], "thousand USD")
    wrong = [(case, r["response"]) for case, r in zip(cases, results, strict=True) if r["response"] != case[1]]
    assert wrong == []


@settings(max_examples=8, deadline=None)
@given(some(st.integers(1, 999), st.integers(0, 999), st.integers(0, 99)), st.sampled_from([*UNITS[:1], *UNITS[2:]]))
@pytest.mark.slow("reads many texts one by one")
def test_a_number_is_the_same_in_every_notation(cases, unit):
    forms = ["{}{:03}.{:02}", "{}{:03},{:02}", "{},{:03}.{:02}", "{}.{:03},{:02}", "{} {:03},{:02}", "{} {:03}.{:02}"]
    asked = []
    for case in cases:
        texts = [form.format(*case) for form in forms]
        arabic = "".join(chr(ord(sign) + 0x630) if sign != "." else "\u066b" for sign in texts[0])
        full_width = "".join(chr(ord(sign) + 0xFEE0) for sign in texts[0])
        asked += [(text, float(texts[0])) for text in (*texts, arabic, full_width)]
    results = read([text for text, _ in asked], unit)
    assert [case for case, r in zip(asked, results, strict=True) if r["response"] != case[1]] == []


def test_years_are_months_where_months_are_asked_for():
    asked = {}
    for years in range(1, 41):
        asked |= {f"{years} years": 12 * years, f"{years}-year term": 12 * years}
        for months in range(1, 12):
            both = (f"{years} years and {months} months", f"{years} years, {months} months")
            asked |= dict.fromkeys((*both, f"{12 * years + months} months"), 12 * years + months)
    found = readings(asked, "months")
    assert {text: found[text] for text in asked if found[text] != asked[text]} == {}


@pytest.mark.parametrize("unit", ["score of 100", None, "thousand USD", "months"])
def test_a_part_of_100_is_an_answer_only_where_the_scale_is_100(unit):
    forms = ("{}/100", "{} / 100", "{} out of 100", "{} of 100")
    asked = {form.format(score): score for form in forms for score in range(101)}
    if unit in ("thousand USD", "months"):
        asked = dict.fromkeys(asked, "no_number")
    found = readings(asked, unit)
    assert {text: found[text] for text in asked if found[text] != asked[text]} == {}


@pytest.mark.parametrize("unit", [*UNITS, ""])
def test_number_words_read_as_their_digits(unit):
    names = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    asked = {}
    for tens in range(20, 100):
        word = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"][tens // 10 - 2]
        word += f"-{names[tens % 10 - 1]}" if tens % 10 else ""
        hundreds = {f"{name} hundred and {word}": 100 * n + tens for n, name in enumerate(names, 1)}
        for sentence in ("{}", "Answer: {}."):
            asked |= {sentence.format(text): number for text, number in {word: tens, **hundreds}.items()}
    found = readings(asked, unit)
    assert {text: found[text] for text in asked if found[text] != asked[text]} == {}


SENTENCES = st.sampled_from(["{}", "I set {}.", "It is {} months", "Answer: {}!", "${} it is"])


@settings(max_examples=12, deadline=None)
@given(some(st.integers(0, 10**6), SENTENCES))
@pytest.mark.slow("reads many texts one by one")
def test_bold_and_backticks_around_a_number_change_nothing(cases):
    marks = ("{}", "**{}**", "*{}*", "`{}`", "__{}__")
    asked = [(sentence.format(mark.format(number)), number) for number, sentence in cases for mark in marks]
    results = read(text for text, _ in asked)
    assert [case for case, r in zip(asked, results, strict=True) if r["response"] != case[1]] == []
