"""What this machine has of what the project needs, and how to mend what it lacks."""

import os
import sys
from collections.abc import Iterator
from itertools import starmap
from pathlib import Path
from shutil import which
from typing import NamedTuple

from ingest.warehouse import (
    IS_CHECKOUT,
    PUBLIC_SCHEMAS,
    ROOT,
    UserError,
    free_bytes,
    home,
    own_folder,
    some,
    warehouse_path,
)

OK, NOTE, WARNING, MISSING = "ok", "note", "warning", "missing"
OLDEST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 2 << 30
KEYS = ("OPENAI_API_KEY", "OPENROUTER_API_KEY", "OPENAI_BASE_URL")
PROGRAMS = {
    "git": "to record which version asked",
    "make": "to install what is needed (`make run`) and for `make test`",
}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
MOST_NAMED = 5


class Finding(NamedTuple):
    """What was found of one thing; where it is not as it should be, also what to do."""

    state: str
    what: str
    said: str
    mend: str | None = None


def _here(what, text, state, otherwise, mend):
    """Say of a thing that it is here, or else how bad it is that it is not."""
    return (OK, what, text) if text else (state, what, otherwise, mend)


def findings() -> Iterator[Finding]:
    """Look at everything, one after the other."""
    own = own_folder()
    of_checkout = (_packages, _programs, _profile) if IS_CHECKOUT else ()
    of_warehouse = (_warehouse, _disk, _spool) if own or IS_CHECKOUT or os.environ.get("BAIS_WAREHOUSE") else ()
    of_folder = (_own_folder,) if own or not IS_CHECKOUT else ()
    for look in (_python, *of_checkout, *of_folder, *of_warehouse, _keys, _codex, _optional, _archive):
        yield from starmap(Finding, look())


def _python():
    version, oldest = (".".join(map(str, numbers)) for numbers in (sys.version_info[:3], OLDEST_PYTHON))
    text, is_new = f"Python {version}", sys.version_info[:2] >= OLDEST_PYTHON
    yield _here("python", is_new and text, MISSING, text, f"install Python {oldest} or newer, and run `make`")
    mend = "run `make run`, which makes .venv, and use .venv/bin/bais"
    environment = sys.prefix != sys.base_prefix and sys.prefix
    yield _here("environment", environment, WARNING, "no virtual environment", mend)


def _packages():
    from importlib.metadata import distributions

    from packaging.utils import canonicalize_name

    try:
        locked = locked_versions((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    except OSError:
        yield WARNING, "packages", "requirements.lock cannot be read", "check the files of the checkout out again"
        return
    installed = {canonicalize_name(package.name): package.version for package in distributions() if package.name}
    absent = [name for name in locked if name not in installed]
    other = [f"{name} {installed[name]}, not {v}" for name, v in locked.items() if installed.get(name, v) != v]
    mend = "run `rm .venv/installed`, then `make run`"
    if absent:
        yield MISSING, "packages", f"{len(absent)} of the lock not installed ({some(absent, MOST_NAMED)})", mend
    if other:
        yield WARNING, "packages", f"{len(other)} of another version than the lock's ({some(other, MOST_NAMED)})", mend
    if not absent and not other:
        yield OK, "packages", f"all {len(locked)} as requirements.lock has them"


def locked_versions(text: str) -> dict[str, str]:
    """Read the version of each package that a lock file of `uv pip compile` asks for on this machine."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    locked = {}
    for line in text.splitlines():
        if not line.strip() or line[0] in " #-":
            continue
        requirement = Requirement(line.split(" --hash")[0].rstrip(" \\"))
        if not requirement.marker or requirement.marker.evaluate():
            locked[canonicalize_name(requirement.name)] = next(iter(requirement.specifier)).version
    return locked


def _own_folder():
    """Look at a folder of one's own: what it adds to what comes with bais, and what it takes the place of."""
    from bais import project
    from ingest.land.seeds import own_files
    from ingest.studies.study import own_studies, refuse_two_files

    try:
        own = home()
        project.update()
        refuse_two_files(own_studies())
    except UserError as error:
        yield MISSING, "folder", str(error)
        return
    yield OK, "folder", str(own)
    yield OK, "pages", str(ROOT / "docs" / "README.md")
    for what, added, replaced in _own_parts(own):
        told = ((added, "more"), (replaced, "in place of bais's"))
        if said := [f"{len(names)} {how} ({some(names, MOST_NAMED)})" for names, how in told if names]:
            yield NOTE if replaced else OK, what, "; ".join(said)
    for path in sorted({*own.glob("*.csv")} - {*own_files(own).values()}):
        yield NOTE, path.name, "nothing reads it: it is not called like a seed that takes rows of one's own"


def _own_parts(own):
    """Yield each part of a folder of one's own with the names that it adds to those of bais, and those it replaces."""
    from bais import project
    from ingest.land.seeds import key_in_words, merge, own_files
    from ingest.paradigms import paradigm
    from ingest.studies import study

    for name, path in own_files(own).items():
        rows = merge(name, path)
        yield path.name, [*map(key_in_words, rows.added)], [*map(key_in_words, rows.replaced)]
    for room, shipped in (("studies", study.FOLDER), ("paradigms", paradigm.FOLDER)):
        names = sorted(path.stem for path in (own / room).glob("*.y*ml"))
        there = {path.stem for path in shipped.glob("*.yaml")}
        yield room, [name for name in names if name not in there], [name for name in names if name in there]
    yield "models", [path.stem for path in project.own_models(own)], []
    yield "claims", [path.name for path in project.papers()], []


def _programs():
    for name, why in PROGRAMS.items():
        mend = "install it with this system's package manager"
        yield _here(name, which(name), WARNING, f"not found; it is needed {why}", mend)


def _profile():
    folder = os.environ.get("DBT_PROFILES_DIR")
    path, link = Path(folder or ROOT / "profiles") / "profiles.yml", ROOT / "profiles.yml"
    if not path.is_file():
        mend = "unset DBT_PROFILES_DIR, or name a folder that has one" if folder else "check it out again"
        yield MISSING, "dbt profile", f"there is no {path}", mend
        return
    yield OK, "dbt profile", str(path)
    if not link.is_file():
        yield NOTE, "dbt profile", f"{link} does not work here", "set DBT_PROFILES_DIR=profiles for plain `dbt build`"


def _warehouse():
    from bais.warehouse import opened, public_tables

    path = warehouse_path()
    if not path.exists():
        mend = "collect or import some trials (`bais collect simulated`), then run `bais build`"
        yield WARNING, "warehouse", f"there is none at {path}", mend
        return
    try:
        with opened() as warehouse:
            there = {f"{schema}.{name}" for schema, name, _ in public_tables(warehouse)}
    except UserError as error:
        yield WARNING if "in use by" in str(error) else MISSING, "warehouse", str(error)
        return
    text, modelled = f"{path} ({path.stat().st_size / (1 << 20):.0f} MiB)", modelled_tables()
    if lacking := sorted(modelled - there):
        of_another = f"{path} is of another version: it lacks {some(lacking, MOST_NAMED)}"
        yield WARNING, "warehouse", of_another if there else f"{text} has no marts yet", "run `bais build`"
    else:
        yield OK, "warehouse", f"{text}, {len(modelled)} public tables"
    if not os.access(path, os.W_OK):
        yield WARNING, "warehouse", f"{path} cannot be written", "change its permissions, or set BAIS_WAREHOUSE"
    yield from _folder()


def _folder():
    """Look for the files of trials, where the warehouse keeps them in a folder."""
    from bais.warehouse import opened
    from ingest.land.folder import folder_of, is_behind
    from ingest.land.raw import TABLES

    with opened() as warehouse:
        if kept := folder_of(warehouse):
            try:
                is_behind(warehouse, TABLES)
                yield OK, "trials", f"in {kept[0].path}"
            except UserError as error:
                yield MISSING, "trials", str(error)


def modelled_tables() -> set[str]:
    """Return the public tables of a warehouse of this version, as `schema.table`, by the files of their models."""
    from ingest.land.models import model_relations

    relations = model_relations().values()
    return {relation for relation in relations if relation.partition(".")[0] in PUBLIC_SCHEMAS}


def _disk():
    folder = _nearest(warehouse_path().parent)
    free = free_bytes(folder)
    text = f"{free / (1 << 30):.1f} GiB free at {folder}"
    mend = f"make room: a build of a large archive takes {LEAST_FREE_BYTES >> 30} GiB"
    yield _here("disk", free >= LEAST_FREE_BYTES and text, WARNING, text, mend)
    if not os.access(folder, os.W_OK):
        yield MISSING, "disk", f"{folder} cannot be written", "change its permissions, or set BAIS_WAREHOUSE"


def _nearest(folder):
    return next(above for above in (folder, *folder.parents) if above.exists())


def _spool():
    from ingest.ask.spool import read_state, spool_folder
    from ingest.studies.study import named_studies

    shipped = named_studies()
    folder = spool_folder("any").parent
    if not os.access(_nearest(folder), os.W_OK):
        yield MISSING, "spool", f"{folder} cannot be written", "paid answers go there: change its permissions"
        return
    studies = sorted({path.parent.name for path in folder.glob("*/*.jsonl")})
    yield OK, "spool", f"{folder}, {len(studies)} stud{'y' if len(studies) == 1 else 'ies'} collected"
    for study in studies:
        try:
            states = [read_state(path) for path in sorted((folder / study).glob("*.jsonl"))]
        except OSError as error:
            yield WARNING, "spool", f"{study} cannot be read: {error.strerror}", "change its permissions"
            continue
        n_open, n_junk = sum(len(state.open_calls) for state in states), sum(len(state.junk) for state in states)
        if n_open:
            text = f"{study}: {n_open} trial{'' if n_open == 1 else 's'} begun and not finished"
            named = f"{study}`" if study in shipped else f"FILE` with the file of the study {study}"
            yield NOTE, "spool", text, f"`bais collect {named} goes on where it stopped"
        if n_junk:
            yield WARNING, "spool", f"{study}: {n_junk} lines are no record", "they are kept, and count for nothing"


def _keys():
    is_set = [name for name in KEYS if os.environ.get(name)]
    yield from ((OK, "key", f"{name} is set") for name in is_set)
    if not is_set:
        text = "no key is set, so that only simulated respondents, Codex and recorded answers are at hand"
        yield NOTE, "key", text, f"set {' or '.join(KEYS[:2])} to ask LLMs"


def _codex():
    from ingest.providers.codex import codex_command, installation

    try:
        yield OK, "codex", codex_command()
    except UserError:
        has_npm = which("npm") and which("node")
        mend = f"run {installation()}" if has_npm else "install node and npm, then run `npm install`"
        yield NOTE, "codex", "not here; `bais run` without --model would ask it", mend


def _optional():
    import subprocess

    from ingest.measuring.minilm import MiniLm

    rscript, browser = which("Rscript"), next(filter(None, map(which, BROWSERS)), None)
    if not rscript:
        yield NOTE, "R", "not here; only `make oracle` (mixed models against lme4) needs it", "install R and lme4"
    elif subprocess.run([rscript, "-e", "library(lme4)"], capture_output=True, timeout=60).returncode:
        yield NOTE, "R", "without lme4, which only `make oracle` needs", "in R: install.packages('lme4')"
    else:
        yield OK, "R", f"{rscript}, with lme4"
    try:
        MiniLm()
        yield OK, "minilm", "here, with its weights"
    except UserError:
        yield NOTE, "minilm", "not here; only `bais measure --instrument minilm` needs it", "`make embed` in a checkout"
    yield _here("browser", browser, NOTE, "no Chromium; only the tests of the report need it", "install chromium")


def _archive():
    folder = Path(os.environ.get("BAIS_SHARED") or ROOT.parent / "shared").absolute() / "data" / "bais_recorded"
    lacking = NOTE, "the recorded archive is not here", "fetch it with `bais import --download`"
    yield _here("archive", folder.is_dir() and str(folder), *lacking)
