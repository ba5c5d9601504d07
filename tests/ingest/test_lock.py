"""One process at a time, also after one that was killed."""

import os
import signal
import subprocess
import sys

import pytest

from ingest.land.lock import alone
from ingest.warehouse import ROOT, UserError

HOLDS = """
import sys
from pathlib import Path
from ingest.land.lock import alone

with alone(Path(sys.argv[1]), str):
    print("holds", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    command = [sys.executable, "-c", HOLDS, str(tmp_path / "lock")]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"holds\n"
        yield process
        process.stdin.close()


def test_the_holder_is_named_and_keeps_it_until_it_ends(tmp_path, holder):
    for _ in range(2):
        with (
            pytest.raises(UserError, match=f"^process {holder.pid} has it$"),
            alone(tmp_path / "lock", lambda who: f"{who} has it"),
        ):
            pass
    holder.communicate()
    with alone(tmp_path / "lock", str):
        assert (tmp_path / "lock.pid").read_text() == str(os.getpid())
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_a_killed_holder_holds_nothing(tmp_path, holder):
    os.kill(holder.pid, signal.SIGKILL)
    assert holder.wait() == -signal.SIGKILL
    with (
        alone(tmp_path / "lock", str),
        pytest.raises(UserError, match=f"^process {os.getpid()}$"),
        alone(tmp_path / "lock", str),
    ):
        pass
