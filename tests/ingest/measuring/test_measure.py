"""Measuring: what lands of it, that nothing is measured twice, and what bad texts come to."""

import math

import numpy as np
import pytest

from bais.main import main
from ingest.measuring import measure as measuring
from ingest.measuring.tfidf import TfIdf
from ingest.measuring.vectors import Vector, cosine, mean_of_windows, of_numbers
from ingest.warehouse import UserError

TEXT = "The battery is strong. The screen is dark. The price is high."


def test_words_that_are_shared_count_by_how_rare_they_are():
    # of three documents "common" is in all and "rare" in one: ln(4 / 4) + 1 = 1, and ln(4 / 2) + 1
    rare = math.log(2) + 1
    tfidf = TfIdf(["common rare", "common", "common"])
    both, alone, other = tfidf.vectors(["Common rare", "rare", "common common"])
    assert cosine(both, alone) == pytest.approx(rare / math.hypot(1, rare))
    assert cosine(both, other) == pytest.approx(1 / math.hypot(1, rare))
    assert cosine(alone, other) == 0
    assert cosine(both, both) == pytest.approx(1)


def test_other_documents_make_another_version_of_tfidf_and_their_order_does_not():
    assert TfIdf(["a", "b"]).version == TfIdf(["b", "a"]).version != TfIdf(["a", "c"]).version


def test_windows_count_by_their_tokens_whatever_their_length():
    mean = mean_of_windows(np.array([[3.0, 0.0], [0.0, 7.0]]), [3, 1])
    assert mean.n_windows == 2
    assert mean.direction == pytest.approx(np.array([3, 1]) / math.sqrt(10))


@pytest.mark.parametrize("numbers", [[1.0, math.nan], [math.inf, 1.0], [0.0, 0.0]])
def test_an_embedding_that_is_none_has_a_reason(numbers):
    assert of_numbers(np.array(numbers)).reason == "not_finite"
    assert mean_of_windows(np.array([numbers, [1.0, 0.0]]), [1, 1]).reason == "not_finite"


def test_an_answer_is_nearest_to_the_third_that_it_repeats(retold, measured):
    retold({"t1": ("i", "The battery is strong"), "t2": ("i", "The price is high!")}, {"i": TEXT})
    (outcome,) = measuring.measure()
    assert (outcome.n_now, outcome.n_before) == (2, 0)
    (first, last) = measured().values()
    assert first[0] == pytest.approx(1)
    assert last[2] == pytest.approx(1)
    assert first[1] == pytest.approx(last[1])
    assert 0 < first[1] < 1


def test_nothing_is_measured_twice_and_what_is_new_is_measured(retold, measured, monkeypatch, query):
    retold({"t1": ("i", "The battery is strong")}, {"i": TEXT})
    assert [outcome.n_now for outcome in measuring.measure()] == [1]
    retold({"t2": ("i", "The price is high!")}, {})
    asked = []
    monkeypatch.setattr(
        TfIdf, "vectors", lambda self, texts: asked.extend(texts) or [Vector({"a": 1.0}) for _ in texts]
    )
    (outcome,) = measuring.measure("retold")
    assert (outcome.n_now, outcome.n_before) == (1, 1)
    assert "The battery is strong" not in asked
    (again,) = measuring.measure("retold")
    assert (again.n_now, again.n_before) == (0, 2)
    assert query("select count(*) from raw.measurements") == [(6,)]


def test_interrupted_measuring_keeps_what_it_landed_and_goes_on_there(retold, measured, monkeypatch):
    retold({f"t{n}": ("i", f"The battery is strong {n}") for n in range(4)}, {"i": TEXT})
    monkeypatch.setattr(TfIdf, "n_at_a_time", 2)
    vectors, n_calls = TfIdf.vectors, []

    def interrupted(self, texts):
        n_calls.append(len(texts))
        if len(n_calls) == 2:
            raise KeyboardInterrupt
        return vectors(self, texts)

    monkeypatch.setattr(TfIdf, "vectors", interrupted)
    with pytest.raises(KeyboardInterrupt):
        measuring.measure()
    assert list(measured()) == ["t0", "t1"]
    (outcome,) = measuring.measure()
    assert (outcome.n_before, outcome.n_now) == (2, 2)
    assert list(measured()) == ["t0", "t1", "t2", "t3"]


def test_items_that_come_later_change_what_words_weigh_so_that_all_is_measured_anew(retold, query):
    retold({"t1": ("i", "The battery is strong")}, {"i": TEXT})
    measuring.measure()
    retold({"t2": ("j", "The bread is fresh")}, {"j": "The bread is fresh. The milk is sour. The tea is hot."})
    (outcome,) = measuring.measure()
    assert (outcome.n_now, outcome.n_before) == (2, 0)
    versions = "select count(distinct instrument_version) from raw.measurements group by trial_id order by trial_id"
    assert query(versions) == [(2,), (1,)]


def test_what_cannot_be_measured_has_a_reason_and_is_counted_and_never_a_zero(retold, measured, golden):
    retold(
        {
            "empty": ("i", "  "), "none": ("i", None), "signs": ("i", "?!"), "short": ("two words", "some"),
            "blank": ("blank", "some"), "lacking": ("other field", "some"), "no item": (None, "some"),
            "one sentence": ("one", "some words"),
        },
        {
            "i": TEXT, "two words": "two words", "blank": " ", "other field": {"title": "no text"},
            "one": "some words in a row of seven",
        },
    )  # fmt: skip
    retold({"refused": ("i", "I cannot.")}, {}, status_recorded="refused", reason_recorded="content_filter")
    (outcome,) = measuring.measure()
    found = measured()
    assert found.pop("one sentence")[0] > 0
    assert found == {
        trial_id: [reason] * 3
        for trial_id, reason in {
            "empty": "empty_text", "none": "empty_text", "signs": "no_words", "short": "source_too_short",
            "blank": "empty_source_text", "lacking": "no_source_text", "no item": "no_source_text",
            "refused": "content_filter",
        }.items()
    }  # fmt: skip
    assert outcome.n_now == 1
    assert outcome.reasons.total() == 8
    assert "8 of them" in outcome.said()
    golden(outcome.said())


def test_how_a_text_was_cut_is_landed(retold, query):
    retold({"t1": ("i", "a"), "t2": ("j", "a")}, {"i": TEXT, "j": "one two three"})
    measuring.measure()
    cut = "select distinct trial_id, segment_method from raw.measurements order by all"
    assert query(cut) == [("t1", "sentences"), ("t2", "words")]


def test_judgements_and_paradigms_without_such_measures_are_not_measured(retold, query):
    retold({"t1": ("i", "The battery")}, {"i": TEXT}, study="labelled", measured_from=None)
    retold({"t2": ("i", "negative")}, {"i": TEXT}, role="answer")
    assert [outcome.n_now for outcome in measuring.measure()] == [0]
    assert query("select count(*) from raw.measurements") == [(0,)]


def test_a_study_without_such_measures_is_named_with_those_that_have_some(retold, capsys, golden):
    retold({"t1": ("i", "The battery")}, {"i": TEXT})
    assert main(["measure", "--study", "elsewhere"]) == 2
    golden(capsys.readouterr().err, "retold")
    assert main(["measure", "--study", "retold"]) == 0
    golden(capsys.readouterr().out, "1 answer", "0 measured")


def test_a_warehouse_with_nothing_to_measure_says_so(retold, capsys, golden):
    retold({"t1": ("i", "The battery")}, {"i": TEXT}, measured_from=None)
    assert main(["measure"]) == 0
    golden(capsys.readouterr().out)


@pytest.mark.parametrize(("instrument", "named"), [("minilm", "tokenizers"), ("e5", "torch")])
def test_an_instrument_that_is_not_installed_says_what_installs_it_and_lands_nothing(
    retold, query, monkeypatch, capsys, instrument, named
):
    module = f"ingest.measuring.{instrument}.find_spec"
    monkeypatch.setattr(module, lambda name: None if name == named else object())
    retold({"t1": ("i", "The battery")}, {"i": TEXT})
    assert main(["measure", "--instrument", instrument]) == 2
    said = capsys.readouterr().err
    assert f"{instrument} cannot measure" in said
    assert named in said
    assert ("`make embed`" if instrument == "minilm" else "`make local`") in said
    assert query("select count(*) from raw.measurements") == [(0,)]


def test_other_weights_measure_nothing(tmp_path):
    from ingest.measuring.minilm import MiniLm

    with pytest.raises(UserError, match="not all there"):
        MiniLm(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"others")
    with pytest.raises(UserError, match="not those of all-MiniLM-L6-v2"):
        MiniLm(tmp_path)


TINY = """
study: tiny
llms: [sim/steady]
vignettes: [fever]
techniques: [no_technique]
anchors: {fixed: {low: 1, high: 2}}
stopping_rule: {minimum: 1}
"""


def test_collect_and_import_measure_as_their_last_step(archive, make, tmp_path, monkeypatch, capsys):
    def lines(study=None):
        yield f"  measured: {study or 'all'}"

    monkeypatch.setattr(measuring, "measured_lines", lines)
    (tmp_path / "tiny.yaml").write_text(TINY)
    assert main(["collect", str(tmp_path / "tiny.yaml")]) == 0
    assert capsys.readouterr().out.splitlines()[-2] == "  measured: tiny"
    make.file(archive / "baseline-o3.jsonl", make.baseline())
    main(["import", str(archive)])
    assert capsys.readouterr().out.splitlines()[-1] == "  measured: all"


def test_the_last_step_says_nothing_where_there_is_nothing_to_measure(retold, warehouse, golden):
    assert list(measuring.measured_lines()) == []
    retold({"t1": ("i", "The battery is strong")}, {"i": TEXT})
    assert list(measuring.measured_lines("another")) == []
    (line,) = measuring.measured_lines("retold")
    golden(line, "1 answer")


def test_a_study_of_which_all_was_measured_before_is_named_only_where_it_was_just_collected(retold, warehouse, golden):
    retold({"t1": ("i", "The battery is strong")}, {"i": TEXT})
    assert len(list(measuring.measured_lines())) == 1
    assert list(measuring.measured_lines()) == []
    (line,) = measuring.measured_lines("retold")
    golden(line, "0 answers", "1 measured")
