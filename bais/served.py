"""What `bais ui` answers: the pages of the site, and what their script asks for.

The warehouse is open for one answer at a time and no longer, so that whoever writes to it finds it closed in between.
"""

import contextlib
import hashlib
import json
import math
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from bais.shown import CELL
from bais.terminal import plain
from ingest.warehouse import UserError, patiently, printable, warehouse_path

PATIENCE_S = 30  # for a load or a build that has the warehouse just then
FOLDERS = ("", "/test")
NO_NUMBER = "none"
DIRECTIONS = ("none", "low", "high")


class Refused(Exception):
    """What cannot be answered: the HTTP status, and why in one sentence."""

    def __init__(self, status: int, sentence: str):
        super().__init__(sentence)
        self.status = status


class Route(NamedTuple):
    """What a script may ask for: the parameters that it has to give, those that it may, and what answers."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    answer: Callable[[dict[str, str]], object]


class Served:
    """The pages of the warehouse, made anew once it has changed, and single answers."""

    def __init__(self):
        self._path = warehouse_path()
        self._reading, self._making = threading.Lock(), threading.Lock()
        self._state, self._begun_at = None, -math.inf
        self._sites, self._pages = {}, {}
        self.routes = {
            "cell": Route(tuple(name for name in CELL if name != "domain"), ("value",), self._cell),
            "trial": Route(("id",), (), self._trial),
            "claims": Route((), (), self._claims),
            "version": Route((), (), lambda _: {"version": self.version()}),
        }

    def version(self) -> str:
        """Return a name for the state of the warehouse's file, which is another one once anybody has written to it."""
        from bais.built import state_of

        while True:
            with contextlib.suppress(FileNotFoundError):  # a log that a writer has just taken in
                return hashlib.sha256(repr(state_of(self._path)).encode()).hexdigest()[:16]

    def prepare(self) -> None:
        """Make the pages, or say in one sentence why there are none."""
        with self._making:
            self._make()

    def page(self, path: str) -> bytes | None:
        """Return the page at a path, as the warehouse is now; None where there is none."""
        came_at = time.monotonic()
        with self._making:
            if self._begun_at < came_at and self._state != self.version():
                self._make()
            if path not in self._sites:
                return None
            if path not in self._pages:
                site, name = self._sites[path]
                self._pages[path] = site.page([name], is_live=True, state=self._state).encode()
            return self._pages[path]

    def route(self, path: str) -> Route | None:
        """Return what answers at a path, beside the pages of real studies and of simulated ones; None elsewhere."""
        folder, _, name = path.rpartition("/")
        return self.routes.get(name) if folder in FOLDERS else None

    def answer(self, route: Route, parameters: dict[str, str]) -> bytes:
        """Return as JSON what a script asks for; its parameters are values and never SQL."""
        refuse_others(parameters, (*route.required, *route.optional))
        if missing := [name for name in route.required if name not in parameters]:
            raise Refused(400, f"missing: {', '.join(missing)}")
        return json.dumps(route.answer(parameters)).encode()

    def close(self) -> None:
        """Let nobody open the warehouse any more, once whoever reads it has done so."""
        self._reading.acquire(timeout=PATIENCE_S)

    def _make(self):
        from bais.write import sites_of

        begun_at, state = time.monotonic(), self.version()
        sites = self._patiently(sites_of)
        places = {}
        for where, site in sites:
            folder = f"/{where}/" if where else "/"
            places |= {f"{folder}{_file_of(name)}": (site, name) for name in site.names}
            places[folder] = places[f"{folder}index.html"]
        self._sites, self._pages, self._state, self._begun_at = places, {}, state, begun_at

    def _patiently(self, act):
        """Return what an act reads, once nobody else has the warehouse: DuckDB opens a file once for all threads."""

        def alone():
            with self._reading:
                return act()

        return patiently(alone, PATIENCE_S, is_quiet=True)

    def _read(self, act):
        from bais.warehouse import opened

        def read():
            with opened() as warehouse:
                return act(warehouse)

        return self._patiently(read)

    def _cell(self, parameters):
        from analysis.report.values import clean, clean_lines
        from bais.shown import answers_of_cell

        cell = {name: parameters[name] for name in self.routes["cell"].required}
        if cell["direction"] not in DIRECTIONS:
            raise Refused(400, f"a direction is one of {', '.join(DIRECTIONS)}")
        answers = self._read(lambda warehouse: answers_of_cell(warehouse, cell, *_asked(parameters.get("value"))))
        return [
            [
                _as_on_the_page(answer["value"]),
                1,
                _as_on_the_page(answer["first"]),
                [[clean(who), clean_lines(text), is_cut] for who, text, is_cut in answer["turns"]],
                answer["trial_id"],
            ]
            for answer in answers
        ]

    def _trial(self, parameters):
        from bais.trials import everything

        def read(warehouse):
            try:
                return plain(everything(warehouse, parameters["id"]))
            except UserError as error:
                raise Refused(404, str(error)) from None

        return self._read(read)

    def _claims(self, _):
        from analysis.report.claims import ledger
        from analysis.report.queries import queries
        from bais.warehouse import public_tables, records

        def read(warehouse):
            return records(warehouse, queries({name for _, name, _ in public_tables(warehouse)})["claims"])

        return plain(ledger(self._read(read)))


def refuse_others(parameters: dict[str, str], known: tuple[str, ...]) -> None:
    """Refuse parameters that nobody knows."""
    if others := [printable(name) for name in parameters if name not in known]:
        raise Refused(400, f"unknown: {', '.join(others)}")


def _asked(value):
    """Return which answers are asked for, and of which value: of all without one."""
    if value in (None, NO_NUMBER):
        return ("all" if value is None else "none",)
    with contextlib.suppress(ValueError):
        if math.isfinite(number := float(value)):
            return "one", number
    raise Refused(400, f"a value is a number, or {NO_NUMBER} for answers without one")


def _as_on_the_page(value):
    from analysis.report.site import SIGNIFICANT_DIGITS

    return None if value is None else float(f"{value:.{SIGNIFICANT_DIGITS}g}")


def _file_of(name):
    from analysis.report.site import FILES

    return FILES[name]
