"""The report as one HTML file that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from capeval.checks import checked_choice
from capeval.errors import DependencyError
from capeval.report.grids import System, scores
from capeval.report.texts import parts
from capeval.types import Candidates, ImageId, References

__all__ = ["to_html"]

_EXAMPLES = 6


@dataclass(frozen=True, kw_only=True)
class _Example:
    """An image with its candidate and references."""

    image: ImageId
    score: str
    candidate: str
    references: list[str]


def to_html(
    systems: Sequence[System],
    *,
    title: str = "Caption scores",
    published: Mapping[str, Mapping[str, float]] | None = None,
    references: References | None = None,
    candidates: Mapping[str, Candidates] | None = None,
    examples_by: str | None = None,
) -> str:
    """Scores, intervals, subsets, the spread of scores over images, and examples, as a page.

    Args:
        systems: The systems, all scored with the same metrics and subsets.
        title: The title of the page.
        published: Rows to show beside the systems: names to scores.
        references: The references, to show examples.
        candidates: The candidates of each system by its name, to show examples.
        examples_by: The score that orders examples; the last one by default.

    Raises:
        DependencyError: jinja2 or matplotlib is not installed.
        MismatchError: The systems have different metrics or subsets.
        OptionError: There is no score `examples_by`.
    """
    try:
        import jinja2

        from capeval.report import plots
    except ImportError as error:
        message = f"HTML reports need {error.name}: pip install jinja2 matplotlib"
        raise DependencyError(message) from None
    grid = scores(systems, published)
    names = tuple(systems[0].report.corpus)
    by = checked_choice("examples_by", examples_by or names[-1], names)
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["parts"] = parts
    template = environment.from_string((files("capeval.report") / "template.html").read_text("utf-8"))
    return template.render(
        title=title,
        grid=grid,
        systems=systems,
        bars=plots.bars(systems, published or {}),
        spread=plots.spread(systems),
        by=by,
        examples=_examples(systems, by, references, candidates or {}),
        intervals=next((i for system in systems for i in system.intervals.values()), None),
    )


def _examples(
    systems: Sequence[System], by: str, references: References | None, candidates: Mapping[str, Candidates]
) -> dict[str, dict[str, list[_Example]]]:
    """The images with the best and the worst scores, for each system whose captions are given."""
    examples: dict[str, dict[str, list[_Example]]] = {}
    for system in systems:
        if references is None or system.name not in candidates:
            continue
        values = system.report.per_image[by]
        # Stable, so that images with the same score stay in the order of the references.
        order = np.argsort(-values, kind="stable")
        count = min(_EXAMPLES, len(order) // 2)
        chosen = {"Best": order[:count], "Worst": order[len(order) - count :][::-1]}
        examples[system.name] = {
            label: [
                _example(system, int(row), float(values[row]), references, candidates[system.name])
                for row in rows
            ]
            for label, rows in chosen.items()
        }
    return examples


def _example(
    system: System, row: int, score: float, references: References, candidates: Candidates
) -> _Example:
    image = system.report.image_ids[row]
    return _Example(
        image=image, score=f"{score:.3f}", candidate=candidates[image][0], references=references[image]
    )
