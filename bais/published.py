"""What several commands say of the published claims: where they are, how many hold, and of which version."""

from collections import Counter
from collections.abc import Iterator

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


def say_versions(chosen: list[dict]) -> Iterator[str]:
    """Say how many claims would change on the newest version of their study, and which version is not there at all."""
    for study in dict.fromkeys(claim["study"] for claim in chosen if claim["newest_status"]):
        beside = [claim for claim in chosen if claim["study"] == study and claim["newest_status"]]
        changed = Counter(
            (claim["status"], claim["newest_status"]) for claim in beside if claim["newest_status"] != claim["status"]
        )
        labels = " and ".join(sorted({claim["version"] for claim in beside}))
        documents = " and ".join(sorted({claim["document"] for claim in beside}))
        moves = [f"{n:,} from {was} to {would_be}".replace("_", " ") for (was, would_be), n in changed.most_common()]
        many = f"{changed.total():,} of {len(beside):,} claims" if moves else "none of the claims"
        yield (
            f"Checked on version {labels} of {study}, which document {documents} used; on the newest version, {many} "
            f"would change{': ' if moves else ''}{', '.join(moves)}."
        )
    missing = {
        (claim["document"], claim["version"], claim["study"])
        for claim in chosen
        if claim["version"] and not claim["has_version"] and claim["status"] not in ("not_checked", "not_derivable")
    }
    for document, label, study in sorted(missing):
        yield (
            f"Document {document} is about version {label} of {study}, which this warehouse does not have: its claims "
            "were held against what is there. To hold them against that version, import its archive."
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
