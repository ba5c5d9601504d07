"""The rows of decisions, predictions and the multiverse: the answers to all questions, whatever they are about."""

from itertools import groupby

from analysis.engine import decisions, multiverse, places

ANSWERS = {"part": "varchar", **decisions.COLUMNS, **places.PREDICTIONS, **multiverse.COLUMNS}


def answer_rows(questions, ranked, controls, *, n_draws, seed):
    """Answer questions, those of one study and paradigm one after the other.

    Parameters
    ----------
    questions : iterable of Question
    ranked : collection of str
        The techniques that are decided on.
    controls : pandas.DataFrame
        As of `analysis.engine.comparisons.comparisons`.
    n_draws, seed : int

    Yields
    ------
    dict
        Rows of `inference.decisions`, `inference.predictions` and `inference.multiverse`, with the table's name as
        `part`.
    """
    for _, of_paradigm in groupby(questions, key=lambda question: (question.keys["study"], question.keys["paradigm"])):
        decided = []
        for question in of_paradigm:
            pairs = decisions.pairs_of(question, ranked, controls)
            for row in decisions.decisions(question, pairs, n_draws=n_draws, seed=seed):
                if row["part"] == decisions.PART:
                    decided.append(row)
                else:
                    yield row
            yield from multiverse.multiverse(question, pairs)
        yield from decisions.with_certainty(decided)
