"""One row per goal and two places (domains, or contrasts of a paradigm, of one study or two) that share techniques."""


def model(dbt, session):
    """Read the counts, correlate the gains of all studies, and return the table."""
    from analysis.engine.grid import RECOMMENDED, declared_counts
    from analysis.engine.questions import questions
    from analysis.engine.transfer import COLUMNS, transfer
    from analysis.tables import table

    response_source = dbt.config.meta_get("response_source")
    is_read = f"row_set = '{RECOMMENDED['row_set']}' and coalesce(response_source, '{response_source}')"
    asked = declared_counts(
        dbt.ref("counts").filter(f"{is_read} = '{response_source}'"),
        dbt.ref("stg_paradigms"),
        dbt.ref("stg_paradigm_contrasts"),
        dbt.ref("int_vendors"),
        dbt.ref("int_baseline_prompts"),
        dbt.ref("int_framings_judged"),
        dbt.ref("int_texts_judged"),
    )
    techniques = dbt.ref("int_techniques_defined").df()
    ranked = set(techniques.loc[techniques["is_ranked"], "technique"])
    asked = questions(
        # in one order, since sums of doubles hang on it
        **{name: relation.order(", ".join(relation.columns)).df() for name, relation in asked.items()},
        margin=float(dbt.config.meta_get("equivalence_margin_pp")),
        response_source=response_source,
    )
    return table(transfer(asked, ranked, dbt.ref("controls").df()), COLUMNS)
