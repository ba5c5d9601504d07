"""`bais init`: a folder of one's own, which is there once all of it is."""

import shlex
import shutil
from pathlib import Path

import click

from bais.options import PATH
from bais.terminal import say
from ingest.warehouse import SETTINGS, UserError, printable

TEMPLATE = Path(__file__).with_name("templates") / "folder"
SEEDS = ("llms", "prices", "techniques")
FILES = (".gitignore", "studies/first.yaml", SETTINGS)  # the last one makes the folder count
ROOMS = ("studies", "paradigms", "claims", "models", "data")


@click.command()
@click.argument("name", metavar="NAME", type=PATH)
def init(name: Path) -> None:
    """Make a folder of one's own, and say what to do in it; one that holds anything is left as it is."""
    folder = name.absolute()
    if why := _refusal(folder):
        raise UserError(f"{printable(folder)} {why}: name a folder that is not there yet")
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(beside, ignore_errors=True)  # of one that was killed
    try:
        _write(beside)
        beside.replace(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    if above := next((path for path in folder.parents if (path / SETTINGS).is_file()), None):
        say(f"It lies in another one, {printable(above)}, which counts in here no more.")
    say(f"{printable(folder)} is a folder of your own. Its first study is simulated, and costs nothing:")
    print(f"  cd {shlex.quote(printable(name))}\n  bais collect first\n  bais build\n  bais recommend")


def _refusal(folder):
    """Say why nothing can be made at a path, or return None."""
    if not folder.exists():
        return None
    if not folder.is_dir():
        return "is a file"
    if any(folder.iterdir()):
        return "is not empty"
    return "is where you are" if folder.samefile(Path.cwd()) else None


def _write(folder):
    from ingest.land.seeds import seeds

    for room in ROOMS:
        (folder / room).mkdir(parents=True)
    for seed in SEEDS:
        (folder / f"{seed}.csv").write_text(",".join(seeds()[seed].types) + "\n", encoding="utf-8")
    for file in FILES:
        shutil.copyfile(TEMPLATE / file.lstrip("."), folder / file)
