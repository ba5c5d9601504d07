"""Logs of other tools: a small YAML file says which of their fields is the LLM, the vignette, the number and so on.

study: salary-offers                    # or `--study`
columns:
  llm: {field: provider.id, values: {"openai:gpt-4.1": openai/gpt-4.1}}
  vignette: vars.vignette               # a path into the result; of a list of paths the first that is there counts
  technique: {field: vars.technique, default: no_technique}
  anchor_value: vars.anchor
  temperature: {value: 0.7}             # the same for every result
  text: response.output
vignettes:
  analyst: {domain: salary, response_unit: thousand USD, valid_min: 10, valid_max: 1000}
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BeforeValidator, Field, ValidationError, model_validator

from ingest.archives import Archive, archives, complaint, infinite
from ingest.ask.responses import macros
from ingest.paradigms.paradigm import DIFFERS, SAME
from ingest.texts.files import Finite, Name, Part, plain, text_of
from ingest.warehouse import UserError, printable, quoted

SEGMENT = re.compile(r'"([^"]+)"|([^."]+)')
PATH = re.compile(r'^(?:"[^"]+"|[^."]+)(?:\.(?:"[^"]+"|[^."]+))*$')
KINDS_OF_COLUMNS = {
    "anchor_value": "number",
    "temperature": "number",
    "replicate": "whole number",
    "first_number": "number",
    "time": "time",
}


def _as_text(value):
    """Return a scalar of YAML as JSON writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


Text = Annotated[str, BeforeValidator(_as_text)]
FieldPath = Annotated[str, Field(pattern=PATH.pattern)]


class Column(Part):
    """Where a column comes from: a field, or one value for all; `values` says what the log's words mean here."""

    field: list[FieldPath] = Field([])
    value: Text | None = None
    values: dict[Text, Text] = Field({})
    default: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, content):
        if isinstance(content, str | list):
            content = {"field": content}
        if isinstance(content, dict) and isinstance(content.get("field"), str):
            content = {**content, "field": [content["field"]]}
        return content

    @model_validator(mode="after")
    def _one_source(self):
        if bool(self.field) == (self.value is not None):
            raise ValueError("give either a field or a value")
        return self


class Columns(Part):
    """The columns of a trial; see docs/importing.md."""

    llm: Column
    vignette: Column
    technique: Column
    llm_returned: Column | None = None
    anchor_value: Column | None = None
    anchor_direction: Column | None = None
    temperature: Column | None = None
    replicate: Column | None = None
    text: Column | None = None
    number: Column | None = None
    first_number: Column | None = None
    time: Column | None = None
    error: Column | None = None
    prompt: Column | None = None
    prompt_hash: Column | None = None

    @model_validator(mode="after")
    def _has_answer(self):
        if not self.text and not self.number:
            raise ValueError("text or number is needed: without one there is no answer")
        return self


class Vignette(Part):
    """What the seeds say of the vignettes of the shipped studies."""

    domain: Annotated[str, Field(min_length=1)]
    response_unit: Annotated[str, Field(min_length=1)]
    valid_min: Finite | None = None
    valid_max: Finite | None = None
    baseline_prompt: Literal[SAME, DIFFERS] | None = None
    differs_by: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _says_what_differs(self):
        if (self.baseline_prompt == DIFFERS) != (self.differs_by is not None):
            raise ValueError(
                "baseline_prompt and differs_by: where the unanchored prompt differs by more than the anchor, say "
                "`baseline_prompt: differs` and under differs_by what differs, else neither or `baseline_prompt: same`"
            )
        return self


class Mapping(Part):
    """A mapping file."""

    study: Name | None = None
    columns: Columns
    vignettes: dict[Text, Vignette] = Field({})


def read_mapping(path: Path, study: str | None = None) -> Mapping:
    """Read a mapping file; `study` goes before the one that it names."""
    text = text_of(Path(path))
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise UserError(f"{printable(path)} is not valid YAML{where}") from None
    if not isinstance(content, dict):
        raise UserError(f"{printable(path)}: a mapping has the keys study, columns, vignettes; see docs/importing.md")
    if study:
        content = {**content, "study": study}
    try:
        mapping = Mapping.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"])) or "columns"
        raise UserError(printable(f"{path}: {key}: {plain(first)}")) from None
    if not mapping.study:
        raise UserError(f"{printable(path)} names no study: say with --study which study the trials belong to")
    return mapping


def mapped(archive: Archive, path: Path | None, study: str | None) -> Archive:
    """Return a format with what `--map` and `--study` say of it, or say why they do not fit."""
    if not archive.mapping:
        if (path or study) and archive.is_folder:
            raise UserError("an export says itself which study its trials belong to: leave out --map and --study")
        if path or (study and not (archive.is_study_the_kind or archive.names_study)):
            forms = " and ".join(other.form for other in archives() if other.mapping)
            raise UserError(f"--map and --study are for the formats {forms}: {archive.form} needs neither")
        return replace(archive, study=study) if archive.names_study else archive
    if not path:
        example = f"ingest/archives/{archive.mapping.name}"
        raise UserError(f"say with --map FILE which field is what: {example} is an example")
    mapping = read_mapping(path, study)
    return replace(
        archive,
        study=mapping.study,
        read_trials=read_trials(archive.name, mapping),
        vignettes={vignette: declared.model_dump() for vignette, declared in mapping.vignettes.items()},
        llm_fields=(*archive.llm_fields, *_outermost(mapping.columns.llm)),
        answer_fields=(*archive.answer_fields, *_outermost(mapping.columns.text), *_outermost(mapping.columns.number)),
        objects=_objects(mapping.columns),
    )


def _outermost(column):
    """Name the fields of a line that a column is read in."""
    return [_segments(path)[0] for path in (column.field if column else [])]


def _objects(columns):
    """Name the objects of a line that the columns are read in."""
    named = (column for key in Columns.model_fields if (column := getattr(columns, key)))
    ways = [_segments(path) for column in named for path in column.field]
    return tuple(sorted({_path(way[:n]) for way in ways for n in range(len(way))} | {"$"}))


def read_trials(name: str, mapping: Mapping) -> str:
    """Write the SQL that makes trials, of the kind `name`, of lines.

    A condition that cannot be read makes a line no trial; an answer that cannot is a trial without a number. A number
    that the log does not have is read in the text, by the rule that the models read with.
    """
    columns = mapping.columns
    texts = ",\n        ".join(f"{_select_text(getattr(columns, key))} as {key}_said" for key in Columns.model_fields)
    unit = _declared(mapping, "response_unit", "varchar")
    reading = macros()["read_response"]("text_said", "unit") if not columns.number else "null"
    by_range = macros()["number_in_cell"](
        "struct_extract(found, 'if_decimal')", "struct_extract(found, 'if_grouped')", "null::double",
        _declared(mapping, "valid_min", "double"), _declared(mapping, "valid_max", "double"),
    )  # fmt: skip
    read = f"coalesce(struct_extract(found, 'response'), {by_range})"
    number = "try_cast(number_said as double)" if columns.number else read
    refused = "false" if columns.number else "struct_extract(found, 'status') = 'refused'"
    return f"""
with said as (
    select
        file,
        line_number,
        line,
        {texts}
    from lines
),

units as (
    select *, {unit} as unit from said
),

readings as (
    select *, case when text_said is not null then {reading} end as found from units
),

judged as (
    select
        *,
        {number} as number_read,
        text_said is null and number_said is null and error_said is not null as is_failed,
        case
            {_missing(columns)}
        end as missing,
        case when missing is null then
            case
            {_complaints(columns)}
            end
        end as complaint
    from readings
)

select
    file,
    line_number,
    line,
    case when missing is null and complaint is null then {quoted(name)} end as kind,
    missing as looks_like,
    complaint,
    llm_said as llm_recorded,
    llm_returned_said as llm_returned,
    vignette_said as vignette,
    technique_said as technique,
    coalesce(anchor_direction_said, case when anchor_value_said is null then 'none' end) as anchor_direction,
    try_cast(anchor_value_said as double) as anchor_value,
    try_cast(temperature_said as double) as temperature,
    try_cast(replicate_said as bigint) as replicate,
    case when is_failed then 'failed' when {refused} then 'refused' end as status_recorded,
    case when is_failed then error_said[:1000] end as reason_recorded,
    number_read as response_recorded,
    try_cast(first_number_said as double) as first_response,
    coalesce(text_said, case when isfinite(number_read) is not true then number_said end) as response_text,
    {quoted(name)} as protocol,
    coalesce(prompt_hash_said, md5(prompt_said)) as prompt_hash,
    prompt_said as prompt_text,
    try_cast(time_said as timestamptz) as asked_at
from judged
"""


def _declared(mapping, name, of_type):
    """Return what the mapping declares of the vignette of a line."""
    declared = " ".join(
        f"when {quoted(vignette)} then {quoted(value)}"
        for vignette, definition in mapping.vignettes.items()
        if (value := getattr(definition, name)) is not None
    )
    return f"(case vignette_said {declared} end)::{of_type}" if declared else f"null::{of_type}"


def _missing(columns):
    """Say what a line lacks of a trial."""
    return "\n            ".join(
        f"when coalesce({key}_said, '') = '' then {quoted(f'there is no {_place(getattr(columns, key))} ({key})')}"
        for key in ("llm", "vignette", "technique")
    )


def _complaints(columns):
    """Say which condition of a trial cannot be read."""
    cases = [complaint(key, f"{key}_said", kind) for key, kind in KINDS_OF_COLUMNS.items()]
    cases.append(
        "when anchor_direction_said not in ('none', 'low', 'high') "
        "then 'anchor_direction is not none, low or high: ' || anchor_direction_said[:100]"
    )
    if columns.number:
        paths = map(_json_path, columns.number.field)
        types = ", ".join(f"nullif(json_type(line, {quoted(path)}), 'NULL')" for path in paths)
        cases.append(infinite("number", "number_said", f"coalesce({types or quoted('VARCHAR')})"))
    return "\n            ".join(cases)


def _place(column):
    return " or ".join(column.field) or "value"


def _select_text(column):
    if column is None:
        return "null::varchar"
    if column.value is not None:
        return quoted(column.value)
    arguments = ", ".join(f"nullif(line ->> {quoted(_json_path(path))}, '')" for path in column.field)
    if column.values:
        meant = " ".join(f"when {quoted(word)} then {quoted(mean)}" for word, mean in column.values.items())
        arguments = f"case coalesce({arguments}) {meant} else coalesce({arguments}) end"
    default = f", {quoted(column.default)}" if column.default is not None else ""
    return f"coalesce({arguments}{default})"


def _segments(path):
    return [between_quotes or bare for between_quotes, bare in SEGMENT.findall(path)]


def _json_path(path):
    """Write `vars.0."a.b"` as DuckDB does: `$."vars"[0]."a.b"`."""
    return _path(_segments(path))


def _path(segments):
    return "$" + "".join(f"[{part}]" if part.isascii() and part.isdigit() else f'."{part}"' for part in segments)
