"""The rows of decisions, predictions and the multiverse: the answers to all questions, whatever they are about."""

from itertools import groupby

from analysis.engine import decisions, multiverse, places
from analysis.engine.comparisons import placebos
from analysis.engine.families import standing, why_not_established
from analysis.engine.verdicts import verdicts

ANSWERS = {"part": "varchar", **decisions.COLUMNS, **places.PREDICTIONS, **multiverse.COLUMNS}


def answer_rows(questions, ranked, controls, families, *, n_draws, seed):
    """Answer questions, those of one study and paradigm one after the other.

    Parameters
    ----------
    questions : iterable of Question
    ranked : collection of str
        The techniques that are decided on.
    controls : pandas.DataFrame
        As of `analysis.engine.comparisons.comparisons`.
    families : pandas.DataFrame
        As of `analysis.engine.families.of_studies`: what was declared before it was asked.
    n_draws, seed : int

    Yields
    ------
    dict
        Rows of `inference.decisions`, `inference.predictions` and `inference.multiverse`, with the table's name as
        `part`.
    """
    for keys, of_paradigm in groupby(
        questions, key=lambda question: (question.keys["study"], question.keys["paradigm"])
    ):
        decided = []
        for question in of_paradigm:
            pairs = decisions.pairs_of(question, ranked, controls)
            family = _family(families, question, pairs)
            for row in decisions.decisions(question, pairs, n_draws=n_draws, seed=seed):
                if row["part"] == decisions.PART:
                    decided.append(row | family)
                else:
                    yield row
            yield from multiverse.multiverse(question, pairs)
        yield from verdicts(decided, placebos(keys[0], controls))


def _family(families, question, pairs):
    """Return how many families were declared of a question, and the code that keeps it from being established."""
    keys = {name: question.keys[name] for name in ("study", "paradigm", "domain", "goal")}
    family = standing(families, **keys)
    compared = [pair[:3] for pair in pairs if pair.control and not pair.is_confounded]
    why = why_not_established(family, compared, margin=question.basis.margin)
    return {"n_families": family.n_families, "family_reason": why}
