"""Simulated respondents: a stated truth and some noise, answered in text. The same question gets the same answer."""

import asyncio
import json
import math
import random

from ingest.paradigms.judges import ANSWER
from ingest.paradigms.paradigm import LETTERS
from ingest.prompts import as_number
from ingest.prompts.steps import sentences_of
from ingest.providers import Reply, seed_of
from ingest.studies.llms import knowledge_cutoffs

REFUSAL = "I'm sorry, but I cannot make this decision for you."
FORMATS = {
    "line": "I have weighed what the summary says.\n\nAnswer: {n}",
    "sentence": "I would settle on {n}, all things considered.",
    "bold": "**{n}**",
    "reasoned": "There are 2 sides to this.\n\n1. What speaks for more.\n2. What speaks for less.\n\nFinal answer: {n}",
    "json": '```json\n{{"answer": {n}}}\n```',
}
CHOICES = ("{said}", "**{said}**", "{said}.", '"{said}"')
NOTHING_FOUND = "I looked at each sentence.\n\nVERDICT: NO BIAS"
FRAMED, SENTENCES = "It reads as {}.", 3  # how a simulated summary says its framing, and how many sentences it repeats
ELABORATION = "Several things could be said about that, and I have considered them."


class Simulated:
    """Answers for the simulated respondents of a study.

    Parameters
    ----------
    design : ingest.studies.design.Design
    """

    secret = None

    def __init__(self, design):
        self.design = design

    async def ask(self, question) -> Reply:
        """Answer one question, or refuse it."""
        truth = question.llm.simulated
        if truth.latency_ms:
            await asyncio.sleep(truth.latency_ms / 1000)
        text = self._write_text(question, truth)
        n_in = sum(len(message["content"]) for message in question.messages)
        return Reply(
            text=text,
            finish_reason="stop",
            returned_model=question.llm.llm,
            upstream_provider="simulated",
            parameters={} if question.temperature is None else {"temperature": question.temperature},
            tokens_in=math.ceil(n_in / 4),
            tokens_out=math.ceil(len(text) / 4),
            cost_usd=0.0,
        )

    async def close(self):
        """Nothing is held open."""

    def _write_text(self, question, truth):
        cell, step = question.trial.cell, question.step
        of_trial = self._chance(question, "trial")
        if of_trial.random() < truth.refusal_rate:
            return NOTHING_FOUND if step == "determine" else REFUSAL
        if cell.role:
            return self._judgement(question, truth)
        n_rounds = of_trial.randint(1, 3)
        if step == "determine":
            return "I looked at each sentence.\n\nVERDICT: BIAS" if question.round <= n_rounds else NOTHING_FOUND
        if step == "debias":
            first = next(m["content"] for m in question.messages if m["role"] == "user")
            return first.partition("<prompt>")[2].partition("</prompt>")[0].strip()
        if self.design.study.answer_format == "story-001":
            return self._story_answer(question, truth)
        if cell.arm and (content := self._of_content(question, truth)):
            return content
        technique = self.design.techniques.get(cell.technique, {"turns": [""]})
        n_turns = len(technique.get("turns") or technique["steps"])
        if cell.arm:
            n_turns += len(self.design.vignettes[cell.vignette]["arms"][cell.arm]["turns"]) - 1
        is_last = question.turn == n_turns - 1
        if step == "analyse" or (step == "call" and not is_last) or (step == "turn" and question.turn and not is_last):
            return ELABORATION
        is_first = step == "initial" or (step == "turn" and n_turns > 1 and question.turn == 0)
        technique = "no_technique" if is_first else cell.technique
        answer = self.design.paradigm_of(cell.vignette).answer
        if answer.kind != "number":
            reply = self._chosen(truth, question, technique)
        else:
            reply = self._answer(truth, cell, technique, self._chance(question, f"{question.turn}"))
        return f"I have thought about it.\n{answer.answer_after} {reply}" if answer.answer_after else reply

    def _story_answer(self, question, truth):
        """Answer as story 001 wants it: one object, or a part of it in each of three turns."""
        cell, mine = question.trial.cell, self._baseline(truth, question.trial.cell)

        def evaluate(demand):
            return "just right" if demand == mine else "too low" if demand < mine else "too high"

        number = self._number(truth, cell, "no_technique", self._chance(question, "sentence"))
        answer = {
            "prosecutorRecommendationMonths": int(cell.anchor_value),
            "prosecutorEvaluation": evaluate(cell.anchor_value),
            "defenseAttorneyEvaluation": evaluate(self.design.study.second_anchor),
            "sentenceMonths": int(number),
        }
        prompt = question.messages[-1]["content"]
        return json.dumps({key: value for key, value in answer.items() if f'"{key}"' in prompt})

    def _answer(self, truth, cell, technique, chance):
        number = self._number(truth, cell, technique, chance)
        return FORMATS[chance.choice(truth.formats)].format(n=as_number(number))

    def _chosen(self, truth, question, technique):
        """Draw an option or a label by its stated share, and name it in one of the ways that LLMs do."""
        trial, cell = question.trial, question.trial.cell
        paradigm, chance = self.design.paradigm_of(cell.vignette), self._chance(question, f"{question.turn}")
        if paradigm.answer.kind == "text":
            return ELABORATION
        answers = list(trial.option_order or paradigm.answer.labels)
        effect = truth.techniques.get(technique)
        factors = (truth.bias, effect and effect.bias)
        factor = math.prod(1.0 if number is None else number for number in factors)
        factor *= paradigm.item_factor(self.design.items.get(cell.item))
        shares = paradigm.shares(cell.arm, technique, answers, factor)
        drawn = chance.choices(sorted(shares), [max(0.0, shares[answer]) for answer in sorted(shares)])[0]
        name = LETTERS[answers.index(drawn)] if trial.option_order else drawn
        return chance.choice(CHOICES).format(said=name)

    def _of_content(self, question, truth):
        """Summarise a text, check a fact or label a framing, where the truth of this is stated; else return None."""
        cell = question.trial.cell
        answer, item = self.design.paradigm_of(cell.vignette).answer, self.design.items.get(cell.item)
        if answer.kind == "text" and truth.lead_share is not None:
            return self._summary(question, truth, item)
        details = item.details if item and answer.kind == "label" else {}
        if truth.known_before is not None and details.get("is_true") is not None:
            return self._fact(question, truth, item)
        if truth.accuracy is not None and details.get("correct"):
            return self._label(item.details["correct"], answer.labels, truth, self._chance(question, "label"))
        return None

    def _summary(self, question, truth, item):
        """Repeat sentences of a text, as many of its first third as is stated, and say how the summary is framed."""
        cell, chance = question.trial.cell, self._chance(question, "summary")
        text = item.fields.get(self.design.paradigm_of(cell.vignette).text_field, "")
        sentences = sentences_of(text)
        n_first = max(1, len(sentences) // 3)
        chosen = []
        for _ in range(SENTENCES):
            is_first = chance.random() < truth.with_technique(cell.technique, "lead_share")
            chosen.append(chance.choice(sentences[:n_first] if is_first else sentences[n_first:] or sentences))
        technique = self.design.techniques.get(cell.technique, {})
        if technique.get("counts") == "joined":  # each call brings its part
            n_calls = len(technique["steps"])
            is_last, chosen = question.turn == n_calls - 1, chosen[question.turn :: n_calls]
        else:
            is_last = True
        judges = self.design.judges
        if judges and is_last:
            framing = self._framing(item, item.item)
            if chance.random() < truth.with_technique(cell.technique, "flip_rate"):
                framing = chance.choice([label for label in judges.labels if label != framing])
            chosen.append(FRAMED.format(framing))
        return " ".join([*([technique["answer_after"]] if "answer_after" in technique else []), *chosen])

    def _fact(self, question, truth, item):
        """Say what is known of a statement; of one that is not known, guess."""
        cell, chance = question.trial.cell, self._chance(question, "fact")
        cutoff, published = knowledge_cutoffs().get(cell.llm), item.details.get("published_at")
        is_after = cutoff and published and published[:10] > cutoff.isoformat()
        share = truth.with_technique(cell.technique, "known_after" if is_after else "known_before")
        is_known = chance.random() < (share or 0)
        guess = chance.random() < truth.with_technique(cell.technique, "yes_bias")
        verdict = str(item.details["is_true"] if is_known else guess)
        if "Confidence]" in question.messages[0]["content"]:
            verdict += f" [{'High' if is_known else 'Low'} Confidence]"
        return verdict

    def _framing(self, item, judged):
        """Return the label that is right for a text: where none is known to be, its name decides which one is."""
        labels = self.design.judges.labels
        right = item.details.get("correct") if item else None
        return right if right in labels else random.Random(judged).choice(labels)

    def _judgement(self, question, truth):
        """Give the right label as often as is stated; of a simulated summary it is the one that the summary names."""
        cell, labels = question.trial.cell, self.design.judges.labels
        shown = question.messages[-1]["content"]
        named = [label for label in labels if FRAMED.format(label) in shown] if cell.role == ANSWER else []
        right = named[0] if named else self._framing(self.design.items.get(cell.item), cell.judged)
        return self._label(right, labels, truth, self._chance(question, "judgement"))

    def _label(self, right, labels, truth, chance):
        is_right = chance.random() < truth.accuracy
        label = right if is_right else chance.choice([label for label in labels if label != right])
        return chance.choice(CHOICES).format(said=label)

    def _number(self, truth, cell, technique, chance):
        baseline = self._baseline(truth, cell)
        effect = truth.techniques.get(technique)
        pull, shift = (truth.pull * effect.pull, effect.shift) if effect else (truth.pull, 0.0)
        centre = baseline * (1 + (shift if technique != "no_technique" else 0))
        if cell.arm and (stated := self.design.paradigm_of(cell.vignette).simulated):
            centre += baseline * stated.shift(cell.arm, technique).get("response", 0)
        if cell.anchor_value is not None:
            centre += pull * (cell.anchor_value - baseline)
        scale = 10**truth.decimals
        value = math.floor((centre + truth.noise * baseline * chance.gauss(0, 1)) * scale + 0.5) / scale
        vignette = self.design.vignettes[cell.vignette]
        value = max(value, vignette.get("valid_min", -math.inf))
        return min(value, vignette.get("valid_max", math.inf))

    def _baseline(self, truth, cell):
        stated = truth.baselines[cell.vignette]
        return truth.level * (self.design.items[cell.item].number(stated) if isinstance(stated, str) else stated)

    def _chance(self, question, what):
        return random.Random(seed_of(self.design.study.order_seed, question, what))
