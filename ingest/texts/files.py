"""Files that people write: YAML, checked with pydantic; a mistake is one sentence with file, line and key."""

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from ingest.texts.yaml_text import line_of, read_yaml
from ingest.warehouse import UserError, own_folder, perhaps, printable

NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,99}$"
STUDY_PATTERN = r"^[a-z0-9][a-z0-9-]{0,62}$"  # of a study of people
PRODUCT_PATTERN = r"^[^|\p{C}\p{Z}]+( [^|\p{C}\p{Z}]+)*$"  # a bar stands between two of them
LLM_PATTERN = r"^[!-.0-~]+/[!-~]+$"
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
LlmId = Annotated[str, Field(pattern=LLM_PATTERN, max_length=200)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float, Field(ge=0, le=2)]
WORD = re.compile(r"[^\W\d_]+")
# What units say of time, multiples and scales, and what is nearly that and meant; other words are units of one's own.
WORDS_OF_UNITS = (
    "seconds", "minutes", "hours", "days", "weeks", "fortnights", "months", "quarters", "years", "decades", "hundreds",
    "thousand", "thousands", "million", "millions", "billions", "percent", "points", "scores", "pints", "quarts",
)  # fmt: skip
NEARLY_A_UNIT = 0.82
Checked = TypeVar("Checked")


UNKNOWN_KEY = "unknown_key"


class Part(BaseModel):
    """A part of such a file: unknown keys are errors, so that a typing mistake is not a silent default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _knows_its_keys(cls, given):
        keys = {field.alias or name: field.annotation for name, field in cls.model_fields.items()}
        if isinstance(given, dict) and (unknown := [key for key in given if isinstance(key, str) and key not in keys]):
            of_use = [key for key, kind in keys.items() if kind is not type(None)]
            raise PydanticCustomError(UNKNOWN_KEY, UNKNOWN_KEY, {"unknown": unknown, "keys": of_use})
        return given


def refuse_turned_range(vignette: "Part") -> "Part":
    """Return a vignette, refused where no answer could lie in its valid range."""
    if None not in (vignette.valid_min, vignette.valid_max) and vignette.valid_min > vignette.valid_max:
        raise ValueError("should have valid_min at or below valid_max")
    return vignette


def refuse_twice(key: str, names: list) -> None:
    """Refuse what stands twice in a list that a file has under a key."""
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{key}: {twice[0]} stands there twice")


def web_parts(url: str) -> SplitResult | None:
    """Return the parts of an address on the web; None of what is none."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        return parts if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 else None


class Mistake(ValueError):
    """What is wrong, in a sentence that begins with its key, and where below what is checked the key stands."""

    def __init__(self, message: str, *location: str | int):
        super().__init__(message)
        self.location = location


KEYS = ("api_key", "apikey", "api-key", "x-api-key", "key", "token", "authorization", "password", "secret")
NO_KEYS = "a key never stands in a study; name the environment variable that holds it in api_key_env"
IN_QUOTES = "YAML reads yes, no, on and off as true and false: write such a word in quotes"
OF_PATTERNS = {
    NAME_PATTERN: "should hold lower-case letters, digits, '.', '_' and '-' alone, and begin with a letter or digit "
    "(at most 100 characters)",
    STUDY_PATTERN: "should hold lower-case letters, digits and hyphens alone (at most 63 characters)",
    PRODUCT_PATTERN: "should be a name of characters that can be seen, without a bar",
    LLM_PATTERN: "should be an id such as vendor/name, without spaces",
    r"\S": "should not be blank",
}
OF_TYPES = {
    "missing": "this key is missing",
    "string_type": "should be words",
    "list_type": "should be a list, such as [a, b]",
    "dict_type": "should be a mapping: keys, each with its value",
    "model_type": "should be a mapping: keys, each with its value",
    "finite_number": "should be a number",
    "bool_type": "should be true or false",
    "none_required": "this key is not for such a study: leave it away",
    "greater_than": "should be more than {gt:g}",
    "greater_than_equal": "should be {ge:g} or more",
    "less_than": "should be less than {lt:g}",
    "less_than_equal": "should be {le:g} or less",
    "string_too_short": "should not be empty",
    "string_too_long": "should have at most {max_length} characters",
    "too_short": "should hold at least {min_length}, and holds {actual_length}",
    "too_long": "should hold at most {max_length}, and holds {actual_length}",
}
SAID = ("missing", "value_error", "string_too_short")  # whose sentence needs no value beside it
OF_NUMBERS = {"int": "should be a whole number", "float": "should be a number", "bool": "should be true or false"}


def plain(error: dict) -> str:
    """Say in plain words what pydantic says is wrong with one value."""
    kind, given = error["type"], error["input"]
    if kind in ("string_type", "invalid_key"):
        if isinstance(given, bool):
            return IN_QUOTES
        if isinstance(given, int | float):
            return f"{OF_TYPES['string_type']}: write {given} in quotes"
    if kind == "string_pattern_mismatch":
        pattern = error["ctx"]["pattern"]
        if pattern.startswith(r"\{"):
            return f"should hold {pattern.replace(chr(92), '')}"
        return OF_PATTERNS.get(pattern) or f"should look like `{pattern}`"
    if kind in OF_TYPES:
        return OF_TYPES[kind].format(**error.get("ctx", {}))
    if kind.partition("_")[0] in OF_NUMBERS:
        return OF_NUMBERS[kind.partition("_")[0]]
    return error["msg"].removeprefix("Value error, ").removeprefix("Input ")


def _located(error):
    """Return where the key stands that an error is about, how the key is called, and what is said of it."""
    location = tuple(part for part in error["loc"] if part != "[key]")
    if "[key]" in error["loc"]:
        location = location[:-1]
    if error["type"] == UNKNOWN_KEY:
        name = error["ctx"]["unknown"][0]
        location = (*location, name)
        return location, ".".join(map(str, location)), _unknown(name, error["ctx"]["keys"])
    key, message, within = location, plain(error), ()
    if error["type"] == "value_error":
        first, _, rest = message.partition(": ")
        within = _named_in(message)
        if location and first.isidentifier():  # what does not fit together begins with its key
            key, message = (*location, first), rest
        within = getattr(error["ctx"]["error"], "location", ()) or within
    return (*location, *within), ".".join(map(str, key)), message


def _named_in(sentence):
    """Return the keys that a sentence begins with, and the word after them, which may be the name of what is below."""
    words = sentence.split()
    n_keys = next((n for n, word in enumerate(words) if not word.endswith(":")), 0)
    return tuple(word.rstrip(":") for word in words[: n_keys + 1])


def _unknown(name, keys):
    """Say of a key that there is none like it, and which of those that there are it may stand for."""
    return f"there is no such key{perhaps(name, keys)}" + (f": {NO_KEYS}" if name.lower() in KEYS else "")


def units_meant(unit: str) -> Iterator[str]:
    """Yield which ordinary unit may be meant by each word of a unit that nearly is one and is none."""
    for word in WORD.findall(unit):
        if not {word, f"{word}s"} & {*WORDS_OF_UNITS} and (meant := perhaps(word, WORDS_OF_UNITS, NEARLY_A_UNIT)):
            yield meant


def parse_checked(text: str, path: str, expected: str, validate: Callable[[dict], Checked]) -> Checked:
    """Check the text of a file with a function that validates its content; `path` is what errors call it."""
    tree, content = read_yaml(text, path)
    if not isinstance(content, dict):
        raise UserError(f"{path}: {expected}")
    try:
        return validate(content)
    except ValueError as error:
        location, sentence = found_wrong(error)
        raise UserError(printable(f"{path}:{line_of(tree, location)}: {sentence}")) from None


def found_wrong(error: ValueError) -> tuple[tuple, str]:
    """Return where the key stands that does not do, and the sentence that says so, beginning with that key."""
    if not isinstance(error, ValidationError):
        return getattr(error, "location", ()) or _named_in(str(error)), str(error)
    first, *others = sorted(error.errors(include_url=False), key=lambda one: one["type"] != UNKNOWN_KEY)
    location, key, message = _located(first)
    given = first["input"]
    if first["type"] not in SAID and not isinstance(given, dict | list | bool) and str(given) not in message.split():
        message += ", and nothing stands there" if given is None else f", not {given!r}"
    message = f"{key}: {message}" if key else message
    n_others = len(others) + len(first.get("ctx", {}).get("unknown", [first])) - 1
    return location, message + (f" (and {n_others} more)" if n_others else "")


def by_name(shipped: Path, room: str) -> dict[str, Path]:
    """Return the YAML files that go by name: those of bais and, beside them or in their place, those of one's own."""
    rooms, found = [shipped, *([own / room] if (own := own_folder()) else ())], {}
    for path in (path for folder in rooms for path in sorted(folder.glob("*.y*ml"))):
        if (other := found.get(path.stem)) and other.parent == path.parent:
            raise UserError(f"{printable(path)} and {other.name} go by one name, {path.stem}: give one of them another")
        found[path.stem] = path
    return {name: found[name] for name in sorted(found)}


def text_of(path: Path, otherwise: str | None = None) -> str:
    """Read the text of a file, which has to be UTF-8; `otherwise` is said where there is no such file."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeError:
        raise UserError(f"{printable(path)} cannot be read: it is not UTF-8; save it as UTF-8") from None
    except OSError as error:
        if otherwise and isinstance(error, FileNotFoundError):
            raise UserError(otherwise) from None
        raise UserError(f"{printable(path)} cannot be read: {error.strerror}") from None
