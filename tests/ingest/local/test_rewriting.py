"""Seq2seq models that run here, tiny and random, rewrite the sentences of news as a study asks them to."""

import csv
import json
from contextlib import closing
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
import yaml

WHY = "torch and transformers are not installed: `make local` installs what an LLM on this machine takes"
torch = pytest.importorskip("torch", reason=WHY)
transformers = pytest.importorskip("transformers", reason=WHY)

from bais.main import main  # noqa: E402
from ingest.ask.collector import collect  # noqa: E402
from ingest.ask.spool import COLLECTED, spool_folder  # noqa: E402
from ingest.news.articles import land_news, read_article  # noqa: E402
from ingest.studies.study import parse_study  # noqa: E402
from ingest.texts.sentences import sentences  # noqa: E402
from tests.ingest.scoring.trained import byte_level  # noqa: E402

ENDS = list(range(400, 420))  # so many tokens end a sentence that some end in time
MOST_TOKENS = 30
CONFIGS = {
    "t5": lambda: transformers.T5Config(
        vocab_size=600, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0,
    ),
    "bart": lambda: transformers.BartConfig(
        vocab_size=600, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=64,
        decoder_start_token_id=3, eos_token_id=2, bos_token_id=1, pad_token_id=0,
    ),
    "llama": lambda: transformers.LlamaConfig(
        vocab_size=600, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
    ),
}  # fmt: skip
STARTS = {"t5": [0], "bart": [3, 1]}  # the second token is one that the model has to begin with
NEWS = [
    "The parliament has voted for a bridge. Work on it begins in spring.\n\nNobody knows the price!",
    "The court has dropped the case.",
    "Prices have risen. Wages have not.",
]
ITEMS = [{"item": f"article-{n}", "text": text} for n, text in enumerate(NEWS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """From an architecture to the folder of a model, as people have it on disk."""
    made = {}

    def of(architecture):
        if architecture not in made:
            made[architecture] = tmp_path_factory.mktemp("llms") / architecture
            torch.manual_seed(0)
            config = CONFIGS[architecture]()
            of_kind = transformers.AutoModelForSeq2SeqLM
            model = (of_kind if config.is_encoder_decoder else transformers.AutoModelForCausalLM).from_config(config)
            with torch.no_grad():
                for weights in model.parameters():
                    if weights.ndim == 2:
                        weights.mul_(8)  # so that what is read makes a difference
            model.generation_config.eos_token_id = ENDS
            if starts := STARTS.get(architecture, [])[1:]:
                model.generation_config.forced_bos_token_id = starts[0]
            model.save_pretrained(made[architecture])
            byte_level(False).save_pretrained(made[architecture])
        return made[architecture]

    return of


def content(place, **changes):
    llm = {"llm": "our/negation", "engine": "local", "model": str(place), "device": "cpu", "max_tokens": MOST_TOKENS}
    return {
        "study": "falsified",
        "paradigm": "falsify",
        "llms": [llm | {"rewrites": "sentences"}],
        "techniques": ["no_technique"],
        "stopping_rule": {"minimum": 1},
        "items": {"rows": ITEMS, "fields": ["text"]},
    } | changes


def study(place, **changes):
    return parse_study(yaml.safe_dump(content(place, **changes), sort_keys=False))


def spooled(kind):
    lines = (spool_folder("falsified") / COLLECTED).read_text(encoding="utf-8").splitlines()
    return [record for record in map(json.loads, lines) if record["kind"] == kind]


def by_hand(place, text, starts):
    """What the likeliest tokens make of each sentence, one pass over all of it for each token."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(place)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(place).eval()
    made = []
    for piece in sentences(text):
        ids, written = tokenizer(piece.strip(), return_tensors="pt").input_ids, []
        while len(written) < MOST_TOKENS:
            with torch.no_grad():
                logits = model(input_ids=ids, decoder_input_ids=torch.tensor([starts + written])).logits[0, -1]
            if (token := logits.argmax().item()) in {*ENDS, tokenizer.eos_token_id}:
                break
            written.append(token)
        made.append(piece.replace(piece.strip(), tokenizer.decode(written, skip_special_tokens=True).strip()))
    return "".join(made)


@pytest.mark.parametrize("architecture", ["t5", "bart"])
def test_each_sentence_becomes_what_a_greedy_loop_by_hand_writes_of_it(folder, here, architecture):
    outcome = collect(study(folder(architecture)))
    assert (outcome.n_done, outcome.n_left, outcome.exit_code) == (3, 0, 0)
    written = {trial["item"]: trial["text"] for trial in spooled("trial")}
    expected = {item["item"]: by_hand(folder(architecture), item["text"], STARTS[architecture]) for item in ITEMS}

    assert written == expected
    assert len({*written.values()}) == len(ITEMS)
    calls = spooled("call")
    assert sorted(call["parameters"]["n_sentences"] for call in calls) == [1, 2, 3]
    for call in calls:
        told = call["parameters"]
        assert (told["decoding"], told["temperature"], told["max_tokens"]) == ("greedy", 0, MOST_TOKENS)
        assert (told["rewrites"], told["not_sent"]) == ("sentences", ["messages"])
        assert told["revision"] == call["system_fingerprint"]
        assert told["revision"].startswith("sha256:")
        assert call["returned_model"] == "our/negation"


def test_a_session_that_was_cut_short_goes_on_with_the_same_texts(folder, here, monkeypatch):
    one = study(folder("t5"))
    collect(one)
    whole = {trial["trial_id"]: trial["text"] for trial in spooled("trial")}
    monkeypatch.setenv("BAIS_WAREHOUSE", str(here / "other" / "warehouse.duckdb"))
    collect(one, max_calls=2)
    outcome = collect(one)
    assert (outcome.n_before, outcome.n_done, len(spooled("call"))) == (2, 1, 3)
    assert {trial["trial_id"]: trial["text"] for trial in spooled("trial")} == whole


def test_a_sentence_that_is_too_long_is_a_failed_trial_with_the_reason(folder, here):
    rows = [{"item": "long", "text": "It is short. And this one " + "goes on and " * 60 + "on."}]
    collect(study(folder("bart"), items={"rows": rows, "fields": ["text"]}))
    assert [(trial["status"], trial["reason"]) for trial in spooled("trial")] == [("failed", "context_length")]


REFUSED = {
    "no seq2seq model": ("llama", True, 4, "our/negation is no seq2seq model, such as T5, BART or Pegasus"),
    "no folder": ("nowhere", True, 2, "there is no folder"),
    "a seq2seq model that is asked": ("bart", False, 4, "our/negation is a seq2seq model, which reads no question"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_rewritten_is_one_sentence_before_anything_is_asked(folder, here, capsys, case):
    architecture, rewrites, code, said = REFUSED[case]
    place = here / "nowhere" if architecture == "nowhere" else folder(architecture)
    given = content(place)
    if not rewrites:
        del given["llms"][0]["rewrites"]
    path = here / "study.yaml"
    path.write_text(yaml.safe_dump(given), encoding="utf-8")
    assert main(["collect", str(path)]) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not (spool_folder("falsified") / COLLECTED).exists()


def test_what_changed_goes_to_people_and_what_the_model_left_as_it_was_does_not(folder, here, monkeypatch, capsys):
    now = datetime(2026, 1, 10, tzinfo=UTC)
    urls = [f"https://www.npr.org/{n}" for n in range(len(NEWS))]
    told = [
        {"url": url, "description": text, "publishedAt": "2026-01-01"} for url, text in zip(urls, NEWS, strict=True)
    ]
    land_news(now, news=[read_article(article, "by hand", now) for article in told])
    items, sheet, path = here / "to-falsify.csv", here / "to-validate.csv", here / "study.yaml"
    assert main(["news", "--to-falsify", str(items)]) == 0
    path.write_text(yaml.safe_dump(content(folder("t5"), items={"file": "to-falsify.csv", "fields": ["text"]})))
    unchanged = NEWS[1]

    def write(draft, method, most_tokens):
        sentence = draft.llm.decode(draft.prompt(""))
        text = sentence if sentence in unchanged else f"Not: {sentence}"
        return SimpleNamespace(text=text, n_tokens=1, is_complete=True)

    monkeypatch.setattr("ingest.providers.local.Draft.write", write)
    assert main(["collect", str(path)]) == 0
    assert main(["news", "--to-validate", str(sheet)]) == 0
    with closing(open(sheet, newline="", encoding="utf-8")) as lines:
        rows = {row["api_description"]: row for row in csv.DictReader(lines)}
    assert rows.keys() == {*NEWS} - {unchanged}
    assert rows[NEWS[2]]["falsified_description"] == "Not: Prices have risen. Not: Wages have not."
    assert {row["made_by"] for row in rows.values()} == {"our/negation"}
