"""Take keys out of what endpoints say; what is our own is never passed through here.

A key is found as it is, escaped, spelled letter by letter, and in percent, hex, base64 and base64url; in no other code.
"""

import base64
import re
from collections.abc import Iterable, Iterator

KEY = "[key]"
LONG = 12  # characters; a shorter key may well be a word, as `none` and `ollama` are
MOST_OF_A_WORD = 500  # characters that are kept of what is no answer
MOST_TOKENS = 20_000  # with log-probabilities
MOST_AT_ONCE = 100_000  # so many more are looked at, since half a key at the end would not be known
BEARER = re.compile(r"\bbearer\s+(?!\[key\])[^\s\"'<>]+", re.IGNORECASE)
# what vendors' keys look like, in DuckDB's and in Python's expressions: nobody tells an import which keys there are
LIKE_A_KEY = (
    r"\b(sk-[A-Za-z0-9_-]{20,}|AIza[0-9A-Za-z_-]{35}|gsk_[A-Za-z0-9]{40,}|hf_[A-Za-z0-9]{30,}|gh[pousr]_[A-Za-z0-9]{36}"
    r"|AKIA[0-9A-Z]{16}|[Bb]earer\s+[A-Za-z0-9._~+/-]{20,})"
)
# a short key is whole where a word begins, also one after an escape such as \n, \u003d or %3D, and where a word ends
BEGINS = r"(?:(?<![\w-])|(?<=\\[bfnrt])|(?<=\\u[0-9a-fA-F]{4})|(?<=%[0-9a-fA-F]{2}))"
ENDS = r"(?![\w-])"
# between the letters of a key that is spelled, and between the codes or the lines of one that is encoded
BETWEEN = r"(?:(?!{next})(?:\\[nrt]|0x|[\W_]|(?<=[\\#;])x|(?<=\\)u00)){{0,10}}+"
BASE64 = {"+": r"(?:\+|-|%2[bB])", "/": r"(?:/|_|%2[fF])"}  # of base64url too, and in an address
NAMED = {"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;", "'": "&apos;"}


class Redaction:
    """What takes certain keys out of texts."""

    def __init__(self, keys: Iterable[str | None]):
        keys = sorted({key for key in keys if key}, key=len, reverse=True)
        self.long = [
            re.compile(form) for key in keys if len(key) >= LONG for form in (_in_any_form(key), *_in_other_coats(key))
        ]
        self.short = [re.compile(f"{BEGINS}{_in_any_form(key)}{ENDS}") for key in keys if len(key) < LONG]

    def of_answer(self, text: str | None, most: int = MOST_OF_A_WORD) -> str | None:
        """Return the beginning of what an LLM says without keys, unless they are so short that they may be words."""
        return text if text is None else as_text(self._without(self.long, text[: most + MOST_AT_ONCE]), most)

    def of_error(self, text: str | None) -> str | None:
        """Return the beginning of an error or a header without any key, and without whatever follows `Bearer`."""
        if text is None:
            return None
        text = self._without([*self.long, *self.short], text[:MOST_AT_ONCE])
        return as_text(BEARER.sub(f"Bearer {KEY}", text), MOST_OF_A_WORD)

    def of_tokens(self, logprobs: dict | None) -> dict | None:
        """Return the log-probabilities of an answer without keys, also where one is spread over several tokens."""
        if logprobs is None:
            return None
        entries = logprobs["content"][:MOST_TOKENS]
        text = "".join(entry["token"] or "" for entry in entries)
        hidden = {at for key in self.long for match in key.finditer(text) for at in range(*match.span())}
        cleaned, at = [], 0
        for entry in entries:
            start, at = at, at + len(entry["token"] or "")
            is_hidden = not hidden.isdisjoint(range(start, at))
            tokens = [entry, *entry.get("top_logprobs", ())]
            first, *top = [one | {"token": KEY if is_hidden else self.of_answer(one["token"])} for one in tokens]
            cleaned.append(first | {"top_logprobs": top} if "top_logprobs" in entry else first)
        return {"content": cleaned}

    def _without(self, keys, text):
        if keys is self.long and len(text) < LONG:  # as most tokens are
            return text
        for key in keys:
            text = key.sub(KEY, text)
        return text


def as_text(text: str, most: int) -> str:
    """Return the beginning of a text, with what is no Unicode text replaced."""
    if not text.isascii() or "\0" in text:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")
    return text[:most]


def _in_any_form(key):
    """Return a pattern of a key as it is and as JSON, Python, HTML and addresses escape it, once or several times."""
    runs = [run[0] for run in re.finditer(r"\\+|[^\\]", key)]
    first = _part(runs[0], "", r"\\")  # what escapes it stays: to begin at each of many backslashes would take long
    return (r"(?<!\\)" if key.startswith("\\") else "") + first + "".join(_part(run) for run in runs[1:])


def _part(run, may_precede=r"\\*+", precedes_u=r"\\++"):
    character, n, code = run[0], len(run), ord(run[0])
    if character.isalnum():
        return character
    plain = rf"\\{{{n},}}+" if character == "\\" else may_precede + re.escape(character)
    named = f"|{NAMED[character]}" if character in NAMED else ""
    coded = rf"(?i:{precedes_u}u00{code:02x}|%(?:25)*{code:02x}|&#0*{code};|&#x0*{code:x};{named})"
    return rf"(?:{plain}|{coded}{{{n}}})"


def _in_other_coats(key: str) -> Iterator[str]:
    """Yield patterns of a key that is spelled, in codes of its letters, in hex, and in base64 at each alignment."""
    yield _spelled([_coded(character) for character in key])
    data = key.encode()
    yield _spelled([f"{_either(f'{byte >> 4:x}')}{_either(f'{byte & 15:x}')}" for byte in data])
    for n_before in range(3):
        encoded = base64.b64encode(bytes(n_before) + data).decode().rstrip("=")
        # the first and the last character may be of what stands beside the key too
        first, last = -(-8 * n_before // 6), 8 * (n_before + len(data)) // 6
        own = [BASE64.get(character, character) for character in encoded[first:last]]
        yield _spelled(own) + ("[A-Za-z0-9+/_-]?" if last < len(encoded) else "") + "(?:=|%3[dD]){0,2}"


def _spelled(parts):
    return parts[0] + "".join(BETWEEN.format(next=part) + part for part in parts[1:])


def _coded(character):
    """Return a pattern of a character as it is or in a code."""
    code = ord(character)
    hexadecimal = "".join(map(_either, f"{code:02x}"))
    named = f"|{NAMED[character]}" if character in NAMED else ""
    return (
        rf"(?:{re.escape(character)}|%(?:25)*{hexadecimal}|&#0*{code};|&#[xX]0*{hexadecimal};"
        rf"|\\[uU]00{hexadecimal}|\\[xX]{hexadecimal}{named})"
    )


def _either(digit):
    """Return a pattern of a hexadecimal digit in either case."""
    return f"[{digit}{digit.upper()}]" if digit.isalpha() else digit
