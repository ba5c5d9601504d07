"""The key that hides who took part: names of people are made with it, and so are the pages that they are given."""

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

from ingest.warehouse import UserError, printable

KEY_VARIABLE, KEY_FILE_VARIABLE = "BAIS_PARTICIPANT_KEY", "BAIS_PARTICIPANT_KEY_FILE"
SHORTEST_KEY = 32


def participant_key(*, is_needed: bool = False) -> bytes:
    """Return the key that hides participants: from the environment, else from its file, which is made on first use.

    Where pages or choices of the study are there already, it is needed: with another the same people would count
    twice.
    """
    if given := os.environ.get(KEY_VARIABLE):
        if len(given) < SHORTEST_KEY:
            raise UserError(f"{KEY_VARIABLE} has fewer than {SHORTEST_KEY} characters: a short key can be guessed")
        try:
            return given.encode()
        except UnicodeError:
            raise UserError(f"{KEY_VARIABLE} is not UTF-8 text: give a key of letters and digits") from None
    path = key_path()
    if path.exists() and not path.is_file():
        raise UserError(f"{printable(path)}, where the key that hides participants should be, is no file")
    if is_needed and not path.exists():
        raise UserError(
            f"what is there of this study was made with a key that is not at {printable(path)} any more; with another "
            f"one the same people would count twice: put it back, or name it with {KEY_FILE_VARIABLE}; nothing was "
            "landed"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            _refuse_shared(path)
            key = path.read_text(encoding="utf-8").strip()
        else:
            key = secrets.token_hex(SHORTEST_KEY)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(key + "\n")
    except (OSError, UnicodeError):
        raise UserError(
            f"the key that hides participants, {printable(path)}, can be neither read nor made: "
            f"give one in {KEY_VARIABLE}"
        ) from None
    if len(key) < SHORTEST_KEY:
        raise UserError(f"{printable(path)} holds no key of at least {SHORTEST_KEY} characters: put yours back")
    return key.encode()


def _refuse_shared(path):
    if os.name == "posix" and path.stat().st_mode & stat.S_IRWXO:
        raise UserError(
            f"the key that hides participants, {printable(path)}, can be read or changed by everybody here: "
            "`chmod 600` it"
        )


def key_path() -> Path:
    """Return where the key lies: never beside the warehouse, unless a person says so."""
    if given := os.environ.get(KEY_FILE_VARIABLE):
        return Path(given)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "bais" / "participants.key"


def hashed(participant: str, study: str, key: bytes) -> str:
    """Hide who a participant is: equal within a study, another in another study, and not to be guessed without key."""
    return keyed(key, f"{study}\0{participant}")[:32]


def keyed(key: bytes, text: str) -> str:
    """Return the HMAC-SHA256 of a text, 64 digits."""
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
