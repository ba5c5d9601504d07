"""LLMs that run here, tiny and random, write with each method as a study asks them to."""

import json

import numpy as np
import pytest
import yaml

WHY = "torch and transformers are not installed: `make local` installs what an LLM on this machine takes"
torch = pytest.importorskip("torch", reason=WHY)
transformers = pytest.importorskip("transformers", reason=WHY)

from bais.main import main  # noqa: E402
from ingest.ask.collector import collect  # noqa: E402
from ingest.ask.spool import COLLECTED, spool_folder  # noqa: E402
from ingest.local.llm import load_local  # noqa: E402
from ingest.local.methods import Method, log_softmax, method_of  # noqa: E402
from ingest.local.settings import parse_decoding  # noqa: E402
from ingest.local.writing import Draft  # noqa: E402
from ingest.prompts import shipped  # noqa: E402
from ingest.studies.study import parse_study  # noqa: E402
from tests.ingest.scoring.trained import byte_level  # noqa: E402

SIZES = {"vocab_size": 600, "hidden_size": 32, "num_hidden_layers": 2}
ENDS = list(range(400, 440))  # so many tokens end a reply that nearly all end in time
CONFIGS = {
    "llama": lambda: transformers.LlamaConfig(
        **SIZES, num_attention_heads=4, num_key_value_heads=2, intermediate_size=64, max_position_embeddings=1024,
        bos_token_id=1, eos_token_id=ENDS,
    ),
    "gpt2": lambda: transformers.GPT2Config(vocab_size=600, n_embd=32, n_layer=2, n_head=4, n_positions=256),
    "sliding": lambda: transformers.MistralConfig(
        **SIZES, num_attention_heads=4, num_key_value_heads=2, intermediate_size=64, sliding_window=8
    ),
    "mamba": lambda: transformers.MambaConfig(**SIZES, state_size=4),
}  # fmt: skip
CHAT = "{% for said in messages %}<{{ said['role'] }}>{{ said['content'] }}{% endfor %}<assistant>"
SEVEN = [name for name, of in shipped("techniques").items() if "decoding" in of]
ITEMS = [
    {
        "item": f"review-{n}",
        "review": f"The box came on day {n}.\n\nIt was a bad box, and a problem.\n\nThe price of {n} was fair.",
    }
    for n in range(20)
]
PARADIGM = {
    "paradigm": "retelling",
    "answer": {"kind": "text"},
    "arms": ["plain", "polite"],
    "contrasts": [["polite", "plain"]],
    "measures": {"tone": {"from": "judgement", "better": "lower"}},
    "items": {"rows": ITEMS},
    "vignettes": [
        {
            "vignette": "review",
            "case": "{review}",
            "question": "{ask}",
            "arms": {"plain": {"words": {"ask": "Retell."}}, "polite": {"words": {"ask": "Please retell."}}},
        }
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """From an architecture to the folder of an LLM, as people have it on disk."""
    made = {}

    def of(architecture):
        if architecture not in made:
            made[architecture] = tmp_path_factory.mktemp("llms") / architecture
            torch.manual_seed(0)
            model = transformers.AutoModelForCausalLM.from_config(CONFIGS[architecture]())
            with torch.no_grad():
                for weights in model.parameters():
                    if weights.ndim == 2:
                        weights.mul_(20)  # so that what a token sees makes a difference
            model.save_pretrained(made[architecture])
            tokenizer = byte_level(False)
            tokenizer.chat_template = CHAT
            tokenizer.save_pretrained(made[architecture])
        return made[architecture]

    return of


def content(place, techniques, rows=ITEMS, **changes):
    llm = {"llm": "meta-llama/tiny", "engine": "local", "model": str(place), "device": "cpu", "max_tokens": 100}
    return {
        "study": "retold",
        "llms": [llm],
        "techniques": techniques,
        "temperatures": [1],
        "stopping_rule": {"minimum": 1},
        "paradigm": PARADIGM | {"items": {"rows": rows}},
    } | changes


def study(*arguments, **changes):
    return parse_study(yaml.safe_dump(content(*arguments, **changes), sort_keys=False))


def spooled(kind):
    lines = (spool_folder("retold") / COLLECTED).read_text(encoding="utf-8").splitlines()
    return [record for record in map(json.loads, lines) if record["kind"] == kind]


def ids_of(llm, text):
    return llm.ids_of(llm.conversation([{"role": "user", "content": text}]))


def with_prefix(prefix):
    """Self-debiasing with another prefix: one of a few words is a few tokens for a tiny tokenizer, too."""
    shipped_one = shipped("techniques")["self_debias"]["decoding"]
    return {"technique": "self_debias", "decoding": shipped_one | {"prefix": prefix}}


@pytest.mark.parametrize("technique", SEVEN)
def test_a_method_finishes_twenty_items(folder, here, technique):
    asked = with_prefix("Be unfair:") if technique == "self_debias" else technique
    outcome = collect(study(folder("llama"), [asked]))
    assert (outcome.n_done, outcome.n_left, outcome.exit_code) == (40, 0, 0)
    assert outcome.statuses["replied"] >= 38
    assert outcome.statuses["failed"] == 0
    calls = spooled("call")
    assert {call["parameters"]["decoding"] for call in calls} == {technique}
    assert {(call["cost_usd"], call["cost_source"]) for call in calls} == {(0, "local")}
    assert {trial["llm"] for trial in spooled("trial")} == {"meta-llama/tiny"}
    assert len({call["text"] for call in calls}) > 20


@pytest.mark.parametrize("technique", ["no_technique", "mirostat", "explanation_guard"])
def test_a_session_that_was_cut_short_goes_on_with_the_same_replies(folder, here, monkeypatch, technique):
    one = study(folder("llama"), [technique], ITEMS[:3])
    collect(one)
    whole = {trial["trial_id"]: trial["text"] for trial in spooled("trial")}
    monkeypatch.setenv("BAIS_WAREHOUSE", str(here / "other" / "warehouse.duckdb"))
    collect(one, max_calls=2)
    assert len(spooled("trial")) == 2
    outcome = collect(one)
    assert (outcome.n_before, outcome.n_done, len(spooled("call"))) == (2, 4, 6)
    assert {trial["trial_id"]: trial["text"] for trial in spooled("trial")} == whole


@pytest.mark.parametrize("architecture", ["llama", "gpt2", "mamba"])
def test_at_temperature_0_it_writes_what_transformers_writes(folder, here, architecture):
    llm = load_local(str(folder(architecture)), "cpu")
    ids = ids_of(llm, "The box came.")
    draft = Draft(llm, lambda prefix: ids, None, 0, np.random.default_rng(0))
    draft.write(Method(), 20)
    told = {"do_sample": False, "max_new_tokens": 20, "eos_token_id": sorted(llm.end_ids), "pad_token_id": 0}
    asked = torch.tensor([ids])
    theirs = llm.model.generate(asked, attention_mask=torch.ones_like(asked), **told)[0, len(ids) :].tolist()
    assert draft.ids == [token for token in theirs if token not in llm.end_ids]


def test_the_second_pass_is_one_over_prefix_question_and_reply(folder, here):
    llm = load_local(str(folder("llama")), "cpu")
    draft = Draft(llm, lambda prefix: ids_of(llm, f"{prefix}The box came."), None, 0, np.random.default_rng(0))
    for written in ([], [300, 301], [300, 301, 302]):
        draft.ids = written
        whole = llm.forward_plain([*ids_of(llm, "Be unfair. The box came."), *written])[0, -1].double().numpy()
        assert draft.after_prefix("Be unfair. ") == pytest.approx(whole, abs=1e-4)


@pytest.mark.parametrize("architecture", ["llama", "gpt2"])
def test_attention_is_the_mean_over_layers_and_heads_of_the_last_token(folder, here, architecture):
    llm = load_local(str(folder(architecture)), "cpu")
    ids = ids_of(llm, "The box came, and the price was fair.")
    eager = transformers.AutoModelForCausalLM.from_pretrained(folder(architecture), attn_implementation="eager")
    with torch.no_grad():
        layers = eager(torch.tensor([ids]), output_attentions=True).attentions
    expected = torch.stack([layer[0, :, -1] for layer in layers]).mean((0, 1)).numpy()
    before = llm.begin(ids).logits
    assert llm.attention(ids) == pytest.approx(expected, abs=1e-5)
    assert llm.attention(ids).sum() == pytest.approx(1, abs=1e-5)
    assert llm.begin(ids).logits == pytest.approx(before)


def test_where_attention_slides_what_is_out_of_sight_gets_none(folder, here):
    llm = load_local(str(folder("sliding")), "cpu")
    ids = ids_of(llm, "The box came, and the price was fair, and it was a good box.")
    attention = llm.attention(ids)
    assert len(attention) == len(ids)
    assert attention[-8:].sum() == pytest.approx(1, abs=1e-5)


def test_attention_sort_asks_with_the_paragraphs_in_the_order_that_it_writes_down(folder, here, monkeypatch):
    conversations = []
    monkeypatch.setattr(
        "ingest.local.llm.LocalLlm.attention",
        lambda llm, ids: np.array([llm.decode([token]).count("b") for token in ids], float),
    )
    in_template = "ingest.local.llm.LocalLlm.conversation"
    monkeypatch.setattr(in_template, lambda llm, said: conversations.append(said[-1]["content"]) or conversations[-1])
    rows = [{"item": "one", "review": "bb bb bb.\n\nA a a a.\n\nb a a a."}]
    collect(study(folder("llama"), ["attention_sort"], rows))
    assert [call["parameters"]["segment_order"] for call in spooled("call")] == [[1, 2, 0]] * 2
    assert conversations[-1] == (
        "CONTEXT:\nSegment 1: A a a a.\nSegment 2: b a a a.\nSegment 3: bb bb bb.\nTASK: Summarize:\nFINAL_SUMMARY:"
    )


def test_mirostat_comes_nearer_to_its_aim_than_the_temperature_it_begins_with(folder, here):
    llm = load_local(str(folder("llama")), "cpu")
    llm.end_ids = frozenset()

    def surprise(technique):
        of = method_of(parse_decoding(technique["decoding"]), "") if technique else Method()
        draft = Draft(llm, lambda prefix: ids_of(llm, "The box came."), None, 1, np.random.default_rng(0))
        draft.write(of, 200)
        passed = llm.begin(ids_of(llm, "The box came."))
        surprises = []
        for token in draft.ids:
            surprises.append(-log_softmax(passed.logits)[token])
            passed.add([token])
        return np.mean(surprises[100:])

    aim = shipped("techniques")["mirostat"]["decoding"]["mu_star"]
    assert abs(surprise(shipped("techniques")["mirostat"]) - aim) < 0.25
    assert abs(surprise(None) - aim) > 0.5


BAD_TEXTS = {
    "too_few_words": (["weighted_token_decoding", "forced_balanced_coverage", "rejection_sampling"], "Two words"),
    "one_segment": (["attention_sort"], "It is one sentence."),
    "context_length": (["no_technique"], "It is long. " * 400),
}


@pytest.mark.parametrize("reason", BAD_TEXTS)
def test_a_text_that_a_method_cannot_work_on_is_a_failed_trial_with_the_reason(folder, here, reason):
    techniques, text = BAD_TEXTS[reason]
    collect(study(folder("llama"), techniques, [{"item": "one", "review": text}]))
    trials = spooled("trial")
    assert len(trials) == 2 * len(techniques)
    assert {(trial["status"], trial["reason"]) for trial in trials} == {("failed", reason)}


REFUSED = {
    "no attentions": ("mamba", "attention_sort", {}, "needs attentions, and meta-llama/tiny gives none"),
    "a long prefix": (
        "llama", with_prefix("bad " * 30), {}, "may have 29: shorten it",
    ),
    "greedy mirostat": ("llama", "mirostat", {"temperatures": [0]}, "technique mirostat cannot change"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_an_llm_cannot_do_is_one_sentence_before_anything_is_asked(folder, here, capsys, case):
    architecture, technique, changes, said = REFUSED[case]
    path = here / "study.yaml"
    path.write_text(yaml.safe_dump(content(folder(architecture), [technique], **changes)), encoding="utf-8")
    assert main(["collect", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not (spool_folder("retold") / COLLECTED).exists()


def test_a_template_without_a_system_role_has_its_words_before_the_first_message(folder, here):
    llm = load_local(str(folder("llama")), "cpu")
    llm.tokenizer.chat_template = (
        "{% for said in messages %}{% if said['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
        "<{{ said['role'] }}>{{ said['content'] }}{% endfor %}"
    )
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    assert llm.conversation(said) == "<user>Be brief.\n\nHello"
