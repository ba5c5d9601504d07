"""Load what was scored: from the spool into `raw`, once all prompts of a scoring are there. Nothing here scores."""

import contextlib
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from ingest.land.load import land
from ingest.scoring.questions import ChatQuestions, Questions, prompt_hash
from ingest.scoring.scorer import scored_prompts, sessions
from ingest.scoring.targets import TARGETS
from ingest.studies.study import shipped_studies
from ingest.warehouse import UserError, connect, printable, warehouse_path

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
    if study in shipped_studies() or _n_there("trials", "study", study):
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
    landed = Landed(n_already_there=_n_there("target_scores", "scoring", scoring["scoring"]))
    if landed.n_already_there:
        return landed

    def scores():
        for line in scored_prompts(path):
            if line["prompt_hash"] in questions.prompts:
                rows = list(_scores(line, begun[line["session"]], questions))
                landed.n_scores += len(rows)
                yield pa.Table.from_pylist(rows)

    land(
        target_scores=scores(),
        prompts=iter([pa.Table.from_pylist(_prompts(questions))]),
        batches=iter([pa.Table.from_pylist(list(_batches(scoring, questions)))]),
        source_versions=iter([pa.Table.from_pylist([_version(scoring, questions)])]),
        version_entries=iter([pa.Table.from_pylist(list(_entries(scoring, questions)))]),
    )
    return landed


def _n_there(table, column, value):
    if not warehouse_path().exists():
        return 0
    with contextlib.closing(connect()) as warehouse:
        is_there = "select 1 from information_schema.tables where table_schema = 'raw' and table_name = $table"
        if not warehouse.execute(is_there, {"table": table}).fetchall():
            return 0
        counted = f"select count(*) from raw.{table} where {column} = $value"
        return warehouse.execute(counted, {"value": value}).fetchall()[0][0]


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
            "target": score["target"],
            "rule": score["rule"],
            "log_probability": score["log_probability"],
            "log_probabilities": json.dumps(score["log_probabilities"]),
            "ids": json.dumps(score["ids"]),
            "bos_log_probability": score["bos"],
        }


def _prompts(questions):
    return [
        {"study": questions.study, "prompt_hash": name, "prompt_kind": "scored", "text": text}
        for name, text in questions.prompts.items()
    ]


def _batch_id(scoring, questions, variation):
    return f"{questions.study}/{scoring['scoring']}/{variation}"


def _variations(questions):
    return [name for question in questions.questions for name in question.variations]


def _version_id(scoring):
    return hashlib.sha256(scoring["scoring"].encode()).hexdigest()[:N_HASH]


def _batches(scoring, questions) -> Iterator[dict]:
    """Describe a batch for each variation: what was asked of whom, and which prompt stands for which fields."""
    for variation in _variations(questions):
        cells = [
            {
                "anchor": cell.anchor,
                "anchor_direction": cell.anchor_direction,
                "fields": sorted(cell.coalition),
                "prompt_hash": prompt_hash(cell.prompt),
            }
            for cell in questions.cells
            if cell.variation == variation
        ]
        definition = {name: scoring[name] for name in ("scoring", "llm", "revision", "dtype", "device")}
        yield {
            "batch_id": _batch_id(scoring, questions, variation),
            "study": questions.study,
            "vignette": variation,
            "source": "scored",
            "response_unit": "percent",
            "valid_min": float(TARGETS[0]),
            "valid_max": float(TARGETS[-1]),
            "n_trials": N_OF_VARIATION,
            "definition": json.dumps(definition | {"variation": variation, "cells": cells}),
            "loaded_at": datetime.now(UTC),
            "version_id": _version_id(scoring),
            "content": f"{scoring['scoring']}/{variation}",
        }


def _version(scoring, questions):
    return {
        "version_id": _version_id(scoring),
        "study": questions.study,
        "archive": ARCHIVE,
        "source_name": scoring["scoring"],
        "label": scoring["revision"],
        "digest": hashlib.sha256(f"{scoring['scoring']} {questions.digest}".encode()).hexdigest(),
        "is_older": False,
        "is_complete": True,
        "n_new": N_OF_VARIATION * len(_variations(questions)),
        **dict.fromkeys(("n_unchanged", "n_changed", "n_gone"), 0),
        "imported_at": datetime.now(UTC),
    }


def _entries(scoring, questions) -> Iterator[dict]:
    for variation in _variations(questions):
        record = f"{scoring['scoring']}/{variation}"
        yield {
            "version_id": _version_id(scoring),
            "study": questions.study,
            "entry": record,
            "record_id": record,
            "batch_id": _batch_id(scoring, questions, variation),
        }
