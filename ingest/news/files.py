"""Files of news: those of NewsLensSync, and falsified texts with what people said who validated them."""

import contextlib
import csv
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from ingest.land.models import query_of
from ingest.land.raw import prepare_raw
from ingest.land.versions import Version, refuse_version
from ingest.news import articles
from ingest.news.articles import Complaint
from ingest.paradigms.items import TRUTHS
from ingest.texts.csv_text import rearmed
from ingest.texts.lines import Line, repeated_keys, walk
from ingest.texts.redaction import as_text
from ingest.warehouse import UserError, connect, in_memory, listed, printable, quoted, warehouse_path

MADE_BY = "NewsLensSync"
NO_VERSIONS = "news have no versions: what came first of an article stays, so"
QUARANTINED = 3
SAME_TEXT = "falsified_description is the description itself"
# of document C's appendix A.3; its other fields may be missing
COLUMNS = ("api_description", "url", "publishedAt")
STATED = ("article_id", "falsified_description", "made_by")
# who validated a falsified text, and whether it is a negation; others of the same text have lines of their own
VALIDATORS = (("validated_by", "is_negation"), ("validated_by_2", "is_negation_2"))


def import_news(path: Path, version: Version, archive) -> tuple[str, int]:
    """Import the articles and falsified descriptions of a file, or of the files below a folder."""
    refuse_version(version, NO_VERSIONS)
    now, descriptions = datetime.now(UTC), articles.known_descriptions()
    new, falsifications, n = {}, {}, Counter()

    def take(file, given):
        article = articles.read_article(given, file, now)
        article_id, description = article["article_id"], article["api_description"]
        if article_id in descriptions:
            n["again"] += 1
            n["amended"] += descriptions[article_id] != description
        else:
            new[article_id], descriptions[article_id] = article, description
        if text := _text_of(given, "falsified_description"):
            if text == description:
                raise Complaint(SAME_TEXT)
            row = articles.falsified(article_id, text, MADE_BY, now)
            falsifications.setdefault(row["falsification_id"], row)

    quarantined = _take_rows(path, archive, COLUMNS, take)
    _refuse_fruitless(path, new or n["again"], quarantined, archive)
    n_texts = len(falsifications.keys() - articles.known_ids("falsifications", "falsification_id"))
    articles.land_news(now, quarantined, news=new.values(), falsifications=falsifications.values())
    return _said(
        path,
        quarantined,
        f"{len(new):,} new articles, {n['again']:,} known before{said_of_amended(n['amended'])}; "
        f"{n_texts:,} new falsified texts",
    )


def import_falsifications(path: Path, version: Version, archive) -> tuple[str, int]:
    """Import falsified texts, and what people said of them, of articles that the warehouse has."""
    refuse_version(version, NO_VERSIONS)
    now, descriptions, last = datetime.now(UTC), articles.known_descriptions(), _last_verdicts()
    texts, verdicts = {}, {}

    def take(file, given):
        given |= {name: rearmed(value) for name, value in given.items() if isinstance(value, str)}
        text, opinions = _stated(given, descriptions, now)
        of_text = {(text["falsification_id"], validator): is_negation for validator, is_negation in opinions.items()}
        for key, is_negation in of_text.items():
            if verdicts.get(key, is_negation) != is_negation:
                raise Complaint(f"{key[1][:100]} says the opposite of the same text before: leave one of them")
        texts.setdefault(text["falsification_id"], text)
        verdicts.update(of_text)

    quarantined = _take_rows(path, archive, STATED, take)
    _refuse_fruitless(path, texts, quarantined, archive)
    changed = {key: is_negation for key, is_negation in verdicts.items() if last.get(key) != is_negation}
    n_texts = len(texts.keys() - articles.known_ids("falsifications", "falsification_id"))
    stated = [
        {
            "falsification_id": falsification_id, "study": articles.STUDY, "validator": validator,
            "is_negation": is_negation, "stated_at": now,
        }
        for (falsification_id, validator), is_negation in changed.items()
    ]  # fmt: skip
    articles.land_news(now, quarantined, falsifications=texts.values(), falsification_verdicts=stated)
    n_changed = len(changed.keys() & last.keys())
    return _said(
        path,
        quarantined,
        f"{len(texts):,} falsified texts, {n_texts:,} new; {len(changed) - n_changed:,} new verdicts, {n_changed:,} "
        f"changed, {len(verdicts) - len(changed):,} as before",
    )


def _take_rows(path, archive, needed, take):
    """Have each row taken, and return the lines that are none, or of which there is a complaint."""
    quarantined = []
    for entry in _rows(path, archive, needed):
        if isinstance(entry, Line):
            quarantined.append(entry)
            continue
        file, number, given = entry
        try:
            take(file, given)
        except Complaint as complaint:
            quarantined.append(articles.refused(given, complaint, file, number))
    return quarantined


def _stated(given, descriptions, now):
    """Return the falsified text of a line, and what each person said of it, or complain."""
    named = str(given.get("article_id") or "").strip()
    article_id = articles.id_of_article(articles.normal_address(named)[0]) if "/" in named else named
    if article_id not in descriptions:
        raise Complaint(f"there is no article {named[:200] or 'of no name'} in the news set: fetch or import it first")
    text, made_by = (_text_of(given, name) for name in ("falsified_description", "made_by"))
    if not text:
        raise Complaint("falsified_description is empty")
    if text == descriptions[article_id]:
        raise Complaint(SAME_TEXT)
    if not made_by:
        raise Complaint("made_by is empty: say who or what made the falsified text")
    opinions = {}
    for of_validator, of_verdict in VALIDATORS:
        validator, verdict = _text_of(given, of_validator), given.get(of_verdict)
        verdict = "" if verdict is None else str(verdict).strip()
        if not validator and not verdict:
            continue
        if not validator or verdict.lower() not in TRUTHS:
            raise Complaint(
                f"{of_validator} says who validated the text, and {of_verdict} true or false: they say "
                f"{validator[:100] or 'nobody'} and {verdict[:100] or 'nothing'}"
            )
        if validator.casefold() in map(str.casefold, opinions):
            raise Complaint(f"{validator[:100]} stands there twice: two people should validate a text")
        opinions[validator] = TRUTHS[verdict.lower()]
    return articles.falsified(article_id, text, made_by, now), opinions


def _text_of(given, name):
    """Return what a field says, or complain of one that is no text; an empty one says nothing."""
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise Complaint(f"{name} should be a text")
    return as_text(value or "", len(value or "")).strip()


def _last_verdicts():
    """Return what each person said last of each falsified text."""
    if not warehouse_path().exists():
        return {}
    prepare_raw(warehouse_path())
    with closing(connect()) as warehouse:
        rows = warehouse.execute(query_of("stg_falsification_verdicts")).fetchall()
    return {(falsification_id, validator): is_negation for falsification_id, validator, is_negation, _ in rows}


def _refuse_fruitless(path, fruit, quarantined, archive):
    if not fruit:
        such_as = f"; {quarantined[0].file}: {quarantined[0].reason}" if quarantined else ""
        of_form = f"of the format {archive.form} ({archive.expected})"
        raise UserError(f"nothing usable in {printable(path)} {of_form}{printable(such_as)}")


def _rows(path: Path, archive, needed) -> Iterator[Line | tuple[str, int, dict]]:
    """Yield file, number and fields of each row of the files of a format, or the line that is none."""
    path = Path(path).resolve()
    sizes, _, unreadable = walk(path)
    for file, why in unreadable.items():
        yield Line(printable(file.name), None, "", why)
    for file in sizes:
        if archive.has_ending(file):
            name = printable(file.name if file == path else file.relative_to(path))
            try:
                yield from _rows_of(file, name, needed)
            except UnicodeDecodeError as error:
                byte = error.object[error.start]
                yield Line(name, None, "", f"not UTF-8: byte 0x{byte:02x}; not all of the file was read")
            except OSError as error:
                yield Line(name, None, "", f"the file cannot be read: {error.strerror}")


def _rows_of(file, name, needed):
    read = READERS[file.suffix]
    for number, given, complaint in read(file):
        if complaint is None and isinstance(given, dict):
            missing = [column for column in needed if column not in given]
            complaint = f"the row has no field {missing[0]}" if missing else None
        elif complaint is None:
            complaint = "the row is no object"
        if complaint:
            # a row that has lost its shape may hold the full text of an article anywhere
            is_whole = isinstance(given, dict) and None not in given and None not in given.values()
            yield articles.refused(given if is_whole else None, complaint, name, number)
        else:
            yield name, number, given


def _csv_rows(file):
    csv.field_size_limit(sys.maxsize)
    with open(file, encoding="utf-8-sig", newline="") as stream:
        reader = csv.DictReader(stream, strict=True)
        try:
            names = reader.fieldnames or []
            if twice := [name for name in names if names.count(name) > 1]:
                yield 1, None, f"the header names the column {twice[0]} twice"
                return
            for row in reader:
                fits = None not in row and None not in row.values()
                yield reader.line_num, row, None if fits else "it has another number of values than the header"
        except csv.Error as error:
            yield reader.line_num, None, f"not CSV from here on: {error}"


def _line_rows(file):
    with open(file, encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                yield number, *_parsed(line)


def _document_rows(file):
    given, complaint = _parsed(file.read_text(encoding="utf-8-sig"))
    if complaint or not isinstance(given, list):
        yield 1, None, complaint or "the document is no list of articles"
        return
    yield from ((number, row, None) for number, row in enumerate(given, 1))


def _parquet_rows(file):
    import duckdb

    try:
        with in_memory(memory_limit="512MB", threads=1) as memory:
            rows = memory.sql(f"from read_parquet({quoted(file)})").to_arrow_table().to_pylist()
    except duckdb.Error as error:
        yield None, None, f"the file cannot be read: {str(error).splitlines()[0]}"
        return
    yield from ((number, row, None) for number, row in enumerate(rows, 1))


def _parsed(text):
    try:
        return json.loads(text, object_pairs_hook=_once_each), None
    except (ValueError, RecursionError) as error:
        return None, f"not readable JSON: {error}"


def _once_each(pairs):
    if twice := repeated_keys(pairs):
        raise ValueError(f"{twice[0]} stands there twice")
    return dict(pairs)


READERS: dict[str, Callable] = {
    ".csv": _csv_rows,
    ".jsonl": _line_rows,
    ".json": _document_rows,
    ".parquet": _parquet_rows,
}


def _said(path, quarantined, what):
    """Say what came of an import, and with which exit code."""
    lines = [f"{printable(path)}: {what}", *said_of_quarantine(quarantined)]
    return "\n".join(lines), QUARANTINED if quarantined else 0


def said_of_amended(n: int) -> str:
    """Say of how many articles the source has another description than the one that is kept."""
    return f" ({n:,} of them with another description now; the first is kept)" if n else ""


def said_of_quarantine(quarantined: list[Line]) -> Iterator[str]:
    """Say which articles were set apart, and why."""
    if quarantined:
        yield f"  quarantined: {len(quarantined):,} (table raw.quarantined_lines)"
        yield from listed(map(_said_of_line, quarantined))


def _said_of_line(line):
    address = None
    with contextlib.suppress(ValueError, AttributeError):
        address = json.loads(line.text).get("url")
    return printable(f"{line.place}: {line.reason}{f' ({address})' if address else ''}")
