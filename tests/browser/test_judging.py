"""Judging with the keyboard only and in screen reader order, on desktop and phone screens."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.server.campaigns import STUDY_LINES
from tests.server.processes import Server

PAIR = {"first": "a hound on grass", "second": "two cats asleep"}
ITEMS: dict[str, dict[str, Any]] = {
    "triplet": {"reference": "a dog on a lawn", **PAIR},
    "pairwise": {"image": "picture.jpg", **PAIR},
    "m1": {"image": "picture.jpg", "candidate": "a hound", "human": "a dog", "system": "CANARY-system"},
    "m2": {"image": "picture.jpg", "caption": "a hound on grass", "system": "CANARY-system"},
    "m3": {"image": "picture.jpg", "caption": "a hound on grass", "system": "CANARY-system"},
    "m4": {"image": "picture.jpg", "caption": "a hound on grass", "system": "CANARY-system"},
    "m5": {"candidate": "a hound", "human": "a dog", "system": "CANARY-system"},
    "rating": {"image": "picture.jpg", "caption": "a hound on grass", "system": "CANARY-system"},
}


def campaign(site: Server, folder: Path, kind: str, number: int) -> tuple[str, str]:
    """A new open campaign, and the address of an invite."""
    slug = f"{kind}-{time.monotonic_ns()}"
    (folder / "images").mkdir(exist_ok=True)
    Image.new("RGB", (320, 200), (120, 160, 120)).save(folder / "images" / "picture.jpg")
    lines = (
        json.dumps({"key": str(key), "group": "CANARY-group", "category": "CANARY-class", **ITEMS[kind]})
        for key in range(number)
    )
    (folder / "items.jsonl").write_text("\n".join(lines))
    images = 'images = "images"' if "image" in ITEMS[kind] else ""
    (folder / "campaign.toml").write_text(
        f'[campaign]\nslug = "{slug}"\ntitle = "Judge"\nkind = "{kind}"\nitems = "items.jsonl"\n{images}\n'
        f"[settings]\nanswers = 1\ncheck_every = 0\n{STUDY_LINES}"
    )
    site.run("annotate", "create", str(folder / "campaign.toml"))
    site.run("annotate", "state", slug, "open")
    token = site.run("annotate", "invite", slug).split()[-1]
    return slug, f"/annotate/{slug}/enter/{token}/"


def begin(visitor: Visitor, address: str) -> None:
    visitor.go(address)
    visitor.press("I agree – start")


def votes(site: Server, slug: str, folder: Path) -> list[Mapping[str, str]]:
    site.run("annotate", "results", slug, str(folder / "out"))
    with (folder / "out" / "votes.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def shown_place(visitor: Visitor) -> str:
    return visitor.page.locator(".item:visible").get_attribute("aria-label") or ""


def test_twenty_triplets_from_the_home_row_with_undo(visitor: Visitor, site: Server, tmp_path: Path) -> None:
    slug, address = campaign(site, tmp_path, "triplet", 20)
    begin(visitor, address)
    keyboard, page = visitor.page.keyboard, visitor.page
    for batch in range(2):
        for place in range(1, 11):
            expect(page.locator(".item:visible")).to_have_attribute("aria-label", f"Item {place} of 10")
            keyboard.press("f")
            if (batch, place) == (0, 3):
                # The third is taken back, and answered again with the other side.
                expect(page.locator(".item:visible")).to_have_attribute("aria-label", "Item 4 of 10")
                keyboard.press("h")
                expect(page.locator(".item:visible")).to_have_attribute("aria-label", "Item 3 of 10")
                keyboard.press("j")
        expect(page.locator("#finished")).to_be_visible()
        visitor.look()
        with page.expect_navigation():
            keyboard.press("j")
    expect(page.get_by_text("There is no work for you now.")).to_be_visible()
    rows = votes(site, slug, tmp_path)
    assert len(rows) == 20
    # "f" chooses the left side; triplets.csv has the first on the left.
    right = [row for row in rows if (row["choice"] == "right") != (row["mirrored"] == "1")]
    assert len(right) == 1


SECONDS = """
from capeval_server.annotation.models import Response
rows = Response.objects.filter(item__campaign__slug=sys.argv[1]).order_by("pk")
print([row.events["seconds"] for row in rows])
"""


def test_the_time_of_an_answer_begins_when_its_item_is_shown(
    visitor: Visitor, site: Server, tmp_path: Path
) -> None:
    slug, address = campaign(site, tmp_path, "triplet", 3)
    page = visitor.page
    page.clock.install()
    begin(visitor, address)
    for place, seconds in enumerate((100, 30, 200), start=1):
        expect(page.locator(".item:visible")).to_have_attribute("aria-label", f"Item {place} of 3")
        page.clock.fast_forward(1000 * seconds)
        page.keyboard.press("f")
    with page.expect_navigation():
        page.locator("#finished").get_by_role("link", name="Continue").click()
    first, second, third = json.loads(site.python(SECONDS, slug))
    # The test itself takes some seconds.
    assert 100 <= first < 130
    assert 30 <= second < 60
    assert 200 <= third < 230


@pytest.mark.parametrize("kind", ["triplet", "m5"])
def test_without_an_image_by_screen_reader_alone(
    visitor: Visitor, site: Server, tmp_path: Path, kind: str
) -> None:
    _, address = campaign(site, tmp_path, kind, 1)
    begin(visitor, address)
    page = visitor.page
    assert page.locator("main img").count() == 0
    # The order of a screen reader: the sentences, the question, the choices.
    said = page.locator("main").aria_snapshot()
    heading = page.get_by_role("heading", level=1).inner_text()
    parts = (
        ["a dog on a lawn", "Your choice", 'button "B', 'button "C']
        if kind == "triplet"
        else ["a hound", "a dog", 'button "Yes', 'button "No']
    )
    assert page.get_by_role("banner").get_by_role("heading", level=1).inner_text() == heading
    places = [said.index(part) for part in parts]
    if kind == "m5":
        # The two sentences are in either order.
        places[:2] = sorted(places[:2])
    assert places == sorted(places), said
    # Without single keys: Tab, and a choice by the space bar.
    group = page.get_by_role(
        "group", name="Your choice" if kind == "triplet" else "Do the sentences say the same?"
    )
    visitor.tab_to(group.get_by_role("button").first)
    page.keyboard.press("Space")
    expect(page.get_by_role("region", name="End of these items")).to_be_visible()
    assert page.evaluate("document.activeElement.id") == "finished"


@pytest.mark.parametrize("kind", sorted(ITEMS))
def test_every_kind_is_accessible_and_tells_nothing(
    visitor: Visitor, site: Server, tmp_path: Path, kind: str
) -> None:
    _, address = campaign(site, tmp_path, kind, 2)
    heard: list[str] = []
    visitor.page.on("response", lambda answer: heard.append(_text(answer)))
    begin(visitor, address)
    page = visitor.page
    item = page.locator(".item:visible")
    for size in item.locator("input[type=radio], button:visible").all():
        target = size.evaluate(_TARGET)
        assert target >= 24, f"{size} is {target} pixels high"
    page.set_viewport_size({"width": 360, "height": 500})
    if kind == "rating":
        for fieldset in item.locator("fieldset").all():
            fieldset.get_by_role("radio").first.check()
        item.get_by_role("button", name="Submit").first.click()
    else:
        item.locator(".option").first.click()
    expect(page.locator(".item:visible")).to_have_attribute("aria-label", "Item 2 of 2")
    # The next item starts in view, also if the screen was scrolled to the last button.
    assert item.evaluate("element => element.getBoundingClientRect().top") >= 0
    item.locator(".aside summary").click()
    visitor.look()
    assert heard
    assert not [text for text in heard if "CANARY" in text]


# A radio button is pressed by its label too.
_TARGET = """element => Math.max(element.getBoundingClientRect().height,
  ...[...(element.labels || [])].map((label) => label.getBoundingClientRect().height))"""


def _text(answer: Any) -> str:
    kinds = ("text/html", "application/json")
    if not answer.headers.get("content-type", "").startswith(kinds) or answer.status in (301, 302):
        return ""
    return str(answer.text())


def test_keys_can_be_changed_and_switched_off_and_rest_in_fields(
    visitor: Visitor, site: Server, tmp_path: Path
) -> None:
    _, address = campaign(site, tmp_path, "triplet", 4)
    begin(visitor, address)
    page = visitor.page
    item = page.locator(".item:visible")
    page.locator(".keys summary").click()
    page.get_by_label("B", exact=True).fill("x")
    page.get_by_label("B", exact=True).press("Tab")
    # A key that is pressed in a field, or a control, is typed there and chooses nothing.
    page.get_by_label("C", exact=True).press("x")
    expect(item).to_have_attribute("aria-label", "Item 1 of 4")
    # The keys choose again once the panel is closed, while its button has the focus.
    page.locator(".keys summary").click()
    page.keyboard.press("f")
    expect(item).to_have_attribute("aria-label", "Item 1 of 4")
    page.keyboard.press("x")
    expect(item).to_have_attribute("aria-label", "Item 2 of 4")
    expect(page.get_by_role("button", name="Undo the last answer").locator("kbd")).to_have_text("h")
    page.locator(".keys summary").click()
    page.locator("#keys-on").uncheck()
    page.locator("h1").click()
    page.keyboard.press("x")
    # They are kept over a load of the page.
    page.reload()
    assert page.locator("#key-0").input_value() == "x"
    assert not page.locator("#keys-on").is_checked()
    expect(item).to_have_attribute("aria-label", "Item 2 of 4")
