"""The columns that a table of trials may have, as files name them or the SELECT of a mapping yields them."""

import re
from collections.abc import Mapping
from difflib import get_close_matches

from ingest.warehouse import UserError, printable

FILENAME = "filename"
TIMEOUT_S = 600  # for a mapping of them
# By name, what it is: the first have to be there, and of the answers one.
NEEDED = {
    "llm": "the LLM, as vendor/name",
    "vignette": "the scenario that was put",
}
ANSWERS = {
    "text": "the answer as it was given; its number is read where there is no column number",
    "number": "the answer as a number, in the response unit",
    "choice": "the id of the option that was chosen",
    "label": "the label that was given",
}
OTHERS = {
    "technique": "the debiasing prompt; no_technique where none was used, and where there is no such column",
    "paradigm": "the kind of experiment, such as framing; anchoring where it is empty",
    "arm": "the treatment; of anchoring none, low or high",
    "item": "the id of the text or case that was put into the vignette",
    "anchor_direction": "none, low or high",
    "anchor_value": "the number that was planted, in the response unit",
    "temperature": "a number",
    "replicate": "a whole number that counts the trials of one condition",
    "asked_at": "when it was asked, as ISO 8601",
    "option_order": "the ids of the options that were shown as A, B, C, as a list of JSON",
    "first_number": "the answer before debiasing, as a number",
    "error": "what went wrong: a trial without an answer has failed for that reason",
    "llm_returned": "the model that the endpoint says has answered",
    "llm_named": "the name under which the source keeps the LLM, where that may be another one than was asked",
    "read_as": "how the source itself read the answer",
    "prompt": "what was asked, whole",
    "prompt_hash": "a name of what was asked",
    "tokens": "tokens of the answer, a whole number",
    "cost": "what the answer cost, in USD",
    "own_id": "what the source itself calls the trial; no two have the same",
}
# The same in all rows, and of a vignette in all of its rows.
OF_ALL = {
    "study": "the study that the trials belong to; --study goes before it",
    "source_name": "what the source calls itself; --source goes before it",
}
OF_VIGNETTES = {
    "domain": "the field that the vignette belongs to",
    "response_unit": "the unit of its answers, such as USD or months; the numbers of texts are read by it",
    "valid_min": "the least that an answer can be",
    "valid_max": "the most that an answer can be",
    "baseline_prompt": "same or differs: the prompt without an anchor is that with one less the anchor, or not",
    "differs_by": "what differs, where baseline_prompt is differs",
}
OF_A_ROW = NEEDED | ANSWERS | OTHERS
KNOWN = OF_A_ROW | OF_ALL | OF_VIGNETTES
# What other tools call these, as far as it leaves no doubt.
OTHERWISE = {
    "llm": ("model", "model_name", "model_id", "llm_recorded", "engine", "provider"),
    "vignette": ("scenario", "scenario_id", "vignette_id", "case_id"),
    "text": (
        "response", "response_text", "answer", "answer_text", "output", "completion", "reply", "raw_response", "raw",
    ),
    "number": ("response_recorded", "response_number", "estimate", "numeric_answer", "parsed_number"),
    "choice": ("chosen", "chosen_option", "option_chosen", "selected_option"),
    "technique": ("debiasing", "mitigation", "strategy", "intervention"),
    "paradigm": ("bias", "bias_name", "bias_type"),
    "arm": ("treatment", "condition", "variant"),
    "item": ("item_id", "question_id"),
    "anchor_direction": ("direction", "anchor_type", "anchor_condition"),
    "anchor_value": ("anchor", "anchor_number"),
    "temperature": ("temp", "t"),
    "replicate": ("run", "run_index", "repetition", "repeat", "trial_number"),
    "asked_at": ("timestamp", "time", "datetime", "created_at", "collected_at", "date"),
    "error": ("error_message", "exception", "reason_recorded"),
    "llm_returned": ("returned_model", "actual_model"),
    "prompt": ("prompt_text", "full_prompt", "message", "input"),
    "tokens": ("tokens_out", "output_tokens", "completion_tokens", "n_tokens"),
    "cost": ("cost_usd", "price", "usd"),
    "own_id": ("id", "trial_id", "uuid", "result_id"),
    "response_unit": ("unit",),
}  # fmt: skip
# What a column may be called that says by which technique was asked.
OF_TECHNIQUES = re.compile(
    r"techni|condition|prompt|strateg|debias|mitigat|interven|method|treatment|variant", re.IGNORECASE
)
MEANT = {other: name for name, others in OTHERWISE.items() for other in others}


def likely_column(name: str, names=KNOWN) -> str | None:
    """Return which of our columns one of another name may be, if one is like it."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\W+", "_", name).strip("_").lower()
    candidates = [plain if plain in names else MEANT.get(plain), *get_close_matches(plain, names, n=1, cutoff=0.8)]
    return next((one for one in candidates if one in names), None)


def lacks(columns: Mapping[str, str]) -> list[str]:
    """Say what columns, by what each is or may be called here, lack of a trial, with the column that it may be."""
    others = sorted(columns.keys() - KNOWN.keys())

    def may_be(names):
        other = next((columns[other] for other in others if likely_column(other, names)), None)
        return f" (perhaps {printable(other)})" if other else ""

    lacking = [f"{name}{may_be({name})}" for name in NEEDED if name not in columns]
    has_answer = not columns.keys().isdisjoint(ANSWERS)
    return lacking if has_answer else [*lacking, f"an answer ({', '.join(ANSWERS)}){may_be(ANSWERS.keys())}"]


def in_a_row(words: list[str]) -> str:
    """Join words with commas, and the last with `and`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def refuse_columns(columns: list[str], n_files: int, *, is_map: bool, where: str, to_do: str) -> None:
    """Refuse a table that is none of trials: its columns as they are written, of so many files.

    Of a mapping every column has to be known. A table without one may have others, but none that seems to be meant.
    """
    seen = {}
    for column in columns:
        if column.lower() in seen:
            raise UserError(f"{where} has two columns that are called {printable(column)}: {to_do}")
        seen[column.lower()] = column
    others = {name: column for name, column in seen.items() if name not in KNOWN and name != FILENAME}
    absent = KNOWN.keys() - seen.keys()
    if is_map and others:
        name, column = next(iter(others.items()))
        may_be = likely_column(name, absent)
        told = f"perhaps it is {may_be}" if may_be else f"there are {', '.join([FILENAME, *KNOWN])}"
        raise UserError(f"{where} has a column {printable(column)}, which is none of ours ({told}): {to_do}")
    if lacking := lacks(seen):
        raise UserError(f"{where} lacks {in_a_row(lacking)}: {to_do}")
    for name, column in others.items():
        if may_be := likely_column(name, absent):
            raise UserError(f"{where} has a column {printable(column)}, which may be our {may_be}: {to_do}")
    if FILENAME not in seen and n_files > 1:
        raise UserError(
            f"{where} yields no column {FILENAME}, and there are {n_files:,} files: add {FILENAME} of source to it, so "
            "that each trial is known by its file"
        )
