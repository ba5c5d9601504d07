"""One row per study, llm, vignette, outcome, instrument, contrast of arms and measure: an effect, without technique."""


def model(dbt, session):
    """Read the counts, measure in the studies that changed, and return the table."""
    from analysis.counts import responses_to_anchors
    from analysis.kept import kept_by_study
    from analysis.papers.people import EFFECTS, effects_on_llms

    response_source = dbt.config.meta_get("response_source")
    plain = "row_set = 'accepted' and technique = 'no_technique'"
    anchored = f"{plain} and arm in ('low', 'high') and response_source = '{response_source}'"
    by_study = {
        "responses": responses_to_anchors(dbt.ref("counts"), anchored),
        "counts": dbt.ref("counts").filter(plain),
        "paradigms": dbt.ref("stg_paradigms")
        .filter("is_share and not is_unsigned")
        .project("study, paradigm, measure, pairing"),
        "contrasts": dbt.ref("stg_paradigm_contrasts").project("study, paradigm, arm, arm_b"),
    }
    return kept_by_study(session, dbt.this, effects_on_llms, EFFECTS, by_study)
