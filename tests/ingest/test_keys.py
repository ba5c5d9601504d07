"""A key is taken out of what comes from outside, in every form, and out of nothing that is our own."""

import base64
import contextlib
import html
import json
import sys
import time
from urllib.parse import quote

import duckdb
import pytest

from bais.main import main
from ingest.ask.experiment import ask_once
from ingest.ask.spool import COLLECTED, spool_folder
from ingest.studies.study import parse_study
from ingest.texts.redaction import Redaction
from tests.ingest.endpoint import Endpoint, answer, error, spooled, study_at

LONG = "sk-canary-4f1d9c"
OF_BACKSLASHES = 'ab\\cd"e/f&g\\\\h<=='
SHORT = ["none", "ollama", "x", "low", "talk", "faults", "3"]


@pytest.fixture
def spool(warehouse):
    return spool_folder("faults") / COLLECTED


@pytest.fixture
def collect(tmp_path, monkeypatch):
    """Collect a study whose key is of one's own, and return the exit code."""

    def run(endpoint, key, *options, **study):
        monkeypatch.setenv("ACME_KEY", key)
        llms = study.pop("llms", ["ollama/x"])
        llms = [{"api_key_env": "ACME_KEY", **({"llm": llm} if isinstance(llm, str) else llm)} for llm in llms]
        study = {"n": 2, "limits": {"concurrency": 1, "attempts": 1}} | study
        (tmp_path / "study.yaml").write_text(study_at(endpoint.url, llms=llms, **study))
        return main(["collect", str(tmp_path / "study.yaml"), *options])

    return run


def everything(folder, warehouse):
    """Return all that a collection left, as bytes: its files, and the rows of the warehouse."""
    kept = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    with contextlib.closing(duckdb.connect(str(warehouse), read_only=True)) as connection:
        tables = connection.sql("select schema_name, table_name from duckdb_tables()").fetchall()
        rows = [connection.sql(f'select * from "{schema}"."{table}"').fetchall() for schema, table in tables]
    return kept + str(rows).encode()


@pytest.mark.parametrize("key", SHORT)
def test_whatever_the_key_is_what_is_our_own_stays_as_it_is_and_loads(collect, spool, query, capsys, key):
    with Endpoint(lambda request: answer(request, "x ollama none low 3\n\nAnswer: 3", model="ollama/x")) as endpoint:
        assert collect(endpoint, key) == 0
    assert "4 trials added" in capsys.readouterr().out
    records = spooled(spool)
    assert b"[key]" not in spool.read_bytes()
    assert {trial["anchor_direction"] for trial in records["trial"]} == {"low", "high"}
    assert {call["requested_model"] for call in records["call"]} == {"ollama/x"}
    assert records["session"][0]["study"]["llms"][0]["api_key_env"] == "ACME_KEY"
    landed = query("select distinct study, llm_recorded, technique, response_text, llm_returned from raw.trials")
    assert landed == [("faults", "ollama/x", "talk", "x ollama none low 3\n\nAnswer: 3", "ollama/x")]


@pytest.mark.parametrize("key", ["none", "ollama", "x", "k1-2", 'a\\b"c', LONG, OF_BACKSLASHES])
@pytest.mark.parametrize("status", [401, 500])
def test_a_key_of_any_length_that_an_error_says_is_replaced_as_a_whole_token(collect, spool, capsys, key, status):
    escaped = json.dumps({"authorization": f"Bearer {key}"})

    def decide(request):
        said = f"bad key '{key}' (sent {escaped}), {key}. See xenon, nonesuch, x-ray and ollamas"
        return error(status, said, headers={"x-request-id": key.replace("\\", "")})

    with Endpoint(decide) as endpoint:
        assert collect(endpoint, key, "--no-load", n=1) == 4
    said = 'bad key \'[key]\' (sent {"authorization": "Bearer [key]"}), [key]. See xenon, nonesuch, x-ray and ollamas'
    details = {call["error_detail"].removeprefix("the key was refused: ") for call in spooled(spool)["call"]}
    assert details == {said}
    assert said in capsys.readouterr().out


def test_what_follows_bearer_in_an_error_is_no_key_that_is_kept(collect, spool):
    with Endpoint(lambda request: error(400, "got: bearer abc.DEF-123, and 'Bearer zz' too")) as endpoint:
        collect(endpoint, "none", "--no-load")
    assert {call["error_detail"] for call in spooled(spool)["call"]} == {"got: Bearer [key] and 'Bearer [key]' too"}


def forms_of(key):
    """Return a key as it is and as JSON, twice, Python, HTML and an address write it."""
    once = json.dumps(key)[1:-1]
    yield from (key, once, json.dumps(once)[1:-1], repr(key)[1:-1], html.escape(key), quote(key, safe=""))
    yield once.replace("/", "\\/").replace("<", "\\u003c").replace("&", "\\u0026")


@pytest.mark.parametrize("key", [LONG, OF_BACKSLASHES, "\\starts-with-one", "ends-with-one\\", "a.b+c/d===e~f$g^"])
def test_a_key_is_known_in_every_form_that_it_is_written_in_and_within_a_longer_token(key):
    redaction = Redaction([key, "none"])
    for form in forms_of(key):
        assert redaction.of_error(f"I got [{form}]") == "I got [[key]]"
        assert redaction.of_answer(f"I got [{form}]") == "I got [[key]]"
        assert redaction.of_answer(f"so-{form}9").endswith("[key]9")


def coats_of(key):
    """Return a key as base64 at each alignment, as hex, in percent codes and letter by letter."""
    for before in ("", "u", "u:", "Bearer "):
        for encoded in (base64.b64encode, base64.urlsafe_b64encode):
            text = encoded(f"{before}{key}".encode()).decode()
            yield from (text, text.rstrip("="), quote(text, safe=""), "\n".join([text[:9], text[9:]]))
    yield base64.b64encode(f"u:{key}:x".encode()).decode()
    data = key.encode()
    yield from (data.hex(), data.hex().upper(), data.hex(" "), data.hex(":"))
    yield "".join(f"%{byte:02X}" for byte in data)
    yield "".join(f"%25{byte:02x}" for byte in data)
    yield "".join(f"%{byte:02x}" if at % 2 else quote(chr(byte), safe="") for at, byte in enumerate(data))
    for code in ("\\x{:02x}", "\\u{:04x}", "&#{};", "&#x{:x};", "0x{:02x}, "):
        yield "".join(code.format(byte) for byte in data)
    yield from (between.join(key) for between in (" ", ", ", "-", "\n", ".", "**, **"))
    yield json.dumps(list(key))


@pytest.mark.parametrize("key", [LONG, OF_BACKSLASHES, "\\starts-with-one", "ends-with-one\\", "a.b+c/d===e~f$g^>?>?"])
def test_a_long_key_in_another_coat_is_known_too(key):
    redaction = Redaction([key, "none"])
    for coat in coats_of(key):
        for said in (redaction.of_answer(f"It is <{coat}>."), redaction.of_error(f"It is <{coat}>.")):
            assert "[key]" in said, coat
            assert len(said) < len("It is <>.[key]") + 16, said
        pieces = [coat[at : at + 3] for at in range(0, len(coat), 3)]
        tokens = redaction.of_tokens({"content": [{"token": piece, "logprob": -1} for piece in pieces]})
        kept = "".join(entry["token"] for entry in tokens["content"]).replace("[key]", "")
        assert len(kept) < 16, kept


@pytest.mark.parametrize("said", ["Basic dXNlcjpzb21ldGhpbmcgZWxzZQ==", "736b2d63616e617279", "s k - c a n a r y"])
def test_what_is_like_the_coat_of_a_key_and_is_none_stays(said):
    assert Redaction([LONG]).of_answer(said) == said


@pytest.mark.parametrize("text", ["\\", "s" + "\\" * 50, "s - ", "%73", "c2st", "736b", "-"])
@pytest.mark.slow("answers of a megabyte")
def test_a_long_answer_is_looked_through_once(text):
    started = time.process_time()
    Redaction([LONG, "-" * 40 + "x"]).of_answer(text * (1_000_000 // len(text)), 1_000_000)
    assert time.process_time() - started < 30  # a second; what looks again from each place would take hours


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ('{"key":"none"}', '{"key":"[key]"}'),
        (r"the key is:\nnone\tand", r"the key is:\n[key]\tand"),
        (r"key\u003dnone", r"key\u003d[key]"),
        ("?key%3Dnone&a=b", "?key%3D[key]&a=b"),
        ("none,none;none", "[key],[key];[key]"),
        ("nonesuch anonene none-such no_none NONE", "nonesuch anonene none-such no_none NONE"),
    ],
)
def test_a_short_key_is_replaced_where_it_is_a_word_of_its_own(said, kept):
    assert Redaction(["none"]).of_error(said) == kept
    assert Redaction(["none"]).of_answer(said) == said


@pytest.mark.parametrize("length", [11, 12])
def test_in_an_answer_a_key_is_replaced_from_twelve_characters_on_wherever_it_stands(collect, spool, length):
    key = "abcdefghijklmnop"[:length]
    with Endpoint(lambda request: answer(request, f"The key {key}, as in my{key}s.\n\nAnswer: 3")) as endpoint:
        assert collect(endpoint, key, "--no-load", turns=2) == 0
    kept = "The key [key], as in my[key]s." if length == 12 else f"The key {key}, as in my{key}s."
    assert {trial["text"] for trial in spooled(spool)["trial"]} == {f"{kept}\n\nAnswer: 3"}


@pytest.mark.parametrize("key", [LONG, OF_BACKSLASHES, "\\starts-with-one"])
def test_a_long_key_is_nowhere_whether_an_answer_says_it_an_error_or_the_tokens(
    collect, tmp_path, warehouse, capfd, key
):
    pieces = [{"token": piece, "logprob": -1, "top_logprobs": [{"token": piece, "logprob": -1}]} for piece in key]
    nested = {"token": "a", "logprob": 10**400, "top_logprobs": [{"token": "b", "top_logprobs": pieces}]}

    def decide(request):
        if request.number % 3 == 0:
            return error(500, f"wrong: {json.dumps(key)}", type=key)
        choice = {"logprobs": {"content": [nested, *pieces, nested]}}
        return answer(request, f"It is {json.dumps(json.dumps(key))}.\n\nAnswer: 3", choice=choice)

    llm = {"llm": "any/model", "top_logprobs": 1}
    with Endpoint(decide) as endpoint:
        assert collect(endpoint, key, llms=[llm], n=5, turns=2) == 0
    (tmp_path / "study.yaml").unlink()
    left = everything(tmp_path, warehouse) + "".join(capfd.readouterr()).encode()
    assert b"[key]" in left
    for form in forms_of(key):
        assert form.encode() not in left
    calls = spooled(spool_folder("faults") / COLLECTED)["call"]
    tokens = [call["logprobs"]["content"] for call in calls if call.get("logprobs")]
    assert [entry["token"] for entry in tokens[0]] == ["a", *["[key]"] * len(key), "a"]
    assert tokens[0][1]["top_logprobs"] == [{"token": "[key]", "logprob": -1}]


@pytest.mark.parametrize("where", ["address", "extra"])
def test_a_study_that_holds_the_key_itself_is_refused_before_anything_is_asked(collect, spool, capsys, where, golden):
    with Endpoint() as endpoint:
        llm = {"llm": "a/b", "extra": {"user": [f"{OF_BACKSLASHES}"]}}
        if where == "address":
            llm = {"llm": "a/b", "base_url": f"{endpoint.url}/{LONG}/v1"}
        assert collect(endpoint, LONG if where == "address" else OF_BACKSLASHES, llms=[llm]) == 2
        assert endpoint.requests == []
    said = capsys.readouterr().err
    golden(said)
    assert LONG not in said
    assert not spool.exists()


@pytest.mark.parametrize("key", [LONG, "none"])
def test_why_a_report_was_not_written_is_said_without_the_key(monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with Endpoint(lambda request: error(401, f"Incorrect API key provided: {key}")) as endpoint:
        text, problem = ask_once(parse_study(study_at(endpoint.url)), "Write.")
    assert (text, problem) == (None, "http_401: the key was refused: Incorrect API key provided: [key]")
    with Endpoint(lambda request: answer(request, f"The key is {key}.")) as endpoint:
        text, _ = ask_once(parse_study(study_at(endpoint.url)), "Write.")
    assert text == ("The key is [key]." if key == LONG else "The key is none.")


def test_what_codex_says_of_its_key_is_said_without_it(tmp_path, monkeypatch):
    command = tmp_path / "codex"
    command.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('Incorrect API key provided: {LONG}')\n")
    command.chmod(0o700)
    monkeypatch.setenv("BAIS_CODEX", str(command))
    monkeypatch.setenv("OPENAI_API_KEY", LONG)
    llm = {"llm": "openai/codex", "provider": "codex"}
    text, problem = ask_once(parse_study(study_at("http://127.0.0.1:9/v1", llms=[llm])), "Write.")
    assert (text, problem) == (None, "codex_exit: exit 1: Incorrect API key provided: [key]")
