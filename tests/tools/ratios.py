"""`make bench`: run every bench, then print what they found as one table of ratios.

python -m tests.tools.ratios [--scale S] [BENCH…]

A ratio stands beside a peer that was timed in the same run, or beside a limit. A ratio that misses its goal is marked;
nothing fails on a slow machine. What a bench records is in logs/bench/ of the working directory.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from bais.terminal import lay_out

LOGS = Path("logs", "bench")
BENCHES = sorted(path.stem for path in Path(__file__).parent.glob("bench*.py"))


class Bench:
    """A bench that runs: how large it is to be, and the rows that it records."""

    def __init__(self, description):
        name = Path(sys.argv[0]).stem
        parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
        add_scale(parser)
        self.scale = parser.parse_args().scale
        self.path = path_of(name)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("")

    def scaled(self, n):
        """Return so many of something, at the size that was asked for."""
        return max(1, round(n * self.scale))

    @property
    def is_small(self):
        """Whether it is enough to show that the bench runs."""
        return self.scale < 0.1

    @property
    def nodes(self):
        """What dbt is to build: all, or the little that shows that a build can be timed."""
        return ("--select", "path:seeds", "path:models/staging") if self.is_small else ()

    def record(self, what, peer, ratio, goal="", *, seconds, details=""):
        """Keep a row, and say it: what took so many seconds, and the ratio to its peer, which should reach the goal."""
        self._keep(what=what, peer=peer, ratio=ratio, goal=goal, seconds=seconds, details=details)
        said = f"{what}: {shown(ratio)} x {peer}{goal and f' ({goal})'}, {seconds:,.1f} s"
        print(f"{said}; {details}" if details else said, flush=True)

    def leave_out(self, what, why):
        """Keep, and say, that something was not measured here."""
        self._keep(what=what, left_out=why)
        print(f"{what}: left out, {why}", flush=True)

    def _keep(self, **row):
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def main():
    """Run all benches, or those that are named; print the table, and exit with the names of those that failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("benches", nargs="*", metavar="BENCH", help=f"one of {', '.join(BENCHES)}")
    add_scale(parser)
    asked = parser.parse_args()
    benches = asked.benches or BENCHES
    commands = {name: [sys.executable, "-m", f"tests.tools.{name}", f"--scale={asked.scale}"] for name in benches}
    failed = [name for name, command in commands.items() if subprocess.run(command).returncode]
    print("", table([row for name in benches for row in rows_of(name)]), sep="\n")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def add_scale(parser):
    """Add the option of all benches."""
    parser.add_argument("--scale", type=float, default=1, help="how large all is to be; 0.01 only shows that it runs")


def path_of(name):
    """Return where a bench keeps its rows."""
    return LOGS / f"{name}.jsonl"


def rows_of(name):
    """Return the rows that a bench has recorded in its last run."""
    path = path_of(name)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def table(rows):
    """Return what was found as one table; what was left out stands below it."""
    found = [row for row in rows if "ratio" in row]
    cells = [
        (row["what"], row["peer"], shown(row["ratio"]), row["goal"], "" if is_met(row) else "missed") for row in found
    ]
    left_out = [f"left out: {row['what']}: {row['left_out']}" for row in rows if "ratio" not in row]
    return "\n".join([lay_out(["what", "beside", "ratio", "goal", ""], cells, right=[2]), *left_out])


def is_met(row):
    """Return whether a ratio reaches its goal, which starts with `at most` or `at least`; without one it does."""
    if not row["goal"]:
        return True
    kind, _, limit = row["goal"].rpartition(" ")
    return row["ratio"] <= float(limit) if kind == "at most" else row["ratio"] >= float(limit)


def shown(ratio):
    """Write a ratio with two digits or more."""
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}" if ratio < 0.1 else f"{ratio:.2f}"


if __name__ == "__main__":
    main()
