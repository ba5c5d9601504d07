"""Which anchors hang on a baseline that people have mended since, and what asking them again costs."""

from dataclasses import dataclass

import pyarrow as pa

from ingest.land.models import query_of
from ingest.warehouse import quoted

HANGING = """
with named as (
    select distinct study, llm_recorded, vignette, coalesce(item, '') as of_item from raw.trials
    semi join mended using (trial_id)
    where technique = 'no_technique' and anchor_value is null and (
        arm is null or (study, paradigm, arm) in (select (study, paradigm, relative_to) from raw.paradigms)
    )
),

gone as (select trial_id from ({withdrawn}) union select trial_id from ({left_out})),

costs as (
    select trial_id, count(*) as n_calls, sum(cost_usd) as cost_usd, count(*) = count(cost_usd) as is_known
    from raw.calls group by all
)

select
    study, llm_recorded as llm, vignette, nullif(of_item, '') as item, any_value(anchor_baseline) as baseline,
    list(distinct anchor_value order by anchor_value) as anchors,
    count(*) as n_trials, coalesce(sum(n_calls), 0)::bigint as n_calls, sum(cost_usd) as cost_usd,
    coalesce(bool_and(is_known), false) as is_known
from (select *, coalesce(item, '') as of_item from raw.trials)
semi join named using (study, llm_recorded, vignette, of_item)
anti join gone using (trial_id)
left join costs using (trial_id)
where anchor_baseline is not null
group by study, llm_recorded, vignette, of_item
order by all
"""


@dataclass
class Hanging:
    """The anchors of an LLM and a vignette, the baseline that they were derived from, and what asking them has cost."""

    study: str
    llm: str
    vignette: str
    item: str | None
    baseline: float
    anchors: list[float]
    n_trials: int
    n_calls: int
    cost_usd: float | None
    is_known: bool

    def __str__(self):
        cost = f"{self.cost_usd:,.4f} USD" if self.is_known else "an unknown price"
        anchors = [f"{anchor:.15g}" for anchor in self.anchors]
        old = f"study = {quoted(self.study)} and llm = {quoted(self.llm)} and anchor_value in ({', '.join(anchors)})"
        old += f" and item = {quoted(self.item)}" if self.item else ""
        item = f" with item {self.item}" if self.item else ""
        return (
            f"the anchors {' and '.join(anchors)} of {self.llm} on {self.vignette}{item} were derived from a baseline "
            f"of {self.baseline:.6g}, which this changes: {self.n_trials:,} trials hang on them, and asking them again "
            f"takes about {self.n_calls:,} calls and {cost}. `bais collect STUDY --new-anchors` asks again with other "
            f'anchors, where the baseline gives others, and `bais withdraw --where "{old}"` takes out what was asked '
            "with these."
        )


def hanging(warehouse, trial_ids: list[str]) -> list[Hanging]:
    """List the anchors that hang on a baseline of which some trials were mended, of the trials that count."""
    warehouse.register("mended", pa.table({"trial_id": pa.array(trial_ids, pa.string())}))
    gone = {name: query_of(f"stg_{name}_trials") for name in ("withdrawn", "left_out")}
    rows = warehouse.execute(HANGING.format(**gone)).fetchall()
    return [Hanging(*row) for row in rows]
