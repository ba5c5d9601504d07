"""Versions of sources as commands speak of them: what each brought, and which one is meant."""

from bais.terminal import similar
from bais.warehouse import records, tables_in
from ingest.warehouse import UserError, printable

SHORT_ID = 8

VERSIONS = """
with files as (
    select version_id, count(*) as n_files from raw.version_files group by all
),

batches as (
    select
        version_id,
        bool_or(source = 'scored') as is_scored,
        list(struct_pack(vignette, verdict, act, is_published) order by vignette) as batches
    from raw.batches
    left join ({verdicts}) as verdicts using (batch_id)
    where version_id is not null
    group by all
),

became as (
    select fates.fate, fates.version_id, records.batch_id, records.n from ({records}) as records
    left join ({fates}) as fates using (trial_id)
),

fates as (
    select
        version_id,
        sum(n) filter (fate = 'superseded')::bigint as n_superseded,
        sum(n) filter (fate = 'gone')::bigint as n_withdrawn
    from became
    group by all
),

brought as (
    select batches.version_id, bool_and(fate is not null and fate in ('superseded', 'gone')) as is_overtaken from became
    inner join raw.batches as batches using (batch_id)
    group by all
)

select
    versions.* exclude (_dlt_load_id),
    coalesce(n_files, 0) as n_files,
    not is_older and row_number() over (
        partition by study, archive, source_name, is_older order by ordinal desc
    ) = 1 as is_newest,
    coalesce(batches, []) as batches,
    coalesce(is_scored, false) as is_scored,
    coalesce(is_overtaken, false) as is_overtaken,
    coalesce(n_superseded, 0) as n_superseded,
    coalesce(n_withdrawn, 0) as n_withdrawn
from raw.source_versions as versions
left join files using (version_id)
left join batches using (version_id)
left join fates using (version_id)
left join brought using (version_id)
order by study, archive, source_name, ordinal
"""

# Of the newest version of each source.
UNREAD = """
with newest as (
    select arg_max(version_id, ordinal) as version_id from raw.source_versions
    where not is_older
    group by study, archive, source_name
)

select study, path, reason, n_lines from raw.unread_lines
semi join newest using (version_id)
where study = coalesce($study, study)
order by study, n_lines desc nulls last, path, reason
"""

CHANGED_FILES = """
with before as (from raw.version_files where version_id = $compared_with),

now as (from raw.version_files where version_id = $version_id),

lone_before as (from before anti join now using (path_in_archive)),

lone_now as (from now anti join before using (path_in_archive)),

renamed as (
    select min(lone_before.path) as was, lone_now.path
    from lone_now inner join lone_before using (sha256)
    group by lone_now.path
)

select 'changed' as change, now.path, null as was, before.n_lines as n_lines_before, now.n_lines
from now inner join before using (path_in_archive)
where now.sha256 != before.sha256
union all by name
select 'renamed' as change, path, was, n_lines as n_lines_before, n_lines
from renamed inner join now using (path)
union all by name
select 'new' as change, path, n_lines from lone_now anti join renamed using (path)
union all by name
select 'gone' as change, path, n_lines as n_lines_before from lone_before
where path not in (select was from renamed)
order by change, path
"""


def known_versions(warehouse) -> list[dict]:
    """Return every version of every source, each source's in the order of its imports; none of an older warehouse."""
    from ingest.land.fates import RECORDS, fates
    from ingest.land.models import query_of

    if "source_versions" not in tables_in(warehouse, "raw"):
        return []
    sql = VERSIONS.format(verdicts=query_of("stg_batch_verdicts"), fates=fates(), records=RECORDS)
    versions = records(warehouse, sql)
    return [{**version, "version": version["label"] or version["version_id"][:SHORT_ID]} for version in versions]


def unread_lines(warehouse, study: str | None = None) -> list[dict]:
    """Return by study, file and reason what the newest version of each source holds and could not be read.

    Of a warehouse that an older bais made nothing is known until the source is imported again.
    """
    is_known = {"source_versions", "unread_lines"} <= tables_in(warehouse, "raw")
    return records(warehouse, UNREAD, {"study": study}) if is_known else []


def changed_files(warehouse, version: dict) -> list[dict]:
    """Return the files of a version that are not as in the version it was compared with."""
    return records(warehouse, CHANGED_FILES, {name: version[name] for name in ("version_id", "compared_with")})


def find_version(versions: list[dict], name: str) -> dict:
    """Return the version that an id, its beginning, a label, or `source:label` means, if it is the only one."""
    matches = [
        version
        for version in versions
        if name and (version["version_id"].startswith(name) or name in (version["label"], _with_source(version)))
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        named = ", ".join(f"{version['version_id'][:SHORT_ID]} ({_with_source(version)})" for version in matches)
        raise UserError(f"{printable(name)} means several versions: {printable(named)}; name one by its id")
    names = [version["version"] for version in versions]
    there = f"{similar(name, names, by_part=True)}; `bais versions` lists them" if names else ": none was imported yet"
    raise UserError(f"there is no version {printable(name)}{there}")


def _with_source(version):
    return f"{version['source_name']}:{version['label'] or version['version_id'][:SHORT_ID]}"
