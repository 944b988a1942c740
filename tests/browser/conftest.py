"""A real browser, and a real server with a worker for it to look at."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.server.processes import Server
from tests.waiting import PATIENCE

DESKTOP, PHONE = ViewportSize(width=1280, height=900), ViewportSize(width=390, height=844)
MOST_STOPS = 80
PASSWORD = "a long enough passphrase"
MILLISECONDS = PATIENCE * 1000
expect.set_options(timeout=MILLISECONDS)


# Not for the session: while Playwright runs, Django takes other modules' tests for asynchronous code.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The Chromium that is installed."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("LEFT OUT: Chromium is not installed here (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--disable-dev-shm-usage"],
            timeout=MILLISECONDS,
        )
        yield made
        made.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that runs, with the small challenge and a worker."""
    made = Server(tmp_path_factory.mktemp("site"), None)
    made.prepare()
    made.start()
    made.spawn("worker")
    yield made
    made.stop()


class Reader:
    """A browser session that checks every page it visits."""

    def __init__(self, context: BrowserContext) -> None:
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        # The console reports violations of the content security policy and script errors.
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        # While somebody listens, the browser opens no file chooser of its own. Who begins to listen when the
        # key is pressed may be too late.
        self.page.on("filechooser", lambda _: None)

    def _hear(self, message: ConsoleMessage) -> None:
        # A form that is refused answers 422, which is no complaint.
        if message.type in ("error", "warning") and "status of 422" not in message.text:
            self.complaints.append(f"{self.page.url}: {message.text}")

    def look(self) -> None:
        """Check the current page: accessible, not wider than the screen, nothing blocked."""
        self.page.wait_for_load_state()
        found = Axe().run(self.page)
        assert not found.response["violations"], f"{self.page.url}\n{found.generate_report()}"
        width, screen = self.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert width <= screen, f"{self.page.url} is {width} pixels wide on a screen of {screen}"
        assert not self.complaints, self.complaints

    def tab_to(self, wanted: Locator) -> None:
        """Press Tab until an element has the focus, which must be visible."""
        for _ in range(MOST_STOPS):
            self.page.keyboard.press("Tab")
            if wanted.evaluate("element => element === document.activeElement"):
                outlined = "element => { const style = getComputedStyle(element);"
                outlined += " return style.outlineStyle !== 'none' || style.boxShadow !== 'none'; }"
                assert wanted.evaluate(outlined), f"the focus does not show on {wanted}"
                return
        raise AssertionError(f"{self.page.url}: the keyboard does not reach {wanted}")


class Visitor(Reader):
    """A visitor of a server, using only the keyboard."""

    def __init__(self, site: Server, context: BrowserContext) -> None:
        super().__init__(context)
        self.site = site

    def go(self, path: str) -> None:
        """Open an address of the site."""
        answer = self.page.goto(self.site.root + path)
        assert answer is not None
        assert answer.ok, f"{path}: {answer.status}"
        self.look()

    def write(self, label: str, text: str) -> None:
        """Fill in a field."""
        field = self.page.get_by_label(re.compile(f"^{re.escape(label)}", re.IGNORECASE)).first
        self.tab_to(field)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def tick(self, label: str) -> None:
        """Check a checkbox."""
        box = self.page.get_by_label(label)
        self.tab_to(box)
        self.page.keyboard.press("Space")
        assert box.is_checked()

    def press(self, name: str, role: Any = "button") -> None:
        """Press a button or follow a link, and check the page that opens."""
        self.tab_to(self.page.get_by_role(role, name=re.compile(f"^{re.escape(name)}")).first)
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")
        self.look()

    def choose_file(self, label: str, name: str, content: bytes) -> None:
        """Choose a file to upload."""
        self.tab_to(self.page.get_by_label(re.compile(rf"^{re.escape(label)}\b")))
        with self.page.expect_file_chooser() as chooser:
            self.page.keyboard.press("Space")
        chooser.value.set_files({"name": name, "mimeType": "application/json", "buffer": content})

    def enter(self, name: str) -> None:
        """Create an account and log in with it."""
        self.site.run("user", name, "--email", f"{name}@example.org", "--password-stdin", given=PASSWORD)
        self.log_in(name)

    def log_in(self, name: str) -> None:
        """Log in."""
        self.go("/accounts/login/")
        self.write("Username or email", name)
        self.write("Password", PASSWORD)
        self.press("Sign in")


# For tests of what pages look like: a wide screen in the light, and a phone in the dark.
BOTH_SCREENS = pytest.mark.parametrize("context", ["desktop", "phone"], indirect=True)


@pytest.fixture
def context(request: pytest.FixtureRequest, browser: Browser) -> Iterator[BrowserContext]:
    """A wide screen, or with `BOTH_SCREENS` each of both."""
    phone = getattr(request, "param", "desktop") == "phone"
    made = browser.new_context(
        viewport=PHONE if phone else DESKTOP, color_scheme="dark" if phone else "light"
    )
    made.set_default_timeout(MILLISECONDS)
    yield made
    made.close()


@pytest.fixture
def visitor(context: BrowserContext, site: Server) -> Visitor:
    """A visitor of the server."""
    return Visitor(site, context)


@pytest.fixture
def reader(context: BrowserContext) -> Reader:
    """A reader of local files."""
    return Reader(context)
