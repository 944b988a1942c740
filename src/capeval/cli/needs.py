"""Prepares the resources that metrics need before they score, with a progress bar."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from capeval.errors import ResourceError
from capeval.metrics.base import Metric, Resource
from capeval.metrics.registry import resolve

__all__ = ["prepare_needs"]


def prepare_needs(metrics: Sequence[str | Metric]) -> None:
    """Prepares the resources that metrics need, where they are missing.

    Args:
        metrics: Names given with `--metrics`, or the metrics of a command that has no such option.

    Raises:
        OptionError: A metric is not known.
        ResourceError: The source of a resource is missing or damaged. The message says what to run and, for
            names, how to score without the resource.
    """
    resolved = resolve(metrics)
    for resource in dict.fromkeys(resource for metric in resolved for resource in metric.needs):
        try:
            _prepare(resource)
        except ResourceError as error:
            raise ResourceError(f"{error}{_without(resource, metrics, resolved)}") from None


def _prepare(resource: Resource) -> None:
    if not sys.stderr.isatty():
        resource.prepare(lambda _: None)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"Preparing {resource.name} (once)", total=resource.steps, visible=False)
        resource.prepare(lambda done: bar.update(task, completed=done, visible=True))


def _without(resource: Resource, metrics: Sequence[str | Metric], resolved: Sequence[Metric]) -> str:
    """How to score without a resource; empty where `--metrics` can't leave it out."""
    names = [metric for metric in metrics if isinstance(metric, str)]
    if len(names) < len(metrics):
        return ""
    needing = [name for name, metric in zip(names, resolved, strict=True) if resource in metric.needs]
    others = [name for name in names if name not in needing]
    if not others:
        return ""
    return f"; to score without {', '.join(needing)}: --metrics {','.join(others)}"
