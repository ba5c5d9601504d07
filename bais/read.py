"""`bais read`: what bais would read in a reply, before one is paid for."""

import sys

import click

from bais.options import json_option, refuse_together
from bais.terminal import pairs, say_json
from bais.warehouse import refuse_unknown
from ingest.warehouse import UserError

FROM_ITEM = "1 where the item says so of itself (`{truth}`), else 0"
FROM_ELSEWHERE = {"judgement": "what judges say of the text", "measurement": "what `bais measure` finds in the text"}

UNSCALED = "the digits alone, since no --unit is named: with one, such as EUR, it is {number}"


@click.command(context_settings={"ignore_unknown_options": True})  # a reply may begin with a minus
@click.argument("text", required=False, metavar="[TEXT]", help="a reply (default: what is on stdin)")
@click.option("--unit", metavar="U", help="the unit that is asked for, such as EUR or months")
@click.option("--range", "ends", type=float, nargs=2, metavar="LOW HIGH", help="what an answer may be")
@click.option("--study", metavar="S", help="as this study reads it: a file, or the name of a shipped study")
@click.option("--paradigm", metavar="P", help="as this bias reads it: the name of a shipped one, or its YAML file")
@click.option("--vignette", metavar="V", help="one of the study's or the bias's (default: its first)")
@click.option("--arm", metavar="A", help="with the options of this arm (default: the first)")
@click.option("--measure", metavar="M", help="what this measure makes of the answer (default: each measure)")
@json_option("")
def read(
    text: str | None, unit: str | None, ends: tuple[float, float] | None, study: str | None, paradigm: str | None,
    vignette: str | None, arm: str | None, measure: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Say what is read in a reply, and why or how; of a choice, what each measure makes of it."""
    from ingest.ask.reading import Way, in_words, read_replies

    if text and text.startswith("--") and " " not in text:
        raise click.NoSuchOption(text)
    refuse_together(
        ("give --study or --paradigm, not both", study and paradigm),
        ("--vignette, --arm and --measure are of a study or a bias: name one with --study or --paradigm",
         (vignette or arm or measure) and not (study or paradigm)),
        ("--range: LOW is above HIGH", ends and ends[0] > ends[1]),
    )  # fmt: skip
    way, options, measures = (
        _way_of(study, paradigm, vignette, arm, measure) if study or paradigm else (Way(), None, {})
    )
    if way.kind != "number" and (unit or ends):
        raise UserError(f"--unit and --range are for answers that are numbers, and here the answer is a {way.kind}")
    way = way._replace(unit=unit or way.unit)
    way = way._replace(valid_min=ends[0], valid_max=ends[1]) if ends else way
    text = _typed() if text is None else text
    (reading,) = read_replies([(text, options)], way)
    if way.kind == "number" and way.unit is None:
        (scaled,) = read_replies([(text, options)], way._replace(unit=""))
        if scaled.value != reading.value:
            reading = reading._replace(note=UNSCALED.format(number=in_words(scaled, way)))
    counted = {name: _counted(of, answers, reading) for name, (of, answers) in measures.items()}
    if as_json:
        say_json(reading._asdict() | {"unit": way.unit, "options": options, "measures": counted})
        return
    print(pairs(_told(reading, way, options, counted)))


def _typed():
    try:
        return sys.stdin.read()
    except UnicodeError:
        raise UserError("what is on stdin is not UTF-8 text") from None


def _way_of(study, paradigm, vignette, arm, measure):
    """Return how a study or a bias reads replies to a vignette, the options that an arm shows, and its measures."""
    from ingest.ask.reading import way_of
    from ingest.paradigms.paradigm import ANCHORING, anchoring, load_paradigm
    from ingest.studies.design import Design
    from ingest.studies.study import load_study

    if study:
        design = Design(load_study(study))
        cases = {name: (design.paradigm_of(name), entry) for name, entry in design.vignettes.items()}
    else:
        one = anchoring() if paradigm == ANCHORING else load_paradigm(paradigm, None)
        cases = {entry.vignette: (one, one.full_vignette(entry)) for entry in one.vignettes}
    where = f" in {study or paradigm}"
    refuse_unknown("vignette", vignette, cases, where)
    asked, entry = cases[vignette or next(iter(cases))]
    refuse_unknown("arm", arm, asked.arms, where)
    measures = {name: (of, answers) for name, of, answers in asked.measured()}
    refuse_unknown("measure", measure, measures, where)
    treatment = entry.get("arms", {}).get(arm or asked.arms[0], {})
    measures = {measure: measures[measure]} if measure else measures
    return way_of(asked, entry), [*treatment.get("options", ())] or None, measures


def _counted(measure, answers, reading):
    """Return the value of a measure, or in words where it comes from; None where nothing was read."""
    if measure.source in FROM_ELSEWHERE:
        return FROM_ELSEWHERE[measure.source]
    if reading.status != "answered":
        return None
    if measure.truth:
        return FROM_ITEM.format(truth=measure.truth)
    return reading.value if answers is None else int(reading.value in answers)


def _told(reading, way, options, counted):
    from ingest.ask.reading import in_words
    from ingest.paradigms.paradigm import LETTERS

    yield "read", in_words(reading, way)
    if reading.said:
        yield "in", reading.said
    if why := reading.reason or reading.note:
        yield "since" if reading.reason else "by", why
    yield "status", reading.status
    if options:
        shown = ", ".join(f"{letter} {option}" for letter, option in zip(LETTERS, options, strict=False))
        yield "options", f"{shown}; a trial may show them in another order"
    for name, value in counted.items():
        yield name, "no value" if value is None else value
