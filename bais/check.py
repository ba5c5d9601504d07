"""`bais check`, `accept`, `reject` and `release`: what the gate says of batches, and what people decide."""

import csv
import re
from collections import Counter

import click

from bais.age import say_if_old
from bais.options import json_option, signed, strict
from bais.sources import unread_lines
from bais.terminal import say, say_each, say_json, say_rows, working
from bais.warehouse import is_public, opened, records
from bais.withdraw import flagged
from ingest.warehouse import ROOT, printable

VERDICTS = {"failed": "failed", "passed_with_warnings": "passed with warnings", "passed": "passed"}
ANCHORED = {"none": "no anchor", "low": "a low anchor", "high": "a high anchor"}
# what is wrong with a batch rather than with single trials of it, which `seeds/flag_reasons.csv` puts in words
OF_BATCHES = {
    "missing_target": "Answers that could have been given have no log-probability",
    "scorings_disagree": "Two scorings of the same prompt do not agree",
    "no_baseline": "An LLM has anchored trials and no unanchored ones to hold them against",
    "no_answer": "None of the trials has an answer",
    "removed_rows": "Rows that were published of this vignette before are not in what was loaded now",
    "removed_llms": "LLMs that were published of this vignette before are not in what was loaded now",
    "unparsed_of_batch": "Too many replies of a batch lack the number, choice, label or text that was asked for, or "
    "give several",
    "below_minimum": "Fewer answers of a cell can be used than the study asks for",
    "rerun_until_enough": "A cell was asked again and again until the smallest number of answers was reached, so that "
    "what made the other answers fail may have chosen the ones that are left",
}

OTHERWISE = """
select study, coalesce(domain, paradigm) as domain, coalesce(llm, 'all') as llm, technique, goal, control, decision
from inference.decisions
where list_contains(string_split(reason, '; '), $code) and decision is not null order by all
"""

UNPROVEN = """
select study, count(*) as n, list(distinct vignette order by vignette) as vignettes from raw.trials
where source = 'recorded' and prompt_hash is null and list_contains($studies, study) group by study order by study
"""

SUSPECTS, READINGS = "hangs_on_suspect_rows", "reading_would_change"
WITHOUT = {
    SUSPECTS: "without the answers that the gate doubts (`raw.flagged_trials` has them, each with its reason)",
    READINGS: "with the recorded numbers in place of what the texts state",
}


@click.command()
@click.option("--batch", metavar="ID", help="audit this batch anew, and say what is wrong with it")
@click.option("--all", "every", is_flag=True, help="audit every batch anew, and list decisions that differ by reading")
@json_option(", with every check that is not met")
@strict
def check(batch: str | None, every: bool, as_json: bool, strict: bool) -> int:
    """Audit, and say what the gate says of each batch; exit 6 if one failed and nobody decided of it since."""
    from ingest.gate.acts import last_verdicts
    from ingest.gate.audit import FAILED, audit

    if batch and every:
        raise click.UsageError("--batch is one batch and --all is every one: give one of the two")
    with working("auditing"):
        if every:
            audit([verdict["batch_id"] for verdict in last_verdicts()])
        audited = audit([batch] if batch else None)
    if batch and audited:
        batch = audited[0].batch_id
    verdicts = [verdict for verdict in last_verdicts() if batch in (None, verdict["batch_id"])]
    if as_json:
        say_json(verdicts)
    elif verdicts:
        _say_verdicts(verdicts, in_full=bool(batch))
        _say_unread({verdict["study"] for verdict in verdicts})
        _say_unproven({verdict["study"] for verdict in verdicts})
        if not batch:
            _say_what_hangs(SUSPECTS)
        if every:
            _say_what_hangs(READINGS)
    else:
        say("There is no batch yet: collect a study, import an archive, or score an LLM.")
    open_verdicts = {verdict["verdict"] for verdict in verdicts if _waits(verdict)}
    if "failed" in open_verdicts:
        return FAILED
    return 1 if strict and open_verdicts - {"passed"} else 0


def _say_verdicts(verdicts, in_full):
    """Say how many batches passed, list those with something to know of, what is wrong, and what to do next."""
    _say_how_many(verdicts)
    shown = [
        batch
        for batch in verdicts
        if in_full or batch["checks"] or batch["verdict"] != "passed" or _published(batch) != "yes"
    ]
    if shown:
        print()
        _list_batches(shown)
    wrong = {}
    for verdict in shown:
        has_failed = {finding["check_name"] for finding in verdict["checks"] if _has_failed(finding)}
        for finding in verdict["checks"] if in_full or not verdict["is_replaced"] else ():
            is_warning, name = not _has_failed(finding), finding["check_name"]
            if not (is_warning and name in has_failed):  # what fails a batch is above the threshold of its warning too
                wrong.setdefault((is_warning, name), []).append((verdict, finding))
    for (is_warning, name), pairs in sorted(wrong.items(), key=lambda item: item[0]):
        print()
        _say_wrong("warning" if is_warning else "FAILED", name, pairs)
    _say_next(shown, bool(wrong))


def _say_how_many(verdicts):
    counts = Counter(verdict["verdict"] for verdict in verdicts)
    parts = [f"{counts[code]:,} {words}" for code, words in VERDICTS.items() if counts[code]]
    flags = (("n_quarantined", "kept out of the public tables"), ("n_suspect", "marked as suspect"))
    sums = [(sum(verdict[column] for verdict in verdicts), what) for column, what in flags]
    flagged = [f"{n:,} {what}" for n, what in sums if n]
    singles = f" Of single trials, {' and '.join(flagged)}." if flagged else ""
    say(f"{len(verdicts):,} batch{'' if len(verdicts) == 1 else 'es'}: {', '.join(parts)}.{singles}")


def _say_unread(studies):
    """Say what of the studies could not be read, and is in no batch."""
    from analysis.words.headlines import sentences_on_unread

    with opened() as warehouse:
        unread = [row for row in unread_lines(warehouse) if row["study"] in studies]
    for sentence in sentences_on_unread(unread):
        print()
        say(sentence)


def _say_unproven(studies):
    """Say of how many recorded trials of the studies nothing tells what was asked."""
    with opened() as warehouse:
        rows = records(warehouse, UNPROVEN, {"studies": sorted(studies)})
    for row in rows:
        vignettes = ", ".join(map(printable, row["vignettes"]))
        print()
        say(
            f"Of {row['n']:,} recorded trials of {printable(row['study'])} ({vignettes}) neither the prompt nor a "
            "hash of it is kept: nothing tells whether they were asked what their labels say."
        )


def _list_batches(verdicts):
    there = {verdict["is_scored"] for verdict in verdicts}
    counted = {is_scored: what for is_scored, what in ((False, "trials"), (True, "scores")) if is_scored in there}
    names = ["batch", *counted.values(), "verdict", "published", "kept\nout", "suspect"]
    rows = []
    for verdict in verdicts:
        counts = (verdict["n_trials"] if verdict["is_scored"] == is_scored else None for is_scored in counted)
        state = (VERDICTS[verdict["verdict"]], _published(verdict), verdict["n_quarantined"], verdict["n_suspect"])
        rows.append((verdict["batch_id"], *counts, *state))
    say_rows("table", names, rows, null="", spare=(len(names) - 1, len(names) - 2))


def _say_wrong(word, name, pairs):
    """Say what is wrong in a check's own words, in how many trials, with an example, and how to see one."""
    say(f"{word}, {name}: {words_of_checks()[name]}.")
    unseen = [verdict["batch_id"] for verdict, finding in pairs if finding["observed_value"] is None]
    say_each((f"In {name} nothing was observed: the gate itself has failed there." for name in unseen), indent="  ")
    pairs = [(verdict, finding) for verdict, finding in pairs if finding["observed_value"] is not None]
    if not pairs:
        return
    verdict, worst = max(pairs, key=lambda pair: (_has_failed(pair[1]), pair[1]["observed_value"]))
    n = sum(finding["n_offending"] for _, finding in pairs)
    where = f"in {len(pairs):,} batches, most of all in " * (len(pairs) > 1) + verdict["batch_id"]
    share = ""
    if worst["measure"].startswith("share") and worst["threshold"]:
        ends = (worst["observed_value"], worst["threshold"])
        part, allowed = (f"{end:.1%}".replace(".0%", "%").replace("%", " %") for end in ends)
        place = "its worst cell" if worst["measure"].endswith("cell") else "its rows"
        share = f" ({part} of {place}, where {allowed} would pass)"
    say(f"{n:,} found, {where}{share}.", indent="  ")
    if worst["detail"]:
        say(f"For example: {_in_full(worst['detail'])}.", indent="  ")
    if worst["sample"] and not verdict["is_scored"]:
        say(f"To see {'it' if n == 1 else 'one of them'}: `bais trial {worst['sample'][0]}`.", indent="  ")


def _in_full(detail):
    """Write which cell a finding is of in words: `a/b sacd high: 3 of 4`."""
    if not (cell := re.fullmatch(r"(\S+/\S+) (\S+) (\S+): (.+)", detail)):
        return detail.rstrip(".")
    llm, technique, under, finding = cell.groups()
    told = "a plain prompt" if technique == "no_technique" else technique
    return f"{llm} with {told} and {ANCHORED.get(under, under)}: {finding}".rstrip(".")


def _say_next(verdicts, is_wrong):
    """Say what to do of batches that failed, and how to look closer."""
    failed = [verdict for verdict in verdicts if verdict["verdict"] == "failed" and _waits(verdict)]
    reasons = _flag_reasons()
    if failed or is_wrong:
        print()
    for verdict in failed:
        batch_id = verdict["batch_id"]
        wrong = [finding["check_name"] for finding in verdict["checks"] if _has_failed(finding)]
        held = [name for name in wrong if reasons.get(name, {}).get("severity") == "quarantined"]
        release = "".join(f"`bais release --flag {name} --batch '{batch_id}' --why TEXT`, then " for name in held)
        say(f"Next, of {batch_id}, which is not published:")
        say_each(
            (
                "If its source can be mended, do so and import it again (with `--source` if the folder is another).",
                "If some trials are wrong, `bais withdraw --flag REASON --why TEXT` takes them out; then `bais check`.",
                f"If the answers are right, {release}`bais accept '{batch_id}' --why TEXT`.",
                f"If none of it is to be published, `bais reject '{batch_id}' --why TEXT`.",
            ),
            indent="  ",
        )
    if is_wrong:
        say(
            "A warning holds no batch back; single trials that cannot be right are kept out all the same. "
            "`bais check --batch BATCH` audits one batch anew and says all of it. `bais withdraw TRIAL --why TEXT` "
            "takes a trial out, `bais release TRIAL --why TEXT` clears it, or all of a kind with `--flag KIND --batch "
            "BATCH`."
        )


def words_of_checks() -> dict[str, str]:
    """Return what each check finds in a sentence without its end: of single trials, why they are flagged."""
    return {reason: row["sentence"] for reason, row in _flag_reasons().items()} | OF_BATCHES


def _flag_reasons():
    """Return the rows of seeds/flag_reasons.csv by their reason."""
    with (ROOT / "seeds" / "flag_reasons.csv").open(encoding="utf-8", newline="") as lines:
        return {row["reason"]: row for row in csv.DictReader(lines)}


def _say_what_hangs(code):
    """List the decisions that would be others for the reason of a code, of a warehouse that is built."""
    with opened() as warehouse:
        say_if_old(warehouse)
        rows = records(warehouse, OTHERWISE, {"code": code}) if is_public(warehouse, "decisions") else []
    if rows:
        print()
        say(f"Decisions that would be others {WITHOUT[code]}:")
        say_rows("table", list(rows[0]), [tuple(row.values()) for row in rows])


def _waits(verdict):
    """Whether nothing has come since the verdict on a batch: no decision, and no later version in its place."""
    return not (verdict["is_decided"] or verdict["is_older"] or verdict["is_replaced"])


def _published(verdict):
    """Say whether a batch is published, by whom if by a person, and what of it later versions displaced."""
    if verdict["is_older"]:
        return "no, older version"
    if verdict["is_replaced"] and not verdict["is_published"]:
        return "no, all of it in later versions"
    parts = ["yes" if verdict["is_published"] else "no", *[f"by {verdict['act']}"] * verdict["is_decided"]]
    parts += [f"{verdict[f'n_{fate}']:,} {fate}" for fate in ("superseded", "gone") if verdict[f"n_{fate}"]]
    return ", ".join(parts)


def _has_failed(finding):
    """Whether an unmet check fails its batch: by its level, or because the gate observed nothing."""
    return finding["level"] == "fail" or finding["observed_value"] is None


def _decides(act: str) -> click.Command:
    """Make the command by which a person decides something of a batch."""

    @click.command(act)
    @click.argument("batch_id", metavar="BATCH")
    @signed
    def command(batch_id: str, why: str, who: str | None) -> None:
        from ingest.gate.acts import decide, last_verdicts

        batch_id = decide(act, batch_id, why, who)
        n_out = sum(verdict["n_quarantined"] for verdict in last_verdicts() if verdict["batch_id"] == batch_id)
        kept_out = f", but for {n_out:,} of its trials that stay out until they are released" if n_out else ""
        say(f"{act}: {batch_id}{kept_out if act == 'accept' else ''}. `bais build` derives the tables anew.")

    return command


accept, reject = _decides("accept"), _decides("reject")


@click.command()
@click.argument("trial_id", required=False, metavar="[TRIAL]")
@click.option("--flag", metavar="KIND", help="all that their last audits flag for this, such as another_unit")
@click.option("--batch", metavar="BATCH", help="with --flag: only trials of this batch")
@signed
def release(trial_id: str | None, flag: str | None, batch: str | None, why: str, who: str | None) -> None:
    """Clear a trial, or all that are flagged for something, of what the gate says of them."""
    from ingest.gate.acts import decide, decide_of_trials

    if (trial_id is None) == (flag is None) or (batch and not flag):
        raise click.UsageError("name a trial, or what trials are flagged for with --flag; --batch goes with --flag")
    if trial_id is not None:
        decide("release", trial_id, why, who)
    else:
        n_released = sum(decide_of_trials("release", flagged(flag, batch), why, who).by_study.values())
        trial_id = f"{n_released:,} trial{'' if n_released == 1 else 's'} flagged for {flag}"
    say(f"release: {trial_id}. `bais build` derives the tables anew.")
