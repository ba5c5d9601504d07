"""A pilot asks a few of each cell, shows what was read of the replies, and leaves no trace in the study."""

import json

import pytest
import yaml

from bais.main import main
from ingest.ask.pilot import Pilot
from ingest.ask.plan import sums_of
from ingest.ask.spool import pilot_folder, spool_files
from ingest.studies.study import parse_study
from tests.ingest.endpoint import Act, Endpoint, answer, error
from tests.ingest.endpoint import spooled as records_in

STUDY = {
    "study": "tried",
    "llms": [{"llm": "any/plain", "base_url": "URL"}, {"llm": "any/other", "base_url": "URL"}],
    "vignettes": [
        {
            "vignette": "rent", "domain": "housing", "response_unit": "EUR", "valid_min": 100, "valid_max": 9000,
            "case": "A flat is to let.", "anchor": "A neighbour says {anchor}.", "question": "Which rent?",
        }
    ],
    "techniques": ["no_technique", {"technique": "twice", "turns": ["{opening}", "Sure? {answer_format}"]}],
    "anchors": {"proportional": {"low": 0.5, "high": 1.5}},
    "stopping_rule": {"minimum": 30, "maximum": 90, "sd_above": 15},
    "limits": {"backoff_s": 0.001, "attempts": 2},
}  # fmt: skip
TASTES = {
    "study": "tastes",
    "llms": ["sim/steady"],
    "techniques": ["no_technique"],
    "stopping_rule": {"minimum": 5},
    "paradigm": {
        "paradigm": "retelling",
        "answer": {"kind": "text"},
        "arms": ["plain", "polite"],
        "contrasts": [["polite", "plain"]],
        "measures": {"tone": {"from": "judgement", "better": "lower"}},
        "items": {"rows": [{"item": name, "review": f"I like {name}."} for name in ("tea", "milk", "water")]},
        "vignettes": [
            {
                "vignette": "review",
                "case": "{ask} {review}",
                "arms": {"plain": {"words": {"ask": "Retell:"}}, "polite": {"words": {"ask": "Please retell:"}}},
            }
        ],
    },
    "judges": {
        "llms": [{"llm": "sim/judge", "simulated": {"accuracy": 1}}], "paradigm": "tone", "labels": ["yes", "no"],
        "text": "{review}", "question": "Is this kind?\n{text}", "roles": ["original", "answer"], "repeats": 3,
    },
}  # fmt: skip


def says(request):
    """Answer 800 without an anchor, the anchor with one, and with a dot to whom that is usual."""
    asked = request.messages[0]["content"]
    number = asked.partition("A neighbour says ")[2].partition(".")[0] or "800"
    return answer(request, "1.200 EUR" if request.model == "any/other" else f"Answer: {number} EUR")


@pytest.fixture
def tried(tmp_path, monkeypatch):
    """Write the study, asked at an endpoint, with changes, and return its path."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-tests")

    def write(endpoint, **changes):
        text = yaml.safe_dump(STUDY | changes, sort_keys=False).replace("URL", endpoint.url)
        (tmp_path / "tried.yaml").write_text(text)
        return str(tmp_path / "tried.yaml")

    return write


def test_each_cell_is_asked_so_often_and_shown_with_what_was_read(tried, capsys, golden):
    with Endpoint(says) as endpoint:
        assert main(["collect", tried(endpoint), "--pilot", "2"]) == 0
        out = capsys.readouterr().out
        # 2 LLMs, 2 of each: the baseline, 2 techniques under 2 anchors; the one technique has two turns
        assert len(endpoint.requests) == 2 * 2 * (1 + 2 * 1 + 2 * 2)
    assert "Read: 20 of 20." in out
    golden(out.replace(endpoint.url, "<url>"))


def test_a_pilot_is_no_part_of_the_study_and_freezes_nothing(tried, capsys, warehouse):
    with Endpoint(says) as endpoint:
        path = tried(endpoint)
        assert main(["collect", path, "--pilot", "1"]) == 0
        assert spool_files("tried") == []
        assert not warehouse.exists()
        (file,) = pilot_folder("tried").glob("*.jsonl")
        (session,) = records_in(file)["session"]
        assert "families" not in session
        capsys.readouterr()
        assert main(["plan", path, "--json"]) == 0
        planned = json.loads(capsys.readouterr().out)
        assert planned["collected"]["trials"] == planned["collected"]["trials_of_other_plans"] == 0
        assert all(family["is_frozen"] and family["is_new"] for family in planned["families"])
        assert planned["left"]["trials"] == planned["trials"]
        main(["collect", path, "--no-load", "--max-calls", "4"])
        (collected,) = spool_files("tried")
        ids = [{trial["trial_id"] for trial in records_in(of)["trial"]} for of in (collected, file)]
        assert len(ids[0]) == 4
        assert not ids[0] & ids[1]


@pytest.mark.slow("collects again and again")
def test_the_same_study_is_not_paid_for_again_and_a_changed_one_is_asked_anew(tried, capsys):
    with Endpoint(says) as endpoint:
        assert main(["collect", tried(endpoint), "--pilot", "1", "--max-calls", "3"]) == 0
        assert len(endpoint.requests) == 3
        assert main(["collect", tried(endpoint, limits={"timeout_s": 9}), "--pilot", "1"]) == 0
        assert len(endpoint.requests) == 14
        first = capsys.readouterr().out
        assert main(["collect", tried(endpoint), "--pilot", "1"]) == 0
        assert len(endpoint.requests) == 14
        assert "Read: 10 of 10." in first
        assert "Read: 10 of 10." in capsys.readouterr().out
        changed = [STUDY["vignettes"][0] | {"question": "Which rent is fair?"}]
        assert main(["collect", tried(endpoint, vignettes=changed), "--pilot", "1"]) == 0
        assert len(endpoint.requests) == 28
        assert "Which rent is fair?" in capsys.readouterr().out


def test_of_items_the_first_are_asked_and_each_text_is_judged_once(capsys):
    study = parse_study(yaml.safe_dump(TASTES))
    pilot = Pilot(study, 2)
    outcome = pilot.ask()
    trials = records_in(pilot.path)["trial"]
    answers = [trial for trial in trials if not trial.get("role")]
    assert {trial["item"] for trial in trials} == {"tea", "milk"}
    assert len(answers) == 2 * 2 * 2
    texts = {(trial["item"], trial["text"]) for trial in answers}
    assert len(trials) - len(answers) == 2 + len(texts)
    assert (outcome.n_done, outcome.n_left) == (len(trials), 0)
    assert sums_of(pilot.study)["trials"]["low"] <= len(trials) <= sums_of(pilot.study)["trials"]["high"]
    said = "\n".join(pilot.transcript())
    assert "tone, judgements as original, item tea" in said
    assert "item water" not in said


def test_of_items_of_anchoring_the_first_are_asked_with_anchors_of_their_own(tried, tmp_path, capsys):
    (tmp_path / "flats.csv").write_text("item,size\nsmall,20\nlarge,80\nhuge,200\n")
    flats = STUDY["vignettes"][0] | {"case": "A flat of {size} square metres is to let.", "items": "flats.csv"}
    with Endpoint(says) as endpoint:
        path = tried(endpoint, vignettes=[flats], techniques=["no_technique"])
        assert main(["collect", path, "--pilot", "1"]) == 0
        assert len(endpoint.requests) == 2 * 3  # two LLMs, a baseline and two anchors
        said = capsys.readouterr().out
        assert "── rent, low anchor, item small ──" in said
        assert "A flat of 80" not in said
        assert main(["collect", path, "--pilot", "1"]) == 0
        assert len(endpoint.requests) == 6
        (tmp_path / "flats.csv").write_text("item,size\nsmall,25\nlarge,80\nhuge,200\n")
        assert main(["collect", path, "--pilot", "1"]) == 0
        assert len(endpoint.requests) == 12


def test_replies_that_are_none_are_shown_with_why(tried, capsys, golden):
    def fails(request):
        if request.model == "any/other":
            return error(400, "no such model")
        return answer(request, "12 or 800 EUR") if "neighbour" in request.messages[0]["content"] else says(request)

    with Endpoint(fails) as endpoint:
        assert main(["collect", tried(endpoint, techniques=["no_technique"]), "--pilot", "1"]) == 4
    out = capsys.readouterr().out
    shown, _, rest = out.partition("Read: ")
    assert rest.startswith("1 of 4 (2 unparsed, 1 failed).")
    golden(shown)


def test_what_is_of_the_study_alone_is_refused_before_anything_is_asked(tried, capsys, golden):
    with Endpoint(lambda request: Act(status=500)) as endpoint:
        for option in (["--orphan"], ["--ask-again", "failed"], ["--keep"], ["--new-anchors"]):
            assert main(["collect", tried(endpoint), "--pilot", "2", *option]) == 2
            said = capsys.readouterr().err
        assert endpoint.requests == []
    golden(said)
