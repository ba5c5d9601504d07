"""The dbt project that `bais` builds: the checkout, or one below a folder of one's own, made of what bais has and that.

dbt writes what it compiled over a model whose path is absolute: so it gets copies of what comes with bais.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from analysis.claims import own_folders
from ingest.warehouse import OWN_SCHEMA, ROOT, WORK, UserError, home, own_folder, printable

COPIED = ("models", "macros", "tests/models", "profiles", "selectors.yml")
SETTINGS = "dbt_project.yml"
# of models of one's own; those in a folder that bais has too, such as models/marts/, are as its others
OWN_MODELS = {
    "+schema": OWN_SCHEMA, "+tags": [OWN_SCHEMA], "+materialized": "table",
    "+persist_docs": {"relation": True, "columns": True},
}  # fmt: skip


def folder() -> Path:
    """Return the folder of the dbt project, as it was last made."""
    return own / WORK if (own := own_folder()) else home()


def update() -> Path:
    """Return the folder of the dbt project, which in a folder of one's own is brought up to date first."""
    if own := own_folder():
        from ingest.land.seeds import seeds_folder

        seeds_folder()
        settings = _settings(own)
        for name in COPIED:
            _copy(ROOT / name, folder() / name)
        _write(folder() / SETTINGS, settings)
    return folder()


def own_models(own: Path) -> list[Path]:
    """Return the models in a folder of one's own."""
    return sorted(path for path in (own / "models").rglob("*") if path.suffix in (".sql", ".py"))


def sources() -> list[Path]:
    """Return the files and folders that are one's own among what a build is made of."""
    return [*([own / "models"] if (own := own_folder()) else ()), *papers()]


def papers() -> list[Path]:
    """Return the folders of papers of one's own: those below `claims/`, and those that `BAIS_PAPERS` names."""
    below = (own / "claims").glob("*/") if (own := own_folder()) else ()
    return [*sorted(below), *own_folders()]


def _settings(own) -> str:
    """Return what the project says of itself: as bais's does, and where models of one's own are made."""
    import yaml

    from ingest.land.models import sql_files
    from ingest.land.seeds import seeds

    taken = {path.stem for path in (ROOT / "models").rglob("*.py")} | sql_files().keys() | seeds().keys()
    settings = yaml.safe_load((ROOT / SETTINGS).read_text(encoding="utf-8"))
    settings["model-paths"] = ["models", "../models"]
    for path in own_models(own):
        if path.stem in taken:
            raise UserError(f"{printable(path)}: bais has a model or seed {path.stem}: give yours another name")
        first = path.relative_to(own / "models").with_suffix("").parts[0]
        settings["models"]["bais"].setdefault(first, dict(OWN_MODELS))
    return yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)


def _copy(source, target):
    """Bring a file or folder to the state of another; what has not changed stays, so that dbt need not read it anew."""
    files = {path.relative_to(source): path for path in _files(source)}
    for path in _files(target):
        if path.relative_to(target) not in files:
            path.unlink()
    for name, path in files.items():
        there, stat = target / name, path.stat()
        if not there.exists() or (there.stat().st_mtime_ns, there.stat().st_size) != (stat.st_mtime_ns, stat.st_size):
            there.parent.mkdir(parents=True, exist_ok=True)
            written = there.with_name(f".{there.name}.{os.getpid()}")
            shutil.copyfile(path, written)
            os.utime(written, ns=(stat.st_atime_ns, stat.st_mtime_ns))
            written.replace(there)


def _files(path) -> Iterator[Path]:
    paths = path.rglob("*") if path.is_dir() else [path]
    return (path for path in paths if path.is_file() and "__pycache__" not in path.parts)


def _write(path, text):
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        written = path.with_name(f".{path.name}.{os.getpid()}")
        written.write_text(text, encoding="utf-8")
        written.replace(path)
