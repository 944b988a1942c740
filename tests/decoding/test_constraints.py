"""Boxes, the filter, the words of classes, and the command that shows the resulting constraints."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from capeval import tokenize
from capeval.cli.app import app
from capeval.datasets import coco
from capeval.datasets.nocaps import load_captions
from capeval.datasets.open_images import load_class_names
from capeval.datasets.word_forms import load_word_forms
from capeval.errors import CapevalError, FormatError, OptionError
from capeval.formats.constraints import load_constraints, write_constraints
from capeval_decoding.boxes import Boxes, load_detections, load_ground_truth
from capeval_decoding.constraint_filter import NEVER, ConstraintFilter, Decision, Hierarchy, load_hierarchy
from capeval_decoding.state_machines import build_state_machine
from capeval_decoding.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
from capeval_decoding.word_forms import (
    constraint,
    load_published_forms,
    make_published_constraint,
)
from tests.shared_data import shared_data

FORMS = load_word_forms()
NAMES = {
    "/m/1": "Animal",
    "/m/2": "Carnivore",
    "/m/3": "Dog",
    "/m/4": "Cat",
    "/m/5": "Fire hydrant",
    "/m/6": "Person",
    "/m/7": "Furniture",
    "/m/8": "Table",
    "/m/9": "Coffee table",
    "/m/10": "Ball (Object)",
}
TREE: dict[str, Any] = {
    "LabelName": "/m/root",
    "Subcategory": [
        {
            "LabelName": "/m/1",
            "Subcategory": [
                {"LabelName": "/m/2", "Subcategory": [{"LabelName": "/m/3"}, {"LabelName": "/m/4"}]}
            ],
        },
        {"LabelName": "/m/5"},
        {"LabelName": "/m/6"},
        {
            "LabelName": "/m/7",
            "Subcategory": [{"LabelName": "/m/8", "Subcategory": [{"LabelName": "/m/9"}]}],
        },
        {"LabelName": "/m/10"},
    ],
}


def hierarchy() -> Hierarchy:
    return load_hierarchy(json.dumps(TREE).encode(), NAMES, FORMS)


FULL, LEFT, RIGHT = (0.0, 0.0, 1.0, 1.0), (0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0)


def boxes(*given: tuple[str, float, tuple[float, ...]]) -> Boxes:
    return Boxes(
        classes=tuple(name for name, _, _ in given),
        corners=np.array([corners for _, _, corners in given], dtype=float).reshape(-1, 4),
        scores=np.array([score for _, score, _ in given], dtype=float),
    )


def chosen(decisions: tuple[Decision, ...]) -> list[str]:
    return [each.name for each in decisions if not each.reason]


def decide(given: Boxes, **options: Any) -> tuple[Decision, ...]:
    return ConstraintFilter(**options).decide(7, given, hierarchy(), FORMS)


def test_the_lower_class_of_two_that_overlap_is_taken() -> None:
    same = boxes(("Animal", 0.9, FULL), ("Carnivore", 0.8, FULL), ("Dog", 0.1, FULL), ("Cat", 0.2, FULL))
    decisions = decide(same)
    assert chosen(decisions) == ["cat", "dog"]
    assert {(each.name, each.reason) for each in decisions if each.reason} == {
        ("animal", "overlaps dog"),
        ("carnivore", "overlaps dog"),
    }
    apart = boxes(("Animal", 0.9, LEFT), ("Dog", 0.1, FULL))
    assert chosen(decide(apart)) == ["animal", "dog"]
    assert chosen(decide(apart, overlap=0.5)) == ["dog"]
    # A box without an area overlaps none.
    assert chosen(decide(boxes(("Animal", 0.9, (0, 0, 0, 1)), ("Dog", 0.1, (0, 0, 0, 1))))) == [
        "animal",
        "dog",
    ]


def test_a_box_that_is_left_out_leaves_out_no_other() -> None:
    # Dog overlaps carnivore, and carnivore animal, but dog does not overlap animal.
    chain = boxes(
        ("Animal", 0.5, (0, 0, 1.0, 1)), ("Carnivore", 0.5, (0, 0, 0.9, 1)), ("Dog", 0.5, (0, 0, 0.8, 1))
    )
    assert set(chosen(decide(chain))) == {"animal", "dog"}


def test_classes_that_are_never_used_and_boxes_without_confidence_are_left_out() -> None:
    assert len(NEVER) == 39
    assert set(FORMS.names) >= NEVER
    decisions = decide(boxes(("Person", 1, FULL), ("Dog", 0, LEFT), ("ball", 0.4, LEFT)))
    assert [(each.name, each.reason) for each in decisions] == [
        ("ball (object)", ""),
        ("person", "never used"),
        ("dog", "without confidence"),
    ]
    assert decide(boxes()) == ()


def test_the_most_confident_classes_are_taken_each_once() -> None:
    dogs = boxes(
        ("Dog", 0.9, FULL), ("Dog", 0.8, LEFT), ("Dog", 0.7, LEFT), ("Cat", 0.6, LEFT), ("Table", 0.5, RIGHT),
        ("Ball (Object)", 0.4, LEFT),
    )  # fmt: skip
    assert chosen(decide(dogs)) == ["dog", "cat", "table"]
    assert chosen(decide(dogs, most=1)) == ["dog"]


def test_equal_confidences_are_drawn_at_random_from_the_seed() -> None:
    drawn = boxes(*((name, 1, LEFT) for name in ("Dog", "Cat", "Table", "Fire hydrant", "Ball (Object)")))
    choices = {tuple(chosen(decide(drawn, seed=seed))) for seed in range(20)}
    assert len(choices) > 5
    assert chosen(decide(drawn, seed=3)) == chosen(decide(drawn, seed=3))


def test_the_published_filter_leaves_out_no_overlap() -> None:
    same = boxes(("Animal", 0.9, FULL), ("Carnivore", 0.8, FULL), ("Dog", 0.1, FULL))
    assert chosen(decide(same, rule="published")) == ["animal", "carnivore", "dog"]


def test_the_published_filter_drops_equal_classes_after_it_counted_them() -> None:
    dogs = boxes(("Dog", 0.9, FULL), ("Dog", 0.8, LEFT), ("Dog", 0.7, LEFT), ("Cat", 0.6, LEFT))
    assert chosen(decide(dogs, rule="published")) == ["dog"]


def test_the_published_filter_orders_equal_confidences_by_a_height_that_may_be_another_classs() -> None:
    tree = hierarchy()
    assert tree.heights["table"] == 1
    assert tree.heights["coffee table"] == 0
    # "table" is a part of "coffee table", and comes first in the file.
    assert tree.published_heights["coffee table"] == 1
    assert tree.published_heights["ball (object)"] == 0
    equal = boxes(("Coffee table", 1, LEFT), ("Furniture", 1, FULL), ("Dog", 1, LEFT), ("Table", 1, LEFT))
    assert chosen(decide(equal, rule="published")) == ["dog", "coffee table", "table"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "other"}, "'rule' must be one of paper, published"),
        ({"overlap": 2}, "'overlap' must be a number from 0 to 1"),
        ({"most": 0}, "'most' must be an integer of at least 1"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        ConstraintFilter(**options)


def test_classes_that_nobody_knows_are_refused() -> None:
    with pytest.raises(OptionError, match=r"unknown class 'Unicorn': expected one of 601"):
        decide(boxes(("Unicorn", 1, FULL)))
    with pytest.raises(OptionError, match=r"image 7: classes must be in the hierarchy \(got 'zebra'\)"):
        decide(boxes(("Zebra", 1, FULL)))
    other = {"Subcategory": [{"LabelName": "/m/x"}], "LabelName": "/m/root"}
    with pytest.raises(FormatError, match=r"every label must belong to an Open Images class \(got '/m/x'\)"):
        load_hierarchy(json.dumps(other).encode(), NAMES, FORMS)
    with pytest.raises(FormatError, match="every class must be an object with 'LabelName'"):
        load_hierarchy(b'{"LabelName": "/m/root", "Subcategory": 3}', NAMES, FORMS)


HEADER = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax\n"


def ground_truth(*rows: str) -> bytes:
    return (HEADER + "".join(f"{row}\n" for row in rows)).encode()


def test_ground_truth_is_read() -> None:
    found = load_ground_truth(
        ground_truth("a,x,/m/3,1,0.1,0.5,0.2,0.9", "b,x,/m/4,1,0,1,0,1", "a,x,/m/5,1,0,1,0,1"), NAMES
    )
    assert list(found) == ["a", "b"]
    assert found["a"].classes == ("Dog", "Fire hydrant")
    assert found["a"].corners.tolist() == [[0.1, 0.2, 0.5, 0.9], [0, 0, 1, 1]]
    assert found["a"].scores.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,x,/m/x,1,0,1,0,1", "line 3: 'LabelName' must be a label with a class name .got '/m/x'."),
        ("a,x,/m/3,1,0.5,0.4,0,1", "line 3: XMin must be at most XMax .got 0.5 and 0.4."),
        ("a,x,/m/3,1,0,1,0.5,0.4", "line 3: YMin must be at most YMax"),
        ("a,x,/m/3,1,0,1.5,0,1", "line 3: 'XMax' must be a number from 0 to 1 .got '1.5'."),
        ("a,x,/m/3,1,0,nan,0,1", "line 3: 'XMax' must be a number from 0 to 1 .got 'nan'."),
        ("a,x,/m/3,,0,1,0,1", "line 3: 'Confidence' must be a number from 0 to 1 .got ''."),
        ("a,x,/m/3,1,0,1,0", "line 3 must have 8 columns"),
    ],
)
def test_ground_truth_that_is_wrong_is_named(row: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        load_ground_truth(ground_truth("a,x,/m/3,1,0.1,0.5,0.2,0.9", row), NAMES)


def test_ground_truth_without_a_box_is_refused() -> None:
    with pytest.raises(FormatError, match="the file contains no boxes"):
        load_ground_truth(ground_truth(), NAMES)


def detections(*found: dict[str, Any]) -> bytes:
    return json.dumps(
        {
            "categories": [{"id": 0, "name": "dog"}, {"id": 1, "name": "ball"}],
            "images": [{"id": 5, "width": 100, "height": 50}, {"id": 6, "width": 10, "height": 10}],
            "annotations": [{"image_id": 5, "category_id": 0, "score": 0.5, **each} for each in found],
        }
    ).encode()


def test_detections_are_read() -> None:
    found = load_detections(
        detections({"bbox": [10, 5, 100, 50.4], "category_id": 1}, {"bbox": [0, 0, 1, 1]})
    )
    assert found[5].classes == ("ball", "dog")
    assert found[5].corners.tolist() == [[10, 5, 100, 50.4], [0, 0, 1, 1]]
    # An image without boxes has no constraints, and is there.
    assert found[6].classes == ()
    size = load_detections(detections({"bbox": [90, 5, 10, 45]}), form="size")
    assert size[5].corners.tolist() == [[90, 5, 100, 50]]
    without = json.loads(detections({"bbox": [0, 0, 1, 1]}))
    del without["annotations"][0]["score"]
    assert load_detections(json.dumps(without).encode())[5].scores.tolist() == [1]


@pytest.mark.parametrize(
    ("found", "form", "message"),
    [
        (
            {"bbox": [90, 5, 10, 45]},
            "corners",
            r"annotations\[0\].bbox must be \[X1, Y1, X2, Y2\] inside of an image of 100 x 50"
            r" \(got \[90, 5, 10, 45\]\); if the boxes have the other form, set the form to 'size'",
        ),
        (
            {"bbox": [90, 5, 100, 50]},
            "size",
            r"must be \[X, Y, width, height\] inside .* set the form to 'corners'",
        ),
        ({"bbox": [0, 0, 120, 50]}, "corners", r"annotations\[0\].bbox must be"),
        ({"bbox": [-5, 0, 20, 50]}, "corners", r"annotations\[0\].bbox must be"),
        ({"bbox": [0, 0, 20]}, "corners", r"annotations\[0\].bbox must be a list of four finite numbers"),
        ({"bbox": [0, 0, 20, True]}, "corners", r"a list of four finite numbers"),
        ({"bbox": [0, 0, 1, 1], "score": "x"}, "corners", r"annotations\[0\].score must be a finite number"),
        ({"bbox": [0, 0, 1, 1], "category_id": 9}, "corners", r"annotations\[0\].category_id must be an id"),
        ({"bbox": [0, 0, 1, 1], "image_id": 9}, "corners", r"annotations\[0\].image_id must be an id"),
    ],
)
def test_detections_that_are_wrong_are_named(found: dict[str, Any], form: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        load_detections(detections(found), form=form)


def test_every_class_has_words_that_are_tokens() -> None:
    assert len(FORMS.phrases) == 601
    phrases = [phrase for each in FORMS.phrases.values() for phrase in each]
    assert [" ".join(words) for words in tokenize(phrases)] == phrases
    for name, each in FORMS.phrases.items():
        assert len(set(each)) == len(each) > 0, name
    names = load_class_names(shared_data("openimages") / "class-descriptions-boxable.csv")
    assert {name.lower() for name in names.values()} == set(FORMS.phrases)
    detector = json.loads((shared_data("openimages") / "oi_categories.json").read_text())
    assert all(FORMS.get_class(each["name"]) for each in detector[1:])


# Classes that nobody mentions in the captions of COCO and of nocaps's validation images; in nocaps's alone.
UNSAID = {"armadillo", "chisel", "cooking spray", "maraca"}
UNSAID_IN_NOCAPS = UNSAID | {
    "ant",
    "bottle opener",
    "can opener",
    "cricket ball",
    "eraser",
    "hair dryer",
    "hair spray",
    "hand dryer",
    "harmonica",
    "humidifier",
    "ladle",
    "measuring cup",
    "paper cutter",
    "pencil case",
    "pencil sharpener",
    "personal care",
    "pizza cutter",
    "punching bag",
    "ratchet (device)",
    "ruler",
    "seat belt",
    "spice rack",
    "stapler",
    "tick",
    "waffle iron",
    "whisk",
}


def said(captions: Iterator[list[str]]) -> set[str]:
    """The phrases of classes in captions, as tokens with spaces between."""
    phrases = {tuple(phrase.split()) for each in FORMS.phrases.values() for phrase in each}
    longest = max(map(len, phrases))
    found: set[tuple[str, ...]] = set()
    for tokens in captions:
        for at in range(len(tokens)):
            found.update(tuple(tokens[at : at + n]) for n in range(1, longest + 1))
    return {" ".join(each) for each in phrases & found}


def nocaps_captions() -> list[str]:
    references = load_captions(shared_data("nocaps") / "nocaps_val_captions.json.gz")
    return [text for texts in references.values() for text in texts]


def unsaid(found: set[str]) -> set[str]:
    return {name for name, each in FORMS.phrases.items() if not found & set(each)}


def test_captions_of_nocaps_name_classes_by_words_of_the_table() -> None:
    assert unsaid(said(iter(tokenize(nocaps_captions())))) == UNSAID_IN_NOCAPS


@pytest.mark.conformance
def test_captions_of_coco_and_nocaps_name_every_class_by_words_of_the_table() -> None:
    captions = nocaps_captions()
    for split in ("val2014", "train2014"):
        captions += [text for texts in coco.load_captions(split).values() for text in texts]
    found = said(iter(tokenize(captions)))
    assert unsaid(found) == UNSAID
    # The others are unused plurals, such as "harmonicas".
    phrases = {phrase for each in FORMS.phrases.values() for phrase in each}
    assert len(found) > 0.88 * len(phrases)


VOCABULARY = Vocabulary((UNKNOWN, BOUNDARY, "fire", "hydrant", "dog", "dogs", "a"))


def test_phrases_of_words_that_the_vocabulary_has_become_constraints() -> None:
    made = constraint("fire hydrant", FORMS.phrases["fire hydrant"], VOCABULARY)
    assert made.phrases == ((frozenset({2}), frozenset({3})), (frozenset({3}),))
    with pytest.raises(
        OptionError,
        match=r"'zebra' has no phrase with all words in the vocabulary \(missing: 'zebra', 'zebras'\)",
    ):
        constraint("zebra", FORMS.phrases["zebra"], VOCABULARY)


def test_a_vocabulary_is_checked() -> None:
    assert VOCABULARY.decode([6, 4]) == "a dog"
    assert VOCABULARY.encode(["a", "zebra"]) == [6, VOCABULARY.unknown]
    with pytest.raises(OptionError, match="'words' must begin with '@@UNKNOWN@@' and '@@BOUNDARY@@'"):
        Vocabulary(("a", "b"))
    with pytest.raises(OptionError, match=r"'words' must be distinct \(got duplicates of 'a'\)"):
        Vocabulary((UNKNOWN, BOUNDARY, "a", "a"))


def test_the_published_forms_are_of_each_word() -> None:
    forms = load_published_forms(b"fire\tfire,fires\nhydrant\thydrant\n")
    made = make_published_constraint("fire hydrant", forms, VOCABULARY)
    # "fires" is not in the vocabulary: there, the unknown word counts.
    assert made.phrases == ((frozenset({2, 0}), frozenset({3})),)
    assert len(build_state_machine([made])) == 3
    with pytest.raises(OptionError, match=r"no word forms for 'bandaid', required by constraint 'bandaid'"):
        make_published_constraint("bandaid", forms, VOCABULARY)
    # A name that the published code replaces.
    with pytest.raises(OptionError, match="no word forms for 'table'"):
        make_published_constraint("kitchen & dining room table", forms, VOCABULARY)
    with pytest.raises(FormatError, match="line 2: expected a word, a tab and comma-separated forms"):
        load_published_forms(b"fire\tfire\nhydrant,\n")


def test_files_of_constraints_are_written_and_read(tmp_path: Path) -> None:
    images: dict[int | str, dict[str, tuple[str, ...]]] = {1: {"dog": ("dog", "dogs")}, 2: {}}
    write_constraints(images, tmp_path / "c.json")
    assert load_constraints(tmp_path / "c.json") == images
    for content, message in (
        (
            '[{"image_id": 1, "constraints": [{"name": "x", "phrases": []}]}]',
            "a list of strings, at least one",
        ),
        ('[{"image_id": 1, "constraints": 3}]', "constraints must be a list"),
        ('[{"image_id": 1}]', "must have the key 'constraints'"),
        ('[{"image_id": 1, "constraints": []}, {"image_id": 1, "constraints": []}]', "duplicate image_id 1"),
        (
            '[{"image_id": 1, "constraints": [{"name": "x", "phrases": ["x"]},'
            ' {"name": "x", "phrases": ["y"]}]}]',
            "duplicate name 'x'",
        ),
    ):
        with pytest.raises(FormatError, match=message):
            load_constraints(content.encode())


def run(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["baselines", "constraints", *map(str, arguments)])
    if isinstance(done.exception, CapevalError):
        return 2, str(done.exception)
    return done.exit_code, done.output


@pytest.fixture
def files(tmp_path: Path) -> list[str | Path]:
    """A file of boxes, and the options that name the classes and the hierarchy."""
    (tmp_path / "boxes.csv").write_bytes(
        ground_truth("a,x,/m/3,1,0,1,0,1", "a,x,/m/1,1,0,1,0,1", "b,x,/m/6,1,0,1,0,1")
    )
    (tmp_path / "classes.csv").write_text("".join(f"{label},{name}\n" for label, name in NAMES.items()))
    (tmp_path / "tree.json").write_text(json.dumps(TREE))
    options: list[str | Path] = [
        "--class-names",
        tmp_path / "classes.csv",
        "--hierarchy",
        tmp_path / "tree.json",
    ]
    return [tmp_path / "boxes.csv", *options]


def test_the_command_shows_what_follows(files: list[str | Path], tmp_path: Path) -> None:
    code, shown = run(*files, "-o", tmp_path / "out.json", "-f", "csv")
    assert code == 0
    header, first, second = csv.reader(shown.splitlines())
    assert header == ["Image", "Class", "Score", "Words"]
    assert first[:2] == ["a", "dog"]
    assert first[3].startswith("dog, dogs, ")
    assert second == ["b", "", "", ""]
    assert {image: list(found) for image, found in load_constraints(tmp_path / "out.json").items()} == {
        "a": ["dog"],
        "b": [],
    }
    code, shown = run(*files, "--dropped")
    assert "(overlaps dog)" in shown
    assert "(never used)" in shown
    assert "images: 2; constraints: 1; images without constraints: 1" in shown
    assert "animal, animals" in run(*files, "--rule", "published")[1]


def test_every_kind_of_couch_is_a_couch() -> None:
    # The hierarchy lists studio couches below beds, so the class above doesn't add these words.
    for name in ("loveseat", "sofa bed", "studio couch"):
        assert {"couch", "couches"} <= set(FORMS.phrases[name])


def test_words_of_the_next_higher_class(files: list[str | Path], tmp_path: Path) -> None:
    assert hierarchy().parents["coffee table"] == ("table",)
    forms = FORMS.add_parents(hierarchy().parents)
    assert {"coffee table", "table"} <= set(forms.phrases["coffee table"])
    # A class can be below several classes.
    both = FORMS.add_parents({"dog": ["table", "person"]}).phrases["dog"]
    assert {"table", "person"} <= set(both)
    # Only the next class counts, not the classes above it.
    assert not {"furniture"} & set(forms.phrases["coffee table"])
    assert forms.phrases["person"] == FORMS.phrases["person"]
    run(*files, "--parents", "-o", tmp_path / "parents.json")
    run(*files, "-o", tmp_path / "own.json")
    own, with_parents = (
        load_constraints(tmp_path / name)["a"]["dog"] for name in ("own.json", "parents.json")
    )
    assert with_parents[: len(own)] == own
    assert set(FORMS.phrases[hierarchy().parents["dog"][0]]) <= set(with_parents)


def test_the_command_takes_detections_and_the_ids_of_nocaps(files: list[str | Path], tmp_path: Path) -> None:
    (tmp_path / "found.json").write_bytes(detections({"bbox": [0, 0, 10, 10]}))
    assert "dog, dogs" in run(tmp_path / "found.json", *files[1:])[1]
    (tmp_path / "info.json").write_text(json.dumps({"images": [{"id": 17, "open_images_id": "a"}]}))
    assert (
        run(*files, "--image-info", tmp_path / "info.json", "-f", "csv")[1].splitlines()[1].startswith("17,")
    )
    (tmp_path / "info.json").write_text(json.dumps({"images": [{"id": 17, "open_images_id": "z"}]}))
    code, message = run(*files, "--image-info", tmp_path / "info.json")
    assert code == 2
    assert "lists no image of" in message


def test_the_command_writes_nothing_of_a_wrong_file(files: list[str | Path], tmp_path: Path) -> None:
    (tmp_path / "boxes.csv").write_bytes(ground_truth("a,x,/m/3,1,0.5,0.4,0,1"))
    code, message = run(*files, "-o", tmp_path / "out.json")
    assert code == 2
    assert "boxes.csv: line 2: XMin must be at most XMax" in message
    assert not (tmp_path / "out.json").exists()
    message = "--format json is not available here; use --output to write the constraints as JSON"
    assert run(*files, "-f", "json") == (2, message)
