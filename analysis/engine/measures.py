"""What a paradigm says of its measures: which value is best, and what names the place at which gains are compared."""

# as in `inference.transfer`, which has them of the other place too, each with `other_` before it
PLACE = ("study", "paradigm", "domain", "measure", "instrument", "arm", "arm_b")


def best_value(better, reference, answer_kind):
    """Return the mean without bias of the only arm of a paradigm, or nothing where nobody says which that is.

    Parameters
    ----------
    better : {'lower', 'higher', 'closer_to_reference'} or None
    reference : float or None
        What the paradigm names; where it names none, the highest share or likeness is 1 and the lowest 0.
    answer_kind : str
        Of `number` no highest value is known.

    Returns
    -------
    float or None
    """
    if reference is not None:
        return float(reference)
    if better == "higher":
        return None if answer_kind == "number" else 1.0
    return 0.0
