"""The tokenizer of an LLM whose files are on this machine: what counts tokens as the LLM does, without its weights."""

import functools
import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from ingest.warehouse import UserError, printable

FILE = "tokenizer.json"


def hub() -> Path:
    """Return the folder that Hugging Face's programs keep what they fetched in."""
    cache = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE") or cache / "hub")


def tokenizer_file(llm: str) -> Path | None:
    """Return the tokenizer of an LLM, of the revision that was fetched last; None where it is not on this machine."""
    folder = hub() / f"models--{llm.replace('/', '--')}"
    revision = folder / "refs" / "main"
    if not revision.is_file():
        return None
    file = folder / "snapshots" / revision.read_text(encoding="utf-8").strip() / FILE
    return file if file.is_file() else None


def can_count() -> bool:
    """Tell whether the library that reads tokenizers is installed."""
    return find_spec("tokenizers") is not None


@functools.lru_cache(maxsize=8)
def load_tokenizer(file: Path):
    """Return the tokenizer of a file, which reads texts of any length whole."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing narrower
        raise UserError(f"{printable(file)} is no tokenizer that can be read: {error}") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def count_tokens(file: Path, texts: Iterable[str]) -> list[int]:
    """Return how many tokens each text has, without those that a chat puts around it."""
    return [len(encoding.ids) for encoding in load_tokenizer(file).encode_batch(list(texts), add_special_tokens=False)]
