"""dbt as forks of one process that has imported it and parsed the project, which each `dbt` would do anew.

What it parsed and compiled stays in the folder that it is given, for others that are given the same one.
The tests that build warehouses ask it: a line of JSON (`arguments`, `environment`, `output`: the file for what dbt
prints) is answered with dbt's exit code. A few tests run the real command.
"""

import hashlib
import importlib
import json
import marshal
import os
import sys
import tempfile
from pathlib import Path

import jinja2
from dbt.cli.main import dbtRunner
from dbt.contracts.graph.manifest import Manifest
from dbt.parser.manifest import extended_mashumaro_encoder, extended_mashumuro_decoder
from dbt_common.events.event_manager import EventManager
from filelock import FileLock

sys.path.insert(0, os.getcwd())
for needed in (
    "engine.answers",
    "engine.contrasts",
    "engine.llm_contrasts",
    "engine.settling",
    "methods.anova",
    "methods.equivalence",
    "methods.intervals",
    "methods.mixed_effects",
    "methods.power",
    "papers.people",
):
    importlib.import_module(f"analysis.{needed}")  # once, and not in the fork of each build
for needed in ("pandas", "pyarrow.pandas_compat", "scipy.special"):
    importlib.import_module(needed)


def skip_what_nobody_reads(fire):
    """Let dbt make no message of an event that only `--debug` would show: there are about 16 for each test it runs."""

    def heard(self, event, level=None, **more):
        if (level or event.level_tag()) != "debug":
            fire(self, event, level, **more)

    return heard


EventManager.fire_event = skip_what_nobody_reads(EventManager.fire_event)


def compiled_once(compile_anew, folder):
    """Let a template be compiled by the first build that needs it: for each unit test dbt compiles its models anew."""

    def code(self, source, *where, **how):
        said = repr((type(self).__name__, source, where, how))
        file = Path(folder, hashlib.sha256(said.encode()).hexdigest())
        if file.exists():
            return marshal.loads(file.read_bytes())
        made = compile_anew(self, source, *where, **how)
        whole = file.with_suffix(f".{os.getpid()}-{id(made)}")
        whole.write_bytes(marshal.dumps(made))
        whole.replace(file)
        return made

    return code


def parsed_once(folder):
    """Return the parsed project, from the folder if it is there."""
    file = folder / "project"
    with FileLock(folder / "lock"):
        if not file.exists():
            whole = file.with_suffix(".whole")
            whole.write_bytes(parsed().to_msgpack(extended_mashumaro_encoder))
            whole.replace(file)
    return Manifest.from_msgpack(file.read_bytes(), decoder=extended_mashumuro_decoder)


def parsed():
    """Return the parsed project; the name of the warehouse is in it, its folder is not."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "BAIS_WAREHOUSE": f"{folder}/warehouse.duckdb", "DBT_TARGET_PATH": folder, "DBT_LOG_PATH": folder,
        }  # fmt: skip
        done = dbtRunner().invoke(["--quiet", "parse"])
    if not done.success:
        raise done.exception or RuntimeError("the project cannot be parsed")
    return done.result


def answer(manifest, arguments, environment, output):
    """Run one dbt command with its own environment and output, and leave with its exit code."""
    os.environ.clear()
    os.environ |= environment
    with open(output, "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        done = dbtRunner(manifest=manifest).invoke(arguments)
        if done.exception:
            print(done.exception, flush=True)
    os._exit(2 if done.exception else 0 if done.success else 1)


def serve(folder):
    """Answer one line after the other until there are no more; what may be used again is kept in the folder."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    templates = folder / "templates"
    templates.mkdir(parents=True, exist_ok=True)
    jinja2.Environment.compile = compiled_once(jinja2.Environment.compile, templates)
    manifest = parsed_once(folder)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            answer(manifest, **json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
