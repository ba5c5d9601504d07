"""The models that an audit reads: models/gate, and those before it, as they would be if the batches were published."""

import contextlib
from statistics import NormalDist

import pyarrow as pa

from ingest.land.models import Models, macros
from ingest.prompts import template_hash, template_of

TEMPLATES = pa.schema(
    {"study": pa.string(), "prompt_hash": pa.string(), "is_anchored": pa.bool_(), "same_as": pa.string()}
)
UNANCHORED = "technique = 'no_technique' and (anchor_value is null or anchor_direction = 'none')"
NO_LINES = """
select '' as trial_id, 0::double as number_before, false as flag_out_of_range, 0::double as number_said,
    '' as status_said, false as is_flag_stale, false as is_mended, false as is_read_otherwise
where false
"""
NO_CELLS = (
    "select '' as study, '' as vignette, '' as llm_recorded, '' as item, null::double as usual_number where false"
)
# of all trials at once only what differs from one to the next is kept, if they are many
VIEWS = ("int_trials_treated", "gate_landed", "gate_treated", "gate_trials")
FEW_TRIALS, VIEWS_OF_FEW = 20_000, {"gate_landed"}  # to plan a query of a table takes less than one of a view
UNASKED = "null::varchar as label_read, null as reason_recorded, null as reason_read, null as response_text"
SLICE = 2_000_000  # trials that are read at once: joins of more of them would need more memory
# texts are read, and known by their hash from then on: how, in which trials they are, and no rows where there are none
HASHED = {
    "int_texts_read": (
        "null as said, md5_number(text) as text",
        "coalesce(answer_kind, 'number') = 'number' and coalesce(response_text, first_text) is not null",
        "select 0::uhugeint as text, '' as response_unit, '' as reader_version, 0::double as number_read, "
        "'' as status_read, '' as reason_read, '' as note_read, null as said, 0::double as number_if_decimal, "
        "0::double as number_if_grouped where false",
    ),
    "int_labels_read": (
        "md5_number(response_text) as response_text",
        "answer_kind in ('choice', 'label') and response_text is not null",
        "select '' as study, '' as paradigm, 0::uhugeint as response_text, '' as answer_kind, [''] as options_shown, "
        "'' as answer_reading, '' as label_read, '' as status_read, '' as reason_read where false",
    ),
}


def gate_models(memory, batches: list[dict], config: dict) -> Models:
    """Return the models as they would be if the audited batches were published: nothing else that is later is there.

    What is quarantined decides nothing: of earlier batches what is quarantined now, and of the audited ones those
    answers without an anchor that this audit will quarantine, which it can tell before there is any baseline.
    """
    settings = dict(config["settings"])
    settings["drift_z"] = -NormalDist().inv_cdf(settings.pop("drift_p") / 2)
    checks = [{"check_name": name, **check} for name, check in config["checks"].items()]
    memory.execute("create schema gate; create schema raw; create view raw.calls as from warehouse.raw.calls")
    for name, rows in (("audited_batches", batches), ("settings", [settings]), ("checks", checks)):
        memory.from_arrow(pa.Table.from_pylist(rows)).create(f"gate.{name}")
    memory.from_arrow(_templates(memory, batches)).create("gate.templates")
    models = Models(memory, {"raw": "warehouse.raw", "gate": "gate"}, {"response_source": "recorded"}, VIEWS)
    looked_at = models.ref("gate_batches")
    memory.execute(
        f"""
        create table gate.earlier_verdicts as
            select batch_id, verdict_id from {models.ref("stg_batch_verdicts")}
            semi join (from {looked_at} where not is_new) using (batch_id);
        create table gate.flags as
            from {models.ref("stg_flagged_trials")} semi join gate.earlier_verdicts using (batch_id);
        create table gate.withdrawn as {_withdrawn(models, looked_at)};
        create table gate.taken_over as
            select trial_id from (
                select trial_id from warehouse.raw.trials where batch_id not in (select batch_id from {looked_at})
            )
            semi join (
                select record_id as trial_id from warehouse.raw.version_entries
                semi join {looked_at} using (batch_id)
            ) using (trial_id);
        create table gate.taken_out as
            select study, vignette, llm_recorded, technique, trial_id
            from warehouse.raw.trials semi join gate.withdrawn using (trial_id)
            anti join (from gate.flags where is_quarantined) using (trial_id);
        """
    )
    for name in ("batches", "source_versions", "version_entries", "gate_acts", "paradigms"):
        memory.execute(f"create view raw.{name} as from warehouse.raw.{name}")
    models.sources["raw"] = "raw"
    models.replace("stg_batch_verdicts", f"select batch_id, true as is_published from {looked_at}")
    models.replace("stg_flagged_trials", "select * from gate.flags")
    # what a study leaves out is audited like the rest, so that its flags are there when it counts again
    models.replace("stg_left_out_trials", "select '' as trial_id, '' as why where false")
    models.replace("int_prompts_outdated", "select '' as batch_id, '' as technique where false")
    nothing_cited = "select '' as cited_study, '' as cited_trial_id, '' as trial_id, '' as batch_id where false"
    models.replace("int_trials_cited", nothing_cited)
    _look_at(memory, looked_at)
    if not _are_there(memory, "source = 'recorded'"):
        models.replace("gate_lines", NO_LINES)
    _scale(memory, models, looked_at)
    _read(memory, models, looked_at)
    models.replace("int_trials_read", f"select *, {UNASKED} from {models.ref('gate_readings')}")
    for shared in ("gate_lines", "llms", "techniques", "flag_reasons"):
        models.ref(shared)
    if _are_there(memory, UNANCHORED):
        _look_at(memory, looked_at, UNANCHORED)
        _quarantine(memory, models)
        _look_at(memory, looked_at)
    models.ref("gate_kinds")
    memory.execute("drop table gate_readings")
    return models


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


def _withdrawn(models, looked_at):
    """Return a query of the trials that the versions under audit lack, and what was published before had."""
    return f"""
        with last_words as (
            select study, archive, source_name, entry, is_new, arg_max(struct_pack(record_id), ordinal) as word
            from {models.ref("stg_version_entries")} inner join {looked_at} using (batch_id, study)
            where record_id is not null or is_complete
            group by all
        )

        select before.word['record_id'] as trial_id from last_words as before
        inner join last_words as now using (study, archive, source_name, entry)
        where not before.is_new and now.is_new and now.word['record_id'] is null
            and before.word['record_id'] is not null
    """


def _look_at(memory, looked_at, condition="true"):
    """Let the models see those trials that the batches looked at brought or, in a version of a source, speak of."""
    memory.execute(
        f"""
        create or replace view raw.trials as from warehouse.raw.trials
        where ({condition}) and trial_id not in (select trial_id from gate.withdrawn) and (
            batch_id in (select batch_id from {looked_at})
            or trial_id in (from gate.taken_over)
        )
        """
    )


def _scale(memory, models, looked_at):
    """Find what is usual where a dot may group thousands, before trials are read in slices, which cut cells."""
    may_be_grouped = macros()["may_group_by_dots"]("response_text")
    if not _are_there(memory, may_be_grouped):
        models.replace("int_cells_scaled", NO_CELLS)
        return
    of_cell = "study, vignette, llm_recorded"
    _look_at(memory, looked_at, f"({of_cell}) in (select ({of_cell}) from warehouse.raw.trials where {may_be_grouped})")
    models.ref("int_cells_scaled")
    memory.execute("drop table int_texts_read")
    _look_at(memory, looked_at)


def _read(memory, models, looked_at):
    """Make the readings of the trials that the models see, slice after slice of them; equal texts are in one slice."""
    ((n_trials,),) = memory.execute("select count(*) from raw.trials").fetchall()
    n_slices = 1 + n_trials // SLICE
    if n_trials <= FEW_TRIALS:
        models.views = VIEWS_OF_FEW
    # to look texts up, one trial after the other, needs the memory of the texts; the other way round that of all trials
    memory.execute("set disabled_optimizers = 'build_side_probe_side'")
    for nth in range(n_slices):
        _look_at(memory, looked_at, f"hash(coalesce(response_text, trial_id)) % {n_slices} = {nth}")
        for name, (hashed, condition, nothing) in HASHED.items():
            is_there = _are_there(memory, condition)
            models.keep(name, f"select * replace ({hashed}) from ({models.render(name)})" if is_there else nothing)
        if nth:
            memory.execute(f"insert into gate_readings {models.render('gate_readings')}")
        else:
            models.replace("int_trials_read", models.render("int_trials_read", {"stg_trials": "gate_landed"}))
            models.ref("gate_readings")
    memory.execute("reset disabled_optimizers; drop table int_texts_read; drop table int_labels_read")
    _look_at(memory, looked_at)


def _are_there(memory, condition):
    """Whether the models see trials of a kind: to plan a query of the readings takes long, even one that finds none."""
    return bool(memory.execute(f"select 1 from raw.trials where {condition} limit 1").fetchall())


def _quarantine(memory, models):
    """Add to the flags what the audit quarantines of the trials that the models see, and forget how it was found."""
    memory.execute("create schema passing; set search_path = 'passing,main'")
    passing = Models(memory, models.sources, models.variables, models.views)
    passing.made |= models.made
    memory.execute(
        f"""
        create table gate.found as
            select distinct trial_id, batch_id, true as is_quarantined, 'found by this audit' as flag_reasons
            from {passing.ref("gate_offences")} inner join {passing.ref("flag_reasons")} using (reason)
            where severity = 'quarantined';
        reset search_path;
        drop schema passing cascade;
        insert into gate.flags from gate.found;
        """
    )
