"""`bais check`, `accept`, `reject` and `release`: what the gate says of batches, and what people decide."""

import re
from collections import Counter
from typing import NamedTuple

import click

from analysis.words.codes import listed
from bais.age import say_if_old
from bais.options import json_option, refuse_together, signed, strict
from bais.sources import unread_lines
from bais.terminal import fold, lay_out, pairs, reading_width, say, say_each, say_json, say_rows, working
from bais.warehouse import is_public, opened, records, refuse_unknown, tables_in
from bais.withdraw import flagged
from ingest.land.seeds import place_of, seed_rows
from ingest.warehouse import printable

MOST_LINES = 20  # of what is said of all batches
MOST_NAMED = 3  # batches that failed otherwise than others; lines of further kinds
HEADS = ["what is wrong", "trials", "batches", "LLMs", "for example"]
VERDICTS = {"failed": "failed", "passed_with_warnings": "passed with warnings", "passed": "passed"}
ANCHORED = {"none": "no anchor", "low": "a low anchor", "high": "a high anchor"}
# what is wrong with a batch rather than with single trials of it, which `seeds/flag_reasons.csv` puts in words; and
# what mends it
OF_BATCHES = {
    "missing_target": ("Answers that could have been given have no log-probability", "score that LLM again"),
    "scorings_disagree": ("Two scorings of the same prompt do not agree", "`bais reject BATCH` keeps one of them out"),
    "no_baseline": (
        "An LLM has anchored trials and no unanchored ones to compare them with",
        "`bais collect STUDY`, or an import, brings its trials without an anchor",
    ),
    "no_answer": ("None of the trials has an answer", "ask again, or `bais reject BATCH`"),
    "removed_rows": (
        "Rows that were published of this vignette before are not in what was loaded now",
        "import the whole source again",
    ),
    "removed_llms": (
        "LLMs that were published of this vignette before are not in what was loaded now",
        "import the whole source again",
    ),
    "unparsed_of_batch": (
        "Too many replies of a batch lack the number, choice, label or text that was asked for, or give several",
        "`bais reread TRIAL --number N` puts a reading right",
    ),
    "below_minimum": (
        "Fewer answers of a cell can be used than the study asks for",
        "`bais collect STUDY` asks for the others",
    ),
    "other_name": (
        "The source keeps an LLM under the name of another one than was asked",
        "nothing to mend here: what was asked counts",
    ),
    "readings_apart": (
        "A list of what the source read in answers is shorter than that of the answers, so that its readings may stand "
        "beside others",
        "nothing to mend here: the texts are read, and not the lists",
    ),
    "rerun_until_enough": (
        "A cell was asked again and again until the smallest number of answers was reached, so that what made the "
        "other answers fail may have chosen the ones that are left",
        "nothing mends it",
    ),
}
MEND_SOURCE = "mend the source and import it again (with `--source` if the folder is another)"
# kinds of trials that a line in a seed mends
MENDED_IN = {"new_llm": "llms", "unknown_technique": "techniques", "unknown_vignette": "vignettes"}

OTHERWISE = """
select study, coalesce(domain, paradigm) as domain, coalesce(llm, 'all') as llm, technique, goal, control, decision
from inference.decisions
where list_contains(string_split(reason, '; '), $code) and decision is not null order by all
"""

UNPROVEN = """
select study, count(*) as n, list(distinct vignette order by vignette) as vignettes from raw.trials
anti join ({replaced}) using (trial_id)
where source = 'recorded' and prompt_hash is null and list_contains($studies, study) group by study order by study
"""

# of whom the flagged trials are, those of most trials first, and how many of them later versions have replaced
OF_WHOM = """
select flags.batch_id, reason, llm_recorded as llm, count(*) as n, count(replaced.trial_id) as n_replaced
from raw.flagged_trials as flags
semi join (select unnest($verdicts) as verdict_id) using (verdict_id)
inner join raw.trials using (trial_id)
left join ({replaced}) as replaced using (trial_id)
group by all order by n desc, llm
"""
# what is read otherwise than it was recorded, of batches that are published
DISAGREEMENTS = "from marts.parse_disagreements"
THEIR_TRIALS = f'`bais trials --where "trial_id in (select trial_id {DISAGREEMENTS})"`'
SOURCES = "select batch_id, source from raw.batches"
ALIASES = "select alias, llm from seeds.llm_aliases"

SUSPECTS, READINGS = "hangs_on_suspect_rows", "reading_would_change"
WITHOUT = {
    SUSPECTS: "without the answers that the gate doubts",
    READINGS: "with the recorded numbers in place of what the texts state",
}


class Kind(NamedTuple):
    """A kind of what is wrong: which check, whether it fails batches, each batch with its finding, and which LLMs.

    Batches and LLMs with most of it come first.
    """

    name: str
    has_failed: bool
    found: list
    llms: list

    @property
    def n(self):
        """How many trials, or scores, are wrong in this way."""
        return sum(finding["n_offending"] for _, finding in self.found)


@click.command()
@click.option("--batch", metavar="ID", help="audit this batch anew, and say all that is wrong with it")
@click.option("--kind", metavar="KIND", help="say all of one kind of what is wrong, such as refused, and what mends it")
@click.option(
    "--all", "every", is_flag=True, help="audit every batch anew, and list the decisions that hang on doubted answers"
)
@json_option(", with every check that is not met")
@strict
def check(batch: str | None, kind: str | None, every: bool, as_json: bool, strict: bool) -> int:
    """Audit, and say what is wrong, worst first, and what mends it; exit 6 if a batch failed that nobody decided of."""
    from ingest.gate.acts import last_verdicts
    from ingest.gate.audit import FAILED, audit

    refuse_together(
        ("--batch is one batch and --all is every one: give one of the two", batch and every),
        ("--kind is of all batches: give it without --batch", batch and kind),
    )
    with working("auditing"):
        if every:
            audit([verdict["batch_id"] for verdict in last_verdicts()])
        audited = audit([batch] if batch else None)
    if batch and audited:
        batch = audited[0].batch_id
    verdicts = [verdict for verdict in last_verdicts() if batch in (None, verdict["batch_id"])]
    if as_json:
        say_json(verdicts)
    elif not verdicts:
        say("There is no batch yet: collect a study, import an archive, or score an LLM.")
    elif batch:
        _say_batch(verdicts[0])
    elif kind:
        _say_kind(verdicts, kind)
    else:
        _say_all(verdicts)
        if every:
            _list_what_hangs()
    open_verdicts = {verdict["verdict"] for verdict in verdicts if _waits(verdict)}
    if "failed" in open_verdicts:
        return FAILED
    return 1 if strict and open_verdicts - {"passed"} else 0


def _say_all(verdicts):
    """Say in a screen what is wrong, worst first, how many batches passed, and what to do next."""
    with opened() as warehouse:
        sources = {row["batch_id"]: row["source"] for row in records(warehouse, SOURCES)}
        real = [verdict for verdict in verdicts if sources.get(verdict["batch_id"]) != "simulated"]
        counted = [*real, *(verdict for verdict in verdicts if verdict["verdict"] == "failed" and verdict not in real)]
        kinds = _kinds(warehouse, counted if real else verdicts)
        studies = {verdict["study"] for verdict in verdicts}
        beside = [*_on_unread(warehouse, studies), *_on_unproven(warehouse, studies), *_on_what_hangs(warehouse)]
    n_simulated = sum(bool(verdict["checks"]) for verdict in verdicts if verdict not in counted) if real else 0
    failed = [verdict for verdict in verdicts if verdict["verdict"] == "failed" and _waits(verdict)]
    before, width = [_how_many(verdicts, n_simulated), *_on_failed(failed, sources)], reading_width()
    for n in [*range(len(kinds), 1, -1), 1]:
        table, after = _table(kinds, n, width), [*before, *_on_mending(kinds[:n]), *beside]
        n_lines = len(table) + 1 + sum(len(fold(printable(sentence), width)) for sentence in after)
        if n_lines <= MOST_LINES:
            break
    if table:
        print("\n".join([*table, ""]))
    say_each(after)


def _kinds(warehouse, verdicts, in_full=False):
    """Return the kinds of what is wrong with batches: those that fail them first, then those of most trials.

    Of trials that later versions have replaced nothing is wrong any more, but in full.
    """
    from ingest.land.fates import replaced

    keys = {"verdicts": [verdict["verdict_id"] for verdict in verdicts]}
    of_whom = records(warehouse, OF_WHOM.format(replaced=replaced()), keys)
    meant = dict(warehouse.sql(ALIASES).fetchall()) if "llm_aliases" in tables_in(warehouse, "seeds") else {}
    n_replaced, wrong = Counter(), {}
    for row in of_whom:
        n_replaced[row["batch_id"], row["reason"]] += row["n_replaced"] * (not in_full)
    for verdict in verdicts:
        has_failed = {finding["check_name"] for finding in verdict["checks"] if _has_failed(finding)}
        for finding in verdict["checks"] if in_full or not verdict["is_replaced"] else ():
            is_warning, name = not _has_failed(finding), finding["check_name"]
            if n := n_replaced[verdict["batch_id"], name]:
                finding = finding | {"n_offending": finding["n_offending"] - n}
                if not finding["n_offending"]:
                    continue
            if not (is_warning and name in has_failed):  # what fails a batch is above the threshold of its warning too
                wrong.setdefault((name, not is_warning), []).append((verdict, finding))
    kinds = []
    for (name, has_failed), found in wrong.items():
        found.sort(key=lambda pair: -pair[1]["n_offending"])
        ids = {verdict["batch_id"] for verdict, _ in found}
        those = [row for row in of_whom if row["reason"] == name and row["batch_id"] in ids]
        llms = [row["llm"] for row in those if in_full or row["n"] > row["n_replaced"]]
        if not llms:  # of batches rather than of trials: the LLM of which most is said
            llms = [_llm_and_finding(finding["detail"])[0] for _, finding in found]
        kinds.append(Kind(name, has_failed, found, [*dict.fromkeys(meant.get(llm, llm) for llm in llms if llm)]))
    return sorted(kinds, key=lambda kind: (not kind.has_failed, -kind.n, kind.name))


def _llm_and_finding(detail):
    """Part a finding, such as `a/b sacd high: 3 of 4`, into the LLM that it may begin with, and what is said of it."""
    match = re.match(r"([^\s:,/]+/[^\s:,]+)[:,]? (.+)", detail or "", re.DOTALL)
    return match.groups() if match else (None, detail or "")


def _table(kinds, n, width):
    """Return the lines of a table of the first kinds, a line each, which ends with the names of the others."""
    if not kinds:
        return []
    rows = []
    for kind in kinds[:n]:
        verdict, finding = kind.found[0]
        trials = f"{kind.n:,}{' scores' if verdict['is_scored'] else ''}"
        llms = "".join(llm.rpartition("/")[2] for llm in kind.llms[:1]) + f" +{len(kind.llms) - 1}" * bool(
            kind.llms[1:]
        )
        example = re.sub(r"^\S+ (none|low|high): ", "", _llm_and_finding(finding["detail"])[1]).rstrip(".")
        example = "the gate itself failed" if finding["observed_value"] is None else example
        rows.append([f"{'FAILED ' * kind.has_failed}{kind.name}", trials, len(kind.found), llms, example])
    taken = [max(len(str(text)) for text in column) for column in zip(HEADS, *rows, strict=True)]
    room = max(width - sum(taken[:-1]) - 2 * len(taken[:-1]), len(HEADS[-1]))
    for row in rows:
        row[-1] = row[-1] if len(row[-1]) <= room else f"{row[-1][: room - 1]}…"
    lines = lay_out(HEADS, rows, width=width, null="", right=(1,)).splitlines()
    named = [f"{kind.name} ({kind.n:,})" for kind in kinds[n:]]
    for n_named in range(len(named), 0, -1):
        more = f" and {len(named) - n_named} more kinds" if n_named < len(named) else ""
        others = fold(f"and {', '.join(named[:n_named])}{more}", width)
        if len(others) <= MOST_NAMED:
            return lines + others
    return lines


def _how_many(verdicts, n_simulated):
    counts = Counter(verdict["verdict"] for verdict in verdicts)
    parts = [f"{counts[code]:,} {words}" for code, words in VERDICTS.items() if counts[code]]
    of_failed = [verdict["verdict"] == "failed" and not verdict["is_published"] for verdict in verdicts]
    kept_out = [v["n_trials"] if failed else v["n_quarantined"] for v, failed in zip(verdicts, of_failed, strict=True)]
    sums = [(sum(kept_out), "kept out"), (sum(verdict["n_suspect"] for verdict in verdicts), "suspect")]
    flagged = [f"{_counted(n, 'trial')} {what}" for n, what in sums if n]
    said = f"{_counted(len(verdicts), 'batch')}: {', '.join(parts)}{'; ' * bool(flagged)}{', '.join(flagged)}."
    withheld = Counter(_withheld(verdict) for verdict in verdicts if not (verdict["is_published"] or _waits(verdict)))
    others = [f"{n:,} ({why})" for why, n in withheld.items()]
    simulated = f" {n_simulated:,} with warnings are simulated, and not counted above." if n_simulated else ""
    return f"{said}{f' Not published: {listed(others)}.' if others else ''}{simulated}"


def _counted(n, noun):
    return f"{n:,} {noun if n == 1 else 'batches' if noun == 'batch' else f'{noun}s'}"


def _on_unread(warehouse, studies):
    """Yield what of the studies could not be read, and is in no batch."""
    from analysis.words.headlines import sentences_on_unread

    yield from sentences_on_unread([row for row in unread_lines(warehouse) if row["study"] in studies])


def _on_unproven(warehouse, studies):
    """Yield of how many recorded trials of the studies nothing tells what was asked."""
    from ingest.land.fates import replaced

    for row in records(warehouse, UNPROVEN.format(replaced=replaced()), {"studies": sorted(studies)}):
        yield (
            f"No prompt is kept of {row['n']:,} recorded trials of {row['study']} ({', '.join(row['vignettes'])}): "
            "nothing tells whether they were asked what their labels say."
        )


def _on_what_hangs(warehouse):
    """Yield how many decisions would be others without the answers that the gate doubts, if any is built."""
    if rows := _hanging(warehouse, SUSPECTS):
        domains = listed(dict.fromkeys(row["domain"] for row in rows))
        others, them = ("another", "it") if len(rows) == 1 else ("others", "them")
        n = _counted(len(rows), "decision")
        yield f"{n} in {domains} would be {others} {WITHOUT[SUSPECTS]}; `bais check --all` lists {them}."


def _hanging(warehouse, code):
    say_if_old(warehouse)
    return records(warehouse, OTHERWISE, {"code": code}) if is_public(warehouse, "decisions") else []


def _list_what_hangs():
    """List the decisions that hang on what the gate doubts, or on how texts are read."""
    with opened() as warehouse:
        for code, without in WITHOUT.items():
            if rows := _hanging(warehouse, code):
                print()
                say(f"Decisions that would be others {without}:")
                say_rows("table", list(rows[0]), [tuple(row.values()) for row in rows])


def _on_failed(failed, sources):
    """Yield by name which batches failed and wait, those that failed alike together, and what to do with them."""
    alike = {}
    for verdict in failed:
        names = [finding["check_name"] for finding in verdict["checks"] if _has_failed(finding)]
        alike.setdefault(tuple(names), []).append(verdict["batch_id"])
    for names, ids in list(alike.items())[:MOST_NAMED]:
        more = f" and {_counted(len(ids) - 1, 'batch')} alike" if len(ids) > 1 else ""
        yield f"FAILED, and not published: {ids[0]}{more} ({', '.join(names)})."
    if len(alike) > MOST_NAMED:
        others = sum(map(len, list(alike.values())[MOST_NAMED:]))
        yield f"FAILED too: {_counted(others, 'batch')}, which `bais check --json` names."
    if failed:
        names, ids = next(iter(alike.items()))
        batch = f"'{ids[0]}'" if len(failed) == 1 else "BATCH"
        severity = {name: _flag_reasons()[name]["severity"] for name in names if name in _flag_reasons()}
        severity = severity if len(alike) == 1 else {"KIND": "quarantined"}
        held = (name for name, how_bad in severity.items() if how_bad == "quarantined")
        release = "".join(f"`bais release --flag {name} --batch {batch} --why TEXT`, then " for name in held)
        yield f"If the answers are right: {release}`bais accept {batch} --why TEXT`."
        withdraw = "".join(f"`bais withdraw --flag {name} --why TEXT`, then " for name in severity)
        mending = {"recorded": MEND_SOURCE, "scored": "score again"}
        mended = dict.fromkeys(
            mending.get(sources.get(verdict["batch_id"]), f"{withdraw}`bais check`" if withdraw else "ask again")
            for verdict in failed
        )
        yield f"If they are wrong: {', or '.join(mended)}; or keep all out: `bais reject {batch} --why TEXT`."


def _on_mending(kinds):
    """Yield which command mends which kind, and how to see more."""
    if not kinds:
        return
    reasons, mends = _flag_reasons(), []
    if any(kind.name in reasons and kind.name not in MENDED_IN and not kind.has_failed for kind in kinds):
        mends.append(
            "Take wrong answers out: `bais withdraw --flag KIND --why TEXT`; clear right ones: `bais release --flag "
            "KIND --why TEXT`"
        )
    mends += [
        f"{kind.name}: {_mend(kind.name)}" for kind in kinds if kind.name not in reasons or kind.name in MENDED_IN
    ]
    yield "".join(f"{mend}. " for mend in mends) + "More: `bais check --kind KIND`, or `--batch BATCH`."


def _mend(name):
    """Say what mends a kind that is mended otherwise than trial by trial."""
    if name in MENDED_IN:
        return f"a line in {place_of(MENDED_IN[name])}, then `bais check --all`"
    return OF_BATCHES[name][1]


def _say_batch(verdict):
    """Say all of one batch."""
    counted = "scores" if verdict["is_scored"] else "trials"
    facts = {
        "batch": verdict["batch_id"], counted: verdict["n_trials"], "verdict": VERDICTS[verdict["verdict"]],
        "published": _published(verdict), "kept out": verdict["n_quarantined"], "suspect": verdict["n_suspect"],
    }  # fmt: skip
    print(pairs(facts.items(), width=reading_width()))
    with opened() as warehouse:
        sources = {row["batch_id"]: row["source"] for row in records(warehouse, SOURCES)}
        kinds = _kinds(warehouse, [verdict], in_full=True)
        beside = [*_on_unread(warehouse, {verdict["study"]}), *_on_unproven(warehouse, {verdict["study"]})]
    for kind in kinds:
        print()
        _say_wrong(kind)
    failed = [verdict] if verdict["verdict"] == "failed" and _waits(verdict) else []
    if sentences := [*_on_failed(failed, sources), *beside]:
        print()
        say_each(sentences)


def _say_kind(verdicts, name):
    """Say all of one kind of what is wrong."""
    with opened() as warehouse:
        sources = {row["batch_id"]: row["source"] for row in records(warehouse, SOURCES)}
        kinds = _kinds(warehouse, verdicts)
    refuse_unknown("kind", name, dict.fromkeys(kind.name for kind in kinds), none="none: nothing is wrong")
    for kind in kinds:
        if kind.name == name:
            _say_wrong(kind)
            if kind.llms:
                say(f"LLMs: {', '.join(kind.llms)}.", indent="  ")
            rows = [(verdict["batch_id"], finding["n_offending"]) for verdict, finding in kind.found]
            print()
            print(lay_out(["batch", "found"], rows, width=reading_width()))
            waiting = [verdict for verdict, _ in kind.found if kind.has_failed and _waits(verdict)]
            say_each(_on_failed(waiting, sources))


def _say_wrong(kind):
    """Say what is wrong in a check's own words, in how many trials, with an example, and what mends it."""
    name, found = kind.name, kind.found
    say(f"{'FAILED' if kind.has_failed else 'warning'}, {name}: {words_of_checks()[name]}.")
    unseen = [verdict["batch_id"] for verdict, finding in found if finding["observed_value"] is None]
    say_each((f"In {name} nothing was observed: the gate itself has failed there." for name in unseen), indent="  ")
    found = [(verdict, finding) for verdict, finding in found if finding["observed_value"] is not None]
    if not found:
        return
    verdict, worst = max(found, key=lambda pair: (_has_failed(pair[1]), pair[1]["observed_value"]))
    n = sum(finding["n_offending"] for _, finding in found)
    where = f"in {len(found):,} batches, most of all in " * (len(found) > 1) + verdict["batch_id"]
    share = ""
    if worst["measure"].startswith("share") and worst["threshold"]:
        ends = (worst["observed_value"], worst["threshold"])
        part, allowed = (f"{end:.1%}".replace(".0%", "%").replace("%", " %") for end in ends)
        place = "its worst cell" if worst["measure"].endswith("cell") else "its rows"
        share = f" ({part} of {place}, where {allowed} would pass)"
    say(f"{n:,} found, {where}{share}.", indent="  ")
    if worst["detail"]:
        say(f"For example: {_in_full(worst['detail'])}.", indent="  ")
    if name == "reading_differs":
        say(f'To see all, with both readings: `bais sql "{DISAGREEMENTS}"`; their answers: {THEIR_TRIALS}.', "  ")
    if worst["sample"] and not verdict["is_scored"]:
        say(f"To see {'it' if n == 1 else 'one of them'}: `bais trial {worst['sample'][0]}`.", indent="  ")
    if name in OF_BATCHES or name in MENDED_IN:
        say(f"What mends it: {_mend(name)}.", indent="  ")
    elif not kind.has_failed and not verdict["is_scored"]:
        batch = f" --batch '{verdict['batch_id']}'" if len(found) == 1 else ""
        say(
            f"If the answers are wrong: `bais withdraw --flag {name} --why TEXT`, or `bais withdraw TRIAL --why TEXT`.",
            "  ",
        )
        say(f"If they are right: `bais release --flag {name}{batch} --why TEXT`.", "  ")


def _in_full(detail):
    """Write which cell a finding is of in words: `a/b sacd high: 3 of 4`."""
    if not (cell := re.fullmatch(r"(\S+/\S+) (\S+) (\S+): (.+)", detail)):
        return detail.rstrip(".")
    llm, technique, under, finding = cell.groups()
    told = "a plain prompt" if technique == "no_technique" else technique
    return f"{llm} with {told} and {ANCHORED.get(under, under)}: {finding}".rstrip(".")


def words_of_checks() -> dict[str, str]:
    """Return what each check finds in a sentence without its end: of single trials, why they are flagged."""
    return {reason: row["sentence"] for reason, row in _flag_reasons().items()} | {
        name: sentence for name, (sentence, _) in OF_BATCHES.items()
    }


def _flag_reasons():
    """Return the rows of seeds/flag_reasons.csv by their reason."""
    return {row["reason"]: row for row in seed_rows("flag_reasons")}


def _waits(verdict):
    """Whether nothing has come since the verdict on a batch: no decision, and no later version in its place."""
    return not (verdict["is_decided"] or verdict["is_older"] or verdict["is_replaced"])


def _withheld(verdict):
    """Say why a batch is not published that does not wait."""
    if verdict["is_older"]:
        return "older version"
    return "rejected by a person" if verdict["is_decided"] else "all of it in later versions"


def _published(verdict):
    """Say whether a batch is published, by whom if by a person, and what of it later versions displaced."""
    if verdict["is_published"]:
        parts = ["yes", *["accepted by a person"] * verdict["is_decided"]]
    else:
        parts = ["no", *[_withheld(verdict)] * (not _waits(verdict))]
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
