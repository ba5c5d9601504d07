"""Import a folder of recorded trials: every readable line lands, every unreadable one is kept apart and named."""

import contextlib
import functools
import itertools
import json
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.archives import Archive
from ingest.ask.redefined import DEFINED
from ingest.bring import rows as of_rows
from ingest.bring.mapping import Given, Mapping
from ingest.bring.tables import RECORDS
from ingest.land import versions
from ingest.land.commits import commit_of
from ingest.land.families import IMPORT, freeze
from ingest.land.load import DUCKDB_SETTINGS, land, work_path
from ingest.land.raw import TABLES
from ingest.land.seeds import seeds_folder
from ingest.land.vendors import refuse_mistakes, unlisted_among
from ingest.land.versions import Version
from ingest.studies.baseline import OF_BASELINES
from ingest.studies.families import families_recorded
from ingest.texts.lines import beginning, gather, read_blocks, repeated_keys, split_blocks, walk, whole_characters
from ingest.texts.redaction import LIKE_A_KEY
from ingest.warehouse import UserError, in_memory, printable, quoted, sha256_of, warehouse_path

BLOCK_BYTES = 1 << 20
CHUNK_BYTES = 32 << 20
PLACE = [("file", pa.int64()), ("line_number", pa.int64()), ("text", pa.string())]
REJECTED = pa.schema([*PLACE, ("reason", pa.string()), ("class", pa.string())])
MENDED = pa.schema([*PLACE, ("mended", pa.string()), ("reason", pa.string())])
FILES = pa.schema(
    [
        ("file", pa.int64()), ("name", pa.string()), ("path_in_archive", pa.string()), ("is_shared", pa.bool_()),
        ("bytes", pa.int64()), ("sha256", pa.string()), ("copy_of", pa.int64()),
    ]
)  # fmt: skip
FOREIGN = pa.schema([("file", pa.int64()), ("shape", pa.string()), ("n", pa.int64())])
NOTHING_OF_IT = "the mapping makes no trial of it"
DECLARED = pa.schema(map(TABLES["batches"].schema.field, ("vignette", *DEFINED, *OF_BASELINES)))

PREPARE = """
create table seen (file bigint, trial_id varchar);
create table shared (trial_id varchar);
create table foreign_lines (file bigint, shape varchar, n bigint);
create table counts (
    file bigint, kind varchar, llm varchar, vignette varchar, technique varchar, state varchar, n bigint
);
create table found (trial_id varchar);
create table own_ids (own_id varchar, file bigint, line_number bigint);
create table last_lines (file bigint, n_lines bigint);
create table contents (vignette varchar, llm_recorded varchar, n bigint, content uhugeint);
create table own_names (source_name varchar);
create table asked (prompt_hash varchar, text varchar);
create macro batch_of(vignette, llm_recorded)
    as concat_ws('/', getvariable('study'), vignette, llm_recorded, getvariable('stamp'));
"""

MADE = ["trial_id", "study", "source", "batch_id", "archive", "source_file", "source_line"]
OF_A_LINE = [field for field in TABLES["trials"].schema if field.name not in MADE]
RECORDED = pa.schema([*OF_A_LINE, ("complaint", pa.string()), ("prompt_text", pa.string())])

# Lines with the same keys are judged together; those that are no objects, or have a key twice, are read one by one.
FIND_UNREAD = """
create or replace temp table odd as
select shape
from (
    select hash(keys) as shape, any_value(keys) as keys
    from (select try(json_keys(line, {objects})) as keys from chunk)
    group by shape
)
where keys is null or len(keys[1]) = 0 or len(list_filter(keys, lambda of: list_unique(of) < len(of))) > 0;

create or replace temp table unread as
select * from chunk
where hash(try(json_keys(line, {objects}))) in (select shape from odd)
"""

# DuckDB has the last word on what is JSON, also on what `mend` made of a line.
FIND_LINES = """
create or replace temp view lines as
select file, line_number, line from chunk anti join unread using (file, line_number)
union all
select file, line_number, mended from mended where try(json_type(mended)) = 'OBJECT';

insert into rejected
select file, line_number, text, reason, case when {is_like_a_trial} then 'repeated' else 'malformed' end
from (select *, list_transform(try(json_keys(text)), lambda key: lower(key)) as keys from mended)
where try(json_type(mended)) is distinct from 'OBJECT'
"""

# A trial is identified by its line. What a format does not record is null.
PARSE = """
create or replace temp table parsed as
select
    trials.*,
    path_in_archive,
    is_shared,
    copy_of,
    {own_id} as own_id,
    {own_name} as own_name,
    sha256(concat_ws(chr(10), getvariable('study'), path_in_archive, line, 1))[:32] as trial_id
from (
    from ({read_trials})
    union all by name
    from recorded
) as trials
inner join files using (file);

create or replace temp table no_trials as
select
    file,
    line_number,
    line[:1048576] as text,
    coalesce(complaint, looks_like)[:200] as reason,
    complaint is not null or ({is_like_a_trial}) as is_like_a_trial,
    case when complaint is not null then null{shape} end as shape
from (select *, list_transform(json_keys(line), lambda key: lower(key)) as keys from parsed where kind is null);

insert into foreign_lines select file, shape, count(*) from no_trials where shape is not null group by all;

insert into rejected
select file, line_number, text, reason, case when is_like_a_trial then 'trial' else 'foreign' end
from no_trials where shape is null;

delete from parsed where kind is null
"""

WITH_KEYS = f"""
select name, min(line_number), count(*)
from chunk inner join files using (file)
where regexp_matches(line, {quoted(LIKE_A_KEY)})
group by name
"""

# Equal lines of one file are told apart by their occurrence, so that none is lost and a reload adds none.
NUMBER_REPEATED = """
create or replace temp table repeated as
select
    file,
    line_number,
    (row_number() over (partition by file, trial_id order by line_number) + coalesce(n, 0))::bigint as occurrence
from parsed
left join (
    select file, trial_id, count(*) as n from seen semi join parsed using (file, trial_id)
    group by all
) using (file, trial_id)
qualify occurrence > 1;

-- the next chunk may hold more lines of a file; those with an id of their own are known by it
insert into seen select file, trial_id from parsed where own_id is null;

update parsed set
    trial_id = sha256(concat_ws(chr(10), getvariable('study'), path_in_archive, line, occurrence))[:32]
from repeated
where parsed.file = repeated.file and parsed.line_number = repeated.line_number
"""

# Where the files come one after the other.
FORGET_FILES = "delete from seen where file < (select max(file) from chunk)"

# Files with one path in the archive are copies of one file: the first in the folder counts. So are lines of one id, and
# files of one content where their lines have times of their own: without these, equal answers may be two answers. A
# line with the id of a trial that was collected here is that trial.
COUNT = """
create or replace temp table copies as
select file, line_number
from parsed
left join (select trial_id, min(file) as first_file from parsed where is_shared group by all) using (trial_id)
where (is_shared and (file > first_file or trial_id in (select trial_id from shared)))
    or (copy_of is not null and asked_at is not null)
    or own_id in (select own_id from own_ids union all select trial_id from collected);

insert into copies
select file, line_number from parsed anti join copies using (file, line_number)
where own_id is not null
qualify row_number() over (partition by own_id order by file, line_number) > 1;

insert into own_ids
select own_id, file, line_number from parsed anti join copies using (file, line_number)
where own_id is not null;

insert into shared select trial_id from parsed anti join copies using (file, line_number) where is_shared;

create or replace temp table there as select * from known semi join parsed using (trial_id);

insert into counts
select
    parsed.file,
    kind,
    llm_recorded,
    vignette,
    technique,
    case
        when own_id in (select trial_id from collected) then 'collected'
        when copies.file is not null then 'copy'
        when there.trial_id is not null then 'there'
        else 'new'
    end as state,
    count(*)
from parsed
left join copies using (file, line_number)
left join there using (trial_id)
group by all;

insert into last_lines select file, max(line_number) from chunk group by all;

delete from parsed using copies where parsed.file = copies.file and parsed.line_number = copies.line_number;

insert into contents
select vignette, llm_recorded, count(*), bit_xor(md5_number(trial_id)) from parsed group by all;

insert into own_names select distinct own_name from parsed where own_name is not null;

insert into asked
select prompt_hash, any_value(prompt_text) from parsed anti join asked using (prompt_hash)
where prompt_text is not null
group by all;

insert into found
select trial_id from there semi join parsed using (trial_id)
where trial_id in (select record_id from held)
"""

SELECT_TRIALS = """
select
    parsed.* exclude (is_shared, copy_of, own_name, prompt_text) replace (
        case when isfinite(anchor_value) then anchor_value end as anchor_value,
        case when isfinite(temperature) then temperature end as temperature,
        case when isfinite(response_recorded) then response_recorded end as response_recorded,
        case when isfinite(first_response) then first_response end as first_response
    ),
    getvariable('study') as study,
    'recorded' as source,
    batch_of(vignette, llm_recorded) as batch_id,
    getvariable('archive') as archive,
    path_in_archive as source_file,
    line_number as source_line,
    there.batch_id as landed_in,
    there.version_id as landed_by
from parsed
left join there using (trial_id)
where trial_id not in (select trial_id from found)
"""

SELECT_TO_LAND = "from pending semi join (select id from decided where is_to_land) using (id)"

# A file without a trial, or what looks like one, is skipped if it holds other data, and one entry if it holds no text.
JUDGE_FILES = """
insert into rejected
select file, null, '', 'the file is empty', 'file' from files
where path_in_archive is not null
    and file not in (
        select file from counts union all select file from rejected union all select file from foreign_lines
    );

create table fruitless as
select
    file,
    case
        when not bool_or(class in ('trial', 'repeated')) then min(reason) filter (where class = 'foreign')
    end as looks_like,
    bool_and(class = 'undecodable') as is_binary,
    min(line_number) as first_line
from (
    select file, line_number, reason, class from rejected
    union all
    select file, null, shape, 'foreign' from foreign_lines
)
where file not in (select file from counts)
group by file;

create table refused as
select
    name,
    line_number,
    text,
    class,
    looks_like is not null and class != 'file' as is_skipped,
    is_binary is true as is_binary,
    is_binary is true and line_number > first_line as is_said_before,
    case
        when is_binary then 'binary or not UTF-8: none of its lines can be read'
        when class not in ('foreign', 'trial') then reason
        when length(text) = 1048576 then 'no trial of this format: ' || reason || '; only its first 1 MB is kept'
        else 'no trial of this format: ' || reason
    end as reason,
    case
        when class = 'foreign' then 'other data: ' || reason else 'lines that cannot be read, among other data'
    end as skipped_as
from rejected
inner join files using (file)
left join fruitless using (file);

-- the reasons without the values that they quote
create table unread_lines as
select
    name as path,
    split_part(replace(reason, 'no trial of this format: ', ''), ': ', 1) as reason,
    nullif(count(line_number), 0) as n_lines
from refused
where not is_skipped
group by all;

create table quarantined as
select
    name,
    case when not is_binary then line_number end as line_number,
    case when is_binary then text[:200] else text end as text,
    reason,
    getvariable('mapping') is not null and class in ('trial', 'foreign') as is_row
from refused
where not is_skipped and not is_said_before
"""

SKIPPED_LINES = """
select skipped_as, count(*) from refused where is_skipped group by all
union all
select 'other data: ' || shape, sum(n)::bigint from foreign_lines group by all
"""

QUARANTINED_LINES = "select reason, sum(n_lines)::bigint from unread_lines where n_lines is not null group by reason"

# A part of a source says nothing of the files that it lacks.
KEEP_UNREAD_OF_OTHER_FILES = """
insert into unread_lines
select path, reason, n_lines from unread_before
where path not in (select name from files)
    and not exists (select 1 from files where ends_with(unread_before.path, '/' || name))
"""

IS_UNREAD_AS_BEFORE = """
select count(*) = 0 from (
    (from unread_lines except select path, reason, n_lines from unread_before)
    union all
    (select path, reason, n_lines from unread_before except from unread_lines)
)
"""

SELECT_QUARANTINED = """
select
    sha256(concat_ws(chr(10), getvariable('study'), name, line_number, text, reason))[:32] as quarantine_id,
    getvariable('study') as study,
    name as source_file,
    line_number,
    text,
    reason,
    getvariable('stamp')::timestamptz as quarantined_at
from quarantined
"""

GATHER_ALL = """
create table pending as select row_number() over (order by file, line_number) as id, * from gathered;

create table files_now as
select
    name as path,
    path_in_archive,
    bytes,
    sha256,
    copy_of,
    coalesce(n_lines, 0) as n_lines,
    coalesce(n_trials, 0)::bigint as n_trials
from files
left join (select file, max(n_lines) as n_lines from last_lines group by all) using (file)
left join (select file, sum(n) as n_trials from counts group by all) using (file)
where sha256 is not null
"""

COUNT_CHANGES = "select change, count(*) from decided where change != 'gone' or not is_as_before group by all"

COUNT_TAKEN_UP = """
select count(*) filter (is_to_publish), count(*) filter (not is_published and not is_to_publish)
from decided
where change = 'unchanged' and batch_of(vignette, llm_recorded) in (from touched)
"""

# That a trial which a version brings is a new entry goes without saying.
SAID_OF_ENTRIES = "from entries where not (change = 'new' and is_to_land)"

SELECT_BATCHES = f"""
with trials as (
    select vignette, llm as llm_recorded, sum(n)::bigint as n_trials from counts
    where state = 'new' and not getvariable('is_compared')
    group by all
    union all
    select vignette, llm_recorded, count(*) filter (change != 'gone') as n_trials from (
        select vignette, llm_recorded, change from decided where is_to_land and change = 'new'
        union all
        select vignette, llm_recorded, change from ({SAID_OF_ENTRIES})
        where batch_id = batch_of(vignette, llm_recorded)
    )
    group by all
),

named as (
    select vignette, llm_recorded, sum(n) || ' ' || bit_xor(content) as content from contents group by all
)

select
    batch_of(trials.vignette, trials.llm_recorded) as batch_id,
    getvariable('study') as study,
    'recorded' as source,
    trials.*,
    named.content,
    declared.* exclude (vignette),
    getvariable('stamp')::timestamptz as loaded_at,
    getvariable('version_id') as version_id
from trials
left join named
    on trials.vignette = named.vignette and trials.llm_recorded is not distinct from named.llm_recorded
left join declared on trials.vignette = declared.vignette
"""

# Of a copy, and of the same folder anywhere, the digest is the same.
SELECT_DIGEST = """
select sha256(string_agg(sha256 || '  ' || path_in_archive, chr(10) order by path_in_archive))
from (
    select distinct path_in_archive, sha256 from files_now
    where copy_of is null and n_trials > 0
    union all
    select 'mapping' as path_in_archive, getvariable('mapping') as sha256
    where getvariable('mapping') is not null
)
"""

# What lands beside the trials, by table of `raw`.
LANDED = {
    "quarantined_lines": SELECT_QUARANTINED,
    "prompts": "select getvariable('study') as study, prompt_hash, 'message' as prompt_kind, text from asked",
    "batches": SELECT_BATCHES,
    **versions.ROWS_OF_A_VERSION,
    "calls": "from calls",
    "version_entries": f"select * exclude (change, vignette, llm_recorded, is_to_land) from ({SAID_OF_ENTRIES})",
}

UNKNOWN = "select {column}, sum(n)::bigint from counts where {column} not in ({known}) group by 1 order by all"

KNOWN_VIGNETTES = """
select vignette from read_csv(getvariable('seeds') || '/vignettes.csv', all_varchar = true)
where study = getvariable('study')
union all
select vignette from declared
"""

KNOWN_TECHNIQUES = "select technique from read_csv(getvariable('seeds') || '/techniques.csv', all_varchar = true)"


@dataclass
class Summary:
    """What one import found and did; every name in it is fit to print."""

    folder: str
    n_files: int = 0
    files: Counter = field(default_factory=Counter)
    rows: Counter = field(default_factory=Counter)
    skipped: dict = field(default_factory=dict)
    unfinished: dict = field(default_factory=dict)
    quarantined: list = field(default_factory=list)  # file, number, whether that is of a row a mapping makes, reason
    n_lines: int = 0
    n_rows: dict = field(default_factory=dict)  # of a table, by file: its rows, and those that a mapping yields
    skipped_lines: Counter = field(default_factory=Counter)
    quarantined_lines: Counter = field(default_factory=Counter)
    unknown_llms: Counter = field(default_factory=Counter)
    unlisted_llms: list = field(default_factory=list)
    unknown_vignettes: Counter = field(default_factory=Counter)
    unknown_techniques: Counter = field(default_factory=Counter)
    unknown_paradigms: Counter = field(default_factory=Counter)
    techniques_left_out: dict = field(default_factory=dict)  # columns that may name techniques, with their values
    with_keys: dict = field(default_factory=dict)  # by file: the first row with what looks like a key, and how many
    source_name: str = ""
    label: str | None = None
    part: str | None = None
    version: str | None = None
    to_withdraw: str | None = None  # the condition that all of it meets, where nothing else does
    is_older: bool = False
    is_complete: bool = False
    is_mapped_anew: bool = False
    doubt: str | None = None
    n_new: int = 0
    n_unchanged: int = 0
    n_collected: int = 0
    n_changed: int = 0
    n_gone: int = 0
    n_back: int = 0
    n_audited_again: int = 0
    n_duplicates: int = 0
    seconds: float = 0.0

    @property
    def exit_code(self):
        """0 if every line was read, 3 if some were quarantined."""
        return 3 if self.quarantined else 0

    @property
    def n_accounted(self):
        """Of how many lines it is said what became of them: of all that were read."""
        landed = self.n_new + self.n_unchanged + self.n_changed + self.n_duplicates
        return landed + self.quarantined_lines.total() + self.skipped_lines.total()


def import_archive(
    folder: Path,
    archive: Archive,
    on_bytes: Callable[[int, int], None] = lambda n_done, n_total: None,
    version: Version | None = None,
    given: Given | None = None,
) -> Summary:
    """Import a file or folder of recorded trials into `raw`; `on_bytes` gets the bytes read so far and in all."""
    started = time.monotonic()
    refuse_mistakes()
    folder = Path(folder).resolve()
    job = _Import(folder, archive, on_bytes, version or Version(), given or Given())
    rows = {table: job.rows_of(table) for table in archive.tables}
    try:
        land(job.freeze, **rows)
    finally:
        for table_rows in rows.values():  # what is read ahead in a thread has the memory until it is closed
            table_rows.close()
        job.memory.close()
    job.summary.seconds = time.monotonic() - started
    return job.summary


class _Import:
    """One way through a folder. DuckDB in memory parses; the warehouse is only asked which trials it has."""

    def __init__(self, folder, archive, on_bytes, version, given):
        self.folder, self.archive, self.on_bytes, self.version = folder, archive, on_bytes, version
        work = work_path(warehouse_path())
        self.mapping = None if archive.select is None else Mapping(archive, folder, given, work / "source")
        self.walked = walk(folder)
        self.summary = Summary(printable(folder))
        self.version_id = uuid.uuid4().hex
        self.memory = in_memory(**DUCKDB_SETTINGS, temp_directory=str(work / "spill"))
        self._set = functools.partial(versions.set_variables, self.memory)

    def rows_of(self, table):
        """Yield Arrow tables of what lands in a table of `raw`; once the trials were read `summary` is complete."""
        if table == "trials":
            yield from ahead(self._trials())
        elif table in ("paradigms", "paradigm_contrasts"):
            yield from self._stated(table)
        elif self.summary.version or table == "quarantined_lines":
            yield from self._some(LANDED[table])

    def _trials(self):
        """Yield Arrow tables of the trials that the warehouse does not have yet."""
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        self._set(study=self.archive.study, archive=self.archive.name, version_id=self.version_id, stamp=stamp)
        self._set(seeds=str(seeds_folder()), mapping=self.mapping and self.mapping.text)
        self.memory.execute(PREPARE)
        defined = self.archive.vignettes | of_rows.vignettes_of(self.archive)
        vignettes = [{"vignette": vignette, **definition} for vignette, definition in defined.items()]
        for name, rows in {
            "declared": pa.Table.from_pylist(vignettes, DECLARED),
            "recorded": RECORDED.empty_table(),
            "files": FILES.empty_table(),
            "rejected": REJECTED.empty_table(),
        }.items():
            self.memory.from_arrow(rows).create(name)
        files = self._ours()
        chunks = self._refused(self._rows(files)) if self.mapping else self._chunks(files)
        with contextlib.closing(chunks):  # at once, also where a row is refused: a process of its own may make them
            first = next(chunks, None)  # rows of a mapping may say to which study they belong
            versions.look_back(self.memory, self.archive, warehouse_path())
            self.memory.execute("set variable is_compared = (select count(*) > 0 from versions)")
            self._list(files)
            for chunk in itertools.chain([first] if first else [], chunks):
                self.memory.register("chunk", chunk)
                yield from self._parse()
        self._conclude()
        yield from self._compare()

    def freeze(self, warehouse):
        """Freeze the families of decisions of what has landed; an older version is published no more, and has none."""
        if self.summary.is_older:
            return
        families = [family.record() for family in families_recorded(warehouse, self.archive.study)]
        stated = {"frozen_at": datetime.now(UTC), "before_first_call": False, "families": families}
        freeze(warehouse, self.archive.study, [stated], IMPORT)

    def _stated(self, table):
        """Yield what the paradigms of the trials state that bais knows, as they are now."""
        if self.summary.version:
            paradigms = [name for (name,) in self._query("select distinct kind from counts order by kind")]
            stamp = {"study": self.archive.study, "stated_at": datetime.now(UTC), "ordinal": 1}
            if rows := [stamp | row for row in of_rows.stated(self.archive, paradigms)[table]]:
                yield pa.Table.from_pylist(rows, TABLES[table].schema)

    def _some(self, query):
        rows = self.memory.sql(query).to_arrow_table()
        if rows.num_rows:
            yield rows

    def _ours(self):
        """Return the files of the format, in the order of their numbers, each with its size."""
        sizes, skipped, _ = self.walked
        self.summary.n_files = len(sizes)
        ours = {path: size for path, size in sizes.items() if path.name.lower().endswith(self.archive.suffix)}
        skipped |= {path: f"not a {self.archive.kinds} file" for path in sizes if path not in ours}
        self.summary.skipped = {self._name(path): reason for path, reason in skipped.items()}
        self.digests = [_digest(path) for path in ours]
        return ours

    def _list(self, ours):
        """List the files, with what they hold and which of them are copies."""
        unreadable = self.walked[2]
        places = [printable(self.archive.path_in_archive(path)) for path in ours]
        n_at_place = Counter(places)
        digests = self.digests
        first = self._first_of_each(places, digests)
        rows = [
            (
                number, self._name(path), place, n_at_place[place] > 1, ours[path], digest,
                first[digest] if digest and first[digest] != number else None,
            )
            for number, (path, place, digest) in enumerate(zip(ours, places, digests, strict=True))
        ]  # fmt: skip
        rows += [(len(ours) + i, self._name(path), None, False, None, None, None) for i, path in enumerate(unreadable)]
        self._insert("files", rows, FILES)
        self._reject((len(ours) + i, None, "", reason, "file") for i, reason in enumerate(unreadable.values()))

    def _first_of_each(self, places, digests):
        """Return the number of the file for each content: of copies the one known before, else the shortest name."""
        paths = {place for (place,) in self._query("select distinct path from held")}
        order = sorted(range(len(places)), key=lambda n: (places[n] not in paths, len(places[n]), places[n]))
        return {digests[number]: number for number in reversed(order)}

    def _lines(self, files):
        for blocks in gather(self._blocks(files), lambda block: len(block.data), BLOCK_BYTES):
            lines, bad, n_blank = split_blocks(blocks)
            self.summary.skipped_lines.update({"blank": n_blank} if n_blank else {})
            self._reject((line.file, line.number, line.text, line.reason, "undecodable") for line in bad)
            yield lines

    def _blocks(self, files):
        n_done, n_total = 0, sum(files.values())
        for file, path in enumerate(files):
            try:
                for block in (self.archive.read or read_blocks)(path, file, BLOCK_BYTES):
                    self.summary.n_lines += block.data.count(b"\n")
                    yield block
                    n_done += len(block.data)
                    self.on_bytes(n_done, n_total)
                if why := self.archive.unfinished(path):
                    self.summary.unfinished[self._name(path)] = printable(why)
            except OSError as error:
                self._reject([(file, None, "", f"the file cannot be read: {error.strerror}", "file")])

    def _chunks(self, files):
        """Yield the lines of files, some MB at a time."""
        for lines in gather(self._lines(files), lambda lines: lines.nbytes, CHUNK_BYTES):
            yield pa.concat_tables(lines)

    def _find_lines(self):
        """Make the view `lines`: the objects of JSON in a chunk; what is none is set apart."""
        self.memory.execute(FIND_UNREAD.format(objects=_listed(self.archive.objects)))
        self.memory.register("mended", _mend(self._query("select file, line_number, line from unread")))
        self.memory.execute(FIND_LINES.format(is_like_a_trial=self._is_like_a_trial))

    @property
    def _is_like_a_trial(self):
        """Whether `keys` tell that a line looks like a trial, as a condition of SQL."""
        return " and ".join(
            f"list_has_any(keys, {_listed(map(str.lower, fields))})"
            for fields in (self.archive.llm_fields, self.archive.answer_fields)
        )

    def _refused(self, rows):
        """Yield rows; where that ends in a sentence, it is said that nothing has landed."""
        try:
            yield from rows
        except UserError as error:
            raise UserError(f"{error}; nothing was landed") from None

    def _rows(self, files):
        """Yield what the mapping makes of files, some MB at a time; what cannot be read of them is set apart."""
        mapping, names = self.mapping, [self.archive.path_in_archive(path) for path in files]
        for path, name in zip(files, names, strict=True):
            if not name.isprintable() or name != name.encode(errors="replace").decode():
                raise UserError(f"{self._name(path)} has a name that is no text: give it another one")
        records = self._records(files, names) if self.archive.read else None
        if not records or pq.read_metadata(records).num_rows:
            mapping.take(dict(zip(files, names, strict=True)), records)
            for chunk in mapping.chunks(names, CHUNK_BYTES):
                if self.archive.read_trials is None:
                    self._begin(mapping, names)
                yield chunk
        if self.archive.read_trials is None:
            self._begin(mapping, names)
        for path, digest in zip(files, self.digests, strict=True):
            if _digest(path) != digest:
                raise UserError(f"{self._name(path)} was changed while it was read: import it again")
        self._insert(
            "declared", [tuple(row[name] for name in DECLARED.names) for row in mapping.vignettes_stated()], DECLARED
        )
        for file, name in enumerate(names):
            n_rows, n_yielded = mapping.n_rows.get(name, 0), mapping.n_yielded[name]
            self.summary.n_rows[printable(name)] = (n_rows, n_yielded)
            if n_rows and not n_yielded:
                self._insert("foreign_lines", [(file, NOTHING_OF_IT, 0)], FOREIGN)

    def _begin(self, mapping, names):
        """Prepare for the rows of a mapping, of which it is known now which columns they have."""
        read_trials = of_rows.read_trials(self.archive, mapping.names)
        self.archive = replace(self.archive, study=mapping.study, read_trials=read_trials)
        self._set(study=mapping.study)
        self.memory.execute(of_rows.PREPARE)
        paradigms = (
            of_rows.options_of_paradigms(self.archive)
            if "paradigm" in mapping.names
            else of_rows.OF_PARADIGMS.empty_table()
        )
        self.memory.from_arrow(paradigms).create("of_paradigms")
        number_of = {name: n for n, name in enumerate(names)}
        self._reject(
            (number_of[line.file], line.number, *beginning(line.text.encode(), line.reason), "malformed")
            for line in mapping.tables.rejected
        )
        ((n_apart,),) = self._query("select count(line_number) from rejected")
        self.summary.n_lines = n_apart + self.summary.skipped_lines.total()

    def _records(self, files, names):
        """Write what files of JSON hold to one file, of which a mapping reads it; what is no object is set apart."""
        path = self.mapping.scratch / "records.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(path, RECORDS) as writer:
            for chunk in self._chunks(files):
                self.memory.register("chunk", chunk)
                self._find_lines()
                lines = self.memory.sql("from lines order by file, line_number").to_arrow_table()
                places = lines["file"].combine_chunks()
                columns = [pa.array(names).take(places), lines["line_number"], lines["line"]]
                writer.write_table(pa.table(columns, schema=RECORDS))
        return path

    def _parse(self):
        """Turn a chunk of lines into trials."""
        if self.mapping:
            self.memory.execute("create or replace temp view lines as from chunk")
            for name, number, n in self._query(WITH_KEYS):
                first, n_before = self.summary.with_keys.get(printable(name), (number, 0))
                self.summary.with_keys[printable(name)] = (first, n_before + n)
        else:
            self._find_lines()
        parse = PARSE.format(
            read_trials=self.archive.read_trials,
            own_id=self.archive.own_id or "null::varchar",
            own_name=self.archive.own_name or "null::varchar",
            is_like_a_trial=self._is_like_a_trial,
            shape="".join(
                f" when list_has_all(keys, {_listed(map(str.lower, fields))}) then {quoted(name)}"
                for name, fields in self.archive.foreign.items()
            ),
        )
        for step in (parse, NUMBER_REPEATED):
            self.memory.execute(step)
        if not self.mapping:
            self.memory.execute(FORGET_FILES)
        elif "own_id" in self.mapping.names:
            for name, own_id, number in self._query(of_rows.TWICE):
                raise UserError(
                    f"{self.mapping.name} yields two trials of {printable(name)} with the own_id {printable(own_id)} "
                    f"(the second is row {number:,}): it should name one alone; nothing was landed"
                )
        self.memory.execute(COUNT)
        if self.mapping:
            self.memory.execute(of_rows.KEEP_CALLS)
        self.memory.execute(f"create table if not exists gathered as {SELECT_TRIALS} limit 0")
        gathers = "landed_in is not null or getvariable('is_compared')"
        self.memory.execute(f"insert into gathered from ({SELECT_TRIALS}) where {gathers}")
        yield from self._some(f"from ({SELECT_TRIALS}) where not ({gathers})")

    def _compare(self):
        """Hold what was read against what the source had before, and yield the trials that it did not have."""
        summary, memory = self.summary, self.memory
        memory.execute(GATHER_ALL)
        own_names = [name for (name,) in self._query("select distinct source_name from own_names order by all")]
        summary.source_name = versions.source_of(memory, self.version, own_names, self.folder)
        self._set(source_name=summary.source_name)
        summary.part = versions.part_of_before(memory, self.folder)
        self._set(is_part=summary.part is not None)
        unreadable = [name for (name,) in self._query("select name from files where sha256 is null order by name")]
        memory.execute(versions.UNREAD_BEFORE)
        if summary.part:
            memory.execute(KEEP_UNREAD_OF_OTHER_FILES)
        versions.refuse_part_as_whole(self.version, summary.part, unreadable)
        versions.match(memory, self.archive, warehouse_path())
        commit = commit_of(self.folder)
        summary.label = self.version.label or (commit and commit.label)
        summary.is_mapped_anew = versions.is_mapped_anew(memory, self.version, summary.source_name)
        summary.is_complete = (
            self.version.is_complete
            or summary.is_mapped_anew
            or (not unreadable and self._is_whole_by(commit, own_names))
        )
        self._set(is_complete=summary.is_complete)
        versions.decide(memory)
        self._sum_up()
        if self.mapping and not self._query("select 1 from known limit 1"):
            summary.to_withdraw = printable(f"study = {quoted(self.archive.study)}")
        if summary.version:
            yield from self._some(SELECT_TO_LAND)

    def _is_whole_by(self, commit, own_names):
        """Whether a commit tells that this is the whole of its source; if it does not, the summary says why."""
        version, summary = self.version, self.summary
        if not commit or version.is_older or version.gives_way or summary.part or self.folder.is_file():
            return False
        sizes, skipped, _ = self.walked
        read = {path.relative_to(self.folder).as_posix() for path in [*sizes, *skipped]}
        is_named = summary.source_name in (version.source_name, self.folder.name, *own_names)
        summary.doubt = versions.doubt_of_whole(self.memory, commit, read, self.archive.suffix, is_named)
        return summary.doubt is None

    def _sum_up(self):
        """Count what became of the entries, and decide whether this is a version of its own."""
        summary = self.summary
        streamed = dict(self._query("select state, sum(n)::bigint from counts group by state"))
        changes = Counter(dict(self._query(COUNT_CHANGES)))
        summary.n_duplicates = streamed.get("copy", 0)
        summary.n_new, summary.n_changed, summary.n_gone = changes["new"], changes["changed"], changes["gone"]
        summary.n_collected = streamed.get("collected", 0)
        summary.n_unchanged = changes["unchanged"] + changes["attached"] + summary.n_collected
        ((summary.n_back, summary.n_audited_again),) = self._query(COUNT_TAKEN_UP)
        ((is_compared, digest),) = self._query(f"select getvariable('is_compared'), ({SELECT_DIGEST})")
        if not is_compared:
            summary.n_new += streamed.get("new", 0)
        newest, digest_before = versions.newest_version(self.memory)
        ((n_said,),) = self._query("select count(*) from decided where not is_as_before")
        is_other = digest_before != digest
        summary.is_older = newest is not None and (self.version.is_older or (self.version.gives_way and is_other))
        ((is_unread_as_before,),) = self._query(IS_UNREAD_AS_BEFORE)
        is_another = newest is None or n_said or is_other or not is_unread_as_before
        if summary.is_older:
            is_another = not versions.is_kept(self.memory, digest)
        if is_another and streamed.keys() != {"collected"}:
            summary.version = self.version_id
        of_summary = ("label", "is_older", "n_new", "n_unchanged", "n_changed", "n_gone")
        self._set(digest=digest, compared_with=newest)
        self._set(**{name: getattr(summary, name) for name in of_summary})

    def _conclude(self):
        """Fill in the summary."""
        summary = self.summary
        summary.n_lines += sum(n for _, n in summary.n_rows.values())
        self.memory.execute(JUDGE_FILES)
        others = self._query(
            "select name, looks_like from fruitless join files using (file) where looks_like is not null"
        )
        summary.skipped |= {name: printable(f"other data: {looks_like}") for name, looks_like in others}
        unread = self._query("select name, line_number, is_row, reason from quarantined order by all")
        summary.quarantined = [(*place, printable(reason)) for *place, reason in unread]
        kinds = self._query("select kind, count(distinct file), sum(n)::bigint from counts group by kind")
        if not kinds:
            refusals = [*summary.skipped.items(), *((name, reason) for name, *_, reason in summary.quarantined)]
            raise self.archive.unusable(self.folder, f"{summary.n_files} files, none with trials", refusals)
        for kind, n_files, n in kinds:
            summary.files[printable(kind)] += n_files
            summary.rows[printable(kind)] += n
        for counts, query in (
            (summary.unknown_llms, UNKNOWN.format(column="llm", known=versions.KNOWN_LLMS)),
            (summary.unknown_vignettes, UNKNOWN.format(column="vignette", known=KNOWN_VIGNETTES)),
            (summary.unknown_techniques, UNKNOWN.format(column="technique", known=KNOWN_TECHNIQUES)),
            (summary.skipped_lines, SKIPPED_LINES),
            (summary.quarantined_lines, QUARANTINED_LINES),
        ):
            counts.update({printable(name): n for name, n in self._query(query)})
        if self.mapping:
            summary.techniques_left_out = {
                printable(column): [*map(printable, values)]
                for column, values in self.mapping.techniques_left_out.items()
            }
            summary.unknown_paradigms.update(of_rows.unknown_paradigms(self.archive, summary.rows))
        summary.unlisted_llms = [printable(llm) for llm in unlisted_among(self.memory, "counts")]

    def _reject(self, rejected):
        self._insert("rejected", rejected, REJECTED)

    def _insert(self, table, rows, schema):
        self.memory.from_arrow(_table(rows, schema)).insert_into(table)

    def _query(self, sql):
        return self.memory.sql(sql).fetchall()

    def _name(self, path):
        return printable(path.name if path == self.folder else path.relative_to(self.folder))


def _digest(path: Path) -> str | None:
    with contextlib.suppress(OSError):  # what cannot be read is said when its lines are
        return sha256_of(path)


def _listed(texts):
    return f"[{', '.join(map(quoted, texts))}]"


def ahead(items: Iterator) -> Iterator:
    """Make each item of a generator in a thread while the one before it is in use."""
    end = object()
    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(next, items, end)
        while (item := following.result()) is not end:
            following = thread.submit(next, items, end)
            yield item


def mend(line: str) -> tuple[str | None, str | None]:
    """Make a line that DuckDB cannot read as a JSON object readable, or say why that is impossible."""
    repeated = []

    def whole(pairs):
        repeated.extend(repeated_keys(pairs))
        return dict(pairs)

    try:
        value = json.loads(line, object_pairs_hook=whole)
    except json.JSONDecodeError as error:
        is_cut_off = error.pos >= len(line) or error.msg.startswith("Unterminated string")
        kind = "cut off" if is_cut_off else "not valid JSON"
        return None, f"{kind}: {error.msg} at column {error.colno}"
    except (RecursionError, ValueError) as error:
        return None, f"not readable JSON: {error}"
    if not isinstance(value, dict):
        return None, f"not a JSON object but a {type(value).__name__}"
    if repeated:
        return None, f"a key is there twice: {', '.join(repeated)[:200]}"
    return whole_characters(line), None


def _mend(unread):
    rows = []
    for file, number, line in unread:
        mended, reason = mend(line)
        text, reason = beginning(line.encode(), reason or "not readable JSON")
        rows.append((file, number, text, mended, reason))
    return _table(rows, MENDED)


def _table(rows, schema):
    return pa.table(list(zip(*rows, strict=True)) or [[]] * len(schema), schema=schema)
