"""How soon each page of `bais report` can be used in Chromium, beside the same page without its script.

It takes the warehouse that is built.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from bais.main import main as bais
from tests.tools.ratios import Bench

READY = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"


def main():
    """Open each page as often as asked."""
    from playwright.sync_api import sync_playwright

    bench = Bench(__doc__)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        bench.leave_out("how soon a page can be used", "there is no Chromium here")
        return
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        single = Path(folder) / "single.html"
        if bais(["report", "--out", folder]) or bais(["report", "--single", str(single)]):
            sys.exit("there is no report to open: run `bais build` first")
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for path in sorted(Path(folder).rglob("*.html")):
            text = path.read_text(encoding="utf-8")
            bare = path.with_name(f"bare-{path.name}")
            bare.write_text(re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL), encoding="utf-8")
            ready, without = (median(_opened(browser, each) for _ in range(bench.scaled(5))) for each in (path, bare))
            name = f"{path.relative_to(folder)}, until it can be used"
            size = f"{len(text.encode()) / 1e6:.2f} MB"
            bench.record(name, "1 s", ready / 1000, "at most 1", seconds=ready / 1000, details=size)
            bench.record(name, "without its script", ready / without, seconds=ready / 1000)
        browser.close()


def _opened(browser, path):
    page = browser.new_page()
    page.goto(path.as_uri())
    took = page.evaluate(READY)
    page.close()
    return took


if __name__ == "__main__":
    main()
