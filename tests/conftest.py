"""Warehouses for the tests, each in a folder of its own; the checkout's own warehouse is never touched."""

import csv
import functools
import gc
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from contextlib import closing, redirect_stderr, redirect_stdout
from itertools import chain
from pathlib import Path

import duckdb
import pytest
from filelock import FileLock
from hypothesis import settings

from analysis.provenance import hash_of_files
from bais import unchanged
from bais.main import main as bais
from ingest.run import main
from ingest.warehouse import sha256_of
from tests.tools.golden import Golden, drop_files, is_writing, path_of, title_of, titles_asked
from tests.tools.stand_ins import load_without_dlt, thresholds_without_great_expectations

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("BAIS_SHARED") or ROOT.parent / "shared").resolve()
RECORDED = SHARED / "data" / "bais_recorded"
GOLDEN = ROOT / "target" / "golden"  # warehouses that are built once, of this many states of the code
MOST_GOLDEN = 3
DURATIONS = ROOT / "logs" / "durations.csv"
SECONDS = {False: 0.2, True: 4}  # that a test took on average, one that is slow and another


# a suite that is started in the background ignores Ctrl-C, and so would each program that a test starts and interrupts
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# a tenth of what a user's build draws: enough for everything that is asserted
os.environ.setdefault("BAIS_RESAMPLES", "1000")

# the same examples in every run; `pytest --hypothesis-profile=explore` looks further
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=40)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("steady")


PASSED = pytest.StashKey[bool]()
LEFT_OUT = pytest.StashKey[set]()  # the files of which not all tests run
PHASES = ("setup", "call", "teardown")


def pytest_ignore_collect(collection_path, config):
    """Leave out what needs Spark and Java, but where its folder is named, as `make test-spark` does."""
    is_named = any(Path(argument).name == "spark" or "tests/spark" in argument for argument in config.args)
    return True if collection_path == ROOT / "tests" / "spark" and not is_named else None


def pytest_deselected(items):
    """Note the files of which some tests do not run, though they take golden texts."""
    for item in items:
        if "golden" in item.fixturenames:
            item.config.stash.setdefault(LEFT_OUT, set()).add(item.path)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Give each worker the same durations to sort by, whatever other runs write."""
    node.workerinput["durations"] = last_durations()


@pytest.hookimpl(trylast=True)  # when what is not asked for is left out
def pytest_collection_modifyitems(config, items):
    """Begin with what took longest in the last run, or likely takes, and before it with a reader of each golden one.

    So two workers build the golden warehouses side by side, and no long file is left to one of them at the end. Where
    golden texts are written, what asks for them runs alone.
    """
    if is_writing():
        drop_files()
        others = [item for item in items if "golden" not in item.fixturenames]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if "golden" in item.fixturenames]
    files = defaultdict(list)
    for item in items:
        files[item.path].append(item)
    durations = getattr(config, "workerinput", {}).get("durations") or last_durations()
    took = {path: sum(SECONDS[bool(item.get_closest_marker("slow"))] for item in of) for path, of in files.items()}
    took |= {ROOT / path: sum(phases) for path, phases in durations.items()}
    order = sorted(files, key=lambda path: (-took[path], path))
    first = []
    for name in ("recorded", "simulated"):
        readers = (path for path in order if any(name in item.fixturenames for item in files[path]))
        first += [path for path in readers if path not in first][:1]
    items[:] = [item for path in dict.fromkeys([*first, *order]) for item in files[path]]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Note which test has passed, for what is looked at after it."""
    report = yield
    if call.when == "call":
        item.stash[PASSED] = report.passed
    return report


@pytest.fixture
def golden(request, tmp_path, tmp_path_factory):
    """From what was printed, and what it has to name, to whether these are the words kept in `tests/golden`."""
    folders = {tmp_path: "<folder>", tmp_path_factory.getbasetemp(): "<folders>", ROOT: "<bais>"}
    held = Golden(path_of(request.path), title_of(request.node.name), {str(of): name for of, name in folders.items()})
    yield held
    order = [title_of(item.name) for item in request.session.items if item.path == request.path]
    config = request.config
    is_whole = request.path not in config.stash.get(LEFT_OUT, ()) and not any("::" in place for place in config.args)
    held.end(order, titles_asked(request.path), is_whole, request.node.stash.get(PASSED, False))


@pytest.fixture(autouse=True, scope="module")
def garbage():
    """Leave what is there by now out of each later collection of garbage: statsmodels and hypothesis ask for many."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish():
    """Have what was left out freed as ever."""
    gc.unfreeze()


def last_durations():
    """Return the seconds that each file took when it last ran, as logs/durations.csv has them: by file, by phase."""
    try:
        with DURATIONS.open(newline="") as file:
            return {row["file"]: [float(row[phase]) for phase in PHASES] for row in csv.DictReader(file)}
    except (OSError, ValueError, TypeError, KeyError):  # it is not there, or cut off
        return {}


def pytest_terminal_summary(terminalreporter, config):
    """Say which files took longest, by phase, and write these and what others took before to logs/durations.csv."""
    seconds = defaultdict(Counter)
    for report in chain.from_iterable(terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            seconds[report.nodeid.partition("::")[0]][report.when] += report.duration
    took = {path: [by_phase[phase] for phase in PHASES] for path, by_phase in seconds.items()}
    known = {path: phases for path, phases in (last_durations() | took).items() if (ROOT / path).exists()}
    DURATIONS.parent.mkdir(exist_ok=True)
    written = DURATIONS.with_suffix(f".{os.getpid()}")
    with written.open("w", newline="") as file:
        csv.writer(file).writerows(
            [("file", *PHASES), *([path, *(f"{phase:.2f}" for phase in phases)] for path, phases in known.items())]
        )
    written.replace(DURATIONS)
    if len(took) > 1:
        terminalreporter.section("seconds by file, all of them in logs/durations.csv")
        longest = sorted(took.items(), key=lambda row: -sum(row[1]))[:9]
        for path, phases in [("all files", [sum(phase) for phase in zip(*took.values(), strict=True)]), *longest]:
            by_phase = ", ".join(f"{phase} {of:.0f}" for phase, of in zip(PHASES, phases, strict=True))
            terminalreporter.write_line(f"{sum(phases):7.0f}  {path} ({by_phase})")


def golden_folder(name, made_from):
    """Return the folder of what is made from something that this text tells apart; some older ones are forgotten."""
    GOLDEN.mkdir(parents=True, exist_ok=True)
    folder = GOLDEN / f"{name}-{hashlib.sha256(made_from.encode()).hexdigest()[:16]}"
    with FileLock(GOLDEN / f"{name}.lock"):
        older = sorted((of for of in GOLDEN.glob(f"{name}-*/") if of != folder), key=lambda of: of.stat().st_mtime)
        for path in older[: 1 - MOST_GOLDEN]:
            shutil.rmtree(path, ignore_errors=True)
    return folder


@functools.cache
def server():
    """The process that runs dbt for this one; it ends with it."""
    script = ROOT / "tests" / "tools" / "dbt_server.py"
    parsed_from = hash_of_files(ROOT / "selectors.yml", script) + unchanged.source() + sys.version
    command = [sys.executable, script, golden_folder("parsed", parsed_from)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


class Warehouse:
    """A warehouse file and the commands of the project, run on it as a user runs them."""

    def __init__(self, folder):
        self.path = folder / "warehouse.duckdb"
        self.environment = {
            **os.environ,
            "BAIS_WAREHOUSE": str(self.path),
            "DBT_TARGET_PATH": str(folder / "target"),
            "DBT_LOG_PATH": str(folder / "logs"),
            "DBT_LOG_LEVEL_FILE": "none",
            "DBT_WRITE_JSON": "false",  # the whole project as text, twice in each build: nobody reads it
        }

    def dbt(self, *arguments):
        """Run dbt, which must succeed, without starting and parsing anew, and return what it printed."""
        output = self.path.with_suffix(".dbt-output")
        server().stdin.write(
            json.dumps({"arguments": arguments, "environment": self.environment, "output": str(output)}) + "\n"
        )
        server().stdin.flush()
        assert server().stdout.readline() == "0\n", output.read_text()
        return output.read_text()

    def land(self, *arguments):
        """Run `ingest/run.py` without starting a process that imports all it needs anew.

        It must succeed, but for what the gate holds back of an archive.
        """
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("BAIS_WAREHOUSE", str(self.path))
            assert main([str(argument) for argument in arguments]) in (0, 6)

    def bais(self, *arguments):
        """Run a `bais` command without starting a process that imports all it needs anew; return what it printed."""
        printed, complaints = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(complaints):
            for name, value in self.environment.items():
                patch.setenv(name, value)
            code = bais([str(argument) for argument in arguments])
        assert code == 0, printed.getvalue() + complaints.getvalue()
        return printed.getvalue()

    def run(self, *command, expect=0):
        """Run a command of this Python's environment in the checkout and return what it printed."""
        program = Path(sys.executable).parent / command[0]
        done = subprocess.run(
            [str(program), *map(str, command[1:])], cwd=ROOT, env=self.environment, capture_output=True, text=True
        )
        assert done.returncode == expect, done.stdout + done.stderr
        return done.stdout

    def query(self, sql):
        """Return the rows of a query as tuples."""
        with closing(duckdb.connect(str(self.path), read_only=True)) as connection:
            return connection.sql(sql).fetchall()

    def frame(self, sql):
        """Return the rows of a query as a pandas frame."""
        with closing(duckdb.connect(str(self.path), read_only=True)) as connection:
            return connection.sql(sql).df()


@pytest.fixture(autouse=True, scope="module")
def stood_in(request):
    """Let stand-ins land and judge, but where a file says in `NEEDS` that it is about the real ones.

    What `built_once` makes is landed and judged as ever, and so is what a process of its own does.
    """
    needs = getattr(request.module, "NEEDS", ())
    with pytest.MonkeyPatch.context() as patch:
        if "dlt" not in needs:
            patch.setattr("ingest.land.load._load", load_without_dlt)
        if "great expectations" not in needs:
            patch.setattr("ingest.gate.audit.checkpoint", thresholds_without_great_expectations)
        yield


@pytest.fixture(scope="session")
def built_once():
    """From a name and the arguments of `ingest/run.py` to what these land, built.

    It stays under a hash of what it is made from, for this run's workers and for later runs: tests read it, and copy it
    to write. One that was written to is built anew.
    """

    def built(name, *arguments):
        given = [argument for argument in arguments if isinstance(argument, Path)]
        made_from = hash_of_files(ROOT / "bais", ROOT / "ingest", Path(__file__), *given) + unchanged.source()
        folder = golden_folder(name, made_from)
        warehouse, built = Warehouse(folder), folder / "built"
        log = warehouse.path.with_suffix(".duckdb.wal")  # of a writer that was killed
        with FileLock(GOLDEN / f"{name}.lock"):
            is_whole = built.exists() and warehouse.path.exists() and not log.exists()
            if not (is_whole and built.read_text() == sha256_of(warehouse.path)):
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                warehouse.land(*arguments)
                warehouse.dbt("--quiet", "build", "--exclude-resource-type", "unit_test")
                with closing(duckdb.connect(str(warehouse.path))) as connection:
                    connection.execute("force checkpoint")  # so that the file is all there is
                built.write_text(sha256_of(warehouse.path))
        return warehouse

    return built


@pytest.fixture(scope="session")
def simulated(built_once):
    """What a fresh machine without any archive has after its first build."""
    return built_once("simulated")


@pytest.fixture(scope="session")
def recorded_archive():
    """The folder of the recorded archive; tests that need it are skipped where it is not."""
    if not RECORDED.is_dir():
        pytest.skip(f"no recorded archive at {RECORDED}; point BAIS_SHARED at a folder that has one")
    return RECORDED


@pytest.fixture(scope="session")
def recorded(built_once, recorded_archive):
    """The recorded archive of document A, imported and built."""
    return built_once("recorded-archive", "--archive", recorded_archive)


@pytest.fixture(scope="session")
def warehouse_in():
    """From a folder to the warehouse in it, which does not exist yet."""
    return Warehouse


@pytest.fixture
def new_warehouse(tmp_path):
    """A warehouse that does not exist yet."""
    return Warehouse(tmp_path)
