"""Papers that nobody here wrote, from `bais claims extract` to the verdicts: which of their numbers are wrong."""

import csv
import os
import random
import shutil
import textwrap

import duckdb
import pytest
import yaml

from bais.main import main

pytestmark = pytest.mark.slow("dbt holds twenty papers against a warehouse")

PAPERS, NUMBERS, ERRORS = 20, 40, 6
KNOWN = """
select domain, technique, llm, anchor_direction, percent_of_baseline from papers.technique_effects
where study = 'simulated' and row_set = 'accepted' and baseline_scope = 'pooled' and weighting = 'llm'
    and temperature_scope = 'pooled' and llm is not null and anchor_direction in ('low', 'high')
    and technique != 'sacd_initial' and domain in (
        select domain from papers.technique_effects where study = 'simulated' group by all
        having count(distinct vignette) = 1
    )
    and percent_of_baseline is not null
order by all
"""
SPECIFICATION = {
    "name": "published", "row_set": "accepted", "baseline_scope": "pooled", "weighting": "llm", "non_null": "final",
    "direction_weighting": "trial", "baseline_pooling": "llm", "estimator": "mean_of_ratios",
    "temperature_scope": "pooled",
}  # fmt: skip
SENTENCE = "In {domain}, {llm} answers {percent} of its baseline under the {anchor_direction} anchor with {technique}."
TEMPLATES = {
    "tex": (
        "\\documentclass{{article}}\n\\title{{On anchors}}\n\\begin{{document}}\n\\section{{Results}}\n{text}\n"
        "\\begin{{table}}\n\\caption{{Percent of the baseline}}\n\\begin{{tabular}}{{lllrr}}\n{table}\\end{{tabular}}\n"
        "\\end{{table}}\n"
        "\\end{{document}}\n",
        lambda cells: " & ".join(cells) + " \\\\\n",
        "\\%",
    ),
    "md": (
        "# On anchors\n\n## Results\n\n{text}\n\nTable 1: Percent of the baseline\n\n{table}\n",
        lambda cells: "| " + " | ".join(cells) + " |\n",
        " %",
    ),
    "html": (
        "<html><head><title>On anchors</title></head><body><h2>Results</h2><p>{text}</p>"
        "<table><caption>Table 1: Percent of the baseline</caption>{table}</table></body></html>",
        lambda cells: "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n",
        "%",
    ),
}


def written(folder, number, known):
    """Write one paper, of which some numbers are wrong, and its folder, filled in; return the claims that are wrong."""
    draw = random.Random(number)
    kind = list(TEMPLATES)[number % len(TEMPLATES)]
    page, line, percent = TEMPLATES[kind]
    pairs = draw.sample(sorted({row[:3] for row in known}), NUMBERS // 2)
    values = {row[:4]: row[4] for row in known}
    cells = [(*pair, side) for pair in pairs for side in ("low", "high")]
    cells = [cell for cell in cells if cell in values]
    wrong = set(draw.sample(cells, ERRORS))
    printed = {
        cell: f"{values[cell] + draw.choice((-1, 1)) * draw.uniform(1, 9) if cell in wrong else values[cell]:.1f}"
        for cell in cells
    }
    in_table = [pair for pair in pairs[: len(pairs) // 2] if all((*pair, side) in values for side in ("low", "high"))]
    told = [cell for cell in cells if cell[:3] not in in_table]
    text = " ".join(
        SENTENCE.format(
            percent=printed[cell] + percent,
            **dict(zip(("domain", "technique", "llm", "anchor_direction"), map(plain, cell), strict=True)),
        )
        for cell in told
    )
    head = line(["Domain", "Technique", "Model", "Low", "High"])
    head += line(["---"] * 5) if kind == "md" else ""
    table = head + "".join(
        line([*map(plain, pair), *(printed[*pair, side] for side in ("low", "high"))]) for pair in in_table
    )
    paper = folder / f"paper-{number}.{kind}"
    paper.write_text(page.format(text=textwrap.fill(text, 110), table=table), encoding="utf-8")
    to = folder / f"paper-{number}"
    assert main(["claims", "extract", str(paper), "--to", str(to)]) == 0
    return fill(to, number, told, wrong)


def plain(name):
    return name.replace("_", " ")


def fill(folder, number, told, wrong):
    """Fill in what `extract` asks for, as a person would: the quantity, and of what it is."""
    with (folder / "claims.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == len(told)
    shared = {"quantity": "percent_of_baseline", "specification": "published"}
    for row, (domain, technique, llm, side) in zip(rows, told, strict=True):
        row |= shared | {"keys": f"domain={domain} technique={technique} llm={llm} anchor_direction={side}"}
        row["id"] = f"{number}/{domain}/{technique}/{llm}/{side}"
    write(folder / "claims.csv", rows)
    write(folder / "specifications.csv", [SPECIFICATION])
    about = yaml.safe_load((folder / "paper.yaml").read_text(encoding="utf-8")) | {"study": "simulated"}
    ((_, table),) = about["tables"].items()
    (path,) = folder.glob("table-*.csv")
    names = {
        plain(name): name
        for row in csv.DictReader(path.open(encoding="utf-8", newline=""))
        for name in map(underscored, (row["Domain"], row["Technique"], row["Model"]))
    }
    table |= {
        **shared,
        "unit": "%",
        "labels": {"Domain": "domain", "Technique": "technique", "Model": "llm"},
        "names": names,
        "columns": {
            side.title(): {
                "id": f"{number}/T/{{domain}}/{{technique}}/{{Model}}/{side}",
                "statement": "a cell",
                "keys": f"anchor_direction={side}",
            }
            for side in ("low", "high")
        },
    }
    (folder / "paper.yaml").write_text(yaml.safe_dump(about), encoding="utf-8")
    return wrong


def underscored(name):
    return name.replace(" ", "_")


def write(path, rows):
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_of_120_errors_in_20_papers_at_most_one_is_missed_and_none_is_made_up(simulated, warehouse_in, tmp_path):
    warehouse = warehouse_in(shutil.copytree(simulated.path.parent, tmp_path / "again"))
    known = [tuple(row) for row in warehouse.query(KNOWN)]
    wrong = {}
    for number in range(PAPERS):
        wrong |= {(f"paper-{number}", *cell): True for cell in written(tmp_path, number, known)}
    assert len(wrong) == PAPERS * ERRORS
    folders = [str(tmp_path / f"paper-{number}") for number in range(PAPERS)]
    warehouse.environment["BAIS_PAPERS"] = os.pathsep.join(folders)
    warehouse.dbt("--quiet", "run", "--select", "published_claims", "path:models/claims")
    with duckdb.connect(str(warehouse.path)) as connection:
        found = connection.execute(
            "select document, domain, technique, llm, anchor_direction, recomputes from marts.claim_checks as checks "
            "inner join claims.published_claims as claims using (claim_id, document) where document like 'paper-%'"
        ).fetchall()
    assert len(found) == PAPERS * NUMBERS
    assert {row[5] for row in found} == {"yes", "no"}
    called = {row[:5] for row in found if row[5] == "no"}
    assert called <= wrong.keys()
    assert len(wrong.keys() - called) <= 1


def test_a_paper_is_held_silently_where_all_recomputes_and_a_line_each_where_not(
    simulated, warehouse_in, tmp_path, monkeypatch, capsys
):
    warehouse = warehouse_in(shutil.copytree(simulated.path.parent, tmp_path / "again"))
    monkeypatch.setenv("BAIS_WAREHOUSE", str(warehouse.path))
    before = warehouse.path.read_bytes()
    known = [tuple(row) for row in warehouse.query(KNOWN)]
    wrong = written(tmp_path, 1, known)
    capsys.readouterr()
    assert main(["claims", "--paper", str(tmp_path / "paper-1"), "--strict"]) == 5
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(wrong) == ERRORS
    assert all("The trials give" in line for line in lines)

    claims = tmp_path / "paper-1" / "claims.csv"
    about = tmp_path / "paper-1" / "paper.yaml"
    rows = claims.read_text(encoding="utf-8").splitlines(keepends=True)
    claims.write_text(
        "".join(row for row in rows if not any("/".join(cell) in row for cell in wrong)), encoding="utf-8"
    )
    paper = yaml.safe_load(about.read_text(encoding="utf-8"))
    about.write_text(yaml.safe_dump(paper | {"tables": {}}), encoding="utf-8")
    assert main(["claims", "--paper", str(tmp_path / "paper-1")]) == 0
    assert capsys.readouterr().out == ""
    assert warehouse.path.read_bytes() == before
