"""Import a folder of recorded trials: every readable line lands, every unreadable one is kept apart and named."""

import csv
import json
import os
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from ingest.lines import read_lines, walk
from ingest.load import QUARANTINED_LINES, TRIALS, land
from ingest.warehouse import ROOT, UserError, connect, warehouse_path

FLUSH_BYTES = 16 << 20
ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)")
LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")

PREPARE = """
set TimeZone = 'UTC';
set autoinstall_known_extensions = false;
set autoload_known_extensions = false;
set enable_progress_bar = false;
create table known (trial_id varchar, is_new boolean);
create table seen (file varchar, content varchar, n bigint);
create table rejected (file varchar, line_number bigint, text varchar, reason varchar, class varchar);
"""

# `occurrence` tells equal lines of one file apart, so that none is lost and a reload adds none.
IDENTIFY = """
create or replace temp table identified as
with occurrences as (
    select
        contents.*,
        row_number() over (partition by file, content order by line_number) + coalesce(seen.n, 0) as occurrence
    from (select *, md5(line) as content from parsed where kind is not null) as contents
    left join seen using (file, content)
)

select
    occurrences.*,
    files.path_in_archive,
    sha256(concat_ws(chr(10), $study, files.path_in_archive, line, occurrence))[:32] as trial_id
from occurrences
inner join files using (file)
"""

COUNT = """
select file, kind, llm_recorded, vignette, known.is_new, count(*) as n
from identified
left join known using (trial_id)
group by all
"""

SELECT_NEW = """
select
    trial_id,
    $study as study,
    'recorded' as source,
    concat_ws('/', $study, vignette, $stamp) as batch_id,
    $archive as archive,
    path_in_archive as source_file,
    line_number as source_line,
    llm_recorded,
    llm_returned,
    vignette,
    technique,
    anchor_direction,
    case when isfinite(anchor_value) then anchor_value end as anchor_value,
    case when isfinite(temperature) then temperature end as temperature,
    replicate,
    null as status_recorded,
    case when isfinite(response_recorded) then response_recorded end as response_recorded,
    case when isfinite(first_response) then first_response end as first_response,
    iterations,
    response_text,
    prompt_hash,
    protocol,
    asked_at,
    line
from identified
where trial_id not in (select trial_id from known)
"""

REMEMBER = """
create or replace temp table next_seen as
select file, content, max(occurrence) as n
from (select file, content, occurrence from identified union all from seen)
where file = $file
group by all
"""

# A file without a single trial is skipped if it holds other data, and one entry if it holds no text at all.
PER_FILE = """
create or replace temp table per_file as
select
    file,
    any_value(reason) filter (where class = 'foreign') as looks_like,
    count(*) = count(*) filter (where class = 'undecodable') as is_binary,
    min(line_number) as first_line
from rejected
where not list_contains($with_trials, file)
group by file
"""

QUARANTINE = """
create or replace temp table quarantined as
select
    file,
    case when is_binary is not true then line_number end as line_number,
    case when is_binary then rejected.text[:200] else rejected.text end as text,
    case
        when is_binary then 'binary or not UTF-8: none of its lines can be read'
        when class = 'foreign' then 'no trial of this format: ' || reason
        else reason
    end as reason
from rejected
left join per_file using (file)
where looks_like is null and (is_binary is not true or line_number = first_line)
"""


@dataclass
class Summary:
    """What one import found and did."""

    folder: str
    n_files: int = 0
    n_bytes: int = 0
    files: Counter = field(default_factory=Counter)
    rows: Counter = field(default_factory=Counter)
    skipped: dict = field(default_factory=dict)
    quarantined: list = field(default_factory=list)
    unknown_llms: Counter = field(default_factory=Counter)
    unknown_vignettes: Counter = field(default_factory=Counter)
    n_added: int = 0
    n_already_there: int = 0
    n_duplicates: int = 0
    seconds: float = 0.0

    @property
    def exit_code(self):
        """0 if every line was read, 3 if some were quarantined."""
        return 3 if self.quarantined else 0


def import_archive(folder, archive, on_bytes=lambda n_done, n_total: None):
    """Import a folder of recorded trials into `raw`.

    Parameters
    ----------
    folder : path-like
        Looked through with all its subfolders.
    archive : ingest.archives.Archive
        The format.
    on_bytes : callable, optional
        Called with the bytes read so far and in all, for a progress bar.

    Returns
    -------
    Summary

    Raises
    ------
    UserError
        With exit code 2, if the folder is missing or holds no trial of the format, or the warehouse is in use.
        No trial is landed then.
    """
    started = time.monotonic()
    folder = Path(folder).resolve()
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder: give the folder that holds the recorded trials")
    run = _Import(folder, archive, on_bytes)
    try:
        run.prepare()
        land(run.trials(), run.quarantined_lines())
    finally:
        run.memory.close()
    run.summary.seconds = time.monotonic() - started
    return run.summary


class _Import:
    """One run over a folder. DuckDB in memory parses; the warehouse is only asked which trials it has."""

    def __init__(self, folder, archive, on_bytes):
        self.folder, self.archive, self.on_bytes = folder, archive, on_bytes
        self.summary = Summary(printable(folder))
        self.stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        self.memory = duckdb.connect()
        self.counted = set()
        self.llms = _column("llms.csv", "llm") | _column("llm_aliases.csv", "alias")
        self.vignettes = _column("vignettes.csv", "vignette", study=archive.study)

    def prepare(self):
        """Learn which trials of the study the warehouse has."""
        self.memory.execute(PREPARE)
        if not warehouse_path().exists():
            return
        warehouse = connect()
        try:
            is_there = "select 1 from duckdb_tables() where schema_name = 'raw' and table_name = 'trials'"
            if warehouse.sql(is_there).fetchall():
                ids = warehouse.sql(
                    "select trial_id from raw.trials where study = $study", params={"study": self.archive.study}
                ).to_arrow_table()
                self._with("ids", ids, "insert into known select trial_id, false from ids")
        finally:
            warehouse.close()

    def trials(self):
        """Yield Arrow tables of the trials that the warehouse does not have yet; then `summary` is complete."""
        paths, unreadable = walk(self.folder)
        self.summary.n_files = len(paths)
        for path, reason in unreadable:
            self._reject(self._name(path), reason)
        places = {
            path: printable(self.archive.path_in_archive(path))
            for path in paths
            if path.name.endswith(self.archive.suffix)
        }
        for path in paths:
            if path not in places:
                self.summary.skipped[self._name(path)] = f"not a {self.archive.suffix} file"
        columns = [[self._name(path) for path in places], list(places.values())]
        self._with(
            "places",
            pa.table([pa.array(column, pa.string()) for column in columns], names=["file", "path_in_archive"]),
            "create table files as from places",
        )
        yield from self._read(places)
        self.memory.execute(PER_FILE, {"with_trials": sorted({file for file, _ in self.counted})})
        self.memory.execute(QUARANTINE)
        for file, looks_like in self.memory.sql("select file, looks_like from per_file where looks_like is not null").fetchall():
            self.summary.skipped[file] = f"other data: {looks_like}"
        self.summary.quarantined = self.memory.sql(
            "select file, line_number, reason from quarantined order by all"
        ).fetchall()
        if not self.summary.rows:
            raise UserError(
                f"nothing usable in {self.folder}: {self.summary.n_files} files, none with trials of the format "
                f"{self.archive.name} ({self.archive.expected})"
            )

    def quarantined_lines(self):
        """Yield what could not be read, once all trials have been."""
        if self.summary.quarantined:
            yield self.memory.sql(
                "select sha256(concat_ws(chr(10), $study, file, line_number, text, reason))[:32] as quarantine_id, "
                "$study as study, file as source_file, line_number, text, reason, $at::timestamptz as quarantined_at "
                "from quarantined",
                params={"study": self.archive.study, "at": self.stamp},
            ).to_arrow_table().cast(QUARANTINED_LINES)

    def _read(self, places):
        sizes = {path: path.stat().st_size for path in places}
        n_at_place = Counter(places.values())
        self.summary.n_bytes, n_done = sum(sizes.values()), 0
        chunk, n_bytes = [], 0
        for path, place in places.items():
            name, n_lines, is_shared = self._name(path), 0, n_at_place[place] > 1
            try:
                for numbers, texts, bad in read_lines(path, FLUSH_BYTES):
                    n_lines += len(numbers) + len(bad)
                    for line in bad:
                        self._reject(name, line.reason, line.number, line.text, "undecodable")
                    chunk.append((name, numbers, texts))
                    n_bytes += min(sizes[path], FLUSH_BYTES)
                    if n_bytes >= FLUSH_BYTES or is_shared:
                        yield from self._parse(chunk, name, goes_on=sizes[path] > FLUSH_BYTES, is_shared=is_shared)
                        chunk, n_bytes = [], 0
            except OSError as error:
                self._reject(name, f"the file cannot be read: {error.strerror}")
            else:
                if not n_lines:
                    self._reject(name, "the file is empty")
            n_done += sizes[path]
            self.on_bytes(n_done, self.summary.n_bytes)
        yield from self._parse(chunk, None, goes_on=False, is_shared=False)

    def _parse(self, chunk, file, *, goes_on, is_shared):
        """Turn a chunk of lines into trials; the last of them are of `file`, which may go on in the next chunk."""
        names = [pa.repeat(name, len(numbers)) for name, numbers, _ in chunk]
        table = pa.table(
            {
                "file": pa.chunked_array(names, pa.string()),
                "line_number": pa.chunked_array([pa.array(numbers, pa.int64()) for _, numbers, _ in chunk], pa.int64()),
                "line": pa.chunked_array([pa.array(texts, pa.string()) for _, _, texts in chunk], pa.string()),
            }
        )
        self._with(
            "chunk",
            table,
            "create or replace temp table typed as select *, try(json_type(line)) as type from chunk;"
            "create or replace temp table lines as select file, line_number, line from typed where type = 'OBJECT'",
        )
        not_objects = "select file, line_number, line from typed where type is distinct from 'OBJECT'"
        for name, number, line in self.memory.sql(not_objects).fetchall():
            mended, reason = mend(line)
            if not reason and self.memory.execute("select try(json_type(?))", [mended]).fetchall() != [("OBJECT",)]:
                reason = "not readable JSON"
            if reason:
                self._reject(name, reason, number, line, "malformed")
            else:
                self.memory.execute("insert into lines values (?, ?, ?)", [name, number, mended])
        self.memory.execute(f"create or replace temp table parsed as {self.archive.read_trials}")
        self.memory.execute(
            "insert into rejected select file, line_number, line, looks_like, 'foreign' from parsed where kind is null"
        )
        self.memory.execute(IDENTIFY, {"study": self.archive.study})
        self._count()
        new = self.memory.sql(
            SELECT_NEW, params={"study": self.archive.study, "archive": self.archive.name, "stamp": self.stamp}
        ).to_arrow_table()
        if is_shared:
            self.memory.execute("insert into known select trial_id, true from identified where file = ?", [file])
        self.memory.execute(REMEMBER, {"file": file if goes_on else None})
        self.memory.execute("create or replace table seen as from next_seen")
        if new.num_rows:
            self.summary.n_added += new.num_rows
            yield new.select(TRIALS.names).cast(TRIALS)

    def _count(self):
        summary = self.summary
        for file, kind, llm, vignette, is_new, n in self.memory.sql(COUNT).fetchall():
            summary.rows[kind] += n
            summary.files[kind] += (file, kind) not in self.counted
            self.counted.add((file, kind))
            if llm not in self.llms:
                summary.unknown_llms[printable(llm)] += n
            if vignette not in self.vignettes:
                summary.unknown_vignettes[printable(vignette)] += n
            if is_new is not None:
                summary.n_duplicates += n if is_new else 0
                summary.n_already_there += 0 if is_new else n

    def _reject(self, name, reason, number=None, text="", kind="file"):
        self.memory.execute("insert into rejected values (?, ?, ?, ?, ?)", [name, number, text, reason, kind])

    def _with(self, name, table, sql):
        self.memory.register(name, table)
        self.memory.execute(sql)
        self.memory.unregister(name)

    def _name(self, path):
        return printable(path.relative_to(self.folder))


def mend(line):
    """Make a line that DuckDB cannot read as a JSON object readable, or say why that is impossible.

    Text that was cut within a character holds half of a surrogate pair (``\\ud83d``): legal for many writers of JSON,
    not for DuckDB. Such halves become U+FFFD.

    Parameters
    ----------
    line : str

    Returns
    -------
    mended : str or None
    reason : str or None
        Exactly one of the two.
    """
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        is_cut_off = error.pos >= len(line) or error.msg.startswith("Unterminated string")
        kind = "cut off" if is_cut_off else "not valid JSON"
        return None, f"{kind}: {error.msg} at column {error.colno}"
    except (RecursionError, ValueError) as error:
        return None, f"not readable JSON: {error}"
    if not isinstance(value, dict):
        return None, f"not a JSON object but a {type(value).__name__}"
    return ESCAPE.sub(lambda m: "\\ufffd" if LONE_SURROGATE.fullmatch(m[0]) else m[0], line), None


def printable(value):
    """Return text or a path with everything that could act on a terminal, or is not UTF-8, escaped."""
    text = os.fsencode(value).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _column(seed, column, **where):
    with open(ROOT / "seeds" / seed, encoding="utf-8", newline="") as file:
        return {row[column] for row in csv.DictReader(file) if all(row[key] == value for key, value in where.items())}
