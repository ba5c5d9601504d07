"""How often the gate cries wolf over clean LLMs: python -m tests.tools.gate_calibration [--imports N] [--archive PATH]

Of an archive the answers of each cell and temperature are put into another order, by the exchange of their runs and
times: whatever is found in an order then is chance. Without one, archives are drawn of LLMs that differ in their level
and in how techniques work in them. It prints by reason in how many imports how many LLMs are flagged; the figures stand
in ingest/gate/gate.yaml.
"""

import argparse
import collections
import contextlib
import shutil
import tempfile
from pathlib import Path

import duckdb
import numpy as np

from ingest.bring.mapping import Given
from ingest.gate import audit as gate
from ingest.land.versions import Version
from ingest.rehearsal import warehouse_at
from ingest.run import land_folder
from tests.tools.small_archive import lines_of, write_archive
from tests.tools.stand_ins import thresholds_without_great_expectations

REASONS = ("another_question", "another_unit", "far_off", "same_answers", "changed_midway", "reversed", "cut_off")
LLMS = (
    "openai/gpt-4.1", "openai/o3", "openai/o4-mini", "z-ai/glm-5", "anthropic/claude-opus-4.6", "moonshotai/kimi-k2.5",
)  # fmt: skip
CELL = ("study", "vignette", "llm_recorded", "technique", "anchor_direction", "anchor_value", "temperature")


def reordered(path: Path, seed: int) -> None:
    """Exchange runs and times within each cell and temperature."""
    of_cell, alike = ", ".join(CELL), " and ".join(f"here.{name} is not distinct from there.{name}" for name in CELL)
    with contextlib.closing(duckdb.connect(str(path))) as warehouse:
        warehouse.execute(
            f"""
            create temp table placed as
            select *, row_number() over (partition by {of_cell} order by replicate, asked_at, trial_id) as nth,
                row_number() over (partition by {of_cell} order by hash(trial_id, {seed})) as drawn
            from raw.trials;
            update raw.trials set replicate = there.replicate, asked_at = there.asked_at
            from placed as here inner join placed as there on here.drawn = there.nth and {alike}
            where trials.trial_id = here.trial_id
            """
        )


def flagged(path: Path) -> collections.Counter:
    """Audit, and return of how many LLMs each reason is said."""
    with warehouse_at(path):
        gate.audit()
    with contextlib.closing(duckdb.connect(str(path), read_only=True)) as warehouse:
        rows = warehouse.execute(
            "select reason, count(distinct (vignette, llm_recorded)) from raw.flagged_trials "
            "inner join raw.trials using (trial_id) where list_contains($reasons, reason) group by all",
            {"reasons": REASONS},
        ).fetchall()
    return collections.Counter(dict(rows))


def drawn(seed: int) -> dict:
    """Draw an archive of LLMs that differ by a factor of 1.4 or so, and their conditions by another of 1.35."""
    rng = np.random.default_rng(seed)
    levels = dict(zip(LLMS, 24 * np.exp(0.35 * rng.standard_normal(len(LLMS))), strict=True))
    return lines_of(seed, llms=levels, spread=0.3)


def main() -> None:
    """Print how many LLMs are flagged in how many imports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--imports", type=int, default=100)
    parser.add_argument("--archive", type=Path)
    options = parser.parse_args()
    gate.checkpoint = thresholds_without_great_expectations
    n_llms, found, imports = 0, collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, options.imports + 1):
            landed, path = Path(folder) / "landed.duckdb", Path(folder) / "w.duckdb"
            if options.archive is None or seed == 1:
                landed.unlink(missing_ok=True)
                with warehouse_at(landed):
                    archive = options.archive or write_archive(Path(folder) / f"archive-{seed}", drawn(seed))
                    land_folder(archive, None, Given(), None, Version())
            shutil.copy(landed, path)
            if options.archive:
                reordered(path, seed)
            of_import = flagged(path)
            found += of_import
            imports.update(of_import.keys())
            with contextlib.closing(duckdb.connect(str(path), read_only=True)) as warehouse:
                n_llms += warehouse.execute("select count(*) from raw.batches").fetchone()[0]
    print(f"{options.imports:,} imports, {n_llms:,} LLMs and vignettes, none of them wrong")
    for reason in REASONS:
        print(f"  {reason}: {found[reason]:,} in {imports[reason]:,} imports")


if __name__ == "__main__":
    main()
