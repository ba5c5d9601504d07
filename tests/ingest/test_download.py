"""The public archive, fetched from a server on this machine: all of it, as published, or nothing."""

import hashlib
import http.server
import io
import socket
import tarfile
import threading
from types import SimpleNamespace

import pytest

from analysis.claims.papers import read_papers
from ingest.bring import download as downloading
from ingest.bring.download import COMMIT, MANIFEST, download, read_manifest
from ingest.run import main
from ingest.warehouse import UserError

FILES = {"a.jsonl": b'{"a": 1}\n', "high-anchor/b.jsonl": b"invented\n"}


def packed(files, links=()):
    """A gzipped tar file as GitHub makes them: everything in one top folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for name, target in links:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return buffer.getvalue()


def in_results(files):
    return {f"bAIs-1234/results/{path}": data for path, data in files.items()}


@pytest.fixture
def server(monkeypatch):
    """A server whose answers are set by the test: the status and the body of each, and how much of it is sent."""
    state = SimpleNamespace(status=200, body=packed(in_results(FILES)), cut=None, failures=0, requests=0)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            state.requests += 1
            fails = state.requests <= state.failures
            self.send_response(503 if fails else state.status)
            self.send_header("Content-Length", str(len(state.body)))
            self.end_headers()
            self.wfile.write(b"" if fails else state.body[: state.cut])

        def log_message(self, *_):
            pass

    monkeypatch.setattr(downloading, "PAUSE_SECONDS", 0)
    monkeypatch.setenv("no_proxy", "*")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        state.url = f"http://127.0.0.1:{running.server_port}/archive.tar.gz"
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


def below(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if not path.is_dir()}


def refused(server, folder, manifest):
    """Download, which must fail in one sentence and leave nothing behind; return the sentence."""
    with pytest.raises(UserError) as failure:
        download(folder, url=server.url, manifest=manifest)
    assert failure.value.exit_code == 2
    assert "\n" not in str(failure.value)
    assert list(folder.parent.iterdir()) == []
    return str(failure.value)


def test_the_wanted_files_come_and_nothing_else_of_the_archive(server, folder, manifest):
    server.body = packed(
        {"bAIs-1234/README.md": b"text", "bAIs-1234/results/report.json": b"{}"}
        | in_results(FILES)
        | {"bAIs-1234/elsewhere/a.jsonl": b"another"},
        links=[("bAIs-1234/results/link.jsonl", "/etc/passwd")],
    )
    assert download(folder, url=server.url, manifest=manifest) == folder
    assert below(folder) == FILES
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_a_second_call_asks_no_server(server, folder, manifest):
    download(folder, url=server.url, manifest=manifest)
    download(folder, url=server.url, manifest=manifest)
    assert server.requests == 1


def test_a_folder_that_is_not_as_published_is_named_and_left_alone(server, folder, manifest):
    download(folder, url=server.url, manifest=manifest)
    (folder / "a.jsonl").write_bytes(b"changed")
    with pytest.raises(UserError, match=r"a\.jsonl is missing or not what was published: move the folder away"):
        download(folder, url=server.url, manifest=manifest)
    assert (folder / "a.jsonl").read_bytes() == b"changed"
    assert server.requests == 1


def test_an_empty_folder_is_filled(server, folder, manifest):
    folder.mkdir(parents=True)
    download(folder, url=server.url, manifest=manifest)
    assert below(folder) == FILES


def test_progress_ends_with_the_whole_length(server, folder, manifest):
    seen = []
    download(folder, url=server.url, manifest=manifest, on_bytes=lambda *done: seen.append(done))
    assert seen[-1] == (len(server.body), len(server.body))


def test_a_server_that_fails_for_a_while_is_asked_again(server, folder, manifest):
    server.failures = 2
    download(folder, url=server.url, manifest=manifest)
    assert (below(folder), server.requests) == (FILES, 3)


def test_a_server_that_keeps_failing_is_given_up(server, folder, manifest):
    server.failures = 99
    assert f"{server.url} cannot be fetched" in refused(server, folder, manifest)
    assert server.requests == downloading.ATTEMPTS


def test_a_page_that_is_not_there_is_asked_for_once(server, folder, manifest, golden):
    server.status = 404
    golden(refused(server, folder, manifest), str(server.url))
    assert server.requests == 1


def test_a_body_that_breaks_off_is_fetched_again_and_then_given_up(server, folder, manifest, golden):
    server.cut = 100
    sentence = refused(server, folder, manifest)
    golden(sentence, "100", str(len(server.body)))
    assert server.requests == downloading.ATTEMPTS


def test_an_archive_that_was_cut_before_it_was_served_is_no_whole_archive(server, folder, manifest, golden):
    server.body = server.body[: len(server.body) // 2]
    golden(refused(server, folder, manifest))


def test_what_is_no_archive_at_all_is_said_to_be_none(server, folder, manifest, golden):
    server.body = b"<html>sign in first</html>"
    golden(refused(server, folder, manifest))


def test_without_a_network_the_sentence_tells_what_to_fetch_and_how_to_give_it(server, folder, manifest):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server.url = f"http://127.0.0.1:{free.getsockname()[1]}/archive.tar.gz"
        sentence = refused(server, folder, manifest)
    assert server.url in sentence
    assert sentence.endswith("with --archive")


@pytest.mark.parametrize("change", [{"a.jsonl": b"other"}, {"a.jsonl": None}])
def test_a_file_that_differs_or_is_missing_is_named(server, folder, manifest, change, golden):
    files = {name: data for name, data in (FILES | change).items() if data is not None}
    server.body = packed(in_results(files))
    golden(refused(server, folder, manifest), "a.jsonl")


@pytest.mark.parametrize(
    "name",
    ["/tmp/results/a.jsonl", "../results/../../a.jsonl", "bAIs-1234/results/../../../a.jsonl", "results/a.jsonl"],
)
def test_a_member_that_points_outside_is_never_written(server, folder, manifest, name):
    server.body = packed({name: FILES["a.jsonl"]} | in_results({"high-anchor/b.jsonl": b"invented\n"}))
    refused(server, folder, manifest)
    assert not list(folder.parent.parent.rglob("a.jsonl"))


def test_a_link_in_place_of_a_file_is_not_followed(server, folder, manifest, tmp_path):
    (tmp_path / "secret").write_bytes(FILES["a.jsonl"])
    server.body = packed(
        in_results({"high-anchor/b.jsonl": b"invented\n"}),
        links=[("bAIs-1234/results/a.jsonl", str(tmp_path / "secret"))],
    )
    assert "a.jsonl is missing" in refused(server, folder, manifest)


def test_an_archive_too_large_to_be_the_right_one_is_refused(server, folder, manifest, monkeypatch, golden):
    monkeypatch.setattr(downloading, "MOST_BYTES", 10_000)
    server.body = packed(in_results(FILES) | {"bAIs-1234/bomb": b"0" * 1_000_000})
    assert len(server.body) < 10_000
    golden(refused(server, folder, manifest))
    monkeypatch.setattr(downloading, "MOST_BYTES", 100)
    assert "is larger than" in refused(server, folder, manifest)


def test_a_place_that_cannot_be_written_is_one_sentence(server, manifest, tmp_path):
    (tmp_path / "a file").touch()
    for folder in (tmp_path / "a file", tmp_path / "a file" / "below"):
        with pytest.raises(UserError, match="cannot be written"):
            download(folder, url=server.url, manifest=manifest)


def test_the_command_fetches_and_imports_or_exits_2_and_lands_nothing(
    server, folder, manifest, make, warehouse, query, monkeypatch, capsys, tmp_path, golden
):
    source = make.file(tmp_path / "source.jsonl", make.baseline())
    manifest.write_text(f"{hashlib.sha256(source.read_bytes()).hexdigest()}  a.jsonl\n")
    monkeypatch.setitem(download.__kwdefaults__, "url", server.url)
    monkeypatch.setitem(download.__kwdefaults__, "manifest", manifest)
    assert main(["--download", str(folder)]) == 2
    golden(capsys.readouterr().err, "a.jsonl")
    assert not warehouse.exists()
    server.body = packed(in_results({"a.jsonl": source.read_bytes()}))
    assert main(["--download", str(folder)]) == 0
    assert query("select source_file from raw.trials") == [("a.jsonl",)]


def test_claims_of_document_a_are_about_the_version_that_is_pinned(recorded):
    digests = sorted((path, digest) for path, digest in read_manifest(MANIFEST).items())
    whole = hashlib.sha256("\n".join(f"{digest}  {path}" for path, digest in digests).encode()).hexdigest()
    (of_a,) = [paper for paper in read_papers()[0] if paper["document"] == "A"]
    assert (of_a["study"], of_a["label"], of_a["digest"]) == ("voder-bais", COMMIT[:7], whole)
    assert recorded.query("select digest from raw.source_versions") == [(whole,)]


def test_the_manifest_names_the_trial_files_of_document_a_within_its_results():
    digests = read_manifest(MANIFEST)
    assert len(digests) == 459
    assert all(len(bytes.fromhex(digest)) == 32 for digest in digests.values())
    assert {path.rpartition("/")[0] for path in digests} == {
        "",
        "high-anchor",
        "vignette-loan",
        "vignette-medical",
        "vignette-salary",
    }
