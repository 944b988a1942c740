"""A new benchmark, from files of Open Images to a hosted challenge with scores by domain."""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from capeval.datasets.nocaps import ALIASES, COCO_CLASSES
from tests.journeys.challenge import Site, draw_picture, running
from tests.journeys.challenge import user as user
from tests.journeys.installation import User
from tests.journeys.people import get_reference_image_scores, write_results
from tests.waiting import wait_until

# The classes in the images of each domain. The hierarchy lists the door handle as a part.
CLASSES = {
    "in-domain": ("Dog", "Cat"),
    "near-domain": ("Dog", "Red panda", "Door handle"),
    "out-domain": ("Red panda", "Lantern"),
}
NAMES = [
    *(ALIASES.get(name, (name.capitalize(),))[0] for name in COCO_CLASSES),
    *("Red panda", "Lantern", "Door", "Door handle"),
]
PLACES = ("on the green grass", "in front of a house", "near an old wooden door")
IMAGES = {f"{number:016x}": tuple(CLASSES)[number % 3] for number in range(12)}
LICENSE = "https://creativecommons.org/licenses/by/2.0/"


def _get_label(name: str) -> str:
    return f"/m/{name.lower().replace(' ', '_')}"


def _write_rows(path: Path, head: str, rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head.split(","), *rows])


def _write_open_images(folder: Path) -> None:
    """Write the files of Open Images V4, with their columns, and one more image of a single class."""
    shown = {**{image: CLASSES[domain] for image, domain in IMAGES.items()}, f"{99:016x}": ("Dog",)}
    _write_rows(
        folder / "boxes.csv",
        "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,"
        "IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside",
        [
            (image, "xclick", _get_label(name), 1, 0.1, 0.9, 0.1, 0.9, 0, 0, 0, 0, 0)
            for image, names in shown.items()
            for name in names
        ],
    )
    _write_rows(
        folder / "rotations.csv",
        "ImageID,Subset,OriginalURL,OriginalLandingURL,License,AuthorProfileURL,Author,Title,OriginalSize,"
        "OriginalMD5,Thumbnail300KURL,Rotation",
        [
            (image, "validation", _get_address(image), "", LICENSE, "", "A. Author", "", 1, "", "", "0.0")
            for image in shown
        ],
    )
    rows = "".join(f"{_get_label(name)},{name}\n" for name in NAMES)
    (folder / "classes.csv").write_text(rows, encoding="utf-8")
    below = [{"LabelName": _get_label(name)} for name in NAMES if name != "Door handle"]
    door = next(each for each in below if each["LabelName"] == _get_label("Door"))
    tree = {"LabelName": "/m/0bl9f", "Subcategory": below}
    door |= {"Part": [{"LabelName": _get_label("Door handle")}]}  # type: ignore[dict-item] # A nested class.
    (folder / "hierarchy.json").write_text(json.dumps(tree), encoding="utf-8")


def _get_address(image: str) -> str:
    return f"https://images.example.org/{image}_o.jpg"


def _describe(keywords: Sequence[str], number: int, place: str) -> str:
    """Return a caption of eight words or more, which no other caption equals."""
    names = " next to a ".join(name.lower() for name in keywords)
    return f"A {names} and {number} other things {place}."


def test_from_open_images_to_scores_by_domain(user: User, tmp_path: Path) -> None:
    _write_open_images(tmp_path)
    shown = user.read(
        f"capeval study choose boxes.csv -n {len(IMAGES)} --rotations rotations.csv --names classes.csv"
        " --hierarchy hierarchy.json --output project"
    )
    for domain in CLASSES:
        assert re.search(rf"{domain} +4\b", shown)
    project = tmp_path / "project"
    items = [json.loads(line) for line in (project / "items.jsonl").read_text().splitlines()]
    assert {item["key"]: item["keywords"] for item in items} == {
        image: sorted(set(CLASSES[domain]) - {"Door handle"}) for image, domain in IMAGES.items()
    }
    (project / "images").mkdir()
    for number, image in enumerate(IMAGES):
        (project / "images" / f"{image}.jpg").write_bytes(draw_picture(number))
    _reduce(project)

    user.run("capeval server migrate")
    user.run("capeval server annotate create project/campaign.toml")
    user.run("capeval server annotate state project open")
    invites = user.read("capeval server annotate invite project --number 3").split()
    with running(user) as site:
        for worker, invite in enumerate(invites):
            _write_captions(site, invite, worker)
        user.run("capeval server annotate freeze project 1.0 --plans project/plans.json")
        references = _host(user, tmp_path)
        results = {item["key"]: _describe(item["keywords"], 7, PLACES[0]) for item in items}
        write_results(tmp_path / "captions_test_ours_results.json", results)
        row = _submit(user, site, tmp_path / "captions_test_ours_results.json")
    by_image = get_reference_image_scores(references, results)  # type: ignore[arg-type] # Ids of any type.
    for domain in (*CLASSES, "all"):
        scores = [score for image, score in by_image.items() if domain in ("all", IMAGES[str(image)])]
        assert row[f"CIDEr-D ({domain})"] == pytest.approx(sum(scores) / len(scores), rel=1e-9), domain


def _reduce(project: Path) -> None:
    """Edit the files of the project: the information for workers, and two public references per image."""
    for name, old, new in (
        ("campaign.toml", "answers = 11", "answers = 3"),
        ("campaign.toml", 'run_by = ""', 'run_by = "Vision Lab"'),
        ("campaign.toml", 'contact = ""', 'contact = "lab@example.org"'),
        ("campaign.toml", 'license = ""', 'license = "CC0"'),
        ("campaign.toml", 'pay_terms = ""', 'pay_terms = "Nobody is paid."'),
        ("plans.json", '"references": 10, "private": true', '"references": 2, "private": false'),
    ):
        text = (project / name).read_text()
        assert old in text
        (project / name).write_text(text.replace(old, new))


def _write_captions(site: Site, invite: str, worker: int) -> None:
    """Write a caption of each image by the API."""
    place, number = "/annotate/project", 0
    texts = site.request("GET", place, invite)["texts"]
    site.request("POST", f"{place}/agree", invite, json={"texts": texts["number"]})
    while batch := site.request("POST", f"{place}/next", invite, json={})["items"]:
        for item in batch:
            number += 1
            caption = _describe(item["shown"]["keywords"], number, PLACES[worker])
            sent = {"answer": {"caption": caption}, "key": item["lease"]}
            site.request("POST", f"{place}/items/{item['lease']}/answer", invite, json=sent)
    assert number == len(IMAGES)


def _host(user: User, folder: Path) -> dict[str, list[str]]:
    """Make a challenge of the release, with the domains as subsets, and return its references."""
    shown = user.read("capeval server annotate challenge project 1.0 hosted --subsets project/domains.json")
    assert 'about.md: complete the places with "TO BE FILLED IN"' in shown
    (split,) = tomllib.loads((folder / "hosted" / "challenge.toml").read_text())["splits"]
    shown = json.loads((folder / "hosted" / split["images"]).read_text())
    about = {row["id"]: row for row in shown["images"]}
    assert {image: (row["file_name"], row["coco_url"]) for image, row in about.items()} == {
        image: (f"{image}.jpg", _get_address(image)) for image in IMAGES
    }
    assert {row["name"] for row in shown["licenses"]} == {LICENSE}
    # CC BY requires that the author is named.
    assert {row["author"] for row in about.values()} == {"A. Author"}
    user.run("capeval server import hosted/challenge.toml")
    captions: dict[str, list[str]] = {}
    for row in json.loads((folder / "hosted" / "captions_test.json").read_text())["annotations"]:
        captions.setdefault(row["image_id"], []).append(row["caption"])
    assert {len(texts) for texts in captions.values()} == {2}
    return captions


def _submit(user: User, site: Site, results: Path) -> dict[str, float]:
    """Submit results by the API, and return the scores on the leaderboard."""
    user.run("capeval server user bob --email bob@example.org")
    token = user.read("capeval server token bob upload").strip()
    site.request("POST", "/challenges/project/team", token, json={"name": "bob", "accept_rules": True})
    path = "/challenges/project/phases/validation/submissions"
    files = {"file": (results.name, results.read_bytes())}
    declared = {"method": "Keywords", "training-data": "none"}
    submission = site.request("POST", path, token, files=files, data=declared)

    def is_scored() -> bool:
        found = site.request("GET", f"/submissions/{submission['id']}", token)
        return bool(found["state"] == "scored")

    wait_until(is_scored, lambda: site.request("GET", f"/submissions/{submission['id']}", token))
    scores: dict[str, float] = site.read_board("project", "validation", layout="subsets")["bob"]["scores"]
    return scores
