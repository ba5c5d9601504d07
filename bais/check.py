"""`bais check`, `accept`, `reject` and `release`: what the gate says of batches, and what people decide."""

import click

from bais.options import json_option, signed, strict
from bais.terminal import say, say_json, say_rows
from bais.warehouse import opened, public_tables, records

READING_MATTERS = """
select study, domain, coalesce(llm, 'all') as llm, technique, metric, columns('^(control|decision|decision_asked)$')
from inference.rank_probabilities
where list_contains(string_split(reason, '; '), 'reading_would_change') order by all
"""


@click.command()
@click.option("--batch", metavar="ID", help="audit this batch anew, and say what is wrong with it")
@click.option("--all", "every", is_flag=True, help="audit every batch anew, and list decisions that differ by reading")
@json_option(", with every check that is not met")
@strict
def check(batch: str | None, every: bool, as_json: bool, strict: bool) -> int:
    """Audit, and say what the gate says of each batch; exit 6 if one failed and nobody decided of it since."""
    from ingest.gate import FAILED, audit, last_verdicts

    if batch and every:
        raise click.UsageError("--batch is one batch and --all is every one: give one of the two")
    if every:
        audit([verdict["batch_id"] for verdict in last_verdicts()])
    audit([batch] if batch else None)
    verdicts = [verdict for verdict in last_verdicts() if batch in (None, verdict["batch_id"])]
    if as_json:
        say_json(verdicts)
    elif verdicts:
        _say_verdicts(verdicts, in_full=bool(batch))
        if every:
            _say_where_reading_matters()
    else:
        say("There is no batch yet: collect a study, import an archive, or score an LLM.")
    open_verdicts = {verdict["verdict"] for verdict in verdicts if _waits(verdict)}
    if "failed" in open_verdicts:
        return FAILED
    return 1 if strict and open_verdicts - {"passed"} else 0


def _say_verdicts(verdicts, in_full):
    counted = [what for what in ("trials", "scores") if any(_holds(verdict) == what for verdict in verdicts)]
    names = ["batch", *counted, "verdict", "published", "quarantined", "suspect"]
    rows = [
        (
            verdict["batch_id"],
            *(verdict["n_trials"] if _holds(verdict) == what else None for what in counted),
            verdict["verdict"].replace("_", " "),
            _published(verdict),
            verdict["n_quarantined"],
            verdict["n_suspect"],
        )
        for verdict in verdicts
    ]
    say_rows("table", names, rows, null="")
    for verdict in verdicts:
        failed = [found for found in verdict["checks"] if _has_failed(found)]
        unmet = verdict["checks"] if in_full else failed or verdict["checks"][:3]
        if not unmet or (verdict["is_replaced"] and not in_full):
            continue
        print()
        say(f"{verdict['batch_id']}:")
        for found in unmet:
            observed = "nothing" if found["observed_value"] is None else f"{found['observed_value']:.4g}"
            word = "FAILED" if _has_failed(found) else "warning"
            sample = f"; such as {', '.join(found['sample'][:2])}" if found["sample"] else ""
            say(
                f"{word}, {found['check_name']}: {observed} ({found['measure']}), at most {found['threshold']:g}; "
                f"{found['n_offending']:,} offending{sample}. {found['detail'] or ''}",
                indent="  ",
            )
        left = len(verdict["checks"]) - len(unmet)
        if left:
            say(f"and {left} more: bais check --batch '{verdict['batch_id']}'", indent="  ")


def _holds(verdict):
    return "scores" if verdict["is_scored"] else "trials"


def _say_where_reading_matters():
    """List the decisions that would be others with the recorded numbers, of a warehouse that is built."""
    with opened() as warehouse:
        is_built = any(name == "rank_probabilities" for _, name, _ in public_tables(warehouse))
        found = records(warehouse, READING_MATTERS) if is_built else []
    if found:
        print()
        say("Decisions that would be others with the recorded numbers in place of what the texts state:")
        say_rows("table", list(found[0]), [tuple(row.values()) for row in found])


def _waits(verdict):
    """Whether nothing has come since the verdict on a batch: no decision, and no later version in its place."""
    return not (verdict["is_decided"] or verdict["is_older"] or verdict["is_replaced"])


def _published(verdict):
    """Say whether a batch is published, by whom if by a person, and what of it later versions displaced."""
    if verdict["is_older"]:
        return "no, older version"
    if verdict["is_replaced"] and not verdict["is_published"]:
        return "no, all of it in later versions"
    said = ["yes" if verdict["is_published"] else "no", f"by {verdict['act']}" if verdict["is_decided"] else None]
    said += [f"{verdict[f'n_{of}']:,} {of}" if verdict[f"n_{of}"] else None for of in ("superseded", "gone")]
    return ", ".join(filter(None, said))


def _has_failed(found):
    """Whether an unmet check fails its batch: by its level, or because the gate observed nothing."""
    return found["level"] == "fail" or found["observed_value"] is None


def _decides(act: str, metavar: str) -> click.Command:
    """Make the command by which a person decides something of a batch or a trial."""

    @click.command(act)
    @click.argument("object_id", metavar=metavar)
    @signed
    def command(object_id: str, why: str, who: str | None) -> None:
        from ingest.gate import decide

        decide(act, object_id, why, who)
        say(f"{act}: {object_id}. `bais build` derives the tables anew.")

    return command


accept, reject, release = _decides("accept", "BATCH"), _decides("reject", "BATCH"), _decides("release", "TRIAL")
