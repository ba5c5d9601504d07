"""Write, audit, publish: each batch gets a verdict before its numbers are anybody's.

SQL (`models/gate/`, on the models that everybody reads) finds what is wrong with which trial and reduces a batch to one
value per cell and check; Great Expectations holds the values against their thresholds (`gate.yaml`). Verdict, checks
and flags are written in one transaction. Nothing is deleted, and what a person decides is kept as history.
"""

import collections
import contextlib
import functools
import getpass
import importlib.machinery
import importlib.util
import logging
import os
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import pyarrow as pa
import yaml
from pyarrow.dataset import dataset

from ingest.fates import RECORDS, fates
from ingest.load import DUCKDB_SETTINGS
from ingest.memory import memory_limit, needs_more
from ingest.mended import Hanging, hanging
from ingest.models import Models, macros, query_of
from ingest.prompts import template_hash, template_of
from ingest.raw import ORDERED, TABLES, lacks_nothing, next_ordinal, prepare_raw, raw_transaction
from ingest.warehouse import UserError, connect, explain, in_memory, printable, quoted, transaction, warehouse_path

CONFIG = Path(__file__).with_name("gate.yaml")
FAILED = 6
TEMPLATES = pa.schema(
    {"study": pa.string(), "prompt_hash": pa.string(), "is_anchored": pa.bool_(), "same_as": pa.string()}
)
UNANCHORED = "technique = 'no_technique' and (anchor_value is null or anchor_direction = 'none')"
ACTS = {"accept": "batch", "reject": "batch", "release": "trial"}
# imported by Great Expectations for tests of distributions, which the gate does not make: almost half of its start
SELDOM_NEEDED = ("altair", "scipy.stats")
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
# What is said of a vignette, as a verdict keeps it.
DEFINED = """json_object(
    'domain', domain, 'response_unit', response_unit, 'valid_min', valid_min, 'valid_max', valid_max
)::varchar"""
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


@dataclass
class Verdict:
    """What the gate says of a batch: a row of `raw.batch_checks` per expectation, and flagged trials by severity."""

    verdict_id: str
    batch_id: str
    study: str
    vignette: str
    n_trials: int
    checks: list[dict] = field(default_factory=list)
    n_flagged: dict[str, int] = field(default_factory=dict)
    is_scored: bool = False
    is_rejected: bool = False  # by a person, here or where the same was said before
    defined_as: str | None = None  # what the study says of the vignette
    is_redefined: bool = False  # it was audited before, when the study said something else of the vignette
    was_published: bool = False

    @property
    def verdict(self) -> str:
        """`failed`, `passed_with_warnings` or `passed`."""
        unmet = [check for check in self.checks if not check["is_passed"]]
        if any(check["level"] == "fail" or check["observed_value"] is None for check in unmet):
            return "failed"
        return "passed_with_warnings" if unmet else "passed"

    @property
    def is_unpublished(self) -> bool:
        """Whether it was published until this verdict."""
        return self.was_published and self.verdict == "failed"

    def count(self, level: str) -> int:
        """Return how many expectations of a level are not met."""
        return sum(1 for check in self.checks if check["level"] == level and not check["is_passed"])


def read_config(path: Path = CONFIG) -> dict:
    """Read the thresholds: `rule_version`, `settings` and `checks`."""
    return yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def audit(batch_ids: list[str] | None = None, config: dict | None = None) -> list[Verdict]:
    """Give batches their verdict, and write it down.

    These are, if not named, those that have none yet, and those of vignettes of which the study has said something else
    since: another range, unit or domain.
    Batches of one study and vignette are audited one after the other, in the order in which they were loaded: what a
    batch is compared with depends on the verdicts on those before it. A failure leaves the verdicts of earlier rounds.
    """
    config = config or read_config()
    path = warehouse_path()
    if not path.exists():
        return []
    verdicts = []
    try:
        while batch_ids is None or batch_ids:
            with _beside(path) as memory:
                batches, batch_ids = _next_round(_batches_to_audit(memory, batch_ids))
                if not batches:
                    break
                judge = _audit_scores if batches[0]["is_scored"] else _audit
                of_round, flags = judge(memory, batches, config)
            _write(of_round, flags, config)
            verdicts += of_round
    finally:
        _flags_path().unlink(missing_ok=True)
    return verdicts


def _flags_path():
    """Return where flags wait while the warehouse is closed for reading and opened for writing: they may be many."""
    return warehouse_path().with_name(f"{warehouse_path().name}.gate-flags")


@contextlib.contextmanager
def _beside(path):
    """Open a DuckDB in memory with the warehouse attached, which stays as it is."""
    import duckdb

    spill = str(path.with_name(f"{path.name}.gate-spill"))  # DuckDB makes one folder, not its parents
    settings = DUCKDB_SETTINGS | {"memory_limit": memory_limit(), "temp_directory": spill}
    try:
        with contextlib.closing(in_memory(**settings)) as memory:
            attach = f"attach {quoted(path)} as warehouse (read_only); use warehouse"
            memory.execute(attach)
            if not lacks_nothing(memory):
                memory.execute("use memory; detach warehouse")
                prepare_raw(path)
                memory.execute(attach)
            memory.execute("use memory")
            yield memory
    except duckdb.OutOfMemoryException:
        raise needs_more("an audit", settings["memory_limit"]) from None
    except duckdb.IOException as error:
        raise UserError(explain(error, path)) from None


def _batches_to_audit(memory, batch_ids):
    """Return the batches as dicts, in the order in which they were loaded."""
    found = memory.sql(
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
    batches = found.to_arrow_table().to_pylist()
    if batch_ids is None:
        return [batch for batch in batches if batch["is_redefined"] or batch["is_mended"] or not batch["is_audited"]]
    known = {batch["batch_id"] for batch in batches}
    meant = {_batch_meant(known, batch_id) for batch_id in batch_ids}
    return [batch for batch in batches if batch["batch_id"] in meant]


def _batch_meant(known, named):
    """Return the batch of this id or, where there is none, the only one whose id holds it: ids are long to type."""
    if named in known:
        return named
    meant = sorted(batch_id for batch_id in known if named in batch_id)
    if not named or not meant:
        raise UserError(f"there is no batch {printable(named)} in {warehouse_path()}; `bais check` lists them")
    if len(meant) > 1:
        some = ", ".join(map(printable, meant[:3]))
        raise UserError(f"{len(meant):,} batches have {printable(named)} in their id, such as {some}: give more of it")
    return meant[0]


def _next_round(batches):
    """Return all batches of scores, else the first batch of each study and vignette; and the ids of the others."""
    if scored := [batch for batch in batches if batch["is_scored"]]:
        return scored, [batch["batch_id"] for batch in batches if not batch["is_scored"]]
    first, waiting = {}, []
    for batch in batches:
        if first.setdefault((batch["study"], batch["vignette"]), batch) is not batch:
            waiting.append(batch["batch_id"])
    return list(first.values()), waiting


def _audit(memory, batches, config):
    models = gate_models(memory, batches, config)
    verdicts = _held_against_thresholds(memory, batches, models.ref("gate_measures"), config)
    models.ref("gate_flags")
    return verdicts, _flags(memory, {verdict.batch_id: verdict for verdict in verdicts}, config)


def _audit_scores(memory, batches, config):
    """Give batches of scores their verdicts: they have checks of their own, since they hold no trials."""
    config = config | {"checks": config["score_checks"]}
    verdicts = _held_against_thresholds(memory, batches, _judge_scores(memory, batches, config), config)
    return verdicts, _flags(memory, {verdict.batch_id: verdict for verdict in verdicts}, config)


def _held_against_thresholds(memory, batches, measured_in, config):
    """Return a verdict for each batch, from the relation of what was measured of it."""
    measures = collections.defaultdict(dict)
    for row in memory.sql(f"from {measured_in}").to_arrow_table().to_pylist():
        measures[row["batch_id"]][row["check_name"]] = row
    validate, verdicts = expectations(), []
    for batch in batches:
        verdict = Verdict(uuid.uuid4().hex, batch["batch_id"], batch["study"], batch["vignette"], batch["n_trials"])
        for name in ("is_scored", "defined_as", "is_redefined", "was_published"):
            setattr(verdict, name, batch[name])
        verdict.checks = _check(verdict, measures[verdict.batch_id], config, validate)
        verdicts.append(verdict)
    return verdicts


def _judge_scores(memory, batches, config):
    """Find what is wrong with batches of scores, and which are flagged; return the relation of the measures."""
    memory.execute("create schema gate")
    checks = [{"check_name": name} for name in config["checks"]]
    made = {"audited_batches": batches, "settings": [config["score_settings"]], "checks": checks}
    for name, rows in made.items():
        memory.from_arrow(pa.Table.from_pylist(rows)).create(f"gate.{name}")
    models = Models(memory, {"raw": "warehouse.raw", "gate": "gate"}, {})
    memory.execute(
        f"""
        create table gate.earlier_verdicts (batch_id varchar, verdict_id varchar);
        create view gate_flags as
        select score_id as trial_id, batch_id, study, severity, reason, detail
        from (select *, check_name as reason from {models.ref("gate_score_offences")})
        inner join gate.audited_batches using (batch_id)
        inner join {models.ref("flag_reasons")} using (reason)
        """
    )
    return models.ref("gate_score_measures")


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
                said = template_hash({key: of for key, of in template.items() if not key.endswith("_version")})
                same_as = first.setdefault((name, said), prompt_hash)
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


class Deferred:
    """Finds modules of which the code is run only when something in them is used."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Find a module that is seldom needed, and put off its code."""
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if name in SELDOM_NEEDED else None
        if spec:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


def _great_expectations():
    """Import Great Expectations, without what it needs for nothing that is done here."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    sys.meta_path.insert(0, Deferred)
    try:
        import great_expectations
    finally:
        sys.meta_path.remove(Deferred)
    return great_expectations


@functools.cache
def expectations() -> Callable:
    """Return a function from a frame and the maximum of each column to whether it is met and the observed value."""
    gx = _great_expectations()
    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}

    source = context.data_sources.add_pandas("gate")
    batch = source.add_dataframe_asset("cells").add_batch_definition_whole_dataframe("whole")

    def validate(frame, maxima):
        suite = gx.ExpectationSuite(
            name=uuid.uuid4().hex,
            expectations=[
                gx.expectations.ExpectColumnMaxToBeBetween(column=column, max_value=threshold)
                for column, threshold in maxima.items()
            ],
        )
        results = batch.get_batch(batch_parameters={"dataframe": frame}).validate(suite).results
        return {
            result.expectation_config.kwargs["column"]: (bool(result.success), result.result.get("observed_value"))
            for result in results
        }

    return validate


def _check(verdict, measures, config, validate):
    """Hold a batch against the thresholds; a check without an observed value is a failure of the gate itself."""
    import pandas as pd

    maxima = {
        f"{name}/{level}": float(check[level])
        for name, check in config["checks"].items()
        for level in ("warn", "fail")
        if check[level] is not None
    }
    frame = pd.DataFrame({column: measures[column.split("/")[0]]["values_of_cells"] for column in maxima})
    results = validate(frame, maxima)
    checks = []
    for column, threshold in maxima.items():
        name, level = column.split("/")
        measured = measures[name]
        is_met, observed = results.get(column, (False, None))
        without = observed is None
        checks.append(
            {
                "verdict_id": verdict.verdict_id,
                "batch_id": verdict.batch_id,
                "check_name": name,
                "level": level,
                "is_passed": is_met and not without,
                "observed_value": None if without else float(observed),
                "threshold": threshold,
                "measure": f"{config['checks'][name]['measure']} over {config['checks'][name]['over']}",
                "n_offending": measured["n_offending"],
                "sample": measured["sample"],
                "detail": "the check gave no observed value: the gate itself has failed"
                if without
                else measured["detail"],
            }
        )
    return checks


def _flags(memory, verdicts, config):
    """Return what is wrong with single trials; of earlier batches, what their last verdict does not say yet."""
    ids = pa.table({"batch_id": list(verdicts), "verdict_id": [verdict.verdict_id for verdict in verdicts.values()]})
    memory.register("ids", ids)
    for batch_id, severity, n in memory.execute(
        "select batch_id, severity, count(distinct trial_id) from gate_flags "
        "semi join ids using (batch_id) group by all"
    ).fetchall():
        verdicts[batch_id].n_flagged[severity] = n
    memory.execute(
        f"""
        copy (
            with verdicts as (from ids union all by name from gate.earlier_verdicts)
            select verdict_id, gate_flags.*, {config["rule_version"]:d}::bigint as rule_version, now() as flagged_at
            from gate_flags inner join verdicts using (batch_id)
            anti join warehouse.raw.flagged_trials using (verdict_id, trial_id, reason)
        ) to {quoted(_flags_path())} (format parquet)
        """
    )
    return dataset(_flags_path())


def _write(verdicts, flags, config):
    """Write verdicts, checks and flags in one transaction."""
    now, rule_version = datetime.now(UTC), config["rule_version"]
    rows = [
        {
            "verdict_id": verdict.verdict_id, "batch_id": verdict.batch_id, "study": verdict.study,
            "vignette": verdict.vignette, "verdict": verdict.verdict, "n_trials": verdict.n_trials,
            "n_failed": verdict.count("fail"), "n_warnings": verdict.count("warn"), "rule_version": rule_version,
            "checked_at": now, "defined_as": verdict.defined_as,
        }
        for verdict in verdicts
    ]  # fmt: skip
    checks = [check for verdict in verdicts for check in verdict.checks]
    made = {
        "batch_verdicts": pa.Table.from_pylist(rows),
        "batch_checks": pa.Table.from_pylist(checks, TABLES["batch_checks"].schema),
        "flagged_trials": flags,
    }
    with transaction(warehouse_path()) as warehouse:
        ordinal = next_ordinal(warehouse)
        for table, of_table in made.items():
            warehouse.register(f"made_{table}", of_table)
            numbered = f", {ordinal} as ordinal" if table in ORDERED else ""
            warehouse.execute(f"insert into raw.{table} by name select *{numbered} from made_{table}")
        rejected = f"select batch_id from ({query_of('stg_batch_verdicts')}) where act = 'reject'"
        rejected = {batch_id for (batch_id,) in warehouse.execute(rejected).fetchall()}
    for verdict in verdicts:
        verdict.is_rejected = verdict.batch_id in rejected


def decide(act: str, object_id: str, why: str, who: str | None = None) -> None:
    """Keep what a person decides: `accept` or `reject` a batch whatever its verdict, or `release` a trial's flags."""
    object_kind = ACTS[act]
    who, why = _signed(who, why)
    with raw_transaction(warehouse_path()) as warehouse:
        if object_kind == "batch":
            audited = warehouse.execute("select distinct batch_id from raw.batch_verdicts").fetchall()
            object_id = _batch_meant({batch_id for (batch_id,) in audited}, object_id)
        elif not warehouse.execute(
            "select 1 from raw.flagged_trials where trial_id = ? limit 1", [object_id]
        ).fetchall():
            raise UserError(f"there is no flagged trial {printable(object_id)}")
        warehouse.execute(
            "insert into raw.gate_acts by name select $act_id as act_id, $object as object, $object_id as object_id, "
            "$act as act, $who as who, $why as why, $now as acted_at, $ordinal as ordinal",
            {
                "act_id": uuid.uuid4().hex,
                "object": object_kind,
                "object_id": object_id,
                "act": act,
                "who": who,
                "why": why,
                "now": datetime.now(UTC),
                "ordinal": next_ordinal(warehouse),
            },
        )


class Decided(NamedTuple):
    """What a decision of trials came to: of which study how many, the batches read otherwise, and what hangs on it."""

    by_study: dict[str, int]
    batches_read_otherwise: list[str]
    hanging: list[Hanging]


def decide_of_trials(
    act: str, trial_ids: list[str], why: str, who: str | None = None, response: float | None = None
) -> Decided:
    """`withdraw` trials, `restore` what was withdrawn or else reread, or `reread` the number of some, all or none."""
    who, why = _signed(who, why)
    with raw_transaction(warehouse_path()) as warehouse:
        warehouse.register("named", pa.table({"trial_id": pa.array(trial_ids, pa.string())}))
        warehouse.execute(
            f"""
            create temp table decided as
            with withdrawn as ({query_of("stg_withdrawn_trials")}),
            rereadings as ({query_of("stg_reread_trials")}),
            versions as ({query_of("int_versions_resolved")})
            select
                trial_id, trials.study, coalesce(versions.batch_id, trials.batch_id) as batch_id,
                case $act
                    when 'withdraw' then case when withdrawn.trial_id is null then 'withdraw' end
                    when 'restore' then case
                        when withdrawn.trial_id is not null then 'restore'
                        when rereadings.trial_id is not null then 'restore_reading'
                    end
                    else $act
                end as act
            from raw.trials as trials semi join named using (trial_id)
            left join withdrawn using (trial_id)
            left join rereadings using (trial_id)
            left join versions using (trial_id)
            """,
            {"act": act},
        )
        warehouse.execute(
            "insert into raw.gate_acts by name select replace(uuid()::varchar, '-', '') as act_id, 'trial' as object, "
            "trial_id as object_id, act, $who as who, $why as why, $now as acted_at, $response as response, "
            "$ordinal as ordinal from decided where act is not null",
            {
                "who": who,
                "why": why,
                "now": datetime.now(UTC),
                "response": response,
                "ordinal": next_ordinal(warehouse),
            },
        )
        by_study = warehouse.sql(
            "select study, count(*) from decided where act is not null group by study order by study"
        ).fetchall()
        batches = warehouse.sql(
            "select distinct batch_id from decided where act in ('reread', 'restore_reading') order by batch_id"
        ).fetchall()
        mended = warehouse.sql("select trial_id from decided where act is not null").fetchall()
        of_anchors = hanging(warehouse, [trial_id for (trial_id,) in mended])
        return Decided(dict(by_study), [batch_id for (batch_id,) in batches], of_anchors)


def leave_out(study: str, because: dict[str, str], who: str | None = None) -> tuple[int, int]:
    """Leave those trials of a study out of what is decided that it asks no more, each with its reason, and no others.

    Return how many are left out from now on, and how many count again.
    """
    who, _ = _signed(who, "the study")
    named = {"trial_id": pa.array(because, pa.string()), "why": pa.array(because.values(), pa.string())}
    counts = []
    with raw_transaction(warehouse_path()) as warehouse:
        warehouse.register("named", pa.table(named))
        warehouse.execute(f"create temp table left_out as {query_of('stg_left_out_trials')}")
        for act, here, there in (("leave_out", "named", "left_out"), ("count", "left_out", "named")):
            counts += warehouse.execute(
                f"""
                insert into raw.gate_acts by name
                select
                    replace(uuid()::varchar, '-', '') as act_id, 'trial' as object, trial_id as object_id,
                    $act as act, $who as who, why, $now as acted_at, $ordinal as ordinal
                from {here} semi join (from raw.trials where study = $study) using (trial_id)
                anti join {there} using (trial_id, why)
                """,
                {
                    "act": act,
                    "who": who,
                    "now": datetime.now(UTC),
                    "study": study,
                    "ordinal": next_ordinal(warehouse),
                },
            ).fetchall()
    (n_left_out,), (n_counting,) = counts
    return n_left_out, n_counting


def _signed(who, why):
    """Return who decides and why, in words."""
    if not why.strip():
        raise UserError("say why: a decision without a reason helps nobody later")
    try:
        return who or os.environ.get("BAIS_USER") or getpass.getuser(), why.strip()
    except OSError:
        raise UserError("this machine does not know who you are: give a name with --who") from None


def last_verdicts() -> list[dict]:
    """Return the last verdict of each batch, newest last, with what was decided since and which checks it fails."""
    if not warehouse_path().exists():
        return []
    prepare_raw(warehouse_path())
    with contextlib.closing(connect()) as warehouse:
        verdicts = warehouse.sql(
            f"""
            with published as ({query_of("stg_batch_verdicts")}),
            displaced as (
                select batch_id, sum(n) filter (fate = 'superseded')::bigint as n_superseded,
                    sum(n) filter (fate = 'gone')::bigint as n_gone,
                    bool_and(coalesce(fate in ('superseded', 'gone', 'taken_over'), false)) as is_replaced
                from ({RECORDS}) left join ({fates()}) using (trial_id)
                group by batch_id
            )
            select verdicts.* exclude (verdict_id), verdict_id, act, is_decided, is_published, is_older,
                coalesce(n_superseded, 0) as n_superseded, coalesce(n_gone, 0) as n_gone,
                coalesce(is_replaced, false) as is_replaced,
                coalesce(source = 'scored', false) as is_scored,
                (select count(distinct trial_id) from raw.flagged_trials as flags
                 where flags.verdict_id = published.verdict_id and severity = 'quarantined') as n_quarantined,
                (select count(distinct trial_id) from raw.flagged_trials as flags
                 where flags.verdict_id = published.verdict_id and severity = 'suspect') as n_suspect
            from published inner join raw.batch_verdicts as verdicts using (verdict_id)
            left join displaced on verdicts.batch_id = displaced.batch_id
            left join (select batch_id, source from raw.batches) as batches on verdicts.batch_id = batches.batch_id
            order by ordinal, verdicts.batch_id
            """
        ).to_arrow_table()
        unmet = warehouse.sql(
            "select * exclude (batch_id, is_passed) from raw.batch_checks "
            "where not is_passed order by level, check_name"
        ).to_arrow_table()
    checks = collections.defaultdict(list)
    for check in unmet.to_pylist():
        checks[check.pop("verdict_id")].append(check)
    return [verdict | {"checks": checks[verdict["verdict_id"]]} for verdict in verdicts.to_pylist()]
