"""The metrics: each is prepared with references once, then scores any number of candidates."""

from capeval.metrics.base import Metric, Prepared
from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import Cider, CiderD
from capeval.metrics.meteor import Alignment, Match, Meteor, align
from capeval.metrics.registry import DEFAULT, METRICS
from capeval.metrics.rouge import RougeL, RougeN, RougeS

__all__ = [
    "DEFAULT",
    "METRICS",
    "Alignment",
    "Bleu",
    "Cider",
    "CiderD",
    "Match",
    "Meteor",
    "Metric",
    "Prepared",
    "RougeL",
    "RougeN",
    "RougeS",
    "align",
]
