"""Seeds as they count here: those of bais and, in a folder of one's own, its rows beside them or in their place."""

import csv
import functools
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from ingest.texts.csv_text import CsvRow, read_csv
from ingest.warehouse import MOST_NAMED, ROOT, WORK, UserError, own_folder, perhaps, printable, quoted, some

SHIPPED = ROOT / "seeds"
DECLARED = "_seeds.yml"
OF_BAIS = ("flag_reasons", "quantities")  # whose rows belong to checks of the gate and to models
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
# What a value of a type should be, and what reads it or raises a ValueError.
KINDS = {
    "boolean": ("true or false", lambda text: ("false", "true").index(text.lower())),
    "bigint": ("a whole number", lambda text: int(_number(text))),
    "integer": ("a whole number", lambda text: int(_number(text))),
    "double": ("a number", lambda text: float(_number(text))),
    "date": ("a day, such as 2026-03-01", date.fromisoformat),
}


@dataclass(frozen=True)
class Seed:
    """What `_seeds.yml` declares of a seed; `types` are in the order of its file."""

    name: str
    types: dict[str, str]
    key: tuple[str, ...]
    filled: tuple[str, ...]
    one_of: dict[str, list[str]]
    within: dict[str, dict[str, float]]
    refers: dict[str, tuple[str, str]]  # each column of which the values are those of a column of another seed

    def key_of(self, row: dict) -> tuple:
        """Return what tells a row from the others of the seed."""
        return tuple(row[column] or "" for column in self.key)


@dataclass(frozen=True)
class Merged:
    """The rows of a seed as they count, by key, and which keys one's own file adds, and which it replaces."""

    rows: dict[tuple, dict]
    added: list[tuple]
    replaced: list[tuple]


@functools.cache
def seeds() -> dict[str, Seed]:
    """Return the seeds by name, as they are declared."""
    import yaml  # what reads the warehouse alone does without

    text = (SHIPPED / DECLARED).read_text(encoding="utf-8")
    declared = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))["seeds"]
    return {seed["name"]: _seed(seed) for seed in declared}


def _seed(declared):
    name, types = declared["name"], declared["config"]["column_types"]
    with open(SHIPPED / f"{name}.csv", encoding="utf-8", newline="") as file:
        header = next(csv.reader(file))
    (of_rows,) = (test["columns_are"]["arguments"] for test in declared["data_tests"])
    refers = {
        column["name"]: test["relationships"]["arguments"]
        for column in declared.get("columns", ())
        for test in column["data_tests"]
        if "relationships" in test
    }
    return Seed(
        name,
        {column: types[column] for column in header},
        tuple(column.strip('"') for column in of_rows["unique"]),
        tuple(of_rows.get("not_null", ())),
        of_rows.get("one_of", {}),
        of_rows.get("within", {}),
        {column: (to["to"].split("'")[1], to["field"]) for column, to in refers.items()},
    )


def own_files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder of one's own that are rows of seeds, by the seed."""
    named = {name: folder / f"{name}.csv" for name in seeds() if name not in OF_BAIS}
    return {name: path for name, path in named.items() if path.is_file()}


def seeds_folder() -> Path:
    """Return the folder with all seeds as they count here; those with rows of one's own are merged anew if need be."""
    if (folder := own_folder()) is None:
        return SHIPPED
    there = folder / WORK / "seeds"
    if not (there / DECLARED).exists():
        _write_merged.cache_clear()
    _write_merged(there, tuple(_state(path) for path in own_files(folder).values()))
    return there


def seed_file(name: str) -> Path:
    """Return the file of a seed, as it counts here."""
    return seeds_folder() / f"{name}.csv"


def seed_rows(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a seed as they count here, as text; nobody changes them."""
    return _rows(*_state(seed_file(name)))


def place_of(name: str) -> str:
    """Return the file to write rows of a seed into, as messages name it."""
    return f"{name}.csv" if own_folder() and name not in OF_BAIS else f"seeds/{name}.csv"


def unknown_names(what: str, unknown: Counter, noun: str, seed: str | None) -> str:
    """Return the line that names what an import has found and no seed knows, and says what to do about it."""
    entries = unknown.most_common()
    meant = {name: _technique_meant(name) for name, _ in entries[:MOST_NAMED] if what == "techniques"}
    named = some([f"{name} ({n:,} {noun}){meant.get(name, '')}" for name, n in entries])
    to_do = (
        f"give them a known name, or add them to {seed}"
        if seed
        else "nothing is measured of their answers (docs/how-to/add-a-bias.md)"
    )
    return f"  unknown {what}, loaded under their own names: {named}; {to_do}"


def _technique_meant(name):
    """Say which technique may be meant by a name that is none."""
    known = [row["technique"] for row in seed_rows("techniques")]
    return " (perhaps no_technique)" if name.lower() in ("none", "control", "baseline") else perhaps(name, known, 0.8)


def read_seed(name: str) -> str:
    """Return the SQL that reads a seed from its file."""
    columns = seeds()[name].types
    return f"from read_csv({quoted(seed_file(name))}, auto_detect = false, header = true, columns = {columns})"


def rows_in(name: str, path: Path, called: str) -> Iterator[CsvRow]:
    """Yield the rows of a file of a seed, which has to have its columns; errors call the file so."""
    columns = [*seeds()[name].types]
    try:
        for row in read_csv(path, called, may_be_empty=True):
            if row.keys() != {*columns}:
                raise UserError(_on_columns(called, [*row], columns))
            yield row
    except ValueError as error:
        raise UserError(printable(error)) from None


def _on_columns(called, found, columns):
    """Say which columns are missing and which are none of the seed's, and what to do."""
    missing = [column for column in columns if column not in found]
    others = [printable(column) for column in found if column not in columns]
    said = [f"lacks the column {' and '.join(missing)}"] * bool(missing)
    said += [f"has the column {' and '.join(others)}, which it should not"] * bool(others)
    return f"{called}:1: the header {' and '.join(said)}: write {','.join(columns)}"


def merge(name: str, path: Path) -> Merged:
    """Return the rows of a seed with those of a file of one's own, each in the place of what has the same key."""
    seed, own, lines = seeds()[name], {}, {}
    for row in rows_in(name, path, path.name):
        where = f"{printable(path.name)}:{row.line}"
        values = {column: _checked(seed, column, (row[column] or "").strip(), where) for column in seed.types}
        key = seed.key_of(values)
        if (first := lines.setdefault(key, row.line)) != row.line:
            raise UserError(f"{where}: {key_in_words(key)} stands in line {first} already: keep one of the two lines")
        own[key] = values
    shipped = {seed.key_of(row): row for row in _rows(*_state(SHIPPED / f"{name}.csv"))}
    _refuse_other_case(path, lines, [*shipped, *own])
    return Merged(shipped | own, [key for key in own if key not in shipped], [key for key in own if key in shipped])


def _refuse_other_case(path, lines, keys):
    """Refuse a key that differs by capital letters alone from another one: the two would not be taken for one."""
    written = {}
    for key in keys:
        if (other := written.setdefault(key_in_words(key).lower(), key)) != key:
            raise UserError(
                f"{printable(path.name)}:{lines[key]}: {key_in_words(key)} is written {key_in_words(other)} elsewhere, "
                "and capital letters tell them apart: write both alike"
            )


def _number(text):
    if not NUMBER.fullmatch(text):
        raise ValueError
    return text


def key_in_words(key: tuple[str, ...]) -> str:
    """Return the key of a row as a person reads it."""
    return printable(" ".join(filter(None, key)))


def _checked(seed, column, value, where):
    """Return a value of one's own as a seed has it; what it cannot have there is refused."""
    if not value:
        if column in seed.filled or seed.key == (column,):
            raise UserError(f"{where}: {column} is empty: it has to be filled in")
        return ""
    kind = seed.types[column]
    if should_be := _expected(seed, column, kind, value):
        raise UserError(f"{where}: {column} should be {should_be}, not {printable(value)}")
    return value.lower() if kind == "boolean" else value  # a spreadsheet writes TRUE


def _expected(seed, column, kind, value):
    """Return what a value should be that is something else, or None."""
    if kind in KINDS:
        what, read = KINDS[kind]
        try:
            number = read(value)
        except ValueError:
            return what
        if (least := seed.within.get(column, {}).get("at_least")) is not None and number < least:
            return f"{least:g} or more"
    choices = seed.one_of.get(column, [value])
    return None if value in choices else " or ".join(choices)


def _refuse_strangers(name, rows, tables):
    """Refuse a row that names what another seed does not have."""
    llms = {row["llm"].lower(): row["llm"] for row in tables["llms"]}
    for llm in (row["llm"] for row in rows if "llm" in row):
        if (written := llms.get(llm.lower(), llm)) != llm:
            raise UserError(
                f"{place_of(name)}: {printable(llm)} is written {printable(written)} in {place_of('llms')}, and "
                "capital letters tell them apart: write both alike"
            )
    for column, (other, field) in seeds()[name].refers.items():
        known = {row[field] for row in tables[other]}
        if stranger := next((row[column] for row in rows if row[column] and row[column] not in known), None):
            raise UserError(
                f"{place_of(name)}: there is no {field} {printable(stranger)} in {place_of(other)}"
                f"{perhaps(stranger, known)}: add it there"
            )


def _state(path):
    """Return a file with what changes when it is written."""
    stat = path.stat()
    return path, stat.st_mtime_ns, stat.st_size


@functools.lru_cache(maxsize=64)
def _rows(path, *_):
    with open(path, encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


@functools.lru_cache(maxsize=8)
def _write_merged(there, states):
    """Write all seeds as they count in a folder of one's own; what is wrong with a row of its is refused before."""
    own = {path.stem: merge(path.stem, path).rows.values() for path, *_ in states}
    tables = {name: own.get(name) or _rows(*_state(SHIPPED / f"{name}.csv")) for name in seeds()}
    for name in tables:
        _refuse_strangers(name, tables[name], tables)
    there.mkdir(parents=True, exist_ok=True)
    for file in (DECLARED, *(f"{name}.csv" for name in tables)):
        written = there / f".{file}.{os.getpid()}"
        if Path(file).stem in own:
            with open(written, "w", encoding="utf-8", newline="") as lines:
                rows = csv.DictWriter(lines, seeds()[Path(file).stem].types, lineterminator="\n")
                rows.writeheader()
                rows.writerows(own[Path(file).stem])
        else:
            shutil.copyfile(SHIPPED / file, written)
        written.replace(there / file)
