"""What an LLM is told, turn by turn: vignettes and techniques are data (the YAML files here), read here."""

import functools
import hashlib
import json
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from ingest.prompts.steps import Steps, as_steps, is_word_of_steps
from ingest.prompts.words import fill, placeholders

FOLDER = Path(__file__).resolve().parent
SLOT = "{anchor}"  # in a template, the place of a number that each LLM gets its own of
MARKUP = re.compile(r"[*_`#]+")
PARTS = ("case", "anchor", "second_anchor", "question")  # of a vignette, as they follow each other
STEPS = ("determine", "analyse", "debias", "answer")  # of a round, and after the last one
ANSWER_FORMATS = {
    "text": "End your reply with one line of the form `Answer: <number>`, the number in {response_unit}.",
    "json": 'Reply with JSON only, in the form {"answer": <number>}, the number in {response_unit}.',
    "story-001": "",  # its turns say themselves what JSON they want
    "none": "",
}


@dataclass(frozen=True, slots=True)
class Turn:
    """One message to send, with what has to be sent before it.

    Attributes
    ----------
    step : str
        `turn` of a scripted technique; `call` of one with steps; of one with rounds `initial`, `determine`, `analyse`,
        `debias` or `answer`.
    round : int
        The round it belongs to; 0 where there are none.
    prompt : str
        What is said now.
    messages : list of dict
        The whole conversation, `prompt` last, as chat endpoints take it.
    max_tokens : int or None
        The most tokens that the reply may have, where the technique says so; else what is said of the LLM holds.
    """

    step: str
    round: int
    prompt: str
    messages: list
    max_tokens: int | None = None


@functools.cache
def shipped(what: str) -> dict[str, dict]:
    """Return the shipped `vignettes` or `techniques`, by name; they are read once, and nobody changes them."""
    import yaml

    entries = yaml.safe_load((FOLDER / f"{what}.yaml").read_text(encoding="utf-8"))
    written_out = [entry | {"steps": as_steps(entry["steps"])} if "steps" in entry else entry for entry in entries]
    return {entry[what[:-1]]: entry for entry in written_out}


def shipped_entry(kind: str, name: str) -> dict:
    """Return the shipped `vignette` or `technique` of a name, or say that there is none."""
    entries = shipped(f"{kind}s")
    if name not in entries:
        raise ValueError(f"{name} is not a shipped {kind} ({', '.join(entries)}): write it out in full, with its text")
    return entries[name]


def said_in(technique: dict) -> list[str]:
    """Return all that a technique says, as it is written."""
    rounds = [text for name, text in technique.get("rounds", {}).items() if name in STEPS]
    steps = [step["prompt"] for step in technique.get("steps", ())]
    return [*technique.get("turns", ()), *rounds, *steps, technique.get("system", "")]


def words_named(technique: dict) -> set[str]:
    """Return the names in braces that a vignette or its items have to fill in for a technique."""
    named = set().union(*map(placeholders, said_in(technique)))
    if technique.get("rounds"):
        named -= {"text"}
    return {name for name in named if not ("steps" in technique and is_word_of_steps(name))}


def names_cutoff(technique: dict) -> bool:
    """Tell whether a technique tells an LLM its knowledge cutoff."""
    return "steps" in technique and any("knowledge_cutoff" in placeholders(text) for text in said_in(technique))


def _plain(text):
    """Drop what emphasis and line breaks do to a verdict: `**Verdict:** NO BIAS` is one, too."""
    return " ".join(MARKUP.sub(" ", text).casefold().split())


def _paragraphs(*parts):
    """Put the parts that say something under each other."""
    return "\n\n".join(part for part in parts if part)


def as_number(value: "float | str") -> str:
    """Write an anchor as people do: 15, not 15.0; its slot stays as it is."""
    if value == SLOT:
        return SLOT
    return f"{value:.0f}" if float(value).is_integer() else repr(float(value))


def round_half_up(value: float, factor: float = 1.0) -> float:
    """Multiply as decimals, as printed, and round halves up: 25 · 0.5 becomes 13 (Python's `round` says 12)."""
    return float(math.floor(Decimal(repr(value)) * Decimal(repr(factor)) + Decimal("0.5")))


class Script:
    """All that is said in a trial of one vignette and technique.

    Parameters
    ----------
    vignette, technique : dict
        As in the YAML files.
    words : dict of str to str
        What fills the braces of the vignette and the technique: words, numbers and fields of an item.
    answer_format : str
        What is said of the form of the answer.
    unsaid : set of str
        The parts of the vignette that are not said.
    turns : list of str
        The turns of an arm; those of the technique stand in the place of the one that holds the opening.
    options : dict of str to str, optional
        The options of a choice, by their ids.
    subject : str, optional
        The text that the steps of a technique are about; all of the vignette but its question if not given.
    facts : dict of str to str, optional
        What is known of the LLM that is asked, such as its `knowledge_cutoff`.

    Attributes
    ----------
    problem : str or None
        Why nothing can be asked, such as `empty_text`.
    """

    steps = problem = None

    def __init__(
        self, vignette, technique, words, answer_format, *, unsaid=(), turns=("{opening}",), options=None, subject=None,
        facts=None,
    ):  # fmt: skip
        self.words, self.turns, self.options = {**words, "answer_format": answer_format}, [], options
        parts = []
        for part in PARTS:
            parts.append("" if part in unsaid else fill(vignette.get(part) or "", self.words))
            self.words[f"{part}_text"] = parts[-1]
        opening = _paragraphs(*parts, answer_format)
        for number, turn in enumerate(turns):
            if "opening" in placeholders(turn):
                self.words["opening"] = fill(turn, {**self.words, "opening": opening})
                self.turns += technique.get("turns", [])
            else:  # filled here, so that no item is searched for braces
                self.words[f"arm_turn_{number}"] = fill(turn, self.words)
                self.turns.append(f"{{arm_turn_{number}}}")
        self.rounds, self.decoding = technique.get("rounds"), technique.get("decoding")
        if "steps" in technique:
            self.steps = Steps(technique, _paragraphs(*parts[:-1]) if subject is None else subject, facts or {})
            self.problem = self.steps.problem
        self.system = technique.get("system") or fill(vignette.get("system", ""), self.words)

    def next_turn(self, replies: list[str]) -> "Turn | None":
        """Say what to send after the replies so far, or that the trial is complete."""
        if self.problem:
            return None
        if self.steps:
            return self._next_step(replies)
        if self.rounds is None:
            if len(replies) == len(self.turns):
                return None
            return self._turn("turn", 0, self.turns[: len(replies) + 1], replies)
        return self._next_of_rounds(replies)

    def _next_step(self, replies):
        number = len(replies)
        if number == len(self.steps.prompts):
            return None
        prompt = fill(self.steps.prompts[number], {**self.words, **self.steps.words(number, replies)}).strip()
        messages = [*self._system_message(), {"role": "user", "content": prompt}]
        return Turn("call", 0, prompt, messages, self.steps.technique["steps"][number].get("max_tokens"))

    def _system_message(self):
        words = {**self.words, **(self.steps.facts if self.steps else {})}
        return [{"role": "system", "content": fill(self.system, words)}] if self.system else []

    def _next_of_rounds(self, replies):
        """Initial answer; per round determine, unless none is found analyse and debias; then the answer."""
        if not replies:
            return self._turn("initial", 0, self.turns, [])
        text, at = self.words["opening"], 1
        for n in range(1, self.rounds["most"] + 1):
            if at == len(replies):
                return self._turn("determine", n, [self.rounds["determine"]], [], text)
            if _plain(self.rounds["stops_at"]) in _plain(replies[at]):
                at += 1
                break
            steps = [self.rounds[step] for step in ("determine", "analyse", "debias")]
            done = replies[at : at + 3]
            if len(done) < 3:
                return self._turn(("analyse", "debias")[len(done) - 1], n, steps[: len(done) + 1], done, text)
            text, at = done[2].strip() or text, at + 3
        if at < len(replies):
            return None
        return self._turn("answer", 0, [self.rounds["answer"]], [], text)

    def _turn(self, step, n, templates, replies, text=""):
        contents = [self._said(template, text) for template in templates]
        messages = [*self._system_message(), {"role": "user", "content": contents[0]}]
        for reply, following in zip(replies, contents[1:], strict=True):
            messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": following}]
        return Turn(step, n, contents[-1], messages)

    def template(self) -> dict:
        """Return all that a trial can be asked with: what is known is filled in, and the rest are slots."""
        template = {"turns": [self._said(turn, "") for turn in self.turns]}
        if self.rounds:
            texts = {step: self._said(self.rounds[step], "{text}") for step in STEPS}
            template["rounds"] = {**self.rounds, **texts, "text": self.words["opening"]}
        if self.decoding:
            template["decoding"] = self.decoding
        if self.steps:
            own = self.steps.technique["steps"]
            template["steps"] = [step | {"prompt": fill(step["prompt"], self.words).strip()} for step in own]
            template["of_steps"] = self.steps.template()
        if self.system:
            template["system"] = fill(self.system, self.words)
        if self.options:
            template["options"] = self.options
        return template

    def _said(self, template, text):
        return fill(template, {**self.words, "text": text}).strip()

    def n_rounds(self, replies: list[str]) -> int | None:
        """Count the rounds in which something was rewritten, the last reply being the answer; None without rounds."""
        if self.rounds is None:
            return None
        return sum(1 for at in range(1, len(replies)) if self.next_turn(replies[:at]).step == "debias")

    def n_calls(self) -> tuple[int, int]:
        """Return the fewest and the most calls that a trial takes, retries aside."""
        if self.rounds is None:
            n_calls = len(self.steps.prompts) if self.steps else len(self.turns)
            return n_calls, n_calls
        return 3, 2 + 3 * self.rounds["most"]


def anchored_script(
    vignette: dict, technique: dict, anchor: float | str | None = None, second_anchor: float | None = None,
    answer_format: str = "text", facts: dict[str, str] | None = None, fields: dict[str, str] | None = None,
) -> Script:  # fmt: skip
    """Return what is said of a vignette with an anchor, which may be the slot of one, and one that follows it.

    Without the fields of an item the braces that these fill stay as they are.
    """
    numbers = {"anchor": anchor, "second_anchor": None if anchor is None else second_anchor}
    filled = {name: as_number(number) for name, number in numbers.items() if number is not None}
    form = fill(ANSWER_FORMATS.get(answer_format, answer_format), vignette)
    of_vignette = {name: fill(text, fields or {}) for name, text in vignette.get("words", {}).items()}
    words = {**of_vignette, **(fields or {}), **filled}
    return Script(vignette, technique, words, form, unsaid=numbers.keys() - filled.keys(), facts=facts)


def prompt_version(
    vignette: dict, technique: dict, answer_format: str, second_anchor: float | None = None, *, is_anchored: bool = True
) -> tuple[str, str]:
    """Return the template of a trial, with the versions of its vignette and technique, and a hash of it."""
    script = anchored_script(vignette, technique, SLOT if is_anchored else None, second_anchor, answer_format)
    return versioned(script, vignette, technique)


def versioned(script: Script, vignette: dict, technique: dict) -> tuple[str, str]:
    """Return a hash of the template of a script with the versions of its vignette and technique, and the template."""
    versions = {"vignette_version": vignette.get("version", 1), "technique_version": technique.get("version", 1)}
    text = _as_json({**versions, **script.template()})
    return text_hash(text), text


def template_of(text: str, study: dict, *, is_anchored: bool) -> dict:
    """Read a template, whichever version of bais wrote it; `study` is what the study file said then."""
    content = json.loads(text)
    if isinstance(content, dict):
        return content
    of_vignette, of_technique, form, response_unit, second_anchor = content
    vignette = of_vignette | {"response_unit": response_unit, "version": _version(study["vignettes"], of_vignette)}
    technique = of_technique | {"version": _version(study["techniques"], of_technique)}
    return json.loads(prompt_version(vignette, technique, form, second_anchor, is_anchored=is_anchored)[1])


def _version(entries, words):
    """Return the version of the entry with these words; a shipped one that no study names is of version 1."""
    return next((entry.get("version", 1) for entry in entries if words.items() <= entry.items()), 1)


def template_hash(template: dict) -> str:
    """Return the hash of a template."""
    return text_hash(_as_json(template))


def _as_json(value):
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


@functools.lru_cache(maxsize=4096)
def text_hash(text: str) -> str:
    """Return the first 32 hexadecimal digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
