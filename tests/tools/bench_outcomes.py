"""Trials of another bias, half of them choices and half texts, of 1,000 items and 6 LLMs.

Collecting them stands beside a collection of a tenth as many items, their build beside that of the recorded archive.
"""

import tempfile
from pathlib import Path

import yaml

from tests.tools.processes import RECORDED, Warehouse
from tests.tools.ratios import Bench

N_LLMS = 6
SENTENCE = "the parcel came late but its blue handle feels sturdy and both neighbours use it every day"
WORDS = tuple(SENTENCE.split(" "))

# Each says what it took beyond its imports.
COLLECT = """
import json, sys, time
from ingest.ask.collector import collect
from ingest.studies.study import load_study
study = load_study(sys.argv[1])
started = time.perf_counter()
outcome = collect(study)
assert outcome.n_done == outcome.n_planned and not outcome.n_left
print(json.dumps({"n": outcome.n_done, "seconds": time.perf_counter() - started}))
"""
LOAD = """
import sys
from ingest.run import load_study_trials
for study in sys.argv[1:]:
    load_study_trials(study)
"""
GATE = """
import json, time
from ingest.gate.audit import audit
started = time.perf_counter()
verdicts = audit()
assert verdicts and all(verdict.verdict == "passed" for verdict in verdicts)
print(json.dumps({"n": len(verdicts), "seconds": time.perf_counter() - started}))
"""


def main():
    """Run the benchmark."""
    bench = Bench(__doc__)
    n_items, n_trials = bench.scaled(1_000), bench.scaled(200_000)
    with tempfile.TemporaryDirectory() as folder:
        warehouse, recorded = Warehouse(Path(folder) / "ours"), Warehouse(Path(folder) / "recorded")
        ours = collected(warehouse, n_items, n_trials)
        fewer = collected(Warehouse(Path(folder) / "fewer"), n_fewer := max(1, n_items // 10), n_trials // 10)
        name = f"{ours['n']:,} trials of {n_items:,} items"
        bench.record(
            f"peak of memory, {name} collected", f"a tenth as many, of {n_fewer:,} items",
            ours["megabytes"] / fewer["megabytes"], "at most 1.2", seconds=ours["seconds"],
            details=f"{ours['n'] / ours['seconds']:,.0f} trials/s, peak {ours['megabytes']:.0f} MB",
        )  # fmt: skip
        warehouse.run("python", "-c", LOAD, "choices", "texts")
        gate = warehouse.said(GATE)
        bench.record(
            f"gate of {name}, beyond imports", "20 s", gate["seconds"] / 20, "at most 1", seconds=gate["seconds"],
            details=f"{gate['n']} batches, peak {gate['megabytes']:.0f} MB",
        )  # fmt: skip
        build = built(bench, warehouse)
        bench.record(
            f"peak of memory, dbt build of {name}", "4,000 MB", build.megabytes / 4000, "at most 1",
            seconds=build.seconds,
        )  # fmt: skip
        if RECORDED.is_dir():
            recorded.land("--archive", RECORDED)
            peer = built(bench, recorded).seconds
            bench.record(
                f"dbt build of {name}", "that of the recorded archive", build.seconds / peer, "at most 3",
                seconds=build.seconds,
            )  # fmt: skip
        else:
            bench.leave_out("the build of the recorded archive", f"there is none at {RECORDED}")


def collected(warehouse, n_items, n_trials):
    """Collect both studies into a warehouse; return the trials, the seconds, and the higher peak."""
    both = []
    for name, study in studies(n_items, n_trials).items():
        path = warehouse.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(study, sort_keys=False))
        both.append(warehouse.said(COLLECT, path))
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


def built(bench, warehouse):
    """Build with dbt, which has parsed the project before; return what it used."""
    warehouse.dbt("parse")
    return warehouse.dbt("build", "--exclude-resource-type", "unit_test", *bench.nodes)


if __name__ == "__main__":
    main()
