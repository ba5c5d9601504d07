"""`marts.validator_agreement`: how far people agree on whether falsified texts are negations."""

from itertools import combinations

from analysis.methods.agreement import cohen_kappa, krippendorff_alpha, label_counts, share_agreeing
from analysis.tables import columns

COLUMNS = columns(
    "varchar: statistic validator validator_b",
    "double: value low high confidence",
    "bigint: n_texts n_validators n_verdicts",
    "varchar: reason",
)
OVER_COUNTS = {"agreement": share_agreeing, "krippendorff_alpha": krippendorff_alpha}


def validator_rows(verdicts):
    """Say how far people agree on falsified texts, all together and each two of them.

    Parameters
    ----------
    verdicts : pandas.DataFrame
        Rows of `stg_falsification_verdicts`: one verdict for each text and person.

    Yields
    ------
    dict
        Rows of `COLUMNS`; `validator` is null in what is of all, `validator_b` in what is not of two. Of two who share
        no text there is a row without a value.

    References
    ----------
    Those of `analysis.methods.agreement`.
    """
    labelled_verdicts = verdicts.assign(label=verdicts["is_negation"].map({True: "negation", False: "none"}))
    labels = labelled_verdicts.pivot(index="falsification_id", columns="validator", values="label").astype(object)
    labels = labels.where(labels.notna(), None).sort_index(axis="columns")
    if labels.shape[1] < 2:
        return
    counts, _ = label_counts(labels.to_numpy(object))
    for statistic, compute in OVER_COUNTS.items():
        yield _validator_row(statistic, compute(counts), labels.shape[1])
    for validator, validator_b in combinations(labels.columns, 2):
        kappa = cohen_kappa(labels[validator].to_numpy(object), labels[validator_b].to_numpy(object))
        yield _validator_row("cohen_kappa", kappa, 2) | {"validator": validator, "validator_b": validator_b}


def _validator_row(statistic, agreement, n_validators):
    return agreement.row(statistic) | {"n_validators": n_validators, "n_verdicts": agreement.n_labels}
