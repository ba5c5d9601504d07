"""Agreement of judges: labels worked by hand, statsmodels, and what a new order or new names may not change."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats import inter_rater

from analysis.methods.agreement import (
    accuracy,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    label_counts,
    share_agreeing,
)

LABELS = [list("PPP"), list("NNU"), list("UUU"), ["P", "N", None]]
# Krippendorff's own example (2004, p. 227): four observers, twelve units, some labels missing
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, np.nan, np.nan, np.nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, np.nan, 3],
        [np.nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, np.nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, np.nan],
    ]
).T
tables = st.lists(st.lists(st.sampled_from("PNU"), min_size=3, max_size=3), min_size=2, max_size=12)


def counts_of(labels):
    return label_counts(labels)[0]


def test_the_labels_of_the_worked_example_agree_as_they_should():
    assert krippendorff_alpha(counts_of(LABELS)).estimate == pytest.approx(0.5)
    assert fleiss_kappa(counts_of(LABELS[:3])).estimate == pytest.approx(17 / 26)


def test_fleiss_leaves_out_items_that_a_judge_did_not_label_and_says_how_many_are_left():
    found = fleiss_kappa(counts_of(LABELS))
    assert (found.estimate, found.n_items, found.n_labels) == (pytest.approx(17 / 26), 3, 9)
    assert (krippendorff_alpha(counts_of(LABELS)).n_items, krippendorff_alpha(counts_of(LABELS)).n_labels) == (4, 11)


def test_krippendorffs_own_example_gives_the_published_alpha():
    found = krippendorff_alpha(counts_of(OBSERVERS))
    assert found.estimate == pytest.approx(0.743, abs=5e-4)
    assert (found.n_items, found.n_labels) == (11, 40)


def test_the_share_that_agrees_is_the_mean_over_items_of_pairs():
    found = share_agreeing(counts_of(LABELS))
    assert found.estimate == pytest.approx((1 + 1 / 3 + 1 + 0) / 4)
    assert share_agreeing(counts_of([["P", "N"], ["P", "P"], ["U", "U"], ["N", None]])).estimate == pytest.approx(2 / 3)


@settings(max_examples=50, deadline=None)
@given(tables)
def test_kappas_are_those_of_statsmodels(labels):
    assume(len({label for row in labels for label in row}) > 1)
    counts = counts_of(labels)
    assert fleiss_kappa(counts).estimate == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-12)
    first, second = ([row[judge] for row in labels] for judge in (0, 1))
    found = cohen_kappa(first, second)
    table, _ = inter_rater.to_table(np.array([["PNU".index(label) for label in row[:2]] for row in labels]), bins=3)
    if found.reason != "one_label":
        assert found.estimate == pytest.approx(inter_rater.cohens_kappa(table, return_results=False), abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(tables, st.permutations(range(3)), st.randoms(use_true_random=False))
def test_a_new_order_of_judges_or_items_and_new_names_change_nothing(labels, judges, random):
    names = dict(zip("PNU", ("yes", "no", "unsure"), strict=True))
    moved = [[names[row[judge]] for judge in judges] for row in labels]
    random.shuffle(moved)
    for coefficient in (share_agreeing, fleiss_kappa, krippendorff_alpha):
        one, other = coefficient(counts_of(labels)), coefficient(counts_of(moved))
        assert (one.reason, one.n_items) == (other.reason, other.n_items)
        for name in ("estimate", "low", "high"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(tables)
def test_cohens_kappa_is_the_same_whoever_comes_first(labels):
    first, second = ([row[judge] for row in labels] for judge in (0, 1))
    one, other = cohen_kappa(first, second), cohen_kappa(second, first)
    assert one.reason == other.reason
    assert (one.estimate, one.low) == (pytest.approx(other.estimate), pytest.approx(other.low))


@pytest.mark.parametrize("coefficient", [fleiss_kappa, krippendorff_alpha])
def test_an_interval_leaves_out_one_item_after_the_other(coefficient):
    labels = [*LABELS[:3], list("PPN"), list("NNN"), list("UUP")]
    found = coefficient(counts_of(labels))
    left_out = np.array([coefficient(counts_of(labels[:i] + labels[i + 1 :])).estimate for i in range(6)])
    error = np.sqrt(5 / 6 * ((left_out - left_out.mean()) ** 2).sum())
    half = stats.t.ppf(0.975, 5) * error
    assert (found.low, found.high) == pytest.approx((found.estimate - half, min(found.estimate + half, 1)))


def test_no_bound_lies_where_no_coefficient_can_be():
    # Student's t of four items would put Cohen's kappa between -2.48 and 2.48, and shares of 1/12 and 1/6 below 0
    assert (cohen_kappa("PNPN", "PPNN").low, cohen_kappa("PNPN", "PPNN").high) == (-1, 1)
    assert share_agreeing(counts_of([list(of) for of in ("PNU", "UPN", "PPN", "UNP")])).low == 0
    assert accuracy([["P", "N"], ["N", "N"], ["N", "N"]], ["P", "P", "P"]).low == 0


@settings(max_examples=50, deadline=None)
@given(tables)
def test_an_interval_of_agreement_holds_its_estimate_and_lies_within_what_is_possible(labels):
    counts = counts_of(labels)
    shares = share_agreeing(counts), accuracy(labels, ["P"] * len(labels))
    beyond_chance = cohen_kappa(*np.array(labels).T[:2]), fleiss_kappa(counts), krippendorff_alpha(counts)
    for found, least in [*((of, 0) for of in shares), *((of, -1) for of in beyond_chance)]:
        assert found.low is None or least <= found.low <= found.estimate <= found.high <= 1


def test_an_item_with_many_judges_counts_as_one():
    rng = np.random.default_rng(1)
    key = np.array(["P", "N"] * 50)
    one = np.where(rng.random(100) < 0.8, key, "U")
    alone, repeated = accuracy(one, key), accuracy(np.column_stack([one] * 5), key)
    assert (repeated.n_items, repeated.n_labels) == (100, 500)
    assert repeated.estimate == pytest.approx(alone.estimate)
    assert repeated.high - repeated.low == pytest.approx(alone.high - alone.low, rel=0.08)


def test_accuracy_has_the_exact_interval_of_a_share():
    found = accuracy(["P", "N", "P", None, "U"], ["P", "N", "N", "P", None])
    expected = stats.binomtest(2, 3).proportion_ci(method="exact")
    assert (found.estimate, found.low, found.high) == pytest.approx((2 / 3, *expected))
    assert (found.n_items, found.n_labels) == (3, 3)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (krippendorff_alpha(counts_of([["P", None], [None, "N"]])), "no_pair"),
        (fleiss_kappa(counts_of([["P", "N"]])), "one_item"),
        (krippendorff_alpha(counts_of([["P", "P"]] * 3)), "one_label"),
        (cohen_kappa("PPP", "PPP"), "one_label"),
        (fleiss_kappa(counts_of([["P", "P"], ["N", "N"], ["P", "P"], ["N", "N"]])), "zero_variance"),
        (cohen_kappa("PPPN", "PPPN"), "one_item_decides"),
        (share_agreeing(counts_of([["P", "P", "P"]] * 4)), "zero_variance"),
        (accuracy([None], ["P"]), "no_label"),
    ],
)
def test_what_has_no_interval_says_why(found, reason):
    assert (found.reason, found.low, found.high) == (reason, None, None)


def test_two_judges_who_always_agree_have_an_interval_of_their_share():
    found = share_agreeing(counts_of([["P", "P"]] * 20))
    assert (found.estimate, found.high) == (1, 1)
    assert found.low == pytest.approx(0.025 ** (1 / 20))


def test_labels_and_a_key_of_other_lengths_are_an_error():
    with pytest.raises(ValueError, match="a correct label for each item"):
        accuracy(["P", "N"], ["P"])


def drawn_judges(rng, n_items, n_judges, right=0.92):
    """Labels of judges who are right with this chance, and otherwise give one of the two other labels."""
    key = rng.integers(0, 3, n_items)
    wrong = (key[:, None] + rng.integers(1, 3, (n_items, n_judges))) % 3
    return np.where(rng.random((n_items, n_judges)) < right, key[:, None], wrong), key


def test_the_truth_of_a_judge_right_in_92_percent_of_5000_items_is_covered():
    agreeing = 0.92**2 + 2 * 0.04**2
    beyond_chance = (agreeing - 1 / 3) / (2 / 3)
    true = {"accuracy": 0.92, "share": agreeing} | dict.fromkeys(("cohen", "fleiss", "alpha"), beyond_chance)
    rng = np.random.default_rng(2)
    labels, key = drawn_judges(rng, 5000, 2)
    counts = counts_of(labels)
    found = {
        "accuracy": accuracy(labels[:, 0], key),
        "share": share_agreeing(counts),
        "cohen": cohen_kappa(*labels.T),
        "fleiss": fleiss_kappa(counts),
        "alpha": krippendorff_alpha(counts),
    }
    for name, one in found.items():
        assert one.low < true[name] < one.high, name
        assert one.high - one.low < 0.04, name


def test_intervals_by_items_cover_as_often_as_they_say():
    rng = np.random.default_rng(3)
    true = ((0.8**2 + 2 * 0.1**2) - 1 / 3) / (2 / 3)
    held = np.zeros(2)
    for _ in range(500):
        labels, _ = drawn_judges(rng, 150, 3, right=0.8)
        labels = np.where(rng.random(labels.shape) < 0.05, None, labels.astype(object))
        for place, coefficient in enumerate((fleiss_kappa, krippendorff_alpha)):
            found = coefficient(counts_of(labels))
            held[place] += found.low <= true <= found.high
    assert (held / 5 > 92).all()
    assert (held / 5 < 98).all()
