"""What Spark makes is what DuckDB makes: in a session, through a server, and on a cluster that loses workers."""

import os
import re
import shlex
import signal
import subprocess
import threading

from bais import spark
from ingest.land.folder import folder_of, keep_in, take_in
from ingest.land.raw import TABLES, number_rows
from ingest.warehouse import ROOT, transaction
from tests.spark.conftest import MADE, cluster, executors_of, free_port, is_listening, running, wait_for

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


def views_of_parquet(warehouse):
    return {name for (name,) in warehouse.query("select view_name from duckdb_views() where sql like '%read_parquet%'")}


def build_on_spark(warehouse, is_tested=False):
    return spark.build_on_spark(warehouse.path, spark.parquet_folder(warehouse.path), is_tested)


def folders(warehouse):
    return sorted(path.name for path in spark.parquet_folder(warehouse.path).iterdir() if path.is_dir())


def test_a_session_makes_what_duckdb_makes_and_passes_every_test(copied, differing, monkeypatch, capfd):
    monkeypatch.setattr(spark, "SMALL", 100_000)
    assert build_on_spark(copied, True) == 0
    said = capfd.readouterr().out
    assert re.search(r"on Spark, .*: 32 tables built, \d+ tests passed", said), said
    assert differing(copied) == {}
    assert {"int_trials_treated", "int_trials_identified"} <= views_of_parquet(copied)
    assert "technique_costs" not in views_of_parquet(copied)

    comments = "select comment from duckdb_columns() where table_name = 'attrition' and column_name = 'n_asked'"
    assert copied.query(comments)[0][0]

    # a build that comes to nothing leaves everything as it is
    before = folders(copied)
    monkeypatch.setattr(spark, "_on_spark", lambda *_: 1)
    assert build_on_spark(copied) == 1
    assert folders(copied) == before

    # and DuckDB makes tables of its own of all of them again
    copied.dbt(*MADE)
    spark.remove_unused(copied.path)
    assert folders(copied) == []
    assert views_of_parquet(copied) == set()
    assert differing(copied) == {}


def keep_trials_in(folder, path):
    with transaction(path) as warehouse:
        keep_in(warehouse, folder)
        folder_of(warehouse)[0].write_load(warehouse, TABLES, {})
        take_in(warehouse, TABLES, number_rows)


def test_a_server_of_spark_connect_makes_of_trials_in_a_folder_what_duckdb_makes(
    copied, differing, monkeypatch, tmp_path
):
    keep_trials_in(tmp_path / "raw", copied.path)
    assert {"trials", "calls"} <= views_of_parquet(copied)
    port = free_port()
    server = (
        "spark-submit", "--class", SERVER, "--master", "local[1]", "--driver-memory", "2g",
        "--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.ui.enabled=false",
        "--conf", "spark.sql.shuffle.partitions=2", "--conf", "spark.connect.grpc.binding.address=127.0.0.1",
        "--conf", f"spark.connect.grpc.binding.port={port}",
        "--conf", f"spark.sql.warehouse.dir={tmp_path / 'databases'}", "spark-internal",
    )  # fmt: skip
    with running(tmp_path / "server.log", *server):
        wait_for(lambda: is_listening(port))
        monkeypatch.setenv("SPARK_REMOTE", f"sc://127.0.0.1:{port}")
        assert build_on_spark(copied) == 0
    assert differing(copied) == {}


def test_a_cluster_that_loses_an_executor_and_a_worker_makes_what_duckdb_makes(
    copied, differing, monkeypatch, tmp_path
):
    with cluster(tmp_path) as spark_cluster:
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", spark_cluster.arguments)
        one, other = spark_cluster.workers
        killed = []

        def kill():
            made = lambda: sum(1 for _ in spark.parquet_folder(copied.path).glob("build_*/*/*/_SUCCESS"))  # noqa: E731
            wait_for(lambda: made() >= 2 and executors_of(one), 400)
            killed.extend(executors_of(one)[:1])
            os.kill(killed[0], signal.SIGKILL)
            wait_for(lambda: made() >= 6, 400)
            killed.append(other.pid)
            os.killpg(other.pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        code = build_on_spark(copied)
        killer.join()
        assert code == 0
        assert len(killed) == 2
        said = spark_cluster.log.read_text()
        assert "because it is EXITED" in said
        assert "Telling app of lost worker" in said
    assert differing(copied) == {}


def test_the_page_on_spark_is_followed(copied):
    page = (ROOT / "docs" / "how-to" / "run-on-spark.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(sh|text)\n(.*?)```", page, re.DOTALL)
    printed = ""
    for kind, body in blocks:
        for line in map(str.strip, body.strip().splitlines()):
            if kind == "text":
                assert line in printed, printed
            elif "collect" not in line:  # what it collects is landed already
                words = [str(ROOT / word) if word.startswith(".venv") else word for word in shlex.split(line)]
                done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
                assert done.returncode == 0, done.stdout + done.stderr
                printed = done.stdout
    assert copied.query("select count(*) > 0 from marts.claim_checks") == [(True,)]
