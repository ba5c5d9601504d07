"""`make bench`: how fast calls are made and kept, beside the bare `openai` client and inspect_ai in the same run.

A loopback endpoint in a process of its own answers after 50 ms; 64 calls are in flight; a trial is one call. Each job
runs in a process of its own. What a figure should be is printed beside it; nothing fails on a slow machine.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IN_FLIGHT = 64
LATENCY_MS = 50

STUDY = """
study: bench
llms: [{{llm: bench/any, base_url: "{url}"}}]
vignettes: [burglary]
techniques: [no_technique]
anchors: {{fixed: {{low: 3, high: 9}}}}
stopping_rule: {{minimum: {n}}}  # of three cells
limits: {{concurrency: {in_flight}}}
"""

# A round of calls before the clock starts, so that no connection is opened and nothing is imported while it runs.
OURS = """
import json, resource, sys, time
from ingest.collector import Collector
from ingest.study import Design, parse_study
collector = Collector(Design(parse_study(sys.argv[1])))
warm = int(sys.argv[2])
def warmed_up(collector):
    global started, cpu_before
    if collector.outcome.n_done == warm:
        started, cpu_before = time.perf_counter(), time.process_time()
collector.on_progress = warmed_up
outcome = collector.collect()
seconds, cpu = time.perf_counter() - started, time.process_time() - cpu_before
n = outcome.n_done - warm
assert outcome.n_calls == outcome.n_done == outcome.n_planned and outcome.statuses == {"replied": outcome.n_done}
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"n": n, "seconds": seconds, "cpu": cpu, "megabytes": peak}))
"""

BARE = """
import asyncio, json, resource, sys, time
import openai
url, prompt, n, in_flight = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
async def main():
    async with openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0) as client:
        async def work(calls):
            for _ in calls:
                completion = await client.chat.completions.create(
                    model="bench/any", messages=[{"role": "user", "content": prompt}]
                )
                assert completion.choices[0].message.content
        async def run(n):
            calls = iter(range(n))
            await asyncio.gather(*(work(calls) for _ in range(in_flight)))
        await run(5 * in_flight)
        started, cpu = time.perf_counter(), time.process_time()
        await run(n)
        return time.perf_counter() - started, time.process_time() - cpu
seconds, cpu = asyncio.run(main())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"n": n, "seconds": seconds, "cpu": cpu, "megabytes": peak}))
"""

INSPECT = """
import json, resource, sys, time
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.solver import generate
url, prompt, n, in_flight = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
model = get_model("openai/any", base_url=url, api_key="none", responses_api=False)
task = Task(dataset=[Sample(input=prompt) for _ in range(n)], solver=generate())
started, cpu = time.perf_counter(), time.process_time()
logs = eval(task, model=model, max_connections=in_flight, max_samples=in_flight, display="none", log_dir=sys.argv[5])
seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
assert logs[0].status == "success"
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"n": n, "seconds": seconds, "cpu": cpu, "megabytes": peak}))
"""


def main():
    """Run the benchmarks and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=12_000, help="how many trials are timed")
    parser.add_argument("--memory-trials", type=int, default=100_000, help="trials for the memory; 0 leaves it out")
    options = parser.parse_args()
    prompt = prompt_of_the_study()
    with tempfile.TemporaryDirectory() as folder, endpoint(LATENCY_MS) as url:
        bare = measure(BARE, url, prompt, options.trials, IN_FLIGHT)
        ours = collect(url, options.trials, folder)
        speed, peer = ours["n"] / ours["seconds"], bare["n"] / bare["seconds"]
        print(
            f"collect, {ours['n']:,} one-call trials, {LATENCY_MS} ms, {IN_FLIGHT} in flight, spool on: "
            f"{speed:,.0f} trials/s (at least 600), {1000 * ours['cpu'] / ours['n']:.2f} ms CPU a call (at most 1.6); "
            f"{speed / peer:.2f} x the bare openai client ({peer:,.0f} calls/s, "
            f"{1000 * bare['cpu'] / bare['n']:.2f} ms; at least 0.75)"
        )
        if find_spec("inspect_ai"):
            theirs = measure(INSPECT, url, prompt, 2000, IN_FLIGHT, Path(folder) / "inspect")
            rate = theirs["n"] / theirs["seconds"]
            print(f"collect: {speed / rate:.1f} x inspect_ai ({rate:,.0f} samples/s; at least 6)")
        else:
            print("collect, beside inspect_ai: left out, it is not installed")
    if options.memory_trials:
        with tempfile.TemporaryDirectory() as folder, endpoint(0) as url:
            ours = collect(url, options.memory_trials, folder)
            print(
                f"collect, {options.memory_trials:,} one-call trials, no latency: {ours['seconds']:.0f} s, "
                f"peak {ours['megabytes']:.0f} MB (at most 300)"
            )


def collect(url, n, folder):
    """Collect a study of one cell."""
    warm = min(5 * IN_FLIGHT, n // 2)
    study = STUDY.format(url=url, n=n // 3, in_flight=IN_FLIGHT)
    return measure(OURS, study, warm, warehouse=Path(folder) / "warehouse.duckdb")


def prompt_of_the_study():
    """Return what the trials of the study ask, so that the others ask the same."""
    from ingest.study import Design, parse_study

    design = Design(parse_study(STUDY.format(url="http://localhost", n=1, in_flight=1)))
    return design.script(design.baseline_cells()[0]).next_turn([]).prompt


@contextmanager
def endpoint(latency_ms):
    """Run the loopback endpoint in a process of its own, and give its address."""
    command = [sys.executable, str(ROOT / "tests" / "ingest" / "endpoint.py"), str(latency_ms)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        yield server.stdout.readline().strip()
        server.stdin.close()


def measure(program, *arguments, warehouse=None):
    """Run a program in a process of its own and return what it says of itself."""
    environment = {**os.environ, "OPENAI_API_KEY": "none", "BAIS_WAREHOUSE": str(warehouse)}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
