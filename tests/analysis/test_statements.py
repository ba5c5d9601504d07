"""`docs/statements.md` has a line for each template of a sentence, and none that is printed no more."""

from collections import Counter
from pathlib import Path

import pytest

from analysis.words import statements

# what is put before sentences or behind names, and what codes are called
NO_STATEMENT = {"SIMULATED", "PARTLY_SIMULATED", "SIMULATED_FIRST", "LACKS", "NOBODY_SAID", "ONE_CASE"}


@pytest.mark.parametrize("module", statements.MODULES, ids=lambda module: module.__name__)
def test_each_template_of_a_sentence_has_one_meaning(module):
    named = Counter(name for meaning in statements.MEANINGS for name in meaning.templates.get(module, ()))
    expected = statements.templates(module).keys() - (NO_STATEMENT - named.keys())
    assert named.keys() == expected, "analysis/words/statements.py says what each means"
    assert set(named.values()) <= {1}


def test_the_page_is_what_the_templates_make():
    kept = Path(__file__).parents[2] / "docs" / "statements.md"
    assert kept.read_text() == statements.page(), "`python -m analysis.words.statements > docs/statements.md`"
