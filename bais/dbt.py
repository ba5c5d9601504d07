"""dbt as commands run it: on this project, and on the warehouse that they are asked about."""

import os
import subprocess
import sys

from ingest.warehouse import ROOT, warehouse_path

RUN = "from dbt.cli.main import cli; cli(prog_name='dbt')"


def start(*arguments: str, more_environment: dict | None = None, **how) -> subprocess.Popen:
    """Start dbt."""
    environment = {"DBT_PROFILES_DIR": str(ROOT / "profiles"), **os.environ, "BAIS_WAREHOUSE": str(warehouse_path())}
    command = [sys.executable, "-c", RUN, "--quiet", *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment | (more_environment or {}), **how)
