"""`make bench`: how long the main jobs take, as ratios against a named peer that runs beside them.

Each job runs in a process of its own. What a ratio should be is printed beside it; nothing fails on a slow machine.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("BAIS_SHARED") or ROOT.parent / "shared").resolve()
RECORDED = SHARED / "data" / "bais_recorded"

IMPORT = """
import json, resource, sys, time
import dlt, duckdb, pyarrow
from dlt.destinations.impl.duckdb import duck
from ingest.archives.voder_bais import ARCHIVE
from ingest.importer import import_archive
imported = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
started = time.perf_counter()
summary = import_archive(sys.argv[1], ARCHIVE)
seconds = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"rows": summary.n_new, "seconds": seconds, "megabytes": peak / 1024}))
"""

READ_JSON = """
import json, sys, time
import duckdb
files, warehouse = sys.argv[1:]
started = time.perf_counter()
connection = duckdb.connect(warehouse)
connection.execute(
    "create table trials as select * from read_json($files, format = 'newline_delimited', union_by_name = true,"
    " maximum_depth = 1)",
    {"files": files},
)
connection.close()
seconds = time.perf_counter() - started
rows = duckdb.connect(warehouse).sql("select count(*) from trials").fetchall()[0][0]
print(json.dumps({"rows": rows, "seconds": seconds}))
"""


def main():
    """Run the benchmarks and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--lines", type=int, default=1_000_000, help="lines of the generated archive")
    lines = parser.parse_args().lines
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if RECORDED.is_dir():
            compare_import("recorded archive", RECORDED, RECORDED / "**/*.jsonl", folder / "recorded")
            compare_build(folder)
        else:
            print(f"recorded archive: left out, there is none at {RECORDED}")
        generate(folder / "generated", lines)
        compare_import(
            f"generated archive of {lines:,} lines", folder / "generated", folder / "generated/*.jsonl", folder / "big"
        )


def compare_import(name, archive, files, folder):
    """Time an import against DuckDB's own reading of the same files."""
    folder.mkdir()
    ours = measure(IMPORT, archive, warehouse=folder / "ours.duckdb")
    peer = measure(READ_JSON, files, folder / "peer.duckdb", warehouse=folder / "unused.duckdb")
    print(
        f"import, {name}: {ours['rows']:,} trials in {ours['seconds']:.1f} s beyond imports "
        f"({ours['rows'] / ours['seconds']:,.0f}/s, peak {ours['megabytes']:.0f} MB); "
        f"{ours['seconds'] / peer['seconds']:.1f} x DuckDB's read_json ({peer['seconds']:.1f} s)"
    )


def compare_build(folder):
    """Time `dbt build` of the recorded archive against that of as many nodes that do nothing."""
    warehouse = folder / "recorded" / "ours.duckdb"
    ours = dbt_build(ROOT, warehouse, folder / "ours")
    results = json.loads((folder / "ours" / "run_results.json").read_text())["results"]
    kinds = [result["unique_id"].split(".")[0] for result in results]
    empty = folder / "empty"
    write_empty_project(empty, kinds)
    peer = dbt_build(empty, folder / "empty.duckdb", folder / "theirs")
    print(
        f"dbt build, recorded archive: {ours:.1f} s for {len(kinds)} nodes; {ours / peer:.2f} x an empty project of as "
        f"many nodes ({peer:.1f} s; at most 2)"
    )


def dbt_build(project, warehouse, target):
    """Return the seconds of the second of two builds, as dbt keeps its parse of the first."""
    command = [Path(sys.executable).parent / "dbt", "--quiet", "build", "--profiles-dir", ROOT / "profiles"]
    environment = {**os.environ, "BAIS_WAREHOUSE": str(warehouse), "DBT_TARGET_PATH": str(target)}
    for _ in range(2):
        started = os.times().elapsed
        subprocess.run(list(map(str, command)), cwd=project, env=environment, check=True)
        seconds = os.times().elapsed - started
    return seconds


def write_empty_project(folder, kinds):
    """Write a dbt project with as many seeds, models, data tests and unit tests, each of which says `select 1`."""
    (folder / "models").mkdir(parents=True)
    (folder / "seeds").mkdir()
    (folder / "dbt_project.yml").write_text("name: empty\nprofile: bais\nversion: '1.0'\n")
    n_models, n_tests = kinds.count("model"), kinds.count("test")
    for i in range(kinds.count("seed")):
        (folder / "seeds" / f"seed_{i}.csv").write_text("one\n1\n")
    models = []
    for i in range(n_models):
        (folder / "models" / f"model_{i}.sql").write_text("{{ config(materialized='table') }}\nselect 1 as one\n")
        n_here = n_tests // n_models + (i < n_tests % n_models)
        tests = [
            f"accepted_values: {{name: test_{i}_{j}, arguments: {{values: [1], quote: false}}}}" for j in range(n_here)
        ]
        models.append({"name": f"model_{i}", "columns": [{"name": "one", "data_tests": tests}]})
    text = "models:\n"
    for model in models:
        text += f"  - name: {model['name']}\n    columns:\n      - name: one\n        data_tests:\n"
        text += "".join(f"          - {test}\n" for test in model["columns"][0]["data_tests"])
    text += "unit_tests:\n"
    for i in range(kinds.count("unit_test")):
        text += (
            f"  - name: unit_{i}\n    model: model_{i % n_models}\n    given: []\n    expect: {{rows: [{{one: 1}}]}}\n"
        )
    (folder / "models" / "models.yml").write_text(text)


def generate(folder, n_lines, n_files=4):
    """Write an archive of trials in document A's shape, with numbers by formula."""
    folder.mkdir()
    for file in range(n_files):
        direction, anchor = ("low", 12) if file % 2 else ("high", 36)
        with open(folder / f"premortem-{anchor}mo-generated-{file}.jsonl", "w") as out:
            for i in range(file, n_lines, n_files):
                trial = {
                    "experimentId": "premortem",
                    "model": "openai/o3",
                    "actualModel": "openai/o3",
                    "condition": f"premortem-{anchor}mo",
                    "anchor": anchor,
                    "anchorType": f"proportional-{direction}",
                    "temperature": (0, 0.7, 1)[i % 3],
                    "promptHash": "00000000",
                    "sentenceMonths": 12 + i % 37,
                    "methodology": "premortem-5turn",
                    "technique": "premortem",
                    "runIndex": i,
                    "collectedAt": f"2026-01-01T{i // 3600 % 24:02}:{i // 60 % 60:02}:{i % 60:02}.{i % 1000:03}Z",
                }
                out.write(json.dumps(trial, separators=(",", ":")) + "\n")


def measure(program, *arguments, warehouse):
    """Run a program in a process of its own and return what it says of itself."""
    environment = {**os.environ, "BAIS_WAREHOUSE": str(warehouse)}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
