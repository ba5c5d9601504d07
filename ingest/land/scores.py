"""Import log-probabilities that were recorded elsewhere: scores are no trials, since nobody answered.

A file is a scoring; its entries are its variations, and a batch is what one import brings of one scoring and variation.
A file in which one score differs is another scoring, which takes the place of the one before it.
"""

import contextlib
import csv
import hashlib
import json
import math
import re
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from ingest.land.commits import commit_of
from ingest.land.load import land
from ingest.land.models import query_of
from ingest.land.raw import TABLES, prepare_raw
from ingest.land.versions import Version, refuse_part_as_whole
from ingest.texts.lines import Line, beginning, quarantine_rows, unread_rows, walk
from ingest.warehouse import ROOT, UserError, connect, printable, sha256_of, warehouse_path

ATTRIBUTIONS = {
    "banzhaf_scene": "Shapley_scene",
    "banzhaf_comparative": "Shapley_comparative",
    "banzhaf_absolute": "Shapley_absolute",
    "banzhaf_anchor": "Shapley_anchor",
}
NEEDED = ("VariationID", "Anchor", "TargetToken", "LogProbFullPrompt", *ATTRIBUTIONS.values())
SUFFIX_OF_REGIME = {"standard": "S", "different_anchors": "D"}
HASHED = ("variation", "anchor", "target", "log_probability", *ATTRIBUTIONS, "error")
LONGEST_FIELD = 1 << 24
SHOWN = 20

# The last word of each source on each of its entries; of an entry that is gone, the record is null.
LAST_WORDS = """
select source_name, entry, arg_max(struct_pack(record_id), ordinal)['record_id'] as record_id
from ({entries})
where study = $study and archive = $archive and not is_older
group by all
"""


@dataclass
class Scoring:
    """One file: its rows by variation, and what it is called once all of it is read."""

    path: Path
    file: str
    llm: str
    regime: str
    rows: dict[str, list[dict]] = field(default_factory=dict)
    n_lines: int = 0

    @property
    def place(self) -> str:
        """What it is called whatever it holds."""
        return f"{self.llm}/{self.regime}"

    @property
    def n_scores(self) -> int:
        """How many scores it holds."""
        return sum(map(len, self.rows.values()))

    @cached_property
    def name(self) -> str:
        """What it is called: another content has another name."""
        return f"{self.place}@{_hash_of([row for rows in self.rows.values() for row in rows])[:8]}"


def import_scores(folder: Path, version: Version, archive) -> tuple[str, int]:
    """Import the scores in a file or below a folder; return what came of it, and the exit code."""
    started = time.monotonic()
    folder = Path(folder).resolve()
    scorings, quarantined, skipped = _read(folder, archive)
    source = _Source(folder, version, archive, scorings)
    refuse_part_as_whole(version, source.part, [f"{line.file}:{line.number}" for line in quarantined])
    apart = quarantine_rows(quarantined, archive.study, source.stamp)
    tables = source.tables(quarantined) | {"quarantined_lines": apart}
    if brought := {name: rows for name, rows in tables.items() if rows}:
        land(**{name: [TABLES[name].conform(pa.Table.from_pylist(rows))] for name, rows in brought.items()})
    lines = [f"{printable(folder)}: {len(scorings):,} file{'' if len(scorings) == 1 else 's'} of scores"]
    lines += [f"  skipped, {reason}: {_some(names)}" for reason, names in sorted(skipped.items())]
    if quarantined:
        lines.append(f"  quarantined: {len(quarantined):,} (table raw.quarantined_lines)")
        named = [f"    {line.file}{f':{line.number}' if line.number else ''}: {line.reason}" for line in quarantined]
        lines += named[:SHOWN] + ([f"    and {len(named) - SHOWN:,} more"] if len(named) > SHOWN else [])
    lines += _unknown_llms(scorings)
    n = sum(scoring.n_scores for scoring in scorings)
    lines.append(
        f"  {n:,} scores read: {source.n['new']:,} new, {source.n['unchanged']:,} unchanged, "
        f"{source.n['changed']:,} changed; {time.monotonic() - started:.1f} s"
    )
    return "\n".join([*lines, f"  {source.said()}"]), 3 if quarantined else 0


def _read(folder, archive):
    """Read the files of the format; of what is none, say why."""
    sizes, left_out, unreadable = walk(folder)
    quarantined = [Line(_name(path, folder), None, "", why) for path, why in unreadable.items()]
    skipped, scorings, places = {}, [], {}
    for path, why in left_out.items():
        skipped.setdefault(why, []).append(_name(path, folder))
    for path in sizes:
        called = archive.file_name.fullmatch(path.name)
        if not called:
            skipped.setdefault("no file of this format, by its name", []).append(_name(path, folder))
            continue
        scoring = Scoring(path, _name(path, folder), called["llm"], called["regime"])
        if scoring.place in places:
            skipped.setdefault(f"a copy, by its name, of {places[scoring.place]}", []).append(scoring.file)
            continue
        places[scoring.place] = scoring.file
        quarantined += _read_file(scoring)
        if scoring.rows:
            scorings.append(scoring)
    if not scorings:
        refusals = [(line.file, line.reason) for line in quarantined]
        refusals += [(name, reason) for reason, names in skipped.items() for name in names]
        such_as = f"; {refusals[0][0]}: {refusals[0][1]}" if refusals else ""
        raise UserError(
            f"nothing usable in {printable(folder)}: {len(sizes):,} files, none with scores of the format "
            f"{archive.form} ({archive.expected}){such_as}"
        )
    return scorings, quarantined, skipped


def _read_file(scoring):
    """Fill a scoring with the rows of its file, and return the lines that are no scores."""
    bad, seen = [], {}
    try:
        with open(scoring.path, encoding="utf-8-sig", errors="strict", newline="") as stream:
            csv.field_size_limit(LONGEST_FIELD)
            reader = csv.DictReader(stream)
            if complaint := _complaint_of(reader.fieldnames or []):
                return [Line(scoring.file, 1, "", f"no file of scores: {complaint}")]
            for line in reader:
                scoring.n_lines += 1
                try:
                    row = _score(line, scoring.regime) | {"source_line": reader.line_num}
                    first = seen.setdefault((row["variation"], row["anchor"], row["target"]), row["source_line"])
                    if first != row["source_line"]:
                        raise ValueError(f"line {first} has the same variation, anchor and target")
                except ValueError as complaint:
                    text = json.dumps({str(name): value for name, value in line.items()}, ensure_ascii=False)
                    why = beginning(text.encode(), printable(complaint))
                    bad.append(Line(scoring.file, reader.line_num, *why))
                else:
                    scoring.rows.setdefault(row["variation"], []).append(row)
    except OSError as error:
        return [Line(scoring.file, None, "", f"the file cannot be read: {error.strerror}")]
    except UnicodeDecodeError as error:
        scoring.rows.clear()
        return [Line(scoring.file, None, "", f"not UTF-8: byte 0x{error.object[error.start]:02x}")]
    except csv.Error as error:
        bad.append(Line(scoring.file, reader.line_num, "", f"not CSV from here on: {error}"))
    if not scoring.n_lines and not bad:
        bad.append(Line(scoring.file, 1, "", "no file of scores: it has no line below its header"))
    return bad


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
    return {
        "variation": f"V{int(number)}-{SUFFIX_OF_REGIME[regime]}" if number else "V0",
        "anchor": read["Anchor"],
        "target": int(target),
        "log_probability": read["LogProbFullPrompt"],
        **{column: read[recorded] for column, recorded in ATTRIBUTIONS.items()},
        "error": line.get("Error", "").strip() or None,
        "line": json.dumps(line, ensure_ascii=False),
    }


def _number(text):
    """Read a finite number, or none."""
    if not re.fullmatch(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", text, flags=re.ASCII):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def _hash_of(rows):
    """Return a hash of scores, whatever the order and the other columns of their lines."""
    lines = sorted(json.dumps([row[name] for name in HASHED]) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


class _Source:
    """The source that an import belongs to, what it had before, and the rows that the import adds to `raw`."""

    def __init__(self, folder, version, archive, scorings):
        self.folder, self.version, self.archive, self.scorings = folder, version, archive, scorings
        self.stamp = datetime.now(UTC)
        self.version_id = uuid.uuid4().hex
        commit = commit_of(folder)
        self.label = version.label or (commit and commit.label)
        self.newest = {}
        self.records, self.digests, self.landed = self._look_back()
        self.entries = {
            f"{scoring.place}/{variation}": (f"{scoring.name}/{variation}", scoring, variation)
            for scoring in scorings
            for variation in scoring.rows
        }
        self.name = self._named()
        before = self.records.get(self.name, {})
        self.part = None
        if folder.is_file() and {entry for entry in before if not entry.startswith(f"{scorings[0].place}/")}:
            self.part = f"the file {printable(folder.name)}"
        self.gone = {
            entry
            for entry, record in before.items()
            if record and entry not in self.entries and (not self.part or entry.startswith(f"{scorings[0].place}/"))
        }
        self.change = {
            entry: "unchanged" if before.get(entry) == record else "changed" if before.get(entry) else "new"
            for entry, (record, *_) in self.entries.items()
        }
        self.n = Counter(gone=sum(self.landed.get(before[entry], 0) for entry in self.gone))
        for entry, (_, scoring, variation) in self.entries.items():
            self.n[self.change[entry]] += len(scoring.rows[variation])
        self.digest = hashlib.sha256(
            "\n".join(sorted(f"{sha256_of(scoring.path)}  {scoring.path.name}" for scoring in scorings)).encode()
        ).hexdigest()
        digests = self.digests.get(self.name, [])
        is_as_before = not any(self.spoken_of()) and digests
        self.is_another = self.digest not in digests if version.is_older else not is_as_before

    def _look_back(self):
        """Return each source's last records by entry and its digests, and how many scores each record in `raw` has."""
        path = warehouse_path()
        if not path.exists():
            return {}, {}, {}
        prepare_raw(path)
        parameters = {"study": self.archive.study, "archive": self.archive.name}
        records, digests = {}, {}
        of_archive = "where study = $study and archive = $archive"
        with contextlib.closing(connect()) as warehouse:
            for source_name, entry, record in warehouse.execute(
                LAST_WORDS.format(entries=query_of("stg_version_entries")), parameters
            ).fetchall():
                records.setdefault(source_name, {})[entry] = record
            for source_name, digest, version_id, is_older in warehouse.execute(
                f"select source_name, digest, version_id, is_older from raw.source_versions {of_archive} "
                "order by ordinal",
                parameters,
            ).fetchall():
                digests.setdefault(source_name, []).append(digest)
                if not is_older:
                    self.newest[source_name] = version_id
            landed = warehouse.execute(
                f"select scoring || '/' || variation, count(*) from raw.attribution_scores {of_archive} group by all",
                parameters,
            ).fetchall()
        return records, digests, dict(landed)

    def _named(self):
        """Return the name of the source: as asked, by its folder, or by what it shares with one that is known."""
        if self.version.source_name:
            return self.version.source_name
        name = (self.folder.parent if self.folder.is_file() else self.folder).name
        if name in self.digests:
            return name
        records = {record for record, *_ in self.entries.values()}
        shares = {source: len(records & set(entries.values())) for source, entries in self.records.items()}
        alike = max(shares, key=lambda source: (shares[source], source), default=None)
        return alike if alike and shares[alike] else name

    def spoken_of(self):
        """Yield each entry of which this version says something: what it is called, its record, and its variation."""
        for entry, (record, scoring, variation) in self.entries.items():
            if self.change[entry] != "unchanged" or self.version.is_older:
                yield entry, record, scoring, variation
        if self.version.is_complete:
            yield from ((entry, None, None, entry.rpartition("/")[2]) for entry in sorted(self.gone))

    def tables(self, quarantined):
        """Return the rows that the version adds, by table."""
        if not self.is_another:
            return {}
        study, archive = self.archive.study, self.archive.name
        tables = {name: [] for name in ("attribution_scores", "batches", "version_entries")}
        stamp = self.stamp.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        of_version = {"version_id": self.version_id, "study": study}
        for entry, record, scoring, variation in self.spoken_of():
            rows = scoring.rows[variation] if scoring else []
            batch = {"batch_id": f"{study}/{record or entry}/{stamp}", "study": study}
            is_landed = record is None or record in self.landed
            tables["batches"].append(
                batch | {
                    "vignette": variation, "source": "scored", "n_trials": 0 if is_landed else len(rows),
                    "loaded_at": self.stamp, "version_id": self.version_id,
                    "content": f"{entry} {_hash_of(rows)}",
                }
            )  # fmt: skip
            tables["version_entries"].append(
                of_version | batch | {
                    "entry": entry, "record_id": record, "source_file": scoring.path.name if scoring else None,
                }
            )  # fmt: skip
            if not is_landed:
                named = batch | {
                    "scoring": scoring.name, "archive": archive, "source_file": scoring.path.name,
                    "llm_recorded": scoring.llm, "anchor_regime": scoring.regime,
                }  # fmt: skip
                tables["attribution_scores"] += [named | row for row in rows]
        version = of_version | {
            "archive": archive, "source_name": self.name, "label": self.label, "digest": self.digest,
            "compared_with": self.newest.get(self.name), "is_older": self.version.is_older,
            "is_complete": self.version.is_complete, "imported_at": self.stamp,
            **{f"n_{change}": self.n[change] for change in ("new", "unchanged", "changed", "gone")},
        }  # fmt: skip
        files = [
            of_version | {
                "path": scoring.file, "path_in_archive": scoring.path.name, "bytes": scoring.path.stat().st_size,
                "sha256": sha256_of(scoring.path), "n_lines": scoring.n_lines, "n_trials": scoring.n_scores,
            }
            for scoring in self.scorings
        ]  # fmt: skip
        unread = unread_rows(quarantined, **of_version)
        return tables | {"source_versions": [version], "version_files": files, "unread_lines": unread}

    def said(self):
        """Say which version of which source was read."""
        name = printable(self.name) + (f", {self.part}" if self.part else "")
        if not self.is_another:
            return f"source {name}: nothing has changed since it was last imported"
        called = printable(self.label or self.version_id[:8])
        older = ", an older version, of which nothing is published" if self.version.is_older else ""
        gone = ""
        if self.gone:
            stays = "leave the public tables" if self.version.is_complete else "stay published"
            gone = f"; {self.n['gone']:,} scores that it lacks {stays}"
        return f"source {name}, version {called}{older}{gone}"


def _unknown_llms(scorings):
    """Say which LLMs the seeds do not know."""
    names = set()
    for seed, column in (("llms", "llm"), ("llm_aliases", "alias")):
        with open(ROOT / "seeds" / f"{seed}.csv", encoding="utf-8", newline="") as stream:
            names |= {row[column] for row in csv.DictReader(stream)}
    unknown = Counter()
    for scoring in scorings:
        if scoring.llm not in names:
            unknown[printable(scoring.llm)] += scoring.n_scores
    if unknown:
        named = _some([f"{llm} ({n:,} scores)" for llm, n in sorted(unknown.items())])
        yield f"  unknown LLM ids, loaded under their own names: {named}; add them to seeds/llm_aliases.csv"


def _some(names):
    shown = ", ".join(names[:SHOWN])
    return shown + (f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else "")


def _name(path, folder):
    return printable(path.name if path == folder else path.relative_to(folder))
