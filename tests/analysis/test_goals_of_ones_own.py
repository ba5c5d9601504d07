"""Goals that a paradigm names: those of anchoring where they are the same, worked by hand where they are not."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from analysis.engine.answers import answer_rows
from analysis.engine.domain_losses import DomainLosses
from analysis.engine.guards import ItemLosses
from analysis.engine.losses import GOALS, NONE, Goal
from analysis.engine.questions import questions_on_goals
from analysis.leading import DIFFERS, SAME, leads, of_domain, shipped
from analysis.methods.crossed_effects import Arm, crossed_contrast
from analysis.words import codes
from tests.tools.families import NOT_DECLARED, frozen

MIDDLE = {"spread": Goal(contrasts=(("low", "middle"), ("high", "middle"))), "pull": Goal(contrasts=(("high", "low"),))}
GIVEN = {
    "valid_min": 0.0, "valid_max": 500.0, "study": "s", "paradigm": "p", "measure": "response", "domain": "d",
    "row_set": "accepted", "llm": "a", "vignette": "v", "item": None, "response_source": None, "temperature": None,
}  # fmt: skip
SPREAD = {"goal": "spread", "contrasts": [["low", "middle"], ["high", "middle"]], "margin": 5, "leads": True}
STATED = [SPREAD, {"goal": "pull", "contrasts": [["high", "low"]], "margin": 5, "leads": False}]


def answers_of(by_condition, **more):
    """Rows of `marts.counts`: answers (None where there is none) by technique and arm."""
    return pd.DataFrame(
        [
            GIVEN
            | {"technique": technique, "arm": arm, "value": answer, "n_asked": 1, "n_trials": int(answer is not None)}
            | more
            for (technique, arm), values in by_condition.items()
            for answer in values
        ]
    ).astype({"value": float})


def test_three_arms_worked_by_hand():
    # a mean of 50 in `none`: low 60 and 100 are 160 % of it, middle 120 %, high 200 %
    rows = answers_of(
        {
            ("no_technique", "none"): [40, 60] * 5,
            ("no_technique", "low"): [60, 100],
            ("no_technique", "middle"): [50, 70],
            ("no_technique", "high"): [90, 110],
        }
    )
    domain = DomainLosses(rows, "none", MIDDLE)
    assert domain.arms == ("high", "low", "middle")
    assert domain.by_goal("spread").loss[0, 0, 0] == pytest.approx((40 + 80) / 2)
    assert domain.by_goal("pull").loss[0, 0, 0] == pytest.approx(40)
    # variances of means in percent: low 400·4, middle 100·4, high 100·4; that of middle is in both contrasts
    relative = 10 * 100 / 9 / 10 / 50**2
    noise = ((1600 + 400) + (400 + 400) + (40**2 + 80**2) * relative) / 2
    assert domain.by_goal("spread").criterion[0, 0, 0] == pytest.approx((40**2 + 80**2) / 2 - noise)
    fourth = 2000**2 + 800**2 + 2 * 400**2
    first = 40**2 * 2000 + 80**2 * 800 + 2 * 40 * 80 * 400 - fourth
    assert domain.by_goal("spread").variance[0, 0, 0] == pytest.approx((4 * first + 2 * fourth) / 4)


def test_items_are_averaged_within_a_vignette_each_in_percent_of_its_own_base():
    easy = answers_of({("no_technique", "none"): [10.0] * 10, ("no_technique", "low"): [5.0, 5.0],
                       ("no_technique", "high"): [20.0, 20.0]}, item="easy")  # fmt: skip
    hard = answers_of({("no_technique", "none"): [1000.0] * 10, ("no_technique", "low"): [900.0, 900.0],
                       ("no_technique", "high"): [1000.0, 1000.0]}, item="hard")  # fmt: skip
    goals = {"pull": MIDDLE["pull"], "low": Goal(contrasts=(("low", NONE),))}
    domain = DomainLosses(pd.concat([easy, hard]), "none", goals)
    assert domain.by_goal("pull").loss.tolist() == [[[pytest.approx((150 + 10) / 2)]]]
    assert domain.by_goal("low").loss.tolist() == [[[pytest.approx((50 + 10) / 2)]]]
    # of the square of 30 below, items of 50 and 10 below hold 2 · 30 · 50 - 30² and 2 · 30 · 10 - 30²
    assert domain.of_items("low", "no_technique").tolist() == [[pytest.approx(2100), pytest.approx(-300)]]
    assert domain.n_baseline.tolist() == [[10]], "of the item that has fewest"


def test_opposite_items_cancel_and_an_item_that_lacks_an_arm_does_not_enter():
    up = answers_of({("no_technique", "none"): [100.0] * 10, ("no_technique", "low"): [90.0, 90.0],
                     ("no_technique", "high"): [120.0, 120.0]}, item="up")  # fmt: skip
    down = answers_of({("no_technique", "none"): [100.0] * 10, ("no_technique", "low"): [120.0, 120.0],
                       ("no_technique", "high"): [90.0, 90.0]}, item="down")  # fmt: skip
    half = answers_of({("no_technique", "none"): [100.0] * 10, ("no_technique", "low"): [0.0]}, item="half")
    domain = DomainLosses(pd.concat([up, down, half]), "none", {"pull": MIDDLE["pull"]})
    assert domain.by_goal("pull").loss[0, 0, 0] == pytest.approx(0)
    assert np.isnan(domain.of_items("pull", "no_technique")[0]).tolist() == [False, True, False]


def items_of(*cells, technique="no_technique"):
    """Answers to items without noise: of each its name, how many are in the base, and percent under low and high."""
    frames = []
    for item, n_baseline, low, high in cells:
        base = answers_of({("no_technique", "none"): [100.0] * n_baseline}, item=item) if n_baseline else None
        arms = {(technique, "low"): low, (technique, "high"): high}
        frames += [base, answers_of({arm: values for arm, values in arms.items() if values}, item=item)]
    return pd.concat([frame for frame in frames if frame is not None])


def test_a_technique_and_its_control_are_compared_on_the_items_that_both_have():
    plain = items_of(("easy", 10, [90.0], [110.0]), ("hard", 10, [50.0], [150.0]))
    helps = items_of(("easy", 0, [90.0], [110.0]), ("hard", 0, [50.0], []), technique="sacd")
    domain = DomainLosses(pd.concat([plain, helps]), "none", {"pull": MIDDLE["pull"]})
    gains = domain.compared("pull", "sacd", "no_technique")
    assert (gains.control.tolist(), gains.values.tolist()) == ([20.0**2], [0]), "hard is not in the control either"


def test_an_item_with_fewer_than_ten_answers_in_the_base_is_left_out_and_said_to_be():
    rows = pd.concat(
        [
            items_of(("known", 10, [90.0], [110.0]), ("thin", 9, [50.0], [150.0])),
            items_of(("known", 0, [95.0], [105.0]), ("thin", 0, [50.0], [150.0]), technique="sacd"),
        ],
        ignore_index=True,
    )
    domain = DomainLosses(rows, "none", {"pull": MIDDLE["pull"]})
    gains = domain.compared("pull", "sacd", "no_technique")
    assert (gains.control.tolist(), gains.lacks_items, gains.refused) == ([20.0**2], True, False)
    of_thin = DomainLosses(rows[rows["item"] == "thin"], "none", {"pull": MIDDLE["pull"]})
    assert of_thin.compared("pull", "sacd", "no_technique").refused
    both_thin = rows.drop(rows[(rows["item"] == "known") & (rows["arm"] == "none")].index[:1])
    refused = DomainLosses(both_thin, "none", {"pull": MIDDLE["pull"]})
    assert refused.compared("pull", "sacd", "no_technique").refused, "where no item has ten, the vignette has none"


def test_a_single_answer_to_an_item_has_the_noise_of_the_other_items():
    rows = items_of(("a", 10, [80.0, 100.0], [110.0, 130.0]), ("b", 10, [90.0], [120.0, 140.0]))
    domain = DomainLosses(rows, "none", {"pull": MIDDLE["pull"]})
    # low: of a 200 over 2 answers, of b the same variance over 1; high: 200 over 2 answers, twice; two items
    found, noise = domain.by_goal("pull"), (100 + 200 + 100 + 100) / 4
    assert found.criterion[0, 0, 0] == pytest.approx(35**2 - noise)
    assert found.variance[0, 0, 0] == pytest.approx(4 * (35**2 * noise - noise**2) + 2 * noise**2)
    alone = items_of(("a", 10, [80.0], [110.0]), ("b", 10, [90.0], [120.0]))
    unknown = DomainLosses(alone, "none", {"pull": MIDDLE["pull"]}).by_goal("pull")
    assert np.isnan(unknown.variance[0, 0, 0])
    assert unknown.loss[0, 0, 0] == pytest.approx(30)


def test_the_noise_of_the_base_is_known_whichever_technique_an_llm_lacks():
    rng = np.random.default_rng(5)
    rows = study_of(rng, 3, n_llms=2)
    with_first = pd.concat([rows, rows[rows["technique"] == "sacd"].assign(technique="aaa")])
    lacking = with_first[~((with_first["llm"] == "l0") & (with_first["technique"] == "aaa"))]
    of_all, of_some = (
        DomainLosses(frame, "none", {"pull": MIDDLE["pull"]}).compared("pull", "sacd", "no_technique")
        for frame in (with_first, lacking)
    )
    np.testing.assert_allclose(of_some.variances, of_all.variances)


def study_of(rng, n_items, n_llms=6, cut=0.5):
    """Answers of LLMs that an anchor pulls by some 60 %, and by `cut` as much under a technique."""
    frames = []
    for llm, item in itertools.product(range(n_llms), range(n_items)):
        base, pull = 100 * (1 + item), rng.normal(60, 5)
        cells = {("no_technique", "none"): rng.normal(base, base / 50, 10)}
        for technique, share in (("no_technique", 1.0), ("sacd", cut)):
            means = {"low": base * (1 - share * pull / 200), "middle": base, "high": base * (1 + share * pull / 200)}
            cells |= {(technique, arm): rng.normal(mean, base / 50, 5) for arm, mean in means.items()}
        frames.append(answers_of(cells, llm=f"l{llm}", item=f"i{item}" if n_items > 1 else None))
    return pd.concat(frames)


def paradigms(**changes):
    stated = [goal | changes for goal in STATED]
    return pd.DataFrame(
        [{"study": "s", "paradigm": "p", "measure": "response", "relative_to": "none", "goals": json.dumps(stated)}]
    )


CONTROLS = pd.DataFrame(
    [[None, None, None, "no_technique", "control"]],
    columns=["study", "domain", "technique", "control", "comparison"],
)


def decided(rows, of_paradigm, families=NOT_DECLARED):
    asked = questions_on_goals(rows, of_paradigm, {}, margin=5.0, response_source="reparsed")
    found = answer_rows(asked, {"sacd"}, CONTROLS, families, n_draws=200, seed=1)
    return [row for row in found if row["part"] == "decisions" and row["technique"] == "sacd" and row["llm"] is None]


def test_goals_are_decided_by_domain_and_the_one_that_leads_is_primary():
    rng = np.random.default_rng(1)
    rows = pd.concat([study_of(rng, 1), study_of(rng, 1, cut=1.0).assign(domain="e", vignette="w")])
    found = {(row["domain"], row["goal"]): row for row in decided(rows, paradigms())}
    assert found.keys() == {(domain, goal) for domain in "de" for goal in ("spread", "pull")}
    assert {key for key, row in found.items() if row["is_primary"]} == {("d", "spread"), ("e", "spread")}
    assert found["d", "pull"]["decision"] == "use"
    assert found["d", "pull"]["gain"] == pytest.approx(30, abs=4)
    assert found["d", "spread"]["gain"] == pytest.approx(15, abs=2)
    assert found["e", "pull"]["decision"] in ("equivalent", "no_evidence")
    families = frozen([("sacd", "no_technique", "control")], [{"paradigm": "p", "goal": "pull"}], n_families=2)
    found = {(row["domain"], row["goal"]): row for row in decided(rows, paradigms(), families)}
    assert (found["d", "pull"]["n_families"], found["d", "spread"]["n_families"]) == (2, 1)
    assert "family_not_frozen" not in found["d", "pull"]["reason"]
    assert "family_not_frozen" in found["d", "spread"]["reason"]


def test_with_items_a_decision_is_about_other_items_too():
    rows = study_of(np.random.default_rng(2), 4)
    losses = DomainLosses(rows, "none", {"pull": MIDDLE["pull"]})
    gains = ItemLosses(losses, "pull").gain("sacd", "no_technique")
    assert gains.shape == (6, 4)
    means = losses.compared("pull", "sacd", "no_technique")
    # items add up to the gain but for what noise adds to the squares of both
    noise = losses.by_goal("pull").noise[:, 0]
    plain, sacd = (losses.techniques.index(name) for name in ("no_technique", "sacd"))
    np.testing.assert_allclose(gains.mean(axis=1), means.values + noise[:, plain] - noise[:, sacd])
    whole = crossed_contrast(Arm(np.ones(gains.shape), gains))
    found = ItemLosses(losses, "pull").over_both(gains)
    assert (found.estimate, found.both.low, found.both.high) == (whole.estimate, whole.both.low, whole.both.high)


def test_what_turns_a_bias_into_a_larger_one_is_taken_back_whatever_the_file_names():
    rows = pd.concat(
        [study_of(np.random.default_rng(3), 1, cut=0.0), study_of(np.random.default_rng(4), 1, n_llms=1, cut=-1.5)
         .assign(llm="reversed")]
    )  # fmt: skip
    one = [goal | {"leads": True} for goal in STATED if goal["goal"] == "pull"]
    stated = [json.dumps([goal | {"guards": guards} for goal in one]) for guards in ([], ["reversed"])]
    for goals in stated:
        (row,) = decided(rows, paradigms().assign(goals=goals))
        assert (row["decision"], row["certainty"], row["n_reversed"]) == ("no_evidence", "withheld", 1)
        assert "bias_reversed" in row["reason"]
    (without,) = decided(rows[rows["llm"] != "reversed"], paradigms().assign(goals=stated[0]))
    assert without["decision"] == "use"
    smaller = study_of(np.random.default_rng(3), 1, cut=-0.8)
    (row,) = decided(smaller, paradigms().assign(goals=stated[1]))
    assert (row["decision"], row["n_reversed"]) == ("use", 0)


def leading(rows, of_paradigm, **known):
    """Which goal leads in each domain, where this is known of the unanchored prompts of vignettes."""
    frame = pd.DataFrame({"study": "s", **known}) if known else None
    asked = questions_on_goals(rows, of_paradigm, {}, frame, margin=5.0, response_source="reparsed")
    return {(question.keys["domain"], question.keys["goal"]) for question in asked if question.leads}


def test_which_goal_leads_hangs_on_the_unanchored_prompts_of_the_domain():
    rng = np.random.default_rng(1)
    rows = pd.concat([study_of(rng, 1), study_of(rng, 1).assign(domain="e", vignette="w")])
    by_case = paradigms().assign(goals=json.dumps([STATED[0] | {"leads": "same"}, STATED[1] | {"leads": "differs"}]))
    assert leading(rows, by_case) == {("d", "pull"), ("e", "pull")}, "nothing is known"
    prompts = {"paradigm": "p", "domain": ["d", "e", "e"], "baseline_prompt": ["same", "same", "differs"]}
    assert leading(rows, by_case, **prompts) == {("d", "spread"), ("e", "pull")}, "one vignette of e differs"
    assert leading(rows, by_case, **prompts | {"paradigm": "q"}) == {("d", "pull"), ("e", "pull")}, "another paradigm"
    assert leading(rows, paradigms(), **prompts) == {("d", "spread"), ("e", "spread")}, "always"


def test_the_goals_of_the_shipped_file_have_words_and_one_leads_in_each_case():
    assert list(codes.GOALS) == list(GOALS)
    of_file = shipped()["goals"].items()
    led = {case: [name for name, goal in of_file if leads(goal, case)] for case in (SAME, DIFFERS)}
    assert led == {SAME: ["displacement"], DIFFERS: ["gap"]}


def test_of_a_domain_is_the_same_what_is_the_same_of_every_vignette():
    assert of_domain([SAME, SAME]) == SAME
    assert {of_domain(prompts) for prompts in ([], [DIFFERS], [SAME, DIFFERS], [None], [SAME, None])} == {DIFFERS}


def test_trials_are_counted_in_the_arms_of_the_goal():
    rows = answers_of(
        {
            ("no_technique", "none"): [40, 60] * 5,
            ("no_technique", "low"): [30, None, 30],
            ("no_technique", "middle"): [50] * 7,
            ("no_technique", "high"): [70] * 2,
        }
    )
    domain = DomainLosses(rows, "none", MIDDLE)
    assert [[int(n.item()) for n in domain.n_put(goal)] for goal in ("pull", "spread")] == [[5, 1], [12, 1]]
    assert [domain.n_trials("no_technique", goal).tolist() for goal in ("pull", "spread")] == [[4], [11]]
