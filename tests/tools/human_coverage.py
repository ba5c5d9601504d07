"""`make coverage`: how often the intervals of a study of people hold the effects that its simulation was given."""

import argparse
import math

import numpy as np
import pandas as pd
from scipy import special

from analysis.papers.human_choices import gee_effect, payment_effect

WANTED = (93, 97)
N_PARTICIPANTS, N_STUDIES, SEED = 70, 1000, 20261123
LOG_ODDS_RATIO, PAYMENT_ADDED = 1.55, 0.045


def simulated_choices(n_participants, rng, *, log_odds_ratio=1.55, payment_added=0.045, n_pairs=10):
    """Draw a study whose truth is known.

    Parameters
    ----------
    n_participants : int
    rng : numpy.random.Generator
    log_odds_ratio : float
        Of choosing the target after a summary, in the population: the effect that `gee_effect` estimates.
    payment_added : float
        What a summary adds to the payment, as a share of the price.
    n_pairs : int
        Half of which a participant reads as summaries, one condition the odd ones and the other the even ones.

    Returns
    -------
    pandas.DataFrame
        The columns of a file of `bais import --format human-choices`, and `is_target_chosen` and `relative_payment`.

    Notes
    -----
    A participant's choices are correlated normals that fall below the normal quantile of their probability, so that
    each probability, and with it the odds ratio, is exact whatever the correlation.
    """
    person, pair = (index.ravel() for index in np.indices((n_participants, n_pairs)))
    condition = person % 2
    is_summary = (pair + condition) % 2 == 0
    level = np.linspace(-0.6, 0.8, n_pairs)[pair]
    probability = special.expit(level + log_odds_ratio * is_summary)
    shared = 0.3
    latent = math.sqrt(shared) * rng.standard_normal(n_participants)[person]
    latent += math.sqrt(1 - shared) * rng.standard_normal(len(person))
    is_chosen = latent < special.ndtri(probability)
    price = np.round(np.linspace(12, 80, n_pairs), 2)[pair]
    payment = 1.1 + payment_added * is_summary + np.linspace(-0.1, 0.1, n_pairs)[pair]
    payment += 0.12 * rng.standard_normal(n_participants)[person] + 0.13 * rng.standard_normal(len(person))
    payment = np.maximum(payment, 0)
    return pd.DataFrame(
        {
            "participant": [f"person-{number + 1:03}" for number in person],
            "pair": [f"M{number + 1}|W{number + 1}" for number in pair],
            "product": [f"product-{number + 1:02}" for number in pair],
            "format": np.where(is_summary, "summary", "original"),
            "condition": np.where(condition == 0, "A", "B"),
            "target": [f"M{number + 1}" for number in pair],
            "chosen": [f"{'M' if chosen else 'W'}{number + 1}" for number, chosen in zip(pair, is_chosen, strict=True)],
            "price": price,
            "willingness_to_pay": price * payment,
            "is_target_chosen": is_chosen,
            "relative_payment": payment,
        }
    )


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
