"""Published tables of several systems, from files with their sources (`SOURCES.md`)."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from capeval._internal.validation import validate_choice
from capeval.datasets.nocaps import DOMAINS

__all__ = [
    "CocoReferences",
    "CocoRow",
    "NocapsRow",
    "NocapsSplit",
    "load_coco_2015",
    "load_coco_2015_judgments",
    "load_coco_counts",
    "load_nocaps",
]

CocoReferences = Literal["c5", "c40"]
NocapsSplit = Literal["val", "test"]

_ABOUT_COCO = ("team", "date", "url")
_SYSTEM = ("source", "table", "partition", "system", "training")


@dataclass(frozen=True, kw_only=True)
class CocoRow:
    """A row of COCO's captioning leaderboards.

    Attributes:
        team: The name of the team or system; empty for one row.
        date: The date of the submission, as year-month-day.
        url: The address of the paper; empty without one.
        scores: The scores by metric, or the judgments M1 to M5.
    """

    team: str
    date: str
    url: str
    scores: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class NocapsRow:
    """The published scores of a system on nocaps.

    Attributes:
        system: The name of the system.
        training: The data that the system was trained with.
        source: The paper or repository, and the table.
        partition: The numbers of images in domain, near domain and out of domain.
        scores: The scores by domain and metric, in percent as published. The domain of all images is
            `overall`; scores on the validation images of COCO are those of `COCO`. Document frequencies
            are those of all images (`SOURCES.md`).
    """

    system: str
    training: str
    source: str
    partition: tuple[int, int, int]
    scores: Mapping[str, Mapping[str, float]]


def load_coco_2015(references: CocoReferences = "c5") -> tuple[CocoRow, ...]:
    """Return the 80 rows of a leaderboard of COCO's captioning server, as last shown.

    The source lists two systems under two team ids, so two pairs of rows have equal scores (`SOURCES.md`).

    Args:
        references: `c5` for five references per test image, or `c40` for 40 references of 5,000 images.

    Raises:
        OptionError: There is no such leaderboard.

    Example:
        >>> from capeval.datasets.published.tables import load_coco_2015
        >>> rows = {row.team: row for row in load_coco_2015("c40")}
        >>> rows["Human"].scores["CIDEr-D"], rows["Google"].scores["CIDEr-D"]
        (0.91, 0.946)
    """
    validate_choice("references", references, get_args(CocoReferences))
    return _read_coco(f"coco-2015-{references}.csv")


def load_coco_2015_judgments() -> tuple[CocoRow, ...]:
    """Return the human judgments M1 to M5 of the COCO captioning challenge of 2015.

    The 17 rows are 15 systems, captions by people (`Human`), and captions of other images (`Random`).

    Example:
        >>> from capeval.datasets.published.tables import load_coco_2015_judgments
        >>> {row.team: row.scores["M1"] for row in load_coco_2015_judgments()}["Human"]
        0.638
    """
    return _read_coco("coco-2015-judgments.csv")


def load_coco_counts() -> dict[str, tuple[int, int]]:
    """Return the numbers of images and captions of COCO's splits, as printed in the COCO Captions paper.

    Example:
        >>> from capeval.datasets.published.tables import load_coco_counts
        >>> load_coco_counts()["val2014"]
        (40504, 202520)
    """
    rows = _read("coco-paper-counts.csv")
    return {row["split"]: (int(row["images"]), int(row["captions"])) for row in rows}


def load_nocaps(
    split: NocapsSplit = "val", *, partition: tuple[int, int, int] | None = None
) -> tuple[NocapsRow, ...]:
    """Return published scores on nocaps, in the order of their sources.

    Args:
        split: `val` or `test`.
        partition: The numbers of images in domain, near domain and out of domain; all rows by default.

    Raises:
        OptionError: There is no such split.

    Example:
        >>> from capeval.datasets.published.tables import load_nocaps
        >>> rows = load_nocaps("val", partition=(648, 2938, 914))
        >>> {row.system: row.scores["overall"]["CIDEr-D"] for row in rows}["BLIP"]
        113.2
    """
    validate_choice("split", split, get_args(NocapsSplit))
    rows: dict[tuple[str, ...], dict[str, dict[str, float]]] = {}
    for cells in _read("nocaps.csv"):
        if cells["split"] == split and partition in (None, _parse_partition(cells["partition"])):
            scores = rows.setdefault(tuple(cells[name] for name in _SYSTEM), {})
            for domain in (*DOMAINS, "overall", "COCO"):
                if cells[domain]:
                    scores.setdefault(domain, {})[cells["metric"]] = float(cells[domain])
    return tuple(
        NocapsRow(
            system=system,
            training=training,
            source=f"{source}, {table}",
            partition=_parse_partition(sizes),
            scores=scores,
        )
        for (source, table, sizes, system, training), scores in rows.items()
    )


def _read_coco(name: str) -> tuple[CocoRow, ...]:
    return tuple(
        CocoRow(
            team=cells["team"],
            date=cells["date"],
            url=cells.get("url", ""),
            scores={key: float(value) for key, value in cells.items() if key not in _ABOUT_COCO},
        )
        for cells in _read(name)
    )


def _read(name: str) -> list[dict[str, str]]:
    with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _parse_partition(text: str) -> tuple[int, int, int]:
    first, second, third = (int(part) for part in text.split("/"))
    return first, second, third
