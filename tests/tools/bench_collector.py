"""How fast calls are made and kept, beside the bare `openai` client and inspect_ai.

A loopback endpoint in a process of its own answers after 50 ms; 64 calls are in flight; a trial is one call.
"""

import subprocess
import sys
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from tests.tools.processes import ROOT, Warehouse
from tests.tools.ratios import Bench

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
import json, sys, time
from ingest.ask.collector import Collector
from ingest.studies.design import Design
from ingest.studies.study import parse_study
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
print(json.dumps({"n": n, "seconds": seconds, "cpu": cpu}))
"""

BARE = """
import asyncio, json, sys, time
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
print(json.dumps({"n": n, "seconds": seconds, "cpu": cpu}))
"""

INSPECT = """
import json, sys, time
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
print(json.dumps({"n": n, "seconds": seconds, "cpu": cpu}))
"""


def main():
    """Run the benchmarks."""
    bench = Bench(__doc__)
    prompt = prompt_of_the_study()
    with tempfile.TemporaryDirectory() as folder, endpoint(LATENCY_MS) as url:
        folder = Path(folder)
        bare = Warehouse(folder / "bare").said(BARE, url, prompt, bench.scaled(12_000), IN_FLIGHT)
        ours = collect(url, bench.scaled(12_000), folder / "ours")
        speed, cpu_ms = ours["n"] / ours["seconds"], 1000 * ours["cpu"] / ours["n"]
        name = f"{ours['n']:,} trials collected, {LATENCY_MS} ms a call, {IN_FLIGHT} in flight"
        bench.record(
            f"{name}: trials a second", "the bare openai client", speed * bare["seconds"] / bare["n"],
            "at least 0.75", seconds=ours["seconds"],
            details=f"{speed:,.0f} trials/s, {bare['n'] / bare['seconds']:,.0f} calls/s of its own",
        )  # fmt: skip
        bench.record(f"{name}: trials a second", "600", speed / 600, "at least 1", seconds=ours["seconds"])
        bench.record(
            f"{name}: CPU a call", "1.6 ms", cpu_ms / 1.6, "at most 1", seconds=ours["cpu"],
            details=f"{cpu_ms:.2f} ms, of the bare client {1000 * bare['cpu'] / bare['n']:.2f} ms",
        )  # fmt: skip
        if find_spec("inspect_ai"):
            inspect = Warehouse(folder / "inspect")
            theirs = inspect.said(INSPECT, url, prompt, bench.scaled(2_000), IN_FLIGHT, folder / "inspect" / "logs")
            bench.record(
                f"{name}: trials a second", "inspect_ai", speed * theirs["seconds"] / theirs["n"], "at least 6",
                seconds=ours["seconds"],
            )  # fmt: skip
        else:
            bench.leave_out("collecting beside inspect_ai", "it is not installed")
    with tempfile.TemporaryDirectory() as folder, endpoint(0) as url:
        ours = collect(url, n := bench.scaled(100_000), Path(folder) / "ours")
        bench.record(
            f"peak of memory, {n:,} trials collected without latency", "300 MB", ours["megabytes"] / 300, "at most 1",
            seconds=ours["seconds"],
        )  # fmt: skip


def collect(url, n, folder):
    """Collect a study of one cell."""
    study = STUDY.format(url=url, n=n // 3, in_flight=IN_FLIGHT)
    return Warehouse(folder).said(OURS, study, min(5 * IN_FLIGHT, n // 2))


def prompt_of_the_study():
    """Return what the trials of the study ask, so that the others ask the same."""
    from ingest.studies.design import Design
    from ingest.studies.study import parse_study

    design = Design(parse_study(STUDY.format(url="http://localhost", n=1, in_flight=1)))
    return design.script(design.baseline_cells()[0]).next_turn([]).prompt


@contextmanager
def endpoint(latency_ms):
    """Run the loopback endpoint in a process of its own, and give its address."""
    command = [sys.executable, str(ROOT / "tests" / "ingest" / "endpoint.py"), str(latency_ms)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        yield server.stdout.readline().strip()
        server.stdin.close()


if __name__ == "__main__":
    main()
