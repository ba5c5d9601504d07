"""How much of the beginning, the middle and the end of a text is in what is written of it, by TF-IDF."""

import collections
import math

import numpy as np

from ingest.paradigms.thirds import N_PARTS, thirds
from ingest.texts.sentences import weighed_words

BEGINNING, MIDDLE, END = range(N_PARTS)


class TooShort(Exception):
    """A text has too few words for a beginning, a middle and an end."""


class Coverage:
    """The parts of a text, each a document whose words weigh what they occur times log(3 / parts with the word).

    A word that is in all three parts weighs nothing: it tells none of them apart.

    References
    ----------
    Salton & Buckley (1988), Term-weighting approaches in automatic text retrieval, section 3; document C, table A5.
    """

    def __init__(self, text: str):
        cut = thirds(text)
        if cut is None:
            raise TooShort
        counted = [collections.Counter(weighed_words(part)) for part in cut.parts]
        in_parts = collections.Counter(word for counts in counted for word in counts)
        self.weights = {word: math.log(N_PARTS / n) for word, n in in_parts.items() if n < N_PARTS}
        self.vectors = [self._vector(counts) for counts in counted]

    def _vector(self, counts):
        return {word: n * self.weights[word] for word, n in counts.items() if word in self.weights}

    def of(self, written: str) -> np.ndarray:
        """Return the cosine of what is written with each part; 0 where they share no word that weighs."""
        vector = self._vector(collections.Counter(weighed_words(written)))
        return np.array([_cosine(vector, part) for part in self.vectors])

    def words(self, part: int) -> list[str]:
        """Return the words of a part that weigh something, the weightiest first."""
        vector = self.vectors[part]
        return sorted(vector, key=lambda word: (-vector[word], word))


def _cosine(one, other):
    lengths = math.hypot(*one.values()) * math.hypot(*other.values())
    return sum(weight * other.get(word, 0.0) for word, weight in one.items()) / lengths if lengths else 0.0
