"""Multilingual E5, which document C measured with: through torch and transformers, which `make local` installs."""

from collections.abc import Sequence
from importlib.util import find_spec

from ingest.local.llm import problem_of
from ingest.measuring import N_AT_A_TIME
from ingest.measuring.vectors import NO_WORDS, Comparison, Vector, mean_of_windows, windows
from ingest.warehouse import UserError, printable

LIBRARIES = ("torch", "transformers")
MODEL = "intfloat/multilingual-e5-large"
PREFIX = "query: "  # what its makers say to put before texts that are compared with each other
LONGEST = 512  # tokens, the two around a text and its prefix included


class E5(Comparison):
    """The instrument `e5`; document C does not say which size of it, so that the largest is the default.

    Parameters
    ----------
    model : str, optional
        A folder, or an id at Hugging Face.
    """

    name = "e5"
    n_at_a_time = N_AT_A_TIME

    def __init__(self, model: str | None = None):
        if missing := [library for library in LIBRARIES if not find_spec(library)]:
            raise UserError(
                f"e5 cannot measure, since {' and '.join(missing)} {'are' if missing[1:] else 'is'} not installed "
                "here: `make local` in a checkout of bais installs it, and `--instrument tfidf` works without"
            )
        import transformers

        place = model or MODEL
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(place, trust_remote_code=False)
            self._model = transformers.AutoModel.from_pretrained(place, trust_remote_code=False).eval()
        except (OSError, ValueError) as error:
            raise UserError(
                f"e5 cannot measure, since {printable(place)} cannot be loaded: {problem_of(error)}"
            ) from None
        self.version = f"{place}@{getattr(self._model.config, '_commit_hash', None) or 'unknown'}"

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        """Return the direction of each text: the mean of those of its windows, which count by their tokens."""
        prefix = self._tokenizer(PREFIX, add_special_tokens=False)["input_ids"]
        size = LONGEST - len(prefix) - 2
        encoded = self._tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        return [self._vector(prefix, list(windows(ids, size))) for ids in encoded]

    def _vector(self, prefix, of_text):
        if not of_text:
            return Vector(reason=NO_WORDS)
        import torch

        directions = []
        for window in of_text:
            ids = [self._tokenizer.cls_token_id, *prefix, *window, self._tokenizer.sep_token_id]
            with torch.inference_mode():
                states = self._model(input_ids=torch.tensor([ids])).last_hidden_state
            directions.append(states[0].mean(dim=0).float().numpy())
        return mean_of_windows(directions, [len(window) for window in of_text])
