"""What several commands say of the published claims: where they are, how many hold, and of which version."""

from collections import Counter
from collections.abc import Iterator

from analysis.claims.checks import HOLDS, RECOMPUTES, distinct, summed_up

PUBLISHED = (
    "seeds.published_claims as claims "
    "on checks.claim_id = claims.claim_id and checks.part is not distinct from claims.part"
)
CHECKED = f"marts.claim_checks as checks inner join {PUBLISHED}"
SAID_OF = {"recomputes": RECOMPUTES, "holds": HOLDS}


def say_versions(chosen: list[dict]) -> Iterator[str]:
    """Say how many claims would change on the newest version of their study, and which version is not there at all."""
    counted = distinct(chosen)
    for study in dict.fromkeys(claim["study"] for claim in counted if claim["newest_recomputes"]):
        beside = [claim for claim in counted if claim["study"] == study and claim["newest_recomputes"]]
        changed = [claim for claim in beside if any(claim[column] != claim[f"newest_{column}"] for column in SAID_OF)]
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
        for column, labels in SAID_OF.items()
        if claim[column] != claim[f"newest_{column}"]
    )
    return [f"{n:,} from '{was}' to '{would_be}'" for (was, would_be), n in moves.most_common()]


def sum_up(chosen: list[dict]) -> list[str]:
    """Say in a few sentences how many claims recompute and hold, or how to load what they are about."""
    if any(claim["recomputes"] in ("yes", "no") for claim in chosen):
        return summed_up(chosen)
    studies = " and ".join(sorted({claim["study"] for claim in chosen if claim["study"]}))
    return [
        f"None of the {len(distinct(chosen)):,} published claims can be checked: this warehouse lacks trials of the "
        f"study {studies}. To check them, import its archive with `bais import DIR`, or fetch it with "
        "`bais import --download`, then run `bais build`."
    ]
