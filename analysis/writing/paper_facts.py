"""The facts of a study: what a paper on it may say, each number rounded as it may be quoted."""

from collections import Counter

DECISIONS = {"use": "USE", "avoid": "AVOID", "equivalent": "EQUIVALENT", "no_evidence": "NO EVIDENCE"}
METRICS = {
    "deviation": "deviation from the baseline",
    "susceptibility": "susceptibility (the spread between the anchors)",
}
CONTRAST, EQUIVALENCE = "percent_of_baseline less that of no technique", "equivalence with no technique"
ALONE = "without a technique"
TOO_FEW = "So few LLMs were asked that this speaks only of them, not of LLMs in general."
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
    named = {row["technique"]: row["technique"] for row in rows["rankings"]}
    named |= {row["technique"]: row["display_name"] or row["technique"] for row in rows["techniques"]}
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
    return {
        "confidence_percent": _percent(method.get("confidence")),
        "n_resamples": method.get("n_resamples"),
        "seed": method.get("seed"),
        "equivalence_margin_pp": _rounded(method.get("margin_pp")),
        "fewest_llms_for_an_interval_over_llms": method.get("fewest_llms"),
    }


def _gate(batches, flags):
    return {
        "n_batches": len(batches),
        "n_batches_published": sum(bool(row["is_published"]) for row in batches),
        "n_batches_by_verdict": dict(Counter(row["verdict"] for row in batches)),
        "n_trials_quarantined": sum(row["n_trials"] for row in flags if row["severity"] == "quarantined"),
        "n_suspicions": sum(row["n_trials"] for row in flags if row["severity"] == "suspect"),
        "n_trials_by_flag": {row["reason"]: row["n_trials"] for row in flags},
    }


def _attrition(rows):
    names = ("n_asked", "n_answered", "n_refused", "n_unparsed", "n_out_of_range", "n_failed")
    counted = {name: sum(row[name] for row in rows) for name in names}
    share = counted["n_answered"] / counted["n_asked"] if counted["n_asked"] else None
    return {**counted, "answered_percent": _percent(share)}


def _claims(counted, unsettled):
    return {
        "n_by_status": {f"{row['kind']}s: {row['status'].replace('_', ' ')}": row["n_claims"] for row in counted},
        "headlines_that_do_not_stand": {row["statement"]: row["status"].replace("_", " ") for row in unsettled},
    }


def _domain(domain, rows, named):
    def of(table):
        return [row for row in rows[table] if row["domain"] == domain]

    def about(row, table, column="technique"):
        return [other for other in of(table) if other[column] == row["technique"]]

    rankings, attrition = of("rankings"), of("attrition")
    ranked = {row["technique"] for row in rankings}
    techniques = {
        named[row["technique"]]: _technique(
            row,
            about(row, "intervals"),
            about(row, "probabilities"),
            about(row, "contrasts", "technique_a"),
            about(row, "equivalences", "technique_a"),
        )
        for row in rankings
    }
    of_llms = [
        *((row, "baseline", _mean(row, "baseline")) for row in of("baselines")),
        *(
            (row, f"mean under {row['anchor_direction']} anchor {ALONE}", _mean(row, "mean_response"))
            for row in of("conditions")
        ),
        *((row, f"high less low anchor {ALONE}", _spread(row)) for row in of("spreads")),
    ]
    llms = {}
    for row, name, facts in of_llms:
        llms.setdefault(row["llm"], {})[f"{name}, {row['vignette']}"] = facts | _reason(row)
    return {
        "units": sorted({row["response_unit"] for row in of("baselines") if row.get("response_unit")}),
        "n_vignettes": len({row["vignette"] for row in attrition}),
        "attrition": _attrition(attrition),
        "techniques": techniques,
        "llms": llms,
        "conclusion": _conclusion(
            domain, rankings, [row for row in of("probabilities") if row["technique"] in ranked], named
        ),
    }


def _mean(row, column):
    return {"mean": _rounded(row[column], 2), "n_trials": row["n_trials"]}


def _spread(row):
    return {"spread": _rounded(row["spread"], 2), "spread_pp": _rounded(row["spread_pp"])}


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
        **{name: _rounded(ranking[name]) for name in ("spread_change_percent", "madb_percent")},
        **{name: ranking[name] for name in ("rank_by_deviation", "rank_by_susceptibility")},
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
            **{f"{name}_pp": _rounded(row[name]) for name in ("difference", "low", "high")},
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
        return " and ".join(named[row["technique"]] for row in rankings if row[metric] == 1)

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
        decided = {
            label: [
                named[row["technique"]]
                for row in probabilities
                if row["metric"] == metric and row["decision"] == decision
            ]
            for decision, label in DECISIONS.items()
        }
        listed = "; ".join(f"{label} for {', '.join(names)}" for label, names in decided.items() if names)
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
