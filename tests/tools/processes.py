"""Programs in processes of their own, on a warehouse in a folder of its own: what benches time."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from ingest.warehouse import ROOT

SHARED = Path(os.environ.get("BAIS_SHARED") or ROOT.parent / "shared").resolve()
RECORDED = SHARED / "data" / "bais_recorded"


class Used(NamedTuple):
    """What a process used: its seconds, those of its cores, and its peak, that of its largest child if that is more."""

    seconds: float
    cpu: float
    megabytes: float


class Warehouse:
    """A warehouse file that does not exist yet, and the programs that run on it."""

    def __init__(self, folder):
        folder.mkdir(parents=True)
        self.folder, self.path, self.target = folder, folder / "warehouse.duckdb", folder / "target"
        self.environment = {
            **os.environ,
            "BAIS_WAREHOUSE": str(self.path),
            "DBT_TARGET_PATH": str(self.target),
            "DBT_LOG_PATH": str(folder / "logs"),
            "OPENAI_API_KEY": "none",
        }

    def run(self, program, *arguments, cwd=ROOT):
        """Run a program of this environment, which must succeed, and return what it used."""
        command = [Path(sys.executable).parent / program, *map(str, arguments)]
        started = time.perf_counter()
        with self.output.open("w") as output, self.complaints.open("w") as complaints:
            process = subprocess.Popen(command, cwd=cwd, env=self.environment, stdout=output, stderr=complaints)
            _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said = self.output.read_text() + self.complaints.read_text()
            sys.exit(f"{program} {' '.join(map(str, arguments))} ended with {process.returncode}:\n{said}")
        peak = used.ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
        return Used(seconds, used.ru_utime + used.ru_stime, peak)

    def said(self, source, *arguments):
        """Run Python, and return the JSON that its last line is, with the `megabytes` of its peak."""
        used = self.run("python", "-c", source, *arguments)
        return {**json.loads(self.output.read_text().splitlines()[-1]), "megabytes": used.megabytes}

    def land(self, *arguments):
        """Run `ingest/run.py`."""
        self.run("python", "ingest/run.py", *arguments)

    def dbt(self, *arguments):
        """Run dbt, and return what it used."""
        return self.run("dbt", "--quiet", *arguments)

    @property
    def output(self):
        """What the last program said."""
        return self.folder / "output"

    @property
    def complaints(self):
        """What it said to stderr."""
        return self.folder / "complaints"
