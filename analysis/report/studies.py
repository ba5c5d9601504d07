"""What the warehouse holds of one study, as the sections of its part of the page ask for it."""

from collections import Counter
from dataclasses import dataclass

from analysis.leading import DIFFERS, leads, shipped
from analysis.report.values import clean

NO_TECHNIQUE = "no_technique"


@dataclass(frozen=True)
class Study:
    """One study and the rows that are about it.

    Parameters
    ----------
    name : str
    is_simulated : bool
        Whether any answer of it was made up by a simulated respondent.
    tables : dict of str to list of dict
        The rows of all studies, by the name that the query of the report has.
    documents : tuple of str
        Those whose claims about no study stand here too.
    """

    name: str | None
    is_simulated: bool
    tables: dict
    documents: tuple = ()

    @property
    def claims(self):
        """What was published about this study, and about none in documents that have their place here."""
        return [
            row
            for row in self.tables["claims"]
            if (row["study"] == self.name if row["study"] else row["document"] in self.documents)
        ]

    def rows(self, table, **where):
        """Return the rows of this study in which columns have these values."""
        return [
            row
            for row in self.tables[table]
            if row["study"] == self.name and all(row[column] == value for column, value in where.items())
        ]

    def leading(self, domain):
        """Return the goal that leads in a domain; where nothing was asked, that of unanchored prompts that differ."""
        led = (row["goal"] for row in self.rows("losses", domain=domain) if row["leads"])
        return next(led, None) or next(name for name, goal in shipped()["goals"].items() if leads(goal, DIFFERS))

    @property
    def domains(self):
        """The domains of anchoring that were asked about, in order."""
        return sorted({row["domain"] for row in self.rows("attrition")})

    @property
    def techniques(self):
        """All techniques: none first, then those that are ranked."""
        seeded = {row["technique"]: row["is_ranked"] for row in self.tables["techniques"]}
        names = {row["technique"] for table in ("losses", "attrition") for row in self.rows(table)}
        return sorted(names, key=lambda name: (name != NO_TECHNIQUE, not seeded.get(name, False), name))

    def asked(self, domain):
        """Return by LLM and technique how many trials of a domain were asked, and how many of these answered."""
        made = {}
        for row in self.rows("asked_of_llms", domain=domain):
            totals = made.setdefault(row["llm"], {}).setdefault(row["technique"], [0, 0])
            totals[0] += row["n_asked"]
            totals[1] += row["n_answered"]
        return made

    def technique(self, name):
        """Return how a technique is called."""
        return _called(name, "technique", self.tables["techniques"])

    def llm(self, name):
        """Return how an LLM is called; its id where two are called the same."""
        return _called(name, "llm", self.tables["llms"])

    def unit(self, domain):
        """Return the unit of the answers of a domain, in words."""
        units = sorted({row["response_unit"] for row in self.rows("units", domain=domain) if row["response_unit"]})
        return clean(" and ".join(units)) or "the unit of the answer"

    def in_order(self, rows):
        """Sort rows by technique."""
        places = {name: i for i, name in enumerate(self.techniques)}
        return sorted(rows, key=lambda row: (places.get(row["technique"], len(places)), str(row["technique"])))


def _called(name, column, seeded):
    called = {row[column]: row["display_name"] for row in seeded}
    times = Counter(called.values())
    display = called.get(name)
    return clean(display if display and times[display] == 1 else name)
