"""Zips of the image files of splits: import, checks, and downloads by participants."""

from __future__ import annotations

import io
import json
import re
import stat
import zipfile
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone

from capeval.formats.images import ImageInfo, image_info
from capeval_server.challenges.models import Challenge, ImageArchive
from capeval_server.challenges.services import image_archives
from capeval_server.challenges.services.image_archives import check_image_archive
from capeval_server.core.errors import ChallengeError
from capeval_server.hosting.services.definition_archive import list_definition_files
from capeval_server.hosting.services.definition_files import (
    apply_files,
    import_challenge,
    import_files,
    preview_files,
)
from tests.server.kit import Someone, write_challenge, zipped

ZIP = "/api/challenges/small/splits/val/images.zip"
NAMES = [f"{image}.jpg" for image in range(1, 7)]
CONTENT = zipped({f"val/{name}": name.encode() for name in NAMES})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The small challenge with the files of its images."""
    # Of earlier tests.
    for name in stored():
        default_storage.delete(f"image_archives/{name}")
    path = write_challenge(tmp_path / "challenge")
    lines = 'images = "images.json"\nimage_archive = "images.zip"\nsubsets ='
    path.write_text(path.read_text().replace("subsets =", lines))
    images = [ImageInfo(id=int(name[0]), file_name=name, license="CC BY 2.0") for name in NAMES]
    (path.parent / "images.json").write_text(json.dumps(image_info(images)))
    (path.parent / "images.zip").write_bytes(CONTENT)
    return path


def stored() -> list[str]:
    try:
        return default_storage.listdir("image_archives")[1]
    except FileNotFoundError:
        return []


def download(place: str = ZIP, client: Client | None = None, **headers: str) -> bytes:
    answer = (client or Client()).get(place, headers=headers)
    assert answer.status_code in (200, 206)
    if not Challenge.objects.get().is_listed:
        assert answer["Cache-Control"] == "private, no-store"
    return b"".join(answer.streaming_content)  # type: ignore[attr-defined]


@pytest.mark.django_db
def test_image_files_reach_participants(path: Path) -> None:
    import_challenge(path)
    answer = Client().get(ZIP)
    assert answer["Content-Disposition"] == 'attachment; filename="images_val.zip"'
    assert answer["Content-Type"] == "application/zip"
    assert b"".join(answer.streaming_content) == CONTENT  # type: ignore[attr-defined]
    # An interrupted download resumes.
    assert download(Range="bytes=100-") == CONTENT[100:]
    shown = Client().get("/small/data/").content.decode().replace("\xa0", " ")
    assert f'href="{ZIP}"' in shown
    assert f"(6 images, {len(CONTENT)} bytes, licenses: CC BY 2.0)" in shown
    kit = zipfile.ZipFile(io.BytesIO(Client().get("/small/kit.zip").content))
    found = re.search(r'`curl -fL -o images_val.zip "([^"]+)"`', kit.read("README.md").decode())
    assert found
    assert download(urlsplit(found[1]).path) == CONTENT


@pytest.mark.django_db
def test_splits_without_image_files_have_no_download(tmp_path: Path) -> None:
    import_challenge(write_challenge(tmp_path))
    assert Client().get(ZIP).status_code == 404
    assert "images.zip" not in Client().get("/small/data/").content.decode()
    kit = zipfile.ZipFile(io.BytesIO(Client().get("/small/kit.zip").content))
    assert "curl" not in kit.read("README.md").decode()


@pytest.mark.django_db
def test_image_files_of_hidden_challenges_and_before_their_release(path: Path, olga: Someone) -> None:
    challenge = import_challenge(path)
    challenge.organizers.add(olga.user)
    Challenge.objects.update(data_released=timezone.now() + timedelta(days=1))
    assert Client().get(ZIP).status_code == 403
    assert f'href="{ZIP}"' not in Client().get("/small/data/").content.decode()
    assert download(client=olga.client) == CONTENT
    Challenge.objects.update(data_released=None, visibility=Challenge.Visibility.DRAFT)
    assert Client().get(ZIP).status_code == 404
    assert download(client=olga.client) == CONTENT


@pytest.mark.django_db
def test_imports_keep_replace_and_delete_image_files(
    path: Path, django_capture_on_commit_callbacks: object
) -> None:
    capture = django_capture_on_commit_callbacks
    import_challenge(path)
    first = stored()
    assert len(first) == 1
    # The same file again, or none, changes nothing.
    assert import_files(path)[1].changes == []
    text = path.read_text()
    path.write_text(text.replace('image_archive = "images.zip"\n', ""))
    assert "splits.val.image_archive" in import_files(path)[1].kept
    assert stored() == first
    path.write_text(text)
    (path.parent / "images.zip").write_bytes(zipped({"1.jpg": b"new"}))
    import_files(path, dry_run=True)
    assert stored() == first
    with capture(execute=True):  # type: ignore[operator]
        _, preview = import_files(path)
    assert [place for place, _, _ in preview.changes] == ["splits.val.image_archive"]
    assert len(stored()) == 1
    assert stored() != first
    path.write_text(text.replace('image_archive = "images.zip"\n', ""))
    with capture(execute=True):  # type: ignore[operator]
        import_files(path, delete=["splits.val.image_archive"])
    assert stored() == []
    assert not ImageArchive.objects.exists()


@pytest.mark.django_db
def test_the_files_of_a_deleted_challenge_contain_the_images(path: Path) -> None:
    challenge = import_challenge(path)
    assert dict(list_definition_files(challenge))["images_val.zip"] == CONTENT


@pytest.mark.django_db
def test_uploads_on_the_site_keep_image_files_but_contain_none(path: Path, olga: Someone) -> None:
    files = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.suffix != ".zip"}
    with pytest.raises(ChallengeError, match="image_archive of split 'val' can't be uploaded"):
        preview_files(None, [zipped(files)])
    challenge = import_challenge(path)
    files["challenge.toml"] = path.read_bytes().replace(b'"images.zip"', b'"images_val.zip"')
    seen = preview_files(challenge, [zipped(files)]).seen
    apply_files(olga.user, challenge, [zipped(files)], seen=seen)
    assert download() == CONTENT


@pytest.mark.django_db
def test_nothing_is_stored_of_an_invalid_import(path: Path) -> None:
    (path.parent / "images.zip").write_bytes(zipped({"7.jpg": b""}))
    with pytest.raises(ChallengeError, match=r"images.zip: of no image in the list: '7.jpg'"):
        import_challenge(path)
    assert (stored(), Challenge.objects.count()) == ([], 0)


def test_all_problems_of_a_zip_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    link = zipfile.ZipInfo("link.png")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in ("notes.txt", "a/b/1.jpg", "../2.jpg", "c/3.JPG", "d/3.JPG", "8.webp"):
            archive.writestr(name, b"")
        archive.writestr(link, "/etc/passwd")
    data = bytearray(out.getvalue())
    # Marked as encrypted in the directory of the zip.
    entry = data.index(b"PK\x01\x02")
    data[entry + 8] |= 1
    with pytest.raises(ChallengeError) as caught:
        check_image_archive("images.zip", bytes(data), ["1.jpg", "2.jpg", "3.JPG", "link.png"])
    assert str(caught.value) == (
        "images.zip: not .jpg, .jpeg, .png or .webp: 'notes.txt';"
        " not in the zip itself or one folder: 'a/b/1.jpg', '../2.jpg';"
        " links: 'link.png'; encrypted: 'notes.txt'; several files with the same name: '3.JPG';"
        " of no image in the list: '8.webp'"
    )
    with pytest.raises(ChallengeError, match="must be a zip"):
        check_image_archive("images.zip", b"no zip")
    with pytest.raises(ChallengeError, match="at least 1 image"):
        check_image_archive("images.zip", zipped({}))
    monkeypatch.setattr(image_archives, "MOST_BYTES", 300)
    with pytest.raises(ChallengeError, match=r"the images must have at most 300 bytes \(got 1,000\)"):
        check_image_archive("images.zip", _deflated(b" " * 1000))
    with pytest.raises(ChallengeError, match="the zip must have at most 300 bytes"):
        check_image_archive("images.zip", b" " * 301)


def _deflated(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("1.jpg", content)
    return out.getvalue()
