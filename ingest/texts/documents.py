"""Records of JSON in documents: the elements of a list, or the one object that a document is, each as a line."""

import json
from collections.abc import Iterator
from pathlib import Path

from ingest.texts.lines import Block, blocks_of, read_blocks, repeated_keys


def read_records(path: Path, file: int, block_bytes: int) -> Iterator[Block]:
    """Yield the records in a file of JSON, which is a document or one object a line."""
    reader = read_documents if path.suffix.lower() == ".json" else read_blocks
    yield from reader(path, file, block_bytes)


def read_documents(path: Path, file: int, block_bytes: int) -> Iterator[Block]:
    """Yield the records in a file, to be called `file`; an OSError says why it cannot be read.

    A file that is one object a line is read as such.
    """
    text = _text_of(path)
    try:
        document = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            reason = f"not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
            raise OSError(0, reason) from None
        lines = text.splitlines()
    except (RecursionError, ValueError) as error:
        raise OSError(0, f"not readable JSON: {error}") from None
    else:
        lines = map(_compact, document if isinstance(document, list) else [document])
    yield from blocks_of(lines, file, block_bytes)


def _text_of(path):
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OSError(0, f"not UTF-8 at byte {error.start}") from None


def _compact(record):
    return json.dumps(record, ensure_ascii=False)


def _once(pairs):
    if twice := repeated_keys(pairs):
        raise ValueError(f"a key is there twice: {', '.join(twice)[:200]}")
    return dict(pairs)
