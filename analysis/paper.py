"""The paper on a study: the numbers that it may hold, what an LLM is asked, what is written without one, and the check.

A paper may stand if every number in it is one of the facts, and one of what its sentence speaks of: a number of SACD in
a sentence on Devil's Advocate alone is a problem, and so is one of another domain.
"""

import json
import re
from bisect import bisect_right
from decimal import Decimal

from analysis.grounding import (
    P_VALUE,
    PERCENT,
    SECTIONS,
    THRESHOLDS,
    normalised,
    printed_numbers,
    rounds_to,
    sections_of,
    sentences,
)

DECISIONS = {"use": "USE", "avoid": "AVOID", "equivalent": "EQUIVALENT", "no_evidence": "NO EVIDENCE"}
LABEL = re.compile(r"(?<![A-Za-z-])(?:USE|AVOID|EQUIVALENT|NO EVIDENCE)(?![A-Za-z-])")
METRICS = {
    "deviation": "deviation from the baseline",
    "susceptibility": "susceptibility (the spread between the anchors)",
}
CONTRAST, EQUIVALENCE = "percent_of_baseline less that of no technique", "equivalence with no technique"
KINDS = {"domains": "domain", "techniques": "technique", "llms": "llm"}
CONTROL = "No technique"
CONTROL_IN_TEXT = r"no[ -]technique|without (?:a |any )?technique"
PERCENTAGE_POINTS = re.compile(r"[\s*_]*(?:pp\b|percentage[- ]points?\b)", re.IGNORECASE)
BOUNDARY = re.compile(
    r"\n\s*\n|\n(?=\s*(?:[-*+|>#]|\d+[.)])\s?)"
    r"|(?<=[.!?])(?<!\bal\.)(?<!\bvs\.)[\"')*_\]]*\s+(?=[\"'(*_\[]*[A-Z])"
)
HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+([^\n]*)", re.MULTILINE)
TOO_FEW = "So few LLMs were asked that this speaks only of them, not of LLMs in general."
SIMULATED = "SIMULATED: no LLM was asked; simulated respondents with a stated truth answered."
REFERENCES = (
    ("Jacowitz", "1995", "Jacowitz, K. E. & Kahneman, D. (1995). Measures of anchoring in estimation tasks. "
     "Personality and Social Psychology Bulletin 21(11), 1161-1166."),
    ("Pustejovsky", "2018", "Pustejovsky, J. E. & Tipton, E. (2018). Small-sample methods for cluster-robust variance "
     "estimation and hypothesis testing in fixed effects models. Journal of Business & Economic Statistics 36(4), "
     "672-683."),
    ("Schuirmann", "1987", "Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power "
     "approach for assessing the equivalence of average bioavailability. Journal of Pharmacokinetics and "
     "Biopharmaceutics 15(6), 657-680."),
)  # fmt: skip


def facts_of(study, rows):
    """Put together what a paper on a study may say, each number rounded as it may be quoted.

    Parameters
    ----------
    study : dict
        `study`, `sources` (list of str), `is_simulated`, `n_trials`, `llms` (list of str).
    rows : dict of str to list of dict
        Rows of the study, of the recommended specification and over all LLMs: `techniques`, `rankings`, `intervals`,
        `probabilities`, `contrasts`, `equivalences`, `baselines`, `conditions`, `spreads`, `attrition`, `batches`,
        `flags`, `claims`, `open_claims`, `method` (one row).

    Returns
    -------
    dict
        What JSON can hold. A statistic that is null has its reason beside it.
    """
    named = {row["technique"]: row["display_name"] or row["technique"] for row in rows["techniques"]}
    domains = sorted({row["domain"] for row in [*rows["rankings"], *rows["attrition"]] if row["domain"]})
    return {
        "study": study["study"],
        "is_simulated": study["is_simulated"],
        "sources": study["sources"],
        "n_trials": study["n_trials"],
        "n_llms": len(study["llms"]),
        "llms_asked": study["llms"],
        "specification": {
            "row_set": "accepted trials: answered, of published batches, and not quarantined",
            "baseline": "each LLM's own mean response without anchor and technique, all temperatures together",
            "weighting": "every LLM weighs the same",
        },
        "reference_points": {"as_without_an_anchor_percent_of_baseline": 100, "no_deviation_pp": 0},
        "method": _method(rows["method"]),
        "gate": _gate(rows["batches"], rows["flags"]),
        "attrition": _attrition(rows["attrition"]),
        "domains": {domain: _domain(domain, rows, named) for domain in domains},
        "published_claims": _claims(rows["claims"], rows["open_claims"]),
        "references": [citation for *_, citation in REFERENCES],
    }


def _method(rows):
    method = rows[0] if rows else {}
    share = method.get("confidence")
    return {
        "confidence_percent": None if share is None else _rounded(100 * share),
        "n_resamples": method.get("n_resamples"),
        "seed": method.get("seed"),
        "equivalence_margin_pp": _rounded(method.get("margin_pp")),
        "fewest_llms_for_an_interval_over_llms": method.get("fewest_llms"),
    }


def _gate(batches, flags):
    by_verdict = {}
    for row in batches:
        by_verdict[row["verdict"]] = by_verdict.get(row["verdict"], 0) + 1
    return {
        "n_batches": len(batches),
        "n_batches_published": sum(bool(row["is_published"]) for row in batches),
        "n_batches_by_verdict": by_verdict,
        "n_trials_quarantined": sum(row["n_trials"] for row in flags if row["severity"] == "quarantined"),
        "n_suspicions": sum(row["n_trials"] for row in flags if row["severity"] == "suspect"),
        "n_trials_by_flag": {row["reason"]: row["n_trials"] for row in flags},
    }


def _attrition(rows):
    names = ("n_asked", "n_answered", "n_refused", "n_unparsed", "n_out_of_range", "n_failed")
    counted = {name: sum(row[name] for row in rows) for name in names}
    share = counted["n_answered"] / counted["n_asked"] if counted["n_asked"] else None
    return {**counted, "answered_percent": None if share is None else _rounded(100 * share)}


def _claims(counted, unsettled):
    return {
        "n_by_status": {f"{row['kind']}s: {row['status'].replace('_', ' ')}": row["n_claims"] for row in counted},
        "headlines_that_do_not_stand": {row["statement"]: row["status"].replace("_", " ") for row in unsettled},
    }


def _domain(domain, rows, named):
    def of(table):
        return [row for row in rows[table] if row["domain"] == domain]

    ranked = {row["technique"] for row in of("rankings")}
    probabilities = [row for row in of("probabilities") if row["technique"] in ranked]
    techniques = {
        named.get(row["technique"], row["technique"]): _technique(
            row,
            [i for i in of("intervals") if i["technique"] == row["technique"]],
            [p for p in probabilities if p["technique"] == row["technique"]],
            [c for c in of("contrasts") if c["technique_a"] == row["technique"]],
            [e for e in of("equivalences") if e["technique_a"] == row["technique"]],
        )
        for row in of("rankings")
    }
    llms = {}
    for row in of("baselines"):
        llms.setdefault(row["llm"], {})[f"baseline, {row['vignette']}"] = {
            "mean": _rounded(row["baseline"], 2),
            "n_trials": row["n_trials"],
            **_reason(row),
        }
    for row in of("conditions"):
        named_so = f"mean under {row['anchor_direction']} anchor without a technique, {row['vignette']}"
        llms.setdefault(row["llm"], {})[named_so] = {
            "mean": _rounded(row["mean_response"], 2),
            "n_trials": row["n_trials"],
        }
    for row in of("spreads"):
        llms.setdefault(row["llm"], {})[f"high less low anchor without a technique, {row['vignette']}"] = {
            "spread": _rounded(row["spread"], 2),
            "spread_pp": _rounded(row["spread_pp"]),
            **_reason(row),
        }
    of_attrition = of("attrition")
    return {
        "units": sorted({row["response_unit"] for row in of("baselines") if row.get("response_unit")}),
        "n_vignettes": len({row["vignette"] for row in of_attrition}),
        "attrition": _attrition(of_attrition),
        "techniques": techniques,
        "llms": llms,
        "conclusion": _conclusion(domain, of("rankings"), probabilities, named),
    }


def _technique(ranking, intervals, probabilities, contrasts, equivalences):
    bounds = {row["metric"]: row for row in intervals}

    def with_interval(name):
        row = bounds.get(name, {})
        found = {"value": _rounded(ranking[name])}
        if row.get("low") is not None and row.get("high") is not None:
            return {**found, "low": _rounded(row["low"]), "high": _rounded(row["high"]), "interval": _of_what(row)}
        return {**found, "low": None, "high": None, "why_no_interval": row.get("reason") or "not_computed"}

    facts = {
        "n_trials": ranking["n_trials"],
        "n_llms": ranking["n_llms"],
        "percent_of_baseline": with_interval("percent_of_baseline"),
        "deviation_pp": _rounded(ranking["deviation_pp"]),
        "spread_pp": with_interval("spread_pp"),
        "spread_change_percent": _rounded(ranking["spread_change_percent"]),
        "madb_percent": _rounded(ranking["madb_percent"]),
        "rank_by_deviation": ranking["rank_by_deviation"],
        "rank_by_susceptibility": ranking["rank_by_susceptibility"],
        **_reason(ranking),
    }
    for row in probabilities:
        if row["decision"]:
            facts[f"by_{row['metric']}"] = {
                "decision": DECISIONS[row["decision"]],
                "gain_over_no_technique_pp": _rounded(row["gain"]),
                "gain_low_pp": _rounded(row["gain_low"]),
                "gain_high_pp": _rounded(row["gain_high"]),
                "probability_of_being_best_percent": _percent(row["p_best"]),
                "probability_of_being_worst_percent": _percent(row["p_worst"]),
                "probability_of_being_worse_than_no_technique_percent": _percent(row["p_worse_than_nothing"]),
                "rank_low": row["rank_low"],
                "rank_high": row["rank_high"],
                "drawn": "LLMs and trials" if row["method"] == "cluster" else "trials only",
                **_reason(row),
            }
    for row in contrasts:
        facts[CONTRAST if row["metric"] == "percent_of_baseline" else f"{row['metric']} less that of no technique"] = {
            "difference_pp": _rounded(row["difference"]),
            "low_pp": _rounded(row["low"]),
            "high_pp": _rounded(row["high"]),
            "p_holm": _p(row["p_holm"]),
            "n_llms": row["n_llms"],
            "test": "paired over LLMs",
            **_reason(row),
        }
    for row in equivalences:
        facts[EQUIVALENCE] = {
            "status": row["status"].replace("_", " "),
            "low_pp": _rounded(row["low_90"]),
            "high_pp": _rounded(row["high_90"]),
            "test": "two one-sided tests, paired over LLMs",
            **_reason(row),
        }
    return facts


def _of_what(interval):
    return "over LLMs" if interval["method"] == "headline" else "over trials of the LLMs that were asked, no others"


def _reason(row):
    return {"reason": row["reason"]} if row.get("reason") else {}


def _conclusion(domain, rankings, probabilities, named):
    """Say without numbers what the evidence comes to; a paper has to say so word for word."""

    def first(metric):
        return " and ".join(named.get(row["technique"], row["technique"]) for row in rankings if row[metric] == 1)

    closest, steadiest = first("rank_by_deviation"), first("rank_by_susceptibility")
    spoken = domain.replace("_", " ")
    if not closest or not steadiest:
        reasons = sorted({word for row in rankings for word in (row["reason"] or "").split("; ")} - {"", "not_ranked"})
        why = f" ({', '.join(reasons).replace('_', ' ')})" if reasons else ""
        said = [f"In the domain {spoken} no technique can be ranked by both metrics{why}."]
    elif closest == steadiest:
        said = [f"In the domain {spoken}, {closest} ranks first by both metrics."]
    else:
        agree = "do not agree on one technique" if rankings[0]["metrics_disagree"] else "share a winner"
        said = [
            f"In the domain {spoken}, {closest} ranks first by closeness to the baseline and {steadiest} by "
            f"susceptibility: the metrics {agree}."
        ]
    for metric, words in METRICS.items():
        decided = {}
        for row in probabilities:
            if row["metric"] == metric and row["decision"]:
                decided.setdefault(row["decision"], []).append(named.get(row["technique"], row["technique"]))
        listed = "; ".join(
            f"{label} for {', '.join(decided[name])}" for name, label in DECISIONS.items() if name in decided
        )
        if listed:
            said.append(f"By {words}, the decisions in the domain {spoken} are: {listed}.")
    if any("too_few_llms" in (row["reason"] or "") for row in probabilities):
        said.append(TOO_FEW)
    return " ".join(said)


def _rounded(value, digits=1):
    return None if value is None else round(value, digits) + 0.0


def _percent(share):
    return None if share is None else _rounded(100 * share)


def _p(value):
    return None if value is None else "< 0.001" if value < 0.001 else round(value, 3)


def paper_prompt(facts):
    """Return what an LLM is asked, so that it writes the paper on a study.

    Parameters
    ----------
    facts : dict
        As `facts_of` returns it.

    Returns
    -------
    str
    """
    simulated = (
        f'\n- The data are simulated. The title begins with "SIMULATED:" and the Abstract with this sentence: '
        f'"{SIMULATED}" Never write as if an LLM had been asked.'
        if facts["is_simulated"]
        else ""
    )
    conclusions = "\n".join(f'  "{domain["conclusion"]}"' for domain in facts["domains"].values())
    return f"""Write a concise, human-readable scientific paper in Markdown on the study below: which debiasing
technique, if any, helps LLMs against an anchor, in which domain, and how sure one can be.

Rules
- Begin with the title as a heading of the first level. Then give each of these sections a heading of the second level,
  under exactly this name: {", ".join(SECTIONS)}.{simulated}
- Do not invent numbers. Every number must be one of the facts below: none that you computed yourself, no difference,
  sum or average of your own. You may round. Keep the sign of every number.
- A sentence, list item or row of a table that names a technique, a domain or an LLM may hold only numbers of these, or
  of the study as a whole. Under a heading that names a domain, its numbers are meant.
- Only a fact with "percent" in its name is followed by %, and only one with "pp" in its name by pp (percentage points).
- A statistic that is null was not computed: say so, with the reason that stands beside it. An interval "over trials"
  says nothing about other LLMs: say so where you give one.
- The Results give, per domain and technique, the number of trials, percent of baseline and spread with their
  intervals, the ranks by both metrics, and the probability of being best; then attrition, and what the gate found.
- A decision is written in capitals, and only as it was made: USE, AVOID, EQUIVALENT, NO EVIDENCE. A difference that is
  not significant is never equivalence. "No evidence" is a result: do not recommend what has none.
- The Discussion says, word for word:
{conclusions or "  (nothing was compared)"}
- The baseline is what an LLM says without an anchor. It is not the right answer: say so in Limitations.
- References contains these citations, as they are, and no others:
{chr(10).join("  " + citation for citation in facts["references"])}
- Return the paper only, without a code fence around it.

Facts
{json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False)}
"""


def template_paper(facts):
    """Write the paper without an LLM: the same facts give the same text, which always passes `check_paper`.

    Parameters
    ----------
    facts : dict
        As `facts_of` returns it.

    Returns
    -------
    str
        Markdown.
    """
    gate, attrition, method = facts["gate"], facts["attrition"], facts["method"]
    mark, note = ("SIMULATED: ", f"{SIMULATED} ") if facts["is_simulated"] else ("", "")
    conclusions = "\n\n".join(domain["conclusion"] for domain in facts["domains"].values())
    names = ", ".join(domain.replace("_", " ") for domain in facts["domains"]) or "none"
    level = f"{_whole(method['confidence_percent'])} %"
    return f"""# {mark}Debiasing techniques against anchors in LLMs: the study {_text(facts["study"])}

## Abstract

{note}{_count(facts["n_trials"], "trial")} of {_count(facts["n_llms"], "LLM")} were put under low and high anchors,
with and without debiasing techniques (domains: {names}). Two metrics are held side by side: how close the answers come
to what an LLM says without an anchor, and how far apart a low and a high anchor drive them.

{conclusions}

## Methods

Of each LLM the baseline is its mean response without anchor and technique. Percent of baseline is the mean of the
responses over it, in percent, and the deviation is that less a hundred. The spread is the mean under high less the mean
under low anchors, and susceptibility its size (Jacowitz & Kahneman, 1995). Used were
{facts["specification"]["row_set"]}; the baseline is {facts["specification"]["baseline"]};
{facts["specification"]["weighting"]}.

Intervals are at {level}. Over LLMs they take each LLM as one observation (Pustejovsky & Tipton, 2018); where fewer than
{_shown(method["fewest_llms_for_an_interval_over_llms"])} LLMs were asked, there is none, and what stands
in its place is a bootstrap of trials, which says nothing about other LLMs. Ranks are drawn anew in
{_shown(method["n_resamples"])} resamples (seed {_whole(method["seed"])}). Equivalence is two one-sided tests
within {_whole(method["equivalence_margin_pp"])} pp (Schuirmann, 1987); a difference that is merely not significant
does not count as equivalence.

LLMs that were asked:

{chr(10).join(f"- {_text(llm)}" for llm in facts["llms_asked"]) or "- none"}

## Results

Of {_count(attrition["n_asked"], "trial")} asked, {_shown(attrition["n_answered"])} gave a valid answer
({_shown(attrition["answered_percent"])} %); {_shown(attrition["n_refused"])} were refused,
{_shown(attrition["n_unparsed"])} unparsed,
{_shown(attrition["n_out_of_range"])} out of range, and {_shown(attrition["n_failed"])} failed.
{_gate_text(gate)}

{chr(10).join(_domain_text(name, domain, level) for name, domain in facts["domains"].items())}
{_claims_text(facts["published_claims"])}## Discussion

{conclusions or "Nothing was compared."}

## Limitations

- The baseline is what an LLM says without an anchor, not what is right.
- Trials of one LLM are not independent of each other, and the LLMs were chosen, not drawn at random.
- The vignettes are taken as they are: nothing here speaks of other scenarios.
- The decisions are not corrected for how many there are.

## Conclusion

{conclusions or "Nothing was compared."}

## References

{chr(10).join(f"- {citation}" for citation in facts["references"])}
"""


def _gate_text(gate):
    verdicts = ", ".join(
        f"{_shown(n)} {verdict.replace('_', ' ')}" for verdict, n in gate["n_batches_by_verdict"].items()
    )
    said = f"The gate audited {_count(gate['n_batches'], 'batch', 'batches')} ({verdicts or 'none'}); "
    said += f"{_shown(gate['n_batches_published'])} published, "
    said += f"{_count(gate['n_trials_quarantined'], 'trial')} quarantined"
    listed = "; ".join(f"{reason.replace('_', ' ')} ({_shown(n)})" for reason, n in gate["n_trials_by_flag"].items())
    return f"{said}. Trials were flagged for: {listed}." if listed else f"{said}, and no trial was flagged."


def _domain_text(name, domain, level):
    spoken = name.replace("_", " ")
    attrition = domain["attrition"]
    rows = [
        f"| {_text(technique)} | {_shown(facts['n_trials'])} | {_with_interval(facts['percent_of_baseline'])} "
        f"| {_with_interval(facts['spread_pp'])} | {_rank(facts, 'rank_by_deviation')} "
        f"| {_rank(facts, 'rank_by_susceptibility')} |"
        for technique, facts in domain["techniques"].items()
    ]
    text = [
        f"### {_text(spoken)}",
        f"{_shown(attrition['n_answered'])} of {_count(attrition['n_asked'], 'trial')} gave a valid answer.",
        f"| Technique | Trials | % of baseline ({level} interval) | Spread, pp ({level} interval) | Rank by deviation "
        "| Rank by susceptibility |\n| --- | ---: | ---: | ---: | ---: | ---: |\n" + "\n".join(rows),
    ]
    if not rows:
        text[-1] = "No trial had a low or a high anchor and a baseline to hold it against."
    items = [
        f"- {_text(technique)}, {metric}: {by['decision']}; gain over no technique "
        f"{_shown(by['gain_over_no_technique_pp'])} pp "
        f"({_shown(by['gain_low_pp'])} to {_shown(by['gain_high_pp'])} pp), best with a probability of "
        f"{_shown(by['probability_of_being_best_percent'])} %, worse than no technique with one of "
        f"{_shown(by['probability_of_being_worse_than_no_technique_percent'])} %, drawn over {by['drawn']}."
        for technique, facts in domain["techniques"].items()
        for metric in METRICS
        if (by := facts.get(f"by_{metric}"))
    ]
    items += [
        f"- {_text(technique)} less no technique, paired over LLMs: {_contrast(facts)}."
        for technique, facts in domain["techniques"].items()
        if CONTRAST in facts
    ]
    units = f" In {', '.join(map(_text, domain['units']))}." if domain["units"] else ""
    of_llms = [f"- {_text(llm)}: {_llm_text(facts)}." for llm, facts in domain["llms"].items()]
    kinds = {
        facts[metric]["interval"]
        for facts in domain["techniques"].values()
        for metric in ("percent_of_baseline", "spread_pp")
        if "interval" in facts[metric]
    }
    reasons = sorted({r for facts in domain["techniques"].values() for r in facts.get("reason", "").split("; ") if r})
    if kinds:
        text.append(f"The intervals are {'; some '.join(sorted(kinds))}.")
    if reasons:
        text.append(f"What is null is so because: {', '.join(reasons).replace('_', ' ')}.")
    if items:
        text.append("\n".join(items))
    if of_llms:
        text.append(f"By LLM, each mean with its number of trials.{units}\n\n" + "\n".join(of_llms))
    return "\n\n".join([*text, ""])


def _llm_text(facts):
    said = []
    for name, fact in facts.items():
        value = fact.get("mean", fact.get("spread"))
        n = f" ({_shown(fact['n_trials'])})" if "n_trials" in fact else ""
        said.append(f"{_text(name)} {_shown(value, 2)}{n}" if value is not None else f"{_text(name)} null{_why(fact)}")
    return "; ".join(said)


def _contrast(facts):
    contrast, equivalence = facts[CONTRAST], facts.get(EQUIVALENCE)
    if contrast["difference_pp"] is None:
        return f"not computed{_why(contrast)}"
    said = f"{_shown(contrast['difference_pp'])} pp of the baseline"
    if contrast["low_pp"] is None:
        return f"{said}, without a test{_why(contrast)}"
    p = contrast["p_holm"]
    p = "p not computed" if p is None else f"p {p}" if isinstance(p, str) else f"p = {_shown(p, 3)}"
    said += f" ({_shown(contrast['low_pp'])} to {_shown(contrast['high_pp'])} pp), {p} after Holm"
    status = (equivalence or {}).get("status")
    return f"{said}; equivalence {'established' if status == 'equivalent' else status}" if status else said


def _why(fact):
    return f" ({fact['reason'].replace('_', ' ')})" if "reason" in fact else ""


def _rank(facts, name):
    return "not ranked" if facts[name] is None else _shown(facts[name])


def _with_interval(fact):
    if fact["value"] is None:
        return "not computed"
    return _shown(fact["value"]) + (
        "" if fact["low"] is None else f" ({_shown(fact['low'])} to {_shown(fact['high'])})"
    )


def _claims_text(claims):
    if not claims["n_by_status"]:
        return ""
    counted = "\n".join(f"- {status}, {_shown(n)}" for status, n in claims["n_by_status"].items())
    unsettled = "\n".join(
        f"- {_text(said)}: {status}" for said, status in claims["headlines_that_do_not_stand"].items()
    )
    listed = f"Headlines that do not stand:\n\n{unsettled}\n\n" if unsettled else ""
    said = "What was published of this study, by what the trials say of it:"
    return f"### Published claims\n\n{said}\n\n{counted}\n\n{listed}"


def _shown(value, digits=1):
    if value is None:
        return "not computed"
    return f"{value:,.{digits}f}".replace("-", "\u2212") if isinstance(value, float) else f"{value:,}"


def _whole(value):
    """Print what is set, not measured: 5.0 as 5, and a seed without a comma."""
    return "not computed" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _count(n, one, many=None):
    return f"{_shown(n)} {one if n == 1 else many or one + 's'}"


def _text(name):
    """Return a name so that Markdown and HTML take it for text."""
    words = " ".join(str(name).split())
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", words) if re.search(r"[`*\[\]<>|#\\]", words) else words


def check_paper(text, facts):
    """Say what is wrong with a paper on a study.

    A number is grounded if a fact, rounded to the digits printed, equals it, sign included, and if it belongs to what
    its sentence names (or else its heading): a technique, a domain, an LLM, or the study as a whole. Names and
    citations of the facts may be quoted whatever their digits. `p < .05` is grounded if a p value of what is spoken of
    lies below.

    Parameters
    ----------
    text : str
        The paper, in Markdown.
    facts : dict
        As `facts_of` returns it.

    Returns
    -------
    list of str
        One sentence per problem; empty if the paper may stand.
    """
    text = normalised(text)
    sections, starts = sections_of(text)
    problems = [f"the section {name} is missing" for name in ("Title", *SECTIONS) if not sections.get(name, "").strip()]
    problems += _number_problems(text, starts, facts)
    problems += _label_problems(sections, facts)
    said = _comparable(sections.get("Discussion", ""))
    problems += [
        f"the Discussion does not say of the domain {name} what the decisions are: '{domain['conclusion']}'"
        for name, domain in facts["domains"].items()
        if _comparable(domain["conclusion"]) not in said
    ]
    if facts["is_simulated"]:
        problems += [
            f"the {name} does not say that the data are SIMULATED"
            for name in ("Title", "Abstract")
            if "SIMULATED" not in sections.get(name, "")
        ]
    printed = _comparable(sections.get("References", ""))
    problems += [
        f"the References lack: {citation}" for citation in facts["references"] if _comparable(citation) not in printed
    ]
    return list(dict.fromkeys(problems))


def _comparable(text):
    return re.sub(r"[\s*_\\>-]+", " ", normalised(text)).strip().lower()


class _Names:
    """The techniques, domains and LLMs of a study, as a text may name them."""

    def __init__(self, facts):
        self.patterns = {}
        for domain, of_domain in facts["domains"].items():
            self._add(domain.replace("_", " "), "domain", domain)
            for technique in of_domain["techniques"]:
                self._add(technique, "technique", technique)
            for llm in of_domain["llms"]:
                self._add(llm, "llm", llm)
                if any(c.isdigit() for c in llm.split("/")[-1]):  # o3, but not a respondent who is called `steady`
                    self._add(llm.split("/")[-1], "llm", llm)
        longest_first = sorted(self.patterns, key=len, reverse=True)
        words = [r"[\s_-]+".join(map(re.escape, normalised(name).split())) for name in longest_first]
        self.found_as = [self.patterns[name] for name in longest_first]
        self.pattern = re.compile(
            "|".join(f"(?<![A-Za-z0-9])({word})(?![A-Za-z0-9])" for word in words) or r"(?!)", re.IGNORECASE
        )

    def _add(self, name, kind, meant):
        self.patterns[name] = (kind, meant)

    def of(self, text):
        """Return what a text names: kind to set of names."""
        found = {}
        for match in self.pattern.finditer(text):
            kind, meant = self.found_as[match.lastindex - 1]
            found.setdefault(kind, set()).add(meant)
        if re.search(rf"(?<![A-Za-z])(?:{CONTROL_IN_TEXT})(?![A-Za-z])", text, re.IGNORECASE):
            found.setdefault("technique", set()).add(CONTROL)
        return found


def _number_problems(text, starts, facts):
    names, known = _Names(facts), list(_known(facts))
    quotable = [*_quotable(facts), *(of_domain["conclusion"] for of_domain in facts["domains"].values())]
    in_text = [re.compile(rf"\b{surname}\b[^\d]{{0,80}}?[(,]\s*{year}(?!\d|[.,]\d)") for surname, year, _ in REFERENCES]
    bounds = [0, *(match.end() for match in BOUNDARY.finditer(text)), len(text)]
    headings = [(0, ""), *((match.start(), match[1]) for match in HEADING.finditer(text))]
    problems = []
    for value, quantum, start, end in printed_numbers(text, quotable, in_text):
        at = bisect_right(bounds, start)
        sentence = text[bounds[at - 1] : bounds[min(at, len(bounds) - 1)]]
        heading = headings[bisect_right([where for where, _ in headings], start) - 1][1]
        meant = {**names.of(heading), **names.of(sentence)}
        candidates = [fact for fact in known if _is_of(fact, meant)]
        if not _is_grounded(text, value, quantum, start, end, candidates):
            section = starts[bisect_right([where for where, _ in starts], start) - 1][1]
            around = " ".join(text[max(0, start - 30) : end + 12].split())
            elsewhere = _is_grounded(text, value, quantum, start, end, known)
            of_what = " and ".join(sorted(name for found in meant.values() for name in found))
            why = f"is not one of {of_what}" if elsewhere and of_what else "is not in the analysis"
            problems.append(f"the number {value} in {section} {why}: '{around}'")
    return problems


def _is_of(fact, meant):
    return all(not fact["of"].get(kind) or fact["of"][kind] & named for kind, named in meant.items())


def _is_grounded(text, value, quantum, start, end, candidates):
    if p_value := P_VALUE.search(text, max(0, start - 60), start):
        is_below = re.match(r"[<≤]|&lt|\\l|below|less|under|smaller", p_value["sign"], re.IGNORECASE)
        return value in THRESHOLDS and any(
            fact["name"].startswith("p_")
            and ((fact["value"] < value or (fact["is_bound"] and fact["value"] <= value)) if is_below else (
                not fact["is_bound"] and fact["value"] > value
            ))
            for fact in candidates
        )  # fmt: skip
    if PERCENT.match(text, end):
        candidates = [fact for fact in candidates if "percent" in fact["path"] and "_pp" not in fact["name"]]
    elif PERCENTAGE_POINTS.match(text, end):
        candidates = [fact for fact in candidates if "_pp" in fact["path"]]
    else:
        candidates = [fact for fact in candidates if "/reference_points/" not in fact["path"]]
    return any(not fact["is_bound"] and rounds_to(fact["value"], value, quantum) for fact in candidates)


def _known(facts):
    """Yield the numbers among the facts, each with its name, the path to it, and what it is of."""

    def walk(value, of, path):
        name = path.rpartition("/")[2]
        if isinstance(value, dict):
            kind = KINDS.get(name)
            for key, item in value.items():
                inner = {**of, kind: of.get(kind, frozenset()) | {key}} if kind else of
                yield from walk(item, inner, f"{path}/" if kind else f"{path}/{key}")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield {"value": Decimal(str(value)), "name": name, "path": path, "of": of, "is_bound": False}
        elif name.startswith("p_") and isinstance(value, str):
            yield {"value": Decimal(value.strip("< ")), "name": name, "path": path, "of": of, "is_bound": True}

    yield from walk(facts, {}, "")


def _quotable(facts):
    """Yield the names of the study, its LLMs, techniques and domains, its citations and published headlines."""
    yield facts["study"]
    yield from facts["references"]
    yield from facts["published_claims"]["headlines_that_do_not_stand"]
    for llm in facts["llms_asked"]:
        yield from (llm, llm.split("/")[-1], _text(llm))
    for domain, of_domain in facts["domains"].items():
        yield from (domain, domain.replace("_", " "), *of_domain["techniques"], *of_domain["llms"], *of_domain["units"])
        for named in of_domain["llms"].values():
            yield from (*named, *(_text(name) for name in named))


def _label_problems(sections, facts):
    """Find decisions that were not made: in a sentence with a technique, its label must be one of that technique's."""
    names, problems = _Names(facts), []
    for section, body in sections.items():
        if section == "Methods":
            continue
        for sentence in sentences(body):
            meant = names.of(sentence)
            made = {
                by["decision"]
                for domain, of_domain in facts["domains"].items()
                for technique, of_technique in of_domain["techniques"].items()
                for metric in METRICS
                if (by := of_technique.get(f"by_{metric}"))
                and domain in meant.get("domain", facts["domains"])
                and technique in (meant.get("technique", set()) - {CONTROL} or of_domain["techniques"])
            }
            problems += [
                f"{section} states the decision {label}, which was not made: '{sentence[:100]}'"
                for label in LABEL.findall(sentence)
                if label not in made
            ]
    return problems
