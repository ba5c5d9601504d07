"""LLMs of several architectures and tokenizers, tiny and random, scored through torch as `bais score` does."""

import json
import re
import shutil
import socket
from pathlib import Path

import numpy as np
import pytest

WHY = "torch and transformers are not installed: `make local` installs what `bais score` takes"
torch = pytest.importorskip("torch", reason=WHY)
transformers = pytest.importorskip("transformers", reason=WHY)

from bais.main import main  # noqa: E402
from ingest.local.llm import OutOfMemory, load_local  # noqa: E402
from ingest.scoring.chat import in_chat  # noqa: E402
from ingest.scoring.passes import by_cache, by_tree, one_by_one, right_way  # noqa: E402
from ingest.scoring.questions import load_questions  # noqa: E402
from ingest.scoring.scorer import Scoring, score, scored_prompts  # noqa: E402
from ingest.scoring.targets import Targets  # noqa: E402
from ingest.warehouse import UserError  # noqa: E402
from tests.ingest.scoring.tiny import questions_of  # noqa: E402
from tests.ingest.scoring.trained import byte_level, sentence_piece  # noqa: E402
from tests.test_how_to import steps, words_of  # noqa: E402

PROMPTS = list(load_questions().prompts.values())
SIZES = {"vocab_size": 600, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
LLAMA = SIZES | {"intermediate_size": 64, "num_key_value_heads": 2, "bos_token_id": 1, "eos_token_id": 2}
CONFIGS = {
    "gpt2": lambda: transformers.GPT2Config(vocab_size=600, n_embd=32, n_layer=2, n_head=4, n_positions=256),
    "gpt_neo": lambda: transformers.GPTNeoConfig(
        vocab_size=600, hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]],
        window_size=256, max_position_embeddings=256, intermediate_size=64,
    ),
    "llama": lambda: transformers.LlamaConfig(**LLAMA),
    "gemma": lambda: transformers.GemmaConfig(**LLAMA, head_dim=8),
    "phi": lambda: transformers.PhiConfig(**SIZES, intermediate_size=64),
    "falcon_alibi": lambda: transformers.FalconConfig(**SIZES, alibi=True, new_decoder_architecture=False),
}  # fmt: skip


# the user's and the assistant's marks are what Gemma's, Llama's and others put there, in their own words
TEMPLATES = {
    "strips": (  # and knows no system's message
        "{{ bos_token }}{% for said in messages %}{% if said['role'] == 'system' %}"
        "{{ raise_exception('System role not supported') }}{% endif %}"
        "<turn>{{ said['role'] }}\n{{ said['content'] | trim }}</turn>\n{% endfor %}"
        "{% if add_generation_prompt %}<turn>model\n{% endif %}"
    ),
    "no_beginning": "{% for said in messages %}[INST] {{ said['content'] }} [/INST]{% endfor %}",
    "speaks_first": (
        "{{ bos_token }}{% if messages[0]['role'] != 'system' %}system: You help people.\n{% endif %}"
        "{% for said in messages %}{{ said['role'] }}: {{ said['content'] }}\n{% endfor %}assistant:\n"
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """From an architecture and a tokenizer to the folder of an LLM, as people have it on disk."""
    made = {}

    def of(architecture, tokenizer=byte_level, bos=False):
        key = architecture, tokenizer.__name__, bos
        if key not in made:
            made[key] = tmp_path_factory.mktemp("llms") / "-".join(map(str, key))
            torch.manual_seed(0)
            model = transformers.AutoModelForCausalLM.from_config(CONFIGS[architecture]())
            with torch.no_grad():
                for weights in model.parameters():
                    if weights.ndim > 1:
                        weights.mul_(8)  # so that what a token sees makes a difference
            model.save_pretrained(made[key])
            tokenizer(bos).save_pretrained(made[key])
        return made[key]

    return of


def naive(folder, prompt, target, rule, *, is_chat=False):
    """The score as document D's notebook computes it: transformers alone, one text at a time.

    In a chat the ids are those that transformers makes of a person's message.
    """
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    own, between, special = tokenizer(prompt).input_ids, " ", True
    if is_chat:
        chat, between, special = [{"role": "user", "content": prompt}], "", False
        own = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
        prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    whole = tokenizer(f"{prompt}{between}{target}%", add_special_tokens=special, return_tensors="pt").input_ids
    assert whole[0, : len(own)].tolist() == own
    with torch.no_grad():
        log_p = torch.log_softmax(model(whole).logits[0].double(), -1)[:-1]
    if rule == "published":
        ids = tokenizer(f"{target}%", add_special_tokens=special, return_tensors="pt").input_ids[0]
    else:
        ids = whole[0, len(own) :]
    return log_p[-len(ids) :].gather(1, ids[:, None]).sum().item()


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("tokenizer", [byte_level, sentence_piece])
@pytest.mark.parametrize("architecture", ["gpt2", "llama", "gemma"])
def test_a_score_is_that_of_a_naive_pass_to_1e_4_nats(folder, here, architecture, tokenizer, bos):
    place = folder(architecture, tokenizer, bos)
    llm = load_local(str(place))
    prompts = [PROMPTS[31], PROMPTS[0]]
    for prompt, scores in zip(prompts, by_tree(llm, Targets(llm).after(prompts)), strict=True):
        for target in (0, 7, 47, 100):
            for rule in ("published", "aligned"):
                expected = naive(place, prompt, target, rule)
                assert scores[rule, target].sum() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("tokenizer", [byte_level, sentence_piece])
@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_in_a_chat_a_score_is_that_of_a_naive_pass_over_what_transformers_makes_of_it(
    folder, here, architecture, tokenizer, bos, template
):
    place = broken(folder(architecture, tokenizer, bos), here, chats(TEMPLATES[template]))
    llm, few = load_local(str(place)), questions_of("V0")
    messages, prompts = (list(asked.prompts.values()) for asked in (few, in_chat(llm, few)))
    for at in (0, -1):
        (spelling,) = Targets(llm, in_chat=True).after([prompts[at]])
        (scores,) = by_tree(llm, [spelling])
        for target in (0, 47, 100):
            assert spelling.wholes[target].count(1) == (template != "no_beginning")
            for rule in ("published", "aligned"):
                expected = naive(place, messages[at], target, rule, is_chat=True)
                assert scores[rule, target].sum() == pytest.approx(expected, abs=1e-4)


def test_bais_score_of_a_chat_stands_beside_that_of_plain_prompts(folder, here, capsys):
    place = broken(folder("llama", sentence_piece, True), here, chats(TEMPLATES["strips"]))
    few = here / "few.yaml"
    few.write_text(json.dumps(questions_of("V0").model_dump()), encoding="utf-8")
    for option, named in [([], "@"), (["--chat"], "@chat-")]:
        for added in (24 * 101 * 2, 0):
            assert main(["score", "--llm", str(place), "--questions", str(few), *option]) == 0
            said = capsys.readouterr().out
            assert f"loaded: {added:,} scores added, {4848 - added:,} already there" in said
            assert f"scoring local/broken{named}" in said
            assert "disagree" not in said


UNCHATTY = {
    "no template": (None, "the tokenizer of local/broken has no chat template"),
    "it wants a system's message": (
        "{% if messages[0]['role'] != 'system' %}{{ raise_exception('System first') }}{% endif %}",
        "the chat template of local/broken cannot put a message: System first",
    ),
    "it is no template": ("{% if %}", "the chat template of local/broken cannot put a message: "),
    "it drops the message": ("<s>", "does not write a message once and as it is"),
    "it leaves its sandbox": (
        "{{ cycler.__init__.__globals__.os.mkdir('left') }}{{ messages[0]['content'] }}",
        "the chat template of local/broken cannot put a message: ",
    ),
}


@pytest.mark.parametrize("case", UNCHATTY)
def test_a_chat_template_that_cannot_be_used_is_one_sentence(folder, here, capsys, monkeypatch, case):
    monkeypatch.chdir(here)
    template, said = UNCHATTY[case]
    place = broken(folder("gpt2"), here, chats(template))
    assert main(["score", "--llm", str(place), "--chat"]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert line.endswith("without --chat its prompts are put as they are")
    assert not (here / "left").exists()


@pytest.mark.parametrize("architecture", CONFIGS)
def test_every_architecture_is_scored_in_a_way_that_is_right(folder, here, architecture):
    llm = load_local(str(folder(architecture)))
    spellings = Targets(llm).after([PROMPTS[31]])
    way = right_way(llm, spellings[0])
    assert way == ("cache" if architecture == "falcon_alibi" else "tree")
    (found,) = (by_cache if way == "cache" else by_tree)(llm, spellings)
    (right,) = one_by_one(llm, spellings)
    assert max(np.abs(found[key] - right[key]).max() for key in right) < 1e-4


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "gemma"])
def test_a_causal_mask_in_place_of_the_ancestor_mask_is_wrong(folder, here, architecture):
    llm = load_local(str(folder(architecture)))
    spellings = Targets(llm).after([PROMPTS[31]])
    heeded = llm.forward
    llm.forward = lambda ids, positions, mask, n_last: heeded(ids, positions, np.tril(np.ones_like(mask)), n_last)
    (wrong,), (right,) = by_tree(llm, spellings), one_by_one(llm, spellings)
    assert max(abs(wrong[key].sum() - right[key].sum()) for key in right) > 0.5
    assert right_way(llm, spellings[0]) == "cache"


def test_the_cache_gives_the_same_as_the_tree(folder, here):
    llm = load_local(str(folder("llama", sentence_piece, True)))
    spellings = Targets(llm).after([PROMPTS[31], PROMPTS[0]])
    for of_tree, of_cache in zip(by_tree(llm, spellings), by_cache(llm, spellings), strict=True):
        for key, values in of_tree.items():
            np.testing.assert_allclose(of_cache[key], values, rtol=0, atol=1e-4)


def test_bais_score_fills_the_warehouse_and_a_second_time_adds_nothing(folder, here, capsys):
    place = folder("llama", sentence_piece, True)
    assert main(["score", "--llm", str(place)]) == 0
    said = capsys.readouterr().out
    assert "209 now; float32 on cpu" in said
    assert f"loaded: {209 * 101 * 2:,} scores added, 0 already there" in said
    assert main(["score", "--llm", str(place)]) == 0
    said = capsys.readouterr().out
    assert "209 prompts scored before, 0 now" in said
    assert f"0 scores added, {209 * 101 * 2:,} already there" in said


def test_the_page_on_scoring_is_followed_to_the_letter(folder, here, capsys, monkeypatch):
    monkeypatch.chdir(here)
    in_chat = broken(folder("llama", sentence_piece, True), here, chats(TEMPLATES["strips"]))
    places = {"openai-community/gpt2": str(folder("gpt2")), "google/gemma-2b-it": str(in_chat)}
    said = ""
    for step in steps("score-an-llm"):
        if step[0] == "write":
            Path(step[1]).write_text(step[2], encoding="utf-8")
        elif step[0] == "run":
            words = [places.get(word, word) for word in words_of(step[1])]
            assert main(words) == step[2]
            said = " ".join(capsys.readouterr().out.split())
        else:
            assert step[0] == "prints"
            assert " ".join(step[1].split()) in said


def test_what_was_stopped_goes_on_and_gives_the_same_numbers(folder, here):
    llm, few = load_local(str(folder("gpt2"))), questions_of("V0")
    path = score(llm, few).path
    whole = {line["prompt_hash"]: line["scores"] for line in scored_prompts(path)}
    written = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(written[:11]), encoding="utf-8")
    assert score(load_local(str(folder("gpt2"))), few).n_scored == 24 - 10
    assert {line["prompt_hash"]: line["scores"] for line in scored_prompts(path)} == whole


def test_the_name_of_a_scoring_changes_with_the_weights(folder, here):
    place, other = folder("gpt2"), here / folder("gpt2").name
    shutil.copytree(place, other)
    few = questions_of("V0")
    assert Scoring(load_local(str(other)), few).name == Scoring(load_local(str(place)), few).name
    weights = next(other.glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    assert Scoring(load_local(str(other)), few).name != Scoring(load_local(str(place)), few).name


def test_a_folder_called_like_an_llm_is_not_taken_for_it_unless_a_person_says_so(folder, here):
    place = here / "gpt2"
    shutil.copytree(folder("gpt2"), place)
    assert load_local(str(place)).name == "local/gpt2"
    assert load_local(str(place), called="openai/gpt2").name == "openai/gpt2"


def broken(place, here, change):
    """A copy of an LLM with something wrong."""
    other = here / "broken"
    shutil.copytree(place, other)
    change(other)
    return other


def told(folder, **changes):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | changes), encoding="utf-8")


def chats(template):
    """What gives a tokenizer a chat template."""

    def change(folder):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        tokenizer.chat_template = template
        tokenizer.save_pretrained(folder)

    return change


def without_tokenizer(folder):
    for path in folder.glob("*token*"):
        path.unlink()


def nan_weights(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        model.lm_head.weight[:] = float("nan")
    model.save_pretrained(folder)


def cut_off(folder):
    weights = next(folder.glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:1000])


def lacks_weights(folder):
    from safetensors.torch import load_file, save_file

    weights = next(folder.glob("*.safetensors"))
    held = load_file(weights)
    held.pop(next(name for name in held if "mlp" in name))
    save_file(held, weights, {"format": "pt"})


RAN = "code.py ran"
CASES = {
    "no tokenizer": (without_tokenizer, "holds no tokenizer"),
    "no configuration": (lambda folder: (folder / "config.json").unlink(), "holds no LLM: there is no config.json"),
    "unknown architecture": (
        lambda folder: told(folder, model_type="bogus"),
        "the architecture of local/broken is none of",
    ),
    "no causal LM": (lambda folder: told(folder, model_type="vit"), "the architecture of local/broken is none of"),
    "damaged weights": (cut_off, "the weights of local/broken cannot be loaded"),
    "missing weights": (lacks_weights, "the weights of local/broken lack \\S*mlp\\S*, which would be drawn at random"),
    "no numbers": (nan_weights, "broken gives no finite log-probability .* try --dtype float32"),
    "no json": (
        lambda folder: (folder / "config.json").write_text("{", encoding="utf-8"),
        "the configuration of local/broken",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_scored_is_one_sentence(folder, here, capsys, case):
    change, said = CASES[case]
    place = broken(folder("gpt2"), here, change)
    capsys.readouterr()  # what making the LLM prints
    assert main(["score", "--llm", str(place)]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(said, line), line


def test_code_that_comes_with_weights_never_runs(folder, here, capsys):
    def with_code(folder):
        told(folder, model_type="own", auto_map={"AutoConfig": "code.Own", "AutoModelForCausalLM": "code.OwnLM"})
        (folder / "code.py").write_text(f"raise SystemExit({RAN!r})", encoding="utf-8")

    place = broken(folder("gpt2"), here, with_code)
    assert main(["score", "--llm", str(place)]) == 4
    said = capsys.readouterr().err
    assert "comes with code of its own, which never runs here" in said
    assert RAN not in said


@pytest.mark.parametrize(
    ("llm", "code", "said"),
    [
        ("/no/such/folder", 2, "there is no folder /no/such/folder"),
        ("./none", 2, "there is no folder none"),
        ("nobody/nothing", 4, "nobody/nothing is not on this machine and cannot be fetched"),
    ],
)
def test_an_llm_that_is_not_there_is_one_sentence(here, capsys, monkeypatch, llm, code, said):
    def no_network(*_):
        raise OSError("no network")

    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    assert main(["score", "--llm", llm]) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_torch_out_of_memory_halves_the_batch(folder, here, monkeypatch):
    llm, few = load_local(str(folder("gpt2"))), questions_of("V0")
    at_once, tried = llm.model.forward, []

    def forward(*args, input_ids, **named):
        tried.append(len(input_ids))
        if len(input_ids) > 1:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")
        return at_once(*args, input_ids=input_ids, **named)

    monkeypatch.setattr(llm.model, "forward", forward)
    with pytest.raises(OutOfMemory):
        llm.forward(np.zeros((2, 3), int), np.zeros((2, 3), int), np.ones((2, 3, 3), bool), 1)
    assert score(llm, few).n_scored == 24
    assert {2, 4} < set(tried)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="torch finds no GPU here"):
        load_local(str(folder("gpt2")), device="cuda")


@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
def test_another_number_format_is_another_scoring_with_nearly_the_same_numbers(folder, here, dtype):
    place = str(folder("gpt2"))
    full, other = load_local(place), load_local(place, dtype=dtype)
    assert other.dtype == dtype
    spellings = Targets(full).after([PROMPTS[31]])
    (found,), (expected,) = by_tree(other, spellings), by_tree(full, spellings)
    furthest = max(np.abs(found[key] - expected[key]).max() for key in expected)
    assert furthest < (1 if dtype == "bfloat16" else 1e-3)
    assert Scoring(full, questions_of("V0")).name != Scoring(other, questions_of("V0")).name
