"""A nocaps submission, from a results file to a table with published rows."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from capeval.data.held_out import hold_out
from capeval.datasets import coco
from tests.journeys.installation import User
from tests.journeys.people import get_reference_scores, write_results

# The partition of nocaps.org.
SIZES = {"in-domain": 648, "near-domain": 2938, "out-domain": 914}


@dataclass(frozen=True, kw_only=True)
class Submission:
    """Captions of COCO in the files of nocaps: references, a submission and the images of each domain."""

    references: dict[int, list[str]]
    results: dict[int, str]
    domains: dict[str, list[int]]


@pytest.fixture
def submission(tmp_path: Path) -> Submission:
    """Write nocaps_val.json, image_info.json, and results.json with file names as image ids."""
    captions = coco.load_captions("val2014")
    captions, drawn = hold_out(captions.select(captions.image_ids[:4500]), seed=1)
    references = {place: list(captions[image]) for place, image in enumerate(captions)}
    results = {place: drawn[image][0] for place, image in enumerate(captions)}
    labels = [name for name, size in SIZES.items() for _ in range(size)]
    images = [{"id": place, "domain": name} for place, name in enumerate(labels)]
    pairs = [(image, caption) for image, texts in references.items() for caption in texts]
    annotations = [
        {"id": place, "image_id": image, "caption": caption} for place, (image, caption) in enumerate(pairs)
    ]
    content = {"images": images, "annotations": annotations}
    (tmp_path / "nocaps_val.json").write_text(json.dumps(content))
    keys = {image: f"{image:016x}" for image in references}
    info = [{"id": image, "open_images_id": key, "file_name": f"{key}.jpg"} for image, key in keys.items()]
    (tmp_path / "image_info.json").write_text(json.dumps({"images": info}))
    write_results(tmp_path / "results.json", {f"{keys[image]}.jpg": results[image] for image in results})
    domains = {name: [image for image, label in enumerate(labels) if label == name] for name in SIZES}
    return Submission(references=references, results=results, domains=domains)


def test_a_submission(user: User, submission: Submission, tmp_path: Path) -> None:
    info = "--image-info image_info.json"
    checked = user.read(f"capeval check results.json --references nocaps_val.json {info}")
    assert "is valid: 4,500 captions" in checked
    assert "listed file names" in checked
    # SPICE's model is not installed, so it is left out of the default metrics.
    done = user.run(
        f"capeval study domains nocaps_val.json Ours=results.json {info} --published val"
        " --samples 50 --output table"
    )
    assert "SPICE is left out" in done.stderr
    assert "(partition of nocaps.org)." in done.stdout
    assert "rows of the partition of the paper's first version are left out: Up-Down," in done.stdout
    with (tmp_path / "table" / "paper-layout.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    ours, published = rows[0], {row["System"]: row for row in rows[1:]}
    expected = get_reference_scores(submission.references, submission.results)
    assert {name: float(ours[f"overall {name}"]) for name in ("BLEU-1", "BLEU-4", "ROUGE-L", "CIDEr-D")} == {
        name: pytest.approx(100 * expected[name], rel=1e-9)
        for name in ("BLEU-1", "BLEU-4", "ROUGE-L", "CIDEr-D")
    }
    # The protocol of nocaps: document frequencies of all images, so that the overall score is a mean.
    total = sum(size * float(ours[f"{name} CIDEr-D"]) for name, size in SIZES.items())
    assert total / 4500 == pytest.approx(100 * expected["CIDEr-D"], rel=1e-9)
    assert len(published) == 10
    assert (
        published["BLIP"]
        | {
            "in-domain CIDEr-D": "114.9",
            "overall CIDEr-D": "113.2",
            "Document frequencies": "all images",
            "Source": "Li et al. 2023 (arXiv 2301.12597), Table 3",
        }
        == published["BLIP"]
    )
    latex = (tmp_path / "table" / "paper-layout.tex").read_text(encoding="utf-8")
    assert "BLIP & 114.9 & 112.1 & 115.3 &" in latex
    # The same scores by another command, with the domains as subsets.
    user.run("capeval study domains nocaps_val.json --subsets domains.json")
    assert json.loads((tmp_path / "domains.json").read_text(encoding="utf-8")) == submission.domains
    text = user.read(
        f"capeval score nocaps_val.json results.json {info} --subset domains.json -m CIDEr-D -f json"
    )
    for name, scores in json.loads(text)["subsets"].items():
        found = scores.get("metrics", scores)["CIDEr-D"]
        assert 100 * found == pytest.approx(float(ours[f"{name} CIDEr-D"]), rel=1e-9)
