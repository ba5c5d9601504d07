"""Items: texts or cases that are put into vignettes, from a file or written out; read once, and never asked twice."""

import contextlib
import hashlib
import json
import math
import random
import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import pyarrow as pa
from pydantic import Field, PrivateAttr, ValidationInfo, model_validator

from ingest.prompts import text_hash
from ingest.prompts.steps import CHARACTERS_PER_TOKEN, tokens_of
from ingest.texts.csv_text import CsvRow, read_csv
from ingest.texts.files import Part
from ingest.warehouse import in_memory, printable, quoted

READERS = {
    ".csv": "read_csv({path}, header = true, all_varchar = true)",
    ".jsonl": "read_json({path}, format = 'newline_delimited')",
    ".json": "read_json({path}, format = 'array', maximum_object_size = 67108864)",
    ".parquet": "read_parquet({path})",
}
# What an item says of itself beside its fields, in the columns of raw.items.
SAID = ("pair", "is_true", "correct", "published_at", "rating")
OPTION_ORDER = "option_order"  # the column of an item whose own text shows the options, with their ids in order
DATE = re.compile(r"\d{4}-\d\d-\d\d")
TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def _is_date(text):
    """Tell whether a text is a date as the tables read it; 03/04/2021 could be two days."""
    with contextlib.suppress(ValueError):
        return bool(DATE.match(text) and datetime.fromisoformat(text))
    return False


class Layout(NamedTuple):
    """The columns of a published data set, and how they become those of items, as SQL."""

    reads: tuple[str, ...]
    selects: str
    says: dict[str, str]  # the columns that say what an item says of itself
    fields: tuple[str, ...] = ("text",)


FRAMING = "case when {0}::double <= 2 then 'Negative' when {0}::double >= 4 then 'Positive' else 'Neutral' end"
RATED = {"rating": "rating", "correct": "framing"}
LAYOUTS = {
    "mediasum": Layout(
        ("id", "date", "utt", "speaker"),
        """
        id as item,
        array_to_string(list_transform(list_zip(speaker, utt), lambda said: concat_ws(': ', said[1], said[2])), chr(10))
            as text,
        date::varchar as published_at
        """,
        {"published_at": "published_at"},
    ),
    "amazon_reviews_2018": Layout(
        ("reviewerID", "asin", "unixReviewTime", "reviewText", "overall"),
        f"""
        concat_ws('-', reviewerID, asin, unixReviewTime) as item, reviewText as text, overall as rating,
        {FRAMING.format("overall")} as framing
        """,
        RATED,
    ),
    "amazon_reviews_2023": Layout(
        ("user_id", "parent_asin", "timestamp", "text", "rating"),
        f"""
        concat_ws('-', user_id, parent_asin, "timestamp") as item, text, rating,
        {FRAMING.format("rating")} as framing
        """,
        RATED,
    ),
    "all_the_news": Layout(
        ("date", "title", "article", "url"),
        """
        md5(url) as item, title as statement, article as text, md5(url) as pair, true as is_true,
        date::varchar as published_at
        """,
        {"pair": "pair", "is_true": "is_true", "published_at": "published_at"},
        ("statement", "text"),
    ),
}


class Differences(NamedTuple):
    """What an item says otherwise than before: what was asked, what nobody is shown, what it says of itself."""

    fields: list[str]
    unshown: list[str]
    keys: list[str]


class Item(NamedTuple):
    """A text or case: its id, what its braces are filled with, and what it says of itself."""

    item: str
    fields: dict[str, str]
    details: dict[str, object]

    def record(self) -> dict:
        """Return what is written down of it."""
        fields = json.dumps(self.fields, ensure_ascii=False, sort_keys=True)
        return {"item": self.item, "fields": self.fields, "text_hash": text_hash(fields), **self.details}

    @property
    def option_order(self) -> tuple[str, ...]:
        """The ids of the options that its own text shows, in the order of their letters."""
        return tuple(filter(None, map(str.strip, self.fields.get(OPTION_ORDER, "").split(","))))

    def number(self, column: str) -> float | None:
        """Return the number that a column holds; None where it holds none."""
        with contextlib.suppress(ValueError):
            number = float(self.fields.get(column, ""))
            return number if math.isfinite(number) else None
        return None

    @property
    def digest(self) -> str:
        """A hash of all that it says."""
        return digest_of(self.record())

    def differences(self, before: dict, used: set[str]) -> Differences:
        """Name what an earlier record says otherwise; a used field that it does not hold may come."""
        was = before["fields"]
        fields = [field for field in sorted({*was, *self.fields}) if was.get(field) != self.fields.get(field)]
        return Differences(
            [field for field in fields if field in used and field in was],
            [field for field in fields if field not in used],
            [key for key in SAID if before.get(key) != self.details.get(key)],
        )


def digest_of(record: dict) -> str:
    """Return a hash of all that a record says of an item, whenever it was written down."""
    details = {key: record.get(key) for key in ("fields", *SAID, "source", "licence")}
    return hashlib.sha256(json.dumps(details, sort_keys=True).encode()).hexdigest()[:32]


class Stated(NamedTuple):
    """A record of an item in the spool: a hash of what it says, and the place of its line, since texts are many."""

    digest: str
    place: int


class Items(Part):
    """Where items come from, and which columns say what of them."""

    file: str | None = None
    layout: Literal["mediasum", "amazon_reviews_2018", "amazon_reviews_2023", "all_the_news"] | None = None
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
    text: str | None = None  # the column that most_tokens and longest look at
    most_tokens: Annotated[int, Field(ge=1)] | None = None
    longest: bool = False
    _read: tuple[Item, ...] = PrivateAttr(())
    _lines: dict[str, int] = PrivateAttr({})

    @model_validator(mode="after")
    def _can_be_read(self, info: ValidationInfo):
        if (self.file is None) == (self.rows is None):
            raise ValueError("should hold one of file and rows")
        if self.sample_seed is not None and self.limit is None:
            raise ValueError("sample_seed draws as many as limit says, and there is no limit")
        if self.longest and (self.limit is None or self.sample_seed is not None):
            raise ValueError("longest takes as many as limit says, and needs one and no sample_seed")
        if self.layout and self.file is None:
            raise ValueError(f"layout {self.layout} is for a file")
        if self.text is None and not self.layout and (self.longest or self.most_tokens):
            raise ValueError("text: say which column is as long as most_tokens or longest look at")
        self._read = tuple(self._items((info.context or {}).get("folder")))
        return self

    @property
    def read(self) -> tuple[Item, ...]:
        """The items themselves."""
        return self._read

    def first(self, n: int) -> "Items":
        """Return the first of these items alone."""
        some = self.model_copy()
        some._read = self._read[:n]
        return some

    def check_numbers(self, column: str, why: str, key: str = "items") -> None:
        """Refuse items of which a column holds no number, and say why it has to; the sentence begins with a key."""
        for item in self._read:
            if item.number(column) is None:
                said = item.fields.get(column)
                says = f"says {said} under" if said else "has nothing under"
                raise ValueError(
                    f"{key}: {self.where(item.item)}item {item.item} {says} {column}, which {why}: write a number there"
                )

    def where(self, item: str) -> str:
        """Return the file and line of an item, where it comes from a CSV file, for what is said of it."""
        return f"{self.file}:{self._lines[item]}: " if item in self._lines else ""

    def _items(self, folder):
        rows = self.rows if self.file is None else self._rows_of_file(folder)
        columns = {column: None for row in rows for column in row}
        layout = LAYOUTS[self.layout] if self.layout else None
        own_columns = {key: column for key in SAID if (column := getattr(self, key))}
        says = (layout.says if layout else {}) | own_columns
        named = {"id": self.id, **says, "text": self.text}
        for key, column in named.items():
            if column is not None and column not in columns:
                raise ValueError(f"{key}: the items have no column {column} (they have {', '.join(columns)})")
        rows = self._of_length(rows)
        fields = self.fields or (layout.fields if layout else [column for column in columns if column != self.id])
        if unknown := [field for field in fields if field not in columns]:
            raise ValueError(f"fields: the items have no column {unknown[0]} (they have {', '.join(columns)})")
        ids = [_write_text(row.get(self.id)) for row in rows]
        if None in ids or "" in ids:
            place = ids.index(None if None in ids else "")
            raise ValueError(f"{self._where(rows[place])}item {place + 1} has nothing in the column {self.id}")
        names = set()
        for place, item in enumerate(ids):
            if item in names:
                raise ValueError(f"{self._where(rows[place])}item {item} stands there twice")
            names.add(item)
        chosen = range(len(ids))[: self.limit]
        if self.sample_seed is not None and self.limit < len(ids):
            by_name = sorted(range(len(ids)), key=ids.__getitem__)
            chosen = sorted(random.Random(self.sample_seed).sample(by_name, self.limit))
        for place in chosen:
            row = rows[place]
            if isinstance(row, CsvRow):
                self._lines[ids[place]] = row.line
            texts = {field: text for field in fields if (text := _write_text(row.get(field))) is not None}
            yield Item(ids[place], texts, self._said_of(row, ids[place], says))

    def _of_length(self, rows):
        """Keep the rows whose text is short enough and, of these, the longest."""
        column = self.text or "text"
        if self.most_tokens:
            rows = [row for row in rows if tokens_of(_write_text(row.get(column)) or "") <= self.most_tokens]
            if not rows:
                raise ValueError(f"most_tokens: no text has {self.most_tokens} tokens or fewer")
        if not self.longest:
            return rows
        return sorted(rows, key=lambda row: (-len(_write_text(row.get(column)) or ""), _write_text(row.get(self.id))))[
            : self.limit
        ]

    def _said_of(self, row, item, says):
        details = {key: _write_text(row.get(column)) for key, column in says.items()}
        if (is_true := details.get("is_true")) is not None:
            if is_true.lower() not in TRUTHS:
                where = self._where(row) or "is_true: "
                raise ValueError(f"{where}item {item} says {is_true} of whether it is true, and not true or false")
            details["is_true"] = TRUTHS[is_true.lower()]
        if (published := details.get("published_at")) is not None and self.layout is None and not _is_date(published):
            raise ValueError(
                f"{self._where(row) or 'published_at: '}item {item} says {published} under "
                f"{says['published_at']}: write a date as year-month-day, such as 2021-04-03"
            )
        return details | {"source": self.source, "licence": self.licence}

    def _where(self, row):
        """Return where a row of a CSV file stands; nothing for one of another kind."""
        return f"file: {self.file}:{row.line}: " if isinstance(row, CsvRow) else ""

    def _rows_of_file(self, folder):
        import duckdb

        path = Path(folder or ".") / self.file
        if path.is_dir():
            return [*self._rows_of_folder(path)]
        reader = READERS.get(Path(path.name.lower().removesuffix(".gz")).suffix)
        if reader is None:
            raise ValueError(f"file: {self.file} should be a folder of .txt files, or end in {', '.join(READERS)}")
        if not path.is_file():
            raise ValueError(f"file: there is no file {self.file} beside this one")
        if "csv" in reader and not self.layout:
            return [*read_csv(path, f"file: {self.file}")]
        try:
            with in_memory(memory_limit="512MB", threads=1) as memory:
                rows = memory.sql(f"from {reader.format(path=quoted(path))}")
                if self.layout:
                    rows = self._laid_out(rows)
                return rows.to_arrow_table().to_pylist()
        except (duckdb.Error, pa.ArrowException) as error:
            raise ValueError(f"file: {self.file} cannot be read: {printable(str(error).splitlines()[0])}") from None

    def _rows_of_folder(self, folder):
        """Yield the texts of a folder: the name of each file is that of its item."""
        paths = sorted(folder.glob("*.txt"))
        if not paths:
            raise ValueError(f"file: the folder {self.file} holds no file whose name ends in .txt")
        for path in paths:
            name = f"{self.file.rstrip('/')}/{path.name}"
            try:
                yield {"item": path.stem, "text": path.read_text(encoding="utf-8-sig")}
            except UnicodeError:
                raise ValueError(f"file: {name} is not UTF-8: save the file as UTF-8") from None
            except OSError as error:
                raise ValueError(f"file: {name} cannot be read: {error.strerror}") from None

    def _laid_out(self, rows):
        """Read a published data set, of which only as much is kept as is wanted: it may be larger than the memory."""
        layout = LAYOUTS[self.layout]
        if missing := [column for column in layout.reads if column not in rows.columns]:
            raise ValueError(f"file: {self.file} has no column {missing[0]}, which the layout {self.layout} reads")
        column = self.text or "text"
        order = f"length({column}) desc, item" if self.longest else None
        if self.sample_seed is not None:
            order = f"md5(concat({self.sample_seed}, '/', item)), item"
        n_tokens = f"ceil(length({column}) / {CHARACTERS_PER_TOKEN})"
        is_short = f"{n_tokens} <= {self.most_tokens}" if self.most_tokens else "true"
        return rows.query(
            "of_file",
            f"""
            select * from (select {layout.selects} from of_file)
            where {column} is not null and {is_short}
            qualify row_number() over (partition by item order by {column}) = 1
            {f"order by {order}" if order else ""}
            {f"limit {self.limit}" if self.limit else ""}
            """,
        )


def _write_text(value):
    """Write a value of a column as text; None stays None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else repr(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
