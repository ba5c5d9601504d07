"""How a tokenizer spells the targets after a prompt, and what is read of each under two rules.

`published` is document D's: the target alone is tokenised, with whatever a tokenizer puts at the beginning of a text,
and its ids are scored at the last places of the whole text. There other ids may stand. `aligned` scores the ids that
stand there: those that follow the prompt's own.

In a chat a target is the beginning of the reply, so that no space is put before it, and the chat template alone says
how a text begins: the tokenizer adds nothing, neither to the whole text nor, under `published`, to the target.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ingest.local.llm import LocalLlm
from ingest.warehouse import UserError, printable

TARGETS = range(101)
RULES = ("published", "aligned")


def spelled(target: int) -> str:
    """Write a target as it is scored."""
    return f"{target}%"


@dataclass(frozen=True)
class Reading:
    """The ids that are scored of one target under one rule, each predicted at a place of the whole text."""

    target: int
    rule: str
    places: tuple[int, ...]  # where the logits stand that predict the ids, counted from 0
    ids: tuple[int, ...]
    n_bos: int  # how many of the ids, from the first on, are no part of the target but the beginning of a text


@dataclass(frozen=True)
class Spelling:
    """A prompt followed by each target, as ids, and what is read of them."""

    wholes: tuple[tuple[int, ...], ...]  # in the order of the targets
    readings: tuple[Reading, ...]

    @property
    def n_common(self) -> int:
        """How many ids from the first on all the whole texts share."""
        return _n_shared(*self.wholes)


class Targets:
    """The targets as one tokenizer spells them, after prompts as they are or at the beginning of a reply in a chat."""

    def __init__(self, tokenizer: LocalLlm, *, in_chat: bool = False):
        self.tokenizer, self.in_chat = tokenizer, in_chat
        texts = [spelled(target) for target in TARGETS]
        self.alone = [tuple(ids) for ids in self._encode(texts)]
        bare = [tuple(ids) for ids in tokenizer.encode(texts, special=False)]
        self.n_bos, self.n_end = _around(self.alone[0], bare[0])
        for text, ids in zip(texts, bare, strict=True):
            if not ids or tokenizer.unknown_id in ids:
                raise UserError(
                    f'the tokenizer of this LLM cannot spell "{text}": without all targets from "{texts[0]}" to '
                    f'"{texts[-1]}" there is nothing to score'
                )

    def after(self, prompts: Sequence[str]) -> list[Spelling]:
        """Spell every target after each of the prompts."""
        between = "" if self.in_chat else " "
        texts = [f"{prompt}{between}{spelled(target)}" for prompt in prompts for target in TARGETS]
        wholes = self._encode(texts)
        own = self._encode(prompts)
        n = len(TARGETS)
        return [
            self._spelling(prompt, ids, [tuple(whole) for whole in wholes[i * n : (i + 1) * n]])
            for i, (prompt, ids) in enumerate(zip(prompts, own, strict=True))
        ]

    def _encode(self, texts):
        return self.tokenizer.encode(texts, special=not self.in_chat)

    def _spelling(self, prompt, own, wholes):
        own = own[: len(own) - self.n_end]
        places = {}
        for target, (whole, alone) in enumerate(zip(wholes, self.alone, strict=True)):
            start = _n_shared(own, whole)
            scored = {
                "published": (range(len(whole) - len(alone), len(whole)), alone, self.n_bos),
                "aligned": (range(start, len(whole) - self.n_end), whole[start : len(whole) - self.n_end], 0),
            }
            if self.tokenizer.unknown_id in scored["aligned"][1] or wholes.index(whole) != target:
                raise UserError(
                    f'the tokenizer of this LLM cannot spell "{spelled(target)}" after "{printable(prompt)}": it has '
                    "no token for it, or the same ones as for another target"
                )
            if any(standing.start < 1 for standing, *_ in scored.values()):
                raise UserError(
                    f'"{printable(prompt)}" and "{spelled(target)}" are too few tokens for this LLM: the first of a '
                    "text follows nothing, so that its probability is not known"
                )
            for rule, (standing, ids, n_bos) in scored.items():
                predicting = tuple(place - 1 for place in standing)
                places[rule, target] = Reading(target, rule, predicting, tuple(ids), n_bos)
        readings = tuple(places[rule, target] for rule in RULES for target in TARGETS)
        return Spelling(tuple(wholes), readings)


def _n_shared(*texts):
    """Count the ids from the first on that all texts share."""
    n_least = min(map(len, texts))
    return next((n for n in range(n_least) if len({ids[n] for ids in texts}) > 1), n_least)


def _around(ids, bare):
    """Count the ids that a tokenizer puts before a text, and those that it puts after it."""
    for n_before in range(len(ids) - len(bare) + 1):
        if ids[n_before : n_before + len(bare)] == bare:
            return n_before, len(ids) - len(bare) - n_before
    raise UserError(
        "the tokenizer of this LLM writes a text otherwise at the beginning of a document: its targets cannot be scored"
    )
