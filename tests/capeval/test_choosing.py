"""Choosing images, and the files of Open Images."""

from __future__ import annotations

import gzip
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from capeval.datasets.open_images import ObjectAnnotations, load_boxes, load_class_names, load_rotations
from capeval.datasets.selection import choose_images, choose_randomly, compute_statistics
from capeval.errors import FormatError, MismatchError, OptionError


def annotated(images: dict[str, list[str]]) -> ObjectAnnotations:
    """Return annotations with one box for each mention of a class."""
    classes = sorted({name for names in images.values() for name in names})
    pairs = [
        (position, classes.index(name), names.count(name))
        for position, names in enumerate(images.values())
        for name in sorted(set(names))
    ]
    image, label, instances = (np.array(column) for column in zip(*pairs, strict=True))
    return ObjectAnnotations(
        image_ids=tuple(images), classes=tuple(classes), image=image, label=label, instances=instances
    )


def made(images: int, classes: int = 40, seed: int = 0) -> ObjectAnnotations:
    chance = np.random.default_rng(seed)
    shares = 1 / np.arange(1, classes + 1)
    groups = {
        f"{number:04d}": [
            f"c{kind:02d}"
            for kind in chance.choice(classes, size=chance.integers(1, 9), p=shares / shares.sum())
        ]
        for number in range(images)
    }
    return annotated(groups)


def entropy(counts: Counter[str]) -> float:
    total = sum(counts.values())
    return -sum(n / total * math.log(n / total) for n in counts.values())


def names_of(annotations: ObjectAnnotations, position: int) -> list[str]:
    return [annotations.classes[label] for label in annotations.label[annotations.image == position]]


def test_each_choice_gives_the_highest_entropy_of_its_pool() -> None:
    """Sample the whole pool and compare each choice with independently computed entropies."""
    annotations = made(120)
    chosen = choose_images(annotations, 60, sample=1000)
    positions = chosen.positions.tolist()
    counts: Counter[str] = Counter()
    for position in positions[: chosen.complex_images]:
        assert len(names_of(annotations, position)) > 6
        counts.update(names_of(annotations, position))
    left = {
        size: [p for p in chosen.candidates.tolist() if len(names_of(annotations, p)) == size]
        for size in range(2, 7)
    }
    turn = 2
    for position in positions[chosen.complex_images :]:
        while not left[turn]:
            turn = turn % 6 + 1 if turn < 6 else 2
        offered = {p: entropy(counts + Counter(names_of(annotations, p))) for p in left[turn]}
        assert offered[position] == pytest.approx(max(offered.values()), abs=1e-12)
        left[turn].remove(position)
        counts.update(names_of(annotations, position))
        turn = turn + 1 if turn < 6 else 2


def test_who_is_a_candidate() -> None:
    annotations = annotated(
        {
            "upright": ["a", "b"],
            "turned": ["a", "b"],
            "unknown": ["a", "b"],
            "single": ["a", "a"],
            "full": ["a", "b", "c", "d", "e", "f", "g"],
        }
    )
    rotations = {"upright": 0.0, "turned": 90.0, "unknown": None, "single": 0.0, "full": 0.0}
    chosen = choose_images(annotations, 2, rotations=rotations)
    assert chosen.positions.tolist() == [4, 0]
    assert chosen.excluded == {"unknown rotation": 1, "rotated": 1, "single class": 1}
    assert chosen.complex_images == 1
    assert len(choose_images(annotations, 4).candidates) == 4


def test_the_seed_decides_and_no_image_is_taken_twice() -> None:
    annotations = made(400)
    first, again, other = (choose_images(annotations, 250, sample=5, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.positions, again.positions)
    assert not np.array_equal(first.positions, other.positions)
    assert len(set(first.positions.tolist())) == 250
    assert set(first.positions.tolist()) <= set(first.candidates.tolist())
    everything = choose_images(annotations, len(first.candidates), sample=5)
    assert sorted(everything.positions.tolist()) == everything.candidates.tolist()


def test_chosen_images_are_more_even_than_random_ones() -> None:
    annotations = made(2000)
    chosen = choose_images(annotations, 500)
    ours = compute_statistics(annotations, chosen.positions)
    others = compute_statistics(annotations, choose_randomly(chosen))
    assert ours.entropy > others.entropy + 0.1
    assert ours.largest_share < others.largest_share


def test_statistics_by_hand() -> None:
    annotations = annotated({"1": ["a", "a", "b"], "2": ["a", "c"], "3": ["d"]})
    found = compute_statistics(annotations, np.array([0, 1]))
    assert found.entropy == pytest.approx(1.5)
    assert (found.images, found.classes, found.classes_per_image) == (2, 3, 2.0)
    assert found.instances_per_image == 2.5
    assert found.by_classes == {2: 2}
    assert found.largest_share == 0.5


def test_bad_wishes() -> None:
    annotations = annotated({"1": ["a", "b"], "2": [*"abcdefg"], "3": [*"abcdefg"]})
    with pytest.raises(MismatchError, match=r"at most the 3 candidates .got 4"):
        choose_images(annotations, 4)
    with pytest.raises(MismatchError, match="at least 2, the number of images with more than six classes"):
        choose_images(annotations, 1)
    with pytest.raises(MismatchError, match="got none for '2'"):
        choose_images(annotations, 2, rotations={"1": 0.0})
    with pytest.raises(MismatchError, match="at least one image"):
        compute_statistics(annotations, np.array([], dtype=np.int64))
    for wanted, sample, seed in ((0, 1, 0), (2, 0, 0), (2, 1, -1)):
        with pytest.raises(OptionError, match="must be an integer of"):
            choose_images(annotations, wanted, sample=sample, seed=seed)


BOXES = (
    "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax\n"
    "b,xclick,/m/2,1,0,1,0,1\na,xclick,/m/1,1,0,1,0,1\nb,xclick,/m/2,1,0,1,0,1\nb,xclick,/m/1,1,0,1,0,1\n"
)


def test_boxes_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "boxes.csv"
    path.write_text(BOXES)
    read = load_boxes(path)
    assert read.image_ids == ("b", "a")
    assert read.classes == ("/m/1", "/m/2")
    assert list(zip(read.image.tolist(), read.label.tolist(), read.instances.tolist(), strict=True)) == [
        (0, 0, 1),
        (0, 1, 2),
        (1, 0, 1),
    ]
    assert load_boxes(path, {"/m/1": "Pen", "/m/2": "Man"}).classes == ("Pen", "Man")
    assert read.by_image() == {"b": {"/m/1": 1, "/m/2": 2}, "a": {"/m/1": 1}}
    packed = tmp_path / "boxes.csv.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + BOXES.encode()))
    assert load_boxes(packed).by_image() == read.by_image()


def test_rotations_and_names_from_files(tmp_path: Path) -> None:
    path = tmp_path / "images.csv"
    path.write_text('ImageID,Subset,Title,Rotation\na,test,"One, two",0.0\nb,test,,\nc,test,,270.0\n')
    assert load_rotations(path) == {"a": 0.0, "b": None, "c": 270.0}
    path.write_text('/m/1,Person\n/m/2,"Pen, red"\n')
    names = load_class_names(path)
    assert names == {"/m/1": "Person", "/m/2": "Pen, red"}
    path.write_text("LabelName,DisplayName\n/m/1,Person\n/m/2,Pen\n")
    assert load_class_names(path) == {"/m/1": "Person", "/m/2": "Pen"}


def test_files_that_are_something_else(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    for text, message in [
        ("", "must contain the column 'ImageID'"),
        ("ImageID,Label\n", "must contain the column 'LabelName'"),
        ("ImageID,LabelName\n", "at least one box .got none"),
        ("ImageID,LabelName\na\n", "line 2 must have 2 columns .got 1"),
    ]:
        path.write_text(text)
        with pytest.raises(FormatError, match=message):
            load_boxes(path)
    for text, message in [
        ("ImageID,Rotation\na,0\na,0\n", "line 3: duplicate 'ImageID' 'a'"),
        ("ImageID,Rotation\na,left\n", "line 2: .*degrees or empty .got 'left'"),
    ]:
        path.write_text(text)
        with pytest.raises(FormatError, match=message):
            load_rotations(path)
    path.write_text("/m/1,Person\n/m/1,Man\n")
    with pytest.raises(FormatError, match="line 2 must be a new label such as"):
        load_class_names(path)
