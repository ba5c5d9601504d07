"""Words in braces: their names in a template, and what is put in their place."""

import re
from collections.abc import Iterator

PLACEHOLDER = re.compile(r"\{(\w+)\}")
# What is no placeholder and may have been meant as one: a brace with no other to close it, or a name with a brace that
# is open, closed or has spaces beside it.
NEVER_CLOSED = re.compile(r"\{\w+(?=[^{}]*(?:\{|$))")
HALF = re.compile(r"\{\s*(\w+)\s*\}?|(?<!\w)(\w+)\}")
BLANK = re.compile(r"\{\s*\}")  # names nothing, and is asked as it stands


def fill(template: str, words: dict[str, object]) -> str:
    """Put words in the place of their names in braces, once: what is put in is not searched again."""
    return PLACEHOLDER.sub(lambda match: str(words.get(match[1], match[0])), template)


def placeholders(template: str) -> set[str]:
    """Return the names in braces."""
    return set(PLACEHOLDER.findall(template))


def half_a_name(template: str, words: set[str]) -> str | None:
    """Say what is wrong with the first brace that is not closed, or that stands beside one of the words otherwise."""
    rest = PLACEHOLDER.sub("", template)
    beside_words = (match for match in HALF.finditer(rest) if {*match.groups()} & words)
    half = NEVER_CLOSED.search(rest) or next(beside_words, None)
    return half and f"`{half[0].strip()}`, which is half a name in braces: write both braces, and no spaces within"


def texts_in(content: object) -> Iterator[str]:
    """Yield a text, or every text within what is given."""
    if isinstance(content, str):
        yield content
    for part in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        yield from texts_in(part)
