"""The registry of metrics, by name, for the command line, the server, signatures and tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from capeval._internal.validation import checked_choice
from capeval.errors import OptionError
from capeval.metrics.base import Metric

__all__ = ["CLASSES", "DEFAULT", "METRICS", "metric_keys", "named", "register", "resolve"]

DEFAULT = ("BLEU", "METEOR", "ROUGE-L", "CIDEr-D")
"""The default metrics: those of the COCO Captions server."""

_Class = TypeVar("_Class", bound=type[Metric])

_classes: dict[str, type[Metric]] = {}
_metrics: dict[str, Callable[[], Metric]] = {}

CLASSES: Mapping[str, type[Metric]] = MappingProxyType(_classes)
"""The registered classes, by the name of the class."""

METRICS: Mapping[str, Callable[[], Metric]] = MappingProxyType(_metrics)
"""A function that makes each metric, by the metric's name."""


def register(metric: _Class) -> _Class:
    """Adds a metric's class to the registry; used as a decorator.

    Raises:
        OptionError: Its name, or one of its variants', is another metric's.
    """
    variants = metric.variants or {metric.family: {}}
    taken = {name.lower() for name in METRICS}
    for name in variants:
        if name.lower() in taken:
            raise OptionError(f"a metric's name must be new (got {name!r} again)")
    if metric.__name__ in CLASSES:
        raise OptionError(f"a metric's class must have a new name (got {metric.__name__!r} again)")
    _classes[metric.__name__] = metric
    _metrics.update({name: partial(metric, **options) for name, options in variants.items()})
    return metric


def named(name: str) -> Metric:
    """The metric of that name (upper or lower case).

    Raises:
        OptionError: There is none.
    """
    known = {each.lower(): each for each in METRICS}
    return METRICS[checked_choice("metrics", known.get(name.lower(), name), tuple(METRICS))]()


def resolve(metrics: Iterable[str | Metric]) -> tuple[Metric, ...]:
    """Metrics from names and metric objects.

    Raises:
        OptionError: A name is not known, there is none, or two metrics give scores of the same name.
    """
    if isinstance(metrics, str):
        raise OptionError(f"'metrics' must be a list of names or metrics (got the string {metrics!r})")
    if not isinstance(metrics, Iterable):
        raise OptionError(f"'metrics' must be a list of names or metrics (got {metrics!r})")
    resolved = tuple(_resolved(metric) for metric in metrics)
    if not resolved:
        raise OptionError("'metrics' must name at least one metric (got none)")
    names = [name for metric in resolved for name in metric.names]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"'metrics' must give different scores (got {name} twice)")
    return resolved


def metric_keys(metrics: Sequence[Metric]) -> tuple[str, ...]:
    """The keys of metrics in results by metric.

    The key of a metric with one score is the name of that score. The key of another metric is its family
    or, where several of the metrics are of that family, the names of its scores joined by commas.
    """
    families = [metric.family for metric in metrics]
    return tuple(
        ",".join(metric.names)
        if len(metric.names) == 1 or families.count(metric.family) > 1
        else metric.family
        for metric in metrics
    )


def _resolved(metric: object) -> Metric:
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        return named(metric)
    raise OptionError(f"'metrics' must hold names, or metrics such as Bleu() (got {metric!r})")
