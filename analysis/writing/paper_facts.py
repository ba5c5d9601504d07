"""The facts of a study: what a paper on it may say, each number rounded as it may be quoted."""

from collections import Counter

from analysis.words.changes import counted
from analysis.words.claims import HOLDS, KINDS, RECOMPUTES
from analysis.words.codes import CERTAINTY, GOALS, LACKS, codes_of, in_words, on_an_llm
from analysis.words.conclusions import LABELS, conclusion, lacking
from analysis.words.shortfalls import SENTENCES, UNREAD, combined, is_said, whole

ALONE = "without a technique"
# a comparison that decides, one with a placebo, a confounded one, and what is foretold, at the start of a fact's name
COMPARISONS = {"control": "by", "placebo": "against_the_placebo_by", "confounded": "confounded_by"}
FORETOLD = "for_an_llm_that_nobody_asked_by"
REFERENCES = (
    ("Jacowitz", "1995", "Jacowitz, K. E. & Kahneman, D. (1995). Measures of anchoring in estimation tasks. "
     "Personality and Social Psychology Bulletin 21(11), 1161-1166."),
    ("Dunn", "1961", "Dunn, O. J. (1961). Multiple comparisons among means. Journal of the American Statistical "
     "Association 56(293), 52-64."),
    ("Ibragimov", "2010", "Ibragimov, R. & Müller, U. K. (2010). t-statistic based correlation and heterogeneity "
     "robust inference. Journal of Business & Economic Statistics 28(4), 453-468."),
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
        Rows of the study, of the recommended specification and over all LLMs: `techniques`, `rankings`, `decisions`,
        `of_each_llm` (decisions on single ones against the control), `predictions`, `baselines`, `conditions`,
        `spreads`, `attrition`, `changes`, `shortfalls`, `batches`, `flags`, `claims`, `open_claims`, `method` (one
        row).

    Returns
    -------
    dict
        What JSON can hold. A statistic that is null has its reason beside it.
    """
    named = {row["technique"]: row["technique"] for row in rows["rankings"]}
    named |= {row["technique"]: row["display_name"] or row["technique"] for row in rows["techniques"]}
    asked = [*rows["rankings"], *rows["attrition"], *rows["shortfalls"]]
    domains = sorted({row["domain"] for row in asked if row["domain"]})
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
            "weighting": "vendors weigh the same, and so do the LLMs of a vendor",
        },
        "reference_points": {"as_without_an_anchor_percent_of_baseline": 100, "no_gain_pp": 0},
        "goals": {goal: definition.measures for goal, definition in GOALS.items()},
        "method": _method(rows["method"]),
        "gate": _gate(rows["batches"], rows["flags"]),
        **_asked(rows["attrition"], rows["changes"]),
        "domains": {domain: _domain(domain, rows, named) for domain in domains},
        "published_claims": _claims(rows["claims"], rows["open_claims"]),
        "references": [citation for *_, citation in REFERENCES],
    }


def _method(rows):
    method = rows[0] if rows else {}
    fewest = method.get("fewest_vendors")
    return {
        "confidence_percent": _percent(method.get("confidence")),
        "n_draws": method.get("n_draws"),
        "seed": method.get("seed"),
        "equivalence_margin_pp": _rounded(method.get("margin_pp")),
        "fewest_vendors_to_speak_of_other_llms": fewest,
        "smallest_sign_flip_p_of_so_few_vendors": 2 ** (1 - fewest) if fewest else None,
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


def _asked(rows, changes):
    """What became of the trials that were asked, and what people changed after they had seen it."""
    names = ("n_asked", "n_answered", "n_refused", "n_unparsed", "n_out_of_range", "n_failed")
    sums = {name: sum(row[name] for row in rows) for name in names}
    share = sums["n_answered"] / sums["n_asked"] if sums["n_asked"] else None
    return {
        "attrition": {**sums, "answered_percent": _percent(share)},
        "post_hoc_changes": counted(changes, sums["n_asked"]),
    }


def _shortfalls(row):
    """What of the answers counts nowhere, as far as it is said; no text of an answer, which may hold any number."""
    said = [fate for fate in SENTENCES if row and is_said(row, fate)]
    if not said:
        return {}
    counts = {f"n_{fate}": row[f"n_{fate}"] if fate in said else 0 for fate in SENTENCES}
    share = row[f"n_{UNREAD}"] / row[whole(UNREAD)] if UNREAD in said else None
    totals = {name: row[name] for name in ("n_asked", "n_published")}
    return {**totals, **counts, **({"unparsed_percent": _percent(share)} if share else {})}


def _claims(rows, unsettled):
    def by(column, labels):
        numbers = Counter()
        for row in rows:
            numbers[row["kind"], row[column]] += row["n_claims"]
        return {
            f"{nouns[n > 1]} {labels[code][n > 1]}": n
            for kind, nouns in KINDS.items()
            for code in labels
            if (n := numbers[kind, code])
        }

    return {
        "n_by_recomputes": by("recomputes", RECOMPUTES),
        "n_by_holds": by("holds", HOLDS),
        "sentences_that_do_not_hold": {row["statement"]: HOLDS[row["holds"]][0] for row in unsettled},
    }


def _domain(domain, rows, named):
    def of(table):
        return [row for row in rows[table] if row["domain"] == domain]

    def about(row, table):
        return [other for other in of(table) if other["technique"] == row["technique"]]

    rankings, attrition = of("rankings"), of("attrition")
    ranked = {row["technique"] for row in rankings}
    decisions = [row for row in of("decisions") if row["comparison"] == "control" and row["technique"] in ranked]
    of_each_llm = [row for row in of("of_each_llm") if row["technique"] in ranked]
    techniques = {
        named[row["technique"]]: _technique(
            row, *(about(row, table) for table in ("decisions", "of_each_llm", "predictions")), named
        )
        for row in rankings
    }
    of_llms = [
        *((row, "baseline", _mean(row)) for row in of("baselines")),
        *((row, f"mean under {row['arm']} anchor {ALONE}", _mean(row)) for row in of("conditions")),
        *((row, f"high less low anchor {ALONE}", _spread(row)) for row in of("spreads")),
    ]
    llms = {}
    for row, name, facts in of_llms:
        llms.setdefault(row["llm"], {})[f"{name}, {row['vignette']}"] = facts | _reason(row)
    return {
        "units": sorted({row["response_unit"] for row in of("baselines") if row.get("response_unit")}),
        "n_vignettes": len({row["vignette"] for row in attrition}),
        **_asked(attrition, of("changes")),
        "shortfalls": _shortfalls(combined(of("shortfalls"))),
        "techniques": techniques,
        "llms": llms,
        "leading_goal": next((row["goal"] for row in decisions if row["is_primary"]), None),
        "conclusion": conclusion(domain, rankings, decisions, of_each_llm, named),
    }


def _mean(row):
    return {"mean": _rounded(row["mean"], 2), "n_trials": row["n_trials"]}


def _spread(row):
    return {"spread": _rounded(row["spread"], 2), "spread_pp": _rounded(row["spread_pp"])}


def _technique(ranking, decisions, of_each_llm, predictions, named):
    facts = {
        "n_trials": ranking["n_trials"],
        "n_llms": ranking["n_llms"],
        **{named_in_unit(goal, goal): _rounded(ranking["losses"][goal]) for goal in GOALS},
        "error_without_an_anchor_percent": _rounded(ranking["base_loss"]),
        **{f"rank_by_{goal}": ranking["ranks"][goal] for goal in GOALS},
        **_reason(ranking),
    }
    for row in decisions:
        facts[f"{COMPARISONS.get(row['comparison'], 'by')}_{row['goal']}"] = _decision(row, named)
    for row in of_each_llm:
        if row["decision"] and f"by_{row['goal']}" in facts:
            facts[f"by_{row['goal']}"].setdefault("llms", {})[row["llm"]] = {
                "effect": on_an_llm(row),
                **_in_unit(row, gain="gain", gain_low="gain_low", gain_high="gain_high"),
            }
    for row in predictions:
        if row["gain"] is not None:
            facts[f"{FORETOLD}_{row['goal']}"] = {
                "compared_with": named.get(row["control"], row["control"]),
                **_in_unit(row, expected_loss="expected_loss", gain="gain", low="gain_low", high="gain_high"),
                "probability_of_being_better_than_its_control_percent": _percent(row["p_better_than_control"]),
                "probability_of_being_best_percent": _percent(row["p_best_new_llm"]),
            }
    return facts


def _decision(row, named):
    """What is decided of other LLMs, how sure, and on what; nothing is decided of a confounded comparison."""
    lacks = lacking(row, named[row["technique"]])
    decided = {
        "decision": LABELS.get(row["decision"]),
        "is_established": row["certainty"] == "established",
        "how_sure": CERTAINTY.get(row["certainty"]),
        **({"what_it_lacks_to_be_established": "; ".join(lacks)} if lacks else {}),
    }
    limits = "; ".join(code for code in codes_of(row) if code != "placebo" and not (lacks and code in LACKS))
    return {
        "compared_with": named.get(row["control"], row["control"]),
        **(decided if row["comparison"] != "confounded" else {}),
        **_in_unit(
            row, loss="loss", loss_of_control="loss_control", gain="gain", gain_low="gain_low",
            gain_high="gain_high", gain_low_of_it_alone="gain_plain_low", gain_high_of_it_alone="gain_plain_high",
            gain_low_were_llms_independent="gain_llms_low", gain_high_were_llms_independent="gain_llms_high",
        ),
        "n_llms": row["n_llms"],
        "n_vendors": row["n_vendors"],
        "n_rows_decided_at_once": row["n_comparisons"],
        "n_families": row["n_families"],
        "n_llms_that_gained": row["n_gained"],
        "n_llms_surely_helped": row["n_helped"],
        **({"n_llms_helped_in_their_own_prompt_alone": row["n_own_prompt"]} if row["n_own_prompt"] else {}),
        "n_llms_surely_harmed": row["n_harmed"],
        "p_sign_flip": _p(row["p_sign_flip"]),
        "probability_of_being_best_percent": _percent(row["p_best"]),
        "probability_of_being_worst_percent": _percent(row["p_worst"]),
        "probability_of_being_worse_than_its_control_percent": _percent(row["p_worse_than_control"]),
        "rank_low": row["rank_low"],
        "rank_high": row["rank_high"],
        **({"limits": in_words(limits)} if limits else {}),
    }  # fmt: skip


def named_in_unit(name, goal):
    """Return the name of a fact that is in the unit of a goal.

    Parameters
    ----------
    name, goal : str

    Returns
    -------
    str
    """
    return f"{name}_{'percent' if GOALS[goal].unit == '%' else GOALS[goal].unit}"


def _in_unit(row, **columns):
    return {named_in_unit(name, row["goal"]): _rounded(row[column]) for name, column in columns.items()}


def _reason(row):
    return {"reason": row["reason"]} if row.get("reason") else {}


def _rounded(value, digits=1):
    return None if value is None else round(value, digits) + 0.0


def _percent(share):
    return None if share is None else _rounded(100 * share)


def _p(value):
    return None if value is None else "< 0.001" if value < 0.001 else round(value, 3)
