"""Ask an LLM that runs on this machine, through torch, with what a technique says of its decoding."""

import asyncio
import functools
import re
import threading

import numpy as np

from ingest.local.coverage import TooShort
from ingest.local.llm import OutOfMemory, load_local
from ingest.local.methods import Method, method_of, sorted_by_attention
from ingest.local.settings import MOST_PREFIX_TOKENS, AttentionSort, SelfDebias, parse_decoding
from ingest.local.writing import Draft, NotFinite, Stopped
from ingest.prompts import fill
from ingest.providers import NoReply, Reply, seed_of
from ingest.texts.sentences import sentences
from ingest.warehouse import UserError, printable

MOST_TOKENS = 500  # of a reply, where a study does not say; document C, appendix A.2
USUAL_TEMPERATURE = 1.0  # the LLM's own probabilities, where a study names no temperature
# What keeps a reply from being written: a word, what it means, and what that means for the trial.
FAILURES = {
    OutOfMemory: ("out_of_memory", "the pass needs more memory than there is", "fail"),
    NotFinite: ("not_finite", "the LLM gave a logit that is no number", "fail"),
    TooShort: ("too_few_words", "the text has fewer than three words, and so no beginning, middle and end", "fail"),
    Stopped: ("stopped", "nobody waited for the reply", "retry"),
}
PARAGRAPH, LINE = re.compile(r"\n\s*\n"), re.compile(r"\n")
SPACED = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)


class Local:
    """One LLM on this machine; it answers one question at a time.

    Parameters
    ----------
    llm : ingest.studies.llms.Llm
    design : ingest.studies.design.Design

    Raises
    ------
    UserError
        If it cannot be loaded, or a technique of the study asks of it what it cannot do.
    """

    secret = None

    def __init__(self, llm, design):
        self.design = design
        self.llm = load_local(llm.model or llm.llm, llm.device, llm.dtype, llm.llm, is_seq2seq=bool(llm.rewrites))
        self.busy = threading.Lock()
        self.decodings = {
            name: parse_decoding(technique["decoding"])
            for name, technique in design.techniques.items()
            if "decoding" in technique
        }
        for name, decoding in self.decodings.items():
            self._refuse_what_it_cannot(name, decoding)

    def _refuse_what_it_cannot(self, technique, decoding):
        if isinstance(decoding, AttentionSort):
            ids = self.llm.ids_of(self.llm.conversation([{"role": "user", "content": decoding.prompt}]))
            if self.llm.starts_of("a") is None:
                raise UserError(
                    f"technique {technique} needs to know where tokens stand in a text, and the tokenizer of "
                    f"{printable(self.llm.name)} does not say: leave the technique or the LLM away"
                )
            if self.llm.attention(ids) is None:
                raise UserError(
                    f"technique {technique} needs attentions, and {printable(self.llm.name)} gives none: leave the "
                    "technique or the LLM away"
                )
        if isinstance(decoding, SelfDebias):
            n_tokens = len(self.llm.encode([decoding.prefix], special=False)[0])
            if n_tokens > MOST_PREFIX_TOKENS:
                raise UserError(
                    f"the prefix of technique {technique} has {n_tokens} tokens in {printable(self.llm.name)}, and may "
                    f"have {MOST_PREFIX_TOKENS}: shorten it"
                )

    async def ask(self, question) -> Reply:
        """Have one reply written; whoever stops waiting stops it."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._answer, question, stop)
        finally:
            stop.set()

    async def close(self):
        """Nothing is held open."""

    def _answer(self, question, stop):
        decoding = self.decodings.get(question.trial.cell.technique)
        most_tokens = question.llm.max_tokens or MOST_TOKENS
        temperature = USUAL_TEMPERATURE if question.temperature is None else question.temperature
        recorded = {
            "temperature": temperature, "max_tokens": most_tokens, "revision": self.llm.revision,
            "device": self.llm.device, "dtype": self.llm.dtype,
            **{library: version for library, version in self.llm.versions.items() if version},
            **({"decoding": decoding.method} if decoding else {}),
        }  # fmt: skip
        with self.busy:
            try:
                if question.llm.rewrites:
                    return self._rewritten(question, most_tokens, recorded, stop.is_set)
                return self._written(question, decoding, temperature, most_tokens, recorded, stop.is_set)
            except tuple(FAILURES) as error:
                why = next(why for kind, why in FAILURES.items() if isinstance(error, kind))
                raise NoReply(*why, parameters=recorded) from None
            except UserError as error:
                raise NoReply("chat_template", str(error), "stop_llm", parameters=recorded) from None

    def _written(self, question, decoding, temperature, most_tokens, recorded, should_stop):
        text, messages = self._text_of(question.trial), question.messages
        if isinstance(decoding, AttentionSort):
            messages = self._sorted(messages, text, decoding, recorded)
        method = method_of(decoding, text)
        if method.sets_temperature:
            recorded["not_sent"] = ["temperature"]
        draft = Draft(
            self.llm,
            functools.partial(self._ids_behind, messages),
            lambda words: self.llm.ids_of(self.llm.conversation([{"role": "user", "content": words}])),
            temperature,
            np.random.default_rng(int.from_bytes(seed_of(self.design.study.order_seed, question, f"{question.turn}"))),
        )
        draft.should_stop = should_stop
        n_in = len(self._ids_behind(messages, ""))
        if self.llm.window and n_in + most_tokens > self.llm.window:
            raise NoReply(
                "context_length",
                f"the question has {n_in} tokens and the reply may have {most_tokens}, and the LLM reads "
                f"{self.llm.window} in all",
                "fail",
                parameters=recorded,
            )
        written = draft.write(method, most_tokens)
        return self._reply(written.text, written.is_complete, n_in, written.n_tokens, recorded)

    def _rewritten(self, question, most_tokens, recorded, should_stop):
        """Have each sentence of a text rewritten by itself, in the likeliest tokens; what lies between them stays."""
        pieces = sentences(self._text_of(question.trial))
        recorded |= {
            "temperature": 0, "decoding": "greedy", "rewrites": question.llm.rewrites, "n_sentences": len(pieces),
            "not_sent": ["messages"] + ([] if question.temperature is None else ["temperature"]),
        }  # fmt: skip
        texts, n_in, n_out, is_complete = [], 0, 0, True
        for piece in pieces:
            before, sentence, behind = SPACED.fullmatch(piece).groups()
            ids = self.llm.encode([sentence])[0]
            n_written = len(self.llm.start_ids) + most_tokens
            if self.llm.window and max(len(ids), n_written) > self.llm.window:
                raise NoReply(
                    "context_length",
                    f"a sentence has {len(ids)} tokens and what is written of it may have {n_written}, and the LLM "
                    f"takes {self.llm.window} of either",
                    "fail",
                    parameters=recorded,
                )
            draft = Draft(self.llm, lambda prefix, ids=ids: ids, None, 0, None)
            draft.should_stop = should_stop
            written = draft.write(Method(), most_tokens)
            texts.append(f"{before}{written.text.strip()}{behind}")
            n_in, n_out = n_in + len(ids), n_out + written.n_tokens
            is_complete = is_complete and written.is_complete
        return self._reply("".join(texts), is_complete, n_in, n_out, recorded)

    def _reply(self, text, is_complete, n_in, n_out, recorded):
        return Reply(
            text=text,
            finish_reason="stop" if is_complete else "length",
            returned_model=self.llm.name,
            upstream_provider="local",
            system_fingerprint=self.llm.revision,
            parameters=recorded,
            tokens_in=n_in,
            tokens_out=n_out,
            cost_usd=0.0,
        )

    def _ids_behind(self, messages, prefix):
        """Return the tokens of a conversation, with a prefix before the first thing that was said."""
        if prefix:
            first, *others = messages
            messages = [first | {"content": f"{prefix}\n\n{first['content']}"}, *others]
        return self.llm.ids_of(self.llm.conversation(messages))

    def _text_of(self, trial):
        """Return what is written about: the text of the item where the paradigm names one, else the case."""
        cell = trial.cell
        vignette, item = self.design.vignettes.get(cell.vignette, {}), self.design.items.get(cell.item)
        if item and vignette.get("text_field"):
            return item.fields.get(vignette["text_field"], "")
        return "" if cell.role else self.design.script(cell, trial.option_order).words["case_text"]

    def _sorted(self, messages, text, decoding, recorded):
        """Return the question with the text's segments from the least to the most attended."""
        segments = segments_of(text)
        if len(segments) < 2:
            raise NoReply("one_segment", "the text is one sentence, which has no order", "fail", parameters=recorded)

        def asked(order):
            parts = [fill(decoding.segment, {"n": n, "segment": segments[at]}) for n, at in enumerate(order, 1)]
            return [*messages[:-1], {"role": "user", "content": fill(decoding.prompt, {"segments": "\n".join(parts)})}]

        def attended(order):
            conversation = self.llm.conversation(asked(order))
            ids, starts = self.llm.ids_of(conversation), np.array(self.llm.starts_of(conversation))
            attention, weights, end = self.llm.attention(ids), [], 0
            for at in order:
                begin = conversation.index(segments[at], end)
                end = begin + len(segments[at])
                weights.append(attention[(starts >= begin) & (starts < end)].mean())
            return weights

        order = sorted_by_attention(len(segments), attended, decoding.iterations)
        recorded["segment_order"] = order
        return asked(order)


def segments_of(text: str) -> list[str]:
    """Return the paragraphs of a text; of one without empty lines its lines, and of a single line its sentences."""
    for pieces in (PARAGRAPH.split(text), LINE.split(text), sentences(text)):
        segments = [piece.strip() for piece in pieces if piece.strip()]
        if len(segments) > 1:
            break
    return segments
