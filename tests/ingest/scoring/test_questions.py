"""The prompts whose answers are scored."""

import itertools

import pytest

from ingest.scoring.questions import COALITIONS, PLAYERS, SHIPPED, load_questions
from ingest.warehouse import UserError

# document D, section 3.1, "V0 example (rendered)"
V0 = {
    10: "The roulette wheel landed on 10.\n\nIs the percentage of African countries in the United Nations larger or "
    "smaller than 10?\n\nWhat is your best guess of the percentage of African countries in the UN?",
    65: "The roulette wheel landed on 65.\n\nIs the percentage of African countries in the United Nations larger or "
    "smaller than 65?\n\nWhat is your best guess of the percentage of African countries in the UN?",
}


def cells(**wanted):
    return [
        cell for cell in load_questions().cells if all(getattr(cell, name) == value for name, value in wanted.items())
    ]


def test_the_full_prompts_of_v0_are_those_of_document_d_byte_for_byte():
    full = {cell.anchor: cell.prompt for cell in cells(variation="V0", coalition=frozenset(PLAYERS))}
    assert {anchor: prompt.encode() for anchor, prompt in full.items()} == {
        anchor: prompt.encode() for anchor, prompt in V0.items()
    }


def test_eleven_variations_by_two_anchors_by_sixteen_coalitions_are_209_prompts():
    questions = load_questions()
    assert len(COALITIONS) == len(set(COALITIONS)) == 16
    assert len(questions.cells) == 11 * 2 * 16
    assert len(questions.prompts) == len({cell.prompt for cell in questions.cells}) == 209


def test_the_questions_of_the_other_anchors_are_those_of_the_first_anchors_55_apart():
    no_anchor = frozenset(PLAYERS) - {"anchor"}
    for k, low in zip(range(1, 6), (15, 20, 25, 30, 35), strict=True):
        first, other = (cells(variation=f"V{k}-{regime}", coalition=no_anchor) for regime in "SD")
        assert [cell.prompt for cell in first] == [cell.prompt for cell in other]
        assert [cell.anchor for cell in first] == [10, 65]
        assert [cell.anchor for cell in other] == [low, low + 55]


@pytest.mark.parametrize(
    ("coalition", "prompt"),
    [
        (set(), ".\n\n?"),
        ({"anchor"}, "10.\n\n10?"),
        ({"scene"}, "The roulette wheel landed on .\n\n?"),
        ({"absolute"}, ".\n\n?\n\nWhat is your best guess of the percentage of African countries in the UN?"),
        ({"scene", "anchor"}, "The roulette wheel landed on 10.\n\n10?"),
    ],
)
def test_what_is_missing_is_empty_and_its_punctuation_stays(coalition, prompt):
    (cell,) = cells(variation="V0", anchor=10, coalition=frozenset(coalition))
    assert cell.prompt == prompt


def test_scene_and_comparative_end_in_one_space_and_the_anchor_stands_in_both_places():
    for question in load_questions().questions:
        for text in (question.scene, question.comparative):
            assert text.endswith(" ")
            assert not text.endswith("  ")
    for cell in cells(coalition=frozenset(PLAYERS)):
        assert cell.prompt.count(f" {cell.anchor}") == 2


def test_another_word_or_anchor_is_another_digest(tmp_path):
    original = SHIPPED.read_text(encoding="utf-8")
    digests = {load_questions().digest}
    mine = original.replace("anchoring-llms", "mine")
    for old, new in (("roulette", "lottery"), ("low: 35", "low: 36"), ("mine", "mine")):
        path = tmp_path / "questions.yaml"
        path.write_text(mine.replace(old, new), encoding="utf-8")
        digests.add(load_questions(path).digest)
    assert len(digests) == 4


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{low: 10, high: 65}", "{low: 65, high: 10}", "the low anchor 65 is not below the high anchor 10"),
        ("{low: 10, high: 65}", "{low: ten, high: 65}", "questions.0.variations.V0.low"),
        ("V1-D", "V1-S", "the variation V1-S is there twice"),
        (
            "V1-D",
            "V0-D",
            "the variations V0 and V0-D are of different questions, .* in both it is V0: name them V01 and V02",
        ),
        ("V1-D", "V1/D", r"questions\.1\.variations\.V1/D: the name 'V1/D' should begin with a letter or a digit"),
        (
            "V0: {low: 10",
            "V0: {low: 11",
            "questions of its own under study: anchoring-llms, .* give the study another name",
        ),
        (
            'scene: "The spinner',
            'scene: a\n    scene: "The spinner',
            r"questions\.yaml:15: the key scene stands there twice",
        ),
        ("V1-S: {", "V1-D: {", r"questions\.yaml:19: the key V1-D stands there twice"),
        ("study:", "studie:", "study: this key is missing"),
        ("questions:", "questions: [", "not YAML"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_sentence(tmp_path, old, new, said):
    path = tmp_path / "questions.yaml"
    original = SHIPPED.read_text(encoding="utf-8")
    if new == "V1-S":
        original = original.replace("      V1-D: {low: 15, high: 70}\n", "").replace("V2-S", "V1-S")
    path.write_text(original.replace(old, new), encoding="utf-8")
    with pytest.raises(UserError, match=said) as refusal:
        load_questions(path)
    assert "\n" not in str(refusal.value)


def test_a_part_of_the_shipped_questions_keeps_their_study(tmp_path):
    path = tmp_path / "questions.yaml"
    path.write_text(
        SHIPPED.read_text(encoding="utf-8").replace("      V1-D: {low: 15, high: 70}\n", ""), encoding="utf-8"
    )
    assert len(load_questions(path).cells) == 10 * 2 * 16


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UserError, match=r"none\.yaml cannot be read"):
        load_questions(tmp_path / "none.yaml")


def test_the_coalitions_are_all_subsets():
    subsets = itertools.chain.from_iterable(itertools.combinations(PLAYERS, n) for n in range(5))
    assert set(COALITIONS) == {frozenset(some) for some in subsets}
