"""The registry of metrics, by name, for the command line, the server, signatures and tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from capeval._internal.plugins import PluginGroup, Registry
from capeval._internal.validation import checked_choice
from capeval.errors import OptionError
from capeval.metrics.base import Metric
from capeval.metrics.options import metric_options, parse_options, split_options

__all__ = ["CLASSES", "DEFAULT", "METRICS", "canonical_name", "metric_keys", "named", "register", "resolve"]

DEFAULT = ("BLEU", "METEOR", "ROUGE-L", "CIDEr-D")
"""The default metrics: those of the COCO Captions server."""

# The other characters separate metrics and their options.
_NAME = re.compile(r"[^\s,()]+")
_Class = TypeVar("_Class", bound=type[Metric])
_MakeMetric = Callable[[], Metric]


class _Metrics(Registry[_MakeMetric]):
    """Functions that make metrics, also of names with options such as `CIDEr-D(sigma=6)`."""

    def __getitem__(self, name: str) -> _MakeMetric:
        if "(" not in name:
            return super().__getitem__(name)
        try:
            base, options = split_options(name)
            make = super().__getitem__(base)
            return partial(make, **parse_options(type(make()), options))
        except OptionError as error:
            raise KeyError(str(error)) from None


_plugins = PluginGroup("capeval.metrics")

CLASSES: Registry[type[Metric]] = Registry("metric's class", _plugins)
"""The registered classes, by the name of the class."""

METRICS: Registry[_MakeMetric] = _Metrics("metric", _plugins)
"""A function that makes each metric, by the metric's name, which may have options: `CIDEr-D(sigma=6)`."""


def register(metric: _Class) -> _Class:
    """Adds a metric's class to the registry; used as a decorator.

    Another distribution names the module or the class in its entry points, in the group `capeval.metrics`.

    Raises:
        OptionError: Its name, or one of its variants', is another metric's or has a space, comma or
            parenthesis.
    """
    variants = {
        name: partial(metric, **options) for name, options in (metric.variants or {metric.family: {}}).items()
    }
    for name in variants:
        if not _NAME.fullmatch(name):
            raise OptionError(f"a metric's name must have no space, comma or parenthesis (got {name!r})")
    METRICS.check(variants, metric.__module__)
    CLASSES.add({metric.__name__: metric}, metric.__module__)
    METRICS.add(variants, metric.__module__)
    return metric


def named(name: str) -> Metric:
    """The metric of that name (upper or lower case), which may have options: `CIDEr-D(sigma=6)`.

    Raises:
        OptionError: There is none, or an option is none of its options.
    """
    return METRICS[canonical_name(name)]()


def canonical_name(text: str) -> str:
    """Return a metric's name with the registry's spelling, and its options as signatures write them.

    Raises:
        OptionError: There is no such metric, or an option is none of its options.
    """
    name, options = split_options(text)
    spelling = METRICS.spelling(name) or checked_choice("metrics", name, tuple(METRICS))
    metric = type(METRICS[spelling]())
    values, known = parse_options(metric, options), metric_options(metric)
    shown = ",".join(f"{each}={known[each].show(value)}" for each, value in values.items())
    return f"{spelling}({shown})" if shown else spelling


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
