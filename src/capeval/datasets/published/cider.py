"""Published numbers of the CIDEr paper (Vedantam, Zitnick and Parikh 2015)."""

from __future__ import annotations

import csv
from pathlib import Path

__all__ = ["load_cider_accuracy"]


def load_cider_accuracy(dataset: str) -> dict[str, dict[str, float]]:
    """Return Table 1: the accuracy of metrics with 48 references, in percent.

    Args:
        dataset: `PASCAL-50S` or `ABSTRACT-50S`.

    Returns:
        The accuracy by metric and class of pairs.

    Example:
        >>> from capeval.datasets.published.cider import load_cider_accuracy
        >>> load_cider_accuracy("ABSTRACT-50S")["CIDEr-2015"]
        {'HC': 71.5, 'HI': 96.0}
    """
    return {
        row["metric"]: {kind: float(row[kind]) for kind in ("HC", "HI", "HM", "MM") if row[kind]}
        for row in _read("cider-table-1.csv")
        if row["dataset"] == dataset
    }


def _read(name: str) -> list[dict[str, str]]:
    with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
