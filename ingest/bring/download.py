"""Fetch a published archive: its files at a pinned commit, each checked against a digest in this repository."""

import contextlib
import glob
import http.client
import shutil
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ingest.bring.published import Published
from ingest.warehouse import UserError, sha256_of, why_not_written

MOST_BYTES = 1 << 28  # of a file
TIMEOUT_SECONDS = 30
ATTEMPTS = 3
PAUSE_SECONDS = 2
AT_ONCE = 8
FETCHING, LOCK = ".fetching", "lock"  # of the folder that a download works in, and its file that it holds


def download(
    archive: Published,
    folder: Path,
    *,
    address: str | None = None,
    manifest: Path | None = None,
    on_bytes: Callable[[int, int | None], None] = lambda n_done, n_total: None,
) -> Path:
    """Fetch an archive into a folder, all of it or nothing, unless it is there already.

    `manifest` has the SHA-256 of each file below `address`, as `sha256sum` writes it. `on_bytes` gets the bytes fetched
    so far, and None, since it is not known how many there are.
    """
    from filelock import FileLock

    folder = Path(folder).absolute()
    digests = read_manifest(manifest or archive.manifest)
    if folder.is_dir() and any(folder.iterdir()):
        if wrong := _wrong(folder, digests):
            raise UserError(f"in {folder} {wrong}: move the folder away and run this again")
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(folder)
        with (
            tempfile.TemporaryDirectory(prefix=f".{folder.name}-", suffix=FETCHING, dir=folder.parent) as workplace,
            FileLock(Path(workplace, LOCK)),
        ):
            fetched = Path(workplace, "files")
            _fetch_all(address or archive.address, digests, fetched, on_bytes)
            if wrong := _wrong(fetched, digests):
                raise UserError(f"below {address or archive.address} {wrong}: nothing was imported")
            fetched.replace(folder)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {why_not_written(error, folder)}") from None
    return folder


def _remove_leftovers(folder):
    """Remove what downloads into a folder have left that were killed: nobody holds its lock any more."""
    from filelock import FileLock, Timeout

    for left in folder.parent.glob(f".{glob.escape(folder.name)}-*{FETCHING}"):
        with contextlib.suppress(Timeout), FileLock(left / LOCK, timeout=0):
            shutil.rmtree(left, ignore_errors=True)


def read_manifest(path: Path) -> dict[str, str]:
    """Read the digests that `sha256sum` wrote, by the path within the archive."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}


def _fetch_all(address, digests, target, on_bytes):
    n_done = 0
    with ThreadPoolExecutor(AT_ONCE) as threads:
        fetching = [threads.submit(_fetch, address, path, target / path) for path in digests]
        try:
            for of_file in fetching:
                n_done += of_file.result()
                on_bytes(n_done, None)
        except UserError:
            threads.shutdown(cancel_futures=True)
            raise


def _fetch(address, path, target):
    """Fetch a file, and return how many bytes it has."""
    url = f"{address}/{urllib.parse.quote(path)}"
    target.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _fetch_once(url, target)
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            is_final = isinstance(error, urllib.error.HTTPError) and error.code < 500
            if is_final or attempt == ATTEMPTS:
                why = getattr(error, "reason", None) or error
                raise UserError(
                    f"{url} cannot be fetched ({why}): fetch the files of {address} by hand, and import their folder"
                ) from None
            time.sleep(PAUSE_SECONDS * attempt)


def _fetch_once(url, target):
    with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response, open(target, "wb") as file:
        length = response.length  # none where what the server says is no number
        while block := response.read(1 << 18):
            file.write(block)
            if file.tell() > MOST_BYTES:
                raise UserError(f"{url} is larger than {MOST_BYTES >> 20} MB: that is not the archive")
        if length is not None and file.tell() < length:
            raise ConnectionError(f"it broke off after {file.tell():,} of {length:,} bytes")
        return file.tell()


def _wrong(folder, digests):
    """Say which files are missing or not what was published, or were not published at all."""
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if others := [path for path in digests if path not in there or sha256_of(folder / path) != digests[path]]:
        return f"{_named(others)} is missing or not what was published"
    return f"{_named(added)} was not published" if (added := sorted(there - digests.keys())) else None


def _named(paths):
    return f"{paths[0]}{f' and {len(paths) - 1:,} more' if len(paths) > 1 else ''}"
