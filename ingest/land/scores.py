"""Import log-probabilities that were recorded elsewhere: scores are no trials, since nobody answered.

A file is a scoring; its entries are its variations, and a batch is what one import brings of one scoring and variation.
A file in which one score differs is another scoring, which takes the place of the one before it.
"""

import contextlib
import csv
import json
import math
import re
import time
import uuid
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from ingest.land import versions
from ingest.land.commits import commit_of
from ingest.land.load import land
from ingest.land.raw import TABLES
from ingest.land.seeds import place_of, seeds_folder
from ingest.land.versions import Version
from ingest.texts.lines import Line, beginning, quarantine_rows, walk
from ingest.warehouse import in_memory, listed, printable, sha256_of, some, warehouse_path

ATTRIBUTIONS = {
    "banzhaf_scene": "Shapley_scene",
    "banzhaf_comparative": "Shapley_comparative",
    "banzhaf_absolute": "Shapley_absolute",
    "banzhaf_anchor": "Shapley_anchor",
}
NEEDED = ("VariationID", "Anchor", "TargetToken", "LogProbFullPrompt", *ATTRIBUTIONS.values())
SUFFIX_OF_REGIME = {"standard": "S", "different_anchors": "D"}
HASHED = ("variation", "anchor", "target", "log_probability", *ATTRIBUTIONS, "error")
NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", flags=re.ASCII)
LONGEST_FIELD = 1 << 24
OF_A_LINE = ("variation", "anchor", "target", "log_probability", *ATTRIBUTIONS, "error", "line", "source_line")
SCORES = pa.schema([*map(TABLES["attribution_scores"].schema.field, OF_A_LINE), ("hashed", pa.string())])
QUARANTINED = pa.schema({"file": pa.string(), "number": pa.int64(), "text": pa.string(), "reason": pa.string()})

# A scoring is called by what it holds, whatever the order and the other columns of its lines.
FOUND = """
create table found as
with scorings as (
    select place, concat(place, '@', left(sha256(string_agg(hashed, chr(10) order by hashed)), 8)) as scoring
    from scores
    group by place
)

select
    concat_ws('/', place, variation) as entry,
    concat_ws('/', scoring, variation) as record_id,
    scoring,
    variation as vignette,
    path_in_archive as source_file,
    llm_recorded,
    anchor_regime,
    sha256(string_agg(hashed, chr(10) order by hashed)) as content,
    count(*) as n
from scores
inner join scorings using (place)
inner join files_now using (place)
group by all;

create table unread_lines as
select file as path, split_part(reason, ': ', 1) as reason, nullif(count(number), 0) as n_lines from quarantined
group by all
"""

# As asked, by its folder, or by what it shares with one that is known.
SOURCE = """
select coalesce(
    $asked,
    (select any_value(source_name) from versions where source_name = $folder),
    (
        select source_name from last_words
        inner join found on last_words.last_word.record_id = found.record_id
        group by source_name
        order by count(*) desc, source_name desc
        limit 1
    ),
    $folder
)
"""

ENTRIES = """
create table entries as
with held as (
    select entry, last_word.record_id from last_words
    where source_name = getvariable('source_name')
),

compared as (
    select
        entry,
        found.record_id,
        scoring,
        coalesce(vignette, split_part(entry, '/', -1)) as vignette,
        source_file,
        llm_recorded,
        anchor_regime,
        coalesce(content, sha256('')) as content,
        coalesce(found.n, landed.n, 0) as n,
        found.record_id is null or landed.record_id is not null as is_landed,
        case
            when found.record_id is null then 'gone'
            when held.record_id is null then 'new'
            when held.record_id = found.record_id then 'unchanged'
            else 'changed'
        end as change
    from found
    full join held using (entry)
    left join landed_scores as landed on coalesce(found.record_id, held.record_id) = landed.record_id
    where found.record_id is not null or (held.record_id is not null and starts_with(entry, getvariable('within')))
)

select
    *,
    getvariable('version_id') as version_id,
    getvariable('study') as study,
    concat_ws('/', getvariable('study'), coalesce(record_id, entry), getvariable('stamp')) as batch_id,
    -- whether the version says something of it
    case change when 'gone' then getvariable('is_complete') when 'unchanged' then getvariable('is_older') else true end
        as is_told
from compared
"""

DIGEST = """
select sha256(string_agg(line, chr(10) order by line))
from (select sha256 || '  ' || path_in_archive as line from files_now)
"""

LANDED = {
    "attribution_scores": """
        select scores.*, entries.*, getvariable('archive') as archive from scores
        inner join entries on concat_ws('/', place, variation) = entry
        where is_told and not is_landed
    """,
    "batches": """
        select
            * replace (concat_ws(' ', entry, content) as content),
            'scored' as source,
            if(is_landed, 0, n) as n_trials,
            getvariable('stamp')::timestamptz as loaded_at
        from entries
        where is_told
    """,
    "version_entries": "from entries where is_told",
    **versions.ROWS_OF_A_VERSION,
}

UNKNOWN = f"""
select llm_recorded, sum(n_trials)::bigint from files_now
where llm_recorded not in ({versions.KNOWN_LLMS})
group by all
order by all
"""


def import_scores(folder: Path, version: Version, archive) -> tuple[str, int]:
    """Import the scores in a file or below a folder; return what came of it, and the exit code."""
    started = time.monotonic()
    folder = Path(folder).resolve()
    stamp = datetime.now(UTC)
    scores, files, quarantined, skipped = _read(folder, archive)
    with contextlib.closing(in_memory()) as memory:
        versions.set_variables(
            memory, study=archive.study, archive=archive.name, version_id=uuid.uuid4().hex,
            stamp=stamp.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), seeds=str(seeds_folder()),
        )  # fmt: skip
        for name, rows in (
            ("scores", scores),
            ("files_now", pa.Table.from_pylist(files)),
            ("quarantined", pa.Table.from_pylist([line._asdict() for line in quarantined], QUARANTINED)),
        ):
            memory.from_arrow(rows).create(name)
        counts, told, is_another = _compare(memory, folder, version, archive, quarantined)
        tables = {"quarantined_lines": pa.Table.from_pylist(quarantine_rows(quarantined, archive.study, stamp))}
        if is_another:
            tables |= {name: memory.sql(query).to_arrow_table() for name, query in LANDED.items()}
        unknown = [f"{printable(llm)} ({n:,} scores)" for llm, n in memory.sql(UNKNOWN).fetchall()]
    if brought := {name: [rows] for name, rows in tables.items() if rows.num_rows}:
        land(**brought)
    lines = [f"{printable(folder)}: {len(files):,} file{'' if len(files) == 1 else 's'} of scores"]
    lines += [f"  skipped, {reason}: {some(names)}" for reason, names in sorted(skipped.items())]
    if quarantined:
        lines.append(f"  quarantined: {len(quarantined):,} (table raw.quarantined_lines)")
        lines += listed(f"{line.place}: {line.reason}" for line in quarantined)
    if unknown:
        lines.append(
            f"  unknown LLM ids, loaded under their own names: {some(unknown)}; add them to {place_of('llm_aliases')}"
        )
    lines.append(
        f"  {scores.num_rows:,} scores read: {counts['new']:,} new, {counts['unchanged']:,} unchanged, "
        f"{counts['changed']:,} changed; {time.monotonic() - started:.1f} s"
    )
    return "\n".join([*lines, f"  {told}"]), 3 if quarantined else 0


def _compare(memory, folder, version, archive, quarantined):
    """Hold what was read against what its source had before.

    Return how many scores are new, changed and so on, which version of which source this is in words, and whether it is
    one of its own.
    """
    versions.look_back(memory, archive, warehouse_path())
    memory.execute(FOUND)
    named = {"asked": version.source_name or None, "folder": (folder.parent if folder.is_file() else folder).name}
    ((source_name,),) = memory.execute(SOURCE, named).fetchall()
    if source_name not in named.values():
        versions.refuse_guess_as_whole(version, source_name)
    ((place,),) = memory.sql("select min(place) from files_now").fetchall()
    within = f"{place}/" if folder.is_file() else ""
    versions.set_variables(
        memory, source_name=source_name, within=within, is_older=version.is_older, is_complete=version.is_complete
    )
    others = "from last_words where source_name = getvariable('source_name') and not starts_with(entry, $within)"
    is_part = memory.execute(others, {"within": within}).fetchall()
    part = f"the file {printable(folder.name)}" if is_part else None
    versions.refuse_part_as_whole(version, part, [f"{line.file}:{line.number}" for line in quarantined])
    memory.execute(ENTRIES)
    counts = Counter(dict(memory.sql("select change, sum(n)::bigint from entries group by all").fetchall()))
    ((digest,),) = memory.sql(DIGEST).fetchall()
    newest, _ = versions.newest_version(memory)
    if version.is_older:
        is_another = not versions.is_kept(memory, digest)
    else:
        is_another = newest is None or bool(memory.sql("from entries where is_told limit 1").fetchall())
    commit = commit_of(folder)
    label = version.label or (commit and commit.label)
    versions.set_variables(
        memory, digest=digest, label=label, compared_with=newest,
        **{f"n_{change}": counts[change] for change in ("new", "unchanged", "changed", "gone")},
    )  # fmt: skip
    name = printable(source_name) + (f", {part}" if part else "")
    if not is_another:
        return counts, f"source {name}: nothing has changed since it was last imported", False
    ((version_id,),) = memory.sql("select getvariable('version_id')").fetchall()
    told = f"source {name}, version {printable(label or version_id[:8])}"
    if version.is_older:
        told += ", an older version, of which nothing is published"
    if n_gone := counts["gone"]:
        stays = "leave the public tables" if version.is_complete else "stay published"
        told += f"; {n_gone:,} scores that it lacks {stays}"
    return counts, told, True


def _read(folder, archive):
    """Read the files of the format; of what is none, say why."""
    sizes, left_out, unreadable = walk(folder)
    quarantined = [Line(_name(path, folder), None, "", why) for path, why in unreadable.items()]
    skipped, scores, files, places = {}, [], [], {}
    for path, why in left_out.items():
        skipped.setdefault(why, []).append(_name(path, folder))
    for path in sizes:
        file, called = _name(path, folder), archive.file_name.fullmatch(path.name)
        place = called and f"{called['llm']}/{called['regime']}"
        if not called:
            skipped.setdefault("no file of this format, by its name", []).append(file)
        elif place in places:
            skipped.setdefault(f"a copy, by its name, of {places[place]}", []).append(file)
        else:
            places[place] = file
            rows, bad, n_lines = _read_file(path, file, called["regime"])
            quarantined += bad
            if rows:
                of_file = pa.Table.from_pylist(rows, SCORES)
                scores.append(of_file.append_column("place", pa.array([place] * len(rows))))
                files.append(
                    {
                        "path": file, "path_in_archive": path.name, "bytes": path.stat().st_size,
                        "sha256": sha256_of(path), "n_lines": n_lines, "n_trials": len(rows),
                        "place": place, "llm_recorded": called["llm"], "anchor_regime": called["regime"],
                    }
                )  # fmt: skip
    if not scores:
        refusals = [(line.file, line.reason) for line in quarantined]
        refusals += [(name, reason) for reason, names in skipped.items() for name in names]
        raise archive.unusable(folder, f"{len(sizes):,} files, none with scores", refusals)
    return pa.concat_tables(scores), files, quarantined, skipped


def _read_file(path, file, regime):
    """Return the rows of a file, the lines that are no scores, and how many lines there are."""
    rows, bad, seen, n_lines = [], [], {}, 0
    try:
        with open(path, encoding="utf-8-sig", errors="strict", newline="") as stream:
            csv.field_size_limit(LONGEST_FIELD)
            reader = csv.DictReader(stream)
            if complaint := _complaint_of(reader.fieldnames or []):
                return [], [Line(file, 1, "", f"no file of scores: {complaint}")], 0
            for line in reader:
                n_lines += 1
                number = reader.line_num
                try:
                    row = _score(line, regime)
                    first = seen.setdefault((row["variation"], row["anchor"], row["target"]), number)
                    if first != number:
                        raise ValueError(f"line {first} has the same variation, anchor and target")
                except ValueError as complaint:
                    text = json.dumps({str(name): value for name, value in line.items()}, ensure_ascii=False)
                    bad.append(Line(file, number, *beginning(text.encode(), printable(complaint))))
                else:
                    rows.append(row | {"source_line": number})
    except OSError as error:
        return [], [Line(file, None, "", f"the file cannot be read: {error.strerror}")], 0
    except UnicodeDecodeError as error:
        return [], [Line(file, None, "", f"not UTF-8: byte 0x{error.object[error.start]:02x}")], 0
    except csv.Error as error:
        bad.append(Line(file, reader.line_num, "", f"not CSV from here on: {error}"))
    if not n_lines and not bad:
        bad.append(Line(file, 1, "", "no file of scores: it has no line below its header"))
    return rows, bad, n_lines


def _complaint_of(header):
    """Return what is wrong with the names of the columns, or none."""
    if not header:
        return "it is empty"
    if missing := [name for name in NEEDED if name not in header]:
        return f"it has no column {missing[0]}"
    twice = [name for name, n in Counter(header).items() if n > 1]
    return f"it has the column {twice[0]} twice" if twice else None


def _score(line, regime):
    """Return the row that a line is; a ValueError says why it is none."""
    if None in line or None in line.values():
        raise ValueError("it has another number of fields than the header")
    targets = {name: line[name].strip().removesuffix("%") for name in ("TargetToken", "TargetInt") if name in line}
    read = {name: _number(text) for name, text in {**line, **targets}.items() if name in (*NEEDED, "TargetInt")}
    for name in ("VariationID", "Anchor", *targets):
        if read[name] is None:
            raise ValueError(f"{name} is no number: {line[name][:100]}")
    number, target = read["VariationID"], read["TargetToken"]
    if number != int(number) or number < 0:
        raise ValueError(f"VariationID is no whole number from 0 on: {line['VariationID'][:100]}")
    if {read[name] for name in targets} != {target} or target != int(target) or not 0 <= target <= 100:
        raise ValueError(f"the target is no whole percentage: {line['TargetToken'][:100]}")
    row = {
        "variation": f"V{int(number)}-{SUFFIX_OF_REGIME[regime]}" if number else "V0",
        "anchor": read["Anchor"],
        "target": int(target),
        "log_probability": read["LogProbFullPrompt"],
        **{column: read[recorded] for column, recorded in ATTRIBUTIONS.items()},
        "error": line.get("Error", "").strip() or None,
    }
    hashed = json.dumps([row[name] for name in HASHED])
    return row | {"hashed": hashed, "line": json.dumps(line, ensure_ascii=False)}


def _number(text):
    """Read a finite number, or none."""
    if not NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def _name(path, folder):
    return printable(path.name if path == folder else path.relative_to(folder))
