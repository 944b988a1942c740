"""A real browser, and a real server with a worker for it to look at."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.server.conftest import Server

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The Chromium that is installed."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("LEFT OUT: Chromium is not installed here (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that runs, with the small challenge and a worker."""
    made = Server(tmp_path_factory.mktemp("site"), None, bootstrap_samples=100)
    made.prepare()
    made.start()
    made.spawn("worker")
    yield made
    made.stop()


class Visitor:
    """Somebody at a browser: what they see is looked at with care."""

    def __init__(self, site: Server, context: BrowserContext) -> None:
        self.site = site
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        # What the content security policy blocks, and what a script failed at, is told on the console.
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url}"))

    def _hear(self, message: object) -> None:
        if message.type in ("error", "warning"):  # type: ignore[attr-defined]
            self.complaints.append(message.text)  # type: ignore[attr-defined]

    def go(self, path: str) -> None:
        """Goes to an address of the site."""
        answer = self.page.goto(self.site.address.removesuffix("/api") + path)
        assert answer is not None
        assert answer.ok, f"{path}: {answer.status}"
        self.look()

    def look(self) -> None:
        """Checks the page that is there: accessible, not wider than the screen, nothing blocked."""
        found = Axe().run(self.page)
        assert not found.response["violations"], found.generate_report()
        width = self.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert width[0] <= width[1], f"{self.page.url} is {width[0]} pixels wide on a screen of {width[1]}"
        assert not self.complaints, self.complaints

    def letter(self, pattern: str) -> str:
        """The last address in the mail that the server wrote to its log."""
        until = time.monotonic() + 10
        while time.monotonic() < until:
            found = re.findall(pattern, (self.site.folder / "log").read_text())
            if found:
                return str(found[-1])
            time.sleep(0.05)
        raise AssertionError((self.site.folder / "log").read_text())


@pytest.fixture(params=["desktop", "phone"])
def visitor(request: pytest.FixtureRequest, browser: Browser, site: Server) -> Iterator[Visitor]:
    """Somebody at a wide screen, and somebody with a phone."""
    phone = request.param == "phone"
    context = browser.new_context(viewport=PHONE if phone else DESKTOP, has_touch=phone)
    context.set_default_timeout(10_000)
    yield Visitor(site, context)
    context.close()
