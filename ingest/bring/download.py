"""Fetch document A's public archive: its trial files alone, each checked against a digest in this repository."""

import gzip
import http.client
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from ingest.warehouse import UserError, sha256_of, why_not_written

COMMIT = "8749ccc21623dcb0e040dd56698f984e203ed3d9"
URL = f"https://github.com/voder-ai/bAIs/archive/{COMMIT}.tar.gz"
MANIFEST = Path(__file__).parents[1] / "archives" / "voder_bais.sha256"
MOST_BYTES = 1 << 30
TIMEOUT_SECONDS = 30
ATTEMPTS = 3
PAUSE_SECONDS = 2


def download(
    folder: Path,
    *,
    url: str = URL,
    manifest: Path = MANIFEST,
    on_bytes: Callable[[int, int | None], None] = lambda n_done, n_total: None,
) -> Path:
    """Fetch the archive into a folder, all of it or nothing, unless it is there already.

    The trials of the gzipped tar file lie in `results/` of its one top folder; `manifest` has the SHA-256 of each, as
    `sha256sum` writes it. `on_bytes` gets the bytes fetched so far and in all, if that is known.
    """
    folder = Path(folder).absolute()
    digests = read_manifest(manifest)
    if folder.is_dir() and any(folder.iterdir()):
        if wrong := _wrong(folder, digests):
            raise UserError(f"in {folder} {_names(wrong)}: move the folder away and run this again")
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as workplace:
            packed, unpacked = Path(workplace, "archive.tar.gz"), Path(workplace, "results")
            _fetch(url, packed, on_bytes)
            _unpack(packed, unpacked, digests, url)
            if wrong := _wrong(unpacked, digests):
                raise UserError(f"in the archive of {url} {_names(wrong)}: nothing was imported")
            unpacked.replace(folder)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {why_not_written(error, folder)}") from None
    return folder


def read_manifest(path: Path) -> dict[str, str]:
    """Read the digests that `sha256sum` wrote, by the path within the archive."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}


def _fetch(url, target, on_bytes):
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _fetch_once(url, target, on_bytes)
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            is_final = isinstance(error, urllib.error.HTTPError) and error.code < 500
            if is_final or attempt == ATTEMPTS:
                why = getattr(error, "reason", None) or error
                raise UserError(
                    f"{url} cannot be fetched ({why}): fetch it by hand, unpack it, and give its folder results "
                    "with --archive"
                ) from None
            time.sleep(PAUSE_SECONDS * attempt)


def _fetch_once(url, target, on_bytes):
    with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response, open(target, "wb") as file:
        length = response.headers.get("Content-Length")
        n_total = int(length) if length else None
        while block := response.read(1 << 18):
            file.write(block)
            on_bytes(file.tell(), n_total)
            if file.tell() > MOST_BYTES:
                raise UserError(f"{url} is larger than {MOST_BYTES >> 20} MB: that is not the archive")
        if n_total is not None and file.tell() < n_total:
            raise ConnectionError(f"it broke off after {file.tell():,} of {n_total:,} bytes")


def _unpack(packed, target, digests, url):
    """Write the wanted files below `target`; nothing else that the archive holds leaves it."""
    n_bytes = 0
    try:
        with tarfile.open(packed, "r:gz") as archive:
            for member in archive:
                n_bytes += member.size
                if n_bytes > MOST_BYTES:
                    raise UserError(f"{url} unpacks to more than {MOST_BYTES >> 20} MB: that is not the archive")
                _, inside, *rest = (*PurePosixPath(member.name).parts, "", "")
                path = "/".join(part for part in rest if part)
                if inside == "results" and member.isreg() and path in digests:
                    (target / path).parent.mkdir(parents=True, exist_ok=True)
                    (target / path).write_bytes(archive.extractfile(member).read())
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"what {url} gave is no whole archive ({error}): try again") from None


def _wrong(folder, digests):
    """List the files that are missing or not what was published."""
    files = {path: folder / path for path in digests}
    return [path for path, file in files.items() if not file.is_file() or sha256_of(file) != digests[path]]


def _names(paths):
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    return f"{paths[0]}{more} is missing or not what was published"
