"""TF-IDF: how many words two texts share, and how rare these are in the texts of the study; needs nothing installed."""

import collections
import hashlib
import math
from collections.abc import Iterable, Sequence

from ingest.measuring.vectors import NO_WORDS, Comparison, Vector
from ingest.texts.sentences import weighed_words

FORMULA = "count * (ln((1 + documents) / (1 + documents with the word)) + 1)"


class TfIdf(Comparison):
    """The instrument `tfidf`: other documents make another version of it, whose values compare with none of this one.

    Parameters
    ----------
    documents : iterable of str
        The texts of the study's items, read once.
    """

    name = "tfidf"
    n_at_a_time = 2_000  # answers that are landed together, which takes longer than to measure them

    def __init__(self, documents: Iterable[str]):
        self._n_with, self._n, hashes = collections.Counter(), 0, []
        for text in documents:
            self._n += 1
            self._n_with.update(set(weighed_words(text)))
            hashes.append(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())
        self.version = hashlib.sha256("\n".join([FORMULA, *sorted(hashes)]).encode()).hexdigest()

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        """Return the direction of each text."""
        return [self._vector(text) for text in texts]

    def _vector(self, text):
        counts = collections.Counter(weighed_words(text))
        if not counts:
            return Vector(reason=NO_WORDS)
        weights = {
            word: n * (math.log((1 + self._n) / (1 + self._n_with[word])) + 1) for word, n in sorted(counts.items())
        }
        length = math.hypot(*weights.values())
        return Vector({word: weight / length for word, weight in weights.items()})
