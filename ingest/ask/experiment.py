"""Experiments in the form of story 001, run as one piece: their strict answers, and the lines that hold the results."""

import asyncio
import contextlib
import json
import re
import uuid
from pathlib import Path

from ingest.ask.collector import MOST_CHARACTERS, Collector, provider_of
from ingest.providers import NoReply, Question
from ingest.studies.design import Design
from ingest.studies.study import load_study, named_studies
from ingest.texts.lines import repeated_keys
from ingest.texts.redaction import Redaction
from ingest.warehouse import UserError, printable

STORY_001 = "anchoring-prosecutor-sentencing"
ANSWER_FORMAT = "story-001"
TURNS = {"single_turn": 1, "three_turn": 3}
IN_THREE_TURNS = "-three-turn"
EVALUATIONS = ("too low", "too high", "just right")
MONTHS = (lambda value: type(value) is int, "not_an_integer")
EVALUATION = (lambda value: value in EVALUATIONS, "invalid_evaluation")
# what tells that a key holds what was asked for, and the code if it does not
KINDS = {
    "prosecutorRecommendationMonths": MONTHS,
    "prosecutorEvaluation": EVALUATION,
    "defenseAttorneyEvaluation": EVALUATION,
    "sentenceMonths": MONTHS,
}
KEYS = tuple(KINDS)
KEYS_BY_TURN = {"single_turn": (KEYS,), "three_turn": (KEYS[:2], KEYS[2:3], KEYS[3:])}
FENCE = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)
MEANINGS = {
    "no_text": "the reply is empty",
    "not_json_only": "the reply holds more than a JSON object, such as prose or a code fence",
    "invalid_json": "the reply is no valid JSON",
    "not_an_object": "the reply is JSON but no object",
    "duplicate_key": "a key stands there twice",
    "missing_key": "a key is missing",
    "unknown_key": "there is a key that was not asked for",
    "not_an_integer": "a number of months is not a whole number written as one",
    "invalid_evaluation": "an evaluation is none of too low, too high, just right",
    "out_of_range": "the sentence is outside the valid range",
    "condition_mismatch": "the prosecutor's demand is not the one that was stated",
}


class InvalidAnswer(Exception):
    """An answer that breaks the schema; `args[0]` is the code, a key of `MEANINGS`."""


def experiment(name, protocol: str | None = None):
    """Return the study behind an experiment, a YAML file or a shipped one by its name, in the protocol asked for.

    The same experiment in three turns stands in a file beside it, whose name ends in `-three-turn`.
    """
    study = _checked(name)
    if protocol in (None, protocol_of(study)):
        return study
    path = Path(name)
    stem = path.stem.removesuffix(IN_THREE_TURNS) + (IN_THREE_TURNS if protocol == "three_turn" else "")
    other = str(path.with_name(stem + path.suffix))
    if other == str(path) or (other not in named_studies() and not Path(other).is_file()):
        raise UserError(
            f"{printable(name)} is asked as {protocol_of(study)}; "
            f"to ask it as {protocol}, write {printable(other)} beside it"
        )
    return _checked(other)


def _checked(name):
    if str(name) not in named_studies() and not Path(name).exists():
        names = ", ".join(shipped_experiments())
        raise UserError(f"there is no experiment {printable(name)}: give a YAML file or one of {names}")
    study = load_study(name)
    if problem := what_is_missing(study):
        raise UserError(
            f"{printable(name)} is no experiment that can be run as one piece: {problem}; ask it with `bais collect`"
        )
    return study


def what_is_missing(study) -> str | None:
    """Say what keeps a study from the form of story 001: one case, two anchors, a second demand, one JSON object."""
    if study.answer_format != ANSWER_FORMAT:
        return f"its answer_format is not {ANSWER_FORMAT}"
    if len(study.vignettes) > 1 or len(study.techniques) > 1 or len(study.temperatures) > 1:
        return "it needs one vignette, one technique and one temperature"
    vignette, technique, anchors = study.vignettes[0], study.techniques[0], study.anchors.fixed
    if study.baselines or not anchors or vignette.get("anchors"):
        return "it needs fixed anchors for the whole study, and `baselines: false`"
    if study.second_anchor is None:
        return "it has no second_anchor"
    if technique.get("rounds") or len(technique.get("turns", ())) not in TURNS.values():
        return "it needs one turn or three"
    if vignette["response_unit"] != "months":
        return "its vignette is not answered in months"
    numbers = (anchors.low, anchors.high, vignette.get("valid_min"), vignette.get("valid_max"))
    if not all(number is not None and number == int(number) for number in numbers):
        return "its anchors, valid_min and valid_max have to be whole numbers"
    return None


def shipped_experiments() -> list[str]:
    """Return the names of the shipped studies that can be run as one piece."""
    return [name for name in named_studies() if not what_is_missing(load_study(name))]


def protocol_of(study) -> str:
    """Return whether an experiment is asked in one turn or in three."""
    return next(protocol for protocol, n in TURNS.items() if n == len(study.techniques[0]["turns"]))


def definition(study) -> dict:
    """Describe an experiment for its analysis and its report."""
    vignette = study.vignettes[0]
    words = vignette.get("words", {})
    return {
        "id": study.study,
        "name": study.description or study.study,
        "anchorDerivation": words.get("anchor_derivation", "set by the study before the first trial"),
        "responseUnit": words.get("answers_in", vignette["response_unit"]),
        "validMin": int(vignette["valid_min"]),
        "validMax": int(vignette["valid_max"]),
        "conditions": [
            {"id": condition_id(direction, value), "anchorDirection": direction, "anchorValue": int(value)}
            for direction, value in study.anchors.fixed
        ],
    }


def condition_id(direction, months):
    """Name a condition: `low-anchor-3mo`."""
    return f"{direction}-anchor-{months:g}mo"


def parse_answer(
    text: str, keys: tuple[str, ...] = KEYS, *, valid: tuple[float, float], anchor: float | None = None,
    is_lenient: bool = False,
) -> dict:  # fmt: skip
    """Read an answer with exactly these keys, this anchor, in the range; within a fence or prose if `is_lenient`."""
    text = (text or "").strip()
    if not text:
        raise InvalidAnswer("no_text")
    try:
        answer = _strict_json(text)
    except json.JSONDecodeError:
        answer = _json_within(text)
        if answer is None and text[:1] in "{[":
            raise InvalidAnswer("invalid_json") from None
        if answer is None or not is_lenient:
            raise InvalidAnswer("not_json_only") from None
    if not isinstance(answer, dict):
        raise InvalidAnswer("not_an_object")
    if answer.keys() != set(keys):
        raise InvalidAnswer("unknown_key" if answer.keys() > set(keys) else "missing_key")
    for key in keys:
        is_right, code = KINDS[key]
        if not is_right(answer[key]):
            raise InvalidAnswer(code)
    if not valid[0] <= answer.get("sentenceMonths", valid[0]) <= valid[1]:
        raise InvalidAnswer("out_of_range")
    if anchor is not None and answer.get("prosecutorRecommendationMonths", anchor) != anchor:
        raise InvalidAnswer("condition_mismatch")
    return answer


def _strict_json(text):
    """Read JSON as its standard has it: a key stands there once, and there is no NaN."""

    def once(pairs):
        if repeated_keys(pairs):
            raise InvalidAnswer("duplicate_key")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=int)  # NaN is no int
    except json.JSONDecodeError:
        raise
    except (RecursionError, ValueError):
        raise InvalidAnswer("invalid_json") from None


def _json_within(text):
    """Return the one JSON object within a fence or prose, or None."""
    candidates = FENCE.findall(text) or [text[text.find("{") : text.rfind("}") + 1]]
    with contextlib.suppress(json.JSONDecodeError):
        return _strict_json(candidates[-1].strip())
    return None


def llm_of(model: str) -> dict:
    """Return the entry of `llms` for `codex`, `codex/NAME`, `sim/NAME`, or `vendor/name` at an endpoint."""
    if model == "codex":
        return {"llm": "openai/codex", "provider": "codex"}
    if model.startswith("codex/"):
        return {"llm": f"openai/codex-{model[6:]}", "provider": "codex", "model": model[6:]}
    return {"llm": model} if "/" in model else {"llm": f"openai/{model}", "model": model}


def study_of_run(name, *, protocol: str | None, model: str | None, n_runs: int, seed: int, attempts: int):
    """Return the study that a run collects; without a model it asks the one LLM that the experiment names."""
    from pydantic import ValidationError

    study = experiment(name, protocol)
    if model is None and len(study.llms) > 1:
        raise UserError(f"{printable(name)} names several LLMs: say with --model which one to ask")
    named = [llm.model_dump(exclude_none=True) for llm in study.llms if model in (None, llm.llm)]
    changes = {
        "llms": named or [llm_of(model)],
        "order_seed": seed,
        "stopping_rule": {"minimum": n_runs},
        "limits": {**study.limits.model_dump(exclude_none=True), "attempts": attempts},
    }
    try:
        return type(study).model_validate({**study.model_dump(exclude_none=True), **changes})
    except ValidationError as error:
        message = error.errors()[0]["msg"].removeprefix("Value error, ")
        subject = f"--model {printable(model)}" if model else printable(named[0]["llm"])
        raise UserError(f"{subject} cannot be asked: {printable(message)}") from None


class Run:
    """One run of an experiment; it holds each turn's answer against the schema, as `Collector` wants it of a judge.

    Parameters
    ----------
    study : ingest.studies.study.Study
        As `study_of_run` returns it.
    is_lenient : bool
    on_line : callable
        Called with each result, a dict, as its trial is complete.
    on_progress : callable, optional
    """

    def __init__(self, study, is_lenient, on_line, on_progress=None):
        self.study, self.is_lenient, self.on_line = study, is_lenient, on_line
        self.protocol = protocol_of(study)
        self.valid = study.vignettes[0]["valid_min"], study.vignettes[0]["valid_max"]
        design = Design(study, run=f"run-{uuid.uuid4().hex[:12]}")
        self.collector = Collector(design, judge=self, on_progress=on_progress, on_trial=self._on_trial)

    def error(self, trial, turn: int, text: str, is_lenient: bool | None = None) -> str | None:
        """Say why the text of a turn will not do, or None."""
        try:
            self._parse(trial, turn, text, self.is_lenient if is_lenient is None else is_lenient)
        except InvalidAnswer as error:
            return error.args[0]
        return None

    def result(self, trial, replies: list[str]) -> dict:
        """Put the valid replies of a trial together into the four keys."""
        result = {}
        for turn, text in enumerate(replies):
            result |= self._parse(trial, turn, text, self.is_lenient)
        return {key: result[key] for key in KEYS}

    def response(self, trial, replies: list[str]) -> int:
        """Return the sentence in months."""
        return self.result(trial, replies)["sentenceMonths"]

    def _parse(self, trial, turn, text, is_lenient):
        keys = KEYS_BY_TURN[self.protocol][turn]
        return parse_answer(text, keys, valid=self.valid, anchor=trial.cell.anchor_value, is_lenient=is_lenient)

    def _on_trial(self, trial, record, calls):
        cell, llm = trial.cell, self.study.llms[0]
        replies = [call["text"] for call in calls if call["error"] is None]
        last, code, error = calls[-1], record["reason"] or record["status"], None
        if code:
            error = {"code": code, "message": MEANINGS.get(code) or last["error_detail"] or code}
        needs_leniency = any(self.error(trial, turn, text, is_lenient=False) for turn, text in enumerate(replies))
        line = {
            "experimentId": self.study.study, "model": llm.model or llm.llm, "provider": llm.provider,
            "protocol": self.protocol, "conditionId": condition_id(cell.anchor_direction, cell.anchor_value),
            "runIndex": trial.replicate, "params": {"prosecutorRecommendationMonths": int(cell.anchor_value)},
            "result": None if code else self.result(trial, replies), "rawLastMessage": last["text"],
            "wasLenient": not code and needs_leniency, "error": error,
            "attempts": len(calls) - max(len(replies) - 1, 0), "trialId": trial.trial_id,
            "collectedAt": record["finished_at"],
        }  # fmt: skip
        self.on_line(line)


def ask_once(study, prompt: str) -> tuple[str | None, str | None]:
    """Put one prompt to the study's LLM, outside of any trial; return the reply or why there is none."""
    llm, limits = study.llms[0], study.limits

    async def ask():
        provider = provider_of(llm, Design(study))[1]()
        redaction = Redaction([provider.secret])
        question = Question(llm, [{"role": "user", "content": prompt}], None, None, 0, "report", 0)
        try:
            for _ in range(limits.attempts):
                try:
                    async with asyncio.timeout(limits.timeout_s):
                        text = (await provider.ask(question)).text or ""
                except NoReply as error:
                    problem = ": ".join(filter(None, (error.reason, error.words(redaction))))
                    if error.does in ("fail", "stop_llm"):
                        break
                except TimeoutError:
                    problem = "timeout"
                else:
                    if text.strip():
                        return redaction.of_answer(text, MOST_CHARACTERS), None
                    problem = "an empty reply"
        finally:
            await provider.close()
        return None, problem

    return asyncio.run(ask())
