"""The study that compares the nocaps paper with computed results."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from capeval import Candidates, References
from capeval.datasets.published.nocaps_statistics import load_nocaps_statistics
from capeval.scoring.grid_formats import to_csv
from capeval.studies.nocaps_paper import DRAWS, NocapsPaperStudy, study_nocaps_paper
from capeval.studies.nocaps_paper.report import report
from capeval.studies.shared.papers import PaperPart
from tests.capeval.cli.test_cli import output, refusal

CAPTIONS = References(
    {
        1: ["A dog runs on the grass.", "The dog is running.", "A dog outside."],
        2: ["Two cats sleep on a bed.", "Cats on a bed.", "Two sleeping cats."],
        3: ["A red bus drives.", "A bus on a city street.", "The bus is red."],
        4: ["A man plays a harp.", "A golden harp.", "Someone with a harp."],
    }
)
DOMAINS = {"in-domain": [1, 2], "near-domain": [3], "out-domain": [4]}
COCO = References({image: captions[:2] for image, captions in CAPTIONS.items()})
FIRST = {"in-domain": 417, "near-domain": 2670, "out-domain": 1413}


@pytest.fixture(scope="module")
def study() -> NocapsPaperStudy:
    systems = {name: Candidates(dict.fromkeys(CAPTIONS, "A dog on a bed.")) for name in ("NBT", "Ours")}
    return study_nocaps_paper(
        CAPTIONS,
        DOMAINS,
        ["CIDEr-D"],
        coco=COCO,
        objects={"nocaps": {1: {"Dog": 2, "Tree": 1}, 2: {"Cat": 1}}},
        systems=systems,
    )


def parts_of(study: NocapsPaperStudy) -> dict[str, PaperPart]:
    return {part.name: part for part in report(study).parts}


def test_samples_are_as_large_as_possible(study: NocapsPaperStudy) -> None:
    assert {(each.images, each.captions) for each in study.corpora.values()} == {(4, 2)}
    part = parts_of(study)["Table 1"]
    assert "The paper's samples have 4,500 images with 5 captions each." in part.reason
    assert len(part.values) == 8
    assert part.claims[0].evidence.count(" and ") == 4


def test_without_coco() -> None:
    part = parts_of(study_nocaps_paper(CAPTIONS, DOMAINS, ["CIDEr-D"]))["Table 1"]
    assert {value.verdict for value in part.values if value.name.endswith("COCO")} == {"not computed"}
    assert part.claims[0].verdict == "not computed"
    assert "`--coco`" in part.reason


def test_statistics(study: NocapsPaperStudy) -> None:
    part = parts_of(study)["Figure 2"]
    computed = {value.name: value.computed for value in part.values}
    assert len(computed) == len(load_nocaps_statistics())
    assert computed["Classes per image, nocaps"] == 1.5
    assert computed["Instances per image, nocaps"] == 2
    assert computed["Images with one class (%), nocaps"] == 50
    assert computed["Classes per image, COCO"] is None
    assert part.reason == "Objects require files: `--coco-objects` (COCO)."
    assert len(part.figures["figure-2"]().axes) == 3


def test_human_captions_are_drawn(study: NocapsPaperStudy) -> None:
    assert study.human.references == 2
    assert study.fewer is not None
    assert {len(draws) for draws in study.human.draws.values()} == {DRAWS}
    part = parts_of(study)["Table 2, human row"]
    computed = {value.name: value.computed for value in part.values}
    # Other images than those of the paper are only comparable over all domains.
    assert computed["CIDEr-D, in-domain"] is None
    assert computed["CIDEr-D, overall"] == pytest.approx(100 * study.human.draws["overall", "CIDEr-D"].mean())
    for text in ("against the 2 others", "changes the overall CIDEr-D by", "own partition", "SPICE requires"):
        assert text in part.reason


def test_scores_by_domain_need_the_partition_of_the_paper(study: NocapsPaperStudy) -> None:
    assert not parts_of(study)["Table 2, systems"].values
    parts = parts_of(replace(study, domains=FIRST))
    values = parts["Table 2, systems"].values
    assert [(value.name, value.published) for value in values if value.computed is not None] == [
        ("NBT, in-domain CIDEr-D", 70.9),
        ("NBT, near-domain CIDEr-D", 58.7),
        ("NBT, out-domain CIDEr-D", 35.0),
    ]
    people = {value.name: value.computed for value in parts["Table 2, human row"].values}
    assert people["CIDEr-D, in-domain"] is not None
    assert [row[0].value for row in parts["Table 2, other systems"].tables["table-2"].rows] == ["NBT", "Ours"]


def test_published_numbers_agree_with_each_other(study: NocapsPaperStudy) -> None:
    parts = parts_of(study)
    assert parts["Protocol"].outcome == "met (15 of 15)"
    assert parts["Section 3.3"].claims[0].evidence == "816 + 6,790 + 3,021 = 10,627 images"
    assert parts["Section 3.3"].verdict == "not met"
    assert parts["Table 3"].outcome == "not computed"


def test_page_and_tables(study: NocapsPaperStudy) -> None:
    page = report(study).to_markdown()
    assert page.startswith("# The nocaps paper\n")
    assert "![Captions and objects per image](figure-2.svg)" in page
    assert "Partition" not in page
    tables = report(study).to_study_report().long_tables
    assert "Ours" in to_csv(tables["table-2"]())


def test_command(tmp_path: Path) -> None:
    rows = [
        {"image_id": image, "domain": domain, "caption": list(CAPTIONS[image])}
        for domain, images in DOMAINS.items()
        for image in images
    ]
    results = [{"image_id": f"{image}.jpg", "caption": "A dog on a bed."} for image in CAPTIONS]
    info = [{"id": image, "open_images_id": f"x{image}", "file_name": f"x{image}.jpg"} for image in CAPTIONS]
    for name, content in (("captions", rows), ("results", results), ("info", {"images": info})):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    (tmp_path / "names.csv").write_text("/m/dog,Dog\n/m/harp,Harp\n")
    (tmp_path / "boxes.csv").write_text("ImageID,LabelName\nx1,/m/dog\nx4,/m/harp\nx4,/m/dog\nx9,/m/dog\n")
    (tmp_path / "coco.json").write_text(json.dumps({1: ["A dog.", "Dogs."], 2: ["A cat.", "Cats."]}))
    options = ("--objects", tmp_path / "boxes.csv", "--class-names", tmp_path / "names.csv")
    arguments = (
        *("study", "nocaps-paper", tmp_path / "captions.json", "-m", "CIDEr-D"),
        *("--coco", tmp_path / "coco.json", "--results", f"NBT={tmp_path / 'results.json'}"),
    )
    text = output(*arguments, *options, "--image-info", tmp_path / "info.json", "-o", tmp_path / "paper")
    assert "Protocol" in text
    page = (tmp_path / "paper" / "report.md").read_text()
    assert "| Classes per image, nocaps | 4.0 | 0.75 | not met |" in page
    assert (tmp_path / "paper" / "figure-2.svg").is_file()
    assert "--objects requires --class-names" in refusal(*arguments, *options[:2])
