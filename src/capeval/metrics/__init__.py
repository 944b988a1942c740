"""Metrics, prepared with the references once to score any number of candidates.

Each module of this package defines metrics and registers them.
"""

import pkgutil
from importlib import import_module

from capeval.metrics.base import MeanMetric, Metric, Prepared, Resource
from capeval.metrics.registry import CLASSES, DEFAULT, METRICS, list_metric_keys, register

__all__ = [
    "CLASSES",
    "DEFAULT",
    "METRICS",
    "MeanMetric",
    "Metric",
    "Prepared",
    "Resource",
    "list_metric_keys",
    "register",
]

for module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{module.name}")
del module
