"""What each step from a folder of trials to the public tables takes, as trials grow (BIG=1: to 10 million).

Trials of one vignette are generated, with texts of which each is another and with texts that repeat. The largest size
stands beside the first; below its table stand the exponents: a step whose cost grows with the trials has 1.
"""

import math
import os
import statistics
import tempfile
from pathlib import Path

from ingest.land.load import DUCKDB_SETTINGS
from ingest.warehouse import ROOT, in_memory
from tests.tools.processes import Warehouse
from tests.tools.ratios import Bench

SIZES = (100_000, 1_000_000, 3_000_000)
BIG = 10_000_000
LINES_OF_A_FILE = 1_000_000
LLMS = """
select llm, row_number() over (order by llm) as nth from read_csv($seed) where vendor = 'OpenAI' and is_askable
limit 6
"""
TEXTS = {
    "distinct": "'Case ' || translate(md5(i::varchar), '0123456789', 'ghijklmnop') || E':\\n\\n**$' || answer || '**'",
    "repeated": "'**$' || answer || '**'",
}
# Document A's shape: a fifth of the trials have no anchor, and the others its factors of each LLM's baseline.
LINES = """
copy (
    with llms as ({llms}),
    numbered as (
        select range as i, hash(range) % 1000 / 1000 as chance, n_llms
        from range($first, $end), (select count(*) as n_llms from llms)
    ),
    asked as (
        select
            *,
            100 + 5 * (i % n_llms) as base,
            i // n_llms % 5 as kind,
            case when kind = 0 then 'none' when kind % 2 = 1 then 'low' else 'high' end as direction,
            case direction when 'none' then 1 when 'low' then 0.9 else 1.1 end as pull,
            round(base * pull + 20 * (chance - 0.5))::bigint as answer
        from numbered
    )

    select
        case direction when 'low' then round(base * 0.7) when 'high' then round(base * 1.3) end as anchor,
        answer as response,
        {text} as raw,
        false as "outOfRange",
        {{'min': 50, 'max': 250}} as "validRange",
        'salary' as "vignetteId",
        llm as model,
        case when kind > 2 then 'premortem' else 'baseline' end as technique,
        direction as "anchorType",
        (0.7)::double as temperature,
        strftime(timestamp '2026-01-01 00:00:00' + to_milliseconds(i), '%Y-%m-%dT%H:%M:%S.%gZ') as timestamp
    from asked
    inner join llms on i % n_llms = nth - 1
) to '{path}' (format json)
"""
IMPORT = """
import sys
from ingest.archives.voder_bais import ARCHIVE
from ingest.bring.importer import import_archive
assert import_archive(sys.argv[1], ARCHIVE).n_new == int(sys.argv[2])
"""
GATE = """
from ingest.gate.audit import audit
assert {verdict.verdict for verdict in audit()} == {"passed"}
"""
MEASURES = {"wall": "s", "CPU": "s", "peak": "MB", "disk": "MB"}


def main() -> None:
    """Run each step at each size."""
    bench = Bench(__doc__)
    sizes = (*SIZES, *([BIG] if os.environ.get("BIG") == "1" else []))
    sizes = [bench.scaled(n) for n in (sizes[:2] if bench.is_small else sizes)]
    for texts in ("distinct",) if bench.is_small else TEXTS:
        found = {}
        print(f"{texts} texts\n{_line('trials', 'step', *(f'{name}, {unit}' for name, unit in MEASURES.items()))}")
        for n_trials in sizes:
            with tempfile.TemporaryDirectory() as folder:
                warehouse, archive = Warehouse(Path(folder) / "warehouse"), Path(folder) / "archive"
                generate(archive, n_trials, texts)
                for name, command in steps(bench, archive, n_trials).items():
                    took = measure(warehouse, command)
                    found.setdefault(name, []).append((n_trials, took))
                    print(_line(f"{n_trials:,}", name, *(f"{value:,.1f}" for value in took)), flush=True)
        for name, rows in found.items():
            exponents = (exponent([(n_trials, took[i]) for n_trials, took in rows]) for i in range(len(MEASURES)))
            print(_line("exponent", name, *(f"{value:.2f}" for value in exponents)))
        for name, ((few, least), *_, (many, most)) in found.items():
            bench.record(
                f"{name} of {many:,} trials, {texts} texts", f"{few:,} trials", most[0] / least[0],
                f"at most {many / few:g}", seconds=most[0],
            )  # fmt: skip
        print()


def steps(bench, archive: Path, n_trials: int) -> dict[str, tuple]:
    """Return the commands by step; where all is small, none of those that need more tables than are built."""
    first = {
        "import": ("python", "-c", IMPORT, archive, n_trials),
        "gate": ("python", "-c", GATE),
        "build": ("bais", "build", *bench.nodes, "--exclude-resource-type", "test", "unit_test"),
    }
    later = {
        "tests": ("bais", "build", "--resource-type", "test"),
        "report": ("bais", "report", "--out", archive.with_name("site")),
        "export": ("bais", "export", archive.with_name("export")),
    }
    return first if bench.is_small else first | later


def measure(warehouse: Warehouse, command: tuple) -> tuple[float, ...]:
    """Run a step; return its seconds, those of its cores, its peak and what more its files take."""
    before = megabytes_in(warehouse.folder.parent)
    used = warehouse.run(*command)
    return *used, megabytes_in(warehouse.folder.parent) - before


def megabytes_in(folder: Path) -> float:
    """Return how much the files below a folder take."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def exponent(points: list[tuple[float, float]]) -> float:
    """Return the slope of the least-squares line through the logarithms; nan where something is not above 0."""
    sizes, values = zip(*points, strict=True)
    if min(values) <= 0:
        return math.nan
    return statistics.linear_regression(list(map(math.log, sizes)), list(map(math.log, values))).slope


def _line(*cells: str) -> str:
    return f"{cells[0]:>12}  {cells[1]:<8}" + "".join(f"{cell:>12}" for cell in cells[2:])


def generate(folder: Path, n_trials: int, texts: str) -> None:
    """Write an archive of trials of one vignette in document A's shape."""
    folder.mkdir(parents=True)
    with in_memory(**DUCKDB_SETTINGS) as memory:
        for nth, first in enumerate(range(0, n_trials, LINES_OF_A_FILE)):
            end, path = min(first + LINES_OF_A_FILE, n_trials), folder / f"generated-{nth}.jsonl"
            memory.execute(
                LINES.format(llms=LLMS, text=TEXTS[texts], path=path),
                {"seed": str(ROOT / "seeds" / "llms.csv"), "first": first, "end": end},
            )


if __name__ == "__main__":
    main()
