"""bais as it is installed from a wheel, away from any checkout: what it holds, and the page that begins with it."""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ingest.warehouse import ROOT
from tests.test_how_to import steps

PAGE = "keep-a-folder-of-your-own"
PACKAGES = ("analysis", "bais", "ingest")
BESIDE = (
    "claims", "docs/how-to", "macros", "models", "profiles", "seeds", "tests/models", "dbt_project.yml",
    "selectors.yml",
)  # fmt: skip
SOURCES = (*PACKAGES, *BESIDE, "docs", "pyproject.toml", "README.md", "LICENSE")
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
KINDS = {".csv", ".css", ".html", ".js", ".md", ".py", ".sha256", ".sql", ".toml", ".yaml", ".yml", ""}


def files_of(folder, *names):
    """The files of a project that are not made by running it."""
    paths = {path for name in names for path in (folder / name, *(folder / name).rglob("*")) if path.is_file()}
    return {path.relative_to(folder) for path in paths if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder that holds what a wheel installs."""
    folder = tmp_path_factory.mktemp("wheel")
    for path in files_of(ROOT, *SOURCES):
        (folder / "source" / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, folder / "source" / path)
    command = [sys.executable, "-c", BUILD, folder]
    subprocess.run(command, cwd=folder / "source", check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "installed")
    return folder / "installed"


def test_a_wheel_holds_every_file_of_the_packages_and_of_what_they_build(installed):
    expected = files_of(ROOT, *PACKAGES) | {"bais/shipped" / path for path in files_of(ROOT, *BESIDE)}
    hidden = {path for path in expected if path.name.startswith(".")}
    assert {path.suffix for path in expected - hidden} <= KINDS
    assert expected - hidden <= files_of(installed, *PACKAGES)


class Machine:
    """A machine with nothing but the packages: commands run in a folder outside of every checkout."""

    def __init__(self, installed, folder):
        self.folder = folder
        others = {name: value for name, value in os.environ.items() if not name.startswith("BAIS_")}
        self.environment = others | {"PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, *command):
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True)

    def bais(self, *words):
        return self.run(sys.executable, "-m", "bais", *words)


@pytest.mark.slow("builds a wheel and an environment")
def test_packages_come_from_the_wheel_and_without_a_folder_nothing_is_kept(installed, tmp_path):
    machine = Machine(installed, tmp_path)
    places = "import analysis.tables as a, ingest.warehouse as i; print(a.SHIPPED, i.ROOT, i.IS_CHECKOUT)"
    shipped = installed / "bais" / "shipped"
    assert machine.run(sys.executable, "-c", places).stdout == f"{shipped} {shipped} False\n"
    done = machine.bais("collect", "simulated")
    assert (done.returncode, "`bais init NAME` makes a folder" in done.stderr) == (2, True)
    assert machine.bais("doctor").returncode == 2
    assert machine.bais("words").returncode == 0
    assert not [*tmp_path.iterdir()]


def hashes_of(folder):
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.slow("a whole build")
def test_the_page_works_as_written_and_nothing_is_written_where_bais_is_installed(installed, tmp_path):
    machine, before, printed = Machine(installed, tmp_path), hashes_of(installed), ""
    for path in [*installed.rglob("*"), installed]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        for step, *of in steps(PAGE):
            if step == "run" and of[0].startswith("cd "):
                machine.folder /= shlex.split(of[0])[1]
            elif step == "run":
                done = machine.bais(*shlex.split(of[0].removeprefix("bais ")))
                assert done.returncode == of[1], f"{of[0]}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
                printed = done.stdout
            elif step == "prints":
                assert " ".join(of[0].split()) in " ".join(printed.split()), printed
            else:
                path = machine.folder / of[0]
                assert path.exists() == (step == "append")
                with path.open("a", encoding="utf-8") as file:
                    file.write(of[1])
        for words in (["report"], ["plan", "judicial"], ["claims"], ["docs"], ["build"]):
            assert machine.bais(*words).returncode == 0, words
        assert Path(machine.folder, "data", "site", "index.html").is_file()
        assert hashes_of(installed) == before
    finally:
        for path in [installed, *installed.rglob("*")]:
            path.chmod(0o755)
