"""Published rows in tables of scores by domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from capeval.datasets.nocaps_partitions import PARTITIONS, count_domains, describe_partition
from capeval.datasets.published.tables import load_nocaps
from capeval.scoring.grids import Cell, Grid
from capeval.studies.domains import DomainEvaluator, DomainOptions, DomainScores, DomainStudy, Frequencies
from capeval.studies.domains.options import LayoutOptions
from capeval.studies.domains.published_rows import select_published
from capeval.studies.domains.report import report

FIRST, WEBSITE = (417, 2670, 1413), (648, 2938, 914)
REFERENCES = {1: ["A dog runs."], 2: ["Two cats on a bed."], 3: ["A red bus."]}
DOMAINS = {"in-domain": [1], "near-domain": [2], "out-domain": [3]}


def score(sizes: tuple[int, int, int], frequencies: Frequencies = "all") -> DomainScores:
    """Return scores of three images, counted as a partition."""
    evaluator = DomainEvaluator(
        REFERENCES, DOMAINS, ["BLEU", "CIDEr-D"], DomainOptions(frequencies=frequencies)
    )
    found = evaluator.evaluate({image: captions[0] for image, captions in REFERENCES.items()})
    return replace(found, images={**dict(zip(DOMAINS, sizes, strict=True)), "overall": sum(sizes)})


def lay_out(
    found: DomainScores, options: LayoutOptions, coco: Mapping[str, Mapping[str, float]] | None = None
) -> Grid:
    return report(DomainStudy(systems={"ours": found}, coco=coco or {}), options).tables["paper-layout"]


def rows_of(grid: Grid) -> list[dict[str, Cell]]:
    return [dict(zip(grid.columns, row, strict=True)) for row in grid.rows]


@pytest.mark.parametrize(
    ("split", "total"), [("val", 4500), ("test", 10_600), ("test of the first version", 10_627)]
)
def test_partitions_have_the_images_of_a_split(split: str, total: int) -> None:
    assert total in {sum(sizes) for sizes in PARTITIONS}, split
    assert {row.partition for name in ("val", "test") for row in load_nocaps(name)} <= set(PARTITIONS)


def test_other_domains_are_an_own_partition() -> None:
    assert describe_partition(count_domains({"animals": 2, "overall": 2})) == "own partition"


@pytest.mark.parametrize(
    ("sizes", "systems", "left_out"),
    [
        (
            FIRST,
            9,
            "partition of nocaps.org are left out: Up-Down, Up-Down + CBS, Up-Down with GloVe (nocaps",
        ),
        (WEBSITE, 10, "partition of the paper's first version are left out: Up-Down, Up-Down + VGOI feat,"),
    ],
)
def test_rows_of_the_same_partition(sizes: tuple[int, int, int], systems: int, left_out: str) -> None:
    table = lay_out(score(sizes), LayoutOptions(published="val"))
    ours, *published = rows_of(table)
    assert len(published) == systems
    assert (ours["System"].value, ours["Source"].value) == ("ours", None)
    assert {row["Document frequencies"].value for row in (ours, *published)} == {"all images"}
    assert all(row["Training data"].value and row["Source"].value for row in published)
    assert sum(left_out in note for note in table.notes) == 1
    assert table.notes[0].endswith(f"({PARTITIONS[sizes]}).")


def test_scores_are_as_published() -> None:
    rows = rows_of(lay_out(score(FIRST), LayoutOptions(published="val")))
    assert rows[-1]["System"].value == "Human"
    assert rows[-1]["Source"].value == "Agrawal et al. 2019 (arXiv 1812.08658v1), Table 2"
    assert [rows[-1][f"{name} CIDEr-D"].value for name in (*DOMAINS, "overall")] == [83.3, 85.5, 91.4, 87.1]
    # The paper's Table 2 has no BLEU on nocaps.
    assert rows[-1]["overall BLEU-4"].value is None
    coco = lay_out(
        score(FIRST),
        LayoutOptions(published="val", layout="table2"),
        {"ours": {"BLEU-1": 0.7}},
    )
    assert rows_of(coco)[1]["COCO BLEU-1"].value == 77.4


def test_own_partitions_have_no_published_rows() -> None:
    table = lay_out(score((1, 1, 1)), LayoutOptions(published="test"))
    assert len(table.rows) == 1
    assert "Source" not in table.columns
    assert sum("are left out" in note for note in table.notes) == 1


def test_published_scores_use_all_images() -> None:
    published = select_published(score(FIRST, "domain"), "val")
    table = lay_out(score(FIRST, "domain"), LayoutOptions(published="val"))
    ours, *_, human = rows_of(table)
    assert (ours["Document frequencies"].value, human["Document frequencies"].value) == (
        "each domain",
        "all images",
    )
    assert human["in-domain CIDEr-D"].value is None
    assert human["overall CIDEr-D"].value == 87.1
    assert published.people["in-domain"] == {"SPICE": 13.9}
    assert "Published CIDEr-D by domain is left out, since it uses all images." in table.notes


def test_without_published_rows() -> None:
    assert select_published(score(FIRST), None).rows == ()
    assert select_published(score(FIRST), None).people == {}
    assert select_published(score(FIRST), None).notes == ()
