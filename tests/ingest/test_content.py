"""Studies of content: items of published data sets, the settings of document C, and respondents with stated truth."""

import collections
import csv
import datetime
import gzip
import json
import re

import pytest
import yaml

from ingest.ask.collector import collect
from ingest.ask.plan import plan_of
from ingest.ask.responses import read_trials
from ingest.ask.spool import COLLECTED, spool_folder
from ingest.paradigms.items import LAYOUTS
from ingest.paradigms.paradigm import FOLDER, load_paradigm
from ingest.prompts import shipped
from ingest.prompts.steps import sentences_of
from ingest.providers.simulated import FRAMED
from ingest.studies.design import Design
from ingest.studies.llms import knowledge_cutoffs, simulated_respondents
from ingest.studies.study import load_study, parse_study
from ingest.warehouse import ROOT, UserError
from tests.ingest.endpoint import spooled

RECORDS = {
    "mediasum": {
        "id": "NPR-1", "date": "2006-01-02", "utt": ["Good morning.", "Hello. How are you?"], "speaker": ["A", "B"],
    },
    "amazon_reviews_2018": {
        "reviewerID": "R", "asin": "P", "unixReviewTime": 5, "reviewText": "It broke. I sent it back.", "overall": 2.0,
    },
    "amazon_reviews_2023": {
        "user_id": "R", "parent_asin": "P", "timestamp": 1588687728923, "text": "It works. I like it.", "rating": 4.0,
    },
    "all_the_news": {"date": "2019-04-15", "title": "A fire.", "article": "It burnt. It was big.", "url": "http://a/b"},
}  # fmt: skip
TEXTS = {
    "mediasum": "A: Good morning.\nB: Hello. How are you?",
    "amazon_reviews_2018": "It broke. I sent it back.",
    "amazon_reviews_2023": "It works. I like it.",
    "all_the_news": "It burnt. It was big.",
}


@pytest.fixture(autouse=True)
def place(monkeypatch, tmp_path):
    monkeypatch.setenv("BAIS_WAREHOUSE", str(tmp_path / "w.duckdb"))


def summaries(folder, **items):
    content = {"study": "s", "paradigm": "summarise", "llms": ["sim/newsreader"], "techniques": ["no_technique"]}
    return parse_study(yaml.safe_dump(content | {"items": items}), folder=folder)


def write(folder, layout, records):
    """Write records as the data set comes: an array, lines that are zipped, or a CSV."""
    if layout == "mediasum":
        path = folder / "set.json"
        path.write_text(json.dumps(records), encoding="utf-8")
    elif layout == "all_the_news":
        path = folder / "set.csv"
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, records[0])
            writer.writeheader()
            writer.writerows(records)
    else:
        path = folder / "set.json.gz"
        path = path.with_name("set.jsonl.gz")
        path.write_bytes(gzip.compress("".join(json.dumps(record) + "\n" for record in records).encode()))
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_published_data_set_is_read_by_its_path(tmp_path, layout):
    path = write(tmp_path, layout, [RECORDS[layout]] * 2)
    (item,) = summaries(tmp_path, file=path.name, layout=layout).paradigm[0].all_items
    assert item.fields["text"] == TEXTS[layout]
    rated = {"amazon_reviews_2018": "Negative", "amazon_reviews_2023": "Positive"}
    assert item.details.get("correct") == rated.get(layout)
    assert (item.details.get("published_at") or "")[:4] == {"mediasum": "2006", "all_the_news": "2019"}.get(layout, "")
    if layout == "all_the_news":
        assert (item.fields["statement"], item.details["is_true"]) == ("A fire.", True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_data_set_without_a_column_that_its_layout_reads_is_refused_in_one_sentence(tmp_path, layout, golden):
    lacking = LAYOUTS[layout].reads[-1]
    record = {column: value for column, value in RECORDS[layout].items() if column != lacking}
    path = write(tmp_path, layout, [record])
    with pytest.raises(UserError) as refused:
        summaries(tmp_path, file=path.name, layout=layout)
    golden(str(refused.value), str(path.name), str(lacking))
    assert "\n" not in str(refused.value)


def test_the_longest_texts_that_are_short_enough_are_taken_whether_the_set_is_published_or_ones_own(tmp_path):
    records = [RECORDS["amazon_reviews_2018"] | {"asin": f"P{n:02}", "reviewText": "word " * n} for n in range(1, 40)]
    path = write(tmp_path, "amazon_reviews_2018", records)
    rules = {"limit": 3, "longest": True, "most_tokens": 25}
    of = summaries(tmp_path, file=path.name, layout="amazon_reviews_2018", **rules)
    assert sorted(of.paradigm[0].items.read, key=lambda item: -len(item.fields["text"]))[0].item == "R-P20-5"
    assert {item.item for item in of.paradigm[0].all_items} == {"R-P18-5", "R-P19-5", "R-P20-5"}
    own = tmp_path / "own.jsonl"
    own.write_text("".join(json.dumps({"id": n, "text": "word " * n}) + "\n" for n in range(1, 40)), encoding="utf-8")
    of = summaries(tmp_path, file="own.jsonl", id="id", text="text", fields=["text"], **rules)
    assert {item.item for item in of.paradigm[0].all_items} == {"18", "19", "20"}


def test_a_sample_of_a_published_data_set_hangs_on_its_seed_alone(tmp_path):
    records = [RECORDS["mediasum"] | {"id": f"NPR-{n}"} for n in range(60)]
    path = write(tmp_path, "mediasum", records)
    drawn = [
        [item.item for item in summaries(tmp_path, file=path.name, layout="mediasum", limit=5, sample_seed=seed)
         .paradigm[0].all_items]
        for seed in (1, 1, 2)
    ]  # fmt: skip
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == 5


@pytest.mark.parametrize(
    "items",
    [
        {"longest": True},
        {"most_tokens": 4},
        {"most_tokens": 4, "text": "body"},
        {"most_tokens": 1, "text": "text"},
        {"fields": ["body"]},
        {"fields": ["id"]},
    ],
    ids=str,
)
def test_a_mistake_in_the_items_is_one_sentence(tmp_path, items, golden):
    (tmp_path / "own.csv").write_text("id,text\na,Some words here.\n", encoding="utf-8")
    with pytest.raises(UserError) as refused:
        summaries(tmp_path, file="own.csv", id="id", **items)
    golden(str(refused.value))
    assert "\n" not in str(refused.value)


def test_each_of_several_paradigms_has_items_of_its_own_and_those_of_another_are_refused(tmp_path, golden):
    (tmp_path / "own.csv").write_text("item,text\na,Some words here.\n", encoding="utf-8")
    content = {"study": "s", "llms": ["sim/newsreader"], "techniques": ["no_technique"]}
    content |= {"paradigm": ["summarise", "fact_check"], "items": {"summarise": {"file": "own.csv"}}}
    texts, facts = parse_study(yaml.safe_dump(content), folder=tmp_path).paradigm
    assert [item.item for item in texts.all_items] == ["a"]
    assert facts.all_items == load_paradigm("fact_check", None).all_items
    for items in ({"framing": {"file": "own.csv"}}, {"file": "own.csv"}):
        with pytest.raises(UserError) as refused:
            parse_study(yaml.safe_dump(content | {"items": items}), folder=tmp_path)
        golden(str(refused.value))


def test_the_ten_reviews_of_table_a8_are_items_with_their_source():
    items = load_paradigm("summarise", None).all_items
    assert len(items) == 10
    assert all("Document C, Table A8" in item.details["source"] for item in items)
    assert not any(re.search(r"</?p>|\t", item.fields["text"]) for item in items)
    with open(FOLDER / "table-a8.csv", encoding="utf-8", newline="") as file:
        assert all(len(row["summary"]) < len(row["text"]) / 2 for row in csv.DictReader(file))


@pytest.mark.parametrize("name", ["document-c-summaries", "document-c-facts"])
def test_the_shipped_studies_have_the_settings_of_document_c(name):
    of = load_study(name)
    assert of.temperatures == [0.01]
    assert {llm.max_tokens for llm in of.llms} == {500}
    with open(ROOT / "seeds" / "context_windows.csv", encoding="utf-8", newline="") as file:
        windows = {row["llm"] for row in csv.DictReader(file) if row["source"].startswith("Document C")}
    assert {llm.llm for llm in of.llms} == (windows if name.endswith("summaries") else windows & {*knowledge_cutoffs()})
    asked = {technique["technique"] for technique in of.techniques}
    kind = of.paradigm[0].answer.kind
    of_kind = {name for name, technique in shipped("techniques").items() if technique.get("answer_kinds") == [kind]}
    assert asked == {"no_technique", *of_kind} - {"self_help_critique"}


def test_facts_come_in_pairs_of_which_one_is_true():
    pairs = collections.defaultdict(set)
    for item in load_paradigm("fact_check", None).all_items:
        pairs[item.details["pair"]].add(item.details["is_true"])
    assert all(truths == {True, False} for truths in pairs.values())


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """The trials of the simulated study, with the items, by trial id."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAIS_WAREHOUSE", str(tmp_path_factory.mktemp("content") / "w.duckdb"))
        of = load_study("content-simulated")
        assert collect(of).n_left == 0
        path = spool_folder(of.study) / COLLECTED
        with read_trials(path, Design(of)) as connection:
            read = connection.execute("select trial_id, status, named ->> 'label' from answers").fetchall()
        statuses = {trial_id: (status, label) for trial_id, status, label in read}
        return of, [trial | {"read": statuses[trial["trial_id"]]} for trial in spooled(path)["trial"]]


def stated(llm, technique, name):
    truth = simulated_respondents()[llm]
    return truth["techniques"].get(technique, {}).get(name, truth[name])


def is_near(n_of, n, share):
    """Tell whether a share of independent draws is within four standard errors of what is stated."""
    return abs(n_of / n - share) <= 4 * max(share * (1 - share) / n, 0.25 / n**2) ** 0.5


@pytest.mark.slow("counts on thousands of answers")
def test_simulated_summaries_favour_the_beginning_as_much_as_is_stated(collected):
    of, trials = collected
    items = {item.item: sentences_of(item.fields["text"]) for item in of.paradigm[0].all_items}
    firsts = collections.defaultdict(list)
    for trial in trials:
        if trial["paradigm"] == "summarise":
            sentences = items[trial["item"]]
            text = re.sub(r" It reads as \w+\.", "", trial["text"])
            n_first = max(1, len(sentences) // 3)
            said = [sentence in text for sentence in sentences]
            firsts[trial["llm"], trial["technique"]].append((sum(said[:n_first]), sum(said)))
    shares = {key: sum(n for n, _ in of) / sum(n for _, n in of) for key, of in firsts.items()}
    assert len(shares) == 3 * 9
    for (llm, technique), share in shares.items():
        # sentences that were drawn twice are counted once, which takes more from the few of the beginning
        assert stated(llm, technique, "lead_share") - 0.25 <= share <= stated(llm, technique, "lead_share") + 0.1
    plain, mended = shares["sim/newsreader", "no_technique"], shares["sim/newsreader", "weighted_summaries"]
    assert plain - mended > 0.2


@pytest.mark.slow("counts on thousands of answers")
def test_simulated_summaries_change_the_framing_as_often_as_is_stated(collected):
    of, trials = collected
    originals = {
        trial["judged"]: trial["read"][1]
        for trial in trials
        if trial.get("role") == "original" and trial["llm"] == "sim/blunt_judge"
    }
    flips = collections.defaultdict(list)
    for trial in trials:
        if trial["paradigm"] == "summarise":
            (label,) = (label for label in of.judges.labels if FRAMED.format(label) in trial["text"])
            flips[trial["llm"], trial["technique"]].append((trial["item"], label))
    usual = {
        item: collections.Counter(label for of in flips.values() for name, label in of if name == item).most_common(1)
        for item in originals
    }
    usual = {item: label for item, ((label, _),) in usual.items()}
    for (llm, technique), labels in flips.items():
        n_changed = sum(label != usual[item] for item, label in labels)
        assert is_near(n_changed, len(labels), stated(llm, technique, "flip_rate")), (llm, technique)


@pytest.mark.slow("counts on thousands of answers")
def test_simulated_judges_are_right_as_often_as_is_stated(collected):
    of, trials = collected
    texts = {trial["trial_id"]: trial["text"] for trial in trials if trial["paradigm"] == "summarise"}
    for llm in of.judges.llms:
        judged = [trial for trial in trials if trial["llm"] == llm.llm and trial.get("role") == "answer"]
        n_right = sum(FRAMED.format(trial["read"][1]) in texts[trial["judged"]] for trial in judged)
        assert is_near(n_right, len(judged), llm.simulated.accuracy)


@pytest.mark.slow("collects a study of fact checks")
def test_simulated_checkers_know_what_they_should_before_and_after_their_cutoff(collected):
    of, trials = collected
    items = {item.item: item.details for item in of.paradigm[1].all_items}
    rights = collections.defaultdict(list)
    for trial in trials:
        if trial["paradigm"] == "fact_check":
            said, (status, label) = items[trial["item"]], trial["read"]
            assert status == "answered"
            assert ("Confidence" in label) == (trial["technique"] == "epistemic_tagging")
            day = datetime.date.fromisoformat(said["published_at"])
            period = "known_after" if day > knowledge_cutoffs()[trial["llm"]] else "known_before"
            is_right = label.startswith("True") == said["is_true"]
            rights[trial["llm"], trial["technique"], period, said["is_true"]].append(is_right)
    assert len(rights) == 3 * 4 * 2 * 2
    for (llm, technique, period, is_true), answers in rights.items():
        known, yes = stated(llm, technique, period), stated(llm, technique, "yes_bias")
        share = known + (1 - known) * (yes if is_true else 1 - yes)
        assert is_near(sum(answers), len(answers), share), (llm, technique, period, is_true)


def test_a_plan_counts_each_technique_where_it_is_asked():
    of = load_study("content-simulated")
    cells = {row["technique"]: row["cells"] for row in plan_of(of)["techniques"]}
    n_texts, n_facts = (len(of.llms) * len(paradigm.all_items) for paradigm in of.paradigm)
    assert (cells["no_technique"], cells["cloze"]) == (n_texts + n_facts, n_texts)
    assert cells["epistemic_tagging"] == n_facts
    assert sum(n for technique, n in cells.items() if technique != "judgements") == len(Design(of).first_cells())
