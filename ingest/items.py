"""Items: texts or cases that are put into vignettes, from a file or written out; read once, and never asked twice."""

import json
import random
from pathlib import Path
from typing import Annotated, NamedTuple

import pyarrow as pa
from pydantic import Field, PrivateAttr, ValidationInfo, model_validator

from ingest.files import Part
from ingest.prompts import text_hash
from ingest.warehouse import in_memory, printable, quoted

READERS = {
    ".csv": "read_csv({path}, header = true, all_varchar = true)",
    ".jsonl": "read_json({path}, format = 'newline_delimited')",
    ".parquet": "read_parquet({path})",
}
# What an item says of itself beside its fields, in the columns of raw.items.
SAID = ("pair", "is_true", "correct", "published_at", "rating")
TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


class Item(NamedTuple):
    """A text or case: its id, what its braces are filled with, and what it says of itself."""

    item: str
    fields: dict[str, str]
    said: dict[str, object]

    def record(self) -> dict:
        """Return what is written down of it."""
        fields = json.dumps(self.fields, ensure_ascii=False, sort_keys=True)
        return {"item": self.item, "fields": self.fields, "text_hash": text_hash(fields), **self.said}


class Items(Part):
    """Where items come from, and which columns say what of them."""

    file: str | None = None
    rows: list[dict] | None = Field(None, min_length=1, exclude=True)
    id: str = "item"
    fields: list[str] | None = Field(None, min_length=1)
    pair: str | None = None
    is_true: str | None = None
    correct: str | None = None
    published_at: str | None = None
    rating: str | None = None
    source: str | None = None
    licence: str | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    sample_seed: int | None = None
    _read: tuple[Item, ...] = PrivateAttr(())

    @model_validator(mode="after")
    def _can_be_read(self, info: ValidationInfo):
        if (self.file is None) == (self.rows is None):
            raise ValueError("should hold one of file and rows")
        if self.sample_seed is not None and self.limit is None:
            raise ValueError("sample_seed draws as many as limit says, and there is no limit")
        self._read = tuple(self._items((info.context or {}).get("folder")))
        return self

    @property
    def read(self) -> tuple[Item, ...]:
        """The items themselves."""
        return self._read

    def _items(self, folder):
        rows = self.rows if self.file is None else self._rows_of_file(folder)
        columns = {column: None for row in rows for column in row}
        named = {"id": self.id, **{key: getattr(self, key) for key in SAID}}
        for key, column in named.items():
            if column is not None and column not in columns:
                raise ValueError(f"{key} says {column}, and the items have no such column")
        fields = self.fields or [column for column in columns if column != self.id]
        if unknown := [field for field in fields if field not in columns]:
            raise ValueError(f"fields says {unknown[0]}, and the items have no such column")
        ids = [_text(row.get(self.id)) for row in rows]
        if None in ids or "" in ids:
            raise ValueError(f"item {ids.index(None if None in ids else '') + 1} has no {self.id}")
        if len(set(ids)) < len(ids):
            known = set()
            twice = next(item for item in ids if item in known or known.add(item))
            raise ValueError(f"item {twice} stands there twice")
        chosen = range(len(ids))
        if self.limit is not None and self.limit < len(ids):
            if self.sample_seed is None:
                chosen = range(self.limit)
            else:
                drawn = random.Random(self.sample_seed).sample(sorted(chosen, key=ids.__getitem__), self.limit)
                chosen = sorted(drawn)
        for place in chosen:
            row = rows[place]
            texts = {field: text for field in fields if (text := _text(row.get(field))) is not None}
            yield Item(ids[place], texts, self._said_of(row, ids[place]))

    def _said_of(self, row, item):
        said = {key: _text(row.get(getattr(self, key))) for key in SAID if getattr(self, key) is not None}
        if (is_true := said.get("is_true")) is not None:
            if is_true.lower() not in TRUTHS:
                raise ValueError(f"is_true: item {item} says {is_true}, and not true or false")
            said["is_true"] = TRUTHS[is_true.lower()]
        return said | {"source": self.source, "licence": self.licence}

    def _rows_of_file(self, folder):
        import duckdb

        path = Path(folder or ".") / self.file
        reader = READERS.get(path.suffix.lower())
        if reader is None:
            raise ValueError(f"file: {self.file} should end in {', '.join(READERS)}")
        if not path.is_file():
            raise ValueError(f"file: there is no file {self.file} beside this one")
        try:
            with in_memory(memory_limit="512MB", threads=1) as memory:
                return memory.sql(f"from {reader.format(path=quoted(path))}").to_arrow_table().to_pylist()
        except (duckdb.Error, pa.ArrowException) as error:
            raise ValueError(f"file: {self.file} cannot be read: {printable(str(error).splitlines()[0])}") from None


def _text(value):
    """Write a value of a column as text; None stays None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else repr(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
