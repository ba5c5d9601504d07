"""What keeps a study from being asked: `bais collect` refuses it, and `bais plan` says so beforehand."""

from collections.abc import Iterator
from pathlib import Path

from ingest.ask.spool import State, records_at
from ingest.land.seeds import place_of
from ingest.paradigms.items import Differences, Item
from ingest.prompts import placeholders, words_named
from ingest.prompts.words import texts_in
from ingest.studies.design import Design
from ingest.studies.study import ParadigmStudy, Study
from ingest.texts.redaction import Redaction
from ingest.warehouse import UserError


def fields_used(design: Design) -> set[str]:
    """Return the fields of items that somebody is shown, or that measures look at."""
    texts = texts_in([*design.vignettes.values()])
    used = set().union(*map(placeholders, texts), *map(words_named, design.techniques.values()))
    used |= {paradigm.text_field for paradigm in design.paradigms.values()} - {None}
    anchors = (anchor for name in design.vignettes for anchor in design.paradigm_of(name).anchors.values())
    used |= {anchor.column for anchor in anchors} - {None}
    if design.judges:
        used |= placeholders(design.judges.text or "")
        used |= set().union(*(placeholders(design.judges.asked_of(role)) for role in design.judges.roles))
    return used


def changed_items(design: Design, state: State, path: Path) -> Iterator[tuple[Item, list[Differences]]]:
    """Yield the items that say something else than when they were asked, with the differences from each record."""
    pairs = [(item, state.items[item.item]) for item in design.items.values() if item.item in state.items]
    changed = [(item, stated) for item, stated in pairs if any(record.digest != item.digest for record in stated)]
    if not changed:
        return
    used = fields_used(design)
    places = [record.place for _, stated in changed for record in stated]
    records = dict(zip(places, records_at(path, places), strict=True))
    for item, stated in changed:
        yield item, [item.differences(records[record.place], used) for record in stated]


def refuse_changed_items(design: Design, state: State, path: Path) -> None:
    """Refuse to ask another text under the name of one that was asked: whoever reads the answers has the first."""
    for item, differences in changed_items(design, state, path):
        if fields := next((change.fields for change in differences if change.fields), None):
            raise UserError(
                f"item {item.item} of study {design.study.study} has changed since it was asked, in "
                f"{', '.join(fields)}: give what it says now an id of its own, or the study another name; "
                "nothing was asked"
            )


def refuse_key_in_study(study: Study, redaction: Redaction) -> None:
    """Refuse a study in which a key stands, since what is asked, and where, is written down."""
    places = [study.endpoint.base_url, *(place for llm in study.all_llms for place in (llm.base_url, str(llm.extra)))]
    if any(redaction.of_answer(place, len(place)) != place for place in places if place):
        raise UserError(
            f"study {study.study} holds the key itself, in an address or under `extra`, and would be written down with "
            "it: take it out, and name the environment variable that holds it in api_key_env"
        )


def refuse_without_prices(study: Study | ParadigmStudy, prices: dict, max_cost_usd: float | None) -> None:
    """Refuse a limit of cost where nobody knows what an LLM costs."""
    unknown = [llm.llm for llm in study.all_llms if llm.provider == "openai" and llm.llm not in prices]
    if unknown and max_cost_usd is not None:
        raise UserError(
            f"a limit of cost needs prices, and {', '.join(unknown)} has none in {place_of('prices')}: add it "
            "there, or limit the calls with --max-calls"
        )


def keys_of(design: Design) -> tuple[list[str], dict[str, list[str]]]:
    """Return the keys for the LLMs of a study that are there and, by what is missing, the LLMs that lack it."""
    from ingest.providers.openai_compatible import address_of, key_at

    study, keys, lacking = design.study, [], {}
    for llm in study.all_llms:
        if llm.provider == "openai":
            base_url, _, variable = address_of(llm, study.endpoint)
            try:
                keys.append(key_at(base_url, variable))
            except UserError as error:
                lacking.setdefault(str(error), []).append(llm.llm)
    return keys, lacking


def what_is_refused(design: Design, state: State, path: Path, prices: dict, keys: list[str]) -> Iterator[str]:
    """Yield why `bais collect` asks nothing of a study as it stands, wherever it is asked from."""
    study = design.study
    for check in (
        lambda: refuse_key_in_study(study, Redaction(keys)),
        lambda: refuse_without_prices(study, prices, study.limits.max_cost_usd),
        lambda: refuse_changed_items(design, state, path),
    ):
        try:
            check()
        except UserError as error:
            yield str(error).removesuffix("; nothing was asked")
