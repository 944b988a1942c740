"""Annotation in a browser, from the invite link to the last answer; failures lose no typed text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, ViewportSize, expect

from tests.browser.conftest import DESKTOP, Visitor
from tests.server.processes import PROJECT, Server
from tests.waiting import wait_until

NARROW = ViewportSize(width=360, height=740)
MAKE = """
import tempfile
from pathlib import Path
from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.workers import enrollment
from capeval_server.annotation.campaigns.creation import make_campaign
from tests.server.annotation.test_pages import FILE, picture, write_campaign
folder = Path(tempfile.mkdtemp())
path = write_campaign(folder, {f"{number}.jpg": picture(1400 + number, 900) for number in range(7)})
slug = sys.argv[1]
path.write_text(FILE.replace("streets", slug) + "lease_seconds = 3600\\n")
lifecycle.change_state(None, make_campaign(None, path), "open")
from capeval_server.annotation.models import Campaign
print(*enrollment.invite(None, Campaign.objects.get(slug=slug), 4))
"""
STORED = """
from capeval_server.annotation.models import Response
for row in Response.objects.filter(item__campaign__slug=sys.argv[1]).order_by("pk"):
    print(row.revision, hasattr(row, "filled_slot"), row.answer["caption"])
"""
STRICT = """
from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.models import Campaign
lifecycle.set_rules(None, Campaign.objects.get(slug=sys.argv[1]), {})
"""
# As if an hour had passed: the lease ran out, and two others filled the slots.
STEAL = """
from django.utils import timezone
from capeval_server.annotation.responses import assignment
from capeval_server.annotation.models import Assignment, Campaign
from tests.server.campaigns import answer, join
campaign = Campaign.objects.get(slug=sys.argv[1])
for worker in join(campaign, 2):
    while True:
        # Each time, since the page that types may renew its lease meanwhile.
        leases = Assignment.objects.filter(item__campaign=campaign)
        leases.update(lease_until=timezone.now() - timezone.timedelta(1))
        if not (found := assignment.assign_work(worker).assignments):
            break
        for held in found:
            answer(held, "a cart that somebody else saw stands there")
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("annotation"), None)
    made.env["PYTHONPATH"] += f"{os.pathsep}{PROJECT}"
    made.migrate()
    made.start()
    yield made
    made.stop()


def campaign(server: Server, slug: str) -> list[str]:
    """The invite tokens of a new campaign."""
    return server.python(MAKE, slug).split()


def stored(server: Server, slug: str) -> list[str]:
    return server.python(STORED, slug).splitlines()


def begin(page: Page, server: Server, slug: str, token: str) -> None:
    page.goto(f"{server.root}/annotate/{slug}/enter/{token}/")
    page.get_by_role("button", name="I agree – start").click()
    expect(page.get_by_text("(1/5)")).to_be_visible()


def sentence_of(page: Page) -> Locator:
    """The field of the one item that is shown: until the page's program runs, all items are."""
    field = page.get_by_label("Your sentence").locator("visible=true")
    expect(field).to_have_count(1)
    return field


def context_of(browser: Browser, scheme: str = "light", size: ViewportSize = DESKTOP) -> BrowserContext:
    return browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]


@pytest.mark.parametrize(("scheme", "size"), [("light", NARROW), ("dark", DESKTOP)])
def test_a_batch_by_keyboard(
    browser: Browser, server: Server, tmp_path: Path, scheme: str, size: ViewportSize
) -> None:
    slug = f"batch-{scheme}-{size['width']}"
    token = campaign(server, slug)[0]
    visitor = Visitor(server, context_of(browser, scheme, size))
    page = visitor.page
    visitor.go(f"/annotate/{slug}/enter/{token}/")
    page.screenshot(path=tmp_path / "texts.png", full_page=True)
    visitor.tab_to(page.get_by_role("button", name="I agree – start"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("(1/5)")).to_be_visible()
    visitor.look()
    page.screenshot(path=tmp_path / "work.png", full_page=True)
    field = sentence_of(page)
    visitor.tab_to(field)
    page.keyboard.type("a cart stands in a red street")
    expect(page.get_by_text("7 words")).to_be_visible()
    page.keyboard.press("Alt+l")
    expect(page.get_by_text("(2/5)")).to_be_visible()
    page.keyboard.press("Alt+k")
    expect(page.get_by_text("(1/5)")).to_be_visible()
    expect(field).to_have_value("a cart stands in a red street")
    for number in range(1, 6):
        expect(page.get_by_text(f"({number}/5)")).to_be_visible()
        page.keyboard.press("Control+A")
        page.keyboard.type(f"a cart stands in red street {number}")
        page.keyboard.press("Enter")
    expect(page.get_by_text("(1/2)")).to_be_visible()
    visitor.look()
    assert len(stored(server, slug)) == 5


def test_rules_speak_while_somebody_writes(browser: Browser, server: Server, tmp_path: Path) -> None:
    token = campaign(server, "rules")[0]
    server.python(STRICT, "rules")
    visitor = Visitor(server, context_of(browser, "dark", NARROW))
    page = visitor.page
    begin(page, server, "rules", token)
    field = sentence_of(page)
    field.fill("There is a cart in the street")
    problem = page.get_by_text("Please do not start with 'There is'")
    expect(problem).to_be_visible()
    field.press("Enter")
    expect(page.get_by_text("Not stored yet: please change the sentence.")).to_be_visible()
    # Each problem is shown once, and not with another sentence, even if the server can't be reached.
    expect(problem).to_have_count(1)
    visitor.page.context.set_offline(True)
    field.fill("A cart is in the street")
    expect(problem).to_have_count(0)
    visitor.page.context.set_offline(False)
    visitor.complaints.clear()
    field.fill("There is a cart in the street")
    field.press("Enter")
    expect(problem).to_have_count(1)
    expect(field).to_have_value("There is a cart in the street")
    expect(field).to_be_focused()
    reason = page.get_by_label("Reason for keeping this sentence").locator("visible=true")
    expect(reason).to_have_count(0)
    field.fill("a cart stands in a street")
    expect(page.get_by_text("at least 8 words (it has 6)").first).to_be_visible()
    field.press("Enter")
    expect(page.get_by_text("or give a reason to keep it.")).to_be_visible()
    expect(reason).to_be_focused()
    page.screenshot(path=tmp_path / "rules.png", full_page=True)
    visitor.look()
    reason.fill("nothing else is there")
    reason.press("Enter")
    expect(page.get_by_text("(2/5)")).to_be_visible()
    assert stored(server, "rules") == ["1 True a cart stands in a street"]
    visitor.go("/annotate/rules/rules/")


def test_the_writer_removes_invisible_characters_and_submits(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    token = campaign(server, "invisible")[0]
    visitor = Visitor(server, context_of(browser, "light", NARROW))
    page = visitor.page
    begin(page, server, "invisible", token)
    field = sentence_of(page)
    remove = page.get_by_role("button", name="Remove invisible characters")
    # The sentence is typed without them first, so the button is there only once there is something to remove.
    field.fill("a cart stands in a street")
    expect(page.get_by_text("6 words")).to_be_visible()
    expect(remove).to_have_count(0)
    field.fill("a c\u200bart \u202estands\u202c in a street")
    expect(page.get_by_text("U+202E RIGHT-TO-LEFT OVERRIDE after 'a cart'").first).to_be_visible()
    field.press("Enter")
    expect(page.get_by_text("Not stored yet: please change the sentence.")).to_be_visible()
    expect(remove).to_have_count(1)
    page.screenshot(path=tmp_path / "invisible.png", full_page=True)
    visitor.look()
    remove.click()
    expect(field).to_have_value("a cart stands in a street")
    expect(field).to_be_focused()
    expect(page.get_by_text("Please read the sentence again, then submit it.")).to_be_visible()
    expect(remove).to_have_count(0)
    # Nothing is sent before the writer submits what they see.
    assert stored(server, "invisible") == []
    field.press("Enter")
    expect(page.get_by_text("(2/5)")).to_be_visible()
    assert stored(server, "invisible") == ["1 True a cart stands in a street"]


def test_the_network_is_cut_and_comes_back(browser: Browser, server: Server) -> None:
    token = campaign(server, "cut")[0]
    context = context_of(browser)
    page = context.new_page()
    begin(page, server, "cut", token)
    page.keyboard.press("Tab")
    field = sentence_of(page)
    field.fill("a cart stands in a street")
    context.set_offline(True)
    field.press("Enter")
    expect(
        page.get_by_text("Not sent yet: the server can't be reached. Your answer is saved")
    ).to_be_visible()
    # The next item can be described meanwhile.
    expect(page.get_by_text("(2/5)")).to_be_visible()
    field.fill("a red wall is behind a cart")
    field.press("Enter")
    expect(page.get_by_text("(3/5)")).to_be_visible()
    context.set_offline(False)
    expect(page.locator("#waiting")).to_be_empty()
    assert stored(server, "cut") == [
        "1 True a cart stands in a street",
        "1 True a red wall is behind a cart",
    ]


def test_the_server_restarts_while_somebody_types(browser: Browser, server: Server) -> None:
    token = campaign(server, "restart")[0]
    page = context_of(browser).new_page()
    begin(page, server, "restart", token)
    field = sentence_of(page)
    field.fill("a cart stands in")
    server.kill_server()
    field.press_sequentially(" a street")
    field.press("Enter")
    expect(page.get_by_text("Not sent yet: the server can't be reached.")).to_be_visible()
    # A page knows no other address.
    server.start_again()
    expect(page.locator("#waiting")).to_be_empty()
    expect(page.get_by_text("(2/5)")).to_be_visible()
    assert stored(server, "restart") == ["1 True a cart stands in a street"]


def test_an_answer_of_the_server_is_lost_without_a_word(browser: Browser, server: Server) -> None:
    token = campaign(server, "silent")[0]
    page = context_of(browser).new_page()
    page.clock.install()
    begin(page, server, "silent", token)
    field = sentence_of(page)
    field.fill("a cart stands in a street")
    # The server gets it, and the browser hears nothing of that; what it sends again does not get through yet.
    heard: list[int] = []

    def lose(route: Route) -> None:
        if heard:
            route.abort()
        else:
            heard.append(route.fetch().status)

    page.route("**/answer/", lose)
    field.press("Enter")
    expect(page.get_by_text("Sending.")).to_be_visible()
    # Only while something is asked of the page does the route run.
    wait_until(lambda: page.title() and heard, lambda: "the server did not get it")
    assert heard == [200]
    page.clock.run_for(60_000)
    expect(page.get_by_text("Not sent yet: the server can't be reached.")).to_be_visible()
    page.unroute("**/answer/")
    # The longest pause between two tries: on a slow machine there were several.
    page.clock.run_for(15_000)
    expect(page.locator("#waiting")).to_be_empty()
    expect(page.get_by_text("(2/5)")).to_be_visible()
    assert stored(server, "silent") == ["1 True a cart stands in a street"]


def test_what_was_typed_is_there_after_the_page_was_left(browser: Browser, server: Server) -> None:
    token = campaign(server, "left")[0]
    context = context_of(browser)
    page = context.new_page()
    begin(page, server, "left", token)
    sentence_of(page).fill("a cart stands")
    page.goto(f"{server.root}/")
    page.goto(f"{server.root}/annotate/left/")
    expect(sentence_of(page)).to_have_value("a cart stands")


def test_a_sentence_is_changed_within_the_batch(browser: Browser, server: Server) -> None:
    token = campaign(server, "changed")[0]
    page = context_of(browser).new_page()
    begin(page, server, "changed", token)
    field = sentence_of(page)
    field.fill("a cart stands in a street")
    field.press("Enter")
    expect(page.get_by_text("(2/5)")).to_be_visible()
    page.keyboard.press("Alt+k")
    expect(page.get_by_text("(1/5)")).to_be_visible()
    # The page keeps a change that was not submitted, and shows that the stored answer still counts.
    field.fill("a red cart stands in a street")
    page.reload()
    page.keyboard.press("Alt+k")
    expect(field).to_have_value("a red cart stands in a street")
    expect(page.locator(".outcome:visible")).to_have_text("Your answer is kept until you give a new one.")
    field.press("Enter")
    expect(page.get_by_text("(2/5)")).to_be_visible()
    assert stored(server, "changed") == [
        "1 False a cart stands in a street",
        "2 True a red cart stands in a street",
    ]


def test_the_lease_is_lost_while_somebody_types(browser: Browser, server: Server) -> None:
    token = campaign(server, "stolen")[0]
    page = context_of(browser).new_page()
    begin(page, server, "stolen", token)
    field = sentence_of(page)
    field.fill("a cart stands in a street")
    server.python(STEAL, "stolen")
    with page.expect_response("**/answer/") as answered:
        field.press("Enter")
    text = answered.value.json()["text"]
    assert "Your answer is stored. It arrived after the item was assigned to someone else" in text
    lines = stored(server, "stolen")
    assert "1 False a cart stands in a street" in lines
    assert sum("True" in line for line in lines) == 14


def test_two_windows_the_back_button_and_a_double_enter(browser: Browser, server: Server) -> None:
    token = campaign(server, "twice")[0]
    context = context_of(browser)
    page = context.new_page()
    begin(page, server, "twice", token)
    other = context.new_page()
    other.goto(f"{server.root}/annotate/twice/")
    expect(other.get_by_text("(1/5)")).to_be_visible()
    field = sentence_of(page)
    field.fill("a cart stands in a street")
    page.keyboard.down("Enter")
    page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    expect(page.get_by_text("(2/5)")).to_be_visible()
    sentence_of(other).fill("from another window")
    other.get_by_role("button", name="Submit").locator("visible=true").click()
    expect(other.get_by_text("(2/5)")).to_be_visible()
    page.goto(f"{server.root}/")
    page.go_back()
    expect(sentence_of(page)).to_be_visible()
    assert stored(server, "twice") == ["1 True a cart stands in a street"]
