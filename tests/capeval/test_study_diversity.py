"""Diversity: unique n-grams counted plainly, lengths, objects."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval import References, Tokenizer
from capeval.datasets.coco_objects import load_coco_objects
from capeval.datasets.open_images import load_boxes, load_class_hierarchy, load_class_names
from capeval.datasets.published import UNIQUE_NGRAMS
from capeval.errors import FormatError, MismatchError
from capeval.studies.diversity import COLLECTED, Corpus, Diversity, DiversityOptions, count_objects, diversity
from capeval.studies.diversity.report import histograms, ngram_table, object_table

CAPTIONS = References(
    {
        1: ["A dog, a cat and a dog.", "A dog runs."],
        2: ["The dog runs; a cat (black) sleeps", "A dog"],
        3: ["Cats"],
    }
)


def unique(runs: list[list[str]]) -> list[int]:
    """The different n-grams of runs of words, counted plainly."""
    return [
        len({tuple(run[i : i + n]) for run in runs for i in range(len(run) - n + 1)}) for n in range(1, 5)
    ]


def counted(captions: References, *, across_punctuation: bool = False) -> Diversity:
    options = DiversityOptions(
        images=len(captions), captions=1, samples=1, across_punctuation=across_punctuation
    )
    return Corpus(captions, options).diversity()


def test_ngrams_stop_at_punctuation() -> None:
    one = References({1: ["A dog, a cat (black) runs; fast - and a dog."]})
    runs = [["a", "dog"], ["a", "cat"], ["black"], ["runs"], ["fast"], ["and", "a", "dog"]]
    assert counted(one).unique[0].tolist() == unique(runs)
    joined = [[word for run in runs for word in run]]
    assert counted(one, across_punctuation=True).unique[0].tolist() == unique(joined)
    assert counted(one).lengths.tolist() == [10.0]


def test_words_are_plain_or_tokens() -> None:
    one = References({1: ["A man's T-shirt: nördic_2 dogs' $5"]})
    runs = [["a", "man's", "t"], ["shirt"], ["nördic"], ["2", "dogs"], ["5"]]
    assert counted(one).unique[0].tolist() == unique(runs)
    assert counted(one).lengths.tolist() == [8.0]
    tokens = Corpus(one, DiversityOptions(images=1, captions=1, samples=1, words="reference")).diversity()
    runs = [["a", "man", "'s", "t-shirt"], ["nördic_2", "dogs"], ["$", "5"]]
    assert tokens.unique[0].tolist() == unique(runs)


WORDS = st.lists(st.sampled_from(["a", "b", "c", ",", "."]), max_size=8).map(" ".join)


@given(st.lists(st.lists(WORDS, min_size=2, max_size=3), min_size=1, max_size=5), st.booleans())
def test_all_captions_are_counted_as_plainly(groups: list[list[str]], across: bool) -> None:
    captions = References({place: group[:2] for place, group in enumerate(groups)})
    options = DiversityOptions(images=len(groups), captions=2, samples=2, across_punctuation=across)
    found = Corpus(captions, options, tokenizer=Tokenizer(kind="none")).diversity()
    runs = []
    for text in (text for group in groups for text in group[:2]):
        plain = text.replace(",", "").replace(".", "").split()
        parts = text.replace(".", ",").split(",")
        runs += [plain] if across else [part.split() for part in parts]
    assert found.unique.tolist() == [unique(runs)] * 2
    words = sum(len(run) for run in runs)
    assert found.lengths.tolist() == pytest.approx([words / (2 * len(groups))] * 2)
    assert np.arange(len(found.histogram)) @ found.histogram == words


def test_samples_have_one_size_and_a_seed() -> None:
    many = References(
        {image: [f"word{image} number{caption}" for caption in range(4)] for image in range(30)}
    )
    options = DiversityOptions(images=10, captions=2, samples=3, seed=5)
    found = diversity({"x": many}, options)["x"]
    # Every caption has a word of its own image and one of four others.
    assert (found.unique[:, 1] == 20).all()
    assert (found.unique[:, 0] <= 10 + 4).all()
    again = diversity({"x": many}, options)["x"]
    assert found.unique.tolist() == again.unique.tolist()


def test_corpora_that_are_too_small_are_named() -> None:
    with pytest.raises(
        MismatchError, match="small: a corpus must have 3 images with 2 captions each \\(got 2"
    ):
        diversity({"small": CAPTIONS}, DiversityOptions(images=3, captions=2))


@pytest.fixture
def open_images(tmp_path: Path) -> Path:
    (tmp_path / "names.csv").write_text(
        "LabelName,DisplayName\n/m/1,Person\n/m/2,Man\n/m/3,Nose\n/m/4,Dog\n/m/5,Animal\n"
    )
    (tmp_path / "boxes.csv").write_text("ImageID,Source,LabelName\nx,a,/m/4\nx,a,/m/4\nx,a,/m/2\ny,a,/m/4\n")
    tree = {
        "LabelName": "/m/0",
        "Subcategory": [
            {
                "LabelName": "/m/1",
                "Subcategory": [{"LabelName": "/m/2"}],
                "Part": [{"LabelName": "/m/3"}],
            },
            {"LabelName": "/m/5", "Subcategory": [{"LabelName": "/m/4"}]},
        ],
    }
    (tmp_path / "tree.json").write_text(json.dumps(tree))
    return tmp_path


def test_objects_of_open_images(open_images: Path) -> None:
    names = load_class_names(open_images / "names.csv")
    assert names["/m/2"] == "Man"
    objects = load_boxes(open_images / "boxes.csv", names).by_image()
    assert objects == {"x": {"Dog": 2, "Man": 1}, "y": {"Dog": 1}}
    below = load_class_hierarchy(open_images / "tree.json", names)
    assert below == {
        "Person": frozenset({"Man"}),
        "Man": frozenset(),
        "Animal": frozenset({"Dog"}),
        "Dog": frozenset(),
    }
    found = count_objects(objects)
    assert (found.images, found.mean_classes, found.mean_instances) == (2, 1.5, 2.0)
    assert (found.single_class, found.many_classes) == (0.5, 0.0)
    with pytest.raises(MismatchError, match="at least one image"):
        count_objects({})


def test_objects_of_coco(tmp_path: Path) -> None:
    path = tmp_path / "instances.json"
    content = {
        "images": [{"id": 1}, {"id": 2}],
        "categories": [{"id": 18, "name": "dog"}],
        "annotations": [{"image_id": 1, "category_id": 18}, {"image_id": 1, "category_id": 18}],
    }
    path.write_text(json.dumps(content))
    objects = load_coco_objects(path)
    assert objects == {1: {"dog": 2}, 2: {}}
    assert count_objects(objects).classes.tolist() == [1, 1]
    for changed, message in (
        ({"annotations": [{"image_id": 3, "category_id": 18}]}, "annotations\\[0\\].image_id must be an id"),
        (
            {"annotations": [{"image_id": 1, "category_id": 1}]},
            "annotations\\[0\\].category_id must be an id",
        ),
        ({"annotations": [{"image_id": 1}]}, "annotations\\[0\\] must have the key 'category_id'"),
        ({"images": 3}, "images must be a list of objects"),
    ):
        path.write_text(json.dumps({**content, **changed}))
        with pytest.raises(FormatError, match=message) as caught:
            load_coco_objects(path)
        assert caught.value.path == path
    for text, message in (("[]", "an object"), ("{", "truncated"), ("{]", "not JSON")):
        path.write_text(text)
        with pytest.raises(FormatError, match=message):
            load_coco_objects(path)


def test_wrong_files_of_open_images_are_named(open_images: Path) -> None:
    names = load_class_names(open_images / "names.csv")
    path = open_images / "wrong"
    for text, message in (
        ("ImageID\nx\n", "column 'LabelName'"),
        ("", "column 'ImageID' \\(got ''"),
        ("ImageID,LabelName\nx\n", "line 2 must have 2 columns"),
        ("ImageID,LabelName\nx,/m/9\n", "line 2: 'LabelName' must be a label with a name \\(got '/m/9'"),
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=message):
            load_boxes(path, names)
    for text, message in (
        ("", "at least one class"),
        ("Person\n", "line 1 must be a new label"),
        ("/m/1,A\n/m/1,B\n", "line 2 must be a new label such as"),
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=message):
            load_class_names(path)
    for text, message in (
        ('{"LabelName": "/m/0", "Subcategory": [{"LabelName": "/m/9"}]}', "got '/m/9' without one"),
        ('{"LabelName": "/m/0", "Subcategory": [3]}', "every class must be an object"),
        ("[]", "every class must be an object"),
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=message):
            load_class_hierarchy(path, names)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match="looks like UTF-16; expected plain UTF-8"):
        load_class_names(path)


def test_tables_and_figure() -> None:
    found = diversity({"x": CAPTIONS}, DiversityOptions(images=2, captions=2, samples=2))
    table = ngram_table(found)
    assert [row[0].value for row in table.rows] == ["x"]
    images, captions = COLLECTED
    unique_of = np.array([[10, 20, 30, 40], [12, 20, 30, 40]])
    of_size = Diversity(
        images=images,
        captions=captions,
        unique=unique_of,
        lengths=np.array([5.0, 7.0]),
        histogram=np.array([0, 3]),
    )
    table = ngram_table({"y": of_size})
    assert [row[0].value for row in table.rows] == [
        "y",
        *(f"{name} (paper)" for name in UNIQUE_NGRAMS.values),
    ]
    first = table.rows[0][1]
    assert (first.value, first.low, first.high) == pytest.approx((11, 11 - 2**0.5, 11 + 2**0.5))
    assert table.rows[1][1].value == UNIQUE_NGRAMS.values["COCO"][0]
    objects = {"boxes": count_objects({1: {"Dog": 2}})}
    assert object_table(objects).rows[0][1].value == 1
    assert len(histograms(found, {}).axes) == 1
    assert len(histograms(found, objects).axes) == 3
