"""What would settle what is open, by LLMs, items or trials, and what that costs."""

from analysis.words.codes import listed

DOES = {"use": "helps", "avoid": "harms", "equivalent": "makes no difference"}
UNREACHABLE = {
    "not_reachable_with_trials": "More trials of the {noun}s asked would not settle {names}",
    "not_reachable_with_llms": "More {noun}s on the same items would not settle {names}",
    "not_reachable_with_items": "More items put to the same {noun}s would not settle {names}",
}
# what `analysis.engine.guards` does not let stand, however sure it were
FORBIDDEN = {
    "bias_reversed": "of what turns the bias round neither “use” nor “no difference” is said",
    "bias_moved": "of what moves the bias of an LLM by more than the margin “no difference” is not said",
    "judge_errors_counted": "with what judges get wrong in a share, “no difference” is not said of it",
}


def settling(rows, name_of, noun, *, is_cost_known_elsewhere=False):
    """Say what would settle each open decision, the smallest number first.

    Parameters
    ----------
    rows : list of dict
        Rows of `inference.power` of the design `to_settle`.
    name_of : callable
        From such a row to what its technique is called.
    noun : str
        What those are called who answered.
    is_cost_known_elsewhere : bool, optional
        Whether it is said beside this what more LLMs cost.

    Returns
    -------
    str or None
        None where no number would.
    """
    units = {"needed_llms": f"more {noun}", "needed_items": "more item", "needed_trials": "trials in each cell"}
    ways, unreachable, forbidden, costs = {quantity: [] for quantity in units}, {}, {}, []
    for row in rows:
        quantity, needed = row["quantity"], row[row["quantity"]]
        if needed is None:
            for code in (row["reason"] or "").split("; "):
                if code in UNREACHABLE:
                    unreachable.setdefault(code, []).append(name_of(row))
                if code in FORBIDDEN:
                    forbidden.setdefault((quantity, code), []).append(name_of(row))
            continue
        costs.append(row["cost_usd"])
        is_shown = row["cost_usd"] is not None and not (quantity == "needed_llms" and is_cost_known_elsewhere)
        usd = f" ({row['cost_usd']:,.2f} USD)" if is_shown else ""
        now = {"needed_llms": row["n_llms"], "needed_items": row["n_items"]}.get(quantity, 0)
        ways[quantity].append((max(needed - now, 0), usd, f"that {name_of(row)} {DOES[row['settles']]}"))
    parts = []
    for quantity, of_quantity in ways.items():
        if of_quantity:
            (fewest, usd, shows), *others = sorted(of_quantity)
            plural = "s" if quantity != "needed_trials" and fewest != 1 else ""
            rest = [f"{number:,}{cost} {that}" for number, cost, that in others]
            parts.append(", ".join([f"{fewest:,} {units[quantity]}{plural}{usd} would show {shows}", *rest]))
    things = {"needed_llms": f"{noun}s", "needed_items": "items", "needed_trials": "trials"}
    barred = [
        f"No number of {things[quantity]} would settle {listed(names, 'or')}: {FORBIDDEN[code]}"
        for (quantity, code), names in forbidden.items()
    ]
    if not parts:
        return f"{'. '.join(barred)}." if barred else None
    for code, text in UNREACHABLE.items():
        if code in unreachable:
            parts.append(text.format(noun=noun, names=listed(unreachable[code], "or")))
    if None in costs and not is_cost_known_elsewhere:
        parts.append("What that costs is not known")
    parts += barred
    return f"What would settle it about every second time, if gains stay as they are: {'. '.join(parts)}."


def over_llms(way, n_more, others, what):
    """Say how many LLMs would settle a decision, and whether trials or items of those that were asked could.

    Parameters
    ----------
    way : dict
        The row of `inference.power` on the LLMs that it takes.
    n_more : int
        How many of them were not asked.
    others : list of dict
        Those on the trials or items that it takes.
    what : str
        What is to be settled.

    Returns
    -------
    str
    """
    if not way["needed_llms"]:
        return (
            f"How many LLMs settle {what} ({_now(way)}) cannot be said from these ({way['reason']}); nothing is "
            "decided of fewer than five."
        )
    beside = "more trials of the LLMs that were asked cannot"
    for other in others:
        if other["needed_trials"]:
            beside = f"so could {_trials(other)}"
        elif other["needed_items"]:
            beside = f"so could {other['needed_items']:,} items put to each LLM instead of {other['n_items']:,}"
        elif other["quantity"] == "needed_items":
            beside = "more items put to the LLMs that were asked cannot"
    return (
        f"To settle {what} ({_now(way)}): {way['needed_llms']:,} LLMs in all, {n_more:,} more; {beside}. Were "
        f"the gain to stay, the decision would be `{way['settles']}` about every second time."
    )


def over_trials(way, what):
    """Say how many trials of each cell would settle a decision.

    Parameters
    ----------
    way : dict
        The row of `inference.power` on the trials that it takes.
    what : str
        What is to be settled.

    Returns
    -------
    str
    """
    return (
        f"To settle {what} ({_now(way)}): {_trials(way)}; were the gain to stay, the decision would be "
        f"`{way['settles']}` about every second time."
    )


def cost_of_llms(n_llms, usd, techniques, *, is_recorded):
    """Say what it costs to ask some LLMs.

    Parameters
    ----------
    n_llms : int
    usd : list of float
        The least and the most that it may cost.
    techniques : list of str
        What they are asked.
    is_recorded : bool
        Whether those that were asked have to be asked again.

    Returns
    -------
    str
    """
    whom = f"all {n_llms:,} LLMs anew" if is_recorded else f"{n_llms:,} more LLM{'s' * (n_llms > 1)}"
    what = "is ranked there" if is_recorded else "the study asks"
    low, high = (f"{end:,.0f}" for end in usd)
    return (
        f"To ask {whom} costs {low} to {high} USD, at the mean of seeds/prices.csv and as `bais plan` assumes it, for "
        f"all that {what} ({', '.join(techniques)})."
    )


def on_the_study(content, n_new, n_missing, study, *, is_recorded):
    """Say whom a study file lacks, and whether its answers are counted with those that are there.

    Parameters
    ----------
    content : dict
        The `study` that it is.
    n_new : int
        LLMs that it asks and that were not asked before.
    n_missing : int
        LLMs that have to be named.
    study : str
        Of which study it settles a decision.
    is_recorded : bool
        Whether the study was recorded without its prompts.

    Yields
    ------
    str
    """
    if n_missing:
        yield (
            f"This study asks {n_new:,} of them: {n_missing:,} more are missing; name them, each with "
            "--llm vendor/name."
        )
    if is_recorded:
        yield (
            f"{study} was recorded without its prompts: this is a study of its own, {content['study']}, which asks "
            "bais's words of the vignette, and its answers are not counted with the recorded ones."
        )
    else:
        yield (f"The file names all that {study} had, so that its answers go on counting; only what is new is asked.")


def _trials(way):
    """Say how many trials a cell takes."""
    return (
        f"{way['needed_trials']:,} trials of each LLM, vignette, technique and arm instead of "
        f"{way['n_trials_per_cell']:.0f}"
    )


def _now(way):
    return f"now {way['gain']:+.1f} with {way['n_llms']} LLM{'s' * (way['n_llms'] > 1)}"
