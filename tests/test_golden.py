"""Golden texts: what is compared with them, what is masked, and that a test asks for each."""

import pytest

from tests.tools import golden as tool
from tests.tools.golden import Golden, drop_files, folded, masked, orphans, read, sentences, title_of, written

TITLES = ["a is so", "b is so [1]", "b is so [2]"]


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """From what a test is called and the texts that it asks for to what is kept of them; words are kept if `keeps`."""
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "FOLDER", tmp_path)
    monkeypatch.setattr(tool, "LOCK", tmp_path / "lock")
    path = tmp_path / "some" / "words.txt"

    def ask(title, *texts, keeps=False, order=TITLES, asking=("a is so", "b is so"), is_whole=True, is_passed=True):
        monkeypatch.setenv("BAIS_GOLDEN", "write" if keeps else "")
        of = Golden(path, title, {str(tmp_path): "<folder>"})
        for text, *named in texts:
            of(text, *named)
        of.end(order, asking, is_whole, is_passed)
        return read(path)

    return ask


def test_what_is_kept_is_read_as_it_was_written_whatever_it_holds():
    sections = {"a is so": ["One.\n\n  two   columns\n───", "=== Three."], "b is so [x y]": ["Four."]}
    text = written(sections)
    assert text.startswith("═══ a is so\n")

    class File:
        exists = staticmethod(lambda: True)
        read_text = staticmethod(lambda encoding: text)

    assert read(File) == sections


def test_words_that_differ_fail_with_the_lines_that_do_and_words_that_are_kept_pass(asked):
    assert asked("a is so", ["One.\nTwo.", "Two"], ["Three."], keeps=True) == {"a is so": ["Two.", "Three."]}
    asked("a is so", ["One.\nTwo.", "Two"], ["Three."])
    with pytest.raises(pytest.fail.Exception, match=r"“a is so”, text 2(.|\n)*-Three\.\n\+Four\."):
        asked("a is so", ["Two."], ["Four."])
    with pytest.raises(pytest.fail.Exception, match=r"\+One\."):
        asked("b is so [1]", ["One."])


def test_what_a_text_has_to_name_it_has_to_name():
    text = "There are 5 of 40 in v0.1 e.g. here. (One is 7.) “Two” are 5.\nSACD   5  use"
    assert sentences(text, ["5"]).splitlines() == [
        "There are 5 of 40 in v0.1 e.g. here.", "“Two” are 5.", "SACD   5  use",
    ]  # fmt: skip
    assert sentences(text, ["5", "40"]) == "There are 5 of 40 in v0.1 e.g. here."
    with pytest.raises(AssertionError, match="'5' and '7'"):
        sentences(text, ["5", "7"])


def test_what_no_test_asks_for_any_more_fails_and_is_dropped_where_words_are_written(asked):
    for title in TITLES:
        asked(title, ["One."], ["Two."], ["One."], keeps=True)
    with pytest.raises(pytest.fail.Exception, match="2 texts are kept, 1 asked for"):
        asked("a is so", ["One."])
    with pytest.raises(pytest.fail.Exception, match=r"no test asks for “b is so \[2\]”"):
        asked("b is so [1]", ["One."], ["Two."], order=TITLES[:2])
    asked("b is so [1]", ["One."], ["Two."], order=TITLES[:2], is_whole=False)
    assert list(asked("b is so [1]", ["One."], keeps=True, order=TITLES[:2], is_whole=False)) == TITLES
    assert asked("b is so [1]", ["One."], keeps=True, order=TITLES[:2]) == {
        "a is so": ["One.", "Two."], "b is so [1]": ["One."],
    }  # fmt: skip
    assert list(asked("b is so [1]", ["One."], keeps=True, asking=["b is so"])) == ["b is so [1]"]


def test_a_test_that_fails_before_its_last_text_keeps_what_was_kept_of_it(asked):
    asked("a is so", ["One."], ["Two."], keeps=True)
    assert asked("a is so", ["1."], keeps=True, is_passed=False) == {"a is so": ["One.", "Two."]}


def test_a_failure_says_how_to_keep_the_words_of_its_file(asked):
    with pytest.raises(
        pytest.fail.Exception, match=r"no words are kept yet; `make golden FILE=tests/some/test_words.py`"
    ):
        asked("a is so", ["One."])


def test_texts_stand_in_the_order_of_their_tests(asked):
    for title in reversed(TITLES):
        found = asked(title, ["One."], keeps=True)
    assert list(found) == TITLES


def test_what_differs_from_run_to_run_and_from_machine_to_machine_is_masked():
    text = (
        "/tmp/x/a.duckdb of 2026-07-01 12:30:01 UTC, 2026-07-01T12:30:01.5+00:00, bais 0.1.0, 12.5 s, 0a1b2c3d4e5f6a7b"
    )
    assert masked(text, {"/tmp": "<folders>", "/tmp/x": "<folder>"}) == (
        "<folder>/a.duckdb of <date>, <date>, bais <version>, <n> s, <hash>"
    )
    assert masked("duckdb 2.0.0\nvl-convert 1.9.0.post1\ngain 1.5 pp", {}) == (
        "duckdb <version>\nvl-convert <version>\ngain 1.5 pp"
    )
    assert masked("version 12345678, trial 1234567890123456\n12345678: it", {}) == (
        "version <hash>, trial <hash>\n<hash>: it"
    )
    same = "1,234 trials of 42 LLMs, 1.5 pp, 43,200 s, 7 seconds, 0.30 s a call"
    assert masked(same, {}) == same


def test_no_line_of_prose_is_wider_than_80_columns():
    prose, table = "  " + "word " * 40, "cell  " * 20
    *lines, word, row = folded(f"{prose}\n{'x' * 90}\n{table}").splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(line.removesuffix(" \\") for line in lines) == prose.rstrip()
    assert (word, row) == ("x" * 90, table.rstrip())


def test_a_test_is_called_by_its_sentence_and_what_it_is_given():
    assert title_of("test_a_number_is_so[too_few_llms-4]") == "a number is so [too_few_llms-4]"


def test_each_golden_text_is_asked_for_by_a_test():
    assert orphans() == []


def test_a_golden_text_that_stands_twice_is_found(tmp_path):
    path, title = tmp_path / "cli" / "recommend.txt", "a table comes first and draws each gain"
    path.parent.mkdir()
    path.write_text(written({title: ["One."]}))
    assert orphans(tmp_path) == []
    path.write_text(2 * written({title: ["One."]}))
    assert orphans(tmp_path) == [f"cli/recommend.txt: {title}"]


def test_a_golden_text_of_no_test_is_found(tmp_path):
    (tmp_path / "golden.txt").write_text(written({"each golden text is asked for by a test": ["One."]}))
    (tmp_path / "nothing.txt").write_text(written({"it is": ["One."]}))
    (tmp_path / "empty.txt").write_text("")
    assert orphans(tmp_path) == [
        "empty.txt",
        "golden.txt: each golden text is asked for by a test",
        "nothing.txt: it is",
    ]
    drop_files(tmp_path)
    assert list(tmp_path.iterdir()) == []
