"""Document A's archive: JSON lines in five shapes, told apart by their fields.

| kind | told by | response | time |
| --- | --- | --- | --- |
| baseline, low-anchor, high-anchor | `experimentId`, `sentenceMonths` | `sentenceMonths` | `collectedAt` |
| devils-advocate, premortem, random-control, outside-view | `technique` is `experimentId` too | same | same |
| full-sacd | `experimentId`, `initial`, `final` | `final` (`initial`: before debiasing) | `timestamp` |
| vignette | `vignetteId`, `technique`, `anchorType`, `response` | `response`, text in `raw` | `timestamp` |

In the vignettes `technique: baseline` with an anchor means that no technique was used. Judicial technique files do not
say whether their anchor is low or high: the models derive that from the LLM's baseline.
"""

from pathlib import Path

from ingest.archives import ANSWER_FIELDS, Archive, reading_of_experiments

ANCHORED = ("baseline", "low-anchor", "high-anchor")
TECHNIQUES = ("devils-advocate", "premortem", "random-control", "outside-view")
ANSWERS = ("sentenceMonths", "final", "response")
ANSWER = "coalesce(f.sentenceMonths, f.final, f.response)"
FOLDERS = ("high-anchor", "vignette-loan", "vignette-medical", "vignette-salary")
FIELDS = (
    "experimentId", "model", "actualModel", "anchor", "anchorType", "temperature", "promptHash", "methodology",
    "technique", "runIndex", "collectedAt", "timestamp", "initial", "iterations", "vignetteId", "raw", *ANSWERS,
)  # fmt: skip
# also where it is null
RECORDED = {name: f"(f.{name} is not null or json_exists(line, '$.{name}'))" for name in (*ANSWERS, "initial")}

READ_TRIALS = reading_of_experiments(
    dict.fromkeys(FIELDS, "VARCHAR"),
    shape=f"""
        when f.model is null then null
        when f.experimentId in {ANCHORED} and {RECORDED["sentenceMonths"]}
            then f.experimentId
        when
            f.experimentId in {TECHNIQUES}
            and f.technique = f.experimentId and f.anchor is not null
            and {RECORDED["sentenceMonths"]}
            then f.experimentId
        when
            f.experimentId = 'full-sacd' and f.anchor is not null
            and {RECORDED["final"]} and {RECORDED["initial"]}
            then 'full-sacd'
        when f.vignetteId is not null and f.technique is not null and f.anchorType is not null
            and {RECORDED["response"]}
            then 'vignette ' || f.vignetteId
    """,
    is_like_one=f"f.experimentId in {(*ANCHORED, *TECHNIQUES, 'full-sacd')} or f.vignetteId is not null",
    kinds={
        "number": ("anchor", "temperature", "initial"),
        "whole number": ("runIndex", "iterations"),
        "time": ("collectedAt", "timestamp"),
    },
    answers=ANSWERS,
    columns=f"""
    f.actualModel as llm_returned,
    coalesce(f.vignetteId, 'shoplifting') as vignette,
    case
        when f.experimentId in {ANCHORED} or f.technique = 'baseline' then 'no_technique'
        when f.technique = 'full-sacd' then 'sacd'
        else replace(f.technique, '-', '_')
    end as technique,
    case
        when f.anchorType is not null then replace(f.anchorType, 'proportional-', '')
        when f.anchor is null then 'none'
    end as anchor_direction,
    try_cast(f.anchor as double) as anchor_value,
    try_cast(f.temperature as double) as temperature,
    try_cast(f.runIndex as bigint) as replicate,
    try_cast({ANSWER} as double) as response_recorded,
    try_cast(f.initial as double) as first_response,
    try_cast(f.iterations as bigint) as iterations,
    coalesce(f.raw, case when isfinite(response_recorded) is not true then {ANSWER} end) as response_text,
    f.promptHash as prompt_hash,
    f.methodology as protocol,
    try_cast(coalesce(f.collectedAt, f.timestamp) as timestamptz) as asked_at
    """,
)


def path_in_archive(path: Path) -> str:
    """Return the path that a file has in the published archive, so that a copy of a folder brings nothing twice."""
    return f"{path.parent.name}/{path.name}" if path.parent.name in FOLDERS else path.name


ARCHIVE = Archive(
    name="voder_bais",
    study="voder-bais",
    suffix=".jsonl",
    read_trials=READ_TRIALS,
    foreign={
        "runs of story 001's tool": ("experimentId", "conditionId", "params"),
        "spot checks of the judicial vignette": ("timestamp", "model", "condition", "response", "raw"),
    },
    answer_fields=(*ANSWER_FIELDS, "sentenceMonths", "initial", "finalResponse"),
    path_in_archive=path_in_archive,
    expected="JSON lines with experimentId and sentenceMonths, initial and final, or vignetteId and response",
)
