"""What `bais headlines` says of how often LLMs alter texts, and of what that does to people."""

from bais.terminal import fixed
from bais.warehouse import public_tables, records

KINDS = {"framing_changed": "changes the framing of texts", "fact_check_wrong": "gets pairs of articles wrong"}
PERIODS = {"all": "", "pre": " from before its knowledge ends", "post": " from after its knowledge ends"}
ALTERED = """
from inference.alteration_and_people
where study = $study and technique = 'no_technique' and rate is not null and llm is not null
order by llm, alteration, period desc, human_study
"""


def sentences_on_people(warehouse, study: str) -> list[str]:
    """Say of each LLM asked with no technique how often it alters texts, and what summaries do to people."""
    if "alteration_and_people" not in {name for _, name, _ in public_tables(warehouse)}:
        return []
    rates, people = {}, {}
    for row in records(warehouse, ALTERED, {"study": study}):
        bounds = "" if row["rate_low"] is None else f" ({row['rate_low']:.1%} to {row['rate_high']:.1%})"
        rates[row["llm"], row["alteration"], row["period"]] = (
            f"{row['llm']} {KINDS[row['alteration']]}{PERIODS[row['period']]} in {row['rate']:.1%} of cases{bounds}."
        )
        if row["human_log_odds_ratio"] is not None:
            people[row["human_study"]] = (
                f"People of the study {row['human_study']} ({row['n_participants']}) choose a product after a summary "
                f"with log odds {fixed(row['human_log_odds_ratio'], '+.3g')} ({fixed(row['human_low'], '+.3g')} to "
                f"{fixed(row['human_high'], '+.3g')}) over the original."
            )
    return [*rates.values(), *people.values()]
