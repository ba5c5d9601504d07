"""`make coverage`: shares of changed framings without what judges get wrong, by simulation.

Answers change the framing of a true share of the texts, and a judge errs anew on each text.
"""

import argparse

import numpy as np
import pandas as pd

from analysis.papers.framing import FEWEST_IDENTITY_PAIRS, framing_rows

LABELS = np.array(["N", "P", "U"])
ACCURACY = 0.92
TRUE_SHARE = 0.3
N_DATASETS = 500
SEED = 20261123
WANTED = (93, 97)


def judged(true, rng, accuracy=ACCURACY):
    """Return what a judge says of texts: the true label, or each other one as often."""
    wrong = (true + rng.integers(1, len(LABELS), len(true))) % len(LABELS)
    return np.where(rng.random(len(true)) < accuracy, true, wrong)


def texts_of(true, original, identity):
    """Return texts of known label with what is said of them and, a second time, of identical ones."""
    names = [f"text {place}" for place in range(len(true))]
    roles = {"original": original, "identity": identity}
    return pd.concat([
        pd.DataFrame({"study": "s", "role": role, "judged": names, "label": LABELS[said], "correct": LABELS[true]})
        for role, said in roles.items() if said is not None
    ])  # fmt: skip


def framings_of(original, by_llm):
    """Return the labels of texts and of the answers to them, by LLM."""
    return pd.concat([
        pd.DataFrame({
            "study": "s", "paradigm": "retelling", "llm": llm, "technique": "no_technique", "vignette": "v",
            "item": [f"text {place}" for place in range(len(original))], "source_label": LABELS[original],
            "answer_label": LABELS[said], "n_trials": 1,
        })
        for llm, said in by_llm.items()
    ])  # fmt: skip


def shares(n_texts, accuracy, rng, *, n_datasets=N_DATASETS):
    """Return the mean corrected share, how often in percent its interval holds the true one, and how many there are.

    Parameters
    ----------
    n_texts : int
        All of known label and judged twice, and put to one LLM.
    accuracy : float
        How often the judge is right.
    rng : numpy.random.Generator
    n_datasets : int
    """
    found = []
    for _ in range(n_datasets):
        true = rng.integers(0, len(LABELS), n_texts)
        turned = (true + rng.integers(1, len(LABELS), n_texts)) % len(LABELS)
        answers = np.where(rng.random(n_texts) < TRUE_SHARE, turned, true)
        original, identity, said = (judged(of, rng, accuracy) for of in (true, true, answers))
        rows = framing_rows(framings_of(original, {"a": said}), texts_of(true, original, identity))
        row = next(row for row in rows if row["llm"] == "a")
        if "phi_corrected" in row:
            found.append((row["phi_corrected"], row["phi_corrected_low"] <= TRUE_SHARE <= row["phi_corrected_high"]))
    mean, held = np.mean(found, axis=0)
    return float(mean), 100 * float(held), len(found)


def main():
    """Simulate and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--datasets", type=int, default=N_DATASETS)
    n_datasets = options.parse_args().datasets
    rng = np.random.default_rng(SEED)
    print(
        f"\nShares of changed framings, corrected for judges; {n_datasets:,} data sets each; true share {TRUE_SHARE}."
    )
    print(
        f"Judge right in %, texts, mean corrected share, intervals that hold in % (wanted: {WANTED[0]} to {WANTED[1]}),"
    )
    print("data sets that are corrected")
    for accuracy in (0.8, 0.95):
        for n_texts in (FEWEST_IDENTITY_PAIRS, 2 * FEWEST_IDENTITY_PAIRS):
            mean, held, n_corrected = shares(n_texts, accuracy, rng, n_datasets=n_datasets)
            print(f"  {100 * accuracy:>3.0f}{n_texts:>6}{mean:8.3f}{held:8.1f}{n_corrected:>8,}", flush=True)


if __name__ == "__main__":
    main()
