"""Files that people write: YAML, checked with pydantic; a mistake is one sentence with file, line and key."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ingest.warehouse import UserError, printable
from ingest.yaml_text import line_of, read_yaml

NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,99}$"
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
LlmId = Annotated[str, Field(pattern=r"^[!-.0-~]+/[!-~]+$", max_length=200)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float, Field(ge=0, le=2)]
Checked = TypeVar("Checked")


class Part(BaseModel):
    """A part of such a file: unknown keys are errors, so that a typing mistake is not a silent default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


KEYS = ("api_key", "apikey", "api-key", "x-api-key", "key", "token", "authorization", "password", "secret")
NO_KEYS = "a key never stands in a study; name the environment variable that holds it in api_key_env"


def parse_checked(text: str, path: str, expected: str, validate: Callable[[dict], Checked]) -> Checked:
    """Check the text of a file with a function that validates its content; `path` is what errors call it."""
    tree, content = read_yaml(text, path)
    if not isinstance(content, dict):
        raise UserError(f"{path}: {expected}")
    try:
        return validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        location = tuple(part for part in first["loc"] if part != "[key]")
        key = ".".join(map(str, location))
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        message = first["msg"].removeprefix("Value error, ")
        if not location:  # what does not fit together begins with its key
            location = (message.partition(":")[0],)
        if first["type"] == "extra_forbidden":
            message = "there is no such key" + (f": {NO_KEYS}" if str(location[-1]).lower() in KEYS else "")
        is_said = first["type"] in ("missing", "value_error", "extra_forbidden")
        shown = "" if is_said or isinstance(first["input"], dict | list) else f", not {first['input']!r}"
        raise UserError(
            printable(f"{path}:{line_of(tree, location)}: {key + ': ' if key else ''}{message}{shown}{more}")
        ) from None
    except ValueError as error:  # it begins with its key
        line = line_of(tree, (str(error).partition(":")[0],))
        raise UserError(printable(f"{path}:{line}: {error}")) from None
