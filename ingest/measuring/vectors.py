"""Directions of texts: what an instrument makes of a text, of a text too long for it, and how alike two texts are."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ingest.paradigms.thirds import LANDED

NO_WORDS, NOT_FINITE, SHORT_SOURCE = "no_words", "not_finite", "source_too_short"


class Vector(NamedTuple):
    """The direction of a text and of how many windows it is the mean, or the reason why it has none."""

    direction: np.ndarray | dict[str, float] | None = None
    n_windows: int | None = None
    reason: str | None = None


def windows(ids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """Cut the tokens of a text into windows that an LLM can read; the last one holds what is left."""
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def mean_of_windows(directions: Sequence[np.ndarray], n_tokens: Sequence[int]) -> Vector:
    """Return the mean of the directions of a text's windows, each of which counts by its tokens."""
    if not n_tokens:
        return Vector(reason=NO_WORDS)
    return of_numbers(np.average(unit(np.array(directions)), axis=0, weights=n_tokens), len(n_tokens))


def of_numbers(numbers: np.ndarray, n_windows: int | None = None) -> Vector:
    """Return what an embedding comes to; one with a number that is none, or with zeros alone, has no direction."""
    numbers = np.asarray(numbers, float)
    if not np.isfinite(numbers).all() or not numbers.any():
        return Vector(None, n_windows, NOT_FINITE)
    return Vector(unit(numbers), n_windows)


def unit(numbers: np.ndarray) -> np.ndarray:
    """Return vectors of length one; of zeros there is none."""
    with np.errstate(invalid="ignore"):
        return numbers / np.linalg.norm(numbers, axis=-1, keepdims=True)


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two directions of length one; of words that are counted, over those that both have."""
    if isinstance(one.direction, dict):
        few, many = sorted((one.direction, other.direction), key=len)
        product = sum(weight * many.get(word, 0.0) for word, weight in few.items())
    else:
        product = float(one.direction @ other.direction)
    return min(1.0, max(-1.0, product))


class Comparison:
    """What every instrument does that makes directions of texts: it compares an answer with the thirds of its text."""

    measures = LANDED

    def values(self, texts: Sequence) -> list[dict[str, dict]]:
        """Return of each text, by measure, how alike answer and third are, or the reason; of equal texts it is one."""
        distinct = list(
            dict.fromkeys(text for entry in texts if not entry.reason for text in (entry.answer, *entry.parts))
        )
        vectors = dict(zip(distinct, self.vectors(distinct), strict=True)) if distinct else {}
        return [dict(zip(LANDED, _similarities(entry, vectors), strict=True)) for entry in texts]


def _similarities(entry, vectors):
    if entry.reason:
        return [{"value": None, "reason": entry.reason, "n_windows": None}] * len(LANDED)
    answer, *parts = of_entry = [vectors[text] for text in (entry.answer, *entry.parts)]
    # one third without a direction leaves none of the three to compare
    reason = next((vector.reason for vector in of_entry if vector.reason), None)
    return [
        {"value": None if reason else cosine(answer, part), "reason": reason, "n_windows": part.n_windows}
        for part in parts
    ]
