"""Processes that die as by `kill -9`, forked one after the other from one that has made the slow imports.

Run as a script it reads a task a line from stdin, and prints the id of the process that does it and then how it ended.
"""

import contextlib
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import traceback

import ingest.warehouse
from ingest import run
from ingest.ask.collected import load_collected
from ingest.ask.collector import collect
from ingest.studies.study import load_study

SLOW = ("duckdb", "openai", "pyarrow", "dlt.pipeline.pipeline", "ingest.bring.importer", "ingest.land.load")
TASKS = {
    "collect": lambda path: collect(load_study(path)),
    "load": load_collected,
    "import": lambda folder: run.main(["--archive", folder]),
}


class Deadly:
    """A connection to the warehouse of which a statement kills."""

    def __init__(self, connection, when, step):
        self.connection, self.when, self.step = connection, when, step

    def __getattr__(self, name):
        return getattr(self.connection, name)

    def execute(self, statement, *parameters):
        die(statement.startswith(self.step) and self.when == "before")
        done = self.connection.execute(statement, *parameters)
        die(statement.startswith(self.step))
        return done


def die(is_it):
    if is_it:
        os.kill(os.getpid(), signal.SIGKILL)


def die_at(when, step):
    """Die before or after a method of dlt's pipeline, or a statement on the warehouse that begins so."""
    from dlt.pipeline.pipeline import Pipeline  # which every other test does without

    if not hasattr(Pipeline, step):
        usual = ingest.warehouse.connect
        ingest.warehouse.connect = lambda *arguments, **options: Deadly(usual(*arguments, **options), when, step)
        return
    method = getattr(Pipeline, step)

    def wrapper(*arguments, **options):
        die(when == "before")
        method(*arguments, **options)
        die(True)

    setattr(Pipeline, step, wrapper)


class Forks:
    """The process that forks those that do the tasks, and what the last one printed on stderr."""

    def __init__(self, process):
        self.process = process
        self.complaint = ""

    @classmethod
    @contextlib.contextmanager
    def opened(cls):
        command = [sys.executable, "-m", "tests.ingest.deadly"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, cwd=ingest.warehouse.ROOT, text=True, bufsize=1, **pipes) as process:
            yield cls(process)
            process.stdin.close()

    def start(self, task, of, dies=None, file_size=None):
        """Begin a task in this environment, that dies before or after a step, or cannot write files beyond a size."""
        told = {"task": task, "of": str(of), "environment": dict(os.environ), "dies": dies, "file_size": file_size}
        self.process.stdin.write(json.dumps(told) + "\n")
        self.pid = int(self.process.stdout.readline())

    def ended(self):
        """Wait for its end, and return the exit code, negative for a signal."""
        said = json.loads(self.process.stdout.readline())
        self.complaint = said["complaint"]
        return said["code"]

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        return self.ended()


def do(task, of, environment, dies, file_size):
    """Do a task in this process, which was forked for it, and return its exit code."""
    os.environ.clear()
    os.environ.update(environment)
    if file_size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    if dies:
        die_at(*dies)
    code = TASKS[task](of)
    return code if isinstance(code, int) else 0


def fork(told):
    """Do a task in a process of its own, and print which one it is, how it ended and what it complained of."""
    listens, speaks = os.pipe()
    if not (pid := os.fork()):
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(speaks, 2)
            os.close(speaks)
            code = do(**told)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    print(pid, flush=True)
    os.close(speaks)
    with open(listens, encoding="utf-8") as complaints:
        complaint = complaints.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(json.dumps({"code": code, "complaint": complaint}), flush=True)


if __name__ == "__main__":
    for name in SLOW:
        importlib.import_module(name)
    for line in sys.stdin:
        fork(json.loads(line))
