"""What would settle what is open, by vendors, LLMs, items or trials, and what that costs."""

from analysis.words.codes import listed

DOES = {"use": "helps", "avoid": "harms", "equivalent": "makes no difference"}
OFTEN = {0.5: "with a 50 % chance", 0.8: "with an 80 % chance"}
UNREACHABLE = {
    "not_reachable_with_vendors": "more {unit}s on the same items",
    "not_reachable_with_llms": "more {noun}s of the same vendors",
    "not_reachable_with_items": "more items put to the same {noun}s",
    "not_reachable_with_trials": "more trials of the {noun}s tested",
}
# what `analysis.engine.guards` does not let stand, however sure it were
FORBIDDEN = {
    "bias_reversed": "of what turns the bias round neither “use” nor “no difference” is said",
    "bias_moved": "of what moves the bias of an LLM by more than the margin “no difference” is not said",
    "judge_errors_counted": "with what judges get wrong in a share, “no difference” is not said of it",
    "llms_differ": "where an LLM tested surely gains or loses more than the margin, “no difference” is not said",
}
SECOND_LOOK = (
    "Answers of {study} were looked at already: to decide again when more of them are there is a second look, which "
    "costs error (5 % are not held) unless the looks were declared before the first answer."
)
MORE_TO_NAME = (
    "This study asks LLMs of {n_vendors}. To be as sure as said it needs {n_missing}: add an LLM of each to `llms` in "
    "the file."
)
ONE_CASE = (
    "All of it is of one case: what is decided can be supported, and not established before a second one of the domain "
    "is asked too (`vignettes` in the file, or `items` of one)."
)


def settling(rows, name_of, noun, unit="vendor", *, is_cost_known_elsewhere=False):
    """Say what would settle each open decision, the smallest number first, every second time and four times in five.

    Parameters
    ----------
    rows : list of dict
        Rows of `inference.power` of the design `to_settle`.
    name_of : callable
        From such a row to what its technique is called.
    noun : str
        What those are called who answered.
    unit : {'vendor', 'respondent'}
        What is a unit of a decision: of respondents that are simulated each is one, so that none is of the same vendor.
    is_cost_known_elsewhere : bool, optional
        Whether it is said beside this what more vendors cost.

    Returns
    -------
    str or None
        None where no number would.
    """
    said, sentences = {}, []
    rows = [row for row in rows if unit == "vendor" or row["quantity"] != "needed_llms"]
    for power, often in OFTEN.items():
        of_power = [row for row in rows if row["power"] == power]
        if ways := _ways(of_power, name_of, noun, unit, is_cost_known_elsewhere):
            start = often.capitalize() if sentences else f"What would settle it {often}, if gains stay as measured"
            sentences.append(f"{start}: {'. '.join([*ways, *_lacking(of_power, name_of, noun, unit, said)])}.")
    if sentences and not is_cost_known_elsewhere and any(_is_unpriced(row) for row in rows):
        sentences.append("What that costs is not known.")
    sentences += _barred([row for row in rows if row["power"] == min(OFTEN)], name_of, noun, unit)
    return " ".join(sentences) or None


def likeliest_to_settle(rows):
    """Return those rows that say by how many vendors a decision has a chance of a half.

    Parameters
    ----------
    rows : list of dict
        As of `settling`.

    Returns
    -------
    list of dict
    """
    return [row for row in rows if row["power"] == min(OFTEN) and row["needed_vendors"]]


def _ways(rows, name_of, noun, unit, is_cost_known_elsewhere):
    """What each number of more vendors, LLMs, items or trials would show."""
    units = {
        "needed_vendors": f"more vendor{{s}} with one {noun}{{each}}" if unit == "vendor" else f"more {noun}{{s}}",
        "needed_llms": f"more {noun}{{s}} of the same vendors",
        "needed_items": "more item{s}",
        "needed_trials": "trials in each cell",
    }
    now = {"needed_vendors": "n_vendors", "needed_llms": "n_llms", "needed_items": "n_items"}
    ways = []
    for quantity, unit in units.items():
        found = []
        for row in rows:
            if row["quantity"] != quantity or row[quantity] is None:
                continue
            is_told = row["cost_usd"] is None or (quantity == "needed_vendors" and is_cost_known_elsewhere)
            usd = "" if is_told else f" ({row['cost_usd']:,.2f} USD)"
            n_more = max(row[quantity] - (row[now[quantity]] if quantity in now else 0), 0)
            found.append((n_more, usd, f"that {name_of(row)} {DOES[row['settles']]}"))
        if found:
            (fewest, usd, shows), *others = sorted(found)
            is_many = fewest != 1
            first = f"{fewest:,} {unit.format(s='s' * is_many, each=' each' * is_many)}{usd} would show {shows}"
            ways.append(", ".join([first, *(f"{number:,}{cost} {that}" for number, cost, that in others)]))
    return ways


def _lacking(rows, name_of, noun, unit, said):
    """What would not settle which decisions, where that was not said before."""
    codes = {}
    for row in rows:
        for code in _codes(row):
            if code in UNREACHABLE and code not in said.setdefault(name_of(row), set()):
                said[name_of(row)].add(code)
                codes.setdefault(name_of(row), []).append(code)
    names = {}
    for name, of_name in codes.items():
        names.setdefault(tuple(code for code in UNREACHABLE if code in of_name), []).append(name)
    for of_names, those in names.items():
        first, *others = [UNREACHABLE[code].format(noun=noun, unit=unit) for code in of_names]
        whole = f"neither {first} nor {' nor '.join(others)} would" if others else f"{first} would not"
        yield f"{whole[0].upper()}{whole[1:]} settle {listed(those, 'or')}"


def _barred(rows, name_of, noun, unit):
    """Which decisions no number settles, and why."""
    things = {
        "needed_vendors": f"{unit}s", "needed_llms": f"{noun}s", "needed_items": "items", "needed_trials": "trials",
    }  # fmt: skip
    quantities, names = {}, {}
    for row in rows:
        for code in _codes(row):
            if code in FORBIDDEN:
                quantities.setdefault((code, name_of(row)), set()).add(row["quantity"])
    for (code, name), of_name in quantities.items():
        those = tuple(thing for quantity, thing in things.items() if quantity in of_name)
        names.setdefault((code, those), []).append(name)
    for (code, those), of_those in names.items():
        yield f"No number of {listed(those, 'or')} would settle {listed(of_those, 'or')}: {FORBIDDEN[code]}."


def _codes(row):
    return (row["reason"] or "").split("; ")


def _is_unpriced(row):
    return row[row["quantity"]] is not None and row["cost_usd"] is None


def over_vendors(way, others, what):
    """Say how many vendors would settle a decision, and whether LLMs of those asked, trials or items could.

    Parameters
    ----------
    way : dict
        What `inference.power` has on the vendors that it takes: `needed` and `needed_surely` for every second time and
        for four times in five, with `gain, n_llms, n_vendors, settles, reason`.
    others : list of dict
        The same on LLMs of the same vendors, and on trials or items, each with its `quantity`.
    what : str
        What is to be settled.

    Returns
    -------
    str
    """
    if not way["needed"]:
        return (
            f"How many vendors settle {what} ({_now(way)}) cannot be said from these ({way['reason']}); nothing is "
            "decided of fewer than five."
        )
    return f"To settle {what} ({_now(way)}): {'; '.join([_enough(way), *map(_enough, others)])}. {_decided(way)}"


def over_trials(way, what):
    """Say how many trials of each cell would settle a decision.

    Parameters
    ----------
    way : dict
        What `inference.power` has on the trials that it takes, as of `over_vendors`.
    what : str
        What is to be settled.

    Returns
    -------
    str
    """
    return f"To settle {what} ({_now(way)}): {_enough(way)}. {_decided(way)}"


def cost_of_llms(n_new, usd, techniques, n_again=0, chance=None):
    """Say what it costs to ask some LLMs.

    Parameters
    ----------
    n_new : int
        LLMs that were not asked before.
    usd : list of float
        The least and the most that it may cost.
    techniques : list of str
        What they are asked.
    n_again : int
        LLMs that were asked and, since nothing can be added to their answers, have to be asked again.
    chance : int, optional
        How often in a hundred times so many would settle it.

    Returns
    -------
    str
    """
    more = f"{n_new:,} more LLM{'s' * (n_new > 1)}"
    whom = f"the {n_again:,} tested LLM{'s' * (n_again > 1)} anew and {more}" if n_again else more
    what = "is ranked there" if n_again else "the study asks"
    low, high = (f"{end:,.0f}" for end in usd)
    sure = f", which would settle it with a{'n' * (chance == 80)} {chance} % chance," if chance else ""
    return (
        f"To ask {whom}{sure} costs {low} to {high} USD at the mean of prices.csv, for all that {what} "
        f"({', '.join(techniques)})."
    )


def on_the_study(content, n_new_vendors, n_missing, study, *, is_recorded):
    """Say whom a study file lacks, and whether its answers are counted with those that are there.

    Parameters
    ----------
    content : dict
        The `study` that it is.
    n_new_vendors : int
        Vendors that it asks and that were not asked before.
    n_missing : int
        Vendors of which LLMs have to be named.
    study : str
        Of which study it settles a decision.
    is_recorded : bool
        Whether the study was recorded without its prompts.

    Yields
    ------
    str
    """
    if n_missing:
        yield MORE_TO_NAME.format(
            n_vendors=_counted(n_new_vendors, "new vendor"), n_missing=_counted(n_missing, "more vendor")
        )
    if sum(map(_n_cases, content.get("vignettes", ()))) == 1:
        yield ONE_CASE
    if is_recorded:
        yield (
            f"{study} was recorded without its prompts: this is a study of its own, {content['study']}, which asks "
            "bais's words of the vignette, and its answers are not counted with the recorded ones."
        )
    else:
        yield f"The file names all that {study} had, so that its answers go on counting; only what is new is asked."
        yield SECOND_LOOK.format(study=study)


def _n_cases(vignette):
    """Count the cases that a vignette, or the name of one, is: as many as it has items."""
    items = vignette.get("items") if isinstance(vignette, dict) else None
    return len(items["rows"]) if items else 1


def _enough(way):
    """Say how many are enough every second time, and four times in five, or that no number is."""
    things, lack = {
        "needed_vendors": ("vendors in all, with one LLM of each new one,", "more vendors"),
        "needed_llms": ("LLMs in all of the same vendors", "more LLMs of the same vendors"),
        "needed_trials": (
            "trials of each LLM, vignette, technique and arm instead of {n_trials_per_cell:.0f}",
            "more trials of the LLMs tested",
        ),
        "needed_items": ("items put to each LLM instead of {n_items:,}", "more items put to the LLMs tested"),
    }[way["quantity"]]
    half, most = OFTEN.values()
    if not way["needed"]:
        return f"{lack} cannot"
    of_things = f"{way['needed']:,} {things.format_map(way)}"
    if way["needed"] == way["needed_surely"]:
        return f"{of_things} would do {most}"
    return f"{of_things} would do {half}, {f'{n:,}' if (n := way['needed_surely']) else 'no number'} {most}"


def _decided(way):
    return f"Were the gain to stay, the decision would be `{way['settles']}`."


def _now(way):
    return f"now {way['gain']:+.1f} with {_counted(way['n_llms'], 'LLM')} of {_counted(way['n_vendors'], 'vendor')}"


def _counted(n, noun):
    return f"{n:,} {noun}{'s' * (n != 1)}"
