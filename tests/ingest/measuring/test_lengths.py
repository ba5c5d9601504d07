"""Lengths: tokens that the tokenizer of an LLM counts where it is on this machine, and what is said where it is not."""

import hashlib

import pytest

from bais.main import main
from ingest.local import tokenizer
from ingest.measuring import lengths
from ingest.measuring import measure as measuring
from ingest.warehouse import UserError

TEXT = "The battery is strong. The screen is dark."  # 8 words and 2 signs
ANSWER = "Strong battery, dark screen"  # 4 words and 1 sign


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty cache of Hugging Face's programs; it can be given the tokenizer of an LLM, of several revisions."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))

    def put(llm, content=b"{}", revision="abc", is_main=True):
        folder = tmp_path / "hub" / f"models--{llm.replace('/', '--')}"
        file = folder / "snapshots" / revision / "tokenizer.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        (folder / "refs").mkdir(exist_ok=True)
        if is_main:
            (folder / "refs" / "main").write_text(revision)
        return file

    return put


@pytest.fixture
def words(monkeypatch):
    """Count words and signs in place of a tokenizer, whether or not the library is there."""
    monkeypatch.setattr(lengths, "can_count", lambda: True)
    monkeypatch.setattr(lengths, "count_tokens", lambda file, texts: [len(text.split()) for text in texts])


def test_text_and_answer_are_counted_where_the_tokenizer_is_there(hub, words, retold, query):
    hub("any/model")
    retold({"t": ("i", ANSWER)}, {"i": TEXT})
    (outcome,) = measuring.measure(instrument="tokenizer")
    assert (outcome.n_now, outcome.reasons.total()) == (1, 0)
    assert query("select measure, value from raw.measurements order by 1") == [("answer_tokens", 4), ("text_tokens", 8)]


def test_a_text_too_short_for_thirds_is_counted_all_the_same(hub, words, retold, query):
    hub("any/model")
    retold({"t": ("i", "Yes it is")}, {"i": "Strong"})
    measuring.measure(instrument="tokenizer")
    assert query("select measure, value from raw.measurements order by 1") == [("answer_tokens", 3), ("text_tokens", 1)]


def test_an_llm_without_a_tokenizer_is_named_by_its_reason_and_counted_once_it_has_one(hub, words, retold, query):
    retold({"t": ("i", ANSWER)}, {"i": TEXT})
    (outcome,) = measuring.measure(instrument="tokenizer")
    assert "1 of them have no value: the tokenizer of its LLM is not on this machine (1)" in outcome.said()
    hub("any/model")
    (outcome,) = measuring.measure(instrument="tokenizer")
    assert outcome.n_now == 1


def test_nothing_is_counted_twice_with_the_same_tokenizer_and_all_of_it_with_another(hub, words, retold):
    hub("any/model")
    retold({"t": ("i", ANSWER)}, {"i": TEXT})
    assert [outcome.n_now for outcome in measuring.measure(instrument="tokenizer")] == [1]
    assert [outcome.n_now for outcome in measuring.measure(instrument="tokenizer")] == [0]
    hub("any/model", b'{"other": 1}')
    assert [outcome.n_now for outcome in measuring.measure(instrument="tokenizer")] == [1]


def test_the_revision_that_was_fetched_last_counts(hub):
    hub("vendor/llm", b"old", "one")
    newer = hub("vendor/llm", b"new", "two")
    hub("vendor/llm", b"other", "three", is_main=False)
    assert tokenizer.tokenizer_file("vendor/llm") == newer
    assert tokenizer.tokenizer_file("vendor/other") is None


def test_without_the_library_one_sentence_says_what_to_do(retold, monkeypatch, capsys):
    retold({"t": ("i", ANSWER)}, {"i": TEXT})
    monkeypatch.setattr(lengths, "can_count", lambda: False)
    assert main(["measure", "--instrument", "tokenizer"]) == 2
    assert "`make embed` in a checkout of bais installs it" in capsys.readouterr().err


def test_tokens_are_those_of_the_library(hub):
    library = pytest.importorskip("tokenizers", reason="`make embed` installs tokenizers")
    shipped = library.Tokenizer(library.models.WordLevel({"[UNK]": 0, "battery": 1}, unk_token="[UNK]"))
    shipped.pre_tokenizer = library.pre_tokenizers.Whitespace()
    shipped.enable_truncation(3)
    file = hub("any/model", shipped.to_str().encode())
    assert tokenizer.count_tokens(file, [TEXT, ANSWER, ""]) == [10, 5, 0]


def test_a_tokenizer_that_cannot_be_read_is_named(hub):
    pytest.importorskip("tokenizers", reason="`make embed` installs tokenizers")
    file = hub("any/model", b"none " + hashlib.sha256(b"x").digest())
    with pytest.raises(UserError, match="is no tokenizer that can be read"):
        tokenizer.count_tokens(file, [TEXT])
