"""Registry of metrics by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from capeval._internal.plugins import PluginGroup, Registry
from capeval.errors import OptionError
from capeval.metrics.base import Metric
from capeval.metrics.options import list_metric_options, parse_options, split_options

__all__ = [
    "CLASSES",
    "DEFAULT",
    "METRICS",
    "get_metric",
    "list_metric_keys",
    "normalize_name",
    "register",
    "resolve",
]

DEFAULT = ("BLEU", "METEOR", "ROUGE-L", "CIDEr-D")
"""The default metrics, which the COCO Captions server reports."""

# The excluded characters separate metrics and their options.
_NAME = re.compile(r"[^\s,()]+")
_Class = TypeVar("_Class", bound=type[Metric])
_MakeMetric = Callable[[], Metric]


class _Metrics(Registry[_MakeMetric]):
    """Metric factories by name, also with options as in `CIDEr-D(sigma=6)`."""

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
"""The registered metric classes, by class name."""

METRICS: Registry[_MakeMetric] = _Metrics("metric", _plugins)
"""Metric factories by name, also with options as in `CIDEr-D(sigma=6)`."""


def register(metric: _Class) -> _Class:
    """Register a metric class; use it as a decorator.

    Other distributions register metrics with an entry point in the group `capeval.metrics` that refers to the
    module or the class.

    Raises:
        OptionError: The name of the metric or of a variant is already registered, or contains a space, comma
            or parenthesis.

    Example:
        capeval registers ROUGE-N as follows::

            @register
            @dataclass(frozen=True, kw_only=True)
            class RougeN(MeanMetric):
                variants: ClassVar = {f"ROUGE-{n}": {"n": n} for n in range(1, 5)}

        The metric is then available by the name of its class and by the names of its variants:

        >>> from capeval.metrics import CLASSES, METRICS
        >>> CLASSES["RougeN"]
        <class 'capeval.metrics.rouge.RougeN'>
        >>> METRICS["ROUGE-2"]()
        RougeN(n=2)
    """
    variants = {
        name: partial(metric, **options) for name, options in (metric.variants or {metric.family: {}}).items()
    }
    for name in variants:
        if not _NAME.fullmatch(name):
            raise OptionError(
                f"a metric's name must not contain spaces, commas or parentheses (got {name!r})"
            )
    METRICS.check(variants, metric.__module__)
    CLASSES.add({metric.__name__: metric}, metric.__module__)
    METRICS.add(variants, metric.__module__)
    return metric


def get_metric(name: str) -> Metric:
    """Return the metric with this name, which may include options: `CIDEr-D(sigma=6)`.

    Names are case-insensitive.

    Raises:
        OptionError: The metric is unknown, or it has no such option.
    """
    return METRICS[normalize_name(name)]()


def normalize_name(text: str) -> str:
    """Return a metric's name in the registry's spelling.

    Options are formatted as in signatures.

    Raises:
        OptionError: The metric is unknown, or it has no such option.
    """
    name, options = split_options(text)
    spelling = METRICS.spelling(name)
    if spelling is None:
        raise OptionError(_describe_unknown(name))
    metric = type(METRICS[spelling]())
    values, known = parse_options(metric, options), list_metric_options(metric)
    shown = ",".join(f"{each}={known[each].show(value)}" for each, value in values.items())
    return f"{spelling}({shown})" if shown else spelling


def resolve(metrics: Iterable[str | Metric]) -> tuple[Metric, ...]:
    """Return metric objects for names and metric objects.

    Raises:
        OptionError: A name is unknown, there are no metrics, or two metrics compute scores with the same
            name.
    """
    if isinstance(metrics, str):
        raise OptionError(f"'metrics' must be a list of names or metrics (got the string {metrics!r})")
    if not isinstance(metrics, Iterable):
        raise OptionError(f"'metrics' must be a list of names or metrics (got {metrics!r})")
    resolved = tuple(_resolve_metric(metric) for metric in metrics)
    if not resolved:
        raise OptionError("'metrics' must contain at least one metric (got none)")
    names = [name for metric in resolved for name in metric.names]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"'metrics' must compute different scores (got {name} twice)")
    return resolved


def list_metric_keys(metrics: Sequence[Metric]) -> tuple[str, ...]:
    """Return the keys of metrics in results.

    The key of a metric with one score is the name of the score. Otherwise it is the metric's family or, if
    several of the metrics belong to that family, the names of its scores joined by commas.

    Example:
        >>> from capeval import Bleu, CiderD
        >>> from capeval.metrics import list_metric_keys
        >>> list_metric_keys([Bleu(), CiderD()])
        ('BLEU', 'CIDEr-D')
        >>> list_metric_keys([Bleu(orders=(1, 2)), Bleu(orders=(4,))])
        ('BLEU-1,BLEU-2', 'BLEU-4')
    """
    families = [metric.family for metric in metrics]
    return tuple(
        ",".join(metric.names)
        if len(metric.names) == 1 or families.count(metric.family) > 1
        else metric.family
        for metric in metrics
    )


def _describe_unknown(name: str) -> str:
    from difflib import get_close_matches

    names = {each.lower(): each for each in METRICS}
    near = get_close_matches(name.lower(), names, n=1)
    question = f"; did you mean {names[near[0]]!r}? Run" if near else "; run"
    return f"unknown metric {name!r}{question} 'capeval metrics' for the list"


def _resolve_metric(metric: object) -> Metric:
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        return get_metric(metric)
    raise OptionError(f"'metrics' must contain names or metrics such as Bleu() (got {metric!r})")
