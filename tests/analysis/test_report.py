import itertools
import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup, escape

from analysis.report.biases import matrices
from analysis.report.figures import WIDTH, draw, room_for_text
from analysis.report.matrix import Mark, _axis
from analysis.report.tables import Row, Table, named
from analysis.report.values import Number, clean, clean_lines, key_text, listed
from analysis.words.codes import in_words
from analysis.words.matrix import headline, how_sure, of_an_llm
from tests.tools.report_page import TRIED

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


@pytest.mark.parametrize(
    ("value", "printed"), [(0, "0.0000"), (1, "1.0000"), (3e-6, "<0.0001"), (0.999999, ">0.9999"), (0.05, "0.0500")]
)
def test_a_p_value_is_never_0_or_1_that_is_neither(value, printed):
    assert Number(value, "p_value", 4).text == printed


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


def row_of(decision, **more):
    return {
        "decision": decision, "loss": 20.4, "loss_control": 45.2, "gain": 24.8, "gain_low": 9.0, "gain_high": 36.0,
        "n_comparisons": 6, "n_llms": 10, "n_helped": 9, "n_own_prompt": 0, "n_harmed": 1, "reason": None,
        "technique": "a", "certainty": None,
    } | more  # fmt: skip


@pytest.mark.parametrize("decisions", list(itertools.product(DECISIONS, repeat=2)))
def test_a_headline_says_of_each_technique_what_is_decided_and_no_more(decisions):
    said = headline(
        [(name, row_of(decision)) for name, decision in zip("AB", decisions, strict=True)], has_vendors=True
    )
    assert ("No technique is shown to beat a plain prompt." in said) == ("use" not in decisions)
    for sentence in re.findall(r"[^.]+\.", said):
        words = {
            "Shown to help": "use",
            "Shown to harm": "avoid",
            "No difference": "equivalent",
            "Unclear": "no_evidence",
        }
        decided = next((decision for word, decision in words.items() if word in sentence), None)
        for name, decision in zip("AB", decisions, strict=True):
            assert (re.search(rf"\b{name}\b", sentence) is not None) == (decided == decision)


def test_what_hangs_on_doubted_answers_is_not_shown_to_help():
    said = headline([("A", row_of("use", certainty="hangs_on_suspect_rows"))], has_vendors=True)
    assert "Shown to help" not in said
    assert said.endswith("In doubt, since the gate doubts answers that it hangs on: A.")


def test_of_too_few_baselines_it_is_said_that_there_is_no_loss():
    row = row_of(None, loss=None, loss_control=None, gain=None, gain_low=None, gain_high=None, reason="no_baseline")
    first, *_ = how_sure(row, None, [], has_vendors=True)
    assert first.startswith("LLMs like these: – to – %; no interval, since ")


def test_of_too_few_vendors_a_headline_counts_llms_and_decides_nothing(golden):
    rows = [("A", row_of("no_evidence", n_helped=1, n_harmed=0, n_llms=2)), ("B", row_of("no_evidence", n_helped=0))]
    golden(headline(rows, has_vendors=False))
    assert "None" not in headline(
        [("A", row_of(None, n_helped=None, n_own_prompt=None, n_harmed=None))], has_vendors=False
    )
    golden(headline([("A", row_of(None, n_helped=None, n_own_prompt=None, n_harmed=None))], has_vendors=False))
    golden(headline([], has_vendors=False))


def test_what_only_helps_its_own_prompt_or_may_be_asking_again_is_called_so(golden):
    rows = [("A", row_of("helps_its_own_prompt")), ("B", row_of("asking_again_helps")), ("C", row_of("avoid"))]
    golden(headline(rows, has_vendors=True))
    golden(of_an_llm("o3", rows))
    golden(of_an_llm("o3", []))


def test_how_sure_it_is_is_said_with_the_interval_one_more_llm_and_ways_of_counting(golden):
    ahead = {"gain_low": -3.0, "gain_high": 40.0, "p_better_than_control": 0.97}
    way = {"n_same_decision": 7, "n_specifications": 8, "n_left_out_same": 14, "n_left_out": 15}
    golden("\n".join(how_sure(row_of("use", reason="one_case"), ahead, [way], has_vendors=True)))
    golden("\n".join(how_sure(row_of("no_evidence", gain_low=None, reason="one_vendor"), None, [], has_vendors=True)))
    (alone,) = how_sure(row_of("no_evidence"), ahead, [way], has_vendors=False)
    golden(alone)


@given(st.lists(st.floats(0, 1e5), min_size=1))
def test_an_axis_holds_every_value_in_at_most_so_many_parts(values):
    most, segments, step = _axis(values)
    assert most >= max(values) * (1 - 1e-9)
    assert 1 <= segments <= 10
    assert most == pytest.approx(segments * step)


def test_a_mark_is_coloured_by_its_decision_and_its_interval_is_that_of_the_loss():
    mark = Mark(row_of("no_evidence", control="no_technique", gain=-3.6), 50)
    assert (mark.tone, mark.points, mark.is_own) == ("open", "+4", False)
    assert mark.interval == pytest.approx((45.2 - 36, 45.2 - 9))
    assert (mark.at(25), mark.at(-1), mark.at(99)) == ("50.0%", "0.0%", "100.0%")
    assert Mark(row_of("use", control="sacd_initial"), 50, 0.89).is_unanswered
    assert Mark(row_of("use", control="sacd_initial"), 50, 0.9).is_unanswered is False
    assert Mark(row_of("use", control="sacd_initial", gain=0.3), 50).points == "0"


class Asked:
    """A study of one bias that rows say, as the page of biases asks for it."""

    def __init__(self, rows):
        self.by_name = {"said_of_biases": [{"paradigm": "decoy", "goals": []}], "biases": rows}

    def rows(self, name, **_):
        return self.by_name[name]

    def technique(self, name):
        return name


def test_a_technique_has_a_ring_of_the_plain_prompt_only_where_both_are_of_the_same_llms():
    row = {"measured_from": "answer", "better": "lower", "of": "decoy", "is_share": True, "is_unsigned": False,
           "low": 0.1, "high": 0.5, "decision": "no_evidence", "certainty": None, "reason": None}  # fmt: skip
    told = [("no_technique", 0.31, 7), ("warning", 0.3, 7), ("role", 0.157, 1)]
    rows = [row | {"technique": name, "value": value, "n_llms": n} for name, value, n in told]
    (((bias,), techniques),) = matrices(Asked(rows))
    assert techniques == ["role", "warning"]
    assert {name: effect.plain for name, effect in bias.effects.items()} == {
        "no_technique": None, "warning": 31.0, "role": None,
    }  # fmt: skip
    assert [bias.effects[name].of_llms for name in ("warning", "role")] == [None, "1 LLM"]
