"""Matching of results and references by the names in an image list."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.capeval.cli.test_cli import output, refusal

KEYS = ("0013ea2087020901", "0032257bf3cd56d0", "00a159a661a2f5aa")
CAPTIONS = (
    ["A baby stands.", "A child."],
    ["A man rides an elephant.", "An elephant."],
    ["Tools.", "Many tools."],
)
DOMAINS = ("in-domain", "near-domain", "out-domain")
FORMS: dict[str, list[int | str]] = {
    "number": list(range(3)),
    "open_images_id": list(KEYS),
    "file_name": [f"{key}.jpg" for key in KEYS],
    "path": [f"val/{key}.jpg" for key in KEYS],
}


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
def info(tmp_path: Path) -> Path:
    images = [
        {"id": place, "open_images_id": key, "file_name": f"{key}.jpg"} for place, key in enumerate(KEYS)
    ]
    return write(tmp_path / "image_info.json", {"images": images, "licenses": []})


def write_references(folder: Path, form: str) -> Path:
    rows = [
        {"image_id": image, "domain": domain, "caption": captions}
        for image, domain, captions in zip(FORMS[form], DOMAINS, CAPTIONS, strict=True)
    ]
    return write(folder / "references.json", rows)


def write_results(folder: Path, form: str) -> Path:
    rows = [
        {"image_id": image, "caption": captions[0]}
        for image, captions in zip(FORMS[form], CAPTIONS, strict=True)
    ]
    return write(folder / "results.json", rows)


@pytest.mark.parametrize("results", FORMS)
@pytest.mark.parametrize("references", FORMS)
def test_all_forms_of_ids_are_equal(tmp_path: Path, info: Path, references: str, results: str) -> None:
    files = (write_references(tmp_path, references), write_results(tmp_path, results))
    report = json.loads(
        output("score", *files, "--image-info", info, "-m", "ROUGE-L", "-f", "json", "--per-image")
    )
    assert report["metrics"] == {"ROUGE-L": 1}
    assert [row["image_id"] for row in report["per_image"]] == [0, 1, 2]
    text = output("study", "domains", *files, "--image-info", info, "-m", "ROUGE-L", "--samples", "2")
    shown = [
        line.split()[1:3] for line in text.splitlines() if line.startswith("results ") and "domain" in line
    ]
    assert shown == [[domain, "1"] for domain in DOMAINS]
    assert "is valid: 3 captions" in output("check", files[1], "--references", files[0], "--image-info", info)


def test_domains_by_open_images_id(tmp_path: Path, info: Path) -> None:
    domains = write(tmp_path / "domains.json", {"in": [KEYS[0]], "out": list(KEYS[1:])})
    files = (write_references(tmp_path, "number"), write_results(tmp_path, "file_name"))
    text = output(
        "study",
        "domains",
        *files,
        "--image-info",
        info,
        "--domains",
        domains,
        "-m",
        "ROUGE-L",
        "--samples",
        "2",
    )
    assert "Images: in-domain 1, out-domain 2, overall 3 (own partition)." in text


def test_hugging_face_parquet(tmp_path: Path, info: Path) -> None:
    columns = {
        "image_id": FORMS["number"],
        "image_file_name": FORMS["file_name"],
        "annotations_captions": CAPTIONS,
    }
    pq.write_table(pa.table(columns), tmp_path / "validation.parquet")
    domains = write(tmp_path / "domains.json", {name: [place] for place, name in enumerate(DOMAINS)})
    files = (tmp_path / "validation.parquet", write_results(tmp_path, "open_images_id"))
    options = ("--reference-caption-column", "annotations_captions", "--image-info", info, "-m", "ROUGE-L")
    assert json.loads(output("score", *files, *options, "-f", "json"))["metrics"] == {"ROUGE-L": 1}
    text = output("study", "domains", *files, *options, "--domains", domains, "--samples", "2")
    assert "Images: in-domain 1, near-domain 1, out-domain 1, overall 3 (own partition)." in text


def test_lists_that_do_not_fit(tmp_path: Path, info: Path) -> None:
    files = (write_references(tmp_path, "file_name"), write_results(tmp_path, "number"))
    part = write(tmp_path / "part.json", {"images": [{"id": 7, "file_name": "b.jpg"}]})
    message = refusal("score", *files, "--image-info", part, "-m", "ROUGE-L")
    assert "part.json: the list must contain all images of the references; it has ids such as 7" in message
    unnamed = write(tmp_path / "unnamed.json", {"images": [{"id": 7}]})
    assert "images[0] must have the key 'file_name'" in refusal("score", *files, "--image-info", unnamed)
    assert "at least one image" in refusal(
        "score", *files, "--image-info", write(tmp_path / "none.json", {"images": []})
    )
