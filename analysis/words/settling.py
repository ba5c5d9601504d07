"""What would settle what is open, by LLMs, items or trials, and what that costs."""

from analysis.words.codes import listed

DOES = {"use": "helps", "avoid": "harms", "equivalent": "makes no difference"}
UNREACHABLE = {
    "not_reachable_with_trials": "More trials of the {noun}s asked would not settle {names}",
    "not_reachable_with_llms": "More {noun}s on the same items would not settle {names}",
    "not_reachable_with_items": "More items put to the same {noun}s would not settle {names}",
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
    ways, unreachable, costs = {quantity: [] for quantity in units}, {}, []
    for row in rows:
        quantity, needed = row["quantity"], row[row["quantity"]]
        if needed is None:
            for code in (row["reason"] or "").split("; "):
                if code in UNREACHABLE:
                    unreachable.setdefault(code, []).append(name_of(row))
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
    if not parts:
        return None
    for code, text in UNREACHABLE.items():
        if code in unreachable:
            parts.append(text.format(noun=noun, names=listed(unreachable[code], "or")))
    if None in costs and not is_cost_known_elsewhere:
        parts.append("What that costs is not known")
    return f"What would settle it about every second time, if gains stay as they are: {'. '.join(parts)}."
