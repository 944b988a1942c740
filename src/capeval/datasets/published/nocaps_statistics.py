"""Published statistics of the captions and objects of nocaps and COCO."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

__all__ = ["NocapsStatistic", "load_nocaps_statistics"]


@dataclass(frozen=True, kw_only=True)
class NocapsStatistic:
    """A statistic in section 3.2 of the nocaps paper.

    Attributes:
        dataset: `COCO` or `nocaps`, both validation images.
        quantity: The quantity with its unit.
        value: The number as printed.
        digits: The number of printed decimals.
    """

    dataset: str
    quantity: str
    value: float
    digits: int


def load_nocaps_statistics() -> tuple[NocapsStatistic, ...]:
    """Return the statistics in Figure 2 and section 3.2 of the nocaps paper.

    Example:
        >>> from capeval.datasets.published.nocaps_statistics import load_nocaps_statistics
        >>> {(each.dataset, each.quantity): each.value for each in load_nocaps_statistics()}[
        ...     "nocaps", "Classes per image"
        ... ]
        4.0
    """
    path = Path(__file__).with_name("nocaps-statistics.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(
            NocapsStatistic(
                dataset=row["dataset"],
                quantity=row["quantity"],
                value=float(row["value"]),
                digits=int(row["digits"]),
            )
            for row in csv.DictReader(file)
        )
