"""The models that an audit reads: models/gate, and those before it, as they would be if the batches were published.

Each is rendered as it is written. What differs is `raw`, which they read: an audit puts views there that show what
would then be published, and at times only some of its trials.
"""

import contextlib
from statistics import NormalDist

import pyarrow as pa

from ingest.land.models import Models, macros
from ingest.land.raw import TABLES
from ingest.prompts import template_hash, template_of

TEMPLATES = pa.schema(
    {"study": pa.string(), "prompt_hash": pa.string(), "is_anchored": pa.bool_(), "same_as": pa.string()}
)
UNANCHORED = "technique = 'no_technique' and (anchor_value is null or anchor_direction = 'none')"
# of all trials at once only what differs from one to the next is kept, if they are many
VIEWS = ("int_trials_treated", "gate_treated", "gate_trials")
FEW_TRIALS = 20_000  # to plan a query of a table takes less than one of a view
SLICE = 700_000  # trials that are read at once: their texts, and joins of more of them, would need more memory
TEXTS = ("int_texts_read", "int_labels_read")

# The trials that the versions under audit lack, and what was published before had.
WITHDRAWN = """
with last_words as (
    select study, archive, source_name, entry, is_new, arg_max(struct_pack(record_id), ordinal) as word
    from stg_version_entries inner join gate_batches using (batch_id, study)
    where record_id is not null or is_complete
    group by all
)

select before.word['record_id'] as trial_id from last_words as before
inner join last_words as now using (study, archive, source_name, entry)
where not before.is_new and now.is_new and now.word['record_id'] is null and before.word['record_id'] is not null
"""

# The audited batches are as good as published, and so are those that they are compared with, and their flags; nothing
# else is. No version is older, or the one that a paper is about, no words are outdated, and a study leaves nothing out:
# what it leaves out is audited like the rest, so that its flags are there when it counts again.
AS_IF_PUBLISHED = """
create table gate.earlier_verdicts as
select batch_id, verdict_id from stg_batch_verdicts
semi join (from gate_batches where not is_new) using (batch_id);

create table gate.taken_over as
select trial_id from raw.trials
semi join (
    select record_id as trial_id from raw.version_entries semi join gate_batches using (batch_id)
) using (trial_id)
where batch_id not in (select batch_id from gate_batches);

create or replace view raw.batch_verdicts as
select batch_id, coalesce(verdict_id, 'under audit') as verdict_id, 'passed' as verdict, 0::bigint as ordinal
from gate_batches left join gate.earlier_verdicts using (batch_id);

drop view raw.flagged_trials;
create table raw.flagged_trials as
from warehouse.raw.flagged_trials
where
    verdict_id in (select verdict_id from gate.earlier_verdicts)
    or trial_id in (select object_id from warehouse.raw.gate_acts where act = 'release');

create or replace view raw.gate_acts as
from warehouse.raw.gate_acts where object = 'trial' and act not in ('leave_out', 'count');

create or replace view raw.source_versions as
select * replace (false as is_older, null::varchar as digest) from warehouse.raw.source_versions;

create or replace view raw.batches as
select * replace (null::json as definition) from warehouse.raw.batches;

create table gate.taken_out as
select study, vignette, coalesce(llm, llm_recorded) as llm, technique, trial_id
from raw.trials semi join gate.withdrawn using (trial_id)
left join llm_aliases on llm_recorded = alias
anti join (from stg_flagged_trials where is_quarantined) using (trial_id)
"""


def gate_models(memory, batches: list[dict], config: dict) -> Models:
    """Return the models as they would be if the audited batches were published: nothing else that is later is there.

    What is quarantined decides nothing: of earlier batches what is quarantined now, and of the audited ones those
    answers without an anchor that this audit will quarantine, which it can tell before there is any baseline.
    """
    settings = dict(config["settings"])
    settings["drift_z"] = -NormalDist().inv_cdf(settings.pop("drift_p") / 2)
    models = models_beside(memory, batches, settings, config["checks"])
    memory.from_arrow(_templates(memory, batches)).create("gate.templates")
    for name in ("gate_batches", "stg_version_entries", "stg_flagged_trials", "llm_aliases"):
        models.ref(name)
    memory.execute(f"create table gate.withdrawn as {WITHDRAWN}")
    memory.execute(AS_IF_PUBLISHED)
    _read(memory, models)
    _look_at(memory)
    for shared in ("gate_lines", "llms", "techniques", "flag_reasons"):
        models.ref(shared)
    _leave_out(memory, models, "gate_culprits", "gate.culprits")  # whatever the baseline is
    if _look_at(memory, UNANCHORED):
        _leave_out(memory, models, "gate_offences", "gate.found")
    _look_at(memory)
    models.ref("gate_kinds")
    memory.execute("drop table gate_readings")
    return models


def models_beside(memory, batches: list[dict], settings: dict, checks: dict[str, dict]) -> Models:
    """Return the models beside the warehouse, with the round and its checks as the source `gate`, and its settings."""
    memory.execute("create schema gate; create schema raw")
    for name in TABLES:
        memory.execute(f"create view raw.{name} as from warehouse.raw.{name}")
    rows = [{"check_name": name, **check} for name, check in checks.items()]
    for name, made in (("audited_batches", batches), ("checks", rows)):
        memory.from_arrow(pa.Table.from_pylist(made)).create(f"gate.{name}")
    for name, value in settings.items():
        memory.execute(f"set variable {name} = $value", {"value": value})
    return Models(memory, {"raw": "raw", "gate": "gate"}, {"response_source": "recorded"}, VIEWS)


def _templates(memory, batches):
    """Say which templates are asked with the same words: each bais hashed them in its own way."""
    study = {"vignettes": [], "techniques": []}  # whose versions are not looked at
    first, rows = {}, []
    for name, prompt_hash, text in memory.execute(
        "select study, prompt_hash, text from warehouse.raw.prompts "
        "where prompt_kind = 'template' and list_contains($studies, study) order by all",
        {"studies": [batch["study"] for batch in batches]},
    ).fetchall():
        for is_anchored in (False, True):
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):  # it is no template
                template = template_of(text, study, is_anchored=is_anchored)
                digest = template_hash({key: part for key, part in template.items() if not key.endswith("_version")})
                same_as = first.setdefault((name, digest), prompt_hash)
                rows.append((name, prompt_hash, is_anchored, same_as))
    return pa.Table.from_pylist([dict(zip(TEMPLATES.names, row, strict=True)) for row in rows], TEMPLATES)


def _look_at(memory, condition="true"):
    """Let the models see those trials that the batches looked at brought or, in a version of a source, speak of.

    Return how many these are.
    """
    memory.execute(
        f"""
        create or replace view raw.trials as from warehouse.raw.trials
        where ({condition}) and trial_id not in (select trial_id from gate.withdrawn) and (
            batch_id in (select batch_id from gate_batches)
            or trial_id in (from gate.taken_over)
        )
        """
    )
    ((n_trials,),) = memory.execute("select count(*) from raw.trials").fetchall()
    return n_trials


def _read(memory, models):
    """Read the trials, slice after slice of them, and keep of each what gate_readings says; equal texts are together.

    What is usual where a dot may group thousands is found before they are cut, since slices cut cells.
    """
    n_trials = _look_at(memory)
    n_slices = 1 + n_trials // SLICE
    if n_trials <= FEW_TRIALS:
        models.views = set()
    if n_slices > 1:
        cell, may_be_grouped = "study, vignette, llm_recorded", macros()["may_group_by_dots"]("response_text")
        _look_at(memory, f"({cell}) in (select ({cell}) from warehouse.raw.trials where {may_be_grouped})")
        models.ref("int_cells_scaled")
    # to look texts up, one trial after the other, needs the memory of the texts; the other way round that of all trials
    memory.execute("set disabled_optimizers = 'build_side_probe_side'")
    for nth in range(n_slices):
        _look_at(memory, f"hash(coalesce(response_text, trial_id)) % {n_slices} = {nth}")
        models.make_anew(*TEXTS)
        if nth:
            memory.execute(f"insert into gate_readings {models.render('gate_readings')}")
        else:
            models.ref("gate_readings")
    memory.execute("reset disabled_optimizers; create or replace view int_trials_read as from gate_readings")
    for name in TEXTS:
        memory.execute(f"drop table {name}")


def _leave_out(memory, models, name, table):
    """Keep as a table what a model says is wrong with the trials seen now, and leave out what is certain of it.

    The models that this takes are forgotten, since what is left out makes others of them.
    """
    memory.execute("create schema passing; set search_path = 'passing,main'")
    passing = Models(memory, models.sources, models.variables, models.views)
    passing.made |= models.made
    memory.execute(f"create table {table} as from {passing.ref(name)}")
    memory.execute(
        f"""
        reset search_path;
        drop schema passing cascade;
        insert into raw.flagged_trials by name
            select trial_id, batch_id, 'under audit' as verdict_id, severity, reason, detail,
                9223372036854775807 as ordinal
            from {table} inner join {models.ref("flag_reasons")} using (reason)
            where severity = 'quarantined'
        """
    )
