"""How much memory an audit may take: what the machine and its groups leave, or what is said."""

import pytest

from ingest.gate import audit as gate
from ingest.land.memory import MOST, VARIABLE, memory_limit
from ingest.land.raw import prepare_raw
from ingest.warehouse import UserError


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """From how much is free, in kB, and files of control groups to the limit."""
    monkeypatch.delenv(VARIABLE, raising=False)

    def limit(free, **groups):
        files = {
            "proc/meminfo": f"MemTotal: 9 kB\nMemAvailable:    {free} kB\n",
            "proc/self/cgroup": "4:memory:/a/b\n1:cpu:/\n0::/a/b\n",
        }
        for name, text in (files | {f"sys/fs/cgroup/{path}": text for path, text in groups.items()}).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return memory_limit(root=tmp_path)

    return limit


def test_half_of_what_is_free_is_taken_and_no_more_than_is_of_use(machine):
    assert machine(2_000_000) == f"{2_000_000 * 1024 // 2}B"
    assert machine(64_000_000) == f"{MOST}B"


@pytest.mark.parametrize("path", ["memory/a/memory.limit_in_bytes", "a/b/memory.max", "memory.max"])
def test_a_limit_of_any_group_above_the_process_counts(machine, path):
    assert machine(64_000_000, **{path: "1000000000\n"}) == "500000000B"
    assert machine(64_000_000, **{path: "max\n"}) == f"{MOST}B"


def test_a_machine_that_says_nothing_gets_the_usual_limit(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert memory_limit(root=tmp_path) == f"{MOST}B"


@pytest.mark.parametrize("said", ["8GB", " 1.5 GiB", "800mb"])
def test_what_is_said_is_taken(monkeypatch, said):
    monkeypatch.setenv(VARIABLE, said)
    assert memory_limit() == said.strip()


@pytest.mark.parametrize("said", ["much", "8", "0GB", "-1GB", "80%", "1GB; drop table x", "\x1b[31m"])
def test_what_is_no_amount_of_memory_is_refused_in_one_sentence(monkeypatch, said):
    monkeypatch.setenv(VARIABLE, said)
    with pytest.raises(UserError, match=rf"^{VARIABLE} is .* which is no amount of memory: [^\n\x1b]*$"):
        memory_limit()


def test_an_audit_that_needs_more_memory_names_the_setting(warehouse, monkeypatch):
    warehouse.parent.mkdir(parents=True, exist_ok=True)
    prepare_raw(warehouse)
    monkeypatch.setenv(VARIABLE, "1MB")
    said = f"^an audit needs more memory than the 1MB .* {VARIABLE}=8GB$"
    with pytest.raises(UserError, match=said), gate.beside(warehouse) as memory:
        memory.execute("select list(range) from range(1_000_000)")
