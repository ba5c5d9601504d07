"""What is said of how often LLMs alter texts, and of what that does to people."""

import math

from analysis.words.measures import named

KINDS = {"framing_changed": "changes the framing of texts", "fact_check_wrong": "gets pairs of articles wrong"}
PERIODS = {"all": "", "pre": " from before its knowledge ends", "post": " from after its knowledge ends"}
TEN = "ten"  # analysis.papers.human_choices.FEWEST_PARTICIPANTS in words
WHY = {
    "nobody_counts": "everybody in it was excluded",
    "too_few_participants": f"so few people say nothing of others ({TEN} who count are needed, and more than products)",
    "not_converged": "the choices are so alike that the model found no estimate",
    "separated": "of a product, or in a format, everybody chose alike, so that no odds can be told",
    "rank_deficient": "the effect of the summary cannot be told from that of the products",
}


STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def stars(p_value):
    """Return the stars of a p-value, as document C's figure 3 has them.

    Parameters
    ----------
    p_value : float or None

    Returns
    -------
    str
        Nothing from .05 on, and where there is no p-value.
    """
    return next((mark for below, mark in STARS if p_value is not None and p_value < below), "")


def on_alterations(rows):
    """Say of each LLM asked with no technique how often it alters what it is given.

    Parameters
    ----------
    rows : list of dict
        Rows of `people.alteration_and_people` of one study.

    Returns
    -------
    list of str
    """
    sentences = {}
    for row in rows:
        bounds = "" if row["rate_low"] is None else f" ({row['rate_low']:.1%} to {row['rate_high']:.1%})"
        sentences[row["llm"], row["alteration"], row["period"]] = (
            f"{row['llm']} {KINDS[row['alteration']]}{PERIODS[row['period']]} in {row['rate']:.1%} of cases{bounds}."
        )
    return list(sentences.values())


UNLIKE = "These compare badly: one divides by how much people differ, the other by chance in the answers of an LLM."


def beside_llms(rows, *, has_sources):
    """Say what people do beside what LLMs do, in the measure in which both are known.

    Parameters
    ----------
    rows : list of dict
        Rows of `marts.human_comparisons` that lead, over all LLMs, each with `n_unvarying`, how many LLMs are left out
        since their answers do not vary.
    has_sources : bool
        Whether it is said where what people do was published, and what makes both hard to compare.

    Returns
    -------
    list of str
    """
    return [
        f"People, by {named(row | {'measure': row['outcome'] or row['paradigm']})}: {row['measure']} = "
        f"{row['human_estimate']:.3g} ({row['human_low']:.3g} to {row['human_high']:.3g}; "
        f"{row['human_question']}{'; ' + row['source'] if has_sources else ''}). "
        f"{_whose(row['n_llms'])}: {row['llm_estimate']:.3g}{_left_out(row['n_unvarying'])}."
        f"{f' {UNLIKE}' if has_sources and row['caution'] else ''}"
        for row in rows
    ]


def _whose(n_llms):
    return "One LLM" if n_llms == 1 else f"These {n_llms} LLMs, on average"


def _left_out(n):
    """Say how many LLMs have no such effect, which divides by how much answers vary."""
    their = "its answers never vary" if n == 1 else "the answers of each never vary"
    return f" ({n} more {'is' if n == 1 else 'are'} left out: {their})" if n else ""


def on_choices(row):
    """Say of a study of people what reading a summary does to their choices.

    Parameters
    ----------
    row : dict
        `study, n_choices, n_participants`, and `estimate, low, high, reason` of `people.human_choice_effects`.

    Returns
    -------
    str
    """
    subject = f"Study {row['study']}, {row['n_choices']:,} choices of {row['n_participants']:,} people: "
    if row["estimate"] is None:
        return f"{subject}what a summary does to them cannot be told: {WHY.get(row['reason'], row['reason'])}."
    bounds = f"{math.exp(row['low']):.3g} to {math.exp(row['high']):.3g}"
    does = "makes them choose" if row["low"] > 0 else "keeps them from choosing" if row["high"] < 0 else ""
    shown = f"a summary {does} the product" if does else "no effect of a summary on choosing the product was shown"
    times = f"{math.exp(row['estimate']):.3g}"
    odds = f"the odds that they choose it are {times} times as high after a summary as after the original"
    return f"{subject}{shown} ({odds}; 95 % interval {bounds})."
