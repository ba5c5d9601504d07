"""Steps of a technique: calls in conversations of their own, and the words that only these can name."""

import functools
import math
import random
import re

from ingest.land.models import macros, project_variable
from ingest.prompts.words import placeholders
from ingest.warehouse import scratch

CHUNK, REPLY = re.compile(r"chunk_([1-9][0-9]*)"), re.compile(r"reply_([1-9][0-9]*)")
OTHERS = {"item", "shuffled", "token_budget", "knowledge_cutoff"}
CHARACTERS_PER_TOKEN = project_variable("characters_per_token")
PIECES = {"words": re.compile(r"(?:\A\s+)?\S+\s*"), "characters": re.compile(r".", re.DOTALL)}
SENTENCE_END = re.compile(r"(?<=\.)\s+")
# Why a trial is not asked at all, or its last reply does not count.
EMPTY, ONE_SENTENCE, TOO_SHORT, NO_MARKER = "empty_text", "one_sentence", "fewer_words_than_chunks", "no_marker"


def is_word_of_steps(name: str) -> bool:
    """Tell whether a name in braces is one that only steps fill in."""
    return name in OTHERS or bool(CHUNK.fullmatch(name) or REPLY.fullmatch(name))


def as_steps(given: object) -> object:
    """Take a text among the steps of a technique for a step that says it."""
    return [{"prompt": step} if isinstance(step, str) else step for step in given] if isinstance(given, list) else given


def tokens_of(text: str) -> int:
    """Estimate how many tokens a text has."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def numbers_in(names: set[str], kind: re.Pattern) -> list[int]:
    """Return the numbers of the chunks or replies among names."""
    return sorted(int(match[1]) for name in names if (match := kind.fullmatch(name)))


def chunks_of(text: str, n: int, unit: str) -> list[str]:
    """Cut a text into `n` parts of as many words, or characters, each; the last one gets the remainder too.

    Put together the parts are the text. A text that has fewer words than `n` gives empty parts.
    """
    pieces = PIECES[unit].findall(text)
    size = len(pieces) // n
    return ["".join(pieces[size * at : size * (at + 1) if at < n - 1 else None]) for at in range(n)]


def sentences_of(text: str) -> list[str]:
    """Split a text after periods."""
    return [sentence for sentence in SENTENCE_END.split(text.strip()) if sentence]


def shuffled(text: str, seed: int) -> str:
    """Return the sentences of a text in another order; the order hangs on how many there are and on the seed."""
    sentences = sentences_of(text)
    order, chance = list(range(len(sentences))), random.Random(seed)
    while order == sorted(order) and len(order) > 1:
        chance.shuffle(order)
    return " ".join(sentences[place] for place in order)


@functools.lru_cache(maxsize=1_024)  # of a trial each reply is read once for every call that follows it
def after_marker(reply: str, marker: str | None) -> str | None:
    """Return what follows the last marker in a reply; None if the marker is not in it."""
    if marker is None:
        return reply
    if marker not in reply:
        return None
    with scratch() as memory:
        ((part,),) = memory.execute(_answer_in(), {"reply": reply, "marker": marker}).fetchall()
    return part or ""


@functools.cache
def _answer_in():
    return f"select {macros()['answer_in']('$reply', '$marker')}"


class Steps:
    """What the calls of one trial can name.

    Parameters
    ----------
    technique : dict
        As in the YAML file, with `steps`.
    item : str
        The text that the steps are about.
    facts : dict of str to str
        What is known of the LLM, such as its `knowledge_cutoff`.
    """

    def __init__(self, technique: dict, item: str, facts: dict[str, str]):
        self.technique, self.item, self.facts = technique, item, facts
        self.prompts = [step["prompt"] for step in technique["steps"]]
        self.names = [placeholders(prompt) for prompt in self.prompts]
        all_names = set().union(*self.names, placeholders(technique.get("system", "")))
        rule = technique.get("chunks")
        self.chunks = chunks_of(item, rule["n"], rule["unit"]) if rule else []
        self.problem = None
        if not item.strip():
            self.problem = EMPTY
        elif "shuffled" in all_names and len(sentences_of(item)) < 2:
            self.problem = ONE_SENTENCE
        elif numbers_in(all_names, CHUNK) and not all(chunk.strip() for chunk in self.chunks):
            self.problem = TOO_SHORT

    def words(self, number: int, replies: list[str]) -> dict[str, str]:
        """Return what fills the braces of a step, after the replies before it."""
        words = {"item": self.item, **self.facts}
        words |= {f"chunk_{place}": chunk.strip() for place, chunk in enumerate(self.chunks, 1)}
        words |= {f"reply_{place}": self.of_reply(reply) for place, reply in enumerate(replies, 1)}
        if "shuffled" in self.names[number]:
            words["shuffled"] = shuffled(self.item, self.technique["shuffle_seed"])
        if "token_budget" in self.names[number]:
            words["token_budget"] = str(self._budget(numbers_in(self.names[number], CHUNK)))
        return words

    def of_reply(self, reply: str) -> str:
        """Return the part of a reply that counts: what follows the marker of the technique, else the whole."""
        part = after_marker(reply, self.technique.get("answer_after"))
        return reply.strip() if part is None else part

    @property
    def are_joined(self) -> bool:
        """Whether all replies count, one after another, and not the last alone."""
        return self.technique.get("counts") == "joined"

    def answer(self, replies: list[str]) -> tuple[str, str | None]:
        """Return the text that a trial comes to, and why it does not count, if it does not."""
        if self.are_joined:
            return "\n\n".join(map(self.of_reply, replies)), None
        if self.technique.get("needs_marker") and after_marker(replies[-1], self.technique["answer_after"]) is None:
            return replies[-1], NO_MARKER
        return self.of_reply(replies[-1]), None

    def template(self) -> dict:
        """Return the rules by which the words of the steps come from the item."""
        rules = ("counts", "chunks", "shuffle_seed", "token_budget", "answer_after", "needs_marker")
        return {"item": self.item, **{rule: self.technique[rule] for rule in rules if rule in self.technique}}

    def _budget(self, chunks):
        """Return the tokens for the chunk that a step names, or for all of them if it names none."""
        budget = self.technique["token_budget"]
        total = budget["tokens"] if "tokens" in budget else budget["share_of_item"] * tokens_of(self.item)
        return round(total * (budget["shares"][chunks[0] - 1] if chunks else 1))
