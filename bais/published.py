"""What several commands say of the published claims: where they are, and how many hold."""

# by kind of claim: what one is called, and the status of those that hold, as one and as several have it
HOLDING = {
    "value": ("published number", "reproduces", "reproduce"),
    "sentence": ("headline sentence", "stands", "stand"),
}
# by status: what is said of one claim and of several
NOT_HOLDING = {
    "differs": ("differs", "differ"),
    "contradicted": ("is contradicted", "are contradicted"),
    "not_established": ("is not established", "are not established"),
    "not_derivable": ("cannot be derived from the trials", "cannot be derived from the trials"),
}
FAILING = tuple(NOT_HOLDING)
PUBLISHED = (
    "seeds.published_claims as claims "
    "on checks.claim_id = claims.claim_id and checks.part is not distinct from claims.part"
)
CHECKED = f"marts.claim_checks as checks inner join {PUBLISHED}"
STATUSES = ("reproduces", "stands", *FAILING, "not_checked")


def sum_up(chosen: list[dict]) -> str:
    """Say in a sentence or two how many claims hold."""
    n_open = sum(claim["status"] == "not_checked" for claim in chosen)
    studies = " and ".join(
        sorted({claim["study"] for claim in chosen if claim["status"] == "not_checked" and claim["study"]})
    )
    if not any(claim["status"] not in ("not_checked", "not_derivable") for claim in chosen):
        return (
            f"None of the {len(chosen):,} published claims can be checked: this warehouse lacks trials of the "
            f"study {studies}. To check them, import its archive with `bais import DIR`, or fetch it with "
            "`bais import --download`, then run `bais build`."
        )
    parts = []
    for kind, (noun, *good) in HOLDING.items():
        of_kind = [claim["status"] for claim in chosen if claim["kind"] == kind]
        if of_kind:
            n_good = of_kind.count(good[0])
            words = [f"{n_good:,} of {len(of_kind):,} {noun}s {good[n_good != 1]}"]
            words += [f"{n:,} {said[n > 1]}" for status, said in NOT_HOLDING.items() if (n := of_kind.count(status))]
            parts.append(", ".join(words[:-1]) + " and " + words[-1] if len(words) > 2 else ", ".join(words))
    unchecked = f" {n_open:,} could not be checked." if n_open else ""
    return "; ".join(parts) + "." + unchecked
