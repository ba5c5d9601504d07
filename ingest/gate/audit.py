"""Write, audit, publish: each batch gets a verdict before its numbers are anybody's.

SQL (`models/gate/`, on the models that everybody reads) finds what is wrong with which trial and reduces a batch to one
value per cell and check; Great Expectations holds the values against their thresholds (`gate.yaml`). Verdict, checks
and flags are written in one transaction. Nothing is deleted, and what a person decides is kept as history.
"""

import collections
import contextlib
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa
from pyarrow.dataset import dataset

from ingest.gate.batches import batches_to_audit, next_round
from ingest.gate.models import gate_models
from ingest.gate.suite import checkpoint, read_config, thresholds_of
from ingest.land.load import DUCKDB_SETTINGS
from ingest.land.memory import memory_limit, needs_more
from ingest.land.models import Models, query_of
from ingest.land.raw import ORDERED, TABLES, lacks_nothing, next_ordinal, prepare_raw
from ingest.warehouse import UserError, explain, in_memory, quoted, transaction, warehouse_path

FAILED = 6


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
                batches, batch_ids = next_round(batches_to_audit(memory, batch_ids))
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


def _audit(memory, batches, config):
    models = gate_models(memory, batches, config)
    verdicts = _held_against_thresholds(memory, batches, models.ref("gate_measures"), config, "gate_of_trials")
    models.ref("gate_flags")
    return verdicts, _flags(memory, {verdict.batch_id: verdict for verdict in verdicts}, config)


def _audit_scores(memory, batches, config):
    """Give batches of scores their verdicts: they have checks of their own, since they hold no trials."""
    config = config | {"checks": config["score_checks"]}
    verdicts = _held_against_thresholds(
        memory, batches, _judge_scores(memory, batches, config), config, "gate_of_scores"
    )
    return verdicts, _flags(memory, {verdict.batch_id: verdict for verdict in verdicts}, config)


def _held_against_thresholds(memory, batches, measured_in, config, suite):
    """Return a verdict for each batch, from the relation of what was measured of it."""
    import pandas as pd

    measures = collections.defaultdict(dict)
    for row in memory.sql(f"from {measured_in}").to_arrow_table().to_pylist():
        measures[row["batch_id"]][row["check_name"]] = row
    judge, verdicts = checkpoint(config["checks"], suite), []
    for batch in batches:
        verdict = Verdict(uuid.uuid4().hex, batch["batch_id"], batch["study"], batch["vignette"], batch["n_trials"])
        for name in ("is_scored", "defined_as", "is_redefined", "was_published"):
            setattr(verdict, name, batch[name])
        measured = measures[verdict.batch_id]
        frame = pd.DataFrame({name: measured[name]["values_of_cells"] for name, _ in thresholds_of(config["checks"])})
        verdict.checks = _checks(verdict, measured, config["checks"], judge(frame))
        verdicts.append(verdict)
    return verdicts


def _checks(verdict, measured, checks, results):
    """Return the rows of checks of a verdict; one without an observed value is a failure of the gate itself."""
    rows = []
    for (name, level), threshold in thresholds_of(checks).items():
        is_met, observed = results.get((name, level), (False, None))
        without = observed is None
        rows.append(
            {
                "verdict_id": verdict.verdict_id,
                "batch_id": verdict.batch_id,
                "check_name": name,
                "level": level,
                "is_passed": is_met and not without,
                "observed_value": None if without else float(observed),
                "threshold": threshold,
                "measure": f"{checks[name]['measure']} over {checks[name]['over']}",
                "n_offending": measured[name]["n_offending"],
                "sample": measured[name]["sample"],
                "detail": "the check gave no observed value: the gate itself has failed"
                if without
                else measured[name]["detail"],
            }
        )
    return rows


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
