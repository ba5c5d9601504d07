"""What people decide: of batches whatever their verdict, and of single trials; and the last verdicts beside that."""

import collections
import contextlib
import getpass
import os
from datetime import UTC, datetime
from typing import NamedTuple

import pyarrow as pa

from ingest.gate.batches import batch_meant
from ingest.gate.mended import Hanging, hanging
from ingest.land.fates import RECORDS, fates, replaced
from ingest.land.models import query_of
from ingest.land.raw import TABLES, next_ordinal, prepare_raw, raw_transaction
from ingest.warehouse import UserError, connect, printable, same, warehouse_path

ACTS = {"accept": "batch", "reject": "batch", "release": "trial"}


def decide(act: str, object_id: str, why: str, who: str | None = None) -> str:
    """Keep what a person decides: `accept` or `reject` a batch whatever its verdict, or `release` a trial's flags.

    Return the whole id of the batch, which may be named by a part of it, or that of the trial.
    """
    object_kind = ACTS[act]
    who, why = _signed(who, why)
    with raw_transaction(warehouse_path()) as warehouse:
        if object_kind == "batch":
            audited = warehouse.execute("select distinct batch_id from raw.batch_verdicts").fetchall()
            object_id = batch_meant({batch_id for (batch_id,) in audited}, object_id)
        elif not warehouse.execute(
            "select 1 from raw.flagged_trials where trial_id = ? limit 1", [object_id]
        ).fetchall():
            raise UserError(f"there is no flagged trial {printable(object_id)}")
        _keep(
            warehouse, "select $object as object, $object_id as object_id, $act as act, $why as why",
            object=object_kind, object_id=object_id, act=act, who=who, why=why,
        )  # fmt: skip
    return object_id


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
            where act is not null
            """,
            {"act": act},
        )
        _keep(
            warehouse,
            "select 'trial' as object, trial_id as object_id, act, $why as why, $response as response from decided",
            who=who, why=why, response=response,
        )  # fmt: skip
        by_study = warehouse.sql("select study, count(*) from decided group by study order by study").fetchall()
        decided = warehouse.sql("select trial_id, batch_id, act from decided order by batch_id").fetchall()
        reread = [batch_id for _, batch_id, act in decided if act in ("reread", "restore_reading")]
        of_anchors = hanging(warehouse, [trial_id for trial_id, *_ in decided])
        return Decided(dict(by_study), list(dict.fromkeys(reread)), of_anchors)


def decide_of_counts(act: str, study: str, why: str, who: str | None = None) -> int:
    """`withdraw` or `restore` the counts of a study, and return how many rows count no more or again."""
    who, why = _signed(who, why)
    with raw_transaction(warehouse_path()) as warehouse:
        if not warehouse.execute("select 1 from raw.counts where study = $study limit 1", {"study": study}).fetchall():
            raise UserError(f"there are no counts of {printable(study)}: nothing was done")
        counting = f"select count(*) from ({query_of('stg_counts')}) where study = $study"
        ((n_before,),) = warehouse.execute(counting, {"study": study}).fetchall()
        if bool(n_before) == (act == "restore"):
            already = "not withdrawn" if n_before else "withdrawn already"
            raise UserError(f"the counts of {printable(study)} are {already}: nothing was done")
        _keep(
            warehouse, "select 'counts' as object, $study as object_id, $act as act, $why as why",
            study=study, act=act, who=who, why=why,
        )  # fmt: skip
        ((n_after,),) = warehouse.execute(counting, {"study": study}).fetchall()
    return n_before or n_after


def excluded_participants() -> dict[str, str | None]:
    """Return the reasons of the participants of whom something else was said after their choices had landed."""
    prepare_raw(warehouse_path())
    with contextlib.closing(connect()) as warehouse:
        return dict(warehouse.sql(query_of("stg_excluded_participants")).fetchall())


def exclude_participants(reasons: dict[str, str | None]) -> None:
    """Leave participants out for a reason, or have those without one count again."""
    who, _ = _signed(None, "Prolific")
    named = {"participant": pa.array(reasons, pa.string()), "reason": pa.array(reasons.values(), pa.string())}
    with raw_transaction(warehouse_path()) as warehouse:
        warehouse.register("named", pa.table(named))
        _keep(
            warehouse,
            "select 'participant' as object, participant as object_id, coalesce(reason, 'approved') as why, "
            "if(reason is null, 'count', 'leave_out') as act from named",
            who=who,
        )  # fmt: skip


def replace_answers(choices: pa.Table, columns: tuple[str, ...]) -> None:
    """Put columns of choices in the place of those of participants who had stopped before the end, and record it.

    By the record a build knows that there is something to build.
    """
    who, why = _signed(None, "stopped before the end, and sent the whole answers since")
    given = ", ".join(f"{name} = whole.{name}" for name in columns)
    with raw_transaction(warehouse_path()) as warehouse:
        warehouse.register("whole", choices)
        warehouse.execute(
            f"update raw.human_choices as there set {given} from whole "
            f"where {same('there', 'whole', TABLES['human_choices'].key)}"
        )
        _keep(
            warehouse,
            "select 'answers' as object, participant as object_id, 'count' as act, $why as why "
            "from (select distinct participant from whole)",
            who=who, why=why,
        )  # fmt: skip


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
            counts.append(
                _keep(
                    warehouse,
                    f"""
                    select 'trial' as object, trial_id as object_id, $act as act, why
                    from {here} semi join (from raw.trials where study = $study) using (trial_id)
                    anti join {there} using (trial_id, why)
                    """,
                    act=act, who=who, study=study,
                )
            )  # fmt: skip
    n_left_out, n_counting = counts
    return n_left_out, n_counting


def _keep(warehouse, acts, **values):
    """Keep an act for each row of a query, with who decides and when, and return how many these are."""
    ((n_acts,),) = warehouse.execute(
        "insert into raw.gate_acts by name select replace(uuid()::varchar, '-', '') as act_id, *, $who as who, "
        f"$now as acted_at, $ordinal as ordinal from ({acts})",
        values | {"now": datetime.now(UTC), "ordinal": next_ordinal(warehouse)},
    ).fetchall()
    return n_acts


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
            ),
            flagged as (
                select verdict_id, count(distinct trial_id) filter (severity = 'quarantined') as n_quarantined,
                    count(distinct trial_id) filter (severity = 'suspect') as n_suspect
                from raw.flagged_trials semi join ({query_of("stg_flagged_trials")}) using (trial_id, batch_id)
                anti join ({replaced()}) using (trial_id)
                group by verdict_id
            )
            select verdicts.*, act, is_decided, is_published, is_older,
                coalesce(n_superseded, 0) as n_superseded, coalesce(n_gone, 0) as n_gone,
                coalesce(is_replaced, false) as is_replaced,
                coalesce(source = 'scored', false) as is_scored,
                coalesce(n_quarantined, 0) as n_quarantined, coalesce(n_suspect, 0) as n_suspect
            from published inner join raw.batch_verdicts as verdicts using (verdict_id, batch_id)
            left join displaced using (batch_id)
            left join (select batch_id, source from raw.batches) using (batch_id)
            left join flagged using (verdict_id)
            order by ordinal, batch_id
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
