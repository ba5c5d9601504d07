"""Versions of a source: what an import finds is compared with what the source's last version had, entry by entry.

An entry of a source is known by the source's own id, by its file's content under another name, by its line, or by its
place in a file that is as long as before. What the models make of versions is in `int_versions_resolved`.
"""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from ingest.land.commits import Commit
from ingest.land.models import Models
from ingest.land.raw import prepare_raw, raw_statements
from ingest.warehouse import UserError, printable, quoted


@dataclass(frozen=True)
class Version:
    """What a person says of the version that an import brings; if it `gives_way`, another one stays the newest."""

    source_name: str | None = None
    label: str | None = None
    is_complete: bool = False
    is_older: bool = False
    gives_way: bool = False


NO_TRIALS = "select null::bigint as line_number, null::timestamp as asked_at where false"
OF_ROWS = "select line_number, line, try_cast(line ->> '$.asked_at' as timestamptz) as asked_at from lines"
NOT_PARSED = ("file", "line_number", "line", "kind", "looks_like", "complaint", "prompt_text")

# What the warehouse knows of the sources of a study and format: the last trial of each entry, and where that lies.
KNOWN = """
create table known as
select trial_id, batch_id, coalesce(versions.version_id, '') as version_id
from warehouse.raw.trials
left join warehouse.raw.batches using (batch_id, study)
left join warehouse.raw.source_versions as versions using (version_id)
where trials.study = getvariable('study');

create table collected as
select trial_id from warehouse.raw.trials
where study = getvariable('study') and source != 'recorded';

create table versions as
select version_id, source_name, label, digest, mapping, is_older, ordinal from warehouse.raw.source_versions
where study = getvariable('study') and archive = getvariable('archive');

create table files_before as
select source_name, version_id, ordinal, files.* exclude (version_id)
from warehouse.raw.version_files as files
inner join versions using (version_id);

create table landed_scores as
select concat_ws('/', scoring, variation) as record_id, count(*) as n from warehouse.raw.attribution_scores
where study = getvariable('study') and archive = getvariable('archive')
group by all;

create table unread_of_versions as
select version_id, path, reason, n_lines from warehouse.raw.unread_lines
inner join versions using (version_id)
"""

# Lines of the source's last version that could not be read.
UNREAD_BEFORE = """
create table unread_before as
from unread_of_versions
where version_id = (
    select arg_max(version_id, ordinal) from versions
    where source_name = getvariable('source_name') and not is_older
)
"""

# The last word of each source on each of its entries; of an entry that is gone, the record is null.
LAST_WORDS = """
create table last_words as
select
    source_name,
    entry,
    arg_max(struct_pack(record_id, batch_id, source_file), ordinal) filter (record_id is not null) as at_last,
    arg_max(struct_pack(record_id, batch_id, is_complete), ordinal) as last_word
from stg_version_entries
where study = getvariable('study') and archive = getvariable('archive') and not is_older
group by all
"""

HELD = """
create table published as select batch_id from stg_batch_verdicts where is_published;

create table held as
with of_sources as (
    select
        source_name,
        entry,
        at_last.record_id,
        at_last.batch_id,
        at_last.source_file as path,
        last_word.record_id is not null as is_in_version,
        last_word.record_id is null and last_word.is_complete as is_said_withdrawn,
        is_said_withdrawn and last_word.batch_id in (from published) as is_withdrawn
    from last_words
    union all
    select source_name, trial_id, trial_id, batch_id, source_file, true, false, false
    from warehouse.raw.trials
    inner join known using (trial_id, batch_id)
    inner join versions using (version_id)
    where not is_older and trial_id not in (select record_id from stg_version_entries where record_id is not null)
)

select
    of_sources.*,
    trials.vignette,
    trials.llm_recorded,
    trials.source_file as landed_path,
    trials.source_line as line_number,
    {own_id} as own_id,
    of_sources.batch_id in (from published) as is_published
from of_sources
inner join warehouse.raw.trials as trials on of_sources.record_id = trials.trial_id;

-- of the newest version, and of the newest of which something is published
create table mappings as
select source_name, arg_max(mapping, ordinal) as mapping from versions where not is_older group by all
union
select source_name, arg_max(mapping, ordinal) as mapping
from versions
semi join (
    select version_id from warehouse.raw.batches where batch_id in (from published)
) using (version_id)
where not is_older
group by all
"""

# The lines of the version that may be other entries than they seem, against the entries that no line is.
OLD = """
create table old as
select
    row_number() over (order by path, line_number, record_id) as line_number,
    line_number as source_line,
    * exclude (line_number)
from held
anti join found on held.record_id = found.trial_id
where source_name = getvariable('source_name')
    and (not getvariable('is_part') or path in (select path_in_archive from files_now));

create table old_lines as
select line_number, trials.line::varchar as line
from old
inner join warehouse.raw.trials as trials on old.record_id = trials.trial_id
"""

SIDES = """
create or replace temp view lines as select 0::bigint as file, line_number, line from old_lines;

create table before as
select
    old.line_number as id,
    old.path,
    md5(old_lines.line) as line_hash,
    coalesce('id ' || old.own_id, 'at ' || old.path || chr(10) || read.asked_at) as own_key,
    read.parsed
from (select line_number, asked_at, {parsed} as parsed from ({read_trials})) as read
inner join old using (line_number)
inner join old_lines using (line_number);

create table after as
select
    id,
    source_file as path,
    source_line,
    md5(line) as line_hash,
    coalesce('id ' || own_id, 'at ' || source_file || chr(10) || asked_at) as own_key,
    {parsed} as parsed
from pending;

create table pairs (old_id bigint, id bigint)
"""

PAIR = """
insert into pairs
with olds as (
    select before.*, row_number() over (partition by {key} order by id) as nth, count(*) over (partition by {key}) as n
    from before anti join pairs on before.id = pairs.old_id
),

news as (
    select after.*, row_number() over (partition by {key} order by id) as nth, count(*) over (partition by {key}) as n
    from after anti join pairs on after.id = pairs.id
)

select olds.id, news.id from olds inner join news on {condition}
qualify row_number() over (partition by olds.id order by news.id) = 1
    and row_number() over (partition by news.id order by olds.id) = 1
"""

# In the order in which an entry is looked for.
MATCHES = (
    ("own_key", "olds.own_key = news.own_key and olds.n = 1 and news.n = 1"),
    (
        "path",
        "olds.nth = news.nth and olds.n = news.n and (olds.path, news.path) in (select (was, is_now) from renamed)",
    ),
    ("path, line_hash", "olds.path = news.path and olds.line_hash = news.line_hash and olds.nth = news.nth"),
    (
        "path",
        "olds.nth = news.nth and olds.n = news.n and olds.path = news.path "
        "and news.path in (select path from as_long_as_before) "
        # two lines that both have an id, or a time, and not the same, are two entries
        "and coalesce(olds.own_key = news.own_key, true)",
    ),
)

PLACES = """
create table renamed as
select distinct files_before.path_in_archive as was, files_now.path_in_archive as is_now
from files_now
inner join files_before using (sha256)
where source_name = getvariable('source_name') and was != is_now
    and was not in (select path_in_archive from files_now);

create table as_long_as_before as
select path_in_archive as path
from (
    select path_in_archive, arg_max(n_lines, ordinal) as n_lines from files_before
    where source_name = getvariable('source_name')
    group by all
) as at_last
inner join files_now using (path_in_archive, n_lines)
"""

# The files of which another mapping made rows, and this one makes others: by nothing but ids of their own can anybody
# tell which of these are the same answers.
MAPPED_ANEW = """
with olds as (
    select distinct before.path, own_key like 'id %' as is_known from before
    inner join old on before.id = old.line_number and not is_withdrawn
    anti join pairs on before.id = pairs.old_id
),

news as (
    select distinct path, own_key like 'id %' as is_known from after anti join pairs using (id)
    union
    -- what had gone and is back, as a mapping of once made it
    select path, own_id is not null as is_known from held
    semi join found on held.record_id = found.trial_id
    where source_name = getvariable('source_name') and not is_in_version
)

select olds.path from olds
inner join news on olds.path = news.path and (olds.is_known and news.is_known) is not true
where exists (
    from mappings where source_name = getvariable('source_name') and mapping != getvariable('mapping')
)
order by all
"""

# The files of a source that are not there.
ABSENT = """
select distinct path from held
where source_name = getvariable('source_name')
    and not is_withdrawn
    and path not in (select path_in_archive from files_now)
"""

# Whether more than half of the files that the source's entries lie in are there again, and of the entries.
HAS_MOST = """
with here as (
    select
        path,
        path in (select path_in_archive from files_now) as is_path_there,
        record_id in (select trial_id from found)
        or record_id in (
            select record_id from old semi join pairs on old.line_number = pairs.old_id
        ) as is_there
    from held
    where source_name = getvariable('source_name') and not is_withdrawn
)

select
    (
        select arg_max(label, ordinal) from versions
        where source_name = getvariable('source_name') and not is_older
    ) as label,
    2 * count(distinct path) filter (is_path_there) > count(distinct path)
    and 2 * count(*) filter (is_there) > count(*) as has_most
from here
"""

DECIDE = """
create table decided as
with paired as (
    select
        pairs.id,
        old.*,
        before.parsed is not distinct from after.parsed as is_equal
    from pairs
    inner join before on pairs.old_id = before.id
    inner join after on pairs.id = after.id
    inner join old on pairs.old_id = old.line_number
),

own_versions as (
    select version_id from versions where source_name = getvariable('source_name')
),

lines as (
    select
        pending.id,
        pending.trial_id,
        pending.vignette,
        pending.llm_recorded,
        pending.source_file,
        pending.landed_in,
        landed_in is not null and own_versions.version_id is null as is_attached,
        paired.entry,
        paired.record_id,
        paired.batch_id,
        paired.path,
        paired.is_published,
        coalesce(paired.is_withdrawn, false) as is_withdrawn,
        coalesce(paired.is_in_version, false) as is_in_version,
        case
            when is_equal then 'unchanged'
            when paired.id is not null then 'changed'
            when is_attached then 'attached'
            else 'new'
        end as change
    from pending
    left join paired using (id)
    left join own_versions on pending.landed_by = own_versions.version_id
)

select
    id,
    change,
    coalesce(entry, trial_id) as entry,
    case when change = 'unchanged' then record_id else trial_id end as record_id,
    vignette,
    llm_recorded,
    source_file,
    case when change = 'unchanged' then batch_id else landed_in end as batch_id,
    change != 'unchanged' or is_published as is_published,
    change in ('new', 'changed') or is_withdrawn as is_to_publish,
    change != 'unchanged' and landed_in is null as is_to_land,
    change = 'unchanged' and is_in_version and path = source_file as is_as_before
from lines

union all by name

select
    'unchanged' as change,
    entry,
    record_id,
    vignette,
    llm_recorded,
    landed_path as source_file,
    batch_id,
    is_published,
    is_withdrawn as is_to_publish,
    false as is_to_land,
    is_in_version and path = landed_path as is_as_before
from held
semi join found on held.record_id = found.trial_id
where source_name = getvariable('source_name')

union all by name

select distinct
    'attached' as change,
    record_id as entry,
    record_id,
    vignette,
    llm_recorded,
    path as source_file,
    batch_id,
    is_published,
    false as is_to_publish,
    false as is_to_land,
    false as is_as_before
from held
semi join found on held.record_id = found.trial_id
where record_id not in (select record_id from held where source_name = getvariable('source_name'))

union all by name

select
    'gone' as change,
    entry,
    record_id,
    vignette,
    llm_recorded,
    path as source_file,
    batch_id,
    true as is_published,
    getvariable('is_complete') and not is_withdrawn as is_to_publish,
    false as is_to_land,
    not is_in_version and (is_said_withdrawn or not is_to_publish) as is_as_before
from old
where line_number not in (select old_id from pairs)
    -- the record that an entry had first is there again: that entry has changed
    and entry not in (select trial_id from found union all select trial_id from pending)
    -- what stands where a line cannot be read has not left
    and (path, source_line) not in (
        select path_in_archive, rejected.line_number from rejected
        inner join files using (file)
        inner join as_long_as_before on files.path_in_archive = as_long_as_before.path
        where class != 'foreign' and rejected.line_number is not null
    )
"""

# What changes of an LLM and a vignette hangs on a verdict of its own; then so does what no other verdict has published.
CONCLUDE = """
create table touched as
select distinct batch_of(vignette, llm_recorded) as batch_id from decided
where is_to_publish;

create table entries as
select
    getvariable('version_id') as version_id,
    getvariable('study') as study,
    entry,
    case when change != 'gone' then record_id end as record_id,
    case
        when batch_of(vignette, llm_recorded) in (from touched) and (is_to_publish or not is_published)
            then batch_of(vignette, llm_recorded)
        else batch_id
    end as batch_id,
    case when change != 'gone' then source_file end as source_file,
    change,
    vignette,
    llm_recorded,
    is_to_land
from decided
where not is_as_before
    or ((change = 'gone' and is_to_publish or not is_published) and batch_of(vignette, llm_recorded) in (from touched))
"""


OF_A_VERSION = (
    "version_id", "study", "archive", "source_name", "label", "digest", "mapping", "compared_with", "is_older",
    "is_complete", "n_new", "n_unchanged", "n_changed", "n_gone",
)  # fmt: skip

THIS_VERSION = "getvariable('version_id') as version_id, getvariable('study') as study"

# What a version comes to in `raw`, whatever its records are: itself, its files, and what of them could not be read.
ROWS_OF_A_VERSION = {
    "source_versions": f"""
        select
            {", ".join(f"getvariable('{name}') as {name}" for name in OF_A_VERSION)},
            getvariable('stamp')::timestamptz as imported_at
    """,
    "version_files": f"select {THIS_VERSION}, * from files_now",
    "unread_lines": f"select {THIS_VERSION}, * from unread_lines",
}

KNOWN_LLMS = """
select llm from read_csv(getvariable('seeds') || '/llms.csv', all_varchar = true)
union all
select alias from read_csv(getvariable('seeds') || '/llm_aliases.csv', all_varchar = true)
"""


def set_variables(memory, **values: object) -> None:
    """Tell queries what they ask for with `getvariable`."""
    for name, value in values.items():
        memory.execute(f"set variable {name} = $value", {"value": value})


def look_back(memory, archive, warehouse: Path) -> None:
    """Make the tables of what the warehouse knows of a study and of its sources of a format."""
    if warehouse.exists():
        prepare_raw(warehouse)
    with _beside(memory, warehouse):
        memory.execute(KNOWN)
        models = Models(memory, {"raw": "warehouse.raw"}, {})
        for name in ("stg_version_entries", "stg_batch_verdicts"):
            models.ref(name)
        memory.execute(LAST_WORDS)
        memory.execute(HELD.format(own_id=archive.own_id or "null::varchar"))


def source_of(memory, version: Version, own: list[str], folder: Path) -> str:
    """Return which source an import belongs to: as asked, by its own id, by its folder's name, or by what it shares.

    Where no source has its name, it belongs to the one with which it shares more than half of itself, or of that.
    """
    if version.source_name:
        return version.source_name
    name = own[0] if len(own) == 1 else folder.name
    sources = {source for (source,) in memory.sql("select distinct source_name from versions").fetchall()}
    if name in sources:
        return name
    shared = memory.sql(
        """
        with shared as (
            select source_name, count(*) as n_shared from held
            where record_id in (select trial_id from found) or own_id in (select own_id from pending)
            group by all
        )
        select source_name from shared
        inner join (select source_name, count(*) as n_held from held group by all) using (source_name)
        where 2 * n_shared > least(n_held, (select count(*) from found) + (select count(*) from pending))
        order by n_shared desc, source_name
        limit 1
        """
    ).fetchall()
    if shared:
        refuse_guess_as_whole(version, shared[0][0])
    return shared[0][0] if shared else name


def refuse_guess_as_whole(version: Version, alike: str) -> None:
    """Refuse to take for the whole of a source what is only told to be of it by what they share."""
    if version.is_complete:
        raise UserError(
            "--complete takes out of the public tables what the folder lacks, and that this is a version of "
            f"{printable(alike)} is only told by what they share: say so with --source {printable(alike)}, or leave "
            "--complete out"
        )


def part_of_before(memory, folder: Path) -> str | None:
    """Say which part of its source an import is, if it is one: a file of several, or a folder within it."""
    files = "select path from files_before where source_name = getvariable('source_name')"
    before = {path for (path,) in memory.sql(f"{files} order by path").fetchall()}
    now = {path for (path,) in memory.sql("select path from files_now").fetchall()}
    if folder.is_file() and before - now and not (len(before) == 1 and _has_another_name(memory)):
        return f"the file {printable(folder.name)}"
    within = [
        {place.removesuffix(f"/{path}") for place in before if place.endswith(f"/{path}")} for path in now - before
    ]
    if within and not now & before and (common := set.intersection(*within)):
        return f"the folder {printable(min(common))}"
    return None


def _has_another_name(memory) -> bool:
    """Tell whether a file holds entries of its source, by their ids or all of its content."""
    ((shares,),) = memory.sql(
        """
        select
            exists (select 1 from held where own_id in (select own_id from pending) and source_name = of_source)
            or exists (
                select 1 from files_before
                where sha256 in (select sha256 from files_now) and source_name = of_source
            )
        from (select getvariable('source_name') as of_source)
        """
    ).fetchall()
    return shares


def refuse_version(version: Version, why: str) -> None:
    """Refuse what a person says of a version of what has none, or says its versions itself."""
    if version != Version():
        raise UserError(f"{why} leave out --source, --label, --complete and --older")


def newest_version(memory) -> tuple[str | None, str | None]:
    """Return the id and the digest of the source's newest version, as far as it has one."""
    query = "from versions where source_name = getvariable('source_name') and not is_older"
    (newest,) = memory.sql(f"select arg_max(version_id, ordinal), arg_max(digest, ordinal) {query}").fetchall()
    return newest


def is_kept(memory, digest: str) -> bool:
    """Whether the source has a version of this digest."""
    query = "select 1 from versions where source_name = getvariable('source_name') and digest = $digest"
    return bool(memory.execute(query, {"digest": digest}).fetchall())


def refuse_part_as_whole(version: Version, part: str | None, unreadable: list[str]) -> None:
    """Refuse to take for the whole of a source what is a part of it, or has a file that cannot be opened."""
    if version.is_complete and part:
        raise UserError(
            f"--complete says that this is the whole of the source, and it is {part} of it: import the whole folder, "
            "or leave --complete out"
        )
    if version.is_complete and unreadable:
        raise UserError(
            f"--complete says that this is the whole of the source, and {printable(unreadable[0])} cannot be read: "
            "mend it, or leave --complete out"
        )


def is_mapped_anew(memory, version: Version, source_name: str) -> bool:
    """Whether what another mapping made of these files leaves, as a whole; refused where some of them are not there."""
    if version.is_complete or version.is_older or not (files := memory.sql(MAPPED_ANEW).fetchall()):
        return False
    if memory.sql(ABSENT).fetchall():
        raise UserError(
            f"{printable(files[0][0])} was imported with another mapping, and its rows have no own_id by which they "
            f"would be known again: import all files of the source {printable(source_name)} with this mapping, or say "
            "with --complete that these are all; nothing was landed"
        )
    return True


def match(memory, archive, warehouse: Path) -> None:
    """Make the tables `old` and `pairs`: the entries that the source had, and which lines of the version they are."""
    with _beside(memory, warehouse):
        memory.execute(OLD)
    if archive.select is not None:  # a line is the row that a mapping yielded
        memory.execute(SIDES.format(read_trials=OF_ROWS, parsed="md5(line)"))
    elif memory.execute("select 1 from old limit 1").fetchall():
        columns = [name for name in memory.sql(archive.read_trials).columns if name not in NOT_PARSED]
        parsed = f"struct_pack({', '.join(f'{name} := {name}' for name in columns)})"
        memory.execute(SIDES.format(read_trials=archive.read_trials, parsed=parsed))
    else:  # to plan what reads lines takes a twentieth of a second, also where there are none
        memory.execute(SIDES.format(read_trials=NO_TRIALS, parsed="null"))
    memory.execute(PLACES)
    for key, condition in MATCHES:
        memory.execute(PAIR.format(key=key, condition=condition))


def doubt_of_whole(memory, commit: Commit, read: set[str], suffix: str | tuple[str, ...], is_named: bool) -> str | None:
    """Say what keeps a commit from being the whole of a source that was there before; None where nothing does."""
    if not commit.is_clean or any(file.endswith(suffix) for file in commit.files ^ read):
        return f"the folder is not just what its commit {commit.name} has"
    if not is_named:
        return "that this is a version of it is only told by what they share"
    ((label, has_most),) = memory.sql(HAS_MOST).fetchall()
    if not commit.follows(label):
        return f"commit {commit.name} does not come after {printable(label)}, which was imported before"
    return None if has_most else "most of what the source had is not there, as in another archive of the same name"


def decide(memory) -> None:
    """Make the tables `decided` and `entries`: what became of each entry, and what the version says of it."""
    memory.execute(DECIDE)
    memory.execute(CONCLUDE)


@contextlib.contextmanager
def _beside(memory, warehouse):
    """Attach the warehouse, or one that is empty where there is none yet, as long as it is looked at."""
    if warehouse.exists():
        memory.execute(f"attach {quoted(warehouse)} as warehouse (read_only)")
    else:
        memory.execute("attach ':memory:' as warehouse")
        memory.execute(f"use warehouse; {raw_statements()}; use memory")
    try:
        yield
    finally:
        memory.execute("detach warehouse")
