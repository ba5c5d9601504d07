"""`bais versions`: what was imported again and again, what each time brought, and what of it is published."""

import itertools
from operator import itemgetter

import click

from bais.options import json_option
from bais.sources import changed_files, known_versions
from bais.terminal import fixed, say, say_json, say_rows, similar
from bais.warehouse import opened
from ingest.warehouse import UserError, printable

OF_A_SOURCE = itemgetter("study", "archive", "source_name")
MOST_NAMED = 20


@click.command()
@click.argument("source", required=False, metavar="[SOURCE]", help="only this one, with the files that changed")
@json_option(", with every id and every batch")
def versions(source: str | None, as_json: bool) -> None:
    """List the versions of each source."""
    with opened() as warehouse:
        rows = known_versions(warehouse)
        if source is not None:
            rows = [version | {"files": changed_files(warehouse, version)} for version in _of_source(rows, source)]
    if as_json:
        say_json(rows)
        return
    if not rows:
        say("No version of a source is kept yet: `bais import` keeps one of each folder that it reads.")
    for i, (named, group) in enumerate(itertools.groupby(rows, OF_A_SOURCE)):
        if i:
            print()
        _say_source(*named, list(group))


def _of_source(versions, name):
    """Return the versions of the source that is called so, begins so, or has a version that does."""
    ways = (
        lambda version: version["source_name"] == name,
        lambda version: name and version["source_name"].startswith(name),
        lambda version: name and (version["label"] == name or version["version_id"].startswith(name)),
    )
    for is_meant in ways:
        if meant := {OF_A_SOURCE(version) for version in versions if is_meant(version)}:
            return [version for version in versions if OF_A_SOURCE(version) in meant]
    names = sorted({version["source_name"] for version in versions})
    there = ", ".join(map(printable, names)) or "none: import some recorded trials or scores first"
    raise UserError(f"there is no source {printable(name)}{similar(name, names, True)}; there is {there}")


def _say_source(study, archive, name, versions):
    say(f"{name} (study {study}, format {archive.replace('_', '-')})")
    counted = ("files", "new", "unchanged", "changed", "gone")
    rows = []
    for version in versions:
        imported = fixed(version["imported_at"], "%Y-%m-%d %H:%M")
        counts = (version[f"n_{noun}"] for noun in counted)
        rows.append((version["version"], imported, *counts, _published(version), "; ".join(_said(version))))
    heads = ["version", "imported", *counted, "published", "what it is"]
    say_rows("table", heads, rows, null="")
    for version in versions:
        if version.get("files") and version["compared_with"]:
            _say_files(version)


def _published(version):
    """Say whether the version is published, and which of its vignettes is not."""
    if version["is_older"]:
        return "no"
    held_back = [f"{batch['vignette']} {_why_not(batch)}" for batch in version["batches"] if not batch["is_published"]]
    if not held_back:
        overtaken = version["is_overtaken"]
        return "no: later versions have all of it otherwise, or not at all" if overtaken else "yes"
    return f"{'no' if len(held_back) == len(version['batches']) else 'not all'}: {', '.join(held_back)}"


def _why_not(batch):
    return "is not audited" if batch["verdict"] is None else "is rejected" if batch["act"] == "reject" else "failed"


def _said(version):
    """Say what a version is among those of its source, and what it displaced."""
    if version["is_newest"]:
        yield "newest"
    if version["is_older"]:
        yield "imported as an older one"
    if version["is_complete"]:
        yield "the whole of its source"
    if n := version["n_superseded"]:
        yield f"takes the place of {n:,} {'score' if version['is_scored'] else 'trial'}{'' if n == 1 else 's'}"
    if n := version["n_withdrawn"]:
        yield f"{n:,} that it lacks left the public tables"


def _say_files(version):
    print()
    say(f"{version['version']}: files that are not as they were")
    for file in version["files"][:MOST_NAMED]:
        was, n_before, n = f", which was {file['was']}" if file["was"] else "", file["n_lines_before"], file["n_lines"]
        before = "not there before" if n_before is None else f"{n_before} lines before"
        counted = f"{n} lines in all" if n == n_before else f"{before}, {'not there' if n is None else n} now"
        say(f"{file['change']:<8} {file['path']}{was} ({counted})", indent="  ")
    if (left := len(version["files"]) - MOST_NAMED) > 0:
        say(f"and {left:,} more; --json lists them", indent="  ")
