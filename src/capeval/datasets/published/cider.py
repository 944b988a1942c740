"""Published numbers of the CIDEr paper (Vedantam, Zitnick and Parikh 2015)."""

from __future__ import annotations

import csv
from pathlib import Path

__all__ = ["load_cider_accuracy", "load_cider_ranks", "load_cider_text"]


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


def load_cider_text() -> dict[tuple[str, str], str]:
    """Return the numbers in the text of the paper as printed, by part and quantity.

    Example:
        >>> from capeval.datasets.published.cider import load_cider_text
        >>> load_cider_text()["Section 8", "CIDEr-2015 and CIDEr-D"]
        '0.94'
    """
    return {(row["part"], row["quantity"]): row["value"] for row in _read("cider-text.csv")}


def load_cider_ranks(figure: str) -> dict[str, tuple[int, ...]]:
    """Return the printed ranks of the sentences of image `2008_006488.jpg`.

    Args:
        figure: `Figure 5` or `Figure 6`.

    Returns:
        The positions of the sentences among the image's sentences in `pascal50S.mat`, counted from 1, in the
        order of their ranks, by metric.

    Example:
        >>> from capeval.datasets.published.cider import load_cider_ranks
        >>> ranks = load_cider_ranks("Figure 6")
        >>> {metric: places[:3] for metric, places in ranks.items()}
        {'CIDEr-2015-1': (33, 6, 15), 'CIDEr-D-1': (6, 15, 10)}
    """
    found: dict[str, dict[int, int]] = {}
    for row in _read("cider-ranks.csv"):
        if row["figure"] == figure:
            found.setdefault(row["metric"], {})[int(row["rank"])] = int(row["sentence"])
    return {
        metric: tuple(places[rank] for rank in range(1, len(places) + 1)) for metric, places in found.items()
    }


def _read(name: str) -> list[dict[str, str]]:
    with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
