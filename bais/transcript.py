"""What was said in a trial: its turns, as calls or a recording keep them, and where in them its number stands."""

import contextlib
import json
import re
import unicodedata

from bais.warehouse import values
from ingest.warehouse import in_memory, quoted

MOST_PLACES = 200
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
OTHER_DIGITS = str.maketrans("0123456789", "1234567898")
PART = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")
BETWEEN_PARTS = r"[\s*_`~]*"

# What a recording calls the parts of a transcript; the rest of its line is shown as it is.
SPOKEN = ("turns", "raw", "iterationDetails")


def turns_of_calls(calls: list[dict], prompts: dict[str, str]) -> list[dict]:
    """Return one turn per call that brought a text, or that is the only one of its turn; a prompt is there once."""
    turns, prompted = [], set()
    for call in calls:
        prompt = None if call["turn"] in prompted else prompts.get(call["prompt_hash"])
        prompted.add(call["turn"])
        step = call["step"] if call["step"] != "turn" else None
        step = f"{step}, round {call['round']}" if step and call["round"] else step
        reply = call["response_text"]
        reason = None if reply is not None else call["error"] or call["refusal"] or "no_text"
        told = {"turn": call["turn"] + 1, "step": step, "attempt": call["attempt"]}
        turns.append(told | {"prompt": prompt, "reply": reply, "reason": reason})
    return turns


def turns_of_line(line: dict, answer: str | None, prompt: str | None) -> list[dict]:
    """Return what a recording keeps of a transcript: all replies, those of SACD's iterations, the last one, or none.

    The prompt, if it is kept, is that of the first turn.
    """
    turns = []
    if isinstance(line.get("turns"), list):
        turns = [{"reply": reply} for reply in line["turns"]]
    elif isinstance(line.get("iterationDetails"), list):
        for i, iteration in enumerate(line["iterationDetails"]):
            if not isinstance(iteration, dict):
                continue
            if iteration.get("biasAnalysis"):
                turns.append({"step": f"analysis, round {i}", "reply": iteration["biasAnalysis"]})
            number = iteration.get("sentence")
            number = number if isinstance(number, int | float) else None
            step = f"answer, round {i}" if i else "first answer"
            turns.append({"step": step, "reply": iteration.get("rawResponse"), "number": number})
    if answer is not None and answer not in [turn["reply"] for turn in turns]:
        turns.append({"step": "answer", "reply": answer})
    for turn in turns:
        if not isinstance(turn["reply"], str | None):
            turn["reply"] = json.dumps(turn["reply"])
    unknown = {"step": None, "attempt": None, "reason": None}
    return [{"turn": i, "prompt": prompt if i == 1 else None} | unknown | turn for i, turn in enumerate(turns, 1)]


def mark(turns: list[dict], kept: dict, unit: str | None, number: float | None, first: float | None) -> float | None:
    """Put into each turn where the number stands that was read in it; return the recorded number, else the read one."""
    replies = [(i, turn["reply"]) for i, turn in enumerate(turns) if turn["reply"] is not None]
    last_at = {reply: i for i, reply in replies}.get(kept["response_text"])
    first_at = {reply: i for i, reply in reversed(replies)}.get(kept["first_text"])
    expected = {i: turns[i]["number"] for i, reply in replies if reply and turns[i].get("number") is not None}
    expected |= {i: value for i, value in ((first_at, first), (last_at, number)) if i is not None}
    for turn in turns:
        turn["marks"] = []
    readings = _pieces_read([turns[i]["reply"] for i in expected], unit)
    for (i, wanted), (reading, either, marks) in zip(expected.items(), readings, strict=True):
        if reading is None or (wanted is not None and abs(reading - wanted) >= 1e-9):
            reading = wanted if wanted in either else reading
            meant = () if wanted is None else (wanted, 1000 * wanted, *either)
            marks = [[*at.span()] for at in NUMBER.finditer(turns[i]["reply"]) if _value(at[0]) in meant][-1:]
        turns[i] |= {"marks": marks, "number": wanted, "number_read": reading}
        if i == last_at and number is None and kept["source"] != "recorded":
            number = reading
    return number


def _pieces_read(texts, unit):
    """Yield what is read in each text, or the two numbers that a dot makes of it, and where that piece of it stands.

    Where the piece is there more than once, those places count in which another number would change the reading.
    """
    read = _read(texts, unit)
    places = [_places(text, piece) for text, (_, _, piece) in zip(texts, read, strict=True)]
    variants = [
        text[: at.start()] + at[0].translate(OTHER_DIGITS) + text[at.end() :]
        for text, matches in zip(texts, places, strict=True)
        if len(matches) > 1
        for at in matches
    ]
    changed = iter(_read(variants, unit))
    for (number, either, _), spots in zip(read, places, strict=True):
        if len(spots) > 1:
            spots = [at for at in spots if next(changed)[0] != number]
        yield number, either, [span for at in spots for span in _spans(at)]


def _places(text, piece):
    """Find a piece of a text, which the reader returns without markdown and with plain digits and dashes."""
    if piece is None:
        return []
    parts = BETWEEN_PARTS.join(map(re.escape, PART.findall(piece)))
    return list(re.finditer(rf"(?<!\d)(?<!\d[.,]){parts}(?!\d)", _plain(text), re.IGNORECASE))[-MOST_PLACES:]


def _plain(text):
    """Write digits and dashes as ASCII, sign by sign."""
    return "".join(
        "-" if unicodedata.category(sign) == "Pd" or sign == "\u2212" else str(unicodedata.decimal(sign, sign))
        for sign in text
    )


def _spans(at):
    """Return where the numbers of a piece stand, or the piece itself where it is in words."""
    numbers = [[at.start() + number.start(), at.start() + number.end()] for number in NUMBER.finditer(at[0])]
    return numbers or [[*at.span()]]


def _read(texts, unit):
    """Return what the models would read in each text: the number, else the two that it may be, and the piece of it."""
    from ingest.land.models import macros

    if not texts:
        return []
    reading = macros()["read_response"]("text", "null::varchar" if unit in (None, "unknown") else quoted(unit))
    each = "select unnest($texts::varchar[]) as text, unnest(range(len($texts))) as place"
    with in_memory(threads=1, memory_limit="256MB") as connection:
        rows = values(connection, f"select {reading} from ({each}) order by place", {"texts": texts})
    either = ("if_decimal", "if_grouped")
    return [(row["response"], [row[name] for name in either if row[name]], row["said"]) for row in rows]


def _value(digits):
    with contextlib.suppress(ValueError):
        return float(digits.replace(",", "") if GROUPED.fullmatch(digits) else digits)
    return None
