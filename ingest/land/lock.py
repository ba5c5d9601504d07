"""One process at a time: a lock file, and beside it the number of the process that holds it."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from ingest.warehouse import UserError


@contextlib.contextmanager
def alone(path: Path, refusal: Callable[[str], str]) -> Iterator[None]:
    """Hold a lock file, which a killed process lets go of too; `refusal` makes the sentence of who else has it."""
    from filelock import FileLock, Timeout

    holder = path.with_name(f"{path.name}.pid")
    try:
        lock = FileLock(path).acquire(blocking=False)
    except Timeout:
        pid = ""
        with contextlib.suppress(OSError):
            pid = holder.read_text(encoding="ascii")
        raise UserError(refusal(f"process {pid}" if pid else "another process")) from None
    with lock:
        with contextlib.suppress(OSError):  # on a full disk the lock holds all the same
            holder.write_text(str(os.getpid()), encoding="ascii")
        try:
            yield
        finally:
            holder.unlink(missing_ok=True)
