"""Building a dataset of captions, and freezing versions."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from capeval import load_candidates, load_references
from capeval.datasets.building import Dataset, SplitPlan, build_dataset, load_plans, random_splits
from capeval.datasets.versions import DatasetTexts, freeze, verify
from capeval.errors import FormatError, MismatchError, OptionError
from capeval.formats.images import load_image_fields

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
    texts = DatasetTexts(title="Test images", description="Made for a test")
    target = freeze(built(), tmp_path, version="1.0", texts=texts, image_info=info)
    files = sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())
    assert files == [
        "challenge.toml",
        "manifest.json",
        *(f"pages/{name}.md" for name in ("about", "data", "evaluation", "faq", "rules", "upload")),
        "private/captions_test.json",
        "private/human_test.json",
        "public/README.md",
        "public/captions_train.json",
        "public/data/test.jsonl",
        "public/data/train.jsonl",
        "public/image_info_test.json",
        "public/image_info_train.json",
    ]
    test = built().splits["test"]
    assert load_references(target / "private/captions_test.json") == test.references
    assert load_candidates(target / "private/human_test.json") == test.human
    public = "".join(path.read_text() for path in (target / "public").rglob("*") if path.is_file())
    assert "9.jpg" in public
    assert not any(text in public for image in TEST for text in CAPTIONS[image])
    manifest = json.loads((target / "manifest.json").read_text())
    assert manifest["splits"]["test"]["captions"] == 20
    assert manifest["splits"]["test"]["human_captions"] == 4


def test_an_annotation_has_one_id(tmp_path: Path) -> None:
    captions = {image: [f"{image} {number % 30}" for number in range(41)] for image in range(8)}
    plans = {
        "val": SplitPlan(images=(0, 1)),
        "test": SplitPlan(images=(2, 3, 4, 5, 6, 7), private=True, held_out=True, many=40, many_images=2),
    }
    target = freeze(build_dataset(captions, plans), tmp_path, version="1.0")
    ids: dict[int, tuple[int, str]] = {}
    for path in sorted(target.glob("*/captions_*.json")):
        rows = json.loads(path.read_text())["annotations"]
        assert len({row["id"] for row in rows}) == len(rows)
        for row in rows:
            assert ids.setdefault(row["id"], (row["image_id"], row["caption"])) == (
                row["image_id"],
                row["caption"],
            )
    # Five of two images and of four images, and forty of two images with the same first five.
    assert sorted(ids) == list(range(1, 2 * 5 + 4 * 5 + 2 * 40 + 1))
    many = load_candidates(target / "private" / "human_test_many.json")
    assert list(many) == list(load_references(target / "private" / "captions_test_many.json"))


def test_fields_and_licenses_of_images_are_kept(tmp_path: Path) -> None:
    source = {
        "images": [
            {"id": image, "file_name": f"{image}.jpg", "width": 640, "license": 1 + image % 2, "tags": ["x"]}
            for image in CAPTIONS
        ],
        "licenses": [
            {"id": 1, "name": "CC BY 2.0", "url": "https://creativecommons.org/licenses/by/2.0/"},
            {"id": 2, "name": "CC BY-SA 2.0", "url": ""},
        ],
        "annotations": [],
    }
    path = tmp_path / "collected.json"
    path.write_text(json.dumps(source))
    fields, licenses = load_image_fields(path)
    target = freeze(built(), tmp_path, version="1.0", image_info=fields, licenses=licenses)  # type: ignore[arg-type]
    for name in ("public/captions_train", "private/captions_test", "public/image_info_test"):
        content = json.loads((target / f"{name}.json").read_text())
        wanted = {image["id"]: image for image in source["images"]}
        assert [image == wanted[image["id"]] for image in content["images"]] == [True] * len(
            content["images"]
        )
        assert content["licenses"] == source["licenses"]
    [row, *_] = [json.loads(line) for line in (target / "public/data/test.jsonl").read_text().splitlines()]
    assert row == {"image_id": 6, "captions": [], "file_name": "6.jpg", "width": 640, "license": 1}
    card = (target / "public/README.md").read_text()
    assert "| 2 | CC BY-SA 2.0 |  | 5 |" in card
    path.write_text(json.dumps(CAPTIONS))
    assert load_image_fields(path) == ({}, [])


@pytest.mark.parametrize(
    "content",
    [
        {"images": [{"filename": "a.jpg", "sentences": [{"raw": "a dog"}]}], "dataset": "coco"},
        {"1": ["a dog"]},
        [],
    ],
)
def test_other_formats_have_no_image_fields(tmp_path: Path, content: Any) -> None:
    file = tmp_path / "captions.json"
    file.write_text(json.dumps(content))
    assert load_image_fields(file) == ({}, [])


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ({"images": [{"file_name": "a.jpg"}]}, r"images\[0\]"),
        ({"images": [{"id": 1}], "licenses": [{"id": 1}]}, r"licenses\[0\]"),
    ],
)
def test_invalid_image_fields(tmp_path: Path, content: dict[str, Any], place: str) -> None:
    file = tmp_path / "captions.json"
    file.write_text(json.dumps({**content, "annotations": []}))
    with pytest.raises(FormatError, match=rf"captions\.json.*{place}"):
        load_image_fields(file)


def test_places_to_fill_in_have_no_checksum(tmp_path: Path) -> None:
    target = freeze(built(), tmp_path, version="1.0", texts=DatasetTexts(title='A "B" \\ 日本 '))
    for name in ("challenge.toml", "public/README.md", "pages/about.md", "pages/data.md"):
        text = (target / name).read_text(encoding="utf-8")
        assert "TO BE FILLED IN" in text
        (target / name).write_text(text.replace("TO BE FILLED IN", "Done"), encoding="utf-8")
    assert verify(target) == 7
    challenge = tomllib.loads((target / "challenge.toml").read_text(encoding="utf-8"))
    assert challenge["challenge"]["title"] == 'A "B" \\ 日本 '
    assert challenge["challenge"]["slug"] == "a-b"


def test_a_challenge_has_the_phases_of_coco(tmp_path: Path) -> None:
    captions = {image: [f"{image} {number}" for number in range(9)] for image in range(6)}
    plans = {
        "train": SplitPlan(images=(0, 1), references=None, training=True),
        "val": SplitPlan(images=(2, 3)),
        "test": SplitPlan(images=(4, 5), private=True, held_out=True, many=8, many_images=1),
    }
    target = freeze(build_dataset(captions, plans), tmp_path, version="1.0")
    challenge = tomllib.loads((target / "challenge.toml").read_text())
    assert {phase["name"]: phase["splits"] for phase in challenge["phases"]} == {
        "validation": ["val"],
        "test": ["val", "test"],
    }
    val, test = challenge["splits"]
    assert [each["name"] for each in val["references"]] == ["c5"]
    assert test["references"] == [
        {
            "name": "c5",
            "file": "private/captions_test.json",
            "public": False,
            "human": "private/human_test.json",
        },
        {
            "name": "c8",
            "file": "private/captions_test_many.json",
            "public": False,
            "partial": True,
            "human": "private/human_test_many.json",
        },
    ]
    assert challenge["challenge"]["rules"] == {"file": "pages/rules.md"}
    assert [page["title"] for page in challenge["challenge"]["pages"]] == ["Upload", "Evaluation"]
    only = build_dataset(captions, {"train": plans["train"]})
    assert not (freeze(only, tmp_path, version="2.0") / "challenge.toml").exists()


def test_the_same_dataset_has_the_same_checksums(tmp_path: Path) -> None:
    first, second = (freeze(built(), tmp_path / name, version="1.0") for name in ("a", "b"))
    assert (first / "manifest.json").read_bytes() == (second / "manifest.json").read_bytes()
    assert verify(first) == 7


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
        ({"a": SplitPlan(images=(1,), private=True, training=True)}, OptionError, "can't be private"),
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


def test_one_split_has_the_remaining_images(tmp_path: Path) -> None:
    content = {"train": {"images": None}, "test": {"images": [6, 7]}, "val": {"images": 3}}
    plans = load_plans(plans_of(tmp_path, content), list(CAPTIONS), seed=3)
    assert {name: len(plan.images) for name, plan in plans.items()} == {"train": 4, "test": 2, "val": 3}
    assert sorted(image for plan in plans.values() for image in plan.images) == list(CAPTIONS)
    with pytest.raises(OptionError, match=r"'train' must be an integer of at least 1 \(got -1\)"):
        load_plans(plans_of(tmp_path, {**content, "val": {"images": 8}}), list(CAPTIONS))


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
        ({"a": {"images": None}, "b": {"images": None}}, r"only one split can .* \(got \['a', 'b'\]\)"),
    ],
)
def test_plans_that_are_none(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        load_plans(plans_of(tmp_path, content), list(CAPTIONS))
