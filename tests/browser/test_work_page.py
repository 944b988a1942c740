"""The work page: its layout, and answers that wait in the browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from tests.browser.conftest import DESKTOP, MILLISECONDS, Visitor
from tests.browser.test_judging import ITEMS
from tests.browser.test_leases import LEASE, OtherWorker, execute, new_campaign, pass_time
from tests.browser.test_leases import server as server
from tests.server.processes import Server
from tests.waiting import wait_until

SIZES = [(ViewportSize(width=1280, height=720), "light"), (ViewportSize(width=360, height=740), "dark")]
LONG = (
    "a brown hound with a red collar runs over the wet grass of a park, in front of two children and a bench"
)
ANSWERS = (
    "SELECT place, json_extract(answer, '$.choice'), revision FROM annotation_response response"
    " JOIN annotation_assignment assignment ON assignment.id = response.assignment_id"
    " JOIN annotation_item item ON item.id = response.item_id"
    " JOIN annotation_campaign campaign ON campaign.id = item.campaign_id"
    " WHERE campaign.slug = ? ORDER BY response.id"
)

# Counted and late answers of each worker.
LATE = """
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.review.worker_summaries import summarize_workers
for each in summarize_workers(Campaign.objects.get(slug=sys.argv[1])): print(each.counted, each.late)
"""


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport=DESKTOP)
    made.set_default_timeout(MILLISECONDS)
    yield made
    made.close()


def begin(page: Page, server: Server, slug: str, token: str) -> None:
    page.goto(f"{server.root}/annotate/{slug}/enter/{token}/")
    page.get_by_role("button", name="I agree – start").click()
    expect(page.locator(".item:visible")).to_have_count(1)


@pytest.mark.parametrize("kind", [*sorted(ITEMS), "write"])
def test_image_and_task_are_in_view(browser: Browser, server: Server, tmp_path: Path, kind: str) -> None:
    given = ITEMS.get(kind, {"image": "picture.jpg"})
    line = {name: value if name in ("image", "system") else LONG for name, value in given.items()}
    slug, tokens = new_campaign(server, tmp_path, kind, answers=2, line=line)
    for token, (size, scheme) in zip(tokens, SIZES, strict=True):
        context = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
        visitor = Visitor(server, context)
        page = visitor.page
        begin(page, server, slug, token)
        visitor.look()
        # A worker sees the study alone.
        assert page.get_by_role("navigation").get_by_role("link").count() == 0
        item = page.locator(".item:visible")
        submit = item.locator("form.answer").get_by_role("button", name="Submit")
        parts = [*item.locator("textarea, .option").all(), *submit.all()]
        if kind == "rating" and size["width"] < 400:
            # Five questions don't fit: the image stays in view above the last one.
            parts = [submit]
            submit.scroll_into_view_if_needed()
        assert parts
        if "image" in line:
            parts.append(item.locator(".picture img"))
        for part in parts:
            box = part.bounding_box()
            assert box is not None
            assert box["y"] >= 0, (part, box)
            assert box["y"] + box["height"] <= size["height"], (part, box)
        context.close()


def test_twenty_presses_are_faster_than_the_network(
    context: BrowserContext, server: Server, tmp_path: Path
) -> None:
    slug, (token, _) = new_campaign(server, tmp_path, "m5", items=20)
    page = context.new_page()
    begin(page, server, slug, token)
    network = context.new_cdp_session(page)
    network.send("Network.enable")
    slow = {"offline": False, "latency": 300, "downloadThroughput": -1, "uploadThroughput": -1}
    network.send("Network.emulateNetworkConditions", slow)
    began = page.evaluate("performance.now()")
    for place in range(20):
        page.keyboard.press("fj"[place % 2])
    # Each item is answered before the server has responded to the first answers.
    assert page.locator("#finished").is_visible()
    assert len(execute(server, ANSWERS, slug)) < 20, page.evaluate("performance.now()") - began
    wait_until(lambda: len(execute(server, ANSWERS, slug)) == 20, lambda: execute(server, ANSWERS, slug))
    rows = execute(server, ANSWERS, slug)
    assert [place for place, _, _ in rows] == list(range(1, 21))
    assert [choice for _, choice, _ in rows] == ["yes", "no"] * 10


def test_answers_wait_in_the_browser_while_it_is_offline(
    context: BrowserContext, server: Server, tmp_path: Path
) -> None:
    slug, (token, second) = new_campaign(server, tmp_path, "m5")
    page = context.new_page()
    page.clock.install()
    begin(page, server, slug, token)
    context.set_offline(True)
    for key in "fjf":
        page.keyboard.press(key)
    expect(page.locator(".item:visible")).to_have_attribute("aria-label", "Item 4 of 10")
    expect(page.get_by_text("3 answers are saved here and will be sent again automatically.")).to_be_visible()
    page.clock.run_for(60_000)
    assert execute(server, ANSWERS, slug) == []
    # The leases end meanwhile, and another worker answers the first item.
    pass_time(page, server, slug, 2 * LEASE)
    other = OtherWorker(server, slug, second)
    assert other.number_of_items() == 10
    other.answer_first()
    context.set_offline(False)
    page.clock.run_for(15_000)
    expect(page.locator("#waiting")).to_be_empty()
    rows = execute(server, ANSWERS, slug)[1:]
    assert [(choice, revision) for _, choice, revision in rows] == [("yes", 1), ("no", 1), ("yes", 1)]
    # The late answers are shown to the worker and to the organizer, and are not counted.
    late = page.locator("#late li")
    expect(late).to_have_count(3)
    expect(late.first).to_contain_text("Item 1 of 10: Thank you. Your answer is stored. It arrived after")
    assert server.python(LATE, slug).split() == ["0", "3", "1", "0"]


@contextmanager
def answers_that_break_off() -> Iterator[str]:
    """The address of a server that closes each connection in the middle of its response."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b'{"revision"')

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}/"
        made.shutdown()


def test_answers_are_sent_again_when_a_response_breaks_off(
    context: BrowserContext, server: Server, tmp_path: Path
) -> None:
    slug, (token, _) = new_campaign(server, tmp_path, "m5")
    page = context.new_page()
    page.clock.install()
    begin(page, server, slug, token)
    with answers_that_break_off() as address:
        page.route("**/answer/", lambda route: route.continue_(url=address))
        page.keyboard.press("f")
        page.keyboard.press("j")
        expect(
            page.get_by_text("2 answers are saved here and will be sent again automatically.")
        ).to_be_visible()
        page.unroute("**/answer/")
    page.clock.run_for(15_000)
    expect(page.locator("#waiting")).to_be_empty()
    assert [choice for _, choice, _ in execute(server, ANSWERS, slug)] == ["yes", "no"]


def test_answers_of_a_closed_page_are_sent_later(
    context: BrowserContext, server: Server, tmp_path: Path
) -> None:
    slug, (token, _) = new_campaign(server, tmp_path, "m5")
    page = context.new_page()
    begin(page, server, slug, token)
    context.set_offline(True)
    page.keyboard.press("f")
    page.keyboard.press("j")
    expect(page.get_by_text("2 answers are saved here")).to_be_visible()
    page.close()
    context.set_offline(False)
    page = context.new_page()
    page.goto(f"{server.root}/annotate/{slug}/")
    expect(page.locator(".item:visible")).to_have_attribute("aria-label", "Item 3 of 10")
    wait_until(lambda: len(execute(server, ANSWERS, slug)) == 2, lambda: execute(server, ANSWERS, slug))
    assert execute(server, ANSWERS, slug) == [(1, "yes", 1), (2, "no", 1)]


def test_answers_can_be_changed_after_a_reload(
    context: BrowserContext, server: Server, tmp_path: Path
) -> None:
    slug, (token, _) = new_campaign(server, tmp_path, "m5")
    page = context.new_page()
    begin(page, server, slug, token)
    page.keyboard.press("f")
    page.keyboard.press("f")
    wait_until(lambda: len(execute(server, ANSWERS, slug)) == 2, lambda: execute(server, ANSWERS, slug))
    page.reload()
    item = page.locator(".item:visible")
    expect(item).to_have_attribute("aria-label", "Item 3 of 10")
    expect(page.locator("#answered")).to_have_text("2 answered")
    page.keyboard.press("Alt+k")
    expect(item).to_have_attribute("aria-label", "Item 2 of 10")
    expect(item.get_by_role("button", name="Yes")).to_have_attribute("aria-pressed", "true")
    item.get_by_role("button", name="No").click()
    expect(item).to_have_attribute("aria-label", "Item 3 of 10")
    wait_until(lambda: len(execute(server, ANSWERS, slug)) == 3, lambda: execute(server, ANSWERS, slug))
    assert execute(server, ANSWERS, slug)[2] == (2, "no", 2)
    # The same answer again is no revision, and a double-click answers one item only.
    page.keyboard.press("Alt+k")
    item.get_by_role("button", name="No").click()
    expect(item).to_have_attribute("aria-label", "Item 3 of 10")
    item.get_by_role("button", name="Yes").dblclick()
    expect(item).to_have_attribute("aria-label", "Item 4 of 10")
    wait_until(lambda: len(execute(server, ANSWERS, slug)) == 4, lambda: execute(server, ANSWERS, slug))


@pytest.mark.parametrize("kind", ["triplet", "m5"])
def test_a_whole_batch_by_the_roles_of_a_screen_reader(
    context: BrowserContext, server: Server, tmp_path: Path, kind: str
) -> None:
    slug, (token, _) = new_campaign(server, tmp_path, kind)
    page = context.new_page()
    begin(page, server, slug, token)
    for place in range(1, 11):
        region = page.get_by_role("region", name=f"Item {place} of 10")
        expect(region).to_be_focused()
        region.get_by_role("button", name="B" if kind == "triplet" else "Yes").press("Enter")
    end = page.get_by_role("region", name="End of these items")
    expect(end).to_be_focused()
    end.get_by_role("link", name="Continue").press("Enter")
    expect(page.get_by_text("There is no work for you now.")).to_be_visible()
    assert len(execute(server, ANSWERS, slug)) == 10
