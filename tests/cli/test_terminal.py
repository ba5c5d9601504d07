"""Colours and lines of progress: for a person at a terminal, and for nobody else."""

import io
import json
import re
import sys
import time
from types import SimpleNamespace

import pytest

from bais import dbt, terminal


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def at_a_terminal(monkeypatch):
    """Put stdout and stderr on one terminal, and return what stands there; called in a test, since pytest captures."""

    def sit():
        seen = Terminal()
        monkeypatch.setattr(sys, "stdout", seen)
        monkeypatch.setattr(sys, "stderr", seen)
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm")
        return seen

    return sit


def test_a_table_is_coloured_on_a_terminal_and_takes_no_more_room_for_it(at_a_terminal, monkeypatch):
    at_a_terminal()
    rows = [("SACD", "use"), ("Premortem", "avoid")]
    coloured = terminal.lay_out(["technique", "decision"], rows, width=80)
    assert "\x1b[32muse\x1b[0m" in coloured
    assert "\x1b[31mavoid\x1b[0m" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in (without := terminal.lay_out(["technique", "decision"], rows, width=80))
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == without


def test_a_head_of_several_lines_is_one_line_where_a_row_becomes_a_block():
    laid = terminal.lay_out(["measure", "by chose_large\n(points)"], [("chose_large", "+22 [-2, +29]")], width=15)
    assert "by chose_large (points)" in " ".join(laid.split())
    assert "\\n" not in laid


def test_what_goes_elsewhere_than_to_a_terminal_has_no_colour(capsys):
    terminal.say("FAILED, refused: x.")
    terminal.complain("x")
    shown = capsys.readouterr()
    assert shown == ("FAILED, refused: x.\n", "bais: x\n")


def test_what_failed_is_red_where_it_is_said_first(at_a_terminal):
    screen = at_a_terminal()
    terminal.say("FAILED, refused: x.")
    assert screen.getvalue() == "\x1b[1;31mFAILED\x1b[0m, refused: x.\n"


def test_work_is_shown_once_it_takes_longer_than_patience_lasts(at_a_terminal, monkeypatch):
    screen = at_a_terminal()
    monkeypatch.setattr(terminal, "PATIENCE_S", 30)
    with terminal.working("quick"):
        pass
    assert "quick" not in screen.getvalue()
    monkeypatch.setattr(terminal, "PATIENCE_S", 0)
    with terminal.working("slow"):
        time.sleep(0.2)
    assert "slow" in screen.getvalue()


def test_nobody_who_reads_no_terminal_is_shown_work(capsys, monkeypatch):
    monkeypatch.setattr(terminal, "PATIENCE_S", 0)
    with terminal.working("slow"):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def test_an_event_of_dbt_says_which_node_it_is_at_and_what_is_wrong():
    shown, said = [], []
    node = {"index": 3, "total": 9, "node_info": {"node_name": "conditions"}}
    for level, data in (("info", node), ("debug", {}), ("error", {})):
        event = json.dumps({"info": {"level": level, "msg": f"of {level}"}, "data": data})
        said += dbt._followed(event, lambda *at: shown.append(at))
    said += dbt._followed("Traceback\n", None)
    assert (shown, said) == ([(2, 9, "conditions")], ["of error", "Traceback"])


def test_a_build_at_a_terminal_shows_its_nodes_and_keeps_what_went_wrong(at_a_terminal, monkeypatch):
    screen = at_a_terminal()
    events = [
        json.dumps({"info": {"level": "info", "msg": "x"}, "data": {"index": 1, "total": 2}}),
        json.dumps({"info": {"level": "error", "msg": "a test failed"}, "data": {}}),
    ]
    asked, process = {}, SimpleNamespace(stdout=events, wait=lambda: 1)
    monkeypatch.setattr(dbt, "start", lambda *of, **how: asked.update(how) or process)
    assert dbt.build("--select", "x") == 1
    assert "json" in asked["says"]
    assert screen.getvalue().endswith("a test failed\n")
