"""Write a text token by token with an LLM on this machine and one of the methods; numpy alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ingest.local.llm import LocalLlm
from ingest.local.methods import Method, log_softmax

SHORTEST_PIECE = 3  # letters of a token that begins a word: shorter ones begin too many others


class Stopped(Exception):
    """Nobody waits for the text any more."""


class NotFinite(Exception):
    """The LLM gave a logit that is no number."""


@dataclass(slots=True)
class Written:
    """A text, its tokens, and whether it came to its end or to the most tokens."""

    text: str
    n_tokens: int
    is_complete: bool


class Draft:
    """A text that is being written, as methods ask it.

    Parameters
    ----------
    llm : LocalLlm
    prompt : callable
        From a prefix to the tokens of what was asked, with the prefix before it.
    question : callable
        From a question to the tokens of a conversation that begins with it.
    temperature : float
        0 takes the likeliest token.
    rng : numpy.random.Generator
    """

    def __init__(
        self, llm: LocalLlm, prompt: Callable[[str], list[int]], question: Callable[[str], list[int]],
        temperature: float, rng: np.random.Generator,
    ):  # fmt: skip
        self.llm, self.prompt, self.question = llm, prompt, question
        self.temperature, self.rng = temperature, rng
        self.ids, self.should_stop = [], lambda: False
        self._second, self._n_read, self._tokens = {}, {}, {}

    def text(self, *more: int) -> str:
        """Return what is written, and more tokens behind it."""
        return self.llm.decode([*self.ids, *more])

    def tokens_of(self, words: Sequence[str]) -> np.ndarray:
        """Return the tokens that are one of these words, and where none is, the one that a word begins with."""
        for word in words:
            if word not in self._tokens:
                self._tokens[word] = self._found(word)
        return np.unique(np.array([token for word in words for token in self._tokens[word]], dtype=int))

    def _found(self, word):
        texts, whole = self.llm.token_texts, self.llm.tokens_by_text.get(word)
        if whole:
            return whole
        begins = {ids[0] for ids in self.llm.encode([f" {word}", word, word.capitalize()], special=False) if ids}
        pieces = ((token, texts[token].strip().casefold()) for token in begins)
        return [token for token, piece in pieces if len(piece) >= SHORTEST_PIECE and word.startswith(piece)]

    def after_prefix(self, prefix: str) -> np.ndarray:
        """Return the logits of a second pass over what was asked and what is written, behind a prefix."""
        if prefix not in self._second:
            self._second[prefix] = self.llm.begin([*self.prompt(prefix), *self.ids])
        elif unread := self.ids[self._n_read[prefix] :]:
            self._second[prefix].add(unread)
        self._n_read[prefix] = len(self.ids)
        return self._second[prefix].logits

    def draw(self, logits: np.ndarray) -> int:
        """Draw a token by the temperature."""
        return draw(logits, self.temperature, self.rng)

    def explain(self, question: str, most_tokens: int) -> str:
        """Return what the LLM says to a question, in its likeliest words."""
        own = Draft(self.llm, lambda prefix: self.question(question), self.question, 0, self.rng)
        own.should_stop = self.should_stop
        return own.write(Method(), most_tokens).text

    def write(self, method: Method, most_tokens: int) -> Written:
        """Write until the LLM ends the text, or as many tokens as it may have."""
        passed = self.llm.begin(self.prompt(""))
        if method.sets_temperature:
            self.temperature = 1.0
        while len(self.ids) < most_tokens:
            if self.should_stop():
                raise Stopped
            if np.isnan(passed.logits).any():
                raise NotFinite
            token = self.draw(method.change(passed.logits, self))
            method.took(token)
            if token in self.llm.end_ids:
                return Written(self.text(), len(self.ids), is_complete=True)
            self.ids.append(token)
            if len(self.ids) < most_tokens:
                passed.add([token])
        return Written(self.text(), len(self.ids), is_complete=False)


def draw(logits: np.ndarray, temperature: float, rng: np.random.Generator) -> int:
    """Draw a token by its probability at a temperature; at 0, and of equals, take the first of the likeliest."""
    if not temperature:
        return int(np.argmax(logits))
    probabilities = np.exp(log_softmax(logits / temperature))
    return int(rng.choice(len(logits), p=probabilities / probabilities.sum()))
