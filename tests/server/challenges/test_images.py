"""Images of a split as page, file and API response, and the starting kit."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from django.test import Client

from capeval.formats.images import ImageInfo, image_info, load_images
from capeval_server.challenges.models import ImageList, Split
from capeval_server.core.errors import ChallengeError
from capeval_server.hosting.services.definition_files import import_challenge, import_files
from capeval_server.hosting.services.description import state_of, to_toml
from capeval_server.submissions.services.upload_files import read_upload
from tests.server.kit import write_challenge
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db

LICENSE = {"license": "CC BY 2.0", "license_url": "https://licenses.example.org/by"}
IMAGES = [
    ImageInfo(
        id=2, file_name="two.jpg", url="https://images.example.org/two.jpg", width=640, height=480, **LICENSE
    ),
    ImageInfo(id=1, file_name="<b>one</b>.jpg", url="javascript:alert(1)"),
    *(ImageInfo(id=image) for image in (3, 4, 5, 6)),
]
LINKS = 'links = [{ text = "All images (2 MB)", url = "https://data.example.org/all.zip" }]\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The small challenge with a list of its images, and a link."""
    path = write_challenge(tmp_path)
    path.write_text(path.read_text().replace("subsets =", f'images = "images.json"\n{LINKS}subsets ='))
    (tmp_path / "images.json").write_text(json.dumps(image_info(IMAGES)))
    return path


def page(address: str) -> str:
    answer = Client().get(address)
    assert answer.status_code == 200
    html = answer.content.decode()
    check_page(html, answer.headers["Content-Security-Policy"])
    return html


def test_the_page_lists_images(path: Path) -> None:
    import_challenge(path)
    html = page("/small/images/val/")
    assert re.findall(r'<th scope="row">(\d+)</th>', html) == ["1", "2", "3", "4", "5", "6"]
    assert "640 × 480" in html
    assert '<a href="https://licenses.example.org/by" rel="noopener noreferrer">CC BY 2.0</a>' in html
    assert '<a href="https://images.example.org/two.jpg" rel="noopener noreferrer">image</a>' in html
    assert "javascript:" not in html
    assert "&lt;b&gt;one&lt;/b&gt;.jpg" in html
    assert "All images (2 MB)" in html
    for wanted in ("2", "two.jpg"):
        assert re.findall(r'<th scope="row">(\d+)</th>', page(f"/small/images/val/?image={wanted}")) == ["2"]
    assert "Split val has no image nine." in page("/small/images/val/?image=nine")
    challenge = page("/small/data/")
    assert 'href="/small/images/val/"' in challenge
    assert "All images (2 MB)" in challenge


def test_pages_of_images(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capeval_server.web.public.images._PER_PAGE", 4)
    import_challenge(path)
    assert re.findall(r'<th scope="row">(\d+)</th>', page("/small/images/val/?page=2")) == ["5", "6"]
    for wrong in ("0", "3", "x", "٣", "9" * 30):
        assert Client().get(f"/small/images/val/?page={wrong}").status_code == 404
    assert Client().get("/small/images/other/").status_code == 404


def test_the_file_is_of_coco_s_form(path: Path) -> None:
    import_challenge(path)
    answer = Client().get("/small/images/val.json")
    assert answer["Content-Disposition"] == 'attachment; filename="image_info_val.json"'
    assert load_images(answer.content) == sorted(IMAGES, key=lambda image: int(image.id))


def test_the_api_gives_them_in_parts(path: Path) -> None:
    import_challenge(path)
    answer = Client().get("/api/challenges/small/splits/val/images?offset=1&limit=2").json()
    assert answer["total"] == 6
    assert [image["id"] for image in answer["images"]] == [2, 3]
    assert answer["images"][0]["license"] == "CC BY 2.0"
    (split,) = Client().get("/api/challenges/small").json()["splits"]
    assert split["links"] == [{"text": "All images (2 MB)", "url": "https://data.example.org/all.zip"}]


def test_without_a_list_there_are_ids_and_addresses(tmp_path: Path) -> None:
    import_challenge(write_challenge(tmp_path))
    Split.objects.update(image_url="https://images.example.org/{id:03}.jpg")
    found = load_images(Client().get("/small/images/val.json").content)
    assert found[0] == ImageInfo(id=1, url="https://images.example.org/001.jpg")
    assert "https://images.example.org/006.jpg" in page("/small/images/val/")


def test_the_kit_can_be_submitted(path: Path) -> None:
    import_challenge(path)
    answer = Client().get("/small/kit.zip")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        names = archive.namelist()
        assert names[:3] == ["README.md", "image_info_val.json", "captions_val_example_results.json"]
        assert names[3:] == ["captions_val_c1.json", "challenge.json"]
        readme = archive.read("README.md").decode()
        assert load_images(archive.read(names[1]))[1].file_name == "two.jpg"
        upload = read_upload(names[2], [archive.read(names[2])], list(Split.objects.all()))
    assert upload.algorithm == "example"
    assert "--server http://testserver --challenge small --phase open --declare method=..." in readme
    assert "All images (2 MB): https://data.example.org/all.zip" in readme


def test_results_by_the_file_names_of_the_list(path: Path) -> None:
    images = [ImageInfo(id=image, file_name=f"picture-{image}.jpg") for image in range(1, 7)]
    (path.parent / "images.json").write_text(json.dumps(image_info(images)))
    import_challenge(path)
    rows = [{"image_id": f"val/picture-{image}.jpg", "caption": "A dog."} for image in range(1, 7)]
    upload = read_upload(
        "captions_val_mine_results.json", [json.dumps(rows).encode()], list(Split.objects.all())
    )
    assert [row["image_id"] for row in json.loads(upload.files["val"])] == list(range(1, 7))
    assert upload.id_rules == {"val": "listed file names"}


def test_importing_again_changes_or_removes_the_list(path: Path) -> None:
    first = state_of(import_challenge(path))
    assert state_of(import_challenge(path)) == first
    assert 'images = "images_val.json"' in to_toml(import_challenge(path))
    (path.parent / "images.json").write_text(json.dumps(image_info([ImageInfo(id=i) for i in range(1, 7)])))
    changed = state_of(import_challenge(path))
    assert {place for place in first if first[place] != changed[place]} == {"splits.val.images"}
    path.write_text(path.read_text().replace('images = "images.json"\n', ""))
    import_challenge(path)
    assert ImageList.objects.exists()
    import_files(path, delete=["splits.val.images"])
    assert not ImageList.objects.exists()


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (IMAGES[1:], r"images\.json: image 2 is missing an entry in the list"),
        ([*IMAGES, ImageInfo(id=9)], r"images\.json: image 9 is not in split 'val'"),
    ],
)
def test_other_images_are_refused(path: Path, images: list[ImageInfo], message: str) -> None:
    (path.parent / "images.json").write_text(json.dumps(image_info(images)))
    with pytest.raises(ChallengeError, match=message):
        import_challenge(path)


def test_links_lead_to_pages(path: Path) -> None:
    path.write_text(path.read_text().replace("https://data.example.org/all.zip", "javascript:alert(1)"))
    with pytest.raises(ChallengeError, match=r"splits\[0\]\.links\[0\]: url must be the address of a page"):
        import_challenge(path)
