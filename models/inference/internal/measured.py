"""One row per row of the tables of scores, which are views of it (`part`)."""


def model(dbt, session):
    """Read the scores that are published and the tokens that endpoints reported, and return the table."""
    from itertools import chain

    from analysis.papers.anchor_effects import MEASURED, measured_rows
    from analysis.papers.top_answers import top_answer_rows
    from analysis.tables import table

    sizes = dbt.ref("llm_parameters").df()
    parameters = dict(zip(sizes["llm"], sizes["parameters"], strict=True))
    scored = measured_rows(dbt.ref("int_scores_accepted").df(), parameters)
    reported = top_answer_rows(dbt.ref("int_answer_tokens_averaged").df())
    return table(chain(scored, reported), MEASURED)
