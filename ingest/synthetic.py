"""A small study made by a formula, so that a fresh machine has something to query. No LLM was asked anything."""

import hashlib
import json
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from ingest.load import TRIALS

STUDY = "synthetic"
SEED = 1
TEMPERATURES = (0.0, 0.7, 1.0)
TRIALS_PER_CELL = 30
STARTED = datetime(2026, 1, 1, tzinfo=UTC)

# vignette: (baseline, noise), in the response unit of seeds/vignettes.csv
VIGNETTES = {"burglary": (30.0, 4.0), "bakery": (150.0, 15.0), "fever": (40.0, 3.0), "analyst": (110.0, 8.0)}

# llm: (factor on the baseline, pull of the anchor, noise factor, share refused, is asked for a baseline)
LLMS = {
    "synthetic/constant": (0.6, 0.3, 0.0, 0.0, True),
    "synthetic/follower": (1.0, 0.8, 1.0, 0.0, True),
    "synthetic/latecomer": (1.1, 0.5, 1.0, 0.0, False),
    "synthetic/overcorrector": (1.2, -0.3, 1.0, 0.0, True),
    "synthetic/refuser": (0.9, 0.4, 1.0, 0.2, True),
    "synthetic/steady": (1.0, 0.1, 0.5, 0.0, True),
}

# technique: (factor on the pull, shift of the answer as a share of the baseline)
TECHNIQUES = {
    "no_technique": (1.0, -0.10),
    "outside_view": (0.2, -0.45),
    "devils_advocate": (0.5, -0.30),
    "premortem": (1.2, -0.05),
    "random_control": (0.9, -0.15),
    "sacd": (0.8, 0.0),
}


def synthetic_trials(seed=SEED):
    """Make the trials of the synthetic study.

    Parameters
    ----------
    seed : int
        The same seed gives the same trials.

    Returns
    -------
    pyarrow.Table
        Of the schema `ingest.load.TRIALS`, every row labelled `synthetic` in `study` and `source`.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for vignette, (baseline, noise) in VIGNETTES.items():
        for llm, (level, pull, noise_factor, refused, has_baseline) in LLMS.items():
            truth = round_half_up(baseline * level)
            anchors = {"low": round_half_up(truth * 0.5), "high": round_half_up(truth * 1.5)}
            cells = [("no_technique", "none", None)] if has_baseline else []
            cells += [
                (technique, direction, anchor) for technique in TECHNIQUES for direction, anchor in anchors.items()
            ]
            for technique, direction, anchor in cells:
                keep, shift = TECHNIQUES[technique] if anchor else (0.0, 0.0)
                centre = truth * (1 + shift) + pull * keep * ((anchor or truth) - truth)
                first = truth * (1 - 0.1) + pull * ((anchor or truth) - truth)
                for replicate in range(TRIALS_PER_CELL):
                    answer, before = (
                        max(1, round_half_up(mean + rng.normal(0, noise * noise_factor))) for mean in (centre, first)
                    )
                    row = {
                        "llm": llm,
                        "vignette": vignette,
                        "technique": technique,
                        "anchor_direction": direction,
                        "anchor_value": anchor,
                        "temperature": TEMPERATURES[replicate % len(TEMPERATURES)],
                        "replicate": replicate,
                        "answer": None if rng.random() < refused else answer,
                        "first_answer": before if technique == "sacd" else None,
                    }
                    rows.append(_as_trial(row, STARTED + timedelta(seconds=len(rows)), seed))
    return pa.Table.from_pylist(rows, schema=TRIALS)


def round_half_up(value):
    """Round to the nearest integer, halves up: 12.5 becomes 13 (Python's `round` says 12)."""
    return math.floor(value + 0.5)


def _as_trial(row, asked_at, seed):
    key = [STUDY, seed, *(row[k] for k in ("llm", "vignette", "technique", "anchor_value", "temperature", "replicate"))]
    answer = row["answer"]
    return {
        "trial_id": hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32],
        "study": STUDY,
        "source": STUDY,
        "batch_id": f"{STUDY}/{row['vignette']}/seed-{seed}",
        "llm_recorded": row["llm"],
        "vignette": row["vignette"],
        "technique": row["technique"],
        "anchor_direction": row["anchor_direction"],
        "anchor_value": row["anchor_value"],
        "temperature": row["temperature"],
        "replicate": row["replicate"],
        "status_recorded": "refused" if answer is None else None,
        "response_recorded": answer,
        "first_response": row["first_answer"],
        "response_text": "I would rather not decide this." if answer is None else f"My answer is {answer}.",
        "asked_at": asked_at,
        "line": json.dumps(row),
    }
