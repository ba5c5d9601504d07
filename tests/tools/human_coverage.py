"""`make coverage`: how often the intervals of a study of people hold the effects that its simulation was given."""

import argparse

import numpy as np

from analysis.papers.human_choices import gee_effect, payment_effect, simulated_choices

WANTED = (93, 97)
N_PARTICIPANTS, N_STUDIES, SEED = 70, 1000, 20261123
LOG_ODDS_RATIO, PAYMENT_ADDED = 1.55, 0.045


def coverage(n_studies, seed=SEED, *, n_participants=N_PARTICIPANTS):
    """Return how often, in percent, the GEE and the mixed model hold the truth, and how wide their intervals are."""
    rng = np.random.default_rng(seed)
    truths = {"gee": (gee_effect, LOG_ODDS_RATIO), "mixed_model": (payment_effect, PAYMENT_ADDED)}
    held, widths = {name: [] for name in truths}, {name: [] for name in truths}
    for _ in range(n_studies):
        choices = simulated_choices(n_participants, rng, log_odds_ratio=LOG_ODDS_RATIO, payment_added=PAYMENT_ADDED)
        for name, (estimate_of, truth) in truths.items():
            found = estimate_of(choices)
            held[name].append(found["low"] <= truth <= found["high"])
            widths[name].append(found["high"] - found["low"])
    return {name: (100 * float(np.mean(held[name])), float(np.mean(widths[name]))) for name in truths}


def main():
    """Simulate and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--studies", type=int, default=N_STUDIES)
    n_studies = options.parse_args().studies
    print(f"\n{n_studies:,} studies of {N_PARTICIPANTS} people: how often, in %, the interval holds the truth")
    print(f"  wanted: {WANTED[0]} to {WANTED[1]}")
    for name, (share, width) in coverage(n_studies).items():
        print(f"  {name:<12}{share:6.1f}  mean width {width:.3f}")


if __name__ == "__main__":
    main()
