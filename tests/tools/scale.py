"""Say how many rows `counts` has as trials grow: `python tests/tools/scale.py`, the tables of docs/scale.md.

A cell is an LLM, a vignette, a technique, an anchor and a temperature. Trials fall into the cells evenly. The answers
of a cell are drawn from a normal distribution and rounded, as people and LLMs round; its SD is so many of the steps to
which they round. Each distinct answer of a cell is a row in each of three row sets and two response sources.
"""

import argparse

import numpy as np
from scipy.stats import norm

TECHNIQUES_AND_ANCHORS = 2 * 12 + 1  # twelve techniques under a low and a high anchor, and the question alone
TEMPERATURES = 2
COPIES = 3 * 2
DESIGNS = ((10, 5), (10, 500), (100, 50), (1_000, 500))  # LLMs and vignettes
STEPS = (2, 20, 1_000)  # of the SD of the answers of a cell
TRIALS = tuple(10**power for power in range(6, 10))


def distinct_answers(n_trials: float, n_steps: float) -> float:
    """Return how many distinct answers so many trials of a cell are expected to have."""
    whole, rest = divmod(n_trials, 1)
    if rest:  # trials fall evenly: some cells have one more than the others
        return (1 - rest) * distinct_answers(whole, n_steps) + rest * distinct_answers(whole + 1, n_steps)
    edges = (np.arange(-8 * n_steps, 8 * n_steps + 2) - 0.5) / n_steps
    shares = np.diff(norm.cdf(edges))
    return float(-np.expm1(n_trials * np.log1p(-np.minimum(shares, 1 - 1e-12))).sum())


def rows(n_trials: int, n_llms: int, n_vignettes: int, n_steps: int) -> float:
    """Return how many rows `counts` is expected to have."""
    n_cells = n_llms * n_vignettes * TECHNIQUES_AND_ANCHORS * TEMPERATURES
    return COPIES * n_cells * distinct_answers(n_trials / n_cells, n_steps)


def main() -> None:
    """Print a table for each spread of answers."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter).parse_args()
    for n_steps in STEPS:
        print(f"Answers of a cell with an SD of {n_steps:,} steps:\n")
        print("| LLMs | vignettes | cells |", *(f"{n_trials:,} trials |" for n_trials in TRIALS))
        print("| ---: | ---: | ---: |", *("---: |" for _ in TRIALS))
        for n_llms, n_vignettes in DESIGNS:
            n_cells = n_llms * n_vignettes * TECHNIQUES_AND_ANCHORS * TEMPERATURES
            found = (f"{float(f'{rows(n_trials, n_llms, n_vignettes, n_steps):.2g}'):,.0f} |" for n_trials in TRIALS)
            print(f"| {n_llms:,} | {n_vignettes:,} | {n_cells:,} |", *found)
        print()


if __name__ == "__main__":
    main()
