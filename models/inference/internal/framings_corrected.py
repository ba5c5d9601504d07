"""One row per row of framing_changes: its intervals, and the share of changes without what the errors of judges add."""


def model(dbt, session):
    """Read the labels of texts and of answers, and return the table."""
    from analysis.papers.framing import COLUMNS, framing_rows
    from analysis.tables import table

    framings = dbt.ref("int_framings_judged")
    labelled = framings.filter("is_counted and answer_label is not null")
    keys = "study, paradigm, llm, technique, vignette, item, source_label, answer_label"
    counted = labelled.aggregate(f"{keys}, count(*) as n_trials").df()
    return table(framing_rows(counted, dbt.ref("int_texts_judged").df()), COLUMNS)
