"""`make bench`: 200,000 trials of another bias, half of them choices and half texts, of 1,000 items and 6 LLMs.

Collecting, the gate and `dbt build` run in processes of their own, beside a collection of a tenth as many items and the
build of the recorded archive in the same run. What a figure should be is printed beside it; nothing fails on a slow
machine.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from tests.tools.bench import RECORDED, ROOT

N_LLMS = 6
N_ITEMS = 1_000
SENTENCE = "the parcel came late but its blue handle feels sturdy and both neighbours use it every day"
WORDS = tuple(SENTENCE.split(" "))

# Each says what it took beyond its imports; peaks are those of the whole process.
COLLECT = """
import json, resource, sys, time
from ingest.collector import collect
from ingest.study import load_study
study = load_study(sys.argv[1])
started = time.perf_counter()
outcome = collect(study)
assert outcome.n_done == outcome.n_planned and not outcome.n_left
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"n": outcome.n_done, "seconds": time.perf_counter() - started, "megabytes": peak}))
"""
LOAD = """
import sys
from ingest.run import load_study_trials
for study in sys.argv[1:]:
    load_study_trials(study)
print("{}")
"""
GATE = """
import json, resource, time
from ingest.gate import audit
started = time.perf_counter()
verdicts = audit()
assert verdicts and all(verdict.verdict == "passed" for verdict in verdicts)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"n": len(verdicts), "seconds": time.perf_counter() - started, "megabytes": peak}))
"""


def main():
    """Run the benchmark and print its lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=200_000, help="choices and texts together")
    n_trials = parser.parse_args().trials
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        ours = collected(folder / "ours", N_ITEMS, n_trials)
        fewer = collected(folder / "fewer", N_ITEMS // 10, n_trials // 10)
        print(
            f"collect, {ours['n']:,} trials of {N_ITEMS:,} items: {ours['n'] / ours['seconds']:,.0f}/s, peak "
            f"{ours['megabytes']:.0f} MB; {ours['megabytes'] / fewer['megabytes']:.2f} x that of {N_ITEMS // 10} items "
            f"({fewer['megabytes']:.0f} MB; flat is 1)"
        )
        run(LOAD, "choices", "texts", folder=folder / "ours")
        gate = run(GATE, folder=folder / "ours")
        print(
            f"gate, {gate['n']} batches of {ours['n']:,} trials: {gate['seconds']:.1f} s beyond imports (at most 20), "
            f"peak {gate['megabytes']:.0f} MB"
        )
        build = built(folder / "ours")
        said = (
            f"dbt build, {ours['n']:,} trials of items: {build['seconds']:.1f} s, peak {build['megabytes']:.0f} MB (at "
            "most 4,000)"
        )
        if RECORDED.is_dir():
            subprocess.run(
                [sys.executable, "ingest/run.py", "--archive", RECORDED],
                cwd=ROOT, env=environment(folder / "recorded"), check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            peer = built(folder / "recorded")
            said += (
                f"; {build['seconds'] / peer['seconds']:.2f} x that of the recorded archive ({peer['seconds']:.1f} s; "
                "at most 3)"
            )
        print(said)


def collected(folder, n_items, n_trials):
    """Collect both studies into a warehouse of their own; return the trials, the seconds, and the higher peak."""
    folder.mkdir()
    both = []
    for name, study in studies(n_items, n_trials).items():
        path = folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(study, sort_keys=False))
        both.append(run(COLLECT, path, folder=folder))
    return {
        "n": sum(one["n"] for one in both),
        "seconds": sum(one["seconds"] for one in both),
        "megabytes": max(one["megabytes"] for one in both),
    }


def studies(n_items, n_trials):
    """Return a study of choices under two arms with and without a technique, and one of texts."""
    llms = [{"llm": f"sim/of-{n}", "simulated": {"bias": 0.5 + n / 10}} for n in range(N_LLMS)]
    rows = [{"item": f"i{n}", "scene": text(n)} for n in range(n_items)]
    choices = {
        "study": "choices",
        "llms": llms,
        "techniques": ["no_technique", "devils_advocate"],
        "stopping_rule": {"minimum": max(1, n_trials // 2 // (N_LLMS * n_items * 4))},
        "paradigm": {
            "paradigm": "of_choices",
            "answer": {"kind": "choice"},
            "arms": ["plain", "praised"],
            "contrasts": [["praised", "plain"]],
            "words": {word: word for word in ("decision", "outcome", "whom", "setting", "overturned")},
            "measures": {"chose_one": {"of": ["one"], "better": "closer_to_reference", "margin": 0.05}},
            "options": {"order": "shuffled", "same_across_arms": True},
            "items": {"id": "item", "fields": ["scene"], "rows": rows},
            "vignettes": [
                {
                    "vignette": "choose",
                    "case": "{scene} {how}\n\n{options}",
                    "question": "Which one?",
                    "arms": {
                        arm: {"words": {"how": how}, "options": {"one": "the first", "other": "the second"}}
                        for arm, how in (("plain", "Choose."), ("praised", "All praise the first. Choose."))
                    },
                }
            ],
            "simulated": {"shares": {"one": 0.5, "other": 0.5}, "praised": {"one": 0.2}},
        },
    }
    texts = {
        "study": "texts",
        "llms": [{"llm": llm["llm"], "simulated": {"lead_share": 0.6}} for llm in llms],
        "techniques": ["no_technique"],
        "stopping_rule": {"minimum": max(1, n_trials // 2 // (N_LLMS * n_items))},
        "paradigm": "summarise",
        "items": {"id": "item", "fields": ["text"], "rows": [{"item": of["item"], "text": of["scene"]} for of in rows]},
    }
    return {"choices": choices, "texts": texts}


def text(n):
    """Write six sentences that differ from item to item."""
    return " ".join(
        f"{' '.join(WORDS[(n + sentence + step) % len(WORDS)] for step in range(9)).capitalize()} {n}."
        for sentence in range(6)
    )


def environment(folder):
    """Return the environment of a command on a warehouse in a folder."""
    return {**os.environ, "BAIS_WAREHOUSE": str(folder / "warehouse.duckdb"), "DBT_TARGET_PATH": str(folder / "target")}


def run(program, *arguments, folder):
    """Run a program in a process of its own and return what it says of itself."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=environment(folder), check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def built(folder):
    """Build with dbt, which has parsed the project before; return the seconds and the peak."""
    dbt = [str(Path(sys.executable).parent / "dbt"), "--quiet"]
    subprocess.run([*dbt, "parse"], cwd=ROOT, env=environment(folder), check=True)
    started = os.times().elapsed
    process = subprocess.Popen(
        [*dbt, "build", "--exclude-resource-type", "unit_test"], cwd=ROOT, env=environment(folder)
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return {"seconds": os.times().elapsed - started, "megabytes": usage.ru_maxrss / 1024}


if __name__ == "__main__":
    main()
