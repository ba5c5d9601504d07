"""Which tables are older than what they are made of, by what dbt recorded in the warehouse of its runs.

`macros/record_run.sql` writes the record at the end of each run: by the results of that run, in the file that it built.
"""

import contextlib
import hashlib
from collections.abc import Iterable
from graphlib import TopologicalSorter
from pathlib import Path

import click

from bais.terminal import complain
from ingest.land.seeds import place_of, seed_file
from ingest.warehouse import READ_SCHEMAS, UserError, connect, printable, some

RECORD = "intermediate.nodes"
MOST_NAMED = 3
SAID = "bais.age"


def n_runs(warehouse) -> int:
    """Return how many runs of dbt the warehouse knows."""
    query = f"select coalesce(max(made_in), 0) from {RECORD}"
    return warehouse.execute(query).fetchall()[0][0] if _has_record(warehouse) else 0


def n_runs_of(path: Path) -> int:
    """Return how many runs of dbt a warehouse knows that may not be there yet."""
    if not path.exists():
        return 0
    with contextlib.closing(connect(path)) as warehouse:
        return n_runs(warehouse)


def is_whole(warehouse, since: int) -> bool:
    """Whether the last run, one since those counted before, made every table and passed every test in this file."""
    last = n_runs(warehouse)
    left_out = f"select 1 from {RECORD} where kind != 'ephemeral' and made_in is distinct from $last limit 1"
    return last > since and not warehouse.execute(left_out, {"last": last}).fetchall()


def mark(warehouse, nodes: Iterable[str]) -> None:
    """Record that models were made, in a run of their own: by Spark, of which dbt tells this file nothing."""
    if _has_record(warehouse):
        warehouse.execute(
            f"update {RECORD} set made_in = $run, changed_in = $run where list_contains($nodes, node)",
            {"run": n_runs(warehouse) + 1, "nodes": list(nodes)},
        )


def old(warehouse) -> tuple[str, bool] | None:
    """Say which public tables are older than what they are made of and since when, and whether it was landed since.

    None if none is, or if dbt has recorded nothing.
    """
    if not _has_record(warehouse):
        return None
    rows = warehouse.execute(f"select node, kind, relation, inputs, content, made_in, changed_in from {RECORD}")
    names = [column[0] for column in rows.description]
    nodes = {row[0]: dict(zip(names, row, strict=True)) for row in rows.fetchall() if row[1] != "test"}
    since = {name for name, node in nodes.items() if _has_changed(warehouse, node)}
    relations = sorted(nodes[name]["relation"] for name in _old(nodes, since))
    public = [relation for relation in relations if relation.partition(".")[0] in READ_SCHEMAS]
    if not public:
        return None
    are, they, them = ("table is", "it is", "it") if len(public) == 1 else ("tables are", "they are", "them")
    changed = some(sorted(_source_of(nodes[name]) for name in since), MOST_NAMED)
    why = f"{printable(changed)} changed after" if since else f"dbt did not come to {them} in"
    sentence = (
        f"{len(public):,} public {are} older than what {they} made of ({some(public, MOST_NAMED)}), "
        f"since {why} the last build"
    )
    return sentence, bool(since)


def say_if_old(warehouse) -> None:
    """Say in one line, once for a command, which of the tables that it may read are old."""
    context = click.get_current_context(silent=True)
    if context is None or context.find_root().meta.get(SAID):
        return
    context.find_root().meta[SAID] = True
    if finding := old(warehouse):
        complain(f"{finding[0]}: run `bais build`{'' if finding[1] else ', and mend what it names'}")


def _has_record(warehouse):
    query = "select schema_name || '.' || table_name from duckdb_tables() where database_name = current_database()"
    return (RECORD,) in warehouse.execute(query).fetchall()


def _has_changed(warehouse, node):
    """Whether what was landed, or a seed, is another now than when dbt last saw it."""
    if node["content"] is None:
        return False
    if node["kind"] == "source":
        return str(warehouse.execute(f"select count(*) from {node['relation']}").fetchall()[0][0]) != node["content"]
    with contextlib.suppress(OSError, UserError):
        # as dbt hashes a seed
        text = seed_file(node["relation"].partition(".")[2]).read_bytes().decode().strip()
        return hashlib.sha256(text.encode()).hexdigest() != node["content"]
    return False


def _source_of(node):
    """Return what a person changes: a table of `raw`, or the file of a seed."""
    return place_of(node["relation"].partition(".")[2]) if node["kind"] == "seed" else node["relation"]


def _old(nodes, since):
    """Return the models that were made before what they read, or that read such a one; a view is as its inputs are."""
    inputs = {name: [source for source in node["inputs"] if source in nodes] for name, node in nodes.items()}
    latest, are_old = {}, set()
    for name in TopologicalSorter(inputs).static_order():
        node, newest = nodes[name], max((latest[source] for source in inputs[name]), default=0)
        is_view = node["kind"] in ("view", "ephemeral")
        changed_in = float("inf") if name in since else node["changed_in"] or 0
        latest[name] = max(changed_in, newest) if is_view else changed_in
        is_made = node["made_in"] is not None and node["kind"] != "ephemeral"
        if is_made and ((not is_view and newest > node["made_in"]) or are_old & {*inputs[name]}):
            are_old.add(name)
    return are_old
