"""`bais withdraw`, `bais reread` and `bais restore`: single trials out of the tables, or read by hand, and back."""

import re
from math import isfinite

import click

from bais.options import signed
from bais.selection import all_trials, conditions_explained, find_trial, meeting, refuse_unreadable
from bais.terminal import say, say_each
from bais.warehouse import IS_A_STUDY, interruptible, marts, opened, refuse_unknown, values
from ingest.warehouse import UserError

# A condition asks of those trials that may be meant: of the withdrawn or reread ones, or of all that are what their
# source says now, whether published or not.
DECIDED = """
select * from ({all})
where trial_id in (select trial_id from ({withdrawn}) union all select trial_id from ({reread}))
"""
CURRENT = "select * from ({all}) where coalesce(reason, '') not in ('withdrawn', 'superseded', 'gone')"
SEPARATOR = r"[.,'\u2019\s]?"  # of digits


def _decides(act: str, done: str, what: str) -> click.Command:
    """Make the command by which a person withdraws trials or restores them."""

    @click.command(act)
    @click.argument("trial_ids", nargs=-1, metavar="[TRIAL_ID...]", help="or their beginnings, as in `bais trial`")
    @click.option("--where", metavar="SQL", help=f'{what} that meet a condition, such as "response > 100"')
    @click.option("--counts", metavar="STUDY", help="the counts of a study, which have no trials (docs/importing.md)")
    @signed
    def command(
        trial_ids: tuple[str, ...], where: str | None, counts: str | None, why: str, who: str | None, flag=None
    ) -> int:  # fmt: skip
        from ingest.gate.acts import decide_of_counts, decide_of_trials

        if [bool(trial_ids), where is not None, counts is not None, flag is not None].count(True) != 1:
            raise click.UsageError(f"name trials, or give a condition with --where, or a study with --counts{flags}")
        if counts is not None:
            n_rows = decide_of_counts(act, counts, why, who)
            say(f"{done}: counts of {counts} (rows: {n_rows:,}). `bais build` derives the tables anew.")
            return 0
        ids = _named(trial_ids) if trial_ids else _where(act, where) if flag is None else flagged(flag)
        if not ids:
            raise UserError(f"no trial meets the condition: nothing is {done}")
        by_study, batches, hanging = decide_of_trials(act, ids, why, who)
        n_left = len(ids) - sum(by_study.values())
        are = "the trial is" if len(ids) == 1 else f"the {len(ids):,} trials are"
        if not by_study:
            already = "withdrawn already" if act == "withdraw" else "neither withdrawn nor reread"
            raise UserError(f"{are} {already}: nothing was done")
        counted = ", ".join(f"{n:,} trial{'' if n == 1 else 's'} of {study}" for study, n in by_study.items())
        left = f"; {n_left:,} {'was' if n_left == 1 else 'were'} so before" if n_left else ""
        say(f"{done}: {counted}{left}. `bais build` derives the tables anew.")
        say_each(map(str, hanging))
        return _audit_again(batches)

    if act == "withdraw":
        flags = ", or what they are flagged for with --flag"
        of_flag = "all that their last audits flag for this, such as other_prompt (`bais check` names the kinds)"
        return click.option("--flag", metavar="KIND", help=of_flag)(command)
    flags = ""
    return command


@click.command()
@click.argument("trial_id", metavar="TRIAL_ID", help="or as much of its beginning as no other trial shares")
@click.option("--number", type=float, required=True, metavar="N", help="what its text says, in the vignette's unit")
@signed
def reread(trial_id: str, number: float, why: str, who: str | None) -> int:
    """Put a single reading right."""
    from ingest.gate.acts import decide_of_trials

    if not isfinite(number):
        raise UserError(f"--number {number} is no number that an answer can be")
    with opened() as warehouse:
        full_id = find_trial(warehouse, trial_id)
        ((kind, text),) = warehouse.execute(
            "select coalesce(answer_kind, 'number'), response_text from raw.trials where trial_id = ?", [full_id]
        ).fetchall()
    if kind != "number" or text is None:
        what = "no text is kept of it" if kind == "number" else f"its answer is a {kind} and no number"
        raise UserError(f"trial {full_id} cannot be reread: {what}")
    _, batches, hanging = decide_of_trials("reread", [full_id], why, who, number)
    say(f"reread: trial {full_id} says {number:.15g}. `bais build` derives the tables anew.")
    if not _has_digits(text, number):
        say(
            f"Its text has no {number:.15g} in digits: `bais trial {full_id}` shows the text, and `bais "
            f"restore {full_id}` takes this back."
        )
    say_each(map(str, hanging))
    return _audit_again(batches)


def _has_digits(text, number):
    """Whether a number stands in a text, whatever separates its digits there."""
    digits = f"{abs(number):.15g}".replace(".", "")
    zeros = "(?:[.,]0+)?" if number.is_integer() else "0*"
    return re.search(rf"(?<!\d){SEPARATOR.join(digits)}{zeros}(?!\d)", text) is not None


def _audit_again(batches):
    """Audit batches of which something is read otherwise now, and say what comes of it."""
    from ingest.gate.audit import audit, exit_code
    from ingest.run import render_verdicts

    if not batches:
        return 0
    verdicts = audit(batches)
    print("\n".join(render_verdicts(verdicts)))
    return exit_code(verdicts)


def _named(trial_ids):
    with opened() as warehouse:
        return sorted({find_trial(warehouse, trial_id) for trial_id in trial_ids})


def flagged(reason: str, batch: str | None = None) -> list[str]:
    """Return the trials that the last verdicts, or that on a batch, flag for a reason and nobody has withdrawn."""
    from ingest.gate.batches import batch_meant
    from ingest.land.models import query_of

    with opened() as warehouse:
        rows = warehouse.execute(
            f"select trial_id, batch_id, unnest(string_split(flag_reasons, '; ')) as reason from "
            f"({query_of('stg_flagged_trials')}) anti join ({query_of('stg_withdrawn_trials')}) using (trial_id)"
        ).fetchall()
        if batch is not None:
            batch = batch_meant(set(values(warehouse, "select batch_id from raw.batch_verdicts")), batch)
    rows = [row for row in rows if batch in (None, row[1])]
    of_which = " of the last audits" if batch is None else f" of the last audit of {batch}"
    refuse_unknown("flag", reason, sorted({flag for *_, flag in rows}), of_which)
    return sorted(trial_id for trial_id, _, flag in rows if flag == reason)


def _where(act, condition):
    """Ask a condition once: of all trials, published or not, or, to restore, of the withdrawn or reread ones."""
    from ingest.land.fates import rereadings
    from ingest.land.models import query_of

    refuse_unreadable(condition)
    with marts() as warehouse:
        source = CURRENT.format(all=all_trials(warehouse))
        if act == "restore":
            acts = {"withdrawn": query_of("stg_withdrawn_trials"), "reread": rereadings(warehouse)}
            source = DECIDED.format(all=all_trials(warehouse), **acts)
        there = warehouse.sql(source)
        with conditions_explained():
            relation = meeting(there, [IS_A_STUDY, condition]).project("trial_id").order("trial_id")
            return [trial_id for (trial_id,) in interruptible(warehouse, relation.fetchall)]


withdraw = _decides("withdraw", "withdrawn", "the trials, published or not,")
restore = _decides("restore", "restored", "the withdrawn or reread trials")
