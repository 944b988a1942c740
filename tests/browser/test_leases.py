"""Lease renewal: activity on any task page renews the leases of the whole batch."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DESKTOP, MILLISECONDS
from tests.browser.test_judging import ITEMS
from tests.server.campaigns import STUDY_LINES
from tests.server.processes import PROJECT, Server
from tests.waiting import PATIENCE, wait_until

# Longer than any step of a test takes on a slow machine: only `pass_time` ends a lease.
LEASE = 7200
BATCH = 10
_HELD = (
    "state = 'held' AND item_id IN (SELECT item.id FROM annotation_item item"
    " JOIN annotation_campaign campaign ON campaign.id = item.campaign_id WHERE campaign.slug = ?)"
)
# The time of the server's leases passes by moving them into the past.
PASS = (
    "UPDATE annotation_assignment SET lease_until = datetime(lease_until, '-' || ? || ' seconds'),"
    f" opened = datetime(opened, '-' || ? || ' seconds') WHERE {_HELD}"
)
# The seconds that the shortest lease still lasts, and the number of leases.
LEFT = (
    "SELECT MIN(CAST(strftime('%s', lease_until) AS INTEGER)) - CAST(strftime('%s', 'now') AS INTEGER),"
    " COUNT(*)"
    f" FROM annotation_assignment WHERE {_HELD}"
)
LINES: dict[str, dict[str, Any]] = {
    "m5": ITEMS["m5"],
    "rating": ITEMS["rating"],
    "write": {"image": "picture.jpg"},
    "training": {**ITEMS["triplet"], "expected": {"choice": "first"}, "training": True},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("leases"), None)
    made.env["PYTHONPATH"] += f"{os.pathsep}{PROJECT}"
    made.migrate()
    made.start()
    yield made
    made.stop()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page with a clock that tests can advance."""
    context = browser.new_context(viewport=DESKTOP)
    context.set_default_timeout(MILLISECONDS)
    made = context.new_page()
    made.clock.install()
    yield made
    context.close()


def new_campaign(
    server: Server,
    folder: Path,
    page_kind: str,
    *,
    lease: int = LEASE,
    most: int = 86_400,
    items: int = BATCH,
    answers: int = 1,
    line: dict[str, Any] | None = None,
) -> tuple[str, list[str]]:
    """A new open campaign of one batch of items that each need one answer or two, and two invite tokens."""
    kind = "triplet" if page_kind == "training" else page_kind
    slug = f"{page_kind}-{time.monotonic_ns()}"
    line = line or LINES.get(page_kind) or ITEMS[page_kind]
    (folder / "images").mkdir(exist_ok=True)
    Image.new("RGB", (1600, 1200), (120, 160, 120)).save(folder / "images" / "picture.jpg")
    lines = [{"key": str(number), **line} for number in range(items)]
    if page_kind == "training":
        lines.append({"key": "work", **ITEMS["triplet"]})
    (folder / "items.jsonl").write_text("\n".join(json.dumps(one) for one in lines))
    images = 'images = "images"' if "image" in line else ""
    (folder / "campaign.toml").write_text(
        f'[campaign]\nslug = "{slug}"\ntitle = "Judge"\nkind = "{kind}"\nitems = "items.jsonl"\n{images}\n'
        f"[settings]\nanswers = {answers}\ncheck_every = 0\nbatch = {items}\n"
        f"lease_seconds = {lease}\nlongest_lease_seconds = {most}\n{STUDY_LINES}"
    )
    server.run("annotate", "create", str(folder / "campaign.toml"))
    server.run("annotate", "state", slug, "open")
    return slug, server.run("annotate", "invite", slug, "--number", "2").split()


def begin(page: Page, server: Server, slug: str, token: str) -> None:
    page.goto(f"{server.root}/annotate/{slug}/enter/{token}/")
    page.get_by_role("button", name="I agree – start").click()
    # Until the page's program runs, all items are shown.
    expect(page.locator(".item:visible")).to_have_count(1)


class OtherWorker:
    """A second annotator of the campaign, working through the API."""

    def __init__(self, server: Server, slug: str, token: str) -> None:
        self.server, self.place = server, f"{server.address}/annotate/{slug}"
        self.headers = {"Authorization": f"Bearer {token}"}
        self._post("agree", {"texts": 1})

    def _post(self, what: str, content: dict[str, Any]) -> Any:
        sent = self.server.client.post(f"{self.place}/{what}", headers=self.headers, json=content)
        assert sent.status_code == 200, sent.text
        return sent.json()

    def number_of_items(self) -> int:
        """The number of items that the worker gets now."""
        return len(self._post("next", {})["items"])

    def answer_first(self) -> None:
        """Answer the first item that the worker holds."""
        lease = self._post("next", {})["items"][0]["lease"]
        self._post(f"items/{lease}/answer", {"answer": {"choice": "no"}, "key": "first", "revision": 1})


def execute(server: Server, statement: str, *values: object) -> list[Any]:
    path = server.folder / "data" / "capeval.sqlite3"
    with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection, connection:
        return connection.execute(statement, values).fetchall()


def pass_time(page: Page, server: Server, slug: str, seconds: int) -> None:
    """Advance the clocks of the leases and of the page."""
    execute(server, PASS, seconds, seconds, slug)
    page.clock.fast_forward(seconds * 1000)


def left(server: Server, slug: str) -> tuple[int, int]:
    """The seconds that the shortest lease still lasts, and the number of leases."""
    ((seconds, number),) = execute(server, LEFT, slug)
    return seconds if number else -1, number


def wait_for_renewal(server: Server, slug: str, number: int) -> None:
    """Wait until the worker holds this number of items, all with a renewed lease."""

    def is_renewed() -> bool:
        seconds, held = left(server, slug)
        return held == number and (seconds > LEASE / 2 or not number)

    wait_until(is_renewed, lambda: f"{left(server, slug)} of {number}: nothing is renewed\n{server.log}")


@pytest.mark.parametrize("kind", sorted(LINES))
def test_a_pointer_that_moves_keeps_the_batch(page: Page, server: Server, tmp_path: Path, kind: str) -> None:
    slug, (token, second) = new_campaign(server, tmp_path, kind)
    begin(page, server, slug, token)
    other = OtherWorker(server, slug, second)
    for step in range(3):
        # Three quarters of a lease, three times.
        pass_time(page, server, slug, LEASE * 3 // 4)
        page.mouse.move(300 + step, 400)
        wait_for_renewal(server, slug, BATCH)
        # Each worker has training items of their own, which are not assigned to others.
        if kind != "training":
            assert other.number_of_items() == 0


def test_typing_keeps_the_batch(page: Page, server: Server, tmp_path: Path) -> None:
    slug, (token, second) = new_campaign(server, tmp_path, "write")
    begin(page, server, slug, token)
    other = OtherWorker(server, slug, second)
    page.locator(".item:visible textarea").focus()
    for _ in range(3):
        pass_time(page, server, slug, LEASE * 3 // 4)
        page.keyboard.press("ArrowLeft")
        wait_for_renewal(server, slug, BATCH)
        assert other.number_of_items() == 0


def test_a_slow_judge_keeps_all_items_and_each_answer_counts(
    page: Page, server: Server, tmp_path: Path
) -> None:
    slug, (token, second) = new_campaign(server, tmp_path, "m5")
    begin(page, server, slug, token)
    other = OtherWorker(server, slug, second)
    item = page.locator(".item:visible")
    for place in range(1, BATCH + 1):
        expect(item).to_have_attribute("aria-label", f"Item {place} of {BATCH}")
        pass_time(page, server, slug, LEASE // 2)
        assert other.number_of_items() == 0
        page.keyboard.press("f")
        # The answer and the renewal arrive within the next hour.
        wait_for_renewal(server, slug, BATCH - place)
    expect(page.locator("#finished")).to_be_visible()
    expect(page.locator(".outcome")).to_have_text(["Thank you. Your answer is stored."] * BATCH)
    assert json.loads(server.run("annotate", "status", slug).partition("counted: ")[2].split()[0]) == BATCH


def test_a_page_that_is_left_loses_the_batch(page: Page, server: Server, tmp_path: Path) -> None:
    slug, (token, second) = new_campaign(server, tmp_path, "m5")
    begin(page, server, slug, token)
    other = OtherWorker(server, slug, second)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    # Activity is sent once, a while later; nothing is sent after that.
    page.mouse.move(300, 400)
    pass_time(page, server, slug, LEASE * 3 // 4)
    wait_for_renewal(server, slug, BATCH)
    before = len(asked)
    pass_time(page, server, slug, LEASE - 600)
    assert other.number_of_items() == 0
    pass_time(page, server, slug, 600)
    assert other.number_of_items() == BATCH
    assert asked[before:] == []
    # A late answer is stored, and the page shows that it is not used.
    page.keyboard.press("f")
    expect(page.locator(".outcome").first).to_contain_text("Your answer is stored")


@pytest.mark.parametrize(("lease", "renewals"), [(30, 8), (600, 0)])
def test_renewals_are_few(page: Page, server: Server, tmp_path: Path, lease: int, renewals: int) -> None:
    slug, (token, _) = new_campaign(server, tmp_path, "m5", lease=lease)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/renew/" in request.url else None)
    begin(page, server, slug, token)
    page.clock.pause_at(datetime.now() + timedelta(days=1))
    page.mouse.move(200, 400)
    page.clock.run_for(1)
    wait_until(lambda: asked, lambda: "the first activity after a long time renews at once")
    asked.clear()
    # Two minutes and a little, in which the pointer moves each second.
    for second in range(125):
        page.mouse.move(300 + second, 400)
        page.clock.run_for(1000)
    wait_until(lambda: len(asked) >= renewals, lambda: asked)
    # Once this response is here, earlier requests of the page have been counted.
    assert page.evaluate("fetch(location.href).then((answer) => answer.status)") == 200
    assert len(asked) == renewals
