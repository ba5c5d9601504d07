"""A study of people: its file, its pairs of products, and what each participant is shown, drawn by a seed."""

import hashlib
import html
import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from ingest.people.key import keyed
from ingest.texts.csv_text import header_of, read_csv
from ingest.texts.files import (
    PRODUCT_PATTERN,
    STUDY_PATTERN,
    NotNegative,
    Part,
    Positive,
    found_wrong,
    parse_checked,
    refuse_twice,
    text_of,
    web_parts,
)
from ingest.warehouse import UserError, printable

STUDY_FILE = "study.yaml"
TO_FILL = "FILL IN"  # what a person replaces in the words of a study
CONDITIONS = ("A", "B")
MOST_PARTICIPANTS = 10_000

Text = Annotated[str, Field(pattern=r"\S")]
ProductName = Annotated[str, Field(pattern=PRODUCT_PATTERN, max_length=90)]


def folded(text: str | None) -> str:
    """Return a text without what an export of Qualtrics changes: marks of HTML, and blanks."""
    return "".join(html.unescape(re.sub(r"<br ?/?>", "", text or "")).split())


def _refuse_alike(key, names):
    """Refuse names that an export of Qualtrics does not keep apart."""
    of_folded = {}
    for name in names:
        if (other := of_folded.setdefault(folded(name), name)) is not name:
            raise ValueError(f"{key}: {other} and {name} differ in blanks or HTML alone, which Qualtrics changes")


class Question(Part):
    """A question with one right answer, which is known where answers are read, and to no page."""

    ask: Text
    options: list[Text] = Field(min_length=2)
    right: Text

    @model_validator(mode="after")
    def _has_its_answer(self):
        refuse_twice("options", self.options)
        _refuse_alike("options", self.options)
        if not all(option.isprintable() for option in self.options):
            raise ValueError("options: each should be on one line, of characters that can be seen")
        if self.right not in self.options:
            raise ValueError(f"right: it is {self.right}, which is none of the options")
        return self


class PeopleStudy(Part):
    """What the file of a study of people says."""

    study: Annotated[str, Field(pattern=STUDY_PATTERN)]
    title: Text
    seed: int
    participants: int = Field(ge=2, le=MOST_PARTICIPANTS)
    prolific: bool = False
    address: str | None = None
    currency: Text
    bonus: NotNegative
    products: Text
    consent: Text
    instructions: Text
    ending: Text
    quiz: list[Question] = Field(min_length=1)
    attention: list[Question] = Field([])

    @model_validator(mode="after")
    def _is_filled_in(self):
        if self.address is not None and not web_parts(self.address):
            raise ValueError("address: should be where the pages will lie on the web, such as https://example.org/shop")
        if self.address and re.search(r'[?#,"\s]', self.address):
            raise ValueError("address: should end before any ? or #, and hold no comma, quotation mark or blank")
        if Path(self.products).name != self.products or not self.products.isprintable():
            raise ValueError(f"products: should be the name of a file beside {STUDY_FILE}, such as products.csv")
        for name in ("title", "consent", "instructions", "ending"):
            if TO_FILL in getattr(self, name):
                raise ValueError(f"{name}: it still says {TO_FILL}: write what belongs there")
        return self


class Pair(Part):
    """Two products of a kind, with both formats of each and what each costs; a summary changes the target."""

    product: ProductName
    target: ProductName
    other: ProductName
    target_original: Text
    target_summary: Text
    other_original: Text
    other_summary: Text
    target_price: Positive
    other_price: Positive

    @model_validator(mode="after")
    def _has_names_that_differ(self):
        if self.target != self.other:
            _refuse_alike("other", [self.target, self.other])
        return self

    @property
    def name(self) -> str:
        """What the pair is called in the warehouse."""
        return f"{self.target}|{self.other}"

    def shown(self, form: str) -> list[dict]:
        """Return of both products what is read in a format, and what the other one costs."""
        return [
            {"name": self.target, "text": getattr(self, f"target_{form}"), "price_of_other": self.other_price},
            {"name": self.other, "text": getattr(self, f"other_{form}"), "price_of_other": self.target_price},
        ]


@dataclass(frozen=True)
class Material:
    """A study of people with its pairs."""

    study: PeopleStudy
    pairs: list[Pair]

    @property
    def fingerprint(self) -> str:
        """What tells this material from any other, however many read it."""
        said = [self.study.model_dump(exclude={"participants", "address"}), [pair.model_dump() for pair in self.pairs]]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]

    def condition(self, number: int) -> str:
        """Return the condition of a participant: of two who follow each other one is in each."""
        drawn = random.Random(f"{self.study.seed}/{(number - 1) // 2}")
        return drawn.sample(CONDITIONS, 2)[(number - 1) % 2]

    def format(self, place: int, number: int) -> str:
        """Return the format in which a participant reads a pair: every second one as summary, in turn by condition."""
        return "summary" if CONDITIONS[place % 2] == self.condition(number) else "original"

    def steps(self, number: int) -> list[dict]:
        """Return what a participant is asked, in its order: pairs with their two products, and attention checks."""
        drawn = random.Random(f"{self.study.seed}/participant/{number}")
        steps = []
        for place in drawn.sample(range(len(self.pairs)), len(self.pairs)):
            pair = self.pairs[place]
            products = drawn.sample(pair.shown(self.format(place, number)), 2)
            steps.append({"pair": place, "kind": pair.product, "products": products})
        for check in range(len(self.study.attention)):
            steps.insert(drawn.randint(1, len(steps)), {"check": check})
        return steps

    def code(self, number: int, key: bytes) -> str:
        """Return the name of a participant's page, which nobody guesses."""
        return keyed(key, f"page\0{self.study.study}\0{self.study.seed}\0{number}")[:12]

    def codes(self, key: bytes) -> dict[str, int]:
        """Return the number of each participant that a study can have by the code of the page."""
        return {self.code(number, key): number for number in range(1, MOST_PARTICIPANTS + 1)}

    def seal_key(self, code: str, key: bytes) -> str:
        """Return what a page seals its answers with; it leads to no other page's."""
        return keyed(key, f"seal\0{self.study.study}\0{code}")


def is_people_study(folder: Path) -> bool:
    """Whether a folder holds a study of people, well written or not: a file of that name that speaks of products."""
    try:
        return b"\nproducts:" in (folder / STUDY_FILE).read_bytes()
    except OSError:
        return False


def read_material(path: Path) -> Material:
    """Read the file of a study and the table of products beside it, or say what is wrong with which line."""
    text = text_of(path, f"{printable(path.parent)} has no {STUDY_FILE}: name the folder of a study of people")
    expected = "a study of people is a mapping: keys, each with its value"
    study = parse_checked(text, printable(path), expected, PeopleStudy.model_validate)
    products = path.with_name(study.products)
    try:
        return Material(study, _pairs(products))
    except OSError as error:
        raise UserError(f"{printable(products)}, the products of the study, cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UserError(str(error)) from None


def _pairs(path):
    name, pairs, lines = printable(path.name), [], {}
    if missing := [column for column in Pair.model_fields if column not in header_of(path, name)[0]]:
        raise ValueError(f"{name}:1: there is no column {missing[0]}")
    for row in read_csv(path, name):
        try:
            pair = Pair.model_validate({column: (row[column] or "").strip() or None for column in Pair.model_fields})
        except ValueError as error:
            raise ValueError(printable(f"{name}:{row.line}: {found_wrong(error)[1]}")) from None
        for product in (pair.target, pair.other):
            if product in lines:
                raise ValueError(f"{name}:{row.line}: {product} stands on line {lines[product]} already")
            lines[product] = row.line
        pairs.append(pair)
    if len(pairs) < 2:
        raise ValueError(f"{name}: one pair alone is no study, since each participant reads both formats")
    return pairs
