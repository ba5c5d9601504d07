"""`bais check`, `accept`, `reject` and `release`: what the gate says of batches, and what people decide."""

import csv
from collections import Counter

import click

from bais.options import json_option, signed, strict
from bais.terminal import say, say_json, say_rows
from bais.warehouse import opened, public_tables, records
from ingest.warehouse import ROOT

MOST_LISTED = 12  # of more batches, those in which all is well are only counted
SHORT_ID = 10
OF_WHAT = {
    "cell": "In the worst cell that is {}",
    "vignette": "That is {} of what was published of its vignette before",
}
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
    fine = [] if in_full or len(verdicts) <= MOST_LISTED else [verdict for verdict in verdicts if _is_fine(verdict)]
    listed = [verdict for verdict in verdicts if verdict not in fine]
    if listed:
        _say_table(listed)
    for study, n_batches in sorted(Counter(verdict["batch_id"].partition("/")[0] for verdict in fine).items()):
        say(f"{n_batches} {'batch' if n_batches == 1 else 'batches'} of {study} passed, with nothing set aside.")
    if fine:
        say("`bais check --json` lists every batch.")
    sentences = _sentences()
    unmet = False
    for verdict in listed:
        failed = [found for found in verdict["checks"] if _has_failed(found)]
        shown = verdict["checks"] if in_full else failed or verdict["checks"][:3]
        if not shown or (verdict["is_replaced"] and not in_full):
            continue
        unmet = True
        print()
        say(f"{verdict['batch_id']}:")
        for found in shown:
            say(_said_of_check(found, sentences), indent="  ")
        left = len(verdict["checks"]) - len(shown)
        if left:
            more = "more warning" if left == 1 else "more warnings"
            say(f"and {left} {more}: bais check --batch '{verdict['batch_id']}'", indent="  ")
        if failed and _waits(verdict):
            say(
                f"It is not published. If that is right after all: bais accept '{verdict['batch_id']}' --why \"...\"; "
                "else mend the file and import it again, or reject it.",
                indent="  ",
            )
    if unmet:
        print()
        say(
            "Quarantined trials are in no public table; suspect ones are, and each decision says whether it would be "
            "another without them. `bais trial ID` shows one, `bais withdraw ID --why ...` takes one out, and `bais "
            "release ID --why ...` clears one."
        )


def _sentences():
    """Return what each flag means, in words."""
    with (ROOT / "seeds" / "flag_reasons.csv").open(encoding="utf-8", newline="") as file:
        return {row["reason"]: row["sentence"] for row in csv.DictReader(file)}


def _is_fine(verdict):
    """Whether there is nothing to look at in a batch."""
    has_nothing = not (verdict["checks"] or verdict["n_quarantined"] or verdict["n_suspect"])
    return verdict["verdict"] == "passed" and has_nothing and _published(verdict) == "yes"


def _say_table(verdicts):
    counted = [what for what in ("trials", "scores") if any(_holds(verdict) == what for verdict in verdicts)]
    names = ["batch", *counted, "verdict", "quarantined", "suspect", "published"]
    rows = [
        (
            verdict["batch_id"],
            *(verdict["n_trials"] if _holds(verdict) == what else None for what in counted),
            verdict["verdict"].replace("_", " "),
            verdict["n_quarantined"],
            verdict["n_suspect"],
            _published(verdict),
        )
        for verdict in verdicts
    ]
    say_rows("table", names, rows, null="", spare=("suspect", "quarantined"))


def _said_of_check(found, sentences):
    """Say what is wrong, in how many trials, how far beyond what is allowed, and one example."""
    of = found["n_offending"]
    how_many = f", {of:,} {'trial' if of == 1 else 'trials'}" if of else ""
    said = [f"{'FAILED' if _has_failed(found) else 'warning'}, {found['check_name']}{how_many}"]
    if sentence := sentences.get(found["check_name"]):
        said[0] += f": {sentence[0].lower() if sentence[1].islower() else sentence[0]}{sentence[1:]}"
    measure, _, over = found["measure"].partition(" over ")
    if found["observed_value"] is None:
        said.append("Nothing could be observed")
    elif measure == "share":
        share = f"{100 * found['observed_value']:.3g} %"
        where = OF_WHAT.get(over, "That is {} of the {}").format(share, over)
        allowed = "none is" if found["threshold"] == 0 else f"at most {100 * float(found['threshold']):.3g} % are"
        said.append(f"{where}; {allowed} allowed")
    if found["detail"]:
        said.append(f"For example: {found['detail']}")
    if found["sample"]:
        said.append(f"`bais trial {found['sample'][0][:SHORT_ID]}` shows one")
    return ". ".join(part.removesuffix(".") for part in said) + "."


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
