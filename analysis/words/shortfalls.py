"""What of the answers that were asked for counts nowhere: held back, unread, refused, missing or taken out by hand."""

from analysis.words.codes import listed

FEWEST, SMALLEST_SHARE = 10, 0.01  # below both nothing is said; what a person took out is always said
BY_HAND = ("rejected", "withdrawn")
UNPUBLISHED = ("held_back", *BY_HAND)  # of all that was asked for; the other fates are of what is published
UNREAD = "unparsed"
# of one answer, and of several
SENTENCES = {
    "held_back": (
        "{n} of {asked} answers is held back{whose} (`bais check` says why).",
        "{n} of {asked} answers are held back{whose} (`bais check` says why).",
    ),
    "rejected": (
        "{n} of {asked} answers is in a batch that a person rejected.",
        "{n} of {asked} answers are in batches that a person rejected.",
    ),
    UNREAD: ("{n} of {asked} answers could not be read{commonest}.",) * 2,
    "refused": ("{n} of {asked} answers is a refusal.", "{n} of {asked} answers are refusals."),
    "out_of_range": (
        "{n} of {asked} answers lies outside the range that is possible.",
        "{n} of {asked} answers lie outside the range that is possible.",
    ),
    "failed": (
        "{n} of {asked} trials got no answer: every call of it failed.",
        "{n} of {asked} trials got no answers: every call of theirs failed.",
    ),
    "withdrawn": (
        "{n} of {asked} answers was withdrawn by hand after it was seen.",
        "{n} of {asked} answers were withdrawn by hand after they were seen.",
    ),
}
IN_SHORT = "Uncounted answers: {parts}."
BY_SHARE = "{share} of {asked} answers could not be read{commonest}."  # where the share is not smaller than that
PUBLISHED = "{n} published"
WHOSE = ", of {llms}"
MOST_NAMED = 3  # LLMs
MOST, MOST_OFTEN = " (most: “{}”)", " (most often: “{}”)"


def combined(rows):
    """Add up rows, such as those of the domains of a paradigm.

    Parameters
    ----------
    rows : list of dict
        Rows of `marts.shortfalls`.

    Returns
    -------
    dict
        `n_asked`, `n_published`, `n_counted`, one `n_` for each way to fall short, `commonest_unread` and
        `n_commonest_unread` of the row in which that text is most frequent, and when answers were withdrawn. Empty if
        there are no rows.
    """
    if not rows:
        return {}
    names = ("n_asked", "n_counted", *(f"n_{fate}" for fate in SENTENCES))
    unread = max(rows, key=lambda row: row["n_commonest_unread"])
    times = [row[name] for row in rows for name in ("first_withdrawn_at", "last_withdrawn_at") if row[name]]
    sums = {name: sum(row[name] for row in rows) for name in names}
    return sums | {
        "n_published": sums["n_asked"] - sum(sums[f"n_{fate}"] for fate in UNPUBLISHED),
        "commonest_unread": unread["commonest_unread"],
        "n_commonest_unread": unread["n_commonest_unread"],
        "first_withdrawn_at": min(times, default=None),
        "last_withdrawn_at": max(times, default=None),
    }


def is_said(row, fate):
    """Say whether so many answers fall short in one way that it has to be said.

    Parameters
    ----------
    row : dict
        As `combined` returns it.
    fate : str
        One of `SENTENCES`.

    Returns
    -------
    bool
    """
    n = row[f"n_{fate}"]
    return n > 0 and (fate in BY_HAND or n >= FEWEST or n >= SMALLEST_SHARE * row[whole(fate)])


def whole(fate):
    """Name the count of which the answers that fall short in one way are a part.

    Parameters
    ----------
    fate : str
        One of `SENTENCES`.

    Returns
    -------
    str
    """
    return "n_asked" if fate in UNPUBLISHED else "n_published"


def shown_plainly(value, column):
    """Write a count with commas, or a share in per cent, never as all where it is not.

    Parameters
    ----------
    value : int or float
    column : str
        `share`, or the name of a count.

    Returns
    -------
    str
    """
    if column != "share":
        return f"{value:,}"
    percent = 100 * value
    if 99.5 <= percent < 100:
        return "> 99 %"
    return f"{percent:.0f} %" if percent >= 9.95 else f"{percent:.1f} %"


def some(llms):
    """Name some LLMs without their vendors.

    Parameters
    ----------
    llms : iterable of str

    Returns
    -------
    str
        Three of them at most, and how many more there are.
    """
    names = [llm.rpartition("/")[2] for llm in llms]
    more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return listed([*names[:MOST_NAMED], *more])


def sentences(row, shown=shown_plainly, text=str, form=str, without=()):
    """Say what of the answers counts nowhere, a sentence for each way to fall short of which there is enough.

    Parameters
    ----------
    row : dict
        As `combined` returns it; `llms_held_back` may name whose answers are held back. A `commonest_unread` that it
        lacks is not quoted.
    shown : callable
        How a number is shown: takes it, and its name in the row, or `share` for that of what could not be read.
    text : callable
        How a text of an answer is shown.
    form : callable
        What the sentences are made in: `str`, or `Markup`, which makes what it is given harmless.
    without : collection of str
        Ways to fall short that are said elsewhere.

    Yields
    ------
    str or Markup
    """
    for fate, (of_one, of_several) in SENTENCES.items():
        if row and fate not in without and is_said(row, fate):
            n = row[f"n_{fate}"]
            commonest, n_commonest = "", row.get("n_commonest_unread", 0)
            if fate == UNREAD and row.get("commonest_unread") and n_commonest > 1:
                commonest = form(MOST if 2 * n_commonest > n else MOST_OFTEN).format(text(row["commonest_unread"]))
            sentence, amount = of_one if n == 1 else of_several, {"n": shown(n, f"n_{fate}")}
            llms = row.get("llms_held_back") if fate == "held_back" else None
            name, whose = whole(fate), form(WHOSE).format(llms=some(llms)) if llms else ""
            if fate == UNREAD and n >= SMALLEST_SHARE * row[name]:
                sentence, amount = BY_SHARE, {"share": shown(n / row[name], "share")}
            asked = shown(row[name], name)
            if name == "n_published" and any(is_said(row, other) for other in UNPUBLISHED):
                asked = form(PUBLISHED).format(n=asked)
            yield form(sentence).format(**amount, asked=asked, commonest=commonest, whose=whose)


def in_short(rows):
    """Say how many answers of each domain count nowhere, and of its paradigms where it has several.

    Parameters
    ----------
    rows : list of dict
        Rows of `marts.shortfalls`, of one study.

    Returns
    -------
    str or None
        None where there is nothing to say.
    """
    domains = {}
    for row in rows:
        domains.setdefault(row["domain"], set()).add(row["paradigm"])
    parts = []
    for row in rows:
        if any(is_said(combined([row]), fate) for fate in SENTENCES):
            named = row["domain"] if len(domains[row["domain"]]) == 1 else f"{row['paradigm']}, {row['domain']}"
            parts.append(f"{named} {row['n_asked'] - row['n_counted']:,} of {row['n_asked']:,}")
    return IN_SHORT.format(parts=", ".join(parts)) if parts else None
