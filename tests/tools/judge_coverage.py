"""`make coverage`: shares of changed framings without what judges get wrong, and decisions on them, by simulation.

Answers change the framing of a true share of the texts, and a judge errs anew on each text.
"""

import argparse
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.engine.comparisons import Comparison, compared
from analysis.engine.decisions import mean_decision
from analysis.engine.grid import Grid
from analysis.engine.guards import criterion_of, stood
from analysis.engine.questions import basis_of_contrast
from analysis.engine.rule import one_sided, t_bounds
from analysis.methods.confusion import FEWEST_IDENTITY_PAIRS, judging_of
from analysis.papers.framing import framing_rows

LABELS = np.array(["N", "P", "U"])
ACCURACY = 0.92
TRUE_SHARE = 0.3
N_DATASETS = 500
N_LLMS = 10  # each of a vendor of its own
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


def unchanged(rng):
    """Return the shares of LLMs without a technique and with one that changes nothing, and the true gain in squares."""
    shares = rng.uniform(0.1, 0.4, N_LLMS)
    return shares, shares, 0.0


def either_way(rng):
    """Return those with a technique that helps some LLMs as much as it harms others."""
    return np.full(N_LLMS, 0.3), np.sqrt(0.09 + rng.uniform(-0.07, 0.07, N_LLMS)), 0.0


def smaller(rng):
    """Return those with a technique that takes 30 points off."""
    shares = rng.uniform(0.35, 0.45, N_LLMS)
    return shares, shares - 0.3, 2 * 0.4 * 0.3 - 0.3**2


ASKED = SimpleNamespace(
    arm="asked", arm_b=None, pairing="item", is_share=True, margin=0.05, better="lower", reference=0.0,
    answer_kind="text", measured_from="judgement",
)  # fmt: skip
PAIR = Comparison("helps", "no_technique", "control", is_confounded=False)


def decided(shares_of, n_texts, accuracy, rng, *, n_datasets=N_DATASETS):
    """Return how often in percent something is decided and intervals hold, over vendors and of each LLM.

    Parameters
    ----------
    shares_of : callable
        From a generator to the true shares of LLMs without and with a technique, and the gain over all such LLMs.
    n_texts, accuracy, rng, n_datasets
        As of `shares`; all texts are put to all LLMs.

    Returns
    -------
    dict of str to float
        `decided`: use or avoid over vendors; `held`: the interval holds the true gain; `vendors`: that over vendors
        alone does; `llm_decided`: some LLM is decided on; `llm_held`: the intervals of all LLMs hold their own
        gains, with the error of all together.
    """
    of = {name: [] for name in ("decided", "held", "vendors", "llm_decided", "llm_held")}
    while len(of["held"]) < n_datasets:
        *shares, gain = shares_of(rng)
        true = rng.integers(0, len(LABELS), n_texts)
        original, identity = judged(true, rng, accuracy), judged(true, rng, accuracy)
        judging = judging_of(texts_of(true, original, identity))
        if judging.reason:
            continue
        framings = pd.concat([
            framings_of(original, {
                f"llm {place}": judged(np.where(rng.random(n_texts) < share, (true + 1) % 3, true), rng, accuracy)
                for place, share in enumerate(of_llms)
            }).assign(technique=technique)
            for technique, of_llms in zip(("no_technique", "helps"), shares, strict=True)
        ]).assign(arm="asked")  # fmt: skip
        grid = Grid(framings.assign(n_asked=1, sum_of_values=0.0, sum_of_squares=0.0))
        gains, row = _decision(grid.without_errors(framings, judging))
        _, low, high, _ = criterion_of(row, gains)
        of["decided"].append(row["decision"] in ("use", "avoid"))
        of["held"].append(low <= gain <= high)
        low, high = t_bounds(gains.by_vendor(gains.values), level=one_sided())
        of["vendors"].append(low <= gain <= high)
        low, high = gains.bounds_of_llms(level=one_sided(N_LLMS))
        of["llm_decided"].append(((low > 0) | (high < 0)).any())
        of_llms = shares[0] ** 2 - shares[1] ** 2
        of["llm_held"].append(((low <= of_llms) & (of_llms <= high)).all())
    return {name: 100 * float(np.mean(values)) for name, values in of.items()}


def _decision(grid):
    basis = basis_of_contrast(grid, ASKED, {})
    gains, family = compared(basis, [PAIR])
    row, _ = mean_decision(PAIR, gains[PAIR], basis, family)
    return gains[PAIR], stood(row, gains[PAIR], basis, family)[0]


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
    print(
        f"Decisions on them, {N_LLMS} LLMs of as many vendors, in %. Technique, judge, texts: use or avoid; intervals"
    )
    print("that hold, those over vendors alone; some LLM is decided on; the intervals of all LLMs hold at once")
    for shares_of in (unchanged, either_way, smaller):
        for accuracy in (0.8, 0.95):
            for n_texts in (FEWEST_IDENTITY_PAIRS, 3 * FEWEST_IDENTITY_PAIRS):
                found = decided(shares_of, n_texts, accuracy, rng, n_datasets=n_datasets)
                shown = "".join(f"{share:8.1f}" for share in found.values())
                print(f"  {shares_of.__name__:<12}{100 * accuracy:>3.0f}{n_texts:>6}{shown}", flush=True)


if __name__ == "__main__":
    main()
