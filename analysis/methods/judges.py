"""`marts.judge_agreement`: how far judges agree on the labels of texts, with themselves, and with what is correct."""

from itertools import combinations

from analysis.methods.agreement import (
    accuracy,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    label_counts,
    share_agreeing,
)
from analysis.tables import columns

COLUMNS = columns(
    "varchar: study paradigm role statistic judge judge_b",
    "double: value low high confidence",
    "bigint: n_texts n_judges n_labels",
    "varchar: reason",
)
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
        labels = first.pivot(index="text", columns="judge", values="label").astype(object)
        labels = labels.where(labels.notna(), None)
        correct = first.groupby("text")["correct"].first().reindex(labels.index)
        keys = dict(zip(("study", "paradigm", "role"), key, strict=True))
        judges = list(labels.columns)
        counts, _ = label_counts(labels.to_numpy(object))
        if len(judges) > 1:
            for statistic, compute in OVER_COUNTS.items():
                yield keys | _judge_row(statistic, compute(counts), len(judges))
        for judge, judge_b in combinations(judges, 2):
            of_both = [labels[name].to_numpy(object) for name in (judge, judge_b)]
            yield keys | _judge_row("cohen_kappa", cohen_kappa(*of_both), 2) | {"judge": judge, "judge_b": judge_b}
        if correct.notna().any():
            agreement = accuracy(labels.to_numpy(object), correct.to_numpy(object))
            yield keys | _judge_row("accuracy", agreement, len(judges))
            for judge in judges:
                agreement = accuracy(labels[judge].to_numpy(object), correct.to_numpy(object))
                yield keys | _judge_row("accuracy", agreement, 1) | {"judge": judge}
        for judge, of_judge in rows.groupby("judge", sort=True):
            if of_judge["repeat"].nunique() > 1:
                repeated = of_judge.pivot(index="text", columns="repeat", values="label").astype(object)
                counts, _ = label_counts(repeated.where(repeated.notna(), None).to_numpy(object))
                yield keys | _judge_row("retest", share_agreeing(counts), 1) | {"judge": judge}


def _judge_row(statistic, agreement, n_judges):
    return agreement.row(statistic) | {"n_judges": n_judges, "n_labels": agreement.n_labels}
