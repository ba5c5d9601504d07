"""Lengths: how many tokens a text and its answer have, counted by the tokenizer of the LLM that answered."""

import hashlib
from collections.abc import Sequence

from ingest.local.tokenizer import can_count, count_tokens, tokenizer_file
from ingest.measuring.vectors import SHORT_SOURCE
from ingest.warehouse import UserError, sha256_of

MEASURES = ("text_tokens", "answer_tokens")
NO_TOKENIZER = "no_tokenizer"
N_AT_A_TIME = 2_000


class Tokenizer:
    """The instrument `tokenizer`; of an LLM whose tokenizer is not on this machine it counts nothing.

    Parameters
    ----------
    llms : sequence of str
        Those that answered in the study. Other tokenizers make another version of the instrument.
    """

    name, measures, n_at_a_time = "tokenizer", MEASURES, N_AT_A_TIME

    def __init__(self, llms: Sequence[str]):
        if not can_count():
            raise UserError(
                "tokens cannot be counted, since `tokenizers` is not installed here: `make embed` in a checkout of "
                "bais installs it; `content.lengths` estimates them without"
            )
        self._files = {llm: file for llm in sorted(llms) if (file := tokenizer_file(llm))}
        known = (f"{llm} {sha256_of(file)}" for llm, file in self._files.items())
        self.version = hashlib.sha256("\n".join(known).encode()).hexdigest()

    def values(self, texts: Sequence) -> list[dict[str, dict]]:
        """Return of each text, by measure, its tokens or the reason why they are not counted."""
        return [self._counted(text) for text in texts]

    def _counted(self, text):
        file = self._files.get(text.llm)
        reason = text.reason if text.reason != SHORT_SOURCE else None
        if reason or not file:
            return {measure: {"value": None, "reason": reason or NO_TOKENIZER} for measure in MEASURES}
        counts = count_tokens(file, [text.source, text.answer])
        return {measure: {"value": n, "reason": None} for measure, n in zip(MEASURES, counts, strict=True)}
