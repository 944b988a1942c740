"""Published numbers, with the paper and the table or section of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar

__all__ = [
    "ABSTRACT50S_ACCURACY",
    "COCO_HUMAN",
    "NOCAPS_HUMAN",
    "RANK_CORRELATION",
    "UNIQUE_NGRAMS",
    "Published",
]

_Values = TypeVar("_Values")


@dataclass(frozen=True, kw_only=True)
class Published(Generic[_Values]):
    """Published numbers.

    Attributes:
        values: The numbers.
        source: The paper and the table or section.
    """

    values: _Values
    source: str


COCO_HUMAN: Published[Mapping[str, float]] = Published(
    values=MappingProxyType(
        {
            "BLEU-1": 0.663,
            "BLEU-2": 0.469,
            "BLEU-3": 0.321,
            "BLEU-4": 0.217,
            "METEOR": 0.252,
            "ROUGE-L": 0.484,
            "CIDEr-D": 0.854,
        }
    ),
    source="Chen et al. 2015, Microsoft COCO Captions, Table 1 (c5)",
)
"""Human scores on COCO's test set with five references."""

NOCAPS_HUMAN: Published[Mapping[str, Mapping[str, Mapping[str, float]]]] = Published(
    values=MappingProxyType(
        {
            "val": {
                "in-domain": {"CIDEr-D": 0.833, "SPICE": 0.139},
                "near-domain": {"CIDEr-D": 0.855, "SPICE": 0.143},
                "out-domain": {"CIDEr-D": 0.914, "SPICE": 0.137},
                "overall": {"CIDEr-D": 0.871, "SPICE": 0.141},
            },
            "test": {
                "in-domain": {"CIDEr-D": 0.758, "SPICE": 0.142},
                "near-domain": {"CIDEr-D": 0.848, "SPICE": 0.147},
                "out-domain": {"CIDEr-D": 0.891, "SPICE": 0.140},
                "overall": {
                    "BLEU-1": 0.766,
                    "BLEU-4": 0.195,
                    "METEOR": 0.282,
                    "ROUGE-L": 0.528,
                    "CIDEr-D": 0.853,
                    "SPICE": 0.145,
                },
            },
        }
    ),
    source="Agrawal et al. 2019, nocaps, Tables 2 (val) and 3 (test)",
)
"""Human scores by split, domain and metric."""

UNIQUE_NGRAMS: Published[Mapping[str, tuple[int, ...]]] = Published(
    values=MappingProxyType({"COCO": (6913, 46664, 92946, 119582), "nocaps": (8291, 59714, 116765, 144577)}),
    source="Agrawal et al. 2019, nocaps, Table 1",
)
"""Unique 1-grams to 4-grams in samples of 4,500 images with 5 captions each, by dataset."""

ABSTRACT50S_ACCURACY: Published[Mapping[str, Mapping[str, float]]] = Published(
    values=MappingProxyType(
        {
            "BLEU-4": {"HC": 65.5, "HI": 93.0},
            "ROUGE-1": {"HC": 71.5, "HI": 91.0},
            "METEOR": {"HC": 69.5, "HI": 94.0},
            "CIDEr-2015": {"HC": 71.5, "HI": 96.0},
        }
    ),
    source="Vedantam et al. 2015, CIDEr, Table 1 (ABSTRACT-50S)",
)
"""Percentage of pairs on which a metric agrees with people, by metric and class of pairs."""

RANK_CORRELATION: Published[Mapping[tuple[str, str], float]] = Published(
    values=MappingProxyType({("CIDEr-2015", "CIDEr-D"): 0.94}),
    source="Vedantam et al. 2015, CIDEr, section 8",
)
"""Spearman's rho between the scores of references by two metrics."""
