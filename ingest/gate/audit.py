"""Write, audit, publish: each batch gets a verdict before its numbers are anybody's.

SQL (`models/gate/`, on the models that everybody reads) finds what is wrong with which trial and reduces a batch to one
value per check; Great Expectations holds the values against their thresholds (`gate.yaml`). Verdict, checks
and flags are written in one transaction. Nothing is deleted, and what a person decides is kept as history.
"""

import contextlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow.dataset import dataset

from ingest.gate.batches import batches_to_audit, next_round
from ingest.gate.models import gate_models, models_beside
from ingest.gate.suite import checkpoint, read_config, thresholds_of
from ingest.land.load import DUCKDB_SETTINGS
from ingest.land.memory import memory_limit, needs_more
from ingest.land.models import query_of
from ingest.land.raw import ORDERED, TABLES, lacks_nothing, next_ordinal, prepare_raw
from ingest.warehouse import UserError, explain, in_memory, quoted, transaction, warehouse_path

if TYPE_CHECKING:
    import duckdb

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
    is_accepted: bool = False  # by a person, when it failed what it fails now
    llm_recorded: str | None = None  # the one LLM whose trials it holds
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
    def is_held_back(self) -> bool:
        """Whether it failed, and nobody accepted that."""
        return self.verdict == "failed" and not self.is_accepted

    @property
    def is_unpublished(self) -> bool:
        """Whether it was published until this verdict."""
        return self.was_published and self.is_held_back

    def count(self, level: str) -> int:
        """Return how many expectations of a level are not met."""
        return sum(1 for check in self.checks if check["level"] == level and not check["is_passed"])


def exit_code(verdicts: list[Verdict]) -> int:
    """Return 6 if a batch is held back, else 0."""
    return FAILED if any(verdict.is_held_back for verdict in verdicts) else 0


def audit(batch_ids: list[str] | None = None, config: dict | None = None) -> list[Verdict]:
    """Give batches their verdict, and write it down.

    These are, if not named, those that have none yet, and those of vignettes of which the study has said something else
    since: another range, unit or domain.
    What was loaded of one study and vignette is audited load after load: what a batch is compared with depends on the
    verdicts on those before it. A failure leaves the verdicts of earlier rounds.
    """
    config = config or read_config()
    path = warehouse_path()
    if not path.exists():
        return []
    verdicts = []
    try:
        while batch_ids is None or batch_ids:
            with beside(path) as memory:
                batches, batch_ids = next_round(batches_to_audit(memory, batch_ids))
                if not batches:
                    break
                of_round, flags = _audit(memory, batches, config)
            _write(of_round, flags, config)
            verdicts += of_round
    finally:
        _flags_path().unlink(missing_ok=True)
    return verdicts


def _flags_path():
    """Return where flags wait while the warehouse is closed for reading and opened for writing: they may be many."""
    return warehouse_path().with_name(f"{warehouse_path().name}.gate-flags")


@contextlib.contextmanager
def beside(path: Path) -> "Iterator[duckdb.DuckDBPyConnection]":
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
    """Give the batches of a round their verdicts; scores have checks of their own, since they hold no trials."""
    if batches[0]["is_scored"]:
        models = models_beside(memory, batches, config["score_settings"], config["score_checks"])
        memory.execute("create table gate.earlier_verdicts (batch_id varchar, verdict_id varchar)")
        checks, suite, prefix = config["score_checks"], "gate_of_scores", "gate_score"
    else:
        models = gate_models(memory, batches, config)
        checks, suite, prefix = config["checks"], "gate_of_trials", "gate"
    verdicts = _compared_with_thresholds(memory, batches, models.ref(f"{prefix}_measures"), checks, suite)
    return verdicts, _write_flags(memory, verdicts, models.ref(f"{prefix}_flags"), config["rule_version"])


def _compared_with_thresholds(memory, batches, measured_in, checks, suite):
    """Return a verdict for each batch, from the relation of what was measured of it.

    A check without an observed value is a failure of the gate itself.
    """
    kept = {field.name for field in fields(Verdict)}
    verdicts = [Verdict(uuid.uuid4().hex, **{name: batch[name] for name in kept & batch.keys()}) for batch in batches]
    measured = memory.sql(f"from {measured_in}").to_arrow_table().to_pylist()
    measured = {(row["batch_id"], row["check_name"]): row for row in measured}
    frame = memory.sql(f"pivot {measured_in} on check_name using any_value(value) group by batch_id").df()
    unmet = checkpoint(checks, suite)(frame)
    values = frame.set_index("batch_id")
    for verdict in verdicts:
        for (name, level), threshold in thresholds_of(checks).items():
            row, value = measured[verdict.batch_id, name], values.at[verdict.batch_id, name]
            failing = unmet.get((name, level))
            without = failing is None or isnan(value)
            said = "the check gave no observed value: the gate itself has failed" if without else row["detail"]
            verdict.checks.append(
                {
                    "verdict_id": verdict.verdict_id,
                    "batch_id": verdict.batch_id,
                    "check_name": name,
                    "level": level,
                    "is_passed": not without and verdict.batch_id not in failing,
                    "observed_value": None if without else float(value),
                    "threshold": threshold,
                    "measure": f"{checks[name]['measure']} over {checks[name]['over']}",
                    "n_offending": row["n_offending"],
                    "sample": row["sample"],
                    "detail": said,
                }
            )
    return verdicts


def _write_flags(memory, verdicts, flags, rule_version):
    """Write what is wrong with single trials; of earlier batches, what their last verdict does not say yet."""
    ids = pa.Table.from_pylist([{"batch_id": made.batch_id, "verdict_id": made.verdict_id} for made in verdicts])
    memory.register("ids", ids)
    counts = memory.execute(
        f"select batch_id, map_from_entries(list((severity, n))) from ("
        f"select batch_id, severity, count(distinct trial_id) as n from {flags} group by all) group by all"
    ).fetchall()
    for verdict in verdicts:
        verdict.n_flagged = dict(counts).get(verdict.batch_id, {})
    memory.execute(
        f"""
        copy (
            with verdicts as (from ids union all by name from gate.earlier_verdicts)
            select verdict_id, flags.*, {rule_version:d}::bigint as rule_version, now() as flagged_at
            from {flags} as flags inner join verdicts using (batch_id)
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
        decided = f"select batch_id, act from ({query_of('stg_batch_verdicts')}) where is_decided"
        decided = dict(warehouse.execute(decided).fetchall())
    for verdict in verdicts:
        verdict.is_rejected = decided.get(verdict.batch_id) == "reject"
        verdict.is_accepted = decided.get(verdict.batch_id) == "accept"
