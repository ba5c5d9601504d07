"""`bais plan --to-settle`: the study file that would settle an open decision, or one sentence why there is none."""

import contextlib
import json

import duckdb
import pytest

from analysis.words.settling import settling as would_settle
from bais.main import main
from bais.places import asked
from bais.settle import next_study
from bais.warehouse import marts
from ingest.ask.collector import read_prices
from ingest.studies.design import Design
from ingest.studies.study import load_study, parse_study
from tests.tools.contracts import insert, make_tables

RELATIONS = (
    "raw.batches", "raw.items", "seeds.llm_aliases", "seeds.llms", "seeds.prices", "seeds.routers",
    "staging.stg_paradigms",
    "marts.trials", "inference.decisions", "inference.power",
)  # fmt: skip
OWN = """
study: own
llms: [{llm: vendor/a, max_tokens: 100}]
vignettes:
  - {vignette: fine, domain: traffic, response_unit: dollars, case: You judge., anchor: "{anchor}?", question: Which}
  - burglary
techniques:
  - no_technique
  - {technique: sleep_on_it, ranked: true, turns: ["{opening}", "Sleep on it. {answer_format}"]}
  - {technique: wait, turns: ["{opening}", "Wait. {answer_format}"]}
anchors: {proportional: {low: 0.6, high: 1.4}}
temperatures: [0, 1]
stopping_rule: {minimum: 20}
"""

RENTS = """
study: rents
llms: [{llm: vendor/a, max_tokens: 100}]
techniques: [no_technique, {technique: wait, ranked: true, turns: ["{opening}", "Wait. {answer_format}"]}]
temperatures: [0]
stopping_rule: {minimum: 10}
paradigm:
  paradigm: rents
  answer: {kind: number}
  arms: {none: , low: {anchor: {of: none, times: 0.5}}, high: {anchor: {of: none, times: 2}}}
  relative_to: none
  goals: {pull: {contrasts: [[high, low]], leads: true}, distance: {distance_of: [low, high]}}
  words: {kind: flat}
  items:
    id: place
    fields: [where]
    pair: twin
    rows: [{place: a, where: here, twin: x}, {place: b, where: there, twin: x}]
  vignettes:
    - {vignette: rent, domain: housing, response_unit: euro, case: "{kind} {where}", anchor: "{anchor}", question: Rent}
    - {vignette: price, domain: sales, response_unit: euro, case: "{kind} {where}", anchor: "{anchor}", question: Price}
"""


@pytest.fixture
def settling(tmp_path, monkeypatch):
    """Fill a warehouse, and return the exit code and what `bais plan` says."""
    path = tmp_path / "warehouse.duckdb"
    monkeypatch.setenv("BAIS_WAREHOUSE", str(path))
    monkeypatch.chdir(tmp_path)
    with duckdb.connect(str(path)) as warehouse:
        make_tables(warehouse, *RELATIONS)
        insert(warehouse, "seeds.llm_aliases", alias="b-alias", llm="vendor/b")
        for llm, vendor in (("vendor/a", "A"), ("vendor/b", "B"), ("vendor/c", "C"), ("sim/x", "sim/x")):
            insert(warehouse, "seeds.llms", llm=llm, vendor=vendor, is_askable=True)
        insert(warehouse, "seeds.llms", llm="vendor/base", vendor="D", is_askable=False)
        insert(warehouse, "seeds.prices", llm="vendor/c", usd_per_million_tokens_in=1.0)

    def fill(table, **of):
        of = ({"paradigm": "anchoring"} if not table.startswith(("raw.", "seeds.")) else {}) | of
        with contextlib.closing(duckdb.connect(str(path))) as warehouse:
            insert(warehouse, table, **of)

    return fill


def archive(fill, *, study="archive", domain="judicial", vignette="shoplifting", llms=("vendor/a",), technique="sacd"):
    """A recorded study: 45 trials in each cell, at two temperatures, anchors at 0.6 and 1.4 of the baseline."""
    for llm in llms:
        for temperature in (0.0, 1.0):
            for direction, value in (("low", 6.0), ("high", 14.0)):
                fill(
                    "marts.trials", study=study, domain=domain, llm=llm, vignette=vignette, temperature=temperature,
                    source="recorded", anchor_direction=direction, anchor_value=value, baseline=10.0,
                )  # fmt: skip
    fill(
        "inference.decisions",
        study=study,
        domain=domain,
        technique=technique,
        control="sacd_initial",
        comparison="control",
        goal="displacement",
        is_primary=True,
    )
    fill(
        "inference.decisions",
        study=study,
        domain=domain,
        technique=technique,
        control="random_control",
        comparison="placebo",
    )


def way(fill, quantity="needed_vendors", *, study="archive", domain="judicial", technique="sacd", surely=None, **of):
    """What settles it every second time, and four times in five: as many more, unless `surely` says how many."""
    known = {"settles": "use", "gain": 9.0, "n_llms": 1, "n_vendors": 1, "n_trials_per_cell": 45.0, "reason": None}
    keys = {"study": study, "domain": domain, "technique_a": technique, "design": "to_settle", "goal": "displacement"}
    for power, more in ((0.5, {}), (0.8, {quantity: surely} if surely else {})):
        fill("inference.power", **keys | known | of | more, quantity=quantity, power=power)
    fill("inference.decisions", study=study, domain=domain, goal="displacement", is_primary=True)


def planned(capsys, *arguments):
    code = main(["plan", *arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def refused(capsys, *arguments):
    code, out, err = planned(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err


def following(domain, goal="displacement"):
    with marts() as warehouse:
        (place,) = (place for place in asked(warehouse, "anchoring") if place["domain"] == domain)
        return next_study(warehouse, place, goal).sentence


def test_recorded_trials_without_prompts_are_asked_anew_in_a_study_of_its_own(settling, capsys, golden):
    archive(settling)
    way(settling, needed_vendors=2, surely=3)
    code, out, _ = planned(capsys, "--to-settle", "judicial")
    assert code == 0
    golden(out, "2 vendors", "3 with an 80 % chance", "1 LLM of 1 vendor")
    golden(out, "the decision", "`use`")
    study = load_study("archive-judicial.yaml")
    assert study.study == "archive-judicial"
    golden(" ".join(out.split()), "counted")
    assert [llm.llm for llm in study.llms] == ["vendor/a", "vendor/c", "vendor/b"]  # new ones with a price first
    assert [vignette["vignette"] for vignette in study.vignettes] == ["shoplifting"]
    assert [of["technique"] for of in study.techniques] == ["no_technique", "random_control", "sacd"]
    assert study.vignettes[0]["anchors"]["proportional"] == {"low": 0.6, "high": 1.4}
    assert study.temperatures == [0, 1]
    assert study.stopping_rule.minimum == 22  # 45 in a cell, of two temperatures
    code, out, _ = planned(capsys, "archive-judicial.yaml")
    assert code == 0
    golden(out, "vendor/a", "vendor/c", "vendor/b")


def test_one_llm_that_nobody_asked_is_asked(settling, capsys):
    archive(settling)
    assert planned(capsys, "--to-settle", "judicial", "--llm", "vendor/new", "--llm", "b-alias")[0] == 0
    assert [llm.llm for llm in load_study("archive-judicial.yaml").llms] == ["vendor/new", "vendor/b"]
    # in a study of its own, since nobody knows the words that it was asked with
    assert planned(capsys, "--to-settle", "judicial", "--llm", "vendor/a", "--out", "again.yaml")[0] == 0
    assert "vendor/name" in refused(capsys, "--to-settle", "judicial", "--llm", "new")


def test_it_is_said_of_how_many_more_vendors_llms_have_to_be_added(settling, capsys, golden):
    archive(settling)
    way(settling, needed_vendors=20, surely=30)
    out = planned(capsys, "--to-settle", "judicial", "--out", "x.yaml")[1]
    golden(" ".join(out.split()), "2 new vendors")
    golden(" ".join(out.split()), "27 more vendors")
    golden(" ".join(out.split()), "one case")
    assert len(load_study("x.yaml").llms) == 3
    golden(refused(capsys, "--to-settle", "judicial", "--out", "x.yaml"), "x.yaml")


def test_one_llm_of_each_new_vendor_is_asked_and_none_of_those_that_were(settling, capsys):
    for llm, vendor in (("vendor/a2", "A"), ("vendor/b1", "B"), ("vendor/d", "D"), ("vendor/a0", "A")):
        settling("seeds.llms", llm=llm, vendor=vendor, is_askable=True)
    archive(settling)
    way(settling, needed_vendors=2, surely=6)
    assert planned(capsys, "--to-settle", "judicial")[0] == 0
    asked = [llm.llm for llm in load_study("archive-judicial.yaml").llms]
    assert asked == ["vendor/a", "vendor/c", "vendor/b", "vendor/d"], "a price is known of c"


def test_llms_that_nobody_listed_count_as_one_vendor_behind_whatever_router(settling, capsys, golden):
    settling("seeds.routers", router="openrouter")
    archive(settling)
    way(settling, needed_vendors=5)
    named = ("--llm", "openrouter/vendor/b", "--llm", "own/x", "--llm", "own/y", "--llm", "openrouter/vendor/a")
    out = planned(capsys, "--to-settle", "judicial", *named)[1]
    golden(" ".join(out.split()), "2 more vendors")
    golden(" ".join(out.split()), "own/x", "own/y", "listed by nobody")


def test_a_study_that_bais_asked_is_asked_as_it_was(settling, capsys, golden):
    definition = json.dumps(parse_study(OWN).model_dump(mode="json", exclude_none=True))
    settling("raw.batches", study="own", definition=definition, loaded_at="2026-01-01")
    archive(settling, study="own", domain="traffic", vignette="fine", technique="sleep_on_it")
    way(settling, study="own", domain="traffic", technique="sleep_on_it", needed_vendors=2)
    way(settling, "needed_trials", study="own", domain="traffic", technique="sleep_on_it", needed_trials=60, surely=101)
    code, out, _ = planned(capsys, "--to-settle", "traffic")
    assert code == 0
    golden(" ".join(out.split()), "second look")
    before, study = parse_study(OWN), load_study("own-traffic.yaml")
    # what a file names no more would count no more
    assert (study.vignettes, study.techniques) == (before.vignettes, before.techniques)
    assert (study.anchors, study.stopping_rule) == (before.anchors, before.stopping_rule)
    assert study.llms[:-1] == before.llms
    assert study.llms[-1].llm == "vendor/c"
    code, out, _ = planned(capsys, "--to-settle", "traffic", "--more-trials", "--out", "more.yaml")
    assert code == 0
    golden(" ".join(out.split()), "60 trials of each LLM", "101")
    assert "second look" in out
    study = load_study("more.yaml")
    assert study.llms == before.llms
    assert study.stopping_rule.minimum == 51  # at each of two temperatures


@pytest.fixture
def rents(settling):
    """A study of a paradigm of one's own whose leading goal is open: two items in two domains, and three arms."""
    before = parse_study(RENTS)
    definition = json.dumps(before.model_dump(mode="json", exclude_none=True))
    settling("raw.batches", study="rents", definition=definition, loaded_at="2026-01-01")
    stated = [
        {"goal": "distance", "contrasts": [], "distance_of": ["low", "high"], "leads": False},
        {"goal": "pull", "contrasts": [["high", "low"]], "distance_of": [], "leads": True},
    ]
    of = {"study": "rents", "paradigm": "rents"}
    settling("staging.stg_paradigms", **of, relative_to="none", goals=json.dumps(stated))
    for place, (where, vignette) in {"a": ("here", "rent"), "b": ("there", "price"), "c": ("no", None)}.items():
        settling("raw.items", study="rents", item=place, fields=json.dumps({"where": where}), pair="x", ordinal=1)
        for item in "ab" if vignette else "":
            domain = "housing" if vignette == "rent" else "sales"
            settling("marts.trials", **of, item=item, vignette=vignette, domain=domain, llm="vendor/a", source="api")
    compared = {"technique": "wait", "control": "no_technique", "comparison": "control"}
    settling("inference.decisions", **of, domain="housing", **compared)
    return before, of | {"study": "rents", "domain": "housing", "technique": "wait", "goal": "pull"}


def test_a_bias_of_ones_own_that_has_goals_is_asked_on_as_it_was(settling, rents, capsys):
    before, of = rents
    way(settling, **of, needed_vendors=2)
    way(settling, "needed_items", **of, needed_items=12, n_items=2)
    code, out, _ = planned(capsys, "--to-settle", "housing", "--paradigm", "rents")
    assert code == 0
    assert "wait by pull" in out
    assert "12 items put to each LLM instead of 2" in out
    study = load_study("rents-housing.yaml")
    assert study.vignettes == before.vignettes
    assert study.paradigm[0].all_items == before.paradigm[0].all_items
    assert (study.techniques, study.stopping_rule) == (before.techniques, before.stopping_rule)
    assert [llm.llm for llm in study.llms] == [*(llm.llm for llm in before.llms), "vendor/c"]
    prompts = [
        [Design(asked).script(cell).next_turn([]).prompt for cell in Design(asked).first_cells() if cell.arm == "none"]
        for asked in (before, study)
    ]
    assert set(prompts[1]) == set(prompts[0])
    with marts() as warehouse:
        (place,) = (place for place in asked(warehouse, of["paradigm"]) if place["domain"] == "housing")
        command = next_study(warehouse, place, "pull").sentence
    assert command.startswith("`bais plan --to-settle housing --paradigm rents --study rents`")


def test_more_trials_of_items_that_are_a_sample_settle_nothing(settling, rents, capsys):
    _, of = rents
    way(settling, "needed_items", **of, needed_items=12, n_items=2)
    said = refused(capsys, "--to-settle", "housing", "--paradigm", "rents", "--more-trials")
    assert "put more items to LLMs" in said
    assert "there is no goal gap" in refused(capsys, "--to-settle", "housing", "--paradigm", "rents", "--goal", "gap")
    assert "has no goals" in refused(capsys, "--to-settle", "housing", "--paradigm", "framing")


def test_what_cannot_be_written_is_one_sentence(settling, capsys, golden):
    archive(settling)
    archive(settling, domain="loan", vignette="bank")
    way(settling, domain="loan", needed_vendors=3)
    golden(refused(capsys, "--to-settle", "judicial"), "judicial")
    golden(refused(capsys, "--to-settle", "tennis"), "tennis", "judicial, loan")
    settling("marts.trials", study="archive", domain="framing", llm="vendor/a", paradigm="framing")
    golden(refused(capsys, "--to-settle", "framing"), "`bais recommend --paradigm framing`")
    assert refused(capsys, "--to-settle", "tennis").endswith("there is judicial, loan\n")
    golden(refused(capsys, "--to-settle", "loan", "--study", "other"))
    golden(refused(capsys, "--to-settle", "loan", "--technique", "yoga"))
    said = refused(capsys, "--to-settle", "loan")
    golden(said)
    assert "bakery, bookshop" in said
    way(settling, quantity="needed_trials", reason="not_reachable_with_trials", needed_trials=None)
    assert "more vendors could" in refused(capsys, "--to-settle", "judicial", "--more-trials")
    assert "give a study file" in refused(capsys)
    assert "go with --to-settle" in refused(capsys, "judicial", "--llm", "vendor/a")


@pytest.mark.slow("analyses again and again")
def test_llms_that_nobody_knows_have_to_be_named(settling, capsys, golden):
    definition = json.dumps(parse_study(OWN).model_dump(mode="json", exclude_none=True))
    settling("raw.batches", study="own", definition=definition, loaded_at="2026-01-01")
    llms = ("vendor/a", "vendor/b", "vendor/c")
    archive(settling, study="own", domain="traffic", vignette="fine", technique="sleep_on_it", llms=llms)
    of = {"study": "own", "domain": "traffic", "technique": "sleep_on_it"}
    way(settling, **of, needed_vendors=None, n_llms=3, n_vendors=3, reason="zero_variance")
    golden(refused(capsys, "--to-settle", "traffic"), "2 more")
    assert "vendor/a was asked" in refused(capsys, "--to-settle", "traffic", "--llm", "vendor/a")
    assert planned(capsys, "--to-settle", "traffic", "--llm", "vendor/new")[0] == 0


def test_the_next_step_says_what_it_costs_by_the_prices_that_are_known(settling, capsys, golden):
    archive(settling)
    way(settling, needed_vendors=3)
    way(settling, "needed_llms", reason="not_reachable_with_llms")
    way(settling, "needed_trials", needed_trials=81, surely=99)
    said = following("judicial")
    assert following("judicial", "gap") is None
    golden(said, "--to-settle", "--study")
    out = planned(capsys, "--to-settle", "judicial", "--out", "said.yaml")[1]
    golden(" ".join(out.split()), "81 trials", "99", "45", "3 vendors", "more LLMs of the same vendors cannot")
    priced = [word for llm in read_prices() for word in ("--llm", llm)]
    assert planned(capsys, "--to-settle", "judicial", *priced)[0] == 0
    cost = json.loads(planned(capsys, "archive-judicial.yaml", "--json")[1])["cost_usd"]
    each = {end: 3 * cost[end] / len(read_prices()) for end in ("low", "high")}
    golden(said, "1 tested LLM anew and 2 more LLMs", "USD", f"{each['low']:,.0f}", f"{each['high']:,.0f}")


def test_the_next_step_says_where_no_study_can_be_written(settling, golden):
    archive(settling, domain="loan", vignette="bank")
    way(settling, domain="loan", needed_vendors=3)
    said = following("loan")
    golden(said)
    assert "USD" not in said


def test_what_would_settle_it_is_said_every_second_time_and_four_times_in_five(golden):
    of = {
        "n_vendors": 5,
        "n_llms": 10,
        "n_items": None,
        "settles": "use",
        "cost_usd": None,
        "reason": None,
        "power": 0.5,
    }
    of |= {f"needed_{name}": None for name in ("vendors", "llms", "items", "trials")}

    def row(technique, quantity, needed=None, **more):
        return of | {"technique": technique, "quantity": f"needed_{quantity}", f"needed_{quantity}": needed} | more

    def said(*rows, **options):
        return would_settle(rows, lambda row: row["technique"], "LLM", **options) or ""

    surely = {"power": 0.8}
    a = [row("A", "vendors", 6, cost_usd=2.0), row("A", "vendors", 9, cost_usd=8.0, **surely)]
    llms = [row("A", "llms", 14, cost_usd=4.0), row("A", "llms", reason="not_reachable_with_llms", **surely)]
    golden(said(*a, *llms))
    b = [row("B", "vendors", 24, settles="equivalent"), row("B", "vendors", 37, settles="equivalent", **surely)]
    lacking = [
        row(name, quantity, reason=f"not_reachable_with_{quantity}", **more)
        for name in "AB" for quantity in ("llms", "trials") for more in ({}, surely)
    ]  # fmt: skip
    golden(said(*a, *b, *lacking))
    assert "USD" not in said(*a, *b, is_cost_known_elsewhere=True)
    assert said(*lacking) == said() == ""
    barred = [
        row("C", quantity, reason="bias_reversed", **more) for quantity in ("vendors", "llms") for more in ({}, surely)
    ]
    golden(said(*barred))
    assert said(*a, *barred) == f"{said(*a)} {said(*barred)}"
    # what every second time is not forbidden is not said to be
    assert said(*a, row("A", "vendors", reason="llms_differ", **surely)) == said(*a)
