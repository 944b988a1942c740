"""From signing up to standing on the leaderboard, and an organizer's day, by keyboard."""

from __future__ import annotations

import io
import time
from statistics import median

import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, expect

from tests.browser.conftest import BOTH_SCREENS, DESKTOP, PASSWORD, PHONE, Visitor
from tests.server.kit import RESULTS, results
from tests.server.processes import Server


@pytest.fixture
def name() -> str:
    return f"person{time.monotonic_ns()}"


def _sign_up(visitor: Visitor, name: str) -> None:
    visitor.go("/")
    visitor.press("Sign up", "link")
    visitor.write("Username", name)
    visitor.write("Email", f"{name}@example.org")
    visitor.write("Password", PASSWORD)
    visitor.write("Password (again)", PASSWORD)
    visitor.press("Sign up")
    # The server writes its mail to the log.
    visitor.go(visitor.site.wait_for_log(rf"To: {name}@[\s\S]*?http://\S+(/accounts/confirm-email/\S+)"))
    visitor.press("Confirm")
    visitor.log_in(name)


def _join(visitor: Visitor) -> None:
    visitor.go("/small/")
    visitor.press("Take part", "link")
    visitor.tick("I have read and accept the rules")
    visitor.press("Join")


def _submit(visitor: Visitor) -> None:
    visitor.go("/small/open/submit/")
    visitor.choose_file("File", RESULTS, results())
    visitor.write("method", "Written by hand")
    visitor.press("Submit as")


@BOTH_SCREENS
def test_from_signing_up_to_the_leaderboard(visitor: Visitor, name: str) -> None:
    _sign_up(visitor, name)
    _join(visitor)
    _submit(visitor)
    # The page is not loaded again: the state comes by itself.
    visitor.page.evaluate("window.kept = true")
    expect(visitor.page.get_by_text("scored", exact=True).first).to_be_visible()
    assert visitor.page.evaluate("window.kept") is True
    visitor.look()
    expect(
        visitor.page.get_by_role("cell", name="CIDEr-D")
        .or_(visitor.page.get_by_role("rowheader", name="CIDEr-D"))
        .first
    ).to_be_visible()
    # The first submission of a team is its best one.
    expect(visitor.page.get_by_text("It is on the leaderboard.")).to_be_visible()
    visitor.go("/small/open/")
    row = visitor.page.get_by_role("row").filter(has_text=name)
    expect(row).to_be_visible()
    visitor.press("BLEU-4", "link")
    assert "sort_by=BLEU-4" in visitor.page.url
    visitor.press(name, "link")
    assert "/submissions/" in visitor.page.url


def test_a_wrong_file_is_named(visitor: Visitor, name: str) -> None:
    visitor.enter(name)
    _join(visitor)
    visitor.go("/small/open/submit/")
    visitor.choose_file("File", RESULTS, b'[{"image_id": 1, "caption": "a"}]')
    visitor.write("method", "Half done")
    visitor.press("Submit as")
    expect(visitor.page.get_by_text("5 images (2, 3, 4, 5, 6) are missing a caption")).to_be_visible()
    expect(visitor.page.get_by_text("5 of 5")).to_be_visible()


def test_an_organizer_scores_again(visitor: Visitor, name: str) -> None:
    visitor.enter(name)
    _join(visitor)
    _submit(visitor)
    expect(visitor.page.get_by_text("scored", exact=True).first).to_be_visible()
    address = visitor.page.url
    visitor.site.run("organizer", "small", name)
    visitor.go("/small/organize/")
    submission = address.rstrip("/").rpartition("/")[2]
    visitor.go(f"/small/organize/submissions/{submission}/")
    visitor.press("Score again")
    visitor.site.wait_for_log(f"{submission}: done", times=2)
    expect(visitor.page.get_by_text("scored", exact=True).first).to_be_visible()
    visitor.look()


@BOTH_SCREENS
def test_every_page_for_organizers(visitor: Visitor, name: str) -> None:
    visitor.enter(name)
    _join(visitor)
    _submit(visitor)
    visitor.site.run("organizer", "small", name)
    visitor.go("/small/organize/")
    addresses = visitor.page.locator("a[href^='/small/organize/']").evaluate_all(
        "links => links.map(link => link.getAttribute('href'))"
    )
    visited = {address for address in addresses if "export" not in address}
    assert len(visited) >= 10
    for address in sorted(visited):
        visitor.go(address)


@BOTH_SCREENS
def test_every_page_for_everybody(visitor: Visitor, name: str) -> None:
    for address in (
        "/",
        "/small/",
        "/small/data/",
        "/small/rules/",
        "/small/open/",
        "/jobs/",
        "/accounts/password/reset/",
    ):
        visitor.go(address)
    visitor.enter(name)
    _join(visitor)
    for address in ("/small/team/", "/small/submissions/", "/tokens/", "/accounts/email/", "/accounts/2fa/"):
        visitor.go(address)


@pytest.mark.parametrize(
    ("zone", "here"), [("America/New_York", "(2035-12-31 19:00 EST)"), ("Asia/Kolkata", "(05:30 GMT+5:30)")]
)
def test_times_are_shown_where_the_reader_is_too(
    browser: Browser, site: Server, zone: str, here: str
) -> None:
    with browser.new_context(viewport=DESKTOP, timezone_id=zone, locale="en-US") as context:
        visitor = Visitor(site, context)
        visitor.go("/small/")
        expect(visitor.page.get_by_text(f"2036-01-01 00:00 UTC {here}")).to_be_visible()


def test_a_reader_in_utc_sees_each_time_once(browser: Browser, site: Server) -> None:
    with browser.new_context(viewport=DESKTOP, timezone_id="UTC") as context:
        visitor = Visitor(site, context)
        visitor.go("/small/")
        expect(visitor.page.get_by_text("2036-01-01 00:00 UTC")).to_be_visible()
        expect(visitor.page.locator(".here")).to_have_count(0)


def _measure_right_edge(box: Locator) -> float:
    """Return the median brightness of the pixels at the right edge, from 0 to 255."""
    picture = Image.open(io.BytesIO(box.screenshot(animations="disabled"))).convert("L")
    right = picture.width - 1
    return median(picture.crop((right, 0, right + 1, picture.height)).tobytes())


def test_heads_stay_over_their_columns_on_a_phone(browser: Browser, site: Server, name: str) -> None:
    with browser.new_context(viewport=PHONE) as context:
        visitor = Visitor(site, context)
        visitor.enter(name)
        _join(visitor)
        _submit(visitor)
        expect(visitor.page.get_by_text("scored", exact=True).first).to_be_visible()
        visitor.go("/small/open/")
        board = visitor.page.locator(".scroll:has(> .board)")
        # More rows than the screen has room for, and scrolled both ways.
        board.locator("tbody tr").first.evaluate(
            "row => { for (let i = 0; i < 30; i++) row.after(row.cloneNode(true)); }"
        )
        # A shadow shows that the table continues, until the keyboard has scrolled it to its end.
        assert _measure_right_edge(board) < 210
        board.focus()
        while board.evaluate("box => box.scrollLeft + box.clientWidth < box.scrollWidth - 1"):
            visitor.page.keyboard.press("ArrowRight")
        assert _measure_right_edge(board) > 235
        board.evaluate("box => box.scrollTo(60, 600)")
        tops = board.evaluate(
            """box => [box.scrollTop, box.getBoundingClientRect().top,
                ...[...box.querySelectorAll("thead tr:last-child th")].map(
                    head => head.getBoundingClientRect().top)]"""
        )
        scrolled, top, *heads = tops
        assert scrolled > 0
        assert heads
        assert all(abs(head - top) <= 1 for head in heads)
        # Each head is over the cells of its column.
        lefts = board.evaluate(
            """box => ["thead tr:last-child", "tbody tr:last-child"].map(row =>
                [...box.querySelectorAll(`${row} > *`)].slice(2).map(
                    cell => Math.round(cell.getBoundingClientRect().left)))"""
        )
        assert lefts[0] == lefts[1]
