"""A large study of simulated respondents through collect, load and dbt build: marts give back their stated truth."""

import collections
import math
import re

import numpy as np
import pytest
import scipy.stats

from ingest.providers.simulated import FORMATS, REFUSAL
from ingest.studies.llms import anchored_respondents
from tests.tools.contracts import relation_of

pytestmark = pytest.mark.slow("builds the tables of a large study")

N = 40
LARGE = f"""
study: large
llms: [sim/anchored, sim/constant, sim/follower, sim/overcorrector, sim/refuser, sim/silent, sim/steady]
vignettes: [burglary, bakery]
techniques: [no_technique, outside_view, devils_advocate, premortem, random_control, sacd]
anchors: {{proportional: {{low: 0.5, high: 1.5}}}}
temperatures: [0.7]
stopping_rule: {{minimum: {N}}}
order_seed: 11
limits: {{concurrency: 64}}
"""
WITHOUT_BASELINES = """
study: without-baselines
llms: [sim/steady]
vignettes: [burglary]
techniques: [no_technique]
anchors: {fixed: {low: 15, high: 45}}
baselines: false
stopping_rule: {minimum: 2}
"""
TRUTHS = anchored_respondents()
NOISY = [llm for llm, truth in TRUTHS.items() if truth.get("noise")]
MARTS = ("conditions", "effects", "attrition", "trials", "technique_effects", "technique_costs")
UNDER_ANCHORS = "arm in ('low', 'high') and row_set = 'accepted' and n_trials > 0"


@pytest.fixture(scope="module")
def large(tmp_path_factory, warehouse_in):
    """The large study and one without baselines, collected, loaded and built."""
    folder = tmp_path_factory.mktemp("large")
    warehouse = warehouse_in(folder)
    for name, text in (("large", LARGE), ("without", WITHOUT_BASELINES)):
        (folder / f"{name}.yaml").write_text(text)
        warehouse.land(folder / f"{name}.yaml")
    select = ("--select", *(f"+{mart}" for mart in MARTS))
    warehouse.dbt("--quiet", "build", "--resource-type", "seed", "model", *select)  # the tests are on the small study
    return warehouse


def moments(centre, sd):
    """Return the mean and the variance of a normal variable that is rounded half up."""
    whole = np.arange(math.floor(centre - 9 * sd), math.ceil(centre + 9 * sd) + 1)
    share = np.diff(scipy.stats.norm.cdf(np.append(whole - 0.5, whole[-1] + 0.5), centre, sd))
    mean = (whole * share).sum()
    return mean, ((whole - mean) ** 2 * share).sum()


class Truth:
    """What the stated truth of a respondent says of the figures of a vignette."""

    def __init__(self, llm, vignette, anchors=None):
        truth = TRUTHS[llm]
        self.baseline = truth["baselines"][vignette] * truth.get("level", 1)
        self.pull, self.sd = truth.get("pull", 0), truth.get("noise", 0) * self.baseline
        self.techniques, self.anchors = truth["techniques"], anchors

    def pull_under(self, technique):
        is_plain = technique in ("no_technique", "sacd_initial")  # a SACD trial begins as one without a technique
        return self.pull * (1 if is_plain else self.techniques[technique]["pull"])

    def centre(self, technique, direction):
        is_plain = technique in ("no_technique", "sacd_initial")
        shift = 0 if is_plain else self.techniques[technique]["shift"]
        pulled = self.pull_under(technique) * (self.anchors[direction] - self.baseline)
        return self.baseline * (1 + shift) + pulled


@pytest.fixture(scope="module")
def anchors(large):
    """From respondent and vignette to the low and the high anchor."""
    found = collections.defaultdict(dict)
    for llm, vignette, direction, value in large.query(
        "select distinct llm, vignette, anchor_direction, anchor_value from marts.trials "
        "where study = 'large' and anchor_value is not null"
    ):
        assert direction not in found[llm, vignette]
        found[llm, vignette][direction] = value
    return found


def assert_normal(z):
    """Hold that standardised figures vary as chance has it: none far out, few beyond two, and no less than that."""
    z = np.array(z)
    assert np.abs(z).max() < 4
    n_beyond = (np.abs(z) > 2).sum()
    assert scipy.stats.binom.sf(n_beyond - 1, len(z), 0.0455) > 0.001
    assert np.sqrt((z**2).mean()) == pytest.approx(1, abs=4 / np.sqrt(2 * len(z)))


def test_the_marts_give_back_the_stated_baselines(large):
    z = []
    for llm, vignette, n, baseline, sd in large.query(
        "select llm, vignette, n_trials, mean, sd from marts.conditions where study = 'large' and is_baseline "
        "and row_set = 'accepted' and n_trials > 0 and temperature_scope = 'pooled' and llm != 'sim/constant'"
    ):
        truth = Truth(llm, vignette)
        mean, variance = moments(truth.baseline, truth.sd)
        assert mean == pytest.approx(truth.baseline, abs=0.01)  # rounding does not move it
        assert sd == pytest.approx(math.sqrt(variance), rel=4 / math.sqrt(2 * n))
        z.append((baseline - mean) / math.sqrt(variance / n))
    assert len(z) == 2 * len(NOISY)
    assert_normal(z)


def test_the_marts_give_back_what_each_technique_does_in_each_direction(large, anchors):
    z = []
    for llm, vignette, technique, direction, n, response, sd in large.query(
        "select llm, vignette, technique, arm, n_trials, mean, sd from marts.conditions "
        f"where study = 'large' and {UNDER_ANCHORS} and temperature_scope = 'pooled' and llm != 'sim/constant'"
    ):
        truth = Truth(llm, vignette, anchors[llm, vignette])
        mean, variance = moments(truth.centre(technique, direction), truth.sd)
        assert sd == pytest.approx(math.sqrt(variance), rel=4.5 / math.sqrt(2 * n))
        z.append((response - mean) / math.sqrt(variance / n))
    assert len(z) == 2 * len(NOISY) * 7 * 2
    assert_normal(z)


def test_the_marts_give_back_the_stated_pull_as_anchoring_index(large, anchors):
    z = []
    for llm, vignette, direction, n, index in large.query(
        "select llm, vignette, arm, n_trials, anchoring_index from marts.conditions "
        f"where study = 'large' and {UNDER_ANCHORS} and temperature_scope = 'pooled' and llm != 'sim/constant' "
        "and technique = 'no_technique'"
    ):
        truth = Truth(llm, vignette, anchors[llm, vignette])
        variance = moments(truth.baseline, truth.sd)[1]
        # (mean - baseline) / (anchor - baseline), the baseline estimated as well: delta method
        way = truth.anchors[direction] - truth.baseline
        n_baseline = N * (1 - TRUTHS[llm].get("refusal_rate", 0))
        error = math.sqrt(variance / n + (1 - truth.pull) ** 2 * variance / n_baseline) / abs(way)
        z.append((index - truth.pull) / error)
    assert len(z) == 2 * len(NOISY) * 2
    assert_normal(z)


def test_the_marts_give_back_what_each_technique_does_to_the_pull_as_spread(large, anchors):
    z = []
    for llm, vignette, technique, n, spread in large.query(
        "select llm, vignette, effects.technique, effects.n_trials, signed * conditions.mean / 100 from marts.effects "
        "inner join marts.conditions using (study, llm, vignette) "
        "where study = 'large' and goal = 'gap' and is_baseline and row_set = 'accepted' "
        "and temperature_scope = 'pooled' and llm != 'sim/constant'"
    ):
        truth = Truth(llm, vignette, anchors[llm, vignette])
        stated = truth.pull_under(technique) * (truth.anchors["high"] - truth.anchors["low"])
        variance = moments(truth.baseline, truth.sd)[1]
        z.append((spread - stated) / math.sqrt(2 * variance / (n / 2)))
    assert len(z) == 2 * len(NOISY) * 7
    assert_normal(z)


def test_the_marts_give_back_the_stated_shift_as_percent_of_baseline(large, anchors):
    z = []
    for llm, vignette, technique, n, percent in large.query(
        "select llm, vignette, technique, n_trials, percent_of_baseline from papers.technique_effects "
        "where study = 'large' and llm is not null and llm not in ('sim/constant', 'sim/refuser') "
        "and anchor_direction = 'both' and temperature_scope = 'pooled' and row_set = 'accepted' "
        "and baseline_scope = 'pooled' and weighting = 'trial'"
    ):
        truth = Truth(llm, vignette, anchors[llm, vignette])
        stated = np.mean([truth.centre(technique, direction) for direction in ("low", "high")])
        variance = moments(truth.baseline, truth.sd)[1]
        share = stated / truth.baseline
        error = 100 * math.sqrt(variance / n + share**2 * variance / N) / truth.baseline
        z.append((percent - 100 * share) / error)
    assert len(z) == 2 * (len(NOISY) - 1) * 7
    # the error of a baseline is in the figures of all its techniques
    assert np.abs(z).max() < 4
    assert np.mean(np.abs(z) > 2) < 0.15


def test_the_marts_give_back_the_stated_refusal_rates(large):
    rows = large.query(
        "select llm, sum(n_asked), sum(n_refused), sum(n_answered) from marts.attrition where study = 'large' "
        "group by all"
    )
    assert len(rows) == len(TRUTHS)
    for llm, asked, refused, answered in rows:
        rate = TRUTHS[llm].get("refusal_rate", 0)
        assert asked == N * 2 * (1 if rate == 1 else 13)
        assert refused + answered == asked
        assert abs(refused - rate * asked) <= 4 * math.sqrt(rate * (1 - rate) * asked)
    assert large.query("select distinct response_text from marts.trials where status = 'refused'") == [(REFUSAL,)]


def test_a_respondent_without_noise_has_no_variance_and_the_answers_of_its_truth(large):
    of_constant = "where study = 'large' and llm = 'sim/constant' and temperature_scope = 'pooled'"
    baselines = (
        f"select vignette, mean, sd from marts.conditions {of_constant} and is_baseline and row_set = 'accepted'"
    )
    assert large.query(f"{baselines} order by all") == [
        ("bakery", 90, 0),  # 0.6 · 150
        ("burglary", 18, 0),  # 0.6 · 30
    ]
    rows = large.query(
        f"select technique, arm, mean from marts.conditions {of_constant} and {UNDER_ANCHORS} and vignette = 'burglary'"
    )
    # anchors 9 and 27, pull 0.4: 18 · (1 + shift) + 0.4 · pull · (±9), rounded
    expected = {
        "no_technique": (14, 22),  # 14.4, 21.6
        "sacd_initial": (14, 22),
        "outside_view": (9, 11),  # 9.9 - 0.72, 9.9 + 0.72
        "devils_advocate": (11, 14),  # 12.6 - 1.8, 12.6 + 1.8
        "premortem": (13, 21),  # 17.1 - 4.32, 17.1 + 4.32
        "random_control": (12, 19),  # 15.3 - 3.24, 15.3 + 3.24
        "sacd": (16, 21),  # 18.9 - 2.52, 18.9 + 2.52
    }
    assert {(technique, direction): response for technique, direction, response in rows} == {
        (technique, direction): response
        for technique, responses in expected.items()
        for direction, response in zip(("low", "high"), responses, strict=True)
    }
    assert large.query(f"select distinct sd from marts.conditions {of_constant}") == [(0,)]


def test_every_answer_format_is_read_as_the_number_that_was_written(large):
    counts = collections.Counter()
    forms = {name: re.escape(text.format(n="@")).replace("@", r"(\d+)") for name, text in FORMATS.items()}
    rows = large.query("select llm, status, response, response_text from marts.trials where status != 'refused'")
    for llm, status, response, text in rows:
        ((form, found),) = [(name, found) for name, form in forms.items() if (found := re.fullmatch(form, text))]
        assert (status, response) == ("answered", float(found[1]))
        counts[llm, form] += 1
    for llm, truth in TRUTHS.items():
        said = truth.get("formats", ["line"]) if truth.get("refusal_rate") != 1 else []
        assert {form for of_llm, form in counts if of_llm == llm} == set(said)
        of_llm = [n for (of, _), n in counts.items() if of == llm]
        assert all(abs(n - sum(of_llm) / len(said)) < 4 * math.sqrt(sum(of_llm) / len(said)) for n in of_llm)


def test_what_a_trial_takes_is_what_its_technique_says(large):
    rows = large.query(
        "select llm, technique, n_trials, n_calls, n_failed_calls, calls_per_trial, iterations_per_trial, "
        "tokens_in_per_trial, tokens_out_per_trial, cost_usd_per_trial from marts.technique_costs "
        "where study = 'large' and llm not in ('sim/refuser', 'sim/silent')"
    )
    assert len(rows) == 5 * 6
    tokens = collections.defaultdict(dict)
    for llm, technique, n_trials, n_calls, n_failed, per_trial, iterations, tokens_in, tokens_out, cost in rows:
        assert n_trials == N * 2 * (3 if technique == "no_technique" else 2)  # with the baselines
        assert (n_failed, cost) == (0, 0)
        assert n_calls == pytest.approx(per_trial * n_trials)
        if technique == "sacd":  # one to three rounds, each as likely: mean 2, variance 2/3
            assert abs(iterations - 2) < 4 * math.sqrt(2 / 3 / n_trials)
            assert per_trial == pytest.approx(3 + 3 * iterations)
        else:
            assert iterations is None
            assert per_trial == (1 if technique == "no_technique" else 3)
        assert tokens_out > 0
        tokens[llm][technique] = tokens_in
    for of_llm in tokens.values():
        assert of_llm["no_technique"] == min(of_llm.values())
        assert of_llm["sacd"] == max(of_llm.values())


def test_every_row_is_labelled_simulated(large):
    for table, column in [
        ("raw.trials", "source"),
        ("raw.batches", "source"),
        ("raw.calls", "cost_source"),
        ("raw.calls", "upstream_provider"),
        ("marts.trials", "source"),
    ]:
        assert large.query(f"select distinct {column} from {table}") == [("simulated",)], (table, column)
    for mart in MARTS:
        assert large.query(f"select bool_and(llm like 'sim/%') from {relation_of(mart)} where llm is not null") == [
            (True,)
        ]


def test_without_baselines_trials_have_no_percentage_and_say_why(large):
    of_study = "where study = 'without-baselines'"
    assert large.query(f"select anchor_direction, anchor_value, count(*) from marts.trials {of_study} group by all "
                       "order by all") == [("high", 45, 2), ("low", 15, 2)]  # fmt: skip
    assert large.query(f"select count(*) from marts.conditions {of_study} and is_baseline") == [(0,)]
    assert large.query(
        f"select distinct percent_of_baseline, anchoring_index, reason from marts.conditions {of_study}"
    ) == [(None, None, "no_baseline")]
    ((spread,),) = large.query(
        "select max(mean) filter (where arm = 'high') - max(mean) filter (where arm = 'low') "
        f"from marts.conditions {of_study} and row_set = 'accepted' and temperature_scope = 'pooled'"
    )
    assert spread > 0
    assert large.query(
        f"select goal, loss, signed, reason from marts.effects {of_study} and vignette is not null order by all"
    ) == [(goal, None, None, "no_baseline") for goal in ("displacement", "error", "gap")]
