"""`capeval browse`: contents of the page and validation errors."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from capeval import Candidates, References, Tokenizer, evaluate
from capeval.cli.app import app
from capeval.errors import CapevalError, FormatError, MismatchError, OptionError
from capeval.report import System
from capeval.report.browser import ImageDetails, browser_data
from capeval.report.images import embed_pictures

PIXEL = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
REFERENCES = References({1: ["A dog by a Fire-Hydrant"], 2: ["Two dogs"], 3: ["a cat"]})
SAID = Candidates({1: "a dog", 2: "dogs", 3: "a cat"})


def data(details: ImageDetails) -> dict[str, Any]:
    system = System(name="a", report=evaluate(REFERENCES, SAID, ["BLEU-1"]))
    return browser_data([system], REFERENCES, {"a": SAID}, tokenizer=Tokenizer(), details=details)


def test_domains_and_constraints_are_in_the_page_once() -> None:
    dog = {"dog": ("dog", "Dogs")}
    made = data(
        ImageDetails(
            domains={1: "near", 3: "in", 9: "elsewhere"},
            constraints={1: {**dog, "hydrant": ("fire-hydrant",)}, 2: dog, 9: {"x": ("y",)}},
        )
    )
    assert made["domains"] == {"names": ["near", "in"], "of": [0, -1, 1]}
    # The phrases are tokenized as the captions are.
    assert made["constraints"] == {
        "names": ["dog", "hydrant"],
        "phrases": [["dog", "dogs"], ["fire-hydrant"]],
        "of": [[0, 1], [0], []],
    }


def test_a_page_without_them_has_no_fields_for_them() -> None:
    made = data(ImageDetails())
    assert made["domains"] is None
    assert made["constraints"] is None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [{"image_id": image, "caption": text} for image, texts in REFERENCES.items() for text in texts]
    (tmp_path / "references.json").write_text(json.dumps(rows))
    for name in ("a", "b"):
        said = [{"image_id": image, "caption": texts[0]} for image, texts in SAID.items()]
        (tmp_path / f"{name}.json").write_text(json.dumps(said))
    (tmp_path / "domains.json").write_text('{"near": [1, 2], "in": [3]}')
    constraints = [{"image_id": 1, "constraints": [{"name": "dog", "phrases": ["dog"]}]}]
    (tmp_path / "constraints.json").write_text(json.dumps(constraints))
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "1.gif").write_bytes(PIXEL)
    return tmp_path


def run(folder: Path, *options: str, files: tuple[str, ...] = ("references.json", "a.json", "b.json")) -> str:
    """The page, or the error."""
    page = folder / "browse.html"
    named = [str(folder / each) if (folder / each).exists() else each for each in (*files, *options)]
    done = CliRunner().invoke(app, ["browse", *named, "-m", "BLEU,CIDEr-D", "-o", str(page)])
    if done.exception is not None:
        assert isinstance(done.exception, CapevalError), done.output
        assert not page.exists()
        raise done.exception
    assert done.output.startswith(f"{page}: 3 images, 2 systems\n")
    return page.read_text()


def test_the_page_has_all_and_is_one_file(folder: Path) -> None:
    page = run(folder, "--domains", "domains.json", "--constraints", "constraints.json")
    assert '<select name="domain">' in page
    assert '<option value="dog">dog</option>' in page
    # The table of scores has rows for all images, near and in.
    assert page.count("<span>near</span>") == page.count("<span>in</span>") == 2
    assert '"of":[[0],[],[]]' in page
    # No plots and no examples: those are of the report.
    assert "<figure>" not in page
    assert "Examples" not in page
    assert "CIDEr-D" in page
    assert "src=" not in page
    assert "img-src" not in page


def test_pictures_are_linked_or_in_the_page(folder: Path) -> None:
    assert '"pictures":{"before":"pictures/1.gif"' in run(folder, "--images", "pictures")
    page = run(folder, "--images", "pictures", "--embed")
    assert f"data:image/gif;base64,{base64.b64encode(PIXEL).decode()}" in page
    assert "img-src data:" in page


@pytest.mark.parametrize("suffix", ["pdf", "png", "svg"])
def test_chosen_images_become_a_figure(folder: Path, suffix: str) -> None:
    figure = folder / f"figure.{suffix}"
    (folder / "pictures" / "3.gif").write_bytes(PIXEL)
    with_details = ("--domains", "domains.json", "--constraints", "constraints.json", "--images", "pictures")
    drawn = set()
    for _ in range(2):
        run(folder, *with_details, "--choose", "3, 1", "--figure", str(figure))
        drawn.add(figure.read_bytes())
    assert len(drawn) == 1
    if suffix != "svg":
        assert drawn.pop()[:4] == {"pdf": b"%PDF", "png": b"\x89PNG"}[suffix]
        return
    texts = re.findall(r'<text style="(?:font-weight: (700))?[^>]*>([^<]*)</text>', figure.read_text())
    # Titles from left to right, then a row for each system and the references. "dog" is required in image 1.
    assert texts == [
        ("700", "in"),
        ("700", "near"),
        *[("700", "a"), ("", "a cat"), ("", "a"), ("700", "dog")],
        *[("700", "b"), ("", "a cat"), ("", "a"), ("700", "dog")],
        *[("700", "Reference"), ("", "a cat"), ("", "A"), ("700", "dog"), ("", "by a Fire-Hydrant")],
    ]
    assert figure.read_text().count("<image ") == 2


def test_figures_of_wrong_images_are_refused(folder: Path) -> None:
    figure = ("--figure", str(folder / "figure.pdf"))
    for options, error in (
        (figure, "--figure and --choose require each other"),
        (("--choose", "1"), "--figure and --choose require each other"),
        (("--choose", "1", "--figure", "figure.jpg"), r"must end with .pdf, .png, .svg \(got figure.jpg\)"),
        (
            ("--choose", "1,7", *figure),
            r"--choose must list ids of images with references, such as '1' \(got '7'\)",
        ),
        (
            ("--choose", ",", *figure),
            r"--choose must list ids of images with references, such as '1' \(got none\)",
        ),
        (
            ("--choose", "1", *figure, "--images", "https://images.example/{id}.jpg"),
            r"--figure requires --images with files \(got 'https://images.example/1.jpg'\)",
        ),
    ):
        with pytest.raises(OptionError, match=error):
            run(folder, *options)
    with pytest.raises(OptionError, match="--choose: image '3' is without a picture among --images"):
        run(folder, "--choose", "3", *figure, "--images", "pictures")
    (folder / "pictures" / "1.gif").write_bytes(b"no picture")
    with pytest.raises(OptionError, match=r"1\.gif: not a picture that can be read"):
        run(folder, "--choose", "1", *figure, "--images", "pictures")


def test_what_is_wrong_is_named(folder: Path) -> None:
    with pytest.raises(OptionError, match="--embed requires --images"):
        run(folder, "--embed")
    with pytest.raises(
        OptionError, match=r"a picture in a page must be a file with the suffix .avif, .* .got 'https:"
    ):
        run(folder, "--images", "https://images.example/{id}.jpg", "--embed")
    (folder / "domains.json").write_text('{"near": [1, 2], "in": [2]}')
    with pytest.raises(OptionError, match=r"must be in only one domain \(got image 2 in 'near' and 'in'\)"):
        run(folder, "--domains", "domains.json")
    (folder / "domains.json").write_text('{"near": [1, 7]}')
    with pytest.raises(
        MismatchError, match=r"domains\.json: subset 'near': image 7 is not among the references"
    ):
        run(folder, "--domains", "domains.json")
    (folder / "constraints.json").write_text('[{"image_id": 7, "constraints": []}]')
    with pytest.raises(OptionError, match=r"constraints\.json must contain images that have references"):
        run(folder, "--constraints", "constraints.json")
    (folder / "constraints.json").write_text("[{}]")
    with pytest.raises(FormatError, match=r"constraints.json: entries\[0\] must have the key 'image_id'"):
        run(folder, "--constraints", "constraints.json")


def test_a_picture_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        embed_pictures({1: "1.jpg"}, tmp_path / "page.html")
    (tmp_path / "a b.JPG").write_bytes(PIXEL)
    assert embed_pictures({1: "a%20b.JPG"}, tmp_path / "page.html")[1].startswith(
        "data:image/jpeg;base64,R0lG"
    )
