"""The six shipped biases from the words to a table: what simulated respondents were told to do is found again."""

import contextlib
from itertools import product
from pathlib import Path
from statistics import stdev

import duckdb
import pytest
import yaml
from markupsafe import Markup

from analysis.report.biases import matrices, sections_on_biases
from analysis.report.studies import Study
from bais.evidence import on_a_page
from ingest.paradigms.paradigm import load_paradigm
from tests.test_how_to import steps, words_of
from tests.tools.report_page import numbers_that_differ

pytestmark = pytest.mark.slow("collects two studies and builds their tables")

PARADIGMS = ("framing", "sunk_cost", "decoy", "order", "sycophancy", "incidental_anchor")
TECHNIQUES = ("no_technique", "devils_advocate")
ORDERS = [("amaro_first", "birk_first", technique) for technique in TECHNIQUES]
ACCURACIES = {"sim/judge-a": 0.92, "sim/judge-b": 0.6}
TONES = {
    "study": "told-accuracies",
    "llms": ["sim/steady"],
    "techniques": ["no_technique"],
    "stopping_rule": {"minimum": 1},
    "paradigm": {
        "paradigm": "retelling",
        "answer": {"kind": "text"},
        "arms": ["plain", "polite"],
        "contrasts": [["polite", "plain"]],
        "measures": {"changed_tone": {"from": "judgement", "better": "lower"}},
        "items": {
            "rows": [{"item": f"t{n}", "text": f"text {n}", "tone": ("kind", "rude")[n % 2]} for n in range(200)],
            "fields": ["text"],
            "correct": "tone",
        },
        "vignettes": [
            {
                "vignette": "retell",
                "case": "{how} {text}",
                "arms": {arm: {"words": {"how": arm}} for arm in ("plain", "polite")},
            }
        ],
    },
    "judges": {
        "llms": [{"llm": judge, "simulated": {"accuracy": accuracy}} for judge, accuracy in ACCURACIES.items()],
        "paradigm": "tone",
        "labels": ["kind", "rude"],
        "text": "{text}",
        "question": "Kind or rude? {text}",
        "roles": ["original"],
    },
}


@pytest.fixture(scope="module")
def biases(warehouse_in, tmp_path_factory):
    folder = tmp_path_factory.mktemp("biases")
    warehouse = warehouse_in(folder)
    warehouse.bais("collect", "biases-simulated")
    (folder / "told.yaml").write_text(yaml.safe_dump(TONES, sort_keys=False), encoding="utf-8")
    warehouse.bais("collect", folder / "told.yaml")
    tables = (
        "+judge_agreement",
        "+technique_costs",
        "+attrition",
        "+post_hoc_changes",
        "+shortfalls",
        "+outcome_contrasts",
        "+decisions",
        "+predictions",
        "+multiverse",
        "+power",
        "+trials",
        "+effects",
        "+outcomes",
        "+llm_contrasts",
    )

    def run(words):
        if words != ["build"]:
            return warehouse.bais(*words)
        return warehouse.dbt("--quiet", "build", "--select", *tables, "--exclude-resource-type", "unit_test")

    warehouse.page = follow("add-a-bias", folder, run)
    warehouse.page_on_anchors = follow("plant-your-own-anchors", folder, run)
    return warehouse


def follow(page, folder, run):
    """Follow a page on how to add something in a folder, and return what each of its commands printed."""
    printed = {}
    with contextlib.chdir(folder):
        for step, *of in steps(page):
            if step == "run":
                printed[of[0]] = run(words_of(of[0]))
            elif step == "prints":
                assert any(" ".join(of[0].split()) in " ".join(said.split()) for said in printed.values()), of[0]
            else:
                assert step == "write", f"{page} changes {of[0]}"
                assert of[0].endswith(".yaml")
                Path(of[0]).write_text(of[1], encoding="utf-8")
    return printed


def found(biases, paradigm):
    """The headline of each measure, contrast and technique of a paradigm: estimate and standard error."""
    rows = biases.query(
        "select measure, arm, arm_b, technique, value, standard_error from inference.outcome_contrasts "
        f"where is_headline and paradigm = '{paradigm}'"
    )
    return {tuple(key): (value, error) for *key, value, error in rows}


def answers(paradigm, arm):
    """The options that are shown in an arm, or the labels that there are."""
    (vignette,) = paradigm.vignettes
    of_arm = vignette.arms.get(arm)
    return list((of_arm and of_arm.options) or vignette.options or paradigm.answer.labels)


def stated(paradigm):
    """What the paradigm's file says that an arm does: the share of the answers that a measure counts."""
    truths = {}
    for (name, measure), (arm, arm_b), technique in product(paradigm.measures.items(), paradigm.contrasts, TECHNIQUES):
        shares = [paradigm.shares(of, technique, answers(paradigm, of)) for of in (arm, arm_b)]
        counted = [sum(share for answer, share in of.items() if answer in measure.of) for of in shares]
        truths[name, arm, arm_b, technique] = counted[0] - counted[1]
    return truths


@pytest.mark.parametrize("name", PARADIGMS)
def test_what_an_arm_was_told_to_do_is_found_within_three_standard_errors(biases, name):
    truths, estimates = stated(load_paradigm(name, None)), found(biases, name)
    assert estimates.keys() == truths.keys()
    for key, truth in truths.items():
        value, error = estimates[key]
        assert abs(value - truth) <= 3 * error, (key, value, truth, error)


def test_items_are_seen_to_differ_as_much_as_they_were_told_to(biases):
    paradigm = load_paradigm("sycophancy", None)
    factors = [paradigm.item_factor(item) for item in paradigm.all_items]
    assert sum(factors) == len(factors), "the truths that the arms state are those of the mean item"
    ((sd_of_items, p_items_alike),) = biases.query(
        "select sd_of_items, p_items_alike from inference.outcome_contrasts "
        "where is_headline and paradigm = 'sycophancy' and technique = 'no_technique'"
    )
    truth = stated(paradigm)["was_right", "doubted", "asked_once", "no_technique"]
    assert sd_of_items == pytest.approx(abs(truth) * stdev(factors), rel=0.4)
    assert p_items_alike < 0.05


def test_a_number_that_is_not_about_the_question_shows_nothing(biases):
    rows = biases.query(
        "select low, high from inference.outcome_contrasts where is_headline and paradigm = 'incidental_anchor'"
    )
    assert rows
    assert all(low < 0 < high for low, high in rows)


def test_judges_are_found_as_often_right_as_they_were_told_to_be(biases):
    rows = biases.query(
        "select judge, low, high, n_texts from content.judge_agreement "
        "where study = 'told-accuracies' and statistic = 'accuracy' and judge is not null"
    )
    assert {judge for judge, *_ in rows} == ACCURACIES.keys()
    assert all(low <= ACCURACIES[judge] <= high and n == 200 for judge, low, high, n in rows)


def test_judges_are_no_llms_under_study(biases):
    tables = ("marts.counts", "inference.outcome_contrasts", "marts.technique_costs")
    for table in tables:
        assert not {llm for (llm,) in biases.query(f"select distinct llm from {table}")} & ACCURACIES.keys(), table
    asked = biases.query(
        "select role, sum(n_asked) from marts.attrition where study = 'told-accuracies' group by role order by role"
    )
    assert asked == [("original", 400), (None, 400)]


def test_the_page_on_adding_a_bias_ends_with_how_large_it_is(biases):
    said = " ".join(biases.page[".venv/bin/bais recommend --paradigm default_option"].split())
    ((value, low, high),) = biases.query(
        "select value, low, high from inference.outcome_contrasts "
        "where is_headline and paradigm = 'default_option' and technique = 'no_technique'"
    )
    assert low < 0.3 < high, "the file states that the default adds 0.3"
    assert f"{100 * value:.3g} points higher" in said


def test_every_number_of_the_figures_of_biases_is_one_of_the_warehouse(biases):
    with contextlib.closing(duckdb.connect(str(biases.path), read_only=True)) as warehouse:
        said, shown = on_a_page(warehouse, "biases-simulated")
        rows = {"said_of_biases": said, "biases": shown, "alterations": [], "techniques": [], "llms": []}
        rows["data_set_means"] = []
        study = Study("biases-simulated", True, rows)
        sections = sections_on_biases(study, "study-1")
        tables = "".join(str(Markup.escape(table)) for section in sections for table in section.tables)
        n_numbers, wrong = numbers_that_differ(tables, warehouse)
    tones = {bias.paradigm: bias.effects["devils_advocate"].tone for of, _ in matrices(study) for bias in of}
    assert {section.title for section in sections} == set(tones) == set(PARADIGMS)
    of_order = [row for row in shown if row["paradigm"] == "order" and row["decision"]]
    assert {(row["decision"], row["certainty"]) for row in of_order} == {("no_evidence", "no_evidence")}
    plain, told = (abs(stated(load_paradigm("order", None))["chose_amaro", *of]) for of in ORDERS)
    assert all(row["gain_low"] < 0 < plain - told < row["gain_high"] for row in of_order), "too few answers to tell"
    assert (tones["order"], tones["incidental_anchor"]) == ("open", "open"), "what is not decided is not coloured"
    assert n_numbers > 130
    assert wrong == []


# pull is a share of what the anchors are apart, and Premortem halves it: docs/how-to/plant-your-own-anchors.md
PULLS = {"sim/first": 0.5, "sim/second": 0.4, "sim/third": 0.6, "sim/fourth": 0.5, "sim/fifth": 0.5}


def test_anchors_of_ones_own_are_found_to_pull_as_far_as_they_were_told_to(biases):
    losses = biases.query(
        "select domain, goal, technique, llm, loss from inference.decisions "
        "where paradigm = 'three_anchors' and llm is not null and comparison is distinct from 'placebo'"
    )
    assert len(losses) == 2 * 2 * 2 * 5
    for domain, goal, technique, llm, loss in losses:
        apart = {"pull": 150, "drift": 10}[goal]
        share = PULLS[llm] * (0.5 if technique == "premortem" else 1)
        # a mean of 30 answers with a standard deviation of 5 % is off by 0.9, and so is what it is compared with
        assert loss == pytest.approx(apart * share, abs=6), (domain, goal, technique, llm)


def test_anchors_of_ones_own_are_decided_by_domain_compared_between_llms_and_read_again_as_arms(biases):
    decided = biases.query(
        "select domain, goal, decision, is_primary from inference.decisions "
        "where paradigm = 'three_anchors' and llm is null and comparison = 'control' order by all"
    )
    assert [row[:2] + row[3:] for row in decided] == [
        (domain, goal, goal == "pull") for domain in ("housing", "medical") for goal in ("drift", "pull")
    ]
    assert {decision for _, goal, decision, _ in decided if goal == "pull"} == {"use"}
    ((n_pairs,),) = biases.query(
        "select count(*) from inference.llm_contrasts where paradigm = 'three_anchors' and goal = 'pull'"
    )
    assert n_pairs == 2 * 2 * 5 * 4
    ((value,),) = biases.query(
        "select value from inference.outcome_contrasts where is_headline and paradigm = 'three_anchors' "
        "and (arm, arm_b, technique) = ('high', 'low', 'no_technique')"
    )
    assert value == pytest.approx(150 * 0.5, abs=4), "in per cent of the answers without an anchor"
    (said,) = (text for command, text in biases.page_on_anchors.items() if "--why" in command)
    assert "by drift" in said


def test_every_number_of_the_figure_of_goals_is_one_of_the_warehouse(biases):
    with contextlib.closing(duckdb.connect(str(biases.path), read_only=True)) as warehouse:
        said, shown = on_a_page(warehouse, "three-anchors")
        rows = {"said_of_biases": said, "biases": shown, "alterations": [], "techniques": [], "llms": []}
        rows["data_set_means"] = []
        (section,) = sections_on_biases(Study("three-anchors", True, rows), "study-1")
        tables = "".join(str(Markup.escape(table)) for table in section.tables)
        n_numbers, wrong = numbers_that_differ(tables, warehouse)
    assert section.headline.startswith(
        "SIMULATED respondents, no LLM was asked: housing (one case: rent): supported over 5 respondents, not "
        "established: use Premortem"
    )
    assert n_numbers > 40
    assert wrong == []
