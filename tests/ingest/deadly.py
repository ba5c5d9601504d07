"""Kill this process, as `kill -9` does, before or after a step of an import."""

import os
import signal

from dlt.pipeline.pipeline import Pipeline

import ingest.warehouse


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
