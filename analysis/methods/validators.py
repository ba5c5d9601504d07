"""`people.validator_agreement`: how far people agree on whether falsified texts are negations."""

from analysis.methods.agreement import agreements, krippendorff_alpha, share_agreeing
from analysis.tables import declared

COLUMNS = declared("validator_agreement")
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
    labels = labelled_verdicts.pivot(index="falsification_id", columns="validator", values="label")
    for row, agreement, pair in agreements(labels, OVER_COUNTS):
        validators = dict(zip(("validator", "validator_b"), pair, strict=False))
        yield row | validators | {"n_validators": len(pair) or labels.shape[1], "n_verdicts": agreement.n_labels}
