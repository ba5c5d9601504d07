"""What bais reads in a reply, by the rule that the models use: a number in its unit and range, or a choice or label."""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from ingest.land.models import macros
from ingest.prompts.steps import NO_MARKER
from ingest.warehouse import quoted, scratch

REPLIES = pa.schema({"place": pa.int64(), "text": pa.string(), "options": pa.list_(pa.string())})
# Why nothing is read, and how a number was made of what was written.
WHY = {
    "no_text": "it has no text",
    NO_MARKER: "it has no {marker}, after which the answer should stand",
    "refused": "it declines to answer",
    "no_number": "it has no number that could be the answer",
    "no_label": "it names none of the answers in a way that could be no other",
    "dot": "its dot may group thousands: it is {either}. A range that allows only one of them tells which, else the "
    "LLM's other answers to the same case do",
    "numbers": "more than one number could be meant, and none is said to be the answer",
    "labels": "it names more than one answer",
}
HOW = {
    "range_midpoint": "the middle of what it says",
    "thousands_scaled": "brought to the unit",
    "years_as_months": "years as months",
    "number_word": "a number in words",
}


class Way(NamedTuple):
    """How replies are read: the kind of answer, the unit and range of a number, and the labels that may be said."""

    kind: str = "number"
    unit: str | None = None
    valid_min: float | None = None
    valid_max: float | None = None
    labels: list[str] | None = None
    reading: str = "strict"
    answer_after: str | None = None

    @property
    def range(self) -> str:
        """The range that answers may lie in, in words; nothing where every number may be one."""
        low, high = (None if end is None else as_read(end) for end in (self.valid_min, self.valid_max))
        if None in (low, high):
            return f"from {low}" if low else f"up to {high}" if high else ""
        return f"{low} to {high}"


class Reading(NamedTuple):
    """What was read in a reply: its status, the value, the piece of it that says so, and why or how that is."""

    status: str
    value: float | str | None = None
    said: str | None = None
    reason: str | None = None
    note: str | None = None


def way_of(paradigm, vignette: dict) -> Way:
    """Return how replies to a vignette of a paradigm are read, both as a design has them."""
    answer = paradigm.answer
    of_number = (vignette.get(name) for name in ("response_unit", "valid_min", "valid_max"))
    return Way(answer.kind, *of_number, answer.labels, answer.reading, answer.answer_after)


def read_replies(replies: Sequence[tuple[str | None, Sequence[str] | None]], way: Way) -> list[Reading]:
    """Return what is read in each reply, given with the options that it was shown, in the order of their letters."""
    rows = [{"place": place, "text": text, "options": options} for place, (text, options) in enumerate(replies)]
    marker = "null" if way.answer_after is None else quoted(way.answer_after)
    if way.kind == "number":
        unit = "null::varchar" if way.unit is None else quoted(way.unit)
        outcome = macros()["read_response"]("text", unit)
    elif way.kind == "text":
        outcome = "{'status': if(trim(text) != '', 'answered', 'unparsed')}"
    else:
        labels = f"[{', '.join(map(quoted, way.labels))}]" if way.kind == "label" else "null"
        outcome = macros()["read_label"]("text", labels, quoted(way.reading), "options")
    low, high = ("null::double" if end is None else repr(end) for end in (way.valid_min, way.valid_max))
    told = macros()["number_in_cell"]("found.if_decimal", "found.if_grouped", "null::double", low, high)
    number = f"coalesce(found.response, {told})"
    status = macros()["trial_status"]("null", "found.status", "number", low, high)
    numbers = f"{number} as number, {status} as status" if way.kind == "number" else "found.status as status"
    with scratch() as connection:
        connection.register("replies", pa.Table.from_pylist(rows, REPLIES))
        found = connection.sql(f"""
            with answers as (select place, {macros()["answer_in"]("text", marker)} as text, options from replies),
            readings as (select place, {outcome} as found from answers)
            select found, {numbers} from readings order by place
        """)
        found = found.to_arrow_table().to_pylist()
    return [_reading(row, text, way) for row, (text, _) in zip(found, replies, strict=True)]


def _reading(row, text, way):
    found, status = row["found"], row["status"]
    if way.answer_after is not None and way.answer_after not in (text or ""):
        return Reading("unparsed", reason=WHY[NO_MARKER].format(marker=way.answer_after))
    if way.kind == "text":
        return Reading(status, reason=None if status == "answered" else WHY["no_text"])
    if way.kind != "number":
        reason = "labels" if found["reason"] == "ambiguous" else found["reason"]
        return Reading(status, found["label"], reason=reason and WHY[reason])
    either = [found[name] for name in ("if_decimal", "if_grouped") if found[name] is not None]
    if row["number"] is None:
        reason = found["reason"] if found["reason"] != "ambiguous" else "dot" if either else "numbers"
        return Reading(status, reason=WHY[reason].format(either=" or ".join(map(as_read, either))))
    outside = f"it is outside of the range, {way.range}, and counts for nothing" if status == "out_of_range" else None
    others = [as_read(number) for number in either if number != row["number"]]
    note = f"the range, {way.range}, does not allow {others[0]}" if others else HOW.get(found["note"])
    return Reading(status, row["number"], found["said"], outside, note)


def in_words(reading: Reading, way: Way) -> str:
    """Return what was read, with the unit of a number."""
    if reading.value is None:
        return "the text as it is" if reading.status == "answered" else "nothing"
    return f"{as_read(reading.value)}{f' {way.unit}' if way.kind == 'number' and way.unit else ''}"


def as_read(value: float | str) -> str:
    """Write a number with its thousands apart, and a label as it is."""
    return value if isinstance(value, str) else f"{value:,.15g}"
