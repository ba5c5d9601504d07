"""An archive of a few LLMs in document A's shapes, whose answers are drawn as those of people and LLMs fall."""

import json

import numpy as np

LLMS = {"openai/o3": 36, "openai/gpt-4.1": 24, "z-ai/glm-5": 30, "anthropic/claude-opus-4.6": 20}
TECHNIQUES = ("premortem", "devils-advocate", "random-control")
ROUND = np.array([3, 4, 6, 8, 9, 10, 12, 14, 15, 18, 20, 22, 24, 27, 30, 33, 36, 40, 42, 45, 48, 54, 60, 66, 72])
SHIFTS = {"premortem": 1.1, "devils-advocate": 0.85, "random-control": 0.95}


def lines_of(seed=0, *, llms=LLMS, techniques=TECHNIQUES, temperatures=(0, 1), runs=20, spread=0.0):
    """Return the trials of an archive as lists of dicts, by what its files are called."""
    rng, files = np.random.default_rng(seed), {}
    for llm, level in llms.items():
        conditions = [("baseline", None, level)]
        for name in ("anchor", *techniques):
            for direction, pull in (("low", 0.7), ("high", 1.35)):
                anchor = int(level * (0.5 if direction == "low" else 1.5))
                kind = f"{direction}-anchor" if name == "anchor" else name
                conditions.append((kind, anchor, level * pull * SHIFTS.get(name, 1)))
        for kind, anchor, usual in conditions:
            usual *= np.exp(spread * rng.standard_normal())
            rows = files.setdefault(f"{kind}-{llm.split('/')[1]}.jsonl", [])
            for temperature in temperatures:
                drawn = usual * np.exp((0.15 + 0.1 * temperature) * rng.standard_normal(runs))
                for run, number in enumerate(drawn):
                    rows.append(_trial(kind, llm, anchor, temperature, run, number, len(rows)))
    return files


def _trial(kind, llm, anchor, temperature, run, number, nth):
    trial = {
        "experimentId": kind, "model": llm, "actualModel": llm, "anchor": anchor, "temperature": temperature,
        "promptHash": f"hash-of-{kind}", "sentenceMonths": int(ROUND[np.abs(ROUND - number).argmin()]),
        "methodology": "invented", "runIndex": run, "collectedAt": f"2026-01-02T{nth // 60:02}:{nth % 60:02}:05.678Z",
    }  # fmt: skip
    if kind in TECHNIQUES:
        return trial | {"technique": kind}
    return trial if kind == "baseline" else trial | {"anchorType": f"proportional-{kind.split('-')[0]}"}


def write_archive(folder, files):
    """Write an archive into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder
