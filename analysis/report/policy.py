"""What keeps a page from loading anything and from running another script than its own."""

import hashlib
import json
from base64 import b64encode
from datetime import datetime

from markupsafe import Markup

POLICY = "default-src 'none'; style-src '{}'; script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'"


def digest(text):
    """Return how a policy names a style or a script that may count.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()


def embedded(data):
    """Return data as JSON that can stand in HTML.

    Parameters
    ----------
    data : object

    Returns
    -------
    Markup
    """
    text = json.dumps(data, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=as_text)
    return Markup(text.translate({ord(c): f"\\u{ord(c):04x}" for c in "<>&"}))


def as_text(value):
    """Return as text what JSON has no form for.

    Parameters
    ----------
    value : object

    Returns
    -------
    str
    """
    return value.isoformat() if isinstance(value, datetime) else str(value)
