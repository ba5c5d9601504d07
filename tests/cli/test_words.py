from collections import Counter

import pytest

from analysis.words import codes, legend
from bais.main import main


def test_each_word_and_mark_is_defined_once(monkeypatch, capsys, golden):
    monkeypatch.setattr("bais.terminal.terminal_width", lambda: 80)
    assert main(["words"]) == 0
    out = capsys.readouterr().out
    golden(out)
    assert max(map(len, out.splitlines())) <= 80
    said = Counter(word.said for words in legend.LEGEND.values() for word in words)
    assert set(said.values()) == {1}


@pytest.mark.parametrize("code", [code for code in codes.DECISIONS if code])
def test_each_decision_is_in_the_legend_under_the_word_that_a_reader_sees(code):
    (word,) = [word for words in legend.LEGEND.values() for word in words if word.code == code]
    assert word.said == codes.DECISIONS[code]


def test_each_goal_is_in_the_legend_with_the_option_that_asks_for_it():
    named = {word.code: word for words in legend.LEGEND.values() for word in words}
    for code, goal in codes.GOALS.items():
        assert (named[f"--goal {code}"].said, named[f"--goal {code}"].means) == (goal.name, goal.measures)
