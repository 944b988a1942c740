"""The browser test of the gate: a visitor signs in and reads a leaderboard."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import Visitor


def test_a_leaderboard_after_signing_in(visitor: Visitor) -> None:
    visitor.go("/")
    visitor.press("Sign in", "link")
    visitor.enter("reader")
    visitor.go("/small/")
    visitor.press("Leaderboard", "link")
    expect(visitor.page.get_by_role("columnheader", name="CIDEr-D")).to_be_visible()
