"""Questions whose answers are scored: one YAML file becomes prompts, one for each coalition of a prompt's fields.

A coalition is a set of fields that are there. The others are empty strings, and the punctuation around them stays. In a
chat the prompt is a person's message, and what the LLM's chat template writes around it is always the same.
"""

import hashlib
import itertools
import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from ingest.texts.files import plain, text_of
from ingest.texts.yaml_text import line_of, read_yaml
from ingest.warehouse import UserError, printable

SHIPPED = Path(__file__).resolve().parent / "questions" / "anchoring-llms.yaml"
TEMPLATE = "{scene}{anchor}.\n\n{comparative}{anchor}?\n\n{absolute}"
PLAYERS = ("scene", "comparative", "absolute", "anchor")
COALITIONS = tuple(
    frozenset(some) for size in range(len(PLAYERS) + 1) for some in itertools.combinations(PLAYERS, size)
)


def _plain_name(name: str) -> str:
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError(
            f"the name {name!r} should begin with a letter or a digit and hold only letters, digits, '.', '_' and '-'"
        )
    return name


Named = Annotated[str, AfterValidator(_plain_name)]


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Anchors(_Given):
    """The two numbers that a variation plants."""

    low: int
    high: int

    @model_validator(mode="after")
    def _low_is_lower(self):
        if self.low >= self.high:
            raise ValueError(f"the low anchor {self.low} is not below the high anchor {self.high}")
        return self


class Question(_Given):
    """The words around the anchor, and the pairs of anchors under which they are put."""

    scene: str
    comparative: str
    absolute: str
    variations: dict[Named, Anchors] = Field(min_length=1)


class Cell(NamedTuple):
    """One prompt of a variation: the anchor, whether it is the low or the high one, and which fields are there."""

    variation: str
    anchor_direction: str
    anchor: int
    coalition: frozenset[str]
    prompt: str


class Questions(_Given):
    """A file of questions."""

    study: Named
    source: str
    questions: list[Question] = Field(min_length=1)

    @model_validator(mode="after")
    def _variations_are_told_apart(self):
        names = [name for question in self.questions for name in question.variations]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"the variation {twice[0]} is there twice")
        asked_by = {}
        for number, question in enumerate(self.questions):
            for name in question.variations:
                first, first_name = asked_by.setdefault(question_of(name), (number, name))
                if first != number:
                    raise ValueError(
                        f"the variations {first_name} and {name} are of different questions, but what stands before "
                        f"the first '-' names the question in the tables, and in both it is {question_of(name)}: name "
                        f"them {question_of(name)}1 and {question_of(name)}2, each with its own ending after the '-'"
                    )
        return self

    @property
    def chat_template_hash(self) -> str | None:
        """The chat template in which the prompts are put; none where they are put as they are."""
        return None

    def put(self, prompt: str) -> str:
        """Return the text that an LLM gets for a prompt: the prompt."""
        return prompt

    @cached_property
    def cells(self) -> list[Cell]:
        """Every prompt that is needed: of each variation, both anchors and all coalitions."""
        return [
            Cell(name, direction, anchor, coalition, self.put(prompt_of(question, anchor, coalition)))
            for question in self.questions
            for name, anchors in question.variations.items()
            for direction, anchor in anchors
            for coalition in COALITIONS
        ]

    @cached_property
    def prompts(self) -> dict[str, str]:
        """The distinct prompts by their hash, in the order in which they are first needed."""
        return {prompt_hash(cell.prompt): cell.prompt for cell in self.cells}

    @cached_property
    def digest(self) -> str:
        """A hash of what is scored: the study, the variations and their prompts."""
        lines = [self.study, *(f"{cell.variation} {cell.anchor} {prompt_hash(cell.prompt)}" for cell in self.cells)]
        if self.chat_template_hash:
            lines.append(self.chat_template_hash)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


class Chat(_Given):
    """What a chat template writes before and after the message of a person, up to where the reply begins."""

    before: str
    after: str
    template_hash: str


class ChatQuestions(Questions):
    """Questions of which every prompt is put as the message of a person in a chat."""

    chat: Chat

    @property
    def chat_template_hash(self) -> str:
        """The chat template in which the prompts are put."""
        return self.chat.template_hash

    def put(self, prompt: str) -> str:
        """Return the text that an LLM gets for a prompt: the whole chat, up to where the reply begins."""
        return f"{self.chat.before}{prompt}{self.chat.after}"


def prompt_of(question: Question, anchor: int, coalition: frozenset[str]) -> str:
    """Render a prompt from the fields that are there; one anchor fills both places."""
    fields = question.model_dump() | {"anchor": str(anchor)}
    return TEMPLATE.format(**{name: fields[name] if name in coalition else "" for name in PLAYERS}).strip()


def question_of(variation: str) -> str:
    """Return the question that a variation asks, as the tables read it off its name."""
    return variation.partition("-")[0]


def prompt_hash(prompt: str) -> str:
    """Name a prompt."""
    return hashlib.sha256(prompt.encode()).hexdigest()[:32]


def load_questions(path: Path | None = None) -> Questions:
    """Read a file of questions, those of document D if none is given; what is wrong with it is one sentence."""
    questions = _read(path or SHIPPED)
    if path and questions.study == (shipped := _read(SHIPPED)).study and not set(questions.cells) <= set(shipped.cells):
        raise UserError(
            f"{printable(path)} has questions of its own under study: {questions.study}, which is the name of the "
            "questions that bais ships: give the study another name, so that the tables do not mix the two"
        )
    return questions


def _read(path):
    tree, content = read_yaml(text_of(path), printable(path))
    try:
        return Questions.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        location = tuple(part for part in first["loc"] if part != "[key]")
        where = f"{printable(path)}:{line_of(tree, location)}" if tree else printable(path)
        place = ".".join(map(str, location)) or "the file"
        raise UserError(
            f"{where} is no file of questions: {printable(place)}: {printable(plain(first))}; "
            f"{SHIPPED.relative_to(SHIPPED.parents[3])} is an example"
        ) from None
