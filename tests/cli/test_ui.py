"""`bais ui`: who is let in, what is answered, and that nobody who writes to the warehouse is kept from it."""

import hashlib
import http.client
import json
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from base64 import b64encode
from contextlib import closing, contextmanager
from urllib.parse import urlencode

import duckdb
import pytest

from bais import served as serving
from bais import ui
from bais.main import main
from bais.served import Served
from bais.ui import Server
from tests.tools.browsing import serving as serving_from
from tests.tools.report_page import make_warehouse

CELL = {"study": "real", "vignette": "v", "llm": "vendor/a", "technique": "no_technique", "direction": "high"}
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e"
HOLD = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
PAUSE_S = 0.1
PATIENCE_S = 60


def add_trials(path, n, *, name="many", technique="no_technique", said="so: 24"):
    """Insert answers of one cell: 24 and 25 by turns, no number from every tenth, and from every eleventh no text."""
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute(
            """
            create or replace temp table answers as
            select
                $name || '-' || lpad(i::varchar, 6, '0') as trial_id, $name as batch_id, 'real' as study,
                'vendor/a' as llm, 'v' as vignette, $technique as technique, 'high' as anchor_direction,
                'loan' as domain, 'anchoring' as paradigm, 'recorded' as source, 'vendor/a' as llm_recorded,
                case when i % 10 = 0 then 'refused' else 'answered' end as status,
                case when i % 10 > 0 then 24.0 + i % 2 end as response, 30.0 as first_response,
                case when i % 11 > 0 then $said || ' (' || i || ')' end as response_text,
                timestamptz '2026-01-01 00:00:00+00' + to_seconds(i) as asked_at
            from range($n) as numbers (i)
            """,
            {"name": name, "technique": technique, "said": said, "n": n},
        )
        for table in ("raw.trials", "marts.trials"):
            columns = connection.sql(f"from {table} limit 0").columns
            names = [column for column in connection.sql("from answers limit 0").columns if column in columns]
            connection.execute(f"insert into {table} by name select {', '.join(names)} from answers")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A warehouse with thirty answers in one cell, and one of SACD that was called for turn by turn."""
    path = tmp_path_factory.mktemp("ui") / "w.duckdb"
    make_warehouse(path)
    add_trials(path, 30, said=HOSTILE)
    add_trials(path, 2, name="sacd", technique="sacd")
    with closing(duckdb.connect(str(path))) as connection:
        for turn, (step, text) in enumerate([("initial", "30"), ("analyse", "x" * 2000), ("debias", "24")]):
            connection.execute(
                "insert into raw.calls (call_id, trial_id, turn, attempt, step, round, response_text) "
                "values (?, 'sacd-000001', ?, 1, ?, ?, ?)",
                [f"c{turn}", turn, step, turn or None, text],
            )
    return path


class Client:
    """A browser of few words, which has the cookie."""

    def __init__(self, server):
        self.server = server
        self.cookie = f"{server.cookie}={server.key}"

    def ask(self, path, method="GET", host=None, **headers):
        """Return status, headers and body of an answer; a header that is None is not sent."""
        port = self.server.server_port
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            known = {"Host": f"127.0.0.1:{port}" if host is None else host, "Cookie": self.cookie}
            for name, value in (known | {name.replace("_", "-"): value for name, value in headers.items()}).items():
                for each in [] if value is None else [value] if isinstance(value, str) else value:
                    connection.putheader(name, each)
            connection.endheaders()
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read().decode()

    def json(self, what, **parameters):
        status, _, body = self.ask(f"/{what}?{urlencode(parameters)}")
        assert status == 200, body
        return json.loads(body)


@contextmanager
def started(path):
    """Give a client of a server of a warehouse."""
    with serving_from(path) as server:
        yield Client(server)


@pytest.fixture(scope="module")
def client(made):
    with started(made) as client:
        yield client


@pytest.fixture
def own(made, tmp_path):
    """A client, and a warehouse that may be written to."""
    path = tmp_path / "ours.duckdb"
    shutil.copy(made, path)
    with started(path) as client:
        yield client, path


def rows(path, query):
    with closing(duckdb.connect(str(path), read_only=True)) as connection:
        return connection.sql(query).fetchall()


def until(is_so):
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_token_is_exchanged_for_a_cookie_that_opens_the_pages(client):
    server = client.server
    path = server.address.removeprefix(f"http://127.0.0.1:{server.server_port}")
    status, headers, body = client.ask(path, Cookie=None)
    assert (status, headers["Location"], body) == (303, "/", "")
    name, value, *attributes = re.split("=|; ", headers["Set-Cookie"], maxsplit=2)
    assert name == f"bais-{server.server_port}"
    assert set(attributes[0].split("; ")) == {"Path=/", "HttpOnly", "SameSite=Strict"}
    assert value != server.token
    status, _, body = client.ask("/", Cookie=f"other=1; {name}={value}")
    assert status == 200
    assert "data-live" in body
    assert server.token not in body + value


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example:{port}"},
        {"host": "127.0.0.1"},
        {"host": "127.0.0.1:1"},
        {"host": "127.0.0.1:{port}.evil.example"},
        {"host": ["127.0.0.1:{port}", "evil.example"]},
        {"host": []},
        {"Cookie": None},
        {"Cookie": "bais-{port}="},
        {"Cookie": "bais-{port}=wrong"},
        {"Cookie": "bais-{port}=\u00e9"},
        {"Cookie": "bais-1={key}"},
        {"Cookie": "bais-{port}={token}"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": ["none", "cross-site"]},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/", "/version"])
def test_who_comes_from_elsewhere_or_without_the_cookie_is_refused(client, path, headers):
    server = client.server

    def filled(text):
        return text.format(port=server.server_port, key=server.key, token=server.token)

    given = {
        name: value if value is None else filled(value) if isinstance(value, str) else [*map(filled, value)]
        for name, value in headers.items()
    }
    status, answered, body = client.ask(path, **given)
    assert status == 403
    assert "Set-Cookie" not in answered
    assert len(body.splitlines()) == 1
    assert client.ask(path)[0] == 200


@pytest.mark.parametrize("token", ["", "wrong", "%C3%A9", "%FF", "{token}x", "{key}"])
def test_a_wrong_token_is_refused_and_gives_no_cookie(client, token):
    server = client.server
    status, headers, _ = client.ask(f"/?token={token.format(token=server.token, key=server.key)}", Cookie=None)
    assert status in (400, 403)
    assert "Set-Cookie" not in headers


def test_the_right_token_gives_no_cookie_to_another_site_or_host(client):
    path = f"/?token={client.server.token}"
    for headers in ({"Sec_Fetch_Site": "cross-site"}, {"host": "evil.example"}):
        status, answered, _ = client.ask(path, Cookie=None, **headers)
        assert status == 403
        assert "Set-Cookie" not in answered


@pytest.mark.parametrize("site", [None, "none", "same-origin"])
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST"])
def test_both_names_of_this_machine_are_answered(client, name, site):
    assert client.ask("/", host=f"{name}:{client.server.server_port}", Sec_Fetch_Site=site)[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "QUERY", "get"])
def test_another_method_is_refused(client, method):
    status, headers, _ = client.ask("/", method)
    assert (status, headers["Allow"]) == (405, "GET, HEAD")


def sent(client, text):
    """Return all that comes back when a text is sent, which need be no request."""
    with socket.create_connection(("127.0.0.1", client.server.server_port), timeout=PATIENCE_S) as connection:
        connection.sendall(text.encode())
        connection.shutdown(socket.SHUT_WR)
        return connection.makefile("rb").read().decode()


def test_the_head_of_a_page_comes_without_it(client):
    host = f"127.0.0.1:{client.server.server_port}"
    answer = sent(client, f"HEAD / HTTP/1.0\r\nHost: {host}\r\nCookie: {client.cookie}\r\n\r\n")
    head, _, body = answer.partition("\r\n\r\n")
    assert "200 OK" in head
    assert f"Content-Length: {len(client.ask('/')[2].encode())}" in head
    assert body == ""


@pytest.mark.parametrize(
    "path",
    [
        "/../w.duckdb", "/w.duckdb", "/%2e%2e/w.duckdb", "/..%2fw.duckdb", "/test/../papers.html", "//etc/passwd",
        "/etc/passwd", "/test", "/testcell", "/test/test/cell", "/cell/", "/papers", "/Papers.html", "/index.html%00",
        "/favicon.ico", "/http://127.0.0.1/", "*", "http://127.0.0.1/",
    ],
)  # fmt: skip
def test_a_path_outside_is_not_there(client, path):
    assert client.ask(path)[0] == 404


def test_all_pages_are_there_and_link_to_no_other(client):
    seen, left = set(), ["/"]
    while left:
        path = left.pop()
        status, headers, body = client.ask(path)
        assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8"), path
        seen.add(path)
        nav = body[body.index("<nav") : body.index("</nav>")]
        folder = path.rpartition("/")[0]
        links = [f"{folder}/{link}".replace("/test/../", "/") for link in re.findall('href="([^"#]+)"', nav)]
        left += [link for link in links if link not in seen and link not in left]
    assert {"/index.html", "/papers.html", "/reading.html", "/test/index.html", "/test/papers.html"} < seen
    assert client.ask("/test/")[2] == client.ask("/test/index.html")[2]
    assert "SIMULATED: no LLM was asked" in client.ask("/test/")[2]
    assert "SIMULATED: no LLM was asked" not in client.ask("/")[2]


@pytest.mark.parametrize(
    "asked",
    [
        "/?debug=1", "/?token={token}&more=1", "/papers.html?x", "/version?since=1", "/claims?where=1",
        "/trial", "/trial?id=many-000001&sql=1", "/trial?id=a&id=b", "/trial?id=%FF", "/trial?id", "/cell",
        "/cell?{cell}&limit=1", "/cell?{cell}&value=nan", "/cell?{cell}&value=1e999", "/cell?{cell}&value=a",
        "/cell?{cell}&value=1&value=2", "/cell?{cell}&domain=loan", "/cell?{up}", "/version?{many}",
    ],
)  # fmt: skip
def test_a_parameter_that_is_unknown_missing_or_no_value_is_refused_in_one_sentence(client, asked):
    up, many = urlencode(CELL | {"direction": "up"}), "&".join(f"a{i}=1" for i in range(100))
    path = asked.format(token=client.server.token, cell=urlencode(CELL), up=up, many=many)
    status, headers, body = client.ask(path)
    assert status == 400
    assert "Set-Cookie" not in headers
    assert len(body.splitlines()) == 1
    assert headers["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("llm", ["vendor/a' or '1' = '1", "vendor/a'; drop table raw.trials; --", "$llm", "a\x00b"])
def test_a_parameter_is_a_value_and_never_sql(client, llm):
    assert client.json("cell", **CELL | {"llm": llm}) == []
    assert client.json("cell", **CELL)


def test_every_answer_has_the_headers_that_keep_it_here(client):
    server = client.server
    asked = {
        (200, "/"): {}, (200, "/version"): {}, (303, f"/?token={server.token}"): {}, (400, "/trial"): {},
        (403, "/test/"): {"Cookie": None}, (404, "/nothing"): {}, (405, "/papers.html"): {"method": "POST"},
    }  # fmt: skip
    page = client.ask("/")[2]
    for (status, path), how in asked.items():
        answered, headers, _ = client.ask(path, **how)
        assert answered == status
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "Python" not in headers["Server"]
        policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
        assert policy["connect-src"] == "'self'"
        for name, element in (("script-src", "script"), ("style-src", "style")):
            (text,) = re.findall(f"<{element}>(.*?)</{element}>", page, re.DOTALL)
            assert policy[name] == f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_a_cell_gives_every_answer_with_its_value_its_turns_and_its_trial(client, made):
    answers = client.json("cell", **CELL)
    of_warehouse = rows(
        made,
        "select trial_id, response, first_response, response_text from marts.trials "
        "where starts_with(trial_id, 'many') order by trial_id",
    )
    escaped = HOSTILE.replace("\u202e", r"\u{202e}")
    assert answers == [
        [value, 1, first, [["answer", text.replace(HOSTILE, escaped), False]] if text else [], trial_id]
        for trial_id, value, first, text in of_warehouse
    ]
    assert [value for value, *_ in answers].count(None) == 3


@pytest.mark.parametrize(("asked", "value"), [("24", 24), ("25.0", 25), ("none", None), ("99", 99)])
def test_a_cell_gives_the_answers_of_one_value_or_those_without(client, made, asked, value):
    is_it = "response is null" if value is None else f"response = {value}"
    ids = rows(made, f"select trial_id from marts.trials where starts_with(trial_id, 'many') and {is_it} order by 1")
    assert [(entry[4],) for entry in client.json("cell", **CELL, value=asked)] == ids


def test_a_value_is_found_by_the_digits_that_the_page_has(own):
    client, path = own
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("update marts.trials set response = 100 / 3.0 where trial_id = 'many-000001'")
    ((value, *_),) = client.json("cell", **CELL, value="33.3333333333")
    assert value == 33.3333333333


def test_a_cell_has_each_turn_of_sacd_and_says_what_is_cut(client):
    first, last = client.json("cell", **CELL | {"technique": "sacd"})
    assert first[3] == []
    assert [(who, len(text), is_cut) for who, text, is_cut in last[3]] == [
        ("initial", 2, False), ("analyse, round 1", 1500, True), ("debias, round 2", 2, False),
    ]  # fmt: skip


def test_the_same_is_answered_beside_the_pages_of_simulated_studies(client):
    for what in (f"cell?{urlencode(CELL)}", "trial?id=many-000001", "claims", "version"):
        assert client.ask(f"/test/{what}")[2] == client.ask(f"/{what}")[2]


def test_a_trial_is_what_bais_trial_says(client, capsys):
    assert main(["trial", "sacd-000001", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert client.json("trial", id="sacd-000001") == said
    assert [len(turn["reply"]) for turn in said["turns"]] == [2, 2000, 2]


@pytest.mark.parametrize(("asked", "why"), [("nobody", "no trial nobody"), ("many", "begins several trials")])
def test_of_a_trial_that_is_not_there_it_says_so(client, asked, why):
    status, _, body = client.ask(f"/trial?id={asked}")
    assert status == 404
    assert why in body


def test_all_claims_that_were_judged_are_there_with_the_numbers_of_the_warehouse(client, made):
    query = """
    select claim_id, published_value, recomputed_value, recommended_value, recommended_low, recommended_high, holds
    from marts.claim_checks
    where is_first_place and coalesce(holds, '') not in ('not_applicable', 'not_checked')
    """
    keys = ("id", "printed", "again", "value", "low", "high", "verdict")
    claims = client.json("claims")
    assert sorted(map(str, rows(made, query))) == sorted(str(tuple(claim[key] for key in keys)) for claim in claims)
    assert len(claims) == 6


def test_the_version_is_another_one_once_somebody_wrote_and_the_page_is_made_anew(own):
    client, path = own
    before = client.json("version")["version"]
    assert f'data-live="{before}"' in client.ask("/papers.html")[2]
    rows(path, "from marts.trials")
    assert client.json("version")["version"] == before
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("update claims.papers set title = 'Another title'")
    after = client.json("version")["version"]
    assert after != before
    page = client.ask("/papers.html")[2]
    assert f'data-live="{after}"' in page
    assert "Another title" in page


def test_pages_are_made_once_for_all_who_wait_for_them(own, monkeypatch):
    client, path = own
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("update claims.papers set title = 'Another title'")
    made, make = [], Served._make
    monkeypatch.setattr(Served, "_make", lambda served: made.append(make(served)))
    askers = [threading.Thread(target=client.ask, args=("/",)) for _ in range(4)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert len(made) == 1


@pytest.mark.parametrize("what", [f"cell?{urlencode(CELL)}", "trial?id=many-000001", "claims", "version", "", "test/"])
def test_the_warehouse_is_closed_again_once_it_is_answered(own, what):
    client, path = own
    with closing(duckdb.connect(str(path))) as connection:  # so that pages are made anew, too
        connection.execute("update claims.papers set title = 'Another title'")
    assert client.ask(f"/{what}")[0] == 200
    duckdb.connect(str(path)).close()  # which it refuses as long as anybody here reads


@contextmanager
def held(path):
    """Hold a warehouse as a load does, in another process."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as one:
        assert one.stdout.readline() == b"held\n"
        try:
            yield one
        finally:
            one.stdin.close()
            one.wait()


def test_who_asks_while_somebody_writes_waits_and_is_answered(own, monkeypatch, capfd):
    client, path = own
    tried, patiently = [], serving.patiently

    def watched(act, *arguments, **more):
        def attempt():
            tried.append(act)
            return act()

        return patiently(attempt, *arguments, **more)

    monkeypatch.setattr(serving, "patiently", watched)
    got = []
    asker = threading.Thread(target=lambda: got.append(client.json("cell", **CELL)))
    with held(path):
        asker.start()
        until(lambda: len(tried) > 1)
        assert got == []
    asker.join()
    assert len(got[0]) == 30
    assert capfd.readouterr() == ("", "")


def test_who_asks_while_somebody_writes_for_long_is_told_who_does(own, monkeypatch):
    client, path = own
    monkeypatch.setattr(serving, "PATIENCE_S", 0)
    with held(path) as holder:
        for what in (f"cell?{urlencode(CELL)}", "claims"):
            status, _, body = client.ask(f"/{what}")
            assert status == 503
            assert f"is in use by process {holder.pid}" in body
            assert len(body.splitlines()) == 1
        assert client.ask("/version")[0] == 200
    assert client.ask("/claims")[0] == 200


def test_a_mistake_of_ours_is_a_sentence_and_no_trace(own, monkeypatch, capfd):
    client, _ = own

    def wrong(*_):
        raise ZeroDivisionError("by none")

    monkeypatch.setattr("analysis.report.claims.ledger", wrong)
    status, _, body = client.ask("/claims")
    assert (status, len(body.splitlines())) == (500, 1)
    assert capfd.readouterr() == ("", "")


def test_who_goes_away_before_the_answer_leaves_no_trace(own, monkeypatch, capfd):
    client, _ = own
    goes, has_come, is_gone = Served.answer, threading.Event(), threading.Event()

    def slow(*arguments):
        has_come.set()
        assert is_gone.wait(PATIENCE_S)
        return goes(*arguments)

    monkeypatch.setattr(Served, "answer", slow)
    before = set(threading.enumerate())
    with socket.create_connection(("127.0.0.1", client.server.server_port)) as connection:
        host = f"127.0.0.1:{client.server.server_port}"
        connection.sendall(f"GET /claims HTTP/1.0\r\nHost: {host}\r\nCookie: {client.cookie}\r\n\r\n".encode())
        assert has_come.wait(PATIENCE_S)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # break it off
    is_gone.set()
    until(lambda: set(threading.enumerate()) <= before)
    assert capfd.readouterr() == ("", "")
    assert client.ask("/version")[0] == 200


@pytest.mark.parametrize("text", ["\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /" + 70_000 * "a"], ids=len)
def test_what_is_no_request_leaves_no_trace(client, capfd, text):
    assert not re.search(" 200 |<html|Set-Cookie", sent(client, text))
    assert capfd.readouterr() == ("", "")


def test_ten_thousand_answers_of_a_cell_are_all_listed(made, tmp_path, record_property, capsys):
    path = tmp_path / "large.duckdb"
    shutil.copy(made, path)
    add_trials(path, 10_000, name="more", said="The facts of this case speak for a sum in the middle. " * 8)
    with started(path) as client:
        began = time.monotonic()
        answers = client.json("cell", **CELL)
        seconds = time.monotonic() - began
        of_one = client.json("cell", **CELL, value=25)
    ids = {trial_id for (trial_id,) in rows(path, "select trial_id from marts.trials where trial_id ~ '^(many|more)-'")}
    assert len(answers) == len(ids) == 10_030
    assert {entry[4] for entry in answers} == ids
    assert len(of_one) == sum(entry[0] == 25 for entry in answers) == 5_015
    assert sum(not entry[3] for entry in answers) == -(-10_000 // 11) + -(-30 // 11)
    record_property("seconds", f"{seconds:.2f}")
    with capsys.disabled():
        print(f" [10,030 answers in {seconds:.2f} s]", end="")


@pytest.fixture
def no_server(monkeypatch):
    """Have the server not run, as if somebody pressed Ctrl-C at once; return what was opened in a browser."""
    opened = []

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Server, "serve_forever", interrupted)
    monkeypatch.setattr("webbrowser.open", opened.append)
    return opened


@pytest.mark.parametrize("more", [[], ["--no-open"]])
def test_it_prints_the_address_opens_it_and_ends_with_ctrl_c(made, monkeypatch, capsys, no_server, more):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(made))
    assert main(["ui", *more]) == 0
    printed, complaints = capsys.readouterr()
    said = re.fullmatch(r"bais ui: (http://127\.0\.0\.1:\d+/\?token=[\w-]{43})\nCtrl-C stops it\.\nstopped\n", printed)
    if not more:
        until(lambda: no_server)
    assert no_server == ([] if more else [said[1]])
    assert complaints == ""


def test_a_port_that_somebody_has_is_said_in_one_sentence(made, client, monkeypatch, capsys, no_server, golden):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(made))
    port = client.server.server_port
    assert main(["ui", "--port", str(port)]) == 2
    golden(capsys.readouterr().err.replace(str(port), "<port>"))


def test_without_tables_it_says_so_and_serves_nothing(tmp_path, monkeypatch, capsys, golden):
    path = tmp_path / "empty.duckdb"
    monkeypatch.setattr(ui, "Server", None)
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    assert main(["ui"]) == 2
    golden(capsys.readouterr().err)
    duckdb.connect(str(path)).close()
    assert main(["ui"]) == 2
    golden(capsys.readouterr().err)


@pytest.mark.slow("starts a process")
def test_a_person_starts_it_and_stops_it_with_ctrl_c(made, warehouse_in, tmp_path):
    environment = warehouse_in(tmp_path).environment | {"BAIS_WAREHOUSE": str(made)}
    command = [sys.executable, "-m", "bais.main", "ui", "--no-open"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        address = re.search(r"127\.0\.0\.1:(\d+)(/\?token=.*)", process.stdout.readline())
        assert process.stdout.readline()
        with closing(http.client.HTTPConnection("127.0.0.1", int(address[1]))) as connection:
            connection.request("GET", address[2])
            assert connection.getresponse().status == 303
        process.send_signal(signal.SIGINT)
        printed, complaints = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, printed, complaints) == (0, "stopped\n", "")


STUDY = """
study: asked-meanwhile
llms: [sim/anchored, sim/constant]
vignettes: [burglary]
techniques: [no_technique, premortem]
anchors: {proportional: {low: 0.5, high: 1.5}}
stopping_rule: {minimum: 10}
"""


@pytest.mark.slow("collects and builds while it is asked every 100 ms")
def test_whoever_collects_and_builds_ends_and_no_request_fails(simulated, new_warehouse, tmp_path, capsys):
    shutil.copy(simulated.path, new_warehouse.path)
    (tmp_path / "study.yaml").write_text(STUDY)
    statuses, is_over = [], threading.Event()
    ((study, vignette, llm, trial_id),) = new_warehouse.query(
        "select study, vignette, llm, trial_id from marts.trials where paradigm = 'anchoring' and role is null "
        "and technique = 'no_technique' and anchor_direction = 'high' order by all limit 1"
    )
    cell = CELL | {"study": study, "vignette": vignette, "llm": llm}
    paths = [f"/cell?{urlencode(cell)}", "/version", f"/trial?id={trial_id}", "/claims", "/", "/test/"]

    def poll(client):
        while not is_over.wait(PAUSE_S):
            statuses.append(client.ask(paths[len(statuses) % len(paths)])[0])

    with started(new_warehouse.path) as client:
        poller = threading.Thread(target=poll, args=(client,))
        poller.start()
        try:
            new_warehouse.run("bais", "collect", tmp_path / "study.yaml")
            new_warehouse.run("bais", "build", "--select", "+conditions", "--exclude-resource-type", "unit_test")
        finally:
            is_over.set()
            poller.join()
        with capsys.disabled():
            print(f" [{len(statuses):,} requests, {sum(status != 200 for status in statuses)} failed]", end="")
        assert set(statuses) == {200}
        assert len(statuses) > 50
        assert new_warehouse.query("select count(*) from marts.trials where study = 'asked-meanwhile'") != [(0,)]
        assert client.json("cell", **cell | {"study": "asked-meanwhile", "vignette": "burglary", "llm": "sim/anchored"})
