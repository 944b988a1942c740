"""Annotators in a browser: panels, training, content warnings, zoom, completion and withdrawal."""

from __future__ import annotations

import csv
import io
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from playwright.sync_api import Browser, Route, ViewportSize, expect

from tests.browser.conftest import DESKTOP, PASSWORD, Visitor
from tests.browser.test_annotation import MAKE, NARROW, context_of
from tests.server.processes import PROJECT, Server

TRAINED = """
from capeval_server.annotation.workers import panels
from tests.server.annotation.test_training import trained
campaign = trained(training_items=2, training_right=2, number=4, answers=9)
panels.set_panel(None, campaign, {"name": "prolific", "answers": 2, "redirect": "https://x.org/?cc={code}"})
print(campaign.slug)
"""
TURK_SITE = "https://workersandbox.mturk.com"
TURK = """
from capeval_server.annotation.workers import panels
from tests.server.campaigns import make
campaign = make(answers=5, items=4, batch=2)
panels.set_panel(None, campaign, {"answers": 2, "external_question": {}})
print(campaign.slug)
"""
WARNED = """
from capeval_server.annotation.models import Campaign
from capeval_server.annotation.responses.content_warnings import set_warning
campaign = Campaign.objects.get(slug=sys.argv[1])
for image in campaign.images.all(): set_warning(None, campaign, image.name, "blood")
"""
WRITING = """
import json
import tempfile
from pathlib import Path
from capeval_server.annotation.campaigns import lifecycle
from capeval_server.annotation.workers import enrollment
from capeval_server.annotation.campaigns.creation import make_campaign
from tests.server.annotation.test_writing import FILE, MODEL, files
from tests.server.campaigns import STUDY_LINES
slug = sys.argv[1]
lines = [{"key": key, "image": "a.jpg"} for key in "01"]
practice = {"key": "2", "image": "a.jpg", "training": True, "expected": {"caption": MODEL}}
settings = "[settings]\\ntraining_items = 2\\ntraining_right = 2\\n" + STUDY_LINES
definition = FILE.replace("streets", slug) + settings
path = files(Path(tempfile.mkdtemp()), *lines, practice, definition=definition)
campaign = lifecycle.change_state(None, make_campaign(None, path), "open")
asked = campaign.items.filter(is_quiz=True).values_list("payload__caption", "expected__choice")
print(json.dumps([*enrollment.invite(None, campaign, 1), dict(asked)]))
"""
PROLIFIC = """
from tests.server.campaigns import make
campaign = make(answers=1, items=4, batch=4, pay_per_answer="0.10", currency="GBP")
print(campaign.slug)
"""
SIZES = [("light", NARROW), ("dark", DESKTOP)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("people"), None)
    made.env["PYTHONPATH"] += f"{os.pathsep}{PROJECT}"
    made.migrate()
    made.start()
    yield made
    made.stop()


@pytest.mark.parametrize(("scheme", "size"), SIZES)
def test_from_a_panel_through_training_to_the_end_and_out(
    browser: Browser, server: Server, scheme: str, size: ViewportSize
) -> None:
    slug = server.python(TRAINED).strip()
    visitor = Visitor(server, context_of(browser, scheme, size))
    page = visitor.page
    visitor.go(f"/annotate/{slug}/enter/?PROLIFIC_PID=ann&STUDY_ID=s&SESSION_ID=1")
    assert page.url.endswith(f"/annotate/{slug}/")
    visitor.press("I agree – start")
    for right in (False, True):
        expect(page.get_by_text("This is the training")).to_be_visible()
        for place in (1, 2):
            item = page.locator(".item:visible")
            expect(item).to_have_attribute("aria-label", f"Item {place} of 2")
            hound_is_left = "a hound" in item.locator(".option").first.inner_text()
            page.keyboard.press("f" if hound_is_left == right else "j")
        expect(page.locator("#finished")).to_be_visible()
        visitor.press("Continue", role="link")
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_have_text(f"Training: {2 if right else 0} of 2 correct")
        assert page.locator(".explained").inner_text().count("Hounds are dogs.") == 2
        visitor.press("Continue")
    for place in (1, 2):
        expect(page.locator(".item:visible")).to_have_attribute("aria-label", f"Item {place} of 2")
        page.keyboard.press("f")
    visitor.press("Continue", role="link")
    expect(page.get_by_text("You are done: all that was asked for is answered.")).to_be_visible()
    back = page.get_by_role("link", name="Return to the study site with this code")
    assert (back.get_attribute("href") or "").startswith("https://x.org/?cc=C")
    visitor.press("Your data", role="link")
    assert "I want to withdraw permanently" in page.locator("main").inner_text()
    visitor.tick("I want to withdraw permanently")
    visitor.press("Withdraw")
    expect(page.get_by_role("heading", name="You have withdrawn")).to_be_visible()
    page.goto(f"{server.root}/annotate/{slug}/")
    expect(page.get_by_text("you have withdrawn from this campaign")).to_be_visible()


def test_a_study_of_prolific_from_its_id_to_the_files(browser: Browser, server: Server) -> None:
    slug = server.python(PROLIFIC).strip()
    server.run("user", "olga", "--email", "olga@example.org", "--staff", "--password-stdin", given=PASSWORD)
    manager = Visitor(server, context_of(browser, "light", DESKTOP))
    page = manager.page
    manager.log_in("olga")
    place = f"/campaigns/{slug}"
    manager.go(f"{place}/recruiting/")
    manager.write("Study ids", "6740a1")
    manager.write("Answers per session", "2")
    manager.press("Save")
    address = page.locator("#panel-address").inner_text()
    codes = dict(
        page.locator("#codes ~ .scroll tbody tr").evaluate_all(
            "rows => rows.map((row) => [row.cells[2].innerText, row.cells[1].innerText])"
        )
    )
    assert len(set(codes.values())) == len(codes) > 1

    # Two participants come by the address; one completes the study, the other returns it.
    ends = {}
    for person in ("ann", "bob"):
        visitor = Visitor(server, context_of(browser, "dark", NARROW))
        link = address
        for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"):
            value = "6740a1" if name == "STUDY_ID" else f"{name[:4]}-{person}"
            link = link.replace(f"{{{{%{name}%}}}}", value)
        visitor.page.goto(server.root + link.removeprefix(link[: link.index("/annotate/")]))
        visitor.press("I agree – start")
        if person == "ann":
            for number in (1, 2):
                item = visitor.page.locator(".item:visible")
                expect(item).to_have_attribute("aria-label", f"Item {number} of 2")
                visitor.page.keyboard.press("f")
            visitor.press("Continue", role="link")
        else:
            visitor.page.get_by_text("Stop here").click()
            visitor.press("End my session")
        ends[person] = visitor.page.locator("strong.code").inner_text()
        back = visitor.page.get_by_role("link", name="Return to the study site with this code")
        expected = f"https://app.prolific.com/submissions/complete?cc={ends[person]}"
        assert back.get_attribute("href") == expected
        visitor.look()
    assert set(ends.values()) < set(codes.values())

    # The panel's export agrees with the sessions, but for a submission that never came.
    rows = [
        "Submission id,Participant id,Status,Completion code,Time taken",
        f"SESS-ann,PROL-ann,AWAITING REVIEW,{ends['ann']},64",
        f"SESS-bob,PROL-bob,AWAITING REVIEW,{ends['bob']},12",
        "SESS-eve,PROL-eve,AWAITING REVIEW,C1,9",
    ]
    manager.press("compare the panel's export", role="link")
    manager.choose_file("Export", "export.csv", "\n".join(rows).encode())
    manager.press("Compare")
    with page.expect_download() as reconciled:
        page.get_by_role("link", name="Download as CSV").click()
    found = {row["submission"]: row["suggestion"] for row in read_table(reconciled.value.path())}
    assert found == {"SESS-ann": "approve", "SESS-bob": "ask for return", "SESS-eve": "look at it"}
    manager.go(f"{place}/workers/")
    with page.expect_download() as exported:
        page.get_by_role("link", name="Export payments").click()
    paid = {row["panel_id"]: row for row in read_table(exported.value.path())}
    assert {who: (row["answers"], row["amount"], row["currency"]) for who, row in paid.items()} == {
        "PROL-ann": ("2", "0.20", "GBP"),
        "PROL-bob": ("0", "0.00", "GBP"),
    }

    # The release has the two answers.
    manager.go(f"{place}/releases/")
    manager.write("Name", "1.0")
    manager.page.get_by_label("Leave out incomplete items").check()
    manager.press("Freeze")
    sent = page.request.get(f"{server.root}{place}/releases/1.0/files.zip")
    with zipfile.ZipFile(io.BytesIO(sent.body())) as archive:
        table = list(csv.DictReader(io.StringIO(archive.read("1.0/judgments.csv").decode())))
    assert [(row["counted"], row["place"]) for row in table] == [("true", "1"), ("true", "2")]


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("scheme", "size"), SIZES)
def test_the_training_of_who_writes_by_keyboard(
    browser: Browser, server: Server, scheme: str, size: ViewportSize
) -> None:
    slug = f"writing-{scheme}-{size['width']}"
    token, right = json.loads(server.python(WRITING, slug))
    visitor = Visitor(server, context_of(browser, scheme, size))
    page = visitor.page
    visitor.go(f"/annotate/{slug}/enter/{token}/")
    visitor.press("I agree – start")
    expect(
        page.get_by_text("This is the training. You need at least 2 of 2 correct answers.")
    ).to_be_visible()
    for place in (1, 2):
        item = page.locator(".item:visible")
        expect(item).to_have_attribute("aria-label", f"Item {place} of 2")
        sentence = item.locator(".sentence").inner_text()
        page.keyboard.press("f" if right[sentence] == "breaks" else "j")
    expect(page.locator("#finished")).to_be_visible()
    visitor.press("Continue", role="link")
    expect(page.get_by_role("heading", level=1)).to_have_text("Training: 2 of 2 correct")
    visitor.press("Continue")
    expect(page.get_by_text("This is practice: your sentences will not be used.")).to_be_visible()
    field = page.get_by_label("Your sentence").locator("visible=true")
    visitor.tab_to(field)
    page.keyboard.type("A cart that was red stands in a street")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Practice")
    visitor.look()
    said = page.locator(".explained").inner_text()
    for text in ("A cart that was red", "only what you can see", "a red cart stands in a narrow street"):
        assert text in said
    picture = page.locator(".explained .picture img")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.complete && image.naturalWidth > 0")
    visitor.press("Continue")
    expect(page.get_by_text("(1/2)")).to_be_visible()
    assert page.get_by_text("This is practice").count() == 0


@pytest.mark.parametrize(("scheme", "size"), SIZES)
def test_no_images_with_warnings_by_keyboard(
    browser: Browser, server: Server, scheme: str, size: ViewportSize
) -> None:
    slug = f"unwarned-{scheme}-{size['width']}"
    token = server.python(MAKE, slug).split()[0]
    server.python(WARNED, slug)
    visitor = Visitor(server, context_of(browser, scheme, size))
    page = visitor.page
    visitor.go(f"/annotate/{slug}/enter/{token}/")
    visitor.tick("Don't show me images with a warning")
    visitor.press("I agree – start")
    expect(page.get_by_text("There is no work for you now.")).to_be_visible()
    visitor.press("Your data", role="link")
    box = page.get_by_label("Don't show me images with a warning")
    expect(box).to_be_checked()
    visitor.tab_to(box)
    page.keyboard.press("Space")
    visitor.press("Save")
    expect(page.locator(".item:visible .warned summary")).to_have_text("Warning: blood. Show the image")
    visitor.press("Don't show me images with a warning")
    expect(page.get_by_text("You will not see images with a warning.")).to_be_visible()
    expect(page.get_by_text("There is no work for you now.")).to_be_visible()


@pytest.mark.parametrize(("scheme", "size"), SIZES)
def test_warnings_and_zoom_by_keyboard(
    browser: Browser, server: Server, scheme: str, size: ViewportSize
) -> None:
    slug = f"warned-{scheme}-{size['width']}"
    token = server.python(MAKE, slug).split()[0]
    server.python(WARNED, slug)
    visitor = Visitor(server, context_of(browser, scheme, size))
    page = visitor.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    visitor.go(f"/annotate/{slug}/enter/{token}/")
    visitor.press("I agree – start")
    warning = page.locator(".item:visible .warned summary")
    expect(warning).to_have_text("Warning: blood. Show the image")
    assert not [address for address in asked if "/image/" in address]
    visitor.tab_to(warning)
    page.keyboard.press("Enter")
    picture = page.locator(".item:visible .picture img")
    expect(picture).to_be_visible()
    visitor.look()
    zoom = page.get_by_label("Full size").locator("visible=true")
    visitor.tab_to(zoom)
    page.keyboard.press("Space")
    box = picture.bounding_box()
    assert box is not None
    # The pictures are 1,400 to 1,406 pixels wide.
    assert box["width"] == int(picture.get_attribute("width") or 0) >= 1400
    visitor.look()
    page.keyboard.press("Space")
    box = picture.bounding_box()
    assert box is not None
    assert box["width"] <= size["width"]


def test_an_assignment_in_the_frame_of_mechanical_turk(browser: Browser, server: Server) -> None:
    slug = server.python(TURK).strip()
    context = context_of(browser, "light", DESKTOP)
    # A page of the internet may show one of this machine only with permission.
    context.grant_permissions(["local-network-access"])
    page = context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    submitted: list[dict[str, str]] = []
    question = f"{server.root}/annotate/{slug}/enter/?hitId=H1&turkSubmitTo={quote(TURK_SITE, safe='')}"

    def answer_as_turk(route: Route) -> None:
        """Answer a request for a HIT with an external question, or for its submission."""
        place = urlsplit(route.request.url)
        source = f"{question}&{place.query}".replace("&", "&amp;")
        body = f'<title>HIT</title><iframe src="{source}" allow="local-network-access" height="800"></iframe>'
        if place.path == "/mturk/externalSubmit":
            submitted.append(dict(parse_qsl(route.request.post_data or "")))
            body = "<p>Submitted</p>"
        route.fulfill(content_type="text/html", body=body)

    for site in (TURK_SITE, "https://elsewhere.example.org"):
        context.route(f"{site}/**", answer_as_turk)
    hit = page.frame_locator("iframe")
    page.goto(f"{TURK_SITE}/hit?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE")
    expect(hit.get_by_text("This is a preview.")).to_be_visible()
    expect(hit.get_by_role("button", name="hound")).to_be_disabled()
    page.goto(f"{TURK_SITE}/hit?assignmentId=A1&workerId=W1")
    hit.get_by_role("button", name="I agree – start").click()
    # Until the page's program runs, all items are shown.
    expect(hit.locator(".item:visible")).to_have_count(1)
    for place in (1, 2):
        item = hit.locator(".item:visible")
        expect(item).to_have_attribute("aria-label", f"Item {place} of 2")
        item.locator(".option").first.click()
    hit.get_by_role("link", name="Continue").click()
    expect(hit.get_by_text("You are done: all that was asked for is answered.")).to_be_visible()
    hit.get_by_role("button", name="Submit the assignment").click()
    expect(hit.get_by_text("Submitted")).to_be_visible()
    assert [one.keys() for one in submitted] == [{"assignmentId", "completionCode"}]
    assert submitted[0]["assignmentId"] == "A1"
    assert not errors, errors
    found = [(cookie["name"], cookie["sameSite"], cookie["secure"]) for cookie in context.cookies()]
    assert ("csrftoken", "None", True) in found
    # Another site can't show the page.
    with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
        page.goto("https://elsewhere.example.org/hit?assignmentId=A1&workerId=W1")
    context.close()
