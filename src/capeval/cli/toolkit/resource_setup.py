"""Setup of metrics before scoring: resources and the parse cache."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from capeval._internal.optional_packages import join_install_commands, make_missing_package_error
from capeval.errors import DependencyError, OptionError, ResourceError
from capeval.metrics.base import Metric, Resource
from capeval.metrics.registry import DefaultMetrics, resolve
from capeval.resources.compiled_files import cache_folder

__all__ = ["STORE", "build_resources", "check_report_packages", "prepare_metrics", "store_folder"]

STORE = "CAPEVAL_STORE"
"""The environment variable with the folder of the parse cache, or `off`."""


def check_report_packages() -> None:
    """Check that HTML reports can be written, before the slow work starts.

    Raises:
        DependencyError: jinja2 or matplotlib is not installed.
    """
    for name in ("jinja2", "matplotlib"):
        error = make_missing_package_error("HTML reports need", ModuleNotFoundError(name=name), "report")
        if isinstance(error, DependencyError):
            raise error


def prepare_metrics(metrics: Sequence[str | Metric], spice_longest: int | None = None) -> tuple[Metric, ...]:
    """Return metrics with their resources prepared and a cache of parses.

    Args:
        metrics: Names or metric objects.
        spice_longest: The maximum length of sentences to parse, in tokens; None for the default.

    Raises:
        OptionError: A metric is unknown, the environment variable of the cache is empty, or a sentence limit
            is set and no metric parses sentences.
        ResourceError: The source of a resource is missing or damaged.
    """
    folder = store_folder()
    resolved = _limit_sentences(resolve(metrics), spice_longest)
    build_resources(metrics)
    return resolved if folder is None else tuple(metric.with_cache(folder) for metric in resolved)


def _limit_sentences(metrics: tuple[Metric, ...], longest: int | None) -> tuple[Metric, ...]:
    """Return the metrics with a sentence limit."""
    if longest is None:
        return metrics
    limited = tuple(metric.with_sentence_limit(longest) for metric in metrics)
    if all(one is other for one, other in zip(metrics, limited, strict=True)):
        names = ", ".join(name for metric in metrics for name in metric.names)
        raise OptionError(f"--spice-longest requires SPICE or SPIDEr (got {names})")
    return limited


def store_folder() -> Path | None:
    """Return the folder of the parse cache, or None if the cache is disabled.

    Raises:
        OptionError: The environment variable is empty.
    """
    wanted = os.environ.get(STORE)
    if wanted is None:
        return cache_folder()
    if not wanted:
        raise OptionError(f"{STORE} must be a folder or 'off' (got an empty value)")
    return None if wanted == "off" else Path(wanted)


def build_resources(metrics: Sequence[str | Metric]) -> None:
    """Build the missing resources of metrics.

    Args:
        metrics: Names from `--metrics`, or the metrics of a command without this option.

    Raises:
        OptionError: A metric is unknown.
        ResourceError: The source of a resource is missing or damaged. The message contains the command to run
            and, for names, the option to score without the resource.
    """
    if isinstance(metrics, DefaultMetrics):
        metrics = metrics.available
    resolved = resolve(metrics)
    resources = tuple(dict.fromkeys(resource for metric in resolved for resource in metric.resources))
    missing = tuple(resource for resource in resources if not resource.is_available)
    if len(missing) > 1:
        raise ResourceError(
            f"{' and '.join(resource.name for resource in missing)} are not installed:"
            f" {join_install_commands(resource.install for resource in missing)}"
            f"{_suggest_metrics(missing, metrics, resolved)}"
        )
    for resource in resources:
        try:
            _build_resource(resource)
        except ResourceError as error:
            raise ResourceError(f"{error}{_suggest_metrics((resource,), metrics, resolved)}") from None


def _build_resource(resource: Resource) -> None:
    if not sys.stderr.isatty():
        resource.prepare(lambda _: None)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"Preparing {resource.name} (once)", total=resource.steps, visible=False)
        resource.prepare(lambda done: bar.update(task, completed=done, visible=True))


def _suggest_metrics(
    missing: Sequence[Resource], metrics: Sequence[str | Metric], resolved: Sequence[Metric]
) -> str:
    """Return advice to score without resources, or "" if there is no such option."""
    names = [metric for metric in metrics if isinstance(metric, str)]
    if len(names) < len(metrics):
        return ""
    needing = [
        name
        for name, metric in zip(names, resolved, strict=True)
        if not set(missing).isdisjoint(metric.resources)
    ]
    others = [name for name in names if name not in needing]
    if not others:
        return ""
    return f"; to score without {', '.join(needing)}, use --metrics {','.join(others)}"
