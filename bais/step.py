"""A step of `make run`: one line of what came out, and all that it said in a file of `logs/run/`.

python -m bais.step NAME COMMAND…

A step that fails is shown whole, and ends with the exit code of its command. What the gate holds back of what was
landed fails no step.
"""

import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

HELD_BACK = 6  # the exit code of an import of which the gate failed a batch
LOGS = Path("logs", "run")
COUNTED = re.compile(r"^ +(?:loaded:|[\d,]+ (?:lines|scores) read:)")
GATE = re.compile(
    r"  gate: .*?(?: for (?P<llms>[\d,]+) LLMs)? passed"
    r"(?: \((?:warnings (?P<warnings>[\w, ]+))?(?:; )?(?P<flagged>[\d,]+ \w+(?:; [\d,]+ \w+)*)?\))?"
    r"(?:, in each of (?P<n>[\d,]+) batches)?"
)
FAILED = re.compile(r"gate: .* failed, its trials are not published \(FAILED (?P<checks>[\w, ]+).*")
MOST_WHOLE = 3  # batches that failed, each with all that was found
SECONDS = re.compile(r"[,;] [\d.]+ s$")


def main(name: str, *command: str) -> int:
    """Run a command, say in a line what came of it and how long it took, and return its exit code."""
    log = LOGS / f"{name}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    if sys.stdout.isatty():
        print(f"{name} …", end="\r", flush=True)
    began = time.monotonic()
    with log.open("w", encoding="utf-8") as output:
        try:
            code = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT).returncode
        except KeyboardInterrupt:  # which the command got too
            code = 130
    if code == HELD_BACK and any(COUNTED.match(line) for line in log.read_text(encoding="utf-8").splitlines()):
        code = 0  # what passed is published, and the line says what did not
    text, seconds = log.read_text(encoding="utf-8", errors="replace"), time.monotonic() - began
    if code:
        print(text, end="" if text.endswith("\n") else "\n")
        print(f"{name} failed after {seconds:.0f} s with exit code {code}: what it said stands above, and in {log}")
    else:
        print(f"{name}, {seconds:.0f} s: {in_a_line(text, log)}")
    return code if code >= 0 else 128 - code


def in_a_line(text: str, log: Path) -> str:
    """Say what came out: what was landed and what the gate found, or else the first line and where the others are."""
    lines = text.splitlines() or ["nothing to say"]
    landed = [line for line in lines if COUNTED.match(line)]
    first, *rest = [SECONDS.sub("", line.strip()) for line in (lines[0], *landed)]
    if landed:
        return "; ".join([first, *rest, *_of_gate(line for line in lines if line.startswith("  gate: "))])
    n_more = len(lines) - 1
    return f"{first} (and {n_more} more {'line' if n_more == 1 else 'lines'} in {log})" if n_more else first


def _of_gate(verdicts):
    """Count the batches that passed, with what was found in them; a verdict that says anything else stays whole.

    Of many that failed it is said why.
    """
    n_passed, warnings, flagged, others = 0, set(), Counter(), []
    for line in verdicts:
        if not (match := GATE.fullmatch(line)):
            others.append(line.strip())
            continue
        n_alike = _number(match["n"] or "1")
        n_passed += n_alike * _number(match["llms"] or "1")
        warnings.update(match["warnings"].split(", ") if match["warnings"] else ())
        for n, severity in map(str.split, match["flagged"].split("; ") if match["flagged"] else ()):
            flagged[severity] += n_alike * _number(n)
    if len(failed := [match for line in others if (match := FAILED.fullmatch(line))]) > MOST_WHOLE:
        checks = Counter(check for match in failed for check in match["checks"].split(", "))
        names = ", ".join(f"{name} {n:,}" for name, n in checks.most_common())
        others = [line for line in others if not FAILED.fullmatch(line)]
        others.append(f"gate: {len(failed):,} batches failed and are not published ({names}): `bais check` names them")
    why = [f"doubts: {', '.join(sorted(warnings))}"] if warnings else []
    why += [f"{n:,} {severity}" for severity, n in sorted(flagged.items())]
    brackets = f" ({'; '.join(why)})" if why else ""
    return [f"gate: {n_passed:,} {'batch' if n_passed == 1 else 'batches'} passed{brackets}"] * bool(n_passed) + others


def _number(text):
    return int(text.replace(",", ""))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
