"""Where sentences and words end: a text as its sentences, which put together are the text again, and as its words."""

import re

CLOSING = "\"'\u2019\u201d\u00bb)\\]"  # quotation marks and brackets
CLOSING_WIDE = "\u2019\u201d\u300d\u300f\uff09"
ENDS = re.compile(rf"(?:[.!?\u2026]+[{CLOSING}]*(?=\s|$)|[\u3002\uff01\uff1f]+[{CLOSING_WIDE}]*|\n[^\S\n]*(?=\n))\s*")
# What has a dot behind it and ends no sentence: an initial or a title.
NO_END = re.compile(r"(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|Rev|Gen|Sen|Rep|Gov|St|vs|e\.g|i\.e)\.\s+$")
# Where a script puts no spaces between words, each of its signs counts as one.
WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
SAYS_SOMETHING = re.compile(r"\w")
WEIGHED = re.compile(r"\w+")


def weighed_words(text: str) -> list[str]:
    """Return the words of a text that TF-IDF weighs, in small letters."""
    return WEIGHED.findall(text.casefold())


def sentences(text: str) -> list[str]:
    """Cut a text after each sentence and the space behind it; what has no word in it is part of its neighbour."""
    parts, start = [], 0
    for end in [*(match.end() for match in ENDS.finditer(text)), len(text)]:
        part = text[start:end]
        if end < len(text) and (NO_END.search(part) or not SAYS_SOMETHING.search(part)):
            continue
        if part and parts and not SAYS_SOMETHING.search(part):
            parts[-1] += part
        elif part:
            parts.append(part)
        start = end
    return parts
