"""The answer of a study in words: what to use, what to avoid, and what nobody can say yet."""

from dataclasses import dataclass

from markupsafe import Markup

from analysis.report.studies import METRICS, NO_TECHNIQUE
from analysis.report.tables import Row, Table
from analysis.report.values import MISSING, Number, clean, counted, listed, reason_text
from analysis.small_samples import FEWEST_LLMS

RANKS = "inference.rank_probabilities"
DECISIONS = {"use": "✓ use", "avoid": "✕ avoid", "equivalent": "≈ equivalent", "no_evidence": "? no evidence"}
HEADINGS = {
    "use": "✓ Use",
    "avoid": "✕ Avoid",
    "equivalent": "≈ Equivalent to no technique",
    "no_evidence": "? No evidence either way",
}

AIMS = {
    "deviation": "answers should stay near what is said without an anchor",
    "susceptibility": "high and low anchors should not pull answers apart",
}


@dataclass(frozen=True)
class Answer:
    """The answer for one domain: sentences, what is decided by each metric, and the numbers behind it."""

    domain: str
    sentences: list
    decisions: list
    table: Table


def answer(study, domain):
    """Say what the evidence of a study allows for one domain.

    Parameters
    ----------
    study : Study
    domain : str

    Returns
    -------
    Answer
    """
    found = study.in_order(study.rows("rank_probabilities", domain=domain))
    by = {(row["technique"], row["metric"]): row for row in found}
    names = list(dict.fromkeys(row["technique"] for row in found if row["technique"] != NO_TECHNIQUE))
    decided = {
        metric: {
            decision: [name for name in names if by.get((name, metric), {}).get("decision") == decision]
            for decision in HEADINGS
        }
        for metric in METRICS
    }
    return Answer(
        domain,
        _sentences(study, domain, names, by),
        [
            (metric, [(HEADINGS[decision], _names(study, of)) for decision, of in decided[metric].items() if of])
            for metric in METRICS
        ],
        _table(study, domain, names, by),
    )


def _names(study, names):
    return listed([Markup.escape(study.technique(name)) for name in names])


def _sentences(study, domain, names, by):
    if not names:
        reasons = sorted({row["reason"] or "" for row in study.rows("technique_rankings", domain=domain, llm=None)})
        why = "; ".join(reason_text(reason) for reason in reasons if reason) or "no trial had a low or a high anchor"
        return [Markup("Nothing can be ranked here: {}.").format(why)]
    said = [*_what_to_use(study, names, by), _do_metrics_agree(study, domain, by)]
    return [sentence for sentence in [*said, *_cautions(study, domain, by)] if sentence]


def _what_to_use(study, names, by):
    """Say of the techniques on which something is decided what that is, by both metrics at once."""
    said = {}
    for name in names:
        pair = tuple(by.get((name, metric), {}).get("decision") for metric in METRICS)
        said.setdefault(pair, []).append(name)
    order = ("use", "avoid", "equivalent", "no_evidence", None)
    sentences = []
    for pair, of in sorted(said.items(), key=lambda item: tuple(map(order.index, item[0]))):
        who, is_one = Markup("<strong>{}</strong>").format(_names(study, of)), len(of) == 1
        does = "is" if is_one else "are"
        if pair == ("use", "use"):
            sentences.append(Markup("Use {}: better than no technique by both metrics.").format(who))
        elif pair == ("avoid", "avoid"):
            sentences.append(Markup("Avoid {}: worse than no technique by both metrics.").format(who))
        elif set(pair) == {"use", "avoid"}:
            good, bad = METRICS if pair[0] == "use" else METRICS[::-1]
            sentences.append(
                Markup("Use {} if {} ({}), avoid {} if {} ({}): the metrics contradict each other here.").format(
                    who, AIMS[good], good, "it" if is_one else "them", AIMS[bad], bad
                )
            )
        elif "use" in pair or "avoid" in pair:
            word = "use" if "use" in pair else "avoid"
            metric, other = METRICS if pair[0] == word else METRICS[::-1]
            sentences.append(
                Markup("{} {} if {} ({}): {} than no technique. By {} {}.").format(
                    word.capitalize(), who, AIMS[metric], metric, "better" if word == "use" else "worse", other,
                    "there is next to no difference" if "equivalent" in pair else "there is no evidence either way",
                )
            )  # fmt: skip
        elif pair == ("equivalent", "equivalent"):
            sentences.append(Markup("{} {} no different from no technique, by both metrics.").format(who, does))
        else:
            sentences.append(Markup("Of {} nothing better or worse can be said by either metric.").format(who))
    if not any("use" in pair for pair in said):
        sentences.insert(0, Markup("<strong>No technique is shown to be better than none.</strong>"))
    return sentences


def _chance_that_metrics_disagree(rows, key, **more):
    chance = rows[0]["p_metrics_disagree"] if rows else None
    return Number(chance, "max(p_metrics_disagree)", 1, 100, unit="%", key=key, **more)


def _do_metrics_agree(study, domain, by):
    rankings = study.rows("technique_rankings", domain=domain, llm=None)
    key = {"study": study.name, "domain": domain, "llm": None, "weighting": "llm", "metric": "deviation"}
    of_deviation = [row for row in by.values() if row["metric"] == "deviation"]
    chance = _chance_that_metrics_disagree(of_deviation, key, table=RANKS, reason="not_drawn")
    first = {metric: [row["technique"] for row in rankings if row[f"rank_by_{metric}"] == 1] for metric in METRICS}
    if not all(first.values()):
        return None
    if any(row["metrics_disagree"] for row in rankings):
        return Markup(
            "The two metrics disagree: {} {} closest to the unanchored answer, {} {} high and low anchors closest "
            "together. "
            "In {} of resamples no technique is first by both."
        ).format(
            _names(study, first["deviation"]), counted(len(first["deviation"]), "comes", "come"),
            _names(study, first["susceptibility"]), counted(len(first["susceptibility"]), "keeps", "keep"), chance,
        )  # fmt: skip
    shared = [name for name in first["deviation"] if name in first["susceptibility"]]
    return Markup(
        "The two metrics agree that {} {} first, though in {} of resamples no technique is first by both."
    ).format(_names(study, shared), counted(len(shared), "comes", "come"), chance)


def _cautions(study, domain, by):
    key = {"study": study.name, "domain": domain, "llm": None}
    rankings = study.rows("technique_rankings", domain=domain)
    over_llms = [row for row in rankings if row["llm"] is None]
    rows = list(by.values())
    if any("too_few_llms" in (row["reason"] or "").split("; ") for row in rows):
        n = Number(max(row["n_llms"] for row in rows), "max(n_llms)", 0, table=RANKS, key={**key, "weighting": "llm"})
        llms = sorted({row["llm"] for row in rankings if row["llm"] and row["rank_by_deviation"] is not None})
        named = listed([Markup.escape(study.llm(llm)) for llm in llms])
        yield Markup(
            'Only {} {} asked ({}): all this speaks of {} alone, not of LLMs in general. <span class="why">({})</span>'
        ).format(n, "LLM was" if n.value == 1 else "LLMs were", named, "it" if n.value == 1 else "them", "too_few_llms")
    if any(row["not_identified"] for row in over_llms):
        bounds = [row for row in study.rows("attrition_bounds", domain=domain) if row["technique"] in study.ranked]
        said = Markup("")
        if any(row["n_missing"] for row in bounds):
            worst = max(bounds, key=lambda row: (row["n_missing"] / max(row["n_asked"], 1), row["technique"]))
            row_key = {**key, "technique": worst["technique"]}
            asked, lost = (
                Number(worst[column], column, 0, table="marts.attrition_bounds", key=row_key)
                for column in ("n_asked", "n_missing")
            )
            said = Markup(" {} trials of {} have no valid answer, of {} that were asked.").format(
                lost, study.technique(worst["technique"]), asked
            )
        yield Markup(
            "The order by deviation is not identified: had everybody answered, it could be another one.{}"
        ).format(said)
    beside = {row["technique"] for row in over_llms} - {NO_TECHNIQUE, "sacd_initial"}
    for row in study.tables["techniques"]:
        if row["technique"] in beside and not row["is_ranked"]:
            yield Markup("{} is not ranked. {}.").format(study.technique(row["technique"]), clean(row["description"]))


def _table(study, domain, names, by):
    def decision(row):
        if not row or row["decision"] is None:
            return Markup('{}<span class="why"> {}</span>').format(MISSING, reason_text((row or {}).get("reason")))
        return Markup('<span class="decision {}">{}</span>').format(
            row["decision"], DECISIONS.get(row["decision"], clean(row["decision"]))
        )

    def numbers(name, metric):
        row, key = by.get((name, metric)), {"metric": metric}
        if not row:
            return [MISSING] * 4
        gain, low, high = (
            Number(row[column], column, is_signed=True, reason=row["reason"], key=key)
            for column in ("gain", "gain_low", "gain_high")
        )
        chances = (
            Number(row[column], column, 1, 100, unit="%", reason=row["reason"], key=key)
            for column in ("p_best", "p_worse_than_nothing")
        )
        return [decision(row), Markup("{} <small>({} to {})</small>").format(gain, low, high), *chances]

    heads = ["decision", "gain (pp)", "P(best)", "P(worse than nothing)"]
    return Table(
        Markup(
            "{}: each technique against no technique. Gain: how much smaller the distance from the baseline "
            "(deviation), or "
            "between high and low anchors (susceptibility), is than without a technique, with its bounds."
        ).format(clean(domain).capitalize()),
        RANKS,
        {"study": study.name, "domain": domain, "llm": None, "weighting": "llm"},
        ["technique", *heads, *heads, "trials", "LLMs"],
        [
            Row(
                {"technique": name},
                [
                    study.technique(name),
                    *numbers(name, "deviation"),
                    *numbers(name, "susceptibility"),
                    Number(by[name, "deviation"]["n_trials"], "n_trials", 0, key={"metric": "deviation"}),
                    Number(by[name, "deviation"]["n_llms"], "n_llms", 0, key={"metric": "deviation"}),
                ],
            )
            for name in names
            if (name, "deviation") in by
        ],
        [("", 1), ("by deviation", 4), ("by susceptibility", 4), ("", 2)],
        study.is_simulated,
        f"{clean(domain)}: decisions",
    )


def in_short(study, answers):
    """Sum the answers up in one table, a row for each domain.

    Parameters
    ----------
    study : Study
    answers : list of Answer

    Returns
    -------
    Table
    """
    key = {"llm": None, "weighting": "llm"}
    rows = []
    for of in answers:
        decided = {metric: dict(parts) for metric, parts in of.decisions}
        words = [
            decided[metric].get(HEADINGS[decision], "nothing") for metric in METRICS for decision in ("use", "avoid")
        ]
        found = study.rows("rank_probabilities", domain=of.domain)
        n_llms = max((row["n_llms"] for row in found), default=None)
        numbers = [
            _chance_that_metrics_disagree(found, key, reason="nothing_to_rank"),
            Number(n_llms, "max(n_llms)", 0, key=key, reason="nothing_to_rank"),
        ]
        rows.append(Row({"domain": of.domain}, [clean(of.domain), *words, *numbers]))
    few = any("too_few_llms" in (row["reason"] or "") for row in study.rows("rank_probabilities"))
    return Table(
        Markup("What to use and what to avoid, against using no technique.{}").format(
            f" Where fewer than {FEWEST_LLMS} LLMs were asked, this speaks of those alone." if few else ""
        ),
        RANKS,
        {"study": study.name},
        ["domain", "use", "avoid", "use", "avoid", "P(the metrics disagree)", "LLMs"],
        rows,
        [("", 1), ("by deviation", 2), ("by susceptibility", 2), ("", 2)],
        study.is_simulated,
        "the answer in short",
    )


def counts(study):
    """Say how many trials and LLMs a study has.

    Parameters
    ----------
    study : Study

    Returns
    -------
    Markup
    """
    key = {"study": study.name}
    row = next(iter(study.rows("counts")), {"n_asked": None, "n_answered": None, "n_llms": None})
    asked, answered, llms = (
        Number(row[name], column, 0, table="marts.attrition", key=key, reason="no_published_batch")
        for name, column in (
            ("n_asked", "sum(n_asked)"),
            ("n_answered", "sum(n_answered)"),
            ("n_llms", "count(distinct llm)"),
        )
    )
    return Markup("{} trials in published batches, {} of them answered, {} {}.").format(
        asked, answered, llms, counted(row["n_llms"], "LLM")
    )
