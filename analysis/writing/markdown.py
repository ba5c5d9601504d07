"""A Markdown text as it is read: its signs made plain, its sections, and its sentences."""

import re
import unicodedata
from bisect import bisect_right
from itertools import pairwise

from analysis.reading.numerals import sentence_starts

SECTIONS = ("Abstract", "Methods", "Results", "Discussion", "Limitations", "Conclusion", "References")
HEADING = re.compile(r"^ {0,3}(?P<hashes>#{1,6})[ \t]+(?P<text>[^\n]*?)[ \t#]*$", re.MULTILINE)
HEADING_NUMBER = re.compile(r"^[*_]*\d{1,2}(?:\.\d{1,2})*[.):]?[*_]*\s+")
DASHES = dict.fromkeys(
    map(ord, "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"), "-"
)  # but not the em dash, which is punctuation
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")


def normalised(text):
    """Return the text with one dash, one apostrophe, plain digits and plain thousands; as many lines as before.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    text = text.replace("\r\n", "\n").replace("{,}", ",").replace("&minus;", "-").translate(DASHES)
    text = re.sub(r"(?<=10)[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda m: "^" + m[0].translate(SUPERSCRIPTS), text)
    text = re.sub(r"(?<=\d)[\u00a0\u202f\u2009_](?=\d{3}(?!\d))", ",", text)
    text = re.sub(r"(\d*)([¼½¾⅐-⅞])", lambda m: _mixed(m[1], m[2]), text)
    return text.replace("\u2019", "'").replace("\u2018", "'")


def comparable(text):
    """Return a text so that the same words are equal, whatever their case, line breaks, emphasis and quotation."""
    return re.sub(r"[\s*_\\>-]+", " ", normalised(text)).strip().lower()


def sections_of(text):
    """Return the text under the heading of each of `SECTIONS`, and where which section starts.

    Parameters
    ----------
    text : str

    Returns
    -------
    tuple
        A dict of str to str, with `Title`, and a list of positions and names.
    """
    sections, starts, level = {}, [(0, "the beginning")], 0
    for heading in HEADING.finditer(text):
        name, depth = section_name(heading), len(heading["hashes"])
        if name:
            level = depth
            starts.append((heading.start(), name))
        elif not sections.get("Title") and len(starts) == 1:
            sections["Title"] = re.sub(r"(?i)^title\b\W*", "", heading["text"]) or text[heading.end() :].strip()[:100]
            starts[0] = (0, "Title")
        elif depth <= level:
            starts.append((heading.start(), heading["text"] or "an unnamed section"))
    for (start, name), (end, _) in pairwise([*starts, (len(text), "")]):
        if name in SECTIONS:
            body = text[start:end].partition("\n")[2]
            sections[name] = sections.get(name, "") + "\n\n" + body
    return sections, starts


def missing_sections(sections):
    """Return a problem for each of the sections that is not there or empty."""
    return [f"the section {name} is missing" for name in ("Title", *SECTIONS) if not sections.get(name, "").strip()]


def section_name(heading):
    """Return which of `SECTIONS` a match of `HEADING` begins, if any."""
    words = HEADING_NUMBER.sub("", heading["text"]).strip("*_ \t").lower()
    for name in SECTIONS:
        if re.match(rf"{name.lower().removesuffix('s')}s?\b", words):
            return name
    return None


def last_before(starts, position):
    """Return what begins last at or before a position, of pairs of a position and a name in order."""
    return starts[bisect_right([start for start, _ in starts], position) - 1][1]


def sentences(text):
    """Yield the sentences of a Markdown text, each on one line."""
    for _, sentence in sentence_starts(text):
        yield " ".join(sentence.split())


def stated(pattern, sections):
    """Yield the section, the sentence and the words of each match in what is stated; Methods may define all of it.

    Parameters
    ----------
    pattern : re.Pattern
    sections : dict of str to str

    Yields
    ------
    tuple of str
    """
    for section, body in sections.items():
        if section != "Methods":
            for sentence in sentences(body):
                yield from ((section, sentence, words) for words in pattern.findall(sentence))


def _mixed(whole, fraction):
    return f"{int(whole or 0) + unicodedata.numeric(fraction):.10f}".rstrip("0")
