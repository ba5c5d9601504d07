"""What people withdrew or reread after they had seen it: counted, and said in a sentence."""

from collections import Counter

# of one trial, and of several
SENTENCES = {
    "withdrawn": (
        "{n} of {asked} trials{whose} was withdrawn after it had been seen ({why}), and counts nowhere here.",
        "{n} of {asked} trials{whose} were withdrawn after they had been seen ({why}), and count nowhere here.",
    ),
    "reread": (
        "In {n} trial{whose} a person read another number than the program did, and that number counts ({why}).",
        "In {n} trials{whose} a person read another number than the program did, and that number counts ({why}).",
    ),
}
ONE_REASON, REASONS, OF_SEVERAL = "reason: {}", "reasons: {}", "{} ({})"


def counted(rows, n_asked):
    """Count trials by what was done with them and why.

    Parameters
    ----------
    rows : list of dict
        Rows of `marts.post_hoc_changes`, alone or added up: `change`, `why`, `n_trials`.
    n_asked : int
        Trials that were asked, without those that were withdrawn.

    Returns
    -------
    dict of str to dict
        By change, where there was any: `n_trials`, `reasons` (list of dict of `reason` and `n_trials`, the commonest
        first), and of what was withdrawn `n_trials_asked`, those that were withdrawn among them.
    """
    changes = {}
    for change in SENTENCES:
        reasons = Counter()
        for row in rows:
            if row["change"] == change:
                reasons[row["why"]] += row["n_trials"]
        if reasons:
            n_trials = reasons.total()
            changes[change] = {
                "n_trials": n_trials,
                **({"n_trials_asked": n_asked + n_trials} if change == "withdrawn" else {}),
                "reasons": [
                    {"reason": reason, "n_trials": n}
                    for reason, n in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
                ],
            }
    return changes


def sentences(changes, shown, text=str, whose="", form=str):
    """Say what was changed, a sentence for each change.

    Parameters
    ----------
    changes : dict
        As `counted` returns it.
    shown : callable
        How a number is shown: takes it, its name in `changes`, the change, and the reason where it is of one of
        several.
    text : callable
        How a reason is shown.
    whose : str
        Whose trials these are, such as ` of vendor/a`; nothing where they are everybody's.
    form : callable
        What the sentences are made in: `str`, or `Markup`, which makes what it is given harmless.

    Yields
    ------
    str or Markup
    """
    for change, counts in changes.items():
        several = len(counts["reasons"]) > 1
        reasons = [
            form(OF_SEVERAL).format(text(each["reason"]), shown(each["n_trials"], "n_trials", change, each["reason"]))
            if several
            else text(each["reason"])
            for each in counts["reasons"]
        ]
        yield form(SENTENCES[change][counts["n_trials"] > 1]).format(
            n=shown(counts["n_trials"], "n_trials", change, None),
            asked=shown(counts.get("n_trials_asked"), "n_trials_asked", change, None),
            whose=whose,
            why=form(REASONS if several else ONE_REASON).format(form("; ").join(reasons)),
        )
