"""CLIPScore without PyTorch: arithmetic, files, options and errors (tests/training runs models)."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from capeval import ClipScore, evaluate
from capeval.errors import DependencyError, MismatchError, OptionError, ResourceError
from capeval.formats.image_files import find_image_files
from capeval.metrics.clip_score import compare_features
from capeval.metrics.registry import get_metric
from tests.capeval.cli.test_cli import output, refusal

REFERENCES = {1: ["A dog."], 2: ["Two cats.", "Cats on a bed."]}
CANDIDATES = {1: "A dog.", 2: "Two cats."}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with captions, two empty files of images, and a checkpoint without a model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "references.json").write_text(json.dumps(REFERENCES))
    (tmp_path / "results.json").write_text(json.dumps(CANDIDATES))
    (tmp_path / "images").mkdir()
    for name in ("photo_0001.jpg", "2.PNG", "notes.txt"):
        (tmp_path / "images" / name).touch()
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(b"weights")
    return tmp_path


def test_arithmetic() -> None:
    captions = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    images = np.array([[3.0, 4.0], [5.0, 0.0], [-1.0, 0.0], [0.0, 2.0]])
    references = [
        np.array([[0.0, 3.0], [8.0, 6.0]]),
        np.array([[0.0, 4.0]]),
        np.array([[4.0, 3.0]]),
        np.array([[-4.0, -3.0]]),
    ]
    # Cosines with the images are 0.6, 0, -1 and 0; the largest with a reference 0.8, 1, 0.8 and -0.8.
    expected: list[list[float]] = [[1.5, 2 * 1.5 * 0.8 / 2.3], [0, 0], [0, 0], [0, 0]]
    np.testing.assert_allclose(compare_features(captions, images, references), expected, rtol=1e-14)


def test_files_of_images(files: Path) -> None:
    folder = files / "images"
    assert [file.name for file in find_image_files(folder, [2, 1])] == ["2.PNG", "photo_0001.jpg"]
    assert [file.name for file in find_image_files(folder, ["2", "photo_0001"])] == [
        "2.PNG",
        "photo_0001.jpg",
    ]
    names: dict[int | str, str] = {7: "2.PNG", 8: "photo_0001"}
    assert [file.name for file in find_image_files(folder, [8, 7], names)] == ["photo_0001.jpg", "2.PNG"]
    with pytest.raises(MismatchError, match=r"images: image 3 is without a file, such as 3.jpg"):
        find_image_files(folder, [1, 3])
    with pytest.raises(MismatchError, match=r"images: image 9 is without a file, such as 'dog.jpg'"):
        find_image_files(folder, [9], {9: "dog.jpg"})
    with pytest.raises(MismatchError, match=r"image 1 is without a file name in the list of images"):
        find_image_files(folder, [1], names)
    (folder / "1.webp").touch()
    with pytest.raises(MismatchError, match=r"image 1 must have one file \(got 1.webp, photo_0001.jpg\)"):
        find_image_files(folder, [1])


def test_digits_at_the_end_of_open_images_ids_are_no_numbers(tmp_path: Path) -> None:
    (tmp_path / "00a1b2c3d4e5f017.jpg").touch()
    with pytest.raises(MismatchError, match="image 17 is without a file"):
        find_image_files(tmp_path, [17])
    assert find_image_files(tmp_path, [17], {17: "00a1b2c3d4e5f017"})


def test_signatures_contain_the_weights(files: Path) -> None:
    metric = ClipScore(checkpoint=Path("model"), images=Path("images"), batch=8)
    digest = hashlib.sha256(b"weights").hexdigest()[:8]
    assert metric.options() == (f"checkpoint=model-{digest}", "device=cpu")
    (files / "model" / "model-2.safetensors").write_bytes(b"more")
    first, _ = metric.options()
    assert first.startswith("checkpoint=model-")
    assert digest not in first


def test_invalid_options() -> None:
    with pytest.raises(OptionError, match="'checkpoint' must be a Path"):
        ClipScore(checkpoint="model")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="'batch' must be an integer of at least 1"):
        ClipScore(batch=0)
    with pytest.raises(OptionError, match="'device' must be a string"):
        ClipScore(device=0)  # type: ignore[arg-type]


def test_missing_folders_are_named(files: Path) -> None:
    message = r"CLIPScore needs the options 'checkpoint', 'images', as in CLIPScore\(checkpoint=..."
    with pytest.raises(OptionError, match=message):
        evaluate(REFERENCES, CANDIDATES, ["CLIPScore"])
    with pytest.raises(OptionError, match=message):
        get_metric("clipscore").prepare(REFERENCES)
    score = ("score", "references.json", "results.json", "-m")
    for options, problem in (
        ("checkpoint=model", "CLIPScore needs the option 'images', as in CLIPScore(images=...)"),
        ("checkpoint=model,images=model", "model: 2 images (1, 2) are without a file, such as 1.jpg"),
        ("checkpoint=model,images=no-folder", "no-folder: No such file or directory"),
    ):
        assert problem in refusal(*score, f"CLIPScore({options})")


def test_missing_packages_are_named(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metric = ClipScore(checkpoint=Path("model"), images=Path("images"))
    for package in ("torch", "transformers", "PIL.Image"):
        with monkeypatch.context() as patch:
            for other in ("torch", "transformers"):
                patch.setitem(sys.modules, other, sys)
            patch.setitem(sys.modules, package, None)
            patch.setattr("capeval._internal.optional_packages.find_spec", lambda name: None)
            with pytest.raises(DependencyError, match=r'CLIP models need \w+: pip install "capeval\[clip\]"'):
                metric.prepare(REFERENCES)


def test_a_folder_without_weights_is_refused(files: Path) -> None:
    with pytest.raises(ResourceError, match=r"there is no folder no-model: the checkpoint must be a folder"):
        ClipScore(checkpoint=Path("no-model")).options()
    with pytest.raises(ResourceError, match=r"no weights in images: the checkpoint must be a folder"):
        ClipScore(checkpoint=Path("images")).options()


def test_the_command_line_describes_it(files: Path) -> None:
    text = output("metrics", "RefCLIPScore")
    assert text.startswith("CLIPScore: Similarity of caption, image and references by a CLIP model.\n")
    assert "\nScores: CLIPScore, RefCLIPScore\nOther names: RefCLIPScore\n" in text
    assert "\nOptions, such as CLIPScore(checkpoint=...):\n  checkpoint=...\n" in text
