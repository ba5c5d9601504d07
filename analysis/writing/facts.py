"""What a document may say: the numbers and texts of its facts, each with the names that lead to it."""

from decimal import Decimal


def leaves(value, path=()):
    """Walk through nested facts.

    Parameters
    ----------
    value : object
        What JSON can hold.
    path : tuple
        The keys and places that led here.

    Yields
    ------
    tuple
        A path, and the number, text, truth value or None there; or an empty dict or list.
    """
    if isinstance(value, dict | list) and value:
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, key))
    else:
        yield path, value


def is_number(value):
    """Say whether a fact is a number; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def exact(number):
    """Return a number as it is printed, so that 0.1 is a tenth."""
    return Decimal(str(number))
