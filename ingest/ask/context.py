"""What an LLM can hold: whether a question fits into its context window, with the answer that it may give."""

from ingest.land.seeds import place_of, seed_rows
from ingest.local.tokenizer import can_count, count_tokens, tokenizer_file
from ingest.prompts.steps import tokens_of

BEYOND_CONTEXT = "context_length"


def context_windows() -> dict[str, int]:
    """Return how many tokens of question and answer each LLM can hold, where it is known."""
    return {row["llm"]: int(row["tokens"]) for row in seed_rows("context_windows")}


def is_beyond_context(llm, turn) -> bool:
    """Tell whether a question is too long for an LLM; one that bais runs itself finds out when it is asked."""
    window = context_windows().get(llm.llm)
    if window is None or llm.provider == "local":
        return False
    tokens_allowed = turn.max_tokens or llm.max_tokens or 0
    return tokens_for(llm.llm, [message["content"] for message in turn.messages]) + tokens_allowed > window


def tokens_for(llm, texts):
    """Return how many tokens an LLM reads: counted by its tokenizer where that is on this machine, else estimated."""
    file = _tokenizer_of(llm)
    return sum(count_tokens(file, texts)) if file else sum(map(tokens_of, texts))


def _tokenizer_of(llm):
    return tokenizer_file(llm) if can_count() else None


def said_of_beyond(counts: dict[str, int], *, are_planned: bool) -> list[str]:
    """Say of how many trials of each LLM the question is too long for it."""
    return [
        f"{llm}: {n:,} {'trial' if n == 1 else 'trials'} {'would not be' if are_planned else 'not'} asked, since "
        f"question and answer are longer than its {context_windows()[llm]:,} tokens ({place_of('context_windows')}; "
        f"tokens are {'counted by its tokenizer' if _tokenizer_of(llm) else 'estimated'}); `most_tokens` under `items` "
        "leaves longer texts away"
        for llm, n in sorted(counts.items())
        if n
    ]
