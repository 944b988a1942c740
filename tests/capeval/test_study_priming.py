"""Captions collected with and without keywords."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from capeval import References
from capeval.cli.app import app
from capeval.data.captions import ImageId
from capeval.errors import FormatError, MismatchError
from capeval.formats.keywords import load_keywords
from capeval.studies.priming import PLAIN, PRIMED, ClassMentions, PrimingOptions, study_priming
from capeval.studies.priming.report import report

PLAIN_CAPTIONS = References(
    {
        "a": ["A brown rodent climbs.", "A small animal in a tree."],
        "b": ["A dog on a couch.", "Two dogs."],
        "c": ["People wait.", "A street.", "A third caption is left out."],
    }
)
PRIMED_CAPTIONS = References(
    {
        "a": ["A red panda climbs a tree.", "The red panda is outdoors."],
        "b": ["A dog on a couch.", "Dogs sleep on the studio couch."],
        "c": ["Buses and people wait.", "A bus on a street."],
        "d": ["Not in the other set."],
    }
)
KEYWORDS: dict[ImageId, list[str]] = {
    "a": ["Red panda", "Tree"],
    "b": ["Dog", "Studio couch"],
    "c": ["Bus", "Quokka"],
}


def test_measures_equal_counts_by_hand() -> None:
    study = study_priming(PLAIN_CAPTIONS, PRIMED_CAPTIONS, KEYWORDS, PrimingOptions(samples=200))
    assert (study.image_ids, study.captions, study.left_out) == (("a", "b", "c"), 6, 1)
    values = {name: each.values.tolist() for name, each in study.measures.items()}
    assert values["Captions that name a keyword (%)"] == [[50, 100], [100, 100], [0, 100]]
    assert values["Images with a named keyword (%)"] == [[100, 100], [100, 100], [0, 100]]
    # A studio couch is also named as a couch, and a bus by its plural.
    assert values["Named keywords of an image (%)"] == [[50, 100], [100, 100], [0, 50]]
    assert values["Named keywords per caption"] == [[0.5, 1.5], [1.5, 2], [0, 1]]
    assert values["Words per caption"] == [[5, 5.5], [3.5, 5.5], [2, 4.5]]
    compared = study.measures["Words per caption"]
    assert compared.comparison.difference == pytest.approx((0.5 + 2 + 2.5) / 3)
    assert compared.comparison.low <= compared.comparison.difference <= compared.comparison.high
    assert study.classes["Studio couch"] == ClassMentions(images=1, plain=1, primed=1)
    # A keyword that is no class of Open Images.
    assert study.classes["Quokka"] == ClassMentions(images=1, plain=0, primed=0)
    assert list(study.diversity) == [PLAIN, PRIMED]
    words = {word for texts in PLAIN_CAPTIONS.values() for text in texts[:2] for word in text.lower().split()}
    assert study.diversity[PLAIN].unique[0, 0] == len({word.strip(".") for word in words})


def test_keywords_outside_of_open_images_have_a_plural() -> None:
    captions = References({1: ["Two quokkas sleep."], 2: ["A quokka."]})
    study = study_priming(captions, captions, {1: ["Quokka"], 2: ["Quokka"]})
    assert study.classes["Quokka"] == ClassMentions(images=2, plain=2, primed=2)
    # Images with one caption have no diversity.
    assert "Words per caption" in study.measures
    assert not any("Self-CIDEr" in name for name in study.measures)


def test_equal_values_have_no_interval() -> None:
    found = report(study_priming(PRIMED_CAPTIONS, PRIMED_CAPTIONS, KEYWORDS))
    _, plain, _, difference, p_value = next(
        row for row in found.tables["priming"].rows if "Images" in str(row[0].value)
    )
    assert (plain.value, plain.low, difference.value, difference.low, p_value.value) == (
        100,
        None,
        0,
        None,
        1,
    )
    assert found.tables["priming"].notes[0] == "3 images, 6 captions per set; other images left out: 1."


def test_ids_may_be_numbers_in_one_file() -> None:
    captions = References({1: ["A dog.", "Dogs."], 2: ["A cat.", "Cats."]})
    study = study_priming(captions, captions, {"1": ["Dog"], "2": ["Cat"]})
    assert study.image_ids == (1, 2)
    assert np.all(study.measures["Captions that name a keyword (%)"].values == 100)


def test_sets_without_common_images_are_an_error() -> None:
    with pytest.raises(MismatchError, match=r"two images must have keywords.*\(got 1 of 3 and 4 images"):
        study_priming(PLAIN_CAPTIONS, PRIMED_CAPTIONS, {"a": ["Tree"]})


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"image": "a.jpg"}', "line 1 must have the key 'key'"),
        ('{"key": "a", "keywords": "Dog"}', "line 1: keywords must be a list of words or phrases"),
        ('{"key": "a", "keywords": [" "]}', "line 1: keywords must be a list of words or phrases"),
        ('{"key": "a", "keywords": ["Dog"]}\n{"key": "a"}', "line 2: duplicate key 'a'"),
        ('{"key": "a"}\n{"key": "b", "keywords": []}', "'keywords' of at least one image \\(got none\\)"),
    ],
)
def test_wrong_keywords_are_named(tmp_path: Path, lines: str, message: str) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(FormatError, match=message) as caught:
        load_keywords(path)
    assert caught.value.path == path


def test_a_release_contains_its_keywords(tmp_path: Path) -> None:
    for name, captions in (("plain", PLAIN_CAPTIONS), ("primed", PRIMED_CAPTIONS)):
        pairs = [(image, text) for image, texts in captions.items() for text in texts]
        shown = KEYWORDS if name == "primed" else {}
        content = {
            "images": [{"id": image, "keywords": shown.get(image, [])} for image in captions],
            "annotations": [
                {"id": number, "image_id": image, "caption": text}
                for number, (image, text) in enumerate(pairs)
            ],
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    plain, primed = (str(tmp_path / f"{name}.json") for name in ("plain", "primed"))
    done = CliRunner().invoke(app, ["study", "priming", plain, primed], prog_name="capeval")
    assert done.exit_code == 0
    assert "Named classes" in done.output
    failed = CliRunner().invoke(app, ["study", "priming", primed, plain], prog_name="capeval")
    assert failed.exit_code != 0
    assert str(failed.exception) == f"{plain} has no keywords of its images; add '--keywords items.jsonl'"
