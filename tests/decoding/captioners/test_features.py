"""Feature files: reading image by image, and validation errors."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from capeval.errors import FormatError, MismatchError
from capeval_decoding.baselines.features import FeatureFile, pad_features
from tests.decoding.captioners.data import write_features
from tests.docs.test_examples import run_doctest

PROJECT = Path(__file__).resolve().parents[3]
GENERATOR = np.random.default_rng(0)
FEATURES = {7: GENERATOR.random((3, 4), dtype=np.float32), 5: GENERATOR.random((2, 4), dtype=np.float32)}
BOXES = {7: [[0, 0, 10, 10], [5, 5, 639.5, 480], [1, 2, 1, 2]], 5: [[0, 0, 1, 1]] * 2}


def test_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_doctest(inspect.getdoc(FeatureFile) or "", "FeatureFile", {})


def test_arrays_of_different_lengths(tmp_path: Path) -> None:
    with FeatureFile(write_features(tmp_path / "f.h5", FEATURES, boxes=BOXES)) as file:
        assert file.image_ids == (7, 5)
        assert file.width == 4
        assert file.size(7) == (640, 480)
        for image, expected in FEATURES.items():
            np.testing.assert_array_equal(file.features(image), expected)
            np.testing.assert_array_equal(file.boxes(image), np.array(BOXES[image], dtype=np.float32))


def test_tables_with_padding(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["image_id"], file["num_boxes"] = np.array([7, 5]), np.array([3, 2])
        file["features"] = pad_features(list(FEATURES.values()))
    with FeatureFile(tmp_path / "f.h5") as read:
        for image, expected in FEATURES.items():
            np.testing.assert_array_equal(read.features(image), expected)


# Prints by how many bytes the most memory of the process grew while it read a file image by image.
READS = """
import sys
import h5py
from capeval_decoding.baselines.features import FeatureFile
from tests.decoding.captioners.test_features import most

before = most()
with FeatureFile(sys.argv[1]) as file:
    assert sum(float(file.features(image)[0, 0]) for image in file.image_ids) == 300 * 299 / 2
print(most() - before)
"""


def test_features_of_other_images_stay_in_the_file(tmp_path: Path) -> None:
    many = {image: np.full((50, 2048), image, dtype=np.float32) for image in range(300)}
    path = write_features(tmp_path / "f.h5", many)
    # Another process, since this one had all of it in memory.
    grown = subprocess.run(
        [sys.executable, "-c", READS, path], capture_output=True, text=True, check=True, cwd=PROJECT
    )
    assert int(grown.stdout) < 0.2 * sum(each.nbytes for each in many.values())


# Prints by how many bytes the most memory of the process grew while it captioned images.
CAPTIONS = """
import sys
import numpy as np
from capeval_decoding.baselines.captioning import caption_images, make_machine_builder
from capeval_decoding.baselines.features import FeatureFile
from capeval_decoding.search import BeamSearch
from capeval_decoding.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
from capeval.datasets.word_forms import load_word_forms
from tests.decoding.captioners.test_features import most

forms = load_word_forms()
names = sorted(forms.phrases)
vocabulary = Vocabulary((UNKNOWN, BOUNDARY, *sorted(forms.words())))
scores = np.log(np.full((1, len(vocabulary)), 1 / len(vocabulary)))
with FeatureFile(sys.argv[1]) as file:
    # Three objects to mention an image, always others.
    wanted = {
        image: {name: forms.phrases[name] for name in (names * 3)[image % 601 : image % 601 + 3]}
        for image in file.image_ids
    }

    def begin(image):
        file.features(image)
        return lambda tokens, state: (np.repeat(scores, len(tokens), axis=0), state), np.zeros((1, 1))

    search = BeamSearch(start=1, end=1, beam_size=1, per_node=1, max_steps=1)
    begun = most()
    machine = make_machine_builder(wanted, vocabulary)
    for _ in caption_images(begin, file.image_ids, vocabulary, search, machine=machine):
        pass
print(most() - begun)
"""


def most() -> int:
    """The most memory that the process had at any time."""
    lines = [line.split() for line in Path("/proc/self/status").read_text().splitlines()]
    return next(int(line[1]) for line in lines if line[0] == "VmHWM:") * 1024


def test_memory_does_not_grow_with_the_images_that_are_captioned(tmp_path: Path) -> None:
    few = np.ones((100, 4), dtype=np.float32)
    path = write_features(tmp_path / "f.h5", dict.fromkeys(range(1500), few))
    grown = subprocess.run(
        [sys.executable, "-c", CAPTIONS, path], capture_output=True, text=True, check=False, cwd=PROJECT
    )
    assert grown.returncode == 0, grown.stderr
    # For 15,100 images, this is 160 MB. Their state machines would take 30 MB here if they were kept.
    print(f"{int(grown.stdout):,} bytes")
    assert int(grown.stdout) < 16 * 2**20


def refused(tmp_path: Path, match: str, features: dict[int, Any] = FEATURES, **options: Any) -> None:
    path = write_features(tmp_path / "f.h5", features, **{"boxes": BOXES, **options})
    with pytest.raises(FormatError, match=match) as raised:
        read_all(path)
    assert str(path) in str(raised.value)


def read_all(path: Path) -> None:
    with FeatureFile(path) as file:
        for image in file.image_ids:
            file.features(image)
            file.boxes(image)


@pytest.mark.parametrize("name", ["image_id", "num_boxes", "features", "boxes", "width"])
def test_datasets_that_are_missing(tmp_path: Path, name: str) -> None:
    refused(tmp_path, f"the file must contain the dataset '{name}'", leave_out=(name,))


def test_features_of_another_width(tmp_path: Path) -> None:
    path = write_features(tmp_path / "f.h5", FEATURES)
    expected = (
        r"'features' of image 7 must have 2048 numbers for each of its 3 regions \(got 12 .* 4 per region"
    )
    with pytest.raises(FormatError, match=expected):
        FeatureFile(path, width=2048)
    refused(tmp_path, "image 5 must have 4 numbers", {**FEATURES, 5: np.ones((2, 3))})


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_features_that_are_not_finite(tmp_path: Path, number: float) -> None:
    wrong = FEATURES[5].copy()
    wrong[1, 2] = number
    refused(tmp_path, f"image 5, region 1, must be finite numbers .got {number}", {**FEATURES, 5: wrong})


@pytest.mark.parametrize(
    ("box", "match"),
    [
        ([10, 0, 0, 10], "X1 <= X2"),
        ([0, 10, 10, 0], "Y1 <= Y2"),
        ([0, 0, 700, 10], "inside of the image of 640 x 480"),
        ([-9, 0, 10, 10], "inside of the image of 640 x 480"),
        ([0, 0, np.nan, 10], "X1 <= X2"),
    ],
)
def test_boxes_that_no_image_has(tmp_path: Path, box: list[float], match: str) -> None:
    refused(tmp_path, f"'boxes' of image 5, region 1, must be .*{match}", boxes={**BOXES, 5: [[0] * 4, box]})


def test_the_same_image_twice(tmp_path: Path) -> None:
    path = write_features(tmp_path / "f.h5", FEATURES)
    with h5py.File(path, "r+") as file:
        file["image_id"][1] = 7
    with pytest.raises(FormatError, match=r"each image once \(got 7 again"):
        FeatureFile(path)


def test_images_without_features(tmp_path: Path) -> None:
    with FeatureFile(write_features(tmp_path / "f.h5", FEATURES)) as file:
        with pytest.raises(MismatchError, match="image 8 is without features"):
            file.features(8)
        with pytest.raises(MismatchError, match=r"2 images \(8, 9\) are without features"):
            file.require([7, 8, 9])


def test_other_files(tmp_path: Path) -> None:
    path = write_features(tmp_path / "f.h5", FEATURES)
    whole = path.read_bytes()
    for content in (b"", b"nothing", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(FormatError, match="must be a complete HDF5 file"):
            FeatureFile(path)
    with pytest.raises(FileNotFoundError):
        FeatureFile(tmp_path / "none.h5")
