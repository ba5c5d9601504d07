"""Where sentences end: a text as its sentences, which put together are the text again, and as its words."""

import re

ENDS = re.compile(r"""(?:[.!?…]+["'”’»)\]]*(?=\s|$)|[。！？]+[”’」』）]*|\n[^\S\n]*(?=\n))\s*""")
# What has a dot behind it and ends no sentence: an initial, the number of a point in a list, a shortened word.
NO_END = re.compile(
    r"(?:(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|Rev|Gen|Sen|Rep|Gov|St|vs|etc|e\.g|i\.e|No|approx)|(?:^|\n)\s*\d+)\.\s+$"
)
# Where a script puts no spaces between words, each of its signs counts as one.
WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
SAYS_SOMETHING = re.compile(r"\w")


def sentences(text: str) -> list[str]:
    """Cut a text after each of its sentences, each with the space behind it; what has no word is part of its neighbour."""
    found, start = [], 0
    for end in [*(match.end() for match in ENDS.finditer(text)), len(text)]:
        part = text[start:end]
        if end < len(text) and (NO_END.search(part) or not SAYS_SOMETHING.search(part)):
            continue
        if part and found and not SAYS_SOMETHING.search(part):
            found[-1] += part
        elif part:
            found.append(part)
        start = end
    return found
