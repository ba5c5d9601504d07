"""What is said of published claims in words, how they are counted, and in which order those that fail are listed."""

import re
from collections import Counter
from itertools import groupby

from analysis.words.codes import listed

# by code of `recomputes` and of `holds`: what is said of one claim, and of several
RECOMPUTES = {
    "yes": ("recomputes", "recompute"),
    "no": ("does not recompute", "do not recompute"),
    "not_derivable": ("cannot be derived", "cannot be derived"),
    "not_checked": ("could not be checked", "could not be checked"),
}
HOLDS = {
    "holds": ("holds", "hold"),
    "weaker": ("weaker than printed", "are weaker than printed"),
    "contradicted": ("contradicted", "are contradicted"),
    "confounded": ("compares unlike conditions", "compare unlike conditions"),
    "not_applicable": ("is not about LLMs", "are not about LLMs"),
    None: ("not judged", "could not be judged"),
}
IN_FULL = {
    kind: HOLDS
    | {
        "holds": tuple(f"{verb} ({why})" for verb in HOLDS["holds"]),
        "weaker": tuple(f"{be} weaker than {how}" for be in ("is", "are")),
        "contradicted": ("is contradicted", "are contradicted"),
        None: ("could not be judged", "could not be judged"),
    }
    for kind, why, how in (
        ("value", "the analysis we recommend says the same", "printed (no narrow interval confirms it)"),
        ("sentence", "the whole interval agrees", "said (only the estimate agrees)"),
    )
}
FEWER_STARS = tuple(
    f"{be} weaker than printed (no narrow interval confirms it, or our test gives fewer stars)" for be in ("is", "are")
)
DOCUMENTS = {
    "A": "Debiasing Anchoring Bias in LLM Judicial Sentencing: Why Metric Choice Determines Technique Recommendation "
    "(Voder AI and T. Howard, 2026)",
    "B": "story 001, Prosecutor Sentencing Recommendation Anchoring Experiment",
    "C": "Quantifying Cognitive Bias Induction in LLM-Generated Content (A. Alessa and others)",
    "D": "Anchors in the Machine: Behavioral and Attributional Evidence of Anchoring Bias in LLMs "
    "(F. Valencia-Clavijo, 2025)",
}
KINDS = {"value": ("number", "numbers"), "sentence": ("sentence", "sentences")}
NO_TRIALS = "It rests on printed numbers alone: there are no trials behind it."
SOURCES = {"trials": "the recorded trials", "scores": "the recorded scores", "printed numbers": "other printed numbers"}
LABELS = {"recomputes": RECOMPUTES, "holds": HOLDS}
FAILS = {"recomputes": ("no", "not_derivable"), "holds": ("weaker", "contradicted", "confounded")}

TABLE = re.compile(r"Table \w+")  # a place in it; what its caption says is text
SHARE = 0.2  # where a claim has no margin, or one of 0: of the larger of the two numbers
BOUND = ("_low", "_high")  # of an interval, at the end of a quantity
UNNAMED = (None, "1", "rank", "ratio", "sign", "yes or no")  # units that a number goes without


def unit_and_decimals(claim):
    """Return the unit that is printed after the numbers of a claim, and their decimals.

    Parameters
    ----------
    claim : dict
        A row of `claim_checks` with `decimals` of the seed.

    Returns
    -------
    str, int
    """
    unit = claim["unit"]
    return "" if unit in UNNAMED else unit, max(claim["decimals"] or 0, 0)


def distinct(claims):
    """Return the claims with each quantity once, however often a document prints it.

    Parameters
    ----------
    claims : list of dict
        Rows of `claim_checks`.

    Returns
    -------
    list of dict
    """
    return [claim for claim in claims if claim["is_first_place"]]


def fails(claim):
    """Say whether something is wrong with a claim: it does not recompute, or it does not hold as it is printed."""
    return any(claim[column] in codes for column, codes in FAILS.items())


def is_wholly_contradicted(claim):
    """Say whether the whole recommended interval of a sentence lies on the other side."""
    low, high, limit = (claim[name] for name in ("recommended_low", "recommended_high", "published_value"))
    if claim["holds"] != "contradicted" or low is None or high is None:
        return False
    return high < limit if claim["comparison"] == ">" else low > limit


def how_far_off(claim):
    """Say how many margins lie between a printed number and what it should be.

    Parameters
    ----------
    claim : dict
        A row of `claim_checks`.

    Returns
    -------
    float
        The larger distance of those to the recommended number, where it does not hold, and to that by the paper's
        method, where it does not recompute: in units of its margin, and where it has none of a fifth of the larger of
        the two, so that a p-value of 0.4 for 0.05 counts and a last digit does not. 0 if neither.
    """
    against = [
        claim[value]
        for column, value in (("recomputes", "recomputed_value"), ("holds", "recommended_value"))
        if claim[column] in FAILS[column] and claim[value] is not None
        # a sentence has a limit, and is off only on the wrong side of it
        if claim["kind"] == "value" or claim[column] in ("no", "contradicted")
    ]
    return max((_margins(claim["published_value"], value, claim["margin"]) for value in against), default=0.0)


def _margins(printed, value, margin):
    unit = margin or SHARE * max(abs(printed), abs(value))
    return abs(value - printed) / unit if unit else 0.0


WRONG = (
    "Sentences that the analysis we recommend contradicts",
    "Sentences whose direction turns round, but not for certain",
    "Sentences that compare unlike conditions, so that the cause is not known",
    "Sentences whose direction holds, but that no interval confirms",
    "Sentences that the paper's own method does not give",
    "Stars of significance, or none, where our test, in which neighbouring answers are not independent, disagrees",
    "Numbers that are contradicted, and that the paper's own method does not give either",
    "Numbers that the analysis we recommend contradicts",
    "Bounds of intervals that are too narrow, or elsewhere",
    "Numbers that compare unlike conditions, so that the cause is not known",
    "Numbers that no narrow interval confirms",
    "Numbers that the paper's own method does not give",
    "Numbers that cannot be derived from what is recorded",
    "Numbers that are contradicted, but off by less than the margin that matters",
    "Counts and rules that do not recompute, or cannot be derived",
    "Nothing is wrong",
)


def _place(claim):
    """Return where in `WRONG` a claim belongs: at the first that fits."""
    holds, does_not_recompute = claim["holds"], claim["recomputes"] == "no"
    if not fails(claim):
        return len(WRONG) - 1
    if claim["describes"] != "effect":
        return 14
    if claim["unit"] == "stars" and holds in FAILS["holds"]:
        return 5
    if claim["kind"] == "sentence":
        if holds == "contradicted":
            return 0 if is_wholly_contradicted(claim) else 1
        return {"confounded": 2, "weaker": 3}.get(holds, 4)
    if holds == "contradicted":
        if how_far_off(claim) < 1:
            return 13
        if _is_bound(claim):
            return 8
        return 6 if does_not_recompute else 7
    if holds in ("confounded", "weaker"):
        return 9 if holds == "confounded" else 10
    return 11 if does_not_recompute else 12


def _is_bound(claim):
    return (claim["quantity"] or "").endswith(BOUND)


def in_order(claims):
    """Sort claims by what matters: sentences before numbers, contradictions first, the study's own counts last.

    Parameters
    ----------
    claims : list of dict
        Rows of `claim_checks`.

    Returns
    -------
    list of dict
        Within what is wrong, those that are farther off go first; else the order is kept.
    """
    return sorted(claims, key=lambda claim: (_place(claim), -how_far_off(claim)))


def by_what_is_wrong(claims):
    """Yield what is wrong in words, and the claims of which it is so, as `in_order` sorts them.

    Parameters
    ----------
    claims : list of dict

    Yields
    ------
    str, list of dict
    """
    for place, group in groupby(in_order(claims), key=_place):
        yield WRONG[place], list(group)


def summed_up(claims):
    """Say in a few sentences how many claims can be had again, and how many are so.

    Parameters
    ----------
    claims : list of dict
        Rows of `claim_checks`.

    Returns
    -------
    list of str
        On numbers, then on sentences; each quantity is counted once.
    """
    summary = []
    values, sentences = (
        [claim for claim in distinct(claims) if claim["kind"] == kind] for kind in ("value", "sentence")
    )
    if values:
        places = sum(claim["kind"] == "value" for claim in claims)
        whole = f"Of {len(values):,} printed {KINDS['value'][len(values) > 1]}"
        if places > len(values):
            whole += f" (in {places:,} places)"
        again = [claim for claim in values if claim["recomputes"] == "yes"]
        n = len(again)
        given = f": the paper's own method gives {'it' if n == 1 else 'them'} from {_sources(again)}" if n else ""
        summary.append(f"{whole}, {n:,} {RECOMPUTES['yes'][n != 1]}{given}.")
        if judged := [claim for claim in values if claim["holds"] != "not_applicable"]:
            labels = dict(IN_FULL["value"])
            if any(claim["holds"] == "weaker" and claim["unit"] == "stars" for claim in judged):
                labels["weaker"] = FEWER_STARS
            counted = _counts(judged, labels, _what_is_contradicted(judged))
            summary.append(f"Of the {len(judged):,} that are about LLMs, {listed(counted)}.")
    if sentences:
        labels = dict(IN_FULL["sentence"])
        if any(claim["holds"] == "holds" and claim["recommended_low"] is None for claim in sentences):
            labels["holds"] = IN_FULL["value"]["holds"]
        counted = _counts(sentences, labels, _how_surely_contradicted(sentences))
        summary.append(f"Of {len(sentences):,} printed {KINDS['sentence'][len(sentences) > 1]}, {listed(counted)}.")
    return summary


def of_tables(claims):
    """Say of the documents that publish no data how many numbers of their tables follow from others that they print.

    Parameters
    ----------
    claims : list of dict
        Rows of `claim_checks`.

    Returns
    -------
    list of str
        A sentence per such document that has tables; each place in them counts, also where it repeats another.
    """
    sentences = []
    for document in sorted({claim["document"] for claim in claims}):
        its_claims = [claim for claim in claims if claim["document"] == document]
        in_tables = [claim for claim in its_claims if claim["kind"] == "value" and TABLE.fullmatch(claim["location"])]
        if not in_tables or any(claim["rests_on"] in ("trials", "scores") for claim in its_claims):
            continue
        n = Counter(claim["recomputes"] for claim in in_tables)
        yes, no, none = (f"{n[code]:,} {RECOMPUTES[code][n[code] != 1]}" for code in ("yes", "no", "not_derivable"))
        sentences.append(
            f"Of the {len(in_tables):,} numbers in the tables of document {document}, {n['yes'] + n['no']:,} follow "
            f"from other numbers that it prints: {yes} and {no}. It publishes no data: the other {none}."
        )
    return sentences


def _sources(values):
    """Say what these numbers are had from."""
    rest_on = {claim["rests_on"] for claim in values}
    return listed([words for one, words in SOURCES.items() if one in rest_on], "or")


def _how_surely_contradicted(sentences):
    if not any(claim["holds"] == "contradicted" and claim["recommended_low"] is not None for claim in sentences):
        return ""
    surely = sum(map(is_wholly_contradicted, sentences))
    return f" ({surely:,} by the whole interval)"


def _what_is_contradicted(values):
    """Say which of the contradicted numbers matter less."""
    contradicted = [claim for claim in values if claim["holds"] == "contradicted"]
    n_little = sum(how_far_off(claim) < 1 for claim in contradicted)
    n_bounds = sum(_is_bound(claim) and how_far_off(claim) >= 1 for claim in contradicted)
    beside = [
        *([f"{n_bounds:,} as bounds of intervals"] if n_bounds else []),
        *([f"{n_little:,} by less than the margin"] if n_little else []),
    ]
    return f" ({listed(beside)})" if beside else ""


def _counts(claims, labels, of_contradicted):
    counted = Counter(claim["holds"] for claim in claims)
    return [
        f"{counted[code]:,} {labels[code][counted[code] != 1]}" + (of_contradicted if code == "contradicted" else "")
        for code in labels
        if counted[code]
    ]


def on_versions(chosen):
    """Say how many claims would change on the newest version of their study, and which version is not there at all.

    Parameters
    ----------
    chosen : list of dict
        Rows of `marts.claim_checks` with the `study` of the claim, and `has_version`.

    Yields
    ------
    str
    """
    counted = distinct(chosen)
    for study in dict.fromkeys(claim["study"] for claim in counted if claim["newest_recomputes"]):
        beside = [claim for claim in counted if claim["study"] == study and claim["newest_recomputes"]]
        changed = [claim for claim in beside if any(claim[column] != claim[f"newest_{column}"] for column in LABELS)]
        labels = " and ".join(sorted({claim["version"] for claim in beside}))
        documents = " and ".join(sorted({claim["document"] for claim in beside}))
        many = f"{len(changed):,} of {len(beside):,} claims" if changed else "none of the claims"
        yield (
            f"Checked on version {labels} of {study}, which document {documents} used; on the newest version, {many} "
            f"would change{': ' if changed else ''}{', '.join(_moves(changed))}."
        )
    missing = {
        (claim["document"], claim["version"], claim["study"])
        for claim in chosen
        if claim["version"] and not claim["has_version"] and claim["recomputes"] not in ("not_checked", "not_derivable")
    }
    for document, label, study in sorted(missing):
        yield (
            f"Document {document} is about version {label} of {study}, which this warehouse does not have: its claims "
            "were held against what is there. To hold them against that version, import its archive."
        )


def _moves(changed):
    """Say from what to what claims would change, the most frequent first."""
    moves = Counter(
        (labels[claim[column]][0], labels[claim[f"newest_{column}"]][0])
        for claim in changed
        for column, labels in LABELS.items()
        if claim[column] != claim[f"newest_{column}"]
    )
    return [f"{n:,} from '{was}' to '{would_be}'" for (was, would_be), n in moves.most_common()]


def summary(chosen):
    """Say in a few sentences how many claims recompute and hold, or how to load what they are about.

    Parameters
    ----------
    chosen : list of dict
        As of `on_versions`.

    Returns
    -------
    list of str
    """
    if any(claim["recomputes"] in ("yes", "no") for claim in chosen):
        return summed_up(chosen)
    studies = " and ".join(sorted({claim["study"] for claim in chosen if claim["study"]}))
    return [
        f"None of the {len(distinct(chosen)):,} published claims can be checked: this warehouse lacks trials of the "
        f"study {studies}. To check them, import its archive with `bais import DIR`, or fetch it with "
        "`bais import --download`, then run `bais build`."
    ]
