"""Export of scores and comparisons as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from capeval.formats.io.json import replace_nan
from capeval.report.tables import System

if TYPE_CHECKING:
    from capeval.scoring.report import Report
    from capeval.scoring.significance import Comparison, Comparisons, Interval

__all__ = ["comparison_to_json", "to_json"]


def to_json(systems: Sequence[System], *, per_image: bool = False, benchmark: str = "") -> str:
    """Return an object for one system, or a list for several, in full precision.

    Args:
        systems: The systems.
        per_image: Whether to include the scores of each image.
        benchmark: The name of the benchmark, if the references are those of one.

    Example:
        >>> import json
        >>> from capeval import evaluate
        >>> from capeval.report import System, to_json
        >>> report = evaluate({1: ["A big red bus."]}, {1: "A red bus."}, ["ROUGE-1"])
        >>> content = json.loads(to_json([System(name="Transformer", report=report)]))
        >>> content["system"], content["images"], content["metrics"]
        ('Transformer', 1, {'ROUGE-1': 0.75})
    """
    about = {"benchmark": benchmark} if benchmark else {}
    objects = [_build_object(system, about, per_image=per_image) for system in systems]
    return _dump_json(objects[0] if len(objects) == 1 else objects, lines=not per_image)


def _build_object(system: System, about: Mapping[str, str], *, per_image: bool) -> dict[str, Any]:
    scores = system.report.to_dict(per_image=per_image)
    content: dict[str, Any] = {"system": system.name, **about, **scores}
    if system.intervals:
        content["intervals"] = {name: _replace_nan(interval) for name, interval in system.intervals.items()}
    if system.subset_intervals:
        content["subset_intervals"] = {
            subset: {name: _replace_nan(interval) for name, interval in intervals.items()}
            for subset, intervals in system.subset_intervals.items()
        }
    return content


def comparison_to_json(
    compared: Mapping[str, Mapping[tuple[str, str], Comparisons]],
    reports: Mapping[str, Report],
    *,
    benchmark: str = "",
) -> str:
    """Return the comparisons of systems.

    One pair without subsets is an object with the systems' names, the comparisons, and any benchmark and
    notes. Several pairs are a list of such objects under `comparisons`. The whole object also has the number
    of images, the signature of each metric, and how the images of each system's results were matched.

    Args:
        compared: The comparisons of pairs of systems (`compare_systems`), by the name of a subset.
        reports: The report of each system by name.
        benchmark: The name of the benchmark; empty for none.
    """
    about = {"benchmark": benchmark} if benchmark else {}
    objects = [
        {
            "systems": {"a": a, "b": b},
            **({"subset": subset} if len(compared) > 1 else {}),
            **about,
            "metrics": {name: _replace_nan(each) for name, each in comparisons.items()},
            **({"notes": list(comparisons.notes)} if comparisons.notes else {}),
        }
        for subset, pairs in compared.items()
        for (a, b), comparisons in pairs.items()
    ]
    content: dict[str, Any] = objects[0] if len(objects) == 1 else {"comparisons": objects}
    first = next(iter(reports.values()))
    matched = {
        name: report.matching.to_dict()
        for name, report in reports.items()
        if report.matching is not None and report.matching.notes
    }
    content |= {
        "images": len(first.image_ids),
        "signatures": {name: str(signature) for name, signature in first.signatures.items()},
        **({"matching": matched} if matched else {}),
    }
    return _dump_json(content, lines=True)


def _replace_nan(made: Interval | Comparison) -> dict[str, Any]:
    """Return the fields, with None for NaN; those of the direction only if they are false."""
    numbers: dict[str, Any] = {name: replace_nan(value) for name, value in asdict(made).items()}
    for name in ("higher_is_better", "has_direction"):
        if numbers.get(name):
            del numbers[name]
    return numbers


def _dump_json(content: object, *, lines: bool) -> str:
    # Python writes indented JSON ten times more slowly, which matters for tens of thousands of images.
    return json.dumps(content, indent=2 if lines else None, ensure_ascii=False, allow_nan=False) + "\n"
