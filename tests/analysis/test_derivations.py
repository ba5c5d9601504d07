"""Derived claims: sums done by hand, scipy as oracle, and ranges that no input within its rounding leaves."""

import math
import re

import duckdb
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.claims.derivations import (
    COLUMNS,
    DERIVATIONS,
    derive,
    derive_range,
    derived_claims,
    printed_interval,
)
from ingest.warehouse import ROOT

CLAIM = {
    "part": None, "published_value": 0.0, "decimals": 1, "unit": "pp", "comparison": "=", "derivation": None,
    "inputs": None, "inputs_are": None, "input_decimals": None, "recommended_quantity": None,
    "recommended_inputs": None, "llm": None,
}  # fmt: skip
TABLES = ["chi_squared", "chi_squared_yates", "p_of_chi_squared", "p_of_chi_squared_yates"]


@pytest.mark.parametrize(
    ("derivation", "inputs", "expected"),
    [
        ("sum", [1, 2, 4.5], 7.5),
        ("mean", [1, 2, 6], 3),
        ("difference", [6.05, 4], 2.05),
        ("percent_change", [30, 25], 20),
        ("percent_change", [-15, -10], -50),
        ("range", [3, 8, 5], 5),
        ("mean_distance_from_100", [90, 130], 20),
        ("rank", [2, 1, 3, 2], 2),
        ("rank", [2, 2 - 1e-10, 3], 1),
        ("count_below", [5, 1, 5, 4, 9], 2),
        ("complement", [0.6033], 0.3967),
        ("complement_percent", [60.25], 39.75),
        ("complement_percent", [75, 35, 10], 60),
        ("count", [7.5, 7.5, 0], 3),
        ("count_of_larger", [2, 1, 1, 2, 3, 3], 1),
        ("count_of_larger_means_of_three", [1, 2, 6, 3, 3, 2, 1, 1, 1, 0, 1, 2], 1),
        # 100 differences with mean .02 and SE .001: an SD of .01, and the threshold three of these above the mean
        ("most_percent_with_primacy", [0.82, 0.8, 20, 100], 100 / 10),
        # 20 and 10 of 30, as 66.7 % and 33.3 % of 10 people with 3 choices each
        ("chi_squared_yates_of_shares", [66.7, 33.3, 10, 3], 60 * 270**2 / 30**4),
        ("minimum", [3, -1, 2], -1),
        ("maximum", [3, -1, 2], 3),
        ("df_of_two_groups", [39], 37),
        ("chi_squared", [20, 10, 10, 20], 60 * 300**2 / 30**4),
        ("chi_squared_yates", [20, 10, 10, 20], 60 * 270**2 / 30**4),
        ("chi_squared_yates", [10, 10, 10, 11], 0),
        ("p_of_chi_squared_yates", [10, 10, 10, 11], 1),
    ],
)
def test_a_derivation_gives_what_is_worked_by_hand(derivation, inputs, expected):
    assert derive(derivation, inputs) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("derivation", "inputs"), [("percent_change", [5, 0]), ("chi_squared", [0, 0, 3, 4]), ("p_of_t", [2, 0])]
)
def test_what_is_not_defined_is_nan_with_a_range_that_is_too(derivation, inputs):
    assert math.isnan(derive(derivation, inputs))
    assert all(map(math.isnan, derive_range(derivation, [(x, x) for x in inputs])))


def test_a_percent_change_of_what_may_be_0_has_no_range():
    assert all(map(math.isnan, derive_range("percent_change", [(5, 6), (-0.05, 0.05)])))


@given(st.lists(st.integers(1, 400), min_size=4, max_size=4))
def test_chi_squared_and_its_p_are_scipys(counts):
    table = [counts[:2], counts[2:]]
    for name, corrected in (("chi_squared", False), ("chi_squared_yates", True)):
        expected = stats.chi2_contingency(table, correction=corrected)
        assert derive(name, counts) == pytest.approx(expected.statistic, rel=1e-9, abs=1e-9)
        assert derive(f"p_of_{name}", counts) == pytest.approx(expected.pvalue, rel=1e-7)


@given(st.floats(-40, 40), st.floats(0.5, 1e4))
def test_the_p_of_t_is_scipys(t, df):
    assert derive("p_of_t", [t, df]) == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-9)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=6))
def test_a_place_is_one_more_than_the_number_below(values):
    assert derive("rank", values) == 1 + derive("count_below", values)


@st.composite
def boxes(draw, derivation):
    """Intervals of each input, and how far along each a point of the box lies."""
    known = DERIVATIONS[derivation].n_inputs
    n = known or DERIVATIONS[derivation].in_groups_of * draw(st.integers(1, 5))
    lows = st.integers(0, 60) if DERIVATIONS[derivation].takes_counts else st.floats(-150, 150)
    widths = st.one_of(st.just(0.0), st.floats(0, 30))
    intervals = [(low, low + draw(widths)) for low in draw(st.lists(lows, min_size=n, max_size=n))]
    if derivation in ("p_of_t", "p_of_paired_t"):
        intervals[1] = tuple(abs(bound) + 1.5 for bound in sorted(intervals[1], key=abs))
    elif derivation == "most_percent_with_primacy":
        middle, gap, wide = draw(st.floats(0, 0.9)), draw(st.floats(0.001, 0.04)), draw(st.floats(0, 0.0005))
        intervals = [(middle + gap, middle + gap + wide), (middle - wide, middle), (9, 30), (500, 1000)]
    elif derivation.endswith("_of_shares"):
        shares = [
            (low, low + draw(st.floats(0, 1))) for low in draw(st.lists(st.floats(1, 98), min_size=2, max_size=2))
        ]
        intervals = [*shares, *((n, n) for n in draw(st.lists(st.integers(5, 60), min_size=2, max_size=2)))]
    return intervals, draw(st.lists(st.floats(0, 1), min_size=n, max_size=n))


@pytest.mark.slow("ranges against many points within")
@pytest.mark.parametrize("derivation", DERIVATIONS)
@settings(max_examples=200)
@given(st.data())
def test_no_point_of_the_box_leaves_the_range(derivation, data):
    intervals, along = data.draw(boxes(derivation))
    low, high = derive_range(derivation, intervals)
    assume(not math.isnan(low))
    point = [a + share * (b - a) for (a, b), share in zip(intervals, along, strict=True)]
    slack = 1e-9 * max(1, abs(low), abs(high))
    assert low - slack <= derive(derivation, point) <= high + slack


@pytest.mark.parametrize("derivation", DERIVATIONS)
@settings(max_examples=50)
@given(st.data())
def test_the_range_of_a_point_is_its_value(derivation, data):
    intervals, _ = data.draw(boxes(derivation))
    point = [low for low, _ in intervals]
    value = derive(derivation, point)
    assume(not math.isnan(value))
    assert derive_range(derivation, [(x, x) for x in point]) == pytest.approx((value, value), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("derivation", "intervals", "expected"),
    [
        ("difference", [(6.045, 6.055), (3.995, 4.005)], (2.04, 2.06)),
        ("range", [(0, 4), (3, 5)], (0, 5)),
        ("range", [(0, 1), (3, 5)], (2, 5)),
        ("range", [(0, 4)], (0, 0)),
        ("mean_distance_from_100", [(95, 110)], (0, 10)),
        ("mean_distance_from_100", [(90, 95), (110, 120)], (7.5, 15)),
        ("rank", [(2, 4), (1, 1.5), (3, 5), (4, 6)], (2, 3)),
        ("percent_change", [(30, 40), (20, 25)], (20, 100)),
        ("percent_change", [(-5, 5), (-20, -10)], (50, 150)),
        ("minimum", [(1, 3), (2, 4)], (1, 3)),
        ("p_of_t", [(-1, 2), (37, 37)], (derive("p_of_t", [2, 37]), 1)),
        ("chi_squared", [(5, 15), (10, 10), (10, 10), (10, 10)], (0, derive("chi_squared", [5, 10, 10, 10]))),
    ],
)
def test_a_range_is_no_wider_than_the_box_makes_it(derivation, intervals, expected):
    assert derive_range(derivation, intervals) == pytest.approx(expected)


AGREEMENTS = [
    (18.1499, 18.1499, 18.1, 1, "=", True),
    (18.1501, 18.1501, 18.1, 1, "=", False),
    (72.85, 72.85, 72.9, 1, "=", True),  # on the border it is 72.9 too
    (14, 14, 20, -1, "=", False),
    (15, 15, 20, -1, "=", True),
    (2.04, 2.06, 2.1, 1, "=", True),
    (2.04, 2.049, 2.1, 1, "=", False),
    (3.24e-12, 3.24e-12, 3.2e-12, 13, "=", True),
    (3.24e-12, 3.24e-12, 4.1e-12, 13, "=", False),
    (0.042, 0.043, 0.05, 2, "<", True),
    (0.049, 0.051, 0.05, 2, "<", True),
    (0.05, 0.051, 0.05, 2, "<", False),
    (0.049, 0.051, 0.05, 2, ">", True),
    (0.049, 0.05, 0.05, 2, ">", False),
]


def could_print(low, high, published, decimals, comparison):
    """Ask the ledger's own SQL."""
    text = (ROOT / "macros/claims.sql").read_text(encoding="utf-8")
    rule = re.search(r"macro could_print\(.*?-%}(.*?){%- endmacro", text, re.DOTALL)[1]
    sql = re.sub(r"{{ (\w+) }}", r"\1", rule)
    values = f"values ({low}::double, {high}::double, {published}::double, {decimals}, '{comparison}')"
    names = "low, high, published, decimals, comparison"
    ((agrees,),) = duckdb.sql(f"select {sql} from ({values}) as printed ({names})").fetchall()
    return agrees


@pytest.mark.parametrize(("low", "high", "published", "decimals", "comparison", "expected"), AGREEMENTS)
def test_a_range_agrees_with_what_is_printed_where_a_part_of_it_does(
    low, high, published, decimals, comparison, expected
):
    assert could_print(low, high, published, decimals, comparison) is expected


@pytest.mark.parametrize("value", [18.1, -2.05, 0.0])
def test_what_is_printed_stands_for_all_that_rounds_to_it(value):
    assert printed_interval(value, 2) == pytest.approx((value - 0.005, value + 0.005))
    assert printed_interval(value, -1) == pytest.approx((value - 5, value + 5))
    assert printed_interval(value, 0, is_exact=True) == (value, value)


def claim(claim_id, **changed):
    return CLAIM | {"claim_id": claim_id} | changed


def looked_up(claim_id, recomputed, recommended=None, low=None, high=None, **changed):
    values = {"recomputed_value": recomputed, "n_trials": 7, "n_llms": None}
    of = {"recommended_value": recommended, "recommended_low": low, "recommended_high": high}
    return {"claim_id": claim_id, "part": None, "of_version": "cited"} | values | of | changed


def cited(claims, found=()):
    rows = [row for row in derived_claims(claims, found) if row["of_version"] == "cited"]
    return {row["claim_id"] if row["part"] is None else (row["claim_id"], row["part"]): row for row in rows}


def test_claims_are_derived_to_any_depth_whatever_their_order():
    chain = [claim(f"c{i}", derivation="sum", inputs=f"c{i - 1} c0") for i in range(9, 0, -1)]
    rows = cited([*chain, claim("c0")], [looked_up("c0", 1.0)])
    assert {name: row["recomputed_value"] for name, row in rows.items()} == {f"c{i}": i + 1 for i in range(10)}


def test_each_claim_is_there_once_per_version_and_each_version_derives_from_its_own():
    claims = [claim("a"), claim("b", derivation="sum", inputs="a a"), claim("unknown")]
    rows = derived_claims(claims, [looked_up("a", 1.0), looked_up("a", 5.0, of_version="newest")])
    assert all(row.keys() == COLUMNS.keys() for row in rows)
    assert {(row["claim_id"], row["of_version"]): row["recomputed_value"] for row in rows} == {
        ("a", "cited"): 1, ("b", "cited"): 2, ("unknown", "cited"): None,
        ("a", "newest"): 5, ("b", "newest"): 10, ("unknown", "newest"): None,
    }  # fmt: skip


def test_inputs_are_rounded_where_the_authors_did_so_and_parts_are_named_by_their_claim():
    claims = [
        claim("high", part="b"),
        claim("low"),
        claim("rounded", derivation="percent_change", inputs="high/b low", input_decimals=1),
        claim("unrounded", derivation="percent_change", inputs="high/b low"),
    ]
    rows = cited(claims, [looked_up("high", 30.06, part="b"), looked_up("low", 26.0)])
    assert rows["rounded"]["recomputed_value"] == pytest.approx(100 * 4.1 / 26)
    assert rows["unrounded"]["recomputed_value"] == pytest.approx(100 * 4.06 / 26)


@pytest.mark.parametrize(("value", "rounded"), [(72.85, 72.9), (0.25, 0.3), (-0.25, -0.3), (0.24, 0.2)])
def test_halves_are_rounded_away_from_zero_as_sql_does(value, rounded):
    claims = [claim("a"), claim("b", derivation="sum", inputs="a", input_decimals=1)]
    in_sql = duckdb.execute("select round(?::double, 1)", [value]).fetchall()[0][0]
    assert cited(claims, [looked_up("a", value)])["b"]["recomputed_value"] == in_sql == rounded


def test_a_claim_that_was_looked_up_keeps_what_was_found():
    claims = [claim("a"), claim("b", derivation="sum", inputs="a a")]
    rows = cited(claims, [looked_up("a", 1.0, 2.0), looked_up("b", 9.0, 8.0, 7.0, 10.0)])
    assert (rows["b"]["recomputed_value"], rows["b"]["recommended_value"]) == (9, 8)
    assert (rows["b"]["recommended_low"], rows["b"]["recommended_high"], rows["b"]["n_trials"]) == (7, 10, 7)


def test_a_recommended_interval_needs_one_of_each_input_and_counts_the_fewest_llms():
    claims = [
        claim("a"), claim("b"), claim("of_no_interval"), claim("of_no_value"),
        claim("both", derivation="difference", inputs="a b"),
        claim("of_its_own", derivation="difference", inputs="a b", recommended_quantity="spread"),
        claim("point", derivation="difference", inputs="a of_no_interval"),
        claim("none", derivation="difference", inputs="a of_no_value"),
    ]  # fmt: skip
    found = [
        looked_up("a", 1.0, 10.0, 8.0, 13.0, n_llms=10), looked_up("b", 1.0, 4.0, 3.0, 5.0, n_llms=4),
        looked_up("of_no_interval", 1.0, 4.0), looked_up("of_no_value", 1.0),
    ]  # fmt: skip
    rows = cited(claims, found)
    names = ("recommended_value", "recommended_low", "recommended_high", "n_llms", "recomputed_low")
    assert {name: tuple(row[of] for of in names) for name, row in rows.items() if row["recomputed_value"] == 0} == {
        "both": (6, 3, 10, 4, None), "of_its_own": (None,) * 5, "point": (6, None, None, 10, None), "none": (None,) * 5,
    }  # fmt: skip


def test_what_is_derived_from_six_numbers_of_one_llm_each_rests_on_six_llms():
    llms = "abcdef"
    claims = [claim(llm, llm=llm) for llm in llms]
    claims += [claim("mean", derivation="mean", inputs=" ".join(llms)), claim("twice", derivation="mean", inputs="a a")]
    claims += [claim("above", derivation="difference", inputs="mean a")]
    rows = cited(claims, [looked_up(llm, 1.0, 4.0, 3.0, 5.0, n_llms=1) for llm in llms])
    assert [rows[name]["n_llms"] for name in ("mean", "twice", "above")] == [6, 1, 1]


def of_people(**changed):
    claims = [
        claim("low", published_value=4.00, decimals=2, unit="months"),
        claim("high", published_value=6.05, decimals=2, unit="months"),
        claim("t", published_value=2.10, decimals=2, unit="1"),
        claim("n", published_value=39.0, decimals=0, unit="people"),
        claim("df", published_value=37.0, decimals=0, unit="degrees of freedom",
              derivation="df_of_two_groups", inputs="n", inputs_are="printed"),
        claim("difference", published_value=2.05, decimals=2, unit="months",
              derivation="difference", inputs="high low", inputs_are="printed"),
        claim("p", published_value=0.05, decimals=2, unit="1", comparison="<",
              derivation="p_of_t", inputs="t df", inputs_are="printed"),
    ]  # fmt: skip
    for of in claims:
        of["published_value"] = changed.get(of["claim_id"], of["published_value"])
    return {of["claim_id"]: of for of in claims}


def agrees(claims):
    rows = cited(claims.values())
    return {
        name: could_print(row["recomputed_low"], row["recomputed_high"], *printed)
        for name, row in rows.items()
        if row["recomputed_low"] is not None
        for printed in [[claims[name][of] for of in ("published_value", "decimals", "comparison")]]
    }


def test_a_printed_input_that_changes_flips_the_claims_that_rest_on_it_and_no_other():
    assert agrees(of_people()) == {"df": True, "difference": True, "p": True}
    assert agrees(of_people(high=6.01)) == {"df": True, "difference": False, "p": True}
    assert agrees(of_people(t=2.01)) == {"df": True, "difference": True, "p": False}
    assert agrees(of_people(n=40.0)) == {"df": False, "difference": True, "p": True}
    # printed numbers are what a claim follows from, not what other claims make of them
    assert agrees(of_people(df=6.0)) == {"df": False, "difference": True, "p": False}


def test_the_range_of_a_claim_is_what_its_inputs_allow_before_rounding_and_counts_are_exact():
    rows = cited(of_people().values())
    bounds = {name: (row["recomputed_low"], row["recomputed_high"]) for name, row in rows.items()}
    assert bounds["df"] == (37, 37)
    assert bounds["difference"] == pytest.approx((2.04, 2.06))
    assert bounds["p"] == pytest.approx((2 * stats.t.sf(2.105, 37), 2 * stats.t.sf(2.095, 37)))
    assert bounds["t"] == (None, None)
    assert rows["p"]["recomputed_value"] == pytest.approx(2 * stats.t.sf(2.10, 37))


def test_what_is_recommended_of_printed_numbers_is_derived_from_those_that_the_claim_names():
    claims = [
        claim("actual", published_value=39.7, llm="a"), claim("strict", published_value=14.7, llm="a"),
        claim("other", published_value=12.7, llm="b"),
        claim("wrong", derivation="complement_percent", inputs="actual", inputs_are="printed",
              recommended_inputs="strict other"),
        claim("of_none", derivation="complement_percent", inputs="actual", inputs_are="printed"),
    ]  # fmt: skip
    rows = cited(claims)
    assert rows["wrong"]["recomputed_value"] == pytest.approx(60.3)
    names = ("recommended_value", "recommended_low", "recommended_high", "n_llms")
    assert [rows["wrong"][name] for name in names] == [pytest.approx(86.3), None, None, 2]
    assert [rows["of_none"][name] for name in names] == [None] * 4


def test_counts_are_exact_in_a_table_whatever_their_unit_and_otherwise_only_where_it_is_counted():
    counts = {"a": 20.0, "b": 10.0, "c": 10.0, "d": 20.0}
    cells = [claim(name, published_value=n, decimals=0, unit="texts") for name, n in counts.items()]
    table = claim("table", derivation="chi_squared", inputs="a b c d", inputs_are="printed")
    total = claim("total", derivation="sum", inputs="a b", inputs_are="printed")
    rows = cited([*cells, table, total])
    assert rows["table"]["recomputed_low"] == rows["table"]["recomputed_high"] == pytest.approx(60 * 300**2 / 30**4)
    assert (rows["total"]["recomputed_low"], rows["total"]["recomputed_high"]) == (29, 31)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"inputs": "a no_such"}, "The claim b derives from no_such, which is no claim."),
        ({"derivation": "product"}, "The claim b has the derivation product, which is none of sum, mean, "),
        ({"inputs": "a"}, "The claim b names 1 inputs; difference takes 2."),
        ({"derivation": "sum", "inputs": None}, "The claim b names 0 inputs; sum takes one or more."),
        ({"inputs": "a b"}, "The claim b derives from itself."),
        ({"derivation": "count_of_larger", "inputs": "a a a"},
         "The claim b names 3 inputs; count_of_larger takes groups of 2."),
        ({"recommended_inputs": "a no_such"}, "The claim b derives from no_such, which is no claim."),
        ({"inputs": "bound a", "inputs_are": "printed"},
         "The claim b derives from bound, of which only a bound is printed, no number."),
    ],
)  # fmt: skip
def test_a_claim_that_cannot_be_derived_as_it_says_is_named(changed, message):
    claims = [claim("a"), claim("bound", comparison="<"), claim("b", derivation="difference", inputs="a a") | changed]
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        derived_claims(claims, [])


def test_a_circle_of_claims_is_said_claim_by_claim():
    claims = [claim(name, derivation="sum", inputs=of) for name, of in [("a", "b"), ("b", "c"), ("c", "a")]]
    with pytest.raises(ValueError, match="derives from itself by way of"):
        derived_claims(claims, [])
