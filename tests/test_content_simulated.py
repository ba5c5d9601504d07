"""Summaries and checks of facts, from words to tables: what is stated of simulated respondents is found again."""

import random
import re
import shlex
import statistics
import textwrap
from itertools import product

import pytest
import yaml

from ingest.measuring.tfidf import TfIdf
from ingest.measuring.vectors import cosine
from ingest.paradigms.thirds import thirds
from ingest.prompts.steps import sentences_of
from ingest.providers.simulated import FRAMED, SENTENCES
from ingest.studies.study import load_study, parse_study
from ingest.warehouse import ROOT

pytestmark = pytest.mark.slow("collects three studies and builds their tables")

STUDY = load_study("content-simulated")
TEXTS, FACTS = STUDY.paradigm
OF_STUDY = f"study = '{STUDY.study}'"
N_DRAWS = 30  # of each review; the error of what is expected is then a fifth of that of what is found
Z_95 = statistics.NormalDist().inv_cdf(0.975)


def most_errors(n):
    """By how many standard errors the farthest of n estimates may be off: by more in one of a hundred studies."""
    return statistics.NormalDist().inv_cdf(1 - 0.01 / 2 / n)


OF_TEXTS, OF_FACTS = (
    (ROOT / "docs" / "how-to" / "run-document-c.md").read_text(encoding="utf-8").split("## Have statements")
)


def block(kind, page=OF_TEXTS):
    return textwrap.dedent(re.search(rf"^   ```{kind}\n(.*?)   ```", page, re.MULTILINE | re.DOTALL)[1])


def commands(page=OF_TEXTS):
    """What the page has bais do, each command as its words."""
    return [shlex.split(line)[1:] for line in re.findall(r"^   (\.venv/bin/bais .*)$", page, re.MULTILINE)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What somebody has after the first two steps of both parts of the page, with six texts."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "texts").mkdir()
    for item in TEXTS.all_items[:6]:
        (folder / "texts" / f"{item.item}.txt").write_text(item.fields["text"], encoding="utf-8")
    (folder / "own-texts.yaml").write_text(block("yaml"), encoding="utf-8")
    (folder / "own-facts.yaml").write_text(block("yaml", OF_FACTS), encoding="utf-8")
    (folder / "own-facts.csv").write_text(block("csv", OF_FACTS), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def content(warehouse_in, tmp_path_factory, folder):
    warehouse = warehouse_in(tmp_path_factory.mktemp("content"))
    warehouse.bais("collect", STUDY.study)
    warehouse.said_of_page = warehouse.bais("collect", folder / "own-texts.yaml")
    warehouse.bais("collect", folder / "own-facts.yaml")
    tables = ("+framing_changes", "+fact_checks", "+outcomes", "+decisions")
    warehouse.dbt("--quiet", "build", "--select", *tables, "--exclude-resource-type", "unit_test", "test")
    return warehouse


def stated(llm, technique, name):
    (truth,) = (of.simulated for of in STUDY.llms if of.llm == llm)
    return truth.with_technique(technique, name)


def asked(kind):
    """Each LLM with each technique that is for an answer of this kind."""
    techniques = [of["technique"] for of in STUDY.techniques if kind in of.get("answer_kinds", [kind])]
    return product([of.llm for of in STUDY.llms], techniques)


def test_the_framing_changes_as_often_as_is_stated_once_the_errors_of_the_judge_are_taken_off(content):
    rows = content.query(
        "select llm, technique, phi_corrected, (phi_corrected_high - phi_corrected_low) / 2, reason "
        f"from content.framing_changes where {OF_STUDY} and llm is not null"
    )
    assert {(llm, technique) for llm, technique, *_ in rows} == {*asked("text")}
    for llm, technique, corrected, half_width, reason in rows:
        assert reason is None
        error = half_width / Z_95
        assert error < 0.15
        truth = stated(llm, technique, "flip_rate")
        assert abs(corrected - truth) <= most_errors(len(rows)) * error, (llm, technique, corrected, error)


def test_over_all_llms_too_a_technique_changes_the_framing_as_often_as_is_stated(content):
    rows = content.query(
        "select technique, avg(phi_corrected), avg(phi_corrected_high - phi_corrected_low) / 2 / sqrt(count(*)) "
        f"from content.framing_changes where {OF_STUDY} and llm is not null group by technique"
    )
    found = {}
    for technique, corrected, half_width in rows:
        truth = statistics.mean(stated(of.llm, technique, "flip_rate") for of in STUDY.llms)
        found[technique] = corrected
        assert abs(corrected - truth) <= most_errors(len(rows)) * half_width / Z_95, (technique, corrected, truth)
    assert found["self_help"] < found["no_technique"] < found["position_shuffle"]


def test_decisions_on_framing_changes_rest_on_the_share_without_the_errors_of_the_judge(content):
    rows = content.query(
        "select loss, phi, phi_corrected, (phi_corrected_high - phi_corrected_low) / 2, decisions.reason "
        f"from inference.decisions join content.framing_changes using (study, llm, technique) where {OF_STUDY} "
        "and measure = 'framing_changed' and llm is not null"
    )
    assert {*asked("text")} <= {*content.query("select llm, technique from inference.decisions")}
    for loss, seen, corrected, half_width, reason in rows:
        assert loss == pytest.approx(max(corrected**2 - (half_width / Z_95) ** 2, 0) ** 0.5, abs=0.01)
        assert loss < seen - 0.05
        assert "judge" not in reason


def expected_margin(lead_share, instrument, chance):
    """How much nearer the beginning is than the middle to summaries that repeat its sentences that often."""
    margins = []
    for item in TEXTS.all_items:
        text = item.fields["text"]
        all_sentences = sentences_of(text)
        n_first = len(all_sentences) // 3
        beginning, middle, _ = instrument.vectors(thirds(text).parts)
        for _ in range(N_DRAWS):
            chosen = [
                chance.choice(all_sentences[:n_first] if chance.random() < lead_share else all_sentences[n_first:])
                for _ in range(SENTENCES)
            ]
            (summary,) = instrument.vectors([" ".join([*chosen, FRAMED.format(item.details["correct"])])])
            margins.append(cosine(summary, beginning) - cosine(summary, middle))
    return statistics.mean(margins)


def test_summaries_favour_the_beginning_as_much_as_the_stated_share_of_its_sentences_makes_them(content):
    rows = content.query(
        "select llm, technique, avg(value), stddev_samp(value) / sqrt(count(*)), count(*) from marts.outcomes "
        f"where {OF_STUDY} and measure = 'primacy_margin' and instrument = 'tfidf' group by all"
    )
    assert {(llm, technique) for llm, technique, *_ in rows} == {*asked("text")}
    instrument, chance = TfIdf(item.fields["text"] for item in TEXTS.all_items), random.Random(1)
    shares = {stated(llm, technique, "lead_share") for llm, technique in asked("text")}
    margins = {share: expected_margin(share, instrument, chance) for share in sorted(shares)}
    assert list(margins.values()) == sorted(margins.values())
    for llm, technique, margin, error, n_trials in rows:
        assert n_trials == len(TEXTS.all_items)
        assert error < (margins[max(shares)] - margins[min(shares)]) / 6
        expected = margins[stated(llm, technique, "lead_share")]
        assert abs(margin - expected) <= most_errors(len(rows)) * error, (llm, technique, margin, expected, error)


def test_facts_are_told_apart_as_well_as_is_stated_before_and_after_the_cutoff(content):
    rows = content.query(
        "select llm, technique, period, authentic_accuracy, falsified_accuracy, strict_accuracy, n_pairs "
        f"from content.fact_checks where {OF_STUDY} and invalid_replies = 'wrong' and period != 'all'"
    )
    assert {row[:3] for row in rows} == {(*of, period) for of in asked("label") for period in ("pre", "post")}
    n_pairs = len(FACTS.all_items) / 2
    for llm, technique, period, *accuracies, n in rows:
        assert n > n_pairs / 4
        known = stated(llm, technique, "known_before" if period == "pre" else "known_after")
        yes = stated(llm, technique, "yes_bias")
        authentic, falsified = (known + (1 - known) * share for share in (yes, 1 - yes))
        for accuracy, truth in zip(accuracies, (authentic, falsified, authentic * falsified), strict=True):
            error = (truth * (1 - truth) / n) ** 0.5
            assert abs(accuracy - truth) <= most_errors(3 * len(rows)) * error, (
                llm,
                technique,
                period,
                accuracy,
                truth,
            )


def test_the_page_on_document_c_asks_about_texts_of_ones_own_and_says_what_it_prints(content, folder):
    assert "6 items" in content.bais("plan", folder / "own-texts.yaml")
    for line in block("text").splitlines():
        assert line in content.said_of_page
    local = yaml.safe_load(re.search(r"^   `(llms: .*)`$", OF_TEXTS, re.MULTILINE)[1])
    parse_study(yaml.safe_dump(yaml.safe_load(block("yaml")) | local), folder=folder)


def test_the_tables_that_the_page_on_document_c_shows_have_a_row_for_each_technique_and_llm_that_it_asks(content):
    asked_by_page = yaml.safe_load(block("yaml"))
    each = sorted(product(asked_by_page["techniques"], asked_by_page["llms"]))
    framings, margins = (content.query(words[1]) for words in commands() if words[0] == "sql")
    assert [row[:2] for row in framings] == [row[:2] for row in margins] == each
    assert {(row[4], row[5]) for row in framings} == {(6, "no_known_label")}
    assert {row[3] for row in margins} == {12}


def test_the_page_on_document_c_shows_how_well_statements_of_ones_own_are_told_apart(content):
    asked_by_page = yaml.safe_load(block("yaml", OF_FACTS))
    (query,) = (words[1] for words in commands(OF_FACTS) if words[0] == "sql")
    rows = content.query(query)
    assert {row[:2] for row in rows} == {*product(asked_by_page["techniques"], asked_by_page["llms"])}
    assert {(row[2], row[-1]) for row in rows} == {("pre", 3), ("post", 3), ("all", 6)}


def test_the_page_on_document_c_ends_with_the_answer_on_its_paradigm():
    assert commands()[-2:] == [["recommend", "--paradigm", yaml.safe_load(block("yaml"))["paradigm"]], ["report"]]
