"""The beginning, the middle and the end of a text: three parts of nearly as many words, cut where sentences end."""

import itertools
from typing import NamedTuple

from ingest.texts.sentences import WORDS, sentences

N_PARTS = 3
# What measures `from: measurement` can be called: what is landed, and what int_similarities_derived makes of it.
LANDED = ("similarity_beginning", "similarity_middle", "similarity_end")
MEASUREMENTS = (*LANDED, "coverage", "primacy_margin", "primacy", "recency")
BY_SENTENCES, BY_WORDS = "sentences", "words"


class Thirds(NamedTuple):
    """The three parts of a text, which put together are the text again, and where it was cut."""

    parts: tuple[str, str, str]
    method: str


def thirds(text: str) -> Thirds | None:
    """Cut a text at the sentence end nearest to each third of its words; below three sentences between words.

    A text of fewer than three words has no thirds.
    """
    pieces, method = sentences(text), BY_SENTENCES
    if len(pieces) < N_PARTS:
        pieces, method = _words(text), BY_WORDS
    if len(pieces) < N_PARTS:
        return None
    ends = list(itertools.accumulate(len(WORDS.findall(piece)) for piece in pieces))
    first, second = _cuts(ends)
    parts = pieces[: first + 1], pieces[first + 1 : second + 1], pieces[second + 1 :]
    return Thirds(tuple("".join(part) for part in parts), method)


def _words(text):
    """Cut a text before each word but the first."""
    starts = [word.start() for word in WORDS.finditer(text)]
    return [text[start:end] for start, end in itertools.pairwise([0, *starts[1:], len(text)])] if starts else []


def _cuts(ends):
    """Return after which two pieces the ends come nearest to the thirds of all words; of two as near, the earlier."""
    inside = range(len(ends) - 1)
    aims = [ends[-1] * part / N_PARTS for part in range(1, N_PARTS)]

    def miss(cuts):
        return sum(abs(ends[cut] - aim) for cut, aim in zip(cuts, aims, strict=True))

    nearest = tuple(min(inside, key=lambda cut: abs(ends[cut] - aim)) for aim in aims)
    if nearest[0] < nearest[1]:
        return nearest
    same = nearest[0]  # one of the two is there all the same, and the other beside it
    return min((pair for pair in ((same - 1, same), (same, same + 1)) if pair[0] >= 0 and pair[1] in inside), key=miss)
