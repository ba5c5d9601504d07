"""Which batches are to be audited, and how one is named."""

from ingest.land.models import query_of
from ingest.warehouse import UserError, printable, warehouse_path

# What is said of a vignette, as a verdict keeps it.
DEFINED = """json_object(
    'domain', domain, 'response_unit', response_unit, 'valid_min', valid_min, 'valid_max', valid_max
)::varchar"""


def batches_to_audit(memory, batch_ids):
    """Return the batches as dicts, in the order in which they were loaded."""
    relation = memory.sql(
        f"""
        with members as (
            select batch_id, any_value(study) as study, any_value(vignette) as vignette, count(*) as n_trials
            from warehouse.raw.trials group by all
            union all
            select batch_id, any_value(study), any_value(variation), count(*)
            from warehouse.raw.attribution_scores group by all
            union all
            select batch_id, study, vignette, n_trials from warehouse.raw.batches
            where source = 'scored' and json_exists(definition, '$.cells')
            union all
            -- what a version takes over, and what it only withdraws
            select
                entries.batch_id, any_value(batches.study), any_value(batches.vignette),
                count(trials.trial_id) filter (trials.batch_id != entries.batch_id)
            from warehouse.raw.version_entries as entries
            inner join warehouse.raw.batches as batches on entries.batch_id = batches.batch_id
            left join warehouse.raw.trials as trials on entries.record_id = trials.trial_id
            group by entries.batch_id
        ),

        own_words as (
            select batch_id, {DEFINED} as defined_as from warehouse.raw.batches where domain is not null
        ),

        last_verdicts as (
            select
                batch_id, published.is_published,
                -- what failed is looked at again once somebody has taken trials of it out, back or read them by hand
                published.verdict = 'failed' and not published.is_decided and exists (
                    select 1 from warehouse.raw.gate_acts as acts
                    inner join warehouse.raw.trials as trials on acts.object_id = trials.trial_id
                    where
                        trials.batch_id = published.batch_id and acts.ordinal > verdicts.ordinal
                        and acts.act in ('withdraw', 'restore', 'reread', 'restore_reading')
                ) as is_mended,
                coalesce(verdicts.defined_as::varchar, own_words.defined_as) as defined_as
            from ({query_of("stg_batch_verdicts", "warehouse.raw")}) as published
            inner join warehouse.raw.batch_verdicts as verdicts using (verdict_id, batch_id)
            left join own_words using (batch_id)
        ),

        stated as (
            select study, vignette, {DEFINED} as defined_as
            from ({query_of("int_vignettes_stated", "warehouse.raw")})
        )

        select
            batch_id, any_value(members.study) as study, any_value(members.vignette) as vignette,
            sum(members.n_trials)::bigint as n_trials, coalesce(any_value(batches.loaded_at), now()) as loaded_at,
            -- what an older bais landed without a batch comes last
            coalesce(any_value(batches.ordinal), 9223372036854775807) as ordinal,
            count(last_verdicts.batch_id) > 0 as is_audited,
            coalesce(bool_or(last_verdicts.is_published), false) as was_published,
            coalesce(bool_or(last_verdicts.is_mended), false) as is_mended,
            any_value(batches.llm_recorded) as llm_recorded,
            any_value(stated.defined_as) as defined_as,
            coalesce(any_value(last_verdicts.defined_as) != any_value(stated.defined_as), false) as is_redefined,
            coalesce(any_value(batches.source) = 'scored', false) as is_scored
        from members
        left join warehouse.raw.batches as batches using (batch_id)
        left join last_verdicts using (batch_id)
        left join stated on batches.study = stated.study and batches.vignette = stated.vignette
        group by batch_id
        order by ordinal, batch_id
        """
    )
    batches = relation.to_arrow_table().to_pylist()
    if batch_ids is None:
        return [batch for batch in batches if batch["is_redefined"] or batch["is_mended"] or not batch["is_audited"]]
    ids = {batch["batch_id"] for batch in batches}
    meant = {batch_meant(ids, batch_id) for batch_id in batch_ids}
    return [batch for batch in batches if batch["batch_id"] in meant]


def batch_meant(ids, named):
    """Return the batch of this id or, where there is none, the only one whose id holds it: ids are long to type."""
    if named in ids:
        return named
    meant = sorted(batch_id for batch_id in ids if named in batch_id)
    if not named or not meant:
        raise UserError(f"there is no batch {printable(named)} in {warehouse_path()}; `bais check --json` lists them")
    if len(meant) > 1:
        some = ", ".join(map(printable, meant[:3]))
        raise UserError(f"{len(meant):,} batches have {printable(named)} in their id, such as {some}: give more of it")
    return meant[0]


def next_round(batches):
    """Return all batches of scores, else what the first load brought of each study and vignette; and the other ids."""
    if scored := [batch for batch in batches if batch["is_scored"]]:
        return scored, [batch["batch_id"] for batch in batches if not batch["is_scored"]]
    first = {}
    for batch in batches:
        first.setdefault((batch["study"], batch["vignette"]), _load(batch))
    now = [batch for batch in batches if first[batch["study"], batch["vignette"]] == _load(batch)]
    ids = {batch["batch_id"] for batch in now}
    return now, [batch["batch_id"] for batch in batches if batch["batch_id"] not in ids]


def _load(batch):
    """Return what batches share that one load brought of several LLMs."""
    return batch["loaded_at"] if batch["llm_recorded"] else batch["batch_id"]
