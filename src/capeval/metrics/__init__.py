"""The metrics: each is prepared with references once, then scores any number of candidates.

Each module of this package defines metrics and registers them.
"""

import pkgutil
from importlib import import_module

from capeval.metrics.base import Metric, Prepared, Resource
from capeval.metrics.options import MetricOption, metric_options, split_metrics
from capeval.metrics.registry import CLASSES, DEFAULT, METRICS, canonical_name, metric_keys, named, register

__all__ = [
    "CLASSES",
    "DEFAULT",
    "METRICS",
    "Metric",
    "MetricOption",
    "Prepared",
    "Resource",
    "canonical_name",
    "metric_keys",
    "metric_options",
    "named",
    "register",
    "split_metrics",
]

for module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{module.name}")
del module
