"""What fits a terminal, what is coloured on it, and how far a build is."""

from types import SimpleNamespace

import pytest

from bais import terminal
from bais.dbt import seen_by

NAMES = ["llm", "trials", "calls"]
ROWS = [["vendor/some-long-name", 1_170, 16_470]]


def test_a_narrow_table_does_without_the_columns_that_it_can_spare_and_names_them():
    wide = terminal.lay_out(NAMES, ROWS, width=80, spare=("calls", "trials"))
    assert "16470" in wide
    assert "Left out" not in wide
    narrow = terminal.lay_out(NAMES, ROWS, width=32, spare=("calls", "trials"))
    assert "1170" in narrow
    assert "16470" not in narrow
    assert narrow.endswith("Left out at this width: calls.")
    assert max(map(len, terminal.lay_out(NAMES, ROWS, width=24, spare=("calls", "trials")).splitlines()[:-1])) <= 24


@pytest.mark.parametrize(("is_terminal", "no_colour"), [(True, ""), (True, "1"), (False, "")])
def test_only_whole_cells_are_coloured_and_only_on_a_terminal_that_wants_it(monkeypatch, is_terminal, no_colour):
    monkeypatch.setattr(terminal.sys, "stdout", SimpleNamespace(isatty=lambda: is_terminal))
    monkeypatch.setenv("NO_COLOR", no_colour)
    monkeypatch.setenv("TERM", "xterm")
    text = "Premortem  use    avoid\nuse it well  no use for it"
    coloured = "Premortem  \x1b[32muse\x1b[0m    \x1b[31mavoid\x1b[0m\nuse it well  no use for it"
    assert terminal.painted(text) == (coloured if is_terminal and not no_colour else text)


def test_a_watched_build_counts_the_nodes_that_have_begun():
    shown = []
    seen = seen_by(lambda n_done, n_all: shown.append((n_done, n_all)))
    for name, index in (("MainReportVersion", None), ("LogStartLine", 1), ("LogModelResult", 1), ("LogStartLine", 2)):
        seen(SimpleNamespace(info=SimpleNamespace(name=name), data=SimpleNamespace(index=index, total=669)))
    assert shown == [(0, 669), (1, 669)]
