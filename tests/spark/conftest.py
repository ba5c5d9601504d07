"""Sessions, servers and clusters of Spark on this machine, each as small as it can be."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pyspark
import pytest

from bais import spark
from tests.conftest import Warehouse

HOME = Path(pyspark.__file__).parent
AT_HOME = "--conf spark.driver.host=127.0.0.1 --conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2"
SESSION = f"--master local[1] --driver-memory 2g {AT_HOME} pyspark-shell"
MEMORY = "--driver-memory 1g --executor-memory 800m"
MADE = ("--quiet", "run", "--selector", spark.SELECTOR)


def free_port():
    """Return a port that nobody listens on."""
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def running(log, *command):
    """Run a program of Spark's and end it, with what it started, by its own group."""
    environment = {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    with open(log, "wb") as file:
        process = subprocess.Popen(
            [str(HOME / "bin" / command[0]), *map(str, command[1:])], env=environment, stdout=file, stderr=file,
            start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()


def wait_for(condition, seconds=120):
    """Wait until something holds, and return it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "this never came"
        time.sleep(0.2)
    return found


def is_listening(port):
    """Whether somebody listens on a port of this machine."""
    with contextlib.closing(socket.socket()) as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def cluster(folder):
    """Run a master and two workers of one core each."""
    port = free_port()
    master = (
        "spark-class",
        "org.apache.spark.deploy.master.Master",
        "--host",
        "127.0.0.1",
        "--port",
        port,
        "--webui-port",
        0,
    )
    worker = (
        "spark-class", "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", 1, "--memory", "1g",
        "--webui-port", 0, "--work-dir", folder / "work", f"spark://127.0.0.1:{port}",
    )  # fmt: skip
    with running(folder / "master.log", *master):
        wait_for(lambda: is_listening(port))
        with running(folder / "worker_1.log", *worker) as one, running(folder / "worker_2.log", *worker) as other:
            wait_for(lambda: (folder / "master.log").read_text().count("Registering worker") == 2)
            yield SimpleNamespace(
                workers=(one, other),
                log=folder / "master.log",
                arguments=f"--master spark://127.0.0.1:{port} {MEMORY} {AT_HOME} pyspark-shell",
            )


def executors_of(worker):
    """Return the ids of the executors that a worker has started: they are in its session, as Python's workers are."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_executor = b"CoarseGrainedExecutorBackend" in (process / "cmdline").read_bytes()
            if is_executor and os.getsid(int(process.name)) == worker.pid:
                found.append(int(process.name))
    return found


@pytest.fixture(scope="session")
def landed(tmp_path_factory):
    """What is landed of anchoring and of other biases, with what Spark is to make made by DuckDB."""
    warehouse = Warehouse(tmp_path_factory.mktemp("landed"))
    warehouse.land()
    warehouse.land("biases-simulated")
    warehouse.dbt("--quiet", "build", "--selector", spark.BEFORE, *spark.UNIT_TESTS)
    warehouse.dbt(*MADE)
    return warehouse


@pytest.fixture
def copied(landed, tmp_path, monkeypatch):
    """The same in a warehouse of its own, without what Spark is to make, and its environment."""
    warehouse = Warehouse(tmp_path)
    shutil.copy(landed.path, warehouse.path)
    # what dbt did is counted from what it writes
    own = {"DBT_TARGET_PATH": landed.environment["DBT_TARGET_PATH"], "DBT_WRITE_JSON": "true"}
    for name, value in (warehouse.environment | own).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", SESSION)
    return warehouse


@pytest.fixture
def differing(landed):
    """From a warehouse to what of Spark's tables is otherwise there than DuckDB makes it, doubles to nine digits."""

    def found(other):
        differences = {}
        with contextlib.closing(duckdb.connect()) as both:
            both.execute(f"attach '{landed.path}' as duck (read_only); attach '{other.path}' as spark (read_only)")
            described = {side: columns_in(both, side) for side in ("duck", "spark")}
            for name, columns in described["duck"].items():
                shown = ", ".join(
                    f'printf(\'%.9e\', "{column}" + 0) as "{column}"' if kind == "DOUBLE" else f'"{column}"'
                    for column, kind in columns
                )
                one, two = (f"select {shown} from {side}.{name}" for side in ("duck", "spark"))
                query = f"select count(*) from (({one} except all {two}) union all ({two} except all {one}))"
                if n_rows := both.execute(query).fetchone()[0]:
                    differences[name] = n_rows
                if columns != described["spark"].get(name):
                    differences[name] = "columns"
        return differences

    return found


def columns_in(both, side):
    """Return the columns of each table of a warehouse, with their types; the record of its own runs aside."""
    found = both.execute(
        "select schema_name || '.' || table_name, column_name, data_type from duckdb_columns() "
        "where database_name = $side and schema_name in ('intermediate', 'marts') and table_name != 'nodes' "
        "order by all",
        {"side": side},
    ).fetchall()
    tables = {}
    for name, *column in found:
        tables.setdefault(name, []).append(column)
    return tables
