"""The metrics of each part of the CIDEr paper."""

from __future__ import annotations

from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import Cider2015, CiderD
from capeval.metrics.meteor import Meteor
from capeval.metrics.rouge import RougeL, RougeN, RougeS
from capeval.studies.ranking import PAPER_RANKERS
from capeval.studies.shared.words import ComparedMetric

__all__ = ["FIVE_REFERENCES", "PILOT", "RANKERS", "VERSIONS"]

_ORDERS = (1, 2, 3, 4)
_WORDS = (
    ComparedMetric(metric=Bleu(orders=(1, 4), level="sentence")),
    ComparedMetric(metric=RougeN(n=1)),
    ComparedMetric(metric=RougeL(beta=2.0)),
    ComparedMetric(metric=Meteor()),
)

PILOT = (
    ComparedMetric(metric=Bleu(orders=(1,), level="sentence")),
    ComparedMetric(metric=RougeN(n=1)),
    ComparedMetric(metric=Cider2015(n=1, order=1)),
)
"""The metrics of the pilot study (Figure 3a)."""

FIVE_REFERENCES = _WORDS
"""The metrics of appendix I, on words."""

VERSIONS = (
    ComparedMetric(metric=Bleu(orders=_ORDERS, level="sentence"), stem=True),
    *(ComparedMetric(metric=RougeN(n=n), stem=True) for n in _ORDERS),
    ComparedMetric(metric=RougeL(beta=2.0), stem=True),
    ComparedMetric(metric=RougeS(), stem=True),
    ComparedMetric(metric=Meteor()),
    ComparedMetric(metric=Cider2015()),
    *(ComparedMetric(metric=Cider2015(n=n, order=n)) for n in _ORDERS),
    ComparedMetric(metric=Cider2015(pooling="max"), name="CIDEr-2015 max"),
    ComparedMetric(metric=Cider2015(weights="exponential"), name="CIDEr-2015 exp"),
    ComparedMetric(metric=Cider2015(frequencies="uniform"), name="CIDEr-2015 no idf"),
)
"""The versions of metrics in Figures 11 and 12, and METEOR."""

RANKERS = (
    *PAPER_RANKERS,
    ComparedMetric(metric=CiderD(n=1, order=1, stem=True), name="CIDEr-D-1 on stems"),
)
"""The metrics of Figures 5 and 6."""
