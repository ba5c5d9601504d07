"""`bais trial` and `bais trials`: the single answers behind the numbers."""

import json
import sys
from itertools import islice

import click

from analysis.words.trials import notices
from bais import terminal
from bais.age import say_if_old
from bais.options import format_option, json_option
from bais.selection import PUBLIC, all_trials, conditions_explained, find_trial, meeting, refuse_unreadable
from bais.terminal import (
    BOLD,
    fixed,
    fold,
    lay_out,
    pairs,
    plain,
    reading_width,
    say,
    say_each,
    say_json,
    say_rows,
    styled,
    write_rows,
)
from bais.transcript import SPOKEN, mark, turns_of_calls, turns_of_line
from bais.warehouse import (
    IS_A_STUDY,
    interruptible,
    marts,
    opened,
    records,
    refuse_not_public,
    refuse_unknown,
    stream,
    unaliased,
    values,
)
from ingest.warehouse import UserError, printable, quoted, warehouse_path

STATUSES = ("answered", "refused", "unparsed", "out_of_range", "failed")
DIRECTIONS = ("none", "low", "high", "unknown")
ORDER = "source = 'simulated', study, domain, vignette, llm, technique, anchor_direction, trial_id"
NEWEST = """
select study from ({source}) where source != 'simulated' and {is_a_study}
group by study order by max(asked_at) desc nulls last, study limit 1
"""
MIXED = "trial_id"  # ids are hashes, so that the first ones are of various LLMs, techniques and anchors
SHOWN = 12
SHORT_ID = 10
LEAST = 8  # characters of a name in the list
OPENS, CLOSES = "\ue000", "\ue001"  # `printable` escapes them, so that no answer holds them

FLAGS = """
select reason, severity, null as sentence, detail, who as released_by, why as released_why
from raw.flagged_trials as flags
asof left join (from raw.gate_acts where object = 'trial' and act = 'release') as releases
    on flags.trial_id = releases.object_id and flags.ordinal <= releases.ordinal
where trial_id = $trial_id and verdict_id = $verdict_id order by reason
"""
CHECKS = """
select check_name, level, is_passed, detail, coalesce(list_contains(sample, $trial_id), false) as names_this_trial
from raw.batch_checks where verdict_id = $verdict_id order by check_name
"""
VERDICT = """
select verdicts.verdict, act, is_published, verdict_id, checked_at from ({published})
inner join raw.batch_verdicts as verdicts using (verdict_id) where verdicts.batch_id = $batch_id
"""
FILTERS = {
    # option: the column, what there is (None: what the trials have), and what the help says
    "study": ("study", None, "of this study"),
    "llm": ("llm", None, "of this LLM; vendor/name or an alias"),
    "technique": ("technique", None, "with this technique"),
    "domain": ("domain", None, "of this domain"),
    "direction": ("anchor_direction", DIRECTIONS, f"with an anchor of this direction: {', '.join(DIRECTIONS)}"),
    "status": ("status", STATUSES, f"that ended so: {', '.join(STATUSES)}"),
}


BECAME = (
    "fate", "published_batch_id", "superseded_by", "version_id", "version", "imported_at", "withdrawn", "reread",
)  # fmt: skip
DISPLACED = ("superseded", "gone")
NOT_OF_CALLS = ("trial_id", "study", "response_text", "_dlt_load_id", "call_id", "logprobs")


def _filters(command):
    for name, (_, _, what) in reversed(FILTERS.items()):
        command = click.option(f"--{name}", metavar=name.upper(), help=f"only trials {what}")(command)
    return command


@click.command()
@format_option(help=f"a table stops at {SHOWN} rows and has the main columns; the others have all")
@click.option("--where", metavar="SQL", help='a condition on marts.trials, such as "response > 100"')
@_filters
@click.option("--all", "with_held_back", is_flag=True, help="also what the gate keeps out of the public tables")
@click.option("--limit", type=int, metavar="N", help="at most so many rows")
def trials(form: str, where: str | None, with_held_back: bool, limit: int | None, **wanted: str | None):
    """List trials by a condition and by filters, read-only and without access to other files.

    A table without either is of the newest study in which an LLM was asked.
    """
    refuse_unreadable(where)
    if limit is not None and limit < 0:
        raise UserError(f"{limit} is no number of rows: give --limit at least 0")
    limit = SHOWN if limit is None and form == "table" else limit
    with marts() as warehouse:
        source = all_trials(warehouse) if with_held_back else PUBLIC
        newest = None
        if form == "table" and where is None and not any(wanted.values()):
            newest = next(iter(values(warehouse, NEWEST.format(source=source, is_a_study=IS_A_STUDY))), None)
            wanted["study"] = newest
        conditions = list(_conditions(warehouse, source, wanted))
        there = warehouse.sql(source)
        with conditions_explained():
            relation = meeting(there, conditions if where is None else [*conditions, where]).order(
                MIXED if newest else ORDER
            )
            total = None
            if limit is not None:
                ((total,),) = interruptible(warehouse, lambda: relation.aggregate("count(*)").fetchall())
            result = interruptible(warehouse, lambda: warehouse.execute(relation.sql_query()))
            # not in SQL: over a union DuckDB has been seen to forget a limit
            shown = islice(stream(warehouse, result), limit)
            if form != "table":
                write_rows(form, relation.columns, shown)
                return
            rows = [dict(zip(relation.columns, row, strict=True)) for row in shown]
    if simulated := sorted({row["study"] for row in rows if row["source"] == "simulated"}):
        say(f"SIMULATED respondents in {', '.join(simulated)}: no LLM was asked.")
    print(_table(rows, with_held_back))
    sys.stdout.flush()
    of_study = f" of {printable(newest)}, the newest real study" if newest else ""
    said = f"{total:,} trial{'' if total == 1 else 's'}{of_study}"
    if len(rows) < total:
        said = f"{'the first ' * (not newest)}{len(rows):,} of {said}; --limit N shows more, --format csv all"
    if rows:
        said += f"; `bais trial {printable(rows[0]['trial_id'][:SHORT_ID])}` shows one whole"
    print("\n".join(fold(said, reading_width())), file=sys.stderr)


def _conditions(warehouse, source, wanted):
    """Yield a condition for each filter that was given, once there are such trials."""
    if "@" not in (wanted["study"] or ""):
        yield IS_A_STUDY
    for option, (column, choices, _) in FILTERS.items():
        if (value := wanted[option]) is None:
            continue
        choices = choices or values(warehouse, f"select distinct {column} from ({source}) order by 1")
        if option == "study":
            refuse_not_public(warehouse, value, choices)
        if option == "llm" and (meant := unaliased(warehouse, value)) in choices:
            value = meant
        refuse_unknown(option.replace("llm", "LLM"), value, choices, none="none")
        yield f"{column} = {quoted(value)}"


def _table(rows, with_held_back):
    """Lay out the main columns: of one study the domain too, and why trials are held back where these are asked for."""
    studies, llms = ({row[name] for row in rows} for name in ("study", "llm"))
    short = {llm: llm.rpartition("/")[2] for llm in llms}
    short = short if len(set(short.values())) == len(short) else {llm: llm for llm in llms}
    names = {
        **({"study": [row["study"] for row in rows]} if len(studies) > 1 else {}),
        "LLM": [short[row["llm"]] for row in rows],
        **({"domain": [row["domain"] for row in rows]} if len(studies) < 2 and not with_held_back else {}),
        "technique": [row["technique"] for row in rows],
    }
    columns = {
        "trial": [row["trial_id"][:SHORT_ID] for row in rows],
        **names,
        "anchor": [_joined(" ", _treatment(row) or "?", fixed(row["anchor_value"])) for row in rows],
        "answer": [_answer(row) for row in rows],
    }
    width, widest = reading_width(), max([LEAST, *(len(name or "") for of in names.values() for name in of)])
    while widest > LEAST and _width_of(columns) > width:
        widest -= 1
        columns |= {head: [_cut(name, widest) for name in of] for head, of in names.items()}
    if with_held_back:
        columns["held back"] = [row["held_back"] for row in rows]
        if any(row["reread"] for row in rows):
            columns["reread"] = [row["reread"] for row in rows]
    cells, right = list(zip(*columns.values(), strict=True)), [list(columns).index("answer")]
    return lay_out(list(columns), cells, width=width, null="", right=right)


def _width_of(columns):
    return sum(max(len(text or "") for text in [head, *of]) + 2 for head, of in columns.items()) - 2


def _cut(name, widest):
    return name if name is None or len(name) <= widest else f"{name[: widest - 1]}…"


def _joined(separator, *texts):
    return separator.join(filter(None, texts))


def _treatment(row):
    """Return the arm of a trial, in anchoring the direction of its anchor."""
    return row["arm"] or row["anchor_direction"]


def _answer(row):
    """Return the number of a trial, and how it ended where it did not end with an answer."""
    ended = None if row["status"] == "answered" and row["response"] is not None else row["status"]
    return _joined(", ", fixed(row["response"]), ended)


def _status(row):
    if row["arm"] and row["status"] == "answered":  # no baseline is asked for where there are arms
        return row["status"]
    reason = f" ({row['reason']})" if row["reason"] and row["reason"] != row["status"] else ""
    return f"{row['status'] or 'not derived'}{reason}"


@click.command()
@click.argument("trial_id", metavar="TRIAL_ID", help="or as much of its beginning as no other trial shares")
@json_option(", with everything that is kept")
def trial(trial_id: str, as_json: bool) -> None:
    """Show one trial, wherever it has come to."""
    with opened() as warehouse:
        say_if_old(warehouse)
        record = everything(warehouse, trial_id)
    if as_json:
        say_json(record)
    else:
        _print_trial(record)


def everything(warehouse, trial_name: str) -> dict:
    """Return all that the warehouse keeps of a trial, as JSON could hold it; of a table that is not built, nothing."""
    there = set(values(warehouse, "select table_schema || '.' || table_name from information_schema.tables"))
    if "raw.trials" not in there:
        raise UserError(f"the warehouse {warehouse_path()} holds no trials yet: import an archive, or collect a study")
    trial_id = find_trial(warehouse, trial_name)
    keys = {"trial_id": trial_id, "called": "@".join([trial_id, *trial_name.split("@")[1:]])}

    def rows(table, condition="trial_id = $trial_id"):
        return records(warehouse, f"from {table} where {condition}", keys) if table in there else []

    def first(*table_and_condition):
        return next(iter(rows(*table_and_condition)), {})

    kept = first("raw.trials")
    keys |= {name: kept[name] for name in ("batch_id", "study", "technique")}
    public, quarantined = (first(f"marts.{name}", "trial_id = $called") for name in ("trials", "quarantined_trials"))
    derived, disagreement = public or quarantined, first("marts.parse_disagreements", "trial_id = $called")
    became = _became(warehouse, there, keys)
    keys["batch_id"] = became["published_batch_id"] or kept["batch_id"]
    batch = first("raw.batches", "batch_id = $batch_id")
    read = first("intermediate.int_trials_read")

    def of(name):
        return next((row[name] for row in (derived, read, batch, kept) if row.get(name)), None)

    unit = of("response_unit")
    calls = rows("raw.calls", "trial_id = $trial_id order by turn, attempt, call_id")
    line = json.loads(kept["line"]) if kept["line"] else {}
    line = line if isinstance(line, dict) else {"line": line}
    keys["hashes"] = list({asked["prompt_hash"] for asked in calls or [kept] if asked["prompt_hash"]})
    of_messages = "study = $study and list_contains($hashes, prompt_hash) and prompt_kind = 'message'"
    prompts = {prompt["prompt_hash"]: prompt["text"] for prompt in rows("raw.prompts", of_messages)}
    if calls:
        turns = turns_of_calls(calls, prompts)
    else:
        of_text = read if read and kept["answer_kind"] else kept  # a line may have its option beside its text
        turns = turns_of_line(line, of_text["response_text"], prompts.get(kept["prompt_hash"]))
    first_number = (derived or kept)["first_response"]
    number = mark(turns, kept, unit, (derived or kept)["response_recorded"], first_number)
    number = became["reread"]["response"] if became["reread"] else number
    costs = [call["cost_usd"] for call in calls if call["error"] is None or call["cost_usd"] is not None]
    is_cost_known = calls and None not in costs

    def as_kept(*names):
        return {name: kept[name] for name in names}

    displaced = "withdrawn" if became["withdrawn"] else became["fate"] if became["fate"] in DISPLACED else None
    is_outdated = rows("intermediate.int_prompts_outdated", "batch_id = $batch_id and technique = $technique")
    withheld = "quarantined" if quarantined else "older_version" if is_outdated else "not_published"
    held_back = None if public else displaced or withheld
    became["is_still_in_tables"] = displaced is not None and bool(public) and keys["called"] == trial_id
    return {
        **as_kept("trial_id", "study", "source"), "is_simulated": kept["source"] == "simulated",
        "llm": of("llm") or kept["llm_recorded"], **as_kept("llm_recorded", "llm_returned"),
        "domain": of("domain"), **as_kept("vignette", "technique", "arm"), "anchor_direction": of("anchor_direction"),
        **as_kept("anchor_value", "temperature", "replicate", "protocol", "asked_at"),
        "response_unit": unit, "held_back": held_back, "became": became,
        "status": derived.get("status") or kept["status_recorded"],
        "reason": public["reason"] if public else held_back,
        "response": public.get("response"), "number": number, "first_response": first_number,
        "text_kept": of("text_kept"),
        "baseline": derived.get("baseline"), "percent_of_baseline": public.get("percent_of_baseline"),
        "turns": turns, "calls": [
            {name: plain(value) for name, value in call.items() if name not in NOT_OF_CALLS}
            | {"parameters": json.loads(call["parameters"]) if call["parameters"] else None}
            for call in calls
        ],
        "cost_usd": sum(costs) if is_cost_known else None,
        "cost_reason": None if is_cost_known else "price_not_known" if calls else "calls_not_recorded",
        "gate": _gate(warehouse, rows, keys), "parse_disagreement": disagreement or None,
        **as_kept("batch_id", "archive", "source_file", "source_line"), "line": line or None,
    }  # fmt: skip


def _became(warehouse, there, keys):
    """Return what later versions of its source and people made of a trial."""
    from ingest.land.fates import fates, rereadings
    from ingest.land.models import query_of

    became = dict.fromkeys(BECAME)
    if "raw.source_versions" not in there:
        return became
    acts = {"fate": fates(), "withdrawn": query_of("stg_withdrawn_trials"), "reread": rereadings(warehouse)}
    for name, query in acts.items():
        for row in records(warehouse, f"select * exclude (trial_id) from ({query}) where trial_id = $trial_id", keys):
            became |= row if name == "fate" else {name: row}
    return became


def _gate(warehouse, rows, keys):
    """Return what the gate says of the trial's batch, and of the trial."""
    from ingest.land.models import query_of

    if not rows("raw.batch_verdicts", "batch_id = $batch_id"):
        return None
    (verdict,) = records(warehouse, VERDICT.format(published=query_of("stg_batch_verdicts")), keys)
    keys["verdict_id"] = verdict["verdict_id"]
    sentences = {row["reason"]: row["sentence"] for row in rows("seeds.flag_reasons", "true")}
    flags = [flag | {"sentence": sentences.get(flag["reason"])} for flag in records(warehouse, FLAGS, keys)]
    return verdict | {"flags": flags, "n_reasons": len(sentences), "checks": records(warehouse, CHECKS, keys)}


def _print_trial(record):
    say(f"Trial {record['trial_id']}{' (SIMULATED: no LLM was asked)' if record['is_simulated'] else ''}")
    say_each(notices(record))
    print()
    as_recorded = f" (recorded as {record['llm_recorded']})" if record["llm"] != record["llm_recorded"] else ""
    unit = f" {record['response_unit']}" if record["response_unit"] else ""
    treatment = _treatment(record) or "direction not known"
    _print_known(
        ("study", f"{record['study']} ({record['source']})"),
        ("LLM", record["llm"] + as_recorded),
        ("case", f"{record['vignette']} ({record['domain'] or 'domain not known'})"),
        ("technique", record["technique"]),
        ("arm" if record["arm"] else "anchor", _joined(", ", treatment, fixed(record["anchor_value"], unit=unit))),
        ("temperature", fixed(record["temperature"])),
        ("replicate", record["replicate"]),
        ("asked", fixed(record["asked_at"], "%Y-%m-%d %H:%M:%S", unit=" UTC")),
        ("protocol", record["protocol"]),
    )
    print()
    none = f"none ({record['reason'] or 'not given'})"
    response = fixed(record["response"], unit=unit) or fixed(record["number"], unit=f"{unit}, which does not count")
    _print_known(
        ("status", _status(record)),
        ("response", response or none),
        ("first response", fixed(record["first_response"], unit=unit)),
        ("baseline", None if record["arm"] else fixed(record["baseline"], unit=unit) or "none"),
        ("% of baseline", None if record["arm"] else fixed(record["percent_of_baseline"], ".1f", unit=" %") or none),
    )
    _print_transcript(record)
    _print_calls(record)
    _print_checks(record)
    from ingest.archives import is_of_rows

    print("\nWhere it comes from")
    of_what = "row" if is_of_rows(record["archive"]) else "line"
    recorded = {name: value for name, value in (record["line"] or {}).items() if name not in SPOKEN}
    _print_known(
        ("batch", record["batch_id"]),
        ("published by", record["became"]["published_batch_id"] if record["became"]["fate"] == "taken_over" else None),
        ("archive", record["archive"]),
        ("file", f"{record['source_file']}, {of_what} {record['source_line']}" if record["source_file"] else None),
        ("recorded line", json.dumps(recorded, ensure_ascii=False) if recorded else None),
        indent="  ",
    )


def _print_known(*named, indent=""):
    print(pairs(((name, value) for name, value in named if value is not None), indent))


def _print_transcript(record):
    print("\nTranscript")
    if not record["turns"]:
        kept = "the recording keeps no text of this trial" if record["source"] == "recorded" else "no text is kept"
        print(f"  none: {kept}")
        return
    if not any(turn["prompt"] for turn in record["turns"]):
        print("  The recording keeps the replies, not the prompts.")
    if record["text_kept"] == "cut":
        print("  Of the last reply it keeps only the beginning.")
    for turn in record["turns"]:
        step = f", {turn['step']}" if turn["step"] else ""
        attempt = f", attempt {turn['attempt']}" if (turn["attempt"] or 1) > 1 else ""
        print()
        print(printable(f"── turn {turn['turn']}{step}{attempt} ──"))
        if turn["prompt"]:
            print("asked:")
            print(_folded_text(turn["prompt"]))
        if turn["reply"] is None:
            print(f"no answer: {printable(turn['reason'])}")
            continue
        print("answered:")
        print(_folded_text(turn["reply"], turn["marks"]))
        number, read = turn.get("number"), turn.get("number_read")
        if number is not None and number != read:
            print(f"  (recorded as {number:g}; read anew, this text states {fixed(read) or 'no number'})")


def _folded_text(text, marks=()):
    """Lay out a text of several lines, harmless, indented and folded, with the marked places in brackets."""
    parts, at = [], 0
    for start, end in marks:
        parts += [_harmless(text[at:start]), OPENS, _harmless(text[start:end]), CLOSES]
        at = end
    parts.append(_harmless(text[at:]))
    width = terminal.terminal_width()
    lines = []
    for line in "".join(parts).split("\n"):
        lines += fold(line, max(width - 4, 20)) if width and line else [line]
    body = "\n".join(f"    {line}".rstrip() for line in lines)
    on, _, off = styled("|", BOLD).partition("|")
    return body.replace(OPENS, f"{on}»").replace(CLOSES, f"«{off}")


def _harmless(text):
    """Escape a text as `printable` does, and keep its lines."""
    return "\n".join(printable(line.replace("\t", "    ")) for line in text.replace("\r\n", "\n").split("\n"))


def _print_calls(record):
    print("\nCalls")
    if not record["calls"]:
        print("  none is recorded, so that the cost is not known")
        return
    rows = []
    for call in record["calls"]:
        model = _joined(" → ", *dict.fromkeys((call["requested_model"], call["returned_model"])))
        tokens = [call[name] for name in ("upstream_provider", "tokens_in", "tokens_out")]
        costs = [fixed(call["latency_s"], ".2f"), fixed(call["cost_usd"], ".6f")]
        end = call["error"] or call["finish_reason"] or ""
        rows.append([call["turn"] + 1, call["attempt"], model, *tokens, *costs, end])
    heads = ["turn", "try", "model", "provider", "tokens in", "tokens out", "s", "USD", "ended"]
    say_rows("table", heads, rows, null="?", right=(0, 1, 4, 5, 6, 7))
    total = fixed(record["cost_usd"], ".6f", unit=" USD") or "not known (price_not_known)"
    free = ", simulated calls cost nothing" if record["is_simulated"] else ""
    say(f"Total: {len(rows)} call{'' if len(rows) == 1 else 's'}, {total}{free}")


def _print_checks(record):
    print("\nChecks")
    gate, other = record["gate"], record["parse_disagreement"]
    if not gate:
        say("the batch has not been audited: `bais check`", "  ")
    else:
        decided = f", by {gate['act']}" if gate["act"] else ""
        published = f"{'published' if gate['is_published'] else 'not published'}{decided}"
        n_checks, unmet = len(gate["checks"]), [check for check in gate["checks"] if not check["is_passed"]]
        passed = f"{n_checks - len(unmet)} of {n_checks} checks passed"
        say(f"batch: {gate['verdict'].replace('_', ' ')}, {published}; {passed}", "  ")
        for check in unmet:
            here = ", found in this trial among others" if check["names_this_trial"] else ""
            say(f"not met: {check['check_name']} ({check['level']}){here}", "    ")
        for flag in gate["flags"]:
            sentence = flag["sentence"] or "no sentence is kept"
            detail = f" ({flag['detail']})" if flag["detail"] else ""
            released = f"; released by {flag['released_by']}: {flag['released_why']}" if flag["released_by"] else ""
            say(f"this trial: {flag['severity']}, {flag['reason']}: {sentence}{detail}{released}", "  ")
        if not gate["flags"]:
            say(f"this trial: passed all {gate['n_reasons']} checks of single trials", "  ")
    if other:
        kind, what, form = ("label", "option", "") if other["label_recorded"] else ("response", "number", "g")
        recorded, read = (fixed(other[f"{kind}_{how}"], form) or "none" for how in ("recorded", "reparsed"))
        say(f"the recorded {what} is {recorded}, the text states {read} ({other['status_reparsed']})", "  ")
