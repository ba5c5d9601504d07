"""What an LLM is told, turn by turn: vignettes and techniques are data (the YAML files here), read here."""

import functools
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PLACEHOLDER = re.compile(r"\{(\w+)\}")
SLOT = "{anchor}"  # in a template, the place of a number that each LLM gets its own of
MARKUP = re.compile(r"[*_`#]+")
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
        `turn` of a scripted technique; `initial`, `determine`, `analyse`, `debias` or `answer` of one with rounds.
    round : int
        The round it belongs to; 0 where there are none.
    prompt : str
        What is said now.
    messages : list of dict
        The whole conversation, `prompt` last, as chat endpoints take it.
    """

    step: str
    round: int
    prompt: str
    messages: list


@functools.cache
def shipped(what: str) -> dict[str, dict]:
    """Return the shipped `vignettes` or `techniques`, by name; they are read once, and nobody changes them."""
    import yaml

    entries = yaml.safe_load((FOLDER / f"{what}.yaml").read_text(encoding="utf-8"))
    return {entry[what[:-1]]: entry for entry in entries}


def fill(template: str, words: dict[str, object]) -> str:
    """Put words in the place of their names in braces, once: what is put in is not searched again."""
    return PLACEHOLDER.sub(lambda found: str(words.get(found[1], found[0])), template)


def placeholders(template: str) -> set[str]:
    """Return the names in braces."""
    return set(PLACEHOLDER.findall(template))


def _plain(text):
    """Drop what emphasis and line breaks do to a verdict: `**Verdict:** NO BIAS` is one, too."""
    return " ".join(MARKUP.sub(" ", text).casefold().split())


def as_number(value: "float | str") -> str:
    """Write an anchor as people do: 15, not 15.0; its slot stays as it is."""
    if value == SLOT:
        return SLOT
    return f"{value:.0f}" if float(value).is_integer() else repr(float(value))


class Script:
    """All that is said in a trial of one vignette, technique and anchor.

    Parameters
    ----------
    vignette, technique : dict
        As in the YAML files.
    anchor : float, None or SLOT
    second_anchor : float or None
        In anchored conditions, a further number, such as the defence's demand.
    answer_format : str
        A key of `ANSWER_FORMATS`, or the words themselves.
    """

    decoding = None  # what a technique does to how an LLM writes; judges are asked without one

    def __init__(self, vignette, technique, anchor=None, second_anchor=None, answer_format="text"):
        self.turns = technique["turns"]
        self.rounds = technique.get("rounds")
        self.decoding = technique.get("decoding")
        asked = fill(ANSWER_FORMATS.get(answer_format, answer_format), vignette)
        numbers = {"anchor": anchor, "second_anchor": None if anchor is None else second_anchor}
        filled = {name: as_number(value) for name, value in numbers.items() if value is not None}
        words = {**vignette.get("words", {}), **filled, "answer_format": asked}
        for part in ("case", "anchor", "second_anchor", "question"):
            is_said = part not in numbers or part in filled
            words[f"{part}_text"] = fill(vignette.get(part, ""), words) if is_said else ""
        said = [words[f"{part}_text"] for part in ("case", "anchor", "second_anchor", "question")]
        self.words = {**words, "opening": "\n\n".join(part for part in [*said, asked] if part)}

    def next_turn(self, replies: list[str]) -> "Turn | None":
        """Say what to send after the replies so far, or that the trial is complete."""
        if self.rounds is None:
            if len(replies) == len(self.turns):
                return None
            return self._turn("turn", 0, self.turns[: len(replies) + 1], replies)
        return self._next_of_rounds(replies)

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
        said = [self._said(template, text) for template in templates]
        messages = [{"role": "user", "content": said[0]}]
        for reply, following in zip(replies, said[1:], strict=True):
            messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": following}]
        return Turn(step, n, said[-1], messages)

    def template(self) -> dict:
        """Return all that a trial can be asked with: the known words are filled in, replies are slots."""
        said = {"turns": [self._said(turn, "") for turn in self.turns]}
        if self.rounds:
            texts = {step: self._said(self.rounds[step], "{text}") for step in STEPS}
            said["rounds"] = {**self.rounds, **texts, "text": self.words["opening"]}
        if self.decoding:
            said["decoding"] = self.decoding
        return said

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
            return len(self.turns), len(self.turns)
        return 3, 2 + 3 * self.rounds["most"]


def prompt_version(
    vignette: dict, technique: dict, answer_format: str, second_anchor: float | None = None, *, is_anchored: bool = True
) -> tuple[str, str]:
    """Return the template of a trial, with the versions of its vignette and technique, and a hash of it."""
    said = Script(vignette, technique, SLOT if is_anchored else None, second_anchor, answer_format).template()
    versions = {"vignette_version": vignette.get("version", 1), "technique_version": technique.get("version", 1)}
    text = _as_json({**versions, **said})
    return text_hash(text), text


def template_of(text: str, study: dict, *, is_anchored: bool) -> dict:
    """Read a template, whichever version of bais wrote it; `study` is what the study file said then."""
    said = json.loads(text)
    if isinstance(said, dict):
        return said
    of_vignette, of_technique, asked, response_unit, second_anchor = said
    vignette = of_vignette | {"response_unit": response_unit, "version": _version(study["vignettes"], of_vignette)}
    technique = of_technique | {"version": _version(study["techniques"], of_technique)}
    return json.loads(prompt_version(vignette, technique, asked, second_anchor, is_anchored=is_anchored)[1])


def _version(entries, said):
    """Return the version of the entry with these words; a shipped one that no study names is of version 1."""
    return next((entry.get("version", 1) for entry in entries if said.items() <= entry.items()), 1)


def template_hash(template: dict) -> str:
    """Return the hash of a template."""
    return text_hash(_as_json(template))


def _as_json(value):
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


@functools.lru_cache(maxsize=4096)
def text_hash(text: str) -> str:
    """Return the first 32 hexadecimal digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
