"""Pages in Chromium, and the server of `bais ui` in a thread of this process."""

import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from bais.served import Served
from bais.ui import Server

BROWSERS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")


@contextmanager
def chromium():
    """Give Chromium without a network of its own; what needs it is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next((path for path in BROWSERS if Path(path).exists()), None)
    if not found:
        pytest.skip("no chromium on this machine")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield opened
        opened.close()


@contextmanager
def serving(path):
    """Serve a warehouse from a thread of this process; give the server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(path))
        served = Served()
        served.prepare()
        with Server(served) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            try:
                yield server
            finally:
                server.shutdown()
                thread.join()
