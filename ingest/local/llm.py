"""An LLM on this machine: any causal LM of Hugging Face, through torch and transformers, which `make local` installs.

It is scored and it writes; a seq2seq model, which is none, rewrites sentences. No other file of these knows torch.
Nothing is fetched where the weights are on disk, and code that comes with weights never runs.
"""

import contextlib
import hashlib
import inspect
import json
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ingest.local import CANNOT_BE_ASKED
from ingest.warehouse import UserError, printable, sha256_of

AT_A_TIME = {"cpu": 4, "cuda": 64}
LIBRARIES = ("torch", "transformers", "tokenizers")
TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tokenizer_config.json",
)  # fmt: skip
NOT_ENOUGH = ("not enough memory", "can't allocate memory", "out of memory")
OF_ITS_OWN = ("trust_remote_code", "custom code")
UNKNOWN = ("does not recognize this architecture", "Unrecognized configuration class", "Unrecognized model")
SETTINGS = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "true",
}


class OutOfMemory(Exception):
    """A pass needs more memory than there is."""


def load_local(
    name: str, device: str | None = None, dtype: str | None = None, called: str | None = None, *,
    is_seq2seq: bool = False,
) -> "LocalLlm":  # fmt: skip
    """Load a causal LM, or a seq2seq model, from a folder, else by its id from the local cache, else from Hugging Face.

    Without a device it goes where a GPU is; without a number format it is float32 on the CPU, and else what its weights
    are stored in. It is called as it was asked for, and in a folder, whatever that is named after, `local/FOLDER`;
    `called` says which LLM it is.
    """
    if lacking := what_is_lacking():
        raise UserError(lacking)
    folder = Path(name).expanduser()
    if not folder.is_dir() and (folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1):
        raise UserError(f"there is no folder {printable(folder)}")
    for setting, value in SETTINGS.items():
        os.environ.setdefault(setting, value)
    if folder.is_dir():
        os.environ["HF_HUB_OFFLINE"] = "1"  # read when the libraries are imported, and they are told so once more
        name = called or f"local/{folder.resolve().name}"
        return _loaded(str(folder), name, device, dtype, is_seq2seq, is_local=True)
    for is_local in (True, False):
        try:
            return _loaded(name, called or name, device, dtype, is_seq2seq, is_local)
        except _NotThere as error:
            problem = f"{printable(name)} is not on this machine and cannot be fetched: {error}"
    raise UserError(problem, CANNOT_BE_ASKED)


def what_is_lacking() -> str | None:
    """Say what has to be installed before an LLM can run here; None where it is there."""
    missing = [library for library in LIBRARIES[:2] if not find_spec(library)]
    if not missing:
        return None
    return (
        f"running an LLM on this machine needs {' and '.join(missing)}, which {'are' if missing[1:] else 'is'} not "
        "installed here: `make local` in a checkout of bais installs what it takes; every other command works without"
    )


class _NotThere(Exception):
    """Something of an LLM is not on this machine, or not where it is fetched from."""


def _loaded(place, name, device, dtype, is_seq2seq, is_local):
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("torch finds no GPU here: use --device cpu, or install the build of torch that fits the GPU")
    dtype = dtype or ("float32" if device == "cpu" else "auto")
    told = {"local_files_only": is_local, "trust_remote_code": False}
    is_folder = Path(place).is_dir()
    if is_folder and not (Path(place) / "config.json").exists():
        raise UserError(f"{printable(place)} holds no LLM: there is no config.json in it", CANNOT_BE_ASKED)
    with _worded(name, "the configuration", is_folder):
        config = transformers.AutoConfig.from_pretrained(place, **told)
    if config.is_encoder_decoder != is_seq2seq:
        raise UserError(
            f"{printable(name)} is no seq2seq model, such as T5, BART or Pegasus, but {printable(config.model_type)}: "
            "name one that was trained to rewrite sentences, or leave `rewrites` away"
            if is_seq2seq
            else f"{printable(name)} is a seq2seq model, which reads no question: it can rewrite texts, in a study "
            "that says `rewrites: sentences` of it",
            CANNOT_BE_ASKED,
        )
    if is_folder and not any((Path(place) / file).exists() for file in TOKENIZER_FILES):
        raise UserError(f"{printable(place)} holds no tokenizer, such as a tokenizer.json", CANNOT_BE_ASKED)
    with _worded(name, "the tokenizer", is_folder):
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, **told)
    kind = "seq2seq models" if is_seq2seq else "causal LMs"
    with _worded(name, "the weights", is_folder, kind):
        of_kind = transformers.AutoModelForSeq2SeqLM if is_seq2seq else transformers.AutoModelForCausalLM
        model, report = of_kind.from_pretrained(place, config=config, dtype=dtype, output_loading_info=True, **told)
        if missing := sorted(report["missing_keys"]):
            others = f" and {len(missing) - 1} others" * (len(missing) > 1)
            raise UserError(
                f"the weights of {printable(name)} lack {missing[0]}{others}, which would be drawn at random: nothing "
                "was asked",
                CANNOT_BE_ASKED,
            )
        model = model.to(device).eval()
    revision = _hash_of(Path(place)) if is_folder else getattr(config, "_commit_hash", None) or "unknown"
    return (LocalRewriter if is_seq2seq else LocalLlm)(name, revision, model, tokenizer)


class LocalLlm:
    """A causal LM and its tokenizer, as `ingest.scoring.scorer` and `ingest.local.writing` ask them."""

    def __init__(self, name, revision, model, tokenizer):
        self.name, self.revision, self.model, self.tokenizer = name, revision, model, tokenizer
        self.device = model.device.type
        self.dtype = str(model.dtype).removeprefix("torch.")
        self.n_at_a_time = AT_A_TIME[self.device]
        self.unknown_id = tokenizer.unk_token_id
        self.tokenizer_hash = _tokenizer_hash(tokenizer)
        self.versions = {library: _version_of(library) for library in LIBRARIES}
        taken = inspect.signature(model.forward).parameters
        self._keeps_last = "logits_to_keep" in taken
        # the name by which a pass takes what another kept: what comes by another name may be overlooked in silence
        self._cache = next((name for name in ("cache", "past_key_values") if name in taken), None)

    def encode(self, texts: Sequence[str], *, special: bool = True) -> list[list[int]]:
        """Tokenise texts, with what the tokenizer puts around each unless told otherwise."""
        return self.tokenizer(list(texts), add_special_tokens=special, verbose=False)["input_ids"]

    @property
    def chat_template(self) -> str | None:
        """The chat template that comes with the tokenizer; of several the one for plain chats."""
        templates = self.tokenizer.chat_template
        return templates.get("default") if isinstance(templates, dict) else templates

    def in_chat(self, message: str) -> str:
        """Return the text of a chat that a person begins; transformers runs the template in a sandbox."""
        return self._in_template([{"role": "user", "content": message}])

    def _in_template(self, messages):
        return self.tokenizer.apply_chat_template(
            messages, chat_template=self.chat_template, tokenize=False, add_generation_prompt=True
        )

    def conversation(self, messages: Sequence[dict]) -> str:
        """Return the text of a conversation up to where the reply begins; without a chat template, what was said.

        Where the template takes no system's message, that one is the beginning of the person's first.
        """
        if not self.chat_template:
            return "\n\n".join(message["content"] for message in messages)
        try:
            return self._in_template(list(messages))
        except Exception as error:  # a template is a program of its own, and may raise anything
            problem = problem_of(error)
        first, *others = messages
        if first["role"] == "system" and others:
            content = f"{first['content']}\n\n{others[0]['content']}"
            return self.conversation([{"role": "user", "content": content}, *others[1:]])
        raise UserError(f"the chat template of {printable(self.name)} cannot put a message: {problem}", CANNOT_BE_ASKED)

    @property
    def takes_special(self) -> bool:
        """Whether the tokenizer puts its own tokens around a conversation, which a chat template writes itself."""
        return not self.chat_template

    def ids_of(self, conversation: str) -> list[int]:
        """Return the tokens of a conversation."""
        return self.encode([conversation], special=self.takes_special)[0]

    def starts_of(self, conversation: str) -> list[int] | None:
        """Return at which character each token of a conversation begins; None where the tokenizer cannot tell."""
        if not self.tokenizer.is_fast:
            return None
        spans = self.tokenizer(
            conversation, add_special_tokens=self.takes_special, return_offsets_mapping=True, verbose=False
        )["offset_mapping"]
        return [start for start, _ in spans]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, without those that only mark its ends."""
        return self.tokenizer.decode(list(ids), skip_special_tokens=True)

    @cached_property
    def token_texts(self) -> list[str]:
        """The text of every token by itself."""
        return self.tokenizer.batch_decode([[token] for token in range(len(self.tokenizer))])

    @cached_property
    def tokens_by_text(self) -> dict[str, list[int]]:
        """The tokens by their text, in small letters and without spaces around it."""
        tokens = {}
        for token, text in enumerate(self.token_texts):
            tokens.setdefault(text.strip().casefold(), []).append(token)
        return tokens

    @cached_property
    def end_ids(self) -> frozenset[int]:
        """The tokens that end a reply."""
        told = [self.tokenizer.eos_token_id]
        for config in (self.model.config, self.model.generation_config):
            ids = getattr(config, "eos_token_id", None)
            told += ids if isinstance(ids, list) else [ids]
        return frozenset(told) - {None}

    @property
    def window(self) -> int | None:
        """How many tokens it reads at most; None where that has no end."""
        return getattr(self.model.config.get_text_config(), "max_position_embeddings", None)

    def cache_arguments(self, passed) -> dict:
        """Return what a pass keeps for the next one, to be given to it; nothing where the architecture takes none."""
        kept = getattr(passed, self._cache, None) if self._cache else None
        return {} if kept is None else {self._cache: kept}

    def begin(self, ids: Sequence[int]) -> "Passage":
        """Read the tokens of a text, to write on."""
        return Passage(self, ids)

    def attention(self, ids: Sequence[int]) -> np.ndarray | None:
        """Return how much the last token attends to each, on average over layers and heads; None where nothing says.

        Only the last token passes in the way that keeps attentions, so that no matrix of all pairs is made.
        """
        kept = self.cache_arguments(self._pass(input_ids=self._tensor([ids[:-1]]), use_cache=True))
        if not kept:
            return None
        usual = self.model.config._attn_implementation
        try:
            self.model.set_attn_implementation("eager")
            layers = self._pass(
                input_ids=self._tensor([ids[-1:]]), use_cache=True, output_attentions=True, **kept
            ).attentions
        except (AttributeError, NotImplementedError, TypeError, ValueError):
            return None
        finally:
            self.model.set_attn_implementation(usual)
        layers = [layer[0, :, -1].double().mean(0).cpu().numpy() for layer in layers or () if layer is not None]
        if not layers:
            return None
        attended = np.zeros(len(ids))
        for layer in layers:  # a layer with a sliding window has seen the last tokens alone
            attended[-len(layer) :] += layer / len(layers)
        return attended

    def forward(self, ids: np.ndarray, positions: np.ndarray, mask: np.ndarray, n_last: int):
        """Return the logits of the last places of texts under a mask of our own, shape (texts, n_last, vocabulary).

        `ids` and `positions` have the shape (texts, places), `mask` (texts, places, places): whether a place, in the
        second dimension, sees another one, in the third.
        """
        import torch

        seen = torch.as_tensor(mask, device=self.device)[:, None]
        blocked = torch.zeros(seen.shape, dtype=self.model.dtype, device=self.device)
        blocked.masked_fill_(~seen, torch.finfo(self.model.dtype).min)
        told = {"logits_to_keep": n_last} if self._keeps_last else {}
        return self._pass(
            input_ids=self._tensor(ids), position_ids=self._tensor(positions), attention_mask=blocked, **told
        ).logits[:, -n_last:]

    def forward_plain(self, ids: Sequence[int]):
        """Return the logits of one text, asked for with nothing but the text, shape (1, places, vocabulary)."""
        try:
            return self._pass(input_ids=self._tensor([ids])).logits
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            raise UserError(f"{printable(self.name)} cannot be run: {problem_of(error)}", CANNOT_BE_ASKED) from None

    def forward_after(self, stem: Sequence[int], tails: Sequence[Sequence[int]]):
        """Return the logits of texts that follow the same one, which passes once.

        The shape is (tails, places of the longest, vocabulary).
        """
        import torch

        longest = max(map(len, tails))
        ids = self._tensor([[*tail, *[0] * (longest - len(tail))] for tail in tails])
        kept = self.cache_arguments(self._pass(input_ids=self._tensor([stem]), use_cache=True))
        with _memory():
            kept[self._cache].batch_repeat_interleave(len(tails))
        seen = torch.ones((len(tails), len(stem) + longest), dtype=torch.long, device=self.device)
        return self._pass(input_ids=ids, attention_mask=seen, use_cache=True, **kept).logits

    def log_probabilities(self, logits, rows: list[int], places: list[int], ids: list[int]) -> np.ndarray:
        """Return the log-probability of each id at its row and place, in nats.

        Logits are read a text at a time, so that no second copy of all of them is made.
        """
        import torch

        rows, places, ids = (self._tensor(numbers) for numbers in (rows, places, ids))
        with _memory(), torch.inference_mode():
            exact = torch.float64 if logits.dtype == torch.float64 else torch.float32
            totals = torch.stack([torch.logsumexp(of_text.to(exact), -1) for of_text in logits])
            return (logits[rows, places, ids].double() - totals[rows, places].double()).cpu().numpy()

    def _pass(self, **given):
        import torch

        with _memory(), torch.inference_mode():
            return self.model(**({"use_cache": False} | given))

    def _tensor(self, numbers):
        import torch

        return torch.as_tensor(np.asarray(numbers, np.int64), device=self.device)


class Passage:
    """A text that an LLM has read, with what it keeps of it; an architecture that keeps nothing reads it again."""

    def __init__(self, llm: LocalLlm, ids: Sequence[int]):
        self.llm, self.ids, self.cache = llm, [], {}
        self.add(ids)

    def add(self, ids: Sequence[int]) -> None:
        """Read more tokens."""
        self.ids += ids
        unread = ids if self.cache else self.ids
        told = {"logits_to_keep": 1} if self.llm._keeps_last else {}
        passed = self.llm._pass(**self._given(self.llm._tensor([unread])), use_cache=True, **told, **self.cache)
        self.cache = self.llm.cache_arguments(passed)
        self.logits = passed.logits[0, -1].double().cpu().numpy()

    def _given(self, unread):
        return {"input_ids": unread}


class LocalRewriter(LocalLlm):
    """A seq2seq model and its tokenizer: it reads a text whole and writes another one from its first token on."""

    def begin(self, ids: Sequence[int]) -> "Rewriting":
        """Read the tokens of a text, to write another one."""
        return Rewriting(self, ids)

    @property
    def start_ids(self) -> list[int]:
        """The tokens that each text begins with that it writes."""
        told = self.model.generation_config
        ids = told.decoder_start_token_id, told.forced_bos_token_id
        if ids[0] is None:
            raise UserError(
                f"{printable(self.name)} does not say which token a text begins with: give its configuration a "
                "decoder_start_token_id",
                CANNOT_BE_ASKED,
            )
        return [token for token in ids if token is not None]


class Rewriting(Passage):
    """A text that a seq2seq model has read, and what it has written of it."""

    def __init__(self, llm: LocalRewriter, ids: Sequence[int]):
        import torch

        with _memory(), torch.inference_mode():
            self.encoded = llm.model.get_encoder()(input_ids=llm._tensor([ids]))
        super().__init__(llm, llm.start_ids)

    def _given(self, unread):
        return {"encoder_outputs": self.encoded, "decoder_input_ids": unread}


@contextlib.contextmanager
def _memory() -> Iterator[None]:
    """Say in one way that memory is out, which torch says in several."""
    import torch

    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not isinstance(error, MemoryError) and not any(words in str(error) for words in NOT_ENOUGH):
            raise
        is_out = True
    else:
        is_out = False
    if is_out:  # outside of the handler, which would keep what the pass had made
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        raise OutOfMemory


@contextlib.contextmanager
def _worded(name, what, is_folder, kind="causal LMs") -> Iterator[None]:
    """Say in one sentence why something of an LLM cannot be loaded."""
    import torch

    name = printable(name)
    try:
        yield
    except (UserError, _NotThere):
        raise
    except (MemoryError, torch.OutOfMemoryError):
        raise UserError(
            f"{name} needs more memory than this machine has: choose a smaller --dtype or another --device",
            CANNOT_BE_ASKED,
        ) from None
    except Exception as error:  # the libraries raise nearly anything at what they cannot read
        message = str(error)
        if any(words in message for words in OF_ITS_OWN):
            reason = f"{name} comes with code of its own, which never runs here: only architectures of transformers do"
        elif any(words in message for words in UNKNOWN):
            reason = (
                f"the architecture of {name} is none of the {kind} that transformers "
                f"{_version_of('transformers')} knows"
            )
        elif isinstance(error, OSError) and not is_folder:
            raise _NotThere(printable(message.splitlines()[0])) from None
        else:
            reason = f"{what} of {name} cannot be loaded: {problem_of(error)}"
        raise UserError(reason, CANNOT_BE_ASKED) from None


def problem_of(error: Exception) -> str:
    """Return the first line of what an error says, or what it is called."""
    return printable((str(error).splitlines() or [type(error).__name__])[0])


def _version_of(library):
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _tokenizer_hash(tokenizer):
    fast = getattr(tokenizer, "backend_tokenizer", None)
    text = fast.to_str() if fast else json.dumps([tokenizer.get_vocab(), str(tokenizer)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _hash_of(folder):
    """Name what a folder holds: its weights, its configuration and its tokenizer."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")):
        digest.update(f"{path.name} {sha256_of(path)}\n".encode())
    return f"sha256:{digest.hexdigest()}"
