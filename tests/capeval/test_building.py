"""Building a dataset of captions, and freezing versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from capeval import load_candidates, load_references
from capeval.datasets.building import Dataset, SplitPlan, build_dataset, load_plans, random_splits
from capeval.datasets.versions import freeze, verify
from capeval.errors import FormatError, MismatchError, OptionError

# Five captions of training images; of test images six, and of one of these nine.
CAPTIONS = {
    image: [f"caption {number} of {image}" for number in range(5 + (image > 5))] for image in range(1, 10)
}
CAPTIONS[7] += ["more", "and more", "and most"]
TRAIN, TEST = (1, 2, 3, 4, 5), (6, 7, 8, 9)


def built(seed: int = 0) -> Dataset:
    return build_dataset(
        CAPTIONS,
        {"train": SplitPlan(images=TRAIN), "test": SplitPlan(images=TEST, private=True, held_out=True)},
        seed=seed,
    )


def test_every_caption_is_in_one_place() -> None:
    dataset = built()
    train, test = dataset.splits["train"], dataset.splits["test"]
    assert train.references == {image: CAPTIONS[image] for image in TRAIN}
    assert train.human is None
    assert test.human is not None
    for image in TEST:
        together = [*test.references[image], *test.human[image], *dataset.unused.get(image, ())]
        assert sorted(together) == sorted(CAPTIONS[image])
        assert len(test.references[image]) == 5
    assert {image: len(texts) for image, texts in dataset.unused.items()} == {7: 3}


def test_c5_is_part_of_c40() -> None:
    captions = {image: [f"{image} {number}" for number in range(41)] for image in range(20)}
    plan = SplitPlan(images=tuple(range(20)), private=True, held_out=True, many=40, many_images=6)
    test = build_dataset(captions, {"test": plan}, seed=3).splits["test"]
    assert test.many is not None
    assert test.human is not None
    assert (len(test.many), int(test.many.counts.min())) == (6, 40)
    for image in test.many:
        assert set(test.references[image]) < set(test.many[image])
        assert test.human[image][0] not in test.many[image]


def test_what_is_drawn_for_an_image_depends_on_the_seed_and_the_image() -> None:
    first, again, other = built(1), built(1), built(2)
    assert first.splits["test"].human == again.splits["test"].human
    assert first.splits["test"].human != other.splits["test"].human
    alone = build_dataset(CAPTIONS, {"x": SplitPlan(images=(6,), held_out=True)}, seed=1)
    assert alone.splits["x"].human is not None
    assert first.splits["test"].human is not None
    assert alone.splits["x"].human[6] == first.splits["test"].human[6]


def test_images_are_dealt_out() -> None:
    images = list(range(100))
    splits = random_splits(images, {"train": 70, "val": 20, "test": 10}, seed=1)
    assert [len(part) for part in splits.values()] == [70, 20, 10]
    assert sorted(image for part in splits.values() for image in part) == images
    assert all(list(part) == sorted(part) for part in splits.values())
    assert splits == random_splits(images, {"train": 70, "val": 20, "test": 10}, seed=1)
    assert splits != random_splits(images, {"train": 70, "val": 20, "test": 10}, seed=2)
    with pytest.raises(MismatchError, match=r"add up to the 100 images to assign .got 99"):
        random_splits(images, {"train": 99})
    with pytest.raises(OptionError, match="must be an integer of at least 1"):
        random_splits(images, {"train": 100, "val": 0})
    with pytest.raises(OptionError, match="'images' must not contain duplicates"):
        random_splits([1, 1], {"train": 2})


def test_a_version_has_public_and_private_parts(tmp_path: Path) -> None:
    info = {image: {"file_name": f"{image}.jpg"} for image in CAPTIONS}
    target = freeze(built(), tmp_path, version="1.0", description="Made for a test", image_info=info)
    files = sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())
    assert files == [
        "manifest.json",
        "private/captions_test.json",
        "private/human_test.json",
        "public/captions_train.json",
        "public/image_info_test.json",
    ]
    test = built().splits["test"]
    assert load_references(target / "private/captions_test.json") == test.references
    assert load_candidates(target / "private/human_test.json") == test.human
    public = "".join(path.read_text() for path in (target / "public").iterdir())
    assert "9.jpg" in public
    assert not any(text in public for image in TEST for text in CAPTIONS[image])
    manifest = json.loads((target / "manifest.json").read_text())
    assert manifest["splits"]["test"]["captions"] == 20
    assert manifest["splits"]["test"]["human_captions"] == 4


def test_the_same_dataset_has_the_same_checksums(tmp_path: Path) -> None:
    first, second = (freeze(built(), tmp_path / name, version="1.0") for name in ("a", "b"))
    assert (first / "manifest.json").read_bytes() == (second / "manifest.json").read_bytes()
    assert verify(first) == 4


def test_versions_do_not_change(tmp_path: Path) -> None:
    target = freeze(built(), tmp_path, version="1.0")
    with pytest.raises(OptionError, match="'version' must be new"):
        freeze(built(), tmp_path, version="1.0")
    path = target / "public" / "captions_train.json"
    original = path.read_bytes()
    path.write_bytes(original.replace(b"caption 1 of 1", b"caption 1 of 2"))
    with pytest.raises(FormatError, match=r"captions_train\.json: the file changed: its sha256 must be"):
        verify(target)
    path.unlink()
    with pytest.raises(FormatError, match="the file is in the manifest but missing"):
        verify(target)
    path.write_bytes(original)
    (target / "public" / "extra.json").write_text("{}")
    with pytest.raises(FormatError, match=r"public.extra\.json: the file is not in the manifest"):
        verify(target)
    (target / "public" / "extra.json").unlink()
    (target / "manifest.json").write_text("[]")
    with pytest.raises(FormatError, match="must contain files and their sha256"):
        verify(target)
    (target / "manifest.json").unlink()
    with pytest.raises(
        FormatError, match=r"manifest\.json: a version must have a manifest .*freeze a new version"
    ):
        verify(target)


@pytest.mark.parametrize("version", ["", "..", "1/2", ".hidden"])
def test_names_of_versions(tmp_path: Path, version: str) -> None:
    with pytest.raises(OptionError, match="'version' must consist of letters, digits"):
        freeze(built(), tmp_path, version=version)


def test_image_information_has_no_id(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="field 'id'"):
        freeze(built(), tmp_path, version="1.0", image_info={1: {"id": 2}})


@pytest.mark.parametrize(
    ("plans", "error", "message"),
    [
        ({}, OptionError, "at least one split"),
        ({"a": SplitPlan(images=())}, OptionError, "at least one image"),
        ({"a/b": SplitPlan(images=(1,))}, OptionError, "letters, digits"),
        ({"a_many": SplitPlan(images=(1,))}, OptionError, "not end in '_many'"),
        (
            {"a": SplitPlan(images=(1,), references=0)},
            OptionError,
            "'references' must be an integer of at least 1",
        ),
        ({"a": SplitPlan(images=(1,), many=9)}, OptionError, "'many' requires 'many_images'"),
        (
            {"a": SplitPlan(images=(1,), many=3, many_images=1)},
            OptionError,
            "at least 'references', 5 .got 3",
        ),
        ({"a": SplitPlan(images=(1, 1))}, MismatchError, "must occur once, in one split"),
        ({"a": SplitPlan(images=(1,)), "b": SplitPlan(images=(1,))}, MismatchError, "in 'a' and 'b'"),
        ({"a": SplitPlan(images=(77,))}, MismatchError, "image 77 is not among those"),
        ({"a": SplitPlan(images=(1,), held_out=True)}, MismatchError, "at least 6 captions .got 5"),
        ({"a": SplitPlan(images=(7,), many=40, many_images=1)}, MismatchError, "at least 40 captions"),
    ],
)
def test_plans_that_cannot_be(plans: dict[str, SplitPlan], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build_dataset(CAPTIONS, plans)


def test_all_captions_of_a_split() -> None:
    plan = SplitPlan(images=(7,), references=None, held_out=True)
    split = build_dataset(CAPTIONS, {"all": plan}).splits["all"]
    assert len(split.references[7]) == len(CAPTIONS[7]) - 1


def plans_of(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "plans.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_plans_from_a_file(tmp_path: Path) -> None:
    path = plans_of(
        tmp_path, {"train": {"images": 6}, "test": {"images": [6, 7], "private": True}, "val": {"images": 1}}
    )
    plans = load_plans(path, list(CAPTIONS), seed=3)
    assert plans["test"] == SplitPlan(images=(6, 7), private=True)
    assert sorted([*plans["train"].images, *plans["val"].images]) == [1, 2, 3, 4, 5, 8, 9]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "the file ends inside its JSON"),
        ([], "JSON object with at least one split"),
        ({"a": {}}, 'an object with "images"'),
        ({"a": {"images": 1, "size": 2}}, "unknown field 'size'"),
        ({"a": {"images": "all"}}, "'images' has the wrong type"),
        ({"a": {"images": True}}, "'images' has the wrong type"),
        ({"a": {"images": [1.5]}}, "integers or strings"),
    ],
)
def test_plans_that_are_none(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        load_plans(plans_of(tmp_path, content), list(CAPTIONS))
