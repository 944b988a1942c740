"""Data for participants: public references and the format of submissions, and checks without the server."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

import capeval
from capeval.cli.toolkit.submission_format import check_submission, load_format
from capeval.errors import CapevalError
from capeval.formats import load_subsets
from capeval.formats.images import ImageInfo, image_info, load_images
from capeval_server.challenges.models import Phase, ReferenceSet, Subset
from capeval_server.core.errors import UploadError
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.submissions.services.upload_files import read_upload
from tests.server.kit import MARKER, RESULTS, results, write_challenge, zipped
from tests.server.submissions.test_uploads import REFUSED

pytestmark = pytest.mark.django_db

PUBLIC = "/api/challenges/small/splits/val/references/c1"
FORMAT = "/api/challenges/small/submission-format"
IMAGES = [
    ImageInfo(
        id=1, file_name="one.jpg", width=640, height=480, license="CC BY 2.0", license_url="https://x.org"
    ),
    *(ImageInfo(id=image, file_name=f"{image}.jpg") for image in (2, 3, 4, 5, 6)),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The small challenge with a list of its images."""
    path = write_challenge(tmp_path / "challenge")
    path.write_text(path.read_text().replace("subsets =", 'images = "images.json"\nsubsets ='))
    (path.parent / "images.json").write_text(json.dumps(image_info(IMAGES)))
    return path


def check(file: Path, challenge: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "capeval", "check", str(file), "--challenge", str(challenge), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def kit() -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(Client().get("/small/kit.zip").content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_public_references_reach_participants(path: Path, tmp_path: Path) -> None:
    import_challenge(path)
    answer = Client().get(PUBLIC)
    assert answer["Content-Disposition"] == 'attachment; filename="captions_val_c1.json"'
    assert capeval.load_references(answer.content) == capeval.load_references(
        path.parent / "references_c1.json"
    )
    # Their images have file names, sizes and licenses.
    assert load_images(json.dumps({**answer.json(), "annotations": []}).encode()) == IMAGES
    assert answer.json()["info"] == {
        "description": "A small challenge",
        "split": "val",
        "references": "c1",
        "version": "1",
    }
    again = Client().get(PUBLIC, headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert kit()["captions_val_c1.json"] == answer.content
    assert f'href="{PUBLIC}"' in Client().get("/small/data/").content.decode()
    # Results for all images score with the file as on the server.
    downloaded, mine = tmp_path / "captions_val_c1.json", tmp_path / "results.json"
    downloaded.write_bytes(answer.content)
    mine.write_bytes(results())
    command = [sys.executable, "-m", "capeval", "score", str(downloaded), str(mine), "-m", "BLEU"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_private_references_reach_nobody(path: Path) -> None:
    import_challenge(path)
    for name in ("c2", "c3"):
        assert Client().get(PUBLIC.replace("c1", name)).status_code == 404
    assert not any(MARKER.encode() in content for content in kit().values())
    assert "captions_val_c2.json" not in kit()
    # Public references that become private are gone, also from the kit that was made before.
    assert Client().get(PUBLIC).status_code == 200
    ReferenceSet.objects.update(public=False)
    assert Client().get(PUBLIC).status_code == 404
    assert "captions_val_c1.json" not in kit()
    assert PUBLIC not in Client().get("/small/data/").content.decode()


def test_subsets_of_public_references_reach_participants(path: Path, tmp_path: Path) -> None:
    import_challenge(path)
    place = "/api/challenges/small/splits/val/subsets"
    # One of the reference sets is private, so only the names are public.
    assert Client().get(place).status_code == 404
    assert "subsets_val.json" not in kit()
    shown = Client().get("/small/data/").content.decode()
    assert "animals" in shown
    assert place not in shown
    ReferenceSet.objects.update(public=True)
    answer = Client().get(place)
    assert answer["Content-Disposition"] == 'attachment; filename="subsets_val.json"'
    assert load_subsets(answer.content) == load_subsets(path.parent / "subsets.json")
    assert kit()["subsets_val.json"] == answer.content
    assert b"`subsets_val.json`" in kit()["README.md"]
    assert f'href="{place}"' in Client().get("/small/data/").content.decode()
    Subset.objects.all().delete()
    assert Client().get(place).status_code == 404
    assert "subsets_val.json" not in kit()


def test_references_of_a_new_version_are_sent(path: Path) -> None:
    import_challenge(path)
    Client().get(PUBLIC)
    changed = {str(image): ["A new caption."] for image in range(1, 7)}
    (path.parent / "references_c1.json").write_text(json.dumps(changed))
    import_challenge(path)
    assert Client().get(PUBLIC).json()["annotations"][0]["caption"] == "A new caption."
    assert b"A new caption." in kit()["captions_val_c1.json"]


@pytest.fixture
def downloaded(path: Path, tmp_path: Path) -> Path:
    """The format of a challenge as COCO's: results of val, or of both splits in a zip."""
    text = path.read_text()
    split = text[text.index("[[splits]]") : text.index("[[phases]]")].replace('images = "images.json"\n', "")
    second = split.replace('name = "val"', 'name = "test2014"').replace("_val_", "_test2014_")
    phases = text[text.index("[[phases]]") :]
    both = phases.replace('name = "open"', 'name = "test"').replace('["val"]', '["val", "test2014"]')
    path.write_text(f"{text}\n{second}\n{both}")
    import_challenge(path)
    place = tmp_path / "challenge.json"
    place.write_bytes(Client().get(FORMAT).content)
    assert json.loads(kit()["challenge.json"]) == json.loads(place.read_bytes())
    return place


def test_the_zip_of_a_challenge_is_checked_without_the_server(downloaded: Path, tmp_path: Path) -> None:
    archive, one = tmp_path / "results.zip", tmp_path / "captions_val_mine_results.json"
    one.write_bytes(results())
    archive.write_bytes(zipped({one.name: results(), "captions_test2014_mine_results.json": results()}))
    for file, phase, lines in (
        (one, "open", [f"{one.name}: 6 images of split val"]),
        (
            archive,
            "test",
            [
                "captions_test2014_mine_results.json: 6 images of split test2014",
                f"{one.name}: 6 images of split val",
            ],
        ),
    ):
        for more in ([], ["--phase", phase]):
            done = check(file, downloaded, *more)
            assert (done.returncode, done.stderr) == (0, "")
            assert done.stdout.splitlines() == [*lines, f"valid for phase {phase}"]
    command = [sys.executable, "-m", "capeval", "submit", str(archive), "--challenge", str(downloaded)]
    command += ["--phase", "test", "--check"]
    done = subprocess.run([*command, "-d", "method=m"], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "valid for phase test; nothing was submitted", done.stderr
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == "capeval: error: a submission must declare 'method' (--declare method=...)\n"


def test_the_phase_with_the_images_is_the_one_that_is_checked(path: Path, tmp_path: Path) -> None:
    """Phases of different splits accept the same file names, as those of nocaps."""
    text = path.read_text()
    own = text[text.index("[[splits]]") : text.index("[[phases]]")]
    (path.parent / "other.json").write_text(json.dumps({101: ["A dog."], 102: ["A cat."]}))
    other = """[[splits]]
name = "other"
metrics = ["BLEU"]
sort_by = "BLEU-4"
results = "<alg>.json"
references = [{ name = "c1", file = "other.json", public = true }]
"""
    phases = text[text.index("[[phases]]") :]
    second = phases.replace('name = "open"', 'name = "test"').replace('["val"]', '["other"]')
    third = phases.replace('name = "open"', 'name = "again"')
    changed = own.replace("captions_val_<alg>_results.json", "<alg>.json")
    path.write_text(text.replace(own, f"{changed}{other}\n") + f"\n{second}\n{third}")
    import_challenge(path)
    form = tmp_path / "challenge.json"
    form.write_bytes(Client().get(FORMAT).content)
    file = tmp_path / "mine.json"
    file.write_bytes(results({101: "A dog.", 102: "A cat."}))
    assert check(file, form).stdout.splitlines() == [
        "mine.json: 2 images of split other",
        "valid for phase test",
    ]
    file.write_bytes(results({101: "A dog."}))
    assert "image 102 is missing a caption" in check(file, form).stderr
    file.write_bytes(results())
    assert check(file, form).stdout.splitlines()[-1] == "valid for phases open and again"
    file.write_bytes(results({501: "A dog."}))
    assert (
        "--phase must be given: the files fit several phases (open, test, again)" in check(file, form).stderr
    )


def test_ids_may_have_the_forms_that_the_server_accepts(downloaded: Path, tmp_path: Path) -> None:
    file = tmp_path / "captions_val_mine_results.json"
    for name in ("picture/one.jpg", "one"):
        names = [name, *(f"{image}.jpg" if "." in name else str(image) for image in (2, 3, 4, 5, 6))]
        file.write_text(json.dumps([{"image_id": name, "caption": "A dog."} for name in names]))
        done = check(file, downloaded)
        assert done.returncode == 0, done.stderr


def _too_long(downloaded: Path) -> bytes:
    longest = json.loads(downloaded.read_bytes())["caption_characters"]
    return results(dict.fromkeys(range(1, 7), "a" * (longest + 1)))


def test_what_the_server_refuses_is_refused(downloaded: Path, tmp_path: Path) -> None:
    val, test = "captions_val_mine_results.json", "captions_test2014_mine_results.json"
    few = results({1: "A dog."})
    cases: list[tuple[str, dict[str, bytes] | bytes, list[str], str]] = [
        (val, few, [], f"{val}: 5 images (2, 3, 4, 5, 6) are missing a caption"),
        (
            val,
            results({**dict.fromkeys(range(2, 7), "A dog."), 9: "A cat."}),
            [],
            f"{val}: image 9 is not in split 'val'; image 1 is missing a caption",
        ),
        ("x.zip", {val: results(), test: few}, [], f"'{test}': 5 images"),
        ("x.zip", {val: results()}, ["--phase", "test"], "the upload must contain 'captions_test2014_<alg>"),
        ("x.zip", {"results.json": results()}, [], "the files (results.json) must be those of a phase"),
        ("results.json", results(), ["--phase", "open"], "results.json: the file must be named"),
        (val, results(), ["--phase", "other"], "--phase must be one of open, test (got 'other')"),
        (val, _too_long(downloaded), [], "captions must have at most"),
        (val, b"[", [], val),
        ("x.zip", b"PK", [], "the file is not a zip, or is truncated"),
        (
            "x.zip",
            {val: results(), test.replace("mine", "other"): results()},
            [],
            "all files must have the same algorithm (got 'mine', 'other')",
        ),
    ]
    for name, content, more, message in cases:
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else zipped(content))
        done = check(file, downloaded, *more)
        assert (done.returncode, done.stdout) == (2, ""), name
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_the_command_line_and_the_server_say_the_same(downloaded: Path, tmp_path: Path) -> None:
    val, test = RESULTS, "captions_test2014_mine_results.json"
    whole = zipped({val: results(), test: results()})
    cases: list[tuple[str, str, bytes]] = [
        ("open", "results.zip" if content.startswith(b"PK") else val, content)
        for content in (make() for make, _ in REFUSED.values())
    ]
    cases += [("open", val, content) for content in (b"", b" \n", b"\x1f\x8b", b"PK")]
    cases += [
        ("open", "results.tar.gz", b"\x1f\x8b"),
        ("open", "results.zip", results()),
        ("test", "results.zip", whole[:-30]),
        ("test", val, results()),
    ]
    cases += [
        ("test", "results.zip", zipped(files))
        for files in (
            {val: results(), test.replace("mine", "other"): results()},
            {val: results(), val.replace("mine", "other"): results(), test: results()},
            {val: results(), test: results(), "readme.txt": b"captions"},
            {"results.json": b"hello", test: results()},
            {val: results({1: "A dog."})},
            {val: json.dumps([{"image_id": str(i), "caption": "a"} for i in (1, 2, 99)]).encode(), test: b""},
        )
    ]
    form = load_format(downloaded)
    for phase_name, name, content in cases:
        (tmp_path / name).write_bytes(content)
        phase = Phase.objects.get(name=phase_name)
        with pytest.raises(UploadError) as of_server:
            read_upload(name, [content], list(phase.splits.order_by("name")), phase)
        with pytest.raises(CapevalError) as of_command:
            check_submission(form, phase_name, tmp_path / name)
        told = str(of_command.value).removeprefix(f"{tmp_path / name}: ")
        assert str(of_server.value) in (told, f"{name!r}: {told}")


def test_errors_name_the_phase_of_other_results(path: Path, tmp_path: Path) -> None:
    """Phases `open` and `test` have different splits; those of the other one have their own images."""
    text = path.read_text()
    split = text[text.index("[[splits]]") : text.index("[[phases]]")].replace('images = "images.json"\n', "")
    second = split.replace('name = "val"', 'name = "more"').replace("_val_", "_more_")
    for file in path.parent.glob("*.json"):
        if f'"{file.name}"' in second and file.name != "images.json":
            content = re.sub(r"\b([1-6])(?=\W)", r"10\1", file.read_text())
            (path.parent / f"more_{file.name}").write_text(content)
            second = second.replace(f'"{file.name}"', f'"more_{file.name}"')
    phases = text[text.index("[[phases]]") :]
    other = phases.replace('name = "open"', 'name = "test"').replace('["val"]', '["more"]')
    path.write_text(f"{text}\n{second}\n{other}")
    import_challenge(path)
    form = tmp_path / "challenge.json"
    form.write_bytes(Client().get(FORMAT).content)
    more = results({image + 100: "A dog." for image in range(1, 7)})
    named, named_val = "captions_more_mine_results.json", "captions_val_mine_results.json"
    phase = Phase.objects.get(name="open")
    for name, ending in (
        (named, "; it has the name of results for phase 'test'"),
        (named_val, "; they are the images of phase 'test'"),
    ):
        (tmp_path / name).write_bytes(more)
        with pytest.raises(UploadError, match=f"{ending}$"):
            read_upload(name, [more], list(phase.splits.all()), phase)
        assert check(tmp_path / name, form, "--phase", "open").stderr.rstrip().endswith(ending)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"splits": None}, "challenge.splits must be a list (got null)"),
        ({"phases": [{"name": "open", "splits": ["other"]}]}, "phases[0].splits must be the names of splits"),
        ({"caption_characters": 0}, "caption_characters must be an integer of at least 1"),
    ],
)
def test_another_file_is_no_format(
    downloaded: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    file = tmp_path / "captions_val_mine_results.json"
    file.write_bytes(results())
    downloaded.write_text(json.dumps({**json.loads(downloaded.read_bytes()), **change}))
    done = check(file, downloaded)
    assert done.returncode == 2
    assert message in done.stderr
    assert "download challenge.json from the data page" in done.stderr
