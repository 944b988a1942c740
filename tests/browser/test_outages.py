"""Open pages during a database outage: they report it and recover automatically."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.conftest import DESKTOP
from tests.server.processes import Server, running_postgres

NOTICE = "The server is not responding. This page retries automatically."


def test_open_pages_go_on_by_themselves(browser: Browser, tmp_path: Path) -> None:
    with running_postgres() as postgres:
        server = Server(tmp_path, postgres.new_database())
        try:
            server.prepare()
            server.start()
            page = browser.new_page(viewport=DESKTOP)
            page.goto(f"{server.root}/jobs/")
            other = browser.new_page(viewport=DESKTOP)
            expect(page.get_by_text(NOTICE)).to_be_hidden()
            postgres.stop()
            expect(page.get_by_text(NOTICE)).to_be_visible()
            page.screenshot(path=tmp_path / "away.png")
            other.goto(f"{server.root}/small/")
            expect(other.get_by_text("The database does not answer at the moment. This page")).to_be_visible()
            other.screenshot(path=tmp_path / "unavailable.png")
            postgres.start()
            expect(page.get_by_text(NOTICE)).to_be_hidden()
            expect(other.get_by_role("heading", name="A small challenge")).to_be_visible()
            # The server itself is away.
            server.kill_server()
            expect(page.get_by_text(NOTICE)).to_be_visible()
        finally:
            server.stop()
