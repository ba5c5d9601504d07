"""`bais build`, `doctor` and `completion`: what runs on this machine, and what it lacks."""

import os
import subprocess
import sys

import click

from ingest.warehouse import ROOT, connect, warehouse_path


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.pass_context
def build(ctx: click.Context) -> int:
    """Run `dbt build` on the whole project, unless another process is using the warehouse."""
    path = warehouse_path()
    if path.exists():
        connect(path, read_only=False).close()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
    environment = {"DBT_PROFILES_DIR": str(ROOT / "profiles"), **os.environ, "BAIS_WAREHOUSE": str(path)}
    run_dbt = "from dbt.cli.main import cli; cli(prog_name='dbt')"
    command = [sys.executable, "-c", run_dbt, "--quiet", "build", *ctx.args]
    dbt = subprocess.Popen(command, cwd=ROOT, env=environment)
    try:
        code = dbt.wait()
    except KeyboardInterrupt:
        dbt.wait()  # dbt got the interrupt too, and cancels what it runs
        raise
    return code if code >= 0 else 128 - code
