"""What `bais headlines` says of studies of people, and what the page draws."""

import html
import math
import re
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bais import people
from bais.main import main
from tests.tools.contracts import fill
from tests.tools.human_coverage import simulated_choices
from tests.tools.report_page import make_warehouse, numbers_that_differ


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.5, 2.0), (-1.0, 2.0), (-2.0, -0.5)],
    ids=["odds above 1", "odds of 1", "odds below 1"],
)
def test_a_study_of_people_is_told_by_the_side_on_which_its_interval_lies(monkeypatch, low, high, golden):
    monkeypatch.setattr(people, "is_public", lambda warehouse, name: name == "human_choice_effects")
    with duckdb.connect() as warehouse:
        effect = {
            "study": "shop", "method": "gee_exchangeable", "estimate": (low + high) / 2, "low": low, "high": high,
            "n_participants": 70, "n_choices": 700,
        }  # fmt: skip
        choices = [{"study": "shop"}, {"study": "gone"}]
        fill(warehouse, {"people.human_choice_effects": [effect], "people.human_choices": choices})
        sentences = people.sentences_on_people(warehouse)
        sentence = sentences["shop"]
    golden(sentences["gone"], "0 choices of 0 people")
    golden(sentence)
    assert f"{math.exp(low):.3g} to {math.exp(high):.3g}" in sentence


def p_of(choices):
    return float(stats.chi2_contingency(pd.crosstab(choices["format"], choices["is_target_chosen"])).pvalue)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Choices of 70 people, the warehouse that holds what follows from them, and its page on other biases."""
    path = tmp_path_factory.mktemp("people") / "w.duckdb"
    choices = simulated_choices(70, np.random.default_rng(7)).assign(study="shop", is_counted=True)
    choices["product"] = choices["product"].replace("product-01", "lamp <b>")
    shares, effects = [], [{"study": "shop", "method": "gee_exchangeable", "estimate": 1, "low": 0.5, "high": 1.5}]
    for product in [None, *choices["product"].unique()]:
        of_product = choices if product is None else choices[choices["product"] == product]
        effects.append({"study": "shop", "product": product, "method": "chi_square_yates", "p_value": p_of(of_product)})
        for form, rows in of_product.groupby("format"):
            n, k = len(rows), int(rows["is_target_chosen"].sum())
            interval = stats.binomtest(k, n).proportion_ci(method="wilson")
            shares.append({
                "study": "shop", "product": product, "format": form, "n_choices": n, "n_target_chosen": k,
                "share": k / n, "share_low": interval.low, "share_high": interval.high,
            })  # fmt: skip
    make_warehouse(path)
    with closing(duckdb.connect(str(path))) as warehouse:
        rows = [{"study": "shop", "participant": "a", "pair": "M|W"}]
        fill(warehouse, {"people.human_choices": rows, "people.human_choice_shares": shares,
                         "people.human_choice_effects": effects})  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(path))
        assert main(["report", "--out", str(path.parent / "site")]) == 0
    return choices, path, path.parent / "site"


def test_each_product_has_the_stars_that_scipys_chi_square_gives_it(page):
    choices, _, site = page
    text = (site / "biases.html").read_text(encoding="utf-8")
    drawn = html.unescape(text[text.index('<section id="people-0">') :])
    found = re.findall(r'<div class="panel"><p>(.*?)</p>', drawn)
    expected = []
    for product, rows in ((None, choices), *choices.groupby("product")):
        p_value = p_of(rows)
        marks = "***" if p_value < 0.001 else "**" if p_value < 0.01 else "*" if p_value < 0.05 else ""
        expected.append(f"{product or 'all products'} {marks}")
    assert found == expected
    k, n = (int(of(choices["is_target_chosen"][choices["format"] == "summary"])) for of in (sum, len))
    ends = [100 * end for end in stats.binomtest(k, n).proportion_ci(method="wilson")]
    assert f"summary {100 * k / n:.1f} %, {ends[0]:.1f} to {ends[1]:.1f}" in drawn
    assert {title.partition(" *")[2].count("*") for title in found} > {0, 1}


def test_every_number_of_the_figure_is_the_warehouses_and_simulated_pages_have_none(page):
    _, path, site = page
    with closing(duckdb.connect(str(path), read_only=True)) as warehouse:
        n, wrong = numbers_that_differ((site / "biases.html").read_text(encoding="utf-8"), warehouse)
    assert (wrong, n > 100) == ([], True)
    assert "human_choice_shares" not in (site / "test" / "biases.html").read_text(encoding="utf-8")


def test_the_figure_says_what_was_found(page, golden):
    text = (page[2] / "biases.html").read_text(encoding="utf-8")
    drawn = text[text.index('<section id="people-0">') :]
    words = [
        html.unescape(re.sub("<.*?>", "", found))
        for found in re.findall(r"<h3.*?</h3>|<figcaption>.*?</figcaption>", drawn)
    ]
    golden("\n".join(words))
