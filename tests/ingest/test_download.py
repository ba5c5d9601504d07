"""Published archives, fetched from a server on this machine: all of it, as published, or nothing."""

import hashlib
import http.server
import socket
import threading
import urllib.parse
from types import SimpleNamespace

import pytest
from filelock import FileLock

from analysis.claims.papers import read_papers
from ingest.archives import formats
from ingest.bring import download as downloading
from ingest.bring.download import download, read_manifest
from ingest.bring.published import Published, published
from ingest.run import main
from ingest.warehouse import UserError

FILES = {"a.jsonl": b'{"a": 1}\n', "high-anchor/b = ['c'].jsonl": b"invented\n"}
OF_A = published()["voder_bais"]


@pytest.fixture
def server(monkeypatch):
    """A server of files at one commit; the test sets the status, how much of a file is sent, and how often it fails."""
    state = SimpleNamespace(files=dict(FILES), commit="1234", status=200, cut=None, failures=0, requests=0, length=None)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            state.requests += 1
            _, commit, path = urllib.parse.unquote(self.path).split("/", 2)
            body = state.files.get(path) if commit == state.commit else None
            fails = state.requests <= state.failures
            self.send_response(503 if fails else 404 if body is None else state.status)
            self.send_header("Content-Length", state.length or str(len(body or b"")))
            self.end_headers()
            self.wfile.write(b"" if fails or body is None else body[: state.cut])

        def log_message(self, *_):
            pass

    monkeypatch.setattr(downloading, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(downloading, "AT_ONCE", 1)
    monkeypatch.setenv("no_proxy", "*")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        state.url = f"http://127.0.0.1:{running.server_port}/1234"
        yield state
        running.shutdown()
        thread.join()


@pytest.fixture
def manifest(tmp_path):
    path = tmp_path / "manifest.sha256"
    path.write_text("".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in FILES.items()))
    return path


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "downloads" / "voder-bais"


@pytest.fixture
def fetch(server, folder, manifest):
    """Fetch the files into the folder."""
    return lambda **given: download(OF_A, folder, address=server.url, manifest=manifest, **given)


def below(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if not path.is_dir()}


@pytest.fixture
def refused(fetch, folder):
    """Fetch, which must fail in one sentence and leave nothing behind; return the sentence."""

    def refuse():
        with pytest.raises(UserError) as failure:
            fetch()
        assert failure.value.exit_code == 2
        assert "\n" not in str(failure.value)
        assert list(folder.parent.iterdir()) == []
        return str(failure.value)

    return refuse


def test_the_files_of_the_manifest_come_and_nothing_else(server, fetch, folder):
    server.files["README.md"] = b"text"
    assert fetch() == folder
    assert below(folder) == FILES
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_a_second_call_asks_no_server(server, fetch):
    fetch()
    fetch()
    assert server.requests == len(FILES)


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("a.jsonl", b"changed", "a.jsonl is missing or not what was published"),
        ("a.jsonl", None, "a.jsonl is missing or not what was published"),
        ("added.jsonl", b"{}", "added.jsonl was not published"),
    ],
)
def test_a_folder_that_is_not_as_published_is_named_and_left_alone(server, fetch, folder, name, data, sentence):
    fetch()
    (folder / name).unlink(missing_ok=True) if data is None else (folder / name).write_bytes(data)
    with pytest.raises(UserError, match=f"{sentence}: move the folder away"):
        fetch()
    assert below(folder).get(name) == data
    assert server.requests == len(FILES)


def test_what_a_killed_download_left_is_removed_and_what_one_works_in_is_not(fetch, folder):
    left, held = (folder.parent / f".{folder.name}-{name}.fetching" for name in ("left", "held"))
    for place in (left, held):
        (place / "files").mkdir(parents=True)
    with FileLock(held / "lock"):
        fetch()
    assert {path.name for path in folder.parent.iterdir()} == {folder.name, held.name}


def test_an_empty_folder_is_filled(fetch, folder):
    folder.mkdir(parents=True)
    fetch()
    assert below(folder) == FILES


def test_progress_ends_with_all_bytes(fetch):
    seen = []
    fetch(on_bytes=lambda *done: seen.append(done))
    assert seen[-1] == (sum(map(len, FILES.values())), None)


def test_a_server_that_fails_for_a_while_is_asked_again(server, fetch, folder):
    server.failures = 2
    fetch()
    assert (below(folder), server.requests) == (FILES, 4)


def test_a_length_that_is_no_number_is_not_looked_at(server, fetch, folder):
    server.length = "abc"
    fetch()
    assert below(folder) == FILES


def test_a_server_that_keeps_failing_is_given_up(server, refused):
    server.failures = 99
    assert f"{server.url}/a.jsonl cannot be fetched" in refused()
    assert server.requests <= downloading.ATTEMPTS * len(FILES)


def test_another_commit_is_not_there_and_each_file_is_asked_for_once(server, refused, golden):
    server.commit = "5678"
    golden(refused(), str(server.url))
    assert server.requests <= len(FILES)


def test_half_a_file_is_fetched_again_and_then_given_up(server, refused, golden):
    server.cut = 4
    golden(refused(), str(server.url), "4", "9")


def test_without_a_network_the_sentence_tells_what_to_fetch(server, refused):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server.url = f"http://127.0.0.1:{free.getsockname()[1]}/1234"
        sentence = refused()
    assert server.url in sentence
    assert sentence.endswith("by hand, and import their folder")


def test_a_file_of_another_hash_is_named(server, refused, golden):
    server.files["a.jsonl"] = b"other"
    golden(refused(), str(server.url), "a.jsonl")


def test_a_file_too_large_to_be_the_right_one_is_refused(refused, monkeypatch):
    monkeypatch.setattr(downloading, "MOST_BYTES", 8)
    assert "that is not the archive" in refused()


def test_a_place_that_cannot_be_written_is_one_sentence(server, manifest, tmp_path):
    (tmp_path / "a file").touch()
    for folder in (tmp_path / "a file", tmp_path / "a file" / "below"):
        with pytest.raises(UserError, match="cannot be written"):
            download(OF_A, folder, address=server.url, manifest=manifest)


def test_the_command_fetches_and_imports_or_exits_2_and_lands_nothing(
    server, folder, manifest, make, warehouse, query, monkeypatch, capsys, tmp_path, golden
):
    source = make.file(tmp_path / "source.jsonl", make.baseline())
    manifest.write_text(f"{hashlib.sha256(source.read_bytes()).hexdigest()}  a.jsonl\n")
    monkeypatch.setitem(download.__kwdefaults__, "address", server.url)
    monkeypatch.setitem(download.__kwdefaults__, "manifest", manifest)
    assert main(["--archive", str(folder), "--download", "voder_bais"]) == 2
    golden(capsys.readouterr().err, "a.jsonl", str(server.url))
    assert not warehouse.exists()
    server.files["a.jsonl"] = source.read_bytes()
    assert main(["--archive", str(folder), "--download", "voder_bais"]) == 0
    assert query("select source_file, version.label from raw.trials, raw.source_versions as version") == [
        ("a.jsonl", OF_A.version)
    ]


def test_the_command_fetches_counts_which_have_no_versions(server, folder, manifest, query, monkeypatch):
    name = "1_bias_sensitivity_model=gpt-4o-mini.data_model_list=['x'].json"
    server.files = {name: b'{"framing effect": {"sensitivity": 50, "total_runs": 10}}'}
    manifest.write_text(f"{hashlib.sha256(server.files[name]).hexdigest()}  {name}\n")
    monkeypatch.setitem(download.__kwdefaults__, "address", server.url)
    monkeypatch.setitem(download.__kwdefaults__, "manifest", manifest)
    assert main(["--archive", str(folder), "--download", "software_engineering_2026"]) == 0
    assert query("select study, value, n from raw.counts order by value") == [
        ("software-engineering-2026", 0.0, 5), ("software-engineering-2026", 1.0, 5)
    ]  # fmt: skip


def test_an_archive_of_no_stated_licence_is_not_to_be_passed_on():
    assert Published("x", "https://x", "0" * 40, "", "").terms().endswith("no licence is stated: pass it on to nobody")


@pytest.mark.parametrize("archive", published().values(), ids=lambda archive: archive.name)
def test_an_archive_is_pinned_to_a_whole_commit_and_read_by_a_format(archive):
    assert len(bytes.fromhex(archive.commit)) == 20
    assert archive.form in formats()
    digests = read_manifest(archive.manifest)
    assert all(len(bytes.fromhex(digest)) == 32 for digest in digests.values())
    assert (
        len(digests) == {"voder_bais": 459, "cognitive_biases_2026": 105, "software_engineering_2026": 84}[archive.name]
    )


@pytest.mark.parametrize("name", ["cognitive_biases_2026", "cognitive-biases-2026"])
def test_a_published_archive_that_is_not_here_is_asked_for_by_its_name(name, capsys):
    assert main(["--archive", name]) == 2
    assert f"there is no {name}: `bais import --download cognitive_biases_2026`" in capsys.readouterr().err


def test_claims_of_document_a_are_about_the_version_that_is_pinned(recorded):
    digests = sorted((path, digest) for path, digest in read_manifest(OF_A.manifest).items())
    whole = hashlib.sha256("\n".join(f"{digest}  {path}" for path, digest in digests).encode()).hexdigest()
    (of_a,) = [paper for paper in read_papers()[0] if paper["document"] == "A"]
    assert (of_a["study"], of_a["label"], of_a["digest"]) == ("voder-bais", OF_A.version, whole)
    assert recorded.query("select digest from raw.source_versions") == [(whole,)]


def test_the_manifest_names_the_trial_files_of_document_a_within_its_results():
    digests = read_manifest(OF_A.manifest)
    assert {path.rpartition("/")[0] for path in digests} == {
        "",
        "high-anchor",
        "vignette-loan",
        "vignette-medical",
        "vignette-salary",
    }
