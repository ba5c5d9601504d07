"""Load what was scored: from the spool into `raw`, once all prompts of a scoring are there. Nothing here scores."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from ingest.land.load import land, landed_ids
from ingest.scoring.questions import ChatQuestions, Questions, prompt_hash
from ingest.scoring.scorer import scored_prompts, sessions
from ingest.scoring.targets import TARGETS
from ingest.studies.study import named_studies
from ingest.warehouse import UserError, printable

ARCHIVE = "bais-score"
N_HASH = 32
N_OF_VARIATION = 2 * len(TARGETS)  # scores of the whole prompt, under either anchor


@dataclass
class Landed:
    """What a load brought."""

    n_scores: int = 0
    n_already_there: int = 0


def refuse_study_of_trials(study: str) -> None:
    """Refuse to score questions under the name of a study that LLMs have answered, or that bais ships."""
    if study in named_studies() or landed_ids(study).num_rows:
        raise UserError(
            f"{printable(study)} is a study whose questions are put to LLMs, and nobody answers what is scored: give "
            "the study in the file of questions another name"
        )


def load_scored(path: Path) -> Landed:
    """Load a scoring that is complete and not in the warehouse yet; a second load adds nothing."""
    begun = sessions(path)
    if not begun:
        raise UserError(f"{printable(path)} holds no scoring: nothing was loaded")
    scoring = list(begun.values())[-1]
    kind = ChatQuestions if "chat" in scoring["questions"] else Questions
    questions = kind.model_validate(scoring["questions"])
    missing = questions.prompts.keys() - {line["prompt_hash"] for line in scored_prompts(path)}
    if missing:
        raise UserError(
            f"{len(missing):,} of the {len(questions.prompts):,} prompts of {printable(scoring['scoring'])} are not "
            "scored yet: the same command goes on with them, and nothing was loaded"
        )
    there = landed_ids(questions.study, "target_scores", "scoring")["scoring"].to_pylist()
    landed = Landed(n_already_there=there.count(scoring["scoring"]))
    if landed.n_already_there:
        return landed

    def scores():
        for line in scored_prompts(path):
            if line["prompt_hash"] in questions.prompts:
                rows = list(_scores(line, begun[line["session"]], questions))
                landed.n_scores += len(rows)
                yield pa.Table.from_pylist(rows)

    tables = _tables(scoring, questions)
    land(target_scores=scores(), **{name: [pa.Table.from_pylist(rows)] for name, rows in tables.items()})
    return landed


def _scores(line, session, questions) -> Iterator[dict]:
    same = {
        "study": questions.study,
        "scoring": session["scoring"],
        "prompt_hash": line["prompt_hash"],
        "llm_recorded": session["llm"],
        **{name: session[name] for name in ("revision", "dtype", "device", "tokenizer_hash", "way")},
        "chat_template_hash": questions.chat_template_hash,
        "versions": json.dumps(session["versions"]),
        "session_id": line["session"],
        "scored_at": datetime.fromisoformat(line["scored_at"]),
    }
    for score in line["scores"]:
        yield same | {
            **{name: score[name] for name in ("target", "rule", "log_probability")},
            **{name: json.dumps(score[name]) for name in ("log_probabilities", "ids")},
            "bos_log_probability": score["bos"],
        }


def _tables(scoring, questions):
    """Return the rows of a scoring by table: its prompts, and a version of it that brings a batch for each variation.

    A batch says what was asked of whom, and which prompt stands for which fields.
    """
    name, study, now = scoring["scoring"], questions.study, datetime.now(UTC)
    of_version = {"version_id": hashlib.sha256(name.encode()).hexdigest()[:N_HASH], "study": study}
    told = {key: scoring[key] for key in ("scoring", "llm", "revision", "dtype", "device")}
    batches, entries = [], []
    for variation in [variation for question in questions.questions for variation in question.variations]:
        cells = [
            {
                "anchor": cell.anchor, "anchor_direction": cell.anchor_direction, "fields": sorted(cell.coalition),
                "prompt_hash": prompt_hash(cell.prompt),
            }
            for cell in questions.cells
            if cell.variation == variation
        ]  # fmt: skip
        record, batch_id = f"{name}/{variation}", f"{study}/{name}/{variation}"
        batches.append(
            of_version | {
                "batch_id": batch_id, "vignette": variation, "source": "scored", "response_unit": "percent",
                "valid_min": float(TARGETS[0]), "valid_max": float(TARGETS[-1]), "n_trials": N_OF_VARIATION,
                "definition": json.dumps(told | {"variation": variation, "cells": cells}), "loaded_at": now,
                "content": record,
            }
        )  # fmt: skip
        entries.append(of_version | {"entry": record, "record_id": record, "batch_id": batch_id})
    version = of_version | {
        "archive": ARCHIVE, "source_name": name, "label": scoring["revision"],
        "digest": hashlib.sha256(f"{name} {questions.digest}".encode()).hexdigest(), "is_older": False,
        "is_complete": True, "n_new": N_OF_VARIATION * len(batches), "n_unchanged": 0, "n_changed": 0, "n_gone": 0,
        "imported_at": now,
    }  # fmt: skip
    prompts = [
        {"study": study, "prompt_hash": key, "prompt_kind": "scored", "text": text}
        for key, text in questions.prompts.items()
    ]
    return {"prompts": prompts, "batches": batches, "source_versions": [version], "version_entries": entries}
