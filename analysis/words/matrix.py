"""What stands above a matrix of techniques and LLMs and in its drawers, made from its rows."""

from analysis.words import codes
from analysis.words.codes import in_words, listed, probability

UNCLEAR = "no_evidence"
WORDS_OF_AN_LLM = [*dict.fromkeys([*codes.OF_AN_LLM.values(), codes.PERHAPS_ASKING_AGAIN])]
NOTHING = "No technique was asked, or none can be compared yet."
NONE_OF_THESE = "No technique is shown to help or to harm any of these LLMs."
OF_SO_MANY = "{} ({} of {} LLMs)"
NONE_BEATS = "No technique is shown to beat a plain prompt."
OVER_LLMS = {
    "use": "Shown to help: {}.",
    "better_than_asking_again": "Better than asking again: {}.",
    codes.OWN_PROMPT: "{} helps its own prompt alone{plain}.",
    "asking_again_helps": "Asking again in neutral turns helps: {}.",
    "avoid": "Shown to harm: {}.",
    "worse_than_asking_again": "Worse than asking again: {}.",
    "equivalent": "No difference: {}.",
    codes.HANGS: "In doubt, since the gate doubts answers that it hangs on: {}.",
    UNCLEAR: "Unclear: {}.",
}
ON_AN_LLM, WITHOUT_ANY = "{llm}, by its own trials. {said}.", "{llm} was asked with no technique."
PLAIN = "; a plain prompt has {plain:.0f} %"
OWN_OF_AN_LLM = "its own prompt alone, {loss_control:.0f} → {loss:.0f} %"
SILENT = "a number in {share:.0f} % of answers only"
LIKE_THESE = "LLMs like these: {loss}; gain {gain} points, 95 % interval {low} to {high}{together}: {said}."
WITHOUT_INTERVAL = "LLMs like these: {loss}; no interval, since {why}."
ON_THESE = "Of these {n} LLMs: shown to help {helped}{own}, shown to harm {harmed}."
OWN_OF_THESE = ", to help the own prompt alone of {n}"
ONE_MORE = "One more LLM: gain {low} to {high} points; a gain with probability {p}."
TOGETHER = ", which holds for all {n} comparisons together"
SAME_WAYS = "Ways of counting that agree: {n} of {of}; without one LLM or vendor: {m} of {without}."
IN_MIND = "Keep in mind: {why}."
TOO_FEW = "Nothing can be said of other {noun}s: at least {n} {unit}s are needed."
OWN_PROMPT = "{names} is compared with its own first answers, since its prompt differs."


def headline(named, plain=None, *, has_vendors):
    """Say of techniques what is decided about LLMs like those that were asked, or else how many of these they help.

    Parameters
    ----------
    named : list of (str, dict)
        Techniques by their names, with their rows of `inference.decisions` over all LLMs.
    plain : float, optional
        The loss of a plain prompt.
    has_vendors : bool
        Whether the LLMs are of enough vendors to speak of others.

    Returns
    -------
    str
    """
    if not named:
        return NOTHING
    if not has_vendors:
        counts = {"Helped by": "n_helped", "Own prompt helped by": "n_own_prompt", "Harmed by": "n_harmed"}
        told = {word: [(name, row[n], row["n_llms"]) for name, row in named if row[n]] for word, n in counts.items()}
        lists = [f"{word} {listed(OF_SO_MANY.format(*each) for each in of)}." for word, of in told.items() if of]
        return " ".join(lists or [NONE_OF_THESE])
    by_decision = {}
    for name, row in named:
        said = codes.HANGS if row["certainty"] == codes.HANGS else row["decision"] or UNCLEAR
        by_decision.setdefault(said, []).append((name, row))
    parts = [] if "use" in by_decision else [NONE_BEATS]
    for decision, text in OVER_LLMS.items():
        if pairs := by_decision.get(decision):
            is_told = decision not in (UNCLEAR, codes.HANGS)
            names = listed(_with_losses(name, row) if is_told else name for name, row in pairs)
            parts.append(text.format(names, plain=_plain(plain)))
    return " ".join(parts)


def _plain(loss):
    return "" if loss is None else PLAIN.format(plain=loss)


def _with_losses(name, row):
    return f"{name} ({row['loss_control']:.0f} → {row['loss']:.0f} %)"


def of_an_llm(llm, named, plain=None, shares=None):
    """Say what techniques do to one LLM.

    Parameters
    ----------
    llm : str
        How it is called.
    named : list of (str, dict)
        Techniques by their names, with their rows of `inference.decisions` on this LLM.
    plain : float, optional
        The loss of a plain prompt.
    shares : dict of str to float, optional
        By technique, the share of answers with a number where that is so small that it should be said.

    Returns
    -------
    str
    """
    by_word = {}
    for name, row in named:
        is_helped = row["decision"] in codes.HELPS
        word = codes.OF_AN_LLM["use"] if is_helped else codes.on_an_llm(row)
        by_word.setdefault(word, []).append(_in_full(name, row, plain, shares or {}))
    words = sorted(by_word, key=WORDS_OF_AN_LLM.index)
    parts = [f"{word[0].upper()}{word[1:]}: {listed(by_word[word])}" for word in words]
    return ON_AN_LLM.format(llm=llm, said=". ".join(parts)) if parts else WITHOUT_ANY.format(llm=llm)


def _in_full(name, row, plain, shares):
    """Name a technique, with how it helps where it is not simply of use, and how few answers have a number."""
    notes = []
    if row["decision"] == codes.OWN_PROMPT:
        notes.append(OWN_OF_AN_LLM.format(loss_control=row["loss_control"], loss=row["loss"]) + _plain(plain))
    elif row["decision"] in codes.HELPS and row["decision"] != "use":
        notes.append(codes.OF_AN_LLM[row["decision"]])
    if row["technique"] in shares:
        notes.append(SILENT.format(share=100 * shares[row["technique"]]))
    return f"{name} ({'; '.join(notes)})" if notes else name


def how_sure(row, ahead, ways, *, has_vendors):
    """Say of a technique how sure what is said of it is.

    Parameters
    ----------
    row : dict
        Of `inference.decisions`, over all LLMs.
    ahead : dict or None
        Of `inference.predictions`, for one more LLM.
    ways : list of dict
        Of the report's query `specifications`.
    has_vendors : bool
        Whether the LLMs are of enough vendors to speak of others.

    Returns
    -------
    list of str
    """
    loss = " to ".join("–" if row[name] is None else f"{row[name]:.0f}" for name in ("loss_control", "loss")) + " %"
    gain, low, high = (_points(row[name]) for name in ("gain", "gain_low", "gain_high"))
    counts = {"n": row["n_llms"], "helped": row["n_helped"] or 0, "harmed": row["n_harmed"] or 0}
    own = OWN_OF_THESE.format(n=row["n_own_prompt"]) if row["n_own_prompt"] else ""
    lines = []
    if has_vendors and low is not None:
        n, said = row["n_comparisons"], codes.DECISIONS[row["decision"]]
        together = TOGETHER.format(n=n) if n > 1 else ""
        lines.append(LIKE_THESE.format(loss=loss, gain=gain, low=low, high=high, together=together, said=said))
    elif has_vendors:
        lines.append(WITHOUT_INTERVAL.format(loss=loss, why=in_words(row["reason"])))
    lines.append(ON_THESE.format(own=own, **counts))
    if has_vendors and ahead:
        p = probability(ahead["p_better_than_control"])
        lines.append(ONE_MORE.format(low=_points(ahead["gain_low"]), high=_points(ahead["gain_high"]), p=p))
    for way in ways if has_vendors else ():
        if (way["n_specifications"] or 0) > 1:
            same = {"n": way["n_same_decision"], "of": way["n_specifications"]}
            lines.append(SAME_WAYS.format(**same, m=way["n_left_out_same"], without=way["n_left_out"]))
    if row["reason"]:
        lines.append(IN_MIND.format(why=in_words(row["reason"])))
    return lines


def _points(value):
    return None if value is None else f"{round(value)}".replace("-", "\N{MINUS SIGN}")
