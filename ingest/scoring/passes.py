"""Three ways to get the log-probabilities of all targets after a prompt; the first that gives the right ones is taken.

`tree` takes one pass for a prompt: what the whole texts share stands once, then the tokens in which the targets differ,
each of which sees only what it follows in its own text (an ancestor mask). An architecture that computes a distance
from the place in the batch and not from the position that it is given may run this and be wrong. `cache` takes one pass
for what the texts share and one for all that follows. `one_by_one` passes every whole text by itself, which any causal
LLM can do and which is right by definition: a few targets are scored so first, and the other ways compared with them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ingest.local.llm import LocalLlm, OutOfMemory
from ingest.scoring.targets import TARGETS, Reading, Spelling, spelled

Scores = dict[tuple[str, int], np.ndarray]  # by rule and target: the log-probability of each of its ids, in nats
CHECKED = (10, 50, 100)  # targets; the last ones of a tree see what they must not where its mask is not heeded
MOST_TAILS = 128
# nats per id by which a way may differ from one text at a time, since the same numbers are added in another order
TOLERANCES = {"float64": 1e-8, "float32": 1e-3, "float16": 0.03, "bfloat16": 0.2}


class NotFinite(Exception):
    """A log-probability is no number, or infinite."""


class Tree:
    """What one pass needs for a prompt and all its targets: ids, positions, and what each token follows.

    The last token of a text predicts nothing, so it has no place in the tree.
    """

    def __init__(self, spelling: Spelling):
        self.readings = spelling.readings
        n_stem = spelling.n_common
        self.ids = list(spelling.wholes[0][:n_stem])
        self.positions = list(range(n_stem))
        self.parents = list(range(-1, n_stem - 1))
        self._nodes = {}  # by what a token follows, and by itself
        columns = [self._placed(whole, n_stem) for whole in spelling.wholes]
        self.columns = [[columns[reading.target][place] for place in reading.places] for reading in self.readings]
        self.n_last = len(self.ids) - min(min(of_reading) for of_reading in self.columns)

    def _placed(self, whole, n_stem):
        """Put a text into the tree, and return where each of its tokens stands in it."""
        columns = list(range(n_stem))
        for place in range(n_stem, len(whole) - 1):
            parent = columns[-1] if columns else -1
            column = self._nodes.get((parent, whole[place]))
            if column is None:
                column = self._nodes[parent, whole[place]] = len(self.ids)
                self.ids.append(whole[place])
                self.positions.append(place)
                self.parents.append(parent)
            columns.append(column)
        return columns

    def mask(self) -> np.ndarray:
        """Say of each token which ones it sees: itself and those that it follows."""
        sees = np.eye(len(self.ids), dtype=bool)
        for column, parent in enumerate(self.parents):
            if parent >= 0:
                sees[column] |= sees[parent]
        return sees


def by_tree(llm: LocalLlm, spellings: Sequence[Spelling]) -> list[Scores]:
    """Score prompts in one pass; the trees are put flush with the end, where all the logits that are read stand."""
    trees = [Tree(spelling) for spelling in spellings]
    width, n_last = max(len(tree.ids) for tree in trees), max(tree.n_last for tree in trees)
    ids, positions = np.zeros((2, len(trees), width), np.int64)
    mask = np.zeros((len(trees), width, width), bool)
    mask[:, range(width), range(width)] = True
    rows, places, read = [], [], []
    for row, tree in enumerate(trees):
        free = width - len(tree.ids)
        ids[row, free:], positions[row, free:] = tree.ids, tree.positions
        mask[row, free:, free:] = tree.mask()
        for reading, columns in zip(tree.readings, tree.columns, strict=True):
            rows += [row] * len(columns)
            places += [free + column - (width - n_last) for column in columns]
            read += reading.ids
    values = llm.log_probabilities(llm.forward(ids, positions, mask, n_last), rows, places, read)
    return _cut(values, [tree.readings for tree in trees])


def by_cache(llm: LocalLlm, spellings: Sequence[Spelling], n_tails: "AtATime | None" = None) -> list[Scores]:
    """Score prompts one after the other: what their texts share in one pass, and what follows in as few as fit."""
    n_tails = n_tails or AtATime(MOST_TAILS)
    return [_after_a_stem(llm, spelling, n_tails) for spelling in spellings]


def _after_a_stem(llm, spelling, n_tails):
    n_stem = spelling.n_common
    stem = spelling.wholes[0][:n_stem]
    wanted = [
        (reading.target, place, read)
        for reading in spelling.readings
        for place, read in zip(reading.places, reading.ids, strict=True)
    ]
    log_values = np.full(len(wanted), np.nan)
    within = [n for n, (_, place, _) in enumerate(wanted) if place < n_stem]
    if within:
        places, ids = zip(*(wanted[n][1:] for n in within), strict=True)
        log_values[within] = llm.log_probabilities(llm.forward_plain(stem), [0] * len(within), list(places), list(ids))
    tails = {whole[n_stem:-1]: [] for whole in spelling.wholes if len(whole) - 1 > n_stem}
    for n, (target, place, _) in enumerate(wanted):
        if place >= n_stem:
            tails[spelling.wholes[target][n_stem:-1]].append(n)

    def score_tails(some):
        numbers = [(row, n) for row, tail in enumerate(some) for n in tails[tail]]
        rows = [row for row, _ in numbers]
        places = [wanted[n][1] - n_stem for _, n in numbers]
        ids = [wanted[n][2] for _, n in numbers]
        values = llm.log_probabilities(llm.forward_after(stem, some), rows, places, ids)
        return [(n, value) for (_, n), value in zip(numbers, values, strict=True)]

    for n, value in n_tails.each(score_tails, list(tails)):
        log_values[n] = value
    return _cut(log_values, [spelling.readings])[0]


def one_by_one(llm: LocalLlm, spellings: Sequence[Spelling], targets: Iterable[int] = TARGETS) -> list[Scores]:
    """Score some targets after prompts, each whole text in a pass of its own."""
    return [_by_itself(llm, spelling, targets) for spelling in spellings]


def _by_itself(llm, spelling, targets):
    scores = {}
    for target in targets:
        logits = llm.forward_plain(spelling.wholes[target])
        for reading in spelling.readings:
            if reading.target == target:
                places = list(reading.places)
                values = llm.log_probabilities(logits, [0] * len(places), places, list(reading.ids))
                scores[reading.rule, target] = np.asarray(values, float)
    return scores


def _cut(values, of_prompts: Sequence[Sequence[Reading]]) -> list[Scores]:
    """Give what was read, one number after the other, back to the readings that it is of."""
    values, at, scores = np.asarray(values, float), 0, []
    for readings in of_prompts:
        of_prompt = {}
        for reading in readings:
            of_prompt[reading.rule, reading.target] = values[at : at + len(reading.ids)]
            at += len(reading.ids)
        scores.append(of_prompt)
    return scores


@dataclass
class AtATime:
    """How many go into one pass: half as many from when memory was out."""

    n: int

    def each(self, do: Callable[[list], list], items: list) -> list:
        """Return what is made of the items, as many at a time as fit into memory."""
        made, n_done = [], 0
        while n_done < len(items):
            try:
                made += do(items[n_done : n_done + self.n])
            except OutOfMemory:
                if self.n == 1:
                    raise
                self.n = -(-self.n // 2)
            else:
                n_done += self.n
        return made


def refuse_infinite(values: np.ndarray, target: int) -> None:
    """Raise where one of a target's log-probabilities is none."""
    if not np.isfinite(values).all():
        raise NotFinite(f'no finite log-probability of "{spelled(target)}"')


WAYS = {"tree": by_tree, "cache": by_cache, "one_by_one": one_by_one}


def right_way(llm: LocalLlm, spelling: Spelling) -> str:
    """Return the name of the fastest way that scores targets after a prompt as one text at a time does.

    What an architecture refuses is as little of a way as what it gets wrong, so any error of a faster way counts.
    """
    (truth,) = one_by_one(llm, [spelling], CHECKED)
    for (_, target), values in truth.items():
        refuse_infinite(values, target)
    tolerance = TOLERANCES[llm.dtype]
    for name in ("tree", "cache"):
        try:
            (scores,) = WAYS[name](llm, [spelling])
        except OutOfMemory:
            raise
        except Exception:
            continue
        if all(np.abs(scores[key] - values).max() <= tolerance for key, values in truth.items()):
            return name
    return "one_by_one"
