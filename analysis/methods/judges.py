"""`content.judge_agreement`: how far judges agree on the labels of texts, with themselves, and with what is correct."""

from analysis.methods.agreement import (
    accuracy,
    agreements,
    fleiss_kappa,
    krippendorff_alpha,
    label_counts,
    share_agreeing,
)
from analysis.tables import declared

COLUMNS = declared("judge_agreement")
OVER_COUNTS = {"agreement": share_agreeing, "fleiss_kappa": fleiss_kappa, "krippendorff_alpha": krippendorff_alpha}


def judge_rows(judgements):
    """Say how far judges agree, for each study, paradigm and role of the texts.

    Where a judge was asked again about a text, its first label counts between judges, and all of them tell how far it
    agrees with itself (`retest`). A text that is put to judges in two vignettes or with two techniques counts as two.

    Parameters
    ----------
    judgements : pandas.DataFrame
        Rows of `int_judgements_read`.

    Yields
    ------
    dict
        Rows of `COLUMNS`; `judge` is null in what is of all judges, `judge_b` in what is not of two.

    References
    ----------
    Those of `analysis.methods.agreement`.
    """
    of_text = (judgements[name] for name in ("vignette", "technique", "judged"))
    judgements = judgements.assign(text=list(zip(*of_text, strict=True)))
    for key, rows in judgements.groupby(["study", "paradigm", "role"], sort=True):
        rows = rows.sort_values(["judge", "text", "repeat"])
        first = rows.drop_duplicates(["judge", "text"])
        labels = first.pivot(index="text", columns="judge", values="label")
        correct = first.groupby("text")["correct"].first().reindex(labels.index)
        keys = dict(zip(("study", "paradigm", "role"), key, strict=True))
        for row, agreement, pair in agreements(labels, OVER_COUNTS):
            judges = dict(zip(("judge", "judge_b"), pair, strict=False))
            yield keys | row | judges | {"n_judges": len(pair) or labels.shape[1], "n_labels": agreement.n_labels}
        if correct.notna().any():
            yield keys | _judge_row("accuracy", accuracy(labels, correct), labels.shape[1])
            for judge in labels.columns:
                yield keys | _judge_row("accuracy", accuracy(labels[judge], correct), 1) | {"judge": judge}
        for judge, of_judge in rows.groupby("judge", sort=True):
            if of_judge["repeat"].nunique() > 1:
                counts, _ = label_counts(of_judge.pivot(index="text", columns="repeat", values="label"))
                yield keys | _judge_row("retest", share_agreeing(counts), 1) | {"judge": judge}


def _judge_row(statistic, agreement, n_judges):
    return agreement.row(statistic) | {"n_judges": n_judges, "n_labels": agreement.n_labels}
