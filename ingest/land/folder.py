"""A folder of Parquet in which a warehouse keeps what grows with trials (`bais import --to DIR`).

A load is written to files that nothing names, and is there with the manifest, replaced in one step, that names them.
Then the warehouse takes it in: small tables as rows, the others as views of the named files. Whoever was killed in
between is caught up with when `raw` is prepared next, and files without a name are dropped by the next load.
"""

import contextlib
import hashlib
import json
import os
import re
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ingest.land.lock import alone
from ingest.warehouse import (
    MANIFEST,
    PUT_BACK,
    UserError,
    kept_path,
    number_after,
    printable,
    quoted,
    same,
    why_not_written,
)  # fmt: skip

FORMAT, VERSION = "bais raw", 1
LOCK = "lock"
# what is kept as files alone, and the columns by which these are told apart
APART = {"trials": ("study", "batch_id"), "calls": ("study",), "measurements": ("study",)}
# rows of a partition that wait for a row group: with long texts more of them would not fit into DuckDB's memory
ROW_GROUP = 50_000
# a disk takes names of 255 bytes, and signs that are not plain take three to twelve of them
NAME_OF_FOLDER = "if(length(url_encode({column})) <= 200, {column}, left({column}, 15) || ' ' || md5({column}))"
RECORD = "landing.folder"
ADDRESS = re.compile(r"\w{2,}:/")  # a path has one slash where an address has two


@dataclass(frozen=True)
class Folder:
    """A folder, and the id that says to which warehouse it belongs."""

    path: Path
    folder_id: str

    def loads(self) -> list[dict]:
        """Return what the manifest names, load by load, each file of it as it was written; nothing without manifest."""
        path = self.path / MANIFEST
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            if manifest["format"] != FORMAT:
                raise ValueError
            if manifest["format_version"] > VERSION:
                raise UserError(f"{printable(path)} was written by a later version of bais: upgrade")
            folder_id, loads = manifest["folder_id"], manifest["loads"]
            files = [file for load in loads for file in load["files"] if load["load_id"] and file["table"]]
            sizes = {self.path / file["file"]: file["bytes"] for file in files}
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UserError(f"{printable(path)} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError):
            raise UserError(
                f"{printable(path)} is not what bais wrote there: put it back from a copy, or name another folder"
            ) from None
        if folder_id != self.folder_id:
            raise UserError(f"{printable(self.path)} holds the trials of another warehouse: name another folder")
        for file, n_bytes in sizes.items():
            self._verify(file, n_bytes)
        return loads

    def _verify(self, path, n_bytes):
        try:
            size = path.stat().st_size
        except OSError as error:
            raise UserError(
                f"{printable(path)}, which the manifest of {printable(self.path)} names, cannot be read "
                f"({error.strerror}): put it back from a copy"
            ) from None
        if size != n_bytes:
            raise UserError(
                f"{printable(path)} has {size:,} bytes and was written with {n_bytes:,}: put it back from a copy"
            )

    def write_load(self, warehouse, tables: dict, new: dict[str, str]) -> None:
        """Write the rows that queries find, all or none, and with them what the warehouse still has of its own."""
        import duckdb

        def refusal(who):
            return f"{who} is importing into {printable(self.path)}: wait until it has finished, and try again"

        try:
            with alone(self.path / LOCK, refusal):
                loads = self.loads()
                if {load["load_id"] for load in loads} != set(folder_of(warehouse)[1]):
                    raise UserError(f"another warehouse has just written to {printable(self.path)}: try again")
                self.drop_unnamed(loads)
                load_id = uuid.uuid4().hex
                files = []
                for name, query in _with_own_rows(warehouse, tables, new).items():
                    files += self._write(warehouse, name, query, load_id)
                if files:
                    landed_at = datetime.now(UTC).isoformat(timespec="seconds")
                    self._name([*loads, {"load_id": load_id, "landed_at": landed_at, "files": files}])
        except (OSError, duckdb.IOException) as error:
            raise UserError(f"{printable(self.path)} cannot be written: {why_not_written(error, self.path)}") from None

    def _write(self, warehouse, name, query, load_id):
        """Write the rows of a query to files that nothing names, and return their names and sizes."""
        folder = self.path / name
        folder.mkdir(exist_ok=True)
        by = APART.get(name, ("study",))
        folders = ", ".join(f"{NAME_OF_FOLDER.format(column=column)} as by_{column}" for column in by)
        warehouse.execute(f"set partitioned_write_flush_threshold = {ROW_GROUP}")
        written = warehouse.execute(
            f"copy (select *, {folders} from ({query})) to {quoted(folder)} "
            f"(format parquet, compression zstd, row_group_size {ROW_GROUP}, append true, "
            f"partition_by ({', '.join(f'by_{column}' for column in by)}), write_partition_columns false, "
            f"filename_pattern '{load_id}_{{uuid}}', return_stats true)"
        ).fetchall()
        for file, *_ in written:
            _to_disk(Path(file))
        return [
            {"table": name, "file": str(Path(file).relative_to(self.path)), "rows": n_rows, "bytes": n_bytes}
            for file, n_rows, n_bytes, *_ in written
        ]

    def _name(self, loads):
        manifest = {"format": FORMAT, "format_version": VERSION, "folder_id": self.folder_id, "loads": loads}
        unfinished = self.path / f"{MANIFEST}.unfinished"
        unfinished.write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        _to_disk(unfinished)
        os.replace(unfinished, self.path / MANIFEST)
        _to_disk(self.path)

    def drop_unnamed(self, loads: list[dict]) -> None:
        """Remove the files of loads that came to nothing: those that `loads`, all that is named, do not have."""
        named = {self.path / file["file"] for load in loads for file in load["files"]}
        for path in self.path.glob("*/by_study=*/**/*.parquet"):
            if path not in named:
                path.unlink()

    def files(self, loads: list[dict]) -> dict[str, list[Path]]:
        """Return the files of each table that is kept apart; of none where nothing was loaded."""
        named = [file for load in loads for file in load["files"]]
        tables = APART if loads else ()
        return {name: [self.path / file["file"] for file in named if file["table"] == name] for name in tables}

    def views(self, loads: list[dict], tables: dict) -> dict[str, str]:
        """Return a query of the files for each table that is kept apart, with its columns in their order and types."""
        views = {}
        for name, files in self.files(loads).items():
            nulls = [f"null::{told['data_type']} as {column}" for column, told in tables[name].columns.items()]
            views[name] = f"select {', '.join(nulls)} where false"
            if files:
                views[name] += (
                    f" union all by name select * from read_parquet([{', '.join(map(quoted, files))}], "
                    "hive_partitioning = false, union_by_name = true)"
                )
        return views

    def taken(self, load_ids: list[str]) -> list[dict]:
        """Return those of its loads that a warehouse has taken in."""
        return [load for load in self.loads() if load["load_id"] in load_ids]


def folder_of(warehouse, database: str = "") -> tuple[Folder, list[str], str] | None:
    """Return where a warehouse keeps trials, which loads it has taken in, and what it made of them; None if nowhere."""
    if not kept_path(warehouse, database):
        return None
    ((path, folder_id, load_ids, digest),) = warehouse.execute(
        f"select path, folder_id, load_ids, digest from {_in(database)}{RECORD}"
    ).fetchall()
    return Folder(Path(path), folder_id), load_ids, digest


def keep_in(warehouse, to: Path) -> bool:
    """Have a warehouse keep in a folder, from the next load on, what grows with trials; return whether that is new."""
    if ADDRESS.match(str(to)):
        raise UserError(f"{printable(to)} is an address, and trials can be kept in a folder alone: name a folder")
    path = to.resolve()
    if re.search(r"[*?\[\]]", str(path)):
        raise UserError(
            f"{printable(path)} has one of *?[] in its name, which stand for other names: name another folder"
        )
    if not (kept := folder_of(warehouse)):
        _refuse_what_is_there(path)
    elif kept[0].path != path:
        _refuse_another_folder(*kept[:2], path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        raise UserError(f"{printable(path)} cannot be written: {why_not_written(error, path)}") from None
    _record(warehouse, Folder(path, kept[0].folder_id if kept else uuid.uuid4().hex), *(kept or ("", [], ""))[1:])
    return not kept


def _refuse_another_folder(folder, load_ids, path):
    """Let through the folder itself, which was moved or copied there with all that the warehouse has of it."""
    there = {load["load_id"] for load in Folder(path, folder.folder_id).loads()}
    if not load_ids or not there >= set(load_ids):
        raise UserError(
            f"this warehouse keeps its trials in {printable(folder.path)}: name that folder, or leave --to out"
        )


def _refuse_what_is_there(path):
    try:
        there = [entry.name for entry in path.iterdir() if not entry.name.startswith(LOCK)]
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise UserError(f"{printable(path)} is a file, or lies in one: name a folder") from None
    except OSError as error:
        raise UserError(f"{printable(path)} cannot be read: {error.strerror}") from None
    if MANIFEST in there:
        Folder(path, "").loads()
    if there:
        raise UserError(f"{printable(path)} is not empty: name another folder")


def let_go(warehouse) -> None:
    """Have a warehouse forget a folder to which nothing came, and leave it as empty as it was."""
    folder, load_ids, _ = folder_of(warehouse)
    if load_ids or folder.loads():
        return
    warehouse.execute(f"drop table {RECORD}")
    folder.drop_unnamed([])
    (folder.path / LOCK).unlink(missing_ok=True)
    for path in sorted((entry for entry in folder.path.rglob("*") if entry.is_dir()), reverse=True):
        with contextlib.suppress(OSError):
            path.rmdir()
    with contextlib.suppress(OSError):
        folder.path.rmdir()


def take_in(warehouse, tables: dict, number_rows: Callable) -> None:
    """Let a warehouse have every load of its folder, in a transaction that the caller has begun.

    Rows of a load that an older bais wrote have no number: `number_rows` gives them one.
    """
    if not (more := _more(warehouse, tables)):
        return
    folder, load_ids, loads, views = more
    _show(warehouse, views, tables)
    for load in loads:
        if load["load_id"] not in load_ids:
            _take_in_load(warehouse, folder, load, tables, number_rows)
    _record(warehouse, folder, [load["load_id"] for load in loads], _digest(views))


def _take_in_load(warehouse, folder, load, tables, number_rows):
    """Insert the rows of a load after all that is there: those that had numbers elsewhere keep their order."""
    ordered = [name for name, table in tables.items() if "ordinal" in table.columns]
    loaded = []
    for file in load["files"]:
        if (name := file["table"]) not in APART:
            rows = f"read_parquet({quoted(folder.path / file['file'])}, hive_partitioning = false)"
            if name in ordered:  # which a file of an older bais lacks
                rows = f"(select null::bigint as ordinal where false union all by name from {rows})"
            loaded.append((name, rows))
    ordinals = [f"select ordinal from {rows}" for name, rows in loaded if name in ordered]
    ((first,),) = warehouse.execute(
        f"select min(ordinal) from ({' union all '.join(ordinals) or 'select null as ordinal'})"
    ).fetchall()
    raised = 0 if first is None else number_after(warehouse, ordered) - first
    for name, rows in loaded:
        numbered = f" replace (ordinal + {raised} as ordinal)" if name in ordered else ""
        warehouse.execute(
            f"insert into raw.{name} by name select *{numbered} from {rows} as loaded "
            f"anti join raw.{name} as landed on {same('loaded', 'landed', tables[name].key)}"
        )
    if first is None:
        number_rows(warehouse)


def files_of(warehouse) -> dict[str, list[Path]]:
    """Return the files of each table of `raw` that a warehouse has as views of them."""
    if not (kept := folder_of(warehouse)):
        return {}
    folder, load_ids, _ = kept
    return folder.files(folder.taken(load_ids))


def is_behind(warehouse, tables: dict) -> bool:
    """Whether a warehouse has not taken in all of its folder, of which every file has to be there."""
    return _more(warehouse, tables) is not None


def _more(warehouse, tables):
    """Return what a warehouse has to take in, None if nothing."""
    if not (kept := folder_of(warehouse)):
        return None
    folder, load_ids, digest = kept
    loads = folder.loads()
    if missing := set(load_ids) - {load["load_id"] for load in loads}:
        is_there = (folder.path / MANIFEST).exists()
        what = f"lacks {len(missing):,} of its loads" if is_there else "is not there, or has no manifest"
        raise UserError(
            f"the folder {printable(folder.path)} in which this warehouse keeps its trials {what}: {PUT_BACK}"
        )
    views = folder.views(loads, tables)
    return None if _digest(views) == digest else (folder, load_ids, loads, views)


def bring_over(memory, tables: dict) -> None:
    """Let the warehouse attached as `built` see what the one attached as `landed` sees of its folder."""
    landed, built = folder_of(memory, "landed"), folder_of(memory, "built")
    if not landed or landed == built:
        return
    folder, load_ids, digest = landed
    _show(memory, folder.views(folder.taken(load_ids), tables), tables, "built")
    _record(memory, folder, load_ids, digest, "built")


def _with_own_rows(warehouse, tables, new):
    """Return the queries of what is new and, the first time, of what the warehouse has in tables of its own."""
    queries = dict(new)
    for name in APART:
        columns = ", ".join(tables[name].columns)
        if _kind(warehouse, name) == "table":
            own = f"select {columns} from raw.{name}"
            queries[name] = f"{own} union all by name {new[name]}" if name in new else own
    return queries


def _show(warehouse, views, tables, database=""):
    """Put views of the files in the place of tables, with the definitions of the columns."""
    for name, query in views.items():
        relation = f"{_in(database)}raw.{name}"
        warehouse.execute(f"drop {_kind(warehouse, name, database)} if exists {relation}")
        warehouse.execute(f"create view {relation} as {query}")
        warehouse.execute(f"comment on view {relation} is {quoted(tables[name].description)}")
        for column, declaration in tables[name].columns.items():
            warehouse.execute(f"comment on column {relation}.{column} is {quoted(declaration['description'])}")


def _kind(warehouse, name, database=""):
    is_view = warehouse.execute(
        "select 1 from duckdb_views() where (database_name, schema_name, view_name) = "
        f"({quoted(database) if database else 'current_database()'}, 'raw', $name)",
        {"name": name},
    ).fetchall()
    return "view" if is_view else "table"


def _record(warehouse, folder, load_ids, digest, database=""):
    warehouse.execute(f"create schema if not exists {_in(database)}landing")
    warehouse.execute(
        f"create or replace table {_in(database)}{RECORD} as select $path::varchar as path, "
        "$folder_id::varchar as folder_id, $load_ids::varchar[] as load_ids, $digest::varchar as digest",
        {"path": str(folder.path), "folder_id": folder.folder_id, "load_ids": load_ids, "digest": digest},
    )


def _digest(views):
    return hashlib.sha256(json.dumps(views).encode()).hexdigest() if views else ""


def _in(database):
    return f"{database}." if database else ""


def _to_disk(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
