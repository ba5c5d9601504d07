"""How long an import and a build take, beside DuckDB's own reading and an empty project of as many nodes."""

import json
import tempfile
from pathlib import Path

from tests.tools.processes import RECORDED, ROOT, SHARED, Warehouse
from tests.tools.ratios import Bench

SCORES = SHARED / "data" / "anchoring_llms"
SIMULATED = ("simulated", "biases-simulated", "content-simulated")

IMPORT = """
import json, sys, time
import dlt, duckdb, pyarrow
from dlt.destinations.impl.duckdb import duck
from ingest.archives.voder_bais import ARCHIVE
from ingest.bring.importer import import_archive
started = time.perf_counter()
summary = import_archive(sys.argv[1], ARCHIVE)
print(json.dumps({"rows": summary.n_new, "seconds": time.perf_counter() - started}))
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
print(json.dumps({"seconds": time.perf_counter() - started}))
"""

LAND = """
import json, sys
from ingest.run import main
for arguments in json.loads(sys.argv[1]):
    assert main(arguments) == 0, arguments
"""


def main():
    """Run the benchmarks."""
    bench = Bench(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if RECORDED.is_dir():
            recorded = compare_import(bench, "the recorded archive", RECORDED, "**/*.jsonl", folder / "recorded")
            compare_build(bench, "dbt build of the recorded archive", recorded, "dbt", "--quiet", "build")
        else:
            bench.leave_out("the recorded archive", f"there is none at {RECORDED}")
        generate(folder / "generated", lines := bench.scaled(1_000_000))
        compare_import(bench, f"{lines:,} generated lines", folder / "generated", "*.jsonl", folder / "big")
        everything = Warehouse(folder / "everything")
        land_everything(everything, bench.scaled(100_000))
        build = ("bais", "build", "--full-refresh", *bench.nodes)
        compare_build(bench, "bais build of everything that make run lands", everything, *build)


def compare_import(bench, name, archive, files, folder):
    """Time an import against DuckDB's own reading of the same files, and return the warehouse."""
    warehouse = Warehouse(folder)
    ours = warehouse.said(IMPORT, archive)
    peer = warehouse.said(READ_JSON, archive / files, folder / "peer.duckdb")
    bench.record(
        f"import of {name}, beyond imports of modules", "DuckDB's read_json", ours["seconds"] / peer["seconds"],
        seconds=ours["seconds"],
        details=f"{ours['rows']:,} trials, {ours['rows'] / ours['seconds']:,.0f}/s, peak {ours['megabytes']:.0f} MB",
    )  # fmt: skip
    return warehouse


def land_everything(warehouse, most_calls):
    """Land what `make run` lands; of a simulated study no more than so many calls are made."""
    studies = [[study, "--max-calls", str(most_calls)] for study in SIMULATED]
    archives = [["--archive", str(archive)] for archive in (RECORDED, SCORES) if archive.is_dir()]
    warehouse.run("python", "-c", LAND, json.dumps(studies + archives))


def compare_build(bench, name, warehouse, *build):
    """Time a build against that of as many nodes that do nothing: of each the second, as dbt keeps its parse."""
    ours = seconds_of_last(bench, warehouse, *build)
    results = json.loads((warehouse.target / "run_results.json").read_text())["results"]
    kinds = [result["unique_id"].split(".")[0] for result in results]
    empty = Warehouse(warehouse.folder / "empty")
    write_empty_project(empty.folder, kinds)
    peer = seconds_of_last(
        bench, empty, "dbt", "--quiet", "build", "--profiles-dir", ROOT / "profiles", cwd=empty.folder
    )
    bench.record(name, f"an empty project of as many nodes, {len(kinds)}", ours / peer, "at most 2", seconds=ours)


def seconds_of_last(bench, warehouse, *command, **where):
    """Return the seconds of the last of two runs; where all is small, of one."""
    return [warehouse.run(*command, **where).seconds for _ in range(bench.scaled(2))][-1]


def write_empty_project(folder, kinds):
    """Write a dbt project with as many seeds, models, data tests and unit tests, each of which says `select 1`."""
    (folder / "models").mkdir()
    (folder / "seeds").mkdir()
    (folder / "dbt_project.yml").write_text("name: empty\nprofile: bais\nversion: '1.0'\n")
    n_models = kinds.count("model")
    for i in range(kinds.count("seed")):
        (folder / "seeds" / f"seed_{i}.csv").write_text("one\n1\n")
    models = [{"name": f"model_{i}", "columns": [{"name": "one", "data_tests": []}]} for i in range(n_models)]
    for model in models:
        path = folder / "models" / f"{model['name']}.sql"
        path.write_text("{{ config(materialized='table') }}\nselect 1 as one\n")
    for i in range(kinds.count("test")):
        test = {"name": f"test_{i}", "arguments": {"values": [1], "quote": False}}
        models[i % n_models]["columns"][0]["data_tests"].append({"accepted_values": test})
    unit_tests = [
        {"name": f"unit_{i}", "model": f"model_{i % n_models}", "given": [], "expect": {"rows": [{"one": 1}]}}
        for i in range(kinds.count("unit_test"))
    ]
    (folder / "models" / "models.yml").write_text(json.dumps({"models": models, "unit_tests": unit_tests}))


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


if __name__ == "__main__":
    main()
