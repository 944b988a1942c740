"""The published partitions of nocaps's images into domains."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from capeval.datasets.nocaps import DOMAINS

__all__ = ["PARTITIONS", "count_domains", "describe_partition"]

PARTITIONS: Mapping[tuple[int, int, int], str] = MappingProxyType(
    {
        (648, 2938, 914): "partition of nocaps.org",
        (1311, 7406, 1883): "partition of nocaps.org",
        (417, 2670, 1413): "partition of the paper's first version",
        (816, 6790, 3021): "partition of the paper's first version",
    }
)
"""The published partitions of val and test: numbers of images in domain, near domain and out of domain.

Scores of two partitions are not comparable, except for all images.
"""


def count_domains(images: Mapping[str, int]) -> tuple[int, int, int]:
    """Return the numbers of images in domain, near domain and out of domain.

    Args:
        images: The number of images by domain; a missing domain has none.

    Example:
        >>> from capeval.datasets.nocaps_partitions import count_domains
        >>> count_domains({"out-domain": 914, "in-domain": 648, "overall": 1562})
        (648, 0, 914)
    """
    first, second, third = (images.get(name, 0) for name in DOMAINS)
    return first, second, third


def describe_partition(sizes: tuple[int, int, int]) -> str:
    """Return the name of a partition; `own partition` if it is not published.

    Args:
        sizes: The numbers of images in domain, near domain and out of domain.

    Example:
        >>> from capeval.datasets.nocaps_partitions import describe_partition
        >>> describe_partition((648, 2938, 914))
        'partition of nocaps.org'
        >>> describe_partition((1, 2, 3))
        'own partition'
    """
    return PARTITIONS.get(sizes, "own partition")
