"""The metrics: each is prepared with references once, then scores any number of candidates."""

from capeval.metrics.base import Metric, Prepared
from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import Cider, CiderD
from capeval.metrics.registry import DEFAULT, METRICS
from capeval.metrics.rouge import RougeL, RougeN, RougeS

__all__ = [
    "DEFAULT",
    "METRICS",
    "Bleu",
    "Cider",
    "CiderD",
    "Metric",
    "Prepared",
    "RougeL",
    "RougeN",
    "RougeS",
]
