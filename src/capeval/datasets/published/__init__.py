"""Published numbers, with the paper and the table or section of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar

__all__ = ["COCO_HUMAN", "UNIQUE_NGRAMS", "Published"]

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

UNIQUE_NGRAMS: Published[Mapping[str, tuple[int, ...]]] = Published(
    values=MappingProxyType({"COCO": (6913, 46664, 92946, 119582), "nocaps": (8291, 59714, 116765, 144577)}),
    source="Agrawal et al. 2019, nocaps, Table 1",
)
"""Unique 1-grams to 4-grams in samples of 4,500 images with 5 captions each, by dataset."""
