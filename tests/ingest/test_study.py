"""A study file becomes a grid, an order and ids; one that is not right is one sentence that says where and why."""

import collections
import json
import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.ask.collector import Collector
from ingest.ask.responses import cell_summaries, read_trials
from ingest.ask.spool import COLLECTED, Spool, read_state, spool_folder
from ingest.prompts import prompt_version, round_half_up
from ingest.run import main
from ingest.studies import study as study_module
from ingest.studies.design import Cell, Design
from ingest.studies.llms import anchored_respondents
from ingest.studies.study import load_study, named_studies, parse_study

SMALL = {
    "study": "small",
    "llms": ["sim/steady"],
    "vignettes": ["fever"],
    "techniques": ["no_technique"],
    "anchors": {"fixed": {"low": 3, "high": 9}},
}
MINE = {
    "vignette": "mine", "domain": "d", "response_unit": "points", "case": "A case.", "anchor": "Drawn: {anchor}.",
    "question": "How many points?",
}  # fmt: skip


def small(**changes):
    return parse_study(yaml.safe_dump({**SMALL, **changes}))


def text_of(**changes):
    """Write a study one key a line, in the order of `SMALL`; a change comes at its place or at the end."""
    parts = {**SMALL, **changes}
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in parts.items() if value is not None)


@pytest.fixture
def refused(tmp_path, warehouse, capsys):
    """Collect a study that is not right: the sentence about it, without the path before it."""

    def collect(content):
        path = tmp_path / "a study.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        assert main([str(path)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"bais: {path}")
        assert err.endswith("\n")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        assert not warehouse.exists()
        assert not (warehouse.parent / "spool").exists()  # nothing was asked
        return err.removeprefix(f"bais: {path}").strip()

    return collect


# what is changed in a small study; the line, the key, and what is said of it
WRONG = {
    "an unknown key": ({"limit": {}}, 6, "limit", "there is no such key"),
    "an unknown key with a capital": ({"Limits": {}}, 6, "Limits", "there is no such key"),
    "an unknown key further in": ({"limits": {"retries": 3}}, 6, "limits.retries", "there is no such key"),
    "an unknown key of a technique": (
        {"techniques": ["no_technique", {"technique": "mine", "tuns": ["{opening}"]}]},
        *(4, "techniques.1.tuns", "there is no such key (perhaps turns)"),
    ),
    "an unknown key of anchors": (
        {"anchors": {"proportional": {"lwo": 0.5}}},
        *(5, "anchors.proportional.lwo", "there is no such key (perhaps low)"),
    ),
    "an unknown key of a study": ({"stoping_rule": {}}, 6, "stoping_rule", "no such key (perhaps stopping_rule)"),
    "a name with a slash": ({"study": "a/b"}, 1, "study", "should hold lower-case letters, digits"),
    "a name with a capital": ({"study": "Small"}, 1, "study", "should hold lower-case letters, digits"),
    "a name that leaves the folder": ({"study": ".."}, 1, "study", "should hold lower-case letters, digits"),
    "a name that is a number": ({"study": 5}, 1, "study", "should be words: write 5 in quotes"),
    "no name": ({"study": None}, 1, "study", "this key is missing"),
    "no anchors": ({"anchors": None}, 1, "anchors", "this key is missing"),
    "a text for a list": ({"llms": "sim/steady"}, 2, "llms", "should be a list, such as [a, b], not 'sim/steady'"),
    "no LLMs": ({"llms": []}, 2, "llms", "should hold at least 1, and holds 0"),
    "no vignettes": ({"vignettes": []}, 3, "vignettes", "should hold at least 1, and holds 0"),
    "no techniques": ({"techniques": []}, 4, "techniques", "should hold at least 1, and holds 0"),
    "no temperatures": ({"temperatures": []}, 6, "temperatures", "should hold at least 1, and holds 0"),
    "an LLM that is a number": ({"llms": [5]}, 2, "llms.0", "should be an id such as vendor/name"),
    "an LLM without a vendor": ({"llms": ["gpt"]}, 2, "llms.0.llm", "vendor/name, without spaces, not 'gpt'"),
    "an unknown respondent": ({"llms": ["sim/nobody"]}, 2, "llms.0", "sim/nobody is not a simulated respondent"),
    "an LLM twice": ({"llms": ["sim/steady", "a/b", "sim/steady"]}, 2, "llms", "sim/steady stands there twice"),
    "a vignette twice": ({"vignettes": ["fever", "fever"]}, 3, "vignettes", "fever stands there twice"),
    "a technique twice": ({"techniques": ["sacd", "sacd"]}, 4, "techniques", "sacd stands there twice"),
    "a temperature twice": ({"temperatures": [1, 1.0]}, 6, "temperatures", "1.0 stands there twice"),
    "an unknown vignette": ({"vignettes": ["fewer"]}, 3, "vignettes.0", "fewer is not a shipped vignette (shop"),
    "a list for a vignette": ({"vignettes": [{"vignette": ["a"]}]}, 3, "vignettes.0", "should be a name, or a mapping"),
    "a vignette without text": ({"vignettes": [{"vignette": "mine"}]}, 3, "vignettes.0", "write it out in full"),
    "half a vignette": ({"vignettes": ["fever", {**MINE, "case": ""}]}, 3, "vignettes.1.case", "should not be empty"),
    "an unknown key of a vignette": ({"vignettes": [{"vignette": "fever", "colour": 1}]}, 3, "vignettes.0.colour",
                                     "there is no such key"),
    "an anchor without a number": ({"vignettes": [{"vignette": "fever", "anchor": "A number."}]}, 3,
                                   "vignettes.0.anchor", "should hold {anchor}"),
    "a case that says the anchor": ({"vignettes": [{"vignette": "fever", "case": "See {anchor}."}]}, 3, "vignettes.0",
                                    "case says {anchor}, which is not among the words"),
    "an empty range": ({"vignettes": [{"vignette": "fever", "valid_min": 9, "valid_max": 3}]}, 3, "vignettes.0",
                       "should have valid_min at or below valid_max"),
    "an unknown technique": ({"techniques": ["hypnosis"]}, 4, "techniques.0", "hypnosis is not a shipped technique"),
    "a shipped technique to be ranked": ({"techniques": [{"technique": "sacd", "ranked": False}]}, 4, "techniques.0",
                                         "sacd is shipped, and seeds/techniques.csv says whether it is ranked"),
    "a technique without the case": ({"techniques": [{"technique": "mine", "turns": ["Hi."]}]}, 4, "techniques.0.turns",
                                     "the first one should hold {opening}"),
    "a word that the vignette lacks": ({"techniques": [{"technique": "mine", "turns": ["{opening}", "{mood}?"]}]}, 4,
                                       "techniques", "mine says {mood}, which is not among the words of vignette"),
    "a word of rounds in plain turns": ({"techniques": [{"technique": "mine", "turns": ["{opening} {text}"]}]}, 4,
                                        "techniques", "mine says {text}, which is not among the words"),
    "a word in the answer format": ({"answer_format": "In {currency}."}, 6, "answer_format", "it says {currency}"),
    "two rules for anchors": ({"anchors": {"fixed": {"low": 3, "high": 9}, "proportional": {}}}, 5, "anchors",
                              "should hold one of proportional, fixed and columns"),
    "no rule for anchors": ({"anchors": {}}, 5, "anchors", "should hold one of proportional, fixed and columns"),
    "low at high": ({"anchors": {"fixed": {"low": 9, "high": 9}}}, 5, "anchors", "should have low below high"),
    "low above high": ({"anchors": {"proportional": {"low": 2}}}, 5, "anchors", "should have low below high"),
    "a negative multiple": ({"anchors": {"proportional": {"low": -1}}}, 5, "anchors.proportional.low", "0, not -1"),
    "an anchor that is no number": ({"anchors": {"fixed": {"low": "few", "high": 9}}}, 5, "anchors.fixed.low", "'few'"),
    "anchors from no baselines": ({"anchors": {"proportional": {}}, "baselines": False}, 6, "baselines", "need them"),
    "anchors of a vignette from no baselines": (
        {"vignettes": [{"vignette": "fever", "anchors": {"proportional": {}}}], "baselines": False},
        *(6, "baselines", "need them"),
    ),
    "a maximum alone": ({"stopping_rule": {"maximum": 90}}, 6, "stopping_rule", "both maximum and sd_above"),
    "a threshold alone": ({"stopping_rule": {"sd_above": 15}}, 6, "stopping_rule", "both maximum and sd_above"),
    "a maximum below the minimum": ({"stopping_rule": {"minimum": 30, "maximum": 9, "sd_above": 1}}, 6, "stopping_rule",
                                    "should have maximum at or above minimum"),
    "no trials": ({"stopping_rule": {"minimum": 0}}, 6, "stopping_rule.minimum", "should be 1 or more, not 0"),
    "a word for a number": ({"stopping_rule": {"minimum": "many"}}, 6, "stopping_rule.minimum", "not 'many'"),
    "a temperature of 3": ({"temperatures": [0, 3]}, 6, "temperatures.1", "should be 2 or less, not 3"),
    "a temperature that is a word": ({"temperatures": ["warm"]}, 6, "temperatures.0", "not 'warm'"),
    "a seed that is a word": ({"order_seed": "first"}, 6, "order_seed", "not 'first'"),
    "no calls at a time": ({"limits": {"concurrency": 0}}, 6, "limits.concurrency", "should be 1 or more"),
    "a second anchor without words": ({"llms": ["a/b"], "vignettes": [MINE], "second_anchor": 1}, 6, "second_anchor",
                                      "vignette mine has no words for it"),
    "a truth without the vignette": ({"llms": [{"llm": "sim/me", "simulated": {"baselines": {"fall": 3}}}]}, 2, "llms",
                                     "sim/me has no baseline for vignette fever: give it one under simulated"),
    "a truth of noise below zero": ({"llms": [{"llm": "sim/me", "simulated": {"baselines": {}, "noise": -1}}]}, 2,
                                    "llms.0.simulated.noise", "not -1"),
    "a truth for a real LLM": ({"llms": [{"llm": "a/b", "simulated": {"baselines": {"fever": 3}}}]}, 2, "llms.0",
                               "should be named sim/..."),
    "a simulated LLM at an endpoint": ({"llms": [{"llm": "sim/steady", "provider": "openai"}]}, 2, "llms.0",
                                       "should be named sim/..."),
    "an address that is none": ({"endpoint": {"base_url": "nowhere"}}, 6, "endpoint.base_url", "https://host/v1"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_one_sentence_with_the_file_the_line_and_the_key(refused, what):
    changes, line, key, message = WRONG[what]
    said = refused(text_of(**changes))
    assert said.startswith(f":{line}: {key}: ")
    assert message in said


def test_the_line_is_that_of_the_key_in_a_file_of_many_lines(refused):
    text = text_of(llms=None) + "# a comment\nllms:\n  - sim/steady\n  - llm: a/b\n    max_tokens: none\n"
    assert refused(text).startswith(":9: llms.1.max_tokens: ")
    text = text_of(vignettes=None) + "vignettes:\n  - fever\n\n  - vignette: fall\n    valid_min: low\n"
    assert refused(text).startswith(":9: vignettes.1.valid_min: ")


KEY = "sk-canary-0123456789"


@pytest.mark.parametrize(
    "changes",
    [
        {"api_key": KEY},
        {"endpoint": {"api_key": KEY}},
        {"endpoint": {"api_key_env": KEY}},
        {"endpoint": {"base_url": f"https://me:{KEY}@host/v1"}},
        {"endpoint": {"base_url": f"https://host/v1?key={KEY}"}},
        {"endpoint": {"base_url": f"https://me:{KEY}/v1"}},
        {"llms": [{"llm": "a/b", "api_key": KEY}]},
        {"llms": [{"llm": "a/b", "api_key_env": KEY}]},
        {"llms": [{"llm": "a/b", "token": KEY}]},
        {"llms": [{"llm": "a/b", "extra": {"api_key": KEY}}]},
        {"llms": [{"llm": "a/b", "extra": {"headers": {"Authorization": KEY}}}]},
    ],
)
def test_a_key_in_a_study_is_refused_and_never_shown(refused, changes):
    said = refused(text_of(**changes))
    assert "canary" not in said
    assert re.match(r":\d: (api_key|endpoint|llms)", said)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (text_of() + "study: again\n", ":6"),
        (text_of() + "limits:\n  attempts: 3\n  attempts: 4\n", ":8"),
        (text_of() + "? [a, b]\n: 2\n", ":6"),
        (text_of() + "1: 2\n", ":6"),
        (text_of() + "limits: [3\n", ":7"),
        (text_of() + "limits:\n\tattempts: 3\n", ":7"),
        (text_of() + "---\nstudy: more\n", ":6"),
        (text_of() + "description: !!python/name:os.system x\n", ":6"),
        (text_of() + "description: 2026-02-30\n", ""),
        (text_of() + "description: a\0b\n", ""),
        (text_of() + "description: &a [*a]\n", ":6"),
        (text_of() + f"description: {'[' * 3000}{']' * 3000}\n", ""),
        (text_of() + '"a\\e[31mb": 1\n', ":6"),
        ("", ""),
        ("- a\n- list\n", ""),
        ("no more than words", ""),
    ],
    ids=[
        "a key twice",
        "a key twice below another",
        "a list as key",
        "a number as key",
        "an open bracket",
        "a tab",
        "two documents",
        "a tag",
        "no such day",
        "NUL",
        "itself",
        "brackets in brackets",
        "an escape",
        "nothing",
        "a list",
        "words",
    ],
)
def test_what_is_no_study_at_all_is_one_sentence(refused, text, where, golden):
    said = refused(text)
    assert said.startswith(f"{where}: ")
    golden(said)


def test_a_file_that_is_not_utf_8_is_one_sentence(refused, golden):
    golden(refused(b"study: caf\xe9\n"))


@pytest.mark.parametrize(
    "name",
    [
        ".",
        "nowhere.yaml",
        "../prompts/vignettes",
        "x" * 300,
        "a\x1b[31mb",
    ],
    ids=["a folder", "no file", "a path", "a long name", "an escape"],
)
def test_a_study_that_is_not_there_is_one_sentence(tmp_path, monkeypatch, warehouse, capsys, name, golden):
    monkeypatch.chdir(tmp_path)
    assert main([name]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    golden(err)
    assert not warehouse.parent.exists()


@pytest.mark.parametrize(
    "name",
    [
        "judical",
        "mistudy.yaml",
        "zzzzzzzz",
    ],
)
def test_a_mistyped_study_is_told_which_one_was_perhaps_meant(tmp_path, monkeypatch, warehouse, capsys, name, golden):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_study.yaml").write_text(text_of())
    assert main([name]) == 2
    golden(capsys.readouterr().err)


def test_a_vignette_without_a_question_is_refused(refused, golden):
    asked = {key: value for key, value in MINE.items() if key != "question"}
    golden(refused(text_of(vignettes=[asked])))
    golden(refused(text_of(vignettes=[asked | {"question": " "}])))


def test_a_folder_of_the_name_of_a_shipped_study_does_not_hide_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judicial").mkdir()
    assert load_study("judicial").study == "judicial"
    (tmp_path / "judicial").rmdir()
    (tmp_path / "judicial").write_text(text_of())
    assert load_study("judicial").study == "small"


@pytest.mark.parametrize("number", [".nan", ".inf", "-.inf"])
@pytest.mark.parametrize(
    "line",
    [
        "second_anchor: {}",
        "anchors: {{fixed: {{low: 3, high: {}}}}}",
        "temperatures: [{}]",
        "limits: {{timeout_s: {}}}",
        "stopping_rule: {{maximum: 90, sd_above: {}}}",
    ],
)
def test_numbers_are_finite(refused, line, number):
    changes = {"anchors": None} if line.startswith("anchors") else {}
    assert refused(text_of(**changes) + line.format(number))


# The grid


def grid(design, baseline=40.0):
    baselines = dict.fromkeys(design.anchor_places(), baseline)
    return design.baseline_cells(), design.anchored_cells(design.anchors_from(baselines))


@pytest.mark.parametrize("name", named_studies())
def test_each_shipped_study_plans_cells_that_are_different_and_can_be_asked(name):
    design = Design(load_study(name))
    _, anchored = grid(design)
    cells = [*anchored, *design.first_cells()]
    assert len(set(cells)) == len(cells) > 0
    for cell in cells:
        assert design.script(cell).next_turn([]).prompt
        assert (cell.anchor_value is None) == (cell.anchor_direction == "none")


def test_document_a_s_judicial_protocol_is_ten_llms_at_three_temperatures_with_thirty_to_ninety_trials():
    study = load_study("judicial")
    baselines, anchored = grid(Design(study))
    # document A, section 3.2; sacd, four others and none, low and high
    assert (len(study.llms), study.temperatures, len(baselines), len(anchored)) == (10, [0, 0.7, 1], 30, 30 * 6 * 2)
    assert study.stopping_rule.model_dump() == {"minimum": 30, "maximum": 90, "sd_above": 15}
    assert study.anchors.model_dump(exclude_none=True) == {"proportional": {"low": 0.5, "high": 1.5}}
    assert "minimax" not in " ".join(llm.llm for llm in study.llms)
    assert study.second_anchor is None


def test_document_a_s_other_domains_have_the_anchors_of_their_domain():
    study = load_study("multi-domain")
    design = Design(study)
    baselines, anchored = grid(design, 100.0)
    assert (len(baselines), len(anchored)) == (2 * 6, 2 * 6 * 5 * 2)
    values = {cell.vignette: set() for cell in anchored}
    for cell in anchored:
        values[cell.vignette].add((cell.anchor_direction, cell.anchor_value))
    domains = {name: design.vignettes[name]["domain"] for name in values}
    expected = {"loan": (50, 150), "medical": (60, 140), "salary": (70, 130)}
    for name, found in values.items():
        low, high = expected[domains[name]]
        assert found == {("low", low), ("high", high)}


def test_the_default_study_is_simulated_throughout():
    study = load_study("simulated")
    assert {llm.provider for llm in study.llms} == {"simulated"}
    assert {llm.llm for llm in study.llms} == set(anchored_respondents())
    assert [len(cells) for cells in grid(Design(study))] == [7 * 4 * 3, 7 * 4 * 6 * 2 * 3]


def test_a_technique_with_a_baseline_of_its_own_is_also_asked_without_an_anchor():
    design = Design(small(techniques=["outside_view", "outside_view_matched"]))
    asked = collections.Counter((cell.technique, cell.anchor_direction) for cell in grid(design)[1])
    assert asked == {
        ("outside_view", "low"): 1,
        ("outside_view", "high"): 1,
        ("outside_view_matched", "none"): 1,
        ("outside_view_matched", "low"): 1,
        ("outside_view_matched", "high"): 1,
    }


def test_without_a_baseline_there_are_no_proportional_anchors_and_fixed_ones_all_the_same():
    proportional = Design(small(llms=["a/b", "c/d"], anchors={"proportional": {}}))
    assert proportional.anchors_from({("a/b", "fever", None): 10.0}) == {("a/b", "fever", None): {"low": 5, "high": 15}}
    fixed = Design(small(llms=["a/b"], anchors={"fixed": {"low": 3, "high": 9}}))
    assert fixed.anchors_from({}) == {("a/b", "fever", None): {"low": 3, "high": 9}}
    assert {cell.anchor_direction for cell in proportional.anchored_cells({})} == set()


def test_a_vignette_may_have_anchors_of_its_own():
    own = {"vignette": "fall", "anchors": {"fixed": {"low": 20, "high": 60}}}
    design = Design(small(vignettes=["fever", own], anchors={"proportional": {}}))
    assert design.anchors_from({("sim/steady", "fever", None): 41.0, ("sim/steady", "fall", None): 41.0}) == {
        ("sim/steady", "fever", None): {"low": 21, "high": 62},
        ("sim/steady", "fall", None): {"low": 20, "high": 60},
    }


@pytest.mark.parametrize(
    ("baseline", "low", "high"),
    [
        (29.14, 15, 44),  # 14.57 and 43.71; document A, Table 3: claude-haiku-4.5
        (25.07, 13, 38),  # 12.535 and 37.605: gpt-4.1
        (35.74, 18, 54),  # 17.87 and 53.61: o4-mini
        (18.0, 9, 27),
        (25.0, 13, 38),  # 12.5 and 37.5: halves go up
        (27.0, 14, 41),  # 13.5 and 40.5; Python's round says 40
        (1.0, 1, 2),
    ],
)
def test_anchors_are_rounded_half_up(baseline, low, high):
    design = Design(small(anchors={"proportional": {"low": 0.5, "high": 1.5}}))
    assert design.anchors_from({("sim/steady", "fever", None): baseline}) == {
        ("sim/steady", "fever", None): {"low": low, "high": high}
    }


def test_anchors_that_come_to_the_same_are_left_out():
    design = Design(small(anchors={"proportional": {"low": 0.9, "high": 1.1}}))
    assert design.anchors_from({("sim/steady", "fever", None): 2.0}) == {}


@pytest.mark.parametrize(
    ("value", "factor", "rounded"),
    [(12.5, 1.0, 13), (5.0, 0.7, 4), (5, 0.7, 4), (45.0, 0.7, 32), (-2.5, 1.0, -2), (0.0, 1.5, 0), (2.4999, 1.0, 2)],
)
def test_rounding_is_of_the_decimals_that_one_reads(value, factor, rounded):
    assert round_half_up(value, factor) == rounded


@given(st.integers(-(10**6), 10**6), st.integers(0, 999))
def test_rounding_is_to_the_nearest_integer_and_up_from_the_middle(whole, thousandths):
    value = whole + thousandths / 1000
    assert round_half_up(value) == whole + (thousandths >= 500)


@given(st.floats(-1e9, 1e9), st.floats(0.01, 10))
def test_rounding_moves_a_number_by_half_at_most(value, factor):
    rounded = round_half_up(value, factor)
    assert rounded == int(rounded)
    assert -0.5 - 1e-6 < rounded - value * factor < 0.5 + 1e-6


# Order and ids

GRIDS = st.fixed_dictionaries(
    {
        "llms": st.lists(st.sampled_from(["a/b", "c/d", "sim/steady"]), min_size=1, unique=True),
        "vignettes": st.lists(st.sampled_from(["fever", "fall", "bakery"]), min_size=1, unique=True),
        "techniques": st.lists(st.sampled_from(["no_technique", "sacd", "premortem"]), min_size=1, unique=True),
        "temperatures": st.lists(st.sampled_from([None, 0, 0.7, 1]), min_size=1, unique=True),
        "order_seed": st.integers(0, 10**6),
    }
)


@settings(deadline=None, max_examples=40)
@given(GRIDS, st.integers(1, 5), st.integers(0, 3))
def test_each_block_holds_each_cell_once_and_the_order_counts_on(changes, n, start):
    design = Design(small(**changes))
    cells = [*design.baseline_cells(), *design.anchored_cells(design.anchors_from({}))]
    assert len(cells) == len(changes["llms"]) * len(changes["vignettes"]) * len(changes["temperatures"]) * (
        1 + 2 * len(changes["techniques"])
    )
    trials = list(design.trials(cells, "anchored", range(start, start + n)))
    assert [trial.order_index for trial in trials] == list(range(n * len(cells)))
    for block in range(n):
        of_block = trials[block * len(cells) : (block + 1) * len(cells)]
        assert {trial.replicate for trial in of_block} == {start + block}
        assert sorted(trial.cell for trial in of_block if trial.cell.temperature) == sorted(
            cell for cell in cells if cell.temperature
        )
        assert {trial.cell for trial in of_block} == set(cells)
    assert len({trial.trial_id for trial in trials}) == len(trials)
    assert list(design.trials(cells, "anchored", range(start, start + n))) == trials


def test_blocks_are_in_orders_of_their_own_and_another_seed_gives_other_orders():
    orders = {}
    for seed in (1, 2):
        design = Design(small(techniques=["no_technique", "sacd", "premortem", "outside_view"], order_seed=seed))
        cells = design.anchored_cells(design.anchors_from({}))
        for phase in ("anchored", "top-ups"):
            trials = list(design.trials(cells, phase, range(20)))
            orders[seed, phase] = [tuple(t.cell for t in trials if t.replicate == n) for n in range(20)]
            assert sum(order == tuple(cells) for order in orders[seed, phase]) <= 1
    blocks = [order for of_phase in orders.values() for order in of_phase]
    assert len(set(blocks)) >= len(blocks) - 1  # of 8! orders


def test_every_cell_stands_at_every_place_of_a_block_about_as_often():
    design = Design(small(techniques=["no_technique", "sacd"]))
    cells = design.anchored_cells(design.anchors_from({}))
    places = collections.Counter(
        (trial.cell, trial.order_index % 4) for trial in design.trials(cells, "anchored", range(400))
    )
    assert len(places) == 16
    assert all(abs(n - 100) < 4 * (400 * 0.25 * 0.75) ** 0.5 for n in places.values())


def test_ids_do_not_depend_on_the_order_seed():
    ids = []
    for seed in (1, 2):
        design = Design(small(order_seed=seed, techniques=["no_technique", "sacd"]))
        cells = design.anchored_cells(design.anchors_from({}))
        ids.append([trial.trial_id for trial in design.trials(cells, "anchored", range(3))])
    assert ids[0] != ids[1]
    assert sorted(ids[0]) == sorted(ids[1])


def test_an_id_changes_with_each_part_of_what_makes_the_trial():
    cell = Cell("sim/steady", "fever", "no_technique", "low", 3.0, 0.7)
    design = Design(small())
    same = design.trial_id(cell, 0)
    assert re.fullmatch("[0-9a-f]{32}", same)
    reworded = {"vignette": "fever", "question": "What priority?"}
    others = [
        design.trial_id(cell, 1),
        *(design.trial_id(cell._replace(**{part: value}), 0) for part, value in [
            ("llm", "a/b"), ("technique", "sacd"), ("anchor_direction", "high"), ("anchor_value", 4.0),
            ("temperature", None),
        ]),
        Design(small(vignettes=["fever", "fall"])).trial_id(cell._replace(vignette="fall"), 0),
        Design(small(study="other")).trial_id(cell, 0),
        Design(small(), run="a run").trial_id(cell, 0),
        Design(small(vignettes=[reworded])).trial_id(cell, 0),
        Design(small(techniques=[{"technique": "no_technique", "turns": ["Hello.\n\n{opening}"]}])).trial_id(cell, 0),
        Design(small(answer_format="json")).trial_id(cell, 0),
        Design(small(second_anchor=1)).trial_id(cell, 0),
    ]  # fmt: skip
    assert len({same, *others}) == len(others) + 1


def test_an_id_stays_when_only_the_way_of_asking_changes():
    cell = Cell("sim/steady", "fever", "no_technique", "low", 3.0, 0.7)
    same = Design(small()).trial_id(cell, 0)
    for changes in (
        {"description": "other words"},
        {"limits": {"attempts": 1, "concurrency": 1}},
        {"stopping_rule": {"minimum": 3}},
        {"endpoint": {"base_url": "https://host/v1"}},
        {"techniques": ["no_technique", "sacd"]},
        {"llms": ["sim/steady", "a/b"]},
    ):
        assert Design(small(**changes)).trial_id(cell, 0) == same


# The stopping rule

# 30 answers each, of mean 40: SS = 24 · 15² + 2 · 22.5² + 2 · 7.5² = 29 · 15², so that their SD is exactly 15
AT_15 = [25, 55] * 12 + [17.5, 62.5, 32.5, 47.5, 40, 40]
ABOVE_15 = [24, 56, *AT_15[2:]]
BELOW_15 = [26, 54, *AT_15[2:]]


@pytest.fixture
def answered(warehouse):
    """Write the answers of cells into the spool of a study, as if they had been collected."""

    def write(design, answers, phase="anchored"):
        with Spool(spool_folder(design.study.study) / COLLECTED) as spool:
            for cell, numbers in answers.items():
                for replicate, number in enumerate(numbers):
                    version = prompt_version(
                        design.vignettes[cell.vignette],
                        design._technique(cell.technique),
                        "text",
                        design.study.second_anchor,
                        is_anchored=cell.anchor_value is not None,
                    )
                    spool.write(
                        {
                            "kind": "trial",
                            "trial_id": design.trial_id(cell, replicate),
                            "study": design.study.study,
                            **cell._asdict(),
                            "replicate": replicate,
                            "phase": phase,
                            "order_index": replicate,
                            "prompt_version": version[0],
                            "text": None if number is None else f"Answer: {number}",
                            "status": "failed" if number is None else None,
                        }
                    )

    return write


def collected(design):
    path = spool_folder(design.study.study) / COLLECTED
    with read_trials(path, design) as connection:
        return connection.execute(
            "select llm, vignette, technique, anchor_direction, phase, replicate, order_index, trial_id, response "
            "from answers order by all"
        ).fetchall()


def test_a_cell_is_topped_up_if_the_sd_of_its_first_thirty_exceeds_the_threshold_and_only_then(answered):
    rule = load_study("judicial").stopping_rule.model_dump()
    assert (rule["minimum"], rule["maximum"], rule["sd_above"]) == (30, 90, 15)
    design = Design(small(vignettes=["shoplifting"], llms=["sim/constant"], stopping_rule=rule))
    (baseline,), (low, high) = grid(design)
    answers = {baseline: ABOVE_15, low: AT_15, high: BELOW_15}
    answered(design, answers)
    summaries = cell_summaries(spool_folder("small") / COLLECTED, design, 30)
    assert {cell: (s.n, s.mean) for cell, s in summaries.items()} == dict.fromkeys(answers, (30, 40))
    assert summaries[low].sd == 15
    outcome = Collector(design).collect()
    assert (outcome.n_before, outcome.n_done) == (90, 60)
    more = [row for row in collected(design) if row[4] == "top-ups"]
    assert {row[3] for row in more} == {"none"}
    assert sorted(row[5] for row in more) == list(range(30, 90))
    assert sorted(row[6] for row in more) == list(range(60))


def test_answers_after_the_first_do_not_count_for_the_stopping_rule(answered):
    design = Design(small(stopping_rule={"minimum": 3, "maximum": 6, "sd_above": 2}))
    (baseline,), (low, high) = grid(design)
    answered(design, {baseline: [40, 40, 40, 0, 80, 0], low: [38, 40, 42, 0, 80, 0], high: [37, 40, 43]})  # SD 0, 2, 3
    outcome = Collector(design).collect()
    assert (outcome.n_before, outcome.n_done) == (9, 3)
    assert {row[3] for row in collected(design) if row[4] == "top-ups"} == {"high"}


def test_trials_without_an_answer_have_no_part_in_the_sd(answered):
    design = Design(small(stopping_rule={"minimum": 4, "maximum": 5, "sd_above": 2}))
    (baseline,), (low, high) = grid(design)
    # none answered, one answered, and SD 0 beside an answer that is out of range
    answered(design, {baseline: [None] * 4, low: [None, None, None, 40], high: [40, 40, 40, 4000]})
    outcome = Collector(design).collect()
    assert (outcome.n_before, outcome.n_done) == (12, 0)


def test_a_study_without_a_maximum_tops_nothing_up(answered):
    design = Design(small(stopping_rule={"minimum": 3}))
    (baseline,), (low, high) = grid(design)
    answered(design, {cell: [0, 50, 100] for cell in (baseline, low, high)})
    assert Collector(design).collect().n_done == 0


def test_anchors_stay_as_they_were_decided_although_the_baselines_were_topped_up(answered, tmp_path):
    changes = {"anchors": {"proportional": {}}, "vignettes": ["burglary"]}
    design = Design(small(**changes, stopping_rule={"minimum": 3, "maximum": 9, "sd_above": 2}))
    (baseline,) = design.baseline_cells()
    answered(design, {baseline: [17, 20, 23]}, "baselines")  # mean 20, SD 3
    Collector(design).collect()
    rows = collected(design)
    topped_up = [row[8] for row in rows if row[4] == "top-ups" and row[3] == "none"]
    assert len(topped_up) == 6
    assert all(25 < answer < 35 for answer in topped_up)  # sim/steady's own baseline is 30
    (anchor,) = read_state(spool_folder("small") / COLLECTED).anchors
    assert (anchor["low"], anchor["high"], anchor["baseline"], anchor["n_trials"]) == (10, 30, 20, 3)

    # the same study with more trials: the mean of the first nine would give other anchors
    longer = Design(small(**changes, stopping_rule={"minimum": 9}))
    derived = longer.anchors_from({("sim/steady", "burglary", None): (60 + sum(topped_up)) / 9})
    assert derived["sim/steady", "burglary", None] != {"low": 10, "high": 30}
    outcome = Collector(longer).collect()
    assert outcome.n_left == 0
    assert read_state(spool_folder("small") / COLLECTED).anchors == [anchor]
    with read_trials(spool_folder("small") / COLLECTED, longer) as connection:
        assert connection.execute(
            "select anchor_direction, anchor_value, anchor_baseline, anchor_n_trials, count(distinct replicate) "
            "from answers where anchor_direction != 'none' group by all order by all"
        ).fetchall() == [("high", 30, 20, 3, 9), ("low", 10, 20, 3, 9)]


def test_another_rule_of_anchors_decides_anew(answered):
    first = Design(small(anchors={"proportional": {}}, stopping_rule={"minimum": 2}))
    Collector(first).collect()
    second = Design(small(anchors={"proportional": {"low": 0.25}}, stopping_rule={"minimum": 2}))
    Collector(second).collect()
    first_anchor, second_anchor = read_state(spool_folder("small") / COLLECTED).anchors
    assert first_anchor["baseline"] == second_anchor["baseline"]
    assert second_anchor["low"] == round_half_up(first_anchor["baseline"], 0.25)
    assert first_anchor["high"] == second_anchor["high"]


def test_shipped_studies_are_the_files_of_the_folder():
    assert {"judicial", "multi-domain", "simulated"} <= set(named_studies())
    assert {path.stem for path in study_module.FOLDER.glob("*.yaml")} == set(named_studies())
