"""How fast MiniLM is in numpy against torch, with the same weights and texts, both on this CPU."""

import time

import numpy as np

from ingest.measuring.minilm import WINDOW, MiniLm
from ingest.warehouse import UserError
from tests.tools.ratios import Bench

N_TEXTS = 32
WORDS = ("battery", "kettle", "lasts", "two", "days", "and", "the", "court", "postponed", "its", "hearing", ".")
AT_A_TIME = 16
ROUNDS = 3


def texts_of(rng, n_texts):
    """Make texts of 20 to 200 words, as reviews, their thirds and summaries have."""
    return [" ".join(rng.choice(WORDS, size)) for size in rng.integers(20, 200, n_texts)]


def timed(vectors, texts):
    """Return the least seconds of some rounds, and the directions."""
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        found = vectors(texts)
        seconds.append(time.perf_counter() - began)
    return min(seconds), found


def in_torch(folder):
    """Return what embeds texts with torch and transformers, as the makers of the weights do."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()

    def vectors(texts):
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        found = [None] * len(texts)
        for start in range(0, len(order), AT_A_TIME):
            places = order[start : start + AT_A_TIME]
            given = tokenizer(
                [texts[place] for place in places], padding=True, truncation=True, max_length=WINDOW + 2,
                return_tensors="pt",
            )  # fmt: skip
            with torch.inference_mode():
                states = model(**given).last_hidden_state
            mask = given["attention_mask"][:, :, None]
            means = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=1)
            for place, mean in zip(places, means.numpy(), strict=True):
                found[place] = mean
        return found

    return vectors


def main():
    """Time both, where both are here; else say what is missing."""
    bench = Bench(__doc__)
    try:
        numpys = MiniLm()
        torchs = in_torch(numpys.folder)
    except (UserError, ImportError) as error:
        bench.leave_out("MiniLM", str(error))
        return
    texts = texts_of(np.random.default_rng(0), n_texts := bench.scaled(N_TEXTS))
    seconds_of_torch, expected = timed(torchs, texts)
    seconds, found = timed(numpys.vectors, texts)
    furthest = max(np.abs(of.direction - other).max() for of, other in zip(found, expected, strict=True))
    bench.record(
        "MiniLM in numpy: texts a second", "torch", seconds_of_torch / seconds, "at least 0.2", seconds=seconds,
        details=f"{n_texts / seconds:.1f} texts/s; they differ by at most {furthest:.1e}",
    )  # fmt: skip


if __name__ == "__main__":
    main()
