"""Making the resources that metrics need, with a progress bar, before they score."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from capeval.errors import ResourceError
from capeval.metrics.base import Metric, Resource
from capeval.metrics.registry import resolve

__all__ = ["prepare_needs"]


def prepare_needs(metrics: Sequence[str | Metric]) -> None:
    """Makes the resources that metrics need, where they are not there yet.

    Raises:
        OptionError: A metric is not known.
        ResourceError: What a resource is made from is missing or damaged; the message says what to run, and
            how to score without it.
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
        task = bar.add_task(f"Making {resource.name} (once)", total=resource.steps, visible=False)
        resource.prepare(lambda done: bar.update(task, completed=done, visible=True))


def _without(resource: Resource, metrics: Sequence[str | Metric], resolved: Sequence[Metric]) -> str:
    """How to score without a resource."""
    named = [(each if isinstance(each, str) else each.family) for each in metrics]
    needing = [name for name, metric in zip(named, resolved, strict=True) if resource in metric.needs]
    others = [name for name in named if name not in needing]
    if not others:
        return ""
    return f"; to score without {', '.join(needing)}: --metrics {','.join(others)}"
