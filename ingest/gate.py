"""Write, audit, publish: each batch gets a verdict before its numbers are anybody's.

SQL (`gate.sql`) finds what is wrong with which trial and reduces a batch to one row per cell with a column per check;
Great Expectations holds the columns against their thresholds (`gate.yaml`). Verdict, checks and flags are written in
one transaction. Nothing is deleted, and what a person decides is kept as history.
"""

import contextlib
import csv
import getpass
import json
import logging
import os
import re
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import yaml

from ingest.load import DUCKDB_SETTINGS
from ingest.raw import prepare_raw
from ingest.responses import macros
from ingest.study import Anchors
from ingest.warehouse import ROOT, UserError, connect, explain, printable, warehouse_path

CONFIG = Path(__file__).with_name("gate.yaml")
N_SAMPLE = 5
FAILED = 6
NUMBER = re.compile(r"(?<![\w.,])\d+(?:\.\d+)?(?!\d)")
ACTS = {"accept": "batch", "reject": "batch", "release": "trial"}


@dataclass
class Verdict:
    """What the gate says of a batch.

    Attributes
    ----------
    verdict_id, batch_id, study, vignette : str
    n_trials : int
    checks : list of dict
        One per expectation, with the columns of `raw.batch_checks`.
    n_flagged : dict of str to int
        Trials by severity.
    """

    verdict_id: str
    batch_id: str
    study: str
    vignette: str
    n_trials: int
    checks: list = field(default_factory=list)
    n_flagged: dict = field(default_factory=dict)

    @property
    def verdict(self):
        """`failed`, `passed_with_warnings` or `passed`."""
        unmet = [check for check in self.checks if not check["is_passed"]]
        if any(check["level"] == "fail" or check["observed_value"] is None for check in unmet):
            return "failed"
        return "passed_with_warnings" if unmet else "passed"

    def count(self, level):
        """Return how many expectations of a level are not met."""
        return sum(1 for check in self.checks if check["level"] == level and not check["is_passed"])


def read_config(path=CONFIG):
    """Read the thresholds.

    Parameters
    ----------
    path : Path

    Returns
    -------
    dict
        `rule_version`, `settings`, `checks`.
    """
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def audit(batch_ids=None, config=None):
    """Give batches their verdict, and write it down.

    Batches of one study and vignette are audited one after the other, in the order in which they were loaded: what a
    batch is compared with depends on the verdicts on those before it.

    Parameters
    ----------
    batch_ids : list of str, optional
        Those that have none yet, if not given.
    config : dict, optional
        The thresholds; those of `gate.yaml` if not given.

    Returns
    -------
    list of Verdict

    Raises
    ------
    UserError
        If a batch is not there (then nothing is written), or the warehouse cannot be read or written (then the verdicts
        on earlier batches stay).
    """
    config = config or read_config()
    path = warehouse_path()
    if not path.exists():
        return []
    prepare_raw(path)
    verdicts = []
    while batch_ids is None or batch_ids:
        with contextlib.closing(_memory(path)) as memory, _attached(memory, path):
            batches, batch_ids = _next_round(_batches_to_audit(memory, batch_ids))
            if not batches:
                break
            of_round, flags = _audit(memory, batches, config)
        _write(of_round, flags, config)
        verdicts += of_round
    return verdicts


def _memory(path):
    import duckdb

    spill = str(path.with_name(f"{path.name}.gate-spill"))  # DuckDB makes one folder, not its parents
    memory = duckdb.connect(config={**DUCKDB_SETTINGS, "memory_limit": "1500MB", "temp_directory": spill})
    memory.execute("set TimeZone = 'UTC'; set autoinstall_known_extensions = false")
    return memory


@contextlib.contextmanager
def _attached(memory, path):
    import duckdb

    try:
        memory.execute(f"attach {_quoted(path)} as warehouse (read_only)")
        yield
        memory.execute("detach warehouse")
    except duckdb.IOException as error:
        raise UserError(explain(error, path)) from None


def _quoted(path):
    return "'" + str(path).replace("'", "''") + "'"


def _batches_to_audit(memory, batch_ids):
    """Return the batches as dicts, with what their study declares, in the order in which they were loaded."""
    found = memory.execute(
        """
        select
            batch_id, any_value(trials.study), any_value(trials.vignette), count(*), any_value(batches.source),
            any_value(batches.definition), coalesce(any_value(batches.loaded_at), now()) as since,
            batch_id in (select batch_id from warehouse.raw.batch_verdicts)
        from warehouse.raw.trials as trials
        left join warehouse.raw.batches as batches using (batch_id)
        group by batch_id
        order by since, batch_id
        """
    ).fetchall()
    keys = ("batch_id", "study", "vignette", "n_trials", "source", "definition", "loaded_at", "is_audited")
    batches = [dict(zip(keys, row, strict=True)) for row in found]
    if batch_ids is None:
        return [batch for batch in batches if not batch["is_audited"]]
    known = {batch["batch_id"] for batch in batches}
    if missing := [batch_id for batch_id in batch_ids if batch_id not in known]:
        raise UserError(f"there is no batch {printable(missing[0])} in {warehouse_path()}; `bais check` lists them")
    return [batch for batch in batches if batch["batch_id"] in batch_ids]


def _next_round(batches):
    """Return the first batch of each study and vignette, and the ids of the others."""
    first, waiting = {}, []
    for batch in batches:
        if first.setdefault((batch["study"], batch["vignette"]), batch) is not batch:
            waiting.append(batch["batch_id"])
    return list(first.values()), waiting


def _audit(memory, batches, config):
    for name, made in (
        ("batches", _declared(batches)),
        ("asked", _asked_as(batches)),
        ("case_numbers", _case_numbers(batches)),
    ):
        memory.register("made", made)
        memory.execute(f"create table {name} as from made")
        memory.unregister("made")
    for seed, name in (
        ("llm_aliases", "aliases"),
        ("llms", "known_llms"),
        ("techniques", "known_techniques"),
        ("vignettes", "seeded_vignettes"),
        ("flag_reasons", "reasons"),
    ):
        seed_path = _quoted(ROOT / "seeds" / f"{seed}.csv")
        memory.execute(f"create table {name} as from read_csv({seed_path}, header = true, all_varchar = true)")
    memory.execute(_sql(config))
    verdicts = [
        Verdict(uuid.uuid4().hex, batch["batch_id"], batch["study"], batch["vignette"], batch["n_trials"])
        for batch in batches
    ]
    measured = _measure(memory, config)
    validate = expectations()
    for verdict in verdicts:
        verdict.checks = _check(verdict, measured, config, validate)
    flags = _flags(memory, {verdict.batch_id: verdict for verdict in verdicts}, config)
    return verdicts, flags


def _sql(config):
    """Render what the gate computes."""
    from jinja2 import Environment, StrictUndefined
    from scipy.stats import norm

    settings = dict(config["settings"])
    settings["drift_z"] = float(norm.isf(settings.pop("drift_p") / 2))
    text = CONFIG.with_suffix(".sql").read_text(encoding="utf-8")
    return Environment(undefined=StrictUndefined).from_string(text).render(**macros(), **settings)


def _declared(batches):
    """Return what the study of each batch declares: its anchor rule, its minimum and its LLMs."""
    rows = []
    for batch in batches:
        study = _definition(batch)
        row = {
            "batch_id": batch["batch_id"], "study": batch["study"], "vignette": batch["vignette"],
            "is_archive": study is None, "rule": None, "rule_low": None, "rule_high": None, "minimum": None,
            "llms": [], "loaded_at": batch["loaded_at"],
        }  # fmt: skip
        if study:
            entry = next((v for v in study["vignettes"] if v["vignette"] == batch["vignette"]), {})
            rule = Anchors.model_validate(entry.get("anchors") or study["anchors"])
            ends = rule.fixed or rule.proportional
            row["rule"], row["rule_low"], row["rule_high"] = (
                "fixed" if rule.fixed else "proportional",
                ends.low,
                ends.high,
            )
            row["minimum"] = study["stopping_rule"]["minimum"]
            row["llms"] = [llm["llm"] for llm in study["llms"]]
        rows.append(row)
    text, number = pa.string(), pa.float64()
    return pa.Table.from_pylist(
        rows,
        pa.schema(
            [
                ("batch_id", text), ("study", text), ("vignette", text), ("is_archive", pa.bool_()), ("rule", text),
                ("rule_low", number), ("rule_high", number), ("minimum", pa.int64()), ("llms", pa.list_(text)),
                ("loaded_at", pa.timestamp("us", tz="UTC")),
            ]
        ),
    )  # fmt: skip


def _definition(batch):
    definition = json.loads(batch["definition"]) if batch["definition"] else None
    return definition if batch["source"] != "recorded" else None


def _asked_as(batches):
    rows = [
        {"batch_id": batch["batch_id"], "llm_recorded": llm["llm"], "model": llm.get("model")}
        for batch in batches
        for llm in (_definition(batch) or {"llms": []})["llms"]
    ]
    names = ("batch_id", "llm_recorded", "model")
    return pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in names]))


def _case_numbers(batches):
    """Return the numbers in the case texts, as the study says or, for an archive, seeds/vignettes.csv."""
    with open(ROOT / "seeds" / "vignettes.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {(row["study"], row["vignette"]): [float(n) for n in row["case_numbers"].split()] for row in rows}
    for batch in batches:
        for entry in (_definition(batch) or {"vignettes": []})["vignettes"]:
            if entry["vignette"] == batch["vignette"]:
                numbers = NUMBER.findall(f"{entry['case']} {entry.get('question', '')}")
                found[batch["study"], batch["vignette"]] = sorted(set(map(float, numbers)))
    rows = [{"study": study, "vignette": vignette, "numbers": numbers} for (study, vignette), numbers in found.items()]
    schema = pa.schema([("study", pa.string()), ("vignette", pa.string()), ("numbers", pa.list_(pa.float64()))])
    return pa.Table.from_pylist(rows, schema)


def _measure(memory, config):
    """Return by batch and check: the value in each cell, how many offend, a sample, and what is wrong in words."""
    import collections

    cells = memory.execute("select batch_id, llm, technique, direction, n_trials from cells order by all").fetchall()
    offending = memory.execute(
        """
        select batch_id, reason, llm, technique, direction, count(*), list(trial_id order by trial_id)[:$n],
            min(detail)
        from offences inner join new_trials using (trial_id)
        group by all order by all
        """,
        {"n": N_SAMPLE},
    ).fetchall()
    of_cells = memory.execute("from cell_offences order by all").fetchall()
    samples = {
        tuple(row[:4]): row[4]
        for row in memory.execute(
            f"select batch_id, llm, technique, direction, list(trial_id order by trial_id)[:{N_SAMPLE}] "
            "from new_trials group by all"
        ).fetchall()
    }
    measured = collections.defaultdict(lambda: {"cells": [], "n_trials": 0, "checks": {}})
    for batch_id, llm, technique, direction, n in cells:
        measured[batch_id]["cells"].append((llm, technique, direction))
        measured[batch_id]["n_trials"] += n

    def entry(batch_id, check):
        return measured[batch_id]["checks"].setdefault(check, {"by_cell": {}, "n": 0, "sample": [], "detail": None})

    for batch_id, reason, llm, technique, direction, n, sample, detail in offending:
        found = entry(batch_id, reason)
        found["by_cell"][llm, technique, direction] = n
        found["n"] += n
        found["sample"] = (found["sample"] + sample)[:N_SAMPLE]
        found["detail"] = found["detail"] or detail
    for batch_id, llm, technique, direction, reason, value, n, detail in of_cells:
        found = entry(batch_id, reason)
        found["by_cell"][llm, technique, direction] = value
        is_of_cells = config["checks"][reason]["measure"] == "count"
        found["n"] += 1 if is_of_cells else int(n)
        found["sample"] = (found["sample"] + samples.get((batch_id, llm, technique, direction), []))[:N_SAMPLE]
        where = " ".join(part for part in (llm, technique, direction) if part)
        worst = max(found["by_cell"].values())
        found["detail"] = f"{where}: {detail}" if value >= worst else found["detail"]
    return measured


def expectations():
    """Return a function that holds the columns of a frame against thresholds, through Great Expectations.

    Returns
    -------
    callable
        From a pandas frame and a dict of column to threshold (for each, its maximum) to a dict of column to (whether
        it is met, the observed value).
    """
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations as gx

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


def _check(verdict, measured, config, validate):
    """Hold a batch against the thresholds; a check without an observed value is a failure of the gate itself."""
    import pandas as pd

    of_batch = measured[verdict.batch_id]
    columns, maxima = {}, {}
    for name, check in config["checks"].items():
        found = of_batch["checks"].get(name, {"by_cell": {}, "n": 0})
        if check["over"] == "batch":
            value = found["n"] / of_batch["n_trials"] if check["measure"] == "share" else found["n"]
            values = [value] * len(of_batch["cells"])
        else:
            values = [found["by_cell"].get(cell, 0) for cell in of_batch["cells"]]
        for level in ("warn", "fail"):
            if check[level] is not None:
                columns[f"{name}/{level}"] = [float(value) for value in values]
                maxima[f"{name}/{level}"] = float(check[level])
    results = validate(pd.DataFrame(columns), maxima)
    checks = []
    for column, threshold in maxima.items():
        name, level = column.split("/")
        is_met, observed = results.get(column, (False, None))
        found = of_batch["checks"].get(name, {"n": 0, "sample": [], "detail": None})
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
                "n_offending": found["n"],
                "sample": found["sample"],
                "detail": "the check gave no observed value: the gate itself has failed"
                if without
                else found["detail"],
            }
        )
    return checks


def _flags(memory, verdicts, config):
    """Return what is wrong with single trials, for the reasons that have a severity."""
    by_batch = {batch_id: verdict.verdict_id for batch_id, verdict in verdicts.items()}
    ids = pa.Table.from_pylist(
        [{"batch_id": batch_id, "verdict_id": verdict_id} for batch_id, verdict_id in by_batch.items()]
    )
    memory.register("ids", ids)
    flags = memory.sql(
        """
        select verdict_id, trial_id, batch_id, study, severity, reason, min(detail) as detail,
            $rule_version::bigint as rule_version, now() as flagged_at
        from offences
        inner join new_trials using (trial_id)
        inner join reasons using (reason)
        inner join ids using (batch_id)
        group by all
        """,
        params={"rule_version": config["rule_version"]},
    ).to_arrow_table()
    memory.register("made", flags)
    counted = memory.execute("select batch_id, severity, count(distinct trial_id) from made group by all").fetchall()
    for batch_id, severity, n in counted:
        verdicts[batch_id].n_flagged[severity] = n
    return flags


def _write(verdicts, flags, config):
    """Write verdicts, checks and flags in one transaction."""
    now, rule_version = datetime.now(UTC), config["rule_version"]
    rows = [
        {
            "verdict_id": verdict.verdict_id, "batch_id": verdict.batch_id, "study": verdict.study,
            "vignette": verdict.vignette, "verdict": verdict.verdict, "n_trials": verdict.n_trials,
            "n_failed": verdict.count("fail"), "n_warnings": verdict.count("warn"), "rule_version": rule_version,
            "checked_at": now,
        }
        for verdict in verdicts
    ]  # fmt: skip
    checks = [check for verdict in verdicts for check in verdict.checks]
    with _writing() as warehouse:
        for table, made in (
            ("batch_verdicts", pa.Table.from_pylist(rows)),
            ("batch_checks", pa.Table.from_pylist(checks)),
            ("flagged_trials", flags),
        ):
            warehouse.register("made", made)
            warehouse.execute(f"insert into raw.{table} by name from made")
            warehouse.unregister("made")


@contextlib.contextmanager
def _writing():
    """Open the warehouse for one transaction."""
    import duckdb

    path = warehouse_path()
    with contextlib.closing(connect(path, read_only=False)) as warehouse:
        try:
            warehouse.execute("begin")
            yield warehouse
            warehouse.execute("commit")
        except duckdb.Error as error:
            raise UserError(explain(error, path)) from None


def decide(act, object_id, why, who=None):
    """Keep what a person decides of a batch or a trial, with name and reason.

    Parameters
    ----------
    act : {"accept", "reject", "release"}
        Publish a batch or do not, whatever its verdict; or clear a trial of its flags.
    object_id : str
        A batch_id, or for `release` a trial_id.
    why : str
    who : str, optional
        The user of this machine if not given.

    Raises
    ------
    UserError
        If there is no such batch or flagged trial, or no reason is given.
    """
    object_kind = ACTS[act]
    if not why.strip():
        raise UserError("say why: a decision without a reason helps nobody later")
    try:
        who = who or os.environ.get("BAIS_USER") or getpass.getuser()
    except OSError:
        raise UserError("this machine does not know who you are: give a name with --who") from None
    prepare_raw(warehouse_path())
    table, column = ("batch_verdicts", "batch_id") if object_kind == "batch" else ("flagged_trials", "trial_id")
    with _writing() as warehouse:
        if not warehouse.execute(f"select 1 from raw.{table} where {column} = ? limit 1", [object_id]).fetchall():
            what = "audited batch" if object_kind == "batch" else "flagged trial"
            raise UserError(f"there is no {what} {printable(object_id)}")
        warehouse.execute(
            "insert into raw.gate_acts values (?, ?, ?, ?, ?, ?, ?)",
            [uuid.uuid4().hex, object_kind, object_id, act, who, why.strip(), datetime.now(UTC)],
        )


def last_verdicts():
    """Return the last verdict of each batch, with what was decided since.

    Returns
    -------
    list of dict
        batch_id, study, vignette, verdict, is_published, act, n_trials, n_failed, n_warnings, n_quarantined, n_suspect,
        checked_at and `checks`, those that are not met; newest last.
    """
    if not warehouse_path().exists():
        return []
    with contextlib.closing(connect()) as warehouse:
        there = "select 1 from duckdb_tables() where schema_name = 'raw' and table_name = 'batch_verdicts'"
        if not warehouse.execute(there).fetchall():
            return []
        result = warehouse.execute(
            f"""
            with published as ({macros()["published_batches"]("raw.batch_verdicts", "raw.gate_acts")})
            select verdicts.* exclude (verdict_id), verdict_id, act, is_published,
                (select count(distinct trial_id) from raw.flagged_trials as flags
                 where flags.verdict_id = published.verdict_id and severity = 'quarantined') as n_quarantined,
                (select count(distinct trial_id) from raw.flagged_trials as flags
                 where flags.verdict_id = published.verdict_id and severity = 'suspect') as n_suspect
            from published inner join raw.batch_verdicts as verdicts using (verdict_id)
            order by checked_at, verdicts.batch_id
            """
        )
        names = [column[0] for column in result.description]
        verdicts = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
        for verdict in verdicts:
            found = warehouse.execute(
                "select check_name, level, observed_value, threshold, measure, n_offending, sample, detail "
                "from raw.batch_checks where verdict_id = ? and not is_passed order by level, check_name",
                [verdict["verdict_id"]],
            )
            names = [column[0] for column in found.description]
            verdict["checks"] = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    return verdicts
