"""Matching of results and references: rules for image ids, and skipped images."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from capeval import Candidates, Evaluator, References, evaluate
from capeval.errors import MismatchError, OptionError
from capeval.scoring.matching import list_problems, match_captions
from tests.capeval.cli.test_cli import run

COCO = "COCO_val2014_000000"
RULES = [
    ([1, 2], ["2", "1"], "numbers equal their decimal text"),
    (["1", "2"], [2, 1], "numbers equal their decimal text"),
    (["café", "b"], ["b", "cafe\u0301"], "Unicode normalization (NFC)"),
    (["val2014/a.jpg", "val2014/b.jpg"], ["b.jpg", "images/a.jpg"], "base names of paths"),
    (["a", "b"], [r"C:\x\b.png", "a.jpg"], "base names without extension"),
    ([391895, 74], [f"{COCO}000074.jpg", f"{COCO}391895.jpg"], "numbers in COCO's file names"),
    ([f"val2014/{COCO}391895.jpg", f"{COCO}000074.jpg"], [74, 391895], "numbers in COCO's file names"),
    ([391895, 74], ["val2017/000000000074.jpg", "000000391895.jpg"], "numbers in COCO's file names"),
    (["000000000074", f"{COCO}391895.jpg"], [391895, 74], "numbers in COCO's file names"),
]


def captions(images: list[Any]) -> dict[Any, str]:
    return {image: f"a caption number {place}" for place, image in enumerate(images)}


@pytest.mark.parametrize(("known", "given", "rule"), RULES)
def test_rules(known: list[Any], given: list[Any], rule: str) -> None:
    references = References({image: [text] for image, text in captions(known).items()})
    said = Candidates(captions(list(reversed(given))))
    found, matched, matching = match_captions(references, said)
    assert found.image_ids == matched.image_ids == tuple(known)
    assert [matched[image] for image in known] == [said[image] for image in reversed(given)]
    assert matching.rule == rule
    (note,) = matching.notes
    assert rule in note
    assert not list_problems(references, said)
    report = evaluate(references, said, "ROUGE-L")
    assert report["ROUGE-L"] == 1
    assert report.to_dict()["matching"]["rule"] == rule
    assert Evaluator(references, "ROUGE-L").evaluate(said).matching == matching
    assert note in report.notes()


def test_equal_ids_have_no_note() -> None:
    report = evaluate({1: ["a"], 2: ["b"]}, {2: "b", 1: "a"}, "ROUGE-L")
    assert report.matching is not None
    assert not report.matching.notes
    assert "matching" not in report.to_dict()


NFC, NFD = (unicodedata.normalize(form, "café.jpg") for form in ("NFC", "NFD"))
SAME = "two ids of the {}, {} and {}, are the same image by a rule ({})"
EXTRA = "such as {}, {} no references (ids matched by a rule: {}); to skip {}, set extra='skip'"
FORMS = "'cafe\\u0301.jpg' and 'café.jpg' differ only in their Unicode form; to skip it, set {}='skip'"
BASE, TEXT = "base names of paths", "numbers equal their decimal text"


@pytest.mark.parametrize(
    ("known", "given", "message"),
    [
        (
            ["a/1.jpg", "b/1.jpg"],
            ["1.jpg", "2.jpg"],
            SAME.format("references", "'a/1.jpg'", "'b/1.jpg'", BASE),
        ),
        (
            [1, 2],
            ["1.jpg", "1.png"],
            SAME.format("results", "'1.jpg'", "'1.png'", "base names without extension"),
        ),
        (
            ["b", NFC],
            [f"x/{NFC}", f"x/{NFD}"],
            SAME.format("results", f"'x/{NFC}'", "'x/cafe\\u0301.jpg'", BASE),
        ),
        # Rules are never mixed: one id is text of a number, the other is a file name.
        (
            [1, 391895],
            ["1", f"{COCO}391895.png.jpg"],
            EXTRA.format(f"'{COCO}391895.png.jpg'", "has", TEXT, "it"),
        ),
        (
            [1, 2],
            ["1", "2", "8", "9"],
            "2 of 4 images of the results, " + EXTRA.format("'8'", "have", TEXT, "them"),
        ),
        (
            [1, 2],
            ["1", "9"],
            "1 of 2 images of the references, such as 2, has no result (ids matched by a rule",
        ),
        ([1, 2], ["x", "y"], "ids of the results such as 'x' must equal ids of the references such as 1"),
        (
            [1, 2],
            ["x.jpg", "y.jpg"],
            "such as 1; to match file names, list them with 'names' (on the command",
        ),
        ([7], ["007"], "ids of the results such as '007' must equal ids of the references such as 7"),
        ([NFC, "b"], [NFC, NFD, "b"], FORMS.format("extra")),
        ([NFC, NFD, "b"], [NFC, "b"], FORMS.format("missing")),
    ],
)
def test_ids_that_do_not_match(known: list[Any], given: list[Any], message: str) -> None:
    with pytest.raises(MismatchError, match=re.escape(message)):
        evaluate({image: ["a"] for image in known}, captions(given), "ROUGE-L")


def test_normalized_ids_of_each_side_stay_distinct() -> None:
    same = [unicodedata.normalize(form, "é") for form in ("NFC", "NFD")]
    report = evaluate({image: ["a"] for image in same}, dict.fromkeys(same, "a"), "ROUGE-L")
    assert report.image_ids == tuple(same)


def test_file_names_of_the_references() -> None:
    references, said = References({7: ["a"], 8: ["b"]}), Candidates({"x.jpg": "a", "dir/y.jpg": "b"})
    _, matched, matching = match_captions(references, said, names=lambda: {7: "x.jpg", 8: "y.jpg"})
    assert dict(matched) == {7: ["a"], 8: ["b"]}
    assert matching.rule == "listed file names"
    with pytest.raises(MismatchError):
        match_captions(references, said, names=lambda: {7: "x.jpg", 8: "x.jpg"})


def test_skipping_missing_images() -> None:
    references = {1: ["a dog"], 2: ["a cat"], 3: ["a bus"]}
    with pytest.raises(
        MismatchError,
        match=r"image 3 is .*; to skip it, set missing='skip' \(on the command line: --missing skip\)",
    ):
        evaluate(references, {1: "a dog", 2: "a bed"}, "CIDEr-D")
    report = evaluate(references, {"2": "a bed", "1": "a dog"}, "CIDEr-D", missing="skip")
    assert report.image_ids == (1, 2)
    # Document frequencies are those of the scored images, as in pycocoevalcap with a list of image ids.
    assert (
        report["CIDEr-D"]
        == evaluate({1: ["a dog"], 2: ["a cat"]}, {1: "a dog", 2: "a bed"}, "CIDEr-D")["CIDEr-D"]
    )
    assert "2 of 3 images were scored, because the others have no result." in report.notes()
    assert report.to_dict()["matching"]["without_results"] == 1


def test_skipping_results_without_references() -> None:
    said = {1: "a dog", 2: "a cat", 3: "a bus"}
    with pytest.raises(MismatchError, match=r"image 3 is .*--extra skip"):
        evaluate({1: ["a dog"], 2: ["a cat"]}, said, "ROUGE-L")
    report = evaluate({1: ["a dog"], 2: ["a cat"]}, said, "ROUGE-L", extra="skip")
    assert report["ROUGE-L"] == 1
    assert "1 result was skipped, because it has no references." in report.notes()
    other = {f"{COCO}00000{number}.jpg": text for number, text in said.items()}
    report = evaluate({1: ["a dog"], 2: ["a cat"]}, other, "ROUGE-L", extra="skip")
    assert report.matching is not None
    assert (report.matching.rule, report.matching.without_references) == ("numbers in COCO's file names", 1)
    both = evaluate({1: ["a dog"], 9: ["a cat"]}, said, "ROUGE-L", extra="skip", missing="skip")
    assert both.image_ids == (1,)
    with pytest.raises(MismatchError, match="no image of the results has references"):
        evaluate({8: ["a dog"], 9: ["a cat"]}, said, "ROUGE-L", extra="skip", missing="skip")
    with pytest.raises(OptionError, match="'extra' must be one of error, skip"):
        evaluate({1: ["a"]}, said, extra="drop")  # type: ignore[arg-type]


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.write_text(json.dumps(content))
    return path


def rows(said: dict[Any, str]) -> list[dict[str, Any]]:
    return [{"image_id": image, "caption": text} for image, text in said.items()]


@pytest.fixture
def references(tmp_path: Path) -> Path:
    images = [{"id": number, "file_name": f"photo{number}.jpg"} for number in (1, 2, 3)]
    texts = [{"image_id": number, "id": number, "caption": f"a dog number {number}"} for number in (1, 2, 3)]
    return write(tmp_path, "references.json", {"images": images, "annotations": texts})


def test_score_with_other_ids_and_parts(references: Path, tmp_path: Path) -> None:
    a = write(tmp_path, "a.json", rows({f"COCO_val2014_{n:012}.jpg": f"a dog number {n}" for n in (1, 2)}))
    b = write(tmp_path, "b.json", rows({"photo2.jpg": "a dog number 2", "photo3.jpg": "a cat"}))
    done = run("score", references, a, "-m", "ROUGE-L")
    assert done.returncode == 2
    assert b"--missing skip" in done.stderr
    done = run("score", references, a, "-m", "ROUGE-L", "--missing", "skip")
    text = " ".join(done.stdout.decode().split())
    assert "2 of 3 images were scored, because the others have no result." in text
    assert "numbers in COCO's file names" in text
    # Several systems are scored on their common images.
    done = run("score", references, a, b, "-m", "ROUGE-L", "--missing", "skip", "-f", "json")
    first, second = json.loads(done.stdout)
    assert (first["images"], second["images"]) == (1, 1)
    assert first["matching"]["rule"] == "numbers in COCO's file names"
    assert second["matching"] == {
        "rule": "listed file names",
        "example": ["photo2.jpg", 2],
        "references": 3,
        "without_results": 1,
        "without_references": 0,
        "skipped_for_others": 1,
        "incomplete_systems": ["a", "b"],
    }
    whole = write(tmp_path, "whole.json", rows(dict.fromkeys((1, 2, 3), "a dog")))
    arguments = ("score", references, whole, f"part={a}", "-m", "ROUGE-L", "--missing", "skip")
    text = " ".join(run(*arguments).stdout.decode().split())
    assert text.count("2 of 3 images were scored, because part has no result for the others.") == 1
    first, _ = json.loads(run(*arguments, "-f", "json").stdout)
    assert (first["matching"]["rule"], first["matching"]["without_results"]) == (None, 0)
    done = run("compare", references, a, b, "-m", "ROUGE-L", "--missing", "skip", "--method", "randomization")
    assert done.returncode == 0
    assert "1 of 3 images" in " ".join(done.stdout.decode().split())


def test_check_with_other_ids_and_parts(references: Path, tmp_path: Path) -> None:
    a = write(tmp_path, "a.json", rows({"1": "a dog", "2": "a cat"}))
    done = run("check", a, "-r", references)
    assert done.returncode == 2
    assert done.stderr.count(b"capeval: error:") == 1
    done = run("check", a, "-r", references, "--missing", "skip")
    assert done.returncode == 0
    assert done.stdout.decode() == (
        f"{a} is valid: 2 captions; 2 of 3 images have a result; image ids are matched by a rule"
        " (numbers equal their decimal text): '1' is 1\n"
    )
    extra = write(tmp_path, "extra.json", rows({"1": "a dog", "7": "a cat"}))
    done = run("check", extra, "-r", references, "--missing", "skip")
    assert b"1 of 2 images of the results, such as '7', has no references" in done.stderr
    assert done.stderr.endswith(b"; to skip it, set --extra skip\n")
    done = run("check", extra, "-r", references, "--missing", "skip", "--extra", "skip")
    assert b"; 1 of 3 images has a result; 1 result has no references; image ids" in done.stdout


def test_check_warns_about_ids_that_look_equal(tmp_path: Path) -> None:
    done = run("check", write(tmp_path, "a.json", rows(dict.fromkeys((NFC, NFD), "a dog"))))
    assert (done.returncode, done.stderr.decode()) == (
        0,
        "capeval: warning: image ids 'café.jpg' and 'cafe\\u0301.jpg' differ only in their Unicode form\n",
    )


def test_skipping_is_suggested_only_if_it_is_possible() -> None:
    references, results = References({1: ["a"], 2: ["b"]}), Candidates({1: "a", 3: "c"})
    assert all("to skip it" in problem for problem in list_problems(references, results))
    assert list_problems(references, results, can_skip=False) == [
        "image 3 is among the candidates but not among the references",
        "image 2 is among the references but not among the candidates",
    ]
