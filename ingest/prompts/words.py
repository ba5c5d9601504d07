"""Words in braces: their names in a template, and what is put in their place."""

import re

PLACEHOLDER = re.compile(r"\{(\w+)\}")


def fill(template: str, words: dict[str, object]) -> str:
    """Put words in the place of their names in braces, once: what is put in is not searched again."""
    return PLACEHOLDER.sub(lambda found: str(words.get(found[1], found[0])), template)


def placeholders(template: str) -> set[str]:
    """Return the names in braces."""
    return set(PLACEHOLDER.findall(template))
