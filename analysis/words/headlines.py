"""What is said around results: who answered, how often, what could not be read, and where there is more."""

from itertools import groupby
from operator import itemgetter

from analysis.words.codes import listed

SIMULATED = "SIMULATED respondents, no LLM was asked"
PARTLY_SIMULATED = "Some respondents are SIMULATED and no LLMs."
MOST_UNREAD_NAMED = 3


def other_biases(paradigms):
    """Say that biases other than anchoring were asked about too, and which command says more.

    Parameters
    ----------
    paradigms : list of str

    Returns
    -------
    str
    """
    return (
        f"Other biases were asked about too: {', '.join(paradigms)}; `bais recommend --paradigm {paradigms[0]}` says "
        "how large such a bias is and what helps."
    )


def study_line(study):
    """Say of a study how many trials it has, or runs that its source counted, and of whom.

    Parameters
    ----------
    study : dict
        `study, is_simulated, sources, n_trials, n_judgements`.

    Returns
    -------
    str
    """
    if study["sources"] == "counted":
        return f"Study {study['study']}, {study['n_trials']:,} runs counted by their source"
    how = SIMULATED if study["is_simulated"] else study["sources"]
    judgements = f" and {study['n_judgements']:,} judgements of texts" if study["n_judgements"] else ""
    return f"Study {study['study']}, {study['n_trials']:,} trials{judgements} ({how})"


def scored_line(study):
    """Say of a study of scores how much was scored.

    Parameters
    ----------
    study : dict
        `study, n_questions, n_variations, n_llms`.

    Returns
    -------
    str
    """
    counts = {noun: study[f"n_{noun}s"] for noun in ("question", "variation", "llm")}
    question, pair, llm = (
        f"{n} {word}{'s' * (n != 1)}" for n, word in zip(counts.values(), ("question", "pair", "LLM"), strict=True)
    )
    return (
        f"Study {study['study']}, {question} under {pair} of anchors, {llm} (scored: how likely each answer is was "
        "read off, and nobody answered)"
    )


def not_ranked(rankings):
    """Say which techniques have no rank, each with the reason.

    Parameters
    ----------
    rankings : list of dict
        Rows of `marts.effects`.

    Yields
    ------
    str
    """
    why = {row["technique"]: row.get("not_ranked_because") for row in rankings if row["technique"] != "no_technique"}
    if named := [f"{technique} ({reason})" for technique, reason in sorted(why.items()) if reason]:
        yield f"Not ranked: {', '.join(named)}."


def sentences_on_unread(unread):
    """Say of each study how much of what was imported could not be read, where most of it is, and why.

    Parameters
    ----------
    unread : list of dict
        `study, path, reason` and `n_lines`, which is None of a whole file; by study, the most lines first.

    Yields
    ------
    str
    """
    for study, group in groupby(unread, itemgetter("study")):
        files = list(group)
        n_lines, n_whole = sum(file["n_lines"] or 0 for file in files), sum(file["n_lines"] is None for file in files)
        counts = [(n_lines, "line"), (n_whole, "whole file")]
        amount = " and ".join(f"{n:,} {what}{'s' * (n != 1)}" for n, what in counts if n)
        named = [
            f"{'all' if file['n_lines'] is None else format(file['n_lines'], ',')} of {file['path']} ({file['reason']})"
            for file in files[:MOST_UNREAD_NAMED]
        ]
        more = ["more"] if len(files) > len(named) else []
        yield (
            f"Of what was imported for {study}, {amount} could not be read and count{'s' * (n_lines + n_whole == 1)} "
            f'nowhere: {listed([*named, *more])}. `bais sql "from raw.unread_lines"` lists files and reasons.'
        )
