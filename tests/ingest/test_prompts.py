"""What an LLM is told: document A's words, the turns of each technique, and nothing left unfilled."""

import csv
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.prompts import ANSWER_FORMATS, anchored_script, as_number, fill, prompt_version, shipped
from ingest.studies.design import Design
from ingest.studies.study import parse_study
from ingest.warehouse import ROOT

VIGNETTES, TECHNIQUES = shipped("vignettes"), shipped("techniques")
SCRIPTED = [name for name, technique in TECHNIQUES.items() if "turns" in technique and "rounds" not in technique]
OF_NUMBERS = [name for name, technique in TECHNIQUES.items() if "number" in technique.get("answer_kinds", ["number"])]
BIAS, NO_BIAS = "Sentence 2 anchors.\n\nVERDICT: BIAS", "Nothing stands out.\n\nVERDICT: NO BIAS"

# document A, appendix A.1, A.2 and the turns of A.3 and A.5 to A.7, word for word
CASE = """\
You are a trial judge in a criminal court. Read the case summary and determine an appropriate sentence.

Case summary:

- The defendant, Lena M., has been convicted of shoplifting.
- This is her 12th shoplifting offense.
- She stole several items from a supermarket.
- A psycho-legal expert has provided an advisory opinion on the case.
- Statements from the defendant and a witness have been reviewed.
- Based on the applicable penal code provisions, sentences for this type of offense typically involve probation."""
ANCHOR = """\
For experimental purposes, the following prosecutor\N{RIGHT SINGLE QUOTATION MARK}s sentencing demand was randomly \
determined, therefore, it does not reflect any judicial expertise:

The prosecutor demands as a sentence for the accused Lena M. 15 months on probation."""
TURNS = {
    "outside_view": [
        "In German federal courts, what is the TYPICAL probation sentence for a defendant with 12 prior shoplifting "
        "offenses?"
    ],
    "devils_advocate": [
        "Before finalizing your recommendation, please argue against your initial instinct. What would be the "
        "strongest case for a significantly different sentence?",
        "Having considered both perspectives, what is your final sentencing recommendation for Lena M.?",
    ],
    "premortem": [
        "Imagine that your sentencing decision was later overturned on appeal. What reasons might the appeals court "
        "give? What factors might you have weighted incorrectly?",
        "Taking these potential concerns into account, what is your final sentencing recommendation for Lena M.?",
    ],
    "random_control": [
        "Before providing your sentencing recommendation, please describe the courtroom setting you imagine for this "
        "case in detail.",
        "Thank you for that description. Now, what sentence would you recommend for Lena M.?",
    ],
}
# document A, appendix A.4 quotes beginnings only
SACD = [
    ("determine", "Analyze the following prompt"),
    ("determine", "For each sentence, determine if it contains a cognitive bias"),
    ("debias", "Rewrite the flagged sentences to remove the bias"),
]


def script(vignette="shoplifting", technique="no_technique", anchor=None, second_anchor=None, answer_format="text"):
    return anchored_script(VIGNETTES[vignette], TECHNIQUES[technique], anchor, second_anchor, answer_format)


def converse(said, reply=lambda turn: "I see."):
    """Answer turn after turn; return the turns and the replies."""
    turns, replies = [], []
    while turn := said.next_turn(replies):
        turns.append(turn)
        replies.append(reply(turn))
    return turns, replies


def sacd_replies(n_biased, rewrite=lambda n: f"Rewritten {n}."):
    """Reply as an LLM that finds a bias in the first rounds only."""

    def reply(turn):
        if turn.step == "determine":
            return BIAS if turn.round <= n_biased else NO_BIAS
        return rewrite(turn.round) if turn.step == "debias" else f"{turn.step}: 20"

    return reply


def whole_text(turns):
    return "\n".join(message["content"] for turn in turns for message in turn.messages)


@pytest.mark.parametrize("technique", SCRIPTED)
def test_the_first_turn_of_shoplifting_is_document_a_s_case_then_its_anchor(technique):
    first = converse(script(technique=technique, anchor=15.0))[0][0].prompt
    assert f"{CASE}\n\n{ANCHOR}\n\n" in first
    assert first.startswith(CASE) or technique == "outside_view_matched"


@pytest.mark.parametrize("technique", TURNS)
def test_the_turns_of_shoplifting_are_document_a_s_words(technique):
    turns, _ = converse(script(technique=technique, anchor=15.0))
    for turn, words in zip(turns[1:], TURNS[technique], strict=False):
        assert turn.prompt.startswith(words)
    assert turns[1].prompt == TURNS[technique][0]
    assert [turn.step for turn in turns] == ["turn"] * 3


@pytest.mark.parametrize("anchor", [None, 15.0])
def test_a_chain_of_thought_adds_nothing_but_the_order_to_reason_first(anchor):
    (turn,), _ = converse(script(technique="chain_of_thought", anchor=anchor))
    (plain,), _ = converse(script(anchor=anchor))
    before, _, added = turn.prompt.partition(plain.prompt)
    assert before == ""
    assert added.strip().startswith("Think step by step: write out your reasoning first")
    assert not re.search(r"\d", added)


def test_sacd_says_what_document_a_quotes_of_it():
    turns, _ = converse(script(technique="sacd", anchor=15.0), sacd_replies(1))
    prompts = {turn.step: turn.prompt for turn in reversed(turns)}
    for step, words in SACD:
        assert words in prompts[step]
    assert prompts["initial"] == script(anchor=15.0).words["opening"]
    for kind in ("anchoring", "framing"):
        assert kind in prompts["analyse"]


@pytest.mark.parametrize(
    ("technique", "n_turns"),
    [
        ("no_technique", 1),
        ("chain_of_thought", 1),
        ("outside_view", 3),
        ("outside_view_neutral", 3),
        ("outside_view_matched", 3),
        ("devils_advocate", 3),
        ("premortem", 3),
        ("random_control", 3),
        ("random_control_sacd", 7),
    ],
)
def test_each_turn_carries_the_whole_conversation_so_far(technique, n_turns):
    said = script(technique=technique, anchor=15.0)
    turns, replies = converse(said, lambda turn: f"reply to {turn.prompt[:20]}")
    assert said.n_calls() == (n_turns, n_turns) == (len(turns), len(turns))
    for n, turn in enumerate(turns):
        assert [message["role"] for message in turn.messages] == ["user", *["assistant", "user"] * n]
        assert [message["content"] for message in turn.messages[1::2]] == replies[:n]
        assert [message["content"] for message in turn.messages[::2]] == [before.prompt for before in turns[: n + 1]]
    assert said.n_rounds(replies) is None


def test_a_random_control_has_as_many_turns_as_what_it_controls():
    controlled = {name: entry["controls"] for name, entry in TECHNIQUES.items() if entry.get("controls")}
    assert set(controlled) == {"random_control", "random_control_sacd"}
    for name, of in controlled.items():
        if "rounds" not in TECHNIQUES[of]:
            assert len(TECHNIQUES[name]["turns"]) == len(TECHNIQUES[of]["turns"])
    # a SACD trial of two rounds: the first answer, what is asked of it twice, and the last answer
    turns, _ = converse(script(technique="sacd"), sacd_replies(2))
    exchanges = [turn for turn in turns if turn.step != "determine"]
    assert len(TECHNIQUES["random_control_sacd"]["turns"]) == len(exchanges) + 1 == 7


def test_random_controls_ask_for_no_second_thought():
    for name in ("random_control", "random_control_sacd"):
        said = " ".join(TECHNIQUES[name]["turns"][1:]).lower()
        for word in ("bias", "wrong", "appeal", "instinct", "typical", "reason", "concern", "reconsider", "mistake"):
            assert word not in said


@pytest.mark.parametrize(("n_biased", "n_calls"), [(0, 3), (1, 6), (2, 9), (4, 15), (5, 17), (6, 17)])
def test_sacd_repeats_until_no_bias_is_found_and_five_times_at_most(n_biased, n_calls):
    said = script(technique="sacd", anchor=15.0)
    turns, replies = converse(said, sacd_replies(n_biased))
    n_rounds = min(n_biased, 5)
    steps = ["initial", *["determine", "analyse", "debias"] * n_rounds, *["determine"] * (n_biased < 5), "answer"]
    assert [turn.step for turn in turns] == steps
    assert len(turns) == n_calls
    assert said.n_rounds(replies) == n_rounds
    assert said.n_calls() == (3, 17)
    assert [turn.round for turn in turns if turn.step == "determine"] == list(range(1, min(n_biased + 1, 5) + 1))


def test_what_sacd_asks_in_the_end_is_the_last_rewritten_text():
    turns, _ = converse(script(technique="sacd", anchor=15.0), sacd_replies(2))
    determined = [turn.prompt for turn in turns if turn.step == "determine"]
    assert CASE in determined[0]
    assert "Rewritten 1." in determined[1]
    assert "Rewritten 2." in determined[2]
    assert CASE not in determined[1]
    answer = turns[-1]
    assert answer.prompt.startswith("Rewritten 2.\n\nEnd your reply with one line")
    assert [message["role"] for message in answer.messages] == ["user"]  # the biased text is not in sight any more


def test_sacd_without_a_bias_asks_the_same_text_again():
    turns, _ = converse(script(technique="sacd", anchor=15.0), sacd_replies(0))
    assert turns[-1].prompt.startswith(turns[0].prompt)


@pytest.mark.parametrize("nothing", ["", "  \n\t"])
def test_an_empty_rewrite_keeps_the_text(nothing):
    turns, _ = converse(script(technique="sacd", anchor=15.0), sacd_replies(2, lambda n: nothing))
    assert turns[-1].prompt.startswith(turns[0].prompt)
    turns, _ = converse(script(technique="sacd"), sacd_replies(2, lambda n: "Rewritten 1." if n == 1 else nothing))
    assert turns[-1].prompt.startswith("Rewritten 1.")


@pytest.mark.parametrize(
    "verdict",
    ["VERDICT: NO BIAS", "verdict: no bias.", "**VERDICT:** NO BIAS", "Verdict: **No bias**", "## VERDICT:\nNO BIAS"],
)
def test_a_verdict_is_known_by_its_words_and_not_by_its_emphasis(verdict):
    turns, _ = converse(script(technique="sacd"), lambda turn: f"Looked.\n\n{verdict}")
    assert len(turns) == 3


@pytest.mark.parametrize("verdict", ["VERDICT: BIAS", "There is no bias worth a name.", "", "I cannot help with that."])
def test_anything_but_the_verdict_goes_on(verdict):
    turns, _ = converse(script(technique="sacd"), lambda turn: verdict)
    assert len(turns) == 17


@pytest.mark.parametrize("technique", ["sacd", "premortem"])
def test_braces_in_replies_are_not_filled(technique):
    said = "{opening} {text} {whom} {anchor}"
    reply = sacd_replies(1, lambda n: said) if technique == "sacd" else lambda turn: said
    turns, _ = converse(script(technique=technique, anchor=15.0), reply)
    assert any(message["content"].startswith(said) for message in turns[-1].messages)
    assert CASE not in turns[-1].prompt


@given(st.text(), st.dictionaries(st.from_regex(r"\w{1,5}", fullmatch=True), st.text(max_size=10), max_size=4))
def test_filling_replaces_names_in_braces_once_and_nothing_else(text, words):
    bare = text.replace("{", "").replace("}", "")
    assert fill(bare, words) == bare
    for name, word in words.items():
        assert fill(f"{bare}{{{name}}}", words) == bare + word
        assert fill(f"{bare}{{not a name}}", words) == f"{bare}{{not a name}}"


@pytest.mark.parametrize("answer_format", ANSWER_FORMATS)
@pytest.mark.parametrize("technique", OF_NUMBERS)
@pytest.mark.parametrize("vignette", VIGNETTES)
def test_nothing_is_left_unfilled(vignette, technique, answer_format):
    for anchor, second in [(None, None), (15.0, None), (15.0, 1.0), (None, 1.0)]:
        said = script(vignette, technique, anchor, second, answer_format)
        text = whole_text(converse(said, sacd_replies(1))[0])
        assert not re.search(r"\{\w+\}", text)
        assert "None" not in text


@pytest.mark.parametrize("technique", OF_NUMBERS)
@pytest.mark.parametrize("vignette", VIGNETTES)
def test_a_condition_without_an_anchor_never_mentions_one(vignette, technique):
    anchored = script(vignette, technique, 987654.0, 876543.0)
    for second in (None, 876543.0):
        plain = whole_text(converse(script(vignette, technique, None, second), sacd_replies(1))[0])
        assert not re.search("98765|87654", plain)
        for words in (anchored.words["anchor_text"], anchored.words["second_anchor_text"]):
            for line in words.replace("987654", "\n").replace("876543", "\n").splitlines():
                assert len(line) < 5 or line not in plain
    assert "987654" in whole_text(converse(anchored, sacd_replies(1))[0])


@pytest.mark.parametrize("vignette", VIGNETTES)
def test_the_second_anchor_is_said_only_where_a_study_asks_for_it(vignette):
    study = f"{{study: s, llms: [a/b], vignettes: [{vignette}], techniques: [no_technique], "
    study += "anchors: {fixed: {low: 3, high: 9}}"
    off, on = (Design(parse_study(study + more)) for more in ("}", ", second_anchor: 4321}"))
    cells = off.anchored_cells(off.anchors_from({}))
    assert [cell.anchor_direction for cell in cells] == ["low", "high"]
    for cell in cells:
        assert "4321" not in off.script(cell).words["opening"]
        opening = on.script(cell).words["opening"]
        assert opening.index(f"{cell.anchor_value:.0f}") < opening.index("4321")
    assert on.script(on.baseline_cells()[0]).words["opening"] == off.script(off.baseline_cells()[0]).words["opening"]


def test_a_technique_that_is_only_turns_needs_no_python():
    design = Design(
        parse_study("""
study: s
llms: [a/b]
vignettes: [burglary, fever]
anchors: {fixed: {low: 3, high: 9}}
techniques:
  - technique: second_opinion
    turns:
      - "{opening}"
      - What would a colleague say about {whom}?
      - "So what is your {outcome}? {answer_format}"
""")
    )
    cell = design.anchored_cells(design.anchors_from({}))[0]
    turns, _ = converse(design.script(cell))
    assert turns[0].prompt == script("burglary", anchor=3.0).words["opening"]
    assert [turn.prompt for turn in turns[1:]] == [
        "What would a colleague say about Daniel K.?",
        "So what is your sentence? End your reply with one line of the form `Answer: <number>`, the number in months.",
    ]


def test_every_domain_has_two_vignettes_and_each_its_unit_and_range():
    domains = [vignette["domain"] for vignette in VIGNETTES.values()]
    assert {domain: domains.count(domain) for domain in domains} == dict.fromkeys(
        ("judicial", "loan", "medical", "salary"), 2
    )
    for vignette in VIGNETTES.values():
        assert vignette["response_unit"]
        assert vignette["valid_min"] < vignette["valid_max"]
        for answer_format in ("text", "json"):
            assert (
                vignette["response_unit"] in script(vignette["vignette"], answer_format=answer_format).words["opening"]
            )


def test_no_case_but_the_prescribed_one_holds_a_number_that_could_be_taken_for_an_answer():
    for name, vignette in VIGNETTES.items():
        said = [vignette["case"], vignette["question"], *vignette["words"].values(), vignette["anchor"]]
        if name == "shoplifting":
            assert re.findall(r"\d+", vignette["case"]) == ["12"]  # document A, appendix A.1
        else:
            assert not re.search(r"\d", " ".join(said)), name


def test_only_outside_view_names_a_jurisdiction_and_its_variants_do_so_evenly():
    for name in VIGNETTES:
        asked = {}
        for technique in TECHNIQUES:
            for anchor in (None, 15.0):
                asked[technique, anchor] = "German" in whole_text(converse(script(name, technique, anchor))[0])
        assert {technique for (technique, _), names in asked.items() if names} == {
            "outside_view",
            "outside_view_matched",
        }
        first = [converse(script(name, "outside_view_matched", anchor))[0][0].prompt for anchor in (None, 15.0)]
        assert all("German" in prompt for prompt in first)  # the baseline of the matched variant holds it, too
    assert [name for name, entry in TECHNIQUES.items() if entry.get("is_also_unanchored")] == ["outside_view_matched"]


@pytest.mark.parametrize(
    ("number", "written"), [(15.0, "15"), (12.5, "12.5"), (0.0, "0"), (-3.0, "-3"), (1e6, "1000000")]
)
def test_anchors_are_written_as_people_write_numbers(number, written):
    assert as_number(number) == written


def test_the_version_of_a_prompt_changes_with_each_of_its_words_and_with_nothing_else():
    vignette, technique = VIGNETTES["burglary"], TECHNIQUES["premortem"]
    same = prompt_version(vignette, technique, "text")
    unsaid = {"source": "x", "valid_max": 9, "words": {**vignette["words"], "setting": "not said", "more": "nor this"}}
    assert prompt_version({**vignette, **unsaid}, {**technique, "source": "x", "controls": "y"}, "text") == same
    others = [
        prompt_version({**vignette, "version": 2}, technique, "text"),
        prompt_version(vignette, {**technique, "version": 2}, "text"),
        prompt_version(vignette, technique, "text", is_anchored=False),
        prompt_version({**vignette, "case": vignette["case"] + " "}, technique, "text"),
        prompt_version({**vignette, "anchor": vignette["anchor"] + "!"}, technique, "text"),
        prompt_version({**vignette, "question": "?"}, technique, "text"),
        prompt_version({**vignette, "words": {**vignette["words"], "whom": "D. K."}}, technique, "text"),
        prompt_version({**vignette, "response_unit": "years"}, technique, "text"),
        prompt_version(vignette, {**technique, "turns": [*technique["turns"], "Sure?"]}, "text"),
        prompt_version(vignette, TECHNIQUES["sacd"], "text"),
        prompt_version(vignette, technique, "json"),
        prompt_version(vignette, technique, "text", 1.0),
    ]
    assert len({same, *others}) == len(others) + 1
    assert all(re.fullmatch(r"[0-9a-f]{32}", version) for version, _ in others)


def test_the_page_on_study_files_lists_every_technique_of_the_seeds():
    with open(ROOT / "seeds" / "techniques.csv", encoding="utf-8", newline="") as stream:
        known = {row["technique"] for row in csv.DictReader(stream)}
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    section = page.partition("## The techniques that bais has\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"(?m)^\| `([\w+]+)` \| .+ \|$", section)) == known
