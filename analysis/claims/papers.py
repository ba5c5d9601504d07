"""Papers as folders that a person reads and writes: `paper.yaml`, claims, named specifications, tables as printed."""

import csv
import fnmatch
import math
import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

import yaml

from analysis.claims import KEYS, own_folders
from analysis.claims.derivations import DerivationError, in_order
from analysis.tables import SHIPPED, declared

ABOUT = ("document", "title", "authors", "year", "doi", "study", "version", "text", "tables")
SPECIFICATION = (
    "temperature_scope", "excluded_llm", "row_set", "baseline_scope", "weighting", "direction_weighting",
    "baseline_pooling", "estimator", "non_null", "method", "input_decimals", "recommended_method",
)  # fmt: skip
WRITTEN = ("id", "part", "where", "kind", "statement", "value", "decimals", "unit", "quantity", "keys",
           "specification", "recommended", "not_derivable", "confounded_by", "note")  # fmt: skip
CLAIMS, PAPERS = declared("published_claims"), declared("papers")
ONE_OF = {
    "kind": ("value", "sentence"),
    "anchor_direction": ("none", "low", "high", "both", "all"),
    "row_set": ("accepted", "without_suspects", "as_recorded"),
    "weighting": ("trial", "llm"),
    "direction_weighting": ("trial", "balanced"),
    "baseline_pooling": ("llm", "domain"),
    "estimator": ("mean_of_ratios", "ratio_of_means", "ratio_of_file_means", "repeated_cell_means"),
    "non_null": ("final", "both"),
}
NUMBER = r"\d+(?:\.\d+)?"
SCOPES = {"temperature_scope": f"pooled|{NUMBER}", "baseline_scope": f"pooled|matched|t={NUMBER}"}
DECIMALS = range(-9, 301)
PRINTED = re.compile(
    r"([<>\u2264\u2265]?)=?\s*([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.(\d*))?)(?:e([+-]?\d+))?", re.IGNORECASE
)
FORMULA = re.compile(r"(?:(\w+)\s*=\s*)?(\w+)\((.*)\)", re.DOTALL)
NAMED = re.compile(r"\{([^\W\d]\w*)\}")
PERCENT = {"%", "pp"}  # papers print either for a difference
SIGNS = {"+": 1.0, "-": -1.0, "0": 0.0}
DASHES = dict.fromkeys(map(ord, "\N{MINUS SIGN}\N{EN DASH}\N{EM DASH}"), "-")


class PaperError(ValueError):
    """What is wrong with the folder of a paper: the file, the row, and what to do."""


@dataclass(frozen=True)
class Place:
    """Where something is written, as a message names it."""

    path: Path
    row: int | None = None

    def error(self, why):
        """Return the error that says what is wrong here."""
        return PaperError(f"{self.path}{f', row {self.row}' if self.row else ''}: {why}")


@cache
def _quantities():
    with (SHIPPED / "seeds" / "quantities.csv").open(encoding="utf-8", newline="") as lines:
        return {row["quantity"]: row["unit"] for row in csv.DictReader(lines)}


def beside_shipped(*folders):
    """Return the folders of papers that this project has, and these after them."""
    return [*sorted(path for path in (SHIPPED / "claims").iterdir() if path.is_dir()), *folders]


def read_papers(folders=None):
    """Read the folders of papers.

    Parameters
    ----------
    folders : iterable of pathlib.Path, optional
        By default those that this project has, and those that `BAIS_PAPERS` names as `PATH` does.

    Returns
    -------
    papers : list of dict
        Rows of `PAPERS`.
    claims : list of dict
        Rows of `CLAIMS`, each paper's in their order: those of its tables as `paper.yaml` lists them, then the others.

    Raises
    ------
    PaperError
        If a file is missing or says what nobody can read. The message names file and row.
    """
    if folders is None:
        folders = beside_shipped(*own_folders())
    papers, claims = {}, {}
    for folder in folders:
        paper, its_claims = read_paper(folder)
        if (document := paper["document"]) in papers:
            raise Place(folder / "paper.yaml").error(f"there is a document {document} already: name it otherwise")
        papers[document] = paper
        for claim in its_claims:
            first = claims.setdefault((claim["claim_id"], claim["part"]), claim)
            if first is not claim:
                why = f"the id {claim['claim_id']} is that of a claim of document {first['document']}: give it another"
                raise Place(folder).error(why)
    return list(papers.values()), list(claims.values())


def about_paper(name):
    """Return what the `paper.yaml` of a paper that this project has says of it.

    Parameters
    ----------
    name : str
        Of its folder.

    Returns
    -------
    dict
    """
    return yaml_of(SHIPPED / "claims" / name / "paper.yaml")


def read_paper(folder):
    """Read the folder of one paper; see `read_papers`.

    Parameters
    ----------
    folder : pathlib.Path

    Returns
    -------
    paper : dict
    claims : list of dict
    """
    about, at = yaml_of(folder / "paper.yaml"), Place(folder / "paper.yaml")
    _refuse_unknown(at, "key", about, ABOUT)
    if not about.get("title"):
        raise at.error("it has no title")
    version, tables = about.get("version") or {}, about.get("tables") or {}
    if not isinstance(version, dict) or not isinstance(tables, dict):
        raise at.error("version and tables have keys of their own, as docs/how-to/add-a-claim.md shows")
    _refuse_unknown(at, "key of version", version, ("label", "digest"))
    texts = about | version | {"document": about.get("document") or folder.name}
    paper = {name: texts.get(name) and str(texts[name]) for name in PAPERS}
    paper["year"] = _whole_number(paper, "year", at)
    specifications = _specifications(folder / "specifications.csv")
    written = {}
    for name, table in tables.items():
        if Path(str(name)).name != name:
            raise at.error(f"the table {name} has to lie in the paper's folder, and is named without it")
        try:
            for place, claim in _of_table(folder / name, table or {}, at):
                _add(written, place, claim)
        except (AttributeError, KeyError, TypeError):
            raise at.error(f"what it says of {name} is not as docs/how-to/add-a-claim.md shows") from None
    if (folder / "claims.csv").exists() or not written:
        for place, claim in rows_of(folder / "claims.csv", WRITTEN):
            _add(written, place, claim)
    if not written:
        raise Place(folder / "claims.csv").error("it has no claims")
    return paper, _whole(written, paper, specifications)


def _add(written, place, claim):
    """Add a claim, or what a row says besides of a number that a table prints."""
    if not claim.get("id"):
        raise place.error("it has no id")
    key = claim["id"], claim.get("part") or None
    if key in written:
        first, before = written[key]
        if claim.get("value") or first.path == place.path:
            raise place.error(f"the claim {'/'.join(filter(None, key))} is there already, in {first.path.name}")
        claim = before | {name: value for name, value in claim.items() if value}
    written[key] = place, claim


def printed_number(text, unit=None):
    """Return what a printed number says.

    Parameters
    ----------
    text : str
        Such as 72.9, 14,152, 3.2e-12 or < .05; with unit `stars` as many asterisks, with unit `sign` a sign.
    unit : str, optional

    Returns
    -------
    value : float
    decimals : int
        Digits after the point; of 3.2e-12 they are 13.
    comparison : {'=', '<', '>'}

    Raises
    ------
    ValueError
        If it is none.
    """
    text = text.translate(DASHES).strip()
    if unit == "stars" and not text.strip("*"):
        return float(len(text)), 0, "="
    if unit == "sign" and text in SIGNS:
        return SIGNS[text], 0, "="
    found = PRINTED.fullmatch(text)
    if not found or not any(map(str.isdigit, found[2])):
        if re.fullmatch(r"[<>]?\s*[+-]?\d+,\d+", text):
            raise ValueError(f"{text} has a decimal comma: write a point")
        raise ValueError(f"{text or 'nothing'} is no number: write it as in 72.9, 14,152, 3.2e-12 or < .05")
    if not math.isfinite(float(f"{found[2].replace(',', '')}e{found[4] or 0}")):
        raise ValueError(f"{text} is too large: write a number below 1e308")
    digits, power = found[2].replace(",", ""), int(found[4] or 0)
    return (
        float(f"{digits}e{power}"),
        max(len(found[3] or "") - power, 0),
        {"\u2264": "<", "\u2265": ">"}.get(found[1], found[1]) or "=",
    )


def _of_table(path, about, paper):
    """Yield the claims that a table as printed makes, each with its place."""
    _refuse_unknown(paper, "key", about, ("where", "labels", "names", "columns", *WRITTEN))
    labels, by_column = about.get("labels") or {}, about.get("columns") or {}
    _refuse_unknown(paper, f"key of {path.name}: labels", filter(None, labels.values()), KEYS)
    if not any(by_column.values()):
        raise paper.error(
            f"{path.name} has no column with a quantity or with not_derivable: name one, or take the table out"
        )
    shared = {name: about[name] for name in WRITTEN if name in about}
    shown = {}
    for place, cells in rows_of(path):
        if lacks := [name for name in (*labels, *by_column) if name not in cells]:
            raise paper.error(f"{path.name} has no column {lacks[0]}, only {', '.join(cells)}")
        shown |= {name: cells[name] for name in labels if cells[name]}  # an empty cell repeats the one above
        names = about.get("names") or {}
        keys = {key: names.get(shown.get(name), shown.get(name)) for name, key in labels.items() if key}
        for name, column in by_column.items():
            cell, column = cells[name].translate(DASHES), column or {}
            numbers = column.get("numbers") or [column]
            if cell in ("", "-") or not any(numbers):
                continue
            if column.get("cell", "{}").count("{}") != len(numbers):
                raise paper.error(f"{path.name}, {name}: as many {{}} in its cell as it has numbers")
            printed = _numbers(cell, column.get("cell"), [number.get("unit") for number in numbers])
            if printed is None:
                raise place.error(f"{name} is {cell}, not as {column['cell']}")
            for number, value in zip(numbers, printed, strict=True):
                written = shared | number | {"keys": f"{shared.get('keys') or ''} {number.get('keys') or ''}"}
                yield place, _filled(written, shown | keys, keys) | {"value": value}


def _numbers(cell, pattern, units):
    """Return the numbers in a cell, each in place of a {} of the pattern; None where it is not so."""
    if not pattern:
        return [cell]
    kinds = {"stars": r"(\**)", "sign": r"([+\-0])"}
    parts = list(map(re.escape, pattern.split("{}")))
    wanted = [kinds.get(unit, r"([<>]?\s*[+-]?[\d.,]+(?:e[+-]?\d+)?)") for unit in units]
    pattern = parts[0] + "".join(kind + part for kind, part in zip(wanted, parts[1:], strict=True))
    found = re.fullmatch(pattern, cell)
    return found and found.groups()


def _filled(about, shown, keys):
    """Return a claim whose texts name what its row is of: {Header} as it is printed, {key} as it is called here."""

    def text(name, pattern):
        slugs = {f"{key}_": re.sub(r"\W+", "_", str(value)).lower() for key, value in shown.items()}
        in_id = slugs | {key: str(shown[key]).rpartition("/")[2] for key in keys}
        values = shown | in_id if name == "id" else shown
        return re.sub(r"\{([^{}]+)\}", lambda found: str(values.get(found[1], found[0])), str(pattern))

    claim = {name: text(name, pattern) for name, pattern in about.items() if pattern is not None}
    given = " ".join(f"{key}={value}" for key, value in keys.items() if value)
    return claim | {"keys": f"{given} {claim.get('keys', '')}".strip()}


def rows_of(path, names=()):
    """Yield the rows of a CSV file, each with its place; where columns have known names, no others.

    Parameters
    ----------
    path : pathlib.Path
    names : collection of str, optional

    Yields
    ------
    Place, dict of str to str

    Raises
    ------
    PaperError
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.reader(lines, strict=True)
            header = [name.strip() for name in next(rows, [])]
            if names:
                _refuse_unknown(Place(path, 1), "column", header, names)
            if len(set(header)) < len(header):
                raise Place(path, 1).error("two columns have one name")
            for cells in rows:
                if len(cells) != len(header) and cells:
                    raise Place(path, rows.line_num).error(f"it has {len(cells)} cells, and the header {len(header)}")
                if any(map(str.strip, cells)):
                    yield Place(path, rows.line_num), dict(zip(header, map(str.strip, cells), strict=True))
    except FileNotFoundError:
        raise Place(path).error("there is no such file") from None
    except csv.Error as error:
        raise Place(path, rows.line_num).error(f"it is no CSV ({error})") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Place(path).error(f"it cannot be read as text in UTF-8 ({error})") from None


def yaml_of(path):
    """Return what the `paper.yaml` at a path says.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    dict

    Raises
    ------
    PaperError
    """
    try:
        about = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise Place(path).error("there is no such file: a paper is a folder with one") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise Place(path).error(f"it is no YAML ({' '.join(str(error).split())})") from None
    if not isinstance(about, dict):
        raise Place(path).error("it is no list of keys and values")
    return about


def _refuse_unknown(place, what, names, known):
    if unknown := [name for name in names if name not in known]:
        wanted = ", ".join(str(name) for name in known if name)
        raise place.error(f"{unknown[0] or 'an empty name'} is no {what}: there are {wanted}")


def _specifications(path):
    specifications = {}
    for place, row in rows_of(path, ("name", *SPECIFICATION)) if path.exists() else ():
        _refuse_other(row, place)
        name, decimals = row.pop("name", None), _whole_number(row, "input_decimals", place)
        if not name or name in specifications:
            raise place.error(f"the specification {name} is there already" if name else "it has no name")
        specifications[name] = {column: value for column, value in row.items() if value} | {"input_decimals": decimals}
    return specifications


def _whole(written, paper, specifications):
    """Return what was written as rows of `CLAIMS`."""
    claims, places = {}, {}
    for (name, part), (place, claim) in written.items():
        unit = claim.get("unit") or _quantities().get(claim.get("quantity")) or "1"
        wanted = ("where", "statement") if unit == "stars" else ("where", "statement", "value")
        if lacks := [needed for needed in wanted if not claim.get(needed)]:
            raise place.error(f"the claim {name} has no {lacks[0]}")
        try:
            value, decimals, comparison = printed_number(claim["value"], unit)
        except ValueError as error:
            raise place.error(f"the value of {name}: {error}") from None
        row = dict.fromkeys(CLAIMS) | {
            "claim_id": name, "part": part, "document": paper["document"], "location": claim["where"],
            "statement": claim["statement"], "kind": claim.get("kind") or "value", "unit": unit,
            "study": paper["study"], "comparison": comparison, "published_value": value,
            "decimals": _whole_number(claim, "decimals", place, decimals),
        }  # fmt: skip
        row |= {name: claim.get(name) or None for name in ("confounded_by", "note")}
        row |= _specification(claim, specifications, place) | _keys(claim, place)
        row |= _quantity(claim, place, bool(paper["study"]))
        row["not_derivable"] = None if row["derivation"] else claim.get("not_derivable") or None
        _check(row, place)
        key = name if not part else f"{name}/{part}"
        claims[key], places[key] = row, place
    for key, row in claims.items():
        for column in ("inputs", "recommended_inputs"):
            if row[column]:
                row[column] = " ".join(_expanded(row[column], key, claims))
    try:
        in_order(claims)
    except DerivationError as error:
        raise places[error.claim].error(f"the claim {error.claim} {error.why}") from None
    return list(claims.values())


def _specification(claim, specifications, place):
    name = claim.get("specification")
    if name and name not in specifications:
        known = ", ".join(specifications) or "none"
        raise place.error(f"there is no specification {name} in specifications.csv: there are {known}")
    return specifications[name] if name else {}


def _refuse_other(row, place):
    for name, pattern in SCOPES.items():
        if row.get(name) and not re.fullmatch(pattern, row[name]):
            raise place.error(f"{name} is {row[name]}, not {pattern.replace('|', ' or ').replace(NUMBER, '1')}")
    for name, values in ONE_OF.items():
        if row.get(name) and row[name] not in values:
            raise place.error(f"{name} is {row[name]}, not one of {', '.join(values)}")


def _whole_number(row, name, place, otherwise=None):
    text = row.get(name)
    if not text:
        return otherwise
    if not re.fullmatch(r"-?\d{1,9}", text):
        raise place.error(f"{name} is {text}: it takes a whole number")
    return int(text)


def _keys(claim, place):
    pairs = [pair.partition("=") for pair in (claim.get("keys") or "").split()]
    if wrong := ["".join(pair) for pair in pairs if pair[0] not in KEYS or not pair[2] or "," in pair[2]]:
        raise place.error(f"{wrong[0]} is no key: write one of {', '.join(KEYS)}, as in technique=sacd llm=openai/o3")
    row = {name: value for name, _, value in pairs}
    if len(row) < len(pairs):
        raise place.error("a key is there twice")
    return row


def _quantity(claim, place, has_study):
    """Return what a claim is of, and what it derives from."""
    row, recommended = {"quantity": None, "derivation": None}, claim.get("recommended") or ""
    if found := FORMULA.fullmatch(claim.get("quantity") or ""):
        row = {"quantity": found[1], "derivation": found[2], "inputs": found[3]}
        row |= {"inputs_are": None if has_study else "printed"}
    elif claim.get("quantity"):
        row["quantity"] = claim["quantity"]
    if recommended == "as printed":
        return row | {"recommended_inputs": row.get("inputs")}
    if found := FORMULA.fullmatch(recommended):
        if found[2] != row["derivation"] or has_study:
            raise place.error(f"{recommended} cannot be recommended: only {row['derivation']}, and without a study")
        row["recommended_inputs"] = found[3]
    return row | {"recommended_quantity": None if found else recommended or None}


def _check(row, place):
    _refuse_other(row, place)
    named = (None if row["derivation"] or row["not_derivable"] else row["quantity"], row["recommended_quantity"])
    for quantity in filter(None, named):
        if quantity not in _quantities():
            meant = "".join(f": is {close} meant?" for close in get_close_matches(quantity, _quantities(), n=1))
            raise place.error(f"{quantity} is no quantity of seeds/quantities.csv{meant}")
    unit = _quantities().get(named[0])
    if unit and row["unit"] != unit and {unit, row["unit"]} != PERCENT:
        raise place.error(f"{row['quantity']} is in {unit}, and the unit written is {row['unit']}")
    if row["llm_b"] and not row["llm"]:
        raise place.error("it has an llm_b and no llm to compare it with")
    if not (row["quantity"] or row["derivation"] or row["not_derivable"]):
        raise place.error("it needs a quantity, or a sentence in not_derivable")
    if not (row["study"] or row["inputs_are"] or row["not_derivable"]):
        raise place.error("without a study in paper.yaml a claim derives from others, or is not derivable")
    if row["kind"] == "sentence" and row["comparison"] == "=":
        raise place.error("a sentence is true if a number is above or below a limit: its value begins with < or >")
    if row["decimals"] not in DECIMALS:
        raise place.error(f"decimals are {row['decimals']}, not from {DECIMALS[0]} to {DECIMALS[-1]}")


def _expanded(inputs, key, claims):
    """Return the ids of the claims that inputs name: * stands for anything, {name} for the same in all of them."""
    inputs = [name for name in re.split(r"[,\s]+", inputs) if name]
    most_names = max(reversed(inputs), key=lambda name: len(set(NAMED.findall(name))))
    if not NAMED.search(most_names):
        others = [other for other in claims if other != key]
        return [other for name in inputs for other in (fnmatch.filter(others, name) if "*" in name else [name])]
    pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(most_names))
    together = []
    for found in filter(None, (re.fullmatch(pattern, other) for other in claims)):
        names = {f"{{{name}}}": value for name, value in found.groupdict().items()}
        each = [NAMED.sub(lambda name, names=names: names.get(name[0], name[0]), given) for given in inputs]
        together += each if all(name in claims for name in each) and len(set(each)) == len(each) else []
    return together
