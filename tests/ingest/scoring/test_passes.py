"""Every way to score gives what one pass for each target gives."""

import numpy as np
import pytest

from ingest.local.llm import OutOfMemory
from ingest.scoring.passes import AtATime, Tree, by_cache, by_tree, one_by_one, right_way
from ingest.scoring.questions import load_questions
from ingest.scoring.targets import RULES, TARGETS, Targets
from ingest.warehouse import UserError
from tests.ingest.scoring.tiny import KINDS, Alibi, HeedsNoMask, Transformer

PROMPTS = list(load_questions().prompts.values())
SOME = [PROMPTS[-1], PROMPTS[0], ".\n\n?"]
EVERY_NINTH = [*range(0, 101, 9), 100]
TOKENIZERS = [{"kind": kind, "bos": bos, "eos": False} for kind in KINDS for bos in (False, True)]
TOKENIZERS.append({"kind": "split_digits", "bos": True, "eos": True})


def named(tokenizer):
    return "-".join([tokenizer["kind"], *(mark for mark in ("bos", "eos") if tokenizer[mark])])


def naive(llm, prompt, target, rule):
    """The sum of log-probabilities of a target as document D's notebook computes it, written out."""
    (whole,), (own,) = llm.encode([f"{prompt} {target}%"]), llm.encode([prompt])
    (alone,) = llm.encode([f"{target}%"])
    logits = llm.forward_plain(whole)[0]
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    if rule == "published":
        return sum(log_p[len(whole) - len(alone) + n - 1, alone[n]] for n in range(len(alone)))
    own = own[:-1] if llm.eos else own
    assert whole[: len(own)] == own  # so that what follows the prompt is what it is followed by
    end = len(whole) - 1 if llm.eos else len(whole)
    return sum(log_p[place - 1, whole[place]] for place in range(len(own), end))


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=named)
def test_one_pass_for_a_prompt_gives_what_a_pass_for_each_target_gives(tokenizer):
    llm = Transformer(**tokenizer)
    spellings = Targets(llm).after(SOME)
    found = by_tree(llm, spellings)
    for prompt, scores in zip(SOME, found, strict=True):
        assert set(scores) == {(rule, target) for rule in RULES for target in TARGETS}
        for target in EVERY_NINTH:
            for rule in RULES:
                assert scores[rule, target].sum() == pytest.approx(naive(llm, prompt, target, rule), abs=1e-9)


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=named)
def test_the_other_ways_give_the_same(tokenizer):
    llm = Transformer(**tokenizer)
    spellings = Targets(llm).after(SOME[1:])
    tree, cache, single = by_tree(llm, spellings), by_cache(llm, spellings), one_by_one(llm, spellings, EVERY_NINTH)
    for of_tree, of_cache, by_itself in zip(tree, cache, single, strict=True):
        assert set(of_cache) == set(of_tree) > set(by_itself)
        for key, values in of_tree.items():
            np.testing.assert_allclose(of_cache[key], values, rtol=0, atol=1e-9)
        for key, values in by_itself.items():
            np.testing.assert_allclose(of_tree[key], values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"pairs"}))  # "47%" is one token: there is nothing to see
def test_a_causal_mask_in_place_of_the_ancestor_mask_is_wrong(kind):
    llm = HeedsNoMask(kind)
    spellings = Targets(llm).after(SOME[:1])
    (wrong,), (right,) = by_tree(llm, spellings), one_by_one(llm, spellings, EVERY_NINTH)
    assert max(abs(wrong[key].sum() - right[key].sum()) for key in right) > 0.3


def test_what_a_tree_gets_wrong_a_cache_takes_over_and_what_that_refuses_goes_one_by_one():
    (spelling,) = Targets(Transformer()).after(SOME[:1])

    class NoPositions(Transformer):
        def forward(self, ids, positions, mask, n_last):
            raise ValueError("position_ids")

    class NoCache(Alibi):
        def forward_after(self, stem, tails):
            raise TypeError("past_key_values")

    ways = {
        Transformer: "tree", HeedsNoMask: "cache", Alibi: "cache", NoPositions: "cache", NoCache: "one_by_one",
    }  # fmt: skip
    assert {kind: right_way(kind(), spelling) for kind in ways} == ways


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_of_the_tree_sees_the_tokens_of_its_own_text_and_no_others(kind):
    (spelling,) = Targets(Transformer(kind, bos=True)).after(SOME[:1])
    tree = Tree(spelling)
    mask = tree.mask()
    texts = {whole[: n + 1] for whole in spelling.wholes for n in range(len(whole) - 1)}
    seen = [tuple(np.array(tree.ids)[row]) for row in mask]
    assert set(seen) == texts
    assert len(seen) == len(texts)
    assert tree.positions == [len(ids) - 1 for ids in seen]


def test_the_tree_of_101_targets_is_at_most_twice_as_long_as_they_are_many():
    for kind in KINDS:
        (spelling,) = Targets(Transformer(kind)).after(SOME[:1])
        assert len(Tree(spelling).ids) - spelling.n_common <= 2 * len(TARGETS)


def test_a_tree_takes_a_fraction_of_the_tokens_that_single_texts_take():
    llm = Transformer()
    spellings = Targets(llm).after(SOME[:1])
    by_tree(llm, spellings)
    n_tree, llm.n_tokens = llm.n_tokens, 0
    one_by_one(llm, spellings)
    assert llm.n_tokens > 30 * n_tree


def test_published_scores_what_stands_alone_and_aligned_what_stands_there():
    llm = Transformer("byte_level")
    (spelling,) = Targets(llm).after(SOME[:1])
    readings = {(reading.rule, reading.target): reading for reading in spelling.readings}
    published, aligned = readings["published", 47], readings["aligned", 47]
    known = {number: token for token, number in llm.known.items()}
    assert [known[n] for n in published.ids] == ["47", "%"]
    assert [known[n] for n in aligned.ids] == [" 47", "%"]
    assert published.places == aligned.places == (len(spelling.wholes[47]) - 3, len(spelling.wholes[47]) - 2)


def test_published_scores_the_beginning_of_a_text_too_and_aligned_does_not():
    llm = Transformer("split_digits", bos=True)
    (spelling,) = Targets(llm).after(SOME[:1])
    readings = {(reading.rule, reading.target): reading for reading in spelling.readings}
    assert readings["published", 47].ids[0] == 1
    assert readings["published", 47].n_bos == 1
    assert readings["aligned", 47].n_bos == 0
    assert 1 not in readings["aligned", 47].ids
    known = {number: token for token, number in llm.known.items()}
    assert [known[n] for n in readings["aligned", 47].ids] == [" ", "4", "7", "%"]


def test_half_as_many_go_into_a_pass_from_when_memory_was_out():
    tried = []

    def do(items):
        tried.append(len(items))
        if len(items) > 3:
            raise OutOfMemory
        return [-item for item in items]

    at_a_time = AtATime(8)
    assert at_a_time.each(do, list(range(10))) == [-item for item in range(10)]
    assert tried == [8, 4, 2, 2, 2, 2, 2]
    with pytest.raises(OutOfMemory):
        AtATime(8).each(lambda items: (_ for _ in ()).throw(OutOfMemory), [1, 2])


@pytest.mark.parametrize(("lacks", "target"), [("7", "7%"), ("%", "0%")])
def test_a_tokenizer_that_cannot_spell_a_target_is_refused(lacks, target):
    with pytest.raises(UserError, match=f'cannot spell "{target}"'):
        Targets(Transformer("split_digits", lacks=lacks))


def test_a_tokenizer_that_cannot_spell_a_target_after_a_prompt_is_refused():
    llm = Transformer("byte_level", lacks=" 93")
    with pytest.raises(UserError, match='cannot spell "93%" after'):
        Targets(llm).after(SOME[:1])
