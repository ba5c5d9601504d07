"""A study is data: one YAML file, checked. Nothing here asks or keeps anything; `design` makes trials of it."""

import collections
import itertools
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from ingest.land.seeds import place_of, seed_rows
from ingest.paradigms.items import Item
from ingest.paradigms.judges import Judging
from ingest.paradigms.paradigm import ANCHORING, NO_TECHNIQUE, PARTS, Paradigm, WrongItems, anchoring_by, load_paradigm
from ingest.prompts import ANSWER_FORMATS, names_cutoff, placeholders, shipped, words_named
from ingest.prompts.words import BLANK, texts_in
from ingest.studies.llms import Endpoint, Llm, _full_llm, knowledge_cutoffs
from ingest.studies.parts import Anchors, FullTechnique, FullVignette, Limits, StoppingRule, is_for
from ingest.texts.files import (
    Finite,
    Mistake,
    Name,
    Part,
    Temperature,
    by_name,
    parse_checked,
    refuse_twice,
    text_of,
    units_meant,
)  # fmt: skip
from ingest.warehouse import UserError, perhaps, printable, why_nowhere

FOLDER = Path(__file__).resolve().parent
FEWEST_IN_BASE = 10  # answers that something can be in per cent of, as `analysis.methods.small_samples` has it
STATED = re.compile(r"^study: *['\"]?([^\s'\"#]+)", re.MULTILINE)
EXPECTED = (
    "a study is a mapping with the keys study, llms, vignettes, techniques and anchors; one of a bias other than "
    "anchoring has the key paradigm in place of vignettes and anchors"
)


def items_of(vignette: dict) -> tuple[Item, ...]:
    """Return the items of a vignette of anchoring; none where it stands for itself."""
    return vignette["items"].read if "items" in vignette else ()


class Study(Part):
    """What a YAML file says of a study, with vignettes and techniques in full."""

    study: Name
    description: str = ""
    source: str = ""
    llms: list[Annotated[Llm, BeforeValidator(_full_llm)]] = Field(min_length=1)
    endpoint: Endpoint = Endpoint()
    vignettes: list[FullVignette] = Field(min_length=1)
    techniques: list[FullTechnique] = Field(min_length=1)
    anchors: Anchors
    baselines: bool = True
    second_anchor: Finite | None = None
    temperatures: list[Temperature | None] = Field([None], min_length=1)
    stopping_rule: StoppingRule = StoppingRule()
    order_seed: int = 1
    answer_format: str = "text"
    cut_texts: Literal["left_out", "counted"] = "left_out"
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _fits_together(self):
        for key, names in self._named().items():
            refuse_twice(key, names)
        self._check_form()
        self._check_kinds()
        self._check_words()
        self._check_cutoffs()
        for llm in self.llms:
            self._check_truth(llm)
        self._check_engines()
        return self

    def _named(self):
        """Return what should stand there once, by key."""
        return {
            "llms": [llm.llm for llm in self.llms],
            "vignettes": [vignette["vignette"] for vignette in self.vignettes],
            "techniques": [technique["technique"] for technique in self.techniques],
            "temperatures": self.temperatures,
        }

    def _check_form(self):
        """Hold against each other what is said for the whole study."""
        rules = [self.anchors.model_dump(), *(vignette.get("anchors", {}) for vignette in self.vignettes)]
        if any(rule.get("proportional") for rule in rules) and not self.baselines:
            raise ValueError("baselines: anchors that are proportional to baselines need them")
        items = collections.Counter(item.item for vignette in self.vignettes for item in items_of(vignette))
        if twice := [item for item, n in items.items() if n > 1]:
            raise ValueError(f"vignettes: two have an item {twice[0]}: in one study each item needs a name of its own")
        for vignette in self.vignettes:
            self._check_columns(vignette)
        form = ANSWER_FORMATS.get(self.answer_format, self.answer_format)
        if unknown := sorted(placeholders(form) - {"response_unit"}):
            raise ValueError(f"answer_format: it says {{{unknown[0]}}}, and only {{response_unit}} is filled in")
        if self.second_anchor is not None:
            for vignette in self.vignettes:
                if not vignette.get("second_anchor"):
                    raise ValueError(f"second_anchor: vignette {vignette['vignette']} has no words for it")

    def _check_columns(self, vignette):
        """Refuse anchors of items that are no numbers, or of which the low one is not below the high one."""
        name, columns = vignette["vignette"], self.rule_of(vignette).get("columns")
        if columns is None:
            return
        if "items" not in vignette:
            raise ValueError(f"anchors: they are columns of items, and vignette {name} has no `items`")
        for arm, column in columns.items():
            vignette["items"].check_numbers(column, f"is the {arm} anchor of vignette {name}", "vignettes")
        for item in items_of(vignette):
            low, high = (item.number(columns[arm]) for arm in ("low", "high"))
            if low >= high:
                named = f"{vignette['items'].where(item.item)}item {item.item}"
                raise ValueError(f"vignettes: {named} has {low:g} under {columns['low']}, which is not below {high:g}")

    def rule_of(self, vignette: dict) -> dict:
        """Return the rule that gives the anchors of a vignette, as it is written down."""
        return vignette.get("anchors") or self.anchors.model_dump(exclude_none=True)

    def paradigm_of(self, vignette: dict) -> Paradigm:
        """Return the paradigm of a vignette: anchoring, with the anchors of its rule laid over the shipped ones."""
        return anchoring_by(self.rule_of(vignette), self.baselines, vignette.get("items"))

    @property
    def paradigms(self) -> list[Paradigm]:
        """The paradigms that it is a study of."""
        return [self.paradigm_of(self.vignettes[0])]

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of answer that each paradigm asks for."""
        return {paradigm.paradigm: paradigm.answer.kind for paradigm in self.paradigms}

    def _kind(self, vignette):
        return self.kinds[vignette.get("paradigm", ANCHORING)]

    def _check_words(self):
        """Hold the words of the techniques against those of the vignettes."""
        for vignette, technique in itertools.product(self.vignettes, self.techniques):
            for words in self._words_of(vignette) if is_for(technique, self._kind(vignette)) else ():
                if missing := sorted(words_named(technique) - words):
                    raise ValueError(
                        f"techniques: {technique['technique']} says {{{missing[0]}}}, which is not among the words of "
                        f"vignette {vignette['vignette']}"
                    )

    def _words_of(self, vignette):
        """Yield, for each way in which a vignette is asked, what a technique can name."""
        fields = {field for item in items_of(vignette) for field in item.fields}
        yield {*PARTS, "second_anchor_text", *vignette.get("words", {}), *fields}

    def _check_engines(self):
        """Hold what techniques do to the decoding of an LLM against where it runs, and at which temperature."""
        for llm in self.all_llms:
            if llm.rewrites:
                self._check_rewriter(llm)
        for technique in self.techniques:
            name, decoding = technique["technique"], technique.get("decoding")
            if not decoding:
                continue
            if others := [llm.llm for llm in self.llms if llm.engine != technique["engine"]]:
                raise ValueError(
                    f"llms: {others[0]} does not run on this machine, and technique {name} changes how an LLM writes, "
                    "which only works here: give the LLM `engine: local`, or leave one of the two away"
                )
            if decoding["method"] == "mirostat" and 0 in self.temperatures:
                raise ValueError(
                    f"temperatures: at 0 an LLM takes its likeliest token, which technique {name} cannot change, since "
                    "it changes the temperature alone: leave 0 or the technique away"
                )

    def _check_rewriter(self, llm):
        """Refuse to ask a seq2seq model anything: it is given the sentences of an item's text, and no words."""
        begins = f"llms: {llm.llm} rewrites the sentences of a text and reads no question"
        if llm not in self.llms:
            raise ValueError(f"judges: {llm.llm} rewrites the sentences of a text and judges none: name another")
        if others := [name for name in self._named()["techniques"] if name != NO_TECHNIQUE]:
            raise ValueError(f"{begins}, so that technique {others[0]} cannot reach it: leave one of the two away")
        for vignette in self.vignettes:
            name = vignette["vignette"]
            if not vignette.get("text_field"):
                raise ValueError(f"{begins}, and vignette {name} has no text: its paradigm says no `text_field`")
            if self._kind(vignette) != "text":
                raise ValueError(f"{begins}, and vignette {name} asks for a {self._kind(vignette)}")

    def _check_kinds(self):
        """Refuse a technique that is for no kind of answer that is asked for."""
        kinds = sorted({*self.kinds.values()})
        for technique in self.techniques:
            if not any(is_for(technique, kind) for kind in kinds):
                raise ValueError(
                    f"techniques: {technique['technique']} is for answers of the kind "
                    f"{' or '.join(technique['answer_kinds'])}, and {' or '.join(self.kinds)} asks for a "
                    f"{' or a '.join(kinds)}"
                )

    def _check_truth(self, llm):
        """Refuse a simulated respondent of which nobody says what it answers, or that states what nobody asks."""
        stated, names = llm.simulated, {*shipped("techniques"), *self._named()["techniques"]}
        for vignette in self.vignettes if stated else ():
            if self._kind(vignette) == "number" and (name := vignette["vignette"]) not in stated.baselines:
                raise ValueError(
                    f"llms: {llm.llm} has no baseline for vignette {name}: give it one under simulated, as in "
                    f"{{baselines: {{{name}: NUMBER}}}}"
                )
            self._check_column_of(llm, vignette)
        if unknown := [name for name in (stated.techniques if stated else ()) if name not in names]:
            raise ValueError(
                f"llms: {llm.llm} states under `simulated` what {unknown[0]} does, which is no technique of the study, "
                f"nor a shipped one{perhaps(unknown[0], names)}"
            )

    def _check_column_of(self, llm, vignette):
        """Refuse a baseline that is a column of the items, where there are none or one of them has no number there."""
        name, column = vignette["vignette"], llm.simulated.baselines.get(vignette["vignette"])
        if isinstance(column, str):
            items = self.paradigm_of(vignette).items
            if items is None:
                raise ValueError(f"llms: {llm.llm} answers vignette {name} by a column {column}, and it has no items")
            items.check_numbers(column, f"is what {llm.llm} answers to vignette {name}", "vignettes")

    def _check_cutoffs(self):
        """Refuse a technique that would tell an LLM a knowledge cutoff that nobody has written down."""
        cutoffs = knowledge_cutoffs()
        unknown = [llm.llm for llm in self.llms if llm.llm not in cutoffs]
        if unknown and (names := [technique["technique"] for technique in self.techniques if names_cutoff(technique)]):
            raise ValueError(
                f"llms: {unknown[0]} has no line in {place_of('knowledge_cutoffs')}, and technique {names[0]} says "
                "its {knowledge_cutoff}: add the line, or leave one of the two away"
            )

    @property
    def all_llms(self) -> list[Llm]:
        """The LLMs that are asked: those under study, and the judges."""
        judges = getattr(self, "judges", None)
        return [*{llm.llm: llm for llm in [*self.llms, *(judges.llms if judges else ())]}.values()]

    @property
    def are_simulated(self) -> bool:
        """Whether no LLM is asked."""
        return all(llm.provider == "simulated" for llm in self.all_llms)

    @property
    def cautions(self) -> list[str]:
        """What can be asked and still leaves a question open, in sentences."""
        blank = [
            f"{kind} {entry[kind]} says {{}}, braces without a name, and an LLM is told them as they stand: write a "
            "name between them, as in {case_text}, or take them out."
            for kind, entries in (("vignette", self.vignettes), ("technique", self.techniques))
            for entry in entries
            if any(map(BLANK.search, texts_in(entry)))
        ]
        bare = [
            "No technique can be compared with the plain question: add no_technique to the techniques, or nothing will "
            "say what a technique changes."
        ]
        is_bare = NO_TECHNIQUE not in self._named()["techniques"]
        return [
            *blank,
            *self._misspelt_units(),
            *self._miswritten_llms(),
            *(bare if is_bare else ()),
            *self._thin_bases(),
        ]

    def _thin_bases(self):
        """Yield what too few answers to be in per cent of, or none to spare, would cost."""
        n = self.stopping_rule.minimum * len(self.temperatures)
        for paradigm in self.paradigms:
            of_whom = (
                f"The arm {paradigm.relative_to} of {paradigm.paradigm} is answered {n} times for each LLM, vignette"
            )
            if paradigm.relative_to and n < FEWEST_IN_BASE:
                yield (
                    f"{of_whom} and item, and with fewer than {FEWEST_IN_BASE} nothing is decided in per cent of their "
                    "mean: raise `minimum` under `stopping_rule`."
                )
            elif paradigm.relative_to and n == FEWEST_IN_BASE and not self.are_simulated:
                yield (
                    f"{of_whom} and item, as often as it takes to be in per cent of their mean: one answer that is "
                    "refused or cannot be read loses that LLM's case. Raise `minimum` under `stopping_rule`."
                )

    def _miswritten_llms(self):
        """Yield the LLMs that differ by capital letters alone from one of which something is said."""
        known = {row["llm"].lower(): row["llm"] for row in seed_rows("llms")}
        for llm in (llm.llm for llm in self.all_llms):
            if (written := known.get(llm.lower(), llm)) != llm:
                yield (
                    f"{llm} is written {written} in {place_of('llms')}, and capital letters tell them apart: nothing "
                    "that is said of it there, such as its vendor, counts for this study. Write both alike."
                )

    def _misspelt_units(self):
        """Yield the units that are nearly ordinary ones: nothing would be converted to them."""
        for vignette in self.vignettes:
            unit = vignette.get("response_unit") or ""
            for meant in units_meant(unit):
                yield (
                    f"The unit {unit} of vignette {vignette['vignette']} is none that is known{meant}: answers in "
                    "it are read as plain numbers, and none is converted to it."
                )


class Judges(Judging):
    """The LLMs that judge texts of a study, and what they are asked."""

    llms: list[Annotated[Llm, BeforeValidator(_full_llm)]] = Field(min_length=1)

    @model_validator(mode="after")
    def _can_judge(self):
        refuse_twice("llms", [llm.llm for llm in self.llms])
        if unstated := [llm.llm for llm in self.llms if llm.simulated and llm.simulated.accuracy is None]:
            raise ValueError(f"llms: {unstated[0]} is simulated, and its `simulated` states no accuracy")
        return self


class ParadigmStudy(Study):
    """What a YAML file says of a study of paradigms other than anchoring, with all in full.

    `vignettes` are those of the paradigms; a study that names some asks these alone.
    """

    paradigm: list[Paradigm] = Field(min_length=1)
    vignettes: list[dict]
    anchors: None = None
    baselines: Literal[False] = False
    second_anchor: None = None
    answer_format: str | None = None
    judges: Judges | None = None

    def _named(self):
        return {
            "paradigm": [paradigm.paradigm for paradigm in self.paradigm],
            **super()._named(),
            "vignettes": [vignette.vignette for paradigm in self.paradigm for vignette in paradigm.vignettes],
        }

    def _check_form(self):
        items = collections.Counter(item.item for paradigm in self.paradigm for item in paradigm.all_items)
        if twice := [item for item, n in items.items() if n > 1]:
            raise ValueError(
                f"paradigm: two of them have an item {twice[0]}: in one study each needs a name of its own"
            )
        if self.stopping_rule.maximum and {*self.kinds.values()} != {"number"}:
            raise Mistake("stopping_rule: maximum and sd_above are for answers that are numbers", "stopping_rule")
        for paradigm in self.paradigm:
            self._check_named_techniques(paradigm)
        if self.judges:
            self._check_judges()

    @property
    def paradigms(self) -> list[Paradigm]:
        """The paradigms that it is a study of."""
        return self.paradigm

    def paradigm_of(self, vignette: dict) -> Paradigm:
        """Return the paradigm of a vignette."""
        return next(paradigm for paradigm in self.paradigm if paradigm.paradigm == vignette["paradigm"])

    def rule_of(self, vignette: dict) -> dict:
        """Return the rules that give the anchors of a vignette, by arm."""
        return {arm: treatment["anchor"] for arm, treatment in vignette["arms"].items() if "anchor" in treatment}

    def _words_of(self, vignette):
        fields = {field for item in self.paradigm_of(vignette).all_items for field in item.fields}
        for treatment in vignette["arms"].values():
            yield {*PARTS, *vignette["words"], *fields, *treatment["words"]}

    def _check_words(self):
        super()._check_words()
        for vignette, technique in itertools.product(self.vignettes, self.techniques):
            own = next((key for key in ("rounds", "steps") if technique.get(key)), None)
            for arm, treatment in vignette["arms"].items() if own and is_for(technique, self._kind(vignette)) else ():
                if len(treatment["turns"]) > 1:
                    raise ValueError(
                        f"techniques: {technique['technique']} has {own}, and arm {arm} of vignette "
                        f"{vignette['vignette']} has turns of its own: one of the two"
                    )

    def _check_judges(self):
        if len(self.judged_paradigms) > 1:
            raise ValueError("judges: they judge the texts of one paradigm, and the study names several")
        llms = {llm.llm: llm for llm in self.llms}
        for judge in self.judges.llms:
            if llms.get(judge.llm, judge) != judge:
                raise ValueError(f"judges: {judge.llm} stands under `llms` with other settings")
        self.judges.check(self.judged_paradigms[0], [vignette["vignette"] for vignette in self.vignettes])
        is_for_answers = any(measure.truth == "correct" for measure in self.judged_paradigms[0].measures.values())
        if self.judges.judges_items and not is_for_answers:
            self.judged_paradigms[0].check_correct(self.judges.labels, "the labels of the judges", "paradigm")

    def _check_named_techniques(self, paradigm):
        """Refuse a stated truth with a technique that is neither asked nor shipped: it is a typing mistake."""
        names = {*shipped("techniques"), *self._named()["techniques"]}
        stated = paradigm.simulated.techniques if paradigm.simulated else {}
        for arm, technique in ((arm, technique) for arm, effects in stated.items() for technique in effects):
            if technique not in names:
                raise Mistake(
                    f"paradigm: simulated: {technique} under {arm} is no technique of the study, nor a shipped one",
                    "paradigm", "simulated", arm, "techniques", technique,
                )  # fmt: skip

    @property
    def cautions(self) -> list[str]:
        """What can be asked and still leaves a question open, in sentences."""
        unjudged = [
            f"The measure {name} of {paradigm.paradigm} stays without values: it is from judgements, and the study has "
            "no `judges`."
            for paradigm in self.paradigm
            for name, measure in paradigm.measures.items()
            if measure.source == "judgement" and not self.judges
        ]
        of_paradigms = itertools.chain.from_iterable(paradigm.cautions for paradigm in self.paradigm)
        return [*super().cautions, *unjudged, *of_paradigms]

    @property
    def judged_paradigms(self) -> list[Paradigm]:
        """The paradigms whose texts judges may be shown: those that ask for texts, or else all."""
        return [paradigm for paradigm in self.paradigm if paradigm.answer.kind == "text"] or self.paradigm


class _Inline(Part):
    paradigm: Paradigm


def with_paradigms(content: dict, folder: Path | None) -> dict:
    """Put paradigms in the place of their names, and name their vignettes; what is wrong otherwise stays as it is."""
    named, items, chosen = content["paradigm"], content.get("items"), content.get("vignettes")
    named = named if isinstance(named, list) else [named]
    if "anchors" in content:
        raise ValueError("anchors: a paradigm other than anchoring has none")
    names = [name for name in named if isinstance(name, str)]
    if items is not None and len(named) == 1 and names and isinstance(items, dict):
        items = {names[0]: items}
    elif items is not None and not (
        isinstance(items, dict) and items.keys() <= {*names} and all(isinstance(one, dict) for one in items.values())
    ):  # they are not given under the names of paradigms
        raise ValueError(
            "items: they go with one paradigm that is named, as a mapping such as {limit: 100}, or with some of "
            "several, as a mapping from their names to such mappings"
        )
    try:
        paradigms = [
            load_paradigm(entry, folder, (items or {}).get(entry))
            if isinstance(entry, str)
            else _Inline.model_validate({"paradigm": entry}, context={"folder": folder}).paradigm
            for entry in named
        ]
    except WrongItems as error:
        raise Mistake(str(error), *error.location) from None
    vignettes = [paradigm.full_vignette(vignette) for paradigm in paradigms for vignette in paradigm.vignettes]
    names = [vignette["vignette"] for vignette in vignettes]
    if chosen is not None and (not isinstance(chosen, list) or not {*map(str, chosen)} <= {*names}):
        raise ValueError(f"vignettes: name some of {', '.join(names)}")
    asked = [vignette for vignette in vignettes if chosen is None or vignette["vignette"] in chosen]
    others = {key: value for key, value in content.items() if key != "items"}
    return others | {"paradigm": paradigms, "vignettes": asked}


def named_studies() -> dict[str, Path]:
    """Return the studies that go by name: those that come with bais, and those of one's own folder."""
    return by_name(FOLDER, "studies")


def load_study(name) -> "Study | ParadigmStudy":
    """Read and check a study: a YAML file, or one that goes by name."""
    path, studies = Path(name), named_studies()
    if str(name) in studies and not path.is_file():
        path = studies[str(name)]
    there = [str(file) for file in path.parent.glob("*.y*ml")] if path.suffix else []
    meant = perhaps(str(path), [*studies, *there], 0.6)
    there = "; ".join([", ".join(studies), *filter(None, [why_nowhere()])])
    text = text_of(path, f"there is no study {printable(name)}{meant}: give a YAML file or one of {there}")
    study = parse_study(text, printable(path), path.parent)
    refuse_two_files(own_studies() | {path: study.study})
    return study


def own_studies() -> dict[Path, str]:
    """Return the study files in one's own folder, and what each says that its study is called."""
    stated = {path: STATED.search(text_of(path)) for path in named_studies().values() if path.parent != FOLDER}
    return {path: found[1] for path, found in stated.items() if found}


def refuse_two_files(studies: dict[Path, str]) -> None:
    """Refuse two files that are one study."""
    for (path, study), (other, of_other) in itertools.combinations(studies.items(), 2):
        if study == of_other and not path.samefile(other):
            raise UserError(
                f"{printable(path)} and {printable(other)} are both the study {study}, and answers to one would count "
                "as answers to the other: give one of them another name under `study`"
            )


def parse_study(text: str, path: str = "the study", folder: Path | None = None) -> "Study | ParadigmStudy":
    """Check the text of a study file; `path` is what errors call it, and files that it names lie in `folder`."""

    def validate(content):
        if content.get("paradigm", ANCHORING) == ANCHORING:
            content.pop("paradigm", None)
            return Study.model_validate(content, context={"folder": folder})
        return ParadigmStudy.model_validate(with_paradigms(content, folder), context={"folder": folder})

    return parse_checked(text, path, EXPECTED, validate)
