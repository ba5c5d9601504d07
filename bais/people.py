"""What `bais headlines` says of how often LLMs alter texts, and of what that does to people."""

import math

from bais.terminal import fixed
from bais.warehouse import public_tables, records

KINDS = {"framing_changed": "changes the framing of texts", "fact_check_wrong": "gets pairs of articles wrong"}
PERIODS = {"all": "", "pre": " from before its knowledge ends", "post": " from after its knowledge ends"}
ALTERED = """
from inference.alteration_and_people
where study = $study and technique = 'no_technique' and rate is not null and llm is not null
order by llm, alteration, period desc
"""
STUDIES = """
select study, estimate, low, high, coalesce(n_participants, 0) as n_participants,
    coalesce(effects.n_choices, 0) as n_choices, coalesce(reason, 'nobody_counts') as reason
from (select distinct study from marts.human_choices)
left join (from inference.human_choice_effects where method = 'gee_exchangeable') as effects using (study)
order by study
"""
WHY = {
    "nobody_counts": "everybody in it was excluded",
    "too_few_participants": "so few people say nothing of others",
    "not_converged": "the choices are so alike that the model found no estimate",
    "separated": "of a product, or in a format, everybody chose alike, so that no odds can be told",
    "rank_deficient": "the effect of the summary cannot be told from that of the products",
}


def sentences_on_alterations(warehouse, study: str) -> list[str]:
    """Say of each LLM asked with no technique how often it alters what it is given."""
    if "alteration_and_people" not in {name for _, name, _ in public_tables(warehouse)}:
        return []
    said = {}
    for row in records(warehouse, ALTERED, {"study": study}):
        bounds = "" if row["rate_low"] is None else f" ({row['rate_low']:.1%} to {row['rate_high']:.1%})"
        said[row["llm"], row["alteration"], row["period"]] = (
            f"{row['llm']} {KINDS[row['alteration']]}{PERIODS[row['period']]} in {row['rate']:.1%} of cases{bounds}."
        )
    return list(said.values())


def sentences_on_people(warehouse) -> dict[str, str]:
    """Say of each study of people what reading a summary does to their choices."""
    if "human_choice_effects" not in {name for _, name, _ in public_tables(warehouse)}:
        return {}
    return {row["study"]: _said_of(row) for row in records(warehouse, STUDIES)}


def _said_of(row):
    said = f"Study {row['study']}, {row['n_choices']:,} choices of {row['n_participants']:,} people: "
    if row["estimate"] is None:
        return f"{said}what a summary does to them cannot be told: {WHY.get(row['reason'], row['reason'])}."
    bounds = f"{fixed(math.exp(row['low']), '.3g')} to {fixed(math.exp(row['high']), '.3g')}"
    does = "makes them choose" if row["low"] > 0 else "keeps them from choosing" if row["high"] < 0 else ""
    shown = f"a summary {does} the product" if does else "no effect of a summary on choosing the product was shown"
    times = fixed(math.exp(row["estimate"]), ".3g")
    odds = f"the odds that they choose it are {times} times as high after a summary as after the original"
    return f"{said}{shown} ({odds}; 95 % interval {bounds})."
