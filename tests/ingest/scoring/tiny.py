"""A transformer of two layers in numpy, and tokenizers of several kinds: an LLM that is there without torch."""

import re

import numpy as np

from ingest.scoring.questions import Questions, load_questions

VOCABULARY = 400

# how each kind cuts a text into tokens
KINDS = {
    # numbers whole, a space belongs to what follows it: GPT-2
    "byte_level": r" ?\d+| ?[^\W\d]+| ?[^\w\s]+|\s",
    # every digit by itself, a space too: Gemma
    "split_digits": r"\d|[^\W\d]+|[^\w\s]|\s",
    # a mark before the first word, a space is part of no digit: Llama
    "sentence_piece": r"▁|\d|[^\W\d]+|[^\w\s]|\s",
    # up to two digits at a time, the percent sign with the last: what differs is of different lengths
    "pairs": r" ?\d{1,2}%?| ?[^\W\d]+|[^\w\s]+|\s",
    # words and their continuations: BERT
    "word_piece": r"\d\d?|(?<=\d)%|[^\W\d]{1,4}|[^\w\s]",
}


class Spelling:
    """A tokenizer by regular expression, that numbers the tokens as they come."""

    unknown_id = 0

    def __init__(self, kind, *, bos=False, eos=False, lacks=""):
        self.kind, self.bos, self.eos, self.lacks = kind, bos, eos, lacks
        self.known = {"<unk>": 0, "<bos>": 1, "<eos>": 2}

    def encode(self, texts, *, special=True):
        return [self._encode(text, special) for text in texts]

    def _encode(self, text, special):
        if self.kind == "sentence_piece":
            text = "▁" + text.replace(" ", "▁")
        tokens = re.findall(rf"<\w+>|{KINDS[self.kind]}", text)
        ids = [0 if token == self.lacks else self.known.setdefault(token, len(self.known)) for token in tokens]
        assert len(self.known) <= VOCABULARY
        return [1] * (self.bos and special) + ids + [2] * (self.eos and special)


class Transformer(Spelling):
    """Two layers of attention and what follows it, with learned positions, in float64."""

    dtype = "float64"

    def __init__(self, kind="byte_level", *, width=16, longest=400, seed=0, **of_tokenizer):
        super().__init__(kind, **of_tokenizer)
        rng = np.random.default_rng(seed)

        def drawn(*shape):
            return rng.normal(size=shape) / np.sqrt(shape[0])

        self.width = width
        self.embedding, self.place = rng.normal(size=(VOCABULARY, width)), rng.normal(size=(longest, width))
        self.layers = [
            [3 * drawn(width, 3 * width), drawn(width, width), drawn(width, 4 * width), drawn(4 * width, width)]
            for _ in range(2)
        ]
        self.head = 2 * drawn(width, VOCABULARY)
        self.n_tokens = 0  # that passed through it

    def forward(self, ids, positions, mask, n_last):
        self.n_tokens += ids.size
        x = self.embedding[ids] + self.place[positions]
        for attend, out, up, down in self.layers:
            query, key, value = np.split(self._scaled(x) @ attend, 3, axis=-1)
            weights = query @ key.swapaxes(-1, -2) / np.sqrt(self.width) + self.bias(ids.shape[1])
            weights = np.where(mask, weights, -np.inf)
            weights = np.exp(weights - weights.max(axis=-1, keepdims=True))
            x = x + weights / weights.sum(axis=-1, keepdims=True) @ value @ out
            x = x + np.maximum(self._scaled(x) @ up, 0) @ down
        return (self._scaled(x) @ self.head)[:, -n_last:]

    def bias(self, n):
        """What is added to the weights by distance: nothing, since the positions are learned."""
        return 0

    def forward_plain(self, ids):
        n = len(ids)
        return Transformer.forward(
            self, np.array([ids]), np.arange(n)[None], np.tril(np.ones((1, n, n), bool)), n
        )  # fmt: skip

    def forward_after(self, stem, tails):
        longest = max(map(len, tails))
        logits = [self.forward_plain([*stem, *tail])[0, len(stem) :] for tail in tails]
        return np.stack([np.pad(of, ((0, longest - len(of)), (0, 0))) for of in logits])

    def log_probabilities(self, logits, rows, places, ids):
        return log_probabilities(logits, rows, places, ids)

    @staticmethod
    def _scaled(x):
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True))


class Alibi(Transformer):
    """One that knows no positions, but distances between places of a batch, as falcon-rw-1b."""

    def __init__(self, *args, **named):
        super().__init__(*args, **named)
        self.place[:] = 0

    def bias(self, n):
        return -0.5 * np.abs(np.subtract.outer(np.arange(n), np.arange(n)))


class HeedsNoMask(Transformer):
    """One that takes a mask, and sees all that stands before."""

    def forward(self, ids, positions, mask, n_last):
        return super().forward(ids, positions, np.tril(np.ones_like(mask)), n_last)


class Named(Transformer):
    """One that says what it is."""

    device, n_at_a_time = "cpu", 4

    def __init__(self, kind="byte_level", **more):
        super().__init__(kind, **more)
        self.name, self.revision, self.tokenizer_hash = "tiny/numpy", "1", "abc"
        self.versions = {"numpy": np.__version__}


class Chatty(Named):
    """One that people chat with, whose template writes the beginning of a text by itself."""

    chat_template = "<bos><user>{message}<end><model>"

    def in_chat(self, message):
        return self.chat_template.format(message=message)


def questions_of(variation):
    """The shipped questions, those of one variation alone."""
    shipped = load_questions()
    (question,) = (of for of in shipped.questions if variation in of.variations)
    one = question.model_dump() | {"variations": {variation: question.variations[variation].model_dump()}}
    return Questions(study=shipped.study, source=shipped.source, questions=[one])


def log_probabilities(logits, rows, places, ids):
    """Read log-probabilities off logits that are an array."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    totals = np.log(np.exp(shifted).sum(axis=-1))
    return shifted[rows, places, ids] - totals[rows, places]
