"""`make bench`: how soon each page of `bais report` can be used in Chromium, beside the same page without its script.

The order is one second. Run as `python -m tests.tools.bench_page`; it takes the warehouse that is built.
"""

import re
import shutil
import tempfile
from pathlib import Path
from statistics import median

from bais.main import main

MOST_MS = 1000
TIMES = 5
READY = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"


def bench() -> None:
    """Print of each page its size, how soon it answers, and the ratio to the page without a script."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        print("no Chromium here: how soon a page can be used was not measured")
        return
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        if main(["report", "--out", str(Path(folder) / "report.html")]):
            return
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for path in sorted(Path(folder).glob("*.html")):
            text = path.read_text(encoding="utf-8")
            bare = path.with_suffix(".bare")
            bare.write_text(re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL), encoding="utf-8")
            bare = bare.rename(path.with_name(f"bare-{path.name}"))
            ready, without = (median(_opened(browser, each) for _ in range(TIMES)) for each in (path, bare))
            print(
                f"{path.name}: {len(text.encode()) / 1e6:.2f} MB, can be used after {ready:.0f} ms "
                f"(at most {MOST_MS}), {ready / without:.2f} times as long as without its script"
            )
        browser.close()


def _opened(browser, path):
    page = browser.new_page()
    page.goto(path.as_uri())
    took = page.evaluate(READY)
    page.close()
    return took


if __name__ == "__main__":
    bench()
