"""A study of people as Qualtrics imports it (its Advanced Format), and Qualtrics' export of responses, read back.

What Qualtrics cannot take from a text is in docs/how-to/study-people.md: that each participant sees one of two blocks.
"""

import html
import re
from dataclasses import dataclass
from pathlib import Path

from ingest.people.study import STUDY_FILE, Material, folded
from ingest.texts.csv_text import header_of, read_csv
from ingest.warehouse import perhaps, printable

# the columns of an export that are read beside those of questions, as Qualtrics calls them
STATUS, FINISHED, RESPONSE = "Status", "Finished", "ResponseId"
PROLIFIC_ID = "PROLIFIC_PID"  # what Prolific adds to the address of a survey
OF_PARTICIPANTS = ("IP Address", "Offline", "Imported")  # the other kinds of responses are previews, tests and spam
IS_FINISHED = {"True": True, "TRUE": True, "False": False, "FALSE": False}
AGREED = "I have read this and take part"
CONSENT = "consent"
NUMBERS = (1, 2)  # of the participants whose orders the two blocks have: one is in each condition


@dataclass(frozen=True)
class Asked:
    """A question of the layout: its text, its choices, none where a number is to be written, and what it is about."""

    name: str
    text: str
    choices: tuple[str, ...] = ()
    kind: str = CONSENT
    place: int = 0
    condition: str | None = None


@dataclass(frozen=True)
class Response:
    """What a participant answered: where it stands, the number whose order was shown, and the answers as a sheet's."""

    where: str
    participant: str
    number: int
    answers: dict


def blocks(material: Material) -> dict[str, list[list[Asked]]]:
    """Return what is asked, by block and page."""
    study = material.study
    told = [study.instructions]
    if study.bonus:
        told.append(
            f"You get {study.currency}{study.bonus:.2f} more for each of your {len(material.pairs)} choices that most "
            "people who read the same texts make too."
        )
    quiz = [
        Asked(f"quiz_{n}", "\n".join([*(told if n == 1 else ()), one.ask]), tuple(one.options), "quiz")
        for n, one in enumerate(study.quiz, 1)
    ]
    of_blocks = {"Consent and quiz": [[Asked(CONSENT, f"{study.title}\n{study.consent}", (AGREED,))], quiz]}
    for number in sorted(NUMBERS, key=material.condition):
        condition = material.condition(number)
        steps = (_asked(step, condition, material) for step in material.steps(number))
        of_blocks[f"Condition {condition}"] = [[asked] for step in steps for asked in step]
    return of_blocks


def _asked(step, condition, material):
    """Return the questions of a step, each on a page of its own."""
    study = material.study
    if "check" in step:
        place = step["check"]
        check = study.attention[place]
        return [Asked(f"{condition}_check_{place + 1}", check.ask, tuple(check.options), "check", place, condition)]
    place, products = step["pair"], step["products"]
    names = tuple(product["name"] for product in products)
    texts = [line for product in products for line in (f"{product['name']}:", product["text"])]
    prices = [
        f"If you chose {one['name']}: {other} costs {study.currency}{one['price_of_other']:.2f}."
        for one, other in zip(products, reversed(names), strict=True)
    ]
    pays = "\n".join([*prices, f"What is the most that you would pay for the one that you chose, in {study.currency}?"])
    question = "\n".join([*texts, f"Which {step['kind']} would you choose?"])
    return [
        Asked(f"{condition}_pair_{place + 1}", question, names, "pair", place, condition),
        Asked(f"{condition}_pays_{place + 1}", pays, (), "pays", place, condition),
    ]


def layout(material: Material) -> str:
    """Write a study as Qualtrics imports it."""
    lines = ["[[AdvancedFormat]]", "", *([f"[[ED:{PROLIFIC_ID}]]", ""] if material.study.prolific else [])]
    for block, pages in blocks(material).items():
        lines += [f"[[Block:{block}]]", ""]
        for page, questions in enumerate(pages):
            lines += ["[[PageBreak]]", ""] if page else []
            for asked in questions:
                kind = "MC:SingleAnswer:Vertical" if asked.choices else "TE:SingleLine"
                lines += [f"[[Question:{kind}]]", f"[[ID:{asked.name}]]", _as_html(asked.text)]
                lines += ["[[Choices]]", *map(_as_html, asked.choices)] if asked.choices else []
                lines.append("")
    ending = ["[[Block:End]]", "", "[[Question:DB]]", "[[ID:ending]]", _as_html(material.study.ending), ""]
    return "\n".join([*lines, *ending])


def _as_html(text):
    """Write a text on one line, so that nothing in it is a command of Qualtrics or a place to fill."""
    lines = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
    escaped = "<br><br>".join(html.escape(line, quote=False) for line in lines)
    return escaped.replace("[[", "&#91;&#91;").replace("${", "&#36;{")


def read_responses(path: Path, name: str, material: Material) -> tuple[list[Response], dict[str, str]]:
    """Read Qualtrics' export of a study: the responses and, by where they stand, why others are none of participants.

    Raises
    ------
    ValueError
        If something in it cannot be right, or was asked in other words than the study has now.
    """
    who = PROLIFIC_ID if material.study.prolific else RESPONSE
    questions = {asked.name: asked for pages in blocks(material).values() for page in pages for asked in page}
    _refuse_columns(header_of(path, name)[0], [STATUS, FINISHED, RESPONSE, who, *questions], name)
    rows = list(read_csv(path, name))
    if len(rows) < 2 or "ImportId" not in (rows[1][RESPONSE] or ""):
        raise ValueError(
            f"{name}:3: the third line should hold the ImportIds of Qualtrics, after names and questions: give the CSV "
            "as Qualtrics wrote it"
        )
    if len(rows) == 2:
        raise ValueError(f"{name} holds no responses")
    for asked in questions.values():
        if folded(rows[0][asked.name]) != folded(asked.text):
            raise ValueError(
                f"{name}:2: {asked.name} was asked in other words than {STUDY_FILE} and its products have now: put "
                "there what was asked"
            )
    responses, left_out = [], {}
    for row in rows[2:]:
        where = f"{name}:{row.line}"
        try:
            response = _response(row, where, who, questions, material)
        except ValueError as problem:
            raise ValueError(f"{where}: {problem}") from None
        if isinstance(response, str):
            left_out[where] = response
        else:
            responses.append(response)
    return responses, left_out


def _refuse_columns(header, needed, name):
    for column in needed:
        if column not in header:
            raise ValueError(
                f"{name}:1: there is no column {column}{perhaps(column, [c for c in header if c not in needed])}: give "
                "the columns the names that the layout gives them"
            )


def _response(row, where, who, questions, material):
    """Return what a line says, or why it is no answer of a participant."""
    if row[FINISHED] not in IS_FINISHED or not row[STATUS] or row[STATUS].isdigit():
        raise ValueError(f"{FINISHED} should be True or False, and {STATUS} a text: export choice text and no numbers")
    if row[STATUS] not in OF_PARTICIPANTS:
        return f"a response of the kind {row[STATUS]}, and of no participant"
    said = {name: _answer(row[name], asked) for name, asked in questions.items() if (row[name] or "").strip()}
    if CONSENT not in said:
        return "nobody agreed to take part"
    shown = {questions[name].condition for name in said} - {None}
    if len(shown) > 1:
        raise ValueError("it answers both conditions: have a Randomizer show one of the two blocks to each participant")
    if not shown:
        return "it stopped before the first choice"
    if not row[who]:
        raise ValueError(f"{who} is empty: write the id there, or take the line out")
    if who != PROLIFIC_ID and row.get(PROLIFIC_ID):
        raise ValueError(
            f"{PROLIFIC_ID} stands there, and {STUDY_FILE} says prolific: false, with which this participant would "
            "count under another name: write prolific: true again or, if it never was, take that column out"
        )
    answers = {"quiz": [], "checks": [], "choices": [], "is_finished": IS_FINISHED[row[FINISHED]]}
    pays = {
        questions[name].place: _payment(text, name, material.study.currency)
        for name, text in said.items()
        if questions[name].kind == "pays"
    }
    for name, text in said.items():
        kind, place = questions[name].kind, questions[name].place
        if kind == "quiz":
            answers["quiz"].append(text)
        elif kind == "check":
            answers["checks"].append({"check": place, "answer": text})
        elif kind == "pair":
            answers["choices"].append({"pair": place, "chosen": text, "pays": pays.get(place)})
    (number,) = (number for number in NUMBERS if material.condition(number) in shown)
    return Response(where, row[who], number, answers)


def _payment(text, name, currency):
    """Return the amount that was written, with the currency before it, after it or nowhere; None of no amount."""
    amount = text.removeprefix(currency).removesuffix(currency).strip()
    if amount and not re.fullmatch(r"\d+\.?\d*|\.\d+", amount):
        raise ValueError(
            f"{name} is {printable(text)}, which is no amount such as 25 or 25.50: correct the cell if you know what "
            "was meant, or take the line out"
        )
    return amount or None


def _answer(text, asked):
    """Return the choice that a text is, however its blanks came through, or what was written."""
    if not asked.choices:
        return text.strip()
    known = {folded(choice): choice for choice in asked.choices}
    if folded(text) not in known:
        raise ValueError(f"{asked.name} is {printable(text)}, which is none of its choices: export choice text")
    return known[folded(text)]
