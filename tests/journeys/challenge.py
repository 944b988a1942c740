"""An installed server, and the browsers of organizers, teams and judges."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.journeys.installation import User, install
from tests.once import made_once
from tests.ports import reserved_port
from tests.waiting import PATIENCE, wait_until

__all__ = ["Captions", "Site", "draw_picture", "judge", "normalize", "read_captions", "running", "user"]

Captions = dict[int, list[str]]
Judge = Callable[[Sequence[str]], str]
"""Returns the sentence or label of the chosen button, for the sentences of an item."""

_PASSWORD = "a long enough passphrase"


@pytest.fixture
def user(tmp_path: Path) -> User:
    """A user of an environment with the server and METEOR."""
    cache = made_once("journeys-cache", lambda folder: None)
    return User(environment=install("capeval-server", "capeval[coco]"), folder=tmp_path, cache=cache)


def read_captions(path: Path) -> Captions:
    """Return the captions of each image in a file of references or results in COCO's format."""
    found: Captions = {}
    content = json.loads(path.read_text())
    for row in content["annotations"] if isinstance(content, dict) else content:
        found.setdefault(row["image_id"], []).append(row["caption"])
    return found


def normalize(caption: str) -> str:
    """Return a caption as judges see it: lower case, without a period at the end."""
    return " ".join(caption.split()).lower().rstrip(" .")


def draw_picture(number: int) -> bytes:
    """Return a JPEG picture of one color."""
    content = io.BytesIO()
    Image.new("RGB", (320, 240), (40 + 3 * number, 120, 160)).save(content, "JPEG")
    return content.getvalue()


class Site:
    """A running server, and the log that has its mails."""

    def __init__(self, root: str, log: Path) -> None:
        self.root, self._log = root, log

    def wait_for_log(self, pattern: str) -> str:
        """Wait until a pattern is in the log, and return its last match."""
        found = wait_until(
            lambda: re.findall(pattern, self._log.read_text()) or None, lambda: self._log.read_text()
        )
        return str(found[-1])

    def request(self, method: str, path: str, token: str, **content: Any) -> Any:
        """Send a request to the API that succeeds, and return its response."""
        headers = {"Authorization": f"Bearer {token}"}
        answer = httpx.request(method, f"{self.root}/api{path}", headers=headers, timeout=PATIENCE, **content)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def read_board(self, challenge: str, phase: str, **query: str) -> dict[str, dict[str, Any]]:
        """Return the rows of a leaderboard by team."""
        address = f"{self.root}/api/challenges/{challenge}/phases/{phase}/leaderboard"
        answer = httpx.get(address, params=query, timeout=PATIENCE)
        return {row["team"]: row for row in answer.json()["rows"]}

    def sign_up(self, page: Page, name: str) -> None:
        """Create an account, confirm its address and sign in."""
        page.goto(f"{self.root}/accounts/signup/")
        page.get_by_label("Username").fill(name)
        page.get_by_label("Email").fill(f"{name}@example.org")
        page.get_by_label("Password", exact=True).fill(_PASSWORD)
        page.get_by_label("Password (again)").fill(_PASSWORD)
        page.get_by_role("button", name="Sign up").click()
        mailed = rf"To: {name}@[\s\S]*?http://\S+(/accounts/confirm-email/\S+)"
        page.goto(self.root + self.wait_for_log(mailed))
        page.get_by_role("button", name="Confirm").click()
        page.goto(f"{self.root}/accounts/login/")
        page.get_by_label("Username or email").fill(name)
        page.get_by_label("Password").fill(_PASSWORD)
        page.get_by_role("button", name="Sign in", exact=True).click()

    def join(self, page: Page, challenge: str) -> None:
        """Take part in a challenge alone."""
        page.goto(f"{self.root}/{challenge}/")
        page.get_by_role("link", name="Take part").click()
        page.get_by_label("I have read and accept the rules").check()
        page.get_by_role("button", name="Join").click()

    def submit(self, page: Page, phase: str, path: Path, declared: Mapping[str, str]) -> None:
        """Submit results with declared fields to CHALLENGE/PHASE, and wait for the scores."""
        page.goto(f"{self.root}/{phase}/submit/")
        page.get_by_label("File", exact=True).set_input_files(path)
        for label, text in declared.items():
            field = page.get_by_label(label)
            if field.evaluate("field => field.tagName") == "SELECT":
                field.select_option(text)
            else:
                field.fill(text)
        page.get_by_role("button", name="Submit as").click()
        expect(page.get_by_text("scored", exact=True).first).to_be_visible()


@contextmanager
def running(user: User) -> Iterator[Site]:
    """Run the server and a worker until the end of the block."""
    reserved, port = reserved_port()
    site = Site(f"http://127.0.0.1:{port}", user.folder / "server.log")

    def answers() -> bool:
        try:
            return httpx.get(f"{site.root}/api/challenges", timeout=PATIENCE).is_success
        except httpx.TransportError:
            return False

    with (
        reserved,
        user.start(f"capeval server start --port {port} --processes 1", log=user.folder / "server.log"),
        user.start("capeval server worker", log=user.folder / "worker.log"),
    ):
        wait_until(answers, lambda: (user.folder / "server.log").read_text())
        yield site


def judge(browser: Browser, link: str, judges: Mapping[str, Judge]) -> None:
    """Answer all items of a link as a person does: of each campaign, in the order of work."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    root, _, rest = link.partition("/annotate/")
    for number, (slug, choose) in enumerate(judges.items()):
        assert rest.startswith(f"{next(iter(judges))}/")
        page.goto(link if number == 0 else f"{root}/annotate/{slug}/")
        with page.expect_navigation():
            page.get_by_role("button", name="I agree – start").click()
        _answer_all(page, choose)
    page.context.close()


def _answer_all(page: Page, choose: Judge) -> None:
    nothing = page.get_by_text("There is no work for you now.")
    finished = page.locator("#finished")
    item = page.locator(".item:visible")
    while True:
        expect(item.or_(finished).or_(nothing).first).to_be_visible()
        if nothing.is_visible():
            return
        if finished.is_visible():
            with page.expect_navigation():
                finished.get_by_role("link", name="Continue").click()
            continue
        place = item.get_attribute("aria-label") or ""
        sentences = [text.strip() for text in item.locator(".sentence span, span.sentence").all_inner_texts()]
        chosen = page.get_by_text(choose(sentences), exact=True)
        item.get_by_role("button").filter(has=chosen).click()
        expect(page.locator(f'.item:visible[aria-label="{place}"]')).to_have_count(0)
