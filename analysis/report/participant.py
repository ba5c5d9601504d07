"""The page that a participant of a study of people fills in: one file that loads nothing and sends nothing."""

from pathlib import Path

from markupsafe import Markup

from analysis.report.policy import POLICY, digest, embedded
from analysis.report.tables import template
from analysis.report.values import clean_lines

HERE = Path(__file__).parent


def participant_page(study, steps, own):
    """Write the page of a participant.

    Parameters
    ----------
    study : dict
        What the file of the study says, without the right answers.
    steps : list of dict
        What is asked, in its order: `pair`, `kind` and two `products`, or an attention `check` by its place.
    own : dict
        What the page knows of itself: `form`, `study`, `material` and `code`, which its answers name, and the `key`
        that they are sealed with.

    Returns
    -------
    str
        HTML, the same for the same arguments.
    """
    style, script = ((HERE / f"participant.{kind}").read_text(encoding="utf-8").strip() for kind in ("css", "js"))
    return template("participant.html").render(
        study=study, steps=steps, n_pairs=sum("pair" in step for step in steps), own=embedded(own),
        policy=POLICY.format(digest(style), digest(script)), style=Markup(style), script=Markup(script),
        paragraphs=lambda text: [line for line in clean_lines(text).split("\n") if line.strip()],
    )  # fmt: skip
