"""What several commands say of the published claims: how many hold, and which trials are behind one."""

from bais.warehouse import quoted

FAILING = ("differs", "contradicted", "not_established", "not_derivable")
STATUSES = ("reproduces", "stands", *FAILING, "not_checked")
IMPORT_FIRST = (
    "import its archive with `bais import DIR`, or fetch it with `bais import --download`, then run `bais build`"
)


def sum_up(chosen: list[dict]) -> str:
    """Say in a sentence or two how many claims hold."""
    n_open = sum(claim["status"] == "not_checked" for claim in chosen)
    studies = " and ".join(
        sorted({claim["study"] for claim in chosen if claim["status"] == "not_checked" and claim["study"]})
    )
    if not any(claim["status"] not in ("not_checked", "not_derivable") for claim in chosen):
        return (
            f"None of the {len(chosen):,} published claims can be checked: this warehouse lacks trials of the "
            f"study {studies}. To check them, {IMPORT_FIRST}."
        )
    parts = []
    for kind, noun, good, others in (
        ("value", "published number", ("reproduces", "reproduce"), (("differs", "differs", "differ"),)),
        (
            "sentence",
            "headline sentence",
            ("stands", "stand"),
            (("contradicted", "is contradicted", "are contradicted"),),
        ),
    ):
        of_kind = [claim["status"] for claim in chosen if claim["kind"] == kind]
        others += (
            ("not_established", "is not established", "are not established"),
            ("not_derivable", "cannot be derived from the trials", "cannot be derived from the trials"),
        )
        if of_kind:
            n_good = of_kind.count(good[0])
            words = [f"{n_good:,} of {len(of_kind):,} {noun}s {good[n_good != 1]}"]
            words += [f"{n:,} {many if n > 1 else one}" for status, one, many in others if (n := of_kind.count(status))]
            parts.append(", ".join(words[:-1]) + " and " + words[-1] if len(words) > 2 else ", ".join(words))
    unchecked = f" {n_open:,} could not be checked." if n_open else ""
    return "; ".join(parts) + "." + unchecked


def basis(claim_id: str, published: dict[str, dict]) -> list[str]:
    """Return the ids of the claims that are computed from trials and that a claim rests on, itself or its inputs'."""
    inputs = (published[claim_id]["inputs"] or "").split()
    if not inputs:
        return [claim_id]
    return list(dict.fromkeys(found for i in inputs for found in basis(i, published)))


def trials_query(of: list[dict]) -> str:
    """Write the SQL that lists the trials behind claims, none of them derived."""
    each = list(dict.fromkeys(tuple(_conditions(claim)) for claim in of))
    shared = [condition for condition in each[0] if all(condition in conditions for conditions in each)]
    rest = [[condition for condition in conditions if condition not in shared] for conditions in each]
    where = list(shared)
    if all(rest):
        lines = [" and ".join(conditions) for conditions in rest]
        where.append(
            "(\n        " + "\n        or ".join(f"({line})" if " and " in line else line for line in lines) + "\n    )"
        )
    both = "(from marts.trials union all by name from marts.quarantined_trials)"
    source = both if any(claim["row_set"] == "as_recorded" for claim in of) else "marts.trials"
    return (
        "select trial_id, llm, technique, anchor_direction, temperature, status, response_recorded, first_response, "
        f"baseline\nfrom {source}\nwhere\n    "
        + "\n    and ".join(where)
        + "\norder by llm, technique, anchor_direction;"
    )


def _conditions(claim):
    """Return the conditions on `marts.trials` that pick the trials of a claim."""
    quantity, technique = claim["quantity"], claim["technique"]
    of_baseline = quantity.startswith(("baseline", "sd_population", "sd_response")) or quantity.endswith(
        "_with_baseline"
    )
    for name in ("study", "domain", "llm"):
        if claim[name] is not None:
            yield f"{name} = {quoted(claim[name])}"
    if claim["excluded_llm"]:
        yield f"llm != {quoted(claim['excluded_llm'])}"
    if of_baseline:
        yield "technique = 'no_technique'"
    elif claim["technique_b"]:
        yield f"technique in ({quoted(technique)}, {quoted(claim['technique_b'])})"
    elif _compares_techniques(claim):
        or_none = " or technique = 'no_technique'" if "no_technique" in quantity else ""
        among = "technique in (select technique from seeds.techniques where is_ranked)"
        yield f"({among}{or_none})" if or_none else among
    elif quantity == "spread_change_percent" or quantity.startswith("gain_by"):
        yield f"technique in ({quoted(technique)}, 'no_technique')"
    elif technique == "sacd_initial":
        yield "technique = 'sacd'"
    elif technique not in (None, "all"):
        yield f"technique = {quoted(technique)}"
    direction = "none" if of_baseline else claim["anchor_direction"]
    if direction == "both":
        yield "anchor_direction in ('low', 'high')"
    elif direction not in (None, "all"):
        yield f"anchor_direction = {quoted(direction)}"
    if claim["temperature_scope"] not in (None, "pooled"):
        yield f"temperature = {claim['temperature_scope']}"
    if not quantity.startswith(("iterations", "calls")):
        initial = technique == "sacd_initial"
        yield (
            "status = 'answered'"
            if claim["row_set"] == "accepted"
            else f"{'first_response' if initial else 'response_recorded'} is not null"
        )
    if claim["non_null"] == "both" and technique == "sacd":
        yield "first_response is not null"
    if claim["baseline_scope"] and claim["estimator"] != "ratio_of_file_means":  # that one takes every LLM in
        yield "baseline is not null"


def _compares_techniques(claim):
    """Whether a claim's quantity is computed from all ranked techniques, although it may be of one of them."""
    of_all = ("rank_by", "place_by", "nothing_beats", "slope", "residual_reduction", "direction_effect")
    return claim["quantity"].startswith(of_all) or (claim["technique"] is None and claim["method"] is not None)
