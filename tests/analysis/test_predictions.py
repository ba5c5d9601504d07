"""Predictions for LLMs: dense normal densities, closed forms, ANOVA and simulation as oracles, and laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, special

from analysis.engine import predictions
from analysis.engine.predictions import Fit, fit, leave_one_out_log_score
from tests.tools import calibration

seeds = st.integers(0, 10_000)


def data_set(seed, n_llms=6, n_techniques=3, *, lacking=()):
    """Gains that spread 7 pp between LLMs and 3 over trials, around means of 12, 4, -4, ..."""
    rng = np.random.default_rng(seed)
    means = 12 - 8.0 * np.arange(n_techniques)
    gains = means + rng.normal(0, 5, (n_llms, 1)) + rng.normal(0, 5, (n_llms, n_techniques))
    own = rng.uniform(1, 4, (n_llms, n_techniques))
    covariances = 4 + own[:, :, None] ** 2 * np.eye(n_techniques)
    for llm, technique in lacking:
        gains[llm, technique] = covariances[llm, technique] = covariances[llm, :, technique] = np.nan
    return gains, covariances


def fitted(gains, covariances, vendors=None, *, n_draws=4000, seed=1):
    """The fit of LLMs of these vendors, or each of its own."""
    losses, vendors = np.full(np.shape(gains), 30.0), np.arange(len(gains)) if vendors is None else vendors
    return fit(gains, covariances, losses, vendors, n_draws=n_draws, rng=np.random.default_rng(seed))


def between(n_techniques, tau_w, tau_u):
    return tau_w**2 * np.eye(n_techniques) + tau_u**2


def dense(covariances, vendors, tau_w, tau_u, rho=0.0):
    """The covariance of all gains, less what the means add, as one matrix, and that of LLMs' effects alone."""
    alike = np.equal.outer(vendors, vendors)
    n_llms, n_techniques = covariances.shape[:2]
    effects = np.kron(rho * alike + (1 - rho) * np.eye(n_llms), between(n_techniques, tau_w, tau_u))
    return effects + linalg.block_diag(*covariances), effects


def log_density(gains, covariances, tau_w, tau_u, tau_m, design, rho=0.0, vendors=None):
    """Log density of every gain at once, by one dense covariance matrix."""
    everywhere = np.kron(np.ones((len(gains), 1)), design)
    vendors = np.arange(len(gains)) if vendors is None else vendors
    total = tau_m**2 * everywhere @ everywhere.T + dense(covariances, vendors, tau_w, tau_u, rho)[0]
    kept = np.isfinite(gains.ravel())
    root = np.linalg.cholesky(2 * np.pi * total[np.ix_(kept, kept)])
    return -np.log(np.diag(root)).sum() - np.pi * (np.linalg.solve(root, gains.ravel()[kept]) ** 2).sum()


def nodes(tau_w, tau_u, rho=(0.0,)):
    """All combinations of some values, with rho the last to change."""
    return predictions._Nodes(*(axis.ravel() for axis in np.meshgrid(tau_w, tau_u, rho, indexing="ij")))


@pytest.mark.parametrize("design", [np.eye(3), np.ones((3, 1))])
@pytest.mark.parametrize("vendors", [[0, 1, 2, 3, 4, 5], [0, 1, 0, 2, 1, 0], [0] * 6])
def test_a_node_weighs_as_much_as_the_density_of_all_gains(design, vendors):
    gains, covariances = data_set(1, lacking=[(0, 1), (4, 0), (4, 2)])
    at, sizes = nodes([0.7, 6.0], [0.0, 2.0, 9.0], [0.0, 0.3, 0.95]), np.array([3.0, 40.0])
    found = predictions._marginal(predictions._Asked.of(gains, covariances, vendors), design, at, sizes)[0]
    taus = zip(at.tau_w, at.tau_u, at.rho, strict=True)
    expected = np.array(
        [[log_density(gains, covariances, w, u, m, design, rho, vendors) for m in sizes] for w, u, rho in taus]
    )
    assert found - found[0, 0] == pytest.approx(expected - expected[0, 0])


def test_with_means_of_any_size_the_heaviest_node_is_the_anova_estimate():
    rng = np.random.default_rng(2)
    gains = rng.normal(0, 6, (12, 1)) + rng.normal(0, 4, (12, 4)) + [10, 0, -5, 3]
    residual = gains - gains.mean(axis=0)
    within = ((residual - residual.mean(axis=1, keepdims=True)) ** 2).sum() / (11 * 3)
    between = 4 * (residual.mean(axis=1) ** 2).sum() / 11
    asked = predictions._Asked.of(gains, np.zeros((12, 4, 4)), range(12))
    at = nodes(np.linspace(2, 8, 121), np.linspace(2, 10, 161))
    heaviest = predictions._marginal(asked, np.eye(4), at, np.array([1e5]))[0].argmax()
    assert (at.tau_w[heaviest], at.tau_u[heaviest]) == pytest.approx(
        (np.sqrt(within), np.sqrt((between - within) / 4)), abs=0.05
    )


def test_an_llm_that_was_asked_is_drawn_as_the_closed_form_has_it():
    gains, covariances = data_set(3, lacking=[(1, 2)])
    covariances[0] = 4  # singular: all techniques owe their error to the control
    tau_w, tau_u, n_draws = 5.0, 3.0, 100_000
    means = np.array([10.0, 4.0, -2.0])
    # neither the vendors' order nor which LLMs have several of them matters
    for vendors, rho in ((range(6), 0.6), ([1, 0, 0, 1, 2, 1], 0.6), ([1, 0, 0, 1, 2, 1], 0.05)):
        asked = predictions._Asked.of(gains, covariances, vendors)
        node, drawn = np.zeros(n_draws, int), np.tile(means, (n_draws, 1))
        effects = predictions._Effects(asked, gains, gains[0], nodes([tau_w], [tau_u], [rho]), node)
        total, prior = dense(covariances, vendors, tau_w, tau_u, rho)
        kept = np.isfinite(gains.ravel())
        total = total[np.ix_(kept, kept)]
        for llm in (0, 1, 4):
            own = slice(3 * llm, 3 * llm + 3)
            shared = np.kron(rho * np.equal(vendors, vendors[llm]), between(3, tau_w, tau_u))
            for found, loads in (
                (effects.predicted(drawn, llm, np.random.default_rng(4)), prior[own, kept]),
                (effects.further(drawn, asked.vendors[llm], np.random.default_rng(4)), shared[:, kept]),
            ):
                weights = loads @ np.linalg.inv(total)
                expected = means + weights @ (gains - means).ravel()[kept]
                deviations = np.sqrt(np.diag(between(3, tau_w, tau_u) - weights @ loads.T))
                assert found.gain == pytest.approx(expected, abs=0.08)
                assert found.gain_low == pytest.approx(expected - 1.96 * deviations, abs=0.15)
                assert found.p_better_than_control == pytest.approx(special.ndtr(expected / deviations), abs=0.01)


def test_vendors_of_one_llm_each_foretell_as_llms_alone_did():
    gains, covariances = data_set(3, 7, lacking=[(1, 2)])
    found = fitted(gains, covariances, list("gfedcba"), n_draws=400_000)
    one = found.asked(1, rng=np.random.default_rng(1))
    # recorded when there were no vendors, with as many draws
    assert found.between_sd == pytest.approx(9.136499, rel=1e-6)
    assert found.new.gain == pytest.approx([7.2933, 0.0926, -1.7559], abs=0.05)
    assert found.new.gain_low == pytest.approx([-13.1158, -19.8223, -21.7826], abs=0.2)
    assert found.new.p_best == pytest.approx([0.6333, 0.129, 0.0878, 0.1499], abs=0.005)
    assert one.gain == pytest.approx([0.998, -8.8928, -6.8818], abs=0.05)
    assert one.gain_high == pytest.approx([5.5304, -2.3422, 9.7521], abs=0.2)


def test_of_one_technique_and_gains_without_noise_the_posterior_is_a_sum_over_one_line():
    # two vendors of two LLMs and one of one: gains 1, 3, 11, 13 and 5
    gains, vendors = np.array([1.0, 3, 11, 13, 5])[:, None], ["a", "a", "b", "b", "c"]
    covariances = np.full((5, 1, 1), 1e-6)
    scale, size = gains.std(ddof=1), max(gains.std(ddof=1), np.sqrt((gains**2).mean()))
    at = (np.arange(24) + 0.5) / 24
    logs, of_a, of_new = [], [], []
    for tau in scale * np.tan(np.pi / 2 * at):
        for rho in at:
            total, _ = dense(covariances, vendors, tau, 0.0, rho)
            for tau_m in size * np.tan(np.pi / 2 * at[::4]):
                logs.append(log_density(gains, covariances, tau, 0.0, tau_m, np.ones((1, 1)), rho, vendors))
                weights = np.linalg.solve(total + tau_m**2, gains[:, 0])
                of_new.append(tau_m**2 * weights.sum())
                of_a.append(of_new[-1] + rho * tau**2 * weights[:2].sum())
    found = fitted(gains, covariances, vendors, n_draws=40_000)
    posterior = special.softmax(logs)
    assert found.new.gain == pytest.approx([posterior @ of_new], abs=0.25)
    assert found.further(1, rng=np.random.default_rng(1)).gain == pytest.approx([posterior @ of_a], abs=0.25)
    assert posterior @ of_a < posterior @ of_new - 1.5


def test_the_mean_over_llms_is_that_of_the_sums_over_a_wide_grid():
    gains, covariances = data_set(5, 5, 2)
    scale = np.sqrt(gains.var(axis=0, ddof=1).mean())
    size = max(scale, np.sqrt((gains**2).mean()))
    places = np.tan(np.pi / 2 * (np.arange(10) + 0.5) / 10)
    weights, means, spreads = [], [], []
    everywhere = np.kron(np.ones((5, 1)), np.eye(2))
    for w in scale * places:
        for u in scale * places:
            total = np.zeros((10, 10))
            for i in range(5):
                total[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = covariances[i] + w**2 * np.eye(2) + u**2
            inverse = np.linalg.inv(total)
            for m in size * places:
                weights.append(log_density(gains, covariances, w, u, m, np.eye(2)))
                precision = everywhere.T @ inverse @ everywhere + np.eye(2) / m**2
                means.append(np.linalg.solve(precision, everywhere.T @ inverse @ gains.ravel()))
                spreads.append(np.hypot(w, u))
    weights = np.exp(np.array(weights) - max(weights))
    found = fitted(gains, covariances, n_draws=40_000)
    assert found.between_sd == pytest.approx(np.average(spreads, weights=weights), rel=0.02)
    assert found.means.mean(axis=0) == pytest.approx(np.average(means, axis=0, weights=weights), abs=0.1)


@pytest.mark.slow("an integral by hand on a grid")
@pytest.mark.parametrize("vendors", [[0, 1, 2, 3, 4], [0, 1, 2, 1, 0]])
def test_the_log_score_is_the_density_of_an_llm_given_those_of_other_vendors(vendors):
    gains, covariances = data_set(6, 5, 2)
    vendors = np.array(vendors)
    found = leave_one_out_log_score(gains, covariances, vendors)
    for score, design in zip(found, (np.eye(2), np.ones((2, 1))), strict=True):
        expected = []
        for vendor in range(vendors.max() + 1):
            rest = vendors != vendor
            scale = np.sqrt(gains[rest].var(axis=0, ddof=1).mean())
            size = max(scale, np.sqrt((gains[rest] ** 2).mean()))
            places = np.tan(np.pi / 2 * (np.arange(8) + 0.5) / 8)
            taus = [(scale * w, scale * u, size * m) for w in places for u in places for m in places]
            shares = (0.2, 0.5, 0.8) if len(set(vendors[rest])) < rest.sum() else (0.0,)

            def log_densities(who, taus=taus, shares=shares, design=design):
                of = gains[who], covariances[who]
                return [log_density(*of, *tau, design, rho, vendors[who]) for tau in taus for rho in shares]

            with_it = [special.logsumexp(log_densities([*np.flatnonzero(rest), i])) for i in np.flatnonzero(~rest)]
            expected.append(np.mean(with_it) - special.logsumexp(log_densities(np.flatnonzero(rest))))
        assert score == pytest.approx(np.mean(expected), abs=0.03)


def test_techniques_that_differ_foretell_an_llm_better_than_techniques_alike():
    apart, alike = leave_one_out_log_score(*data_set(7, 10, 4), range(10))
    assert apart > alike + 1


@settings(max_examples=10, deadline=None)
@given(seeds, st.randoms(use_true_random=False))
def test_the_order_of_llms_and_techniques_does_not_matter(seed, shuffler):
    gains, covariances = data_set(seed, lacking=[(2, 1)])
    llms, techniques = shuffler.sample(range(6), 6), shuffler.sample(range(3), 3)
    one, other = (
        fitted(gains, covariances),
        fitted(gains[llms][:, techniques], covariances[llms][:, techniques][:, :, techniques]),
    )
    assert other.between_sd == pytest.approx(one.between_sd, rel=1e-6)
    assert other.means.mean(axis=0) == pytest.approx(one.means.mean(axis=0)[techniques], abs=1.2)
    assert other.p_best == pytest.approx(one.p_best[[*techniques, 3]], abs=0.07)
    asked = one.asked(llms[0], rng=np.random.default_rng(1)), other.asked(0, rng=np.random.default_rng(1))
    assert asked[1].gain == pytest.approx(asked[0].gain[techniques], abs=0.8)


@settings(max_examples=10, deadline=None)
@given(seeds, st.floats(0.01, 100))
def test_the_unit_of_the_gains_does_not_matter(seed, unit):
    gains, covariances = data_set(seed)
    one, other = fitted(gains, covariances, n_draws=500), fitted(unit * gains, unit**2 * covariances, n_draws=500)
    assert other.means == pytest.approx(unit * one.means, rel=1e-6)
    assert other.new.gain_high == pytest.approx(unit * one.new.gain_high, rel=1e-6)
    assert (other.p_best == one.p_best).all()


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_gains_turned_into_losses_turn_the_probabilities(seed):
    gains, covariances = data_set(seed)
    one, other = fitted(gains, covariances), fitted(-gains, covariances)
    assert other.between_sd == pytest.approx(one.between_sd, rel=1e-6)
    assert other.p_worse_than_control == pytest.approx(1 - one.p_worse_than_control, abs=0.05)
    assert other.p_worst == pytest.approx(one.p_best, abs=0.05)
    assert other.new.p_better_than_control == pytest.approx(1 - one.new.p_better_than_control, abs=0.05)


@settings(max_examples=15, deadline=None)
@given(seeds, st.integers(5, 12), st.integers(1, 8))
def test_probabilities_are_probabilities_and_intervals_are_in_order(seed, n_llms, n_techniques):
    found = fitted(*data_set(seed, n_llms, n_techniques), n_draws=300)
    asked = found.asked(n_llms - 1, rng=np.random.default_rng(1))
    for shares in (found.p_best, found.p_worst, found.new.p_best, asked.p_best):
        assert shares.sum() == pytest.approx(1)
    for shares in (found.p_worse_than_control, found.new.p_better_than_control, asked.p_better_than_control):
        assert ((shares >= 0) & (shares <= 1)).all()
    # no technique is one of those that can come first or last
    assert found.p_best[-1] == (found.means < 0).all(axis=1).mean()
    assert found.p_worst[-1] == (found.means > 0).all(axis=1).mean()
    for one in (found.new, asked):
        assert (one.gain_low <= one.gain).all()
        assert (one.gain <= one.gain_high).all()
        assert one.control_loss == pytest.approx(np.full(n_techniques, 30))
        assert one.p_best[-1] <= 1 - one.p_better_than_control.max() + 1e-9
    low, high = found.ranks
    assert low.shape == (n_techniques + 1,)
    assert ((low >= 1) & (low <= high) & (high <= n_techniques + 1)).all()


def test_the_less_an_llm_was_asked_the_more_it_is_drawn_to_the_others():
    gains, covariances = data_set(8, 10, 3)
    gains[0] += 20
    distances, widths = [], []
    for times in (0, 1, 10, 100, 1000):
        noisy = np.where(np.arange(10)[:, None, None] == 0, times, 1) * covariances
        found = fitted(gains, noisy, n_draws=20_000)
        one = found.asked(0, rng=np.random.default_rng(2))
        distances.append(abs(one.gain - gains[0]).mean())
        widths.append((one.gain_high - one.gain_low).mean())
    assert distances[0] == pytest.approx(0, abs=0.05)
    assert (np.diff(distances) > 0).all()
    assert (np.diff(widths) > 0).all()
    assert one.gain == pytest.approx(found.new.gain, abs=1.5)


def test_a_technique_that_an_llm_lacks_is_foretold_by_its_other_gains():
    gains, covariances = data_set(9, 8, 3)
    gains += np.linspace(-30, 30, 8)[:, None]  # LLMs differ in all techniques alike
    gains[7, 2] = np.nan
    found = fitted(gains, covariances)
    one = found.asked(7, rng=np.random.default_rng(1))
    assert one.gain[2] > found.new.gain[2] + 15
    assert one.gain_high[2] - one.gain_low[2] > one.gain_high[1] - one.gain_low[1]
    assert one.gain_high[2] - one.gain_low[2] < found.new.gain_high[2] - found.new.gain_low[2]


def test_a_control_that_was_not_asked_loses_as_it_does_in_the_other_llms():
    gains, covariances = data_set(10, 5, 2)
    gains = np.vstack([gains, [5, np.nan]])
    losses = np.column_stack([20 + np.arange(6.0), 20 + 10 * np.arange(6.0)])
    losses[5, 1] = np.nan
    found = fit(gains, covariances[[0, 1, 2, 3, 4, 0]], losses, range(6), n_draws=100, rng=np.random.default_rng(1))
    assert found.new.control_loss == pytest.approx([22.5, 40])
    assert found.asked(5, rng=np.random.default_rng(1)).control_loss == pytest.approx([25, 40])


def test_the_control_of_a_further_llm_loses_what_it_does_for_its_vendor_and_for_others():
    gains, covariances = data_set(10, 6, 2)
    losses = np.full((6, 2), 20.0) + 30 * (np.arange(6) < 2)[:, None]
    for vendors, low, high in (([0, 0, 1, 1, 2, 2], 35, 49), ([0, 1, 2, 3, 4, 5], 39, 41)):
        found = fit(gains, covariances, losses, vendors, n_draws=400, rng=np.random.default_rng(1))
        loss = found.further(0, rng=np.random.default_rng(1)).control_loss
        assert found.new.control_loss == pytest.approx([30, 30])
        assert ((low < loss) & (loss < high)).all()
    alone = fit(gains, covariances, losses, [0] * 6, n_draws=400, rng=np.random.default_rng(1))
    assert alone.further(0, rng=np.random.default_rng(1)).control_loss == pytest.approx([30, 30])


@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_a_vendor_tells_of_its_further_llm_what_its_llms_have_in_common(rho):
    rng = np.random.default_rng(4)
    vendors = np.repeat(np.arange(8), 4)
    of_vendor, own = rng.normal(0, 10, (8, 1))[vendors], rng.normal(0, 10, (32, 1))
    gains = np.sqrt(rho) * of_vendor + np.sqrt(1 - rho) * own + rng.normal(0, 1, (32, 2))
    found = fitted(gains, np.tile(np.eye(2), (32, 1, 1)), vendors)
    further = [found.further(4 * q, rng=np.random.default_rng(q)) for q in range(8)]
    spread = np.std([one.gain for one in further], axis=0) / np.std(gains[::4], axis=0)
    width = np.mean([one.gain_high - one.gain_low for one in further]) / (found.new.gain_high - found.new.gain_low)
    if rho:
        assert (spread > 0.9).all()
        assert (width < 0.3).all()
    else:
        assert (spread < 0.5).all()
        assert (width > 0.8).all()


def test_ten_llms_of_five_vendors_that_say_the_same_twice_tell_no_more_of_the_mean_than_five():
    gains, covariances = data_set(15, 5, 2)
    of_ten = np.repeat(gains, 2, axis=0), np.repeat(covariances / 100, 2, axis=0)
    apart, found = fitted(*of_ten), fitted(*of_ten, np.arange(10) // 2)
    five = fitted(gains, covariances / 200)
    assert (found.means.std(axis=0) > 1.25 * apart.means.std(axis=0)).all()
    assert found.means.std(axis=0) == pytest.approx(five.means.std(axis=0), rel=0.2)


def test_llms_of_one_vendor_tell_of_another_of_it_and_of_no_other_vendor():
    gains, covariances = data_set(14, 6, 2)
    found = fitted(gains, covariances, ["a"] * 6)
    assert (found.reason, found.new) == ("one_vendor", None)
    further = found.further(0, rng=np.random.default_rng(1))
    assert further.gain == pytest.approx(gains.mean(axis=0), abs=5)
    asked = found.asked(0, rng=np.random.default_rng(1))
    assert (asked.gain_high - asked.gain_low < further.gain_high - further.gain_low).all()
    assert leave_one_out_log_score(gains, covariances, ["a", "b"] * 3) == (None, None)


def test_techniques_that_surely_gain_or_lose_put_no_technique_last_or_first():
    gains, covariances = data_set(12, 8, 3)
    gains -= gains.mean(axis=0)
    for shift, first, place in ((30, 0.0, 4), (-30, 1.0, 1)):
        found = fitted(gains + shift, covariances)
        assert found.p_best[-1] == pytest.approx(first, abs=0.01)
        assert tuple(found.ranks[:, -1]) == (place, place)
        assert found.new.p_best[-1] == pytest.approx(first, abs=0.05)
    alone = fitted(gains[:, :1], covariances[:, :1, :1])
    assert alone.p_best == pytest.approx([0.5, 0.5], abs=0.15), "of one technique, it or none"


@pytest.mark.parametrize("n_llms", [0, 1, 4])
def test_fewer_than_five_llms_foretell_nothing(n_llms):
    gains, covariances = np.ones((n_llms, 2)), np.ones((n_llms, 2, 2))
    assert fitted(gains, covariances) == Fit(n_llms, reason="too_few_llms")
    assert leave_one_out_log_score(gains, covariances, range(n_llms)) == (None, None)


def test_a_technique_of_four_llms_foretells_nothing():
    assert fitted(*data_set(1, lacking=[(0, 1), (3, 1)])).reason == "too_few_llms"


def test_llms_without_any_variance_foretell_nothing():
    gains = np.tile([0.1 + 0.2, 5.0], (6, 1))
    gains[0, 0] = 0.3
    assert fitted(gains, np.zeros((6, 2, 2))).reason == "zero_variance"
    assert fitted(np.zeros((6, 2)), np.zeros((6, 2, 2))).reason == "zero_variance"
    assert leave_one_out_log_score(gains, np.zeros((6, 2, 2)), range(6)) == (None, None)


@pytest.mark.parametrize("n_techniques", [1, 3])
@pytest.mark.parametrize("size", [0.0, 1e-6, 1e6])
def test_trials_that_say_all_or_nothing_do_no_harm(n_techniques, size):
    gains, covariances = data_set(11, 5, n_techniques)
    for measured in (gains, np.zeros_like(gains) + (size == 0) * gains[:, :1]):
        if size == 0 or measured is gains:
            found = fitted(measured, size * covariances, n_draws=200)
            assert np.isfinite([found.means.sum(), found.between_sd, *found.new.gain_high]).all()
            assert np.isfinite(found.asked(0, rng=np.random.default_rng(1)).gain).all()


def test_gains_that_are_alike_leave_only_what_trials_leave_open():
    found = fitted(np.full((8, 2), 3.0), np.tile(4 * np.eye(2), (8, 1, 1)))
    assert found.reason is None
    assert found.means.mean(axis=0) == pytest.approx([3, 3], abs=0.5)
    assert 0 < found.between_sd < 2


@pytest.mark.parametrize(
    ("gains", "covariances", "losses", "says"),
    [
        (np.ones((6, 2)), np.ones((6, 2)), np.ones((6, 2)), r"covariances \(G, K, K\)"),
        (np.ones((6, 2)), np.ones((6, 2, 2)), np.ones((5, 2)), "control's loss"),
        (np.vstack([np.ones((6, 2)), [[np.nan] * 2]]), np.ones((7, 2, 2)), np.ones((7, 2)), "no gain at all"),
        (np.ones((6, 2)), np.full((6, 2, 2), np.nan), np.ones((6, 2)), "no sampling covariance"),
        (np.ones((5, 2)), np.ones((5, 2, 2)), np.ones((5, 2)), "vendor of each LLM, got 6 of 5"),
    ],
)
def test_arrays_that_do_not_fit_are_told_so(gains, covariances, losses, says):
    with pytest.raises(ValueError, match=says):
        fit(gains, covariances, losses, range(6 + (len(gains) == 7)), rng=np.random.default_rng(1))


def test_the_simulated_trials_have_the_covariance_that_is_given_to_the_fit():
    rng = np.random.default_rng(1)
    data = calibration.simulated(40_000, rng, sd_of_means=0)
    assert (data.means == 0).all()
    between = np.cov(data.gains.T) - data.covariances.mean(axis=0)
    assert between[0, 1] == pytest.approx(between[2, 3], rel=0.1)
    assert 4**2 * 0.9 < between[0, 0] - between[0, 1] < 8**2 * 1.1


def test_what_is_said_with_a_probability_comes_true_about_as_often():
    found = calibration.events(5, 400, np.random.default_rng(5))
    for name in calibration.STATED:
        stated, true = found[name][(found[name][:, 0] >= 0.75) & (found[name][:, 0] < 0.975)].T
        assert len(stated) > 40, name
        assert true.mean() == pytest.approx(stated.mean(), abs=0.1), name
    assert 0.92 < found["prediction interval"][:, 1].mean() < 0.98
