"""Results of promptfoo: JSON lines (`-o results.jsonl`), or one JSON document (`-o results.json`).

Of a document each result counts as a line, and gets `evaluation`, what the document says of itself: `evalId` and
`timestamp`.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from ingest.archives import OF_VERSIONS, Archive
from ingest.texts.lines import Block, blocks_of, read_blocks, repeated_keys


class Repeated(dict):
    """An object of JSON that has a key twice, and is written with both."""

    def __init__(self, pairs):
        super().__init__(pairs)
        self.pairs = pairs

    def items(self):
        """Return all pairs."""
        return self.pairs


def _whole(pairs):
    return Repeated(pairs) if repeated_keys(pairs) else dict(pairs)


def read(path: Path, file: int, block_bytes: int) -> Iterator[Block]:
    """Yield the results in a file, each as a line."""
    if not path.name.endswith(".json"):
        yield from read_blocks(path, file, block_bytes)
        return
    try:
        document = json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=_whole)
    except json.JSONDecodeError as error:
        reason = f"not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise OSError(0, reason) from None
    except UnicodeDecodeError as error:
        raise OSError(0, f"not UTF-8 at byte {error.start}") from None
    except (RecursionError, ValueError) as error:
        raise OSError(0, f"not readable JSON: {error}") from None
    yield from blocks_of(map(json.dumps, _results(document)), file, block_bytes)


def _results(document):
    """Return the results of a document of any version, or what it is instead."""
    if isinstance(document, list):
        return document
    inner = document.get("results") if isinstance(document, dict) else None
    head = document
    if isinstance(inner, dict):
        head, inner = {**document, **inner}, inner.get("results")
    if not isinstance(inner, list):
        return [document]
    for part in (document, document.get("results")):
        if isinstance(part, Repeated):
            raise OSError(0, f"a key is there twice: {', '.join(repeated_keys(part.pairs))}")
    told = {key: head[key] for key in ("evalId", "timestamp") if isinstance(head.get(key), str)}
    if not told:
        return inner
    return [_whole([*r.items(), ("evaluation", told)]) if isinstance(r, dict) else r for r in inner]


ARCHIVE = Archive(
    name="promptfoo",
    suffix=(".jsonl", ".json"),
    mark="json_exists(line, '$.results.version') or json_exists(line, '$.promptIdx')",
    own_id="line ->> '$.id'",
    own_name="coalesce(line ->> '$.evaluation.evalId', line ->> '$.evalId')",
    mapping=Path(__file__).with_suffix(".yaml"),
    tables=("trials", "prompts", *OF_VERSIONS),
    expected="results of promptfoo, whose fields are those that the mapping names",
    read=read,
)
