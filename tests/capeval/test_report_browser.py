"""Data and image URLs on the page of the caption browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capeval import Candidates, References, Tokenizer, evaluate
from capeval.data.captions import ImageId
from capeval.errors import MismatchError, OptionError
from capeval.formats.images import load_file_names
from capeval.report import System, to_html
from capeval.report.browser import browser_data, caption_browser
from capeval.report.images import find_picture_urls, needs_file_names
from capeval.tokenizers import tokenize

# Some captions contain line ends on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:.*a line end other than")

CAPTIONS = (
    *(
        "A dog runs.",
        "a dog",
        "It's a dog",
        "black-and-white",
        "(small) dogs",
        "Caf\xe9",
        "",
        "?!",
        "a  b\nc",
    ),
    *(
        "'a' -- b-",
        "25 1/2 miles",
        "</script><!--",
        "U.S. \u201cfun\u201d",
        "\u202ea\u2028b",
        "don't 'n' isn't",
    ),
)
SAID = Candidates(dict(enumerate(CAPTIONS)))
REFERENCES = References({image: [text[0], "a dog"] for image, text in SAID.items()})


def system(
    name: str = "a", said: Candidates = SAID, references: References = REFERENCES, **options: Any
) -> System:
    return System(name=name, report=evaluate(references, said, ["BLEU-2", "ROUGE-L"], **options))


def tokens_of(text: str, stored: str | None) -> list[str]:
    """The rule of the script."""
    if stored is None:
        return [word.lower() for word in re.findall(r"[A-Za-z0-9'-]+", text)]
    return stored.split(" ") if stored else []


@pytest.mark.parametrize(
    "tokenizer",
    [Tokenizer(), Tokenizer(punctuation="keep"), Tokenizer(lowercase=False), Tokenizer(kind="none")],
    ids=str,
)
def test_the_script_has_the_tokens_of_capeval(tokenizer: Tokenizer) -> None:
    made = system(tokenizer=tokenizer)
    data = browser_data([made], REFERENCES, {"a": SAID}, tokenizer=tokenizer)
    data = json.loads(json.dumps(data))
    known, said = data["tokens"]
    for position, text in enumerate(CAPTIONS):
        expected = [token for token in tokenize([text], tokenizer)[0] if token]
        assert [each for each in tokens_of(text, said.get(str(position))) if each] == expected
        assert known.get(str(2 * position)) == said.get(str(position))
    if tokenizer == Tokenizer():
        # Most captions need no tokens in the page: that halves it.
        assert "0" not in said
        assert "1" not in known
        assert said["2"] == "it 's a dog"


def test_scores_are_whole_numbers_and_none_where_there_is_none() -> None:
    made = system()
    made.report.per_image["ROUGE-L"][2] = np.nan
    data = browser_data([made], REFERENCES, {"a": SAID}, tokenizer=Tokenizer())
    assert data["scores"] == ["BLEU-2", "ROUGE-L"]
    values = data["values"][0][1]
    assert values[2] is None
    assert values[0] == data["scale"]
    for value, score in zip(values, made.report.per_image["ROUGE-L"], strict=True):
        assert value is None or abs(value / data["scale"] - score) <= 0.5 / data["scale"]


def test_ids_of_64_bits_stay() -> None:
    image = 2**63 - 1
    references, said = References({image: ["a dog"]}), Candidates({image: "a dog"})
    made = system(said=said, references=references)
    assert browser_data([made], references, {"a": said}, tokenizer=Tokenizer())["ids"] == [str(image)]


def test_captions_follow_the_order_of_the_scores() -> None:
    backwards = Candidates(dict(reversed(list(SAID.items()))))
    data = browser_data([system()], REFERENCES, {"a": backwards}, tokenizer=Tokenizer())
    assert data["candidates"] == [list(CAPTIONS)]
    assert [texts[0] for texts in data["references"]] == list(CAPTIONS)


def test_systems_of_other_images_are_refused() -> None:
    few = SAID.select([1, 2])
    made = system("b", few, REFERENCES.select([1, 2]))
    with pytest.raises(MismatchError, match="must have the same images"):
        browser_data([system(), made], REFERENCES, {"a": SAID, "b": few}, tokenizer=Tokenizer())


class Scripts(HTMLParser):
    """Collects the scripts of a page, and its policy."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.inside = False
        self.feed(page)
        found = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
        assert found is not None
        self.policy = unescape(found[1])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.texts.append(data)


def test_no_caption_can_end_the_data_and_only_the_script_may_run() -> None:
    page = to_html([system()], references=REFERENCES, candidates={"a": SAID})
    scripts = Scripts(page)
    content, code = scripts.texts
    assert json.loads(content)["candidates"] == [list(CAPTIONS)]
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    assert scripts.policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    # Text becomes an element's text, and never markup.
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", code)


@pytest.mark.parametrize(
    ("addresses", "allowed"),
    [
        (
            {0: "https://a.example:8/x.jpg", 1: "http://b.example/y.jpg"},
            "http://b.example https://a.example:8",
        ),
        ({0: "../images/0.jpg"}, "'self' file:"),
        ({0: "data:image/gif;base64,R0"}, "data:"),
    ],
)
def test_pictures_come_from_where_they_are_and_nowhere_else(
    addresses: dict[ImageId, str], allowed: str
) -> None:
    made = caption_browser(
        [system()], REFERENCES, {"a": SAID}, tokenizer=Tokenizer(), by="ROUGE-L", pictures=addresses
    )
    assert made.policy.partition("; img-src ")[2] == allowed
    pictures = browser_data([system()], REFERENCES, {"a": SAID}, tokenizer=Tokenizer(), pictures=addresses)[
        "pictures"
    ]
    shown = [None if m is None else pictures["before"] + m + pictures["after"] for m in pictures["middles"]]
    assert shown == [addresses.get(image) for image in SAID]


def test_an_address_can_not_widen_the_policy() -> None:
    for address in ("https://a.example; script-src */x", "https://*/x.jpg", "http:///x.jpg"):
        with pytest.raises(OptionError, match="plain host name"):
            to_html([system()], references=REFERENCES, candidates={"a": SAID}, pictures={0: address})


PAGE = Path("out/report.html")


def addresses(place: str, images: list[Any], names: dict[Any, str] | None = None) -> dict[Any, str]:
    return find_picture_urls(place, images, PAGE, file_names=names or {})


def test_patterns_of_addresses_and_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    coco = "https://images.example/COCO_val2014_{id:012}.jpg"
    assert addresses(coco, [42]) == {42: "https://images.example/COCO_val2014_000000000042.jpg"}
    assert addresses("http://x.example/{file_name}?w=1", [1], {1: "a b/c#.jpg"}) == {
        1: "http://x.example/a%20b/c%23.jpg?w=1"
    }
    assert addresses("https://x.example/{id}", ["../a?b"]) == {"../a?b": "https://x.example/../a%3Fb"}
    # Paths are relative to the command, and links to the page.
    assert addresses("val/{id}.jpg", ["a b", "c"]) == {"a b": "../val/a%20b.jpg", "c": "../val/c.jpg"}
    assert needs_file_names("x/{file_name}")
    assert not needs_file_names("x/{id}.jpg")


def test_folders_of_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "images"
    folder.mkdir()
    for name in ("COCO_val2014_000000000042.jpg", "7.PNG", "a b.webp", "notes7.txt", "odd.jpg"):
        (folder / name).touch()
    assert needs_file_names("images")
    found = addresses("images", [42, 7, 8, 9], {8: "odd.jpg", 9: "missing.jpg"})
    assert found == {
        42: "../images/COCO_val2014_000000000042.jpg",
        7: "../images/7.PNG",
        8: "../images/odd.jpg",
    }
    assert addresses("images", ["a b.webp", "odd"]) == {
        "a b.webp": "../images/a%20b.webp",
        "odd": "../images/odd.jpg",
    }
    (folder / "000007.jpg").touch()
    with pytest.raises(MismatchError, match=r"image 7 must have one picture \(got 000007.jpg, 7.PNG\)"):
        addresses("images", [7])
    with pytest.raises(
        MismatchError, match=r"no picture is named after an image, such as 5.jpg or anything_5.jpg"
    ):
        addresses("images", [5])


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nowhere", "must be a folder, or a pattern with {id} or {file_name} (got 'nowhere')"),
        ("x/{name}.jpg", "must contain {id} or {file_name}"),
        ("x/{id.__class__}.jpg", "must contain {id} or {file_name}"),
        ("x/{}.jpg", "must contain {id}"),
        ("x/{id.jpg", "invalid braces in the pattern"),
        ("x/{id:012}.jpg", "{id} can have a format only if ids are integers"),
    ],
)
def test_other_places_are_refused(place: str, words: str) -> None:
    with pytest.raises(OptionError, match=re.escape(words)):
        addresses(place, ["a"])


def test_a_format_that_no_integer_has_is_refused() -> None:
    with pytest.raises(OptionError, match=r"'x/\{id:z\}.jpg' is invalid for image 5"):
        addresses("x/{id:z}.jpg", [5])


def test_an_image_without_a_file_name_is_named() -> None:
    with pytest.raises(MismatchError, match="image 2 is without a 'file_name' among the references"):
        addresses("https://x.example/{file_name}", [1, 2], {1: "a.jpg"})


def test_file_names_of_coco_annotations(tmp_path: Path) -> None:
    content = {
        "images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2}, {"id": 3, "file_name": None}],
        "annotations": [],
    }
    (tmp_path / "r.json").write_text(json.dumps(content))
    assert load_file_names(tmp_path / "r.json") == {1: "a.jpg"}
    for other in (b'[{"image_id": 1, "caption": "a"}]', b"image_id,caption\n1,a\n", b'{"images": [3]}'):
        assert load_file_names(other) == {}
