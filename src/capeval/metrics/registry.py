"""Metrics by name: what the command line, signatures and tests list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from capeval.errors import OptionError
from capeval.metrics.base import Metric
from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import Cider, CiderD
from capeval.metrics.meteor import Meteor
from capeval.metrics.rouge import RougeL, RougeN, RougeS

__all__ = ["DEFAULT", "METRICS", "named", "resolve"]

_ORDERS = (1, 2, 3, 4)


def _registered() -> dict[str, Callable[[], Metric]]:
    metrics: dict[str, Callable[[], Metric]] = {"BLEU": Bleu}
    for n in _ORDERS:
        metrics[f"BLEU-{n}"] = lambda n=n: Bleu(orders=(n,))  # type: ignore[misc]
    metrics["METEOR"] = Meteor
    metrics["ROUGE-L"] = RougeL
    for n in _ORDERS:
        metrics[f"ROUGE-{n}"] = lambda n=n: RougeN(n=n)  # type: ignore[misc]
    metrics["ROUGE-S"] = RougeS
    metrics["CIDEr-D"] = CiderD
    for n in _ORDERS:
        metrics[f"CIDEr-D-{n}"] = lambda n=n: CiderD(n=n, order=n)  # type: ignore[misc]
    metrics["CIDEr"] = Cider
    for n in _ORDERS:
        metrics[f"CIDEr-{n}"] = lambda n=n: Cider(n=n, order=n)  # type: ignore[misc]
    return metrics


METRICS: Mapping[str, Callable[[], Metric]] = MappingProxyType(_registered())
"""What makes each metric with its default options, by name."""

DEFAULT = ("BLEU", "METEOR", "ROUGE-L", "CIDEr-D")
"""The metrics of the COCO Captions server."""


def named(name: str) -> Metric:
    """The metric of that name (upper or lower case), with its default options.

    Raises:
        OptionError: There is none.
    """
    for known, make in METRICS.items():
        if known.lower() == name.lower():
            return make()
    raise OptionError(f"'metrics' must be among {', '.join(METRICS)} (got {name!r})")


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


def _resolved(metric: object) -> Metric:
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        return named(metric)
    raise OptionError(f"'metrics' must hold names, or metrics such as Bleu() (got {metric!r})")
