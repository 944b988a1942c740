"""The browser of captions in the HTML report: a page that is opened as a file."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from capeval import Candidates, References, evaluate
from capeval.report import System, to_html
from capeval.report.browser import ImageDetails
from tests.browser.conftest import DESKTOP, PHONE, Reader

METRICS = ("BLEU-2", "ROUGE-L", "CIDEr-D")
REFERENCES = References(
    {
        **{
            image: [f"a man number {image} rides a horse", "one man on a brown horse"]
            for image in range(1, 46)
        },
        90: ["a cat sleeps on a bed", "the cat"],
    }
)
GOOD = Candidates({**{image: f"a man number {image} rides" for image in range(1, 46)}, 90: "a cat on a bed"})
BAD = Candidates({**dict.fromkeys(range(1, 46), "nobody"), 90: "a cat sleeps on a bed"})
PIXEL = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")

# Captions that a page, a script or the eye could take for something else. Each is its own reference, too.
HOSTILE = (
    "</script><script>window.stolen = 1</script> a man",
    "<img src=x onerror='window.stolen = 1'> & <!-- a dog",
    "abc \u202e man \u2066 on a horse",
    "It's a \"dog\" (small) with 25 1/2 & color ... don't!",
    "CAF\u00c9 \u0130stanbul \u540d\u524d \U0001f600 na\u00efve",
    "a\u2028b\u2029c\u0000d\r\ne\tf",
    "-lrb- ( ) [ ] { } `` '' -",
)


def report(folder: Path, systems: dict[str, Candidates], references: References, **options: Any) -> str:
    made = [System(name=name, report=evaluate(references, said, METRICS)) for name, said in systems.items()]
    path = folder / "report.html"
    page = to_html(made, references=references, candidates=systems, **options)
    path.write_text(page, encoding="utf-8", newline="")
    return path.as_uri()


def opened(reader: Reader, address: str) -> Locator:
    reader.page.goto(address)
    captions = reader.page.get_by_role("region", name="Captions")
    expect(captions).to_be_visible()
    return captions


def field(captions: Locator, name: str) -> Locator:
    return captions.get_by_role("combobox", name=name, exact=True)


def images(captions: Locator) -> list[str]:
    return [
        text.removeprefix("Image ") for text in captions.locator("h3 > span:first-child").all_text_contents()
    ]


def unmarked(place: Locator) -> str:
    """The text of a caption outside of its marks."""
    return str(
        place.evaluate("e => [...e.childNodes].filter(c => c.nodeName === '#text').map(c => c.data).join('')")
    )


@pytest.fixture
def two(reader: Reader, tmp_path: Path) -> Locator:
    return opened(reader, report(tmp_path, {"good": GOOD, "bad": BAD}, REFERENCES))


def test_searching(two: Locator, reader: Reader) -> None:
    status = two.get_by_role("status")
    expect(status).to_have_text("Images 1\u201320 of 46")
    reader.look()
    two.get_by_label("Search").fill('"on a bed" CAT')
    expect(status).to_have_text("Images 1\u20131 of 1")
    assert images(two) == ["90"]
    two.get_by_label("Search").fill("17")
    assert images(two) == ["17"]
    # The word is in no reference.
    two.get_by_label("Search").fill("nobody")
    expect(status).to_have_text("Images 1\u201320 of 45")
    field(two, "in").select_option("references")
    expect(status).to_have_text("No images match the filters.")
    reader.look()
    # The query is preserved when the page is reloaded.
    reader.page.reload()
    expect(two.get_by_label("Search")).to_have_value("nobody")
    expect(status).to_have_text("No images match the filters.")


def test_sorting(two: Locator) -> None:
    values = evaluate(REFERENCES, GOOD, METRICS).per_image, evaluate(REFERENCES, BAD, METRICS).per_image
    ids = REFERENCES.image_ids

    def expected(key: Any) -> list[str]:
        return [str(ids[row]) for row in sorted(range(len(ids)), key=key)][:20]

    assert images(two) == expected(lambda row: -values[0]["CIDEr-D"][row].round(5))
    field(two, "Sort by").select_option("ROUGE-L")
    field(two, "Order").select_option("lowest first")
    assert images(two) == expected(lambda row: values[0]["ROUGE-L"][row].round(5))
    field(two, "minus the score of").select_option("bad")
    difference = values[0]["ROUGE-L"] - values[1]["ROUGE-L"]
    assert images(two) == expected(lambda row: difference[row].round(4))
    # The only image of which the second system says more.
    assert images(two)[0] == "90"
    expect(two.locator(".difference").first).to_have_text(
        f"ROUGE-L good \u2212 bad \u2212{abs(difference[-1]):.3f}"
    )
    field(two, "Order").select_option("as in the references")
    assert images(two) == [str(image) for image in ids[:20]]


def test_matched_n_grams_are_marked(two: Locator) -> None:
    two.get_by_label("Search").fill("cat")
    good, bad = two.locator(".caption").all()
    marks = [(mark.text_content(), mark.get_attribute("class")) for mark in good.locator("mark").all()]
    assert marks == [("a cat", "n2"), ("on a bed", "n3")]
    assert [mark.text_content() for mark in bad.locator("mark.n4").all()] == ["a cat sleeps on a bed"]
    first, second = two.locator("li").all()
    assert [mark.text_content() for mark in first.locator("mark").all()] == ["a cat", "on a bed"]
    assert (unmarked(first), second.locator("mark.n1").text_content()) == (" sleeps ", "cat")
    # The references show what the system that is sorted by has in common with them.
    field(two, "of").select_option("bad")
    expect(two.locator("li").first.locator("mark")).to_have_text("a cat sleeps on a bed")


def test_the_keyboard(two: Locator, reader: Reader) -> None:
    keyboard = reader.page.keyboard
    reader.tab_to(two.get_by_role("searchbox", name="Search"))
    for label in ("in", "Sort by", "of", "minus the score of", "Order"):
        reader.tab_to(field(two, label))
    reader.tab_to(two.get_by_role("button", name="Next").first)
    keyboard.press("Enter")
    status = two.get_by_role("status")
    expect(status).to_have_text("Images 21\u201340 of 46")
    cards = two.get_by_role("article")
    reader.tab_to(cards.first)
    keyboard.press("ArrowDown")
    expect(cards.nth(1)).to_be_focused()
    keyboard.press("ArrowUp")
    keyboard.press("ArrowUp")
    expect(status).to_have_text("Images 1\u201320 of 46")
    expect(cards.nth(19)).to_be_focused()
    keyboard.press("ArrowDown")
    keyboard.press("ArrowRight")
    expect(status).to_have_text("Images 41\u201346 of 46")
    expect(cards.first).to_be_focused()
    keyboard.press("ArrowRight")
    expect(status).to_have_text("Images 41\u201346 of 46")
    keyboard.press("ArrowLeft")
    expect(status).to_have_text("Images 21\u201340 of 46")
    reader.look()


@pytest.mark.filterwarnings("ignore:.*a line end other than")
def test_hostile_captions_are_text(reader: Reader, tmp_path: Path) -> None:
    said = Candidates({f"<b>{place}</b>": text for place, text in enumerate(HOSTILE)})
    references = References({image: [caption[0], "a man"] for image, caption in said.items()})
    captions = opened(reader, report(tmp_path, {"<i>one</i>": said, "</script>": said}, references))
    field(captions, "Order").select_option("as in the references")
    assert images(captions) == list(said)
    assert reader.page.evaluate("window.stolen") is None
    shown = captions.locator("article").evaluate_all(
        "cards => cards.map(card => card.querySelector('.caption').textContent)"
    )
    assert shown == list(HOSTILE)
    # All words are matched, however the tokenizer writes them.
    for place in captions.locator(".caption").all():
        assert not any(letter.isalnum() for letter in unmarked(place)), place.text_content()
    # An override of the direction ends with its caption.
    assert captions.locator(".caption").first.evaluate("e => getComputedStyle(e).unicodeBidi") == "isolate"
    reader.look()


def test_captions_without_words_and_endless_ones(reader: Reader, tmp_path: Path) -> None:
    said = Candidates({1: "", 2: "? !", 3: "word " * 20_000})
    references = References({1: ["a dog"], 2: ["a cat"], 3: ["word word"]})
    captions = opened(reader, report(tmp_path, {"one": said}, references))
    field(captions, "Order").select_option("as in the references")
    texts = captions.locator(".caption").all_text_contents()
    assert texts[:2] == ["no caption", "? !"]
    assert texts[2].endswith("\u2026 (100,000 characters)")
    assert len(texts[2]) < 2100
    assert field(captions, "of").count() == 0


def test_scores_that_images_do_not_have_come_last(reader: Reader, tmp_path: Path) -> None:
    made = evaluate(REFERENCES, GOOD, METRICS)
    made.per_image["CIDEr-D"][3] = float("nan")
    page = to_html([System(name="a", report=made)], references=REFERENCES, candidates={"a": GOOD})
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    captions = opened(reader, (tmp_path / "report.html").as_uri())
    for order in ("highest first", "lowest first"):
        field(captions, "Order").select_option(order)
        captions.get_by_role("button", name="Next").first.click()
        captions.get_by_role("button", name="Next").first.click()
        assert images(captions)[-1] == "4"
    expect(captions.locator("article").last.locator("dl div").last).to_have_text("CIDEr-D\u2013")


def test_pictures_beside_the_captions(reader: Reader, tmp_path: Path) -> None:
    (tmp_path / "one two.gif").write_bytes(PIXEL)
    pictures = {1: "one%20two.gif", 2: "missing.gif"}
    references, said = References(REFERENCES.select([1, 2, 3])), GOOD.select([1, 2, 3])
    address = report(tmp_path, {"a": said}, references, pictures=pictures)
    # The picture that is missing is a complaint of the browser, and no fault of the page.
    reader.page.on("requestfailed", lambda request: reader.complaints.clear())
    reader.page.goto(address)
    captions = reader.page.get_by_role("region", name="Captions")
    field(captions, "Order").select_option("as in the references")
    picture = captions.get_by_role("img", name="Image 1")
    expect(picture).to_have_js_property("naturalWidth", 1)
    # Pictures are loaded when they come close to the window.
    captions.locator(".card").last.scroll_into_view_if_needed()
    expect(captions.get_by_text("no image")).to_have_count(2)


# Six systems; the first four mention the objects with increasing frequency.
OBJECTS = {"man": ("man", "men"), "brown horse": ("brown horse", "horses")}
SIDE_BY_SIDE = {
    f"system {number}": Candidates(
        {
            **{image: f"a man {'on a brown horse' * (image % 6 < number)}" for image in range(1, 46)},
            90: "a cat on a bed",
        }
    )
    for number in range(6)
}
DETAILS = ImageDetails(
    domains={image: "near-domain" if image < 30 else "out-domain" for image in range(1, 46)},
    constraints={image: OBJECTS if image < 40 else {"man": ("man",)} for image in range(1, 46)},
)


@pytest.fixture
def six(reader: Reader, tmp_path: Path) -> Locator:
    return opened(reader, report(tmp_path, SIDE_BY_SIDE, REFERENCES, details=DETAILS, brief=True))


def test_filtering_by_domain_and_object(six: Locator, reader: Reader) -> None:
    status = six.get_by_role("status")
    field(six, "Domain").select_option("out-domain")
    expect(status).to_have_text("Images 1\u201316 of 16")
    expect(six.get_by_role("article").first).to_contain_text("out-domain")
    field(six, "Object").select_option("brown horse")
    expect(status).to_have_text("Images 1\u201310 of 10")
    # Of the system that is sorted by, whether it mentions all of them.
    field(six, "of").select_option("system 3")
    field(six, "Mentioned").select_option("all objects")
    said = [image for image in range(30, 40) if image % 6 < 3]
    expect(status).to_have_text(f"Images 1\u2013{len(said)} of {len(said)}")
    assert sorted(images(six)) == [str(image) for image in said]
    field(six, "Mentioned").select_option("not all objects")
    expect(status).to_have_text(f"Images 1\u2013{10 - len(said)} of {10 - len(said)}")
    # A link that is kept shows the same again.
    reader.page.reload()
    expect(status).to_have_text(f"Images 1\u2013{10 - len(said)} of {10 - len(said)}")
    field(six, "Domain").select_option("near-domain")
    field(six, "Object").select_option("any")
    field(six, "Mentioned").select_option("any")
    expect(status).to_have_text("Images 1\u201320 of 29")
    reader.look()


def test_filtering_by_the_difference_of_two_systems(six: Locator) -> None:
    status = six.get_by_role("status")
    field(six, "Sort by").select_option("BLEU-2")
    field(six, "of").select_option("system 5")
    field(six, "minus the score of").select_option("system 0")
    six.get_by_label("Score from").fill("0.001")
    better = sum(image % 6 < 5 for image in range(1, 46))
    expect(status).to_have_text(f"Images 1\u201320 of {better}")
    six.get_by_label("Score from").fill("-0.1")
    six.get_by_label("to", exact=True).fill("0")
    expect(status).to_have_text(f"Images 1\u2013{46 - better} of {46 - better}")
    six.get_by_label("Score from").fill("3")
    expect(status).to_have_text("No images match the filters.")


def test_words_that_mention_objects_are_marked(six: Locator, reader: Reader) -> None:
    six.get_by_label("Search").fill('"number 2 rides"')
    card = six.get_by_role("article")
    expect(card).to_have_count(1)
    sides = card.locator(".said > div")
    expect(sides).to_have_count(6)
    assert sides.nth(0).locator("mark.mentioned").all_text_contents() == ["man"]
    assert sides.nth(5).locator("mark.mentioned").all_text_contents() == ["man", "brown horse"]
    objects = [each.get_by_role("list", name="Objects to mention") for each in (sides.nth(0), sides.nth(5))]
    assert [each.get_by_role("listitem").all_text_contents() for each in objects] == [
        ["\u2713 man", "\u2717 brown horse"],
        ["\u2713 man", "\u2713 brown horse"],
    ]
    # References are not marked so.
    expect(card.locator(".known mark.mentioned")).to_have_count(0)
    reader.look()


@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)], ids=["desktop", "phone"])
def test_six_systems_are_looked_at(six: Locator, reader: Reader, scheme: Any, size: Any) -> None:
    reader.page.emulate_media(color_scheme=scheme)
    reader.page.set_viewport_size(size)
    sides = six.get_by_role("article").first.locator(".said > div")
    boxes = [each.bounding_box() for each in sides.all()]
    columns = {round(box["x"]) for box in boxes if box is not None}
    assert len(columns) == (1 if size == PHONE else 3)
    reader.look()


def test_the_keyboard_with_six_systems(six: Locator, reader: Reader) -> None:
    first = six.get_by_role("article").first
    first.focus()
    reader.page.keyboard.press("ArrowDown")
    expect(six.get_by_role("article").nth(1)).to_be_focused()
    reader.page.keyboard.press("ArrowRight")
    expect(six.get_by_role("status")).to_have_text("Images 21\u201340 of 46")


def test_chosen_images_are_listed_for_a_figure(reader: Reader, tmp_path: Path) -> None:
    captions = opened(reader, report(tmp_path, {"good": GOOD}, REFERENCES))
    line = captions.get_by_text("Chosen for a figure")
    expect(line).to_be_hidden()
    cards = captions.get_by_role("article")
    first, second = images(captions)[:2]
    for card in (cards.nth(1), cards.nth(0)):
        card.get_by_role("checkbox", name="Choose").check()
    expect(line).to_contain_text(f"--choose {second},{first}")
    reader.page.reload()
    expect(line).to_contain_text(f"--choose {second},{first}")
    expect(cards.nth(0).get_by_role("checkbox", name="Choose")).to_be_checked()
    for card in (cards.nth(0), cards.nth(1)):
        card.get_by_role("checkbox", name="Choose").uncheck()
    expect(line).to_be_hidden()
