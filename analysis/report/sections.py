"""What the page says of studies that have no answer on anchoring: sections of sentences, figures and notes."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Section:
    """A section of the page.

    Parameters
    ----------
    id : str
    title : str
    headline : str
        What was found, in a few sentences; it stands on the first screen.
    sentences : list of str
        What else was found.
    figures : list of Figure
    notes : list of str
        What the columns of its tables mean, and how sure it is.
    command : str, optional
        What says more.
    tables : list of Table
        Its numbers, where no figure has them.
    """

    id: str
    title: str
    headline: str
    sentences: list = field(default_factory=list)
    figures: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    command: str | None = None
    tables: list = field(default_factory=list)
