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

from ingest.archives import ANSWER_FIELDS, LOOKS_LIKE, Archive, complaint, infinite

ANCHORED = ("baseline", "low-anchor", "high-anchor")
TECHNIQUES = ("devils-advocate", "premortem", "random-control", "outside-view")
ANSWERS = ("sentenceMonths", "final", "response")
FOLDERS = ("high-anchor", "vignette-loan", "vignette-medical", "vignette-salary")

COMPLAINTS = "\n            ".join(
    [
        *(complaint(name, f"f.{name}", "number") for name in ("anchor", "temperature", "initial")),
        *(complaint(name, f"f.{name}", "whole number") for name in ("runIndex", "iterations")),
        *(complaint(name, f"f.{name}", "time") for name in ("collectedAt", "timestamp")),
        *(infinite(name, f"f.{name}", f"json_type(line, '$.{name}')") for name in ANSWERS),
    ]
)
# also where it is null
RECORDED = {name: f"(f.{name} is not null or json_exists(line, '$.{name}'))" for name in (*ANSWERS, "initial")}

READ_TRIALS = f"""
with fields as (
    select
        *,
        json_transform(line, '{{
            "experimentId": "VARCHAR", "model": "VARCHAR", "actualModel": "VARCHAR", "anchor": "VARCHAR",
            "anchorType": "VARCHAR", "temperature": "VARCHAR", "promptHash": "VARCHAR", "methodology": "VARCHAR",
            "technique": "VARCHAR", "runIndex": "VARCHAR", "collectedAt": "VARCHAR", "timestamp": "VARCHAR",
            "sentenceMonths": "VARCHAR", "initial": "VARCHAR", "final": "VARCHAR", "iterations": "VARCHAR",
            "vignetteId": "VARCHAR", "response": "VARCHAR", "raw": "VARCHAR"
        }}') as f
    from lines
),

kinds as (
    select
        *,
        case
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
        end as shape,
        case when shape is null then
            {LOOKS_LIKE}
        end as looks_like,
        case
            when
                shape is null
                and (f.experimentId in {(*ANCHORED, *TECHNIQUES, "full-sacd")} or f.vignetteId is not null)
                then looks_like
            when shape is null then null
            {COMPLAINTS}
        end as complaint,
        coalesce(f.sentenceMonths, f.final, f.response) as answer
    from fields
)

select
    file,
    line_number,
    line,
    case when complaint is null then shape end as kind,
    looks_like,
    complaint,
    f.model as llm_recorded,
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
    try_cast(answer as double) as response_recorded,
    try_cast(f.initial as double) as first_response,
    try_cast(f.iterations as bigint) as iterations,
    coalesce(f.raw, case when isfinite(try_cast(answer as double)) is not true then answer end) as response_text,
    f.promptHash as prompt_hash,
    f.methodology as protocol,
    try_cast(coalesce(f.collectedAt, f.timestamp) as timestamptz) as asked_at
from kinds
"""


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
