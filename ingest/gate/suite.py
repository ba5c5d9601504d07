"""The suite of Great Expectations by which batches are judged: an expectation per check and severity of `gate.yaml`."""

import functools
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import yaml

CONFIG = Path(__file__).with_name("gate.yaml")
NAME = "gate"  # of the data source
SEVERITIES = {"warn": "warning", "fail": "critical"}  # by the level of `gate.yaml`


def read_config(path: Path = CONFIG) -> dict:
    """Read the thresholds: `rule_version`, `settings` and `checks`."""
    return yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def thresholds_of(checks: dict[str, dict]) -> dict[tuple[str, str], float]:
    """Return the largest value that each check and level allows; a level without a number is none."""
    levels = {(name, level): check[level] for name, check in checks.items() for level in SEVERITIES}
    return {key: float(most) for key, most in levels.items() if most is not None}


@functools.cache
def great_expectations():
    """Import Great Expectations; return it with an ephemeral context, an action, and the list that this fills.

    What an action has of its own is written down with its checkpoint, so that it can hold no function.
    """
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations as gx
    from great_expectations.checkpoint import ValidationAction

    verdicts = []

    class KeepVerdict(ValidationAction):
        """Keeps of each check and level which batches do not meet it."""

        type: Literal["keep_verdict"] = "keep_verdict"
        name: str = "keep_verdict"

        def run(self, checkpoint_result, action_context=None):
            """Keep the results of a checkpoint, of which there is one for each frame."""
            for validated in checkpoint_result.run_results.values():
                verdicts.append({_key(result): _unmet(result) for result in validated.results})
            return {}

    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    context.data_sources.add_pandas(NAME).add_dataframe_asset("batches").add_batch_definition_whole_dataframe("whole")
    return gx, context, KeepVerdict(), verdicts


def checkpoint(checks: dict[str, dict], name: str) -> Callable:
    """Return what judges a frame of one row per batch, whose columns are checks, by the suite that they come to.

    It returns by check and level which batches do not meet it.
    """
    gx, context, action, verdicts = great_expectations()
    suite = context.suites.add_or_update(
        gx.ExpectationSuite(
            name=name,
            expectations=[
                gx.expectations.ExpectColumnValuesToBeBetween(
                    column=check, max_value=most, severity=SEVERITIES[level], meta={"level": level}
                )
                for (check, level), most in thresholds_of(checks).items()
            ],
        )
    )
    batches = context.data_sources.get(NAME).get_asset("batches").get_batch_definition("whole")
    definition = gx.ValidationDefinition(name=name, data=batches, suite=suite)
    definition = context.validation_definitions.add_or_update(definition)
    gate = context.checkpoints.add_or_update(
        gx.Checkpoint(
            name=name,
            validation_definitions=[definition],
            actions=[action],
            result_format={"result_format": "COMPLETE", "unexpected_index_column_names": ["batch_id"]},
        )
    )

    def judge(frame):
        gate.run(batch_parameters={"dataframe": frame})
        return verdicts.pop()

    return judge


def _key(result):
    return result.expectation_config.kwargs["column"], result.expectation_config.meta["level"]


def _unmet(result):
    places = result.result.get("unexpected_index_list")
    return None if places is None else {place["batch_id"] for place in places}
