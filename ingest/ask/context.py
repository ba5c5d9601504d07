"""What an LLM can hold: whether a question fits into its context window, with the answer that it may give."""

import csv
import functools

from ingest.prompts.steps import tokens_of
from ingest.warehouse import ROOT

BEYOND_CONTEXT = "context_length"


@functools.cache
def context_windows() -> dict[str, int]:
    """Return how many tokens of question and answer each LLM can hold, where it is known."""
    with open(ROOT / "seeds" / "context_windows.csv", encoding="utf-8", newline="") as file:
        return {row["llm"]: int(row["tokens"]) for row in csv.DictReader(file)}


def is_beyond_context(llm, turn) -> bool:
    """Tell whether a question is estimated to be too long for an LLM; one on this machine counts its own tokens."""
    window = context_windows().get(llm.llm)
    if window is None or llm.provider == "local":
        return False
    tokens_allowed = turn.max_tokens or llm.max_tokens or 0
    return sum(tokens_of(message["content"]) for message in turn.messages) + tokens_allowed > window


def said_of_beyond(counts: dict[str, int], *, are_planned: bool) -> list[str]:
    """Say of how many trials of each LLM the question is too long for it."""
    return [
        f"{llm}: {n:,} {'trial' if n == 1 else 'trials'} {'would not be' if are_planned else 'not'} asked, since "
        f"question and answer are longer than its {context_windows()[llm]:,} tokens (seeds/context_windows.csv; "
        "tokens are estimated); `most_tokens` under `items` leaves longer texts away"
        for llm, n in sorted(counts.items())
        if n
    ]
