"""What is said of LLMs of which nobody has listed who made them."""

import pytest

from analysis.words.vendors import on_unlisted


@pytest.mark.parametrize(
    ("llms", "said"),
    [
        ([], ""),
        (["mine"], "1 LLM is listed by nobody (mine); its vendor is “unlisted” until"),
        (["b", "a"], "2 LLMs are listed by nobody (a, b); they count together as one vendor until llms.csv says"),
        (list("gfedcba"), "7 LLMs are listed by nobody (a, b, c, d, e and 2 more); they count together"),
    ],
)
def test_llms_that_nobody_listed_are_named_with_what_to_do(llms, said):
    assert on_unlisted(llms).startswith(said)
    assert bool(on_unlisted(llms)) == bool(llms)
