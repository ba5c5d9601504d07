"""A study of people: its file, its pairs of products, and what each participant is shown, drawn by a seed."""

import hashlib
import json
import math
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from ingest.people.key import keyed
from ingest.texts.csv_text import read_csv
from ingest.texts.files import STUDY_PATTERN, NotNegative, Part, parse_checked, refuse_twice, text_of, web_parts
from ingest.warehouse import UserError, printable

STUDY_FILE = "study.yaml"
TO_FILL = "FILL IN"  # what a person replaces in the words of a study
COLUMNS = (
    "product", "target", "other", "target_original", "target_summary", "other_original", "other_summary",
    "target_price", "other_price",
)  # fmt: skip
LONGEST_NAME = 90  # two of them and a bar name a pair
CONDITIONS = ("A", "B")

Text = Annotated[str, Field(pattern=r"\S")]


class Question(Part):
    """A question with one right answer, which is known where answers are read, and to no page."""

    ask: Text
    options: list[Text] = Field(min_length=2)
    right: Text

    @model_validator(mode="after")
    def _has_its_answer(self):
        refuse_twice("options", self.options)
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
    participants: int = Field(ge=2, le=10_000)
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
        for name in ("title", "consent", "instructions", "ending"):
            if TO_FILL in getattr(self, name):
                raise ValueError(f"{name}: it still says {TO_FILL}: write what belongs there")
        return self


@dataclass(frozen=True)
class Pair:
    """Two products of a kind, with both formats of each and what each costs; a summary changes the target."""

    kind: str
    target: str
    other: str
    texts: dict
    prices: dict

    @property
    def name(self) -> str:
        """What the pair is called in the warehouse."""
        return f"{self.target}|{self.other}"


@dataclass(frozen=True)
class Material:
    """A study of people with its pairs."""

    study: PeopleStudy
    pairs: list[Pair]

    @property
    def fingerprint(self) -> str:
        """What tells this material from any other, however many read it."""
        said = [self.study.model_dump(exclude={"participants", "address"}), [vars(pair) for pair in self.pairs]]
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
            texts = pair.texts[self.format(place, number)]
            products = [
                {"name": name, "text": texts[name], "price_of_other": pair.prices[other]}
                for name, other in drawn.sample([(pair.target, pair.other), (pair.other, pair.target)], 2)
            ]
            steps.append({"pair": place, "kind": pair.kind, "products": products})
        for check in range(len(self.study.attention)):
            steps.insert(drawn.randint(1, len(steps)), {"check": check})
        return steps

    def code(self, number: int, key: bytes) -> str:
        """Return the name of a participant's page, which nobody guesses."""
        return keyed(key, f"page\0{self.study.study}\0{self.study.seed}\0{number}")[:12]

    def codes(self, key: bytes) -> dict[str, int]:
        """Return the number of each participant by the code of the page."""
        return {self.code(number, key): number for number in range(1, self.study.participants + 1)}

    def seal_key(self, code: str, key: bytes) -> str:
        """Return what a page seals its answers with; it leads to no other page's."""
        return keyed(key, f"seal\0{self.study.study}\0{code}")


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
    for row in read_csv(path, name):
        where = f"{name}:{row.line}"
        if missing := [column for column in COLUMNS if not (row.get(column) or "").strip()]:
            is_there = missing[0] in row
            raise ValueError(f"{where}: {missing[0]} is empty" if is_there else f"{name}:1: no column {missing[0]}")
        pair = _pair({column: row[column].strip() for column in COLUMNS}, where)
        for product in (pair.target, pair.other):
            if product in lines:
                raise ValueError(f"{where}: {printable(product)} stands on line {lines[product]} already")
            lines[product] = row.line
        pairs.append(pair)
    if len(pairs) < 2:
        raise ValueError(f"{name}: one pair alone is no study, since each participant reads both formats")
    return pairs


def _pair(row, where):
    names, prices = [row["target"], row["other"]], {}
    for name in (*names, row["product"]):
        if "|" in name or len(name) > LONGEST_NAME or not name.isprintable():
            raise ValueError(
                f"{where}: {printable(name[:LONGEST_NAME])} should be a name on one line, without a bar, of at most "
                f"{LONGEST_NAME} characters"
            )
    if names[0] == names[1]:
        raise ValueError(f"{where}: target and other are both {printable(names[0])}")
    for product in ("target", "other"):
        prices[row[product]] = price = row[f"{product}_price"]
        try:
            is_price = 0 < float(price) < math.inf and "_" not in price
        except ValueError:
            is_price = False
        if not is_price:
            raise ValueError(f"{where}: {product}_price is {printable(price)}, and should be a number above 0")
    texts = {
        form: {row[product]: row[f"{product}_{form}"] for product in ("target", "other")}
        for form in ("original", "summary")
    }
    return Pair(row["product"], *names, texts, prices)
