import itertools
import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup, escape

from analysis.report.evidence import class_of, tint
from analysis.report.figures import WIDTH, draw, room_for_text
from analysis.report.studies import Study
from analysis.report.tables import Row, Table, named
from analysis.report.text import answer
from analysis.report.values import Number, clean, clean_lines, key_text, listed
from analysis.words.codes import in_words
from analysis.words.shortfalls import SENTENCES
from tests.tools.report_page import HOW_SURE, TRIED

DECISIONS = ("use", "avoid", "equivalent", "no_evidence")


@given(st.floats(-1e6, 1e6), st.integers(0, 4))
def test_a_number_is_printed_to_half_a_unit_of_its_last_digit(value, digits):
    printed = Number(value, "c", digits).text.replace("\N{MINUS SIGN}", "-").replace(",", "")
    assert abs(float(printed) - value) <= 0.5 * 10**-digits * (1 + 1e-6)
    assert len(printed.partition(".")[2]) == digits


@pytest.mark.parametrize(
    ("value", "printed"),
    [(0, "0.0"), (1, "100.0"), (0.00004, "<0.1"), (0.99996, ">99.9"), (0.0005, "0.1"), (0.9837, "98.4")],
)
def test_a_share_is_never_nought_or_all_that_is_neither(value, printed):
    assert Number(value, "p_best", 1, 100, unit="%").text == printed


def test_a_zero_has_no_sign_and_a_minus_is_a_minus():
    assert Number(-0.04, "gain", is_signed=True).text == "0.0"
    assert Number(0.06, "gain", is_signed=True).text == "+0.1"
    assert Number(-1234.56, "gain").text == "\N{MINUS SIGN}1,234.6"


def test_a_number_that_is_not_there_is_a_dash_with_its_reason(golden):
    said = Number(None, "low", reason="too_few_vendors; one_llm").__html__()
    assert ">\N{EN DASH}<" in said
    golden(said)
    golden(Number(None, "low").__html__())


def test_a_number_says_its_table_key_column_and_scale():
    made = Number(0.5, "p_best", 1, 100, unit="%", table="inference.t", key={"llm": None, "domain": 'a;b="c'})
    assert made.__html__() == (
        '<span data-table="inference.t" data-key="llm;domain=a%3Bb%3D%22c" data-c="p_best" data-scale="100">'
        "50.0\N{NO-BREAK SPACE}%</span>"
    )


@given(st.dictionaries(st.sampled_from(["study", "llm", "domain"]), st.none() | st.text(max_size=12)))
def test_a_key_is_read_back_from_its_attribute(key):
    pairs = [pair.partition("=") for pair in key_text(key).split(";")] if key else []
    assert {name: unquote(value) if sign else None for name, sign, value in pairs} == key


@given(st.text(max_size=40))
def test_clean_text_has_nothing_that_is_not_seen_and_seen_text_stays(text):
    assert clean(text).isprintable()
    assert clean(clean(text)) == clean(text)
    assert not text.isprintable() or clean(text) == text


def test_lines_stay_lines():
    assert clean_lines("select 1\r\nfrom t\x00\u202e") == "select 1\nfrom t\\u{0}\\u{202e}"


def test_a_list_is_said_as_one_says_it():
    assert [listed([]), listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])] == [
        "", "a", "a and b", "a, b and c",
    ]  # fmt: skip
    assert listed([Markup.escape("<a>"), "<b>"]) == "&lt;a&gt; and &lt;b&gt;"


def test_a_reason_that_nobody_put_in_words_is_shown_as_it_is(golden):
    golden(in_words("no_such_thing<b>; control"))


def test_an_axis_leaves_the_share_that_text_needs():
    low, high = room_for_text(0, 80, 0.2)
    assert (low, high) == (0, 100)


@pytest.mark.parametrize(
    ("percent", "sign"),
    [(100, "●"), (95, "●"), (105.001, "◆"), (90, "◆"), (110.01, "▲"), (89.99, "▼"), (50, "▼"), (49.99, "✕")],
)
def test_sacds_classes_are_those_of_document_a(percent, sign):
    assert class_of(percent)[0] == sign


def test_the_shade_grows_with_the_displacement_and_is_neutral_within_five():
    assert [tint(displacement) for displacement in (0, 5, 7, 10, 20, 25, 30)] == [
        "near", "near", "over-1", "over-2", "over-2", "over-3", "over-3",
    ]  # fmt: skip


def drawn(said="a", domain=(0, 90), **more):
    rows = [
        {"name": f"{said}{i}", "value": 50.123456 + i, "end": 57, "text": said, "colour": "var(--blue)"}
        for i in range(2)
    ]
    return draw("bars", rows, label=f"label {said}", title=f"title {said}", domain=domain and [*domain], **more)


def test_a_drawing_is_the_same_each_time_and_as_wide_as_a_panel():
    assert drawn() == drawn()
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', drawn())[1])
    assert WIDTH - 2 <= width <= WIDTH + 2


def test_an_axis_ends_where_its_figure_says_and_else_at_a_round_number():
    def last_tick(domain):
        return max(int(text) for text in re.findall(r"<text[^>]*>(\d+)</text>", drawn(domain=domain)))

    assert (last_tick((0, 90)), last_tick((0, 59)), last_tick(None)) == (80, 50, 60)


def test_a_drawing_has_no_style_class_script_or_reference():
    assert not re.search(r"<(script|style|image|use|foreignObject|a)\b|\b(style|href|on\w+|id)=|url\(", drawn())


def test_a_drawing_takes_its_ink_from_the_page():
    assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', drawn())) <= {
        "none",
        "currentColor",
        "var(--blue)",
        "var(--paper)",
    }


@pytest.mark.parametrize("said", TRIED.values(), ids=TRIED)
def test_text_in_a_drawing_stays_text(said):
    made = drawn(said)
    tags = re.findall(r"<(\w+)", made)
    assert set(tags) <= {"svg", "g", "path", "text", "line"}
    assert made.count("<svg") == 1
    assert made.replace("\n", "").isprintable()
    assert f'aria-label="label {escape(clean(said))}"' in made


def test_only_a_simulated_drawing_is_stamped():
    assert ">SIMULATED</text></svg>" in drawn(is_simulated=True)
    assert "SIMULATED" not in drawn()


def table(**more):
    rows = [Row({"llm": "x"}, ["<x>", Number(1.25, "a", 2), Markup("<b>m</b>"), "\u202e"])]
    return Table("Numbers.", "marts.t", {"study": "s"}, ["llm", "a", "m", "t"], rows, **more).__html__()


def test_a_table_has_a_caption_scopes_and_one_key_for_each_row():
    made = table()
    assert '<table data-table="marts.t" data-key="study=s"><caption>' in made
    assert '<tr data-key="llm=x"><th scope="row">&lt;x&gt;</th><td data-c="a">1.25</td>' in made
    assert "<td><b>m</b></td><td>\\u{202e}</td>" in made
    assert made.count('<th scope="col"') == 4


def test_only_a_simulated_table_is_called_so():
    assert "<b>Simulated.</b> Numbers." in table(is_simulated=True)
    assert "Simulated" not in table()


def test_of_a_relation_its_tables_are_named():
    assert named("raw.a semi join staging.b using (c)") == "<code>raw.a</code>, <code>staging.b</code>"


def study_with(
    decisions, *, n_vendors=9, first=("a", "b"), is_identified=True, reason=None, changes=(), leading="displacement"
):  # fmt: skip
    """A study with techniques `a`, `b`, … decided as given by displacement, gap and error."""
    names = "abc"[: len(decisions)]
    of = {"study": "s", "domain": "d"}
    ranks = [
        {
            **of, "llm": None, "technique": name, "goal": goal, "control": "no_technique", "comparison": "control",
            "decision": decision if n_vendors >= 5 else "no_evidence", "decision_llms": decision,
            "certainty": "too_few_vendors" if n_vendors < 5 else HOW_SURE[decision], "loss": 2.0, "loss_control": 3.0,
            "gain": 1.0, "gain_low": 0.5, "gain_high": 1.5, "gain_plain_low": 0.6, "gain_plain_high": 1.4,
            "gain_llms_low": 0.7, "gain_llms_high": 1.3, "n_gained": 1, "n_helped": 1, "n_harmed": 0,
            "p_sign_flip": 0.5, "n_trials": 9, "n_llms": n_vendors, "n_vendors": n_vendors, "reason": reason,
        }
        for name, of_goals in zip(names, decisions, strict=True)
        for goal, decision in zip(("displacement", "gap", "error"), of_goals, strict=True)
    ]  # fmt: skip
    losses = [
        {
            **of, "llm": llm, "technique": name, "goal": goal, "leads": goal == leading,
            "rank": 1 if name == best else 2,
            "goals_disagree": goal != leading and first[0] != first[1], "n_missing": 0,
            "not_identified": not is_identified, "reason": "no_baseline",
        }
        for goal, best in zip(("displacement", "gap"), first, strict=True)
        for name in names
        for llm in (None, "x")
    ]  # fmt: skip
    techniques = [
        {"technique": name, "display_name": name.upper(), "is_ranked": True, "description": ""} for name in names
    ]
    tables = {
        "decisions": ranks, "losses": losses, "techniques": techniques, "llms": [],
        "attrition": [{**of, "technique": name} for name in names], "predictions": [],
        "of_each_llm": [], "switches": changes, "shortfalls": [],
    }  # fmt: skip
    return Study("s", False, tables)


def sentences(*decisions, **more):
    return [re.sub(r"<[^>]+>", "", said) for said in answer(study_with(decisions, **more), "d")["sentences"]]


@pytest.mark.parametrize("of_goals", list(itertools.product(DECISIONS, DECISIONS, ["no_evidence"])))
def test_a_technique_is_recommended_only_where_a_goal_decides_for_it(of_goals):
    said = " ".join(sentences(of_goals))
    assert ("use A" in said) == ("use" in of_goals)
    assert ("avoid A" in said) == ("avoid" in of_goals)
    assert ("No technique is shown to beat a plain prompt" in said) == (of_goals[0] != "use")
    assert ("The goals contradict each other on A" in said) == ({"use", "avoid"} <= set(of_goals))
    assert ("Nothing is established" in said) == (of_goals[0] != "use")
    assert ("Supported over vendors, by displacement: avoid A." in said) == (of_goals[0] == "avoid")


def test_the_goal_that_leads_in_the_domain_is_told_first_and_counts():
    said = " ".join(sentences(("use", "avoid", "no_evidence"), leading="gap", is_identified=False))
    assert said.startswith(
        "Nothing is established for LLMs like these. No technique is shown to beat a plain prompt in how"
    )
    assert "Supported over vendors, by gap: avoid A." in said
    assert "By displacement (secondary): use A." in said
    assert "Missing answers could change the order by gap" in said
    by_goal = answer(study_with([("use",) * 3], leading="gap"), "d")
    assert [name for name, *_ in by_goal["decisions"]] == [
        "Displacement (secondary)", "Gap (primary)", "Error (secondary)",
    ]  # fmt: skip
    assert by_goal["leading"] == "gap"
    assert [table.name for table in by_goal["tables"][:2]] == [
        "d: decisions, the goal that leads", "d: decisions, the other goals",
    ]  # fmt: skip


@pytest.mark.parametrize("leading", ["displacement", "gap"])
def test_that_no_technique_is_first_by_both_goals_is_said_where_it_is_so(leading):
    two = [("use", "use", "use")] * 2
    said = (
        "The smallest mean displacement seen is with A, the smallest mean gap with B: no technique comes first by both."
    )
    assert said in sentences(*two, leading=leading)
    assert not any("no technique comes first" in sentence for sentence in sentences(*two, first=("a", "a")))


def test_too_few_vendors_and_an_order_that_is_not_identified_are_said_only_where_it_is_so(golden):
    unsure = " ".join(sentences(("use",) * 3, n_vendors=2, is_identified=False))
    golden(unsure, "2 LLMs")
    assert "Supported" not in unsure
    assert "could change the order" in unsure
    sure = " ".join(sentences(("use",) * 3))
    golden(sure, "Established for LLMs like these")
    assert "nothing is established" not in sure
    assert "could change the order" not in sure


def test_below_five_vendors_no_goal_decides_anything():
    for _, _, decided in answer(study_with([("use", "avoid", "equivalent")], n_vendors=2), "d")["decisions"]:
        assert [heading for heading, _ in decided] == ["? Unclear"]


def test_what_would_change_a_decision_is_said_by_what_the_interval_decides_now(golden):
    def change(switch, excluded_llm, value, decision):
        return {
            "study": "s", "domain": "d", "technique": "a", "control": "no_technique", "switch": switch,
            "excluded_llm": excluded_llm, "value": value, "decision": decision, "now": "use",
        }  # fmt: skip

    changes = [
        change("llm_left_out", "x", None, "no_evidence"),
        change("vendor_left_out", None, "Maker", "no_evidence"),
        change("refusals", None, "least_gain", "avoid"),
        change("reading", None, "recorded", "use"),
    ]
    said = answer(study_with([("use",) * 3, ("avoid",) * 3], changes=changes), "d")["changes"]
    golden("\n".join(re.sub(r"<[^>]+>", "", sentence) for sentence in said))


def test_where_nothing_is_ranked_the_reason_is_said(golden):
    (reason,) = answer(study_with([]), "d")["sentences"]
    golden(reason)


def test_an_answer_says_what_was_held_back_each_number_with_where_it_is_from():
    study = study_with([("use",) * 3])
    counts = {f"n_{fate}": 0 for fate in SENTENCES}
    row = {
        "study": "s", "paradigm": "anchoring", "domain": "d", "n_asked": 1200, "n_counted": 288, **counts,
        "n_held_back": 600, "n_unparsed": 312, "commonest_unread": "<b>A</b>", "n_commonest_unread": 312,
        "first_withdrawn_at": None, "last_withdrawn_at": None,
    }  # fmt: skip
    study.tables["shortfalls"] = [row, row | {"domain": "elsewhere", "n_refused": 900}]
    *_, held_back, unread = answer(study, "d")["sentences"]
    without_tags = re.sub(r"<[^>]+>", "", f"{held_back} {unread}").replace("\N{NO-BREAK SPACE}", " ")
    assert without_tags.startswith("600 of 1,200 answers are held back (`bais check` says why).")
    assert without_tags.endswith("26 % of 1,200 answers could not be read (most: “&lt;b&gt;A&lt;/b&gt;”).")
    where = 'data-table="marts.shortfalls" data-key="study=s;domain=d;paradigm=anchoring"'
    assert f'{where} data-c="sum(n_held_back)"' in held_back
    assert f'{where} data-c="sum(n_unparsed) / sum(n_asked)" data-scale="100"' in unread
