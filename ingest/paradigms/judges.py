"""Judges are data: which texts of a study LLMs label, in which words and how often. A judgement is a trial."""

import itertools
import json
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, model_validator

from ingest.paradigms.items import Item
from ingest.paradigms.paradigm import ASKED, ASKED_BEFORE, NonEmpty
from ingest.prompts import Script, fill, placeholders, versioned
from ingest.prompts.words import half_a_name
from ingest.texts.files import Mistake, Name, Part, Temperature

JUDGEMENTS = "judgements"  # the phase, and what plans call it
ORIGINAL, ANSWER, IDENTITY = "original", "answer", "identity"
Question = Annotated[str, Field(pattern=r"\{text\}")]


class Judged(NamedTuple):
    """A text that is judged, as it was decided: of an answer, or else the original of an item."""

    item: str | None
    is_answer: bool
    text_hash: str
    place: int  # of its line in the spool, since texts are many


class Judging(Part):
    """What judges are asked: of which texts, in which words, with which labels, and how often."""

    paradigm: Name
    version: int = 1
    labels: list[NonEmpty] = Field(min_length=2)
    reading: Literal["strict", "first_word"] = "strict"
    asked: str | None = None  # in the place of our words for the form of a judgement
    text: NonEmpty | None = None
    question: Question
    question_of_answers: Question | None = None
    roles: list[Literal["original", "answer", "identity"]] = Field(min_length=1)
    repeats: Annotated[int, Field(ge=1, le=1_000)] = 1
    temperature: Temperature | None = None

    @model_validator(mode="after")
    def _fits(self):
        for key, names in (("labels", [label.casefold() for label in self.labels]), ("roles", self.roles)):
            if len(set(names)) < len(names):
                raise ValueError(f"{key}: two of them are the same")
        if self.judges_items and self.text is None:
            raise ValueError("text: say what of an item is judged, such as {review}")
        return self

    @property
    def judges_items(self) -> bool:
        """Whether texts of items are judged, as they are or as if they were answers."""
        return ORIGINAL in self.roles or IDENTITY in self.roles

    def check(self, paradigm, vignettes: list[str]) -> None:
        """Hold what is asked against the paradigm of the study; an error begins with its key."""
        for sentence, *key in self._wrong_with(paradigm, vignettes):
            raise Mistake(f"judges: {sentence}", "judges", *key)

    def _wrong_with(self, paradigm, vignettes):
        """Yield what is wrong, with the key that it stands under."""
        if self.paradigm in (paradigm.paradigm, *vignettes):
            yield (f"{self.paradigm} names another part of the study: give the judgements a name of their own",)
        if ANSWER in self.roles and paradigm.answer.kind != "text":
            asked = f"{paradigm.paradigm} asks for a {paradigm.answer.kind}"
            yield (f"answers are judged where they are texts, and {asked}",)
        if self.judges_items and not paradigm.all_items:
            yield (f"{paradigm.paradigm} has no items whose texts could be judged; roles: [answer] needs none",)
        fields = {field for item in paradigm.all_items for field in item.fields}
        used = placeholders(self.text or "") if self.judges_items else set()
        used |= set().union(*(placeholders(self.asked_of(role)) for role in self.roles)) - {"text"}
        for key in ("text", "question", "question_of_answers"):
            words = getattr(self, key) or ""
            if half := half_a_name(words, {"text", *fields}):
                yield f"{key} says {half}", key
            if unknown := sorted((placeholders(words) & used) - fields):
                yield f"{{{unknown[0]}}} is no field of the items", key
        for item, field in itertools.product(paradigm.all_items, sorted(used)):
            if field not in item.fields:
                yield (f"item {item.item} has no {field}, and the judges are shown it",)

    def roles_of(self, is_answer: bool) -> list[str]:
        """Return the roles in which a text is judged."""
        return [role for role in self.roles if (role == ANSWER) == is_answer]

    def asked_of(self, role: str) -> str:
        """Return the question that is put of a text in a role; the original is shown as an answer is, for identity."""
        return self.question if role == ORIGINAL else self.question_of_answers or self.question

    def original(self, item: Item) -> str:
        """Return the text of an item."""
        return fill(self.text, item.fields)

    def as_asked_before(self) -> "Judging | None":
        """Return the judges with the words that hung on a reading once; None where they have their own."""
        return self.model_copy(update={"asked": ASKED_BEFORE["label"]}) if self.asked is None else None

    def script(self, role: str, item: Item | None = None, text: str | None = None) -> Script:
        """Return what a judge is told, in one turn; without a text and an item, the words that all texts share."""
        form = ASKED["label"] if self.asked is None else self.asked
        form = fill(form, {"labels": ", ".join(self.labels)})
        words = {**(item.fields if item else {}), **({} if text is None else {"text": text})}
        said = "\n\n".join(part for part in (fill(self.asked_of(role), words), form) if part)
        return Script({}, {"turns": ["{said}"]}, {"said": said}, "")  # what a text says is not searched for braces

    def prompt_version(self, role: str) -> tuple[str, str]:
        """Return the hash of the words that all texts share in a role, and the words."""
        return versioned(self.script(role), {"version": self.version}, {})

    def rows(self) -> list[dict]:
        """Return what a model needs to know: the labels that a judgement may be, and how it is read."""
        return [
            {
                "paradigm": self.paradigm, "measure": "label", "pairing": "item", "answer_kind": "label",
                "answer_reading": self.reading, "labels": json.dumps(self.labels, ensure_ascii=False),
            }
        ]  # fmt: skip
