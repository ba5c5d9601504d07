"""Score an LLM: the log-probability of every target after every prompt of a file of questions.

Each prompt that was scored is a line of the spool, written at once, so that no end of this process loses it, and a
restart goes on after it. A batch of prompts is the same ones however often it is begun, so that a restart writes the
same numbers.
"""

import hashlib
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from ingest.ask.spool import SCORES, Spool, records_of, spool_folder
from ingest.local import CANNOT_BE_ASKED
from ingest.local.llm import LocalLlm, OutOfMemory
from ingest.scoring.passes import WAYS, AtATime, NotFinite, refuse_infinite, right_way
from ingest.scoring.questions import Questions
from ingest.scoring.targets import Spelling, Targets
from ingest.warehouse import UserError, printable

N_NAMED = 12  # characters of the hash in the name of a scoring


@dataclass(frozen=True)
class Scoring:
    """One pass of one LLM over a file of questions.

    Another LLM, revision, number format or question is another one, and so is a chat instead of prompts as they are.
    """

    llm: LocalLlm
    questions: Questions

    @property
    def name(self) -> str:
        """What it is called, always alike."""
        identity = (self.llm.name, self.llm.revision, self.llm.dtype, self.llm.device, self.llm.tokenizer_hash)
        digest = hashlib.sha256("\n".join((*identity, self.questions.digest)).encode()).hexdigest()
        return f"{self.llm.name}@{'chat-' if self.questions.chat_template_hash else ''}{digest[:N_NAMED]}"

    @property
    def path(self) -> Path:
        """Its spool file: in a folder of its own, since nobody was asked."""
        file = f"{self.name.replace('/', '_')}.jsonl"
        return spool_folder(self.questions.study) / "scores" / file

    def describe(self) -> dict:
        """Say what it is a scoring of."""
        return {
            "kind": "scoring",
            "scoring": self.name,
            "session": uuid.uuid4().hex,
            "started_at": datetime.now(UTC).isoformat(),
            "llm": self.llm.name,
            **{name: getattr(self.llm, name) for name in ("revision", "dtype", "device", "tokenizer_hash")},
            "versions": {"bais": version("bais"), **self.llm.versions},
            "questions": self.questions.model_dump(mode="json"),
        }


@dataclass
class Outcome:
    """What came of it: prompts that were scored now and before, and in which way."""

    scoring: str
    path: Path
    way: str | None = None
    n_scored: int = 0
    n_before: int = 0


def score(
    llm: LocalLlm, questions: Questions, on_progress: Callable[[int, int], None] = lambda n_done, n_all: None
) -> Outcome:
    """Score what is not in the spool yet, and return what came of it; what keeps an LLM from it is one sentence."""
    scoring = Scoring(llm, questions)
    with Spool(scoring.path, SCORES) as spool:
        done = {record["prompt_hash"] for record in scored_prompts(scoring.path)}
        outcome = Outcome(scoring.name, scoring.path, n_before=len(done))
        if done >= questions.prompts.keys():
            return outcome
        targets = Targets(llm, in_chat=questions.chat_template_hash is not None)
        spellings = dict(zip(questions.prompts, targets.after(list(questions.prompts.values())), strict=True))
        order = sorted(spellings, key=lambda name: (-max(map(len, spellings[name].wholes)), name))
        session = scoring.describe()
        try:
            outcome.way = right_way(llm, spellings[order[0]])
            spool.write(session | {"way": outcome.way})
            at_a_time = AtATime(llm.n_at_a_time)
            for names in _batches(order, llm.n_at_a_time):
                if done.issuperset(names):
                    continue
                results = at_a_time.each(lambda some: WAYS[outcome.way](llm, some), [spellings[name] for name in names])
                lines = [
                    _line(name, session["session"], questions.prompts[name], spellings[name], scores)
                    for name, scores in zip(names, results, strict=True)
                ]
                for line in lines:
                    if line["prompt_hash"] not in done:
                        spool.write(line)
                        outcome.n_scored += 1
                        done.add(line["prompt_hash"])
                on_progress(len(done), len(order))
        except OutOfMemory:
            raise UserError(
                f"{printable(llm.name)} needs more memory than this machine has on {llm.device}, even for one prompt "
                f"at a time: choose a smaller --dtype or another --device; {_kept(outcome)}",
                CANNOT_BE_ASKED,
            ) from None
        except NotFinite as error:
            raise UserError(
                f"{printable(llm.name)} gives {error}, so that nothing can be computed from it: in {llm.dtype} its "
                f"numbers may be too large, so try --dtype float32; {_kept(outcome)}",
                CANNOT_BE_ASKED,
            ) from None
        except KeyboardInterrupt:
            raise UserError(f"interrupted; {_kept(outcome)}", 130) from None
    return outcome


def scored_prompts(path: Path) -> Iterator[dict]:
    """Yield the lines of a spool file that are scores of a prompt, the first of each; of no file there are none."""
    seen = set()
    for record in records_of(path):
        if record.get("kind") == "scores" and record.get("prompt_hash") not in seen:
            seen.add(record["prompt_hash"])
            yield record


def sessions(path: Path) -> dict[str, dict]:
    """Return what was said of the scoring each time it was begun, by session."""
    return {record["session"]: record for record in records_of(path) if record.get("kind") == "scoring"}


def _batches(names, size):
    for start in range(0, len(names), size):
        yield names[start : start + size]


def _line(name, session, prompt, spelling: Spelling, scores):
    entries = []
    for reading in spelling.readings:
        values = scores[reading.rule, reading.target]
        refuse_infinite(values, reading.target)
        entries.append(
            {
                "rule": reading.rule,
                "target": reading.target,
                "log_probability": float(values.sum()),
                "log_probabilities": [float(value) for value in values],
                "ids": list(reading.ids),
                "bos": float(values[: reading.n_bos].sum()) if reading.n_bos else None,
            }
        )
    return {
        "kind": "scores",
        "prompt_hash": name,
        "session": session,
        "scored_at": datetime.now(UTC).isoformat(),
        "prompt": prompt,
        "scores": entries,
    }


def _kept(outcome):
    n = outcome.n_before + outcome.n_scored
    return f"the {n:,} prompts that were scored are kept, and the same command goes on after them"
