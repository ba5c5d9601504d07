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

from ingest.archives import Archive

FOLDERS = ("high-anchor", "vignette-loan", "vignette-medical", "vignette-salary")

READ_TRIALS = """
with fields as (
    select
        *,
        json_transform(line, '{
            "experimentId": "VARCHAR", "model": "VARCHAR", "actualModel": "VARCHAR", "anchor": "DOUBLE",
            "anchorType": "VARCHAR", "temperature": "DOUBLE", "promptHash": "VARCHAR", "methodology": "VARCHAR",
            "technique": "VARCHAR", "runIndex": "BIGINT", "collectedAt": "VARCHAR", "timestamp": "VARCHAR",
            "sentenceMonths": "VARCHAR", "initial": "DOUBLE", "final": "VARCHAR", "iterations": "BIGINT",
            "vignetteId": "VARCHAR", "response": "VARCHAR", "raw": "VARCHAR"
        }') as f,
        json_extract(line, ['$.sentenceMonths', '$.final', '$.response', '$.initial']) as present
    from lines
),

kinds as (
    select
        *,
        case
            when f.model is null then null
            when f.experimentId in ('baseline', 'low-anchor', 'high-anchor') and present[1] is not null
                then f.experimentId
            when
                f.experimentId in ('devils-advocate', 'premortem', 'random-control', 'outside-view')
                and f.technique = f.experimentId and f.anchor is not null and present[1] is not null
                then f.experimentId
            when
                f.experimentId = 'full-sacd' and f.anchor is not null
                and present[2] is not null and present[4] is not null
                then 'full-sacd'
            when f.vignetteId is not null and f.technique is not null and f.anchorType is not null
                and present[3] is not null
                then 'vignette ' || f.vignetteId
        end as kind,
        coalesce(f.sentenceMonths, f.final, f.response) as answer
    from fields
)

select
    file,
    line_number,
    line,
    kind,
    case when kind is null then coalesce(
        'experiment ' || f.experimentId, 'JSON objects with the fields ' || json_keys(line)[:5]::varchar
    ) end as looks_like,
    f.model as llm_recorded,
    f.actualModel as llm_returned,
    coalesce(f.vignetteId, 'shoplifting') as vignette,
    case
        when f.experimentId in ('baseline', 'low-anchor', 'high-anchor') or f.technique = 'baseline' then 'no_technique'
        when f.technique = 'full-sacd' then 'sacd'
        else replace(f.technique, '-', '_')
    end as technique,
    case
        when f.anchorType is not null then replace(f.anchorType, 'proportional-', '')
        when f.anchor is null then 'none'
    end as anchor_direction,
    f.anchor as anchor_value,
    f.temperature as temperature,
    f.runIndex as replicate,
    try_cast(answer as double) as response_recorded,
    f.initial as first_response,
    f.iterations as iterations,
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
    path_in_archive=path_in_archive,
    expected="JSON lines with experimentId and sentenceMonths, initial and final, or vignetteId and response",
)
