"""`bais trial` and `bais trials`: the single answers behind the numbers."""

import contextlib
import json
import os
import re
import sys

from ingest.warehouse import UserError, connect, explain, printable, warehouse_path

STATUSES = ("answered", "refused", "unparsed", "out_of_range", "failed")
DIRECTIONS = ("none", "low", "high", "unknown")
FORMATS = ("table", "csv", "json")
ORDER = "study, domain, vignette, llm, technique, anchor_direction, trial_id"
READS_ONLY_THE_WAREHOUSE = (
    "set python_enable_replacements = false; set enable_external_access = false; set lock_configuration = true"
)
SHOWN = 50
SHORT_ID = 10
MOST_LISTED = 10
MOST_NUMBERS = 200
OPENS, CLOSES = "\ue000", "\ue001"  # `printable` escapes them, so that no answer holds them
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

# What a recording calls the parts of a transcript; the rest of its line is shown as it is.
SPOKEN = ("turns", "raw", "iterationDetails")


def add_trial_commands(command):
    """Declare `bais trial` and `bais trials`.

    Parameters
    ----------
    command : callable
        From a name, what runs and a summary to the parser of a new subcommand.
    """
    one = command("trial", trial, "show one trial: what was asked, what was answered, and what became of it")
    one.add_argument("trial_id", metavar="TRIAL_ID", help="or as much of its beginning as no other trial shares")
    one.add_argument("--json", action="store_true", help="as JSON, with everything that is kept")
    many = command(
        "trials", trials, "list trials", choices=FORMATS,
        help=f"on a terminal a table stops at {SHOWN} rows and has the main columns; the others have all",
    )  # fmt: skip
    many.add_argument("--where", metavar="SQL", help='a condition on marts.trials, such as "response > 100"')
    for name, what in (
        ("study", "of this study"),
        ("llm", "of this LLM; vendor/name or an alias"),
        ("technique", "with this technique"),
        ("domain", "of this domain"),
        ("direction", f"with an anchor of this direction: {', '.join(DIRECTIONS)}"),
        ("status", f"that ended so: {', '.join(STATUSES)}"),
    ):
        many.add_argument(f"--{name}", metavar=name.upper(), help=f"only trials {what}")
    many.add_argument("--all", action="store_true", help="also what the gate keeps out of the public tables")
    many.add_argument("--limit", type=int, metavar="N", help="at most so many rows")


def trials(options):
    """List trials by a condition and by filters, read-only and without access to other files.

    Returns
    -------
    int
    """
    import duckdb

    from bais.terminal import paragraph as _paragraph
    from bais.terminal import terminal_width as _width
    from bais.terminal import write_rows
    from bais.warehouse import interruptible as _interruptible
    from bais.warehouse import marts as _marts
    from bais.warehouse import stream as _stream

    if options.where is not None and not _is_text(options.where):
        raise UserError("the condition is not UTF-8 text")
    if options.limit is not None and options.limit < 0:
        raise UserError(f"{options.limit} is no number of rows: give --limit at least 0")
    width = _width()
    is_table = options.format == "table"
    limit = options.limit if options.limit is not None else SHOWN if is_table and width is not None else None
    with _marts() as warehouse:
        conditions = _filters(warehouse, options)
        warehouse.execute(READS_ONLY_THE_WAREHOUSE)
        try:
            query = _query(warehouse, options, conditions)
            total = None
            if limit is not None:
                counted = _interruptible(warehouse, lambda: warehouse.execute(f"select count(*) from ({query})"))
                total = counted.fetchall()[0][0]
                query += f" limit {min(limit, total)}"
            result = _interruptible(warehouse, lambda: warehouse.execute(query))
            names = [column[0] for column in result.description]
            if not is_table:
                write_rows(options.format, names, _stream(warehouse, result))
                return 0
            rows = [dict(zip(names, row, strict=True)) for row in _stream(warehouse, result)]
        except duckdb.Error as error:
            raise UserError(_explain_condition(error)) from None
    simulated = sorted({row["study"] for row in rows if row["source"] == "simulated"})
    if simulated:
        print(_paragraph(f"SIMULATED respondents in {', '.join(simulated)}: no LLM was asked."))
    print(_table(rows, options.all, width))
    sys.stdout.flush()
    more = (
        f"the first {len(rows):,} of {total:,} trials; --limit N shows more, --format csv all"
        if total and len(rows) < total
        else ""
    )
    print(more or f"{len(rows):,} trial{'' if len(rows) == 1 else 's'}", file=sys.stderr)
    return 0


def _query(warehouse, options, conditions):
    """Write the query, after DuckDB has read the user's condition by itself, so that it can only be a condition."""
    from bais.warehouse import refuse_to_write as _refuse_to_write

    if options.where is not None:
        warehouse.sql(_source(options.all)).filter(options.where)
        conditions = [*conditions, f"(\n{options.where}\n)"]
    where = f" where {' and '.join(conditions)}" if conditions else ""
    query = f"select * from ({_source(options.all)}){where} order by {ORDER}"
    (statement,) = warehouse.extract_statements(query)
    _refuse_to_write(warehouse, statement)
    return query


def _filters(warehouse, options):
    from bais.warehouse import quoted as _quoted

    columns = {"study": "study", "technique": "technique", "domain": "domain"}
    found = []
    for option, column in columns.items():
        value = getattr(options, option)
        if value is not None:
            known = [
                row[0]
                for row in warehouse.execute(
                    f"select distinct {column} from ({_source(options.all)}) order by 1"
                ).fetchall()
            ]
            if value not in known:
                raise _unknown(option, value, known)
            found.append(f"{column} = {_quoted(value)}")
    if options.llm is not None:
        aliases = dict(warehouse.execute("select alias, llm from seeds.llm_aliases").fetchall())
        known = [
            row[0]
            for row in warehouse.execute(f"select distinct llm from ({_source(options.all)}) order by 1").fetchall()
        ]
        llm = aliases.get(options.llm, options.llm)
        if llm not in known:
            raise _unknown("LLM", options.llm, known)
        found.append(f"llm = {_quoted(llm)}")
    for option, column, known in (("direction", "anchor_direction", DIRECTIONS), ("status", "status", STATUSES)):
        value = getattr(options, option)
        if value is not None:
            if value not in known:
                raise _unknown(option, value, known)
            found.append(f"{column} = {_quoted(value)}")
    return found


def _unknown(what, named, known):
    from bais.terminal import similar as _similar

    there = ", ".join(printable(name) for name in known) or "none"
    return UserError(f"there is no {what} {printable(named)}{_similar(named, list(known))}; there is {there}")


def _source(with_held_back):
    """Return what is listed: the public trials, and with them those that are held back, with why."""
    if not with_held_back:
        return "select * from marts.trials"
    return """
        select *, null::varchar as held_back from marts.trials
        union all by name
        select
            *, null::double as response, null::double as percent_of_baseline, 'quarantined' as reason,
            'quarantined: ' || flag_reasons as held_back
        from (select * from marts.quarantined_trials)
        union all by name
        select
            trial_id, batch_id, trials.study, coalesce(aliases.llm, llm_recorded) as llm,
            coalesce(batches.domain, vignettes.domain, 'unknown') as domain, trials.vignette, technique,
            anchor_direction, anchor_value, temperature, status_recorded as status, response_recorded,
            trials.first_response, 'not_published' as reason, response_text, asked_at, trials.source,
            source_file, source_line,
            'its batch is not published, or not built yet' as held_back
        from raw.trials as trials
        anti join marts.trials as public using (trial_id)
        anti join marts.quarantined_trials as quarantined using (trial_id)
        left join seeds.llm_aliases as aliases on trials.llm_recorded = aliases.alias
        left join raw.batches as batches using (batch_id)
        left join seeds.vignettes as vignettes
            on trials.study = vignettes.study and trials.vignette = vignettes.vignette
    """


def _table(rows, with_held_back, width):
    """Lay out the main columns; on a narrow terminal without those that matter least."""
    from bais.terminal import lay_out

    columns = {
        "trial": [row["trial_id"] if width is None else row["trial_id"][:SHORT_ID] for row in rows],
        "study": [row["study"] for row in rows],
        "llm": [row["llm"] for row in rows],
        "domain": [row["domain"] for row in rows],
        "technique": [row["technique"] for row in rows],
        "anchor": [_anchor(row) for row in rows],
        "T": [None if row["temperature"] is None else f"{row['temperature']:g}" for row in rows],
        "response": [None if row["response"] is None else f"{row['response']:g}" for row in rows],
        "% of baseline": [
            None if row["percent_of_baseline"] is None else f"{row['percent_of_baseline']:.1f}" for row in rows
        ],
        "status": [_status(row) for row in rows],
    }
    if with_held_back:
        columns["held back"] = [row["held_back"] for row in rows]

    def laid_out(width=None):
        right = [i for i, name in enumerate(columns) if name in ("T", "response", "% of baseline")]
        return lay_out(list(columns), list(zip(*columns.values(), strict=True)), width=width, null="", right=right)

    for name in ("study", "T", "% of baseline", "domain"):
        if width is None or max(map(len, laid_out().splitlines())) <= width:
            break
        if len(set(columns[name])) == 1 or name != "study":
            del columns[name]
    if width is not None and max(map(len, laid_out().splitlines())) > width:
        columns["llm"] = [row["llm"].rpartition("/")[2] for row in rows]
    return laid_out(width)


def _status(row):
    reason = row["reason"] if row["reason"] not in (row["status"], None) else None
    return f"{row['status'] or 'not derived'}{f' ({reason})' if reason else ''}"


def _anchor(row):
    direction = row["anchor_direction"] or "?"
    return direction if row["anchor_value"] is None else f"{direction} {row['anchor_value']:g}"


def _explain_condition(error):
    """Keep DuckDB's first line, and say what a condition is where it is none."""
    said = printable(str(error).strip().splitlines()[0])
    if "modifiers" in said or "expression list" in said or "single expression" in said:
        return f"the condition must be one SQL expression, without order by, limit or a second statement ({said})"
    if "disabled by configuration" in said:
        return f"the condition reads the warehouse and no other file ({said})"
    return f"the condition is not understood: {said}; `bais tables trials` lists the columns"


def trial(options):
    """Show one trial, wherever it has come to.

    Returns
    -------
    int
    """
    import duckdb

    from bais.terminal import plain as _plain

    with contextlib.closing(connect()) as warehouse:
        try:
            found = _everything(warehouse, _find(warehouse, options.trial_id))
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            missing = printable(str(error).splitlines()[0])
            raise UserError(
                f"the warehouse {warehouse_path()} is not what this version builds ({missing}): run `bais build`"
            ) from None
        except duckdb.Error as error:
            raise UserError(explain(error, warehouse_path())) from None
    if options.json:
        print(json.dumps(_plain(found), indent=2, ensure_ascii=sys.stdout.isatty()))
    else:
        _print_trial(found)
    return 0


def _find(warehouse, asked):
    """Return the id that begins as asked, if it is the only one."""
    if not _has(warehouse, "raw", "trials"):
        raise UserError(f"the warehouse {warehouse_path()} holds no trials yet: import an archive, or collect a study")
    query = "select trial_id from raw.trials where {} order by trial_id limit ?"
    if not asked or not _is_text(asked):
        raise UserError("say which trial: `bais trials` lists them")
    exact = warehouse.execute(query.format("trial_id = ?"), [asked, 1]).fetchall()
    found = exact or warehouse.execute(query.format("starts_with(trial_id, ?)"), [asked, MOST_LISTED + 1]).fetchall()
    ids = [row[0] for row in found]
    if not ids:
        raise UserError(f"there is no trial {printable(asked)}: `bais trials` lists them")
    if len(ids) > 1:
        more = ", and more" if len(ids) > MOST_LISTED else ""
        raise UserError(
            f"{printable(asked)} begins several trials: {', '.join(map(printable, ids[:MOST_LISTED]))}{more}"
        )
    return ids[0]


def _is_text(typed):
    return not any("\ud800" <= c <= "\udfff" for c in typed)


def _has(warehouse, schema, name):
    return bool(
        warehouse.execute(
            "select 1 from information_schema.tables where table_catalog = current_database() "
            "and table_schema = ? and table_name = ?",
            [schema, name],
        ).fetchall()
    )


def _everything(warehouse, trial_id):
    """Return all that the warehouse keeps of a trial, as JSON could hold it."""
    from bais.warehouse import records as _records

    def rows(table, condition="trial_id = $id", more="", **parameters):
        schema, name = table.split(".")
        if not _has(warehouse, schema, name):
            return []
        return _records(warehouse, f"from {table} where {condition} {more}", parameters or {"id": trial_id})

    def first(*arguments, **parameters):
        return next(iter(rows(*arguments, **parameters)), {})

    kept = first("raw.trials")
    public, quarantined = first("marts.trials"), first("marts.quarantined_trials")
    derived = public or quarantined
    alias = first("seeds.llm_aliases", "alias = $alias", alias=kept["llm_recorded"])
    batch = first("raw.batches", "batch_id = $batch", batch=kept["batch_id"])
    vignette = first(
        "seeds.vignettes", "study = $study and vignette = $vignette", study=kept["study"], vignette=kept["vignette"]
    )
    unit = derived.get("response_unit") or batch.get("response_unit") or vignette.get("response_unit")
    calls = rows("raw.calls", more="order by turn, attempt, call_id")
    prompts = {
        row["prompt_hash"]: row["text"]
        for row in rows(
            "raw.prompts", "study = $study and list_contains($hashes, prompt_hash) and prompt_kind = 'message'",
            study=kept["study"], hashes=list({call["prompt_hash"] for call in calls if call["prompt_hash"]}),
        )
    } if calls else {}  # fmt: skip
    line = json.loads(kept["line"]) if kept["line"] else {}
    line = line if isinstance(line, dict) else {"line": line}
    number = derived.get("response_recorded") if derived else kept["response_recorded"]
    first_number = derived.get("first_response") if derived else kept["first_response"]
    turns = _turns_of_calls(calls, prompts) if calls else _turns_of_line(line, kept)
    number = _mark(turns, kept, unit, number, first_number)
    costs = [call["cost_usd"] for call in calls if call["error"] is None or call["cost_usd"] is not None]
    return {
        "trial_id": trial_id, "study": kept["study"], "source": kept["source"],
        "is_simulated": kept["source"] == "simulated",
        "llm": derived.get("llm") or alias.get("llm") or kept["llm_recorded"],
        "llm_recorded": kept["llm_recorded"], "llm_returned": kept["llm_returned"],
        "domain": derived.get("domain") or batch.get("domain") or vignette.get("domain"), "vignette": kept["vignette"],
        "technique": kept["technique"], "anchor_direction": derived.get("anchor_direction") or kept["anchor_direction"],
        "anchor_value": kept["anchor_value"], "temperature": kept["temperature"], "replicate": kept["replicate"],
        "protocol": kept["protocol"], "asked_at": kept["asked_at"], "response_unit": unit,
        "held_back": "quarantined" if quarantined else None if public else "not_published",
        "status": derived.get("status") or kept["status_recorded"],
        "reason": public.get("reason") if public else "quarantined" if quarantined else "not_published",
        "response": public.get("response"), "number": number, "first_response": first_number,
        "baseline": derived.get("baseline"), "percent_of_baseline": public.get("percent_of_baseline"),
        "turns": turns, "calls": [_of_call(call) for call in calls],
        "cost_usd": sum(costs) if calls and None not in costs else None,
        "cost_reason": "calls_not_recorded" if not calls else "price_not_known" if None in costs else None,
        "gate": _gate(warehouse, rows, kept), "parse_disagreement": first("marts.parse_disagreements") or None,
        "batch_id": kept["batch_id"], "archive": kept["archive"], "source_file": kept["source_file"],
        "source_line": kept["source_line"], "line": line or None,
    }  # fmt: skip


def _of_call(call):
    import math

    left_out = ("trial_id", "study", "response_text", "_dlt_load_id", "call_id", "logprobs")
    call = {name: value for name, value in call.items() if name not in left_out}
    call["parameters"] = json.loads(call["parameters"]) if call["parameters"] else None
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in call.items()}


def _turns_of_calls(calls, prompts):
    """One turn per call that brought a text, or that is the only one of its turn; a prompt is shown once."""
    turns, prompted = [], set()
    for call in calls:
        prompt = None if call["turn"] in prompted else prompts.get(call["prompt_hash"])
        prompted.add(call["turn"])
        step = call["step"] if call["step"] not in (None, "turn") else None
        turns.append(
            {
                "turn": call["turn"] + 1,
                "step": f"{step}, round {call['round']}" if step and call["round"] else step,
                "attempt": call["attempt"],
                "prompt": prompt,
                "reply": call["response_text"],
                "reason": None if call["response_text"] is not None else call["error"] or call["refusal"] or "no_text",
            }
        )
    return turns


def _turns_of_line(line, kept):
    """What a recording keeps of a transcript: all replies, those of SACD's iterations, the last one, or none."""
    turns = []
    if isinstance(line.get("turns"), list):
        turns = [{"reply": reply} for reply in line["turns"]]
    elif isinstance(line.get("iterationDetails"), list):
        for i, of in enumerate(line["iterationDetails"]):
            if isinstance(of, dict):
                turns += (
                    [{"step": f"analysis, round {i}", "reply": of["biasAnalysis"]}] if of.get("biasAnalysis") else []
                )
                turns.append(
                    {
                        "step": f"answer, round {i}" if i else "first answer",
                        "reply": of.get("rawResponse"),
                        "number": of["sentence"] if isinstance(of.get("sentence"), int | float) else None,
                    }
                )
    if kept["response_text"] is not None and kept["response_text"] not in [turn["reply"] for turn in turns]:
        turns.append({"step": "answer", "reply": kept["response_text"]})
    return [
        {"turn": i, "step": None, "attempt": None, "prompt": None, "reason": None}
        | turn
        | {
            "reply": turn["reply"]
            if isinstance(turn["reply"], str) or turn["reply"] is None
            else json.dumps(turn["reply"])
        }
        for i, turn in enumerate(turns, 1)
    ]


def _mark(turns, kept, unit, number, first_number):
    """Put into each turn where the number stands that was read in it.

    Returns
    -------
    float or None
        The number of the trial: the one that was recorded, else what is read in the answer.
    """
    answer = next((i for i in reversed(range(len(turns))) if turns[i]["reply"] == (kept["response_text"] or "")), None)
    first = next((i for i, turn in enumerate(turns) if turn["reply"] == (kept["first_text"] or "")), None)
    expected = {i: turn["number"] for i, turn in enumerate(turns) if turn.get("number") is not None and turn["reply"]}
    expected |= {i: n for i, n in ((first, first_number), (answer, number)) if i is not None}
    for turn in turns:
        turn["marks"] = []
    variants = {i: _variants(turns[i]["reply"]) for i in expected}
    readings = iter(_read([text for of in variants.values() for _, text in of], unit))
    for i, wanted in expected.items():
        of = [(at, next(readings)) for at, _ in variants[i]]
        reading, turns[i]["marks"] = _places(of, wanted)
        turns[i] |= {"number": wanted, "number_read": reading}
        if i == answer and number is None and kept["source"] != "recorded":
            number = reading
    return number


def _read(texts, unit):
    """Return the numbers that the models would read in texts."""
    import duckdb

    from ingest.responses import macros

    if not texts:
        return []
    quoted = "null::varchar" if unit in (None, "unknown") else "'" + unit.replace("'", "''") + "'"
    reading = macros()["read_response"]("text", quoted)
    with contextlib.closing(duckdb.connect(config={"threads": 1, "memory_limit": "256MB"})) as connection:
        rows = connection.execute(
            "with texts as (select unnest($texts::varchar[]) as text, unnest(range(len($texts))) as place) "
            f"select struct_extract({reading}, 'response') from texts order by place",
            {"texts": texts},
        ).fetchall()
    return [row[0] for row in rows]


def _variants(text):
    """Return a text as it is, and with each of its numbers, whose place goes with it, replaced by another."""
    found = list(NUMBER.finditer(text))[-MOST_NUMBERS:]
    return [(None, text), *((at, text[: at.start()] + _other(at[0]) + text[at.end() :]) for at in found)]


def _places(variants, expected):
    """Return what is read in a text, and where: a number is part of what is read if another in its place changes it.

    Where the text is read differently from what is expected, the last number equal to the expected one is taken.
    """
    (_, reading), *others = variants
    if reading is not None and (expected is None or abs(reading - expected) < 1e-9):
        return reading, [[at.start(), at.end()] for at, other in others if other != reading]
    same = [at for at, _ in others if expected is not None and _as_number(at[0]) in (expected, 1000 * expected)]
    return reading, [[at.start(), at.end()] for at in same[-1:]]


def _other(digits):
    return "".join(str(int(c) + 1 if c != "9" else 8) if c.isascii() and c.isdigit() else c for c in digits)


def _as_number(digits):
    with contextlib.suppress(ValueError):
        return (
            float(digits.replace(",", "")) if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits) else float(digits)
        )
    return None


def _gate(warehouse, rows, kept):
    """What the gate says of the trial's batch, and of the trial."""
    from bais.warehouse import records as _records
    from ingest.responses import macros

    if not _has(warehouse, "raw", "batch_verdicts") or not _has(warehouse, "raw", "gate_acts"):
        return None
    found = _records(
        warehouse,
        f"""
        with published as ({macros()["published_batches"]("raw.batch_verdicts", "raw.gate_acts")})
        select verdict, act, is_published, verdict_id, checked_at
        from published inner join raw.batch_verdicts using (verdict_id, verdict)
        where published.batch_id = $batch
        """,
        {"batch": kept["batch_id"]},
    )
    if not found:
        return None
    verdict = found[0]
    of = {"verdict": verdict["verdict_id"]}
    checks = rows("raw.batch_checks", "verdict_id = $verdict", "order by check_name", **of)
    reasons = {row["reason"]: row["sentence"] for row in rows("seeds.flag_reasons", "$id = $id")}
    releases = rows("raw.gate_acts", "object = 'trial' and act = 'release' and object_id = $id", "order by acted_at")
    flags = [
        {
            "reason": flag["reason"],
            "severity": flag["severity"],
            "sentence": reasons.get(flag["reason"]),
            "detail": flag["detail"],
            "released_by": next((act["who"] for act in releases if act["acted_at"] >= flag["flagged_at"]), None),
            "released_why": next((act["why"] for act in releases if act["acted_at"] >= flag["flagged_at"]), None),
        }
        for flag in rows(
            "raw.flagged_trials", "trial_id = $id and verdict_id = $verdict", "order by reason",
            id=kept["trial_id"], verdict=verdict["verdict_id"],
        )
    ]  # fmt: skip
    return verdict | {
        "flags": flags,
        "n_reasons": len(reasons),
        "checks": [
            {name: check[name] for name in ("check_name", "level", "is_passed", "detail")}
            | {"names_this_trial": kept["trial_id"] in (check["sample"] or [])}
            for check in checks
        ],
    }


def _print_trial(found):
    from bais.terminal import lay_out
    from bais.terminal import pairs as _pairs
    from bais.terminal import paragraph as _paragraph
    from bais.terminal import terminal_width as _width

    simulated = " (SIMULATED: no LLM was asked)" if found["is_simulated"] else ""
    print(_paragraph(f"Trial {found['trial_id']}{simulated}"))
    held = {
        "quarantined": "QUARANTINED: the gate keeps this trial out of the public tables.",
        "not_published": "NOT PUBLISHED: the trial's batch is not in the public tables.",
    }
    if found["held_back"]:
        print(_paragraph(held[found["held_back"]]))
    print()
    as_recorded = f" (recorded as {found['llm_recorded']})" if found["llm"] != found["llm_recorded"] else ""
    unit = f" {found['response_unit']}" if found["response_unit"] else ""
    anchor = found["anchor_direction"] or "direction not known"
    told = [
        ("study", f"{found['study']} ({found['source']})"),
        ("LLM", found["llm"] + as_recorded),
        ("case", f"{found['vignette']} ({found['domain'] or 'domain not known'})"),
        ("technique", found["technique"]),
        ("anchor", anchor if found["anchor_value"] is None else f"{anchor}, {found['anchor_value']:g}{unit}"),
        ("temperature", None if found["temperature"] is None else f"{found['temperature']:g}"),
        ("replicate", found["replicate"]),
        ("asked", None if found["asked_at"] is None else f"{found['asked_at']:%Y-%m-%d %H:%M:%S} UTC"),
        ("protocol", found["protocol"]),
    ]
    print(_pairs((name, value) for name, value in told if value is not None))
    print()
    why = f" ({found['reason']})" if found["reason"] and found["reason"] != found["status"] else ""
    number = found["response"] if found["response"] is not None else found["number"]
    is_public = found["response"] is not None
    outcome = [
        ("status", f"{found['status'] or 'not derived'}{why}"),
        ("response", None if number is None else f"{number:g}{unit}{'' if is_public else ', which does not count'}"),
        ("first response", None if found["first_response"] is None else f"{found['first_response']:g}{unit}"),
        ("baseline", "none" if found["baseline"] is None else f"{found['baseline']:g}{unit}"),
        ("% of baseline", None if found["percent_of_baseline"] is None else f"{found['percent_of_baseline']:.1f} %"),
    ]
    print(
        _pairs(
            (name, value or f"none ({found['reason'] or 'not given'})")
            for name, value in outcome
            if value or name in ("response", "% of baseline")
        )
    )
    _print_transcript(found)
    _print_calls(found, lay_out, _width(), _paragraph)
    _print_checks(found, _paragraph)
    print("\nWhere it comes from")
    place = f"{found['source_file']}, line {found['source_line']}" if found["source_file"] else None
    recorded = {name: value for name, value in (found["line"] or {}).items() if name not in SPOKEN}
    origin = [("batch", found["batch_id"]), ("archive", found["archive"]), ("file", place)]
    origin.append(("recorded line", json.dumps(recorded, ensure_ascii=False) if recorded else None))
    print(_pairs(((name, value) for name, value in origin if value), "  "))


def _print_transcript(found):
    print("\nTranscript")
    if not found["turns"]:
        kept = "the recording keeps no text of this trial" if found["source"] == "recorded" else "no text is kept"
        print(f"  none: {kept}")
        return
    if not any(turn["prompt"] for turn in found["turns"]):
        print("  The recording keeps the replies, not the prompts.")
    for turn in found["turns"]:
        step = f", {turn['step']}" if turn["step"] else ""
        attempt = f", attempt {turn['attempt']}" if (turn["attempt"] or 1) > 1 else ""
        print()
        print(printable(f"── turn {turn['turn']}{step}{attempt} ──"))
        if turn["prompt"]:
            print("asked:")
            print(_text(turn["prompt"]))
        print("answered:" if turn["reply"] is not None else f"no answer: {printable(turn['reason'])}")
        if turn["reply"] is not None:
            print(_text(turn["reply"], turn["marks"]))
            number, read = turn.get("number"), turn.get("number_read")
            if number is not None and number != read:
                stated = "no number" if read is None else f"{read:g}"
                print(f"  (recorded as {number:g}; read anew, this text states {stated})")


def _text(text, marks=()):
    """Lay out a text of several lines, harmless, indented and folded, with the marked places in brackets."""
    from bais.terminal import fold as _fold
    from bais.terminal import terminal_width as _width

    parts, at = [], 0
    for start, end in marks:
        parts += [printable_lines(text[at:start]), OPENS, printable_lines(text[start:end]), CLOSES]
        at = end
    parts.append(printable_lines(text[at:]))
    width = _width()
    lines = []
    for line in "".join(parts).split("\n"):
        lines += _fold(line, max(width - 4, 20)) if width and line else [line]
    is_bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    said = "\n".join(f"    {line}".rstrip() for line in lines)
    return said.replace(OPENS, "\x1b[1m»" if is_bold else "»").replace(CLOSES, "«\x1b[0m" if is_bold else "«")


def printable_lines(text):
    """Escape a text as `printable` does, and keep its lines.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    return "\n".join(printable(line.replace("\t", "    ")) for line in text.replace("\r\n", "\n").split("\n"))


def _print_calls(found, lay_out, width, paragraph):
    print("\nCalls")
    if not found["calls"]:
        print("  none is recorded, so that the cost is not known")
        return
    rows = [
        [
            call["turn"] + 1,
            call["attempt"],
            call["requested_model"]
            if call["returned_model"] in (None, call["requested_model"])
            else f"{call['requested_model']} → {call['returned_model']}",
            call["upstream_provider"],
            call["tokens_in"],
            call["tokens_out"],
            None if call["latency_s"] is None else f"{call['latency_s']:.2f}",
            None if call["cost_usd"] is None else f"{call['cost_usd']:.6f}",
            call["error"] or call["finish_reason"] or "",
        ]
        for call in found["calls"]
    ]
    heads = ["turn", "try", "model", "provider", "tokens in", "tokens out", "s", "USD", "ended"]
    print(lay_out(heads, rows, width=width, null="?", right=(0, 1, 4, 5, 6, 7)))
    total = "not known (price_not_known)" if found["cost_usd"] is None else f"{found['cost_usd']:.6f} USD"
    if found["is_simulated"]:
        total += ", simulated calls cost nothing"
    print(paragraph(f"Total: {len(rows)} call{'' if len(rows) == 1 else 's'}, {total}"))


def _print_checks(found, paragraph):
    print("\nChecks")
    gate = found["gate"]
    if gate is None:
        print("  the batch has not been audited: `bais check`")
    else:
        decided = f", by {gate['act']}" if gate["act"] else ""
        published = f"{'published' if gate['is_published'] else 'not published'}{decided}"
        n_checks = len(gate["checks"])
        unmet = [check for check in gate["checks"] if not check["is_passed"]]
        passed = f"{n_checks - len(unmet)} of {n_checks} checks passed"
        print(paragraph(f"batch: {gate['verdict'].replace('_', ' ')}, {published}; {passed}", "  "))
        for check in unmet:
            here = ", found in this trial among others" if check["names_this_trial"] else ""
            print(paragraph(f"not met: {check['check_name']} ({check['level']}){here}", "    "))
        for flag in gate["flags"]:
            detail = f" ({flag['detail']})" if flag["detail"] else ""
            said = (
                f"this trial: {flag['severity']}, {flag['reason']}: {flag['sentence'] or 'no sentence is kept'}{detail}"
            )
            if flag["released_by"]:
                said += f"; released by {flag['released_by']}: {flag['released_why']}"
            print(paragraph(said, "  "))
        if not gate["flags"]:
            print(paragraph(f"this trial: passed all {gate['n_reasons']} checks of single trials", "  "))
    other = found["parse_disagreement"]
    if other:
        recorded, read = other["response_recorded"], other["response_reparsed"]
        words = ["none" if number is None else f"{number:g}" for number in (recorded, read)]
        print(
            paragraph(
                f"the recorded number is {words[0]}, the text states {words[1]} ({other['status_reparsed']})", "  "
            )
        )
